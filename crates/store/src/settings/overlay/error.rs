//! Why an overlay was refused.

use std::fmt;

use fumehood_core::manifest::{SCRIPTS_MAX, ToolNameTooLong};
use fumehood_core::{Code, Coded, ToolName};

/// Why an overlay was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OverlayError {
    /// The label of the source breaks its rule; says which.
    Source(String),
    /// The revision is not 64 lower-case hex digits.
    Revision,
    /// More scripts than there may be.
    TooManyScripts,
    /// Two scripts or two tools have this name.
    Twice(String),
    /// A script's tool would have too long a name.
    ToolNameTooLong(ToolNameTooLong),
    /// A tool's name is kept for readers of artifacts.
    Reserved(ToolName),
    /// A number that TOML cannot hold.
    Number,
}

impl Coded for OverlayError {
    fn code(&self) -> Code {
        match self {
            Self::ToolNameTooLong(error) => error.code(),
            Self::Twice(_) => Code::ToolDuplicate,
            Self::Reserved(_) => Code::ToolCollision,
            Self::Source(_) | Self::Revision | Self::TooManyScripts | Self::Number => Code::ConfigInvalid,
        }
    }
}

impl fmt::Display for OverlayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(rule) => f.write_str(rule),
            Self::Revision => f.write_str("revision must be 64 digits of 0-9 and a-f"),
            Self::TooManyScripts => write!(f, "more than {SCRIPTS_MAX} scripts"),
            Self::Twice(name) => write!(f, "two scripts or tools are called '{name}'; rename one"),
            Self::ToolNameTooLong(error) => write!(f, "{error}, or give it a tool_name"),
            Self::Reserved(name) => {
                write!(f, "the tool name {name} begins as those of artifacts' readers do; choose another")
            }
            Self::Number => f.write_str("a number is too large for TOML"),
        }
    }
}

impl std::error::Error for OverlayError {}
