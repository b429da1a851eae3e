//! The controlling terminal: where a person decides, whatever standard input and output are connected to.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use anstream::adapter::strip_str;
use fumehood_core::Code;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcgetsid,
    tcsetattr,
};

use super::fold::{self, Size, folded, hint};
use super::interrupt::Interrupt;
use crate::fault::Fault;
use crate::host::{Host, Over, Passphrase, Vouched};

/// The terminal that this session belongs to.
pub(super) struct Terminal {
    keys: OwnedFd,
    /// Held locked while a question is on it.
    turn: OwnedFd,
}

/// What a person typed, or why it does not matter any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Line(String),
    Over(Over),
}

impl Terminal {
    /// Opens it; `None` if there is none.
    pub(super) fn open() -> Option<Self> {
        // Not a file of the host's: the terminal that this session belongs to, however it was redirected.
        let open = || rustix::fs::open("/dev/tty", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).ok();
        Some(Self { keys: open()?, turn: own_handle().or_else(open)? })
    }

    /// Shows `question`, then `prompt`, folded, and waits for one line, as long as somebody waits for it. What was typed before the
    /// prompt was shown is no answer to it, and the prompt comes `dead` after the question: whoever typed for something else
    /// sees it first. While another question is on this terminal, this one waits for its turn.
    pub(super) fn ask(
        &self,
        question: &str,
        prompt: &str,
        dead: Duration,
        over: &dyn Fn() -> Option<Over>,
    ) -> Result<Reply, Errno> {
        let _turn = loop {
            // Before anything is on the terminal there is nothing to take back.
            if let Some(over) = over() {
                return Ok(Reply::Over(over));
            }
            match flock(&self.turn, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break Turn(&self.turn),
                Err(Errno::WOULDBLOCK) => std::thread::sleep(LOOK_UP),
                Err(error) => return Err(error),
            }
        };
        let size = self.size();
        let (more, last) = prompt.split_at(prompt.rfind('\n').map_or(0, |end| end + 1));
        let (question, more) = (folded(question, size.columns), folded(more, size.columns));
        let hint = hint(question.lines().count() + more.lines().count() + 1, size.rows);
        self.write(&question)?;
        let end = Instant::now() + dead;
        while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            if let Some(over) = over() {
                return self.gone(over);
            }
            std::thread::sleep(left.min(LOOK_UP));
        }
        self.write(&format!("{more}{hint}"))?;
        // Not before: a long question is on its way for a while, and what is typed meanwhile is no answer to it.
        tcflush(&self.keys, QueueSelector::IFlush)?;
        self.write(last)?;
        loop {
            if let Some(over) = over() {
                return self.gone(over);
            }
            let mut waiting = [PollFd::new(&self.keys, PollFlags::IN)];
            let patience = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
            match poll(&mut waiting, Some(&patience)) {
                Ok(0) | Err(Errno::INTR) => continue,
                polled => polled?,
            };
            let mut line = [0; LINE_BYTES_MAX];
            let length = rustix::io::read(&self.keys, &mut line)?;
            if line[..length].last() != Some(&b'\n') {
                // Ctrl-D leaves the cursor behind the question.
                self.write("\n")?;
            }
            return Ok(Reply::Line(String::from_utf8_lossy(&line[..length]).into_owned()));
        }
    }

    /// Shows `prompt` and reads one line that nobody sees, as long as somebody waits for it. What was typed before counts for
    /// nothing. Afterwards, whatever happened, the terminal shows again what is typed.
    pub(super) fn passphrase(
        &self,
        prompt: &str,
        over: &dyn Fn() -> Option<Over>,
    ) -> Result<Option<Passphrase>, Errno> {
        let _turn = self.turn()?;
        let _unseen = Unseen::begin(&self.keys)?;
        self.write(prompt)?;
        loop {
            if let Some(over) = over() {
                self.gone(over)?;
                return Ok(None);
            }
            let mut waiting = [PollFd::new(&self.keys, PollFlags::IN)];
            let patience = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
            match poll(&mut waiting, Some(&patience)) {
                Ok(0) | Err(Errno::INTR) => continue,
                polled => polled?,
            };
            let read = Passphrase::read(|buffer| rustix::io::read(&self.keys, buffer));
            // The rest of a line that is too long is no answer to anything.
            tcflush(&self.keys, QueueSelector::IFlush)?;
            self.write("\n")?;
            return read;
        }
    }

    fn turn(&self) -> Result<Turn<'_>, Errno> {
        loop {
            match flock(&self.turn, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Turn(&self.turn)),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Lends the terminal to another program of the person's: no question is on it meanwhile, and afterwards it is as it was.
    pub(super) fn lend<T>(&self, to: impl FnOnce([OwnedFd; 3]) -> io::Result<T>) -> io::Result<T> {
        let _turn = self.turn()?;
        let modes = tcgetattr(&self.keys)?;
        let lent = to([self.keys.try_clone()?, self.keys.try_clone()?, self.keys.try_clone()?]);
        tcsetattr(&self.keys, OptionalActions::Drain, &modes)?;
        lent
    }

    fn size(&self) -> Size {
        fold::size_of(&self.keys).unwrap_or(Size::of(0, 0))
    }

    /// Says on the terminal why no answer is waited for any more.
    fn gone(&self, over: Over) -> Result<Reply, Errno> {
        self.write(&format!("\n{}\n", sentence(over)))?;
        Ok(Reply::Over(over))
    }

    fn write(&self, text: &str) -> Result<(), Errno> {
        let plain = (!wants_styles(|name| std::env::var_os(name))).then(|| strip_str(text).to_string());
        let mut rest = plain.as_deref().unwrap_or(text).as_bytes();
        while !rest.is_empty() {
            let written = rustix::io::write(&self.keys, rest)?;
            rest = &rest[written..];
        }
        Ok(())
    }
}

/// Whether bold and colours are wanted where they can be had. What decides for an answer on standard output does not know this
/// terminal.
fn wants_styles(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let unwanted = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    !unwanted && variable("TERM").is_none_or(|term| term != "dumb")
}

/// A handle on this terminal that shares its lock with nobody: `/dev/tty` is one file for all terminals, and a standard
/// stream is one handle for all who inherited it. `None` if no standard stream is the terminal.
fn own_handle() -> Option<OwnedFd> {
    let streams: [(u8, &dyn AsFd); 3] = [(0, &io::stdin()), (1, &io::stdout()), (2, &io::stderr())];
    let mut ours = streams.into_iter().filter(|(_, stream)| tcgetsid(stream.as_fd()).is_ok());
    let open = |(number, _): (u8, &dyn AsFd)| {
        let path = format!("/proc/self/fd/{number}");
        rustix::fs::open(path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).ok()
    };
    ours.find_map(open)
}

/// This question is the one that is on the terminal.
struct Turn<'t>(&'t OwnedFd);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // It ends with the handle at the latest.
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}

/// While it is there, what is typed is not shown. Ctrl-Z and Ctrl-\\ do nothing: they would leave a terminal that shows nothing.
struct Unseen<'t> {
    keys: &'t OwnedFd,
    before: Termios,
}

impl<'t> Unseen<'t> {
    fn begin(keys: &'t OwnedFd) -> Result<Self, Errno> {
        let before = tcgetattr(keys)?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL);
        modes.local_modes.insert(LocalModes::ICANON | LocalModes::ISIG);
        for key in [SpecialCodeIndex::VSUSP, SpecialCodeIndex::VQUIT] {
            modes.special_codes[key] = NO_KEY;
        }
        tcsetattr(keys, OptionalActions::Flush, &modes)?;
        Ok(Self { keys, before })
    }
}

impl Drop for Unseen<'_> {
    fn drop(&mut self) {
        // A terminal that is gone shows nothing anyway.
        let _ = tcsetattr(self.keys, OptionalActions::Drain, &self.before);
    }
}

/// Why an answer would come too late.
fn sentence(over: Over) -> &'static str {
    match over {
        Over::Cancelled => "stopped: nothing ran",
        Over::Expired => "this request is older than five minutes and counts no longer: nothing ran",
        Over::Stale => "what would run is not what is shown here any more: nothing ran",
        Over::Answered => "this request has its answer already",
        Over::Ended => "this request was withdrawn: nothing ran",
    }
}

/// The controlling terminal, for what needs a person at one.
///
/// # Errors
/// `E_TERMINAL_REQUIRED` if there is none.
pub(super) fn required() -> Result<Terminal, Fault> {
    Terminal::open().ok_or_else(no_terminal)
}

pub(super) fn no_terminal() -> Fault {
    Fault::new(
        Code::TerminalRequired,
        "this needs a person at a terminal, and there is none",
        "run it yourself in a terminal; no program can answer for you",
    )
}

/// Shows `question` on the controlling terminal and waits for a yes, and then for the passphrase where one is required.
///
/// # Errors
/// `E_TERMINAL_REQUIRED` without a controlling terminal, `E_NOT_CONFIRMED` for any answer but `y` or `yes`; those of
/// [`Host::vouch`].
pub(super) fn confirm(host: &Host, question: &str) -> Result<Vouched, Fault> {
    host.can_vouch()?;
    says_yes(question, &|| None)?;
    host.vouch(|| {
        // Only from here on: whoever is asked for a yes ends this process with Ctrl-C.
        let interrupt = Interrupt::watch()?;
        typed(&|| interrupt.was_asked().then_some(Over::Cancelled))
    })
}

/// As [`confirm`], as long as somebody waits for the answer.
///
/// # Errors
/// As [`confirm`]; `E_NOT_CONFIRMED` also if nobody does any more.
pub(super) fn confirm_unless(
    host: &Host,
    question: &str,
    over: &dyn Fn() -> Option<Over>,
) -> Result<Vouched, Fault> {
    host.can_vouch()?;
    says_yes(question, over)?;
    host.vouch(|| typed(over))
}

/// As [`confirm_unless`], for what decides nothing.
///
/// # Errors
/// `E_TERMINAL_REQUIRED`, `E_NOT_CONFIRMED`.
pub(super) fn says_yes(question: &str, over: &dyn Fn() -> Option<Over>) -> Result<(), Fault> {
    let reply = required()?.ask("", question, Duration::ZERO, over).map_err(|_| no_terminal())?;
    if is_yes(&reply) {
        return Ok(());
    }
    Err(Fault::new(Code::NotConfirmed, "the answer was not yes", "nothing was changed"))
}

fn typed(over: &dyn Fn() -> Option<Over>) -> Result<Option<Passphrase>, Fault> {
    required()?.passphrase(PASSPHRASE, over).map_err(|_| no_terminal())
}

/// What is asked for after a yes, where one is required.
pub(super) const PASSPHRASE: &str = "Passphrase: ";

/// A yes is a whole line: what ends in another way than by Enter, or goes on beyond what is looked at, is none.
pub(super) fn is_yes(reply: &Reply) -> bool {
    let Reply::Line(line) = reply else { return false };
    line.strip_suffix('\n').is_some_and(|line| matches!(line.trim(), "y" | "Y" | "yes" | "Yes" | "YES"))
}

/// A terminal hands over one line at a time; a longer one is not "yes" anyway.
const LINE_BYTES_MAX: usize = 64;
/// `_POSIX_VDISABLE` of Linux.
const NO_KEY: u8 = 0;
const LOOK_UP: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yes_is_one_whole_line_and_nothing_else() {
        let is_yes = |line: &str| is_yes(&Reply::Line(line.to_owned()));
        for yes in ["y\n", "Y\n", "yes\n", " yes \n", "YES\n"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["", "\n", "y", "n\n", "no\n", "yy\n", "yes, but\n", "\u{1b}y\n", "ye\n", "у\n"] {
            assert!(!is_yes(no), "{no:?}");
        }
        assert!(!is_yes(&format!("yes{}", " ".repeat(LINE_BYTES_MAX - 3))));
    }

    #[test]
    fn styles_are_left_out_where_nobody_wants_them() {
        let wants = |name: &'static str, value: &'static str| {
            wants_styles(move |asked| (asked == name).then(|| value.into()))
        };
        assert!(wants("TERM", "xterm") && wants("NO_COLOR", "") && wants("PATH", "/bin"));
        assert!(!wants("TERM", "dumb") && !wants("NO_COLOR", "1"));
    }

    #[test]
    fn every_end_of_a_request_has_a_sentence_of_its_own() {
        let all = [Over::Cancelled, Over::Expired, Over::Stale, Over::Answered, Over::Ended];
        let sentences: std::collections::BTreeSet<_> = all.into_iter().map(sentence).collect();
        assert_eq!(sentences.len(), all.len());
        assert!(sentence(Over::Expired).contains("five minutes"));
        assert!(all.into_iter().all(|over| !super::is_yes(&Reply::Over(over))));
    }
}
