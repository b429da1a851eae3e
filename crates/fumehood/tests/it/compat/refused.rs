//! The first thing that goes wrong, and what is said about it.

use fumehood_core::Code;
use fumehood_testkit::{World, skill};
use serde_json::Value;

use super::{approving, good, output, run, text};

fn two_scripts() -> World {
    let skill = skill("a-skill").file("scripts/one.sh", "echo one\n").file("two.py", "print('two')\n");
    approving(
        &skill.file("notes.md", "# Notes\n").file("three.rb", "puts 3\n").file("scripts/four.swift", "\n"),
    )
}

/// The error of a run that never was, and its exit code.
fn refused(world: &World, arguments: &[&str], code: Code) -> (String, String) {
    let answer = run(world, "a-skill", arguments);
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
    let world = approving(
        &skill("a-skill").file("scripts/list.sh", "cd \"$1\" && cat a.txt && mkdir -p .claude/skills/x\n"),
    );
    world.write("work/a.txt", "a\n");
    let revision = world.json(["show", "./skills/a-skill"]);
    let revision = text(&revision["revision"]);
    let skill = world.text("skills/a-skill");
    let work = world.text("work");
    let at = |workspace: &str| {
        let call = world.call().within("work");
        call.run([
            "run",
            &skill,
            "scripts/list.sh",
            "--approve",
            revision,
            "--workspace",
            workspace,
            "--format",
            "json",
            "--",
            &work,
        ])
    };
    let reading = at(".").json();
    assert!(text(&reading["output"]["text"]).starts_with("a\n"), "{reading:#}");
    // What it made behind a protected name is not applied.
    let changing = at(".:rw");
    assert_ne!(changing.code, Some(0));
    assert!(changing.text().contains("a\\n") || changing.errors().contains("E_"), "{}", changing.errors());
    assert!(!world.has("work/.claude"));

    world.folder("work/.claude/skills");
    for workspace in [".", ".:rw"] {
        let refused = at(workspace);
        assert_eq!(refused.code, Some(3));
        let fault: Value = serde_json::from_slice(&refused.stderr).unwrap();
        assert_eq!(fault["code"], Code::PlaceForbidden.as_str());
        let message = text(&fault["message"]);
        assert!(message.starts_with(&format!("{work}: this ")), "{message}");
        assert!(text(&fault["advice"]).contains("--read"), "{fault:#}");
    }
    let _ = good(&world, "a-skill", &["scripts/list.sh", "--workspace", "home", "--", "/tmp"]);
}
