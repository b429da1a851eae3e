//! One run of the program under test.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::world::World;

/// A run that is being prepared: the environment is `HOME` alone, standard input is empty.
#[derive(Clone, Debug)]
pub struct Call<'w> {
    pub(crate) world: &'w World,
    folder: PathBuf,
    variables: Vec<(OsString, OsString)>,
    wall: Duration,
}

/// What a run left.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

impl<'w> Call<'w> {
    pub(crate) fn new(world: &'w World) -> Self {
        let home = world.path("home").into_os_string();
        Self { world, folder: world.path(""), variables: vec![("HOME".into(), home)], wall: WALL }
    }

    /// Runs in a folder of the world.
    #[must_use]
    pub fn within(mut self, below: impl AsRef<Path>) -> Self {
        self.folder = self.world.path(below);
        self
    }

    /// Runs in a folder that is not the world's.
    #[must_use]
    pub fn outside(mut self, folder: &Path) -> Self {
        folder.clone_into(&mut self.folder);
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Takes `HOME` away.
    #[must_use]
    pub fn without_home(mut self) -> Self {
        self.variables.retain(|(name, _)| name != "HOME");
        self
    }

    /// Waits longer than a minute for the end: ten of them.
    #[must_use]
    pub fn patiently(self) -> Self {
        Self { wall: 10 * WALL, ..self }
    }

    /// Runs the program. It belongs to no terminal, whatever started the tests, and is killed after a minute.
    pub fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Answer {
        self.run_behind(SETSID, ["--wait"], arguments)
    }

    /// Runs the program by way of another one, which gets its own arguments and then the whole command line.
    pub fn run_behind<A: AsRef<OsStr>>(
        &self,
        program: &str,
        own: impl IntoIterator<Item = &'w str>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Answer {
        let mut command = self.command(program);
        command.args(own).arg(&self.world.program).args(arguments);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        finish(child, self.wall)
    }

    /// Runs the program with `--format json`; it must succeed and say nothing on standard error.
    pub fn json<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Value {
        let answer = self.run(with_json(arguments));
        assert_eq!((answer.code, answer.errors().as_str()), (Some(0), ""));
        answer.json()
    }

    /// Runs the program with `--format json`; it must fail with this exit code, say nothing on standard output and one
    /// object on standard error, which is given back.
    pub fn fault<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>, code: i32) -> Value {
        let answer = self.run(with_json(arguments));
        assert_eq!((answer.code, answer.text().as_str()), (Some(code), ""), "{}", answer.errors());
        let fault: Value = serde_json::from_slice(&answer.stderr).expect("one JSON value on standard error");
        assert!(fault.is_object(), "{fault}");
        fault
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(&self.folder);
        command
    }
}

impl Answer {
    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).expect("standard output is text")
    }

    /// Standard error as text.
    pub fn errors(&self) -> String {
        String::from_utf8(self.stderr.clone()).expect("standard error is text")
    }

    /// Standard output as one JSON value.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

fn with_json<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Vec<OsString> {
    let given = arguments.into_iter().map(|argument| argument.as_ref().to_owned());
    ["--format", "json"].into_iter().map(OsString::from).chain(given).collect()
}

/// Waits for the end and kills what does not come to one: that is a failure, and should not be a test that hangs.
pub(crate) fn finish(child: std::io::Result<Child>, wall: Duration) -> Answer {
    let child = child.expect("the program starts");
    let pid = Pid::from_child(&child);
    let (ended, wait) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        if wait.recv_timeout(wall).is_err() {
            // It may have ended just now.
            let _ = kill_process(pid, Signal::KILL);
        }
    });
    let output = child.wait_with_output().expect("the program's output");
    // The watcher may have given up waiting just now.
    let _ = ended.send(());
    watch.join().expect("the watcher ends");
    Answer { code: output.status.code(), stdout: output.stdout, stderr: output.stderr }
}

/// From util-linux, which has `setpriv` too: gives a program a session of its own.
pub(crate) const SETSID: &str = "/usr/bin/setsid";
pub(crate) const WALL: Duration = Duration::from_mins(1);
