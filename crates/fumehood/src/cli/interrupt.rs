//! Ctrl-C for a command that has something to put away first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fumehood_core::{Class, Code};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::fault::Fault;

/// Whether somebody asked this process to end.
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From here on the first request sets a flag. The second ends the process at once.
    pub(super) fn watch() -> Result<Self, Fault> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first request must not find the flag that it sets itself.
            let exit_code = i32::from(Class::Cancelled.exit_code());
            flag::register_conditional_shutdown(signal, exit_code, Arc::clone(&asked))
                .and_then(|_| flag::register(signal, Arc::clone(&asked)))
                .map_err(|error| {
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
