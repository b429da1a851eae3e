//! What programs cannot do inside, and that they are told so at once.

mod rows;

use std::path::Path;
use std::time::Duration;

use fumehood_sandbox::{Exit, Limits, OnExcess, Outcome};

use crate::inside::{
    BASH, LIMITS, NODE, PYTHON, SH, code, count_with, has, marker, run, shared, text, with_limits,
};
use rows::ROWS;

/// One line of the table.
struct Row {
    /// What does not work, in Markdown.
    what: &'static str,
    why: &'static str,
    instead: &'static str,
    /// The interpreter, and a tool that it needs and that is not on every system.
    by: (&'static str, Option<&'static str>),
    code: &'static str,
    /// In what the program then says.
    says: &'static str,
}

/// Tries every line of one interpreter.
fn refused(interpreter: &str) {
    if !has(interpreter) {
        return;
    }
    for Row { what, by, code: program, says, .. } in ROWS.iter().filter(|row| row.by.0 == interpreter) {
        if let Some(tool) = by.1.filter(|tool| !Path::new(tool).exists()) {
            println!("skipped: {tool} is missing, for: {what}");
            continue;
        }
        let outcome = run(code(interpreter, program).output(1 << 20, OnExcess::Truncate));
        let said = [text(&outcome.output.bytes), text(&outcome.errors.bytes)].concat();
        assert!(said.contains(says), "{what}: {said}");
        assert_eq!(outcome.killed, None, "{what}: {said}");
        assert!(matches!(outcome.exit, Some(Exit::Code(_))), "{what}: {:?}", outcome.exit);
        // Each program would tell if it could do it. Where errors go, newer Pythons show the program.
        assert!(!text(&outcome.output.bytes).contains(DONE), "{what}: {said}");
    }
}

// EXE-54, EXE-67
#[test]
fn python_is_told() {
    refused(PYTHON);
}

#[test]
fn node_is_told() {
    refused(NODE);
}

#[test]
fn sh_is_told() {
    refused(SH);
}

#[test]
fn bash_is_told() {
    refused(BASH);
}

/// Outside, where the tools are the same, each of these succeeds or fails for another reason.
#[test]
fn the_lines_say_something_outside_too() {
    for Row { what, by, code: program, says, .. } in ROWS.iter().filter(|row| row.code.contains("CONTROL")) {
        if !Path::new(by.0).exists() || by.1.is_some_and(|tool| !Path::new(tool).exists()) {
            continue;
        }
        let flag = if by.0 == NODE { "-e" } else { "-c" };
        let folder = tempfile::tempdir().expect("a folder");
        let output = std::process::Command::new(by.0)
            .args([flag, program])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("TMPDIR", folder.path())
            .current_dir(folder.path())
            .output()
            .expect("a process");
        let said = [text(&output.stdout), text(&output.stderr)].concat();
        assert!(text(&output.stdout).contains(DONE) && !said.contains(says), "{what}: {said}");
    }
}

/// `UPDATE=1` rewrites the table.
#[test]
fn the_documentation_lists_them() {
    let line = |Row { what, why, instead, .. }: &Row| {
        let plain = |text: &&str| !text.contains(['|', '\n']) && !text.ends_with('.');
        assert!([what, why, instead].into_iter().all(plain), "{what}");
        format!("| {what} | {why} | {instead} |\n")
    };
    let head = "| what | why | instead |\n|---|---|---|\n".to_owned();
    let table: String = std::iter::once(head).chain(ROWS.iter().map(line)).collect();
    crate::page::has_table("sandbox.md", "\n## What does not work\n", &table);
}

fn small(interpreter: &str, program: &str, memory_mib: u64, processes: u64, open_files: u64) -> Outcome {
    let limits = Limits { memory_bytes_per_process: memory_mib << 20, processes, open_files, ..LIMITS };
    let flag = if interpreter == NODE { "-e" } else { "-c" };
    run(with_limits(interpreter, &[flag, program], limits, Duration::from_mins(1))
        .variable("PATH", "/usr/bin:/bin"))
}

// EXE-67
#[test]
fn the_limits_in_the_documentation_are_enough() {
    const WORK: &str = "import json, ssl, sqlite3, asyncio, multiprocessing, ctypes, zoneinfo, http.client, subprocess\nsubprocess.run(['/bin/true'], check=True)";
    const WORKERS: &str = "new (require('worker_threads').Worker)('1', { eval: true }); require('child_process').execSync('true'); require('crypto').randomBytes(9); require('zlib').gzipSync('x')";
    for (interpreter, program, memory_mib, processes, open_files) in [
        (SH, ":", 2, 3, 16),
        (SH, "ls / | sort | cat > /dev/null", 4, 8, 16),
        (BASH, ":", 2, 3, 16),
        (BASH, "ls / | sort | cat > /dev/null", 4, 8, 16),
        (PYTHON, "1", 8, 3, 16),
        (PYTHON, WORK, 32, 8, 32),
        (NODE, "1", 64, 16, 32),
        (NODE, WORKERS, 128, 32, 64),
    ] {
        if has(interpreter) {
            let outcome = small(interpreter, program, memory_mib, processes, open_files);
            let said = text(&outcome.errors.bytes);
            assert_eq!(
                (outcome.exit, outcome.killed),
                (Some(Exit::Code(0)), None),
                "{interpreter} {program}: {said}"
            );
        }
    }
}

/// Node waits for ever for a thread that it cannot start, outside as well: that is what the deadline is for.
#[test]
fn too_little_for_node_ends_at_the_deadline_at_the_latest() {
    if !has(NODE) {
        return;
    }
    for (memory_mib, processes) in [(24, 32), (256, 5)] {
        let limits = Limits { memory_bytes_per_process: memory_mib << 20, processes, ..LIMITS };
        let marker = marker();
        let profile = with_limits(NODE, &["-e", "1", &marker], limits, Duration::from_millis(700));
        let outcome = run(profile);
        assert_ne!(outcome.exit, Some(Exit::Code(0)));
        assert_eq!(count_with(&marker), 0);
    }
}

#[test]
fn none_of_this_harms_others() {
    assert_eq!(shared().enforcement().level(), fumehood_sandbox::Level::Full);
    assert_eq!(run(code(SH, "exit 3")).exit, Some(Exit::Code(3)));
}

/// What a program says when it could do what it should not.
const DONE: &str = "it worked";
