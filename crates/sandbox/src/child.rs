//! The child's side: pid 1 of the sandbox, and the process that becomes the program.
//!
//! Runs in a copy of the zygote. Whatever fails is a record that names the step; nothing falls back to less.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use crate::grant::OpenGrant;
use crate::kernel::END;
use crate::landlock::Rights;
use crate::mount::Failure;
use crate::profile::Limits;
use crate::root::{self, Writable};
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
    /// Where records go.
    pub(crate) report: OwnedFd,
    /// Closed by our parent when the host has been sent what it can end us by. Nobody is told that we run before.
    pub(crate) announced: OwnedFd,
    /// The system call filter.
    pub(crate) filter: Rc<[seccomp::Instruction]>,
    pub(crate) rights: Rights,
    /// Processes that the kernel counts to the limit and that are none of this run.
    pub(crate) others: u64,
    pub(crate) kind: Kind,
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

/// Pid 1 of the new namespaces. Never returns.
pub(crate) fn init(job: &Job, grants: Vec<OpenGrant>) -> ! {
    let limits = job.request.limits;
    let completed = root::complete(grants, limits)
        .and_then(|writable| rules(&writable, job.rights).map_err(|errno| (Step::Landlock, errno)));
    let (step, errno) = match completed.and_then(|rules| run(job, &rules, None)) {
        Ok(never) => match never {},
        Err(failure) => failure,
    };
    send(&job.report, Record::Failed { step, errno: errno.raw_os_error() });
    process::exit(SETUP_FAILED);
}

/// The mounts say the same already; this is a second opinion, from another part of the kernel.
fn rules(writable: &[Writable], rights: Rights) -> Result<Vec<Rc<Rule>>, Errno> {
    if rights.handled().files == 0 {
        return Ok(Vec::new());
    }
    let own = [
        (Path::new("/"), rights.read()),
        (Path::new("/tmp"), rights.write()),
        (Path::new("/dev/null"), rights.write_file()),
    ];
    let granted = writable.iter().map(|Writable { path, is_directory }| {
        (path.as_path(), if *is_directory { rights.write() } else { rights.write_file() })
    });
    let open = |(path, allowed)| {
        let file = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Rc::new(Rule { file, allowed }))
    };
    own.into_iter().chain(granted).map(open).collect()
}

pub(crate) enum Never {}

/// Starts the program's process and outlives it as the sandbox's reaper.
///
/// In a domain it ends the others of the run itself; in a namespace the kernel does.
pub(crate) fn run(job: &Job, rules: &[Rc<Rule>], domain: Option<&SignalDomain>) -> Result<Never, Failure> {
    let at_fork = |errno| (Step::Fork, errno);
    let (executed, failing) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(at_fork)?;
    // Before the fork, so that no signal is lost.
    signals().block_only().map_err(at_fork)?;
    match process::clone(Namespaces::NONE).map_err(at_fork)? {
        Clone::Child => {
            drop(executed);
            let (step, errno) = match become_program(job, rules) {
                Ok(never) => match never {},
                Err(failure) => failure,
            };
            // This pipe closes itself when the program starts.
            send(&failing, Record::Failed { step, errno: errno.raw_os_error() });
            process::exit(SETUP_FAILED);
        }
        Clone::Parent { child, .. } => {
            let Job { report, announced, .. } = job;
            // Only these stay open here: a pipe of the program's must end when the program lets go of it.
            close_all_but([report, &executed, announced]).map_err(at_fork)?;
            reap(child, [report, &executed, announced], domain)
        }
    }
}

/// What an init waits for.
fn signals() -> SignalSet {
    SignalSet::of(&[libc::SIGCHLD, libc::SIGTERM, END.as_raw()])
}

/// Waits for everything that ends up without a parent, and leaves when the program has left.
fn reap(program: Pid, [report, executed, announced]: [&OwnedFd; 3], domain: Option<&SignalDomain>) -> ! {
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
    if await_close(announced).is_err() {
        leave(SETUP_FAILED);
    }
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

/// From a copy of pid 1 to the program. Each step takes something away for ever.
fn become_program(job: &Job, rules: &[Rc<Rule>]) -> Result<Never, Failure> {
    let Job { request, standard, filter, rights, others, kind, .. } = job;
    let at = |step| move |errno| (step, errno);
    SignalSet::of(&[]).block_only().map_err(at(Step::Session))?;
    process::reset_signal(libc::SIGPIPE);
    rustix::process::setsid().map_err(at(Step::Session))?;
    let directory = request.directory.as_c_str();
    rustix::process::chdir(directory).map_err(at(Step::Directory))?;
    match kind {
        Kind::Namespaces => {
            inner_namespace().map_err(at(Step::InnerNamespace))?;
            give_up_privileges().map_err(at(Step::Privileges))?;
        }
        Kind::Kernel => drop_capabilities().map_err(at(Step::Privileges))?,
    }
    restrict_files(rules, *rights).map_err(at(Step::Landlock))?;
    // Not before: at the lowest limit of open files the steps above could open none.
    limit(request.limits, *others).map_err(at(Step::Limits))?;
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

fn limit(limits: Limits, others: u64) -> Result<(), Errno> {
    let set = |resource, value| {
        rustix::process::setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })
    };
    // Zero would let a handler of the host's read a crashed program; at one byte the kernel starts none.
    set(Resource::Core, 1)?;
    set(Resource::Nice, 0)?;
    set(Resource::Rtprio, 0)?;
    set(Resource::Memlock, 0)?;
    set(Resource::Msgqueue, 0)?;
    // The kernel counts them for the user, whose own programs would get none.
    let signals = rustix::process::getrlimit(Resource::Sigpending).maximum;
    set(Resource::Sigpending, signals.unwrap_or(SIGNALS_QUEUED).min(SIGNALS_QUEUED))?;
    set(Resource::Fsize, limits.file_bytes)?;
    set(Resource::Nofile, limits.open_files)?;
    set(Resource::Nproc, limits.processes + others)?;
    set(Resource::Data, limits.memory_bytes_per_process)?;
    // Pages that are only read count for no limit, but their tables take memory: one byte for each 512. Programs that
    // reserve much more than they use, as Node does, need as much of it.
    set(Resource::As, ADDRESSES_PER_BYTE * limits.memory_bytes_per_process)?;
    set(Resource::Stack, STACK_BYTES)?;
    // One more second before the signal that cannot be caught.
    let cpu = Rlimit { current: Some(limits.cpu_seconds), maximum: Some(limits.cpu_seconds + 1) };
    rustix::process::setrlimit(Resource::Cpu, cpu)
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
fn close_all_but(kept: [&OwnedFd; 3]) -> Result<(), Errno> {
    let mut kept = kept.map(|fd| u32::try_from(fd.as_raw_fd()).unwrap_or(u32::MAX));
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
fn await_close(pipe: &OwnedFd) -> Result<(), Errno> {
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
