//! The level below namespaces: a launcher that confines its children by Landlock, the filter and limits alone.
//!
//! Files stay where they are in the host's tree and Landlock says which of them can be opened. Nothing is hidden, only
//! refused. A run has no namespace that ends it as one; instead its init lives in a Landlock domain of its own, inside
//! which one signal reaches every process of the run and none outside, and collects them all before it leaves.

mod base;

use std::os::fd::{AsFd as _, OwnedFd};
use std::rc::Rc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions};
use rustix::thread::CapabilitySet;

use crate::cgroup::{self, Groups};
use crate::child::{self, Job, Kind, Never, Rule, send};
use crate::grant::{self, Opener};
use crate::landlock::Rights;
use crate::launcher::UNUSED_ID;
use crate::mount::Failure;
use crate::profile::{Grant, Mode as GrantMode};
use crate::socket::{self, Message};
use crate::sys::landlock::{self, SignalDomain};
use crate::sys::process::{self, Clone, Namespaces, SignalSet};
use crate::sys::seccomp;
use crate::wire::{Hello, Record, Step};
use crate::zygote::{Delivery, read_file, read_request};

struct Launcher {
    filter: Rc<[seccomp::Instruction]>,
    rights: Rights,
    /// What every child may open.
    base: Vec<Rc<Rule>>,
    groups: Option<Groups>,
    is_root: bool,
    pid: Pid,
    own: OwnedFd,
    running: Vec<Running>,
}

struct Running {
    pid: Pid,
    pidfd: OwnedFd,
    report: OwnedFd,
}

/// Serves both sockets until the host is gone.
pub(crate) fn serve(first: &OwnedFd, second: &OwnedFd) -> Result<(), Errno> {
    let landlock_abi = landlock::abi().unwrap_or(0);
    let started = Launcher::start(landlock_abi);
    let ready = started.as_ref().map(drop).map_err(|(step, errno)| (*step, errno.raw_os_error()));
    let is_root = started.as_ref().is_ok_and(|launcher| launcher.is_root);
    let has_groups = started.as_ref().is_ok_and(|launcher| launcher.groups.is_some());
    socket::send_plain(second, &Hello { ready, landlock_abi, has_groups, is_root }.to_bytes())?;
    let Ok(mut launcher) = started else { return Ok(()) };
    let served = launcher.serve([first, second]);
    launcher.end_all();
    served
}

impl Launcher {
    fn start(landlock_abi: u32) -> Result<Self, Failure> {
        let at = |step| move |errno| (step, errno);
        if landlock_abi < LANDLOCK_MIN {
            return Err((Step::Landlock, Errno::NOSYS));
        }
        // What an init leaves behind that was killed before its time comes to us.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(at(Step::Start))?;
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
            .map_err(at(Step::Start))?;
        let is_root = rustix::process::geteuid().is_root();
        // Children of a root host are another user, whom nobody could end without this right.
        if is_root && !has_right(CapabilitySet::KILL) {
            return Err((Step::Identity, Errno::PERM));
        }
        let rights = Rights::of(landlock_abi);
        let own = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty());
        Ok(Self {
            filter: crate::seccomp::program(Kind::Kernel).into(),
            rights,
            base: base::base(rights).map_err(at(Step::Base))?,
            groups: Groups::find(),
            is_root,
            pid: rustix::process::getpid(),
            own: own.map_err(at(Step::Start))?,
            running: Vec::new(),
        })
    }

    fn serve(&mut self, hosts: [&OwnedFd; 2]) -> Result<(), Errno> {
        loop {
            let ready = {
                let mut waiting: Vec<_> = hosts.iter().map(|host| PollFd::new(host, PollFlags::IN)).collect();
                waiting.extend(self.running.iter().map(|run| PollFd::new(&run.pidfd, PollFlags::IN)));
                rustix::io::retry_on_intr(|| poll(&mut waiting, None))?;
                waiting.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>()
            };
            self.reap(&ready[2..]);
            for (from, is_ready) in hosts.into_iter().zip(ready) {
                if is_ready {
                    match socket::receive(from)? {
                        Some(message) => self.accept(message),
                        None => return Ok(()),
                    }
                }
            }
        }
    }

    fn accept(&mut self, message: Message) {
        let Some((delivery, open)) = Delivery::of(message) else { return };
        let Ok(report) = delivery.report.try_clone() else { return };
        if let Err((step, errno)) = self.launch(delivery, open) {
            send(&report, Record::Failed { step, errno: errno.raw_os_error() });
        }
    }

    fn launch(&mut self, delivery: Delivery, open: Message) -> Result<(), Failure> {
        let at = |step| move |errno| (step, errno);
        let Delivery { request, standard, report } = delivery;
        let request = read_request(&request).map_err(at(Step::Request))?;
        let mut rules = self.base.clone();
        let mut open = open.fds.into_iter();
        for grant in &request.grants {
            let open = if grant.source.is_none() { open.next() } else { None };
            rules.push(Rc::new(self.rule(grant, open)?));
        }
        let group = match (request.memory_bytes_total, self.groups.as_mut()) {
            (None, _) => None,
            (Some(bytes), Some(groups)) => Some(groups.make(bytes).map_err(at(Step::MemoryGroup))?),
            (Some(_), None) => return Err((Step::MemoryGroup, Errno::NOTSUP)),
        };
        let (announced, announce) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(at(Step::Clone))?;
        let filter = Rc::clone(&self.filter);
        let others = processes_of(self.user()).map_err(at(Step::Limits))?;
        let job = Job { request, standard, filter, rights: self.rights, others };
        match process::clone(Namespaces::NONE).map_err(at(Step::Clone))? {
            Clone::Child => {
                drop(announce);
                self.running.clear();
                self.init(&job, &rules, group, &[report, announced])
            }
            Clone::Parent { child, pidfd } => {
                if socket::send_record(&report, Record::Cloned, Some(&pidfd)).is_err() {
                    let _ = rustix::process::pidfd_send_signal(&pidfd, END);
                }
                drop(announce);
                self.running.push(Running { pid: child, pidfd, report });
                Ok(())
            }
        }
    }

    /// The user that children are.
    fn user(&self) -> u32 {
        if self.is_root { UNUSED_ID } else { rustix::process::geteuid().as_raw() }
    }

    /// What a grant lets the child do. Without mounts a file can be shown only where it is.
    fn rule(&self, grant: &Grant, open: Option<OwnedFd>) -> Result<Rule, Failure> {
        let at_open = |errno| (Step::OpenGrant, errno);
        let (file, is_directory) = match (&grant.source, open) {
            (Some(path), None) => grant::open_path(path),
            (None, Some(open)) => Opener { id_map: None }.same_file(open),
            _ => Err(Errno::PROTO),
        }
        .map_err(at_open)?;
        if grant::path_of(&file).map_err(at_open)? != grant.target {
            return Err((Step::Grant, Errno::XDEV));
        }
        let allowed = match (&grant.mode, is_directory) {
            (GrantMode::Read, true) => self.rights.read(),
            (GrantMode::Read, false) => self.rights.read_file(),
            // The child of a root host is another user, as whom it could not write what is root's.
            (GrantMode::Write, _) if self.is_root => return Err((Step::IdMap, Errno::NOTSUP)),
            (GrantMode::Write, true) => self.rights.write(),
            (GrantMode::Write, false) => self.rights.write_file(),
            (GrantMode::Overlay { .. }, _) => return Err((Step::Grant, Errno::NOTSUP)),
        };
        Ok(Rule { file, allowed })
    }

    /// The first process of a run. Never returns.
    fn init(&self, job: &Job, rules: &[Rc<Rule>], group: Option<OwnedFd>, reports: &[OwnedFd; 2]) -> ! {
        let (step, errno) = match self.confine_init(group) {
            Err(failure) => failure,
            Ok(domain) => {
                let granted = job.request.grants.iter().try_for_each(base::can_read);
                let failure = match granted.and_then(|()| run(job, rules, reports, &domain)) {
                    Ok(never) => match never {},
                    Err(failure) => failure,
                };
                end_everybody(&domain);
                failure
            }
        };
        send(&reports[0], Record::Failed { step, errno: errno.raw_os_error() });
        process::exit(child::SETUP_FAILED)
    }

    fn confine_init(&self, group: Option<OwnedFd>) -> Result<SignalDomain, Failure> {
        let at = |step| move |errno| (step, errno);
        group.map_or(Ok(()), cgroup::join).map_err(at(Step::MemoryGroup))?;
        // Before anything of ours can be told to end.
        SignalSet::of(&[libc::SIGCHLD, libc::SIGTERM, END.as_raw()]).block_only().map_err(at(Step::Fork))?;
        rustix::thread::set_no_new_privs(true).map_err(at(Step::Privileges))?;
        // Still as the launcher's user, who could signal the launcher: another could not anyway, and would not see that
        // it is the domain that keeps signals in.
        let domain = SignalDomain::enter(Rights::only_signals(), self.rights.size(), self.pid)
            .map_err(at(Step::Landlock))?;
        if self.is_root {
            rustix::thread::set_thread_groups(&[])
                .and_then(|()| child::become_user(UNUSED_ID))
                .map_err(at(Step::Identity))?;
        }
        // Changing the identity clears both, so not before.
        rustix::process::set_parent_process_death_signal(Some(END)).map_err(at(Step::Identity))?;
        if child::has_ended(&self.own).map_err(at(Step::Identity))? {
            return Err((Step::Identity, Errno::SRCH));
        }
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
            .and_then(|()| rustix::process::set_child_subreaper(Some(rustix::process::getpid())))
            .map_err(at(Step::Privileges))?;
        Ok(domain)
    }

    /// Collects inits that ended. One that ended well has collected everybody else of its run before.
    fn reap(&mut self, ended: &[bool]) {
        let mut ended = ended.iter();
        let mut gone = Vec::new();
        self.running.retain(|run| {
            let has_ended = ended.next().copied().unwrap_or(false);
            if has_ended && let Ok(report) = run.report.try_clone() {
                let status = rustix::process::waitid(WaitId::PidFd(run.pidfd.as_fd()), WaitIdOptions::EXITED);
                let is_empty = matches!(status, Ok(Some(status)) if status.exit_status() == Some(0));
                gone.push((report, is_empty));
            }
            !has_ended
        });
        for (report, is_empty) in gone {
            if !is_empty {
                self.end_orphans();
            }
            send(&report, Record::Empty);
        }
    }

    /// Ends what has become a child of ours without being an init of a run.
    fn end_orphans(&self) {
        let own = rustix::process::getpid().as_raw_nonzero();
        let list = format!("/proc/{own}/task/{own}/children");
        loop {
            let children = read_file(&list).unwrap_or_default();
            let orphans: Vec<Pid> = children
                .split_whitespace()
                .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
                .filter(|pid| self.running.iter().all(|run| run.pid != *pid))
                .collect();
            if orphans.is_empty() {
                return;
            }
            // All of them before any is waited for: meanwhile they could make others.
            for pid in &orphans {
                let _ = rustix::process::kill_process(*pid, Signal::KILL);
            }
            for pid in orphans {
                let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
            }
        }
    }

    /// The host is gone.
    fn end_all(&mut self) {
        for run in &self.running {
            let _ = rustix::process::pidfd_send_signal(&run.pidfd, END);
        }
        for run in std::mem::take(&mut self.running) {
            let _ = rustix::process::waitid(WaitId::PidFd(run.pidfd.as_fd()), WaitIdOptions::EXITED);
        }
        self.end_orphans();
        if let Some(groups) = &mut self.groups {
            groups.sweep();
        }
    }
}

/// Starts the program's process and outlives it as the run's reaper. The host hears nothing before `announced` is
/// closed, when it has what it can end us by.
fn run(
    job: &Job,
    rules: &[Rc<Rule>],
    [report, announced]: &[OwnedFd; 2],
    domain: &SignalDomain,
) -> Result<Never, Failure> {
    let at_fork = |errno| (Step::Fork, errno);
    let (executed, failing) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(at_fork)?;
    match process::clone(Namespaces::NONE).map_err(at_fork)? {
        Clone::Child => {
            drop(executed);
            let begun = child::shed(Kind::Kernel).and_then(|()| child::become_program(job, rules));
            let (step, errno) = match begun {
                Ok(never) => match never {},
                Err(failure) => failure,
            };
            // This pipe closes itself when the program starts.
            send(&failing, Record::Failed { step, errno: errno.raw_os_error() });
            process::exit(child::SETUP_FAILED);
        }
        Clone::Parent { child, .. } => {
            // Only these stay open here: a pipe of the program's must end when the program lets go of it.
            child::close_all_but(&[report, &executed, announced]).map_err(at_fork)?;
            child::await_close(announced).map_err(at_fork)?;
            child::reap(child, [report, &executed], Some(domain))
        }
    }
}

/// Kills every other process of the run that the caller is the init of, and collects them.
pub(crate) fn end_everybody(domain: &SignalDomain) {
    loop {
        // One call reaches everybody in the domain, and nobody can be made meanwhile. Whoever lost a parent by it is a
        // child of ours the next time.
        domain.kill_everybody();
        if matches!(rustix::process::wait(WaitOptions::empty()), Err(Errno::CHILD)) {
            return;
        }
    }
}

/// Waits until something can be read, and fails if a run's end comes first: what is set up may hang.
pub(crate) fn await_set_up(pipe: &OwnedFd) -> Result<(), Errno> {
    let moment = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    let signals = SignalSet::of(&[END.as_raw()]);
    loop {
        let mut waiting = [PollFd::new(pipe, PollFlags::IN)];
        if rustix::io::retry_on_intr(|| poll(&mut waiting, Some(&moment)))? > 0 {
            return Ok(());
        }
        if process::has_signal(&signals) {
            return Err(Errno::INTR);
        }
    }
}

fn has_right(right: CapabilitySet) -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(right))
}

/// How many processes and threads a user has.
fn processes_of(user: u32) -> Result<u64, Errno> {
    let proc =
        rustix::fs::open("/proc", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut count = 0;
    for entry in rustix::fs::Dir::read_from(&proc)? {
        let entry = entry?;
        let name = entry.file_name();
        if !name.to_bytes().first().is_some_and(u8::is_ascii_digit) {
            continue;
        }
        let tasks = [name.to_bytes(), b"/task"].concat();
        // It may have ended by now.
        if let Ok(stat) = rustix::fs::statat(&proc, tasks, AtFlags::empty())
            && stat.st_uid == user
        {
            // Two links are the folder's own.
            count += stat.st_nlink.saturating_sub(2);
        }
    }
    Ok(count)
}

/// What an init is told to end its run by. It cannot be killed instead: nobody would end the others.
pub(crate) const END: Signal = Signal::USR1;
/// The first version that keeps signals within a domain.
const LANDLOCK_MIN: u32 = 6;
