//! The zygote: a small process with one thread and no secrets that makes children on request.
//!
//! It lives where its children will live, in namespaces that hold nothing of the host: so a child's own are copies of
//! very little. It is pid 1 of them, and when it ends the kernel ends every child with it. What is granted it cannot
//! open; that arrives from the launcher as mounts that are attached nowhere.

use std::os::fd::{AsFd as _, OwnedFd};
use std::rc::Rc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions};

use crate::base::Views;
use crate::child::{self, Job, Kind, send};
use crate::grant::OpenGrant;
use crate::landlock::Rights;
use crate::mount::Failure;
use crate::socket::{self, Message};
use crate::sys::process::{self, Clone, Namespaces};
use crate::sys::seccomp;
use crate::wire::{Hello, REQUEST_BYTES_MAX, Record, Request, Step};

/// What the launcher hands to its zygote.
pub(crate) struct Inherited {
    /// Closed by the launcher when the identity is mapped.
    pub(crate) mapped: OwnedFd,
    /// The launcher's process.
    pub(crate) launcher: OwnedFd,
    /// Where the host asks for runs without grants.
    pub(crate) host: OwnedFd,
    /// Where the launcher passes on runs with grants.
    pub(crate) grants: OwnedFd,
    pub(crate) landlock_abi: u32,
    pub(crate) has_groups: bool,
    pub(crate) is_root: bool,
}

struct Zygote {
    filter: Rc<[seccomp::Instruction]>,
    rights: Rights,
    views: Views,
    running: Vec<Running>,
}

struct Running {
    pidfd: OwnedFd,
    report: OwnedFd,
}

/// Serves until the host or the launcher is gone. Pid 1 of new namespaces; never returns.
pub(crate) fn main(inherited: &Inherited) -> ! {
    let started = Zygote::start(inherited);
    let hello = Hello {
        ready: started.as_ref().map(drop).map_err(|(step, errno)| (*step, errno.raw_os_error())),
        landlock_abi: inherited.landlock_abi,
        has_groups: inherited.has_groups,
        is_root: inherited.is_root,
    };
    if let (Ok(()), Ok(mut zygote)) = (socket::send_plain(&inherited.host, &hello.to_bytes()), started) {
        // Whatever ends it: the kernel ends the children with us.
        let _ = zygote.serve(inherited);
    }
    process::exit(0)
}

impl Zygote {
    fn start(inherited: &Inherited) -> Result<Self, Failure> {
        let at = |step| move |errno| (step, errno);
        child::take_identity(&inherited.mapped)?;
        // Changing the identity clears this, so not before.
        child::die_with_parent().map_err(at(Step::Identity))?;
        // It may have died while nothing was set. Its pid says nothing here: it is not in this namespace.
        if child::has_ended(&inherited.launcher).map_err(at(Step::Identity))? {
            return Err((Step::Identity, Errno::SRCH));
        }
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
            .map_err(at(Step::Start))?;
        rustix::system::sethostname(b"sandbox").map_err(at(Step::HostName))?;
        Ok(Self {
            filter: crate::seccomp::program(Kind::Namespaces).into(),
            rights: Rights::of(inherited.landlock_abi),
            views: Views::enter()?,
            running: Vec::new(),
        })
    }

    fn serve(&mut self, Inherited { host, grants, .. }: &Inherited) -> Result<(), Errno> {
        loop {
            let ready = {
                let mut waiting = vec![PollFd::new(host, PollFlags::IN), PollFd::new(grants, PollFlags::IN)];
                waiting.extend(self.running.iter().map(|run| PollFd::new(&run.pidfd, PollFlags::IN)));
                rustix::io::retry_on_intr(|| poll(&mut waiting, None))?;
                waiting.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>()
            };
            self.reap(&ready[2..]);
            for (from, is_ready) in [host, grants].into_iter().zip(ready) {
                if is_ready {
                    match socket::receive(from)? {
                        Some(message) => self.accept(message),
                        None => return Ok(()),
                    }
                }
            }
        }
    }

    /// Takes one request. Whatever goes wrong is told to whoever waits for this run.
    fn accept(&mut self, message: Message) {
        let Some((delivery, rest)) = Delivery::of(message) else { return };
        let Ok(report) = delivery.report.try_clone() else { return };
        if let Err((step, errno)) = self.launch(delivery, rest) {
            send(&report, Record::Failed { step, errno: errno.raw_os_error() });
        }
    }

    fn launch(&mut self, delivery: Delivery, mut mounts: Message) -> Result<(), Failure> {
        let Delivery { request, standard, report } = delivery;
        let request = read_request(&request).map_err(|errno| (Step::Request, errno))?;
        // The last one, if there is one.
        let group = if request.memory_bytes_total.is_some() { mounts.fds.pop() } else { None };
        let grants = OpenGrant::all(&request.grants, mounts).ok_or((Step::Request, Errno::PROTO))?;
        self.views.choose(&grants).map_err(|errno| (Step::Base, errno))?;
        let (announced, announce) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(|errno| (Step::Clone, errno))?;
        let filter = Rc::clone(&self.filter);
        let (rights, kind) = (self.rights, Kind::Namespaces);
        // The inner user namespace counts for itself.
        let job = Job { request, standard, report, announced, filter, rights, others: 0, kind };
        // A run that is alone has the zygote's empty network to itself; one beside another gets its own.
        let namespaces =
            if self.running.is_empty() { Namespaces::OF_A_RUN } else { Namespaces::WITH_NETWORK };
        match process::clone(namespaces).map_err(|errno| (Step::Clone, errno))? {
            Clone::Child => {
                drop(announce);
                self.running.clear();
                child::init(&job, grants, group)
            }
            Clone::Parent { pidfd, .. } => {
                let report = job.report;
                // Without its descriptor the host could not end it.
                if socket::send_record(&report, Record::Cloned, Some(&pidfd)).is_err() {
                    let _ = rustix::process::pidfd_send_signal(&pidfd, rustix::process::Signal::KILL);
                }
                drop(announce);
                self.running.push(Running { pidfd, report });
                Ok(())
            }
        }
    }

    /// Collects children that ended. The kernel lets pid 1 of a namespace be collected only when nobody else is left in
    /// it, so having collected it is the proof that the sandbox is empty.
    fn reap(&mut self, ended: &[bool]) {
        let mut ended = ended.iter();
        self.running.retain(|run| {
            if !ended.next().copied().unwrap_or(false) {
                return true;
            }
            let status = rustix::process::waitid(WaitId::PidFd(run.pidfd.as_fd()), WaitIdOptions::EXITED);
            if matches!(status, Ok(Some(_))) {
                send(&run.report, Record::Empty);
            }
            false
        });
    }
}

/// The descriptors that come with every request.
pub(crate) struct Delivery {
    /// Sealed memory.
    pub(crate) request: OwnedFd,
    /// Standard input, output and error.
    pub(crate) standard: [OwnedFd; 3],
    /// Where records go.
    pub(crate) report: OwnedFd,
}

impl Delivery {
    /// Takes them from a message; what is left is about grants.
    pub(crate) fn of(Message { bytes, fds }: Message) -> Option<(Self, Message)> {
        let mut fds = fds.into_iter();
        let mut next = || fds.next();
        let (request, standard, report) = (next()?, [next()?, next()?, next()?], next()?);
        Some((Self { request, standard, report }, Message { bytes, fds: fds.collect() }))
    }
}

/// Reads a request and leaves no copy of it behind.
pub(crate) fn read_request(memory: &OwnedFd) -> Result<Request, Errno> {
    let length = usize::try_from(rustix::fs::fstat(memory)?.st_size).map_err(|_| Errno::TOOBIG)?;
    if length > REQUEST_BYTES_MAX {
        return Err(Errno::TOOBIG);
    }
    let mut bytes = vec![0; length];
    let length = rustix::io::pread(memory, &mut bytes, 0)?;
    let request = Request::from_bytes(&bytes[..length]).ok_or(Errno::PROTO);
    crate::wire::wipe(bytes);
    request
}

/// Writes a small file of the kernel's.
pub(crate) fn write_file(path: &str, content: &str) -> Result<(), Errno> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, content.as_bytes()).map(drop)
}
