//! Calls that only attacks make.

use std::os::fd::{AsFd, AsRawFd as _};

use libc::c_long;
use rustix::io::Errno;

use super::check;

/// One call of an attack, from [`CALLS`] and nowhere else.
#[derive(Debug)]
pub(crate) struct Call {
    /// The attack.
    pub(crate) attack: &'static str,
    /// The call.
    pub(crate) name: &'static str,
    number: c_long,
    arguments: [c_long; 5],
}

const fn on(attack: &'static str, name: &'static str, number: c_long, arguments: [c_long; 5]) -> Call {
    Call { attack, name, number, arguments }
}

/// Makes a call of the table.
pub(crate) fn call(call: &Call) -> Result<c_long, Errno> {
    let [first, second, third, fourth, fifth] = call.arguments;
    // SAFETY: a `Call` cannot be made elsewhere, and every row of the table passes integers, null pointers and numbers
    // that are no descriptor: no call of it reads, writes or unmaps memory of ours.
    check(unsafe { libc::syscall(call.number, first, second, third, fourth, fifth, 0) })
}

/// Makes a child in these new namespaces, which leaves at once.
pub(crate) fn clone_into(namespaces: libc::c_int) -> Result<(), Errno> {
    let flags = c_long::from(namespaces | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and without a stack this is fork(2): the child has a copy of everything, and all that it
    // does with it is to leave.
    let child = check(unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) })?;
    if child == 0 {
        super::process::exit(0);
    }
    Ok(())
}

/// Asks for the pid by the door of 32-bit programs, which has call numbers of its own.
#[cfg(target_arch = "x86_64")]
pub(crate) fn getpid_of_32_bit() -> i64 {
    let mut result: i64 = 20;
    // SAFETY: interrupt 0x80 with 20 in eax is getpid(2), which touches no memory. The kernel keeps every register but
    // rax, and on 64-bit entry r8 to r11, which are named as lost.
    unsafe {
        std::arch::asm!("int 0x80", inout("rax") result, out("r8") _, out("r9") _, out("r10") _, out("r11") _);
    }
    result
}

/// Maps `bytes` of new memory and touches one byte in every `step`, then lets go of it.
pub(crate) fn map_and_touch(bytes: usize, step: usize, protection: i32, flags: i32) -> Result<(), Errno> {
    let flags = flags | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: the kernel picks a free place; nothing that Rust knows of is there.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(super::last_error());
    }
    for offset in (0..bytes).step_by(step) {
        let at = start.cast::<u8>().wrapping_add(offset);
        if protection & libc::PROT_WRITE == 0 {
            // SAFETY: inside the mapping made above, which is readable.
            unsafe { at.read_volatile() };
        } else {
            // SAFETY: inside the mapping made above, which is writable and nobody else's.
            unsafe { at.write_volatile(1) };
        }
    }
    // SAFETY: exactly the mapping made above, of which no reference is left.
    check(c_long::from(unsafe { libc::munmap(start, bytes) })).map(drop)
}

/// Asks to be told before anyone else opens the file, who then has to wait.
pub(crate) fn lease(file: impl AsFd) -> Result<(), Errno> {
    // SAFETY: fcntl(2) with this command takes a descriptor and an integer.
    let result = unsafe { libc::fcntl(file.as_fd().as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) };
    check(c_long::from(result)).map(drop)
}

/// Has `process` killed when something can be read.
pub(crate) fn signal_owner(file: impl AsFd, process: rustix::process::Pid) -> Result<(), Errno> {
    let file = file.as_fd().as_raw_fd();
    let settings = [
        (libc::F_SETOWN, process.as_raw_nonzero().get()),
        (SET_SIGNAL, libc::SIGKILL),
        (libc::F_SETFL, libc::O_ASYNC),
    ];
    settings.into_iter().try_for_each(|(command, value)| {
        // SAFETY: fcntl(2) with these commands takes a descriptor and an integer.
        check(c_long::from(unsafe { libc::fcntl(file, command, value) })).map(drop)
    })
}

/// Makes timers that are never set, and says how many there are. They end with the process.
pub(crate) fn make_timers(count: usize) -> usize {
    let make = || {
        let mut timer = std::ptr::null_mut();
        // SAFETY: the kernel stores an identifier in `timer`; without an event the signal is the usual one.
        unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, std::ptr::null_mut(), &raw mut timer) == 0 }
    };
    (0..count).take_while(|_| make()).count()
}

/// Maps `bytes` of new memory and keeps them from being paged out.
pub(crate) fn lock_memory(bytes: usize) -> Result<(), Errno> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the kernel picks a free place; nothing that Rust knows of is there.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(super::last_error());
    }
    // SAFETY: locking changes nothing that Rust can see of memory.
    check(c_long::from(unsafe { libc::mlock(start, bytes) })).map(drop)
}

/// Kills everybody that this process may, but not itself and the first of its namespace.
pub(crate) fn kill_everybody() -> Result<(), Errno> {
    // SAFETY: kill(2) takes integers.
    check(c_long::from(unsafe { libc::kill(-1, libc::SIGKILL) })).map(drop)
}

/// Sends itself so many signals that are kept one by one, and lets none of them arrive.
pub(crate) fn queue_signals(count: usize) -> Result<(), Errno> {
    let signal = libc::SIGRTMIN();
    super::process::SignalSet::of(&[signal]).block_only()?;
    let value = libc::sigval { sival_ptr: std::ptr::null_mut() };
    // SAFETY: sigqueue(3) takes integers and a value that nobody looks at; the signal is blocked in the only thread.
    (0..count).try_for_each(|_| {
        check(c_long::from(unsafe { libc::sigqueue(libc::getpid(), signal, value) })).map(drop)
    })
}

/// Has a signal sent whenever somebody reads a file of the folder.
pub(crate) fn watch_reading(folder: impl AsFd) -> Result<(), Errno> {
    // SAFETY: fcntl(2) with this command takes a descriptor and an integer.
    check(c_long::from(unsafe { libc::fcntl(folder.as_fd().as_raw_fd(), libc::F_NOTIFY, WHEN_READ) }))
        .map(drop)
}

pub(crate) use super::process::ignore_signal;

/// Handles a signal by doing nothing, which, unlike ignoring it, a program that is executed does not inherit.
pub(crate) fn survive_signal(signal: i32) {
    extern "C" fn nothing(_: i32) {}
    let handler: extern "C" fn(i32) = nothing;
    // SAFETY: the handler has the signature that the kernel calls it with, lives for ever and touches nothing.
    unsafe { libc::signal(signal, handler as libc::sighandler_t) };
}

/// `DN_ACCESS`.
const WHEN_READ: libc::c_int = 1;
/// `F_SETSIG`.
const SET_SIGNAL: libc::c_int = 10;
const NOT_A_DESCRIPTOR: c_long = -1;
const NULL: c_long = 0;
const BAD: c_long = 0x7fff_ffff;
#[cfg(target_arch = "x86_64")]
const X32: c_long = 0x4000_0000;

/// Calls that the filter must not let through to the kernel. The arguments are chosen so that anybody who is let
/// through gets an answer other than "not permitted" and "no such call", and nothing happens.
#[rustfmt::skip]
pub(crate) const CALLS: &[Call] = &[
    on("io-uring", "io_uring_setup", libc::SYS_io_uring_setup, [1, NULL, 0, 0, 0]),
    on("io-uring", "io_uring_enter", libc::SYS_io_uring_enter, [NOT_A_DESCRIPTOR, 1, 0, 0, 0]),
    on("io-uring", "io_uring_register", libc::SYS_io_uring_register, [NOT_A_DESCRIPTOR, 0, NULL, 0, 0]),
    on("userfaultfd", "userfaultfd", libc::SYS_userfaultfd, [1, 0, 0, 0, 0]),
    on("bpf", "bpf", libc::SYS_bpf, [0, NULL, 1 << 20, 0, 0]),
    on("perf-events", "perf_event_open", libc::SYS_perf_event_open, [NULL, 0, -1, -1, BAD]),
    on("keyrings", "keyctl", libc::SYS_keyctl, [0, -3, 0, 0, 0]),
    on("keyrings", "add_key", libc::SYS_add_key, [NULL, NULL, NULL, 0, 0]),
    on("keyrings", "request_key", libc::SYS_request_key, [NULL, NULL, NULL, 0, 0]),
    on("file-handles", "name_to_handle_at", libc::SYS_name_to_handle_at, [NOT_A_DESCRIPTOR, NULL, NULL, NULL, 0]),
    on("file-handles", "open_by_handle_at", libc::SYS_open_by_handle_at, [NOT_A_DESCRIPTOR, NULL, 0, 0, 0]),
    on("trace-a-process", "ptrace", libc::SYS_ptrace, [16, 0, 0, 0, 0]),
    on("memory-of-others", "process_vm_readv", libc::SYS_process_vm_readv, [0, NULL, 0, NULL, 0]),
    on("memory-of-others", "process_vm_writev", libc::SYS_process_vm_writev, [0, NULL, 0, NULL, 0]),
    on("memory-of-others", "process_madvise", libc::SYS_process_madvise, [NOT_A_DESCRIPTOR, NULL, 0, 0, 0]),
    on("kernel-pointers", "kcmp", libc::SYS_kcmp, [0, 0, 99, 0, 0]),
    on("descriptors-of-others", "pidfd_getfd", libc::SYS_pidfd_getfd, [NOT_A_DESCRIPTOR, 0, 0, 0, 0]),
    on("execute-by-descriptor", "execveat", libc::SYS_execveat, [NOT_A_DESCRIPTOR, NULL, NULL, NULL, BAD]),
    on("terminal-input", "ioctl TIOCSTI", libc::SYS_ioctl, [0, 0x5412, NULL, 0, 0]),
    on("terminal-input-in-64-bits", "ioctl TIOCSTI | 1 << 32", libc::SYS_ioctl, [0, 0x5412 | 1 << 32, NULL, 0, 0]),
    on("terminal-takeover", "ioctl TIOCLINUX", libc::SYS_ioctl, [0, 0x541c, NULL, 0, 0]),
    on("terminal-takeover", "ioctl TIOCSETD", libc::SYS_ioctl, [0, 0x5423, NULL, 0, 0]),
    on("terminal-takeover", "ioctl TIOCSCTTY", libc::SYS_ioctl, [0, 0x540e, 0, 0, 0]),
    on("personality", "personality ADDR_NO_RANDOMIZE", libc::SYS_personality, [0x0004_0000, 0, 0, 0, 0]),
    on("filter-with-listener", "seccomp", libc::SYS_seccomp, [2, 0, NULL, 0, 0]),
    on("watch-everything", "fanotify_init", libc::SYS_fanotify_init, [0x200, 0, 0, 0, 0]),
    on("watch-everything", "fanotify_mark", libc::SYS_fanotify_mark, [NOT_A_DESCRIPTOR, 1, 1, NOT_A_DESCRIPTOR, NULL]),
    on("system-v-ipc", "shmget", libc::SYS_shmget, [0x7f3a_c0de, 1, 0, 0, 0]),
    on("system-v-ipc", "semget", libc::SYS_semget, [0x7f3a_c0de, 1, 0, 0, 0]),
    on("system-v-ipc", "msgget", libc::SYS_msgget, [0x7f3a_c0de, 0, 0, 0, 0]),
    on("message-queues", "mq_open", libc::SYS_mq_open, [NULL, 0, 0, NULL, 0]),
    on("message-queues", "mq_unlink", libc::SYS_mq_unlink, [NULL, 0, 0, 0, 0]),
    on("swap-and-quota", "swapon", libc::SYS_swapon, [NULL, BAD, 0, 0, 0]),
    on("swap-and-quota", "quotactl", libc::SYS_quotactl, [99, NULL, 0, NULL, 0]),
    on("clocks", "clock_settime", libc::SYS_clock_settime, [BAD, NULL, 0, 0, 0]),
    on("clocks", "settimeofday", libc::SYS_settimeofday, [-1, NULL, 0, 0, 0]),
    on("clocks", "adjtimex", libc::SYS_adjtimex, [NULL, 0, 0, 0, 0]),
    on("clocks", "clock_adjtime", libc::SYS_clock_adjtime, [BAD, NULL, 0, 0, 0]),
    #[cfg(target_arch = "x86_64")]
    on("processor-tables", "ioperm", libc::SYS_ioperm, [0, 1, 0, 0, 0]),
    #[cfg(target_arch = "x86_64")]
    on("processor-tables", "iopl", libc::SYS_iopl, [0, 0, 0, 0, 0]),
    #[cfg(target_arch = "x86_64")]
    on("processor-tables", "modify_ldt", libc::SYS_modify_ldt, [0, NULL, 0, 0, 0]),
    on("reboot", "reboot", libc::SYS_reboot, [0, 0, 0, NULL, 0]),
    on("memory-placement", "set_mempolicy", libc::SYS_set_mempolicy, [99, NULL, 0, 0, 0]),
    on("memory-placement", "mbind", libc::SYS_mbind, [NULL, 0, 99, NULL, 0]),
    on("memory-placement", "move_pages", libc::SYS_move_pages, [0, 0, NULL, NULL, NULL]),
    on("scheduling", "sched_setscheduler", libc::SYS_sched_setscheduler, [0, 99, NULL, 0, 0]),
    on("scheduling", "sched_setattr", libc::SYS_sched_setattr, [0, NULL, 0, 0, 0]),
    on("scheduling", "ioprio_set", libc::SYS_ioprio_set, [99, 0, 0, 0, 0]),
    on("mount-api", "fsopen", libc::SYS_fsopen, [NULL, 0, 0, 0, 0]),
    on("mount-api", "fspick", libc::SYS_fspick, [NOT_A_DESCRIPTOR, NULL, 0, 0, 0]),
    on("mount-api", "fsconfig", libc::SYS_fsconfig, [NOT_A_DESCRIPTOR, 0, NULL, NULL, 0]),
    on("mount-api", "fsmount", libc::SYS_fsmount, [NOT_A_DESCRIPTOR, 0, 0, 0, 0]),
    on("mount-api", "open_tree", libc::SYS_open_tree, [NOT_A_DESCRIPTOR, NULL, 1, 0, 0]),
    on("mount-api", "move_mount", libc::SYS_move_mount, [NOT_A_DESCRIPTOR, NULL, NOT_A_DESCRIPTOR, NULL, 0]),
    on("mount-api", "mount_setattr", libc::SYS_mount_setattr, [NOT_A_DESCRIPTOR, NULL, 0, NULL, 32]),
    on("pivot-root", "pivot_root", libc::SYS_pivot_root, [NULL, NULL, 0, 0, 0]),
    on("list-mounts", "statmount", 457, [NULL, NULL, 0, 0, 0]),
    on("list-mounts", "listmount", 458, [NULL, NULL, 0, 0, 0]),
    on("newer-calls", "fchmodat2", 452, [NOT_A_DESCRIPTOR, NULL, 0, 0, 0]),
    on("newer-calls", "setxattrat", 463, [NOT_A_DESCRIPTOR, NULL, 0, NULL, NULL]),
    on("newer-calls", "landlock_create_ruleset", 444, [NULL, 0, 1, 0, 0]),
    on("newer-calls", "cachestat", 451, [NOT_A_DESCRIPTOR, NULL, NULL, 0, 0]),
    on("clone3", "clone3", libc::SYS_clone3, [NULL, 0, 0, 0, 0]),
    on("unshare", "unshare", libc::SYS_unshare, [libc::CLONE_NEWUSER as c_long, 0, 0, 0, 0]),
    on("setns", "setns", libc::SYS_setns, [NOT_A_DESCRIPTOR, 0, 0, 0, 0]),
    on("pipe-splicing", "vmsplice", libc::SYS_vmsplice, [NOT_A_DESCRIPTOR, NULL, 0, 0, 0]),
    on("change-identity", "capset", libc::SYS_capset, [NULL, NULL, 0, 0, 0]),
    on("socket-filter", "setsockopt SO_ATTACH_FILTER", libc::SYS_setsockopt, [NOT_A_DESCRIPTOR, 1, 26, NULL, 0]),
    on("socket-filter", "setsockopt SO_ATTACH_BPF", libc::SYS_setsockopt, [NOT_A_DESCRIPTOR, 1, 50, NULL, 0]),
    on("socket-filter", "setsockopt SO_ATTACH_REUSEPORT_CBPF", libc::SYS_setsockopt, [NOT_A_DESCRIPTOR, 1, 51, NULL, 0]),
    on("kernel-memory-pages", "memfd_secret", libc::SYS_memfd_secret, [BAD, 0, 0, 0, 0]),
    on("kernel-memory-pages", "memfd_create", libc::SYS_memfd_create, [NULL, 0, 0, 0, 0]),
    #[cfg(target_arch = "x86_64")]
    on("x32-calls", "getpid of x32", X32 | libc::SYS_getpid, [0; 5]),
];
