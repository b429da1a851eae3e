//! What is enforced, axis by axis, and by what.

use std::fmt;

use crate::child::Kind;
use crate::wire::{Hello, Step};

/// How strongly a child is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Landlock, system call filter and limits; no namespaces. Grants are shown only at their own paths, there is no
    /// temporary folder and no overlay, and nothing is hidden but its content. Children of a root host are another user:
    /// they read what everybody may, and nothing can be granted for writing.
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
    has_groups: bool,
    is_root: bool,
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
    pub(crate) fn of(hello: Hello, kind: Kind) -> Self {
        // Below version 3 a file could be cut short where it may not be written.
        let has_landlock = hello.landlock_abi >= LANDLOCK_MIN;
        let memory = if hello.has_groups { MEMORY_WITH_GROUPS } else { MEMORY };
        let (level, axes) = match kind {
            Kind::Kernel => (Level::Kernel, kernel(hello.is_root, memory)),
            Kind::Namespaces if has_landlock => (Level::Full, namespaces(true, memory)),
            Kind::Namespaces => (Level::Namespaces, namespaces(false, memory)),
        };
        let missing = Obstacle { step: Step::Landlock, errno: libc::ENOSYS };
        Self {
            level,
            has_groups: hello.has_groups,
            is_root: hello.is_root,
            obstacle: (level == Level::Namespaces).then_some(missing),
            axes,
        }
    }

    pub(crate) fn because_of(&mut self, obstacle: Obstacle) {
        self.obstacle = Some(obstacle);
    }

    /// Whether [`ProfileBuilder::memory_total`](crate::ProfileBuilder::memory_total) can be had.
    pub fn can_limit_total_memory(&self) -> bool {
        self.has_groups
    }

    /// The user that programs are for the host, if it is not the host's own.
    pub(crate) fn user(&self) -> Option<u32> {
        self.is_root.then_some(crate::launcher::UNUSED_ID)
    }

    /// The signal that ends a whole run when its init gets it.
    pub(crate) fn end(&self) -> rustix::process::Signal {
        match self.level {
            Level::Kernel => crate::kernel::END,
            Level::Namespaces | Level::Full => rustix::process::Signal::KILL,
        }
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
            (Step::LauncherNamespace | Step::Clone | Step::InnerNamespace, libc::ENOSPC | libc::EUSERS) => {
                "user namespaces are switched off, used up or nested too deep: raise the sysctl user.max_user_namespaces"
            }
            (Step::LauncherNamespace | Step::Clone, libc::ENOSYS | libc::EINVAL) => {
                "this kernel or outer sandbox lacks a kind of namespace; gVisor knows none of cgroups"
            }
            (Step::LauncherNamespace | Step::Clone | Step::InnerNamespace, _) => {
                "user namespaces are forbidden here: in a container, allow clone and unshare in its system call filter; on Ubuntu, add an AppArmor profile for this program that allows userns; on Debian, set the sysctl kernel.unprivileged_userns_clone to 1"
            }
            (Step::Proc, libc::EPERM) => {
                "the container masks parts of /proc, and the kernel then gives no fresh one: unmask it (systempaths=unconfined)"
            }
            (Step::Landlock, _) => {
                "Landlock 3 or newer is needed: Linux 6.2 with landlock in the boot parameter lsm, and an outer sandbox that lets its calls through"
            }
            (Step::ProcessLimit, _) => {
                "this user is the machine's root outside, whom the kernel holds to no number of processes: start fumehood as another user"
            }
            (Step::Seccomp, _) => {
                "system call filters are needed: a kernel built with CONFIG_SECCOMP_FILTER, and an outer sandbox that lets seccomp through"
            }
            (Step::Propagation | Step::Base | Step::Temporary | Step::Proc, libc::ENOSYS) => {
                "the newer mount calls are needed, up to mount_setattr: Linux 5.12 or newer, and an outer sandbox that lets them through; gVisor lacks that one"
            }
            // AppArmor lets the namespace be made and takes its capabilities away, so a later step fails.
            (
                Step::MapIds | Step::HostName | Step::Propagation | Step::Base | Step::Temporary | Step::Proc,
                libc::EPERM | libc::EACCES,
            ) => {
                "user namespaces have no rights over mounts here: on Ubuntu, add an AppArmor profile for this program that allows userns; in a container, allow mounts in its AppArmor profile and system call filter"
            }
            _ => "no remedy is known; please report it with what fails",
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

fn namespaces(has_landlock: bool, memory: &'static str) -> [Axis; 10] {
    let pick = |with: &'static str, without: &'static str| if has_landlock { with } else { without };
    let files =
        pick("mount namespace with a root of its own; Landlock", "mount namespace with a root of its own");
    [
        axis("files", State::Enforced, files),
        axis("writes", State::Enforced, pick("read-only mounts; Landlock", "read-only mounts")),
        axis(
            "network",
            State::Enforced,
            "network namespace of its own without a way out; no call that makes a socket",
        ),
        axis("processes", State::Enforced, "PID namespace: none is seen, and none survives the first"),
        axis("signals", State::Enforced, "PID namespace"),
        axis("syscalls", State::Enforced, FILTER),
        axis("memory", State::Partly, memory),
        axis("pids", State::Enforced, "process limit of its own user namespace"),
        axis("cpu", State::Partly, CPU),
        axis("environment", State::Enforced, ENVIRONMENT),
    ]
}

fn kernel(is_root: bool, memory: &'static str) -> [Axis; 10] {
    let pids = if is_root {
        "process limit of a user of its own, on top of what other runs there are when it starts"
    } else {
        "process limit of the user, on top of what the user runs when it starts"
    };
    [
        axis(
            "files",
            State::Partly,
            "Landlock: only what is granted can be opened; names, sizes, owners and times of all other files are seen, and there is no temporary folder",
        ),
        axis(
            "writes",
            State::Partly,
            "Landlock; what is written in a grant can be loaded as code, not started",
        ),
        axis("network", State::Enforced, "no call that makes a socket"),
        axis(
            "processes",
            State::Partly,
            "Landlock domain that one signal ends; numbers of other processes are seen, and who kills the launcher and its child at once leaves the rest running",
        ),
        axis("signals", State::Enforced, "Landlock domain"),
        axis("syscalls", State::Enforced, FILTER),
        axis("memory", State::Partly, memory),
        axis("pids", State::Partly, pids),
        axis("cpu", State::Partly, CPU),
        axis("environment", State::Enforced, ENVIRONMENT),
    ]
}

fn axis(name: &'static str, state: State, mechanism: &'static str) -> Axis {
    Axis { name, state, mechanism }
}

const FILTER: &str = "seccomp list of allowed calls";
const MEMORY: &str = "data limit of each process; together up to that times the process limit";
const MEMORY_WITH_GROUPS: &str = "data limit of each process; together up to that times the process limit, or by a control group where the profile limits the total";
const CPU: &str = "processor time of each process, and the deadline for all";
const ENVIRONMENT: &str = "built from nothing";
/// The first version of Landlock that counts as a second opinion.
const LANDLOCK_MIN: u32 = 3;
