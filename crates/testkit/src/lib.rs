//! Test support for the other crates, which may depend on this one for their tests only.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod fuzz;
