//! What a name stood for at one moment, in enough detail to tell later whether anybody touched it.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use crate::dir::{Identity, Kind};

/// What a name stood for, taken through a handle and without following anything.
///
/// Every write, rename, new link or change of mode moves the change time, which nobody but root can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) kind: Kind,
    pub(super) identity: Identity,
    pub(super) size: u64,
    /// Seconds and nanoseconds.
    pub(super) modified: (i64, u64),
    /// Seconds and nanoseconds.
    pub(super) changed: (i64, u64),
    /// The permission bits.
    pub(super) mode: u32,
    pub(super) owner: u32,
    pub(super) group: u32,
    pub(super) links: u64,
    /// Whether it is the character device 0:0, by which an overlay says that a name was removed.
    pub(super) is_whiteout: bool,
}

impl Stamp {
    pub(super) fn of(stat: &rustix::fs::Stat) -> Self {
        let file_type = FileType::from_raw_mode(stat.st_mode);
        Self {
            kind: Kind::from(file_type),
            identity: Identity::new(stat.st_dev, stat.st_ino),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
            mode: stat.st_mode & 0o7777,
            owner: stat.st_uid,
            group: stat.st_gid,
            links: stat.st_nlink,
            is_whiteout: file_type == FileType::CharacterDevice && stat.st_rdev == 0,
        }
    }

    /// What a name stands for now; `None` if for nothing.
    pub(super) fn at(dir: impl AsFd, name: &[u8]) -> Result<Option<Self>, Errno> {
        match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Self::of(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn of_open(file: impl AsFd) -> Result<Self, Errno> {
        Ok(Self::of(&rustix::fs::fstat(file)?))
    }

    /// Whether this is the same file with the same bytes, but perhaps under another name: moving it moved its change
    /// time.
    pub(super) fn is_same_moved(&self, now: &Self) -> bool {
        *self == Self { changed: self.changed, ..*now }
    }

    /// Whether nothing happened to it. Of a folder only which one it is counts: what is in it is looked at by itself.
    pub(super) fn is_unchanged(&self, now: &Self) -> bool {
        match self.kind {
            Kind::Directory => self.kind == now.kind && self.identity == now.identity,
            _ => self == now,
        }
    }
}
