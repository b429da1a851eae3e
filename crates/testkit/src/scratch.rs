//! A folder that a test fills.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "what is unexpected fails the test"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use tempfile::TempDir;

/// An empty folder, removed at the end. Everything is named relative to it, and parents are made as needed.
#[derive(Debug)]
pub struct Scratch {
    _folder: TempDir,
    path: PathBuf,
    /// Chains of folders too deep for whoever removes a tree by going down.
    chains: Mutex<Vec<PathBuf>>,
}

/// A SKILL.md that is conformant in a folder called `name`.
pub fn skill_md(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Says what {name} is for.\n---\n\n# {name}\n")
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch {
    /// A new folder.
    pub fn new() -> Self {
        Self::of(tempfile::tempdir().unwrap())
    }

    /// A new folder for thousands of files: in memory, where the system has a place for that.
    pub fn for_many() -> Self {
        Self::of(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap())
    }

    fn of(folder: TempDir) -> Self {
        let path = folder.path().canonicalize().unwrap();
        Self { _folder: folder, path, chains: Mutex::default() }
    }

    /// The folder, with links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path in the folder.
    pub fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.path.join(path)
    }

    /// A file with these bytes.
    pub fn file(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.ready(path);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// A file of this size that takes no room.
    pub fn sparse(&self, path: impl AsRef<Path>, size: u64) -> PathBuf {
        let path = self.ready(path);
        fs::File::create(&path).unwrap().set_len(size).unwrap();
        path
    }

    /// A folder.
    pub fn folder(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// A folder with a conformant SKILL.md.
    pub fn skill(&self, path: impl AsRef<Path>) -> PathBuf {
        let folder = self.folder(path);
        let name = folder.file_name().unwrap().to_str().unwrap();
        fs::write(folder.join("SKILL.md"), skill_md(name)).unwrap();
        folder
    }

    /// A folder, and in it this many folders called `d`, each in the one before.
    pub fn chain(&self, path: impl AsRef<Path>, depth: usize) -> PathBuf {
        let top = self.folder(path);
        self.chains.lock().unwrap().push(top.clone());
        let mut here = rustix::fs::open(&top, HANDLE, Mode::empty()).unwrap();
        for _ in 0..depth {
            rustix::fs::mkdirat(&here, "d", Mode::RWXU).unwrap();
            here = rustix::fs::openat(&here, "d", HANDLE, Mode::empty()).unwrap();
        }
        top
    }

    /// A symbolic link with this text.
    pub fn link(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) -> PathBuf {
        let path = self.ready(path);
        std::os::unix::fs::symlink(target, &path).unwrap();
        path
    }

    /// A FIFO.
    pub fn fifo(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = self.ready(path);
        rustix::fs::mkfifoat(CWD, &path, Mode::from_raw_mode(0o666)).unwrap();
        path
    }

    /// A socket that somebody listened on once.
    pub fn socket(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = self.ready(path);
        drop(UnixListener::bind(&path).unwrap());
        path
    }

    /// Sets permission bits.
    pub fn mode(&self, path: impl AsRef<Path>, mode: u32) {
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// A path whose parents are made.
    pub fn ready(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for top in self.chains.get_mut().unwrap() {
            unchain(top);
        }
    }
}

/// Removes a chain from its top: what lies in the first folder is moved up, and the first folder is empty.
fn unchain(top: &Path) {
    let Ok(top) = rustix::fs::open(top, HANDLE, Mode::empty()) else { return };
    let (mut first, mut spare) = ("d", "e");
    loop {
        match rustix::fs::renameat(&top, format!("{first}/d"), &top, spare) {
            Ok(()) => {}
            Err(Errno::NOENT) => break,
            Err(error) => panic!("{error}"),
        }
        rustix::fs::unlinkat(&top, first, AtFlags::REMOVEDIR).unwrap();
        std::mem::swap(&mut first, &mut spare);
    }
}

const HANDLE: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);
