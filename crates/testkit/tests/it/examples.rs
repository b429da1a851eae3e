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

// CHK-073, CHK-084, CHK-161: a checked example says what it needs and how it is started without a host, imports nothing but what
// Node.js and the folder have, and the page names each host that it was tried in and those that it was not.
#[test]
fn the_portable_example_needs_no_host() {
    let skill = repository().join("skills/semver-sort");
    let read = |file: &str| fs::read_to_string(skill.join(file)).unwrap();
    let text = read("SKILL.md");
    let compatibility = text.lines().find(|line| line.starts_with("compatibility: ")).unwrap();
    assert!(compatibility.contains("Node.js"), "{compatibility}");
    for said in [
        "`node scripts/sort.mjs < input.json`",
        "no packages",
        "`assets/input.json`",
        "`references/order.md`",
    ] {
        assert!(text.contains(said), "{said}");
    }
    let mut imports = 0;
    for file in ["scripts/sort.mjs", "scripts/semver.mjs"] {
        let program = read(file);
        for line in program.lines().filter(|line| line.starts_with("import ")) {
            let from = line.split('"').nth(1).unwrap();
            assert!(from.starts_with("node:") || from.starts_with("./"), "{file}: {line}");
            imports += 1;
        }
        for of_a_host in ["fumehood", "execution.json", "process.env", "child_process", "fetch("] {
            assert!(!program.contains(of_a_host), "{file}: {of_a_host}");
        }
    }
    assert!(imports >= 2);
    let page = fs::read_to_string(repository().join("docs/compatibility.md")).unwrap();
    let (_, hosts) = page.split_once("\n## Other hosts\n").unwrap();
    let hosts = hosts.split("\n## ").next().unwrap();
    for said in ["| fumehood |", "| LangChain deepagents | 0.7.32", "scripts/second-host", "\nOutstanding"] {
        assert!(hosts.contains(said), "{said}");
    }
    assert!(repository().join("scripts/second-host").is_file());
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
