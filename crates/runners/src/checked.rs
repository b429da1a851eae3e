//! Checked tools: the one program that `execution.json` declares, JSON in and JSON out.
//!
//! Of the skill only the files that the manifest lists are laid out, and nothing else is granted: no network, and no file of
//! the person's unless they name a workspace to read. The arguments that were validated, to the byte, are what the program
//! reads; it succeeds only with exit code zero, one JSON value that fits the output schema, and no process left. There is one
//! attempt, and no way around: where this cannot run, nothing else runs instead (CHK-080, CHK-109).

mod heard;
mod input;
mod planner;
mod run;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fumehood_core::manifest::ExecutionManifest;
use fumehood_gate::RunError;

use crate::script::{ScriptSkill, Workshop};

/// The checked tool of one skill.
#[derive(Clone)]
pub struct Checked {
    workshop: Arc<Workshop>,
    skill: ScriptSkill,
    manifest: ExecutionManifest,
    switches: Arc<dyn Switches>,
    timeout: Option<Duration>,
    workspace: Option<PathBuf>,
}

/// What the host says of checked tools at large, apart from what it says of this call. Both are looked at when a call is
/// planned and again right before its program starts, and each time anew (CHK-046, CHK-048, CHK-135). Neither is consent.
pub trait Switches: Send + Sync {
    /// Whether the host has the capability to execute them.
    ///
    /// # Errors
    /// [`RunError`] with `E_EXECUTE_DISABLED`, or why it cannot be told.
    fn may_execute(&self) -> Result<(), RunError>;

    /// Whether its safety mode lets anything of a skill run.
    ///
    /// # Errors
    /// [`RunError`] with `E_SAFE_MODE`, or why it cannot be told.
    fn is_not_safe_mode(&self) -> Result<(), RunError>;
}

/// What stands before the program in Node's argument vector: the host's word, which nobody can change (CHK-095). Modules come
/// from the skill's files and from Node itself only; no native code is loaded by way of a module.
pub const NODE_FLAGS: [&str; 2] = ["--no-addons", "--no-global-search-paths"];

/// The key of the interpreter that runs them.
pub const NODE: &str = "node";

impl Checked {
    /// The tool of a skill, as its manifest declares it.
    pub fn new(
        workshop: Arc<Workshop>,
        skill: ScriptSkill,
        manifest: ExecutionManifest,
        switches: Arc<dyn Switches>,
    ) -> Self {
        Self { workshop, skill, manifest, switches, timeout: None, workspace: None }
    }

    /// Less time than the manifest gives. More is refused when a call is planned.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// A folder that it may read, at its own path: absolute, behind all links. Without this it sees none (CHK-133).
    #[must_use]
    pub fn workspace(self, workspace: PathBuf) -> Self {
        Self { workspace: Some(workspace), ..self }
    }

    fn wall(&self) -> Duration {
        self.timeout.unwrap_or(self.manifest.timeout())
    }
}

/// Both switches were on when this was made.
struct Admitted(());

impl Admitted {
    fn now(switches: &dyn Switches) -> Result<Self, RunError> {
        switches.may_execute()?;
        switches.is_not_safe_mode()?;
        Ok(Self(()))
    }
}
