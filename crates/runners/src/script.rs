//! Tier 3: a file of a skill, run by an interpreter that the host lists, in the sandbox.
//!
//! Nothing of a call is decided here: what the arguments name, the person granted, and the envelope allows is worked out
//! into one [`Profile`](fumehood_sandbox::Profile), and what runs is a copy of the bytes that were captured, laid out from
//! memory and hashed again right before.

mod call;
mod planner;
mod run;

pub use call::check_workspace;
pub(crate) use call::open_workspace;

use std::path::PathBuf;
use std::sync::Arc;

use fumehood_core::envelope::Envelope;
use fumehood_core::manifest::{InterpreterKey, ScriptClaim};
use fumehood_core::{InterpreterIdentity, RelPath, Sha256, SkillName, VerifiedRevision};
use fumehood_gate::RunError;
use fumehood_sandbox::Sandbox;
use fumehood_store::{ChangeLimits, Forbidden, Snapshot, Staging, Transactions};

/// What all scripts of a host share.
pub struct Workshop {
    /// What confines them.
    pub sandbox: Arc<Sandbox>,
    /// Where their files are laid out.
    pub staging: Staging,
    /// Who applies what they wrote.
    pub transactions: Transactions,
    /// The most that any of them gets.
    pub envelope: Envelope,
    /// All of their environment, in order.
    pub environment: Vec<(String, String)>,
    /// The interpreters, by key.
    pub interpreters: Box<dyn Interpreters>,
    /// Places that none of them is given.
    pub forbidden: Forbidden,
    /// Protected names that a writable workspace may change all the same.
    pub unlocked: Vec<String>,
    /// How much one run may change.
    pub changes: ChangeLimits,
}

/// The interpreters that the host lists.
pub trait Interpreters: Send + Sync {
    /// The interpreter of a key, its file looked at now.
    ///
    /// # Errors
    /// [`RunError`] for a key that the host does not list (EXE-61), a file that may not be used, and one that is not what
    /// was pinned.
    fn resolve(&self, key: &InterpreterKey) -> Result<PinnedInterpreter, RunError>;
}

/// An interpreter whose file is what was pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedInterpreter {
    /// The path that it is run by, which may be a link: some programs look at how they were called.
    pub program: PathBuf,
    /// What stands before the script in its argument vector.
    pub flags: Vec<String>,
    /// What it reads beside the system's own programs and libraries.
    pub read_paths: Vec<PathBuf>,
    /// The file behind.
    pub identity: InterpreterIdentity,
}

/// One script, as a tool: the skill's bytes, which file of it, and what the person who runs the host lets it have.
#[derive(Clone)]
pub struct Script {
    workshop: Arc<Workshop>,
    skill: ScriptSkill,
    source: Source,
    grants: Granted,
    fail_on_nonzero_exit: bool,
}

/// The skill that a script is of.
#[derive(Clone, Debug)]
pub struct ScriptSkill {
    /// The label of its source.
    pub source: String,
    /// Its name.
    pub name: SkillName,
    /// Its bytes.
    pub snapshot: Snapshot,
    /// The digest of the deployer's overlay, if the script is declared there.
    pub overlay: Option<Sha256>,
    pub(crate) revision: VerifiedRevision,
}

/// Which file runs, and what is known of its arguments.
#[derive(Clone, Debug)]
pub enum Source {
    /// Somebody declared it.
    Declared(ScriptClaim),
    /// Nobody did: it gets exactly the vector that the caller wrote.
    Undeclared {
        /// The file.
        path: RelPath,
        /// The interpreter, as the person chose it.
        interpreter: InterpreterKey,
    },
}

/// What the person named beside the call.
#[derive(Clone, Debug)]
pub struct Granted {
    /// What relative paths count from: absolute, behind all links.
    pub base: PathBuf,
    /// A folder that the script may read, or change as a transaction. Paths in arguments must lie in it.
    pub workspace: Option<(PathBuf, WorkspaceAccess)>,
    /// Whether the script starts in the workspace, if there is one. It starts in the skill's folder else.
    pub in_workspace: bool,
    /// Files that it may read, each at its own path.
    pub read: Vec<String>,
    /// Files that it may replace, or make where there are none.
    pub write: Vec<String>,
    /// Where the files go that it makes in `/out`.
    pub out: Option<PathBuf>,
}

/// What a script may do with the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceAccess {
    /// Read it.
    Read,
    /// Write to an overlay over it, which is applied after success.
    Change,
}

impl ScriptSkill {
    /// A skill whose bytes are hashed here, all of them, once.
    pub fn new(source: String, name: SkillName, snapshot: Snapshot, overlay: Option<Sha256>) -> Self {
        let bytes = snapshot.files().map(|(path, file)| (path.clone(), file.bytes())).collect();
        let revision = VerifiedRevision::of(&bytes);
        Self { source, name, snapshot, overlay, revision }
    }
}

impl Granted {
    /// Nothing but what the call itself names.
    pub fn nothing(base: PathBuf) -> Self {
        Self { base, workspace: None, in_workspace: false, read: Vec::new(), write: Vec::new(), out: None }
    }
}

impl Script {
    /// A script that fails when it ends with another exit code than zero.
    pub fn new(workshop: Arc<Workshop>, skill: ScriptSkill, source: Source, grants: Granted) -> Self {
        Self { workshop, skill, source, grants, fail_on_nonzero_exit: true }
    }

    /// Whether another exit code than zero is a failure. Only the deployer says so (EXE-56).
    #[must_use]
    pub fn fail_on_nonzero_exit(self, fail: bool) -> Self {
        Self { fail_on_nonzero_exit: fail, ..self }
    }

    fn path(&self) -> &RelPath {
        match &self.source {
            Source::Declared(claim) => claim.path(),
            Source::Undeclared { path, .. } => path,
        }
    }

    fn interpreter(&self) -> &InterpreterKey {
        match &self.source {
            Source::Declared(claim) => claim.interpreter(),
            Source::Undeclared { interpreter, .. } => interpreter,
        }
    }
}

/// Where a script sees the skill.
pub const SKILL_PLACE: &str = "/skill";
/// Where it leaves files.
pub const OUT_PLACE: &str = "/out";
