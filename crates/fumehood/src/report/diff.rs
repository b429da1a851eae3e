//! The shape of a difference between two skills.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The answer of `diff`.
#[derive(Clone, Debug, Serialize)]
pub struct DiffReport {
    /// 1.
    pub schema_version: u32,
    /// The skill before.
    pub before: DiffSide,
    /// The skill after.
    pub after: DiffSide,
    /// Whether every path and byte is equal.
    pub identical: bool,
    /// Files only in the second.
    pub added: Vec<DiffFile>,
    /// Files only in the first.
    pub removed: Vec<DiffFile>,
    /// Files in both that differ.
    pub changed: Vec<ChangedFile>,
}

/// One side of a `diff`.
#[derive(Clone, Debug, Serialize)]
pub struct DiffSide {
    /// The name it is looked up by.
    pub name: String,
    /// Its folder; empty for the revision that was approved last, which lies in none.
    pub path: String,
    /// Its revision.
    pub revision: String,
}

/// One file of a snapshot.
#[derive(Clone, Debug, Serialize)]
pub struct DiffFile {
    /// Its path in the skill.
    pub path: String,
    /// Bytes; 0 where that was not written down for what was approved.
    pub size: u64,
    /// 64 hex digits.
    pub sha256: String,
}

/// A file that differs.
#[derive(Clone, Debug, Serialize)]
pub struct ChangedFile {
    /// Its path in both skills.
    pub path: String,
    /// What it was.
    pub before: DiffFile,
    /// What it is.
    pub after: DiffFile,
    /// The lines that differ, or null where one side is no text, too large to compare by lines, or not kept.
    pub lines: Option<Vec<LineChange>>,
}

/// One line of a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineChange {
    /// `added`, `removed` or `same` (context).
    pub change: Cow<'static, str>,
    /// The line's number before, from 1.
    pub before: Option<usize>,
    /// The line's number after, from 1.
    pub after: Option<usize>,
    /// The line without its line feed.
    pub text: String,
}
