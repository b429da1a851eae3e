//! Directory handles: the only way this crate reaches a file it did not make itself.
//!
//! Names are opened relative to a handle, one component at a time, and never through a link. A link is followed
//! only by [`Dir::resolve`], which cannot leave the handle's tree. A FIFO, device or socket is never opened: the
//! kind is known before the open, the open cannot block, and the kind is checked again on what was opened.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, SeekFrom, StatxFlags};
use rustix::io::Errno;

mod stat;

pub(crate) use stat::Rights;
pub use stat::{Identity, Stat};

/// An open directory.
#[derive(Debug)]
pub(crate) struct Dir {
    fd: OwnedFd,
    /// Held while listing: how far a listing came belongs to the handle, and two at once would share it.
    was_listed: Mutex<bool>,
    identity: OnceLock<Identity>,
}

/// An open regular file and what it was when it was opened.
#[derive(Debug)]
pub(crate) struct File {
    fd: OwnedFd,
    pub(crate) stat: Stat,
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// Bytes as the file system has them.
    pub(crate) name: Vec<u8>,
    pub(crate) kind: Kind,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Directory,
    File,
    Link,
    /// FIFO, socket or device.
    Special,
}

/// Why a name could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenError {
    /// There is nothing of that name.
    Missing,
    /// It is something else than what was asked for.
    Kind(Kind),
    /// A link that leaves the tree or goes in a circle.
    Escapes,
    /// The operating system said no.
    System(Errno),
}

impl Dir {
    /// Opens a directory by a path that the person or the host chose; links in it are followed.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        Ok(Self::of(rustix::fs::open(path, DIRECTORY, Mode::empty())?))
    }

    /// Opens a subdirectory. Links are refused.
    pub(crate) fn open_dir(&self, name: &[u8]) -> Result<Self, OpenError> {
        Ok(Self::of(rustix::fs::openat(&self.fd, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?))
    }

    /// A directory below that is only passed through: one that may be entered and not listed will do.
    pub(crate) fn open_dir_to_pass(&self, name: &[u8]) -> Result<Self, OpenError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self::of(rustix::fs::openat(&self.fd, name, flags, Mode::empty())?))
    }

    /// A directory that somebody opened, in any way: opened once more, so that how far a listing came is our own.
    pub(crate) fn again(fd: impl AsFd) -> Result<Self, OpenError> {
        Ok(Self::of(rustix::fs::openat(fd, c".", DIRECTORY, Mode::empty())?))
    }

    /// Opens a directory below this one; the empty path is this one. No part may be a link or another mount's.
    pub(crate) fn open_below(&self, path: &str) -> Result<Self, OpenError> {
        let path = if path.is_empty() { "." } else { path };
        let plain = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV;
        for _ in 0..RESOLVE_TRIES_MAX {
            match rustix::fs::openat2(&self.fd, path, DIRECTORY, Mode::empty(), plain) {
                Err(Errno::AGAIN) => {}
                Err(Errno::XDEV) => return Err(OpenError::Escapes),
                other => return Ok(Self::of(other?)),
            }
        }
        Err(OpenError::System(Errno::AGAIN))
    }

    /// The directory of a handle that was opened elsewhere.
    pub(crate) fn of(fd: OwnedFd) -> Self {
        Self { fd, was_listed: Mutex::new(false), identity: OnceLock::new() }
    }

    /// Opens a regular file of this directory. Links are refused.
    pub(crate) fn open_file(&self, name: &[u8]) -> Result<File, OpenError> {
        let fd = rustix::fs::openat(&self.fd, name, FILE | OFlags::NOFOLLOW, Mode::empty())?;
        File::checked(fd)
    }

    /// What a name stands for, without opening it.
    pub(crate) fn kind_of(&self, name: &[u8]) -> Result<Kind, OpenError> {
        let stat = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Kind::from(FileType::from_raw_mode(stat.st_mode)))
    }

    /// Follows a path whose components may be links, without leaving this directory's tree.
    ///
    /// The kernel does the resolving (`openat2` with `RESOLVE_BENEATH`); where it cannot, links are refused.
    pub(crate) fn resolve(&self, path: &[u8]) -> Result<Resolved, OpenError> {
        let look = self.open_beneath(path, OFlags::PATH | OFlags::CLOEXEC)?;
        let stat = rustix::fs::fstat(&look)?;
        match Kind::from(FileType::from_raw_mode(stat.st_mode)) {
            Kind::File => {
                let file = File::checked(self.open_beneath(path, FILE)?)?;
                // A change between the two opens is a change like any other; the caller refuses or retries.
                if file.stat.identity == Stat::of(&stat).identity {
                    Ok(Resolved::File(file))
                } else {
                    Err(OpenError::Missing)
                }
            }
            Kind::Directory => Ok(Resolved::Dir(Self::of(self.open_beneath(path, DIRECTORY)?))),
            kind => Err(OpenError::Kind(kind)),
        }
    }

    fn open_beneath(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, OpenError> {
        open_resolving(self, path, flags, ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS)
    }

    /// The names in this directory in byte order, at most `entries_max`; the flag says whether there are more.
    pub(crate) fn entries(&self, entries_max: usize) -> Result<(Vec<Entry>, bool), Errno> {
        // A panic under the lock leaves nothing half done: every listing starts at the beginning.
        let mut was_listed = self.was_listed.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *was_listed, true) {
            rustix::fs::seek(&self.fd, SeekFrom::Start(0))?;
        }
        let mut buffer = [MaybeUninit::uninit(); DIRECTORY_BUFFER_BYTES];
        let mut reader = RawDir::new(&self.fd, &mut buffer);
        let mut entries = Vec::new();
        let mut more = false;
        while let Some(entry) = reader.next() {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            if entries.len() == entries_max {
                more = true;
                break;
            }
            let kind = self.kind_from(entry.file_type(), name);
            entries.push(Entry { name: name.to_bytes().to_vec(), kind });
        }
        entries.sort_unstable();
        Ok((entries, more))
    }

    /// Some file systems do not say the kind when listing; a name that is gone meanwhile counts as special.
    fn kind_from(&self, listed: FileType, name: &CStr) -> Kind {
        if listed == FileType::Unknown {
            return self.kind_of(name.to_bytes()).unwrap_or(Kind::Special);
        }
        Kind::from(listed)
    }

    /// Which directory this is. Asked once, since a handle never leads to another.
    pub(crate) fn identity(&self) -> Result<Identity, Errno> {
        if let Some(identity) = self.identity.get() {
            return Ok(*identity);
        }
        let stat = rustix::fs::fstat(&self.fd)?;
        Ok(*self.identity.get_or_init(|| Stat::of(&stat).identity))
    }

    /// When this directory was made, in seconds and nanoseconds, if the file system remembers.
    ///
    /// The number of a directory that is gone is soon another one's; together with this it is not.
    pub(crate) fn birth(&self) -> Option<(i64, u32)> {
        let stat = rustix::fs::statx(&self.fd, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
        let known = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::BTIME);
        known.then_some((stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec))
    }

    /// Who may change what is in this directory.
    pub(crate) fn rights(&self) -> Result<Rights, Errno> {
        Ok(Rights::of(&rustix::fs::fstat(&self.fd)?))
    }

    /// The text of a link.
    pub(crate) fn link_text(&self, name: &[u8]) -> Result<Vec<u8>, OpenError> {
        Ok(rustix::fs::readlinkat(&self.fd, name, Vec::new())?.into_bytes())
    }

    /// Size, identity and times of a name, without following or opening it.
    pub(crate) fn stat(&self, name: &[u8]) -> Result<(Stat, u64), OpenError> {
        let stat = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok((Stat::of(&stat), stat.st_nlink))
    }
}

/// Opens a path that is resolved by the kernel under these rules.
pub(crate) fn open_resolving(
    at: impl AsFd,
    path: &[u8],
    flags: OFlags,
    resolve: ResolveFlags,
) -> Result<OwnedFd, OpenError> {
    for _ in 0..RESOLVE_TRIES_MAX {
        match rustix::fs::openat2(&at, path, flags, Mode::empty(), resolve) {
            // Something was renamed, anywhere, while the kernel walked a `..`: it asks to be asked again.
            Err(Errno::AGAIN) => {}
            Err(Errno::XDEV | Errno::LOOP) => return Err(OpenError::Escapes),
            // A path through a file, as if that were a folder, leads to nothing.
            Err(Errno::NOTDIR) => return Err(OpenError::Missing),
            other => return other.map_err(OpenError::from),
        }
    }
    Err(OpenError::System(Errno::AGAIN))
}

/// What a link inside a tree leads to.
#[derive(Debug)]
pub(crate) enum Resolved {
    File(File),
    Dir(Dir),
}

impl File {
    /// The file of a handle that was opened without waiting, if it is a regular one.
    pub(crate) fn checked(fd: OwnedFd) -> Result<Self, OpenError> {
        let stat = rustix::fs::fstat(&fd)?;
        match Kind::from(FileType::from_raw_mode(stat.st_mode)) {
            Kind::File => Ok(Self { stat: Stat::of(&stat), fd }),
            kind => Err(OpenError::Kind(kind)),
        }
    }

    /// What the file is now.
    pub(crate) fn stat_again(&self) -> Result<Stat, Errno> {
        Ok(Stat::of(&rustix::fs::fstat(&self.fd)?))
    }

    /// How many names the file has.
    pub(crate) fn links(&self) -> Result<u64, Errno> {
        Ok(rustix::fs::fstat(&self.fd)?.st_nlink)
    }

    /// Who may change the file.
    pub(crate) fn rights(&self) -> Result<Rights, Errno> {
        Ok(Rights::of(&rustix::fs::fstat(&self.fd)?))
    }

    /// Reads up to `bytes_max` bytes from `offset`. The one bounded read, for resources and capture alike.
    pub(crate) fn read(&self, offset: u64, bytes_max: usize) -> Result<Vec<u8>, Errno> {
        let left = usize::try_from(self.stat.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        // One byte more than there should be: where the file ends as it said, a read that is not filled shows it.
        let mut bytes = Vec::with_capacity(left.saturating_add(1).min(bytes_max));
        while bytes.len() < bytes_max {
            // The file grew, or it is one of those that do not know their size.
            if bytes.len() == bytes.capacity() {
                bytes.reserve_exact(bytes.len().max(4096).min(bytes_max - bytes.len()));
            }
            let at = offset.saturating_add(bytes.len() as u64);
            // No file reaches further, and the kernel would call it a mistake rather than the end.
            if at > i64::MAX as u64 - bytes.capacity() as u64 {
                break;
            }
            match rustix::io::pread(&self.fd, spare_capacity(&mut bytes), at) {
                Ok(0) => break,
                Ok(_) if bytes.len() == left && left < bytes.capacity() => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        // The allocator may have given more room than it was asked for.
        bytes.truncate(bytes_max);
        Ok(bytes)
    }

    /// Whether the file is exactly these bytes, read again piece by piece.
    pub(crate) fn holds(&self, bytes: &[u8]) -> Result<bool, Errno> {
        let mut piece = [0; COMPARED_BYTES];
        let mut same = 0;
        loop {
            match rustix::io::pread(&self.fd, &mut piece, same as u64) {
                Ok(0) => return Ok(same == bytes.len()),
                Ok(n) if !bytes[same..].starts_with(&piece[..n]) => return Ok(false),
                Ok(n) => same += n,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl From<File> for OwnedFd {
    fn from(file: File) -> Self {
        file.fd
    }
}

impl From<FileType> for Kind {
    fn from(file_type: FileType) -> Self {
        match file_type {
            FileType::Directory => Self::Directory,
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Link,
            _ => Self::Special,
        }
    }
}

impl From<Errno> for OpenError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::Missing,
            Errno::LOOP => Self::Kind(Kind::Link),
            Errno::NOTDIR => Self::Kind(Kind::File),
            // Opening a socket or a driverless device.
            Errno::NXIO | Errno::NODEV => Self::Kind(Kind::Special),
            error => Self::System(error),
        }
    }
}

/// How a directory is opened.
pub(crate) const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// How a file is opened: `NONBLOCK` so that a FIFO put in place after the listing cannot hold us; `NOCTTY` for a terminal
/// likewise.
pub(crate) const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
const DIRECTORY_BUFFER_BYTES: usize = 16 << 10;
const COMPARED_BYTES: usize = 16 << 10;

/// How often the kernel is asked to resolve one path while others keep renaming.
const RESOLVE_TRIES_MAX: usize = 64;

/// Names of directories that are held at once, at most: of one listing, or of all that one search is inside of.
pub(crate) const ENTRIES_MAX: usize = 131_072;

#[cfg(test)]
mod tests;
