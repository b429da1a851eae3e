//! One folder of one run, and the lock that says that its process lives.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use super::Place;
use crate::clear;
use crate::own::OwnDir;
use crate::place;

/// A folder `stage_…` that holds `lock`, which its process holds locked, and `content`, all that a run ever sees of it.
#[derive(Debug)]
pub(super) struct RunFolder {
    place: Arc<Place>,
    name: String,
    content: OwnDir,
    path: PathBuf,
    is_removed: bool,
    _lock: OwnedFd,
}

impl RunFolder {
    /// Makes one under a random name.
    pub(super) fn make(place: &Arc<Place>) -> Result<Self, Errno> {
        let mut bits = [0; 16];
        getrandom::fill(&mut bits).map_err(|_| Errno::IO)?;
        let name = name_of(bits);
        let (folder, lock) = {
            // Whoever sweeps waits, and so sees no folder whose lock is not taken yet.
            let _sweepers = place.dir.lock(LOCK)?;
            let folder = place.dir.make(&name)?;
            let lock = folder.try_lock(LOCK)?.ok_or(Errno::BUSY)?;
            (folder, lock)
        };
        // Without a value nobody would remove the folder before the next start.
        let path = place.path.join(&name).join(CONTENT);
        let content = folder.make(CONTENT).inspect_err(|_| {
            let _ = dispose(place, &name, &mut { u64::MAX });
        })?;
        Ok(Self { place: Arc::clone(place), name, content, path, is_removed: false, _lock: lock })
    }

    pub(super) fn content(&self) -> &OwnDir {
        &self.content
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the path leads, without links, to the folder that was made.
    pub(super) fn is_in_place(&self) -> bool {
        let there = place::open_dir(&self.path).ok().and_then(|dir| dir.identity().ok());
        there.is_some() && there == self.content.dir().identity().ok()
    }

    pub(super) fn remove(mut self) -> Result<(), Errno> {
        self.is_removed = true;
        dispose(&self.place, &self.name, &mut { u64::MAX })
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if !self.is_removed {
            // What cannot be removed now is removed at the next start, like after a crash.
            let _ = dispose(&self.place, &self.name, &mut { u64::MAX });
        }
    }
}

/// Removes what nobody holds; how many folders stayed that should not have.
pub(super) fn sweep(place: &Place) -> Result<usize, Errno> {
    let mut left = Vec::new();
    {
        let _makers = place.dir.lock(LOCK)?;
        for name in place.dir.names()?.into_iter().filter(|name| is_ours(name)) {
            match place.dir.open_dir(&name) {
                // Held until it is removed, so that two who sweep at once do not meet.
                Ok(folder) => match folder.try_lock(LOCK) {
                    Ok(None) => {}
                    Ok(Some(lock)) => left.push((name, Some(lock))),
                    Err(_) => left.push((name, None)),
                },
                Err(Errno::NOENT) => {}
                Err(_) => left.push((name, None)),
            }
            if left.len() == FOLDERS_MAX {
                break;
            }
        }
    }
    let mut entries_left = ENTRIES_MAX;
    let removed = left.iter().filter(|(name, _)| dispose(place, name, &mut entries_left).is_ok()).count();
    Ok(left.len() - removed)
}

/// Removes a folder whose lock the caller holds: what the run saw first, so that what is left after an interruption can
/// be told by its lock.
fn dispose(place: &Place, name: &str, entries_left: &mut u64) -> Result<(), Errno> {
    if let Ok(folder) = place.dir.open_dir(name) {
        clear::tree(&folder, CONTENT, entries_left)?;
    }
    // Between the last two steps it would look like one that was just made.
    let _others = place.dir.lock(LOCK)?;
    clear::tree(&place.dir, name, entries_left)
}

fn name_of(bits: [u8; 16]) -> String {
    use std::fmt::Write as _;
    let mut name = PREFIX.to_owned();
    for byte in bits {
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// Whether a name is one of those that are given here. Whatever else lies there was put there by a person.
fn is_ours(name: &str) -> bool {
    let digits = name.strip_prefix(PREFIX).unwrap_or_default();
    digits.len() == 32 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

const PREFIX: &str = "stage_";
const LOCK: &str = "lock";
const CONTENT: &str = "content";
/// Entries that one start removes, so that a start takes seconds whatever was left.
const ENTRIES_MAX: u64 = 262_144;
/// Folders that one start removes; each takes a descriptor.
const FOLDERS_MAX: usize = 256;
