//! What README.md shows is what works.

use std::process::Command;

use crate::repository;

/// The command that README.md shows under a name, by the same script that `.ci/run` uses.
fn command(name: &str) -> String {
    let output = Command::new("sh")
        .arg("scripts/readme-command")
        .arg(name)
        .current_dir(repository())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

// What it does is tested where the binary is: at a terminal, in the tests of the command line.
#[test]
fn the_work_command_runs_the_binary_by_cargo_alone() {
    assert!(command("work").starts_with("cargo run -- run ./skills/"), "{}", command("work"));
}

#[test]
fn ci_runs_the_tests_command_and_has_no_copy_of_it() {
    let tests = command("tests");
    let ci = std::fs::read_to_string(repository().join(".ci/run")).unwrap();
    assert!(tests.starts_with("cargo test"), "{tests}");
    assert!(ci.contains("scripts/readme-command tests"));
    assert!(!ci.contains(&tests), ".ci/run repeats `{tests}`");
}
