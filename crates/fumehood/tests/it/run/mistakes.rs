//! What people type wrong, and whether the answer says what to type instead.

use fumehood_testkit::skill;
use serde_json::json;

use super::{answering, flagged, refused, reported, scripted};
use crate::text;

/// A skill whose script takes one of each kind that has bounds.
fn bounded() -> fumehood_testkit::Skill {
    scripted(
        &json!([
            {"name": "in", "type": "path", "access": "read"},
            {"name": "out", "type": "path", "access": "create", "required": false, "flag": "--to"},
            {"name": "top", "type": "integer", "minimum": 1, "maximum": 9, "required": false, "flag": "--top"},
            {"name": "any", "type": "integer", "required": false, "flag": "--any"},
            {"name": "by", "type": "enum", "values": [",", "tab"], "required": false, "flag": "--by"},
        ]),
        "cat \"$1\"\n",
    )
}

#[test]
fn show_says_what_a_script_takes() {
    let world = flagged(&bounded());
    let shown = world.run(["show", "skills/tool"]).text();
    for line in [
        "in  path to read\n",
        "out  path to create  optional\n",
        "top  integer 1 to 9  optional\n",
        "any  integer  optional\n",
        "by  one of ',' tab  optional\n",
    ] {
        assert!(shown.contains(&format!("\n    {line}")), "{line}: {shown}");
    }
    let report = world.json(["show", "skills/tool"]);
    let params = &report["claims"]["fumehood"]["scripts"][0]["params"];
    assert_eq!((&params[0]["access"], &params[1]["access"]), (&json!("read"), &json!("create")), "{params}");
    assert_eq!((&params[2]["minimum"], &params[2]["maximum"]), (&json!(1), &json!(9)), "{params}");
    assert_eq!(
        (&params[3]["minimum"], &params[4]["values"]),
        (&json!(null), &json!([",", "tab"])),
        "{params}"
    );
}

#[test]
fn a_declared_script_is_not_another_one_behind_two_dashes() {
    let world = flagged(&bounded());
    world.write("project/a.txt", "a\n");
    let fault = refused(&world, &["go", "--", "project/a.txt"], 2);
    assert_eq!(fault["code"], "E_ARGUMENT_INVALID");
    assert!(text(&fault["message"]).contains("go takes --param NAME=VALUE"), "{fault}");
    assert!(text(&fault["advice"]).contains("go.sh"), "{fault}");
    // Its file, by its path, takes what it is given.
    let file = world.text("project/a.txt");
    let (code, report) = reported(&world, &["go.sh", "--read", &file, "--", &file]);
    assert_eq!((code, &report["output"]["text"]), (Some(0), &json!("a\n")), "{report}");
}

#[test]
fn what_does_not_fit_says_what_would() {
    let world = flagged(&bounded());
    world.write("project/a.txt", "a\n");
    let given = ["go", "--param", "in=project/a.txt"];
    for (more, message, advice) in [
        (["--timeout", "0"], "1 to 600 seconds", "timeout_seconds_max"),
        (["--timeout", "601"], "1 to 600 seconds", "timeout_seconds_max"),
        (["--param", "in=b"], "given twice", "give it once"),
        (["--param", "top=many"], "is a number", "`fumehood show`"),
        (["--param", "out=project/a.txt"], "of that name already", "name another file"),
    ] {
        let fault = refused(&world, &[&given[..], &more].concat(), 2);
        assert!(text(&fault["message"]).contains(message), "{fault}");
        assert!(text(&fault["advice"]).contains(advice), "{fault}");
    }
    let fault = refused(&world, &["go", "--param", "top=3"], 2);
    assert_eq!(
        (&fault["code"], &fault["message"]),
        (&json!("E_SCHEMA_MISMATCH"), &json!("the argument in is missing"))
    );
    assert!(text(&fault["advice"]).contains("--param in=VALUE"), "{fault}");
    let (code, report) = reported(&world, &[&given[..], &["--timeout", "600", "--param", "top=9"]].concat());
    assert_eq!(code, Some(0), "{report}");
}

#[test]
fn a_script_that_misses_out_is_told_of_the_option() {
    let world = flagged(&skill("tool").file("go.sh", "echo made >/out/a.txt\n"));
    let (code, report) = reported(&world, &["go.sh"]);
    assert_eq!(code, Some(1), "{report}");
    assert!(text(&report["failure"]["advice"]).contains("--out DIR"), "{report}");
    world.write("project/keep", "");
    assert_eq!(reported(&world, &["go.sh", "--out", "project"]).0, Some(0));
    assert_eq!(world.read("project/a.txt"), b"made\n");
}

#[test]
fn an_absolute_path_that_nobody_granted_is_noted() {
    let world = flagged(&skill("tool").file("go.sh", "cat \"$@\"\n"));
    world.write("project/a.txt", "a\n");
    let place = world.text("project/a.txt");
    let ask = |options: &[&str], argument: &str| {
        let words = ["run", "skills/tool", "go.sh"].into_iter().chain(options.iter().copied());
        let (shown, _) = answering(&world.call(), words.chain(["--", argument]), "n\n");
        shown.replace("\u{1b}[1;33mnote\u{1b}[0m", "note")
    };
    let note = format!("note: {place}: the script cannot see it; add --read {place}\n");
    assert!(ask(&[], &place).contains(&note));
    // What is granted, what is the system's, and what is nowhere needs none.
    assert!(!ask(&["--read", &place], &place).contains("note:"));
    assert!(!ask(&[], "/usr/bin/env").contains("note:"));
    assert!(!ask(&[], "/nowhere/a.txt").contains("note:"));
}

#[test]
fn a_terminal_that_wants_no_styles_gets_none_and_a_line_that_is_left_open_is_ended() {
    let world = flagged(&scripted(&json!([]), "echo ran\n"));
    let words = ["run", "skills/tool", "go"];
    let call = world.call().variable("NO_COLOR", "1");
    let (shown, answer) = call.at_terminal(words, "[y/N] ", "y\n");
    assert_eq!((answer.code, answer.text().as_str()), (Some(0), "ran\n"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    let (shown, answer) = answering(&world.call(), words, "\u{4}");
    assert_eq!(answer.code, Some(3), "{shown}");
    assert!(shown.contains("\u{1b}[1m") && shown.ends_with('\n'), "{shown:?}");
}

#[test]
fn what_is_not_a_form_of_a_workspace_is_said_at_once() {
    let world = flagged(&bounded());
    world.write("project/a.txt", "a\n");
    let words = ["run", "skills/tool", "go", "--param", "in=project/a.txt", "--workspace", "project:ro"];
    let fault = world.fault(words, 2);
    assert_eq!(fault["code"], "E_USAGE");
    assert!(text(&fault["message"]).contains("DIR:rw for changing"), "{fault}");
    let call = world.run(["call", "skills/tool", "--input", "{}", "--workspace", "project:rw"]);
    assert!(call.errors().contains("a checked tool only reads its workspace"), "{}", call.errors());
    let (code, report) = reported(&world, &["go", "--param", "in=a.txt", "--workspace", "project"]);
    assert_eq!(code, Some(0), "{report}");
}
