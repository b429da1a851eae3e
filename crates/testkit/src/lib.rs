//! Test support for the other crates, which may depend on this one for their tests only.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod opens;
mod privilege;
mod scratch;

pub use opens::Opens;
pub use privilege::{is_root, without_privilege};
pub use scratch::{Scratch, skill_md};
