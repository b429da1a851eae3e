//! What was in a folder before a run began.

use std::collections::BTreeMap;

use super::error::{RefusedReason, TransactionError, failed};
use super::moment::{LOOKS_MAX, Moment};
use super::names;
use super::place::{ChangeLimits, Place};
use super::stamp::Stamp;
use crate::dir::{Dir, ENTRIES_MAX, Entry, Kind, OpenError};

/// What was in a folder before a run began, to tell afterwards what somebody else changed meanwhile.
///
/// Every entry with its identity, size, mode and times, about 250 bytes each; contents are not read. Nothing below a
/// name that is protected and not unlocked is looked at, nor what is on another file system, cannot be listed, or is
/// deeper than 32 folders: no run may change anything there.
#[derive(Debug)]
pub struct Baseline {
    pub(super) place: Place,
    pub(super) unlocked: Vec<String>,
    entries: BTreeMap<Vec<u8>, Known>,
    entries_max: usize,
}

/// One entry of a baseline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) stamp: Stamp,
    /// A folder whose entries are not known.
    pub(super) is_closed: bool,
}

impl Baseline {
    /// Looks through a folder. `unlocked` are protected names that the deployer allows, spelled exactly so.
    ///
    /// A file that was changed in the last moment could be changed again without its times telling, so this waits until
    /// that moment is over, 20 milliseconds and at most 100. A file system that keeps times by the second tells less.
    ///
    /// # Errors
    /// `E_WORKSPACE_TOO_LARGE` above the limit of entries; `E_SKILL_WORKSPACE_FAILED`.
    pub fn of(place: &Place, unlocked: &[String], limits: ChangeLimits) -> Result<Self, TransactionError> {
        let began = Moment::now();
        let mut baseline = Self::unseen(place, unlocked, limits);
        let mut folders = vec![Vec::new()];
        while let Some(folder) = folders.pop() {
            match baseline.look_into(&folder) {
                // Gone since its parent was listed, or never ours to enter.
                Err(LookError::Open(_)) if !folder.is_empty() => baseline.close(&folder),
                Err(error) => return Err(error.into()),
                Ok(below) => folders.extend(below),
            }
        }
        baseline.let_the_moment_pass(began)?;
        Ok(baseline)
    }

    /// A baseline of which nothing is known but what [`Baseline::look_into`] is told to look at.
    pub(super) fn unseen(place: &Place, unlocked: &[String], limits: ChangeLimits) -> Self {
        Self {
            place: place.clone(),
            unlocked: unlocked.to_vec(),
            entries: BTreeMap::new(),
            entries_max: limits.entries,
        }
    }

    /// Takes down the entries of one folder; returns the folders among them that may be entered.
    pub(super) fn look_into(&mut self, folder: &[u8]) -> Result<Vec<Vec<u8>>, LookError> {
        let text = std::str::from_utf8(folder).map_err(|_| LookError::Open(OpenError::Missing))?;
        let dir = self.place.dir.open_below(text).map_err(LookError::Open)?;
        let (entries, more) = dir.entries(ENTRIES_MAX).map_err(LookError::List)?;
        if more || self.entries.len() + entries.len() > self.entries_max {
            return Err(LookError::TooMany(self.entries_max));
        }
        let mut folders = Vec::new();
        for Entry { name, .. } in entries {
            let Some(stamp) = Stamp::at(&dir, &name).map_err(LookError::List)? else { continue };
            let path = join_bytes(folder, &name);
            let is_folder = stamp.kind == Kind::Directory;
            let may_enter = is_folder
                && stamp.identity.device() == self.place.identity.device()
                && names::check_name(&name, &self.unlocked).is_ok()
                && !names::is_too_deep(&path);
            if may_enter {
                folders.push(path.clone());
            }
            self.entries.insert(path, Known { stamp, is_closed: is_folder && !may_enter });
        }
        Ok(folders)
    }

    fn close(&mut self, folder: &[u8]) {
        if let Some(known) = self.entries.get_mut(folder) {
            known.is_closed = true;
        }
    }

    /// Looks again at what was changed since shortly before it was looked at, until nothing is.
    fn let_the_moment_pass(&mut self, began: Moment) -> Result<(), TransactionError> {
        let mut looked = began;
        for _ in 0..LOOKS_MAX {
            let fresh = self.entries.iter().filter(|(_, known)| looked.is_before(&known.stamp));
            let fresh: Vec<_> = fresh.map(|(path, _)| path.clone()).collect();
            if fresh.is_empty() {
                break;
            }
            looked = Moment::after_this_one();
            for path in fresh {
                let now = self.now(&path).map_err(failed("look at the folder"))?;
                match (now, self.entries.get_mut(&path)) {
                    (Some(now), Some(known)) => known.stamp = now,
                    _ => drop(self.entries.remove(&path)),
                }
            }
        }
        Ok(())
    }

    /// What a path stood for.
    pub(super) fn known(&self, path: &[u8]) -> Option<&Known> {
        self.entries.get(path)
    }

    /// What a path stands for now; a folder on the way that is none any more counts as nothing there.
    pub(super) fn now(&self, path: &[u8]) -> Result<Option<Stamp>, rustix::io::Errno> {
        let cut = path.iter().rposition(|byte| *byte == b'/');
        let (folder, name) = cut.map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
        let Some(dir) = std::str::from_utf8(folder).ok().and_then(|folder| self.folder(folder)) else {
            return Ok(None);
        };
        Stamp::at(&dir, name)
    }

    pub(super) fn folder(&self, path: &str) -> Option<Dir> {
        self.place.dir.open_below(path).ok()
    }

    /// All entries below a folder, in order: a folder before what is in it.
    pub(super) fn below(&self, folder: &[u8]) -> impl Iterator<Item = (&[u8], &Known)> {
        let prefix = if folder.is_empty() { Vec::new() } else { join_bytes(folder, b"") };
        let from = self.entries.range(prefix.clone()..);
        from.take_while(move |(path, _)| path.starts_with(&prefix))
            .map(|(path, known)| (path.as_slice(), known))
    }

    /// The names in a folder.
    pub(super) fn names_in(&self, folder: &[u8]) -> Vec<&[u8]> {
        let cut = if folder.is_empty() { 0 } else { folder.len() + 1 };
        let names = self.below(folder).map(|(path, _)| &path[cut..]);
        names.filter(|name| !name.contains(&b'/')).collect()
    }

    /// Why a file may be neither replaced nor removed, if so: what it was, and that it is so still.
    pub(super) fn reason_against(&self, path: &[u8], known: &Known) -> Option<RefusedReason> {
        let stamp = &known.stamp;
        let reason = match stamp.kind {
            _ if known.is_closed => Some(RefusedReason::OutOfReach),
            Kind::Link => Some(RefusedReason::Link),
            Kind::Special => Some(RefusedReason::Special),
            Kind::File if stamp.mode & 0o7000 != 0 => Some(RefusedReason::SetId),
            Kind::File if stamp.mode & 0o111 != 0 => Some(RefusedReason::Executable),
            Kind::File if stamp.links != 1 => Some(RefusedReason::LinkedTarget),
            _ if stamp.identity.device() != self.place.identity.device() => Some(RefusedReason::OutOfReach),
            Kind::File | Kind::Directory => None,
        };
        let is_changed = || !self.now(path).is_ok_and(|now| now.is_some_and(|now| stamp.is_unchanged(&now)));
        reason.or_else(|| is_changed().then_some(RefusedReason::Changed))
    }
}

/// Why a folder could not be looked into.
#[derive(Debug)]
pub(super) enum LookError {
    Open(OpenError),
    List(rustix::io::Errno),
    TooMany(usize),
}

impl From<LookError> for TransactionError {
    fn from(error: LookError) -> Self {
        match error {
            LookError::Open(OpenError::System(errno)) | LookError::List(errno) => {
                failed("look through the folder")(errno)
            }
            LookError::Open(_) => Self::Place("cannot be listed"),
            LookError::TooMany(entries_max) => Self::TooManyEntries { entries_max },
        }
    }
}

pub(super) fn join_bytes(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}
