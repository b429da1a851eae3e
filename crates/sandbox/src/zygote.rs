//! The zygote: a small process with one thread and no secrets that makes children on request.
//!
//! It lives where its children will live, in namespaces that hold nothing of the host: so a child's own are copies of
//! very little. It is pid 1 of them, and when it ends the kernel ends every child with it. What is granted it cannot
//! open; that arrives from the launcher as mounts that are attached nowhere.

use std::os::fd::{AsFd as _, OwnedFd};
use std::rc::Rc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{WaitId, WaitIdOptions};

use crate::base::{Top, Views};
use crate::child::{self, Kind, send};
use crate::grant;
use crate::landlock::Rights;
use crate::mount::Failure;
use crate::socket::{self, Message};
use crate::spare;
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
    /// For the last kinds of runs, the newest last.
    spares: Vec<Spare>,
    /// The kind of run that was asked for last.
    wanted: Option<Top>,
    running: Vec<Running>,
}

/// A child that waits for its order.
struct Spare {
    top: Top,
    orders: OwnedFd,
    pidfd: OwnedFd,
}

struct Running {
    pidfd: OwnedFd,
    /// `None` where nobody asks any more.
    report: Option<OwnedFd>,
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
            spares: Vec::new(),
            wanted: None,
            running: Vec::new(),
        })
    }

    fn serve(&mut self, Inherited { host, grants, .. }: &Inherited) -> Result<(), Errno> {
        loop {
            let ready = {
                let mut waiting = vec![PollFd::new(host, PollFlags::IN), PollFd::new(grants, PollFlags::IN)];
                waiting.extend(self.running.iter().map(|run| PollFd::new(&run.pidfd, PollFlags::IN)));
                let time = self.time_until_spare();
                rustix::io::retry_on_intr(|| poll(&mut waiting, time.as_ref()))?;
                waiting.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>()
            };
            if ready.iter().all(|is_ready| !is_ready) {
                self.add_spare();
                continue;
            }
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
        if let Err((step, errno)) = self.launch(&delivery, &rest) {
            send(&delivery.report, Record::Failed { step, errno: errno.raw_os_error() });
        }
    }

    fn launch(&mut self, delivery: &Delivery, mounts: &Message) -> Result<(), Failure> {
        let (top, is_probe) = {
            let request = read_request(&delivery.request).map_err(|errno| (Step::Request, errno))?;
            let kinds = mounts.bytes.iter().map(|byte| grant::is_directory(*byte));
            let tops = request.grants.iter().zip(kinds).filter_map(|(grant, kind)| grant::top(grant, kind));
            (tops.collect::<Top>(), request.program.is_empty())
        };
        let place = self.spares.iter().position(|spare| spare.top == top);
        let from_spares = place.map(|place| self.spares.remove(place));
        // It may have been killed while it waited; then another is made.
        let ordered = if let Some(Ok(())) = from_spares.map(|spare| self.order(spare, delivery, mounts)) {
            Ok(())
        } else {
            let fresh = self.make(top.clone())?;
            self.order(fresh, delivery, mounts)
        };
        // A probe says nothing about what will be asked for, and who asks only once needs no spare.
        if !is_probe {
            self.wanted = Some(top);
        }
        ordered.map_err(|errno| (Step::Request, errno))
    }

    /// Tells a child what to run.
    fn order(&mut self, spare: Spare, delivery: &Delivery, mounts: &Message) -> Result<(), Errno> {
        let Spare { orders, pidfd, .. } = spare;
        let report = rustix::io::fcntl_dupfd_cloexec(&delivery.report, 3)?;
        // Without its descriptor the host could not end it, so it comes before the order.
        let told = socket::send_record(&report, Record::Cloned, Some(&pidfd));
        let [input, output, errors] = &delivery.standard;
        let own = [&delivery.request, input, output, errors, &delivery.report];
        let fds: Vec<_> = own.into_iter().chain(&mounts.fds).map(|fd| fd.as_fd()).collect();
        let ordered = told.and_then(|()| socket::send(&orders, &mounts.bytes, &fds));
        if ordered.is_err() {
            let _ = rustix::process::pidfd_send_signal(&pidfd, rustix::process::Signal::KILL);
        }
        // Nobody is told that a run is over that never began.
        self.running.push(Running { pidfd, report: ordered.is_ok().then_some(report) });
        ordered
    }

    /// Makes a child that waits.
    fn make(&mut self, top: Top) -> Result<Spare, Failure> {
        let at_clone = |errno| (Step::Clone, errno);
        self.views.choose(&top).map_err(|errno| (Step::Base, errno))?;
        let (orders, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(at_clone)?;
        match process::clone(Namespaces::OF_A_RUN).map_err(at_clone)? {
            Clone::Child => {
                drop(orders);
                self.running.clear();
                self.spares.clear();
                spare::init(&theirs, &self.filter, self.rights)
            }
            Clone::Parent { pidfd, .. } => Ok(Spare { top, orders, pidfd }),
        }
    }

    /// How long nothing must happen before a spare is made: at once if nothing runs that it would disturb. `None` if
    /// there is nothing to make.
    fn time_until_spare(&self) -> Option<Timespec> {
        let wanted = self.wanted.as_ref()?;
        let is_there = self.spares.iter().any(|spare| spare.top == *wanted);
        let nanoseconds = if self.running.is_empty() { 0 } else { QUIET_NANOSECONDS };
        (!is_there).then_some(Timespec { tv_sec: 0, tv_nsec: nanoseconds })
    }

    fn add_spare(&mut self) {
        let Some(top) = self.wanted.clone() else { return };
        match self.make(top) {
            Ok(spare) => self.spares.push(spare),
            // Whoever asks next is told why.
            Err(_) => self.wanted = None,
        }
        if self.spares.len() > SPARES_MAX {
            let Spare { pidfd, .. } = self.spares.remove(0);
            let _ = rustix::process::pidfd_send_signal(&pidfd, rustix::process::Signal::KILL);
            self.running.push(Running { pidfd, report: None });
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
            if let (Ok(Some(_)), Some(report)) = (status, &run.report) {
                send(report, Record::Empty);
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

/// Kinds of runs that a host asks for in turn, at most.
const SPARES_MAX: usize = 2;
/// What runs has begun by then, and whoever asks for many at once has asked for the next.
const QUIET_NANOSECONDS: i64 = 5_000_000;
