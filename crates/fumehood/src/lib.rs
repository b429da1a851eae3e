//! fumehood, the host of Agent Skills: everything a face needs goes through [`Host`].
//!
//! ```
//! use fumehood::{Host, HostOptions};
//! let host = Host::new(HostOptions::isolated(std::env::temp_dir()));
//! let report = host.list(&[], &mut |_| {})?;
//! assert_eq!(report.skills.len(), 0);
//! # Ok::<(), fumehood::Fault>(())
//! ```
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod cli;
mod fault;
pub mod host;
pub mod report;

pub use fault::Fault;
/// Being the sandbox's launcher: a program that embeds this library calls [`helper::dispatch`] as its first line, or
/// nothing can be confined.
pub use fumehood_sandbox::helper;
pub use host::{Host, HostOptions};
