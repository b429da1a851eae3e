//! The child's side: pid 1 of the sandbox, and the process that becomes the program.
//!
//! Runs in a copy of the zygote. Whatever fails is a record that names the step; nothing falls back to less.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::rc::Rc;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use crate::kernel::END;
use crate::landlock::Rights;
use crate::mount::Failure;
use crate::profile::Limits;
use crate::sys::exec::execve;
use crate::sys::landlock::{self, SignalDomain};
use crate::sys::process::{self, Clone, Namespaces, SignalSet};
use crate::sys::seccomp;
use crate::wire::{Record, Request, Step};
use crate::zygote::write_file;

/// What every run is made from.
pub(crate) struct Job {
    pub(crate) request: Request,
    /// Standard input, output and error.
    pub(crate) standard: [OwnedFd; 3],
    /// The system call filter.
    pub(crate) filter: Rc<[seccomp::Instruction]>,
    pub(crate) rights: Rights,
    /// Processes that the kernel counts to the limit and that are none of this run.
    pub(crate) others: u64,
}

/// What surrounds a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Namespaces of its own.
    Namespaces,
    /// The host's.
    Kernel,
}

/// A file or folder, and what Landlock lets the child do with it and all below.
pub(crate) struct Rule {
    pub(crate) file: OwnedFd,
    pub(crate) allowed: u64,
}

/// What nobody has.
pub(crate) enum Never {}

/// What an init waits for.
pub(crate) fn signals() -> SignalSet {
    SignalSet::of(&[libc::SIGCHLD, libc::SIGTERM, END.as_raw()])
}

/// Waits for everything that ends up without a parent, and leaves when the program has left.
///
/// In a domain it ends the others of the run itself; in a namespace the kernel does.
pub(crate) fn reap(program: Pid, [report, executed]: [&OwnedFd; 2], domain: Option<&SignalDomain>) -> ! {
    let leave = |code| {
        if let Some(domain) = domain {
            crate::kernel::end_everybody(domain);
        }
        process::exit(code)
    };
    if crate::kernel::await_set_up(executed).is_err() {
        leave(SETUP_FAILED);
    }
    let mut record = [0; crate::wire::RECORD_BYTES];
    let ended = rustix::io::read(executed, &mut record);
    match ended {
        // If nobody hears it, nobody waits for the program, and nobody would end it.
        Ok(0) if rustix::io::write(report, &Record::Executed.to_bytes()).is_ok() => {}
        // Passed on as it came; it is checked where it arrives.
        Ok(length) if length > 0 => {
            let _ = rustix::io::write(report, &record[..length]);
            leave(SETUP_FAILED);
        }
        _ => leave(SETUP_FAILED),
    }
    loop {
        match process::wait_for_signal(&signals()) {
            // The polite end: everybody but us is asked.
            Ok(libc::SIGTERM) => {
                let _ = rustix::process::kill_process_group(program, Signal::TERM);
                continue;
            }
            // A namespace is ended by killing its init, and from inside anybody could send this.
            Ok(signal) if signal == END.as_raw() && domain.is_some() => leave(0),
            _ => {}
        }
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if pid != program {
                continue;
            }
            let record = match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Record::Exited { code: u8::try_from(code).unwrap_or(u8::MAX) },
                (_, Some(signal)) => Record::Signalled { signal: u8::try_from(signal).unwrap_or(u8::MAX) },
                _ => continue,
            };
            send(report, record);
            leave(0);
        }
    }
}

/// The first half of the way from a copy of init to the program: what it can lose before it knows what it is to do. Each
/// step takes something away for ever.
pub(crate) fn shed(kind: Kind) -> Result<(), Failure> {
    let at = |step| move |errno| (step, errno);
    SignalSet::of(&[]).block_only().map_err(at(Step::Session))?;
    process::reset_signal(libc::SIGPIPE);
    rustix::process::setsid().map_err(at(Step::Session))?;
    match kind {
        Kind::Namespaces => {
            inner_namespace().map_err(at(Step::InnerNamespace))?;
            give_up_privileges().map_err(at(Step::Privileges))
        }
        Kind::Kernel => drop_capabilities().map_err(at(Step::Privileges)),
    }
}

/// The second half.
pub(crate) fn become_program(job: &Job, rules: &[Rc<Rule>]) -> Result<Never, Failure> {
    let Job { request, standard, filter, rights, others, .. } = job;
    let at = |step| move |errno| (step, errno);
    rustix::process::chdir(request.directory.as_c_str()).map_err(at(Step::Directory))?;
    restrict_files(rules, *rights).map_err(at(Step::Landlock))?;
    // Not before: at the lowest limit of open files the steps above could open none.
    limit(request.limits, *others)?;
    if request.program.is_empty() {
        try_process_limit().map_err(at(Step::ProcessLimit))?;
    }
    for (number, fd) in standard.iter().enumerate() {
        put_at(fd, number).map_err(at(Step::Descriptors))?;
    }
    process::close_on_exec_from(3).map_err(at(Step::Descriptors))?;
    seccomp::install(filter).map_err(at(Step::Seccomp))?;
    if request.program.is_empty() {
        process::exit(0);
    }
    let arguments: Vec<&CStr> =
        std::iter::once(&request.program).chain(&request.arguments).map(CString::as_c_str).collect();
    let environment: Vec<&CStr> = request.environment.iter().map(CString::as_c_str).collect();
    Err((Step::Execute, execve(&request.program, &arguments, &environment)))
}

/// Above what the host itself was given nothing can be set, and then the step tells which limit it was.
fn limit(limits: Limits, others: u64) -> Result<(), Failure> {
    let set = |resource, soft, hard, step| {
        rustix::process::setrlimit(resource, Rlimit { current: Some(soft), maximum: Some(hard) })
            .map_err(|errno| (step, errno))
    };
    // Pages that are only read count for no limit, but their tables take memory: one byte for each 512. Programs that
    // reserve much more than they use, as Node does, need as much of it.
    let addresses = ADDRESSES_PER_BYTE * limits.memory_bytes_per_process;
    for (resource, value, step) in [
        // Zero would let a handler of the host's read a crashed program; at one byte the kernel starts none.
        (Resource::Core, 1, Step::Limits),
        (Resource::Nice, 0, Step::Limits),
        (Resource::Rtprio, 0, Step::Limits),
        (Resource::Memlock, 0, Step::Limits),
        (Resource::Msgqueue, 0, Step::Limits),
        (Resource::Stack, STACK_BYTES, Step::Limits),
        (Resource::Fsize, limits.file_bytes, Step::FileLimit),
        (Resource::Nofile, limits.open_files, Step::OpenFilesLimit),
        (Resource::Nproc, limits.processes + others, Step::ProcessesLimit),
        (Resource::Data, limits.memory_bytes_per_process, Step::MemoryLimit),
        (Resource::As, addresses, Step::MemoryLimit),
    ] {
        set(resource, value, value, step)?;
    }
    // The kernel counts them for the user, whose own programs would get none.
    let signals = rustix::process::getrlimit(Resource::Sigpending).maximum.unwrap_or(SIGNALS_QUEUED);
    let signals = signals.min(SIGNALS_QUEUED);
    set(Resource::Sigpending, signals, signals, Step::Limits)?;
    // One more second before the signal that cannot be caught.
    set(Resource::Cpu, limits.cpu_seconds, limits.cpu_seconds + 1, Step::CpuLimit)
}

/// The kernel holds its own root to no number of processes, in whatever user namespace it hides.
fn try_process_limit() -> Result<(), Errno> {
    // At this limit one more is too many however many others there are, which come and go.
    let one = Rlimit { current: Some(1), maximum: Some(1) };
    rustix::process::setrlimit(Resource::Nproc, one)?;
    match process::clone(Namespaces::NONE) {
        Ok(Clone::Child) => process::exit(0),
        Ok(Clone::Parent { .. }) => Err(Errno::PERM),
        Err(Errno::AGAIN) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// A user namespace below the one that owns the mounts: what was set up can no longer be changed from inside.
fn inner_namespace() -> Result<(), Errno> {
    // Changing the identity made /proc/self another's; the maps must be written by their owner.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable)?;
    process::unshare(libc::CLONE_NEWUSER)?;
    let map = format!("{INSIDE_ID} {INSIDE_ID} 1\n");
    // Changing groups was denied in the namespace above, for good.
    write_file("/proc/self/uid_map", &map)?;
    write_file("/proc/self/gid_map", &map)
}

fn give_up_privileges() -> Result<(), Errno> {
    rustix::thread::set_no_new_privs(true)?;
    let locked = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    rustix::thread::set_capabilities_secure_bits(locked)?;
    for number in 0..CAPABILITIES_MAX {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // Beyond the last one that this kernel knows.
            Err(Errno::INVAL) => break,
            removed => removed?,
        }
    }
    drop_capabilities()
}

/// A service may have been given some, and a child of a root host has lost its own with its user.
fn drop_capabilities() -> Result<(), Errno> {
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none)?;
    has_no_privileges()
}

fn has_no_privileges() -> Result<(), Errno> {
    let CapabilitySets { effective, permitted, inheritable } = rustix::thread::capabilities(None)?;
    let none = effective.is_empty() && permitted.is_empty() && inheritable.is_empty();
    if none && rustix::thread::no_new_privs()? { Ok(()) } else { Err(Errno::PERM) }
}

fn restrict_files(rules: &[Rc<Rule>], rights: Rights) -> Result<(), Errno> {
    if rights.handled().files == 0 {
        return Ok(());
    }
    let ruleset = landlock::create(rights.handled(), rights.size())?;
    for Rule { file, allowed } in rules.iter().map(Rc::as_ref) {
        landlock::add_path(&ruleset, file, *allowed)?;
    }
    landlock::restrict_self(&ruleset)
}

/// Puts a copy of `fd` at one of the three standard numbers.
fn put_at(fd: &OwnedFd, number: usize) -> Result<(), Errno> {
    match number {
        0 => rustix::stdio::dup2_stdin(fd),
        1 => rustix::stdio::dup2_stdout(fd),
        _ => rustix::stdio::dup2_stderr(fd),
    }
}

/// Becomes the sandbox's user, once the launcher has mapped it.
pub(crate) fn take_identity(mapped: &OwnedFd) -> Result<(), Failure> {
    await_close(mapped).map_err(|errno| (Step::MapIds, errno))?;
    become_user(INSIDE_ID).map_err(|errno| (Step::Identity, errno))
}

/// Takes a user and the group of the same number.
pub(crate) fn become_user(id: u32) -> Result<(), Errno> {
    let (uid, gid) = (rustix::process::Uid::from_raw(id), rustix::process::Gid::from_raw(id));
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)
}

pub(crate) fn die_with_parent() -> Result<(), Errno> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
}

/// Whether a process has ended, without waiting for it.
pub(crate) fn has_ended(process: &OwnedFd) -> Result<bool, Errno> {
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut ended = [PollFd::new(process, PollFlags::IN)];
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut ended, Some(&now))).map(|count| count > 0)
}

/// Closes every descriptor of this process but these, which are the only ones that anybody here uses again.
pub(crate) fn close_all_but(kept: &[&OwnedFd]) -> Result<(), Errno> {
    let mut kept: Vec<u32> =
        kept.iter().map(|fd| u32::try_from(fd.as_raw_fd()).unwrap_or(u32::MAX)).collect();
    kept.sort_unstable();
    let mut from = 0;
    for fd in kept {
        if fd > from {
            process::close_range(from, fd - 1)?;
        }
        from = fd + 1;
    }
    process::close_range(from, u32::MAX)
}

/// Waits until the other end of the pipe is closed.
pub(crate) fn await_close(pipe: &OwnedFd) -> Result<(), Errno> {
    loop {
        match rustix::io::read(pipe, &mut [0; 1]) {
            Ok(0) => return Ok(()),
            Ok(_) => return Err(Errno::PROTO),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Nobody can be told if this fails; the host then sees a child that ended without a word, which is a failure too.
pub(crate) fn send(to: &OwnedFd, record: Record) {
    let to: BorrowedFd<'_> = to.as_fd();
    let _ = rustix::io::write(to, &record.to_bytes());
}

/// The user and group that the program sees itself as.
pub(crate) const INSIDE_ID: u32 = 1000;
pub(crate) const SETUP_FAILED: i32 = 125;
const SIGNALS_QUEUED: u64 = 256;
const CAPABILITIES_MAX: u32 = 64;
const STACK_BYTES: u64 = 8 << 20;
const ADDRESSES_PER_BYTE: u64 = 512;
