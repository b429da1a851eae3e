//! Why the settings could not be changed.

use std::fmt;

use fumehood_core::{Code, Coded};

use crate::home::HomeError;
use crate::settings::SettingsError;

/// Why the settings could not be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EditError {
    /// A folder of ours is not private, or cannot be made.
    Home(HomeError),
    /// The file could not be used as it is.
    Settings(SettingsError),
    /// The file, or what is to be changed in it, is not what was shown.
    Changed,
    /// The change cannot be made without touching something else.
    Uneditable(&'static str),
    /// The file could not be locked or written.
    Unusable(&'static str),
}

impl Coded for EditError {
    fn code(&self) -> Code {
        match self {
            Self::Home(error) => error.code(),
            Self::Settings(error) => error.code(),
            Self::Changed => Code::ConfigChanged,
            Self::Uneditable(_) => Code::ConfigUneditable,
            Self::Unusable(_) => Code::StateUnavailable,
        }
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(error) => error.fmt(f),
            Self::Settings(error) => error.fmt(f),
            Self::Changed => f.write_str("fumehood.toml is not what it was when the change was shown"),
            Self::Uneditable(reason) | Self::Unusable(reason) => write!(f, "fumehood.toml {reason}"),
        }
    }
}

impl std::error::Error for EditError {}
