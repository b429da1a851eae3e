//! The example skills do what they say.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::repository;

/// Files that SKILL.md names in code style below one of the standard's folders.
fn named_files(skill_md: &str) -> Vec<&str> {
    skill_md
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|text| ["scripts/", "references/", "assets/"].iter().any(|folder| text.starts_with(folder)))
        .collect()
}

#[test]
fn every_file_that_an_example_names_is_there() {
    let mut skills = 0;
    for entry in fs::read_dir(repository().join("skills")).unwrap() {
        let skill = entry.unwrap().path();
        let text = fs::read_to_string(skill.join("SKILL.md")).unwrap();
        let named = named_files(&text);
        assert!(!named.is_empty(), "{} names no file", skill.display());
        for file in named {
            assert!(skill.join(file).is_file(), "{} has no {file}", skill.display());
        }
        skills += 1;
    }
    assert_eq!(skills, 7);
}

#[test]
fn named_files_finds_a_planted_name() {
    assert_eq!(named_files("Read `references/gone.md`, run `ls`."), ["references/gone.md"]);
}

fn count(folder: &Path, arguments: &[&str]) -> Output {
    Command::new("python3")
        .arg(repository().join("skills/word-count/scripts/count.py"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("python3 runs the example script")
}

#[test]
fn word_count_counts() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "It's a dog-day \u{2013} either/or. A DAY\nx").unwrap();
    let output = count(folder.path(), &["--top", "1", "a.txt"]);
    let answer: String = String::from_utf8(output.stdout).unwrap().split_whitespace().collect();
    assert_eq!(
        answer,
        r#"{"a.txt":{"bytes":37,"characters":35,"lines":2,"top":[{"count":2,"word":"a"}],"words":8}}"#
    );
    assert!(output.status.success());
}

#[test]
fn word_count_refuses_what_is_no_text() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("good.txt"), "x").unwrap();
    fs::write(folder.path().join("bad.txt"), b"\xff").unwrap();
    let output = count(folder.path(), &["good.txt", "bad.txt"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("bad.txt: "));
}
