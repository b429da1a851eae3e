//! Making the moves of a plan, and undoing them.
//!
//! How far a transaction came is read off our folder, into which nobody else puts anything: a new file is in it until
//! it is in place, and an original is in it from then on. So a move is undone in the same way after a failure and
//! after a crash, and undoing twice is undoing once.

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
    folder: Option<Dir>,
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
                if !self.has_taken(staging, wanted, original, inside)? {
                    return Err(MoveError::Changed);
                }
            }
        }
        // The folder itself may have been moved away under our hands.
        self.open_folder(wanted).map(drop)
    }

    /// Whether what was taken away is what was to be, with nothing more and nothing less in it.
    fn has_taken(
        &self,
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

    /// Opens the folder that a target is in, if it is the one that was meant.
    fn open_folder(&self, wanted: &Move) -> Result<Dir, MoveError> {
        let place = self.places.get(wanted.place).ok_or(MoveError::Changed)?;
        let folder = place.dir.open_below(wanted.folder())?;
        if folder.identity()? == wanted.parent { Ok(folder) } else { Err(MoveError::Changed) }
    }

    fn staging(&self, wanted: &Move) -> Result<&Dir, MoveError> {
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

    /// Undoes all moves that were made, the last one first. Returns what could not be put back.
    pub(super) fn undo(&self, mut failed: Option<FailedMove>) -> Result<Vec<Left>, Errno> {
        let mut left = Vec::new();
        for (index, made) in self.plan.moves.iter().enumerate().rev() {
            let held = failed.take_if(|failed| failed.index == index).and_then(|failed| failed.folder);
            left.extend(self.undo_one(made, held)?);
        }
        left.reverse();
        Ok(left)
    }

    fn undo_one(&self, made: &Move, held: Option<Dir>) -> Result<Option<Left>, Errno> {
        // Without our folder nothing was begun, or all of it was undone before.
        let Ok(staging) = self.staging(made) else { return Ok(None) };
        let number = made.number.to_string();
        let here = Stamp::at(staging, number.as_bytes())?;
        let is_made = match (&made.action, here) {
            (Action::MakeFolder { .. } | Action::Create { .. }, here) => here.is_none(),
            (Action::Replace { new, .. }, Some(here)) => here.identity != new.identity,
            (Action::Replace { original, .. }, None) => return self.is_back(made, original),
            (Action::Remove { .. }, here) => here.is_some(),
        };
        if !is_made {
            return Ok(None);
        }
        let kept = made.action.original().map(|_| self.staged_path(made));
        let folder = match held.map_or_else(|| self.open_folder(made), Ok) {
            Ok(folder) => folder,
            Err(MoveError::System(errno)) => return Err(errno),
            Err(MoveError::Changed) => return Ok(Some(self.left(made, kept))),
        };
        let is_undone = match &made.action {
            Action::MakeFolder { new } => self.undo_folder(&folder, made.name(), new)?,
            Action::Create { new, .. } => self.undo_create(staging, &number, &folder, made.name(), new)?,
            Action::Replace { new, .. } => self.undo_replace(staging, &number, &folder, made.name(), new)?,
            Action::Remove { .. } => {
                let back = self.disk.rename(staging, &number, &folder, made.name());
                done_unless(back, &[Errno::EXIST, Errno::NOENT])?
            }
        };
        Ok((!is_undone).then(|| self.left(made, kept)))
    }

    /// Our copy is gone, so the move was undone before, and the original is in its place.
    fn is_back(&self, made: &Move, original: &Stamp) -> Result<Option<Left>, Errno> {
        let now = match self.open_folder(made) {
            Ok(folder) => Stamp::at(&folder, made.name().as_bytes())?,
            Err(_) => None,
        };
        let is_back = now.is_some_and(|now| original.is_same_moved(&now));
        Ok((!is_back).then(|| self.left(made, None)))
    }

    fn undo_folder(&self, folder: &Dir, name: &str, new: &Stamp) -> Result<bool, Errno> {
        match Stamp::at(folder, name.as_bytes())? {
            None => Ok(true),
            Some(now) if !new.is_unchanged(&now) => Ok(false),
            Some(_) => done_unless(self.disk.remove_dir(folder, name), &[Errno::NOTEMPTY, Errno::NOTDIR]),
        }
    }

    fn undo_create(
        &self,
        staging: &Dir,
        number: &str,
        folder: &Dir,
        name: &str,
        new: &Stamp,
    ) -> Result<bool, Errno> {
        match Stamp::at(folder, name.as_bytes())? {
            // Somebody removed it: then nothing is there, as before.
            None => return Ok(true),
            Some(now) if !new.is_same_moved(&now) => return Ok(false),
            Some(_) => {}
        }
        if !done_unless(self.disk.rename(folder, name, staging, number), &[Errno::NOENT])? {
            return Ok(true);
        }
        if Stamp::at(staging, number.as_bytes())?.is_some_and(|taken| new.is_same_moved(&taken)) {
            return Ok(true);
        }
        // It was somebody else's in the last moment, and goes back.
        done_unless(self.disk.rename(staging, number, folder, name), &[Errno::EXIST, Errno::NOENT])?;
        Ok(false)
    }

    fn undo_replace(
        &self,
        staging: &Dir,
        number: &str,
        folder: &Dir,
        name: &str,
        new: &Stamp,
    ) -> Result<bool, Errno> {
        let is_ours = |now: Stamp| new.is_same_moved(&now);
        if !Stamp::at(folder, name.as_bytes())?.is_some_and(is_ours) {
            return Ok(false);
        }
        if !done_unless(self.disk.exchange(staging, number, folder, name), &[Errno::NOENT])? {
            return Ok(false);
        }
        if Stamp::at(staging, number.as_bytes())?.is_some_and(is_ours) {
            return Ok(true);
        }
        done_unless(self.disk.exchange(staging, number, folder, name), &[Errno::NOENT])?;
        Ok(false)
    }

    /// Removes what is left of our copies, and our folders where nothing else is in them.
    pub(super) fn remove_copies(&self) -> Result<(), Errno> {
        for Move { place, number, action, .. } in &self.plan.moves {
            let (Some(new), Some(Some(staging))) = (action.new(), self.staging.get(*place)) else { continue };
            let number = number.to_string();
            match Stamp::at(staging, number.as_bytes())? {
                Some(now) if now.identity != new.identity => {}
                Some(now) if now.kind == Kind::Directory => self.disk.remove_dir(staging, &number)?,
                Some(_) => self.disk.remove_file(staging, &number)?,
                None => {}
            }
        }
        self.remove_staging()
    }

    /// Removes what a finished transaction took away. Returns what somebody put there too late.
    pub(super) fn remove_originals(&self) -> Result<Vec<Left>, Errno> {
        let mut left = Vec::new();
        for made in &self.plan.moves {
            let (Some(original), Ok(staging)) = (made.action.original(), self.staging(made)) else {
                continue;
            };
            let number = made.number.to_string();
            if let Action::Remove { inside, .. } = &made.action {
                for (path, stamp) in inside.iter().rev() {
                    self.remove_if(staging, &moved_path(&number, made, path), stamp)?;
                }
            }
            if !self.remove_if(staging, &number, original)? {
                left.push(self.left(made, Some(self.staged_path(made))));
            }
        }
        self.remove_staging()?;
        Ok(left)
    }

    /// Removes a file or an empty folder if it is this one; whether nothing is there now.
    fn remove_if(&self, staging: &Dir, path: &str, stamp: &Stamp) -> Result<bool, Errno> {
        let (folder, name) = names::split(path);
        let folder = match staging.open_below(folder) {
            Err(OpenError::System(errno)) => return Err(errno),
            Err(_) => return Ok(true),
            Ok(folder) => folder,
        };
        match Stamp::at(&folder, name.as_bytes())? {
            None => Ok(true),
            Some(now) if now.identity != stamp.identity || now.kind != stamp.kind => Ok(false),
            Some(now) if now.kind == Kind::Directory => {
                done_unless(self.disk.remove_dir(&folder, name), &[Errno::NOTEMPTY])
            }
            Some(_) => self.disk.remove_file(&folder, name).map(|()| true),
        }
    }

    /// Removes everything in our folders. Only before the first move, when all in them is ours.
    pub(super) fn clear(&self) -> Result<(), Errno> {
        for staging in self.staging.iter().flatten() {
            for entry in staging.entries(ENTRIES_MAX)?.0 {
                let name = String::from_utf8_lossy(&entry.name);
                if entry.kind == Kind::Directory {
                    self.disk.remove_dir(staging, &name)?;
                } else {
                    self.disk.remove_file(staging, &name)?;
                }
            }
        }
        self.remove_staging()
    }

    fn remove_staging(&self) -> Result<(), Errno> {
        for place in self.places {
            done_unless(self.disk.remove_dir(&place.dir, &self.plan.staging), &[Errno::NOTEMPTY])?;
        }
        Ok(())
    }

    pub(super) fn target(&self, index: usize) -> String {
        let wanted = self.plan.moves.get(index);
        wanted.map_or_else(String::new, |wanted| self.plan.absolute(wanted.place, &wanted.path))
    }

    fn left(&self, made: &Move, kept: Option<String>) -> Left {
        Left { path: self.plan.absolute(made.place, &made.path), kept }
    }

    fn staged_path(&self, made: &Move) -> String {
        self.plan.absolute(made.place, &format!("{}/{}", self.plan.staging, made.number))
    }
}

/// Where something that was in a folder is now that the folder was taken away.
fn moved_path(number: &str, taken: &Move, path: &str) -> String {
    let below = path.strip_prefix(&taken.path).and_then(|below| below.strip_prefix('/')).unwrap_or(path);
    names::join(number, below)
}

fn is_still(folder: &Dir, name: &str, stamp: &Stamp) -> Result<bool, Errno> {
    Ok(Stamp::at(folder, name.as_bytes())?.is_some_and(|now| stamp.is_unchanged(&now)))
}

fn count(staging: &Dir, path: &str) -> Result<usize, MoveError> {
    Ok(staging.open_below(path)?.entries(ENTRIES_MAX)?.0.len())
}

/// Whether it was done; `false` for errors that say that somebody else was faster.
fn done_unless(done: Result<(), Errno>, somebody: &[Errno]) -> Result<bool, Errno> {
    match done {
        Ok(()) => Ok(true),
        Err(errno) if somebody.contains(&errno) => Ok(false),
        Err(errno) => Err(errno),
    }
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
