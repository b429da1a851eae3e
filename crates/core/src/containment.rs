//! What was asked to confine a call and what did, in words that do not depend on who confines.

/// How strongly programs are confined, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Not by the operating system.
    None,
    /// Without namespaces.
    Kernel,
    /// By namespaces, without Landlock.
    Namespaces,
    /// By all there is.
    Full,
}

/// One thing that a program could do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Axis {
    /// See files.
    Files,
    /// Change files.
    Writes,
    /// Reach others.
    Network,
    /// See processes, and leave some behind.
    Processes,
    /// Disturb processes.
    Signals,
    /// Ask the kernel for the rest.
    Syscalls,
    /// Take memory.
    Memory,
    /// Start processes.
    Pids,
    /// Take processor time.
    Cpu,
    /// Read the host's environment variables.
    Environment,
}

/// Whether an axis is kept to what was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Enforcement {
    /// Not at all.
    NotEnforced,
    /// With an exception that the mechanism names.
    Partly,
    /// As asked.
    Enforced,
}

/// What was asked and what was found to be enforced, on one axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisReport {
    /// The axis.
    pub axis: Axis,
    /// Whether the call was to be confined on it.
    pub asked: bool,
    /// Whether it was. From what the sandbox did, never from what somebody declared (XSF-53).
    pub enforced: Enforcement,
    /// By what, and where that ends. The host's words.
    pub mechanism: String,
}

/// What confined a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Containment {
    /// The level below which the call was not to run.
    pub level_floor: Level,
    /// The level at which it ran.
    pub level: Level,
    /// Every axis, in the order of [`Axis::ALL`].
    pub axes: Vec<AxisReport>,
}

impl Containment {
    /// What confines a call that no sandbox confines, which must be asked for by that name (XSF-55, X-11).
    pub fn none() -> Self {
        let report = |axis| AxisReport {
            axis,
            asked: false,
            enforced: Enforcement::NotEnforced,
            mechanism: String::new(),
        };
        Self {
            level_floor: Level::None,
            level: Level::None,
            axes: Axis::ALL.into_iter().map(report).collect(),
        }
    }

    /// Whether all that was asked for was there, if only in part.
    pub fn is_as_asked(&self) -> bool {
        let kept = |report: &AxisReport| !report.asked || report.enforced > Enforcement::NotEnforced;
        self.level >= self.level_floor && self.axes.iter().all(kept)
    }
}

impl Level {
    /// The name in settings, answers and receipts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Kernel => "kernel",
            Self::Namespaces => "namespaces",
            Self::Full => "full",
        }
    }
}

impl Axis {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Files,
        Self::Writes,
        Self::Network,
        Self::Processes,
        Self::Signals,
        Self::Syscalls,
        Self::Memory,
        Self::Pids,
        Self::Cpu,
        Self::Environment,
    ];

    /// The name in answers and receipts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Writes => "writes",
            Self::Network => "network",
            Self::Processes => "processes",
            Self::Signals => "signals",
            Self::Syscalls => "syscalls",
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Cpu => "cpu",
            Self::Environment => "environment",
        }
    }
}

impl Enforcement {
    /// The name in answers and receipts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotEnforced => "not_enforced",
            Self::Partly => "partly",
            Self::Enforced => "enforced",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // XSF-53, XSF-55, X-11
    #[test]
    fn no_sandbox_says_none_on_every_axis() {
        let none = Containment::none();
        assert_eq!(none.axes.len(), 10);
        assert!(none.axes.iter().all(|report| report.enforced == Enforcement::NotEnforced));
        assert!(none.is_as_asked());
    }

    #[test]
    fn less_than_asked_is_noticed() {
        let full = |change: fn(&mut Containment)| {
            let mut containment = Containment::none();
            (containment.level, containment.level_floor) = (Level::Full, Level::Namespaces);
            for report in &mut containment.axes {
                (report.asked, report.enforced) = (true, Enforcement::Partly);
            }
            change(&mut containment);
            containment.is_as_asked()
        };
        assert!(full(|_| {}));
        assert!(full(|containment| containment.level = Level::Namespaces));
        assert!(!full(|containment| containment.level = Level::Kernel));
        assert!(!full(|containment| containment.axes[2].enforced = Enforcement::NotEnforced));
        assert!(full(|containment| {
            containment.axes[2].enforced = Enforcement::NotEnforced;
            containment.axes[2].asked = false;
        }));
    }
}
