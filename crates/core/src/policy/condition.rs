//! Conditions over facts, each with three answers: it holds, it does not, or the fact is missing.

use core::fmt;
use core::ops::ControlFlow;

use super::argument::{ArgumentCondition, Selector};
use super::fact::{ComparedRevision, Fact, NetworkUse, PolicyFacts, PolicyTier, RevisionPin};
use super::rule::RuleError;
use crate::frame::Frame;
use crate::host_path::HostPath;
use crate::name::{AgentLabel, SkillName, ToolName};
use crate::shown::Shown;
use crate::tool::Effect;

/// Values in one list of a condition.
pub const VALUES_MAX: usize = 64;
/// Arguments that one rule names.
pub const ARGUMENTS_MAX: usize = 32;
/// Characters of a source's label, without what says that it is a server.
const LABEL_CHARS_MAX: usize = 32;

/// One to 64 values, none twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneOf<T>(Vec<T>);

/// What a rule says of a call's facts. All of it must hold; `None` says nothing about that fact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Where the tool comes from.
    pub source: Option<OneOf<SourceName>>,
    /// The skill.
    pub id: Option<OneOf<SkillName>>,
    /// The skill's bytes.
    pub revision: Option<RevisionCondition>,
    /// The tool.
    pub tool: Option<OneOf<ToolName>>,
    /// What contains it.
    pub tier: Option<OneOf<PolicyTier>>,
    /// What a call may change.
    pub effect: Option<OneOf<Effect>>,
    /// The granted workspace folder.
    pub workspace: Option<OneOf<WorkspaceCondition>>,
    /// Who asks.
    pub agent: Option<OneOf<AgentLabel>>,
    /// What it gets of the network.
    pub network: Option<OneOf<NetworkUse>>,
    /// Arguments, each at most once; at most 32.
    pub arguments: Vec<ArgumentCondition>,
}

/// The label of a source of skills, 1 to 32 characters of `a-z0-9-`; with `server:` before it, that of an MCP server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceName(String);

/// Which bytes of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RevisionCondition {
    /// Any: `"*"`. Somebody else decides what that will be.
    Any,
    /// Exactly one of these.
    OneOf(OneOf<RevisionPin>),
}

/// Which workspace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkspaceCondition {
    /// None is granted.
    NoneGranted,
    /// This folder or one below it, links resolved, by whole components.
    Below(HostPath),
}

/// What a condition or a limit is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field<'a> {
    /// `source`
    Source,
    /// `id`
    Id,
    /// `revision`
    Revision,
    /// `tool`
    Tool,
    /// `tier`
    Tier,
    /// `effect`
    Effect,
    /// `workspace`
    Workspace,
    /// `agent`
    Agent,
    /// `network`
    Network,
    /// `arguments`, and which.
    Argument(&'a Selector),
    /// `limits.timeout_seconds_max`
    Timeout,
    /// `limits.output_bytes_max`
    OutputBytes,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    No,
    /// The fact is missing.
    Unknown,
    Yes,
}

impl Truth {
    pub(super) fn of(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }

    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, _) | (_, Self::Yes) => Self::Yes,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::No, Self::No) => Self::No,
        }
    }

    fn of_fact<T>(fact: Fact<T>, holds: impl FnOnce(T) -> bool) -> Self {
        match fact {
            Fact::Missing => Self::Unknown,
            Fact::None => Self::No,
            Fact::Is(value) => Self::of(holds(value)),
        }
    }
}

impl<T: PartialEq> OneOf<T> {
    /// A list of these.
    ///
    /// # Errors
    /// [`RuleError::Values`] for none, for more than 64, and for one that stands twice.
    pub fn new(values: Vec<T>) -> Result<Self, RuleError> {
        let has_twin =
            |(index, value): (usize, &T)| values.iter().skip(index + 1).any(|other| other == value);
        if values.is_empty() || values.len() > VALUES_MAX || values.iter().enumerate().any(has_twin) {
            return Err(RuleError::Values);
        }
        Ok(Self(values))
    }

    /// Whether the value is one of them.
    pub fn contains(&self, value: &T) -> bool {
        self.0.contains(value)
    }

    /// Whether every value of the other is one of these.
    pub(super) fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|value| self.contains(value))
    }
}

impl<T> OneOf<T> {
    /// The values, as they were written.
    pub fn iter(&self) -> core::slice::Iter<'_, T> {
        self.0.iter()
    }

    pub(super) fn first(&self) -> &T {
        // There is one; see `new`.
        &self.0[0]
    }

    pub(super) fn write_to(&self, frame: &mut Frame, write: impl FnMut(&mut Frame, &T)) {
        frame.list(&self.0, write);
    }
}

impl<'a, T> IntoIterator for &'a OneOf<T> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl SourceName {
    /// What stands before the label of an MCP server.
    pub const SERVER: &'static str = "server:";

    /// Reads a label.
    ///
    /// # Errors
    /// [`RuleError::Source`].
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let label = text.strip_prefix(Self::SERVER).unwrap_or(text);
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if label.is_empty() || label.len() > LABEL_CHARS_MAX || !label.bytes().all(is_plain) {
            return Err(RuleError::Source);
        }
        Ok(Self(text.to_owned()))
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it names an MCP server.
    pub fn is_server(&self) -> bool {
        self.0.starts_with(Self::SERVER)
    }
}

impl WorkspaceCondition {
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::NoneGranted, Self::NoneGranted) => true,
            (Self::Below(root), Self::Below(folder)) => root.contains(folder),
            _ => false,
        }
    }
}

impl Conditions {
    /// Whether nothing is said, so that every call is meant.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether all hold: `No` as soon as one does not, else `Unknown` if a fact is missing.
    pub(super) fn truth<R: ComparedRevision>(&self, facts: &PolicyFacts<'_, R>) -> Truth {
        let mut whole = Truth::Yes;
        let _ = self.each(facts, |_, truth| {
            whole = if truth == Truth::Yes { whole } else { truth };
            if truth == Truth::No { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        whole
    }

    /// Each condition that is there, in order, until `visit` breaks.
    pub(super) fn each<'a, R: ComparedRevision>(
        &'a self,
        facts: &PolicyFacts<'_, R>,
        mut visit: impl FnMut(Field<'a>, Truth) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // Taken apart, so that a condition that is added and not looked at does not compile.
        let Self { source, id, revision, tool, tier, effect, workspace, agent, network, arguments } = self;
        if let Some(tool) = tool {
            visit(Field::Tool, Truth::of_fact(facts.tool, |fact| tool.contains(fact)))?;
        }
        if let Some(id) = id {
            visit(Field::Id, Truth::of_fact(facts.id, |fact| id.contains(fact)))?;
        }
        if let Some(source) = source {
            let holds = |fact: &str| source.iter().any(|source| source.as_str() == fact);
            visit(Field::Source, Truth::of_fact(facts.source, holds))?;
        }
        if let Some(revision) = revision {
            visit(Field::Revision, Truth::of_fact(facts.revision, |fact| revision.holds(fact.pin())))?;
        }
        if let Some(tier) = tier {
            visit(Field::Tier, Truth::of_fact(facts.tier, |fact| tier.contains(&fact)))?;
        }
        if let Some(effect) = effect {
            visit(Field::Effect, Truth::of_fact(facts.effect, |fact| effect.contains(&fact)))?;
        }
        if let Some(agent) = agent {
            visit(Field::Agent, Truth::of_fact(facts.agent, |fact| agent.contains(fact)))?;
        }
        if let Some(network) = network {
            visit(Field::Network, Truth::of_fact(facts.network, |fact| network.contains(&fact)))?;
        }
        if let Some(workspace) = workspace {
            let truth = match facts.workspace {
                Fact::Missing => Truth::Unknown,
                Fact::None => Truth::of(workspace.contains(&WorkspaceCondition::NoneGranted)),
                Fact::Is(fact) => Truth::of(workspace.iter().any(|condition| match condition {
                    WorkspaceCondition::NoneGranted => false,
                    WorkspaceCondition::Below(root) => root.contains(fact.resolved),
                })),
            };
            visit(Field::Workspace, truth)?;
        }
        for argument in arguments {
            visit(Field::Argument(&argument.selector), argument.truth(facts.arguments))?;
        }
        ControlFlow::Continue(())
    }

    /// Whether these hold, or lack a fact, wherever the others do: shown condition by condition, and false where it is not
    /// plain.
    pub(super) fn covers(&self, other: &Self) -> bool {
        fn covered<T>(all: Option<&T>, some: Option<&T>, covers: impl FnOnce(&T, &T) -> bool) -> bool {
            all.is_none_or(|all| some.is_some_and(|some| covers(all, some)))
        }
        let Self { source, id, revision, tool, tier, effect, workspace, agent, network, arguments } = self;
        covered(source.as_ref(), other.source.as_ref(), OneOf::covers)
            && covered(id.as_ref(), other.id.as_ref(), OneOf::covers)
            && covered(revision.as_ref(), other.revision.as_ref(), RevisionCondition::covers)
            && covered(tool.as_ref(), other.tool.as_ref(), OneOf::covers)
            && covered(tier.as_ref(), other.tier.as_ref(), OneOf::covers)
            && covered(effect.as_ref(), other.effect.as_ref(), OneOf::covers)
            && covered(agent.as_ref(), other.agent.as_ref(), OneOf::covers)
            && covered(network.as_ref(), other.network.as_ref(), OneOf::covers)
            && covered(workspace.as_ref(), other.workspace.as_ref(), |all, some| {
                some.iter().all(|folder| all.iter().any(|root| root.covers(folder)))
            })
            && arguments.iter().all(|all| {
                let mut same = other.arguments.iter().filter(|some| some.selector == all.selector);
                same.any(|some| all.test.covers(&some.test))
            })
    }

    pub(super) fn write_to(&self, frame: &mut Frame) {
        fn list<T>(frame: &mut Frame, values: Option<&OneOf<T>>, text: impl Fn(&T) -> &str) {
            frame.optional(values, |frame, values| {
                values.write_to(frame, |frame, value| frame.part(text(value).as_bytes()));
            });
        }
        let Self { source, id, revision, tool, tier, effect, workspace, agent, network, arguments } = self;
        list(frame, source.as_ref(), SourceName::as_str);
        list(frame, id.as_ref(), SkillName::as_str);
        frame.optional(revision.as_ref(), |frame, revision| {
            let pins = match revision {
                RevisionCondition::Any => None,
                RevisionCondition::OneOf(pins) => Some(pins),
            };
            frame.optional(pins, |frame, pins| {
                pins.write_to(frame, |frame, pin| frame.part(pin.as_bytes()));
            });
        });
        list(frame, tool.as_ref(), ToolName::as_str);
        list(frame, tier.as_ref(), |tier| tier.as_str());
        list(frame, effect.as_ref(), |effect| effect.as_str());
        list(frame, workspace.as_ref(), |workspace| match workspace {
            WorkspaceCondition::NoneGranted => "none",
            WorkspaceCondition::Below(root) => root.as_str(),
        });
        list(frame, agent.as_ref(), AgentLabel::as_str);
        list(frame, network.as_ref(), |network| network.as_str());
        frame.list(arguments, |frame, argument| argument.write_to(frame));
    }
}

impl RevisionCondition {
    fn holds(&self, pin: RevisionPin) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(pins) => pins.contains(&pin),
        }
    }

    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) => true,
            (Self::OneOf(all), Self::OneOf(some)) => all.covers(some),
            (Self::OneOf(_), Self::Any) => false,
        }
    }
}

impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Id => "id",
            Self::Revision => "revision",
            Self::Tool => "tool",
            Self::Tier => "tier",
            Self::Effect => "effect",
            Self::Workspace => "workspace",
            Self::Agent => "agent",
            Self::Network => "network",
            Self::Argument(selector) => {
                return write!(f, "arguments.{}", Shown::inline(&selector.to_text()));
            }
            Self::Timeout => "limits.timeout_seconds_max",
            Self::OutputBytes => "limits.output_bytes_max",
        })
    }
}
