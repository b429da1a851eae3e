//! Tests that look at the whole repository: its floors, its README, its example skills, its fuzz corpora, and how its
//! answers compare with those of the reference validator.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "this crate is tests")]

mod apart;
mod examples;
mod floors;
mod fuzz_replay;
mod readme;
mod reference_validator;
mod requirements;
mod rust_text;

use std::path::{Path, PathBuf};

/// The folder that holds the workspace's Cargo.toml.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
