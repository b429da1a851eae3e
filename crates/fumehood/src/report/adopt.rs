//! What was drafted for a skill, and what became of the draft.

use fumehood_core::adopt::Note;
use serde::Serialize;

use super::ScriptOut;

/// The answer of `adopt`.
#[derive(Clone, Debug, Serialize)]
pub struct AdoptReport {
    /// 1.
    pub schema_version: u32,
    /// The skill's qualified name.
    pub skill: String,
    /// The revision that the draft is for.
    pub revision: String,
    /// `asked`, `off` or `no_terminal`: whether scripts were asked for help, each on the person's word.
    pub help: &'static str,
    /// The file that holds the draft; null if there was nothing to draft.
    pub draft: Option<String>,
    /// The draft as it would be written into `fumehood.toml`; null if there was nothing to draft.
    pub overlay: Option<String>,
    /// The scripts in it.
    pub scripts: Vec<DraftedOut>,
    /// The scripts that are not.
    pub left_out: Vec<LeftOutOut>,
}

/// A script of a draft.
#[derive(Clone, Debug, Serialize)]
pub struct DraftedOut {
    /// The declaration.
    pub script: ScriptOut,
    /// Whether it is one of the overlay that is there already, kept as it is.
    pub kept: bool,
    /// What came of asking it for help.
    pub help: HelpOut,
    /// What a person who takes it over should know.
    pub notes: Vec<NoteOut>,
}

/// A script that could not be drafted.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOutOut {
    /// Its path in the skill.
    pub path: String,
    /// Why.
    pub why: NoteOut,
    /// What came of asking it for help.
    pub help: HelpOut,
    /// What else there is to know.
    pub notes: Vec<NoteOut>,
}

/// What came of asking a script for help.
#[derive(Clone, Debug, Serialize)]
pub struct HelpOut {
    /// `not_asked`, `answered`, `denied`, `failed` (it ended with another code than zero), `killed` (it did not end well, so
    /// the script was left out) or `refused` (it could not be asked).
    pub status: &'static str,
    /// The receipt, if it ran.
    pub receipt: Option<String>,
    /// Why it could not be asked: a stable code.
    pub code: Option<&'static str>,
}

/// Something to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoteOut {
    /// What it is about, in the author's words; empty for the whole script.
    pub about: String,
    /// One sentence of fumehood's.
    pub message: &'static str,
}

/// The answer of `adopt --accept`.
#[derive(Clone, Debug, Serialize)]
pub struct AcceptReport {
    /// 1.
    pub schema_version: u32,
    /// The skill's qualified name.
    pub skill: String,
    /// The revision that the overlay is confirmed for.
    pub revision: String,
    /// The file that it is in.
    pub settings: String,
    /// Whether that is new.
    pub changed: bool,
    /// Whether it took the place of another one for the same skill.
    pub replaced: bool,
    /// The names of its scripts.
    pub scripts: Vec<String>,
}

impl From<&Note> for NoteOut {
    fn from(note: &Note) -> Self {
        Self { about: note.subject().to_owned(), message: note.kind().as_str() }
    }
}

impl HelpOut {
    pub(crate) fn of(status: &'static str) -> Self {
        Self { status, receipt: None, code: None }
    }
}
