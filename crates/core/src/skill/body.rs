//! What a body asks of other hosts. Named once, never done.

use super::{Report, narrow};
use crate::code::Code;
use crate::diagnostic::Place;
use crate::shown::{Shown, is_hidden};
use crate::yaml::Entry;

/// Notes features of other hosts that the body or the frontmatter uses: text here, instructions there.
pub(super) fn note_host_features(body: &str, body_line: u32, fields: &[Entry], report: &mut Report<'_>) {
    let mut used: Vec<&str> = Vec::new();
    let mut first = None;
    for (index, line) in body.lines().enumerate() {
        for (feature, present) in FEATURES {
            if !used.contains(feature) && present(line) {
                used.push(feature);
                first.get_or_insert_with(|| body_line.saturating_add(narrow(index)));
            }
        }
        if used.len() == FEATURES.len() {
            break;
        }
    }
    let forks = |entry: &Entry| entry.key == "context" && entry.value.value.as_text() == Some("fork");
    if fields.iter().any(forks) {
        used.push("context: fork");
    }
    if fields.iter().any(|entry| entry.key == "hooks") {
        used.push("hooks");
    }
    if !used.is_empty() {
        let message = format!("host feature not supported: {}; the text is kept as it is", used.join(", "));
        report.add(Code::HostFeature, message, first.map(|line| Place { line, column: 1 }));
    }
}

/// Warns about characters that a person does not see and a model does.
///
/// Joiners and presentation selectors are left out: emoji and several scripts are written with them.
pub(super) fn warn_of_hidden_text(text: &str, report: &mut Report<'_>) {
    let is_ordinary =
        |c| matches!(c, '\n' | '\r' | '\t' | '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
    let text = text.trim_start_matches('\u{feff}');
    let mut count = 0;
    let mut first = None;
    for (index, line) in text.lines().enumerate() {
        for (column, c) in line.chars().enumerate().filter(|(_, c)| is_hidden(*c) && !is_ordinary(*c)) {
            count += 1;
            first.get_or_insert((c, Place { line: narrow(index + 1), column: narrow(column + 1) }));
        }
    }
    if let Some((c, place)) = first {
        let message = format!(
            "{count} hidden characters, first {}; see them with `fumehood cat`",
            Shown::inline(&c.to_string())
        );
        report.add(Code::HiddenText, message, Some(place));
    }
}

type Feature = (&'static str, fn(&str) -> bool);

const FEATURES: &[Feature] = &[
    ("!`command`", |line| line.contains("!`") || line.trim_start().starts_with("```!")),
    ("$ARGUMENTS", |line| line.contains("$ARGUMENTS")),
    ("${CLAUDE_…}", |line| line.contains("${CLAUDE_")),
    ("{baseDir}", |line| line.contains("{baseDir}")),
    ("@file", |line| {
        line.strip_prefix('@')
            .is_some_and(|rest| rest.contains(['/', '.']) && !rest.contains(char::is_whitespace))
    }),
];
