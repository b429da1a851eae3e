//! `docs/requirements.md`: which tests show which requirement, read off the comments above the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::repository;

/// Requirement ids are a family and a number, as in the table they come from.
const FAMILIES: [&str; 6] = ["EXE", "XSF", "GRT", "CHK", "RES", "X"];

#[test]
fn the_page_is_current() {
    let root = repository();
    let mut tests: BTreeMap<Id, BTreeSet<String>> = BTreeMap::new();
    for file in rust_files(&root.join("crates")) {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        for (id, test) in cited(&text) {
            tests.entry(id).or_default().insert(format!("`{test}` in {name}"));
        }
    }
    let page = page(&tests);
    let path = root.join("docs/requirements.md");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let on_disk = fs::read_to_string(&path).unwrap_or_default();
    assert!(on_disk == page, "run UPDATE=1 cargo test -p fumehood-testkit the_page_is_current");
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

fn page(tests: &BTreeMap<Id, BTreeSet<String>>) -> String {
    let mut page = String::from(
        "# Requirements and their tests\n\n\
         Printed from the comments above the tests (`UPDATE=1 cargo test -p fumehood-testkit the_page_is_current` rewrites\n\
         it). A requirement without a row has no test yet: most belong to parts that are not built (running scripts,\n\
         consent, policy, results). The ids are those of the project's list of requirements, which is not in this\n\
         repository; the tests say what each one means here.\n\n\
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
