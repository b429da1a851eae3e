//! What of a skill can run, and why not.

use fumehood_core::Code;
use serde::Serialize;

/// What of the skill can run: the checked tool of its `execution.json`, and its scripts.
#[derive(Clone, Debug, Serialize)]
pub struct ExecutionSupport {
    /// Whether the checked tool can, on a person's word: nothing of the skill, of the settings and of this machine is in the way.
    pub available: bool,
    /// Whether the scripts can, on a person's word. The machine's sandbox is looked at where there is a checked tool only.
    pub scripts_available: bool,
    /// Why not. Those of [`Reason::is_about_scripts`] keep scripts from running too.
    pub reasons: Vec<Reason>,
    /// `absent`, `accepted` or `refused`. fumehood's own extension, not part of the standard.
    pub execution_json: &'static str,
    /// `absent`, `accepted` or `refused`. fumehood's own extension, not part of the standard.
    pub fumehood_json: &'static str,
}

/// A reason with its code.
#[derive(Clone, Debug, Serialize)]
pub struct Reason {
    /// The stable code.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
}

impl Reason {
    pub(crate) fn of((code, message): (Code, String)) -> Self {
        Self { code: code.as_str(), message }
    }

    /// Whether it keeps scripts from running, and not the checked tool alone.
    pub fn is_about_scripts(&self) -> bool {
        let about_scripts = [
            Code::NotLoadable,
            Code::NoRevision,
            Code::SafeMode,
            Code::PolicyInvalid,
            Code::PolicyBlocked,
            Code::PolicyWorkflow,
            Code::SandboxUnavailable,
            Code::ToolSandboxRequired,
        ];
        about_scripts.iter().any(|code| code.as_str() == self.code)
    }
}
