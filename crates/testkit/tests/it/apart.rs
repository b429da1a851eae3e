//! What must stay apart: running a skill's code from anything that runs shells, and reading a skill from running it.
//!
//! Each rule takes text, so that a planted breach shows that it bites; see the tests at the end.

use std::fs;

use crate::floors::{collect_sources, production};
use crate::repository;
use crate::rust_text::{self, Named};

/// The only crates that may start a process. All else asks them for one.
const LAUNCHERS: &[&str] = &["crates/sandbox/", "crates/testkit/"];

/// The one process beside: the editor that the person names, for what they write themselves. It is given no text of a skill.
const EDITOR: &str = "crates/fumehood/src/cli/editor.rs";

/// Arguments by which an interpreter takes text for a program.
const EVALUATES: &[&str] = &["-c", "-lc", "-ic", "-e", "--eval", "-p", "--print"];

/// What a run of a checked tool is made by. A slash at the end makes a folder.
const CHECKED: &[&str] = &[
    "crates/runners/src/checked.rs",
    "crates/runners/src/checked/",
    "crates/runners/src/launch.rs",
    "crates/runners/src/launch/",
    "crates/fumehood/src/host/run/call.rs",
    "crates/fumehood/src/cli/call.rs",
];

/// Shells, and programs that install packages.
const OTHER_PROGRAMS: &[&str] =
    &["sh", "bash", "/bin/sh", "/bin/bash", "/usr/bin/env", "npm", "npx", "pnpm", "yarn", "pip", "corepack"];

/// What reads skills: up to the bytes that were captured, and what they claim.
const READERS: &[&str] = &[
    "crates/core/src/inspect.rs",
    "crates/core/src/skill.rs",
    "crates/core/src/skill/",
    "crates/core/src/manifest/",
    "crates/store/src/capture.rs",
    "crates/store/src/dir.rs",
    "crates/store/src/dir/",
    "crates/store/src/disk.rs",
    "crates/store/src/folder.rs",
    "crates/store/src/list.rs",
    "crates/store/src/walk.rs",
];

/// The one place where they open files and read bytes, whoever asks for them.
const READING: &[&str] = &["crates/store/src/dir.rs", "crates/store/src/dir/"];

/// What readers know nothing of: where a run is laid out, who starts it, and who approved it.
const OF_RUNS: &[&str] = &[
    "stage",
    "transaction",
    "grant",
    "journal",
    "consent",
    "process",
    "fumehood_sandbox",
    "fumehood_gate",
    "Attempt",
    "Binding",
    "Clearance",
    "Consent",
    "Ledger",
    "Profile",
    "Stage",
];

// CHK-003, CHK-060, CHK-148, CHK-151, CHK-152, CHK-153: one launcher, which knows no shell; no text becomes a program, no program is looked up,
// and what reads skills knows nothing of what runs them and has one place where bytes are read.
#[test]
fn sources_stay_apart() {
    let root = repository();
    let mut sources = Vec::new();
    collect_sources(&root.join("crates"), &root, &mut sources);
    for place in CHECKED.iter().chain(READERS).chain(LAUNCHERS) {
        assert!(sources.iter().any(|(path, _)| lies_in(path, &[place])), "{place} was not looked at");
    }
    let breaches: Vec<_> = sources.iter().flat_map(|(path, text)| check(path, text)).collect();
    assert!(breaches.is_empty(), "\n{}", breaches.join("\n"));
}

// CHK-153: what is left out is said to whoever reads the page about checked tools.
#[test]
fn what_is_left_out_is_said() {
    let page = fs::read_to_string(repository().join("docs/checked.md")).unwrap();
    let (_, said) = page.split_once("\n## Not covered\n").unwrap();
    for left_out in [
        "shell text",
        "a runtime found by way of `PATH`",
        "installing dependencies",
        "importing while discovering",
        "automatic retries",
        "a process that stays",
    ] {
        assert!(said.contains(left_out), "{left_out}");
    }
}

fn lies_in(path: &str, places: &[&str]) -> bool {
    places.iter().any(|place| path == *place || (place.ends_with('/') && path.starts_with(place)))
}

fn check(path: &str, text: &str) -> Vec<String> {
    let production = production(path, text).0;
    let named = rust_text::paths(&rust_text::words(production));
    let literals = rust_text::literals(production);
    let mut breaches = Vec::new();
    let mut breach =
        |line: usize, what: &str, why: &str| breaches.push(format!("{path}:{line}: {what}: {why}"));
    if !lies_in(path, LAUNCHERS) {
        let starts = |named: &&Named| starts_a_process(named) && path != EDITOR;
        for named in named.iter().filter(starts) {
            breach(named.line, &named.segments.join("::"), "only the sandbox starts a process");
        }
        for (line, literal) in literals.iter().filter(|(_, literal)| EVALUATES.contains(&literal.as_str())) {
            breach(*line, literal, "no text becomes a program");
        }
        for named in named.iter().filter(|named| named.segments.iter().any(|name| name == "split_paths")) {
            breach(named.line, "split_paths", "no program is looked up");
        }
    }
    if lies_in(path, CHECKED) {
        for (line, literal) in literals.iter().filter(|(_, literal)| is_other_program(literal)) {
            breach(*line, literal, "a checked tool is run by Node.js and nothing beside it");
        }
        for named in named.iter().filter(|named| named.is(0, "std") && named.is(1, "env")) {
            breach(named.line, &named.segments.join("::"), "a checked tool inherits nothing");
        }
    }
    if lies_in(path, READERS) {
        let is_of_runs = |named: &&Named| named.segments.iter().any(|name| OF_RUNS.contains(&name.as_str()));
        for named in named.iter().filter(|named| named.segments.len() > 1).filter(is_of_runs) {
            breach(named.line, &named.segments.join("::"), "what reads a skill knows nothing of running it");
        }
        // Where a path leads is asked without opening what is there.
        let of_files =
            |named: &Named| named.is(0, "std") && named.is(1, "fs") && !named.is(2, "canonicalize");
        let reads = |named: &&Named| named.is(0, "rustix") || of_files(named);
        for named in named.iter().filter(reads).filter(|_| !lies_in(path, READING)) {
            breach(named.line, &named.segments.join("::"), "files are read in one place");
        }
    }
    breaches
}

fn starts_a_process(named: &Named) -> bool {
    let last = named.segments.last().map_or("", String::as_str);
    let of_process = named.is(0, "std") && named.is(1, "process");
    let makes =
        named.segments.len() > 1 && named.segments[named.segments.len() - 2] == "Command" && last == "new";
    (of_process && matches!(last, "Command" | "Stdio" | "Child" | "*" | "process"))
        || makes
        || matches!(last, "execv" | "execve" | "execvp" | "fexecve" | "posix_spawn" | "fork" | "vfork")
}

fn is_other_program(literal: &str) -> bool {
    OTHER_PROGRAMS.contains(&literal) || literal == "PATH"
}

// Each rule must bite, and not where it should not.

#[test]
fn a_planted_breach_is_found() {
    let cases = [
        ("crates/runners/src/x.rs", "use std::process::Command;", "only the sandbox starts a process"),
        (
            "crates/fumehood/src/host/x.rs",
            "fn f() { Command::new(\"x\"); }",
            "only the sandbox starts a process",
        ),
        (
            "crates/gate/src/x.rs",
            "use std::process::{self, Stdio as S};",
            "only the sandbox starts a process",
        ),
        ("crates/runners/src/script/run.rs", "let a = [\"-c\", text];", "no text becomes a program"),
        (EDITOR, "let a = [\"-c\", text];", "no text becomes a program"),
        ("crates/fumehood/src/host/x.rs", "argv.push(b\"--eval\");", "no text becomes a program"),
        ("crates/store/src/pins.rs", "for p in std::env::split_paths(&path) {}", "no program is looked up"),
        ("crates/runners/src/checked/run.rs", "let shell = \"/bin/sh\";", "Node.js and nothing beside it"),
        ("crates/runners/src/launch.rs", "start(c\"npm\")", "Node.js and nothing beside it"),
        ("crates/fumehood/src/host/run/call.rs", "std::env::vars()", "inherits nothing"),
        ("crates/store/src/capture.rs", "use crate::stage::Staging;", "knows nothing of running it"),
        (
            "crates/store/src/capture.rs",
            "rustix::io::pread(&file, &mut bytes, 0)",
            "files are read in one place",
        ),
        ("crates/store/src/disk.rs", "use std::{path::Path, fs};", "files are read in one place"),
        ("crates/core/src/inspect.rs", "use crate::{path, consent::Ledger};", "knows nothing of running it"),
        ("crates/store/src/dir/stat.rs", "fumehood_gate::Clearance::of()", "knows nothing of running it"),
    ];
    for (path, text, expected) in cases {
        let breaches = check(path, text);
        assert!(breaches.iter().any(|breach| breach.contains(expected)), "{path}: {text}\n{breaches:?}");
    }
}

#[test]
fn what_is_allowed_is_not_found() {
    for (path, text) in [
        ("crates/sandbox/src/launch.rs", "use std::process::Command;"),
        (EDITOR, "use std::process::Command;"),
        (
            "crates/fumehood/src/cli.rs",
            "use std::process::ExitCode; use clap::Command; fn f(command: Command) {}",
        ),
        (
            "crates/runners/src/x.rs",
            "// sh -c \"-c\"\n#[cfg(test)]\nmod tests {\n    use std::process::Command;\n}\n",
        ),
        ("crates/core/src/interpreter.rs", "const SHELL: &str = \"/bin/sh\";"),
        ("crates/runners/src/checked/run.rs", "let flag = \"--no-addons\"; let why = \"the shell is sh\";"),
        ("crates/store/src/capture.rs", "let stage = 1; // crate::stage::Staging"),
        ("crates/store/src/stage.rs", "use crate::stage::Staging;"),
        ("crates/store/src/dir/stat.rs", "use rustix::fs::statx;"),
        ("crates/store/src/walk.rs", "std::fs::canonicalize(path)"),
    ] {
        assert_eq!(check(path, text), Vec::<String>::new(), "{path}: {text}");
    }
}
