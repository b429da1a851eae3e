//! Text that attacks whoever looks at it never leaves the program as it is.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;

use fumehood_testkit::hidden::{HOSTILE, HOSTILE_NAME, hidden_in};
use fumehood_testkit::{Answer, World, skill};
use serde_json::{Value, json};

use crate::trust::trust;
use crate::{text, world, world_with};

/// A part of the attack as a person should see it, and as a program reads the very characters out of JSON.
pub(crate) const AS_TEXT: &str = "\\u{202e}C\\u{2066}D\\u{200b}E";
const AS_JSON: &str = "\\u202eC\\u2066D\\u200bE";

/// As a quoted YAML value.
fn yaml(text: &str) -> String {
    // Line ends that readers dispute are no YAML here; written as escapes they are text like any other.
    let escape = |c: char| match c {
        '\u{2028}' | '\u{2029}' => format!("\\u{:04x}", u32::from(c)),
        c if c.is_control() => format!("\\x{:02x}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

/// Runs a command in both forms; the attack must be in each, and never as it is.
pub(crate) fn assert_shown_safely(world: &World, arguments: &[&str]) {
    for form in ["text", "json"] {
        let answer = world.run(["--format", form].iter().chain(arguments));
        assert_safe(&answer, arguments);
        let both = format!("{}{}", answer.text(), answer.errors());
        // Sentences for people are made safe before they become JSON.
        let shows =
            both.replace("\\\\", "\\").contains(AS_TEXT) || (form == "json" && both.contains(AS_JSON));
        assert!(shows, "{form} of {arguments:?} does not show it: {both}");
    }
}

pub(crate) fn assert_safe(answer: &Answer, arguments: &[impl std::fmt::Debug]) {
    for stream in [&answer.stdout, &answer.stderr] {
        assert_eq!(hidden_in(stream), [""; 0], "{arguments:?}");
    }
}

#[test]
fn the_search_finds_what_it_looks_for() {
    assert_eq!(hidden_in(b"plain\n\ttext \xe2\x9d\xa4\xef\xb8\x8f"), [""; 0]);
    assert_eq!(hidden_in(HOSTILE.as_bytes()).len(), 11);
    assert_eq!(hidden_in(HOSTILE_NAME.as_bytes()).len(), 6);
    // And the program does give such bytes away where it is asked for bytes.
    let world = world_with(&skill("x").file("a.txt", HOSTILE));
    assert_eq!(hidden_in(&world.run(["cat", "skills/x", "a.txt"]).stdout).len(), 11);
}

#[test]
fn frontmatter() {
    for (key, value) in [
        ("description", yaml(HOSTILE)),
        ("name", yaml(HOSTILE)),
        ("license", yaml(HOSTILE)),
        ("compatibility", yaml(HOSTILE)),
        ("allowed-tools", yaml(HOSTILE)),
    ] {
        let lines = match key {
            "description" => format!("name: x\ndescription: {value}"),
            "name" => format!("name: {value}\ndescription: d"),
            _ => format!("name: x\ndescription: d\n{key}: {value}"),
        };
        let world = world_with(&skill("x").frontmatter(&lines));
        assert_shown_safely(&world, &["show", "skills/x"]);
        match key {
            "description" => assert_shown_safely(&world, &["list", "skills"]),
            "name" => assert_safe(&world.run(["list", "skills"]), &[key]),
            _ => assert_safe(&world.run(["check", "skills", "--notes"]), &[key]),
        }
    }
}

#[test]
fn keys_and_broken_blocks() {
    for lines in [
        format!("name: x\ndescription: d\n{}: 1", yaml(HOSTILE)),
        format!("name: x\ndescription: d\nmetadata:\n  {}: [1]", yaml(HOSTILE)),
    ] {
        let world = world_with(&skill("x").frontmatter(&lines));
        assert_shown_safely(&world, &["check", "skills", "--notes"]);
        assert_shown_safely(&world, &["show", "skills/x"]);
    }
    // What the YAML reader says about a line, and the two rescues.
    for lines in [
        format!("name: x\ndescription: Use: {HOSTILE_NAME}: {HOSTILE_NAME}"),
        format!("name: x\ndescription: {HOSTILE_NAME}\n? ["),
        format!("name: x\n{HOSTILE}: [\n&{HOSTILE_NAME}"),
        HOSTILE.to_owned(),
    ] {
        let world = world_with(&skill("x").frontmatter(&lines));
        for command in [&["check", "skills", "--notes"][..], &["list", "skills"], &["show", "skills/x"]] {
            for form in ["text", "json"] {
                assert_safe(&world.run(command.iter().chain(&["--format", form])), command);
            }
        }
    }
}

#[test]
fn names_of_files_and_folders() {
    let world = world();
    world.add(&format!("{HOSTILE}/skills"), &skill("x"));
    world.add(&format!("{HOSTILE}/skills"), &skill("x").in_folder(HOSTILE).file(HOSTILE_NAME, "#!/bin/sh\n"));
    // A name with a control character is no portable path and refused; the finding names it.
    world.write(&format!("{HOSTILE}/skills/x/{HOSTILE}"), "text");
    world.write(&format!("{HOSTILE}/skills/x/{HOSTILE_NAME}.py"), "text");
    world.link(&format!("{HOSTILE}/skills/x/{HOSTILE_NAME}-link"), format!("/{HOSTILE}"));
    world.fifo(&format!("{HOSTILE}/skills/x/{HOSTILE_NAME}-fifo"));
    world.link(&format!("{HOSTILE}/skills/{HOSTILE}-root"), "/usr");
    let root = format!("{HOSTILE}/skills");
    let skill = format!("{root}/x");
    assert_shown_safely(&world, &["list", &root]);
    assert_shown_safely(&world, &["check", &root, "--notes"]);
    assert_shown_safely(&world, &["show", &skill]);
    assert_shown_safely(&world, &["show", &format!("{root}/{HOSTILE}")]);
    assert_shown_safely(&world, &["diff", &format!("{root}/{HOSTILE}"), &format!("{root}/{HOSTILE}")]);
    assert_shown_safely(&world, &["cat", &skill, &format!("{HOSTILE_NAME}-link")]);
    assert_safe(&world.run(["cat", &skill, HOSTILE]), &[HOSTILE]);
    assert_shown_safely(&world, &["cat", &skill, &HOSTILE_NAME[..HOSTILE_NAME.len() - 1]]);
    // Not UTF-8 either.
    let odd = OsString::from_vec(b"\xff\x1b[2J\xe2\x80\xae.md".to_vec());
    std::fs::write(world.path(&skill).join(&odd), "").unwrap();
    assert_shown_safely(&world, &["show", &skill]);
}

#[test]
fn manifests_and_first_lines() {
    let hostile = |value: Value| value.to_string();
    let script = |field: &str| {
        let mut script = json!({"name": "s", "path": "s.py", "description": "d", "interpreter": "python3"});
        script[field] = HOSTILE.into();
        hostile(json!({"schemaVersion": 1, "scripts": [script]}))
    };
    for (file, content) in [
        ("fumehood.json", hostile(json!({"schemaVersion": 1, HOSTILE: 1}))),
        ("fumehood.json", script("name")),
        ("fumehood.json", script("interpreter")),
        ("fumehood.json", script("path")),
        ("fumehood.json", script(HOSTILE)),
        ("fumehood.json", format!("{{\"a\": {HOSTILE}")),
        ("execution.json", hostile(json!({"schemaVersion": 1, HOSTILE: 1}))),
        ("execution.json", hostile(json!({"schemaVersion": 1, "entrypoint": HOSTILE, "files": [HOSTILE]}))),
        ("run", format!("#!/usr/bin/env -S {HOSTILE} x\n")),
        ("run.py", format!("#!/{HOSTILE}\n")),
    ] {
        let world = world_with(&skill("x").file(file, &content).file("s.py", ""));
        for command in [&["check", "skills", "--notes"][..], &["show", "skills/x"]] {
            for form in ["text", "json"] {
                assert_safe(&world.run(command.iter().chain(&["--format", form])), &[file, &content]);
            }
        }
    }
    // A description is shown as it was accepted.
    let world = world_with(&skill("x").file("fumehood.json", script("description")).file("s.py", ""));
    let shown = world.run(["show", "skills/x", "--format", "json"]);
    assert!(shown.text().contains(AS_JSON));
    assert_safe(&shown, &["description"]);
}

#[test]
fn contents_in_a_diff_and_on_a_terminal() {
    let world = world();
    world.add("a", &skill("x").file("t", "one\n"));
    world.add("b", &skill("x").file("t", format!("one\n{HOSTILE}\r\n")));
    assert_shown_safely(&world, &["diff", "a/x", "b/x"]);
    let json = world.run(["cat", "b/x", "t", "--format", "json"]);
    assert_safe(&json, &["cat"]);
    assert_eq!(json.json()["text"], format!("one\n{HOSTILE}\r\n"));
    // A terminal gets text that cannot move its cursor, and no bytes that are no text.
    let (screen, code) = world.call().on_terminal(["cat", "b/x", "t"]);
    assert_eq!((code, hidden_in(screen.as_bytes())), (Some(0), vec![]));
    assert!(screen.contains(AS_TEXT) && screen.starts_with("one\nA\\u{1b}[2J"), "{screen:?}");
    world.write("b/x/t", b"\x1b[2J\xff");
    let (screen, code) = world.call().on_terminal(["cat", "b/x", "t"]);
    assert_eq!(code, Some(2));
    assert!(screen.contains("5 bytes that are no text") && !screen.contains("\u{1b}[2J"), "{screen:?}");
}

#[test]
fn arguments_and_settings() {
    let world = world();
    world.folder("empty");
    for arguments in [
        &["show", HOSTILE][..],
        &["show", &format!("./{HOSTILE}")],
        &["list", HOSTILE],
        &["check", HOSTILE],
        &["trust-project", HOSTILE],
        &["show", "x", "--root", HOSTILE],
        &["check", &format!("--{HOSTILE}")],
        &["list", "--max-depth", HOSTILE],
        &[HOSTILE],
    ] {
        assert_shown_safely(&world, arguments);
    }
    let bytes = OsStr::new("--").to_owned().into_vec();
    let odd = OsString::from_vec([&bytes[..], b"\xff\x1b[2J"].concat());
    assert_safe(&world.run([OsStr::new("check"), &odd]), &[&odd]);
    for settings in [
        format!("{} = 1\n", yaml(HOSTILE).replace("\\x", "\\u00")),
        format!("# {HOSTILE}\nx = \n"),
        format!("x = {HOSTILE}"),
    ] {
        world.write("home/.config/fumehood/fumehood.toml", settings);
        for form in ["text", "json"] {
            let answer = world.run(["list", "--format", form]);
            assert_eq!(answer.code, Some(2));
            assert_safe(&answer, &["settings"]);
        }
    }
    let call = world.call().variable("FUMEHOOD_HOME", format!("/{HOSTILE}"));
    let refused = call.run(["list"]);
    assert!(refused.errors().contains(AS_TEXT), "{}", refused.errors());
    assert_safe(&refused, &["FUMEHOOD_HOME"]);
}

#[test]
fn the_question_about_a_project() {
    let world = world();
    let hostile = skill("x").in_folder(HOSTILE).description(&yaml(HOSTILE));
    world.add("project/.agents/skills", &hostile);
    world.add("project/.agents/skills", &skill("broken").in_folder(HOSTILE_NAME).skill_md("no"));
    let call = world.call();
    let (screen, answer) = call.at_terminal(["trust-project", "project"], "[y/N] ", "n\n");
    assert_eq!((answer.code, hidden_in(screen.as_bytes())), (Some(3), vec![]));
    assert!(screen.contains(AS_TEXT), "{screen:?}");
    // One skill is one line: no text of an author can look like the end of the question.
    let lines = screen.lines().filter(|line| line.starts_with("  ")).count();
    assert_eq!(lines, 2, "{screen:?}");
    trust(&world, "project");
    let list = world.call().within("project").run(["list", "--format", "json"]);
    assert!(list.text().contains(AS_JSON));
    assert_safe(&list, &["list"]);
    assert!(text(&list.json()["skills"][0]["path"]).contains(HOSTILE_NAME));
}

// What is harmless stays readable: letters of any script, and a symbol in its coloured form.
#[test]
fn ordinary_text_is_left_alone() {
    let description = "Größe, 漢字, עברית, \u{2764}\u{fe0f} – done";
    let world = world_with(&skill("x").description(description));
    assert!(world.run(["show", "skills/x"]).text().contains(description));
}
