//! Undoing moves, and removing what is no longer needed.
//!
//! How far a transaction came is read off our folder, into which nobody else puts anything: a new file is in it until
//! it is in place, and an original is in it from then on. So a move is undone in the same way after a failure and
//! after a crash, and undoing twice is undoing once.

use rustix::io::Errno;

use super::error::Left;
use super::moves::{FailedMove, MoveError, Moves, moved_path};
use super::names;
use super::plan::{Action, Move};
use super::stamp::Stamp;
use crate::dir::{Dir, ENTRIES_MAX, Kind, OpenError};

impl Moves<'_> {
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
            // It went with the new folder that it was in.
            Err(MoveError::Changed) if self.is_folder_back(made, staging)? => return Ok(None),
            Err(MoveError::Changed) => return Ok(Some(self.left(made, kept))),
        };
        let is_undone = match &made.action {
            Action::MakeFolder { new } => self.undo_folder(staging, &number, &folder, made.name(), new)?,
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

    /// Whether the folder that a target is in was made by this plan and is among our copies again.
    fn is_folder_back(&self, made: &Move, staging: &Dir) -> Result<bool, Errno> {
        let is_its_folder = |other: &&Move| match &other.action {
            Action::MakeFolder { new } => other.place == made.place && new.identity == made.parent,
            _ => false,
        };
        let Some(folder) = self.plan.moves.iter().find(is_its_folder) else { return Ok(false) };
        Ok(Stamp::at(staging, folder.number.to_string().as_bytes())?.is_some())
    }

    fn undo_folder(
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
            Some(now) if !new.is_unchanged(&now) => return Ok(false),
            Some(_) => {}
        }
        // Somebody's file in it keeps it where it is.
        if !is_empty(folder, name)? {
            return Ok(false);
        }
        if !done_unless(self.disk.rename(folder, name, staging, number), &[Errno::NOENT])? {
            return Ok(true);
        }
        let taken = Stamp::at(staging, number.as_bytes())?;
        if taken.is_some_and(|taken| new.is_unchanged(&taken)) && is_empty(staging, number)? {
            return Ok(true);
        }
        done_unless(self.disk.rename(staging, number, folder, name), &[Errno::EXIST, Errno::NOENT])?;
        Ok(false)
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
            let (Some(new), Some(Some(staging))) = (action.placed(), self.staging.get(*place)) else {
                continue;
            };
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
}

/// Whether a folder is one, and empty.
fn is_empty(folder: &Dir, name: &str) -> Result<bool, Errno> {
    match folder.open_below(name) {
        Ok(below) => Ok(below.entries(1)?.0.is_empty()),
        Err(OpenError::System(errno)) => Err(errno),
        Err(_) => Ok(false),
    }
}

/// Whether it was done; `false` for errors that say that somebody else was faster.
fn done_unless(done: Result<(), Errno>, somebody: &[Errno]) -> Result<bool, Errno> {
    match done {
        Ok(()) => Ok(true),
        Err(errno) if somebody.contains(&errno) => Ok(false),
        Err(errno) => Err(errno),
    }
}
