//! The only error that leaves the process.

use std::fmt;

use fumehood_core::{Class, Code, Coded};
use serde::Serialize;

/// What went wrong, who must act, and what to do: five fields and nothing else.
///
/// No text of a skill is in it unless it has passed through [`fumehood_core::Shown`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The stable code, such as `E_SKILL_NOT_FOUND`.
    pub code: Code,
    /// Who must act.
    pub class: Class,
    /// What happened, in one sentence.
    pub message: String,
    /// What to do about it, in one sentence.
    pub advice: String,
    /// Names this occurrence in logs: `f-` and 16 hex digits, unguessable.
    pub id: String,
}

impl Fault {
    /// A fault of `code`, with its class from the table and a fresh id.
    pub fn new(code: Code, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { code, class: code.class(), message: message.into(), advice: advice.into(), id: fresh_id() }
    }

    /// A fault with the code and the sentence of an error.
    pub fn of(error: &(impl Coded + fmt::Display), advice: impl Into<String>) -> Self {
        Self::new(error.code(), error.to_string(), advice)
    }
}

impl Coded for Fault {
    fn code(&self) -> Code {
        self.code
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for Fault {}

/// An id that nobody can guess. Without randomness it is all zeros: an id is a convenience, not a secret.
fn fresh_id() -> String {
    let random = getrandom::u64().unwrap_or(0);
    format!("f-{random:016x}")
}
