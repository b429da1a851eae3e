//! Tests of `fumehood-runners` that use only what it offers to others: tools of the host's own process, and scripts that
//! attack whoever runs them, in real sandboxes, through the gate.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test that meets what it does not expect has failed; it lays out files of the host"
)]

mod binding;
mod checked;
mod grants;
mod manifest;
mod module;
mod outputs;
mod ports;
mod streams;
mod workspace;
mod world;
