//! From what the sandbox says to what the gate takes.

use fumehood_core::code::Code;
use fumehood_core::receipt::{Exit, Killed, Processes};
use fumehood_core::tool::{Failure, Tier};
use fumehood_gate::{RawOutput, RunError, Stream};
use fumehood_sandbox as sandbox;
use fumehood_sandbox::SandboxError;

/// A run that ended, with nothing of it left.
pub(crate) fn ended(outcome: sandbox::Outcome, fail_on_nonzero_exit: bool) -> RawOutput {
    let (exit, killed) = (outcome.exit.map(exit), outcome.killed.map(killed));
    let error = match (killed, exit) {
        (Some(_), _) | (None, Some(Exit::Code(0))) => None,
        (None, Some(Exit::Code(_))) if !fail_on_nonzero_exit => None,
        (None, Some(Exit::Code(code))) => Some(format!("the script ended with exit code {code}")),
        (None, Some(Exit::Signal(signal))) => Some(format!("the script was ended by signal {signal}")),
        (None, None) => Some("the script ended without saying how".to_owned()),
    };
    RawOutput {
        output: stream(outcome.output),
        errors: stream(outcome.errors),
        exit,
        killed,
        processes: Processes::ProvenGone,
        error: error.map(|message| RunError::of(Failure::Execution, Tier::Script, message)),
    }
}

/// A run of which nobody can say how it ended.
pub(crate) fn lost(error: &SandboxError) -> RawOutput {
    RawOutput { processes: Processes::Unproven, ..RawOutput::failed(unconfined(error)) }
}

/// A launch that failed; the script never ran.
pub(crate) fn unconfined(error: &SandboxError) -> RunError {
    let required = |message: String| RunError::of(Failure::SandboxRequired, Tier::Script, message);
    match error {
        SandboxError::Unavailable(_)
        | SandboxError::BelowFloor { .. }
        | SandboxError::NoMemoryTotal
        | SandboxError::Launcher(_) => {
            required(format!("the script is not run without its sandbox: {error}"))
        }
        _ => RunError::new(Failure::Host, Code::SandboxUnavailable, format!("the sandbox failed: {error}")),
    }
}

pub(crate) fn exit(exit: sandbox::Exit) -> Exit {
    match exit {
        sandbox::Exit::Code(code) => Exit::Code(code),
        sandbox::Exit::Signal(signal) => Exit::Signal(signal),
    }
}

pub(crate) fn killed(killed: sandbox::Killed) -> Killed {
    match killed {
        sandbox::Killed::Deadline => Killed::Deadline,
        sandbox::Killed::Output => Killed::Output,
        sandbox::Killed::Cancelled => Killed::Cancelled,
        sandbox::Killed::Watcher => Killed::Content,
    }
}

fn stream(captured: sandbox::Captured) -> Stream {
    Stream { bytes: captured.bytes.into(), dropped: captured.dropped }
}
