//! Bounded YAML: a tree of text, lists and maps, with positions, or a reason.
//!
//! The grammar is `granit-parser`'s. What would let two readers disagree is refused here: duplicate keys, anchors,
//! aliases, tags, directives, a second document, keys that are no scalars, lone carriage returns. Scalars stay text as written; what a
//! plain scalar means (`true`, `3000`) is decided by whoever asks, so `name: 3000` is the name "3000".

use core::fmt;

use serde::ser::{Serialize, Serializer};

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StrInput};

use crate::diagnostic::Place;
use crate::json::Number;
use crate::limits::{YAML_DEPTH_MAX, YAML_NODES_MAX};
use crate::shown::Shown;

/// A YAML node and where it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Where it starts, in the text that was parsed.
    pub place: Place,
    /// What it is.
    pub value: Value,
}

/// The content of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Text, and whether it stood there without quotes and outside a block scalar.
    Scalar {
        /// The text after YAML's own unescaping and folding.
        text: String,
        /// Plain scalars may mean a number, a boolean or null.
        plain: bool,
    },
    /// A list.
    Sequence(Vec<Node>),
    /// A map, in the order written; keys are unique.
    Mapping(Vec<Entry>),
}

/// One key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key's text.
    pub key: String,
    /// Where the key starts.
    pub place: Place,
    /// The value.
    pub value: Node,
}

/// Why a YAML text was refused, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    /// What is wrong.
    pub kind: YamlErrorKind,
    /// Where, in the text that was parsed.
    pub place: Place,
}

/// What is wrong with a YAML text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum YamlErrorKind {
    /// The grammar was broken; the text says how, in the parser's words.
    Syntax(String),
    /// One key twice in a map.
    DuplicateKey,
    /// Deeper than 16 levels or more than 4,096 nodes.
    Limit,
    /// An anchor, an alias or a tag, which fumehood does not take.
    Indirection,
    /// A map key that is a list or a map.
    KeyNotScalar,
    /// A second document.
    SecondDocument,
    /// A character that ends a line for some readers and not for others: a carriage return that no line feed follows, or
    /// one of Unicode's own line ends (U+0085, U+2028, U+2029), which YAML 1.1 obeys and YAML 1.2 does not.
    DisputedLineEnd,
}

/// Reads exactly one document. An empty text is the empty scalar.
///
/// Limits: 16 nested collections, 4,096 scalars and collections, keys included.
///
/// # Errors
/// [`YamlError`] with the place in `text`.
pub fn parse(text: &str) -> Result<Node, YamlError> {
    if let Some(place) = disputed_line_end(text) {
        return Err(YamlError { kind: YamlErrorKind::DisputedLineEnd, place });
    }
    let options = granit_parser::options! {
        disallow_directives: true,
        flow_nesting_limit: YAML_DEPTH_MAX + 1,
        block_nesting_limit: YAML_DEPTH_MAX + 1,
    };
    let mut reader =
        Reader { events: Parser::new_from_str_with_options(text, options), nodes_left: YAML_NODES_MAX };
    let mut document = None;
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => break,
            (Event::DocumentStart(..), span) if document.is_some() => {
                return Err(YamlError { kind: YamlErrorKind::SecondDocument, place: place(&span) });
            }
            (Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd, _) => {}
            (event, span) => document = Some(reader.node(event, span, YAML_DEPTH_MAX)?),
        }
    }
    Ok(document.unwrap_or_else(|| Node { place: Place { line: 1, column: 1 }, value: Value::empty() }))
}

struct Reader<'t> {
    events: Parser<'t, StrInput<'t>>,
    nodes_left: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), YamlError> {
        match self.events.next_event() {
            Some(Ok(pair)) => Ok(pair),
            Some(Err(error)) => Err(translate(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth_left: usize) -> Result<Node, YamlError> {
        let place = place(&span);
        let refuse = |kind| Err(YamlError { kind, place });
        let Some(nodes_left) = self.nodes_left.checked_sub(1) else { return refuse(YamlErrorKind::Limit) };
        self.nodes_left = nodes_left;
        let collection_depth = depth_left.checked_sub(1);
        let value = match (event, collection_depth) {
            // The parser writes "~" for a value that is not there.
            (Event::Scalar(_, ScalarStyle::Plain, 0, None), _) if span.is_empty() => Value::empty(),
            (Event::Scalar(text, style, 0, None), _) => {
                Value::Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain }
            }
            (Event::SequenceStart(_, 0, None), Some(depth)) => self.sequence(depth)?,
            (Event::MappingStart(_, 0, None), Some(depth)) => self.mapping(depth)?,
            (Event::SequenceStart(_, 0, None) | Event::MappingStart(_, 0, None), None) => {
                return refuse(YamlErrorKind::Limit);
            }
            _ => return refuse(YamlErrorKind::Indirection),
        };
        Ok(Node { place, value })
    }

    fn sequence(&mut self, depth_left: usize) -> Result<Value, YamlError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Value::Sequence(items)),
                (event, span) => items.push(self.node(event, span, depth_left)?),
            }
        }
    }

    fn mapping(&mut self, depth_left: usize) -> Result<Value, YamlError> {
        let mut entries = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return unique(entries).map(Value::Mapping);
            }
            let key = self.node(event, span, depth_left)?;
            let place = key.place;
            let Value::Scalar { text, .. } = key.value else {
                return Err(YamlError { kind: YamlErrorKind::KeyNotScalar, place });
            };
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth_left)?;
            entries.push(Entry { key: text, place, value });
        }
    }
}

/// Refuses a map with one key twice; sorts references, since a hostile map may have thousands of keys.
fn unique(entries: Vec<Entry>) -> Result<Vec<Entry>, YamlError> {
    let mut keys: Vec<(&str, Place)> =
        entries.iter().map(|entry| (entry.key.as_str(), entry.place)).collect();
    keys.sort_unstable();
    match keys.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(YamlError { kind: YamlErrorKind::DuplicateKey, place: pair[1].1 }),
        None => Ok(entries),
    }
}

fn disputed_line_end(text: &str) -> Option<Place> {
    let disputed = |(offset, found): &(usize, &str)| *found != "\r" || !text[*offset..].starts_with("\r\n");
    let (offset, _) = text.match_indices(['\r', '\u{85}', '\u{2028}', '\u{2029}']).find(disputed)?;
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Some(position(before.split('\n').count(), before[line_start..].chars().count()))
}

fn translate(error: &ScanError) -> YamlError {
    let marker = error.marker();
    let kind = match error.kind() {
        ErrorKind::RecursionLimitExceeded => YamlErrorKind::Limit,
        ErrorKind::UnknownAnchor => YamlErrorKind::Indirection,
        kind => YamlErrorKind::Syntax(kind.to_string()),
    };
    YamlError { kind, place: position(marker.line(), marker.col()) }
}

fn place(span: &Span) -> Place {
    position(span.start.line(), span.start.col())
}

/// The parser counts lines from 1 and columns from 0.
fn position(line: usize, column: usize) -> Place {
    let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Place { line: narrow(line.max(1)), column: narrow(column.saturating_add(1)) }
}

impl Value {
    fn empty() -> Self {
        Self::Scalar { text: String::new(), plain: true }
    }

    /// The entries, if this is a map.
    pub fn as_mapping(&self) -> Option<&[Entry]> {
        if let Self::Mapping(entries) = self { Some(entries) } else { None }
    }

    /// The text, if this is a scalar, whatever it would mean.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Scalar { text, .. } = self { Some(text) } else { None }
    }

    /// The text, if this is a scalar other than null.
    pub fn as_text_or_null(&self) -> Option<&str> {
        self.as_text().map(|text| if self.meaning() == Meaning::Null { "" } else { text })
    }

    /// What a scalar means, by the core schema of YAML 1.2.
    pub fn meaning(&self) -> Meaning {
        match self {
            Self::Scalar { text, plain: true } => meaning_of(text),
            _ => Meaning::Text,
        }
    }
}

/// As JSON, the way the Skills-over-MCP extension wants frontmatter: maps in the order written; plain scalars as null,
/// booleans and numbers by the core schema of YAML 1.2. A number that JSON cannot write (`.inf`, or beyond a double)
/// stays text.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Sequence(items) => serializer.collect_seq(items.iter().map(|item| &item.value)),
            Self::Mapping(entries) => {
                serializer.collect_map(entries.iter().map(|e| (&e.key, &e.value.value)))
            }
            Self::Scalar { text, .. } => match self.meaning() {
                Meaning::Null => serializer.serialize_unit(),
                Meaning::Bool(value) => serializer.serialize_bool(value),
                Meaning::Number(number) => number.serialize(serializer),
                Meaning::Text => serializer.serialize_str(text),
            },
        }
    }
}

/// What a scalar stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing: an empty value, `~` or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text.
    Text,
}

fn meaning_of(text: &str) -> Meaning {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Meaning::Null,
        "true" | "True" | "TRUE" => Meaning::Bool(true),
        "false" | "False" | "FALSE" => Meaning::Bool(false),
        _ => number(text).map_or(Meaning::Text, Meaning::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    let radix = |prefix: &str, base| {
        text.strip_prefix(prefix)
            .filter(|digits| !digits.starts_with(['+', '-']))
            .and_then(|digits| u64::from_str_radix(digits, base).ok())
    };
    if let Some(value) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return Some(Number::from(value));
    }
    if let Ok(value) = text.parse::<i64>() {
        return Some(Number::from(value));
    }
    // Rust reads "inf", "nan" and "infinity" as numbers; YAML's core schema does not.
    let looks_like_float = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b))
        && text.bytes().any(|b| b.is_ascii_digit());
    text.parse::<f64>().ok().filter(|_| looks_like_float).and_then(Number::from_f64)
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            YamlErrorKind::Syntax(words) => write!(f, "{}", Shown::inline(words)),
            YamlErrorKind::DuplicateKey => f.write_str("this key stands here for the second time"),
            YamlErrorKind::Limit => {
                write!(f, "more than {YAML_DEPTH_MAX} levels or {YAML_NODES_MAX} nodes")
            }
            YamlErrorKind::Indirection => f.write_str(
                "a value starts with '&', '*' or '!', which YAML reads as an anchor, alias or tag",
            ),
            YamlErrorKind::KeyNotScalar => f.write_str("a key is a list or a map"),
            YamlErrorKind::SecondDocument => f.write_str("a second YAML document starts here"),
            YamlErrorKind::DisputedLineEnd => {
                f.write_str("a character stands here that ends a line for some readers and not for others")
            }
        }
    }
}

impl core::error::Error for YamlError {}

#[cfg(test)]
mod tests;
