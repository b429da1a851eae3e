//! The list of attacks, and its table in the documentation.

use std::collections::BTreeSet;
use std::path::Path;

use fumehood_sandbox::Level;
use fumehood_sandbox::prove::{Attack, attacks};

#[test]
fn names_are_unique_and_in_kebab_case() {
    let names: BTreeSet<&str> = attacks().iter().map(|attack| attack.name).collect();
    assert_eq!(names.len(), attacks().len());
    assert!(names.len() >= 60, "{} attacks", names.len());
    for name in names {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_plain), "{name}");
    }
}

#[test]
fn every_attack_says_what_where_and_how() {
    for Attack { name, what, seen, met, .. } in attacks() {
        for text in [what, seen, met] {
            assert!(
                !text.is_empty() && !text.contains(['|', '\n']) && !text.ends_with('.'),
                "{name}: {text:?}"
            );
        }
    }
}

#[test]
fn the_documentation_lists_every_attack() {
    table_is("attacks.md", "\n## Sandbox\n", &rows());
}

/// Compares the first table below a heading; `UPDATE=1` rewrites it.
pub(crate) fn table_is(document: &str, heading: &str, rows: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document);
    let document = std::fs::read_to_string(&path).expect("the document is there");
    let start = document.find(heading).expect("the document has the heading") + heading.len();
    let end = document[start..].find("\n## ").map_or(document.len(), |end| start + end + 1);
    let section = &document[start..end];
    let table = section.find("\n|").expect("the section has a table") + 1;
    let rest = section[table..].find("\n\n").map_or(section.len(), |end| table + end + 1);
    if section[table..rest] != *rows {
        assert!(
            std::env::var_os("UPDATE").is_some(),
            "{} is out of date: run this test with UPDATE=1",
            path.display()
        );
        let parts = [&document[..start + table], rows, &document[start + rest..]];
        std::fs::write(&path, parts.concat()).expect("the document can be written");
    }
}

fn rows() -> String {
    let row = |attack: &Attack| {
        let Attack { name, what, seen, met, .. } = attack;
        let levels: Vec<&str> = attack.levels().map(Level::as_str).collect();
        let levels = if levels.len() == 3 { "every".to_owned() } else { levels.join(", ") };
        format!("| {what} | {seen} | {met} | {levels} | `attack::{}` |\n", name.replace('-', "_"))
    };
    let head = "| attack: a program that … | seen | met by | level | test |\n|---|---|---|---|---|\n";
    std::iter::once(head.to_owned()).chain(attacks().iter().map(row)).collect()
}
