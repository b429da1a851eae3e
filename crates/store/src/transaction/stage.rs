//! Copying what a run wrote to files of our own, on the file system where they are wanted.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};

use fumehood_core::Sha256;
use fumehood_core::digest::Hasher;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::changes::{Changes, Wanted, WantedChange, Written};
use super::disk::{Disk, Rights};
use super::error::{Refusals, RefusedReason, TransactionError, failed};
use super::names;
use super::plan::{Action, Move};
use super::stamp::Stamp;
use crate::dir::{Dir, Identity, OpenError};
use crate::own::read_at;

/// Copies everything that is wanted into our folders, one for each place, and says which moves are left to make.
pub(super) fn stage(
    disk: Disk<'_>,
    changes: &Changes,
    folders: &[Dir],
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Vec<Move>, TransactionError> {
    let mut stager =
        Stager { disk, changes, folders, is_cancelled, made: BTreeMap::new(), moves: Vec::new() };
    let sync_each = changes.wanted.len() <= SYNCED_ONE_BY_ONE_MAX;
    for wanted in &changes.wanted {
        stager.stage(wanted, sync_each)?;
    }
    let moves = stager.moves;
    for folder in folders {
        let synced = if sync_each { disk.sync(folder) } else { disk.sync_all(folder) };
        synced.map_err(failed("write the new files to the disk"))?;
    }
    Ok(moves)
}

struct Stager<'s> {
    disk: Disk<'s>,
    changes: &'s Changes,
    folders: &'s [Dir],
    is_cancelled: &'s dyn Fn() -> bool,
    /// The new folders so far.
    made: BTreeMap<(usize, &'s str), Identity>,
    moves: Vec<Move>,
}

impl<'s> Stager<'s> {
    fn stage(&mut self, wanted: &'s Wanted, sync: bool) -> Result<(), TransactionError> {
        let Wanted { place, path, parent, change } = wanted;
        let parent = parent.or_else(|| self.made.get(&(*place, names::split(path).0)).copied());
        let Some(parent) = parent else { return Err(TransactionError::Place("of a new file was not made")) };
        let number = self.moves.len();
        let action = match change {
            WantedChange::Remove { original, inside } => {
                Action::Remove { original: *original, inside: inside.clone() }
            }
            WantedChange::MakeFolder => {
                let new = self.make_folder(*place, number).map_err(failed("make a folder"))?;
                self.made.insert((*place, path), new.identity);
                Action::MakeFolder { new }
            }
            WantedChange::Create { from } => {
                let rights = Rights { mode: 0o644, owner: None };
                let (new, sha256) = self.copy(wanted, number, from, &rights, sync)?;
                Action::Create { new, sha256 }
            }
            WantedChange::Replace { from, original } => {
                let rights = Rights { mode: original.mode, owner: Some((original.owner, original.group)) };
                let before = self.open_original(wanted, parent, original)?;
                let (new, sha256) = self.copy(wanted, number, from, &rights, sync)?;
                if new.size == original.size && digest(&before)? == sha256 {
                    // Opened to write and left as it was: nothing changed, so nothing is changed.
                    let dropped = self.disk.remove_file(&self.folders[*place], &number.to_string());
                    return dropped.map_err(failed("remove a copy"));
                }
                Action::Replace { new, sha256, original: *original }
            }
        };
        self.moves.push(Move { place: *place, number, parent, path: path.clone(), action });
        Ok(())
    }

    fn make_folder(&self, place: usize, number: usize) -> Result<Stamp, Errno> {
        let folder = self.disk.make_dir(&self.folders[place], &number.to_string())?;
        self.disk.set_rights(&folder, &Rights { mode: 0o755, owner: None })?;
        Stamp::of_open(&folder)
    }

    /// Copies one file; what was copied is what the digest is of, whatever else happens to the source.
    fn copy(
        &self,
        wanted: &Wanted,
        number: usize,
        from: &Written,
        rights: &Rights,
        sync: bool,
    ) -> Result<(Stamp, Sha256), TransactionError> {
        let source = open_plain(&self.changes.sources[from.source], &from.path);
        let source = match source {
            Err(Errno::ACCESS) => return Err(self.refused(wanted, RefusedReason::OutOfReach)),
            opened => opened.map_err(failed("open what was written"))?,
        };
        let changed = || self.refused(wanted, RefusedReason::Changed);
        let is_as_judged = || Stamp::of_open(&source).is_ok_and(|now| now == from.stamp);
        if !is_as_judged() {
            return Err(changed());
        }
        let copying = failed("copy what was written");
        let copy = self.disk.make_file(&self.folders[wanted.place], &number.to_string()).map_err(&copying)?;
        let mut hasher = Hasher::default();
        let mut piece = vec![0; PIECE_BYTES];
        let mut copied = 0;
        loop {
            if (self.is_cancelled)() {
                return Err(TransactionError::Cancelled);
            }
            let read = read_at(source.as_fd(), &mut piece, copied).map_err(&copying)?;
            if read == 0 {
                break;
            }
            hasher.update(&piece[..read]);
            self.disk.write(&copy, &piece[..read], copied).map_err(&copying)?;
            copied += read as u64;
            if copied > from.stamp.size {
                return Err(changed());
            }
        }
        if copied != from.stamp.size || !is_as_judged() {
            return Err(changed());
        }
        match self.disk.set_rights(&copy, rights) {
            Err(Errno::PERM) => return Err(self.refused(wanted, RefusedReason::OwnerOrAccess)),
            set => set.map_err(&copying)?,
        }
        if sync {
            self.disk.sync(&copy).map_err(&copying)?;
        }
        let new = Stamp::of_open(&copy).map_err(&copying)?;
        Ok((new, hasher.finish()))
    }

    /// The file that will be replaced, if it is the one that was known and loses nothing but its bytes.
    fn open_original(
        &self,
        wanted: &Wanted,
        parent: Identity,
        original: &Stamp,
    ) -> Result<OwnedFd, TransactionError> {
        let place = &self.changes.places[wanted.place];
        let changed = || self.refused(wanted, RefusedReason::Changed);
        let folder = place.dir.open_below(names::split(&wanted.path).0).map_err(|_| changed())?;
        let file = match open_plain(&folder, names::split(&wanted.path).1) {
            // A file that its owner may not read is not one to compare with.
            Err(Errno::ACCESS) => return Err(self.refused(wanted, RefusedReason::OwnerOrAccess)),
            opened => opened.map_err(|_| changed())?,
        };
        let is_known = folder.identity() == Ok(parent) && Stamp::of_open(&file).as_ref() == Ok(original);
        match rustix::fs::fgetxattr_query(&file, ACCESS_LIST) {
            _ if !is_known => Err(changed()),
            Err(Errno::NODATA | Errno::NOTSUP) => Ok(file),
            _ => Err(self.refused(wanted, RefusedReason::OwnerOrAccess)),
        }
    }

    fn refused(&self, wanted: &Wanted, reason: RefusedReason) -> TransactionError {
        let mut refusals = Refusals::default();
        refusals.add(self.changes.places[wanted.place].absolute(&wanted.path), reason);
        refusals.into_result().err().unwrap_or(TransactionError::Cancelled)
    }
}

/// Opens a file by a path in which nothing is a link. What it is, the caller looks at.
fn open_plain(dir: &Dir, path: &str) -> Result<OwnedFd, Errno> {
    let (folder, name) = names::split(path);
    let folder = dir.open_below(folder).map_err(|error| match error {
        OpenError::System(errno) => errno,
        _ => Errno::NOENT,
    })?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(&folder, name, flags, Mode::empty())
}

fn digest(file: &OwnedFd) -> Result<Sha256, TransactionError> {
    let mut hasher = Hasher::default();
    let mut piece = vec![0; PIECE_BYTES];
    let mut offset = 0;
    loop {
        match read_at(file.as_fd(), &mut piece, offset).map_err(failed("read a file"))? {
            0 => return Ok(hasher.finish()),
            read => {
                hasher.update(&piece[..read]);
                offset += read as u64;
            }
        }
    }
}

const PIECE_BYTES: usize = 256 << 10;
/// With more files than this, one sync of all the file system is the faster way.
const SYNCED_ONE_BY_ONE_MAX: usize = 64;
const ACCESS_LIST: &str = "system.posix_acl_access";
