//! The list of attacks, and its table in the documentation.

use std::collections::BTreeSet;

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
    crate::page::has_table("attacks.md", "\n## Sandbox\n", &rows());
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
