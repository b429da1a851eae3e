//! Names: what a skill and a tool may be called.

use core::fmt;

use serde::ser::{Serialize, Serializer};
use unicode_normalization::UnicodeNormalization as _;

use crate::code::{Code, Coded};
use crate::shown::is_hidden;

/// A conformant skill name: 1 to 64 characters of `a-z`, `0-9` and `-`, no hyphen at either end, none doubled.
///
/// The standard's prose says "unicode lowercase" and then lists `a-z 0-9`; hosts differ. fumehood takes the ASCII
/// reading, since tool names and folders are built from it. Text that only *normalises* (NFKC) to such a name, as
/// full-width letters do, is not conformant: two spellings would be one name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillName(String);

/// A tool name that model providers accept: `[A-Za-z_][A-Za-z0-9_-]{0,63}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolName(String);

/// What the host calls an agent: 1 to 64 characters of `a-z`, `0-9`, `_`, `.` and `-`, the first a letter or digit.
///
/// Assigned by the host, never taken from what a client says of itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentLabel(String);

/// Why a name was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// The name has no character.
    Empty,
    /// The name has more characters than its rule allows.
    TooLong,
    /// A character outside the rule, at this index in characters.
    Character(usize),
    /// The first or last character is a hyphen.
    EdgeHyphen,
    /// Two hyphens in a row.
    DoubleHyphen,
}

/// Characters in a skill name, at most.
pub const SKILL_NAME_CHARS_MAX: usize = 64;
/// Characters in a tool name, at most.
pub const TOOL_NAME_CHARS_MAX: usize = 64;
/// Characters in an agent's label, at most.
pub const AGENT_LABEL_CHARS_MAX: usize = 64;

impl SkillName {
    /// Reads a name.
    ///
    /// # Errors
    /// [`NameError`] with code `E_NAME_INVALID`.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        length(text, SKILL_NAME_CHARS_MAX)?;
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if let Some(index) = text.chars().position(|c| !allowed(c)) {
            return Err(NameError::Character(index));
        }
        if text.starts_with('-') || text.ends_with('-') {
            return Err(NameError::EdgeHyphen);
        }
        if text.contains("--") {
            return Err(NameError::DoubleHyphen);
        }
        Ok(Self(text.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ToolName {
    /// Reads a name.
    ///
    /// # Errors
    /// [`NameError`] with code `E_NAME_INVALID`.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        length(text, TOOL_NAME_CHARS_MAX)?;
        let allowed = |(index, c): (usize, char)| match c {
            'a'..='z' | 'A'..='Z' | '_' => true,
            '0'..='9' | '-' => index > 0,
            _ => false,
        };
        match text.chars().enumerate().position(|pair| !allowed(pair)) {
            Some(index) => Err(NameError::Character(index)),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// Reads the name of a tool that the host defines: `[a-z][a-z0-9]*(_[a-z0-9]+)*`, at most 64 characters.
    ///
    /// # Errors
    /// [`NameError`] with code `E_NAME_INVALID`.
    pub fn parse_snake_case(text: &str) -> Result<Self, NameError> {
        length(text, TOOL_NAME_CHARS_MAX)?;
        match snake_case_breach(text) {
            Some(index) => Err(NameError::Character(index)),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AgentLabel {
    /// Reads a label.
    ///
    /// # Errors
    /// [`NameError`] with code `E_NAME_INVALID`.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        length(text, AGENT_LABEL_CHARS_MAX)?;
        let allowed = |(index, c): (usize, char)| match c {
            'a'..='z' | '0'..='9' => true,
            '_' | '.' | '-' => index > 0,
            _ => false,
        };
        match text.chars().enumerate().position(|pair| !allowed(pair)) {
            Some(index) => Err(NameError::Character(index)),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// The label.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name under which a catalogue lists a skill whose declared name breaks the rule, or `None` if nothing is left.
///
/// NFKC, lower case, every run of other characters one hyphen, at most 64 characters. Letters and digits of any
/// script stay, but for those that cannot be seen, so that such a skill can be told apart and looked up; it is still not
/// conformant.
pub fn slug(declared: &str) -> Option<String> {
    let mut slug = String::new();
    let mut length = 0;
    for c in declared.nfkc().flat_map(char::to_lowercase) {
        if length == SKILL_NAME_CHARS_MAX {
            break;
        }
        if c.is_alphanumeric() && !is_hidden(c) {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        } else {
            continue;
        }
        length += 1;
    }
    slug.truncate(slug.trim_end_matches('-').len());
    (!slug.is_empty()).then_some(slug)
}

/// Where a text stops being snake case: the index of the first character that may not stand there.
fn snake_case_breach(text: &str) -> Option<usize> {
    let mut previous = '_';
    for (index, c) in text.chars().enumerate() {
        let allowed = match c {
            'a'..='z' => true,
            '0'..='9' => index > 0,
            '_' => previous != '_',
            _ => false,
        };
        if !allowed {
            return Some(index);
        }
        previous = c;
    }
    (previous == '_').then(|| text.chars().count().saturating_sub(1))
}

fn length(text: &str, chars_max: usize) -> Result<(), NameError> {
    match text.chars().take(chars_max + 1).count() {
        0 => Err(NameError::Empty),
        n if n > chars_max => Err(NameError::TooLong),
        _ => Ok(()),
    }
}

impl Coded for NameError {
    fn code(&self) -> Code {
        Code::NameInvalid
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the name is empty"),
            Self::TooLong => write!(f, "the name is longer than {SKILL_NAME_CHARS_MAX} characters"),
            Self::Character(index) => write!(f, "character {} of the name is not allowed", index + 1),
            Self::EdgeHyphen => f.write_str("the name starts or ends with a hyphen"),
            Self::DoubleHyphen => f.write_str("the name has two hyphens in a row"),
        }
    }
}

impl core::error::Error for NameError {}

impl fmt::Display for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for AgentLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for ToolName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl Serialize for AgentLabel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CHK-065: 64 characters of a name, and one over.
    #[test]
    fn skill_names() {
        let long = "a".repeat(64);
        for good in ["a", "pdf", "pdf-tools", "8004", "a1-b2", &long] {
            assert_eq!(SkillName::parse(good).map(|n| n.as_str().to_owned()), Ok(good.to_owned()));
        }
        let too_long = "a".repeat(65);
        let cases = [
            ("", NameError::Empty),
            (too_long.as_str(), NameError::TooLong),
            ("Pdf", NameError::Character(0)),
            ("a_b", NameError::Character(1)),
            ("a b", NameError::Character(1)),
            ("-a", NameError::EdgeHyphen),
            ("a-", NameError::EdgeHyphen),
            ("-", NameError::EdgeHyphen),
            ("a--b", NameError::DoubleHyphen),
            ("技能", NameError::Character(0)),
            ("ａ", NameError::Character(0)),
            ("a/b", NameError::Character(1)),
            ("..", NameError::Character(0)),
        ];
        for (text, error) in cases {
            assert_eq!(SkillName::parse(text), Err(error), "{text:?}");
        }
    }

    // EXE-22, X-02
    #[test]
    fn tool_names() {
        let long = format!("_{}", "9".repeat(63));
        for good in ["a", "_", "Run-It_9", "run_pdf-tools_fill", &long] {
            assert!(ToolName::parse(good).is_ok(), "{good}");
        }
        let too_long = "a".repeat(65);
        for bad in ["", "9a", "-a", "a b", "a.b", "é", &too_long] {
            assert!(ToolName::parse(bad).is_err(), "{bad}");
        }
    }

    // XSF-02, X-02
    #[test]
    fn names_of_host_tools_are_snake_case() {
        let long = "a".repeat(64);
        for good in ["a", "a1", "read_file", "a_1_b", "x9_9x", &long] {
            assert!(ToolName::parse_snake_case(good).is_ok(), "{good}");
        }
        let cases = [
            ("", NameError::Empty),
            ("_a", NameError::Character(0)),
            ("1a", NameError::Character(0)),
            ("a_", NameError::Character(1)),
            ("a__b", NameError::Character(2)),
            ("readFile", NameError::Character(4)),
            ("read-file", NameError::Character(4)),
            ("a b", NameError::Character(1)),
            ("é", NameError::Character(0)),
        ];
        for (text, error) in cases {
            assert_eq!(ToolName::parse_snake_case(text), Err(error), "{text}");
        }
        assert_eq!(ToolName::parse_snake_case(&"a".repeat(65)), Err(NameError::TooLong));
    }

    #[test]
    fn agent_labels() {
        let long = "a".repeat(64);
        for good in ["cli", "claude-code", "7", "ci.nightly_2", &long] {
            assert_eq!(AgentLabel::parse(good).map(|label| label.to_string()), Ok(good.to_owned()));
        }
        let too_long = "a".repeat(65);
        for bad in ["", "-a", ".a", "_a", "Cli", "a b", "a/b", "é", &too_long] {
            assert!(AgentLabel::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn slugs() {
        let cases = [
            ("gke:x", Some("gke-x")),
            ("My Skill", Some("my-skill")),
            ("--A__b--", Some("a-b")),
            ("ＰＤＦ", Some("pdf")),
            ("技能", Some("技能")),
            ("../../etc/x", Some("etc-x")),
            ("!!", None),
            ("", None),
            // Found by the fuzzer: fillers are letters to Unicode and nothing to the eye.
            ("\u{3164}", None),
            ("\u{ffa0}a\u{115f}b\u{1160}", Some("a-b")),
        ];
        for (declared, expected) in cases {
            assert_eq!(slug(declared).as_deref(), expected, "{declared:?}");
        }
        // The limit holds on what comes out, and cutting leaves no hyphen at the end.
        assert_eq!(slug(&"a".repeat(100)).map(|s| s.len()), Some(64));
        assert_eq!(slug(&format!("{} b", "a".repeat(63))), Some("a".repeat(63)));
    }
}
