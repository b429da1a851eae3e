//! The shapes of what `interpreters` says.

use serde::Serialize;

/// The answer of `interpreters`.
#[derive(Clone, Debug, Serialize)]
pub struct InterpretersReport {
    /// 1.
    pub schema_version: u32,
    /// Those that need no configuration, then those that are configured beside them, by their keys.
    pub interpreters: Vec<ListedInterpreter>,
}

/// An interpreter that scripts can name.
#[derive(Clone, Debug, Serialize)]
pub struct ListedInterpreter {
    /// The key by which scripts name it.
    pub key: String,
    /// `pinned`, `unpinned` (never used), `changed` (it does not run), `missing` or `refused`.
    pub status: &'static str,
    /// Whether `fumehood.toml` says where it is.
    pub configured: bool,
    /// The paths at which it is looked for.
    pub candidates: Vec<String>,
    /// What stands between it and a script.
    pub arguments: Vec<String>,
    /// The one of the paths that is there.
    pub path: Option<String>,
    /// The file that this leads to, links resolved.
    pub file: Option<String>,
    /// 64 hex digits of that file, if it can be used.
    pub sha256: Option<String>,
    /// What it is pinned to, if it is.
    pub pinned: Option<PinReport>,
    /// Why it is refused, missing or changed.
    pub reason: Option<String>,
}

/// What an interpreter was when it was pinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PinReport {
    /// The file, links resolved.
    pub file: String,
    /// 64 hex digits of it.
    pub sha256: String,
    /// The first line that it printed for `--version`, in the sandbox; at most 80 characters. Its words, not ours.
    pub version: Option<String>,
}

/// The answer of `interpreters repin`.
#[derive(Clone, Debug, Serialize)]
pub struct RepinReport {
    /// 1.
    pub schema_version: u32,
    /// The key.
    pub key: String,
    /// Whether it is pinned to something else than before.
    pub changed: bool,
    /// What it is pinned to now.
    pub pinned: PinReport,
}
