//! What a validation reports.

use core::fmt;

use super::keyword::{JsonType, Keyword};
use crate::code::{Code, Coded};
use crate::json::Number;
use crate::shown::Shown;

/// One place where a value differs from its schema.
///
/// Never holds the value. Property names, which are somebody else's text, are in the pointer only, raw; `Display`
/// passes them through [`Shown`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// JSON pointer into the value. For a missing property, where it should be.
    pub pointer: String,
    /// What the schema demands there.
    pub expected: Expected,
}

/// What a schema demands of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// A value of this type (`type`).
    Type(JsonType),
    /// One of this many listed scalars (`enum`).
    Listed(usize),
    /// A number not below this (`minimum`).
    Minimum(Number),
    /// A number not above this (`maximum`).
    Maximum(Number),
    /// At least so many code points (`minLength`).
    MinLength(u64),
    /// At most so many code points (`maxLength`).
    MaxLength(u64),
    /// At least so many items (`minItems`).
    MinItems(u64),
    /// At most so many items (`maxItems`).
    MaxItems(u64),
    /// A property (`required`).
    Present,
    /// No such property (`additionalProperties`).
    Absent,
    /// A match with one of this many schemas (`anyOf`).
    AnyOf(usize),
}

impl Issue {
    /// The keyword that was not met.
    pub fn keyword(&self) -> &'static str {
        let keyword = match self.expected {
            Expected::Type(_) => Keyword::Type,
            Expected::Listed(_) => Keyword::Enum,
            Expected::Minimum(_) => Keyword::Minimum,
            Expected::Maximum(_) => Keyword::Maximum,
            Expected::MinLength(_) => Keyword::MinLength,
            Expected::MaxLength(_) => Keyword::MaxLength,
            Expected::MinItems(_) => Keyword::MinItems,
            Expected::MaxItems(_) => Keyword::MaxItems,
            Expected::Present => Keyword::Required,
            Expected::Absent => Keyword::AdditionalProperties,
            Expected::AnyOf(_) => Keyword::AnyOf,
        };
        keyword.as_str()
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str("the value must ")?,
            pointer => write!(f, "the value at {} must ", Shown::inline(pointer))?,
        }
        self.expected.fmt(f)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type(json_type) => write!(f, "be {}", json_type.with_article()),
            Self::Listed(1) => f.write_str("be the one value that the schema lists"),
            Self::Listed(count) => write!(f, "be one of the {count} values that the schema lists"),
            Self::Minimum(bound) => write!(f, "be at least {bound}"),
            Self::Maximum(bound) => write!(f, "be at most {bound}"),
            Self::MinLength(count) => write!(f, "have at least {count} characters"),
            Self::MaxLength(count) => write!(f, "have at most {count} characters"),
            Self::MinItems(count) => write!(f, "have at least {count} items"),
            Self::MaxItems(count) => write!(f, "have at most {count} items"),
            Self::Present => f.write_str("be present"),
            Self::Absent => f.write_str("not be present: the schema declares no such property"),
            Self::AnyOf(count) => write!(f, "match one of the {count} schemas in `anyOf`"),
        }
    }
}

/// Why a value was refused: 1 to 20 issues, and whether there were more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issues {
    found: Vec<Issue>,
    cut: bool,
}

impl Issues {
    /// `None` if nothing was found.
    pub(super) fn new(found: Vec<Issue>, cut: bool) -> Option<Self> {
        (!found.is_empty()).then_some(Self { found, cut })
    }

    /// The same number of issues, each through `change`.
    pub(crate) fn map(self, change: impl FnMut(Issue) -> Issue) -> Self {
        Self { found: self.found.into_iter().map(change).collect(), ..self }
    }

    /// The issues; never empty.
    pub fn as_slice(&self) -> &[Issue] {
        &self.found
    }

    /// Whether there were more than are kept.
    pub fn is_cut(&self) -> bool {
        self.cut
    }
}

impl Coded for Issues {
    fn code(&self) -> Code {
        Code::SchemaMismatch
    }
}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, issue) in self.found.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            issue.fmt(f)?;
        }
        if self.cut { f.write_str("; and more") } else { Ok(()) }
    }
}

impl core::error::Error for Issues {}
