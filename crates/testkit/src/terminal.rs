//! A terminal with a person at it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::call::{self, Answer, Call, SETSID, finish};

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
        let mut terminal = Terminal::open();
        terminal.outside.write_all(ahead.as_bytes()).expect("keys are typed");
        let mut command = self.command(SETSID);
        command.args(["--ctty", "--wait"]).arg(&self.world.program).args(arguments);
        command.stdin(terminal.inside.try_clone().expect("a handle"));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        terminal.wait_for(question);
        terminal.outside.write_all(keys.as_bytes()).expect("keys are typed");
        let answer = finish(child, call::WALL);
        // It holds handles of its own, and the terminal is open as long as they are.
        drop(command);
        (terminal.close(), answer)
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

/// Both ends of a pseudo-terminal.
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

    fn wait_for(&mut self, question: &str) {
        while !self.text().contains(question) {
            match self.pieces.recv_timeout(WALL) {
                Ok(piece) => self.shown.extend(piece),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("no {question:?} on the terminal, but {:?}", self.text())
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
