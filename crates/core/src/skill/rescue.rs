//! Frontmatter as YAML, and what can be saved when it is broken.
//!
//! One block in twenty found in the wild is broken YAML, mostly a description with a colon or a leading asterisk.
//! Two rescues, each weaker than the one before: quote the single lines that fail on their own and read again;
//! else take only `name` and `description` by their lines. What two readers could read differently (a key twice)
//! is refused instead, and a rescued block never declares tools.

use super::Report;
use super::split::Parts;
use crate::code::Code;
use crate::diagnostic::Place;
use crate::yaml::{self, Entry, Node, Value, YamlError, YamlErrorKind};

/// How a frontmatter block was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rescue {
    /// As the YAML it is.
    None,
    /// After quoting single lines.
    Quoted,
    /// Name and description only, by their lines.
    Lines,
}

/// A frontmatter block that could be read.
pub(super) struct Block {
    pub(super) entries: Vec<Entry>,
    pub(super) rescue: Rescue,
}

pub(super) fn parse_block(parts: &Parts<'_>, report: &mut Report<'_>) -> Option<Block> {
    let error = match parse_mapping(parts.yaml) {
        Ok(entries) => return Some(block(entries, Rescue::None, parts)),
        Err(error) => error,
    };
    let place = shift(error.place, parts.lines_before);
    match error.kind {
        YamlErrorKind::DuplicateKey => {
            report.add(Code::FrontmatterDuplicate, error.to_string(), Some(place));
            return None;
        }
        YamlErrorKind::Limit => {
            report.add(Code::FrontmatterTooLarge, format!("the frontmatter has {error}"), Some(place));
            return None;
        }
        _ => {}
    }
    if let Ok(entries) = parse_mapping(&quote_failing_lines(parts.yaml)) {
        let advice = match error.kind {
            YamlErrorKind::DisputedLineEnd => "remove it",
            _ => "put the value in quotes",
        };
        report.add(Code::FrontmatterQuoted, format!("{error}; {advice}"), Some(place));
        return Some(block(entries, Rescue::Quoted, parts));
    }
    match rescue_lines(parts.yaml) {
        Ok(entries) => {
            report.add(Code::FrontmatterRescued, format!("{error}; nothing else was read"), Some(place));
            Some(block(entries, Rescue::Lines, parts))
        }
        Err(LinesError::Twice(line)) => {
            let place = shift(Place { line, column: 1 }, parts.lines_before);
            report.add(Code::FrontmatterDuplicate, "this key stands here for the second time", Some(place));
            None
        }
        Err(LinesError::NoDescription) => {
            report.add(Code::FrontmatterInvalid, error.to_string(), Some(place));
            None
        }
    }
}

fn block(mut entries: Vec<Entry>, rescue: Rescue, parts: &Parts<'_>) -> Block {
    for entry in &mut entries {
        shift_entry(entry, parts.lines_before);
    }
    Block { entries, rescue }
}

fn parse_mapping(yaml: &str) -> Result<Vec<Entry>, YamlError> {
    let document = yaml::parse(yaml)?;
    let place = document.place;
    match document.value {
        Value::Mapping(entries) => Ok(entries),
        // An empty block is an empty map: what is missing from it is said field by field.
        Value::Scalar { text, plain: true } if text.is_empty() => Ok(Vec::new()),
        _ => Err(YamlError { kind: YamlErrorKind::Syntax("this is no 'key: value' line".to_owned()), place }),
    }
}

/// The block again, with every top-level entry that is no YAML on its own turned into a quoted line.
fn quote_failing_lines(yaml: &str) -> String {
    let mut mended = String::with_capacity(yaml.len() + 64);
    for chunk in top_level_chunks(yaml) {
        match split_key(chunk.lines[0]) {
            Some((key, value)) if parse_mapping(&chunk.text()).is_err() => {
                let value = joined(value, &chunk.lines[1..]);
                mended.push_str(key);
                mended.push_str(": \"");
                for c in value.chars() {
                    match c {
                        '"' | '\\' => mended.extend(['\\', c]),
                        '\t' => mended.push_str("\\t"),
                        '\r' => mended.push_str("\\r"),
                        '\u{85}' => mended.push_str("\\N"),
                        '\u{2028}' => mended.push_str("\\L"),
                        '\u{2029}' => mended.push_str("\\P"),
                        c => mended.push(c),
                    }
                }
                mended.push_str("\"\n");
                // Later entries keep their line numbers.
                mended.extend(core::iter::repeat_n('\n', chunk.lines.len() - 1));
            }
            _ => {
                mended.push_str(&chunk.text());
                mended.push('\n');
            }
        }
    }
    mended
}

enum LinesError {
    /// On this line of the block.
    Twice(u32),
    NoDescription,
}

/// `name` and `description` of a block that is beyond repair.
fn rescue_lines(yaml: &str) -> Result<Vec<Entry>, LinesError> {
    let mut entries: Vec<Entry> = Vec::new();
    for chunk in top_level_chunks(yaml) {
        let Some((key @ ("name" | "description"), value)) = split_key(chunk.lines[0]) else { continue };
        if entries.iter().any(|entry| entry.key == key) {
            return Err(LinesError::Twice(chunk.number));
        }
        let text = unquoted(&joined(value, &chunk.lines[1..])).to_owned();
        let place = Place { line: chunk.number, column: 1 };
        let value = Node { place, value: Value::Scalar { text, plain: false } };
        entries.push(Entry { key: key.to_owned(), place, value });
    }
    let described = entries.iter().any(|entry| entry.key == "description");
    if described { Ok(entries) } else { Err(LinesError::NoDescription) }
}

/// One unindented line and the indented or blank lines that follow it.
struct Chunk<'t> {
    lines: Vec<&'t str>,
    /// The first line's number within the block, from 1.
    number: u32,
}

impl Chunk<'_> {
    fn text(&self) -> String {
        self.lines.join("\n")
    }
}

fn top_level_chunks(yaml: &str) -> Vec<Chunk<'_>> {
    let mut chunks: Vec<Chunk<'_>> = Vec::new();
    for (number, line) in (1..).zip(yaml.lines()) {
        let continues = line.is_empty() || line.starts_with([' ', '\t', '-', ']', '}']);
        match chunks.last_mut() {
            Some(chunk) if continues => chunk.lines.push(line),
            _ => chunks.push(Chunk { lines: vec![line], number }),
        }
    }
    chunks
}

/// `key: value` at the start of a line, where the key is a plain word.
fn split_key(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let separated = value.is_empty() || value.starts_with([' ', '\t']);
    (plain && separated).then_some((key, value.trim()))
}

/// The value and its continuation lines as one line; a block scalar's indicator is no part of it.
fn joined(value: &str, continuation: &[&str]) -> String {
    let is_indicator = value.starts_with(['>', '|']) && value.len() <= 3;
    let first = if is_indicator { "" } else { value };
    let mut text = first.to_owned();
    for line in continuation.iter().map(|line| line.trim()).filter(|line| !line.is_empty()) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(line);
    }
    text
}

fn unquoted(text: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)))
        .unwrap_or(text)
}

fn shift(place: Place, lines: u32) -> Place {
    Place { line: place.line.saturating_add(lines), ..place }
}

fn shift_entry(entry: &mut Entry, lines: u32) {
    entry.place = shift(entry.place, lines);
    shift_node(&mut entry.value, lines);
}

fn shift_node(node: &mut Node, lines: u32) {
    node.place = shift(node.place, lines);
    match &mut node.value {
        Value::Scalar { .. } => {}
        Value::Sequence(items) => items.iter_mut().for_each(|item| shift_node(item, lines)),
        Value::Mapping(entries) => entries.iter_mut().for_each(|entry| shift_entry(entry, lines)),
    }
}
