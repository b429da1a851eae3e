//! A child that is ready but for what it is told: made while nothing else is to be done, so that a launch need not wait
//! for its namespaces.
//!
//! It is pid 1 of its namespaces with one process below that has already given up what it can give up. It holds nothing
//! of any run, takes one order, and serves that run only.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::rc::Rc;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::Pid;

use crate::cgroup;
use crate::child::{self, Job, Kind, Never, Rule, SETUP_FAILED, send};
use crate::grant::OpenGrant;
use crate::landlock::Rights;
use crate::mount::Failure;
use crate::profile::{Grant, Mode as GrantMode};
use crate::root;
use crate::socket::{self, Message};
use crate::sys::process::{self, Clone, Namespaces};
use crate::sys::seccomp;
use crate::wire::{Record, Step};
use crate::zygote::{Delivery, read_request};

/// The process that will become the program.
struct Waiting {
    pid: Pid,
    /// Where its orders go.
    orders: OwnedFd,
    /// Ends when the program starts, or says why it does not.
    executed: OwnedFd,
}

/// Pid 1 of new namespaces, which are copies of the zygote's. Never returns.
pub(crate) fn init(orders: &OwnedFd, filter: &Rc<[seccomp::Instruction]>, rights: Rights) -> ! {
    let waiting = prepare(filter, rights);
    let Ok(Some(message)) = socket::receive(orders) else { process::exit(0) };
    let Some((delivery, rest)) = Delivery::of(message) else { process::exit(SETUP_FAILED) };
    let (step, errno) = match waiting.and_then(|waiting| run(&waiting, &delivery, rest)) {
        Ok(never) => match never {},
        Err(failure) => failure,
    };
    send(&delivery.report, Record::Failed { step, errno: errno.raw_os_error() });
    process::exit(SETUP_FAILED)
}

fn prepare(filter: &Rc<[seccomp::Instruction]>, rights: Rights) -> Result<Waiting, Failure> {
    root::proc().map_err(|errno| (Step::Proc, errno))?;
    let at_fork = |errno| (Step::Fork, errno);
    let (orders, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .map_err(at_fork)?;
    let (executed, failing) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(at_fork)?;
    // Before the fork, so that no signal is lost.
    child::signals().block_only().map_err(at_fork)?;
    match process::clone(Namespaces::NONE).map_err(at_fork)? {
        Clone::Child => {
            drop((orders, executed));
            let (step, errno) = match become_program(&theirs, Rc::clone(filter), rights) {
                Ok(never) => match never {},
                Err(failure) => failure,
            };
            send(&failing, Record::Failed { step, errno: errno.raw_os_error() });
            process::exit(SETUP_FAILED)
        }
        Clone::Parent { child, .. } => Ok(Waiting { pid: child, orders, executed }),
    }
}

/// Adds what this run is given to the files, and lets the program begin.
fn run(waiting: &Waiting, delivery: &Delivery, mut mounts: Message) -> Result<Never, Failure> {
    let request = read_request(&delivery.request).map_err(|errno| (Step::Request, errno))?;
    // The last one, if there is one.
    let group = if request.memory_bytes_total.is_some() { mounts.fds.pop() } else { None };
    let grants = OpenGrant::all(&request.grants, mounts).ok_or((Step::Request, Errno::PROTO))?;
    root::complete(&grants, request.limits)?;
    drop(grants);
    let [input, output, errors] = &delivery.standard;
    let own = [&delivery.request, input, output, errors];
    let fds: Vec<_> = own.into_iter().chain(&group).map(|fd| fd.as_fd()).collect();
    // If it has failed, it has said so.
    let _ = socket::send(&waiting.orders, &[], &fds);
    drop(request);
    // Only these stay open here: a pipe of the program's must end when the program lets go of it.
    let kept = [&delivery.report, &waiting.executed];
    child::close_all_but(&kept).map_err(|errno| (Step::Descriptors, errno))?;
    child::reap(waiting.pid, kept, None)
}

/// The process below. It gives up what it can before it knows what for.
fn become_program(
    orders: &OwnedFd,
    filter: Rc<[seccomp::Instruction]>,
    rights: Rights,
) -> Result<Never, Failure> {
    child::shed(Kind::Namespaces)?;
    let received = socket::receive(orders).map_err(|errno| (Step::Request, errno))?;
    // Init has failed, and has said so.
    let Some(Message { fds, .. }) = received else { process::exit(SETUP_FAILED) };
    let mut fds = fds.into_iter();
    let mut next = || fds.next().ok_or((Step::Request, Errno::PROTO));
    let (request, standard) = (next()?, [next()?, next()?, next()?]);
    let request = read_request(&request).map_err(|errno| (Step::Request, errno))?;
    if let Some(group) = fds.next() {
        cgroup::join(group).map_err(|errno| (Step::MemoryGroup, errno))?;
    }
    let rules = rules(&request.grants, rights).map_err(|errno| (Step::Landlock, errno))?;
    // The inner user namespace counts for itself.
    let job = Job { request, standard, filter, rights, others: 0 };
    child::become_program(&job, &rules)
}

/// The mounts say the same already; this is a second opinion, from another part of the kernel.
fn rules(grants: &[Grant], rights: Rights) -> Result<Vec<Rc<Rule>>, Errno> {
    if rights.handled().files == 0 {
        return Ok(Vec::new());
    }
    let open = |path: &Path| rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let mut rules = Vec::new();
    for (path, allowed) in
        [("/", rights.read()), ("/tmp", rights.write()), ("/dev/null", rights.write_file())]
    {
        rules.push(Rc::new(Rule { file: open(Path::new(path))?, allowed }));
    }
    for grant in grants.iter().filter(|grant| !matches!(grant.mode, GrantMode::Read)) {
        let file = open(&grant.target)?;
        let is_directory = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode).is_dir();
        let allowed = if is_directory { rights.write() } else { rights.write_file() };
        rules.push(Rc::new(Rule { file, allowed }));
    }
    Ok(rules)
}
