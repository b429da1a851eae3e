//! A folder of its own for one test.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use crate::call::{Answer, Call};
use crate::skill::{Skill, write};

/// A folder with a home, a project that has a `.git`, and whatever the test puts there; it ends with the test.
///
/// Paths are given below the folder. Programs run in it with `HOME` and nothing else in their environment.
#[derive(Debug)]
pub struct World {
    pub(crate) program: PathBuf,
    root: PathBuf,
    _folder: tempfile::TempDir,
}

impl World {
    /// A new world for tests of `program`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self::below(std::env::temp_dir(), program)
    }

    /// A new world in this folder, for tests of `program`: `/tmp` is one that a script never sees, for example.
    pub fn below(folder: impl AsRef<Path>, program: impl Into<PathBuf>) -> Self {
        let folder = tempfile::tempdir_in(folder).expect("a temporary folder");
        let root = folder.path().canonicalize().expect("the temporary folder has a real path");
        for below in ["home", "project/.git"] {
            fs::create_dir_all(root.join(below)).expect("a folder");
        }
        Self { program: program.into(), root, _folder: folder }
    }

    /// The absolute path of something here.
    pub fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        let below = below.as_ref();
        assert!(below.is_relative(), "{} is not below the test's folder", below.display());
        self.root.join(below)
    }

    /// The absolute path as text, for arguments and for comparing with answers.
    pub fn text(&self, below: impl AsRef<Path>) -> String {
        self.path(below).into_os_string().into_string().expect("a path that is text")
    }

    /// Writes a file.
    pub fn write(&self, below: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(below);
        write(&path, bytes.as_ref());
        path
    }

    /// The bytes of a file.
    pub fn read(&self, below: &str) -> Vec<u8> {
        fs::read(self.path(below)).unwrap_or_else(|error| panic!("{below}: {error}"))
    }

    /// Makes a folder.
    pub fn folder(&self, below: &str) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(&path).unwrap_or_else(|error| panic!("{below}: {error}"));
        path
    }

    /// Writes a skill's folder below a folder and gives its path.
    pub fn add(&self, below: &str, skill: &Skill) -> PathBuf {
        skill.write_below(&self.path(below))
    }

    /// Makes a symbolic link that leads to `target` as it is given.
    pub fn link(&self, below: &str, target: impl AsRef<Path>) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(path.parent().expect("below the world")).expect("a folder for the link");
        symlink(target, &path).unwrap_or_else(|error| panic!("{below}: {error}"));
        path
    }

    /// Makes a FIFO. Whoever opens one that nobody writes to waits for ever.
    pub fn fifo(&self, below: &str) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(path.parent().expect("below the world")).expect("a folder for the FIFO");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
        path
    }

    /// Sets a mode.
    pub fn mode(&self, below: &str, mode: u32) {
        fs::set_permissions(self.path(below), fs::Permissions::from_mode(mode)).expect("a mode");
    }

    /// Moves something.
    pub fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).expect("a move");
    }

    /// Removes a folder and everything in it.
    pub fn remove(&self, below: &str) {
        fs::remove_dir_all(self.path(below)).unwrap_or_else(|error| panic!("{below}: {error}"));
    }

    /// Whether there is something of that name.
    pub fn has(&self, below: &str) -> bool {
        self.path(below).symlink_metadata().is_ok()
    }

    /// The program, about to run in this folder.
    pub fn call(&self) -> Call<'_> {
        Call::new(self)
    }

    /// Runs the program in this folder.
    pub fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Answer {
        self.call().run(arguments)
    }

    /// Runs the program in this folder for its JSON; it must succeed.
    pub fn json<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Value {
        self.call().json(arguments)
    }

    /// Runs the program in this folder for its JSON error; it must fail with this exit code.
    pub fn fault<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>, code: i32) -> Value {
        self.call().fault(arguments, code)
    }
}
