//! Checked runs: what a program may answer, and what is told of it.
//!
//! A program of `execution.json` gets one JSON value and writes one. Its streams are taken piece by piece by a [`Capture`],
//! which has a fixed capacity and keeps its first error; [`Capture::answer`] makes an [`Answer`] of the whole. Only a
//! [`CheckedResult`] says that a run succeeded, and it takes more than an answer to make it say so.

mod capture;
mod result;

pub use capture::{Answer, Capture, CaptureError};
pub use result::{
    CHECKED_RESULT_BYTES_MAX, CheckedFacts, CheckedResult, POINTER_BYTES_MAX, PROBLEMS_MAX, Problem,
    problems_of,
};

/// Bytes that a checked program may write to standard error. One more fails the run (CHK-107).
pub const CHECKED_ERRORS_BYTES_MAX: u32 = 16 << 10;

#[cfg(test)]
mod tests;
