//! Tier 1: code that the deployer compiled in, as a live tool.
//!
//! The wrapper is a boundary and no sandbox: it governs calls and what comes back, and nothing of what the code touches
//! (EXE-12). It bounds the time that a caller waits and the bytes of an answer, and takes a panic for a failure. Code in
//! the host's process cannot be stopped from outside (XSF-43, XSF-44): where that matters, use another tier (EXE-27). A
//! process that is built to abort on a panic has none of the second (EXE-15).

mod worker;

use core::fmt;
use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use fumehood_core::code::{Code, Coded};
use fumehood_core::tool::{Failure, Tier};
use fumehood_core::{Call, CallId, Json, RunId};
use fumehood_gate::{Attempt, Cancel, Plan, Planner, RawOutput, RunError, Runner};

use worker::{Ended, Job, Worker, Workers};

/// Bytes of an answer, unless said otherwise.
pub const ANSWER_BYTES_DEFAULT: usize = 1 << 20;
/// Bytes of an answer that may be said.
pub const ANSWER_BYTES_CEILING: usize = 64 << 20;
/// Calls of one tool that are not over, those included that were given up and go on by themselves.
pub const CALLS_MAX: usize = 64;

/// A tool that runs in the host's process.
///
/// It is trusted with all that the host has, and with nothing else: what it says about itself counts for nothing (EXE-10,
/// EXE-21), and its answer is as untrusted as any.
pub trait HostTool: Send + Sync {
    /// Does what the arguments ask for, which fit the tool's schema, and gives the answer.
    ///
    /// Runs on a thread of the tool's own. It may be called on several at once. It should look at
    /// [`Context::is_over`] from time to time, or pass the context on: nothing else ends it.
    ///
    /// # Errors
    /// [`ToolFailed`]: the caller learns that the tool failed, and not why.
    fn execute(&self, context: &Context, arguments: &Json) -> Result<Vec<u8>, ToolFailed>;
}

impl<F> HostTool for F
where
    F: Fn(&Context, &Json) -> Result<Vec<u8>, ToolFailed> + Send + Sync,
{
    fn execute(&self, context: &Context, arguments: &Json) -> Result<Vec<u8>, ToolFailed> {
        self(context, arguments)
    }
}

/// It did not work. Why is for the tool's own log: every error becomes this by `?`, and nothing of it is carried on
/// (EXE-15, EXE-16, EXE-17).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolFailed;

/// What a tool knows about its call (XSF-42).
#[derive(Clone, Debug)]
pub struct Context {
    run: RunId,
    call: CallId,
    attempt: u32,
    deadline: Instant,
    cancel: Cancel,
    abandoned: Arc<AtomicBool>,
}

/// A tool of tier 1 behind its wrapper: owned by it, changed by nobody, and reached only by calls (EXE-08, EXE-09).
pub struct Module {
    plan: Plan,
    answer_bytes_max: usize,
    workers: Arc<Workers>,
}

/// No bytes at all, or more than [`ANSWER_BYTES_CEILING`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerLimitError;

/// One planned call.
struct Run {
    plan: Plan,
    answer_bytes_max: usize,
    workers: Arc<Workers>,
}

impl Module {
    /// Wraps a tool. Its answers may have [`ANSWER_BYTES_DEFAULT`] bytes.
    pub fn new(tool: impl HostTool + 'static) -> Self {
        Self::bounded(tool, ANSWER_BYTES_DEFAULT)
    }

    /// Wraps a tool whose answers may have so many bytes: 1 to [`ANSWER_BYTES_CEILING`].
    ///
    /// # Errors
    /// [`AnswerLimitError`] (`E_TOOL_INVALID`).
    pub fn with_answer_bytes_max(
        tool: impl HostTool + 'static,
        answer_bytes_max: usize,
    ) -> Result<Self, AnswerLimitError> {
        if answer_bytes_max == 0 || answer_bytes_max > ANSWER_BYTES_CEILING {
            return Err(AnswerLimitError);
        }
        Ok(Self::bounded(tool, answer_bytes_max))
    }

    fn bounded(tool: impl HostTool + 'static, answer_bytes_max: usize) -> Self {
        let mut plan = Plan::in_process();
        plan.limits.output_bytes = Some(answer_bytes_max as u64);
        Self { plan, answer_bytes_max, workers: Arc::new(Workers::new(Box::new(tool))) }
    }
}

impl Planner for Module {
    fn plan(&self, _: &Call) -> Result<Box<dyn Runner>, RunError> {
        let (plan, workers) = (self.plan.clone(), Arc::clone(&self.workers));
        Ok(Box::new(Run { plan, answer_bytes_max: self.answer_bytes_max, workers }))
    }
}

impl Runner for Run {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run(&mut self, attempt: Attempt<'_>) -> RawOutput {
        let context = Context {
            run: attempt.run(),
            call: attempt.id(),
            attempt: attempt.number(),
            deadline: Instant::now() + attempt.wall(),
            cancel: attempt.cancel().clone(),
            abandoned: Arc::default(),
        };
        let Some(worker) = self.workers.take() else {
            let message = "too many earlier calls of the tool have not come to an end";
            return RawOutput::failed(RunError::new(Failure::Host, Code::ToolBusy, message));
        };
        let arguments = attempt.call().invocation().value().clone();
        worker.begin(Job { context: context.clone(), arguments, live: attempt.keep_alive() });
        match wait(&worker, &context) {
            Ok(ended) => {
                // A thread on which the tool panicked is not used again: what it left there is unknown.
                if ended.is_some() {
                    self.workers.give_back(worker);
                }
                self.judge(ended)
            }
            Err(error) => {
                // It learns of it if it looks, and whatever it still gives is dropped.
                context.abandoned.store(true, Ordering::Release);
                RawOutput::failed(error)
            }
        }
    }
}

impl Run {
    fn judge(&self, ended: Ended) -> RawOutput {
        match ended {
            Some(Ok(answer)) if answer.len() <= self.answer_bytes_max => RawOutput::answer(answer),
            Some(Ok(_)) => failed(Failure::BadResponse, "the tool's answer is larger than it may be"),
            Some(Err(ToolFailed)) | None => failed(Failure::Execution, "the tool failed"),
        }
    }
}

/// Waits until the tool is done, the caller gives up, or the time is over.
fn wait(worker: &Worker, context: &Context) -> Result<Ended, RunError> {
    let error = |failure, message| Err(RunError::of(failure, Tier::Module, message));
    loop {
        let left = context.deadline.saturating_duration_since(Instant::now());
        if let Some(ended) = worker.wait(left.min(LOOK_UP)) {
            return Ok(ended);
        }
        if context.cancel.is_cancelled() {
            return error(Failure::Cancelled, "the call was cancelled, and the tool may still be running");
        }
        if left <= LOOK_UP {
            return error(Failure::Timeout, "the tool did not end in time, and may still be running");
        }
    }
}

fn failed(failure: Failure, message: &str) -> RawOutput {
    RawOutput::failed(RunError::of(failure, Tier::Module, message))
}

impl Context {
    /// The run in which the tool was called.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// The call.
    pub fn call(&self) -> CallId {
        self.call
    }

    /// From 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// When nobody waits any more.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether the tool should come to an end: its time is over, or nobody waits for it (XSF-20, XSF-43).
    pub fn is_over(&self) -> bool {
        self.is_cancelled() || self.abandoned.load(Ordering::Acquire) || Instant::now() >= self.deadline
    }

    /// Whether that is because the caller gave up.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

impl<E: core::error::Error> From<E> for ToolFailed {
    fn from(_: E) -> Self {
        Self
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").field("answer_bytes_max", &self.answer_bytes_max).finish_non_exhaustive()
    }
}

impl Coded for AnswerLimitError {
    fn code(&self) -> Code {
        Code::ToolInvalid
    }
}

impl fmt::Display for AnswerLimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an answer may have 1 to {ANSWER_BYTES_CEILING} bytes")
    }
}

impl core::error::Error for AnswerLimitError {}

/// How often somebody who waits looks up, to see whether the caller gave up.
const LOOK_UP: Duration = Duration::from_millis(10);
