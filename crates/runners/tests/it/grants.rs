//! The argument is the grant, and what runs is what the person was shown.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use fumehood_core::HostPath;
use fumehood_core::code::Code;
use fumehood_core::envelope::Roots;
use fumehood_core::tool::Failure;
use fumehood_runners::script::WorkspaceAccess;
use fumehood_store::{DiskFolder, Folder as _};

use crate::world::{Job, SCRIPT, World, output, refused};

const READ: &str = r#"[{"name":"file","type":"path","access":"read"}]"#;

/// A file, one beside it, and one elsewhere.
fn person() -> World {
    let world = World::new();
    world.write("work/paper", "mine\n");
    world.write("work/secret", "not for you\n");
    world.write("other/paper", "another's\n");
    world
}

/// A script that reads the file which its argument names.
fn reader(world: &World) -> Job<'_> {
    let arguments = format!(r#"{{"file":"{}"}}"#, world.text("work/paper"));
    world.shell("cat \"$1\"").declared(READ, &arguments)
}

// DESIGN 5: exactly that file appears, at its own path, read-only; nothing beside it.
#[test]
fn an_argument_grants_one_file_and_nothing_beside_it() {
    let world = person();
    let script = "cat \"$1\"; ls \"${1%/*}\"; cat \"${1%/*}/secret\" 2>/dev/null; ls \"${1%/*}/..\"; \
                  for way in 'echo x > \"$0\"' 'echo x >> \"$0\"' 'rm \"$0\"' 'mv \"$0\" \"$0.old\"' 'chmod 777 \"$0\"' 'touch \"$0\"' \
                  'truncate -s 0 \"$0\"' 'ln -s x \"$0.link\"' 'echo x > \"${0%/*}/new\"'; do sh -c \"$way\" \"$1\" 2>/dev/null && echo \"$way\"; done; true";
    let before = world.manifest("work");
    let arguments = format!(r#"{{"file":"{}"}}"#, world.text("work/paper"));
    let ended = world.shell(script).declared(READ, &arguments).run();
    assert_eq!(output(&ended), "mine\npaper\nwork\n");
    assert_eq!(world.manifest("work"), before);
    world.assert_clean();
}

// With a workspace, an argument stays in it; no way of writing a path leads out.
#[test]
fn an_argument_stays_in_the_workspace() {
    let world = person();
    symlink("../other/paper", world.at("work/link")).unwrap();
    for (value, code) in [
        ("paper", None),
        ("./paper", None),
        // It comes back, and was outside on the way.
        ("../work/paper", Some(Code::PlaceOutside)),
        ("../other/paper", Some(Code::PlaceOutside)),
        ("link", Some(Code::PlaceOutside)),
        ("/etc/passwd", Some(Code::PlaceOutside)),
        ("missing", Some(Code::FileNotFound)),
        (".", Some(Code::NotAFile)),
    ] {
        let arguments = format!(r#"{{"file":"{value}"}}"#);
        let job = world.shell("cat \"$1\"").declared(READ, &arguments);
        let ended = job.workspace("work", WorkspaceAccess::Read).run();
        match code {
            None => assert_eq!(output(&ended), "mine\n", "{value}"),
            Some(code) => assert_eq!(refused(&ended).0, code, "{value}"),
        }
    }
}

/// Whoever swaps something while the person reads the question.
fn swapped(job: Job<'_>, swap: impl Fn() + Send + Sync + 'static) -> (Code, Failure) {
    let ended = job.when_asked(swap).run();
    refused(&ended)
}

// DESIGN 2: a yes is for exactly what was shown. Each of these changes it while the person reads, and nothing runs.
#[test]
fn what_changes_between_the_question_and_the_yes_does_not_run() {
    type Swap = fn(PathBuf);
    let swaps: [(&str, Swap); 7] = [
        ("written over", |root| fs::write(root.join("work/paper"), "other\n").unwrap()),
        ("written over by as many bytes", |root| fs::write(root.join("work/paper"), "mime\n").unwrap()),
        ("replaced", |root| fs::rename(root.join("work/secret"), root.join("work/paper")).unwrap()),
        ("a link", |root| {
            fs::remove_file(root.join("work/paper")).unwrap();
            symlink("secret", root.join("work/paper")).unwrap();
        }),
        ("a folder", |root| {
            fs::remove_file(root.join("work/paper")).unwrap();
            fs::create_dir(root.join("work/paper")).unwrap();
        }),
        ("gone", |root| fs::remove_file(root.join("work/paper")).unwrap()),
        ("its folder is a link", |root| {
            fs::rename(root.join("work"), root.join("moved")).unwrap();
            symlink("other", root.join("work")).unwrap();
        }),
    ];
    for (name, swap) in swaps {
        let world = person();
        let root = world.at("");
        let (code, _) = swapped(reader(&world), move || swap(root.clone()));
        assert!(
            matches!(code, Code::ConsentStale | Code::FileNotFound | Code::NotAFile | Code::FileChanged),
            "{name}: {code}"
        );
        world.assert_clean();
    }
    // The twin: what is not granted may change.
    let world = person();
    let secret = world.at("work/secret");
    let job = reader(&world).when_asked(move || fs::write(&secret, "changed\n").unwrap());
    assert_eq!(output(&job.run()), "mine\n");
}

#[test]
fn a_workspace_that_is_swapped_while_the_person_reads_is_not_run_in() {
    for access in [WorkspaceAccess::Read, WorkspaceAccess::Change] {
        let world = person();
        let root = world.at("");
        let job = world.shell("cat \"$1/paper\"").argv(&[&world.text("work")]).workspace("work", access);
        let (code, _) = swapped(job.clone(), move || {
            fs::rename(root.join("work"), root.join("moved")).unwrap();
            fs::rename(root.join("other"), root.join("work")).unwrap();
        });
        assert_eq!(code, Code::ConsentStale);
        world.assert_clean();
    }
}

// And a folder that is swapped after the yes, right before the launch.
#[test]
fn a_workspace_that_is_swapped_after_the_yes_is_not_run_in() {
    let world = person();
    let root = world.at("");
    let mut job = world.shell("cat \"$1/paper\"").argv(&[&world.text("work")]);
    job = job.workspace("work", WorkspaceAccess::Read);
    job.on_look = Arc::new(move |look| {
        if look == 3 {
            fs::rename(root.join("work"), root.join("moved")).unwrap();
            fs::rename(root.join("other"), root.join("work")).unwrap();
        }
    });
    assert_eq!(refused(&job.run()), (Code::FileChanged, Failure::Integrity));
    world.assert_clean();
}

// X-28: the skill's folder may change while the person reads; what was shown is what runs, out of memory.
#[test]
fn a_skill_that_changes_while_the_person_reads_runs_as_it_was_shown() {
    let world = person();
    world.write("skill/SKILL.md", "---\nname: attack\ndescription: Attacks.\n---\n");
    let script = world.write(&format!("skill/{SCRIPT}"), "echo shown; ls\n");
    let snapshot = DiskFolder::open(&world.at("skill")).unwrap().capture().unwrap();
    let mut job = world.shell("");
    job.snapshot = Some(snapshot);
    let folder = world.at("skill");
    let job = job.when_asked(move || {
        fs::write(&script, "echo swapped\n").unwrap();
        fs::write(folder.join("more"), "").unwrap();
    });
    assert_eq!(output(&job.run()), "shown\nSKILL.md\nscripts\n");
    fs::remove_dir_all(world.at("skill")).unwrap();
    assert_eq!(output(&job.clone().when_asked(|| {}).run()), "shown\nSKILL.md\nscripts\n");
}

// DESIGN 5: the interpreter is verified again before each launch.
#[test]
fn an_interpreter_that_is_swapped_does_not_run() {
    for (after, code) in [(1, Code::ConsentStale), (2, Code::InterpreterChanged)] {
        let world = person();
        let mut job = reader(&world);
        job.swaps_interpreter_after = after;
        assert_eq!(refused(&job.run()).0, code);
        world.assert_clean();
    }
    // The twin.
    let world = person();
    assert_eq!(output(&reader(&world).run()), "mine\n");
}

// X-28: what was laid out is hashed again as the last thing before the launch.
#[test]
fn files_that_are_changed_where_they_were_laid_out_do_not_run() {
    type Attack = fn(PathBuf);
    let attacks: [(&str, Attack); 5] = [
        ("another script", |skill| {
            let script = skill.join(SCRIPT);
            fs::remove_file(&script).unwrap();
            fs::write(&script, "echo swapped\n").unwrap();
        }),
        ("a link to one", |skill| {
            fs::remove_file(skill.join(SCRIPT)).unwrap();
            symlink("/etc/passwd", skill.join(SCRIPT)).unwrap();
        }),
        ("one file more", |skill| fs::write(skill.join("scripts/sitecustomize.py"), "").unwrap()),
        ("one file less", |skill| fs::remove_file(skill.join("SKILL.md")).unwrap()),
        ("another folder", |skill| {
            fs::rename(&skill, skill.with_file_name("moved")).unwrap();
            fs::create_dir(&skill).unwrap();
        }),
    ];
    for (name, attack) in attacks {
        let world = person();
        let staging = world.at("state/staging");
        let mut job = world.shell("echo shown");
        job.on_look = Arc::new(move |look| {
            if look == 3 {
                let folders = fs::read_dir(&staging).unwrap().map(|entry| entry.unwrap().path());
                for folder in folders.filter(|folder| folder.join("content/SKILL.md").exists()) {
                    attack(folder.join("content"));
                }
            }
        });
        assert_eq!(refused(&job.run()), (Code::SnapshotChanged, Failure::Integrity), "{name}");
        world.assert_clean();
    }
}

// EXE-51, EXE-64: a call that would get more than the envelope is refused before anybody is asked, and the rule is named.
#[test]
fn what_the_envelope_has_no_room_for_is_refused_by_name() {
    let world = person();
    let within = |below: &str| Roots::Within(vec![HostPath::parse(&world.text(below)).unwrap()]);
    fs::create_dir(world.at("results")).unwrap();
    let read = || reader(&world);
    let work = || world.shell("true").workspace("work", WorkspaceAccess::Read);
    let cases: [(&str, &str, Job<'_>, Job<'_>); 7] = [
        (
            "read_roots",
            "an argument",
            read().enveloped(|parts| parts.read_roots = within("other")),
            read().enveloped(|parts| parts.read_roots = within("work")),
        ),
        (
            "read_roots",
            "a flag",
            world.shell("true").reading("work/paper").enveloped(|parts| parts.read_roots = within("wor")),
            world
                .shell("true")
                .reading("work/paper")
                .enveloped(|parts| parts.read_roots = within("work/paper")),
        ),
        (
            "read_roots",
            "a workspace",
            work().enveloped(|parts| parts.read_roots = within("work/paper")),
            work().enveloped(|parts| parts.read_roots = within("")),
        ),
        (
            "write_roots",
            "a workspace",
            world.shell("true").changing("work").enveloped(|parts| parts.write_roots = within("other")),
            world.shell("true").changing("work").enveloped(|parts| parts.write_roots = within("work")),
        ),
        (
            "write_roots",
            "a file",
            world.shell("true").writing("work/paper").enveloped(|parts| parts.write_roots = within("other")),
            world.shell("true").writing("work/paper").enveloped(|parts| parts.write_roots = within("work")),
        ),
        (
            "write_roots",
            "a folder",
            world
                .shell("true")
                .out("results")
                .enveloped(|parts| parts.write_roots = Roots::Within(Vec::new())),
            world.shell("true").out("results").enveloped(|parts| parts.write_roots = within("results")),
        ),
        (
            "interpreter_read_paths",
            "an interpreter",
            Job { interpreter_reads: vec![world.at("other")], ..world.shell("true") }
                .enveloped(|parts| parts.interpreter_read_paths = within("work")),
            Job { interpreter_reads: vec![world.at("other")], ..world.shell("true") }
                .enveloped(|parts| parts.interpreter_read_paths = within("other")),
        ),
    ];
    for (rule, what, refused_job, accepted) in cases {
        let ended = refused_job.when_asked(|| panic!("somebody is asked")).run();
        assert_eq!(refused(&ended), (Code::ScriptPolicyWidened, Failure::Policy), "{rule}, {what}");
        let message = ended.unwrap_err().message;
        assert!(message.contains(rule), "{what}: {message}");
        let _ =
            accepted.run().unwrap_or_else(|error| panic!("{rule}, {what}: {} {}", error.code, error.message));
    }
    // EXE-53: a time above the envelope's is refused where arguments are, and nothing is clamped.
    for (seconds, fits) in [(0, false), (1, true), (600, true), (601, false)] {
        let arguments = format!(r#"{{"argv":[],"timeout_seconds":{seconds}}}"#);
        let mut job = world.shell("true");
        job.arguments = fumehood_core::Json::parse(arguments.as_bytes(), 1 << 16).unwrap();
        assert_eq!(job.run().is_ok(), fits, "{seconds}");
    }
}

// More than the sandbox shows at once, or one in another, is refused before anybody is asked.
#[test]
fn what_cannot_be_granted_together_is_refused_before_anybody_is_asked() {
    let world = person();
    let files = |count: usize| {
        (0..count).fold(world.shell("ls \"$1/many\" | wc -l").argv(&[&world.text("")]), |job, n| {
            world.write(&format!("many/{n}"), "x");
            job.reading(&format!("many/{n}"))
        })
    };
    let asked = || panic!("somebody is asked");
    // One of a hundred is the skill.
    assert_eq!(refused(&files(100).when_asked(asked).run()), (Code::PathRejected, Failure::Path));
    assert_eq!(output(&files(99).run()), "99\n");
    let mut job = world.shell("true").reading("other/paper");
    job.interpreter_reads = vec![world.at("other")];
    assert_eq!(refused(&job.clone().when_asked(asked).run()), (Code::PathRejected, Failure::Path));
    job.interpreter_reads = vec![world.at("work")];
    output(&job.run());
}
