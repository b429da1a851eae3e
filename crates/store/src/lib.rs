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

mod approved;
mod artifact;
mod capture;
mod catalog;
mod clear;
mod config_file;
mod control;
mod database;
mod dir;
mod disk;
mod folder;
mod forbidden;
mod grant;
mod home;
mod in_order;
mod interpreter;
mod journal;
mod list;
mod own;
mod passphrase;
mod pins;
mod place;
mod policy;
mod settings;
mod source;
mod stage;
mod transaction;
mod trust;
mod trust_scopes;
mod typed;
mod walk;
mod workspace;

pub use approved::{ApprovedError, ApprovedText, text_of};
pub use artifact::{
    Artifact, ArtifactError, ArtifactId, ArtifactInfo, Artifacts, Asker, Bounds, Case, Cut, Found, FoundLine,
    Grep, Hit, Line, LineEnd, Lines, Listed, Pattern, PruneRule, Pruned, Slice, Spool, Stop, estimate_tokens,
};
pub use capture::{CaptureError, Snapshot, SnapshotFile};
pub use catalog::{Catalog, CatalogEntry, CatalogSource, LookupError, shadow_note};
pub use control::{CONTROL_SOCKETS_MAX, Control, ControlError, ControlSocket, is_of_caller};
pub use dir::{Identity, Stat as FileIdentity};
pub use disk::DiskFolder;
pub use folder::{AnyFolder, BytesOf, FileError, Folder, HeldFile, MemoryFolder, SkillMd};
pub use forbidden::{Forbidden, ForbiddenKind, RESERVED};
pub use grant::{GrantError, PathRules, ReadGrant, WriteGrant, copy_originals};
pub use home::{FolderStatus, Home, HomeError, OwnFolder, Surroundings, project_of};
pub use in_order::in_order;
pub use interpreter::{Interpreter, InterpreterError};
pub use journal::{Breach, Break, ChainHash, Entry, Flush, Head, Journal, JournalError, Verified};
pub use passphrase::{Passphrase, PassphraseError, PassphraseHash, check_passphrase, passphrase_wait};
pub use pins::{
    FoundInterpreter, InterpreterChange, Pin, PinError, PinnedInterpreter, Pins, Resolution,
    VERSION_CHARS_MAX,
};
pub use policy::{
    CaseResult, PolicyCase, PolicyDraft, PolicyError, PolicyFile, PolicyState, PolicyWriteError, PolicyWriter,
};
pub use settings::{
    DraftError, Drafts, EditError, Environment, GIVEN_LABEL, InterpreterChoice, InterpreterSetting,
    OVERLAYS_MAX, Overlay, OverlayError, OverlayParts, OverlayScript, RESERVED_LABELS, Safety, Settings,
    SettingsError, SourceSetting, overlays_to_toml,
};
pub use source::{Source, SourceKind, SourceStatus};
pub use stage::{Scratch, StageError, Staged, Staging};
pub use transaction::{
    Baseline, ChangeLimits, Changes, Committed, Expected, Left, Outcome, Place, REFUSED_MAX, Recovered,
    Refused, RefusedReason, TransactionError, Transactions,
};
pub use trust::{TrustError, TrustedProjects};
pub use trust_scopes::{TrustScopes, TrustScopesError};
pub use typed::{TypedError, read_typed};
pub use walk::{Continue, OpenRootError, Root, WalkLimits, WalkReport};
pub use workspace::Workspace;
