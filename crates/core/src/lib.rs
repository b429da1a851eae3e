//! Words and rules of fumehood, pure: what a skill is, what it claims, whether a value matches a schema.
//!
//! Nothing here does I/O, reads a clock, takes randomness, starts a thread or uses `unsafe`; bytes, time and paths
//! are arguments. The crate's own `clippy.toml` forbids the functions that could.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod adopt;
pub mod allowed_tools;
pub mod binding;
pub mod call;
pub mod checked;
pub mod code;
pub mod consent;
pub mod containment;
pub mod diagnostic;
pub mod digest;
pub mod envelope;
pub mod event;
pub mod frame;
pub mod host_path;
pub mod id;
pub mod inspect;
pub mod interpreter;
pub mod json;
pub mod limits;
pub mod line_diff;
pub mod manifest;
pub mod name;
pub mod path;
pub mod policy;
pub mod receipt;
pub mod schema;
pub mod script;
pub mod shown;
pub mod skill;
pub mod time;
pub mod tool;
pub mod trust_scope;
pub mod wiped;
pub mod yaml;

pub use allowed_tools::AllowedTools;
pub use binding::{Binding, BindingParts, InterpreterIdentity, WorkspaceIdentity};
pub use call::{Call, RawCall};
pub use code::{Class, Code, Coded, Severity};
pub use consent::{Consent, Ledger};
pub use containment::Containment;
pub use diagnostic::{Diagnostic, Place};
pub use digest::{Revision, Sha256, VerifiedRevision};
pub use envelope::Envelope;
pub use event::{Event, EventKind};
pub use frame::Frame;
pub use host_path::HostPath;
pub use id::{ArtifactId, CallId, ProposalId, ReceiptId, RunId};
pub use json::Json;
pub use name::{AgentLabel, SkillName, ToolName};
pub use path::{PathSet, RelPath};
pub use policy::Policy;
pub use receipt::Receipt;
pub use schema::Schema;
pub use shown::Shown;
pub use time::{Now, WallTime};
pub use tool::{Registry, ToolSpec};
pub use trust_scope::{Scopes, TrustScope};
pub use wiped::Wiped;
