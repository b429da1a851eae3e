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
            flag::register(signal, Arc::clone(&asked)).map_err(|error| {
                let message = format!("Ctrl-C cannot be waited for: {error}");
                Fault::new(Code::Internal, message, "this is a bug; please report it")
            })?;
        }
        Ok(Self(asked))
    }

    pub(super) fn was_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
