//! What the caller gets when a call did not end well.

use core::fmt;
use core::time::Duration;

use fumehood_core::call::CallError;
use fumehood_core::code::{Code, Coded};
use fumehood_core::event::Denial;
use fumehood_core::receipt::{Exit, Killed, Processes};
use fumehood_core::schema::Issues;
use fumehood_core::tool::Failure;
use fumehood_core::{ArtifactId, CallId, ProposalId, ReceiptId, Wiped};

use crate::runner::RunError;

/// A call that was refused, could not be decided, or failed. Which of the three, and who must act, says the code.
///
/// Holds no argument and no text of a skill, but what a run that failed wrote, in [`Ran`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateError {
    /// What kind of failure.
    pub failure: Failure,
    /// The code.
    pub code: Code,
    /// One sentence in the host's words, without its full stop.
    pub message: String,
    /// The call, if it got so far that it has an id.
    pub call: Option<CallId>,
    /// What does not fit, if the arguments do not.
    pub issues: Option<Issues>,
    /// Why nobody said yes, if nobody did.
    pub denial: Option<Denial>,
    /// The request that is still open, if the call did not wait for its answer: see
    /// [`Gate::call_without_waiting`](crate::Gate::call_without_waiting).
    pub pending: Option<ProposalId>,
    /// What is on record of it, if anything was about to run.
    pub ran: Option<Box<Ran>>,
}

/// What is left of a run that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ran {
    /// The record.
    pub receipt: ReceiptId,
    /// What was written to standard output before it failed.
    pub artifact: Option<ArtifactId>,
    /// What was written to standard error.
    pub errors_artifact: Option<ArtifactId>,
    /// How the program ended, if there was one and it could tell.
    pub exit: Option<Exit>,
    /// Why it was ended from outside, if it was.
    pub killed: Option<Killed>,
    /// Whether any process of it is left.
    pub processes: Processes,
    /// What it wrote to standard output, up to its cap.
    pub output: Excerpt,
    /// Bytes of it that were dropped.
    pub dropped: u64,
    /// What it wrote to standard error, up to its cap.
    pub errors: Excerpt,
    /// Bytes of it that were dropped.
    pub errors_dropped: u64,
    /// How long the last attempt took.
    pub elapsed: Duration,
}

/// Bytes that a program wrote: never for a log or a terminal as they are. Overwritten when dropped. `Debug` prints the size.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Excerpt(pub Wiped);

impl GateError {
    pub(crate) fn new(failure: Failure, code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { failure, code, message, call: None, issues: None, denial: None, pending: None, ran: None }
    }

    pub(crate) fn of_call(error: &CallError) -> Self {
        let message = error.to_string();
        let issues = if let CallError::Schema(issues) = error { Some(issues.clone()) } else { None };
        Self { issues, ..Self::new(Failure::Validation, error.code(), message) }
    }

    pub(crate) fn of_run(error: RunError) -> Self {
        Self::new(error.failure, error.code, error.message)
    }

    pub(crate) fn in_call(self, call: CallId) -> Self {
        Self { call: Some(call), ..self }
    }
}

impl Coded for GateError {
    fn code(&self) -> Code {
        self.code
    }
}

impl fmt::Display for GateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for GateError {}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Excerpt({} bytes)", self.0.len())
    }
}
