//! Calls that the filter keeps from the kernel.

use super::Attack;
use super::scene::{Answer, Refusal, Scene, all};
use super::trial::Expected;
use crate::sys::attack::{CALLS, call};
use rustix::io::Errno;

pub(crate) fn attacks() -> Vec<Attack> {
    let on = |name, what, seen| Attack::new(name, what, seen, made).at_every_level().met(FILTER);
    let mut list = vec![
        on("io-uring", "asks the kernel by rings, past the filter", "CVE-2022-29582, moby/moby#46762")
            .may_be_missing(),
        on(
            "userfaultfd",
            "stops the kernel in the middle of a copy",
            "moby/moby default profile, userfaultfd",
        )
        .may_be_missing(),
        on("bpf", "loads a program into the kernel", "CVE-2021-3490, CVE-2022-23222"),
        on("perf-events", "samples the kernel and other processes", "CVE-2013-2094, CVE-2023-2235"),
        on("keyrings", "reads and fills key rings, which no namespace parts", "CVE-2016-0728"),
        on("file-handles", "opens files by number, past the root", "shocker, CVE-2014-3519"),
        on("trace-a-process", "traces a process", "CVE-2019-13272"),
        on("memory-of-others", "reads and writes another process's memory", "general"),
        on("kernel-pointers", "learns the order of kernel addresses", "moby/moby default profile, kcmp"),
        on("descriptors-of-others", "takes another process's open files", "general, pidfd_getfd"),
        on("execute-by-descriptor", "executes what has no path", "general, execveat"),
        on("terminal-input", "types into the terminal of whoever started it", "CVE-2017-5226 (bubblewrap)"),
        on(
            "terminal-input-in-64-bits",
            "types, with a bit set that the kernel ignores",
            "CVE-2019-10063 (flatpak)",
        ),
        on(
            "terminal-takeover",
            "pastes into a console, changes a terminal's discipline",
            "CVE-2023-28100 (flatpak)",
        ),
        on("personality", "turns address randomisation off", "moby/moby default profile, personality"),
        on("filter-with-listener", "loads a filter of its own, to answer for the kernel", "general, seccomp"),
        on("watch-everything", "watches what others do with files", "general, fanotify").may_be_missing(),
        on("system-v-ipc", "uses shared memory, semaphores and queues by number", "CVE-2015-7613")
            .may_be_missing(),
        on("message-queues", "uses message queues by name", "CVE-2017-11176").may_be_missing(),
        on("swap-and-quota", "adds swap, changes quotas", "moby/moby default profile, swapon")
            .may_be_missing(),
        on("clocks", "sets the machine's clock", "moby/moby default profile, clock_settime"),
        on("reboot", "reboots the machine", "moby/moby default profile, reboot").in_namespaces(),
        on("memory-placement", "moves pages between memory nodes", "CVE-2010-0415 (move_pages)")
            .may_be_missing(),
        on("scheduling", "takes a real-time scheduling class", "moby/moby default profile, sched_setattr"),
        on(
            "mount-api",
            "mounts by the newer calls, which old filters do not list",
            "CVE-2021-41133 (flatpak)",
        )
        .in_namespaces(),
        on("pivot-root", "changes the root", "moby/moby default profile, pivot_root").in_namespaces(),
        on("list-mounts", "lists mounts by the newest calls", "general, statmount").may_be_missing(),
        on("newer-calls", "uses calls that are younger than the filter's list", "moby/moby#42680")
            .may_be_missing(),
        on(
            "clone3",
            "makes namespaces by a call whose flags no filter sees",
            "CVE-2021-41133, moby/moby#42680",
        ),
        on("unshare", "makes a user namespace, to be root in it", "CVE-2022-0185, CVE-2021-22555"),
        on("setns", "enters another namespace", "general, setns"),
        on("pipe-splicing", "gives its own pages to a pipe", "CVE-2008-0600, CVE-2022-0847").may_be_missing(),
        on("change-identity", "changes capabilities", "general, capset"),
        on("socket-filter", "loads a program into the kernel by a socket", "CVE-2021-29154 (BPF compiler)")
            .met("the system call filter: no socket takes a program"),
        on("kernel-memory-pages", "makes files that no limit counts", "general, memfd").may_be_missing(),
    ];
    if cfg!(target_arch = "x86_64") {
        list.extend([
            on(
                "processor-tables",
                "changes segment descriptors, asks for the machine's ports",
                "CVE-2017-17053, moby/moby default profile, iopl",
            )
            .may_be_missing(),
            on("x32-calls", "makes calls by the x32 numbers", "CVE-2014-0038")
                .expect(Expected::Signal(SIGNAL_OF_THE_FILTER))
                .met("the filter kills for a call of another architecture"),
            Attack::new(
                "calls-of-32-bit-programs",
                "makes calls by the 32-bit door, with its own numbers",
                CALLS_OF_32,
                by_32_bit,
            )
            .expect(Expected::Signal(SIGNAL_OF_THE_FILTER))
            .may_be_missing()
            .at_every_level()
            .met("the filter kills for a call of another architecture"),
        ]);
    }
    list
}

/// Makes every call of the attack. One that gets to the kernel counts as made, whatever the kernel says.
fn made(scene: &Scene) -> Answer {
    all(CALLS.iter().filter(|row| row.attack == scene.name).map(|row| {
        let result = match call(row) {
            Err(errno @ (Errno::PERM | Errno::NOSYS)) => Err(Refusal::from(errno)),
            _ => Ok(()),
        };
        (row.name, result)
    }))
}

#[cfg(target_arch = "x86_64")]
fn by_32_bit(_: &Scene) -> Answer {
    match crate::sys::attack::getpid_of_32_bit() {
        pid if pid > 0 => Ok(format!("pid {pid}")),
        error => Err(Refusal::of(error)),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn by_32_bit(_: &Scene) -> Answer {
    Err(Refusal::of("no such door"))
}

const FILTER: &str = "the system call filter: not on the list of allowed calls";
const CALLS_OF_32: &str = "CVE-2009-0835";
const SIGNAL_OF_THE_FILTER: u8 = 31;
