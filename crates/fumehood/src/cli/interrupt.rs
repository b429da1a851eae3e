//! Ctrl-C for a command that has something to put away first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fumehood_core::Code;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::fault::Fault;

/// Whether somebody asked this process to end.
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From here on a request to end sets a flag, and whoever works looks at it.
    ///
    /// A second request does no more than the first: `timeout` sends two at once.
    pub(super) fn watch() -> Result<Self, Fault> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&asked)).map_err(|error| cannot_wait(&error))?;
        }
        Ok(Self(asked))
    }

    /// Takes no notice of requests so far: they were meant for somebody else.
    pub(super) fn forget(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// From here on Ctrl-C ends this process at once, whatever it waits for, with the exit code of one that was cancelled.
    pub(super) fn end_at_once() -> Result<(), Fault> {
        let always = Arc::new(AtomicBool::new(true));
        let code = i32::from(Code::Cancelled.class().exit_code());
        flag::register_conditional_shutdown(SIGINT, code, always)
            .map(drop)
            .map_err(|error| cannot_wait(&error))
    }

    pub(super) fn was_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

fn cannot_wait(error: &std::io::Error) -> Fault {
    let message = format!("Ctrl-C cannot be waited for: {error}");
    Fault::new(Code::Internal, message, "this is a bug; please report it")
}
