//! Where a path leads, behind all links, before anything is opened there.

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, OFlags, ResolveFlags};

use crate::dir::{DIRECTORY, Dir, FILE, File, Identity, Kind, OpenError, Stat, open_resolving};

/// A file or folder that was looked at and not opened.
#[derive(Debug)]
pub(crate) struct Place {
    /// Absolute, behind all links, as the system tells it. True for the moment it was asked.
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) identity: Identity,
    /// Keeps the file from being replaced by another of the same number.
    _look: OwnedFd,
}

/// Looks at a path; links are followed, but for those of `/proc` that lead to what a process has open.
pub(crate) fn look(path: &Path) -> Result<Place, OpenError> {
    look_under(CWD, path, ResolveFlags::NO_MAGICLINKS)
}

/// Looks at a path below a folder; nothing on the way may lead out of it.
pub(crate) fn look_beneath(dir: &Dir, path: &Path) -> Result<Place, OpenError> {
    look_under(dir, path, ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH)
}

fn look_under(at: impl AsFd, path: &Path, resolve: ResolveFlags) -> Result<Place, OpenError> {
    let look = open_resolving(at, bytes(path), OFlags::PATH | OFlags::CLOEXEC, resolve)?;
    let stat = rustix::fs::fstat(&look)?;
    let real = rustix::fs::readlink(format!("/proc/self/fd/{}", look.as_raw_fd()), Vec::new())?;
    Ok(Place {
        path: PathBuf::from(OsStr::from_bytes(real.as_bytes())),
        kind: Kind::from(FileType::from_raw_mode(stat.st_mode)),
        identity: Stat::of(&stat).identity,
        _look: look,
    })
}

/// Opens a folder by a path no part of which is a link.
pub(crate) fn open_dir(path: &Path) -> Result<Dir, OpenError> {
    Ok(Dir::of(open_resolving(CWD, bytes(path), DIRECTORY, PLAIN)?))
}

/// Opens a regular file by a path no part of which is a link. Never waits.
pub(crate) fn open_file(path: &Path) -> Result<File, OpenError> {
    File::checked(open_resolving(CWD, bytes(path), FILE, PLAIN)?)
}

/// Opens a folder below another, or that one; nothing on the way is a link.
pub(crate) fn open_dir_beneath(dir: &Dir, path: &Path) -> Result<Dir, OpenError> {
    Ok(Dir::of(open_resolving(dir, bytes(path), DIRECTORY, PLAIN | ResolveFlags::BENEATH)?))
}

/// Opens a regular file below a folder; nothing on the way is a link. Never waits.
pub(crate) fn open_file_beneath(dir: &Dir, path: &Path) -> Result<File, OpenError> {
    File::checked(open_resolving(dir, bytes(path), FILE, PLAIN | ResolveFlags::BENEATH)?)
}

/// The path itself is never empty for the kernel.
fn bytes(path: &Path) -> &[u8] {
    match path.as_os_str().as_bytes() {
        [] => b".",
        bytes => bytes,
    }
}

const PLAIN: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);
