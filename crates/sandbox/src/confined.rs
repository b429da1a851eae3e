//! A run, from its start to the empty sandbox.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal;

use crate::launch::SandboxError;
use crate::profile::{OnExcess, Profile};
use crate::socket;
use crate::wire::Record;

/// A program that runs inside. Dropping it kills everything in it.
#[derive(Debug)]
pub struct Confined {
    pidfd: OwnedFd,
    /// What ends all of it.
    end: Signal,
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

impl Confined {
    pub(crate) fn new(
        pidfd: OwnedFd,
        report: OwnedFd,
        pipes: [OwnedFd; 3],
        profile: &Profile,
        end: Signal,
    ) -> Self {
        let [input, output, errors] = pipes;
        Self {
            pidfd,
            end,
            report,
            input: Some(input),
            output: Stream::new(output, profile.output_bytes_max),
            errors: Stream::new(errors, profile.errors_bytes_max),
            started: Instant::now(),
            wall: profile.wall,
            grace: profile.grace,
            on_excess: profile.on_excess,
        }
    }

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
            waiting.extend(
                streams
                    .iter()
                    .filter_map(|stream| stream.pipe.as_ref())
                    .map(|pipe| PollFd::new(pipe, PollFlags::IN)),
            );
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
        self.output.read_all();
        self.errors.read_all();
        let late = self.on_excess == OnExcess::Fail
            && (self.output.captured.dropped + self.errors.captured.dropped) > 0;
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
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, self.end);
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

    /// Reads until nothing is left, for when nobody can write any more.
    fn read_all(&mut self) {
        while self.read_ready() {}
    }

    /// Reads what is there, up to a bound, and says whether there may be more.
    fn read_ready(&mut self) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        let mut buffer = [0; 16 << 10];
        for _ in 0..READS_AT_ONCE {
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => {
                    self.pipe = None;
                    return false;
                }
                Ok(length) => {
                    let room = self.bytes_max.saturating_sub(self.captured.bytes.len()).min(length);
                    self.captured.bytes.extend_from_slice(&buffer[..room]);
                    self.captured.dropped += (length - room) as u64;
                }
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        true
    }
}

pub(crate) fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}

const LOOK_UP: Duration = Duration::from_millis(50);
const READS_AT_ONCE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_in_a_pipe_is_read_or_counted() {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        // As large as a machine may allow programs to make it; this one may not allow it.
        let bytes = [4 << 20, 1 << 20]
            .into_iter()
            .find_map(|size| rustix::pipe::fcntl_setpipe_size(&write, size).ok());
        let bytes = bytes.unwrap();
        rustix::io::ioctl_fionbio(&write, true).unwrap();
        let mut written = 0;
        while written < bytes {
            written += rustix::io::write(&write, &vec![b'x'; bytes - written]).unwrap();
        }
        let mut stream = Stream::new(read, 1000);
        stream.read_all();
        assert_eq!(stream.captured.bytes.len(), 1000);
        assert_eq!(stream.captured.dropped, bytes as u64 - 1000);
        // Whoever holds the other end open is not waited for.
        assert!(stream.pipe.is_some());
        drop(write);
        // A process that another test starts right now has a copy for a moment.
        let is_over = || {
            stream.read_all();
            stream.pipe.is_none()
        };
        assert!(std::iter::repeat_with(is_over).take(1000).any(|is_over| {
            std::thread::sleep(Duration::from_millis(1));
            is_over
        }));
    }
}
