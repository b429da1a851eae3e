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
pub mod mcp;
pub mod report;

pub use fault::Fault;
/// How what an author or a caller wrote is shown to a person: reports hold it as it was written.
pub use fumehood_core::Shown;
/// Being the sandbox's launcher: a program that embeds this library calls [`helper::dispatch`] as its first line, or
/// nothing can be confined.
pub use fumehood_sandbox::helper;
pub use host::{Host, HostOptions};
