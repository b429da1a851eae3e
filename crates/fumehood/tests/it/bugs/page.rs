//! `docs/skill-bugs.md` has each row once, with a test that exists or the feature that we do not have.

use std::collections::BTreeSet;

use crate::repository_file;

/// The reports that concern reading and listing, as the collection of reports numbers them; the gaps are its own.
const ROWS: &[&str] = &[
    "A1", "A2", "A4", "A5", "A6", "A8", "A9", "A10", "A12", "A13", "A14", "A16", "A17", "A18", "A20", "A21",
    "A22", "A24", "A25", "A26", "B2", "B3", "B4", "B6", "B7", "B8", "B10", "B11", "B12", "B14", "B15", "B16",
    "B18", "B19", "B20", "C2", "C3", "C4", "C6", "C7", "C8", "C10", "D1", "D2", "D6", "E2", "E3", "E4", "G1",
    "G2", "G4", "G5", "G6",
];

const SOURCES: &[&str] = &[
    include_str!("body.rs"),
    include_str!("catalogue.rs"),
    include_str!("discovery.rs"),
    include_str!("names.rs"),
    include_str!("reading.rs"),
    include_str!("scripts.rs"),
];

const MISSING_FEATURE: &str = "the feature we do not have: ";

/// Row, report, answer.
fn rows(page: &str) -> Vec<[&str; 3]> {
    let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let cells = cells.map(|line| line.split(" | ").collect::<Vec<_>>());
    cells.filter_map(|cells| <[&str; 3]>::try_from(cells).ok()).skip(1).collect()
}

/// The tests in the sources, by the attribute that makes them some.
fn tests() -> Vec<&'static str> {
    let behind_attribute = SOURCES.iter().flat_map(|source| source.split("#[test]\nfn ").skip(1));
    behind_attribute.map(|rest| rest.split('(').next().unwrap()).collect()
}

#[test]
fn every_row_is_there_once() {
    let page = repository_file("docs/skill-bugs.md");
    let ids: Vec<_> = rows(&page).into_iter().map(|[id, ..]| id).collect();
    assert_eq!(ids, ROWS);
}

#[test]
fn every_row_has_its_test_or_the_feature_we_do_not_have() {
    let page = repository_file("docs/skill-bugs.md");
    let tests = tests();
    let mut named = BTreeSet::new();
    for [id, report, answer] in rows(&page) {
        assert!(report.len() > 10, "{id}: {report}");
        if let Some(feature) = answer.strip_prefix(MISSING_FEATURE) {
            assert!(feature.len() > 10, "{id}: {feature}");
            continue;
        }
        let name = answer.strip_prefix('`').and_then(|rest| rest.split('`').next()).unwrap();
        assert!(tests.contains(&name), "{id}: there is no test {name}");
        assert!(name.starts_with(&format!("{}_", id.to_lowercase())), "{id}: {name}");
        named.insert(name);
    }
    let unnamed: Vec<_> = tests.iter().filter(|test| !named.contains(*test)).collect();
    assert!(unnamed.is_empty(), "not on the page: {unnamed:?}");
}

#[test]
fn the_page_counts_right() {
    let page = repository_file("docs/skill-bugs.md");
    let exempt = rows(&page).iter().filter(|[_, _, answer]| answer.starts_with(MISSING_FEATURE)).count();
    let count = format!("{} reports: {} with a test, {exempt} exempt.", ROWS.len(), ROWS.len() - exempt);
    assert!(page.contains(&count), "the page should say: {count}");
}
