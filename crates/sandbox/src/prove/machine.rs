//! Machines that lack something, played on one that has it: a process gives a feature of the kernel up for itself and
//! all that it starts, and goes on as another program.
//!
//! What plays them is what does the same elsewhere: a system call filter around a container, a limit in a user
//! namespace, mounts over parts of `/proc`.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use libc::{CLONE_NEWNS, CLONE_NEWUSER, EINVAL, ENOSYS, EOPNOTSUPP, EPERM};
use rustix::fs::CWD;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::seccomp::outer::{self, Taken};
use crate::socket;
use crate::sys::mount::{MountAttributes, set_attributes};
use crate::sys::process;

/// A machine that lacks something.
#[derive(Debug)]
pub struct Machine {
    /// A short name in kebab-case.
    pub name: &'static str,
    /// What it is like.
    pub what: &'static str,
    lacks: &'static [Lack],
}

/// What a machine lacks. Namespaces come before filters, which could forbid them.
#[derive(Clone, Copy, Debug)]
enum Lack {
    /// The rights of root over the machine: a user namespace in which the process is this user.
    Root { inside: u32 },
    /// Any further user namespace.
    UserNamespaces,
    /// All of `/proc`, as containers have it.
    Proc,
    /// System calls.
    Calls(&'static [Taken]),
    /// The versions of Landlock above this one. The kernel's is still there; it only says that it is older.
    LandlockAbove(u32),
}

/// Every machine.
pub fn machines() -> &'static [Machine] {
    MACHINES
}

/// Gives up what the machine lacks that the first argument names, and becomes the program that the others name; the
/// machine `plain` lacks nothing. Returns only if that fails.
///
/// # Authority
/// Changes this process and what it starts, and nothing else of the machine. Some machines play in a new user
/// namespace. One that hangs starts a process that lives as long as this one.
///
/// # Errors
/// No such machine, this machine lacks too much to play another, or there is no such program.
pub fn become_machine(mut arguments: impl Iterator<Item = OsString>) -> io::Error {
    let (Some(name), Some(program)) = (arguments.next(), arguments.next()) else {
        return io::Error::other("a machine and a program are needed");
    };
    if name == HOLDER {
        return hold(program.to_str().and_then(|answer| answer.parse().ok()));
    }
    let Some(machine) = MACHINES.iter().find(|machine| name == machine.name) else {
        return io::Error::other("no such machine");
    };
    for lack in machine.lacks {
        if let Err(error) = lack.play() {
            return io::Error::new(error.kind(), format!("{}: {error}", machine.name));
        }
    }
    // What children of a launcher may read: no path of the host's.
    Command::new(program).arg0("fumehood-launcher").args(arguments).exec()
}

impl Lack {
    fn play(self) -> io::Result<()> {
        match self {
            Self::Root { inside } => enter_user_namespace(0, inside),
            Self::UserNamespaces => std::fs::write("/proc/sys/user/max_user_namespaces", "0"),
            Self::Proc => mask_proc(),
            Self::Calls(calls) => take(calls, ""),
            Self::LandlockAbove(version) => take(LANDLOCK_VERSION, &version.to_string()),
        }
    }
}

fn enter_user_namespace(others: libc::c_int, inside: u32) -> io::Result<()> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    process::unshare(CLONE_NEWUSER | others)?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{inside} {uid} 1\n"))?;
    std::fs::write("/proc/self/gid_map", format!("{inside} {gid} 1\n"))
}

/// Covers what Docker covers, as far as this kernel has it.
fn mask_proc() -> io::Result<()> {
    if process::unshare(CLONE_NEWNS).is_err() {
        enter_user_namespace(CLONE_NEWNS, rustix::process::geteuid().as_raw())?;
    }
    let private = rustix::mount::MountPropagationFlags::PRIVATE | rustix::mount::MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private)?;
    let mut covered = 0;
    for name in ["kcore", "keys", "timer_list", "sysrq-trigger"] {
        let target = format!("/proc/{name}");
        if std::fs::exists(&target)? {
            cover("/dev/null", &target, 0)?;
            covered += 1;
        }
    }
    if covered == 0 {
        return Err(io::Error::other("this kernel has nothing in /proc that is usually covered"));
    }
    cover("/proc/sys", "/proc/sys", libc::MOUNT_ATTR_RDONLY)
}

fn cover(source: &str, target: &str, set: u64) -> io::Result<()> {
    let tree =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    let mount = open_tree(CWD, source, tree)?;
    set_attributes(&mount, MountAttributes { set, propagation: 0, id_map: None, recursive: true })?;
    Ok(move_mount(&mount, c"", CWD, target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// What is asked gets this answer; none if it is no number.
fn take(calls: &[Taken], answer: &str) -> io::Result<()> {
    let program = outer::program(calls);
    if !calls.iter().any(Taken::waits) {
        rustix::thread::set_no_new_privs(true)?;
        return Ok(crate::sys::seccomp::install(&program)?);
    }
    // A call waits only as long as somebody could decide: without a holder it would answer ENOSYS.
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    Command::new("/proc/self/exe")
        .args([crate::helper::MACHINE_ARGUMENT, HOLDER, answer])
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    rustix::thread::set_no_new_privs(true)?;
    let listener = crate::sys::seccomp::install_with_listener(&program)?;
    Ok(socket::send(&ours, &[], &[listener.as_fd()])?)
}

/// Keeps the listener that comes on standard input as long as its machine lives, and gives every call this answer.
fn hold(answer: Option<i64>) -> io::Error {
    if let Err(errno) = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
    {
        return errno.into();
    }
    let listener = match socket::receive(rustix::stdio::stdin()) {
        Ok(Some(message)) => message.fds,
        Ok(None) => return io::Error::other("the machine is gone"),
        Err(errno) => return errno.into(),
    };
    loop {
        match (answer, listener.first()) {
            // The caller may have died while it waited.
            (Some(answer), Some(listener)) => drop(crate::sys::seccomp::answer_one(listener, answer)),
            _ => std::thread::park(),
        }
    }
}

const MACHINES: &[Machine] = &[
    Machine { name: "plain", what: "lacks nothing", lacks: &[] },
    Machine {
        name: "container",
        what: "a container whose filter answers EPERM to new namespaces and to clone3",
        lacks: &[Lack::Calls(NAMESPACES), Lack::Calls(&[Taken::always(libc::SYS_clone3, EPERM)])],
    },
    Machine {
        name: "docker",
        what: "a container with Docker's filter: no namespaces, no mounts, and clone3 unknown",
        lacks: &[Lack::Calls(NAMESPACES), Lack::Calls(CLONE3_UNKNOWN), Lack::Calls(MOUNTS_FORBIDDEN)],
    },
    Machine {
        name: "clone3-unknown",
        what: "an outer filter, or a kernel before 5.3, that does not know clone3",
        lacks: &[Lack::Calls(CLONE3_UNKNOWN)],
    },
    Machine {
        name: "no-landlock",
        what: "a kernel without Landlock",
        lacks: &[Lack::Calls(LANDLOCK_UNKNOWN)],
    },
    Machine {
        name: "landlock-off",
        what: "a kernel with Landlock that was not switched on when it started",
        lacks: &[Lack::Calls(&[
            Taken::always(libc::SYS_landlock_create_ruleset, EOPNOTSUPP),
            Taken::always(libc::SYS_landlock_add_rule, EOPNOTSUPP),
            Taken::always(libc::SYS_landlock_restrict_self, EOPNOTSUPP),
        ])],
    },
    Machine {
        name: "landlock-2",
        what: "a kernel before 6.2, whose Landlock lets files be cut short",
        lacks: &[Lack::LandlockAbove(2)],
    },
    Machine {
        name: "landlock-3",
        what: "a kernel of 6.2, with the first Landlock that counts",
        lacks: &[Lack::LandlockAbove(3)],
    },
    Machine {
        name: "docker-with-landlock-5",
        what: "Docker's filter on a kernel before 6.12, whose Landlock knows no signals",
        lacks: &[
            Lack::Calls(NAMESPACES),
            Lack::Calls(CLONE3_UNKNOWN),
            Lack::Calls(MOUNTS_FORBIDDEN),
            Lack::LandlockAbove(5),
        ],
    },
    Machine {
        name: "docker-without-landlock",
        what: "Docker's filter on a kernel without Landlock",
        lacks: &[
            Lack::Calls(NAMESPACES),
            Lack::Calls(CLONE3_UNKNOWN),
            Lack::Calls(MOUNTS_FORBIDDEN),
            Lack::Calls(LANDLOCK_UNKNOWN),
        ],
    },
    Machine {
        name: "no-seccomp",
        what: "a kernel built without system call filters",
        lacks: &[Lack::Calls(&[Taken::always(libc::SYS_seccomp, ENOSYS)])],
    },
    Machine {
        name: "no-seccomp-filter",
        what: "a kernel with seccomp but without filters",
        lacks: &[Lack::Calls(&[Taken::always(libc::SYS_seccomp, EINVAL)])],
    },
    Machine {
        name: "user-namespaces-off",
        what: "user.max_user_namespaces is 0, for an ordinary user",
        lacks: &[Lack::Root { inside: ORDINARY }, Lack::UserNamespaces],
    },
    Machine {
        name: "user-namespaces-off-for-root",
        what: "user.max_user_namespaces is 0, for root of a rootless container",
        lacks: &[Lack::Root { inside: 0 }, Lack::UserNamespaces],
    },
    Machine {
        name: "user-of-a-rootless-container",
        what: "an ordinary user of a user namespace that knows no other user",
        lacks: &[Lack::Root { inside: ORDINARY }],
    },
    Machine {
        name: "rootless-container",
        what: "root of a user namespace that knows no other user",
        lacks: &[Lack::Root { inside: 0 }],
    },
    Machine {
        name: "masked-proc",
        what: "a container that covers parts of /proc, for the user who plays it",
        lacks: &[Lack::Proc],
    },
    Machine {
        name: "masked-proc-for-a-user",
        what: "a container that covers parts of /proc, for an ordinary user",
        lacks: &[Lack::Root { inside: ORDINARY }, Lack::Proc],
    },
    Machine {
        name: "apparmor",
        what: "user namespaces can be made and have no rights over mounts",
        lacks: &[Lack::Calls(MOUNTS_FORBIDDEN)],
    },
    Machine {
        name: "old-mounts",
        what: "a kernel before 5.2, without the newer mount calls",
        lacks: &[Lack::Calls(&[
            Taken::always(libc::SYS_fsopen, ENOSYS),
            Taken::always(libc::SYS_fsconfig, ENOSYS),
            Taken::always(libc::SYS_fsmount, ENOSYS),
            Taken::always(libc::SYS_open_tree, ENOSYS),
            Taken::always(libc::SYS_move_mount, ENOSYS),
            Taken::always(libc::SYS_mount_setattr, ENOSYS),
            Taken::always(libc::SYS_landlock_create_ruleset, ENOSYS),
        ])],
    },
    Machine {
        name: "no-mount-attributes",
        what: "a kernel before 5.12, which cannot change a mount by its descriptor; gVisor lacks the same call",
        lacks: &[
            Lack::Calls(&[Taken::always(libc::SYS_mount_setattr, ENOSYS)]),
            Lack::Calls(LANDLOCK_UNKNOWN),
        ],
    },
    Machine {
        name: "hangs-in-launcher",
        what: "making namespaces never ends",
        lacks: &[Lack::Calls(&[Taken::waiting(libc::SYS_unshare)])],
    },
    Machine {
        name: "hangs-in-clone",
        what: "making a process never ends, for an ordinary user's launcher",
        lacks: &[Lack::Root { inside: ORDINARY }, Lack::Calls(&[Taken::waiting(libc::SYS_clone3)])],
    },
    Machine {
        name: "hangs-in-child",
        what: "changing mounts never ends, as over a network file system that is gone",
        lacks: &[Lack::Calls(&[Taken::waiting(libc::SYS_mount_setattr)])],
    },
];

const NAMESPACES: &[Taken] = &[
    Taken::with_flags(libc::SYS_clone, NEW_NAMESPACES),
    Taken::with_flags(libc::SYS_unshare, NEW_NAMESPACES),
    Taken::always(libc::SYS_setns, EPERM),
];
/// `CLONE_NEW*`, of cgroup, mounts, UTS, IPC, user, PID and network.
const NEW_NAMESPACES: u32 = 0x7e02_0000;
/// Its flags are in memory, where no filter sees them; with this answer, libraries use clone instead.
const CLONE3_UNKNOWN: &[Taken] = &[Taken::always(libc::SYS_clone3, ENOSYS)];
const LANDLOCK_UNKNOWN: &[Taken] = &[
    Taken::always(libc::SYS_landlock_create_ruleset, ENOSYS),
    Taken::always(libc::SYS_landlock_add_rule, ENOSYS),
    Taken::always(libc::SYS_landlock_restrict_self, ENOSYS),
];
/// The question for the version is the call with this flag, its third argument.
const LANDLOCK_VERSION: &[Taken] = &[Taken::waiting_if(libc::SYS_landlock_create_ruleset, 2, 1)];
const MOUNTS_FORBIDDEN: &[Taken] = &[
    Taken::always(libc::SYS_mount, EPERM),
    Taken::always(libc::SYS_umount2, EPERM),
    Taken::always(libc::SYS_pivot_root, EPERM),
    Taken::always(libc::SYS_fsopen, EPERM),
    Taken::always(libc::SYS_fsconfig, EPERM),
    Taken::always(libc::SYS_fsmount, EPERM),
    Taken::always(libc::SYS_open_tree, EPERM),
    Taken::always(libc::SYS_move_mount, EPERM),
    Taken::always(libc::SYS_mount_setattr, EPERM),
];
const ORDINARY: u32 = 1000;
const HOLDER: &str = "holder";
