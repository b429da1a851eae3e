//! Going through the folder that a run wrote to, and judging all that is in it.

use std::collections::{BTreeMap, BTreeSet};

use fumehood_core::path::collision_key;
use rustix::buffer::spare_capacity;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::baseline::{Baseline, LookError, join_bytes};
use super::changes::{Wanted, WantedChange, Written, judge_written};
use super::error::{Refusals, RefusedReason, TransactionError, failed};
use super::names;
use super::place::ChangeLimits;
use super::stamp::Stamp;
use crate::dir::{Dir, ENTRIES_MAX, Entry, Identity, Kind};

/// One search through what a run wrote.
pub(super) struct Collector<'c> {
    baseline: &'c mut Baseline,
    refusals: &'c mut Refusals,
    form: Form,
    wanted: Vec<Wanted>,
    /// Files and folders that may still come.
    changes_left: usize,
    bytes_left: u64,
}

/// What the run wrote into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// An overlay: it says what was replaced and removed.
    Overlay,
    /// A folder that was empty: all in it is new.
    Outputs,
}

/// Nothing more is looked at: the limit of changes is reached, and said.
struct Full;

/// Why a search ended early.
enum End {
    Full,
    Error(TransactionError),
}

impl<'c> Collector<'c> {
    pub(super) fn of_overlay(
        baseline: &'c mut Baseline,
        refusals: &'c mut Refusals,
        limits: ChangeLimits,
    ) -> Self {
        let (changes_left, bytes_left) = (limits.changes, limits.bytes);
        Self { baseline, refusals, form: Form::Overlay, wanted: Vec::new(), changes_left, bytes_left }
    }

    pub(super) fn of_outputs(
        baseline: &'c mut Baseline,
        refusals: &'c mut Refusals,
        limits: ChangeLimits,
    ) -> Self {
        Self { form: Form::Outputs, ..Self::of_overlay(baseline, refusals, limits) }
    }

    /// All that is wanted, in the order in which it can be made. At the top, `is_skipped` names are left out.
    pub(super) fn collect(
        mut self,
        source: &Dir,
        is_skipped: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Vec<Wanted>, TransactionError> {
        let top = Some(self.baseline.place.identity);
        match self.folder(source, "", top, is_skipped) {
            Ok(()) | Err(End::Full) => {}
            Err(End::Error(error)) => return Err(error),
        }
        self.refuse_case_twins();
        // Room is made first, then folders from the top down, then what is in them.
        let phase = |change: &WantedChange| match change {
            WantedChange::Remove { .. } => 0,
            WantedChange::MakeFolder => 1,
            WantedChange::Create { .. } | WantedChange::Replace { .. } => 2,
        };
        self.wanted.sort_by(|a, b| (phase(&a.change), &a.path).cmp(&(phase(&b.change), &b.path)));
        Ok(self.wanted)
    }

    /// A folder that the run wrote to. `parent` is the folder of the person that it stands for, if that is there.
    fn folder(
        &mut self,
        source: &Dir,
        path: &str,
        parent: Option<Identity>,
        is_skipped: &dyn Fn(&[u8]) -> bool,
    ) -> Result<(), End> {
        if self.form == Form::Outputs && parent.is_some() {
            match self.baseline.look_into(path.as_bytes()) {
                Err(LookError::Open(_)) => {
                    self.refuse(path.as_bytes(), RefusedReason::Changed);
                    return Ok(());
                }
                looked => drop(looked.map_err(|error| End::Error(error.into()))?),
            }
        }
        let (entries, more) = source.entries(ENTRIES_MAX).map_err(unreadable)?;
        let mut seen = BTreeSet::new();
        for Entry { name, .. } in
            entries.into_iter().filter(|entry| !path.is_empty() || !is_skipped(&entry.name))
        {
            let whole = join_bytes(path.as_bytes(), &name);
            self.count(&whole)?;
            self.entry(source, &whole, &name, parent)?;
            seen.insert(name);
        }
        if more {
            self.refuse(path.as_bytes(), RefusedReason::TooMany);
            return Err(End::Full);
        }
        if self.form == Form::Overlay && parent.is_some() && self.is_opaque(source, path)? {
            self.remove_unseen(path, parent, &seen)?;
        }
        Ok(())
    }

    fn entry(&mut self, source: &Dir, path: &[u8], name: &[u8], parent: Option<Identity>) -> Result<(), End> {
        let name = match names::check_name(name, &self.baseline.unlocked) {
            Ok(_) if names::is_too_deep(path) => Err(RefusedReason::TooDeep),
            checked => checked,
        };
        let name = match name {
            Ok(name) => name.to_owned(),
            Err(reason) => {
                self.refuse(path, reason);
                return Ok(());
            }
        };
        // A folder above was refused if it is not text, so all of the path is.
        let path = String::from_utf8_lossy(path).into_owned();
        let stamp = Stamp::at(source, name.as_bytes()).map_err(unreadable)?;
        match stamp {
            None => self.refuse(path.as_bytes(), RefusedReason::Changed),
            Some(stamp) if stamp.is_whiteout && self.form == Form::Overlay => {
                if self.baseline.known(path.as_bytes()).is_some() {
                    self.remove(&path, parent)?;
                } else {
                    // The overlay makes no such mark for what was not there.
                    self.refuse(path.as_bytes(), RefusedReason::Changed);
                }
            }
            Some(stamp) if stamp.kind == Kind::Directory => {
                self.written_folder(source, &path, &name, parent)?;
            }
            Some(stamp) => self.written_file(source, path, &name, parent, stamp)?,
        }
        Ok(())
    }

    fn written_folder(
        &mut self,
        source: &Dir,
        path: &str,
        name: &str,
        parent: Option<Identity>,
    ) -> Result<(), End> {
        let Ok(below) = source.open_below(name) else {
            self.refuse(path.as_bytes(), RefusedReason::OutOfReach);
            return Ok(());
        };
        let here = match self.baseline.known(path.as_bytes()).copied() {
            Some(known) if known.stamp.kind == Kind::Directory => {
                if let Some(reason) = self.baseline.reason_against(path.as_bytes(), &known) {
                    self.refuse(path.as_bytes(), reason);
                    return Ok(());
                }
                Some(known.stamp.identity)
            }
            known => {
                let is_file = known.is_some();
                self.make_room(path, parent, is_file)?;
                let change = WantedChange::MakeFolder;
                self.wanted.push(Wanted { place: 0, path: path.to_owned(), parent, change });
                None
            }
        };
        self.folder(&below, path, here, &|_| false)
    }

    fn written_file(
        &mut self,
        source: &Dir,
        path: String,
        name: &str,
        parent: Option<Identity>,
        stamp: Stamp,
    ) -> Result<(), End> {
        let judged = judge_written(&stamp).and_then(|()| {
            self.bytes_left = self.bytes_left.checked_sub(stamp.size).ok_or(RefusedReason::TooLarge)?;
            judge_marks(source, name, self.form)
        });
        if let Err(reason) = judged {
            self.refuse(path.as_bytes(), reason);
            return Ok(());
        }
        let from = Written { source: 0, path: path.clone(), stamp };
        let change = match self.baseline.known(path.as_bytes()).copied() {
            Some(known) if known.stamp.kind != Kind::Directory && self.form == Form::Overlay => {
                if let Some(reason) = self.baseline.reason_against(path.as_bytes(), &known) {
                    self.refuse(path.as_bytes(), reason);
                    return Ok(());
                }
                WantedChange::Replace { from, original: known.stamp }
            }
            known => {
                self.make_room(&path, parent, known.is_some())?;
                WantedChange::Create { from }
            }
        };
        self.wanted.push(Wanted { place: 0, path, parent, change });
        Ok(())
    }

    /// Takes away what stood where something of another kind is made, and refuses what nobody knew of.
    fn make_room(&mut self, path: &str, parent: Option<Identity>, is_known: bool) -> Result<(), End> {
        let is_there = || self.baseline.now(path.as_bytes()).map_err(unreadable);
        if is_known && self.form == Form::Outputs {
            self.refuse(path.as_bytes(), RefusedReason::Exists);
        } else if is_known {
            self.remove(path, parent)?;
        } else if parent.is_some() && is_there()?.is_some() {
            self.refuse(path.as_bytes(), RefusedReason::Changed);
        }
        Ok(())
    }

    /// Removes a file, or a folder with all that is in it.
    fn remove(&mut self, path: &str, parent: Option<Identity>) -> Result<(), End> {
        let Some(known) = self.baseline.known(path.as_bytes()).copied() else { return Ok(()) };
        if let Some(reason) = self.baseline.reason_against(path.as_bytes(), &known) {
            self.refuse(path.as_bytes(), reason);
            return Ok(());
        }
        let below: Vec<_> =
            self.baseline.below(path.as_bytes()).map(|(path, known)| (path.to_vec(), *known)).collect();
        let mut inside = Vec::new();
        for (path, known) in below.into_iter().filter(|_| known.stamp.kind == Kind::Directory) {
            self.count(&path)?;
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(&path);
            let named = names::check_name(name, &self.baseline.unlocked).err();
            match named.or_else(|| self.baseline.reason_against(&path, &known)) {
                Some(reason) => self.refuse(&path, reason),
                None => inside.push((String::from_utf8_lossy(&path).into_owned(), known.stamp)),
            }
        }
        let change = WantedChange::Remove { original: known.stamp, inside };
        self.wanted.push(Wanted { place: 0, path: path.to_owned(), parent, change });
        Ok(())
    }

    /// In a folder that the run replaced, whatever it did not put back is gone.
    fn remove_unseen(
        &mut self,
        folder: &str,
        parent: Option<Identity>,
        seen: &BTreeSet<Vec<u8>>,
    ) -> Result<(), End> {
        let names = self.baseline.names_in(folder.as_bytes());
        let unseen: Vec<_> =
            names.into_iter().filter(|name| !seen.contains(*name)).map(<[u8]>::to_vec).collect();
        for name in unseen {
            let path = join_bytes(folder.as_bytes(), &name);
            self.count(&path)?;
            match names::check_name(&name, &self.baseline.unlocked) {
                Err(reason) => self.refuse(&path, reason),
                Ok(name) => self.remove(&names::join(folder, name), parent)?,
            }
        }
        Ok(())
    }

    /// Refuses new names that are, for some file system or some reader, the name of something else beside them.
    fn refuse_case_twins(&mut self) {
        let mut news: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut gone = BTreeSet::new();
        for wanted in &self.wanted {
            match wanted.change {
                WantedChange::Remove { .. } => drop(gone.insert(wanted.path.as_bytes())),
                WantedChange::Replace { .. } => {}
                WantedChange::MakeFolder | WantedChange::Create { .. } => {
                    let (folder, name) = names::split(&wanted.path);
                    news.entry(folder).or_default().push(name);
                }
            }
        }
        let mut twins = Vec::new();
        for (folder, new) in news {
            let mut by_key: BTreeMap<String, Vec<u8>> = BTreeMap::new();
            for name in self.baseline.names_in(folder.as_bytes()) {
                if !gone.contains(join_bytes(folder.as_bytes(), name).as_slice()) {
                    by_key.insert(collision_key(&String::from_utf8_lossy(name)), name.to_vec());
                }
            }
            for name in new {
                let other = by_key.insert(collision_key(name), name.as_bytes().to_vec());
                if other.is_some_and(|other| other != name.as_bytes()) {
                    twins.push(names::join(folder, name));
                }
            }
        }
        for path in twins {
            self.refuse(path.as_bytes(), RefusedReason::CaseTwin);
        }
    }

    fn count(&mut self, path: &[u8]) -> Result<(), End> {
        let Some(left) = self.changes_left.checked_sub(1) else {
            self.refuse(path, RefusedReason::TooMany);
            return Err(Full.into());
        };
        self.changes_left = left;
        Ok(())
    }

    fn refuse(&mut self, path: &[u8], reason: RefusedReason) {
        self.refusals.add(self.baseline.place.absolute(&String::from_utf8_lossy(path)), reason);
    }

    /// Whether the run replaced this folder by a new one of the same name. Any other such mark is none that we know.
    fn is_opaque(&mut self, source: &Dir, path: &str) -> Result<bool, End> {
        let mut value = Vec::with_capacity(8);
        match rustix::fs::fgetxattr(source, OPAQUE, spare_capacity(&mut value)) {
            Err(Errno::NODATA | Errno::NOTSUP) => Ok(false),
            Ok(_) if value == b"y" => Ok(true),
            Ok(_) | Err(Errno::RANGE) => {
                self.refuse(path.as_bytes(), RefusedReason::Mark);
                Ok(false)
            }
            Err(errno) => Err(unreadable(errno)),
        }
    }
}

/// Whether the file can be read, and no overlay says that its bytes or its name are elsewhere. Ours is told to make no
/// such marks.
fn judge_marks(source: &Dir, name: &str, form: Form) -> Result<(), RefusedReason> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(source, name, flags, Mode::empty());
    let file = file.map_err(|_| RefusedReason::OutOfReach)?;
    let has = |mark| !matches!(rustix::fs::fgetxattr_query(&file, mark), Err(Errno::NODATA | Errno::NOTSUP));
    if form == Form::Overlay && MARKS.into_iter().any(has) { Err(RefusedReason::Mark) } else { Ok(()) }
}

fn unreadable(errno: Errno) -> End {
    End::Error(failed("look through what was written")(errno))
}

impl From<Full> for End {
    fn from(Full: Full) -> Self {
        Self::Full
    }
}

const OPAQUE: &str = "user.overlay.opaque";
const MARKS: [&str; 3] = ["user.overlay.redirect", "user.overlay.metacopy", "user.overlay.whiteout"];
