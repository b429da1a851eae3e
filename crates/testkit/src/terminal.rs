//! A terminal with a person at it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::call::{self, Answer, Call, SETSID, finish};

/// A program at a terminal of its own, with a person who looks and types.
#[derive(Debug)]
pub struct Session {
    terminal: Terminal,
    child: Child,
    /// What was looked at already, in bytes of text.
    seen: usize,
}

/// What standard output and standard error of a program at a terminal are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// The terminal.
    Terminal,
    /// Pipes; a person still sees what the program writes to its controlling terminal.
    Pipes,
}

impl Call<'_> {
    /// Runs the program with a controlling terminal of its own. When `question` is on it, the person types `keys`. Gives
    /// what the terminal showed, keys included, and the answer, whose streams are pipes all the same.
    pub fn at_terminal<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        question: &str,
        keys: &str,
    ) -> (String, Answer) {
        self.at_terminal_typing_ahead(arguments, "", question, keys)
    }

    /// As [`Call::at_terminal`], with keys that were typed before the program started.
    pub fn at_terminal_typing_ahead<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        ahead: &str,
        question: &str,
        keys: &str,
    ) -> (String, Answer) {
        let program = self.world.program.as_os_str();
        let mut session = self.sit_down_typing_ahead(program, arguments, Streams::Pipes, ahead);
        session.see(question);
        session.keys(keys);
        session.leave()
    }

    /// Starts the program with a controlling terminal of its own, which is standard input too.
    pub fn sit_down<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        streams: Streams,
    ) -> Session {
        self.sit_down_typing_ahead(self.world.program.as_os_str(), arguments, streams, "")
    }

    /// As [`Call::sit_down`], for another program, which may start the one under test.
    pub fn sit_down_behind<A: AsRef<OsStr>>(
        &self,
        program: &str,
        arguments: impl IntoIterator<Item = A>,
        streams: Streams,
    ) -> Session {
        self.sit_down_typing_ahead(program.as_ref(), arguments, streams, "")
    }

    fn sit_down_typing_ahead<A: AsRef<OsStr>>(
        &self,
        program: &OsStr,
        arguments: impl IntoIterator<Item = A>,
        streams: Streams,
        ahead: &str,
    ) -> Session {
        let mut terminal = Terminal::open();
        terminal.outside.write_all(ahead.as_bytes()).expect("keys are typed");
        let mut command = self.command(SETSID);
        command.args(["--ctty", "--wait"]).arg(program).args(arguments);
        let handle = || Stdio::from(terminal.inside.try_clone().expect("a handle"));
        let stream = || match streams {
            Streams::Terminal => handle(),
            Streams::Pipes => Stdio::piped(),
        };
        command.stdin(handle()).stdout(stream()).stderr(stream());
        // The command holds handles of its own, and the terminal is open as long as they are.
        let child = command.spawn().expect("the program starts");
        Session { terminal, child, seen: 0 }
    }

    /// Runs the program with standard output on a terminal; gives what that showed, and the exit code.
    pub fn on_terminal<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> (String, Option<i32>) {
        let terminal = Terminal::open();
        let mut command = self.command(SETSID);
        command.arg("--wait").arg(&self.world.program).args(arguments).stdin(Stdio::null());
        command.stdout(terminal.inside.try_clone().expect("a handle"));
        command.stderr(terminal.inside.try_clone().expect("a handle"));
        let answer = finish(command.spawn(), call::WALL);
        drop(command);
        (terminal.close(), answer.code)
    }
}

impl Session {
    /// Waits until the terminal shows this, behind what was looked at before.
    pub fn see(&mut self, text: &str) -> &mut Self {
        self.seen = self.terminal.wait_for(text, self.seen);
        self
    }

    /// Types. `\u{3}` is Ctrl-C, `\u{4}` Ctrl-D.
    pub fn keys(&mut self, keys: &str) -> &mut Self {
        self.terminal.outside.write_all(keys.as_bytes()).expect("keys are typed");
        self
    }

    /// The program.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end. Gives everything that the terminal showed, and what the streams got that are pipes.
    pub fn leave(self) -> (String, Answer) {
        let answer = finish(Ok(self.child), call::WALL);
        (self.terminal.close(), answer)
    }
}

/// Both ends of a pseudo-terminal.
#[derive(Debug)]
struct Terminal {
    /// Where the person is.
    outside: File,
    /// Where the program is.
    inside: File,
    pieces: Receiver<Vec<u8>>,
    shown: Vec<u8>,
}

impl Terminal {
    fn open() -> Self {
        let outside =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&outside).expect("a terminal");
        unlockpt(&outside).expect("a terminal");
        let name = ptsname(&outside, Vec::new()).expect("a terminal's name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let inside = File::from(rustix::fs::open(name.as_c_str(), flags, Mode::empty()).expect("a terminal"));
        let outside = File::from(outside);
        // So large that everything is seen as it was written.
        let size = Winsize { ws_row: 9999, ws_col: 9999, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&inside, size).expect("a terminal has a size");
        let mut reader = outside.try_clone().expect("a handle");
        let (send, pieces) = mpsc::channel();
        // Ends with an error when the last handle inside is closed.
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut piece) {
                if send.send(piece[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { outside, inside, pieces, shown: Vec::new() }
    }

    /// Gives where the text ends, in bytes of what was shown.
    fn wait_for(&mut self, text: &str, from: usize) -> usize {
        loop {
            let shown = self.text();
            if let Some(at) = shown.get(from..).and_then(|behind| behind.find(text)) {
                return from + at + text.len();
            }
            match self.pieces.recv_timeout(WALL) {
                Ok(piece) => self.shown.extend(piece),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("no {text:?} on the terminal, but {shown:?}")
                }
            }
        }
    }

    /// Everything that was shown. The terminal's own carriage returns are left out.
    fn close(mut self) -> String {
        drop(self.inside);
        self.shown.extend(self.pieces.iter().flatten());
        String::from_utf8_lossy(&self.shown).replace("\r\n", "\n")
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown).into_owned()
    }
}

const WALL: Duration = Duration::from_secs(20);
