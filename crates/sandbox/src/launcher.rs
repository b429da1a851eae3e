//! The launcher: a small process with one thread that sees the host's files and opens what is granted.
//!
//! The host never forks itself: a copy of a large, threaded process costs milliseconds and carries what it knows. The
//! launcher makes one child, the zygote, which makes all others.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions};

use crate::cgroup::Groups;
use crate::child::{INSIDE_ID, Kind, send};
use crate::grant::Opener;
use crate::mount::Failure;
use crate::socket::{self, Message};
use crate::sys::landlock;
use crate::sys::process::{self, Clone, Namespaces};
use crate::wire::{Hello, Record, Step};
use crate::zygote::{self, Delivery, Inherited, read_request, write_file};

/// Serves the socket at standard input until the host is gone; the zygote gets the one at standard output. Never
/// returns.
pub(crate) fn main(kind: Kind) -> ! {
    let code = match serve(kind) {
        Ok(()) => 0,
        Err(_) => 1,
    };
    process::exit(code)
}

struct Launcher {
    zygote: OwnedFd,
    grants: OwnedFd,
    /// For a root host: shows root's files as the children's own.
    id_map: Option<OwnedFd>,
    groups: Option<Groups>,
}

fn serve(kind: Kind) -> Result<(), Errno> {
    process::close_range(3, u32::MAX)?;
    // What a terminal sends is meant for the host, which ends its runs itself. Fails only where it is so already.
    let _ = rustix::process::setsid();
    // A host that ignores signals has its children ignore them too, and ends of children that are ignored are not told.
    for signal in (1..=LAST_SIGNAL).filter(|signal| *signal != libc::SIGPIPE) {
        process::reset_signal(signal);
    }
    let zygote_socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    if kind == Kind::Kernel {
        let host = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
        rustix::stdio::dup2_stdin(rustix::stdio::stderr())?;
        return crate::kernel::serve(&host, &zygote_socket);
    }
    let copy = rustix::io::fcntl_dupfd_cloexec(&zygote_socket, 3)?;
    let mut launcher = match Launcher::start(zygote_socket) {
        Ok(launcher) => launcher,
        Err((step, errno)) => {
            let ready = Err((step, errno.raw_os_error()));
            let landlock_abi = landlock::abi().unwrap_or(0);
            let hello = Hello { ready, landlock_abi, has_groups: false, is_root: false };
            return socket::send_plain(&copy, &hello.to_bytes());
        }
    };
    drop(copy);
    let host = rustix::stdio::stdin();
    loop {
        let mut waiting =
            [PollFd::from_borrowed_fd(host, PollFlags::IN), PollFd::new(&launcher.zygote, PollFlags::IN)];
        rustix::io::retry_on_intr(|| poll(&mut waiting, None))?;
        let [host_ready, zygote_ended] = waiting.map(|fd| !fd.revents().is_empty());
        // When the host is gone the zygote sees it too, and ends.
        let message = if host_ready && !zygote_ended { socket::receive(host)? } else { None };
        match message {
            Some(message) => launcher.accept(message),
            None => return launcher.finish(),
        }
    }
}

impl Launcher {
    fn start(host: OwnedFd) -> Result<Self, Failure> {
        let at = |step| move |errno| (step, errno);
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        // Root without its rights, as in most containers, or of a user namespace, is treated like anybody.
        let id_map = if uid == 0 && may_mount() { id_map().ok() } else { None };
        let is_root = id_map.is_some();
        let groups = Groups::find();
        if !is_root {
            process::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS).map_err(at(Step::LauncherNamespace))?;
            let maps = [
                ("setgroups", "deny".to_owned()),
                ("uid_map", format!("{uid} {uid} 1\n")),
                ("gid_map", format!("{gid} {gid} 1\n")),
            ];
            for (name, content) in maps {
                write_file(&format!("/proc/self/{name}"), &content).map_err(at(Step::MapIds))?;
            }
        }
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(at(Step::Start))?;
        let (mapped, release) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(at(Step::Start))?;
        let own = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty());
        let inherited = Inherited {
            mapped,
            launcher: own.map_err(at(Step::Start))?,
            host,
            grants: theirs,
            landlock_abi: landlock::abi().unwrap_or(0),
            has_groups: groups.is_some(),
            is_root,
        };
        match process::clone(Namespaces::OF_THE_ZYGOTE).map_err(at(Step::Clone))? {
            Clone::Child => {
                drop((release, ours, id_map, groups));
                // The launcher's socket is not ours to hold.
                let _ = rustix::stdio::dup2_stdin(rustix::stdio::stderr());
                zygote::main(&inherited)
            }
            Clone::Parent { child, pidfd } => {
                let outside = if is_root { (UNUSED_ID, UNUSED_ID) } else { (uid, gid) };
                map_ids(child, outside).map_err(at(Step::MapIds))?;
                drop((release, inherited));
                // The maps of a process that cannot be dumped belong to root, so not before they are written.
                rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
                    .map_err(at(Step::Start))?;
                Ok(Self { zygote: pidfd, grants: ours, id_map, groups })
            }
        }
    }

    /// Takes one request with grants. Whatever goes wrong is told to whoever waits for this run.
    fn accept(&mut self, message: Message) {
        let Some((delivery, open)) = Delivery::of(message) else { return };
        if let Err((step, errno)) = self.pass_on(&delivery, open) {
            send(&delivery.report, Record::Failed { step, errno: errno.raw_os_error() });
        }
    }

    fn pass_on(&mut self, delivery: &Delivery, open: Message) -> Result<(), Failure> {
        let request = read_request(&delivery.request).map_err(|errno| (Step::Request, errno))?;
        let mut mounts = Opener { id_map: self.id_map.as_ref() }.open_all(&request.grants, open.fds)?;
        if let Some(bytes) = request.memory_bytes_total {
            let groups = self.groups.as_mut().ok_or((Step::MemoryGroup, Errno::NOTSUP))?;
            mounts.fds.push(groups.make(bytes).map_err(|errno| (Step::MemoryGroup, errno))?);
        }
        let [input, output, errors] = &delivery.standard;
        let own = [&delivery.request, input, output, errors, &delivery.report];
        let fds: Vec<_> = own.into_iter().chain(&mounts.fds).map(std::os::fd::AsFd::as_fd).collect();
        socket::send(&self.grants, &mounts.bytes, &fds).map_err(|errno| (Step::Request, errno))
    }

    /// Waits for the zygote, and with it for every child.
    fn finish(self) -> Result<(), Errno> {
        drop(self.grants);
        let zygote = std::os::fd::AsFd::as_fd(&self.zygote);
        let ended = rustix::process::waitid(WaitId::PidFd(zygote), WaitIdOptions::EXITED).map(drop);
        if let Some(mut groups) = self.groups {
            groups.sweep();
        }
        ended
    }
}

/// Whether root has its rights here, as it has not in most containers.
fn may_mount() -> bool {
    let own = rustix::thread::capabilities(None);
    own.is_ok_and(|sets| sets.effective.contains(rustix::thread::CapabilitySet::SYS_ADMIN))
}

fn map_ids(child: Pid, (uid, gid): (u32, u32)) -> Result<(), Errno> {
    let child = child.as_raw_nonzero();
    // Without privilege a group can be mapped only by who gives up changing groups, and nobody below needs to.
    write_file(&format!("/proc/{child}/setgroups"), "deny").or_else(|errno| match errno {
        // Already denied in the namespace above.
        Errno::PERM => Ok(()),
        errno => Err(errno),
    })?;
    write_file(&format!("/proc/{child}/uid_map"), &format!("{INSIDE_ID} {uid} 1\n"))?;
    write_file(&format!("/proc/{child}/gid_map"), &format!("{INSIDE_ID} {gid} 1\n"))
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
                    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                    rustix::fs::open(format!("/proc/{pid}/ns/user"), flags, Mode::empty())
                });
            drop((wait, release));
            let child = std::os::fd::AsFd::as_fd(&pidfd);
            rustix::process::waitid(WaitId::PidFd(child), WaitIdOptions::EXITED)?;
            mapped
        }
    }
}

/// A user id that no system gives out: far above the ranges of people, containers and services.
pub(crate) const UNUSED_ID: u32 = 2_000_000_001;
/// Of those that are not for real time.
const LAST_SIGNAL: i32 = 31;
