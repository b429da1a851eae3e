//! The host's disk: the only crate that reads and writes the contents of host files.
//!
//! Skills are reached through directory handles and never through a joined path; see `dir`. Nothing here starts a
//! process, and nothing is ever written into a skill folder.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(not(target_os = "linux"))]
compile_error!(
    "fumehood-store reads folders through openat2 and needs Linux; no other backend is written yet"
);

mod artifact;
mod capture;
mod catalog;
mod dir;
mod disk;
mod folder;
mod home;
mod interpreter;
mod journal;
mod list;
mod own;
mod settings;
mod source;
mod transaction;
mod trust;
mod walk;

pub use artifact::{
    Artifact, ArtifactError, ArtifactId, ArtifactInfo, Artifacts, Asker, Bounds, Case, Cut, Found, FoundLine,
    Grep, Hit, Line, LineEnd, Lines, Listed, Pattern, PruneRule, Pruned, Slice, Spool, Stop, estimate_tokens,
};
pub use capture::{CaptureError, Snapshot, SnapshotFile};
pub use catalog::{Catalog, CatalogEntry, CatalogSource, LookupError, shadow_note};
pub use dir::Identity;
pub use disk::DiskFolder;
pub use folder::{AnyFolder, BytesOf, FileError, Folder, HeldFile, MemoryFolder, SkillMd};
pub use home::{FolderStatus, Home, HomeError, OwnFolder, Surroundings, project_of};
pub use interpreter::{Interpreter, InterpreterError};
pub use journal::{Breach, Break, ChainHash, Entry, Flush, Head, Journal, JournalError, Verified};
pub use settings::{RESERVED_LABELS, Settings, SettingsError, SourceSetting};
pub use source::{Source, SourceKind, SourceStatus};
pub use transaction::{
    Baseline, ChangeLimits, Changes, Committed, Expected, Left, Outcome, Place, REFUSED_MAX, Recovered,
    Refused, RefusedReason, TransactionError, Transactions,
};
pub use trust::{TrustError, TrustedProjects};
pub use walk::{Continue, OpenRootError, Root, WalkLimits, WalkReport};
