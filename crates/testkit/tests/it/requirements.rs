//! `docs/requirements.md`: which tests show which requirement, read off the comments above the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::repository;

/// Requirement ids are a family and a number, as in the table they come from.
const FAMILIES: [&str; 6] = ["EXE", "XSF", "GRT", "CHK", "RES", "X"];

/// Families of which every row is spoken for, by a test or by a line of that page, with the number of their last row.
const WHOLE: [(&str, u32, &str); 1] = [("CHK", 162, "docs/decisions/0007-checked-rows-without-a-test.md")];

type Tests = BTreeMap<Id, BTreeSet<String>>;

fn tests_by_id() -> Tests {
    let root = repository();
    let mut tests = Tests::new();
    for file in rust_files(&root.join("crates")) {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        for (id, test) in cited(&text) {
            tests.entry(id).or_default().insert(format!("`{test}` in {name}"));
        }
    }
    tests
}

/// The ids that a page of decisions has a line for.
fn decided_in(page: &str) -> BTreeSet<Id> {
    decided(&fs::read_to_string(repository().join(page)).unwrap())
}

#[test]
fn the_page_is_current() {
    let root = repository();
    let page = page(&tests_by_id());
    let path = root.join("docs/requirements.md");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let on_disk = fs::read_to_string(&path).unwrap_or_default();
    assert!(on_disk == page, "run UPDATE=1 cargo test -p fumehood-testkit the_page_is_current");
}

// Neither too few nor too many: a line for a row that a test shows is out of date.
#[test]
fn every_row_of_a_whole_family_has_a_test_or_a_decision() {
    let tests = tests_by_id();
    for (family, last, page) in WHOLE {
        let rows = Rows::of(&tests, &decided_in(page), family, last);
        assert_eq!(rows.neither, Vec::<u32>::new(), "{family}: no test and no line in {page}");
        assert_eq!(
            rows.both,
            Vec::<u32>::new(),
            "{family}: a test, and a line in {page} that says there is none"
        );
        assert_eq!(rows.unknown, Vec::<u32>::new(), "{family}: there is no such row");
    }
}

#[test]
fn a_row_that_is_missing_is_found() {
    let id = |number| Id { family: "CHK", number };
    let tests = Tests::from([1, 2, 9].map(|number| (id(number), BTreeSet::from(["a test".to_owned()]))));
    let page = "# CHK-003\n| row | what | why |\n|---|---|---|\n| CHK-002 | a | b, as CHK-004 |\n| CHK-003 | a | b |\nCHK-004\n| CHK-8x | |\n";
    let decided = decided(page);
    assert_eq!(decided, BTreeSet::from([id(2), id(3)]));
    let rows = Rows::of(&tests, &decided, "CHK", 5);
    assert_eq!((rows.by_tests, rows.by_decision), (2, 2));
    assert_eq!((rows.neither, rows.both, rows.unknown), (vec![4, 5], vec![2], vec![9]));
}

#[test]
fn ids_belong_to_the_next_test() {
    let text = "// CHK-001, X-02: why.\n#[test]\nfn first() {}\n\n/// RES-03\nfn helper() {}\n\n    // EXE-22\n    \
                // and more\n    #[test]\n    #[ignore]\n    fn second() {}\n// GRT-09 stands alone\n\n#[test]\nfn third() {}\n";
    let id = |family, number| Id { family, number };
    let expected = [(id("CHK", 1), "first"), (id("X", 2), "first"), (id("EXE", 22), "second")];
    assert_eq!(cited(text), expected.map(|(id, test)| (id, test.to_owned())));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Id {
    family: &'static str,
    number: u32,
}

/// The ids in the comment directly above each test function, with the function's name.
fn cited(text: &str) -> Vec<(Id, String)> {
    let mut found = Vec::new();
    let mut above: Vec<Id> = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("//") {
            above.extend(ids(line));
        } else if line.starts_with("#[") {
            is_test |= line == "#[test]";
        } else {
            let name = line.strip_prefix("fn ").and_then(|rest| rest.split('(').next());
            if let (Some(name), true) = (name, is_test) {
                found.extend(above.iter().map(|id| (*id, name.to_owned())));
            }
            above.clear();
            is_test = false;
        }
    }
    found
}

fn ids(line: &str) -> Vec<Id> {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words
        .filter_map(|word| {
            let (family, number) = word.split_once('-')?;
            let family = FAMILIES.into_iter().find(|known| *known == family)?;
            Some(Id { family, number: number.parse().ok()? })
        })
        .collect()
}

/// The ids that begin a line of a table.
fn decided(page: &str) -> BTreeSet<Id> {
    page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).flat_map(ids).collect()
}

/// How the rows of a family are spoken for.
#[derive(Default)]
struct Rows {
    by_tests: usize,
    by_decision: usize,
    neither: Vec<u32>,
    both: Vec<u32>,
    unknown: Vec<u32>,
}

impl Rows {
    fn of(tests: &Tests, decided: &BTreeSet<Id>, family: &'static str, last: u32) -> Self {
        let mut rows = Self::default();
        for number in 1..=last {
            let id = Id { family, number };
            let (tested, decided) = (tests.contains_key(&id), decided.contains(&id));
            rows.by_tests += usize::from(tested);
            rows.by_decision += usize::from(decided);
            match (tested, decided) {
                (false, false) => rows.neither.push(number),
                (true, true) => rows.both.push(number),
                _ => {}
            }
        }
        let all: BTreeSet<&Id> = tests.keys().chain(decided).collect();
        let is_unknown = |id: &&&Id| id.family == family && !(1..=last).contains(&id.number);
        rows.unknown = all.iter().filter(is_unknown).map(|id| id.number).collect();
        rows
    }
}

fn page(tests: &Tests) -> String {
    let mut page = String::from(
        "# Requirements and their tests\n\n\
         Printed from the comments above the tests (`UPDATE=1 cargo test -p fumehood-testkit the_page_is_current` rewrites\n\
         it). The ids are those of the project's list of requirements, which is not in this repository; the tests say what\n\
         each one means here.\n\n",
    );
    for (family, last, decisions) in WHOLE {
        let rows = Rows::of(tests, &decided_in(decisions), family, last);
        let link = decisions.strip_prefix("docs/").unwrap();
        writeln!(
            page,
            "Of the {last} rows of {family}, {} are shown by tests, and for {} a [decision]({link}) says why there is none.",
            rows.by_tests, rows.by_decision
        )
        .unwrap();
    }
    page.push_str(
        "A row of the other families that is not here has no test yet; most of them are about parts that are not built\n\
         (isolated JavaScript, the skill lifecycle, serving over MCP).\n\n\
         | requirement | shown by |\n|---|---|\n",
    );
    for (Id { family, number }, names) in tests {
        let width = if *family == "CHK" { 3 } else { 2 };
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        writeln!(page, "| {family}-{number:0width$} | {} |", names.join("<br>")).unwrap();
    }
    page
}

fn rust_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
