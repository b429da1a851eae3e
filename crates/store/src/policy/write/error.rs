//! Why `policy.toml` could not be written.

use std::fmt;
use std::path::PathBuf;

use fumehood_core::{Code, Coded, Shown};

use crate::home::HomeError;
use crate::policy::PolicyError;

/// Why `policy.toml` could not be written. It is then as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyWriteError {
    /// A folder of ours is not private, or cannot be made.
    Home(HomeError),
    /// The file as it is cannot be used, or the text for it is no policy.
    Policy(PolicyError),
    /// It lies at or below this place, where scripts may write.
    Writable(PathBuf),
    /// It is not what was shown.
    Changed,
    /// The change cannot be made without touching something else; why, to stand after its name.
    Uneditable(&'static str),
    /// The file or a draft of it cannot be locked, read or written; why, to stand after its name.
    Unusable(&'static str),
}

impl From<PolicyError> for PolicyWriteError {
    fn from(error: PolicyError) -> Self {
        Self::Policy(error)
    }
}

impl Coded for PolicyWriteError {
    fn code(&self) -> Code {
        match self {
            Self::Home(error) => error.code(),
            Self::Policy(error) => error.code(),
            Self::Writable(_) => Code::PolicyWritable,
            Self::Changed => Code::PolicyChanged,
            Self::Uneditable(_) => Code::PolicyUneditable,
            Self::Unusable(_) => Code::StateUnavailable,
        }
    }
}

impl fmt::Display for PolicyWriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(error) => error.fmt(f),
            Self::Policy(error) => error.fmt(f),
            Self::Writable(root) => {
                let root = root.to_string_lossy();
                write!(f, "policy.toml lies below {}, where scripts may write", Shown::inline(&root))
            }
            Self::Changed => f.write_str("policy.toml is not what it was when the change to it was begun"),
            Self::Uneditable(reason) | Self::Unusable(reason) => write!(f, "policy.toml {reason}"),
        }
    }
}

impl std::error::Error for PolicyWriteError {}
