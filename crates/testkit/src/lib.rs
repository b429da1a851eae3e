//! Test support for the other crates, which may depend on this one for their tests only.
//!
//! Everything here panics when it cannot do what a test asked for: then the test has failed.
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "a test that cannot be set up has failed"
)]

mod call;
pub mod fuzz;
pub mod hidden;
mod opens;
mod privilege;
mod scratch;
mod skill;
mod terminal;
mod world;

pub use call::{Answer, Call};
pub use opens::Opens;
pub use privilege::{as_another_user, is_root, without_privilege};
pub use scratch::{Scratch, skill_md};
pub use skill::{Skill, skill};
pub use terminal::{Session, Streams};
pub use world::World;
