//! The launcher: a small process with one thread and no secrets that makes children on request.
//!
//! The host never forks itself: a copy of a large, threaded process costs milliseconds and carries what it knows.

use std::os::fd::{AsFd as _, OwnedFd};
use std::rc::Rc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions};

use crate::child::{self, INSIDE_ID, Prepared, send};
use crate::root::{Failure, open_grant};
use crate::socket;
use crate::sys::process::{self, Clone, Namespaces};
use crate::sys::{landlock, seccomp};
use crate::wire::{Hello, REQUEST_BYTES_MAX, Record, Request, Step};

/// Runs the launcher on the socket at standard input until the host is gone. Never returns.
pub(crate) fn main() -> ! {
    let code = match serve() {
        Ok(()) => 0,
        Err(_) => 1,
    };
    process::exit(code)
}

struct Launcher {
    filter: Rc<[seccomp::Instruction]>,
    landlock_abi: u32,
    /// The user and group of the host's that children are.
    outside: (u32, u32),
    /// For a root host: shows root's files as the children's own.
    id_map: Option<OwnedFd>,
    /// The launcher itself, by which children see whether it lives.
    own: OwnedFd,
    running: Vec<Running>,
}

struct Running {
    pidfd: OwnedFd,
    report: OwnedFd,
}

fn serve() -> Result<(), Errno> {
    process::close_from(3)?;
    // What a terminal sends is meant for the host, which ends its runs itself. Fails only where it is so already.
    let _ = rustix::process::setsid();
    // A host that ignores signals has its children ignore them too, and ends of children that are ignored are not told.
    for signal in (1..=LAST_SIGNAL).filter(|signal| *signal != libc::SIGPIPE) {
        process::reset_signal(signal);
    }
    let host = rustix::stdio::stdin();
    let (started, landlock_abi) = (Launcher::start(), landlock::abi().unwrap_or(0));
    let hello = Hello {
        ready: started.as_ref().map(drop).map_err(|(step, errno)| (*step, errno.raw_os_error())),
        landlock_abi,
        is_root: started.as_ref().is_ok_and(|launcher| launcher.id_map.is_some()),
    };
    socket::send_plain(host, &hello.to_bytes())?;
    let Ok(mut launcher) = started else { return Ok(()) };
    loop {
        let ready = {
            let mut waiting: Vec<PollFd<'_>> = vec![PollFd::from_borrowed_fd(host, PollFlags::IN)];
            waiting.extend(launcher.running.iter().map(|run| PollFd::new(&run.pidfd, PollFlags::IN)));
            match poll(&mut waiting, None) {
                Err(Errno::INTR) => continue,
                polled => polled?,
            };
            waiting.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>()
        };
        launcher.reap(&ready[1..]);
        if ready[0] {
            match socket::receive(host, REQUEST_FDS) {
                Ok(Some(fds)) => launcher.accept(fds),
                // The host closed its end, or died. Children die with us.
                Ok(None) | Err(_) => return Ok(()),
            }
        }
    }
}

impl Launcher {
    fn start() -> Result<Self, Failure> {
        let at = |step| move |errno| (step, errno);
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        // Root without the capability, as in most containers, is treated like anybody.
        let is_root = uid == 0 && process::unshare(libc::CLONE_NEWNS).is_ok();
        if !is_root {
            process::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS).map_err(at(Step::LauncherNamespace))?;
            let maps = [
                ("setgroups", "deny".to_owned()),
                ("uid_map", format!("{uid} {uid} 1\n")),
                ("gid_map", format!("{gid} {gid} 1\n")),
            ];
            for (name, content) in maps {
                write_file(&format!("/proc/self/{name}"), &content).map_err(at(Step::LauncherNamespace))?;
            }
        }
        // The maps of a child that cannot be dumped belong to root, so only root can hide already here. A child's first
        // process hides before the program runs in any case.
        if is_root {
            rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
                .map_err(at(Step::Start))?;
        }
        Ok(Self {
            filter: crate::seccomp::program().into(),
            landlock_abi: landlock::abi().unwrap_or(0),
            outside: if is_root { (UNUSED_ID, UNUSED_ID) } else { (uid, gid) },
            id_map: if is_root { Some(id_map().map_err(at(Step::IdMap))?) } else { None },
            own: rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty())
                .map_err(at(Step::Start))?,
            running: Vec::new(),
        })
    }

    /// Takes one request. Whatever goes wrong is told to whoever waits for this run.
    fn accept(&mut self, fds: Vec<OwnedFd>) {
        let Ok([request, input, output, error, report]) = <[OwnedFd; 5]>::try_from(fds) else { return };
        let standard = [input, output, error];
        if let Err((step, errno)) = self.launch(&request, standard, &report) {
            send(&report, Record::Failed { step, errno: errno.raw_os_error() });
        }
    }

    fn launch(&mut self, request: &OwnedFd, standard: [OwnedFd; 3], report: &OwnedFd) -> Result<(), Failure> {
        let at = |step| move |errno| (step, errno);
        let request = read_request(request).map_err(at(Step::Request))?;
        let grants = request.grants.iter().map(|grant| open_grant(grant.clone(), self.id_map.as_ref()));
        let grants = grants.collect::<Result<Vec<_>, _>>()?;
        let (mapped, release) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(at(Step::Clone))?;
        let prepared = Prepared {
            request,
            grants,
            standard,
            report: report.try_clone().map_err(|_| (Step::Clone, Errno::MFILE))?,
            mapped,
            launcher: self.own.try_clone().map_err(|_| (Step::Clone, Errno::MFILE))?,
            filter: Rc::clone(&self.filter),
            landlock_abi: self.landlock_abi,
        };
        match process::clone(Namespaces::ALL).map_err(at(Step::Clone))? {
            Clone::Child => {
                drop(release);
                self.running.clear();
                child::init(prepared)
            }
            Clone::Parent { child, pidfd } => {
                let mapped = self.map_ids(child);
                // Without its descriptor the host could not end it.
                if mapped.is_err() || socket::send_record(report, Record::Cloned, Some(&pidfd)).is_err() {
                    let _ = rustix::process::pidfd_send_signal(&pidfd, rustix::process::Signal::KILL);
                }
                drop(release);
                let report = prepared.report;
                self.running.push(Running { pidfd, report });
                mapped.map_err(at(Step::MapIds))
            }
        }
    }

    fn map_ids(&self, child: Pid) -> Result<(), Errno> {
        let (uid, gid) = self.outside;
        let child = child.as_raw_nonzero();
        write_file(&format!("/proc/{child}/uid_map"), &format!("{INSIDE_ID} {uid} 1\n"))?;
        write_file(&format!("/proc/{child}/gid_map"), &format!("{INSIDE_ID} {gid} 1\n"))
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

/// A user namespace in which root's files are the sandbox's: it has no process, only a descriptor.
fn id_map() -> Result<OwnedFd, Errno> {
    let (wait, release) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    match process::clone(Namespaces::USER)? {
        Clone::Child => {
            drop(release);
            let _ = rustix::io::read(&wait, &mut [0; 1]);
            process::exit(0)
        }
        Clone::Parent { child, pidfd } => {
            let pid = child.as_raw_nonzero();
            let map = format!("0 {UNUSED_ID} 1\n");
            let mapped = write_file(&format!("/proc/{pid}/uid_map"), &map)
                .and_then(|()| write_file(&format!("/proc/{pid}/gid_map"), &map))
                .and_then(|()| {
                    rustix::fs::open(
                        format!("/proc/{pid}/ns/user"),
                        OFlags::RDONLY | OFlags::CLOEXEC,
                        Mode::empty(),
                    )
                });
            drop((wait, release));
            rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED)?;
            mapped
        }
    }
}

fn read_request(memory: &OwnedFd) -> Result<Request, Errno> {
    let mut bytes = vec![0; REQUEST_BYTES_MAX];
    let length = rustix::io::pread(memory, &mut bytes, 0)?;
    let request = Request::from_bytes(&bytes[..length]).ok_or(Errno::PROTO);
    // The copy that children inherit must not hold what another run was given.
    bytes.fill(0);
    std::hint::black_box(&mut bytes);
    request
}

fn write_file(path: &str, content: &str) -> Result<(), Errno> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, content.as_bytes()).map(drop)
}

/// A user id that no system gives out: far above the ranges of people, containers and services.
const UNUSED_ID: u32 = 2_000_000_001;
/// Of those that are not for real time.
const LAST_SIGNAL: i32 = 31;
/// Request, standard input, output and error, and where to report.
const REQUEST_FDS: usize = 5;
