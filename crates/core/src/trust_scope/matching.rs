//! Whether a scope covers a call.

use core::fmt;
use core::time::Duration;

use super::{ScopeParts, ScopeReceiptId, Scopes, TrustScope};
use crate::digest::VerifiedRevision;
use crate::host_path::HostPath;
use crate::policy::{ArgumentFacts, Fact, PathFact, PolicyFacts, PolicyTier};
use crate::shown::Shown;

/// Why a scope does not cover a call: the first thing, in this order. A fact that is missing is another than the scope's.
///
/// Names parameters, never the values of arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// The scope has no receipt.
    Draft,
    /// Another agent asks.
    Agent,
    /// The skill is from another source.
    Source,
    /// It is another skill.
    Id,
    /// The skill's bytes are others.
    Revision,
    /// It is another tool.
    Tool,
    /// The overlay is another, or is there where there was none, or the other way round.
    Overlay,
    /// The workspace is another, or is there where there was none, or the other way round.
    Workspace,
    /// Nobody declared the script's parameters, or the tier is not known.
    Undeclared,
    /// The arguments are not known.
    Arguments,
    /// This path parameter leads out of its place, or the scope has no place for it.
    Path(String),
    /// A name with a leading dot lies on the way to this path parameter's value.
    Hidden(String),
    /// The call asks for more time.
    Timeout,
    /// The call asks for more output.
    OutputBytes,
}

impl TrustScope {
    /// Whether it covers the call, and by which receipt.
    ///
    /// # Errors
    /// [`Mismatch`].
    pub fn covers(&self, facts: &PolicyFacts<'_>) -> Result<ScopeReceiptId, Mismatch> {
        // Taken apart, so that a part that is added and not compared does not compile.
        let ScopeParts {
            agent,
            source,
            id,
            revision,
            tool,
            overlay,
            workspace,
            paths: _,
            timeout_seconds_max,
            output_bytes_max,
        } = self.draft.parts();
        let timeout_max = Duration::from_secs(*timeout_seconds_max);
        // The label of a version counts for nothing; these are the bytes (CHK-041).
        let bytes = facts.revision.known().map(VerifiedRevision::revision);
        let folder = match facts.workspace {
            Fact::Missing => None,
            Fact::None => Some(None),
            Fact::Is(folder) => Some(Some(folder.identity)),
        };
        let patch = match facts.overlay {
            Fact::Missing => None,
            Fact::None => Some(None),
            Fact::Is(overlay) => Some(Some(overlay)),
        };
        let receipt = self.receipt.ok_or(Mismatch::Draft)?;
        match () {
            () if facts.agent.known() != Some(agent) => Err(Mismatch::Agent),
            () if facts.source.known() != Some(source.as_str()) => Err(Mismatch::Source),
            () if facts.id.known() != Some(id) => Err(Mismatch::Id),
            () if bytes != Some(*revision) => Err(Mismatch::Revision),
            () if facts.tool.known() != Some(tool) => Err(Mismatch::Tool),
            () if patch != Some(*overlay) => Err(Mismatch::Overlay),
            () if folder != Some(workspace.as_deref()) => Err(Mismatch::Workspace),
            () if matches!(facts.tier.known(), None | Some(PolicyTier::Undeclared)) => {
                Err(Mismatch::Undeclared)
            }
            () if facts.timeout.known().is_none_or(|timeout| timeout > timeout_max) => Err(Mismatch::Timeout),
            () if facts.output_bytes.known().is_none_or(|bytes| bytes > *output_bytes_max) => {
                Err(Mismatch::OutputBytes)
            }
            () => self.covers_paths(facts).map(|()| receipt.id),
        }
    }

    fn covers_paths(&self, facts: &PolicyFacts<'_>) -> Result<(), Mismatch> {
        let Fact::Is(ArgumentFacts { value, paths: found }) = facts.arguments else {
            return Err(Mismatch::Arguments);
        };
        let places = &self.draft.parts().paths;
        let arguments = value.as_object().ok_or(Mismatch::Arguments)?;
        // A parameter that the scope knows as a path and the host does not: something is wrong with one of them.
        let is_found = |name: &String| found.iter().any(|path| path.parameter == name);
        if let Some(lost) = places.keys().find(|name| arguments.contains_key(*name) && !is_found(name)) {
            return Err(Mismatch::Path(lost.clone()));
        }
        for PathFact { parameter, resolved } in found {
            let outside = || Mismatch::Path((*parameter).to_owned());
            let place = places.get(*parameter).ok_or_else(outside)?;
            let below = resolved.and_then(|path| below(place, path)).ok_or_else(outside)?;
            if below.split('/').any(|name| name.starts_with('.')) {
                return Err(Mismatch::Hidden((*parameter).to_owned()));
            }
        }
        Ok(())
    }
}

/// What follows a place in a path at or below it.
fn below<'a>(place: &HostPath, path: &'a HostPath) -> Option<&'a str> {
    if !place.contains(path) {
        return None;
    }
    path.as_str().strip_prefix(place.as_str().trim_end_matches('/'))
}

impl Scopes {
    /// The receipt of the first scope that covers the call.
    pub fn covering(&self, facts: &PolicyFacts<'_>) -> Option<ScopeReceiptId> {
        self.as_slice().iter().find_map(|scope| scope.covers(facts).ok())
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Draft => "it is a draft without a receipt",
            Self::Agent => "another agent asks",
            Self::Source => "the skill is from another source",
            Self::Id => "it is another skill",
            Self::Revision => "the skill's bytes changed",
            Self::Tool => "it is another tool",
            Self::Overlay => "the overlay is another",
            Self::Workspace => "the workspace is another",
            Self::Undeclared => "nobody declared the script's parameters",
            Self::Arguments => "the arguments are not known",
            Self::Path(parameter) => {
                return write!(f, "the path in {} lies outside of what is trusted", Shown::inline(parameter));
            }
            Self::Hidden(parameter) => {
                let parameter = Shown::inline(parameter);
                return write!(
                    f,
                    "the path in {parameter} has a name with a leading dot, which is always asked about"
                );
            }
            Self::Timeout => "the call asks for more time",
            Self::OutputBytes => "the call asks for more output",
        })
    }
}
