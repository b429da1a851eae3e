//! Tests of `fumehood-store` that use only what it offers to others.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "what is unexpected fails the test"
)]

mod artifact_crash;
mod artifact_grep;
mod artifact_read;
mod artifact_store;
mod capture_race;
mod child;
mod configuration;
mod inspection;
mod journal;
mod memory;
mod policy;
mod stage_crash;
