//! The shapes of what `trust` says.

use fumehood_core::TrustScope;
use fumehood_core::trust_scope::ScopeDraft;
use serde::Serialize;

use super::Reason;

/// The answer of `trust list`.
#[derive(Clone, Debug, Serialize)]
pub struct ScopeListReport {
    /// 1.
    pub schema_version: u32,
    /// The mode of the policy; scopes count in mode `trusted` only.
    pub mode: &'static str,
    /// Every scope, in the order in which they were saved.
    pub scopes: Vec<ScopeOut>,
    /// What keeps programs of skills from running here, whatever their skill and whatever is decided about them; empty if nothing
    /// does. Those of [`Reason::is_about_scripts`] keep scripts from running too.
    pub unavailable: Vec<Reason>,
}

/// The answer of `trust add`, `trust show` and `trust remove`.
#[derive(Clone, Debug, Serialize)]
pub struct ScopeReport {
    /// 1.
    pub schema_version: u32,
    /// The mode of the policy.
    pub mode: &'static str,
    /// Whether the command changed something.
    pub changed: bool,
    /// The scope.
    pub scope: ScopeOut,
    /// What keeps programs of skills from running here, whatever their skill and whatever is decided about them; empty if nothing
    /// does. Those of [`Reason::is_about_scripts`] keep scripts from running too.
    pub unavailable: Vec<Reason>,
}

/// One trust scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScopeOut {
    /// Its id: `scope_` and 16 hex digits. Another one if anything of it is.
    pub id: String,
    /// The id of its receipt; null for a draft, which covers nothing.
    pub receipt: Option<String>,
    /// When it got that, in milliseconds since 1970.
    pub approved_unix_ms: Option<u64>,
    /// Whether it waives questions now.
    pub counts: bool,
    /// Who may call.
    pub agent: String,
    /// The label of the skill's source.
    pub source: String,
    /// The skill's name.
    pub skill: String,
    /// Its revision.
    pub revision: String,
    /// The tool.
    pub tool: String,
    /// The digest of the overlay that declares it, if one does.
    pub overlay: Option<String>,
    /// The workspace: what it is granted for, where it is, and which folder.
    pub workspace: Option<String>,
    /// For each path parameter the place at or below which it may lead.
    pub paths: Vec<ScopePath>,
    /// Seconds that one attempt may take.
    pub timeout_seconds_max: u64,
    /// Bytes that are kept of each stream.
    pub output_bytes_max: u64,
    /// Whether the skill has another revision by now; null where that was not looked at or no such skill was found.
    pub stale: Option<bool>,
    /// The revision that it has now, if it was looked at.
    pub current_revision: Option<String>,
    /// Files that differ, if it is stale and those of the trusted revision are on record.
    pub files_changed: Option<usize>,
}

/// A path parameter and its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScopePath {
    /// The parameter.
    pub parameter: String,
    /// The place.
    pub place: String,
}

impl ScopeOut {
    /// A scope that nobody looked further into.
    pub(crate) fn of(scope: &TrustScope, id: String) -> Self {
        Self {
            receipt: scope.receipt().map(|receipt| receipt.id.to_string()),
            approved_unix_ms: scope.receipt().map(|receipt| receipt.approved.unix_ms()),
            ..Self::of_draft(scope.draft(), id)
        }
    }

    /// What is not saved yet.
    pub(crate) fn of_draft(draft: &ScopeDraft, id: String) -> Self {
        let parts = draft.parts();
        let path = |(parameter, place): (&String, &fumehood_core::HostPath)| ScopePath {
            parameter: parameter.clone(),
            place: place.as_str().to_owned(),
        };
        Self {
            id,
            receipt: None,
            approved_unix_ms: None,
            counts: false,
            agent: parts.agent.as_str().to_owned(),
            source: parts.source.clone(),
            skill: parts.id.as_str().to_owned(),
            revision: parts.revision.to_string(),
            tool: parts.tool.as_str().to_owned(),
            overlay: parts.overlay.map(|overlay| overlay.to_string()),
            workspace: parts.workspace.clone(),
            paths: parts.paths.iter().map(path).collect(),
            timeout_seconds_max: parts.timeout_seconds_max,
            output_bytes_max: parts.output_bytes_max,
            stale: None,
            current_revision: None,
            files_changed: None,
        }
    }
}
