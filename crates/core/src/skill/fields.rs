//! The frontmatter fields: one table for the reader, the validator and the documentation.

use super::Report;
use super::rescue::{Block, Rescue};
use crate::allowed_tools::{self, AllowedTools, Form};
use crate::code::Code;
use crate::name::{NameError, SKILL_NAME_CHARS_MAX, SkillName, slug};
use crate::shown::Shown;
use crate::yaml::{Entry, Meaning, Value};

use unicode_normalization::UnicodeNormalization as _;

/// A field that fumehood knows by name.
#[derive(Clone, Copy, Debug)]
pub struct FieldRule {
    /// The key, as written in frontmatter.
    pub key: &'static str,
    /// What it means and what its limits are.
    pub meaning: &'static str,
    /// What fumehood does with it.
    pub enforcement: Enforcement,
}

/// What becomes of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforcement {
    /// Part of the standard: read and checked.
    Standard,
    /// Another host acts on it; fumehood keeps it and does nothing.
    KeptNotEnforced,
}

/// Every known field; any other is kept and noted as unknown.
pub const FIELDS: &[FieldRule] = &[
    standard("name", "1 to 64 characters of a-z, 0-9 and single inner hyphens; the folder's name"),
    standard("description", "1 to 1024 characters, not blank: what the skill does and when to use it"),
    standard("license", "a licence's short name or the name of a bundled file"),
    standard("compatibility", "1 to 500 characters: what the skill needs around it"),
    standard("metadata", "a map of text to text for other programs"),
    standard(
        "allowed-tools",
        "host tools the skill would like, one space-separated string; it can only narrow",
    ),
    host("agent", "the sub-agent to run the skill in"),
    host("argument-hint", "a hint shown beside the slash command"),
    host("arguments", "names of the slash command's arguments"),
    host("background", "run without waiting"),
    host("context", "`fork` runs the skill in a sub-agent"),
    host("default-enabled", "whether the skill starts switched on"),
    host("disable-model-invocation", "keep the model from choosing the skill"),
    host("disallowed-tools", "tools to take away while the skill is active"),
    host("display-name", "the name shown in menus"),
    host("effort", "how hard the model should think"),
    host("fallback", "what to use when the skill cannot run"),
    host("hooks", "commands to run on events; never run here"),
    host("model", "the model to use"),
    host("paths", "file patterns that make the skill relevant"),
    host("shell", "the shell for body commands; never run here"),
    host("user-invocable", "whether a person can call the skill by name"),
    host("user-invokable", "another spelling of user-invocable"),
];

/// Characters in a description that a catalogue shows.
pub(super) const DESCRIPTION_CHARS_MAX: usize = 1024;
const COMPATIBILITY_CHARS_MAX: usize = 500;

const fn standard(key: &'static str, meaning: &'static str) -> FieldRule {
    FieldRule { key, meaning, enforcement: Enforcement::Standard }
}

const fn host(key: &'static str, meaning: &'static str) -> FieldRule {
    FieldRule { key, meaning, enforcement: Enforcement::KeptNotEnforced }
}

/// The table as the Markdown page `docs/frontmatter.md`.
pub fn fields_page() -> String {
    use core::fmt::Write as _;
    let mut page = String::from(
        "# Frontmatter fields\n\n\
         Printed from the table in `crates/core/src/skill/fields.rs` (`UPDATE=1 cargo test -p fumehood-core fields_page_is_current` rewrites\n\
         it). Standard fields are read and checked. Fields of other hosts are kept in order, shown, and have no effect.\n\
         Any other field is kept and noted as unknown.\n\n\
         | field | whose | meaning |\n|---|---|---|\n",
    );
    for rule in FIELDS {
        let whose = match rule.enforcement {
            Enforcement::Standard => "standard",
            Enforcement::KeptNotEnforced => "other hosts; kept, not enforced",
        };
        let _ = writeln!(page, "| `{}` | {whose} | {} |", rule.key, rule.meaning);
    }
    page
}

/// The standard fields of a loadable skill.
pub(super) struct Read {
    pub(super) name: String,
    pub(super) declared_name: Option<String>,
    pub(super) description: String,
    pub(super) license: Option<String>,
    pub(super) compatibility: Option<String>,
    pub(super) allowed_tools: AllowedTools,
}

pub(super) fn read(block: &Block, directory: &str, report: &mut Report<'_>) -> Option<Read> {
    let field = |key: &str| block.entries.iter().find(|entry| entry.key == key);
    let declared_name = field("name").and_then(|entry| declared_name(entry, report));
    let name = catalogue_name(declared_name.as_deref(), field("name"), directory, report);
    let description = description(field("description"), report);
    let license = field("license").and_then(|entry| text_of(entry, report));
    let compatibility = field("compatibility").and_then(|entry| compatibility(entry, report));
    if let Some(entry) = field("metadata") {
        check_metadata(entry, report);
    }
    let allowed_tools = allowed_tools_of(field("allowed-tools"), block.rescue, report);
    note_other_fields(&block.entries, report);
    Some(Read {
        name: name?,
        declared_name,
        description: description?,
        license,
        compatibility,
        allowed_tools,
    })
}

/// The value as text, whatever it would mean as YAML. A list or a map is reported and gives nothing.
fn text_of(entry: &Entry, report: &mut Report<'_>) -> Option<String> {
    let Some(text) = entry.value.value.as_text_or_null() else {
        let message = format!("{} should be text", entry.key);
        report.add(Code::FieldType, message, Some(entry.value.place));
        return None;
    };
    if matches!(entry.value.value.meaning(), Meaning::Bool(_) | Meaning::Number(_)) {
        let message =
            format!("{} is read as the text \"{}\"; put it in quotes", entry.key, Shown::inline(text));
        report.add(Code::ScalarAsText, message, Some(entry.value.place));
    }
    Some(text.to_owned())
}

fn declared_name(entry: &Entry, report: &mut Report<'_>) -> Option<String> {
    let text = text_of(entry, report)?;
    let trimmed = text.trim();
    if trimmed.len() != text.len() {
        report.add(Code::NameTrimmed, "remove the spaces around the name", Some(entry.value.place));
    }
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}

fn catalogue_name(
    declared: Option<&str>,
    entry: Option<&Entry>,
    directory: &str,
    report: &mut Report<'_>,
) -> Option<String> {
    let place = entry.map(|entry| entry.value.place);
    if declared.is_none() {
        let message = format!("no name; listed by its folder, \"{}\"", Shown::inline(directory));
        report.add(Code::NameMissing, message, place);
    }
    let name = match declared {
        Some(declared) => {
            let parsed = SkillName::parse(declared);
            if let Err(error) = &parsed {
                report_name(*error, declared, place, report);
            }
            if declared != directory {
                let message =
                    format!("the folder is called \"{}\"; rename one of them", Shown::inline(directory));
                report.add(Code::NameDirectory, message, place);
            }
            parsed.map(|name| name.as_str().to_owned()).ok().or_else(|| slug(declared))
        }
        None => None,
    };
    let name = name.or_else(|| slug(directory));
    if name.is_none() {
        report.add(Code::NameUnusable, "give the skill a name with letters or digits", place);
    }
    name
}

fn report_name(error: NameError, declared: &str, place: Option<crate::Place>, report: &mut Report<'_>) {
    if error == NameError::TooLong {
        let message = format!("the name is longer than {SKILL_NAME_CHARS_MAX} characters");
        report.add(Code::NameTooLong, message, place);
        return;
    }
    let normalised: String = declared.nfkc().collect();
    let message = match SkillName::parse(&normalised) {
        Ok(name) => format!("the name only normalises to \"{name}\"; write it that way"),
        Err(_) => format!("{error}; use a-z, 0-9 and single hyphens"),
    };
    report.add(Code::NameCharacters, message, place);
}

fn description(entry: Option<&Entry>, report: &mut Report<'_>) -> Option<String> {
    let text = entry.and_then(|entry| text_of(entry, report));
    let place = entry.map(|entry| entry.value.place);
    let trimmed = text.as_deref().unwrap_or_default().trim();
    if trimmed.is_empty() {
        let message = "say in the description what the skill does and when to use it";
        report.add(Code::DescriptionMissing, message, place);
        return None;
    }
    let chars = trimmed.chars().count();
    if chars > DESCRIPTION_CHARS_MAX {
        let message = format!("{chars} characters; the limit is {DESCRIPTION_CHARS_MAX}");
        report.add(Code::DescriptionTooLong, message, place);
    }
    Some(trimmed.to_owned())
}

fn compatibility(entry: &Entry, report: &mut Report<'_>) -> Option<String> {
    let text = text_of(entry, report)?;
    let chars = text.chars().count();
    if !(1..=COMPATIBILITY_CHARS_MAX).contains(&chars) {
        let message = format!("{chars} characters; the standard has 1 to {COMPATIBILITY_CHARS_MAX}");
        report.add(Code::CompatibilityLength, message, Some(entry.value.place));
    }
    Some(text)
}

fn check_metadata(entry: &Entry, report: &mut Report<'_>) {
    let Some(values) = entry.value.value.as_mapping() else {
        report.add(Code::FieldType, "metadata should be a map of text to text", Some(entry.value.place));
        return;
    };
    let nested: Vec<_> = values.iter().filter(|entry| entry.value.value.as_text().is_none()).collect();
    if let Some(first) = nested.first() {
        let keys: Vec<_> = nested.iter().map(|entry| entry.key.as_str()).collect();
        let message = format!("lists or maps under metadata: {}", Shown::inline(&keys.join(", ")));
        report.add(Code::MetadataValue, message, Some(first.place));
    }
}

fn allowed_tools_of(entry: Option<&Entry>, rescue: Rescue, report: &mut Report<'_>) -> AllowedTools {
    // what could not be read as written declares nothing, which is not the same as saying nothing.
    if rescue != Rescue::None {
        let message = "not believed, because the frontmatter is broken YAML; it counts as an empty list";
        if let Some(entry) = entry {
            report.add(Code::AllowedToolsMalformed, message, Some(entry.value.place));
        }
        return AllowedTools::Declared(Vec::new());
    }
    let Some(entry) = entry else { return AllowedTools::Absent };
    let place = Some(entry.value.place);
    let parsed = match &entry.value.value {
        value @ Value::Scalar { .. } => {
            allowed_tools::parse_text(value.as_text_or_null().unwrap_or_default())
                .map_err(|error| error.to_string())
        }
        Value::Sequence(items) => {
            match items.iter().map(|item| item.value.as_text()).collect::<Option<Vec<_>>>() {
                Some(texts) => allowed_tools::parse_items(&texts).map_err(|error| error.to_string()),
                None => Err("an item is a list or a map".to_owned()),
            }
        }
        Value::Mapping(_) => Err("a map is no list of tools".to_owned()),
    };
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(reason) => {
            report.add(Code::AllowedToolsMalformed, format!("{reason}; it counts as an empty list"), place);
            return AllowedTools::Declared(Vec::new());
        }
    };
    if parsed.form != Form::Spaces {
        let message = "the standard has one string with spaces between the tools";
        report.add(Code::AllowedToolsForm, message, place);
    }
    if !parsed.entries.is_empty() {
        let message = format!("asks its host for: {}", Shown::inline(&parsed.entries.join(" ")));
        report.add(Code::HostTools, message, place);
    }
    AllowedTools::Declared(parsed.entries)
}

/// One finding for all unknown fields and one for all of other hosts: a block can hold thousands.
fn note_other_fields(entries: &[Entry], report: &mut Report<'_>) {
    let rule = |entry: &&Entry| FIELDS.iter().find(|rule| rule.key == entry.key);
    let host = entries
        .iter()
        .filter(|entry| rule(entry).is_some_and(|rule| rule.enforcement != Enforcement::Standard));
    note_fields(host, Code::HostField, "another host acts on it; kept, not enforced", report);
    let unknown = entries.iter().filter(|entry| rule(entry).is_none());
    note_fields(unknown, Code::FieldUnknown, "no field of the standard; kept", report);
}

fn note_fields<'e>(fields: impl Iterator<Item = &'e Entry>, code: Code, what: &str, report: &mut Report<'_>) {
    let fields: Vec<_> = fields.collect();
    let Some(first) = fields.first() else { return };
    let keys: Vec<_> = fields.iter().map(|entry| entry.key.as_str()).collect();
    let message = format!("{}: {what}", Shown::inline(&keys.join(", ")));
    report.add(code, message, Some(first.place));
}

#[cfg(test)]
mod tests {
    use super::*;

    // A20: the page is printed from the table that the reader uses.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test compares with the page on disk")]
    fn fields_page_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/frontmatter.md");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, fields_page()).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(path).unwrap(),
            fields_page(),
            "run UPDATE=1 cargo test -p fumehood-core"
        );
    }
}
