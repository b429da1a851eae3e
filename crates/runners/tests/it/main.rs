//! Scripts that attack whoever runs them, in real sandboxes, through the gate.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test that meets what it does not expect has failed; it lays out files of the host"
)]

mod binding;
mod grants;
mod manifest;
mod outputs;
mod streams;
mod workspace;
mod world;
