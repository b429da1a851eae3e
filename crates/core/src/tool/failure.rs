//! The one table of what follows a failure.

/// Why an attempt failed, as far as it decides what happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// The arguments are not valid.
    Validation,
    /// A person or a callback said no.
    Denied,
    /// The gate could not decide.
    GateUnavailable,
    /// A policy, or the envelope, forbids it.
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
