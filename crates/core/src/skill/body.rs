//! What a body asks of other hosts. Named once, never done.

use super::{Report, narrow};
use crate::code::Code;
use crate::diagnostic::Place;
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
