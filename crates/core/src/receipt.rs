//! The record of one run of a tool: what was asked, who said yes, what confined it, what became of it.
//!
//! It is opened before anything starts and closed when nothing of the run is left; without one there is no success. It
//! says enough to be read on another machine, and holds no argument, only the digest of all of them.

mod ending;
mod shape;

use core::time::Duration;

pub use ending::{Exit, Killed};

use crate::binding::{Binding, InterpreterIdentity, WorkspaceIdentity};
use crate::code::Code;
use crate::consent::{Consent, Surface};
use crate::containment::Containment;
use crate::digest::{Revision, Sha256};
use crate::id::{ArtifactId, CallId, ProposalId, ReceiptId, RunId};
use crate::name::{AgentLabel, SkillName, ToolName};
use crate::time::WallTime;
use crate::tool::{Failure, Tier};

/// The version of the JSON shape, and with it of the framing of the binding.
pub const RECEIPT_SCHEMA_VERSION: u32 = 1;

/// The kind of the journal's row that holds an open receipt ([`Opening::to_json`]).
pub const ROW_OPEN: &str = "receipt.open";
/// The kind of the journal's row that holds a closed receipt ([`Receipt::to_json`]), under the same id.
pub const ROW_CLOSED: &str = "receipt.closed";

/// What is known before anything starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The receipt's id.
    pub id: ReceiptId,
    /// The run.
    pub run: RunId,
    /// The call.
    pub call: CallId,
    /// Who asked, as the host calls it.
    pub agent: AgentLabel,
    /// The tool.
    pub tool: ToolName,
    /// What contains it.
    pub tier: Tier,
    /// The skill it comes from, if it comes from one.
    pub skill: Option<SkillIdentity>,
    /// The interpreter, if it is a script.
    pub interpreter: Option<InterpreterIdentity>,
    /// The workspace, if one was granted.
    pub workspace: Option<WorkspaceIdentity>,
    /// What was approved.
    pub binding: Binding,
    /// The digest of the arguments' canonical bytes.
    pub arguments: Sha256,
    /// Who said yes.
    pub authority: Authority,
    /// What confines it; [`Containment::none`] where nothing of the operating system does.
    pub containment: Containment,
    /// The limits in force.
    pub limits: Limits,
    /// The names of the unsafe switches that the host was built with.
    pub unsafe_controls: Vec<String>,
    /// The state folder, if it is not the usual one.
    pub state_folder: Option<String>,
    /// When, by the wall clock.
    pub started: WallTime,
}

/// A skill as a receipt names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillIdentity {
    /// The label of its source.
    pub source: String,
    /// Its name.
    pub name: SkillName,
    /// Its bytes.
    pub revision: Revision,
    /// The deployer's overlay, if there is one.
    pub overlay: Option<Sha256>,
}

/// Why a call was allowed. A consent can be named only by who holds it.
///
/// ```compile_fail
/// # use fumehood_core::ProposalId;
/// # use fumehood_core::receipt::Authority;
/// fn forge(id: ProposalId) -> Authority {
///     Authority::consent(id)
/// }
/// ```
/// ```
/// # use fumehood_core::consent::Consent;
/// # use fumehood_core::receipt::Authority;
/// fn record(consent: &Consent) -> Authority {
///     Authority::consent(consent)
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    kind: AuthorityKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum AuthorityKind {
    Auto,
    Callback,
    Consent(ProposalId, Surface),
    Rule(String),
    Scope(String),
}

/// What a run may use at most. `None` where nothing limits it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Time for one attempt.
    pub wall: Option<Duration>,
    /// Time between the polite signal and the other one.
    pub grace: Option<Duration>,
    /// Bytes kept of each output stream.
    pub output_bytes: Option<u64>,
    /// Seconds of processor time of each process.
    pub cpu_seconds: Option<u64>,
    /// Bytes of memory of each process.
    pub memory_bytes_per_process: Option<u64>,
    /// Bytes of memory of all together.
    pub memory_bytes_total: Option<u64>,
    /// Processes and threads at once.
    pub processes: Option<u64>,
    /// Bytes of one file that is written.
    pub file_bytes: Option<u64>,
    /// Descriptors open at once in one process.
    pub open_files: Option<u64>,
    /// Bytes in each temporary folder.
    pub temporary_bytes: Option<u64>,
    /// Files in each temporary folder.
    pub temporary_files: Option<u64>,
}

/// What is known when it is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closing {
    /// Attempts made; 0 if none began.
    pub attempts: u32,
    /// Why the call failed, if it did.
    pub failure: Option<(Failure, Code)>,
    /// How the program ended, if there was one and it could tell.
    pub exit: Option<Exit>,
    /// Why it was ended from outside, if it was.
    pub killed: Option<Killed>,
    /// Standard output, or the answer of a tool that has no streams.
    pub output: Captured,
    /// Standard error.
    pub errors: Captured,
    /// The kept result.
    pub artifact: Option<ArtifactId>,
    /// The kept standard error, if there was any.
    pub errors_artifact: Option<ArtifactId>,
    /// What was applied to the host's files, in order.
    pub applied: Vec<Applied>,
    /// Whether any process is left.
    pub processes: Processes,
    /// Whether the result is a fallback.
    pub fallback: bool,
    /// When, by the wall clock.
    pub ended: WallTime,
    /// From the start of the first attempt, by a clock that nobody sets.
    pub elapsed: Duration,
}

/// Bytes of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Kept.
    pub kept_bytes: u64,
    /// Read, counted and dropped.
    pub dropped_bytes: u64,
}

/// One file of the host that was changed after a successful run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Its absolute path. The last part may be a script's choice, so it is shown through [`Shown`](crate::Shown).
    pub path: String,
    /// What happened to it.
    pub change: Change,
    /// Its bytes now; 0 if it was removed.
    pub bytes: u64,
    /// The digest of its bytes now; `None` if it was removed.
    pub sha256: Option<Sha256>,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// It was made.
    Created,
    /// Its bytes were replaced.
    Replaced,
    /// It was removed.
    Removed,
}

/// What is known about processes that a run may have left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Processes {
    /// The call started none of its own.
    NoneStarted,
    /// It was shown that none is left.
    ProvenGone,
    /// It could not be shown.
    Unproven,
}

impl Processes {
    /// The name in receipts and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoneStarted => "none_started",
            Self::ProvenGone => "proven_gone",
            Self::Unproven => "unproven",
        }
    }
}

/// What became of a call.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It did what it was to do.
    Succeeded,
    /// It did not.
    Failed(Failure, Code),
}

/// The whole record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    opening: Opening,
    closing: Closing,
    verdict: Verdict,
}

impl Receipt {
    /// Closes a receipt. The verdict is drawn from the facts: what was killed, is left over, was less confined than asked, or
    /// ended a checked run with another exit code than zero, has failed, whatever the caller thought (CHK-111).
    pub fn close(opening: Opening, closing: Closing) -> Self {
        let verdict = verdict(&opening, &closing);
        Self { opening, closing, verdict }
    }

    /// What was known before.
    pub fn opening(&self) -> &Opening {
        &self.opening
    }

    /// What is known now.
    pub fn closing(&self) -> &Closing {
        &self.closing
    }

    /// What became of the call.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The receipt as JSON text, in the shape of `docs/schemas/receipt.schema.json`.
    pub fn to_json(&self) -> Vec<u8> {
        shape::bytes(&self.opening, Some(self))
    }
}

impl Opening {
    /// The open receipt as JSON text, in the same shape: `outcome` is `open` and `closing` null.
    pub fn to_json(&self) -> Vec<u8> {
        shape::bytes(self, None)
    }
}

impl Authority {
    /// The tool needs nobody's yes.
    pub fn auto() -> Self {
        Self { kind: AuthorityKind::Auto }
    }

    /// A callback of the host said yes.
    pub fn callback() -> Self {
        Self { kind: AuthorityKind::Callback }
    }

    /// A person said yes to this call.
    pub fn consent(consent: &Consent) -> Self {
        Self { kind: AuthorityKind::Consent(consent.proposal(), consent.surface()) }
    }

    /// A rule of the policy allows it: the rule's name.
    pub fn rule(name: &str) -> Self {
        Self { kind: AuthorityKind::Rule(name.to_owned()) }
    }

    /// A trust scope covers it: the id of the scope's own receipt.
    pub fn scope(id: &str) -> Self {
        Self { kind: AuthorityKind::Scope(id.to_owned()) }
    }
}

/// What became of a call, as [`Receipt::close`] will say.
pub fn verdict(opening: &Opening, closing: &Closing) -> Verdict {
    let failed = |failure: Failure| Verdict::Failed(failure, failure.code(opening.tier));
    match (closing.failure, closing.killed, closing.exit) {
        (Some((failure, code)), ..) => Verdict::Failed(failure, code),
        _ if closing.processes == Processes::Unproven => {
            Verdict::Failed(Failure::Integrity, Code::ProcessesLeft)
        }
        _ if !opening.containment.is_as_asked() => failed(Failure::SandboxRequired),
        (_, Some(Killed::Deadline), _) => failed(Failure::Timeout),
        (_, Some(Killed::Output), _) => Verdict::Failed(Failure::Execution, Code::ScriptOutputLimit),
        (_, Some(Killed::Cancelled), _) => failed(Failure::Cancelled),
        (_, Some(Killed::Content), _) => failed(Failure::BadResponse),
        (_, None, Some(Exit::Signal(_))) => failed(Failure::Execution),
        // Whether another exit code is a failure of a text script is the deployer's to say (X-04).
        (_, None, Some(Exit::Code(1..))) if opening.tier == Tier::Checked => failed(Failure::Execution),
        _ if closing.attempts == 0 => Verdict::Failed(Failure::Host, Code::Internal),
        _ => Verdict::Succeeded,
    }
}

#[cfg(test)]
mod tests;
