//! One confined child process, and an exact account of what confines it.
//!
//! Knows nothing of skills or policy: it takes a [`Profile`] by value. Linux only, without any helper program but the
//! embedding one: that executes itself once, as a launcher.
//!
//! ```no_run
//! use std::time::Duration;
//! use fumehood_sandbox::{Access, Exit, Limits, Profile, Sandbox, helper};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // Before any thread: this process may be the launcher.
//!     helper::dispatch();
//!     let sandbox = Sandbox::start()?;
//!     println!("level {}", sandbox.enforcement().level());
//!     let limits = Limits {
//!         cpu_seconds: 10,
//!         memory_bytes_per_process: 256 << 20,
//!         processes: 16,
//!         file_bytes: 16 << 20,
//!         open_files: 64,
//!         temporary_bytes: 16 << 20,
//!         temporary_files: 1000,
//!     };
//!     let profile = Profile::builder("/usr/bin/python3", limits, Duration::from_secs(5))
//!         .argument("-c")
//!         .argument("print(open('/in/report.csv').readline())")
//!         .grant("/home/alice/report.csv", "/in/report.csv", Access::Read)
//!         .build()?;
//!     let outcome = sandbox.spawn(&profile)?.wait(&|| false)?;
//!     assert_eq!(outcome.exit, Some(Exit::Code(0)));
//!     print!("{}", String::from_utf8_lossy(&outcome.output.bytes));
//!     Ok(())
//! }
//! ```
//!
//! # Authority
//! Starts processes and opens what profiles grant. Everything else is said at the item.
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

pub use confined::{Captured, Channel, Confined, Exit, Killed, Outcome};
pub use enforcement::{Axis, Enforcement, Level, Obstacle, State};
pub use launch::{Sandbox, SandboxError, probe};
pub use profile::{Access, Limits, OnExcess, Profile, ProfileBuilder, ProfileError};
pub use wire::Step;
