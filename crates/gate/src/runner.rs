//! What runs tools: the side that the gate calls and nobody else can.

use core::fmt;

use fumehood_core::code::{Code, Coded};
use fumehood_core::receipt::{Applied, Exit, Killed, Processes};
use fumehood_core::tool::{Failure, Tier};
use fumehood_core::{Call, Wiped};

use crate::clearance::{Accepted, Attempt};
use crate::plan::Plan;

/// Works out what a call of one tool would run as.
pub trait Planner: Send + Sync {
    /// A runner for this call. Starts nothing and changes nothing of the person's.
    ///
    /// Called before anybody is asked, and again when they said yes: the two plans must be equal, so whatever changed in
    /// between is noticed, and what runs is the second.
    ///
    /// # Errors
    /// [`RunError`] for a call that could never run: a path that may not be named, more than the envelope allows, no
    /// sandbox.
    fn plan(&self, call: &Call) -> Result<Box<dyn Runner>, RunError>;
}

/// One planned call.
pub trait Runner: Send {
    /// What it would run as. Read once: what it says then is what is shown, bound, timed and recorded.
    fn plan(&self) -> &Plan;

    /// Runs it once, and comes back when it is over or its time is.
    ///
    /// It verifies for itself, as the last thing before anything starts, that what it planned with is still what is there
    /// (EXE-57, CHK-024). It honours [`Attempt::wall`] and [`Attempt::is_cancelled`]. A panic counts as a failure of what
    /// ran; its text goes nowhere (EXE-16).
    fn run(&mut self, attempt: Attempt<'_>) -> RawOutput;

    /// Makes the changes of the person's files that were asked for, now that the run succeeded and its output is kept.
    /// All of them, or none.
    ///
    /// # Errors
    /// [`RunError`]; the files are then as they were, or the message says which are not.
    fn apply(&mut self, accepted: Accepted<'_>) -> Result<Vec<Applied>, RunError> {
        let _ = accepted;
        Ok(Vec::new())
    }

    /// What was applied is on record now, and nobody has to be told of it at the next start. Not called if the record could
    /// not be closed.
    fn recorded(&mut self) {}
}

/// What a run gave, before anybody looked at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawOutput {
    /// Standard output, or the answer of a tool that has no streams.
    pub output: Stream,
    /// Standard error.
    pub errors: Stream,
    /// How the program ended, if there was one and it could tell.
    pub exit: Option<Exit>,
    /// Why it was ended from outside, if it was.
    pub killed: Option<Killed>,
    /// Whether any process of it is left.
    pub processes: Processes,
    /// What the runner knows to be wrong, beyond what the fields above say.
    pub error: Option<RunError>,
}

/// What was read of one stream. Overwritten when it is dropped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Stream {
    /// The first bytes.
    pub bytes: Wiped,
    /// How many more were read and dropped.
    pub dropped: u64,
}

/// Why a call cannot run, or why a run failed. Its message is the host's and holds nothing of a skill's or a caller's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunError {
    /// What kind of failure.
    pub failure: Failure,
    /// The code.
    pub code: Code,
    /// One sentence, without its full stop.
    pub message: String,
}

impl RawOutput {
    /// A tool in the host's process answered.
    pub fn answer(bytes: Vec<u8>) -> Self {
        Self {
            output: Stream { bytes: bytes.into(), dropped: 0 },
            errors: Stream::default(),
            exit: None,
            killed: None,
            processes: Processes::NoneStarted,
            error: None,
        }
    }

    /// Nothing came of it, and nothing was started.
    pub fn failed(error: RunError) -> Self {
        Self { error: Some(error), ..Self::answer(Vec::new()) }
    }
}

impl RunError {
    /// An error with its own code.
    pub fn new(failure: Failure, code: Code, message: impl Into<String>) -> Self {
        Self { failure, code, message: message.into() }
    }

    /// An error with the code that such a failure usually has for this tier.
    pub fn of(failure: Failure, tier: Tier, message: impl Into<String>) -> Self {
        Self::new(failure, failure.code(tier), message)
    }
}

impl Coded for RunError {
    fn code(&self) -> Code {
        self.code
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for RunError {}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({} bytes, {} dropped)", self.bytes.len(), self.dropped)
    }
}
