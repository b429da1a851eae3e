//! A run, from its start to the empty sandbox.

use std::hint::black_box;
use std::ops::ControlFlow;
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
    /// Standard output, up to the cap; without bytes if somebody else took them.
    pub output: Captured,
    /// Standard error, likewise.
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

/// Why a run was ended from outside, or would have been if it had not ended by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Killed {
    /// The deadline passed.
    Deadline,
    /// An output stream passed its cap.
    Output,
    /// The caller asked for it.
    Cancelled,
    /// Who watched what it wrote gave it up.
    Watcher,
}

/// Where a program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
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
            output: Stream::new(Channel::Output, output, profile.output_bytes_max),
            errors: Stream::new(Channel::Errors, errors, profile.errors_bytes_max),
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
    pub fn wait(self, is_cancelled: &dyn Fn() -> bool) -> Result<Outcome, SandboxError> {
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let mut outcome = self.watch(is_cancelled, &mut |channel, piece| {
            match channel {
                Channel::Output => output.extend_from_slice(piece),
                Channel::Errors => errors.extend_from_slice(piece),
            }
            ControlFlow::Continue(())
        })?;
        (outcome.output.bytes, outcome.errors.bytes) = (output, errors);
        Ok(outcome)
    }

    /// The same, and every piece of output goes to `take` as it is read, and is kept by nobody else: what it was read into is
    /// overwritten. Never more than a stream's cap altogether.
    ///
    /// When `take` breaks off, the run is ended as one that passed its cap is, and `take` is not called again; what is read
    /// from then on is counted as dropped. The first reason to end a run is the one that is told.
    ///
    /// # Errors
    /// As [`Confined::wait`].
    pub fn watch(
        mut self,
        is_cancelled: &dyn Fn() -> bool,
        take: &mut dyn FnMut(Channel, &[u8]) -> ControlFlow<()>,
    ) -> Result<Outcome, SandboxError> {
        drop(self.input.take());
        let fails_on_excess = self.on_excess == OnExcess::Fail;
        let mut reader = Reader { take, fails_on_excess, is_given_up: false, trouble: None };
        let (mut exit, mut killed, mut kill_at) = (None, None, None);
        loop {
            let now = Instant::now();
            if killed.is_none() {
                killed = reader.trouble.or_else(|| self.reason_to_kill(now, is_cancelled));
                if killed.is_some() {
                    self.ask_to_leave();
                    kill_at = Some(now + self.grace);
                }
            }
            if kill_at.is_some_and(|at| now >= at) {
                self.kill();
                kill_at = None;
            }
            match self.step(kill_at, &mut reader)? {
                Some(Record::Exited { code }) => exit = Some(Exit::Code(code)),
                Some(Record::Signalled { signal }) => exit = Some(Exit::Signal(signal)),
                Some(Record::Empty) => return Ok(self.finish(exit, killed, reader)),
                Some(_) => return Err(SandboxError::LauncherGone),
                None => {}
            }
        }
    }

    fn reason_to_kill(&self, now: Instant, is_cancelled: &dyn Fn() -> bool) -> Option<Killed> {
        match () {
            () if now.duration_since(self.started) >= self.wall => Some(Killed::Deadline),
            () if is_cancelled() => Some(Killed::Cancelled),
            () => None,
        }
    }

    /// Waits a moment for output or a record.
    fn step(
        &mut self,
        kill_at: Option<Instant>,
        reader: &mut Reader<'_>,
    ) -> Result<Option<Record>, SandboxError> {
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
            self.output.read_ready(reader);
            self.errors.read_ready(reader);
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
    fn finish(mut self, exit: Option<Exit>, killed: Option<Killed>, mut reader: Reader<'_>) -> Outcome {
        self.output.read_all(&mut reader);
        self.errors.read_all(&mut reader);
        let taken = |stream: &Stream| Captured { bytes: Vec::new(), dropped: stream.dropped };
        Outcome {
            exit,
            killed: killed.or(reader.trouble),
            output: taken(&self.output),
            errors: taken(&self.errors),
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
    channel: Channel,
    pipe: Option<OwnedFd>,
    /// How many more bytes are taken of it.
    room: usize,
    /// How many were read and not taken.
    dropped: u64,
}

/// Where what is read goes, and what was wrong with it first.
struct Reader<'a> {
    take: &'a mut dyn FnMut(Channel, &[u8]) -> ControlFlow<()>,
    fails_on_excess: bool,
    is_given_up: bool,
    trouble: Option<Killed>,
}

impl Stream {
    fn new(channel: Channel, pipe: OwnedFd, bytes_max: usize) -> Self {
        // Without blocking, so that reading stops where the pipe is empty and not where its last writer lets go.
        let _ = rustix::io::ioctl_fionbio(&pipe, true);
        Self { channel, pipe: Some(pipe), room: bytes_max, dropped: 0 }
    }

    /// Reads until nothing is left, for when nobody can write any more.
    fn read_all(&mut self, reader: &mut Reader<'_>) {
        while self.read_ready(reader) {}
    }

    /// Reads what is there, up to a bound, and says whether there may be more.
    fn read_ready(&mut self, reader: &mut Reader<'_>) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        let mut buffer = [0; 16 << 10];
        let mut may_be_more = true;
        for _ in 0..READS_AT_ONCE {
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => {
                    (self.pipe, may_be_more) = (None, false);
                    break;
                }
                Ok(length) => {
                    let taken = reader.take(self.channel, &buffer[..length], self.room);
                    self.room -= taken;
                    self.dropped += (length - taken) as u64;
                }
                Err(Errno::INTR) => {}
                Err(_) => {
                    may_be_more = false;
                    break;
                }
            }
        }
        buffer.fill(0);
        // Without somebody who looks at it, the compiler could leave the writing out.
        black_box(&buffer);
        may_be_more
    }
}

impl Reader<'_> {
    /// Hands on as much of a piece as there is room for, and says how much that was.
    fn take(&mut self, channel: Channel, piece: &[u8], room: usize) -> usize {
        if self.is_given_up {
            return 0;
        }
        let taken = piece.len().min(room);
        if taken > 0 && (self.take)(channel, &piece[..taken]).is_break() {
            self.is_given_up = true;
            self.trouble.get_or_insert(Killed::Watcher);
        }
        if taken < piece.len() && self.fails_on_excess {
            self.trouble.get_or_insert(Killed::Output);
        }
        taken
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
        let mut stream = Stream::new(Channel::Output, read, 1000);
        let mut taken = 0;
        let mut take = |channel, piece: &[u8]| {
            assert_eq!(channel, Channel::Output);
            taken += piece.len();
            ControlFlow::Continue(())
        };
        let mut reader = Reader { take: &mut take, fails_on_excess: true, is_given_up: false, trouble: None };
        stream.read_all(&mut reader);
        assert_eq!(reader.trouble, Some(Killed::Output));
        assert_eq!((stream.room, stream.dropped), (0, bytes as u64 - 1000));
        // Whoever holds the other end open is not waited for.
        assert!(stream.pipe.is_some());
        drop(write);
        // A process that another test starts right now has a copy for a moment.
        let is_over = || {
            stream.read_all(&mut reader);
            stream.pipe.is_none()
        };
        assert!(std::iter::repeat_with(is_over).take(1000).any(|is_over| {
            std::thread::sleep(Duration::from_millis(1));
            is_over
        }));
        assert_eq!(taken, 1000);
    }

    // CHK-126: the first reason is the one that counts, and who gave up is left alone.
    #[test]
    fn the_first_trouble_is_the_trouble() {
        for (pieces, trouble, expected) in [
            (["good", "good"], None, 8),
            (["good", "bad"], Some(Killed::Watcher), 7),
            (["bad", "good and more than there is room for"], Some(Killed::Watcher), 3),
            (["good and more than there is room for", "bad"], Some(Killed::Output), 10),
            (["bad and more than there is room for", "good"], Some(Killed::Watcher), 10),
        ] {
            let (mut taken, mut room) = (0, 10);
            let mut take = |_, piece: &[u8]| {
                taken += piece.len();
                if piece.starts_with(b"bad") { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let mut reader =
                Reader { take: &mut take, fails_on_excess: true, is_given_up: false, trouble: None };
            for piece in pieces {
                room -= reader.take(Channel::Errors, piece.as_bytes(), room);
            }
            assert_eq!(reader.trouble, trouble, "{pieces:?}");
            assert_eq!(taken, expected, "{pieces:?}");
        }
    }
}
