//! A workspace that may be changed is a transaction, with the kernel's own overlay under it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use fumehood_core::code::Code;
use fumehood_core::receipt::{Change, Exit, Killed};
use fumehood_runners::script::WorkspaceAccess;
use fumehood_store::{ChangeLimits, RESERVED};

use fumehood_testkit::is_root;

use crate::manifest::without_times_of_folders;
use crate::world::{Ended, World, failed, output, refused};

/// A folder with a bit of everything that may lie in a person's folder.
fn person() -> World {
    let world = World::new();
    for (name, bytes) in [
        ("work/keep", "kept\n"),
        ("work/old", "before\n"),
        ("work/gone", "going\n"),
        ("work/sub/deep", "deep\n"),
        ("work/full/a", "a\n"),
        ("work/full/in/b", "b\n"),
        ("work/.git/config", "[core]\n"),
        ("work/.env", "SECRET=1\n"),
    ] {
        world.write(name, bytes);
    }
    fs::set_permissions(world.at("work/old"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("keep", world.at("work/link")).unwrap();
    world.write("work/tool", "#!/bin/sh\n");
    fs::set_permissions(world.at("work/tool"), fs::Permissions::from_mode(0o755)).unwrap();
    world
}

/// The script gets the workspace as `$W`.
fn within(script: &str) -> String {
    format!("set -e\ncd \"$1\"\n{script}\n")
}

// DESIGN 5: a successful run is applied as a whole.
#[test]
fn what_a_run_wrote_is_applied_all_of_it() {
    let world = person();
    let script = within(
        "echo after > old; echo made > new; mkdir -p made/of/folders; echo x > made/of/folders/x; \
         rm gone; rm -r full; mv sub/deep sub/renamed; echo more >> keep; chmod 700 new; echo said",
    );
    let before = (fs::metadata(world.at("work/old")).unwrap(), world.manifest("work"));
    let ended = world.shell(&script).argv(&[&world.text("work")]).changing("work").run();
    assert_eq!(output(&ended), "said\n");
    for (name, bytes) in [
        ("work/old", "after\n"),
        ("work/new", "made\n"),
        ("work/made/of/folders/x", "x\n"),
        ("work/sub/renamed", "deep\n"),
        ("work/keep", "kept\nmore\n"),
    ] {
        assert_eq!(world.read(name), bytes, "{name}");
    }
    for name in ["work/gone", "work/full", "work/sub/deep"] {
        assert!(fs::symlink_metadata(world.at(name)).is_err(), "{name}");
    }
    // A replaced file keeps its mode; new ones are 0644 and the caller's, whatever the script made of them.
    let after = fs::metadata(world.at("work/old")).unwrap();
    assert_eq!((after.mode(), after.uid(), after.gid()), (before.0.mode(), before.0.uid(), before.0.gid()));
    let new = fs::metadata(world.at("work/new")).unwrap();
    assert_eq!((new.mode() & 0o7777, new.uid()), (0o644, fs::metadata(world.at("work")).unwrap().uid()));
    assert_eq!(world.mode("work/made/of"), 0o755);
    // What it did not touch is the same file still.
    for name in [".git/config", ".env", "link", "tool"] {
        assert_eq!(world.manifest("work")[name.as_bytes()], before.1[name.as_bytes()], "{name}");
    }
    let applied = ended.unwrap().applied;
    let count = |change| applied.iter().filter(|one| one.change == change).count();
    assert_eq!(count(Change::Replaced), 2, "{applied:?}");
    // Three folders and three files are new; `gone`, `sub/deep`, and `full` with all that is in it went.
    assert!(count(Change::Created) == 6 && count(Change::Removed) >= 3, "{applied:?}");
    world.assert_clean();
}

// Each of these ends without success, and the folder is byte for byte what it was (EXE-55, EXE-65, DESIGN 5).
#[test]
fn a_run_that_fails_leaves_the_folder_as_it_was() {
    let spoil = "echo after > old; rm gone; rm -r full; echo new > new; mkdir d;";
    for (end, code, exit, killed) in [
        ("exit 3", Code::ScriptFailed, Some(Exit::Code(3)), None),
        ("kill -9 $$", Code::ScriptFailed, Some(Exit::Signal(9)), None),
        ("kill -TERM $$", Code::ScriptFailed, Some(Exit::Signal(15)), None),
        ("trap '' TERM; while :; do sleep 1; done", Code::ScriptTimeout, None, Some(Killed::Deadline)),
        ("no-such-program", Code::ScriptFailed, Some(Exit::Code(127)), None),
    ] {
        let world = person();
        let before = world.manifest("work");
        let script = within(&format!("{spoil} {end}"));
        let ended = world.shell(&script).argv(&[&world.text("work")]).changing("work").seconds(2).run();
        assert_eq!(failed(&ended), code, "{end}");
        let ran = ended.unwrap_err().ran.unwrap();
        assert_eq!(ran.killed, killed, "{end}");
        if killed.is_none() {
            assert_eq!(ran.exit, exit, "{end}");
        }
        assert_eq!(world.manifest("work"), before, "{end}");
        world.assert_clean();
    }
}

// EXE-56: where the deployer lets another exit code pass, it is a success, and what was written is applied.
#[test]
fn an_exit_code_that_the_deployer_lets_pass_is_a_success() {
    let world = person();
    let mut job =
        world.shell(&within("echo after > old; exit 3")).argv(&[&world.text("work")]).changing("work");
    job.fail_on_nonzero_exit = false;
    let completed = job.run().unwrap();
    assert_eq!(completed.exit, Some(Exit::Code(3)));
    assert_eq!(world.read("work/old"), "after\n");
    // A death by signal is none of these.
    let mut job =
        world.shell(&within("echo other > old; kill -9 $$")).argv(&[&world.text("work")]).changing("work");
    job.fail_on_nonzero_exit = false;
    assert_eq!(failed(&job.run()), Code::ScriptFailed);
    assert_eq!(world.read("work/old"), "after\n");
    world.assert_clean();
}

// EXE-65: cancelled while it runs; nothing of it is left and nothing was changed.
#[test]
fn a_cancelled_run_leaves_the_folder_as_it_was() {
    let world = person();
    let before = world.manifest("work");
    let script = within("echo after > old; rm -r full; trap '' TERM; echo on >&2; while :; do sleep 1; done");
    let job = world.shell(&script).argv(&[&world.text("work")]).changing("work");
    let cancel = job.cancel.clone();
    let ended = thread::scope(|scope| {
        let run = scope.spawn(|| job.run());
        // It has its workspace and writes by the time that its process is there.
        await_process(&world.text("work"));
        cancel.cancel();
        run.join().unwrap()
    });
    assert_eq!(failed(&ended), Code::Cancelled);
    assert_eq!(ended.unwrap_err().ran.unwrap().killed, Some(Killed::Cancelled));
    assert_eq!(world.manifest("work"), before);
    assert_eq!(processes_with(&world.text("work")), Vec::<String>::new());
    world.assert_clean();
}

/// Waits until a process has this in its arguments.
fn await_process(marker: &str) {
    let until = Instant::now() + Duration::from_secs(30);
    while processes_with(marker).is_empty() {
        assert!(Instant::now() < until, "the script never started");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process has this in its arguments.
pub(crate) fn is_running(marker: &str) -> bool {
    !processes_with(marker).is_empty()
}

fn processes_with(marker: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(marker)).collect()
}

// DESIGN 5: one thing that is refused refuses all of it.
#[test]
fn what_may_not_be_written_refuses_all_of_it() {
    let long = "n".repeat(255);
    for (attack, said) in [
        ("ln -s /etc/passwd evil", "evil"),
        ("ln -sf /etc/passwd old", "old"),
        ("mkfifo pipe", "pipe"),
        ("echo x > .bashrc", ".bashrc"),
        ("echo x > .env", ".env"),
        ("rm .env", ".env"),
        ("mkdir -p new/.ssh; echo key > new/.ssh/authorized_keys", ".ssh"),
        ("echo x >> .git/config", ".git"),
        ("mkdir .git/hooks; echo x > .git/hooks/post-checkout", ".git"),
        ("rm -r .git", ".git"),
        ("echo x > .GIT", ".GIT"),
        ("echo x > new; ln new second", "new"),
        ("echo x >> tool", "tool"),
        ("rm tool", "tool"),
        ("rm link", "link"),
        ("echo x > KEEP", "KEEP"),
        ("echo x > Old", "Old"),
        ("mkdir FULL", "FULL"),
        ("printf x > \"$(printf 'a\\nrm -rf')\"", "a"),
        ("printf x > \"$(printf 'a\\033[2J')\"", "a"),
        ("printf x > \"$(printf 'a\\342\\200\\256b')\"", "a"),
        ("printf x > \"$(printf 'a\\377')\"", "a"),
        ("mv full moved && mv moved/in full && ln -s / moved/root", "root"),
        (
            "d=.; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33; do d=$d/d; mkdir $d; done; echo x > $d/x",
            "d/d",
        ),
    ] {
        let world = person();
        let before = world.manifest("work");
        // Everything else it does would be fine.
        let script = within(&format!("echo after > sub/deep; {attack}"));
        let ended = world.shell(&script).argv(&[&world.text("work")]).changing("work").run();
        assert_eq!(
            failed(&ended),
            Code::WorkspaceRefused,
            "{attack}: {:?}",
            ended.map_err(|error| error.message)
        );
        let message = ended.unwrap_err().message;
        assert!(message.contains(said), "{attack}: {message}");
        assert!(!message.chars().any(|c| c.is_control() || c == '\u{202e}'), "{attack}: {message:?}");
        assert_eq!(world.manifest("work"), before, "{attack}");
        world.assert_clean();
    }
    // The twin: names that are only long, or unusual to look at.
    let world = person();
    let script = within(&format!("echo x > {long}; echo y > 'with space; $(rm -rf .)'; echo z > größe"));
    output(&world.shell(&script).argv(&[&world.text("work")]).changing("work").run());
    assert_eq!((world.read(&format!("work/{long}")), world.read("work/größe")), ("x\n".into(), "z\n".into()));
    world.assert_clean();
}

// DESIGN 5: unlocking a protected name is the deployer's word, by name.
#[test]
fn an_unlocked_name_and_no_other_may_be_written() {
    let world = person();
    let run = |script: &str| {
        let mut job = world.shell(&within(script)).argv(&[&world.text("work")]).changing("work");
        job.unlocked = vec![".env".to_owned()];
        job.run()
    };
    output(&run("echo OTHER=2 > .env"));
    assert_eq!(world.read("work/.env"), "OTHER=2\n");
    assert_eq!(failed(&run("echo x > .envrc; echo THIRD=3 > .env")), Code::WorkspaceRefused);
    assert_eq!(world.read("work/.env"), "OTHER=2\n");
}

// A hard link of a file that others may have elsewhere: neither replaced nor removed.
#[test]
fn a_file_with_a_second_name_stays_as_it_is() {
    for act in ["echo x > old", "rm old", "mv old new"] {
        let world = person();
        fs::hard_link(world.at("work/old"), world.at("second")).unwrap();
        let before = world.manifest("");
        let ended = world.shell(&within(act)).argv(&[&world.text("work")]).changing("work").run();
        assert_eq!(failed(&ended), Code::WorkspaceRefused, "{act}");
        for name in ["work/old", "second"] {
            assert_eq!(world.manifest("")[name.as_bytes()], before[name.as_bytes()], "{act}");
        }
    }
}

// DESIGN 5: what somebody else changed meanwhile is theirs.
#[test]
fn somebody_elses_change_refuses_all_of_it() {
    for (theirs, script) in [
        ("work/old", "echo after > old"),
        ("work/new", "echo new > new"),
        ("work/gone", "rm gone"),
        ("work/full/theirs", "rm -r full"),
    ] {
        let world = person();
        let ended = while_it_runs(&world, script, || {
            world.write(theirs, "theirs\n");
        });
        let code = failed(&ended);
        assert!(matches!(code, Code::WorkspaceConflict | Code::WorkspaceRefused), "{theirs}: {code}");
        assert_eq!(world.read(theirs), "theirs\n");
        for (name, bytes) in [("work/keep", "kept\n"), ("work/sub/deep", "deep\n"), ("work/full/a", "a\n")] {
            assert_eq!(world.read(name), bytes, "{theirs}");
        }
        assert!(fs::symlink_metadata(world.at("work/said")).is_err(), "{theirs}");
        world.assert_clean();
    }
    // The twin: what they changed is not what the run changed.
    let world = person();
    let ended = while_it_runs(&world, "echo after > old", || {
        world.write("work/other", "theirs\n");
    });
    assert_eq!(output(&ended), "");
    assert_eq!((world.read("work/old"), world.read("work/other")), ("after\n".into(), "theirs\n".into()));
    assert_eq!(world.read("work/said"), "said\n");
}

/// Runs a script over the workspace; before it ends, and after it has begun, somebody else acts.
fn while_it_runs(world: &World, script: &str, act: impl FnOnce()) -> Ended {
    world.write("signal", "");
    let marker = world.text("work");
    let script = within(&format!("echo said > said; {script}; exec sh -c \"$AWAIT\" \"$2\" \"wrote-$1\""));
    let signal = world.text("signal");
    let job = world.shell(&script).argv(&[&marker, &signal]).reading(&signal).changing("work");
    let job = job.variable("AWAIT", "until test -s \"$0\"; do sleep 0.01; done");
    thread::scope(|scope| {
        let run = scope.spawn(|| job.run());
        await_process(&format!("wrote-{marker}"));
        act();
        // The same file, so that the script sees it.
        fs::write(world.at("signal"), "go\n").unwrap();
        run.join().unwrap()
    })
}

// The workspace itself is moved away while the script runs, and a link stands in its place.
#[test]
fn a_workspace_that_becomes_a_link_leads_nowhere() {
    let world = person();
    world.write("elsewhere/old", "not yours\n");
    let (elsewhere, before) = (world.manifest("elsewhere"), world.manifest("work"));
    let ended = while_it_runs(&world, "echo after > old; rm gone", || {
        fs::rename(world.at("work"), world.at("moved")).unwrap();
        symlink("elsewhere", world.at("work")).unwrap();
    });
    assert_eq!(world.manifest("elsewhere"), elsewhere);
    match ended {
        // It went to the folder that was approved, by its handle.
        Ok(_) => assert_eq!(world.read("moved/old"), "after\n"),
        Err(_) => assert_eq!(world.manifest("moved"), before),
    }
}

// The disk has no room for what was written, in one folder or at all: nothing is applied.
#[test]
fn a_full_disk_leaves_the_folder_as_it_was() {
    // The host may make no file of more than 1 MiB.
    fill(&[], "trap '' XFSZ; ulimit -S -f 2048");
    // Nor is there room for one in the person's folder. To whoever must make a user namespace for that, the system's
    // interpreters belong to nobody, and none of them is used.
    if is_root() {
        fill(
            &["--mount"],
            "cp -a \"$1/work\" \"$1/copy\" && mount -t tmpfs -o size=1m,mode=755 none \"$1/work\" && cp -a \"$1/copy/.\" \"$1/work\"",
        );
    }
}

/// Has another process of this program apply more than fits.
fn fill(namespaces: &[&str], script: &str) {
    let world = person();
    let mut command = Command::new("unshare");
    command.args(namespaces).args(["sh", "-c"]);
    let script = format!("{script} && exec \"$0\" --exact workspace::applies_two_mebibytes --nocapture");
    command.arg(script).arg(std::env::current_exe().unwrap()).arg(world.at(""));
    let output = command.env(FOLDER, world.at("")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
}

/// The other half of the one above, which alone gives it something to do.
#[test]
fn applies_two_mebibytes() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let world = World::again(folder.as_ref());
    let before = world.manifest("work");
    let run = |script: &str| world.shell(&within(script)).argv(&[&world.text("work")]).changing("work").run();
    let ended = run("echo after > old; rm -r full gone; head -c 2097152 /dev/zero > new; echo x > sub/x");
    assert_eq!(failed(&ended), Code::WorkspaceFailed, "{ended:?}");
    // The times of the folder are the only thing that may tell of it.
    assert_eq!(without_times_of_folders(world.manifest("work")), without_times_of_folders(before));
    world.assert_clean();
    // The twin: what fits.
    output(&run("echo after > old; head -c 4096 /dev/zero > fits"));
    assert_eq!((world.read("work/old").as_str(), world.read("work/fits").len()), ("after\n", 4096));
}

const FOLDER: &str = "FUMEHOOD_RUNNERS_TEST_FOLDER";

// A workspace that is only read: writing fails in the script, and nothing is applied.
#[test]
fn a_workspace_to_read_cannot_be_written() {
    let world = person();
    let before = world.manifest("work");
    let script = "cat \"$1/old\"; for way in 'echo x > old' 'rm gone' 'mkdir d' 'ln -s a b' 'chmod 777 old' 'mv old new'; do \
                  (cd \"$1\" && sh -c \"$way\") 2>/dev/null && echo \"$way\"; done; true";
    let ended =
        world.shell(script).argv(&[&world.text("work")]).workspace("work", WorkspaceAccess::Read).run();
    assert_eq!(output(&ended), "before\n");
    assert_eq!(ended.unwrap().applied, []);
    assert_eq!(world.manifest("work"), before);
}

// More files, or more bytes, than a run may change: none of them.
#[test]
fn more_than_may_be_changed_is_refused() {
    let few = ChangeLimits::new(8, 4096, 1000).unwrap();
    for (script, fits) in [
        ("for i in 1 2 3 4 5 6 7 8; do echo x > n$i; done", true),
        ("for i in 1 2 3 4 5 6 7 8 9; do echo x > n$i; done", false),
        ("head -c 4096 /dev/zero > n", true),
        ("head -c 4097 /dev/zero > n", false),
    ] {
        let world = person();
        let before = world.manifest("work");
        let mut job = world.shell(&within(script)).argv(&[&world.text("work")]).changing("work");
        job.changes = few;
        let ended = job.run();
        assert_eq!(ended.is_ok(), fits, "{script}: {ended:?}");
        assert!(fits || world.manifest("work") == before, "{script}");
    }
    // A folder with more in it than is looked through is not given at all, and nothing runs.
    let world = person();
    let mut job = world.shell(&within("echo x > new")).argv(&[&world.text("work")]).changing("work");
    job.changes = ChangeLimits::new(8, 4096, 3).unwrap();
    assert_eq!(refused(&job.run()).0, Code::WorkspaceTooLarge);
}

// DESIGN 5: what is never a workspace. A folder below /tmp cannot be shown at its own place, where every script has an
// empty folder of its own, and that is said before anybody is asked.
#[test]
fn a_workspace_below_tmp_is_refused_before_anybody_is_asked() {
    let world = World::in_folder("/tmp");
    world.write("work/a", "a\n");
    for access in [WorkspaceAccess::Read, WorkspaceAccess::Change] {
        let job = world.shell("cat \"$1/a\"").argv(&[&world.text("work")]).workspace("work", access);
        let job = job.when_asked(|| panic!("somebody is asked"));
        let ended = job.run();
        assert_eq!(refused(&ended).0, Code::PlaceForbidden);
        let message = ended.unwrap_err().message;
        assert!(message.contains("/tmp") && message.contains("elsewhere"), "{message}");
    }
    // Its twins: single files there, read and written, and what a script makes.
    let script = "cat \"$1\" > \"$2\"; echo new > /out/new";
    let job = world.shell(script).argv(&[&world.text("work/a"), "/out/b"]);
    let job = job.reading(&world.text("work/a")).writing(&world.text("work/b")).out("work");
    assert_eq!(output(&job.run()), "");
    assert_eq!((world.read("work/b"), world.read("work/new")), ("a\n".into(), "new\n".into()));
}

// The sandbox and the store have one list of places that are the sandbox's own.
#[test]
fn both_know_the_same_places_of_the_sandbox() {
    use fumehood_sandbox::{Access, Limits, Profile, ProfileError};
    let limits = Limits {
        cpu_seconds: 1,
        memory_bytes_per_process: 1 << 28,
        processes: 1,
        file_bytes: 1 << 20,
        open_files: 32,
        temporary_bytes: 1 << 20,
        temporary_files: 16,
    };
    let build = |target: &str| {
        let profile = Profile::builder("/bin/sh", limits, Duration::from_secs(1));
        profile.grant("/srv/a", target, Access::Read).build().err()
    };
    for place in RESERVED {
        assert_eq!(build(place), Some(ProfileError::Reserved(place.into())), "{place}");
    }
    // Every folder of a usual root that the sandbox refuses is on the list.
    for place in [
        "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt", "opt", "out",
        "proc", "root", "run", "sbin", "skill", "snap", "srv", "sys", "tmp", "usr", "var",
    ] {
        let place = format!("/{place}");
        assert_eq!(build(&place).is_some(), RESERVED.contains(&place.as_str()), "{place}");
    }
}
