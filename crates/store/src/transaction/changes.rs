//! What a run wants to change: found by handle, judged whole, and nothing done yet.

use std::os::fd::AsFd;

use fumehood_core::Json;

use super::baseline::{Baseline, Known};
use super::collect::Collector;
use super::error::{Refusals, RefusedReason, TransactionError, failed};
use super::moment::{LOOKS_MAX, Moment};
use super::names;
use super::place::{ChangeLimits, Place};
use super::stamp::Stamp;
use crate::dir::{Dir, ENTRIES_MAX, Kind};

/// What a run wants to change, none of it refused.
#[derive(Debug, Default)]
#[must_use = "nothing is changed until it is applied"]
pub struct Changes {
    pub(super) sources: Vec<Dir>,
    pub(super) places: Vec<Place>,
    /// In the order in which they are made.
    pub(super) wanted: Vec<Wanted>,
}

/// One change that is wanted.
#[derive(Debug)]
pub(super) struct Wanted {
    /// Index of the folder it is below.
    pub(super) place: usize,
    /// The path below that.
    pub(super) path: String,
    /// The folder it is in; `None` if that is made by an earlier change.
    pub(super) parent: Option<crate::dir::Identity>,
    pub(super) change: WantedChange,
}

#[derive(Debug)]
pub(super) enum WantedChange {
    Remove { original: Stamp, inside: Vec<(String, Stamp)> },
    MakeFolder,
    Create { from: Written },
    Replace { from: Written, original: Stamp },
}

/// A file that the run wrote.
#[derive(Debug)]
pub(super) struct Written {
    /// Index of the folder that the run wrote to.
    pub(super) source: usize,
    /// The path below that.
    pub(super) path: String,
    pub(super) stamp: Stamp,
}

/// A file that a person named for a run to make or to write.
#[derive(Debug)]
pub struct Expected {
    /// The name in the folder that the run writes to.
    name: String,
    place: Place,
    target: String,
    original: Option<Stamp>,
}

impl Expected {
    /// A file that may be made: `name` in the run's folder becomes `target` in this folder, where nothing may be.
    ///
    /// # Errors
    /// `E_WORKSPACE_REFUSED` for a target that exists or a name that cannot be shown; `E_SKILL_WORKSPACE_FAILED`.
    pub fn create(name: &str, place: &Place, target: &str) -> Result<Self, TransactionError> {
        let original = look(place, target)?;
        refuse(place, target, original.is_some().then_some(RefusedReason::Exists))?;
        Ok(Self { name: name.to_owned(), place: place.clone(), target: target.to_owned(), original: None })
    }

    /// A file that may be replaced: what `target` in this folder is now, before the run, it must be afterwards. The
    /// person named it, so its name may have a leading dot.
    ///
    /// # Errors
    /// `E_WORKSPACE_REFUSED` for a target that is no plain file or has an execute bit, a set-id bit or a second name;
    /// `E_SKILL_WORKSPACE_FAILED`, also if there is none.
    pub fn write(name: &str, place: &Place, target: &str) -> Result<Self, TransactionError> {
        let unseen = Baseline::unseen(place, &[], ChangeLimits::default());
        let Some(stamp) = look_well(place, target)? else {
            return Err(TransactionError::Place("has no such file"));
        };
        let reason = match stamp.kind {
            Kind::Directory => Some(RefusedReason::Exists),
            _ => unseen.reason_against(target.as_bytes(), &Known { stamp, is_closed: false }),
        };
        refuse(place, target, reason)?;
        Ok(Self {
            name: name.to_owned(),
            place: place.clone(),
            target: target.to_owned(),
            original: Some(stamp),
        })
    }

    /// Whether what will be replaced is this file, as it was then.
    pub(crate) fn is_of(&self, granted: &crate::dir::Stat) -> bool {
        self.original.is_some_and(|stamp| {
            (stamp.identity, stamp.size, stamp.changed) == (granted.identity, granted.size, granted.changed)
        })
    }
}

impl Changes {
    /// What a run wrote into the overlay over a folder: `changes` is the folder of that name, in the form of Linux's
    /// overlayfs.
    ///
    /// # Errors
    /// `E_WORKSPACE_REFUSED`, `E_WORKSPACE_TOO_LARGE` and `E_WORKSPACE_CONFLICT` with the list of all that is refused;
    /// `E_SKILL_WORKSPACE_FAILED`.
    pub fn of_overlay(
        mut baseline: Baseline,
        changes: impl AsFd,
        limits: ChangeLimits,
    ) -> Result<Self, TransactionError> {
        let source =
            Dir::again(changes).map_err(|_| TransactionError::Place("of changes cannot be listed"))?;
        let mut refusals = Refusals::default();
        let wanted =
            Collector::of_overlay(&mut baseline, &mut refusals, limits).collect(&source, &|_| false)?;
        refusals.into_result()?;
        Ok(Self { sources: vec![source], places: vec![baseline.place], wanted })
    }

    /// What a run wrote into a folder for outputs: the files that it was asked for, and, if `rest` is given, all other
    /// files in it and its folders, made below `rest` and never over anything that exists there. A file that was asked
    /// for and not written is no change.
    ///
    /// # Errors
    /// As [`Changes::of_overlay`]; without `rest`, whatever was not asked for is refused.
    pub fn of_outputs(
        outputs: impl AsFd,
        expected: Vec<Expected>,
        rest: Option<&Place>,
        limits: ChangeLimits,
    ) -> Result<Self, TransactionError> {
        let source =
            Dir::again(outputs).map_err(|_| TransactionError::Place("of outputs cannot be listed"))?;
        let mut refusals = Refusals::default();
        let mut all = Self::default();
        let is_expected = |name: &[u8]| expected.iter().any(|expected| expected.name.as_bytes() == name);
        if let Some(place) = rest {
            let mut baseline = Baseline::unseen(place, &[], limits);
            let found = Collector::of_outputs(&mut baseline, &mut refusals, limits);
            all.wanted = found.collect(&source, &is_expected)?;
            all.place(place.clone());
        } else {
            let (entries, _) = source.entries(ENTRIES_MAX).map_err(failed("list the outputs"))?;
            for entry in entries.into_iter().filter(|entry| !is_expected(&entry.name)) {
                refusals.add(String::from_utf8_lossy(&entry.name).into_owned(), RefusedReason::Unexpected);
            }
        }
        let mut bytes_left = limits.bytes;
        for expected in expected {
            let written =
                Stamp::at(&source, expected.name.as_bytes()).map_err(failed("look at an output"))?;
            let Some(written) = written else { continue };
            let path = expected.place.absolute(&expected.target);
            if let Err(reason) = expected.reason_against(&written, &mut bytes_left) {
                refusals.add(path, reason);
                continue;
            }
            let place = all.place(expected.place.clone());
            all.wanted.push(expected.wanted(place, written));
        }
        refusals.into_result()?;
        Ok(Self { sources: vec![source], ..all })
    }

    /// Both, as one transaction.
    pub fn and(mut self, other: Self) -> Self {
        let sources = self.sources.len();
        let places: Vec<_> = other.places.into_iter().map(|place| self.place(place)).collect();
        let moved = other.wanted.into_iter().map(|mut wanted| {
            wanted.place = places[wanted.place];
            if let WantedChange::Create { from } | WantedChange::Replace { from, .. } = &mut wanted.change {
                from.source += sources;
            }
            wanted
        });
        self.wanted.extend(moved);
        self.sources.extend(other.sources);
        self
    }

    /// The index of a folder, which has one however often it is named: there is one folder of ours beside its files.
    fn place(&mut self, place: Place) -> usize {
        let known = self.places.iter().position(|known| known.identity == place.identity);
        known.unwrap_or_else(|| {
            self.places.push(place);
            self.places.len() - 1
        })
    }

    /// Whether a receipt has room for all of it: what could not be put on record is not done.
    pub(super) fn check_record(&self) -> Result<(), TransactionError> {
        let mut left = ChangeLimits::RECORD_BYTES_MAX;
        let mut refusals = Refusals::default();
        for wanted in &self.wanted {
            let inside = match &wanted.change {
                WantedChange::Remove { inside, .. } => inside.as_slice(),
                _ => &[],
            };
            let paths = [&wanted.path].into_iter().chain(inside.iter().map(|(path, _)| path));
            for path in paths {
                let path = self.places[wanted.place].absolute(path);
                let bytes = RECORDED_BYTES + Json::String(path.clone()).to_bytes().len();
                let Some(rest) = left.checked_sub(bytes) else {
                    refusals.add(path, RefusedReason::TooMany);
                    return refusals.into_result();
                };
                left = rest;
            }
        }
        Ok(())
    }

    /// Whether there is nothing to change.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }
}

impl Expected {
    fn reason_against(&self, written: &Stamp, bytes_left: &mut u64) -> Result<(), RefusedReason> {
        judge_written(written)?;
        *bytes_left = bytes_left.checked_sub(written.size).ok_or(RefusedReason::TooLarge)?;
        let now = Stamp::at(&*self.place.dir, self.target.as_bytes()).map_err(|_| RefusedReason::Changed)?;
        match (&self.original, now) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(RefusedReason::Exists),
            (Some(original), Some(now)) if original.is_unchanged(&now) => Ok(()),
            (Some(_), _) => Err(RefusedReason::Changed),
        }
    }

    fn wanted(&self, place: usize, stamp: Stamp) -> Wanted {
        let from = Written { source: 0, path: self.name.clone(), stamp };
        let change = match self.original {
            None => WantedChange::Create { from },
            Some(original) => WantedChange::Replace { from, original },
        };
        Wanted { place, path: self.target.clone(), parent: Some(self.place.identity), change }
    }
}

/// What one change takes in a receipt beside its path, at most: keys, kind, size, digest.
const RECORDED_BYTES: usize = 160;

/// Whether what a run wrote is a plain file with one name. Its mode and owner count for nothing.
pub(super) fn judge_written(written: &Stamp) -> Result<(), RefusedReason> {
    match written.kind {
        Kind::File if written.links == 1 => Ok(()),
        Kind::File => Err(RefusedReason::LinkedSource),
        Kind::Link => Err(RefusedReason::Link),
        Kind::Directory => Err(RefusedReason::Unexpected),
        Kind::Special => Err(RefusedReason::Special),
    }
}

/// What a name that a person chose stands for in a folder of theirs.
fn look(place: &Place, target: &str) -> Result<Option<Stamp>, TransactionError> {
    let is_name = !target.contains('/') && names::is_plain_path(target);
    if !is_name || target.starts_with(names::OURS) {
        return Err(TransactionError::Place("cannot hold a file of that name"));
    }
    Stamp::at(&*place.dir, target.as_bytes()).map_err(failed("look at the file"))
}

/// As [`look`], and again until the tick in which it was changed is over.
fn look_well(place: &Place, target: &str) -> Result<Option<Stamp>, TransactionError> {
    let mut looked = Moment::now();
    let mut stamp = look(place, target)?;
    for _ in 0..LOOKS_MAX {
        if !stamp.is_some_and(|stamp| looked.is_before(&stamp)) {
            break;
        }
        looked = Moment::after_this_one();
        stamp = look(place, target)?;
    }
    Ok(stamp)
}

fn refuse(place: &Place, target: &str, reason: Option<RefusedReason>) -> Result<(), TransactionError> {
    let mut refusals = Refusals::default();
    if let Some(reason) = reason {
        refusals.add(place.absolute(target), reason);
    }
    refusals.into_result()
}
