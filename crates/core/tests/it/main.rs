//! Tests of `fumehood-core` that need more than its own sources.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a test reads files and prints; what is unexpected fails it"
)]

mod adopt_cases;
mod manifest_cases;
mod published_schemas;
mod schema_suite;
