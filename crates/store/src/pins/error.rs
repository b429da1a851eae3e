//! Why an interpreter or the record of pins could not be used.

use std::fmt;

use fumehood_core::manifest::InterpreterKey;
use fumehood_core::{Code, Coded, Shown};

use super::{InterpreterChange, PINS_MAX};
use crate::home::HomeError;
use crate::interpreter::InterpreterError;

/// Why an interpreter or the record of pins could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PinError {
    /// Nothing is at any of the key's paths.
    Unknown(InterpreterKey),
    /// What is there must not be used.
    Refused(InterpreterError),
    /// Another process pinned the key to something else meanwhile.
    Changed(Box<InterpreterChange>),
    /// The state folder is not private.
    Home(HomeError),
    /// The record could not be read or written, or is not ours.
    Unusable(&'static str),
    /// There are 128 pins already.
    Full,
}

impl Coded for InterpreterChange {
    fn code(&self) -> Code {
        Code::InterpreterChanged
    }
}

impl fmt::Display for InterpreterChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pinned, found } = self;
        let key = &found.key;
        if pinned.path == found.path {
            write!(
                f,
                "the interpreter {key} at {} has other bytes than when it was pinned",
                shown(&found.path)
            )
        } else {
            let (then, now) = (shown(&pinned.path), shown(&found.path));
            write!(f, "the interpreter {key} was pinned to {then} and is now {now}")
        }
    }
}

fn shown(path: &str) -> Shown<'_> {
    Shown::inline(path).at_most(PATH_CHARS_MAX)
}

const PATH_CHARS_MAX: usize = 1024;

impl std::error::Error for InterpreterChange {}

impl Coded for PinError {
    fn code(&self) -> Code {
        match self {
            Self::Unknown(_) => Code::InterpreterUnknown,
            Self::Refused(error) => error.code(),
            Self::Changed(change) => change.code(),
            Self::Home(error) => error.code(),
            Self::Unusable(_) | Self::Full => Code::StateUnavailable,
        }
    }
}

impl fmt::Display for PinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(key) => write!(f, "there is no interpreter {key} at its path"),
            Self::Refused(error) => {
                let text = error.to_string();
                write!(f, "the interpreter is refused: {}", shown(&text))
            }
            Self::Changed(change) => change.fmt(f),
            Self::Home(error) => error.fmt(f),
            Self::Unusable(reason) => write!(f, "the record of pinned interpreters {reason}"),
            Self::Full => write!(f, "{PINS_MAX} interpreters are pinned already"),
        }
    }
}

impl std::error::Error for PinError {}
