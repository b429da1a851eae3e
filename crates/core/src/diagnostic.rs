//! What is said about a skill: a code, a place, a sentence.

use crate::code::{Code, Coded, Severity};

/// One finding about a skill or a source. It never stops the command that found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The stable code.
    pub code: Code,
    /// One sentence for a person. Text of the author in it has passed through [`Shown`](crate::Shown).
    pub message: String,
    /// The file it is about, relative to the skill (or the folder, for findings of a walk).
    pub path: Option<String>,
    /// Where in that file, if a place can be named.
    pub place: Option<Place>,
}

/// A position in a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl Diagnostic {
    /// A finding without a place.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), path: None, place: None }
    }

    /// The same finding, about `path`.
    #[must_use]
    pub fn in_file(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The same finding, at `place`.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// How much it matters.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}

impl Coded for Diagnostic {
    fn code(&self) -> Code {
        self.code
    }
}
