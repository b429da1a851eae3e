//! Tests of `fumehood-runners` that use only what it offers to others.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "what is unexpected fails the test"
)]

mod module;
mod ports;
