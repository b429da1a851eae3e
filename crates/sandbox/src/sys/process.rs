//! Making processes and closing descriptors.

use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::process::Pid;

use super::check;

/// Which side of a clone this is.
pub(crate) enum Clone {
    /// The parent, with the child's process descriptor.
    Parent { child: Pid, pidfd: OwnedFd },
    /// The child.
    Child,
}

/// Namespaces for a new process, as `CLONE_NEW*` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Namespaces(u64);

impl Namespaces {
    pub(crate) const NONE: Self = Self(0);
    /// A user namespace alone.
    pub(crate) const USER: Self = Self(libc::CLONE_NEWUSER as u64);
    /// Everything that hides the host, for the zygote.
    pub(crate) const OF_THE_ZYGOTE: Self = Self(
        (libc::CLONE_NEWUSER
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWNET
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWCGROUP) as u64,
    );
    /// What a run has for itself. The rest it shares with the zygote and with other runs: the filter lets nobody use
    /// or change what is in there, no queue, no segment, no name.
    pub(crate) const OF_A_RUN: Self =
        Self((libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWNET) as u64);
}

/// Makes a child process with its own copy of this one's memory, in new namespaces.
///
/// The caller must be single-threaded: the child goes on in a copy of this process, where the locks of other threads
/// would stay taken for ever.
pub(crate) fn clone(namespaces: Namespaces) -> Result<Clone, Errno> {
    let mut pidfd: RawFd = -1;
    let arguments = libc::clone_args {
        flags: namespaces.0 | libc::CLONE_PIDFD as u64,
        pidfd: &raw mut pidfd as u64,
        child_tid: 0,
        parent_tid: 0,
        exit_signal: libc::SIGCHLD as u64,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: 0,
    };
    // SAFETY: clone3(2) without CLONE_VM and without a stack behaves like fork(2): the child gets a copy of the whole
    // address space and returns from this very call, so no memory is shared and no frame is left dangling. `arguments`
    // and `pidfd` live until the call returns, and the size is that of the structure.
    let mut result =
        unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) };
    if matches!(check(result), Err(Errno::NOSYS)) {
        // Containers answer so, because their filters cannot look into the structure; the older call has its flags in
        // an argument, with the signal in their lowest byte.
        let flags = arguments.flags | arguments.exit_signal;
        // SAFETY: as above; clone(2) stores the process descriptor where its third argument points.
        result = unsafe {
            libc::syscall(libc::SYS_clone, flags, std::ptr::null::<u8>(), &raw mut pidfd, 0usize, 0usize)
        };
    }
    match check(result)? {
        0 => Ok(Clone::Child),
        child => {
            // SAFETY: with CLONE_PIDFD the kernel stored a new descriptor that nobody else owns.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            let child = i32::try_from(child).ok().and_then(Pid::from_raw).ok_or(Errno::INVAL)?;
            Ok(Clone::Parent { child, pidfd })
        }
    }
}

/// Leaves the current namespaces for new ones.
pub(crate) fn unshare(flags: libc::c_int) -> Result<(), Errno> {
    // SAFETY: unshare(2) takes an integer and touches no memory of ours. None of the flags used here (user, mount and
    // network namespaces) change what this process's memory or descriptors mean to Rust.
    check(libc::c_long::from(unsafe { libc::unshare(flags) })).map(drop)
}

/// Marks every descriptor from `first` on to be closed by the next exec.
pub(crate) fn close_on_exec_from(first: u32) -> Result<(), Errno> {
    close(first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC)
}

/// Closes every descriptor from `first` to `last`, whoever thinks to own it.
///
/// Only for a process that forgets its owners: one that never returns to code holding an `OwnedFd` of such a number.
pub(crate) fn close_range(first: u32, last: u32) -> Result<(), Errno> {
    close(first, last, 0)
}

fn close(first: u32, last: u32, flags: u32) -> Result<(), Errno> {
    // SAFETY: close_range(2) takes integers only. With CLOEXEC nothing is closed now. Without it, callers are the
    // launcher before it owns anything and the init process, which lives in a copy and returns to no owner.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) }).map(drop)
}

/// Ends this process at once, without running what the copied parent registered for its own exit.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: _exit(2) takes an integer and does not return.
    unsafe { libc::_exit(code) }
}

/// Waits for one of the signals in `set`, which the caller has blocked.
pub(crate) fn wait_for_signal(set: &SignalSet) -> Result<i32, Errno> {
    // SAFETY: both pointers are to live values of the right type or null, which sigwaitinfo(2) allows.
    let signal = unsafe { libc::sigwaitinfo(&raw const set.0, std::ptr::null_mut()) };
    check(libc::c_long::from(signal)).map(|_| signal)
}

/// Takes one of the signals in `set`, which the caller has blocked, if one has come.
pub(crate) fn has_signal(set: &SignalSet) -> bool {
    let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointers are to live values of the right type or null, which sigtimedwait(2) allows.
    unsafe { libc::sigtimedwait(&raw const set.0, std::ptr::null_mut(), &raw const now) > 0 }
}

/// A set of signals.
pub(crate) struct SignalSet(libc::sigset_t);

impl SignalSet {
    /// The set of these signals.
    pub(crate) fn of(signals: &[i32]) -> Self {
        // SAFETY: sigemptyset(3) initialises the whole set that it is given, and sigset_t is plain integers.
        let mut set = unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            set
        };
        for signal in signals {
            // SAFETY: the set is initialised; a number that is no signal makes the call fail and changes nothing.
            unsafe { libc::sigaddset(&raw mut set, *signal) };
        }
        Self(set)
    }

    /// Makes this the set of blocked signals of the only thread.
    pub(crate) fn block_only(&self) -> Result<(), Errno> {
        // SAFETY: the set is initialised, and the old one is not asked for.
        let result = unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
        check(libc::c_long::from(result)).map(drop)
    }
}

/// Gives a signal its default action again.
pub(crate) fn reset_signal(signal: i32) {
    // SAFETY: SIG_DFL is no function pointer of ours, so nothing is called later that might be gone.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}
