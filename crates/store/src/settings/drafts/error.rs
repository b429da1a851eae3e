//! Why a draft could not be kept or read.

use std::fmt;

use fumehood_core::{Code, Coded};

use crate::home::HomeError;

/// Why a draft could not be kept or read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DraftError {
    /// The state folder is not private.
    Home(HomeError),
    /// The files could not be read or written, or are not ours.
    Unusable(&'static str),
    /// It would take more than 256 KiB.
    TooLarge,
}

impl Coded for DraftError {
    fn code(&self) -> Code {
        match self {
            Self::Home(error) => error.code(),
            Self::Unusable(_) => Code::StateUnavailable,
            Self::TooLarge => Code::ConfigUneditable,
        }
    }
}

impl fmt::Display for DraftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(error) => error.fmt(f),
            Self::Unusable(reason) => write!(f, "the drafts of overlays {reason}"),
            Self::TooLarge => f.write_str("the draft is larger than the 256 KiB that fumehood.toml may have"),
        }
    }
}

impl std::error::Error for DraftError {}
