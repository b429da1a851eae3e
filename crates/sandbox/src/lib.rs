//! One confined child process, and an exact account of what confines it.
//!
//! Knows nothing of skills or policy: it takes a [`Profile`] by value. Linux only.
#![deny(unsafe_code)]
#![deny(missing_docs)]

#[cfg(not(target_os = "linux"))]
compile_error!("fumehood-sandbox is built on Linux namespaces; no other backend is written yet");

mod base;
mod cgroup;
mod child;
mod confined;
mod enforcement;
mod grant;
pub mod helper;
mod kernel;
mod landlock;
mod launch;
mod launcher;
mod mount;
mod patience;
mod profile;
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "lays out files of the host as bait, and attacks files"
)]
pub mod prove;
mod root;
mod seccomp;
mod socket;
mod spare;
#[expect(unsafe_code, reason = "the one address of unsafe code")]
mod sys;
mod wire;
mod zygote;

pub use confined::{Captured, Confined, Exit, Killed, Outcome};
pub use enforcement::{Axis, Enforcement, Level, Obstacle, State};
pub use launch::{Sandbox, SandboxError};
pub use profile::{Access, Limits, OnExcess, Profile, ProfileBuilder, ProfileError};
pub use wire::Step;
