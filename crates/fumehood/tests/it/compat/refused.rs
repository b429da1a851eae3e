//! The first thing that goes wrong, and what is said about it.

use fumehood_core::Code;
use fumehood_testkit::{Answer, World, skill};
use serde_json::Value;

use super::{approving, output, run, text};

fn two_scripts() -> World {
    let skill = skill("a-skill").file("scripts/one.sh", "echo one\n").file("two.py", "print('two')\n");
    approving(
        &skill.file("notes.md", "# Notes\n").file("three.rb", "puts 3\n").file("scripts/four.swift", "\n"),
    )
}

/// The error of a run that never was, and its exit code.
fn refused(world: &World, arguments: &[&str], code: Code) -> (String, String) {
    fault(&run(world, "a-skill", arguments), code)
}

fn fault(answer: &Answer, code: Code) -> (String, String) {
    assert!(answer.stdout.is_empty(), "{}", answer.text());
    let fault: Value = serde_json::from_slice(&answer.stderr).unwrap();
    assert_eq!(fault["code"], code.as_str(), "{fault:#}");
    (text(&fault["message"]).to_owned(), text(&fault["advice"]).to_owned())
}

// EXE-36: a name that is not there is met with those that are; what a shell completes is taken.
#[test]
fn a_wrong_script_is_met_with_those_that_are_there() {
    let world = two_scripts();
    for wrong in ["scripts/won.sh", "one.sh", "../a-skill/scripts/one.sh", "skills//one.sh"] {
        let code = if wrong.contains("..") || wrong.contains("//") {
            Code::PathRejected
        } else {
            Code::FileNotFound
        };
        let (_, advice) = refused(&world, &[wrong], code);
        assert!(advice.contains("the skill has ") && advice.contains("scripts/one.sh"), "{advice}");
    }
    let (message, advice) = refused(&world, &["notes.md"], Code::InterpreterUnknown);
    assert_eq!(message, "notes.md does not look like a script");
    assert!(advice.contains("scripts/one.sh"), "{advice}");
    assert_eq!(output(&world, "a-skill", &["./scripts/one.sh"]), "one\n");
    assert_eq!(output(&world, "a-skill", &["two.py"]), "two\n");
}

// EXE-61
#[test]
fn a_missing_interpreter_says_how_to_name_one() {
    let world = two_scripts();
    let (message, advice) = refused(&world, &["scripts/four.swift"], Code::InterpreterUnknown);
    assert!(message.contains("is Swift"), "{message}");
    assert!(advice.contains("--interpreter"), "{advice}");
    for key in ["ruby", "fish"] {
        let (message, advice) =
            refused(&world, &["scripts/one.sh", "--interpreter", key], Code::InterpreterUnknown);
        assert!(message.contains(key), "{message}");
        assert!(advice.contains("fumehood interpreters") && advice.contains("[interpreters]"), "{advice}");
    }
    let (message, _) =
        refused(&world, &["scripts/one.sh", "--interpreter", "/bin/bash"], Code::InterpreterUnknown);
    assert!(message.contains("the key of an interpreter"), "{message}");
    assert_eq!(output(&world, "a-skill", &["scripts/one.sh", "--interpreter", "bash"]), "one\n");
}

// EXE-48: a path that was typed is named in front of what is wrong with it.
#[test]
fn a_grant_that_is_not_there_is_named() {
    let world = two_scripts();
    for (option, code, what) in [
        ("--read", Code::FileNotFound, "there is no such file"),
        ("--out", Code::FolderNotFound, "there is no such folder"),
        ("--workspace", Code::FolderNotFound, "there is no such folder"),
    ] {
        let (message, advice) = refused(&world, &["scripts/one.sh", option, "missing"], code);
        assert!(message.ends_with(&format!("missing: {what}")), "{message}");
        assert!(advice.contains("current folder"), "{advice}");
    }
}

// DESIGN 5: a workspace holds no source of skills. A project without any is one, and no run makes it another thing.
#[test]
fn a_project_is_a_workspace_unless_it_holds_skills() {
    let script = "cd \"$1\" && cat a.txt && mkdir -p .claude/skills/x\n";
    let world = approving(&skill("a-skill").file("scripts/list.sh", script));
    // A folder below /tmp is no workspace, and tests live there.
    let work = tempfile::tempdir_in("/var/tmp").unwrap();
    let place = work.path().to_str().unwrap();
    std::fs::write(work.path().join("a.txt"), "a\n").unwrap();
    let shown = world.json(["show", "./skills/a-skill"]);
    let (revision, skill) = (text(&shown["revision"]), world.text("skills/a-skill"));
    let at = |workspace: &str| {
        let call = world.call().outside(work.path());
        let fixed = ["run", &skill, "scripts/list.sh", "--approve", revision, "--format", "json"];
        call.run(fixed.into_iter().chain(["--workspace", workspace, "--", place]))
    };
    let reading = at(".").json();
    assert_eq!(reading["output"]["text"], "a\n", "{reading:#}");
    assert_eq!(reading["failure"]["code"], Code::ScriptFailed.as_str());
    // What it made behind a protected name is not put in place.
    let changing = at(".:rw").json();
    assert_eq!((&changing["output"]["text"], &changing["exit_code"]), (&"a\n".into(), &0.into()));
    assert_eq!(changing["failure"]["code"], Code::WorkspaceRefused.as_str());
    assert!(text(&changing["failure"]["advice"]).starts_with("the script ran, and"), "{changing:#}");
    assert!(!work.path().join(".claude").exists());

    std::fs::create_dir_all(work.path().join(".claude/skills")).unwrap();
    for workspace in [".", ".:rw"] {
        let (message, advice) = fault(&at(workspace), Code::PlaceForbidden);
        assert!(message.starts_with(&format!("{place}: this ")), "{message}");
        assert!(advice.contains("--read"), "{advice}");
    }
}

// DESIGN 5: the script's /tmp is its own; a folder there is refused before anybody is asked, a file is none.
#[test]
fn a_folder_below_the_temporary_one_is_no_workspace() {
    let world = approving(&skill("a-skill").file("scripts/read.sh", "cat \"$1\"\n"));
    let work = tempfile::tempdir_in("/tmp").unwrap();
    let work = work.path().to_str().unwrap();
    let file = &format!("{work}/a.txt");
    std::fs::write(file, "a\n").unwrap();
    for workspace in [work, &format!("{work}:rw")] {
        let arguments = ["scripts/read.sh", "--workspace", workspace, "--", file];
        let (message, _) = refused(&world, &arguments, Code::PlaceForbidden);
        assert!(message.contains("an empty folder of its own"), "{message}");
    }
    assert_eq!(output(&world, "a-skill", &["scripts/read.sh", "--read", file, "--", file]), "a\n");
}
