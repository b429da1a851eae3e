//! The controlling terminal: where a person decides, whatever standard input and output are connected to.

use fumehood_core::Code;
use rustix::fs::{Mode, OFlags};

use crate::fault::Fault;

/// Shows `question` on the controlling terminal and waits for a yes.
///
/// # Errors
/// `E_TERMINAL_REQUIRED` without a controlling terminal, `E_NOT_CONFIRMED` for any answer but `y` or `yes`.
pub(super) fn confirm(question: &str) -> Result<(), Fault> {
    let no_terminal = |_| {
        Fault::new(
            Code::TerminalRequired,
            "this needs a person at a terminal, and there is none",
            "run it yourself in a terminal; no program can answer for you",
        )
    };
    // Not a file of the host's: the terminal that this session belongs to, however it was redirected.
    let tty =
        rustix::fs::open("/dev/tty", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(no_terminal)?;
    // What was typed before the question was shown is no answer to it.
    rustix::termios::tcflush(&tty, rustix::termios::QueueSelector::IFlush).map_err(no_terminal)?;
    let mut rest = question.as_bytes();
    while !rest.is_empty() {
        let written = rustix::io::write(&tty, rest).map_err(no_terminal)?;
        rest = &rest[written..];
    }
    let mut line = [0; LINE_BYTES_MAX];
    let length = rustix::io::read(&tty, &mut line).map_err(no_terminal)?;
    let answer = String::from_utf8_lossy(&line[..length]);
    if matches!(answer.trim(), "y" | "Y" | "yes" | "Yes" | "YES") {
        return Ok(());
    }
    Err(Fault::new(Code::NotConfirmed, "the answer was not yes", "nothing was changed"))
}

/// A terminal hands over one line at a time; a longer one is not "yes" anyway.
const LINE_BYTES_MAX: usize = 64;
