//! What a script leaves in `/out`: files that the person named, and a folder for all others.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::time::{Duration, Instant};

use fumehood_core::code::Code;
use fumehood_core::receipt::Change;
use fumehood_core::tool::Failure;

use crate::manifest::without_times_of_folders;
use crate::world::{World, failed, output, refused};

fn person() -> World {
    let world = World::new();
    world.write("work/report", "before\n");
    fs::set_permissions(world.at("work/report"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(world.at("results")).unwrap();
    world
}

// DESIGN 5: the script gets a copy in /out; after success the host moves it into place.
#[test]
fn named_files_are_replaced_and_made_after_success() {
    let world = person();
    let script =
        "set -e; cat \"$1\"; echo after > \"$1.tmp\"; mv \"$1.tmp\" \"$1\"; echo made > \"$2\"; ls /out";
    let params = r#"[{"name":"report","type":"path","access":"write"},{"name":"new","type":"path","access":"create"}]"#;
    let arguments = format!(r#"{{"report":"{}","new":"work/new"}}"#, world.text("work/report"));
    let ended = world.shell(script).declared(params, &arguments).run();
    assert_eq!(output(&ended), "before\nnew\nreport\n");
    assert_eq!((world.read("work/report"), world.read("work/new")), ("after\n".into(), "made\n".into()));
    assert_eq!((world.mode("work/report"), world.mode("work/new")), (0o600, 0o644));
    let me = fs::metadata(world.at("work")).unwrap().uid();
    assert_eq!(fs::metadata(world.at("work/new")).unwrap().uid(), me);
    let changes: Vec<_> = ended.unwrap().applied.into_iter().map(|one| one.change).collect();
    assert!(changes.contains(&Change::Created) && changes.contains(&Change::Replaced));
    world.assert_clean();
    // The same by flags, and everything else to a folder.
    let script = "set -e; echo again > /out/report; mkdir /out/sub; echo x > /out/sub/x; echo y > /out/y";
    output(&world.shell(script).writing("work/report").out("results").run());
    assert_eq!(world.read("work/report"), "again\n");
    assert_eq!((world.read("results/sub/x"), world.read("results/y")), ("x\n".into(), "y\n".into()));
    world.assert_clean();
}

// A file that was asked for and not made, or left as it was, is no failure, and nothing is changed.
#[test]
fn what_was_not_written_is_not_touched() {
    let world = person();
    let before = without_times_of_folders(world.manifest("work"));
    let ended = world.shell("touch /out/report").writing("work/report").writing("work/new").run();
    assert_eq!(output(&ended), "");
    assert_eq!(ended.unwrap().applied, []);
    assert_eq!(without_times_of_folders(world.manifest("work")), before);
    world.assert_clean();
}

// DESIGN 5: never over an existing file, never over somebody else's change, and nothing after a failure.
#[test]
fn a_run_that_fails_changes_nothing() {
    for (script, code) in [
        ("echo after > /out/report; echo x > /out/new; exit 1", Code::ScriptFailed),
        ("echo after > /out/report; echo x > /out/new; kill -9 $$", Code::ScriptFailed),
        ("echo after > /out/report; echo x > /out/new; while :; do sleep 1; done", Code::ScriptTimeout),
        // What nobody asked for, beside what somebody did.
        ("echo after > /out/report; echo x > /out/else", Code::WorkspaceRefused),
    ] {
        let world = person();
        let before = world.manifest("");
        let ended = world.shell(script).writing("work/report").writing("work/new").seconds(2).run();
        assert_eq!(failed(&ended), code, "{script}");
        let after = world.manifest("");
        for name in ["work", "work/report", "results"] {
            assert_eq!(after[name.as_bytes()], before[name.as_bytes()], "{script}");
        }
        world.assert_clean();
    }
}

#[test]
fn a_file_that_somebody_changes_while_it_runs_is_theirs() {
    for (named, theirs) in
        [("work/report", "work/report"), ("work/new", "work/new"), ("work/new", "work/new/in")]
    {
        let world = person();
        world.write("signal", "");
        let signal = world.text("signal");
        let script = "echo after > \"/out/$2\"; until test -s \"$1\"; do sleep 0.01; done";
        let name = named.rsplit('/').next().unwrap();
        let job = world.shell(script).argv(&[&signal, name]).reading(&signal).writing(named);
        let ended = std::thread::scope(|scope| {
            let run = scope.spawn(|| job.run());
            let until = Instant::now() + Duration::from_secs(30);
            while !crate::workspace::is_running(&signal) {
                assert!(Instant::now() < until);
                std::thread::sleep(Duration::from_millis(5));
            }
            world.write(theirs, "theirs\n");
            fs::write(world.at("signal"), "go\n").unwrap();
            run.join().unwrap()
        });
        assert!(matches!(failed(&ended), Code::WorkspaceConflict | Code::WorkspaceRefused), "{ended:?}");
        assert_eq!(world.read(theirs), "theirs\n", "{named}");
        world.assert_clean();
    }
}

// DESIGN 5: links, devices and FIFOs are refused and reported, through `Shown`; one refuses all.
#[test]
fn what_is_no_plain_file_or_has_a_name_that_lies_refuses_all() {
    for (attack, said) in [
        ("ln -s /etc/passwd /out/x", "x is a link"),
        ("ln -s / /out/x", "x is a link"),
        ("mkfifo /out/pipe", "pipe is a FIFO"),
        (
            "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"/out/sock\")' || mkfifo /out/sock",
            "sock",
        ),
        ("echo x > /out/a; ln /out/a /out/b", "two names"),
        ("echo x > /out/.profile", ".profile"),
        ("mkdir /out/.git; echo x > /out/.git/config", ".git"),
        ("echo x > /out/a; echo y > /out/A", "but for case"),
        ("printf x > \"$(printf '/out/a\\nForged: yes')\"", "Forged"),
        ("printf x > \"$(printf '/out/a\\033]52;c;cm0=\\007')\"", "]52"),
        ("printf x > \"$(printf '/out/a\\342\\200\\256txt.exe')\"", "txt.exe"),
        ("printf x > \"$(printf '/out/a\\377b')\"", "b"),
        ("d=/out; for i in $(seq 40); do d=$d/d; mkdir $d; done; echo x > $d/x", "d/d/d"),
    ] {
        let world = person();
        let before = world.manifest("results");
        let ended = world.shell(&format!("echo fine > /out/fine; {attack}")).out("results").run();
        assert_eq!(failed(&ended), Code::WorkspaceRefused, "{attack}: {ended:?}");
        let message = ended.unwrap_err().message;
        assert!(message.contains(said), "{attack}: {message}");
        assert!(!message.chars().any(|c| c.is_control() || c == '\u{202e}'), "{attack}: {message:?}");
        assert_eq!(world.manifest("results"), before, "{attack}");
        world.assert_clean();
    }
    // The twin: a name as long as names can be.
    let world = person();
    let long = "n".repeat(255);
    output(&world.shell(&format!("echo x > /out/{long}")).out("results").run());
    assert_eq!(world.read(&format!("results/{long}")), "x\n");
}

// Nothing that a script does to `/out` itself keeps the host from reading or removing it, or leads it elsewhere.
#[test]
fn the_folder_itself_can_be_spoilt_and_does_no_harm() {
    // Its own mode is nobody's business: what is in it is collected.
    let world = person();
    output(&world.shell("echo x > /out/x; chmod 000 /out").out("results").run());
    assert_eq!(world.read("results/x"), "x\n");
    world.assert_clean();
    // It is the place of a mount, so nothing takes its place.
    for attack in
        ["rm -r /out", "rmdir /out", "mv /out /out2", "ln -sfn /etc /out", "mount --bind /skill /out"]
    {
        let world = person();
        let script = format!("{{ {attack}; }} 2>/dev/null && echo done; echo x > /out/x");
        let ended = world.shell(&script).out("results").run();
        // `ln` makes a link in it, which is refused.
        match ended {
            Ok(completed) => assert_eq!(
                (world.read("results/x").as_str(), completed.applied.len()),
                ("x\n", 1),
                "{attack}"
            ),
            Err(_) => assert!(
                attack.starts_with("ln") && fs::read_dir(world.at("results")).unwrap().next().is_none()
            ),
        }
        world.assert_clean();
    }
    // Folders and files in it that can be neither read nor entered, by whoever is no superuser.
    let world = person();
    let script = "mkdir -p /out/d/e; echo x > /out/d/e/x; chmod 000 /out/d/e/x /out/d/e /out/d";
    let ended = world.shell(script).out("results").run();
    if !fumehood_testkit::is_root() {
        assert_eq!(failed(&ended), Code::WorkspaceRefused);
        assert_eq!(fs::read_dir(world.at("results")).unwrap().count(), 0);
    }
    world.assert_clean();
}

// A process that is left and holds the folder open is gone before anything is read.
#[test]
fn who_holds_the_folder_open_is_gone_before_it_is_read() {
    let world = person();
    let script = "cat > /tmp/stay.sh <<'X'\ntrap '' TERM HUP\nexec 9>/out/held\nwhile :; do echo more >&9; echo x > /out/later; done\nX\n\
                  setsid sh /tmp/stay.sh </dev/null >/dev/null 2>&1 & until test -e /out/later; do :; done; echo first > /out/first";
    let before = Instant::now();
    output(&world.shell(script).out("results").run());
    assert!(before.elapsed() < Duration::from_secs(20));
    let at_once = world.manifest("results");
    assert_eq!(world.read("results/first"), "first\n");
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(world.manifest("results"), at_once);
    world.assert_clean();
}

// Too many, too large, larger than there is: refused soon, and removed.
#[test]
fn a_flood_of_files_is_refused_and_removed() {
    let world = person();
    let python = "import os\nos.makedirs('/out/d')\nfor i in range(100_000): os.close(os.open(f'/out/d/{i}', os.O_CREAT | os.O_WRONLY))";
    let ended = world.python(python).out("results").seconds(120).run();
    assert_eq!(failed(&ended), Code::WorkspaceTooLarge, "{ended:?}");
    assert_eq!(fs::read_dir(world.at("results")).unwrap().count(), 0);
    world.assert_clean();
    // A file of a tebibyte that takes no room: the limit of a file's size, in the kernel.
    let ended = world.shell("truncate -s 1T /out/x || { rm -f /out/x; echo refused; }").out("results").run();
    assert_eq!(output(&ended), "refused\n");
    // Many that are each below it: what a run may change in all.
    let ended = world.shell("for i in 1 2 3; do truncate -s 1000M /out/$i; done").out("results").run();
    assert_eq!(failed(&ended), Code::WorkspaceTooLarge);
    assert_eq!(fs::read_dir(world.at("results")).unwrap().count(), 0);
    world.assert_clean();
}

// The file that was granted has no other name in `/out`, for it lies on another mount.
#[test]
fn a_granted_file_cannot_be_linked_into_the_folder() {
    let world = person();
    let before = world.manifest("work");
    let script = "ln \"$1\" /out/x 2>/dev/null && echo linked; ln -L \"$1\" /out/y 2>/dev/null && echo linked; \
                  mv \"$1\" /out/z 2>/dev/null && echo moved; echo x 2>/dev/null >> \"$1\" && echo wrote; ls /out";
    let report = world.text("work/report");
    let ended = world.shell(script).argv(&[&report]).reading(&report).out("results").run();
    let said = output(&ended);
    assert!(!said.contains("linked") && !said.contains("wrote"), "{said}");
    assert_eq!(world.manifest("work"), before);
}

// What cannot be laid out together is refused before anybody is asked.
#[test]
fn two_files_of_one_name_are_refused_before_anybody_is_asked() {
    let world = person();
    world.write("other/report", "other\n");
    let job = world.shell("true").writing("work/report").writing("other/report");
    let ended = job.when_asked(|| panic!("somebody is asked")).run();
    assert_eq!(refused(&ended), (Code::OutputNameClash, Failure::Path));
}

// A link in place of a file that would be replaced leads nowhere, before and after the question.
#[test]
fn a_target_that_becomes_a_link_is_refused() {
    let world = person();
    world.write("secret", "not yours\n");
    let (report, secret) = (world.at("work/report"), world.at("secret"));
    let job = world.shell("echo after > /out/report").writing("work/report").when_asked(move || {
        fs::remove_file(&report).unwrap();
        symlink(&secret, &report).unwrap();
    });
    refused(&job.run());
    assert_eq!(world.read("secret"), "not yours\n");
    world.assert_clean();
}
