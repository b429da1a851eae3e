//! The reference monitor: one function that every call of every tool goes through, and the only mint of the values that
//! let a runner run.
//!
//! ```text
//! RawCall ─grant, validate→ Call ─plan, approve→ Clearance ─attempt→ Attempt ─Runner::run→ RawOutput
//!     ─accept, keep→ Runner::apply ─→ Receipt, Completed
//! ```
//!
//! The order is that of [`Gate::call`] and of nothing else. What the gate needs of the world it names as small traits in
//! [`ports`]; what runs a tool stands behind [`Planner`] and [`Runner`]. It starts no process and opens no file.
//!
//! # Authority
//! None of its own. Whoever builds a [`Gate`] hands it tools, a clock, randomness, a policy, a journal and a place for
//! results; whoever holds a [`Decider`] answers for the person.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod approval;
mod cancel;
mod clearance;
mod consents;
mod error;
mod gate;
mod guard;
mod listen;
mod offer;
mod plan;
pub mod ports;
mod record;
mod runner;

pub use approval::{Approver, Decider, Request};
pub use cancel::Cancel;
pub use clearance::{Accepted, Attempt, Clearance};
pub use consents::Consents;
pub use error::{Excerpt, GateError, Ran};
pub use gate::{Completed, Gate, GateBuilder};
pub use guard::caught;
pub use listen::{Listener, Listeners};
pub use offer::{Callback, Fallback, Liveness, Offer, OfferError};
pub use plan::{Command, FileGrant, FileUse, Plan, PlannedPath, PlannedSkill, workspace_words};
pub use runner::{Planner, RawOutput, RunError, Runner, Stream};
