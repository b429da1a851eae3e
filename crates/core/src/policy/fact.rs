//! Facts: what the host measured about a call, and which of it it could not tell.

use core::fmt;
use core::time::Duration;

use crate::digest::{Sha256, VerifiedRevision, digest_bytes};
use crate::host_path::HostPath;
use crate::json::Json;
use crate::name::{AgentLabel, SkillName, ToolName};
use crate::tool::{Effect, Tier};

/// One fact. What is missing and what is known not to be there are two things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fact<T> {
    /// The host could not tell. It never satisfies an `allow` and always satisfies a `deny` or `ask` that names it.
    #[default]
    Missing,
    /// The host knows that there is none: a tool of its own has no source, a call may have no workspace.
    None,
    /// This is it.
    Is(T),
}

/// Everything that a policy decides about. All of it is the host's word; a skill's claims are not among it.
///
/// `R` is the revision: one that was verified, or for [`Policy::suppose`](super::Policy::suppose) one that somebody wrote
/// down. `Default` has every fact missing.
#[derive(Clone, Copy, Debug)]
pub struct PolicyFacts<'a, R = VerifiedRevision> {
    /// Who asks, as the host calls it.
    pub agent: Fact<&'a AgentLabel>,
    /// The label of the skill's source, or `server:` and the deployer's label of an MCP server.
    pub source: Fact<&'a str>,
    /// The skill's name.
    pub id: Fact<&'a SkillName>,
    /// The skill's bytes.
    pub revision: Fact<R>,
    /// The digest of the deployer's overlay for the skill.
    pub overlay: Fact<Sha256>,
    /// The tool.
    pub tool: Fact<&'a ToolName>,
    /// What contains it.
    pub tier: Fact<PolicyTier>,
    /// What a call may change.
    pub effect: Fact<Effect>,
    /// What it gets of the network.
    pub network: Fact<NetworkUse>,
    /// The workspace folder that is granted.
    pub workspace: Fact<WorkspaceFact<'a>>,
    /// The arguments, validated.
    pub arguments: Fact<ArgumentFacts<'a>>,
    /// How long one attempt may take.
    pub timeout: Fact<Duration>,
    /// Bytes kept of each output stream.
    pub output_bytes: Fact<u64>,
}

/// The arguments of a call, after they were validated and their paths resolved.
#[derive(Clone, Copy, Debug)]
pub struct ArgumentFacts<'a> {
    /// The arguments.
    pub value: &'a Json,
    /// Every path among them: one for each parameter of type `path` that was given, none left out.
    pub paths: &'a [PathFact<'a>],
}

/// A path among the arguments.
#[derive(Clone, Copy, Debug)]
pub struct PathFact<'a> {
    /// The parameter.
    pub parameter: &'a str,
    /// Where it leads, links resolved; `None` if that could not be told.
    pub resolved: Option<&'a HostPath>,
}

/// A granted workspace folder.
#[derive(Clone, Copy, Debug)]
pub struct WorkspaceFact<'a> {
    /// Its place, links resolved. What rules compare.
    pub resolved: &'a HostPath,
    /// Its place and which folder it is, in the host's words. What trust scopes compare: another folder put at the same
    /// place is another workspace.
    pub identity: &'a str,
}

/// A tier as policies see it: scripts that nobody declared are a tier of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyTier {
    /// It runs on a server somewhere.
    Remote,
    /// Code that the deployer compiled in.
    Module,
    /// JavaScript text of a skill in a guest worker.
    Isolated,
    /// A script with declared parameters, in the sandbox.
    Script,
    /// A script that nobody declared, with whatever arguments the caller wrote.
    Undeclared,
    /// A script with arguments and result as JSON, both checked.
    Checked,
}

/// What a call gets of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NetworkUse {
    /// Nothing, and that is enforced.
    None,
    /// Anything, as far as the host can tell: code in its own process, a server.
    Any,
}

/// A revision that somebody wrote down. It proves nothing about any bytes; it is only compared with one that was verified.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RevisionPin([u8; 32]);

/// A revision that can be compared: a [`VerifiedRevision`] or a [`RevisionPin`]. Nothing else can be one.
pub trait ComparedRevision: sealed::Sealed + Copy {
    /// The pin that would name it.
    fn pin(&self) -> RevisionPin;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::VerifiedRevision {}
    impl Sealed for super::RevisionPin {}
}

impl ComparedRevision for VerifiedRevision {
    fn pin(&self) -> RevisionPin {
        RevisionPin(*self.revision().sha256().as_bytes())
    }
}

impl ComparedRevision for RevisionPin {
    fn pin(&self) -> RevisionPin {
        *self
    }
}

impl<T> Fact<T> {
    /// What there is, `None` also where it is not known.
    pub fn known(self) -> Option<T> {
        if let Self::Is(value) = self { Some(value) } else { None }
    }

    /// [`Fact::None`] for nothing.
    pub fn of_option(value: Option<T>) -> Self {
        value.map_or(Self::None, Self::Is)
    }
}

impl<R> Default for PolicyFacts<'_, R> {
    fn default() -> Self {
        Self {
            agent: Fact::Missing,
            source: Fact::Missing,
            id: Fact::Missing,
            revision: Fact::Missing,
            overlay: Fact::Missing,
            tool: Fact::Missing,
            tier: Fact::Missing,
            effect: Fact::Missing,
            network: Fact::Missing,
            workspace: Fact::Missing,
            arguments: Fact::Missing,
            timeout: Fact::Missing,
            output_bytes: Fact::Missing,
        }
    }
}

impl PolicyTier {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Remote, Self::Module, Self::Isolated, Self::Script, Self::Undeclared, Self::Checked];

    /// The tier of a tool; `is_declared` says of a script whether somebody declared its parameters.
    pub fn of(tier: Tier, is_declared: bool) -> Self {
        match tier {
            Tier::Remote => Self::Remote,
            Tier::Module => Self::Module,
            Tier::Isolated => Self::Isolated,
            Tier::Script if is_declared => Self::Script,
            Tier::Script => Self::Undeclared,
            Tier::Checked => Self::Checked,
        }
    }

    /// Whether an allow rule can waive the question; for scripts only a trust scope with a receipt does.
    pub fn is_waivable(self) -> bool {
        matches!(self, Self::Remote | Self::Module | Self::Isolated)
    }

    /// The name in `policy.toml`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Remote => "remote",
            Self::Module => "module",
            Self::Isolated => "isolated",
            Self::Script => "script",
            Self::Undeclared => "undeclared",
            Self::Checked => "checked",
        }
    }
}

impl NetworkUse {
    /// Both.
    pub const ALL: [Self; 2] = [Self::None, Self::Any];

    /// The name in `policy.toml`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Any => "any",
        }
    }
}

impl RevisionPin {
    /// Reads the one way to write it: `sha256:` and 64 lower-case hex digits, as it is shown.
    pub fn parse(text: &str) -> Option<Self> {
        text.strip_prefix("sha256:").and_then(digest_bytes).map(Self)
    }

    pub(super) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for RevisionPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for RevisionPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
