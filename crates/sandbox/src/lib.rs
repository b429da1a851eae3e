//! One confined child process, and an exact account of what confines it.
//!
//! Knows nothing of skills or policy: it takes a [`Profile`] by value. Linux only.
#![deny(unsafe_code)]
#![deny(missing_docs)]

#[cfg(not(target_os = "linux"))]
compile_error!("fumehood-sandbox is built on Linux namespaces; no other backend is written yet");

mod child;
pub mod helper;
mod landlock;
mod launch;
mod launcher;
mod profile;
mod root;
mod seccomp;
mod socket;
#[expect(unsafe_code, reason = "the one address of unsafe code")]
mod sys;
mod wire;

pub use launch::{Captured, Confined, Exit, Killed, Outcome, Sandbox, SandboxError};
pub use profile::{Access, Limits, OnExcess, Profile, ProfileBuilder, ProfileError};
pub use wire::Step;

/// How strongly a child is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Landlock, system call filter and limits; no namespaces.
    Kernel,
    /// Namespaces, system call filter and limits; no Landlock.
    Namespaces,
    /// All of it.
    Full,
}
