//! What happened to a call, for whoever listens: names, ids, codes, numbers and times.
//!
//! No field can hold an argument, an output, a secret or a text of a skill, so no listener has to be trusted with one
//! (XSF-33, XSF-47, XSF-58). The only name in an event is that of a tool on offer, which is the host's to give.

use serde::Serialize;
use serde::ser::Serializer;

use crate::code::Code;
use crate::consent::Surface;
use crate::containment::Level;
use crate::id::{ArtifactId, CallId, ProposalId, ReceiptId, RunId};
use crate::name::ToolName;
use crate::receipt::{Exit, Killed};
use crate::time::WallTime;
use crate::tool::{Failure, ToolSpec};

/// One event of one call.
///
/// As JSON an object: `event`, `at_unix_ms`, `run`, `call`, `tool`, and the fields of [`EventKind`] that are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    at: WallTime,
    run: RunId,
    call: CallId,
    tool: ToolName,
    kind: EventKind,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// `tool.called`: an attempt begins (XSF-19, X-09).
    ToolCalled {
        /// From 1.
        attempt: u32,
    },
    /// `tool.completed`: an attempt ended well; or it failed, as was said before, and a fallback stands in.
    ToolCompleted {
        /// From 1.
        attempt: u32,
        /// Milliseconds of the attempt.
        elapsed_ms: u64,
        /// The kept result.
        artifact: Option<ArtifactId>,
        /// The receipt.
        receipt: Option<ReceiptId>,
        /// Whether the result is a fallback (XSF-41).
        fallback: bool,
    },
    /// `tool.failed`: an attempt failed (XSF-22).
    ToolFailed {
        /// From 1.
        attempt: u32,
        /// Milliseconds of the attempt.
        elapsed_ms: u64,
        /// What kind of failure.
        failure: Failure,
        /// The code that the caller gets.
        code: Code,
        /// The receipt.
        receipt: Option<ReceiptId>,
    },
    /// `approval.required`: somebody has to say yes. `approval.granted` or `approval.denied` follows, or neither where the
    /// gate itself fails, which is no denial.
    ApprovalRequired {
        /// The request, if a person is asked.
        proposal: Option<ProposalId>,
    },
    /// `approval.granted`: somebody said yes (XSF-36).
    ApprovalGranted {
        /// The request, if a person was asked.
        proposal: Option<ProposalId>,
        /// Where the person said so.
        surface: Option<Surface>,
    },
    /// `approval.denied`: nobody said yes.
    ApprovalDenied {
        /// The request, if a person was asked.
        proposal: Option<ProposalId>,
        /// Why not.
        denial: Denial,
    },
    /// `sandbox.started`: a program is confined and begins.
    SandboxStarted {
        /// From 1.
        attempt: u32,
        /// How strongly.
        level: Level,
    },
    /// `sandbox.ended`: no process of it is left.
    SandboxEnded {
        /// From 1.
        attempt: u32,
        /// Milliseconds from start to the empty sandbox.
        elapsed_ms: u64,
        /// How the program ended, if it could tell.
        exit: Option<Exit>,
        /// Why it was ended from outside, if it was.
        killed: Option<Killed>,
    },
}

/// Why a call was not approved (XSF-35, X-14). A gate that fails is not among them: that is no denial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Denial {
    /// A person said no.
    Person,
    /// A policy or a callback did.
    Policy,
    /// There was nobody to ask.
    NobodyToAsk,
    /// Nobody answered in time.
    NoAnswer,
    /// The run ended, or the channel to the person did.
    Abandoned,
}

impl Event {
    /// An event of a call of a tool on offer.
    pub fn new(at: WallTime, run: RunId, call: CallId, tool: &ToolSpec, kind: EventKind) -> Self {
        Self { at, run, call, tool: tool.name().clone(), kind }
    }

    /// When, by the wall clock.
    pub fn at(&self) -> WallTime {
        self.at
    }

    /// The run.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// The call.
    pub fn call(&self) -> CallId {
        self.call
    }

    /// The tool.
    pub fn tool(&self) -> &ToolName {
        &self.tool
    }

    /// What happened.
    pub fn kind(&self) -> EventKind {
        self.kind
    }
}

impl EventKind {
    /// The name of the event.
    pub fn name(self) -> &'static str {
        match self {
            Self::ToolCalled { .. } => "tool.called",
            Self::ToolCompleted { .. } => "tool.completed",
            Self::ToolFailed { .. } => "tool.failed",
            Self::ApprovalRequired { .. } => "approval.required",
            Self::ApprovalGranted { .. } => "approval.granted",
            Self::ApprovalDenied { .. } => "approval.denied",
            Self::SandboxStarted { .. } => "sandbox.started",
            Self::SandboxEnded { .. } => "sandbox.ended",
        }
    }

    fn fields(self) -> Fields {
        let none = Fields::default();
        match self {
            Self::ToolCalled { attempt } => Fields { attempt: Some(attempt), ..none },
            Self::ToolCompleted { attempt, elapsed_ms, artifact, receipt, fallback } => Fields {
                attempt: Some(attempt),
                elapsed_ms: Some(elapsed_ms),
                artifact,
                receipt,
                fallback: Some(fallback),
                ..none
            },
            Self::ToolFailed { attempt, elapsed_ms, failure, code, receipt } => Fields {
                attempt: Some(attempt),
                elapsed_ms: Some(elapsed_ms),
                failure: Some(failure.as_str()),
                code: Some(code),
                receipt,
                ..none
            },
            Self::ApprovalRequired { proposal } => Fields { proposal, ..none },
            Self::ApprovalGranted { proposal, surface } => {
                Fields { proposal, surface: surface.map(Surface::as_str), ..none }
            }
            Self::ApprovalDenied { proposal, denial } => {
                Fields { proposal, denial: Some(denial.as_str()), ..none }
            }
            Self::SandboxStarted { attempt, level } => {
                Fields { attempt: Some(attempt), level: Some(level.as_str()), ..none }
            }
            Self::SandboxEnded { attempt, elapsed_ms, exit, killed } => Fields {
                attempt: Some(attempt),
                elapsed_ms: Some(elapsed_ms),
                exit_code: exit.and_then(Exit::code),
                signal: exit.and_then(Exit::signal),
                killed: killed.map(Killed::as_str),
                ..none
            },
        }
    }
}

/// All fields that any kind has, in the order of the JSON.
#[derive(Default, Serialize)]
struct Fields {
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Code>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proposal: Option<ProposalId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    surface: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    denial: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    killed: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<ArtifactId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<ReceiptId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<bool>,
}

#[derive(Serialize)]
struct Shape<'a> {
    event: &'static str,
    at_unix_ms: WallTime,
    run: RunId,
    call: CallId,
    tool: &'a ToolName,
    #[serde(flatten)]
    fields: Fields,
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { at, run, call, tool, kind } = self;
        let shape = Shape {
            event: kind.name(),
            at_unix_ms: *at,
            run: *run,
            call: *call,
            tool,
            fields: kind.fields(),
        };
        shape.serialize(serializer)
    }
}

impl Denial {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Person, Self::Policy, Self::NobodyToAsk, Self::NoAnswer, Self::Abandoned];

    /// The name in events and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Policy => "policy",
            Self::NobodyToAsk => "nobody_to_ask",
            Self::NoAnswer => "no_answer",
            Self::Abandoned => "abandoned",
        }
    }
}

#[cfg(test)]
mod tests;
