//! Standard input, written by a thread of its own: a program that never reads holds up nobody (CHK-096).

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

use fumehood_core::call::Invocation;
use fumehood_gate::RunError;

use crate::launch::internal;

/// A thread that waits for the pipe.
pub(super) struct Input {
    pipe: Sender<OwnedFd>,
    thread: JoinHandle<()>,
}

impl Input {
    /// Starts the thread. Before the program, so that none is started that nobody could write to.
    pub(super) fn prepare(invocation: &Invocation) -> Result<Self, RunError> {
        let bytes = invocation.bytes().to_vec();
        let (pipe, given) = channel::<OwnedFd>();
        let thread = Builder::new().name("fumehood-input".to_owned()).spawn(move || {
            let Ok(pipe) = given.recv() else { return };
            // A program that leaves without reading may have done what it is for; what it answers tells.
            let _ = std::io::PipeWriter::from(pipe).write_all(&bytes);
            // Dropped here, which is the end of input.
        });
        let thread = thread.map_err(|_| internal("there is no thread to write standard input in"))?;
        Ok(Self { pipe, thread })
    }

    /// Lets it write.
    pub(super) fn write_to(self, pipe: Option<OwnedFd>) -> JoinHandle<()> {
        if let Some(pipe) = pipe {
            // It waits for nothing else.
            let _ = self.pipe.send(pipe);
        }
        self.thread
    }
}
