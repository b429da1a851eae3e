//! The one table of what follows a failure.

use super::Tier;
use crate::code::Code;

/// Why an attempt failed, as far as it decides what happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// The arguments are not valid.
    Validation,
    /// A person, a callback or a rule said no.
    Denied,
    /// The gate could not decide.
    GateUnavailable,
    /// It would get more than the deployer's envelope allows.
    Policy,
    /// A path is not one that may be named.
    Path,
    /// What would run, or what did, is not what was approved: a snapshot, an interpreter, a process that is left.
    Integrity,
    /// There is no sandbox for it.
    SandboxRequired,
    /// The host could not lay out or collect what a run needs.
    Host,
    /// It did not end in time.
    Timeout,
    /// The caller gave up.
    Cancelled,
    /// It ran and failed.
    Execution,
    /// It ran and answered in a shape that it may not answer in.
    BadResponse,
}

/// Whether there is another attempt.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// If the tool has attempts left.
    Eligible,
    /// Not of this call.
    Never,
}

impl Failure {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Validation,
        Self::Denied,
        Self::GateUnavailable,
        Self::Policy,
        Self::Path,
        Self::Integrity,
        Self::SandboxRequired,
        Self::Host,
        Self::Timeout,
        Self::Cancelled,
        Self::Execution,
        Self::BadResponse,
    ];

    /// Its name; whether there is another attempt (XSF-23, XSF-25, XSF-26); whether a fallback may stand in.
    ///
    /// Only what ran and failed is tried again. A fallback is for a tool that did not do its work, never for a call that
    /// was not to run or that nobody waits for.
    const fn row(self) -> (&'static str, Retry, bool) {
        match self {
            Self::Validation => ("validation", Retry::Never, false),
            Self::Denied => ("denied", Retry::Never, false),
            Self::GateUnavailable => ("gate_unavailable", Retry::Never, false),
            Self::Policy => ("policy", Retry::Never, false),
            Self::Path => ("path", Retry::Never, false),
            Self::Integrity => ("integrity", Retry::Never, false),
            Self::SandboxRequired => ("sandbox_required", Retry::Never, false),
            Self::Host => ("host", Retry::Never, false),
            Self::Timeout => ("timeout", Retry::Never, true),
            Self::Cancelled => ("cancelled", Retry::Never, false),
            Self::Execution => ("execution", Retry::Eligible, true),
            Self::BadResponse => ("bad_response", Retry::Never, true),
        }
    }

    /// The code for a failure of which nothing more exact is known. A refusal, an outage and a failure never share one
    /// (EXE-58), and neither do scripts and other tools where they can fail alike (EXE-59).
    pub fn code(self, tier: Tier) -> Code {
        let is_script = matches!(tier, Tier::Script | Tier::Checked);
        match self {
            Self::Validation => Code::SchemaMismatch,
            Self::Denied if is_script => Code::ScriptDenied,
            Self::Policy if is_script => Code::ScriptPolicyWidened,
            Self::Denied | Self::Policy => Code::ToolDenied,
            Self::GateUnavailable if is_script => Code::ScriptGateUnavailable,
            Self::GateUnavailable => Code::ToolGateUnavailable,
            Self::Path => Code::PathRejected,
            Self::Integrity => Code::SnapshotChanged,
            Self::SandboxRequired => Code::ToolSandboxRequired,
            Self::Host => Code::WorkspaceFailed,
            Self::Timeout if is_script => Code::ScriptTimeout,
            Self::Timeout => Code::ToolTimeout,
            Self::Cancelled => Code::Cancelled,
            Self::Execution if is_script => Code::ScriptFailed,
            Self::Execution => Code::ToolFailed,
            Self::BadResponse => Code::ToolBadResponse,
        }
    }

    /// The name in events and answers.
    pub fn as_str(self) -> &'static str {
        self.row().0
    }

    /// Whether a tool that has attempts left is tried again.
    pub fn retry(self) -> Retry {
        self.row().1
    }

    /// Whether a tool of the host may answer with a fallback.
    pub(super) fn may_fall_back(self) -> bool {
        self.row().2
    }
}
