//! Tests of `fumehood-gate` that use only what it offers to others.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "what is unexpected fails the test"
)]

mod approval;
mod attempts;
mod enumeration;
mod faults;
mod listeners;
mod model;
mod parking;
mod spans;
mod stale;
mod world;
