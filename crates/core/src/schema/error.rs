//! Why a schema was refused.

use core::fmt;

use super::keyword::{JsonType, Keyword};
use super::pointer::Path;
use crate::code::{Code, Coded};
use crate::limits::{JSON_DEPTH_MAX, JSON_NODES_MAX};
use crate::shown::Shown;

/// Why a schema was refused, and where in it.
///
/// `Display` names the keyword and the place. Both may be the author's text and pass through [`Shown`]; the fields
/// hold them raw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// What is wrong.
    pub kind: SchemaErrorKind,
    /// JSON pointer into the schema: to the value that is wrong, or to the node that lacks one.
    pub pointer: String,
}

/// What is wrong with a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaErrorKind {
    /// A schema is no object. Boolean schemas are refused, too.
    NotAnObject,
    /// The root of arguments is not a `type: object` node.
    RootNotObject,
    /// A keyword outside the subset, as the author wrote it.
    KeywordUnknown {
        /// The author's text.
        keyword: String,
    },
    /// A keyword of the subset that says nothing about values of the node's type.
    KeywordOfOtherType {
        /// The keyword.
        keyword: &'static str,
        /// The node's type.
        node_type: JsonType,
    },
    /// A keyword beside `anyOf`.
    KeywordBesideAnyOf {
        /// The keyword.
        keyword: &'static str,
    },
    /// The node needs this keyword.
    KeywordMissing {
        /// The keyword.
        keyword: &'static str,
    },
    /// A keyword with a value it cannot have.
    ValueInvalid {
        /// The keyword.
        keyword: &'static str,
        /// What its value must be.
        expected: &'static str,
    },
    /// `__proto__` as the name of a property.
    ReservedName {
        /// The keyword that has it.
        keyword: &'static str,
    },
    /// Nested deeper than 32 levels.
    Depth,
    /// More than 4,096 nodes.
    Nodes,
}

impl SchemaErrorKind {
    pub(super) fn at(self, path: &Path<'_>) -> SchemaError {
        SchemaError { kind: self, pointer: path.to_pointer() }
    }

    /// The keyword it is about, if there is one. May be the author's text.
    pub fn keyword(&self) -> Option<&str> {
        match self {
            Self::KeywordUnknown { keyword } => Some(keyword),
            Self::KeywordOfOtherType { keyword, .. }
            | Self::KeywordBesideAnyOf { keyword }
            | Self::KeywordMissing { keyword }
            | Self::ValueInvalid { keyword, .. }
            | Self::ReservedName { keyword } => Some(keyword),
            Self::RootNotObject => Some(Keyword::Type.as_str()),
            Self::NotAnObject | Self::Depth | Self::Nodes => None,
        }
    }
}

impl Coded for SchemaError {
    fn code(&self) -> Code {
        match self.kind {
            SchemaErrorKind::KeywordUnknown { .. }
            | SchemaErrorKind::KeywordOfOtherType { .. }
            | SchemaErrorKind::KeywordBesideAnyOf { .. } => Code::SchemaKeyword,
            SchemaErrorKind::NotAnObject
            | SchemaErrorKind::RootNotObject
            | SchemaErrorKind::KeywordMissing { .. }
            | SchemaErrorKind::ValueInvalid { .. }
            | SchemaErrorKind::ReservedName { .. } => Code::SchemaInvalid,
            SchemaErrorKind::Depth => Code::JsonDepth,
            SchemaErrorKind::Nodes => Code::JsonNodes,
        }
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str("in the schema: ")?,
            pointer => write!(f, "in the schema at {}: ", Shown::inline(pointer))?,
        }
        self.kind.fmt(f)
    }
}

impl fmt::Display for SchemaErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnObject => f.write_str("a schema must be an object, and this is none"),
            Self::RootNotObject => f.write_str("the root must have `type` object"),
            Self::KeywordUnknown { keyword } => {
                write!(f, "the keyword `{}` is outside the strict subset", Shown::inline(keyword))
            }
            Self::KeywordOfOtherType { keyword, node_type } => {
                write!(f, "the keyword `{keyword}` says nothing about {}", node_type.with_article())
            }
            Self::KeywordBesideAnyOf { keyword } => {
                write!(f, "the keyword `{keyword}` cannot stand beside `anyOf`")
            }
            Self::KeywordMissing { keyword } => write!(f, "the keyword `{keyword}` is missing"),
            Self::ValueInvalid { keyword, expected } => write!(f, "`{keyword}` must be {expected}"),
            Self::ReservedName { keyword } => write!(f, "`{keyword}` cannot have the name `__proto__`"),
            Self::Depth => write!(f, "nested deeper than {JSON_DEPTH_MAX} levels"),
            Self::Nodes => write!(f, "more than {JSON_NODES_MAX} nodes"),
        }
    }
}

impl core::error::Error for SchemaError {}
