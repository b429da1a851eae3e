//! What is enforced, axis by axis, and by what.

use std::fmt;

use crate::wire::Hello;

/// How strongly a child is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Landlock, system call filter and limits; no namespaces. Not built yet: such a machine is refused.
    Kernel,
    /// Namespaces, system call filter and limits; no Landlock.
    Namespaces,
    /// All of it.
    Full,
}

/// What confines the children of one launcher, as facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enforcement {
    level: Level,
    axes: [Axis; 10],
}

/// One thing that a child could do, and what keeps it from doing more of it than its profile says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// `files`, `writes`, `network`, `processes`, `signals`, `syscalls`, `memory`, `pids`, `cpu` or `environment`.
    pub name: &'static str,
    /// Whether it is enforced.
    pub state: State,
    /// By what, and where it ends.
    pub mechanism: &'static str,
}

/// Whether something is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As the profile says.
    Enforced,
    /// With an exception that the mechanism names.
    Partly,
    /// Not at all.
    NotEnforced,
}

impl Enforcement {
    pub(crate) fn of(hello: Hello) -> Self {
        // Below version 3 a file could be cut short where it may not be written.
        let has_landlock = hello.landlock_abi >= LANDLOCK_MIN;
        let pick = |with: &'static str, without: &'static str| if has_landlock { with } else { without };
        let on = |name, state, mechanism| Axis { name, state, mechanism };
        let axes = [
            on(
                "files",
                State::Enforced,
                pick(
                    "mount namespace with a root of its own; Landlock",
                    "mount namespace with a root of its own",
                ),
            ),
            on("writes", State::Enforced, pick("read-only mounts; Landlock", "read-only mounts")),
            on(
                "network",
                State::Enforced,
                "network namespace of its own without a way out; no call that makes a socket",
            ),
            on("processes", State::Enforced, "PID namespace: none is seen, and none survives the first"),
            on("signals", State::Enforced, "PID namespace"),
            on("syscalls", State::Enforced, "seccomp list of allowed calls"),
            on(
                "memory",
                State::Partly,
                "data limit of each process; together up to that times the process limit",
            ),
            on("pids", State::Enforced, "process limit of its own user namespace"),
            on("cpu", State::Partly, "processor time of each process, and the deadline for all"),
            on("environment", State::Enforced, "built from nothing"),
        ];
        Self { level: if has_landlock { Level::Full } else { Level::Namespaces }, axes }
    }

    /// The level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Every axis.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }
}

impl Level {
    /// The name in settings and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Namespaces => "namespaces",
            Self::Full => "full",
        }
    }
}

impl State {
    /// The name in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Partly => "partly",
            Self::NotEnforced => "not enforced",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The first version of Landlock that counts as a second opinion.
const LANDLOCK_MIN: u32 = 3;
