//! What is enforced, axis by axis, and by what.

use std::fmt;

use crate::wire::{Hello, Step};

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
    obstacle: Option<Obstacle>,
    axes: [Axis; 10],
}

/// What keeps a machine from a stronger level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The step that fails.
    pub step: Step,
    /// What the kernel says.
    pub errno: i32,
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
        let obstacle = (!has_landlock).then_some(Obstacle { step: Step::Landlock, errno: libc::ENOSYS });
        Self { level: if has_landlock { Level::Full } else { Level::Namespaces }, obstacle, axes }
    }

    /// Why the level is not a stronger one; `None` at [`Level::Full`].
    pub fn obstacle(&self) -> Option<Obstacle> {
        self.obstacle
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

impl Obstacle {
    /// What the person who owns the machine can do about it.
    pub fn remedy(self) -> &'static str {
        match (self.step, self.errno) {
            (
                Step::LauncherNamespace | Step::IdMap | Step::Clone | Step::InnerNamespace,
                libc::ENOSPC | libc::EUSERS,
            ) => {
                "user namespaces are switched off, used up or nested too deep: raise the sysctl user.max_user_namespaces"
            }
            (Step::IdMap, libc::EPERM | libc::EINVAL) => {
                "root here is root of a user namespace that does not know the sandbox's user: start fumehood as an ordinary user of the container"
            }
            (Step::Clone | Step::IdMap, libc::ENOSYS) => {
                "clone3 is unknown: Linux 5.5 or newer is needed, and an outer sandbox or container that lets clone3 through"
            }
            (Step::LauncherNamespace | Step::Clone, libc::ENOSYS | libc::EINVAL) => {
                "this kernel or outer sandbox lacks a kind of namespace; gVisor knows none of cgroups"
            }
            (Step::LauncherNamespace | Step::Clone | Step::InnerNamespace, _) => {
                "user namespaces are forbidden here: in a container, allow clone3 and unshare in its system call filter; on Ubuntu, add an AppArmor profile for this program that allows userns; on Debian, set the sysctl kernel.unprivileged_userns_clone to 1"
            }
            (Step::Proc, libc::EPERM) => {
                "the container masks parts of /proc, and the kernel then gives no fresh one: unmask it (systempaths=unconfined)"
            }
            (Step::Landlock, _) => {
                "Landlock 3 or newer is needed: Linux 6.2 with landlock in the boot parameter lsm, and an outer sandbox that lets its calls through"
            }
            (Step::Seccomp, _) => {
                "system call filters are needed: a kernel built with CONFIG_SECCOMP_FILTER, and an outer sandbox that lets seccomp through"
            }
            (
                Step::Propagation | Step::Root | Step::Temporary | Step::Proc | Step::PivotRoot,
                libc::ENOSYS,
            ) => {
                "the newer mount calls are needed, up to mount_setattr: Linux 5.12 or newer, and an outer sandbox that lets them through; gVisor lacks that one"
            }
            // AppArmor lets the namespace be made and takes its capabilities away, so a later step fails.
            (
                Step::MapIds
                | Step::HostName
                | Step::Propagation
                | Step::Root
                | Step::Temporary
                | Step::Proc
                | Step::PivotRoot,
                libc::EPERM | libc::EACCES,
            ) => {
                "user namespaces have no rights over mounts here: on Ubuntu, add an AppArmor profile for this program that allows userns; in a container, allow mounts in its AppArmor profile and system call filter"
            }
            _ => "see `fumehood doctor`",
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = std::io::Error::from_raw_os_error(self.errno);
        write!(f, "{} fails: {reason}", self.step.as_str())
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
