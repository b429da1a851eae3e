//! What a run gave.

use fumehood_core::Code;
use serde::Serialize;

use super::Content;
use crate::fault::Fault;

/// The answer of `run`: the script ran, and this is what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// 1.
    pub schema_version: u32,
    /// Why it failed, if it did. What it wrote until then is here all the same.
    pub failure: Option<Fault>,
    /// The tool.
    pub tool: String,
    /// The skill's qualified name.
    pub skill: String,
    /// Its revision.
    pub revision: String,
    /// The record: `rcpt_` and 32 hex digits; `fumehood receipt` shows it.
    pub receipt: String,
    /// How it ended, if it could tell.
    pub exit_code: Option<u8>,
    /// The signal that ended it, if one did.
    pub signal: Option<u8>,
    /// `deadline`, `output` or `cancelled`, if it was ended from outside.
    pub killed: Option<&'static str>,
    /// Standard output.
    pub output: Written,
    /// Standard error.
    pub errors: Written,
    /// The person's files that were changed.
    pub files_applied: Vec<AppliedFile>,
    /// Milliseconds from the start of the script to its end.
    pub elapsed_ms: u64,
}

/// What a script wrote to one stream.
#[derive(Clone, Debug, Serialize)]
pub struct Written {
    /// The whole of what was kept, under this id: `art_` and 32 hex digits. Null if nothing was.
    pub artifact: Option<String>,
    /// Bytes kept.
    pub bytes: u64,
    /// Bytes that were beyond the cap: read, counted and dropped.
    pub dropped_bytes: u64,
    /// What was kept.
    #[serde(flatten)]
    pub content: Content,
}

/// A file of the person's that was changed.
#[derive(Clone, Debug, Serialize)]
pub struct AppliedFile {
    /// Where it is. A script may have chosen its name.
    pub path: String,
    /// `created`, `replaced` or `removed`.
    pub change: &'static str,
    /// Its bytes now.
    pub bytes: u64,
    /// Their digest; null if it was removed.
    pub sha256: Option<String>,
}

impl RunReport {
    /// What ended it, if it failed.
    pub fn code(&self) -> Option<Code> {
        self.failure.as_ref().map(|fault| fault.code)
    }
}
