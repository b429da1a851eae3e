//! SKILL.md: any bytes give a verdict that holds together.

use std::collections::BTreeSet;

use fumehood_core::allowed_tools::{ENTRIES_MAX, ENTRY_CHARS_MAX};
use fumehood_core::limits::{SKILL_MD_BYTES_MAX, YAML_NODES_MAX};
use fumehood_core::name::{SKILL_NAME_CHARS_MAX, slug};
use fumehood_core::shown::is_hidden;
use fumehood_core::skill::{Found, Reading, Rescue, SkillText, read};
use fumehood_core::{AllowedTools, Code, Severity, SkillName};

use super::{assert_place_within, assert_showable};

/// Reads the input as SKILL.md, once in a folder called `x` and once in one that is called as the skill.
pub fn frontmatter(bytes: &[u8]) {
    let reading = read_in("x", bytes);
    let Some(skill) = reading.skill else { return };
    let Some(declared) = skill.declared_name.as_deref() else { return };
    if slug(declared).is_none() {
        // Such a skill is listed by its folder, so the folder decides whether it can be.
        return;
    }
    let at_home = read_in(declared, bytes);
    assert!(at_home.skill.is_some(), "loadable in one folder and not in another");
    assert!(at_home.diagnostics.iter().all(|finding| finding.code != Code::NameDirectory));
    let others = reading.diagnostics.iter().filter(|finding| finding.code != Code::NameDirectory);
    assert!(others.eq(&at_home.diagnostics), "two readings of one text differ");
}

fn read_in(directory: &str, bytes: &[u8]) -> Reading {
    let reading = read(bytes, Found { directory, file: "SKILL.md" });
    for finding in &reading.diagnostics {
        assert_showable(&finding.message);
        assert_eq!(finding.path.as_deref(), Some("SKILL.md"));
        if let Some(place) = finding.place {
            assert_place_within(place, bytes);
        }
    }
    let worst = reading.diagnostics.iter().map(|finding| finding.code.severity()).max();
    match &reading.skill {
        None => assert_eq!(worst, Some(Severity::Error), "refused without an error"),
        Some(skill) => {
            assert!(worst < Some(Severity::Error), "an error, and loadable");
            assert_holds_together(skill, bytes);
        }
    }
    if reading.is_conformant() {
        assert!(worst < Some(Severity::Warning), "a warning, and conformant");
        let name = reading.skill.as_ref().and_then(SkillText::conformant_name);
        assert_eq!(name.as_ref().map(SkillName::as_str), Some(directory));
    }
    reading
}

fn assert_holds_together(skill: &SkillText, bytes: &[u8]) {
    let SkillText { name, description, body, .. } = skill;
    assert!(!name.is_empty() && name.chars().count() <= SKILL_NAME_CHARS_MAX, "{name:?}");
    assert!(!name.contains(is_hidden) && !name.contains(char::is_whitespace), "{name:?}");
    assert_eq!(description.trim(), description);
    assert!(!description.is_empty());
    let shown = skill.catalogue_description();
    assert!(description.starts_with(shown) && shown.chars().count() <= 1024);

    assert!(bytes.len() <= SKILL_MD_BYTES_MAX);
    assert_eq!(body.end, bytes.len(), "the body is not the rest of the file");
    assert!(std::str::from_utf8(&bytes[body.clone()]).is_ok());

    assert!(skill.fields.len() <= YAML_NODES_MAX);
    let mut keys = BTreeSet::new();
    for field in &skill.fields {
        assert_place_within(field.place, bytes);
        assert_place_within(field.value.place, bytes);
        assert!(keys.insert(field.key.as_str()), "a key twice");
        let json = serde_json::to_string(&field.value.value).expect("frontmatter can be written as JSON");
        assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
    }
    match &skill.allowed_tools {
        AllowedTools::Absent => assert_eq!(skill.rescue, Rescue::None),
        AllowedTools::Declared(entries) => {
            assert!(skill.rescue == Rescue::None || entries.is_empty(), "a rescued block asks for tools");
            assert!(entries.len() <= ENTRIES_MAX);
            for entry in entries {
                assert!(!entry.is_empty() && entry.chars().count() <= ENTRY_CHARS_MAX);
            }
        }
    }
}
