//! What runs tools, one module for each kind of containment. None of them can run anything without an
//! [`Attempt`](fumehood_gate::Attempt), and only the gate has those.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod module;
pub mod script;
