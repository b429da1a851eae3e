//! Tests of `fumehood-store` that use only what it offers to others.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "what is unexpected fails the test"
)]

mod capture_race;
mod inspection;
mod memory;
