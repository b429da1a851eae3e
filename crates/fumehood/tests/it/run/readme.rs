//! The first command of README.md.

use std::path::Path;
use std::process::Command;

use super::{ASKED, receipt, world};

/// What follows `cargo run --` in README.md's first command.
fn arguments() -> Vec<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/readme-command");
    let output = Command::new("sh").arg(script).arg("work").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let command = String::from_utf8(output.stdout).unwrap();
    let arguments = command.trim().strip_prefix("cargo run -- ").unwrap_or_else(|| panic!("{command}"));
    arguments.split_whitespace().map(str::to_owned).collect()
}

// It stands in the repository's folder, which need not be writable: the state is in the home folder.
#[test]
fn it_runs_a_script_of_an_example_under_full() {
    let world = world();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let readme = std::fs::read_to_string(repository.join("README.md")).unwrap();
    let (shown, answer) = world.call().outside(&repository).at_terminal(arguments(), ASKED, "y\n");
    assert_eq!((answer.code, answer.errors().as_str()), (Some(0), ""), "{shown}");
    assert!(
        shown.contains("Run scripts/report.sh from text-report?") && shown.contains("level full"),
        "{shown}"
    );
    let first = format!(
        "lines    {}\nwords    {}\n",
        readme.lines().count(),
        readme.split_ascii_whitespace().count()
    );
    assert!(answer.text().starts_with(&first), "{}", answer.text());
    let receipt = receipt(&world);
    assert_eq!(
        (&receipt["containment"]["level"], &receipt["outcome"], &receipt["authority"]["surface"]),
        (&"full".into(), &"succeeded".into(), &"terminal".into())
    );
}
