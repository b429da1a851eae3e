//! Tests of the program as a whole.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test makes files; what is unexpected fails it"
)]

mod hostile;
