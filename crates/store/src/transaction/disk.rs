//! Every system call by which a transaction changes anything, each a point where it can be interrupted.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;

use super::stamp::Stamp;
use crate::dir::Dir;
use crate::own::write_at;

/// What is about to be done. A test can end the process there, change the folder, or make it fail.
pub(super) type Before<'b> = &'b dyn Fn(&'static str) -> Result<(), Errno>;

/// Nothing comes in between: what the product uses.
#[expect(clippy::unnecessary_wraps, reason = "what stands in for it in tests can fail")]
pub(super) fn unwatched(_: &'static str) -> Result<(), Errno> {
    Ok(())
}

/// The disk, with what comes before each change of it.
#[derive(Clone, Copy)]
pub(super) struct Disk<'b> {
    pub(super) before: Before<'b>,
}

impl Disk<'_> {
    /// Makes a folder of ours, 0700, that was not there.
    pub(super) fn make_dir(self, dir: &Dir, name: &str) -> Result<Dir, Errno> {
        (self.before)("make a folder")?;
        rustix::fs::mkdirat(dir, name, Mode::RWXU)?;
        let made = open(dir, name)?;
        // Whatever the caller's mask says.
        rustix::fs::fchmod(&made, Mode::RWXU)?;
        Ok(made)
    }

    /// Makes an empty file of ours, 0600, that was not there.
    pub(super) fn make_file(self, dir: &Dir, name: &str) -> Result<OwnedFd, Errno> {
        (self.before)("make a file")?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(dir, name, flags, Mode::RUSR | Mode::WUSR)
    }

    pub(super) fn write(self, file: &OwnedFd, bytes: &[u8], offset: u64) -> Result<(), Errno> {
        (self.before)("write")?;
        write_at(file.as_fd(), bytes, offset)
    }

    /// Sets mode and, where it differs, owner.
    pub(super) fn set_rights(self, file: impl AsFd, like: &Rights) -> Result<(), Errno> {
        (self.before)("set the rights")?;
        if let Some((owner, group)) = like.owner {
            let now = Stamp::of_open(&file)?;
            if (now.owner, now.group) != (owner, group) {
                rustix::fs::fchown(&file, Some(Uid::from_raw(owner)), Some(Gid::from_raw(group)))?;
            }
        }
        rustix::fs::fchmod(&file, Mode::from_raw_mode(like.mode))
    }

    pub(super) fn sync(self, file: impl AsFd) -> Result<(), Errno> {
        (self.before)("sync")?;
        match rustix::fs::fsync(file) {
            // Some file systems have nothing to sync of a folder.
            Err(Errno::INVAL) => Ok(()),
            synced => synced,
        }
    }

    /// Syncs all of the file system at once.
    pub(super) fn sync_all(self, dir: &Dir) -> Result<(), Errno> {
        (self.before)("sync all")?;
        rustix::fs::syncfs(dir)
    }

    /// Moves a name to where nothing is.
    pub(super) fn rename(self, from: &Dir, name: &str, to: &Dir, new_name: &str) -> Result<(), Errno> {
        (self.before)("move")?;
        rustix::fs::renameat_with(from, name, to, new_name, RenameFlags::NOREPLACE)
    }

    /// Lets two names change places.
    pub(super) fn exchange(self, from: &Dir, name: &str, to: &Dir, new_name: &str) -> Result<(), Errno> {
        (self.before)("exchange")?;
        rustix::fs::renameat_with(from, name, to, new_name, RenameFlags::EXCHANGE)
    }

    /// Removes a file. One that is not there is removed already.
    pub(super) fn remove_file(self, dir: &Dir, name: &str) -> Result<(), Errno> {
        (self.before)("remove a file")?;
        gone(rustix::fs::unlinkat(dir, name, AtFlags::empty()))
    }

    /// Removes an empty folder. One that is not there is removed already.
    pub(super) fn remove_dir(self, dir: &Dir, name: &str) -> Result<(), Errno> {
        (self.before)("remove a folder")?;
        gone(rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR))
    }
}

/// The mode of a new file or folder, and its owner and group if they are another file's.
pub(super) struct Rights {
    pub(super) mode: u32,
    pub(super) owner: Option<(u32, u32)>,
}

/// Opens a folder in another one, which is no link and on the same file system.
pub(super) fn open(dir: &Dir, name: &str) -> Result<Dir, Errno> {
    dir.open_below(name).map_err(|error| match error {
        crate::dir::OpenError::System(errno) => errno,
        crate::dir::OpenError::Missing => Errno::NOENT,
        _ => Errno::NOTDIR,
    })
}

fn gone(removed: Result<(), Errno>) -> Result<(), Errno> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}
