//! A folder of the person that files go to, and how much may go there.

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use fumehood_core::shown::is_hidden;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use super::error::{TransactionError, failed};
use super::names;
use crate::dir::{Dir, Identity, OpenError};

/// An open folder of the person that a transaction may change, and the path it was opened by.
///
/// Cheap to clone. The handle decides what is changed; the path is for people and for whoever cleans up after a crash.
#[derive(Clone, Debug)]
pub struct Place {
    pub(super) dir: Arc<Dir>,
    pub(super) path: Arc<str>,
    pub(super) identity: Identity,
}

/// How much one run may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeLimits {
    pub(super) changes: usize,
    pub(super) bytes: u64,
    pub(super) entries: usize,
}

impl Place {
    /// Takes a folder that the caller opened, in any way, by an absolute path with no link in it.
    ///
    /// # Errors
    /// `E_SKILL_WORKSPACE_FAILED` if the handle is no folder that can be listed, the path does not lead to it, or is not
    /// text that can be shown as it is.
    pub fn of(folder: impl AsFd, path: &Path) -> Result<Self, TransactionError> {
        let dir = Dir::again(folder).map_err(|_| TransactionError::Place("cannot be listed"))?;
        let identity = dir.identity().map_err(failed("look at the folder"))?;
        let text = path.to_str().filter(|text| !text.chars().any(is_hidden));
        let text = text.ok_or(TransactionError::Place("has a path that cannot be shown"))?;
        if !path.is_absolute() {
            return Err(TransactionError::Place("has no absolute path"));
        }
        let place = Self { dir: Arc::new(dir), path: Arc::from(text), identity };
        if place.is_at_its_path() {
            Ok(place)
        } else {
            Err(TransactionError::Place("is not where its path leads"))
        }
    }

    /// Opens a folder again that a record names. Its file system may have another number since the machine was started.
    pub(super) fn again(path: &str, identity: Identity) -> Option<Self> {
        let dir = open(path).ok()?;
        let now = dir.identity().ok()?;
        let is_same = now == identity.on_device(now.device());
        is_same.then(|| Self { dir: Arc::new(dir), path: Arc::from(path), identity: now })
    }

    fn is_at_its_path(&self) -> bool {
        open(&self.path).is_ok_and(|dir| dir.identity() == Ok(self.identity))
    }

    /// The absolute path of something below.
    pub(super) fn absolute(&self, path: &str) -> String {
        names::join(self.path.trim_end_matches('/'), path)
    }
}

fn open(path: &str) -> Result<Dir, OpenError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let plain = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Dir::again(rustix::fs::openat2(CWD, path, flags, Mode::empty(), plain)?)
}

impl ChangeLimits {
    /// Files and folders that one run may change, where nothing else is set.
    pub const CHANGES_DEFAULT: usize = 4096;
    /// The most that can be set.
    pub const CHANGES_CEILING: usize = 65_536;
    /// Bytes that one run may write, where nothing else is set: 1 GiB.
    pub const BYTES_DEFAULT: u64 = 1 << 30;
    /// The most that can be set: 1 TiB.
    pub const BYTES_CEILING: u64 = 1 << 40;
    /// Entries of a folder that are looked through before a run may write there, where nothing else is set.
    pub const ENTRIES_DEFAULT: usize = 131_072;
    /// The most that can be set.
    pub const ENTRIES_CEILING: usize = 1_048_576;
    /// Bytes that all changes of one run may take in its receipt, whatever else is set: 3 MiB. The rest of a receipt has
    /// room beside them in a row of the journal, so that no run changes more files than can be put on record.
    pub const RECORD_BYTES_MAX: usize = 3 << 20;

    /// Limits of changed files and folders, of bytes in them, and of entries in a folder that can be given to write.
    ///
    /// # Errors
    /// `E_CONFIG_INVALID` for 0 and above the ceilings.
    pub fn new(changes: usize, bytes: u64, entries: usize) -> Result<Self, TransactionError> {
        let within = (1..=Self::CHANGES_CEILING).contains(&changes)
            && (1..=Self::BYTES_CEILING).contains(&bytes)
            && (1..=Self::ENTRIES_CEILING).contains(&entries);
        let reason =
            "a run may change 1 to 65536 files, write 1 byte to 1 TiB, in a folder of 1 to 1048576 entries";
        if within { Ok(Self { changes, bytes, entries }) } else { Err(TransactionError::Limit(reason)) }
    }
}

impl Default for ChangeLimits {
    fn default() -> Self {
        Self { changes: Self::CHANGES_DEFAULT, bytes: Self::BYTES_DEFAULT, entries: Self::ENTRIES_DEFAULT }
    }
}
