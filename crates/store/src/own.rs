//! Folders and files that fumehood makes for itself: 0700 and 0600, the caller's, named below a handle.
//!
//! What is found in such a folder is believed only if it is a plain file or folder of the caller's that nobody else may
//! enter. Nothing is opened through a link, and nothing that is there is written over by making it again.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::dir::{Dir, ENTRIES_MAX, Entry, File, OpenError};

/// A folder of fumehood's own.
#[derive(Debug)]
pub(crate) struct OwnDir {
    dir: Dir,
}

impl OwnDir {
    /// Opens a folder whose path the host chose, and which was found to be private.
    pub(crate) fn open(path: &Path) -> Result<Self, Errno> {
        Self::checked(Dir::open(path))
    }

    /// Opens a folder that the caller alone can write in, though others may see into it.
    pub(crate) fn open_visible(path: &Path) -> Result<Self, Errno> {
        let dir = Dir::open(path).map_err(errno)?;
        let rights = dir.rights()?;
        if rights.owner != rustix::process::geteuid().as_raw() || rights.mode & 0o022 != 0 {
            return Err(Errno::PERM);
        }
        Ok(Self { dir })
    }

    /// Opens a folder in this one, and makes it first if it is not there.
    pub(crate) fn open_or_make(&self, name: &str) -> Result<Self, Errno> {
        match self.make(name) {
            Err(Errno::EXIST) => self.open_dir(name),
            made => made,
        }
    }

    /// Makes a folder in this one that was not there.
    pub(crate) fn make(&self, name: &str) -> Result<Self, Errno> {
        rustix::fs::mkdirat(&self.dir, name, Mode::RWXU)?;
        self.open_dir(name)
    }

    /// Opens a folder in this one.
    pub(crate) fn open_dir(&self, name: &str) -> Result<Self, Errno> {
        Self::checked(self.dir.open_dir(name.as_bytes()))
    }

    fn checked(opened: Result<Dir, OpenError>) -> Result<Self, Errno> {
        let dir = opened.map_err(errno)?;
        let rights = dir.rights()?;
        if rights.owner != rustix::process::geteuid().as_raw() || rights.mode & 0o077 != 0 {
            return Err(Errno::PERM);
        }
        Ok(Self { dir })
    }

    /// The folder as a handle to look around in.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Makes a file that was not there, for reading and writing.
    pub(crate) fn make_file(&self, name: &str) -> Result<OwnedFd, Errno> {
        self.make_file_of_mode(name, Mode::RUSR | Mode::WUSR)
    }

    /// Makes a file and writes it whole; nobody but root can write to it again.
    pub(crate) fn write_read_only_file(&self, name: &str, bytes: &[u8]) -> Result<(), Errno> {
        write_at(self.make_file_of_mode(name, Mode::RUSR)?.as_fd(), bytes, 0)
    }

    fn make_file_of_mode(&self, name: &str, mode: Mode) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.dir, name, flags, mode)
    }

    /// Makes a file and writes it whole.
    pub(crate) fn write_file(&self, name: &str, bytes: &[u8]) -> Result<(), Errno> {
        write_at(self.make_file(name)?.as_fd(), bytes, 0)
    }

    /// Opens a file that fumehood made, for reading.
    pub(crate) fn open_file(&self, name: &str) -> Result<File, Errno> {
        let file = self.dir.open_file(name.as_bytes()).map_err(errno)?;
        if file.rights()?.owner != rustix::process::geteuid().as_raw() {
            return Err(Errno::PERM);
        }
        Ok(file)
    }

    /// Opens a file to write into it, and makes it if it is not there.
    pub(crate) fn open_or_make_file(&self, name: &str) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::openat(&self.dir, name, flags, Mode::RUSR | Mode::WUSR)
    }

    /// Waits until nobody else holds this lock, and holds it until the value is dropped.
    pub(crate) fn lock(&self, name: &str) -> Result<OwnedFd, Errno> {
        let file = self.open_or_make_file(name)?;
        loop {
            match rustix::fs::flock(&file, FlockOperation::LockExclusive) {
                Err(Errno::INTR) => {}
                locked => return locked.map(|()| file),
            }
        }
    }

    /// Takes this lock if nobody else holds it; `None` if somebody does.
    pub(crate) fn try_lock(&self, name: &str) -> Result<Option<OwnedFd>, Errno> {
        let file = self.open_or_make_file(name)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Ok(None),
            locked => locked.map(|()| Some(file)),
        }
    }

    /// Moves a name to another folder, where it must be free.
    pub(crate) fn rename(&self, name: &str, to: &Self, new_name: &str) -> Result<(), Errno> {
        rustix::fs::renameat_with(&self.dir, name, &to.dir, new_name, RenameFlags::NOREPLACE)
    }

    /// Writes a file whole in place of what is there: readers see the old bytes or the new ones, also after a crash. The
    /// caller holds the lock by which writers of this file take turns.
    pub(crate) fn replace_file(&self, name: &str, bytes: &[u8]) -> Result<(), Errno> {
        let new = format!("{name}.new");
        // Whatever a crash left there is removed, not written into: it could be a link or open to others.
        self.remove_file(&new)?;
        let file = self.make_file(&new)?;
        write_at(file.as_fd(), bytes, 0)?;
        rustix::fs::fsync(&file)?;
        self.replace(&new, name)?;
        rustix::fs::fsync(&self.dir)
    }

    /// Puts a file in place of another of this folder.
    pub(crate) fn replace(&self, name: &str, new_name: &str) -> Result<(), Errno> {
        rustix::fs::renameat(&self.dir, name, &self.dir, new_name)
    }

    /// Removes a file. One that is not there is removed already.
    pub(crate) fn remove_file(&self, name: &str) -> Result<(), Errno> {
        gone(rustix::fs::unlinkat(&self.dir, name, AtFlags::empty()))
    }

    /// Removes a folder of this one and the files in it. It holds no folders.
    pub(crate) fn remove_dir(&self, name: &str) -> Result<(), Errno> {
        match self.dir.open_dir(name.as_bytes()) {
            Err(OpenError::Missing) => return Ok(()),
            // Whatever lies there under a name of ours, a link or a file, is nothing to look into.
            Err(OpenError::Kind(_)) => return self.remove_file(name),
            Err(error) => return Err(errno(error)),
            Ok(folder) => {
                for Entry { name, .. } in folder.entries(ENTRIES_MAX)?.0 {
                    gone(rustix::fs::unlinkat(&folder, name.as_slice(), AtFlags::empty()))?;
                }
            }
        }
        gone(rustix::fs::unlinkat(&self.dir, name, AtFlags::REMOVEDIR))
    }

    /// The names in this folder that are UTF-8, in order; ours all are.
    pub(crate) fn names(&self) -> Result<Vec<String>, Errno> {
        let (entries, _) = self.dir.entries(ENTRIES_MAX)?;
        Ok(entries.into_iter().filter_map(|entry| String::from_utf8(entry.name).ok()).collect())
    }

    /// Size in bytes and last change in milliseconds since 1970 of a path below this folder.
    pub(crate) fn size_and_time(&self, path: &str) -> Result<(u64, u64), Errno> {
        let stat = rustix::fs::statat(&self.dir, path, AtFlags::SYMLINK_NOFOLLOW)?;
        let changed = u64::try_from(stat.st_mtime).unwrap_or(0).saturating_mul(1000);
        Ok((u64::try_from(stat.st_size).unwrap_or(0), changed))
    }
}

impl AsFd for OwnDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

/// Writes all bytes at an offset.
pub(crate) fn write_at(file: BorrowedFd<'_>, mut bytes: &[u8], mut offset: u64) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::pwrite(file, bytes, offset) {
            Ok(0) => return Err(Errno::IO),
            Ok(written) => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Fills a buffer from an offset; returns how much there was.
pub(crate) fn read_at(file: BorrowedFd<'_>, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
    let mut filled = 0;
    while filled < buffer.len() {
        match rustix::io::pread(file, &mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn gone(removed: Result<(), Errno>) -> Result<(), Errno> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

fn errno(error: OpenError) -> Errno {
    match error {
        OpenError::Missing => Errno::NOENT,
        OpenError::Kind(_) | OpenError::Escapes => Errno::NOTDIR,
        OpenError::System(error) => error,
    }
}
