//! What runs tools, one module for each kind of containment. None of them can run anything without an
//! [`Attempt`](fumehood_gate::Attempt), and only the gate has those.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod checked;
mod launch;
pub mod module;
pub mod script;

/// The level at which a sandbox confines, in the words of an envelope.
pub fn level(sandbox: &fumehood_sandbox::Sandbox) -> fumehood_core::containment::Level {
    launch::level(sandbox.enforcement().level())
}
