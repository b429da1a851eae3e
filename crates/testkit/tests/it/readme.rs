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

#[test]
fn the_work_command_works() {
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &command("work")])
        .current_dir(repository())
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    for skill in ["word-count", "release-notes"] {
        assert!(stdout.contains(skill), "{skill} is not named in:\n{stdout}");
    }
}

#[test]
fn ci_runs_the_tests_command_and_has_no_copy_of_it() {
    let tests = command("tests");
    let ci = std::fs::read_to_string(repository().join(".ci/run")).unwrap();
    assert!(tests.starts_with("cargo test"), "{tests}");
    assert!(ci.contains("scripts/readme-command tests"));
    assert!(!ci.contains(&tests), ".ci/run repeats `{tests}`");
}
