//! Texts of an author for a description: bounded, on one line, never more than words.

use super::note::{Note, NoteKind};
use crate::manifest::DESCRIPTION_CHARS_MAX;
use crate::shown::is_hidden;

/// The first paragraph as one line, or `None` if nothing of it can be seen.
pub(super) fn sentence(text: &str) -> Option<String> {
    let lines = text.lines().map(str::trim).skip_while(|line| line.is_empty()).take(LINES_MAX);
    whole(&lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" "))
}

/// All of a text as one line without control characters, cut to what a description may have.
pub(super) fn whole(text: &str) -> Option<String> {
    let shown = text.chars().take(4 * DESCRIPTION_CHARS_MAX).map(|c| if is_hidden(c) { ' ' } else { c });
    let mut line = String::new();
    for word in shown.collect::<String>().split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    (!line.is_empty()).then(|| cut(&line))
}

/// Cut to what a description may have, and marked if it was.
pub(super) fn cut(text: &str) -> String {
    if text.chars().nth(DESCRIPTION_CHARS_MAX).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(DESCRIPTION_CHARS_MAX - 1).collect();
    format!("{kept}…")
}

/// The comment that a file begins with, behind a shebang.
pub(super) fn first_comment(source: &str) -> Option<String> {
    let mut text = String::new();
    let lines = source.lines().take(LINES_MAX).map(str::trim);
    let lines = lines.skip_while(|line| {
        line.is_empty() || line.starts_with("#!") || line.starts_with("# -*-") || *line == "'use strict';"
    });
    for line in lines {
        let marks: [&str; 6] = ["#", "//", "/**", "/*", "*/", "*"];
        let Some(mark) = marks.into_iter().find(|mark| line.starts_with(mark)) else { break };
        let said = line[mark.len()..].trim_start_matches(['#', '/', '*']).trim();
        let said = said.trim_end_matches("*/").trim_matches(['-', '=', '#']).trim();
        let is_machine = ["shellcheck", "eslint", "/// script", "SPDX", "Copyright"];
        if said.is_empty() && !text.is_empty() || is_machine.iter().any(|word| said.starts_with(word)) {
            break;
        }
        if said.to_ascii_lowercase().starts_with("usage") {
            break;
        }
        text.push_str(said);
        text.push('\n');
    }
    (!text.trim().is_empty()).then_some(text)
}

/// What a block of inline script metadata (PEP 723) says that the script needs.
pub(super) fn needs(source: &str) -> Vec<Note> {
    let mut lines =
        source.lines().skip_while(|line| line.trim_end() != "# /// script").skip(1).take(LINES_MAX);
    let mut block = String::new();
    for line in lines.by_ref().take_while(|line| line.trim_end() != "# ///") {
        let Some(said) = line.strip_prefix('#') else { return Vec::new() };
        block.push_str(said);
        block.push('\n');
    }
    let mut notes = Vec::new();
    if let Some(list) = value_of(&block, "dependencies").and_then(|rest| rest.strip_prefix('[')) {
        let packages = quoted(list.split_once(']').map_or(list, |(list, _)| list));
        if !packages.is_empty() {
            notes.push(Note::about(&packages.join(", "), NoteKind::NeedsPackages));
        }
    }
    let version = value_of(&block, "requires-python").map(|rest| quoted(rest.lines().next().unwrap_or(rest)));
    if let Some(version) = version.and_then(|mut version| version.drain(..).next()) {
        notes.push(Note::about(&version, NoteKind::RequiresPython));
    }
    notes
}

/// What stands behind a key and its `=`.
fn value_of<'b>(block: &'b str, key: &str) -> Option<&'b str> {
    let mut from = 0;
    for line in block.split_inclusive('\n') {
        let rest = line.trim_start();
        if let Some(rest) = rest.strip_prefix(key).map(str::trim_start).filter(|rest| rest.starts_with('=')) {
            let at = from + (line.len() - rest.len()) + 1;
            return block.get(at..).map(str::trim_start);
        }
        from += line.len();
    }
    None
}

/// The texts between quotes, at most 32.
fn quoted(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\'']).filter(|_| found.len() < 32) {
        let quote = &rest[at..=at];
        let Some((inner, after)) = rest[at + 1..].split_once(quote) else { break };
        found.push(inner.to_owned());
        rest = after;
    }
    found
}

const LINES_MAX: usize = 200;
