//! What the gate needs of the world. A host hands in the real things; tests hand in what they like.

use core::fmt;

use fumehood_core::code::{Code, Coded};
use fumehood_core::receipt::Authority;
use fumehood_core::{AgentLabel, ArtifactId, Call, Now, RunId, Sha256, ToolSpec, WallTime};

use crate::plan::Plan;

/// Two clocks that nobody sets, and one to show.
pub trait Clock: Send + Sync {
    /// This moment.
    fn now(&self) -> Now;
    /// This moment, for people to read.
    fn wall(&self) -> WallTime;
}

/// The operating system's generator for secrets.
pub trait Entropy: Send + Sync {
    /// Sixteen fresh bytes.
    ///
    /// # Errors
    /// [`Outage`].
    fn bytes(&self) -> Result<[u8; 16], Outage>;
}

/// The policy, as it stands at the moment of asking.
///
/// Asked before anybody is asked for approval, and again before each attempt: what was allowed and is no longer does not
/// run. A person's yes stands unless the call is denied or the policy is another one.
pub trait PolicySource: Send + Sync {
    /// What it says about this call.
    ///
    /// # Errors
    /// [`Outage`] when it cannot be told; that is no denial.
    fn ruling(&self, facts: &Facts<'_>) -> Result<Ruling, Outage>;
}

/// What a policy decides about.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Who asks.
    pub agent: &'a AgentLabel,
    /// In which run.
    pub run: RunId,
    /// The tool, as the host sees it.
    pub tool: &'a ToolSpec,
    /// The call; its arguments fit.
    pub call: &'a Call,
    /// What it would run as.
    pub plan: &'a Plan,
}

/// What a policy says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The digest of the whole policy: another policy is another binding.
    pub policy: Sha256,
    /// What it says about this call.
    pub answer: Answer,
}

/// What a policy says about one call. `why` is in the host's words, safe to show and without an argument's value.
///
/// A callback of the tool's is asked whichever it is, and its no stands: any no wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It does not run.
    Deny {
        /// A code of class Denied; the tool's own stands in for another.
        code: Code,
        /// What denies it.
        why: String,
    },
    /// A person is asked, whatever the tool's own approval is.
    Ask {
        /// What asks for that.
        why: String,
    },
    /// Nothing: the tool's own approval stands.
    NoOpinion {
        /// Why a person is asked, if one is.
        why: String,
    },
    /// It runs without a question, and this is what its receipt names: a rule or a scope.
    Allow(Authority),
}

/// The record of what was decided and what ran.
pub trait Journal: Send + Sync {
    /// Adds a row.
    ///
    /// # Errors
    /// [`Outage`]; the row is then not there.
    fn append(&self, kind: &'static str, json: &[u8], when: Durable) -> Result<(), Outage>;
}

/// When a row must be on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// Before the effect that it speaks of.
    Now,
    /// Soon.
    Soon,
}

/// Where results are kept.
pub trait Results: Send + Sync {
    /// Begins a result of an agent's run. Asked before the tool runs, so that nothing runs whose result has no room.
    ///
    /// # Errors
    /// [`Outage`].
    fn begin(&self, agent: &AgentLabel, run: RunId) -> Result<Box<dyn Spool>, Outage>;
}

/// One result that is being written. Dropped before [`Spool::finish`], it never was.
pub trait Spool: Send {
    /// Adds bytes.
    ///
    /// # Errors
    /// [`Outage`].
    fn write(&mut self, bytes: &[u8]) -> Result<(), Outage>;

    /// Keeps what was written.
    ///
    /// # Errors
    /// [`Outage`]; there is then no result.
    fn finish(self: Box<Self>) -> Result<Kept, Outage>;
}

/// A result that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its id.
    pub id: ArtifactId,
    /// Bytes of it.
    pub bytes: u64,
    /// Lines of it; the last counts also without an end.
    pub lines: u64,
}

/// Something of the host does not work. Nothing was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// A code of a class that the host has to act on.
    pub code: Code,
    /// What does not work, in the host's words.
    pub message: String,
}

impl Outage {
    /// An outage with this code, in the host's words.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl Coded for Outage {
    fn code(&self) -> Code {
        self.code
    }
}

impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Outage {}
