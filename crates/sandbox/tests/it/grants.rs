//! What is granted, and that nothing else is.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use fumehood_sandbox::{
    Access, Exit, Limits, Outcome, Profile, ProfileBuilder, ProfileError, Sandbox, SandboxError, Step,
};
use tempfile::TempDir;

fn sandbox() -> Sandbox {
    Sandbox::start_with(&crate::program()).expect("this machine has a sandbox")
}

const LIMITS: Limits = Limits {
    cpu_seconds: 5,
    memory_bytes_per_process: 256 << 20,
    processes: 16,
    file_bytes: 1 << 20,
    open_files: 64,
    temporary_bytes: 1 << 20,
    temporary_files: 64,
};

fn shell(script: &str) -> ProfileBuilder {
    Profile::builder("/bin/sh", LIMITS, Duration::from_secs(20))
        .variable("PATH", "/usr/bin:/bin")
        .argument("-c")
        .argument(script)
}

fn run(sandbox: &Sandbox, profile: ProfileBuilder) -> Outcome {
    let profile = profile.build().expect("the profile is consistent");
    sandbox.spawn(&profile).and_then(|run| run.wait(&|| false)).expect("it runs")
}

fn output(outcome: &Outcome) -> String {
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{}", String::from_utf8_lossy(&outcome.errors.bytes));
    String::from_utf8_lossy(&outcome.output.bytes).into_owned()
}

/// A folder whose path has no link in it.
fn folder() -> TempDir {
    let place = fs::canonicalize(std::env::temp_dir()).expect("there is a temporary folder");
    tempfile::tempdir_in(place).expect("a folder can be made")
}

fn refused_step(result: Result<impl Sized, SandboxError>) -> Step {
    match result {
        Err(SandboxError::SetUp { step, .. }) => step,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it runs"),
    }
}

#[test]
fn an_overlay_takes_the_writes_and_leaves_the_folder() {
    let (folder, sandbox) = (folder(), sandbox());
    let (lower, upper) = (folder.path().join("lower"), folder.path().join("upper"));
    fs::create_dir_all(lower.join("sub")).expect("made");
    fs::create_dir(&upper).expect("made");
    for name in ["kept", "changed", "removed", "sub/deep"] {
        fs::write(lower.join(name), "before\n").expect("written");
    }
    let script = "cd /home/u/work && cat kept changed removed sub/deep && echo after > changed && rm removed && \
                  echo new > sub/new && mkdir made && echo x > made/file && cat changed && test ! -e removed && ls /tmp";
    let outcome = run(&sandbox, shell(script).overlay(&lower, &upper, "/home/u/work"));
    assert_eq!(output(&outcome), "before\nbefore\nbefore\nbefore\nafter\n");
    for name in ["kept", "changed", "removed", "sub/deep"] {
        assert_eq!(fs::read_to_string(lower.join(name)).expect("it is there"), "before\n", "{name}");
    }
    assert!(!lower.join("made").exists() && !lower.join("sub/new").exists());
    let changes = upper.join("changes");
    assert_eq!(fs::read_to_string(changes.join("changed")).expect("it is there"), "after\n");
    assert_eq!(fs::read_to_string(changes.join("sub/new")).expect("it is there"), "new\n");
    assert_eq!(fs::read_to_string(changes.join("made/file")).expect("it is there"), "x\n");
    assert!(!changes.join("kept").exists());
    let removed = fs::symlink_metadata(changes.join("removed")).expect("it is there");
    assert!(removed.file_type().is_char_device() && removed.rdev() == 0);
    // The files are the caller's, as the child acted as the caller.
    let owner = fs::metadata(changes.join("made/file")).expect("it is there").uid();
    assert_eq!(owner, rustix_uid());
    // A second run over the same changes would mix them up.
    let again = shell("true").overlay(&lower, &upper, "/home/u/work").build().expect("consistent");
    assert_eq!(refused_step(sandbox.spawn(&again)), Step::OpenGrant);
}

fn rustix_uid() -> u32 {
    fs::metadata("/proc/self").expect("proc is there").uid()
}

#[test]
fn an_overlay_runs_nothing_that_was_written() {
    let (folder, sandbox) = (folder(), sandbox());
    let (lower, upper) = (folder.path().join("lower"), folder.path().join("upper"));
    fs::create_dir(&lower).expect("made");
    fs::create_dir(&upper).expect("made");
    let script =
        "cp /bin/true /work/tool && chmod 755 /work/tool && if /work/tool; then echo ran; else echo not; fi";
    assert_eq!(output(&run(&sandbox, shell(script).overlay(&lower, &upper, "/work"))), "not\n");
    assert!(upper.join("changes/tool").exists());
}

#[test]
fn a_descriptor_is_the_file_whatever_its_path_leads_to() {
    let (folder, sandbox) = (folder(), sandbox());
    let (path, aside) = (folder.path().join("file"), folder.path().join("aside"));
    fs::write(&path, "reviewed\n").expect("written");
    let open = || fs::File::open(&path).expect("it opens");
    let cat = |file: fs::File| shell("cat /in/file; echo no > /in/file").grant_open(file, "/in/file");
    assert_eq!(
        String::from_utf8_lossy(&run(&sandbox, cat(open())).output.bytes),
        "reviewed\n",
        "while it is where it was"
    );
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "reviewed\n");
    let file = open();
    fs::rename(&path, &aside).expect("renamed");
    fs::write(&path, "swapped\n").expect("written");
    assert_eq!(String::from_utf8_lossy(&run(&sandbox, cat(file)).output.bytes), "reviewed\n", "renamed");
    let file = fs::File::open(&aside).expect("it opens");
    fs::remove_file(&aside).expect("removed");
    let profile = cat(file).build().expect("consistent");
    assert_eq!(refused_step(sandbox.spawn(&profile)), Step::OpenGrant, "removed");
}

#[test]
fn a_descriptor_is_a_regular_file() {
    let (folder, sandbox) = (folder(), sandbox());
    for file in [fs::File::open(folder.path()), fs::File::open("/dev/null")] {
        let profile =
            shell("true").grant_open(file.expect("it opens"), "/in/file").build().expect("consistent");
        assert_eq!(refused_step(sandbox.spawn(&profile)), Step::OpenGrant);
    }
}

#[test]
fn no_part_of_a_source_is_a_link() {
    let (folder, sandbox) = (folder(), sandbox());
    fs::create_dir(folder.path().join("real")).expect("made");
    fs::write(folder.path().join("real/file"), "x\n").expect("written");
    symlink(folder.path().join("real"), folder.path().join("link")).expect("linked");
    symlink(folder.path().join("real/file"), folder.path().join("last")).expect("linked");
    let through = |path: &Path| shell("cat /in/file").grant(path, "/in/file", Access::Read);
    assert_eq!(output(&run(&sandbox, through(&folder.path().join("real/file")))), "x\n");
    for path in ["link/file", "last"] {
        let profile = through(&folder.path().join(path)).build().expect("consistent");
        assert_eq!(refused_step(sandbox.spawn(&profile)), Step::OpenGrant, "{path}");
    }
}

#[test]
fn a_run_sees_no_place_of_another() {
    let (folder, sandbox) = (folder(), sandbox());
    fs::write(folder.path().join("file"), "x\n").expect("written");
    let list = || shell("ls /; ls /home 2>/dev/null; true");
    let granted = |target: &str| list().grant(folder.path().join("file"), target, Access::Read);
    let plain = output(&run(&sandbox, list()));
    assert!(!plain.contains("home") && !plain.contains("secret"), "{plain}");
    // While others are alive that were granted something at the top, below it, and beside it.
    let held: Vec<_> = ["/secret", "/home/alice/x", "/home/bob/y"]
        .map(|target| {
            let profile = shell("sleep 10").grant(folder.path().join("file"), target, Access::Read).build();
            sandbox.spawn(&profile.expect("consistent")).expect("it runs")
        })
        .into();
    assert_eq!(output(&run(&sandbox, list())), plain);
    assert!(output(&run(&sandbox, granted("/home/carol/z"))).ends_with("usr\ncarol\n"));
    assert!(output(&run(&sandbox, granted("/secret"))).contains("secret"));
    drop(held);
    assert_eq!(output(&run(&sandbox, list())), plain);
    // More views than are kept.
    for number in 0..40 {
        let seen = output(&run(&sandbox, granted(&format!("/top-{number}/file"))));
        assert_eq!(seen.matches("top-").count(), 1, "{seen}");
    }
    assert_eq!(output(&run(&sandbox, list())), plain);
}

#[test]
fn grants_of_one_top_stand_side_by_side() {
    let (folder, sandbox) = (folder(), sandbox());
    fs::create_dir(folder.path().join("out")).expect("made");
    fs::write(folder.path().join("a"), "a\n").expect("written");
    fs::write(folder.path().join("b"), "b\n").expect("written");
    let script = "cat /home/u/a /home/u/deep/b /c && echo written > /home/u/out/file && \
                  for place in /home /home/u /home/u/deep /; do echo no 2>/dev/null > $place/x && echo $place; done; true";
    let profile = shell(script)
        .grant(folder.path().join("a"), "/home/u/a", Access::Read)
        .grant(folder.path().join("b"), "/home/u/deep/b", Access::Read)
        .grant(folder.path().join("b"), "/c", Access::Read)
        .grant(folder.path().join("out"), "/home/u/out", Access::Write);
    assert_eq!(output(&run(&sandbox, profile)), "a\nb\nb\n");
    assert_eq!(fs::read_to_string(folder.path().join("out/file")).expect("written"), "written\n");
}

/// A file of the host below its own /tmp keeps its place; the rest of the child's /tmp is the child's.
#[test]
fn a_file_may_lie_in_the_temporary_folder() {
    let (folder, sandbox) = (folder(), sandbox());
    let file = folder.path().join("file");
    fs::write(&file, "x\n").expect("written");
    let script = "cd /tmp/work/deep && cat file && ls /tmp && echo mine > /tmp/own && cat /tmp/own && \
                  ! (echo no > file) 2>/dev/null && ! rm file 2>/dev/null && ! mv file other 2>/dev/null && \
                  echo mine > ../beside";
    let seen = output(&run(&sandbox, shell(script).grant(&file, "/tmp/work/deep/file", Access::Read)));
    assert_eq!(seen, "x\nwork\nmine\n");
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "x\n");
    // A folder may hold a pipe, and neither a mount nor Landlock would keep the child from writing to it there.
    for access in [Access::Read, Access::Write] {
        let profile = shell("true").grant(folder.path(), "/tmp/work", access).build().expect("consistent");
        assert_eq!(refused_step(sandbox.spawn(&profile)), Step::Grant);
    }
    let whole = shell("true").grant(folder.path(), "/tmp", Access::Read).build();
    assert_eq!(whole.err(), Some(ProfileError::Reserved("/tmp".into())));
    let overlay = shell("true").overlay("/srv/a", "/srv/b", "/tmp/a").build();
    assert_eq!(overlay.err(), Some(ProfileError::Reserved("/tmp/a".into())));
}

/// One over the limit of grants, and at it.
#[test]
fn a_hundred_grants_are_the_most() {
    let (folder, sandbox) = (folder(), sandbox());
    fs::write(folder.path().join("file"), "x\n").expect("written");
    let many = |count: usize| {
        let grant = |profile: ProfileBuilder, number| {
            profile.grant(folder.path().join("file"), format!("/in/{number}"), Access::Read)
        };
        (0..count).fold(shell("ls /in | wc -l"), grant)
    };
    assert_eq!(output(&run(&sandbox, many(100))), "100\n");
    assert_eq!(many(101).build().err(), Some(ProfileError::Limit("grants")));
}

/// Each refusal beside what is accepted.
#[test]
fn what_can_be_written_is_nobodys_program_and_not_protected() {
    let build = |profile: ProfileBuilder| profile.build().err();
    let base = || shell("true");
    assert_eq!(build(base().grant("/srv/a", "/a", Access::Write).protect("/srv/b")), None);
    for (written, protected) in [("/srv/a", "/srv/a"), ("/srv/a/b", "/srv/a"), ("/srv", "/srv/a")] {
        let error = build(base().grant(written, "/a", Access::Write).protect(protected));
        assert_eq!(error, Some(ProfileError::Protected(written.into())));
        let error = build(base().overlay("/srv/lower", written, "/a").protect(protected));
        assert_eq!(error, Some(ProfileError::Protected(written.into())));
        // Reading a protected place is no harm to it.
        assert_eq!(build(base().grant(written, "/a", Access::Read).protect(protected)), None);
        assert_eq!(build(base().overlay(written, "/var/upper", "/a").protect(protected)), None);
    }
    for place in ["/usr", "/usr/lib/python3", "/", "/etc"] {
        let error = build(base().grant(place, "/a", Access::Write));
        assert_eq!(error, Some(ProfileError::WritableProgram(place.into())));
    }
    let read_and_written = base().grant("/srv/a", "/a", Access::Read).grant("/srv/a/b", "/b", Access::Write);
    assert_eq!(build(read_and_written), Some(ProfileError::WritableProgram("/srv/a/b".into())));
    let beside = base().grant("/srv/a", "/a", Access::Read).grant("/srv/b", "/b", Access::Write);
    assert_eq!(build(beside), None);
    let over_itself = base().overlay("/srv/a", "/srv/a/upper", "/a");
    assert_eq!(build(over_itself), Some(ProfileError::WritableProgram("/srv/a/upper".into())));
    let one_upper = base().overlay("/srv/a", "/srv/up", "/a").overlay("/srv/b", "/srv/up", "/b");
    assert_eq!(build(one_upper), Some(ProfileError::WritableProgram("/srv/up".into())));
    let through_dots = base().grant("/srv/a/../b", "/a", Access::Read);
    assert_eq!(build(through_dots), Some(ProfileError::Path("/srv/a/../b".into())));
}

// EXE-67: armed, or refused.
#[test]
fn the_memory_of_all_processes_is_limited_or_refused() {
    let sandbox = sandbox();
    // Each of four processes stays below its own limit of 256 MiB.
    let script = "for i in 1 2 3 4; do /usr/bin/python3 -c 'x = bytearray(60 << 20); import time; time.sleep(1)' & \
                  all=\"$all $!\"; done; for one in $all; do wait $one || echo lost; done; echo end";
    let profile = |bytes| {
        let profile = Profile::builder("/bin/bash", LIMITS, Duration::from_secs(20));
        profile.argument("-c").argument(script).variable("PATH", "/usr/bin:/bin").memory_total(bytes)
    };
    let run = |bytes| {
        let profile = profile(bytes).build().expect("consistent");
        sandbox.spawn(&profile).and_then(|run| run.wait(&|| false))
    };
    if !sandbox.enforcement().can_limit_total_memory() {
        println!("not armed here: no control group of ours");
        assert!(matches!(run(128 << 20), Err(SandboxError::NoMemoryTotal)));
        return;
    }
    assert_eq!(output(&run(1 << 30).expect("it runs")), "end\n");
    let outcome = run(128 << 20).expect("it runs");
    let text = String::from_utf8_lossy(&outcome.output.bytes).into_owned();
    // One was lost, or the shell itself, which lost it.
    assert!(text.contains("lost") || outcome.exit == Some(Exit::Signal(9)), "{text} {:?}", outcome.exit);
    drop(sandbox);
    for line in fs::read_to_string("/proc/self/mountinfo").expect("proc is there").lines() {
        let point = line.split(' ').nth(4).unwrap_or_default();
        let is_memory = line.contains(" - cgroup cgroup ") && point.ends_with("memory");
        assert!(!is_memory || !has_group_of_ours(Path::new(point)), "a group is left in {point}");
    }
}

/// Of this process's launchers, whose number is in the name and who are gone.
fn has_group_of_ours(place: &Path) -> bool {
    let Ok(entries) = fs::read_dir(place) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix("fumehood-").and_then(|rest| rest.split('-').next().map(str::to_owned));
        let is_left = pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists());
        is_left || (entry.path().is_dir() && has_group_of_ours(&entry.path()))
    })
}

/// On most machines what is mounted somewhere shows wherever that place is mounted too, with no attribute of ours.
#[test]
fn what_the_host_mounts_during_a_run_does_not_show_in_it() {
    let script = "mount --bind \"$1\" \"$1\" && mount --make-shared \"$1\"";
    with_mounts(script, "grants::mounts_below_a_grant");
}

#[test]
fn an_overlay_does_not_show_what_is_under_a_mount() {
    let script =
        "echo hidden >\"$1\"/sub/hidden && mount -t tmpfs none \"$1\"/sub && echo seen >\"$1\"/sub/seen";
    with_mounts(script, "grants::mounts_below_an_overlay");
}

/// Runs another test of this program among mounts and processes of its own, which are gone with it.
pub(crate) fn with_mounts(script: &str, test: &str) {
    let place = folder();
    fs::create_dir(place.path().join("sub")).expect("made");
    let mut unshare = std::process::Command::new("unshare");
    if rustix_uid() != 0 {
        unshare.args(["--user", "--map-root-user"]);
    }
    let output = unshare
        .args(["--mount", "--pid", "--fork", "--mount-proc", "sh", "-c"])
        .arg(format!("{script} && exec \"$0\" --exact {test} --ignored --nocapture"))
        .args([std::env::current_exe().expect("a program").as_path(), place.path()])
        .env(FOLDER, place.path())
        .output()
        .expect("unshare is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
}

#[test]
#[ignore = "the other half of the one above"]
fn mounts_below_a_grant() {
    let Some(place) = std::env::var_os(FOLDER).map(std::path::PathBuf::from) else { return };
    let sandbox = sandbox();
    let script = "cat /in/sub/secret; grep -c -E ' (shared|master):' /proc/self/mountinfo; \
                  read wait; cat /in/sub/secret; echo end";
    let profile = shell(script).grant(&place, "/in", Access::Read);
    let mut run = sandbox.spawn(&profile.build().expect("consistent")).expect("it runs");
    let tmpfs = ["-t", "tmpfs", "-o", "mode=777", "none"];
    let mount = std::process::Command::new("mount").args(tmpfs).arg(place.join("sub")).status();
    assert!(mount.expect("mount is there").success());
    fs::write(place.join("sub/secret"), "secret\n").expect("written");
    drop(run.take_input());
    let outcome = run.wait(&|| false).expect("it ends");
    assert_eq!(String::from_utf8_lossy(&outcome.output.bytes), "0\nend\n");
}

#[test]
#[ignore = "the other half of the one above"]
fn mounts_below_an_overlay() {
    let Some(place) = std::env::var_os(FOLDER).map(std::path::PathBuf::from) else { return };
    let (upper, sandbox) = (folder(), sandbox());
    let read = shell("cat /in/sub/*").grant(&place, "/in", Access::Read);
    assert_eq!(output(&run(&sandbox, read)), "seen\n");
    let over = shell("cat /in/sub/*").overlay(&place, upper.path(), "/in").build().expect("consistent");
    assert_eq!(refused_step(sandbox.spawn(&over)), Step::Grant);
}

pub(crate) const FOLDER: &str = "FUMEHOOD_TEST_FOLDER";

#[test]
fn a_place_that_cannot_be_made_leaves_nothing_behind() {
    let (folder, sandbox) = (folder(), sandbox());
    fs::write(folder.path().join("file"), "").expect("written");
    let looks = |sandbox: &Sandbox| {
        let script = "ls /; grep -c . /proc/self/mountinfo; cat /proc/self/mountinfo | cut -d' ' -f5 | sort";
        output(&run(sandbox, shell(script).grant(folder.path(), "/in", Access::Read)))
    };
    let before = looks(&sandbox);
    // No name is as long as this; a name beside it is made first, and must not be seen.
    let too_long = format!("/x{}", "y".repeat(300));
    for _ in 0..8 {
        let profile = shell("true")
            .grant(folder.path().join("file"), "/a-name-of-another", Access::Read)
            .grant(folder.path(), &too_long, Access::Read);
        assert_eq!(refused_step(sandbox.spawn(&profile.build().expect("consistent"))), Step::Base);
    }
    assert_eq!(looks(&sandbox), before);
    output(&run(&sandbox, shell("true").grant(folder.path(), "/another", Access::Read)));
    assert_eq!(looks(&sandbox), before);
}

#[test]
fn an_overlay_is_in_no_other_grants_way() {
    let (folder, sandbox) = (folder(), sandbox());
    for name in ["lower", "upper"] {
        fs::create_dir(folder.path().join(name)).expect("made");
    }
    fs::write(folder.path().join("file"), "file\n").expect("written");
    fs::write(folder.path().join("lower/file"), "lower\n").expect("written");
    let profile = shell("cat /over/file /tmp/layers /tmp/layers-1 /tmp/layers-2; ls /tmp")
        .grant(folder.path().join("file"), "/tmp/layers", Access::Read)
        .grant(folder.path().join("file"), "/tmp/layers-1", Access::Read)
        .overlay(folder.path().join("lower"), folder.path().join("upper"), "/over")
        .grant(folder.path().join("file"), "/tmp/layers-2", Access::Read);
    assert_eq!(output(&run(&sandbox, profile)), "lower\nfile\nfile\nfile\nlayers\nlayers-1\nlayers-2\n");
}

#[test]
fn totals_of_many_runs_at_once_are_each_their_own() {
    let sandbox = sandbox();
    let profile = shell("true").memory_total(64 << 20).build().expect("consistent");
    if let Err(SandboxError::NoMemoryTotal) = sandbox.spawn(&profile) {
        return;
    }
    // A group that nobody has joined yet is nobody's to remove.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let run = sandbox.spawn(&profile).and_then(|run| run.wait(&|| false));
                    assert_eq!(run.expect("it runs").exit, Some(Exit::Code(0)));
                }
            });
        }
    });
}
