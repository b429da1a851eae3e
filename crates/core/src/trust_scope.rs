//! Trust scopes: exact revisions for which a person, once and knowingly, waived the question.
//!
//! A scope covers different valid arguments and survives restarts (CHK-035). It covers nothing if one byte of the skill, the
//! agent, the overlay or the workspace is another, and it is no sandbox: what runs under it runs as confined as ever.

mod matching;
mod receipt;
mod save;

use core::fmt;
use std::collections::BTreeMap;

pub use matching::Mismatch;
pub use receipt::{ScopeReceipt, ScopeReceiptId};
pub use save::{ScopesError, save};

use crate::code::{Code, Coded};
use crate::digest::{Revision, Sha256};
use crate::frame::Frame;
use crate::host_path::HostPath;
use crate::name::{AgentLabel, SkillName, ToolName};
use crate::policy::{OUTPUT_BYTES_CEILING, SourceName};
use crate::shown::is_hidden;
use crate::tool::TIMEOUT_MAX;

/// Trust scopes of one person (CHK-028).
pub const SCOPES_MAX: usize = 64;
/// Path parameters in one scope.
pub const SCOPE_PATHS_MAX: usize = 32;
/// Characters of a parameter's name in a scope.
pub const SCOPE_PARAMETER_CHARS_MAX: usize = 64;
/// Bytes of the text that identifies a workspace.
pub const WORKSPACE_IDENTITY_BYTES_MAX: usize = 8192;

/// What a scope would cover: everything but the receipt. A value that exists keeps every rule.
///
/// It is what callers hand in to be saved, so it has no place for a receipt (CHK-038).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeDraft(ScopeParts);

/// What a [`ScopeDraft`] is made from. All of it must be the same in a call, but for the paths and ceilings, within which
/// the call must stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeParts {
    /// Who asks.
    pub agent: AgentLabel,
    /// The label of the skill's source: 1 to 32 characters of `a-z0-9-`.
    pub source: String,
    /// The skill.
    pub id: SkillName,
    /// Its bytes.
    pub revision: Revision,
    /// The tool.
    pub tool: ToolName,
    /// The digest of the deployer's overlay, if there is one.
    pub overlay: Option<Sha256>,
    /// The workspace folder, place and identity as the host writes them, if one is granted; at most 8 KiB.
    pub workspace: Option<String>,
    /// For each path parameter the place at which or below which its value must lie. A path parameter that is not here is
    /// not covered. At most 32.
    pub paths: BTreeMap<String, HostPath>,
    /// Seconds that one attempt may take: 1 to 3600.
    pub timeout_seconds_max: u64,
    /// Bytes kept of each output stream: 1 to 64 MiB.
    pub output_bytes_max: u64,
}

/// A saved scope. Without a receipt it is only a draft and covers nothing (CHK-040).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustScope {
    draft: ScopeDraft,
    receipt: Option<ScopeReceipt>,
}

/// All scopes of one person: at most 64, no two alike.
///
/// These are what holds now, not a history (CHK-043); the journal is that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scopes(Vec<TrustScope>);

/// Why a scope was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScopeError {
    /// The source is no label of a source of skills.
    Source,
    /// The workspace's identity is empty, too long, or has characters that cannot be seen.
    Workspace,
    /// More path parameters than a scope may have.
    TooManyPaths,
    /// A parameter's name is empty, too long, or has characters that cannot be seen.
    Parameter,
    /// The timeout is outside its range.
    Timeout,
    /// The output bytes are outside their range.
    OutputBytes,
}

impl ScopeDraft {
    /// A draft of these parts.
    ///
    /// # Errors
    /// [`ScopeError`] with code `E_TRUST_SCOPE_INVALID`. Nothing is clamped.
    pub fn new(parts: ScopeParts) -> Result<Self, ScopeError> {
        let ScopeParts {
            agent: _,
            source,
            id: _,
            revision: _,
            tool: _,
            overlay: _,
            workspace,
            paths,
            timeout_seconds_max,
            output_bytes_max,
        } = &parts;
        let is_fit = |text: &str, length: usize, max: usize| {
            length > 0 && length <= max && !text.chars().any(is_hidden)
        };
        let mut names = paths.keys();
        match () {
            () if !SourceName::parse(source).is_ok_and(|source| !source.is_server()) => {
                Err(ScopeError::Source)
            }
            () if workspace
                .as_ref()
                .is_some_and(|text| !is_fit(text, text.len(), WORKSPACE_IDENTITY_BYTES_MAX)) =>
            {
                Err(ScopeError::Workspace)
            }
            () if paths.len() > SCOPE_PATHS_MAX => Err(ScopeError::TooManyPaths),
            () if !names.all(|name| is_fit(name, name.chars().count(), SCOPE_PARAMETER_CHARS_MAX)) => {
                Err(ScopeError::Parameter)
            }
            () if !(1..=TIMEOUT_MAX.as_secs()).contains(timeout_seconds_max) => Err(ScopeError::Timeout),
            () if !(1..=OUTPUT_BYTES_CEILING).contains(output_bytes_max) => Err(ScopeError::OutputBytes),
            () => Ok(Self(parts)),
        }
    }

    /// Everything that it says.
    pub fn parts(&self) -> &ScopeParts {
        &self.0
    }

    /// The digest of everything that it says: another one if any part differs.
    pub fn sha256(&self) -> Sha256 {
        let ScopeParts {
            agent,
            source,
            id,
            revision,
            tool,
            overlay,
            workspace,
            paths,
            timeout_seconds_max,
            output_bytes_max,
        } = &self.0;
        let mut frame = Frame::new("trust-scope", 1);
        for text in [agent.as_str(), source, id.as_str(), &revision.to_string(), tool.as_str()] {
            frame.part(text.as_bytes());
        }
        frame.optional(overlay.as_ref(), |frame, overlay| frame.part(overlay.as_bytes()));
        frame.optional(workspace.as_ref(), |frame, workspace| frame.part(workspace.as_bytes()));
        frame.list(paths, |frame, (parameter, place)| {
            frame.part(parameter.as_bytes());
            frame.part(place.as_str().as_bytes());
        });
        frame.number(*timeout_seconds_max);
        frame.number(*output_bytes_max);
        frame.sha256()
    }
}

impl TrustScope {
    /// A scope as fumehood wrote it down in its own private state. So a rule over all sources lets only the store call this:
    /// whoever could hand in a receipt could mint one (CHK-038).
    pub fn of_record(draft: ScopeDraft, receipt: Option<ScopeReceipt>) -> Self {
        Self { draft, receipt }
    }

    /// What it covers, or would.
    pub fn draft(&self) -> &ScopeDraft {
        &self.draft
    }

    /// The record of its approval; `None` for a draft.
    pub fn receipt(&self) -> Option<ScopeReceipt> {
        self.receipt
    }
}

impl Scopes {
    /// The scopes as fumehood wrote them down, in their order; for the store, as [`TrustScope::of_record`].
    ///
    /// # Errors
    /// [`ScopesError`]: more than 64, two alike, or one receipt twice.
    pub fn of_record(scopes: Vec<TrustScope>) -> Result<Self, ScopesError> {
        save::check(&scopes)?;
        Ok(Self(scopes))
    }

    /// The scopes, in the order in which they were saved.
    pub fn as_slice(&self) -> &[TrustScope] {
        &self.0
    }

    /// The drafts of all, to change and save.
    pub fn drafts(&self) -> Vec<ScopeDraft> {
        self.0.iter().map(|scope| scope.draft.clone()).collect()
    }
}

impl Coded for ScopeError {
    fn code(&self) -> Code {
        Code::TrustScopeInvalid
    }
}

impl fmt::Display for ScopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source => {
                f.write_str("the source of a trust scope must be the label of a source of skills")
            }
            Self::Workspace => {
                f.write_str("the workspace of a trust scope is no visible text of at most 8 KiB")
            }
            Self::TooManyPaths => {
                write!(f, "a trust scope can have at most {SCOPE_PATHS_MAX} path parameters")
            }
            Self::Parameter => write!(
                f,
                "the parameters of a trust scope must be 1 to {SCOPE_PARAMETER_CHARS_MAX} visible characters"
            ),
            Self::Timeout => {
                write!(f, "the timeout of a trust scope must be from 1 to {} seconds", TIMEOUT_MAX.as_secs())
            }
            Self::OutputBytes => {
                write!(f, "the output of a trust scope must be from 1 to {OUTPUT_BYTES_CEILING} bytes")
            }
        }
    }
}

impl core::error::Error for ScopeError {}

#[cfg(test)]
mod tests;
