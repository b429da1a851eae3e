//! `policy.toml`: what is decided, what its page and its schema say, and that they agree.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use fumehood_core::Coded as _;
use fumehood_core::policy::RULES_MAX;
use fumehood_store::{PolicyError, PolicyFile, PolicyState};
use fumehood_testkit::Scratch;

use crate::child::home;

mod schema;

fn repository_file(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

fn read(text: &str) -> PolicyFile {
    let scratch = Scratch::new();
    scratch.file("config/policy.toml", text);
    scratch.mode("config/policy.toml", 0o600);
    scratch.mode("config", 0o700);
    PolicyFile::read(&home(&scratch))
}

fn read_well(text: &str) -> PolicyFile {
    let file = read(text);
    assert_eq!(file.state, PolicyState::Read, "{text}");
    file
}

fn refusal(text: &str) -> PolicyError {
    read(text).error().unwrap_or_else(|| panic!("{text}")).clone()
}

/// What is decided in each case of a file, and what each rule says.
fn outcomes(file: &PolicyFile) -> String {
    let mut shown = String::new();
    for case in &file.cases {
        let result = case.run(&file.policy);
        let outcome = result.decided.outcome.as_str();
        writeln!(shown, "{}\n  {outcome}: {}", case.name(), result.decided.why).unwrap();
        assert!(result.is_met, "{}: {result:?}", case.name());
        for rule in case.explain(&file.policy).rules {
            let mark = match (rule.is_decisive, rule.is_matched) {
                (true, _) => "decides",
                (false, true) => "matches",
                (false, false) => "does not match",
            };
            let reasons: Vec<_> = rule.reasons.iter().map(ToString::to_string).collect();
            writeln!(shown, "  {} \"{}\" {mark} [{}]", rule.outcome.as_str(), rule.name, reasons.join("; "))
                .unwrap();
        }
    }
    let known = ["team", "server:files", "server:web"].into();
    for finding in file.policy.lint(&known) {
        writeln!(shown, "{} {finding}", finding.code()).unwrap();
    }
    shown
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/policy");
    let mut cases: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.extension().is_some_and(|extension| extension == "in"));
    cases.sort();
    assert!(cases.len() >= 6);
    cases
}

// CHK-029, CHK-030, CHK-031, CHK-032: `UPDATE=1` rewrites what is said; what a case expects is in the case.
#[test]
fn each_case_is_decided_as_it_expects() {
    let mut wrong = Vec::new();
    for case in cases() {
        let outcome = outcomes(&read_well(&std::fs::read_to_string(&case).unwrap()));
        let expected = case.with_extension("out");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&expected, &outcome).unwrap();
        }
        if std::fs::read_to_string(&expected).unwrap_or_default() != outcome {
            wrong.push(format!("{}:\n{outcome}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "run UPDATE=1 and read the difference:\n{}", wrong.join("\n"));
}

/// The examples of the page.
fn examples() -> Vec<String> {
    let page = repository_file("docs/policy.md");
    let examples: Vec<_> =
        page.split("```toml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0.to_owned()).collect();
    assert!(examples.len() >= 3);
    examples
}

// Every example is read, every case in it is met, and none has a mistake that lint finds.
#[test]
fn the_page_shows_what_is_read() {
    for example in examples() {
        let file = read_well(&example);
        for case in &file.cases {
            assert!(case.run(&file.policy).is_met, "{}: {:?}", case.name(), case.run(&file.policy));
        }
        assert_eq!(file.policy.lint(&["team", "user-agents", "server:files"].into()), []);
    }
}

// Every key that the schema has is named on the page.
#[test]
fn the_page_names_every_key() {
    let page = repository_file("docs/policy.md");
    for key in schema::keys() {
        assert!(page.contains(&format!("`{key}")) || page.contains(&format!(" {key} = ")), "{key}");
    }
    assert!(page.contains(&format!("{RULES_MAX} rules")));
}
