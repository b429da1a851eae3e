//! The host's side: a launcher, and runs of it.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::Signal;

use crate::profile::{OnExcess, Profile};
use crate::socket;
use crate::wire::{REQUEST_BYTES_MAX, Record, Request, Step};

/// A launcher process, alive as long as this value.
///
/// # Authority
/// Starts processes, each confined as its [`Profile`] says. Opens only what profiles grant and the system's programs.
#[derive(Debug)]
pub struct Sandbox {
    socket: OwnedFd,
    process: Mutex<Child>,
}

/// A program that runs inside. Dropping it kills everything in it.
#[derive(Debug)]
pub struct Confined {
    pidfd: OwnedFd,
    report: OwnedFd,
    input: Option<OwnedFd>,
    output: Stream,
    errors: Stream,
    started: Instant,
    wall: Duration,
    grace: Duration,
    on_excess: OnExcess,
}

/// How a run ended. It exists only when no process of it is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How the program itself ended; `None` if it was killed before it could tell.
    pub exit: Option<Exit>,
    /// Why the sandbox was ended from outside, if it was.
    pub killed: Option<Killed>,
    /// Standard output, up to the cap.
    pub output: Captured,
    /// Standard error, up to the cap.
    pub errors: Captured,
    /// From the program's start to the empty sandbox.
    pub elapsed: Duration,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(u8),
    /// By this signal.
    Signal(u8),
}

/// Why a run was ended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Killed {
    /// The deadline passed.
    Deadline,
    /// An output stream passed its cap.
    Output,
    /// The caller asked for it.
    Cancelled,
}

/// What was read of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes.
    pub bytes: Vec<u8>,
    /// How many more there were that were read and dropped.
    pub dropped: u64,
}

/// Why nothing runs.
#[derive(Debug)]
#[non_exhaustive]
pub enum SandboxError {
    /// The launcher could not be started.
    Launcher(io::Error),
    /// The launcher is gone.
    LauncherGone,
    /// The request is larger than 1 MiB.
    RequestTooLarge,
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
    /// [`helper::dispatch`](crate::helper::dispatch) first thing in `main`.
    ///
    /// # Errors
    /// [`SandboxError::Launcher`].
    pub fn start() -> Result<Self, SandboxError> {
        Self::start_with(Path::new("/proc/self/exe"))
    }

    /// Starts a launcher from another program that calls [`helper::dispatch`](crate::helper::dispatch).
    ///
    /// # Errors
    /// [`SandboxError::Launcher`].
    pub fn start_with(helper: &Path) -> Result<Self, SandboxError> {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).map_err(host)?;
        let process = Command::new(PathBuf::from(helper))
            .arg(crate::helper::LAUNCHER_ARGUMENT)
            .env_clear()
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(SandboxError::Launcher)?;
        Ok(Self { socket: ours, process: Mutex::new(process) })
    }

    /// Starts a program and returns when it runs. Standard input is empty unless bytes are written to
    /// [`Confined::take_input`].
    ///
    /// # Errors
    /// [`SandboxError`]; nothing runs then.
    pub fn spawn(&self, profile: &Profile) -> Result<Confined, SandboxError> {
        let request = request_memory(profile)?;
        let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(host);
        let ((child_input, input), (output, child_output), (errors, child_errors)) = (pipe()?, pipe()?, pipe()?);
        let (report, child_report) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).map_err(host)?;
        let fds = [&request, &child_input, &child_output, &child_errors, &child_report].map(|fd| fd.as_fd());
        socket::send(&self.socket, &fds).map_err(|_| SandboxError::LauncherGone)?;
        drop((request, child_input, child_output, child_errors, child_report));
        let pidfd = await_start(&report)?;
        let bytes_max = profile.output_bytes_max;
        Ok(Confined {
            pidfd,
            report,
            input: Some(input),
            output: Stream::new(output, bytes_max),
            errors: Stream::new(errors, bytes_max),
            started: Instant::now(),
            wall: profile.wall,
            grace: profile.grace,
            on_excess: profile.on_excess,
        })
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // The launcher leaves when its socket closes, and takes its children along; this only collects it.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
        if let Ok(process) = self.process.get_mut() {
            let _ = process.wait();
        }
    }
}

/// Waits for the record that says that the program runs.
fn await_start(report: &OwnedFd) -> Result<OwnedFd, SandboxError> {
    let mut pidfd = None;
    loop {
        match next_record(report, SET_UP_TIME_MAX)? {
            (Record::Cloned, Some(fd)) => pidfd = Some(fd),
            (Record::Executed, _) => return pidfd.ok_or(SandboxError::LauncherGone),
            (Record::Failed { step, errno }, _) => return Err(SandboxError::SetUp { step, errno }),
            _ => return Err(SandboxError::LauncherGone),
        }
    }
}

fn next_record(report: &OwnedFd, patience: Duration) -> Result<(Record, Option<OwnedFd>), SandboxError> {
    let mut waiting = [PollFd::new(report, PollFlags::IN)];
    match poll(&mut waiting, Some(&timespec(patience))) {
        Ok(0) => Err(SandboxError::LauncherGone),
        Err(errno) if errno != Errno::INTR => Err(SandboxError::Host(errno)),
        _ => socket::receive_record(report).ok().flatten().ok_or(SandboxError::LauncherGone),
    }
}

impl Confined {
    /// The program's standard input; dropping it is the end of input. `None` the second time.
    pub fn take_input(&mut self) -> Option<OwnedFd> {
        self.input.take()
    }

    /// Waits until the sandbox is empty, reading output meanwhile; kills it when its time is over.
    ///
    /// `is_cancelled` is asked at least every 50 ms.
    ///
    /// # Errors
    /// [`SandboxError::LauncherGone`] if the launcher died; its children died with it.
    pub fn wait(mut self, is_cancelled: &dyn Fn() -> bool) -> Result<Outcome, SandboxError> {
        drop(self.input.take());
        let (mut exit, mut killed, mut kill_at) = (None, None, None);
        loop {
            let now = Instant::now();
            if killed.is_none() {
                killed = self.reason_to_kill(now, is_cancelled);
                if killed.is_some() {
                    self.ask_to_leave();
                    kill_at = Some(now + self.grace);
                }
            }
            if kill_at.is_some_and(|at| now >= at) {
                self.kill();
                kill_at = None;
            }
            match self.step(kill_at)? {
                Some(Record::Exited { code }) => exit = Some(Exit::Code(code)),
                Some(Record::Signalled { signal }) => exit = Some(Exit::Signal(signal)),
                Some(Record::Empty) => return Ok(self.finish(exit, killed)),
                Some(_) => return Err(SandboxError::LauncherGone),
                None => {}
            }
        }
    }

    fn reason_to_kill(&self, now: Instant, is_cancelled: &dyn Fn() -> bool) -> Option<Killed> {
        let excess = self.output.captured.dropped > 0 || self.errors.captured.dropped > 0;
        match () {
            () if excess && self.on_excess == OnExcess::Fail => Some(Killed::Output),
            () if now.duration_since(self.started) >= self.wall => Some(Killed::Deadline),
            () if is_cancelled() => Some(Killed::Cancelled),
            () => None,
        }
    }

    /// Waits a moment for output or a record.
    fn step(&mut self, kill_at: Option<Instant>) -> Result<Option<Record>, SandboxError> {
        let now = Instant::now();
        let until = kill_at.unwrap_or(self.started + self.wall);
        let patience = until.saturating_duration_since(now).min(LOOK_UP).max(Duration::from_millis(1));
        let (report_ready, ready) = {
            let mut waiting = vec![PollFd::new(&self.report, PollFlags::IN)];
            let streams = [&self.output, &self.errors];
            waiting.extend(streams.iter().filter_map(|stream| stream.pipe.as_ref()).map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            match poll(&mut waiting, Some(&timespec(patience))) {
                Err(Errno::INTR) => return Ok(None),
                polled => polled.map_err(SandboxError::Host)?,
            };
            (!waiting[0].revents().is_empty(), waiting[1..].iter().any(|fd| !fd.revents().is_empty()))
        };
        if ready {
            self.output.read_ready();
            self.errors.read_ready();
        }
        if !report_ready {
            return Ok(None);
        }
        match socket::receive_record(&self.report) {
            Ok(Some((record, _))) => Ok(Some(record)),
            _ => Err(SandboxError::LauncherGone),
        }
    }

    /// Nobody is left who could write: what is in the pipes is all there is.
    fn finish(mut self, exit: Option<Exit>, killed: Option<Killed>) -> Outcome {
        self.output.read_ready();
        self.errors.read_ready();
        let late = self.on_excess == OnExcess::Fail && (self.output.captured.dropped + self.errors.captured.dropped) > 0;
        Outcome {
            exit,
            killed: killed.or(late.then_some(Killed::Output)),
            output: std::mem::take(&mut self.output.captured),
            errors: std::mem::take(&mut self.errors.captured),
            elapsed: self.started.elapsed(),
        }
    }

    fn ask_to_leave(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, Signal::TERM);
    }

    fn kill(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, Signal::KILL);
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        self.kill();
    }
}

/// One output pipe of a run.
#[derive(Debug)]
struct Stream {
    pipe: Option<OwnedFd>,
    captured: Captured,
    bytes_max: usize,
}

impl Stream {
    fn new(pipe: OwnedFd, bytes_max: usize) -> Self {
        // Without blocking, so that reading stops where the pipe is empty and not where its last writer lets go.
        let _ = rustix::io::ioctl_fionbio(&pipe, true);
        Self { pipe: Some(pipe), captured: Captured::default(), bytes_max }
    }

    fn read_ready(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        let mut buffer = [0; 64 << 10];
        for _ in 0..READS_AT_ONCE {
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => {
                    self.pipe = None;
                    return;
                }
                Ok(length) => {
                    let room = self.bytes_max.saturating_sub(self.captured.bytes.len()).min(length);
                    self.captured.bytes.extend_from_slice(&buffer[..room]);
                    self.captured.dropped += (length - room) as u64;
                }
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
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

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}

impl std::fmt::Display for SandboxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Launcher(error) => write!(f, "the launcher could not be started: {error}"),
            Self::LauncherGone => f.write_str("the launcher is gone"),
            Self::RequestTooLarge => f.write_str("arguments, environment and grants are larger than 1 MiB"),
            Self::SetUp { step, errno } => {
                write!(f, "{} failed: {}", step.as_str(), io::Error::from_raw_os_error(*errno))
            }
            Self::Host(errno) => write!(f, "the host could not prepare a run: {errno}"),
        }
    }
}

impl std::error::Error for SandboxError {}

const LOOK_UP: Duration = Duration::from_millis(50);
const SET_UP_TIME_MAX: Duration = Duration::from_secs(10);
const READS_AT_ONCE: usize = 16;
