//! The reference validator's own tests, and what it does beyond them, with our answer to each.
//!
//! The cases are `tests/cases/reference-validator.toml`; its head explains them. `scripts/compare-reference` runs the
//! reference itself over the same file. `UPDATE=1` rewrites the page.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use fumehood::{Host, HostOptions};
use fumehood_core::skill::{Found, SkillText, read};
use serde::Deserialize;

use crate::repository;

#[derive(Deserialize)]
struct Table {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    from: Option<String>,
    #[serde(default = "usual_directory")]
    directory: String,
    path: Option<Instead>,
    #[serde(default = "usual_file")]
    file: String,
    text: Option<String>,
    hex: Option<String>,
    other: Option<String>,
    reference: Reference,
    verdict: Verdict,
    codes: Vec<String>,
    #[serde(default)]
    says: BTreeMap<String, String>,
    because: Option<String>,
}

/// What the path leads to, if not to a folder with a SKILL.md.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Instead {
    Nothing,
    File,
    Empty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Reference {
    Accepts,
    Rejects,
    Crashes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Conformant,
    Loadable,
    Refused,
}

fn usual_directory() -> String {
    "my-skill".to_owned()
}

fn usual_file() -> String {
    "SKILL.md".to_owned()
}

#[test]
fn every_case_has_our_documented_answer() {
    let cases = cases();
    let mut wrong = Vec::new();
    for case in &cases {
        let (verdict, codes) = answer(case);
        if (verdict, &codes) != (case.verdict, &case.codes) {
            wrong.push(format!("{}: {verdict:?} {codes:?}", case.name));
        }
        wrong.extend(misread(case));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    let ported = ported(&cases).len();
    let own = cases.iter().filter(|case| case.from.is_none()).count();
    println!("{ported} of the reference's {REFERENCE_TESTS} tests, {own} cases beyond them");
    assert_eq!(ported, REFERENCE_TESTS - 1, "all but `test_empty_list`");
    assert!(own >= 35, "cases were lost");
}

/// The tests of skills-ref 0.1.1.
const REFERENCE_TESTS: usize = 40;

/// The reference's tests that have a case, one case for several included.
fn ported(cases: &[Case]) -> BTreeSet<(&str, &str)> {
    let of_one = |from| {
        let (file, tests) = str::split_once(from, ": ").unwrap();
        tests.split(", ").map(move |test| (file, test))
    };
    cases.iter().filter_map(|case| case.from.as_deref()).flat_map(of_one).collect()
}

#[test]
fn every_difference_has_a_reason() {
    for case in cases() {
        let agrees = (case.reference == Reference::Accepts) == (case.verdict == Verdict::Conformant);
        assert!(agrees || case.because.is_some(), "{}: no reason", case.name);
    }
}

#[test]
fn reference_page_is_current() {
    let path = repository().join("docs/reference-validator.md");
    let page = page(&cases());
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap_or_default(), page, "run UPDATE=1 and read the difference");
}

fn cases() -> Vec<Case> {
    let path = repository().join("crates/testkit/tests/cases/reference-validator.toml");
    toml::from_str::<Table>(&fs::read_to_string(path).unwrap()).unwrap().case
}

/// What `fumehood check` says about the case's folder.
fn answer(case: &Case) -> (Verdict, Vec<String>) {
    let parent = tempfile::tempdir().unwrap();
    let path = build(case, parent.path());
    let host = Host::new(HostOptions::isolated(parent.path().to_path_buf()));
    match host.check(&[path], &mut |_| {}) {
        Err(fault) => (Verdict::Refused, vec![fault.code.to_string()]),
        Ok(report) => {
            let [skill] = report.skills.as_slice() else { panic!("{} skills", report.skills.len()) };
            let verdict = match (skill.loadable, skill.conformant) {
                (true, true) => Verdict::Conformant,
                (true, false) => Verdict::Loadable,
                (false, _) => Verdict::Refused,
            };
            (verdict, skill.diagnostics.iter().map(|finding| finding.code.to_owned()).collect())
        }
    }
}

fn build(case: &Case, parent: &Path) -> PathBuf {
    let path = parent.join(expand(&case.directory));
    match case.path {
        Some(Instead::Nothing) => {}
        Some(Instead::File) => fs::write(&path, "text").unwrap(),
        Some(Instead::Empty) => fs::create_dir(&path).unwrap(),
        None => {
            fs::create_dir(&path).unwrap();
            for name in std::iter::once(&case.file).chain(&case.other) {
                fs::write(path.join(name), bytes(case)).unwrap();
            }
        }
    }
    path
}

fn bytes(case: &Case) -> Vec<u8> {
    match (&case.text, &case.hex) {
        (Some(text), None) => expand(text).into_bytes(),
        (None, Some(hex)) => {
            let byte = |index| u8::from_str_radix(&hex[index..index + 2], 16).unwrap();
            (0..hex.len()).step_by(2).map(byte).collect()
        }
        _ => panic!("{}: give either text or hex", case.name),
    }
}

/// Writes `<<x*3>>` out as `xxx`.
fn expand(text: &str) -> String {
    let Some((before, rest)) = text.split_once("<<") else { return text.to_owned() };
    let (repeated, after) = rest.split_once(">>").unwrap();
    let (what, times) = repeated.split_once('*').unwrap();
    format!("{before}{}{}", what.repeat(times.parse().unwrap()), expand(after))
}

/// The texts that the case promises and the reader does not give.
fn misread(case: &Case) -> Vec<String> {
    if case.says.is_empty() {
        return Vec::new();
    }
    let found = Found { directory: &case.directory, file: &case.file };
    let skill = read(&bytes(case), found).skill.unwrap();
    let differs = |(key, text): &(&String, &String)| text_at(&skill, key) != Some(text.as_str());
    case.says.iter().filter(differs).map(|(key, _)| format!("{}: {key} is misread", case.name)).collect()
}

fn text_at<'s>(skill: &'s SkillText, key: &str) -> Option<&'s str> {
    let mut keys = key.split('.');
    let first = keys.next()?;
    let mut value = &skill.fields.iter().find(|entry| entry.key == first)?.value.value;
    for key in keys {
        value = &value.as_mapping()?.iter().find(|entry| entry.key == key)?.value.value;
    }
    value.as_text()
}

fn page(cases: &[Case]) -> String {
    let (ported, own): (Vec<_>, Vec<_>) = cases.iter().partition(|case| case.from.is_some());
    let mut page = String::from(
        "# The reference validator and fumehood\n\n\
         Printed from `crates/testkit/tests/cases/reference-validator.toml`, which holds every input\n\
         (`UPDATE=1 cargo test -p fumehood-testkit reference_page` rewrites this page). The reference is the Python package\n\
         `skills-ref` 0.1.1; `scripts/compare-reference` runs it over the same cases. It has one verdict. fumehood has two:\n\
         `conformant` follows the standard, `loadable` can be used with what the codes say, `refused` cannot.\n\
         [errors.md](errors.md) explains the codes. Wherever the reference accepts what is not conformant, or the\n\
         reverse, the last column says why.\n\n\
         ## Its own tests\n\n",
    );
    rows(&mut page, &ported);
    page.push_str("\n## What it does beyond its tests\n\n");
    rows(&mut page, &own);
    page.push_str(
        "\n## Not here\n\n\
         `test_prompt.py` looks at a catalogue printed as XML, and its `test_empty_list` at an empty one. What a model\n\
         gets here is JSON (`list_skills` in [mcp.md](mcp.md)), with nothing to escape; the skills that those tests print are above.\n",
    );
    page
}

fn rows(page: &mut String, cases: &[&Case]) {
    page.push_str("| case | reference | fumehood | codes | why |\n|---|---|---|---|---|\n");
    for case in cases {
        let name = match &case.from {
            Some(from) => format!("{} ({from})", case.name),
            None => case.name.clone(),
        };
        let reference = match case.reference {
            Reference::Accepts => "accepts",
            Reference::Rejects => "rejects",
            Reference::Crashes => "crashes",
        };
        let verdict = match case.verdict {
            Verdict::Conformant => "conformant",
            Verdict::Loadable => "loadable",
            Verdict::Refused => "refused",
        };
        let codes: Vec<_> = case.codes.iter().map(|code| format!("`{code}`")).collect();
        let because = case.because.as_deref().unwrap_or_default();
        writeln!(page, "| {name} | {reference} | {verdict} | {} | {because} |", codes.join(" ")).unwrap();
    }
}
