//! Making the moves of a plan.

use std::collections::BTreeSet;

use rustix::io::Errno;

use super::disk::Disk;
use super::error::Left;
use super::names;
use super::place::Place;
use super::plan::{Action, Move, Plan};
use super::stamp::Stamp;
use crate::dir::{Dir, ENTRIES_MAX, Kind, OpenError};

/// The folders of a plan, all open.
pub(super) struct Moves<'m> {
    pub(super) disk: Disk<'m>,
    pub(super) plan: &'m Plan,
    pub(super) places: &'m [Place],
    /// Our folders, one in each place; `None` where it is gone already.
    pub(super) staging: &'m [Option<Dir>],
}

/// Why a move was not made, or is not to stay.
#[derive(Debug)]
pub(super) enum MoveError {
    /// Somebody else changed what it is about.
    Changed,
    System(Errno),
}

/// A failed move, with the folder that it may have changed.
pub(super) struct FailedMove {
    pub(super) index: usize,
    pub(super) error: MoveError,
    pub(super) folder: Option<Dir>,
}

impl FailedMove {
    /// A failure after this move, when its folder need not be held any more.
    pub(super) fn of(index: usize, error: MoveError) -> Self {
        Self { index, error, folder: None }
    }
}

impl Moves<'_> {
    /// Makes all moves, in order, until one fails.
    pub(super) fn make(&self) -> Result<(), FailedMove> {
        for (index, wanted) in self.plan.moves.iter().enumerate() {
            let folder = self.open_folder(wanted);
            let folder = folder.map_err(|error| FailedMove::of(index, error))?;
            if let Err(error) = self.make_one(wanted, &folder) {
                return Err(FailedMove { index, error, folder: Some(folder) });
            }
        }
        self.sync().map_err(|errno| {
            let index = self.plan.moves.len().saturating_sub(1);
            FailedMove::of(index, MoveError::System(errno))
        })
    }

    fn make_one(&self, wanted: &Move, folder: &Dir) -> Result<(), MoveError> {
        let (staging, number) = (self.staging(wanted)?, wanted.number.to_string());
        let name = wanted.name();
        match &wanted.action {
            Action::MakeFolder { .. } | Action::Create { .. } => {
                self.disk.rename(staging, &number, folder, name)?;
            }
            Action::Replace { original, .. } => {
                if !is_still(folder, name, original)? {
                    return Err(MoveError::Changed);
                }
                self.disk.exchange(staging, &number, folder, name)?;
                // Whatever was put there in the last moment is what was taken away.
                let taken = Stamp::at(staging, number.as_bytes())?;
                if !taken.is_some_and(|taken| original.is_same_moved(&taken)) {
                    return Err(MoveError::Changed);
                }
            }
            Action::Remove { original, inside } => {
                if !is_still(folder, name, original)? {
                    return Err(MoveError::Changed);
                }
                self.disk.rename(folder, name, staging, &number)?;
                if !has_taken(staging, wanted, original, inside)? {
                    return Err(MoveError::Changed);
                }
            }
        }
        // The folder itself may have been moved away under our hands.
        self.open_folder(wanted).map(drop)
    }

    /// Opens the folder that a target is in, if it is the one that was meant.
    pub(super) fn open_folder(&self, wanted: &Move) -> Result<Dir, MoveError> {
        let place = self.places.get(wanted.place).ok_or(MoveError::Changed)?;
        let folder = place.dir.open_below(wanted.folder())?;
        if folder.identity()? == wanted.parent { Ok(folder) } else { Err(MoveError::Changed) }
    }

    pub(super) fn staging(&self, wanted: &Move) -> Result<&Dir, MoveError> {
        self.staging.get(wanted.place).and_then(Option::as_ref).ok_or(MoveError::Changed)
    }

    /// Brings the names to the disk.
    fn sync(&self) -> Result<(), Errno> {
        let folders: BTreeSet<_> = self.plan.moves.iter().map(|made| (made.place, made.folder())).collect();
        if folders.len() > SYNCED_ONE_BY_ONE_MAX {
            return self.places.iter().try_for_each(|place| self.disk.sync_all(&place.dir));
        }
        for (place, folder) in folders {
            // One that is gone since was moved away by somebody else, after our file was seen in it.
            if let Some(Ok(folder)) = self.places.get(place).map(|place| place.dir.open_below(folder)) {
                self.disk.sync(&folder)?;
            }
        }
        self.staging.iter().flatten().try_for_each(|staging| self.disk.sync(staging))
    }

    pub(super) fn target(&self, index: usize) -> String {
        let wanted = self.plan.moves.get(index);
        wanted.map_or_else(String::new, |wanted| self.plan.absolute(wanted.place, &wanted.path))
    }

    pub(super) fn left(&self, made: &Move, kept: Option<String>) -> Left {
        Left { path: self.plan.absolute(made.place, &made.path), kept }
    }

    pub(super) fn staged_path(&self, made: &Move) -> String {
        self.plan.absolute(made.place, &format!("{}/{}", self.plan.staging, made.number))
    }
}

/// Whether what was taken away is what was to be, with nothing more and nothing less in it.
fn has_taken(
    staging: &Dir,
    wanted: &Move,
    original: &Stamp,
    inside: &[(String, Stamp)],
) -> Result<bool, MoveError> {
    let number = wanted.number.to_string();
    let taken = Stamp::at(staging, number.as_bytes())?;
    let is_same = |taken: &Stamp| match original.kind {
        Kind::Directory => original.is_unchanged(taken),
        _ => original.is_same_moved(taken),
    };
    if !taken.as_ref().is_some_and(is_same) {
        return Ok(false);
    }
    if original.kind != Kind::Directory {
        return Ok(true);
    }
    let mut entries = count(staging, &number)?;
    for (path, stamp) in inside {
        let path = moved_path(&number, wanted, path);
        let (folder, name) = names::split(&path);
        if !is_still(&staging.open_below(folder)?, name, stamp)? {
            return Ok(false);
        }
        if stamp.kind == Kind::Directory {
            entries += count(staging, &path)?;
        }
    }
    Ok(entries == inside.len())
}

/// Where something that was in a folder is now that the folder was taken away.
pub(super) fn moved_path(number: &str, taken: &Move, path: &str) -> String {
    let below = path.strip_prefix(&taken.path).and_then(|below| below.strip_prefix('/')).unwrap_or(path);
    names::join(number, below)
}

fn is_still(folder: &Dir, name: &str, stamp: &Stamp) -> Result<bool, Errno> {
    Ok(Stamp::at(folder, name.as_bytes())?.is_some_and(|now| stamp.is_unchanged(&now)))
}

fn count(staging: &Dir, path: &str) -> Result<usize, MoveError> {
    Ok(staging.open_below(path)?.entries(ENTRIES_MAX)?.0.len())
}

impl From<Errno> for MoveError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::EXIST | Errno::NOENT | Errno::NOTDIR | Errno::ISDIR | Errno::LOOP => Self::Changed,
            errno => Self::System(errno),
        }
    }
}

impl From<OpenError> for MoveError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::System(errno) => Self::from(errno),
            OpenError::Missing | OpenError::Kind(_) | OpenError::Escapes => Self::Changed,
        }
    }
}

const SYNCED_ONE_BY_ONE_MAX: usize = 64;
