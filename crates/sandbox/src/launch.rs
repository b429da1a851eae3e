//! The host's side: a launcher, and runs of it.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Gid, Uid};

use crate::child::Kind;
use crate::confined::{Confined, Exit, Outcome};
use crate::enforcement::{Enforcement, Obstacle};
use crate::patience::Patience;
use crate::profile::Profile;
use crate::socket;
use crate::wire::{HELLO_BYTES, Hello, REQUEST_BYTES_MAX, Record, Request, Step};

/// What confines programs on this machine, tried once for each process and remembered.
///
/// Starts a launcher and lets go of it; who runs something starts a [`Sandbox`], which knows it by itself. A refusal is
/// not remembered: it may have been a moment's.
///
/// # Authority
/// As [`Sandbox::start`].
///
/// # Errors
/// As [`Sandbox::start`].
pub fn probe() -> Result<&'static Enforcement, SandboxError> {
    static KNOWN: OnceLock<Enforcement> = OnceLock::new();
    match KNOWN.get() {
        Some(known) => Ok(known),
        None => Sandbox::start().map(|sandbox| KNOWN.get_or_init(|| sandbox.enforcement.clone())),
    }
}

/// A launcher process, alive as long as this value, and what it takes to start programs with it.
///
/// It can be shared by threads. Dropping it ends all that it started, within two seconds at most.
///
/// # Authority
/// Starts processes, each confined as its [`Profile`] says. Opens only what profiles grant and the system's programs.
/// Executes this program again, or the helper that was named.
#[derive(Debug)]
pub struct Sandbox {
    /// Opens what is granted.
    launcher: OwnedFd,
    /// Makes children.
    zygote: OwnedFd,
    process: Mutex<Child>,
    enforcement: Enforcement,
}

/// Why nothing runs.
#[derive(Debug)]
#[non_exhaustive]
pub enum SandboxError {
    /// The launcher could not be started.
    Launcher(io::Error),
    /// The launcher is gone.
    LauncherGone,
    /// Something hangs, or the machine is too busy: no answer came in time. It may come the next time.
    NoAnswer,
    /// The request is larger than 1 MiB.
    RequestTooLarge,
    /// This machine cannot confine a child: this fails for every one.
    Unavailable(Obstacle),
    /// The machine has less than the profile's floor.
    BelowFloor {
        /// What it has.
        level: crate::Level,
        /// What was asked for.
        floor: crate::Level,
    },
    /// The memory of all processes together was to be limited, and cannot be here.
    NoMemoryTotal,
    /// A step of the set-up failed; the program never ran.
    SetUp {
        /// The step.
        step: Step,
        /// What the kernel said.
        errno: i32,
    },
    /// The host could not do its part.
    Host(Errno),
}

impl Sandbox {
    /// Starts a launcher by executing this very program again, which must call
    /// [`helper::dispatch`](crate::helper::dispatch) first thing in `main`, and tries it with a child that executes
    /// nothing. Half a second without an answer from a machine that has a processor to spare is a refusal.
    ///
    /// # Authority
    /// Starts processes that see and change nothing.
    ///
    /// # Errors
    /// [`SandboxError::Launcher`], [`SandboxError::Unavailable`] where no level can be had, [`SandboxError::SetUp`] where
    /// there is not enough of something at the moment, [`SandboxError::NoAnswer`],
    /// [`SandboxError::LauncherGone`] if the program does not call `dispatch`, [`SandboxError::Host`].
    pub fn start() -> Result<Self, SandboxError> {
        Self::start_with(Path::new("/proc/self/exe"))
    }

    /// Starts a launcher from another program that calls [`helper::dispatch`](crate::helper::dispatch).
    ///
    /// # Authority
    /// As [`start`](Self::start), and executes `helper`.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with(helper: &Path) -> Result<Self, SandboxError> {
        match Self::start_kind(helper, Kind::Namespaces) {
            Err(SandboxError::Unavailable(obstacle)) => {
                let mut weaker = Self::start_kind(helper, Kind::Kernel).map_err(|error| match error {
                    SandboxError::NoAnswer => error,
                    // What would help is to remove the first obstacle.
                    _ => SandboxError::Unavailable(obstacle),
                })?;
                weaker.enforcement.because_of(obstacle);
                Ok(weaker)
            }
            started => started,
        }
    }

    pub(crate) fn start_kind(helper: &Path, kind: Kind) -> Result<Self, SandboxError> {
        let pair = || {
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).map_err(host)
        };
        let ((launcher, for_launcher), (zygote, for_zygote)) = (pair()?, pair()?);
        let mut process = Command::new(PathBuf::from(helper))
            // Children can read this, and need not know where programs of the host are.
            .arg0("fumehood-launcher")
            .arg(match kind {
                Kind::Namespaces => crate::helper::LAUNCHER_ARGUMENT,
                Kind::Kernel => crate::helper::KERNEL_LAUNCHER_ARGUMENT,
            })
            .env_clear()
            .stdin(Stdio::from(for_launcher))
            .stdout(Stdio::from(for_zygote))
            .stderr(Stdio::null())
            .spawn()
            .map_err(SandboxError::Launcher)?;
        let unavailable = |(step, errno)| refusal(step, errno);
        let hello = await_hello(&zygote).and_then(|hello| hello.ready.map_err(unavailable).map(|()| hello));
        let hello = match hello {
            Ok(hello) => hello,
            Err(error) => {
                // It may be another program, which does not leave by itself.
                let _ = process.kill();
                let _ = process.wait();
                return Err(error);
            }
        };
        let enforcement = Enforcement::of(hello, kind);
        let sandbox = Self { launcher, zygote, process: Mutex::new(process), enforcement };
        // By doing: every step of a launch, with a child that leaves instead of executing a program.
        let probe = sandbox.begin(&Profile::probe(), &mut Patience::for_a_probe());
        match probe.and_then(|probe| probe.wait(&|| false)) {
            Ok(Outcome { exit: Some(Exit::Code(0)), .. }) => Ok(sandbox),
            Ok(_) => Err(SandboxError::LauncherGone),
            Err(SandboxError::SetUp { step, errno }) => Err(refusal(step, errno)),
            Err(error) => Err(error),
        }
    }

    /// Ends the launcher as the kernel would that is out of memory.
    pub(crate) fn kill_launcher(&self) {
        if let Ok(mut process) = self.process.lock() {
            let _ = process.kill();
        }
    }

    /// What confines every child of this launcher.
    pub fn enforcement(&self) -> &Enforcement {
        &self.enforcement
    }

    /// Starts a program and returns when it runs. Standard input is empty unless bytes are written to
    /// [`Confined::take_input`]. The deadline begins here and is kept by [`Confined::wait`].
    ///
    /// # Authority
    /// What the profile grants, and nothing else, for the program and all that it starts.
    ///
    /// # Errors
    /// [`SandboxError`]; nothing runs then, and nothing of it is left. [`SandboxError::SetUp`] names the step; that the
    /// program itself failed is no error but an [`Outcome`](crate::Outcome).
    pub fn spawn(&self, profile: &Profile) -> Result<Confined, SandboxError> {
        if self.enforcement.level() < profile.floor {
            return Err(SandboxError::BelowFloor { level: self.enforcement.level(), floor: profile.floor });
        }
        if profile.memory_bytes_total.is_some() && !self.enforcement.can_limit_total_memory() {
            return Err(SandboxError::NoMemoryTotal);
        }
        self.begin(profile, &mut Patience::of(SET_UP_TIME_MAX))
    }

    pub(crate) fn begin(&self, profile: &Profile, patience: &mut Patience) -> Result<Confined, SandboxError> {
        let request = request_memory(profile)?;
        let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(host);
        let ((child_input, input), (output, child_output), (errors, child_errors)) =
            (pipe()?, pipe()?, pipe()?);
        // A program may open its streams by name, and the pipes of a root host would be root's.
        if let Some(user) = self.enforcement.user() {
            let owner = (Some(Uid::from_raw(user)), Some(Gid::from_raw(user)));
            for stream in [&child_input, &child_output, &child_errors] {
                rustix::fs::fchown(stream, owner.0, owner.1).map_err(host)?;
            }
        }
        let (report, child_report) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(host)?;
        let own = [&request, &child_input, &child_output, &child_errors, &child_report];
        let granted = profile.open.iter().map(|file| file.as_fd());
        let fds: Vec<_> = own.into_iter().map(|fd| fd.as_fd()).chain(granted).collect();
        let needs_host = !profile.grants.is_empty() || profile.memory_bytes_total.is_some();
        let to = if needs_host { &self.launcher } else { &self.zygote };
        socket::send(to, &[], &fds).map_err(|errno| match errno {
            Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN => SandboxError::LauncherGone,
            // Such as that this user has too many descriptors on their way.
            errno => SandboxError::Host(errno),
        })?;
        drop((request, child_input, child_output, child_errors, child_report));
        let pidfd = await_start(&report, patience, self.enforcement.end())?;
        Ok(Confined::new(pidfd, report, [input, output, errors], profile, self.enforcement.end()))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // The launcher leaves when its socket closes, and takes its children along; this only collects it.
        for socket in [&self.zygote, &self.launcher] {
            let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
        }
        let Ok(process) = self.process.get_mut() else { return };
        let deadline = std::time::Instant::now() + LEAVE_TIME_MAX;
        while matches!(process.try_wait(), Ok(None)) {
            if std::time::Instant::now() >= deadline {
                // It hangs. The kernel ends with it whatever it made.
                let _ = process.kill();
                let _ = process.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Waits for the record that says that the program runs. If that does not come, nothing will run.
fn await_start(
    report: &OwnedFd,
    patience: &mut Patience,
    end: rustix::process::Signal,
) -> Result<OwnedFd, SandboxError> {
    let mut pidfd = None;
    let error = loop {
        match next_record(report, patience) {
            Ok((Record::Cloned, Some(fd))) => pidfd = Some(fd),
            Ok((Record::Executed, _)) => match pidfd {
                Some(pidfd) => return Ok(pidfd),
                None => break SandboxError::LauncherGone,
            },
            Ok((Record::Failed { step, errno }, _)) => break SandboxError::SetUp { step, errno },
            // It was killed before it could say anything.
            Ok((Record::Empty, _)) => {
                break SandboxError::SetUp { step: Step::Fork, errno: Errno::SRCH.raw_os_error() };
            }
            Ok(_) => break SandboxError::LauncherGone,
            Err(error) => break error,
        }
    };
    give_up(report, pidfd, end);
    Err(error)
}

/// Ends a child that is being set up. From here on nobody can report, and who fails to report ends the child too; what
/// was reported before may hold its process descriptor.
fn give_up(report: &OwnedFd, mut pidfd: Option<OwnedFd>, end: rustix::process::Signal) {
    let _ = rustix::net::shutdown(report, rustix::net::Shutdown::Both);
    while let Ok(Some((_, fd))) = socket::receive_record(report) {
        pidfd = pidfd.or(fd);
    }
    if let Some(pidfd) = pidfd {
        let _ = rustix::process::pidfd_send_signal(pidfd, end);
    }
}

/// What a machine lacks, unless it only has no more of it at the moment: a weaker level is for the former.
fn refusal(step: Step, errno: i32) -> SandboxError {
    match Errno::from_raw_os_error(errno) {
        Errno::AGAIN | Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::TOOMANYREFS => {
            SandboxError::SetUp { step, errno }
        }
        _ => SandboxError::Unavailable(Obstacle { step, errno }),
    }
}

fn await_hello(socket: &OwnedFd) -> Result<Hello, SandboxError> {
    Patience::for_a_probe().wait_for(socket)?;
    let mut bytes = [0; HELLO_BYTES];
    let length = socket::receive_plain(socket, &mut bytes).map_err(host)?;
    Hello::from_bytes(&bytes[..length]).ok_or(SandboxError::LauncherGone)
}

fn next_record(report: &OwnedFd, patience: &mut Patience) -> Result<(Record, Option<OwnedFd>), SandboxError> {
    patience.wait_for(report)?;
    socket::receive_record(report).ok().flatten().ok_or(SandboxError::LauncherGone)
}

/// The request in memory that can no longer change.
fn request_memory(profile: &Profile) -> Result<OwnedFd, SandboxError> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    let request = Request {
        program: profile.program.clone(),
        arguments: profile.arguments.clone(),
        environment: profile.environment.clone(),
        directory: profile.directory.clone(),
        grants: profile.grants.clone(),
        limits: profile.limits,
        memory_bytes_total: profile.memory_bytes_total,
    };
    let bytes = request.to_bytes();
    if bytes.len() > REQUEST_BYTES_MAX {
        return Err(SandboxError::RequestTooLarge);
    }
    let memory = memfd_create(c"request", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).map_err(host)?;
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let written = rustix::io::write(&memory, rest).map_err(host)?;
        rest = &rest[written..];
    }
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    fcntl_add_seals(&memory, seals).map_err(host)?;
    Ok(memory)
}

fn host(errno: Errno) -> SandboxError {
    SandboxError::Host(errno)
}

impl std::fmt::Display for SandboxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Launcher(error) => write!(f, "the launcher could not be started: {error}"),
            Self::LauncherGone => f.write_str("the launcher is gone"),
            Self::NoAnswer => f.write_str(
                "the sandbox did not answer in time: it hangs, or the machine is overloaded; try again",
            ),
            Self::RequestTooLarge => f.write_str("arguments, environment and grants are larger than 1 MiB"),
            Self::Unavailable(obstacle) => {
                write!(f, "this machine cannot confine a program: {obstacle}; {}", obstacle.remedy())
            }
            Self::BelowFloor { level, floor } => {
                write!(f, "this machine confines at level {level}, and {floor} was asked for")
            }
            Self::NoMemoryTotal => f.write_str(
                "the memory of all processes together cannot be limited here: a control group with the memory controller is needed, which root or a delegated scope has",
            ),
            Self::SetUp { step, errno } => {
                write!(f, "{} failed: {}", step.as_str(), io::Error::from_raw_os_error(*errno))
            }
            Self::Host(errno) => write!(f, "the host could not prepare a run: {errno}"),
        }
    }
}

impl std::error::Error for SandboxError {}

const SET_UP_TIME_MAX: Duration = Duration::from_secs(10);
const LEAVE_TIME_MAX: Duration = Duration::from_secs(2);
