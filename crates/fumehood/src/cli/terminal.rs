//! The controlling terminal: where a person decides, whatever standard input and output are connected to.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use fumehood_core::Code;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};

use crate::fault::Fault;

/// The terminal that this session belongs to.
pub(super) struct Terminal(OwnedFd);

impl Terminal {
    /// Opens it; `None` if there is none.
    pub(super) fn open() -> Option<Self> {
        // Not a file of the host's: the terminal that this session belongs to, however it was redirected.
        rustix::fs::open("/dev/tty", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).ok().map(Self)
    }

    /// Shows a question and waits for one line, as long as somebody waits for it. What was typed before the question was
    /// shown, or less than `dead` after, is no answer to it.
    pub(super) fn ask(
        &self,
        question: &str,
        dead: Duration,
        is_over: &dyn Fn() -> bool,
    ) -> Result<String, Errno> {
        tcflush(&self.0, QueueSelector::IFlush)?;
        self.write(question)?;
        if !dead.is_zero() {
            let end = Instant::now() + dead;
            while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
                std::thread::sleep(left);
            }
            tcflush(&self.0, QueueSelector::IFlush)?;
        }
        while !is_over() {
            let mut waiting = [PollFd::new(&self.0, PollFlags::IN)];
            let patience = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
            match poll(&mut waiting, Some(&patience)) {
                Ok(0) | Err(Errno::INTR) => continue,
                polled => polled?,
            };
            let mut line = [0; LINE_BYTES_MAX];
            let length = rustix::io::read(&self.0, &mut line)?;
            return Ok(String::from_utf8_lossy(&line[..length]).into_owned());
        }
        self.write("\nnobody waits for the answer any more\n")?;
        Ok(String::new())
    }

    fn write(&self, text: &str) -> Result<(), Errno> {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let written = rustix::io::write(&self.0, rest)?;
            rest = &rest[written..];
        }
        Ok(())
    }
}

/// Shows `question` on the controlling terminal and waits for a yes.
///
/// # Errors
/// `E_TERMINAL_REQUIRED` without a controlling terminal, `E_NOT_CONFIRMED` for any answer but `y` or `yes`.
pub(super) fn confirm(question: &str) -> Result<(), Fault> {
    let no_terminal = || {
        Fault::new(
            Code::TerminalRequired,
            "this needs a person at a terminal, and there is none",
            "run it yourself in a terminal; no program can answer for you",
        )
    };
    let terminal = Terminal::open().ok_or_else(no_terminal)?;
    let answer = terminal.ask(question, Duration::ZERO, &|| false).map_err(|_| no_terminal())?;
    if is_yes(&answer) {
        return Ok(());
    }
    Err(Fault::new(Code::NotConfirmed, "the answer was not yes", "nothing was changed"))
}

pub(super) fn is_yes(answer: &str) -> bool {
    matches!(answer.trim(), "y" | "Y" | "yes" | "Yes" | "YES")
}

/// A terminal hands over one line at a time; a longer one is not "yes" anyway.
const LINE_BYTES_MAX: usize = 64;
