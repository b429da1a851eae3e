//! What one run gets on the disk: the skill's files as they were captured, and empty folders to write in.
//!
//! All of it lies in `staging` in the state folder and belongs to one process, which holds a lock for each folder. What
//! nobody holds was left by a process that died: it is removed when the next one starts, and never read or run. A folder
//! that is being removed keeps its lock to the end, so a removal that is interrupted is finished at the next start.

use std::collections::BTreeSet;
use std::fmt;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fumehood_core::{Code, Coded, RelPath, VerifiedRevision};
use rustix::io::Errno;

use crate::capture::{Snapshot, SnapshotFile};
use crate::dir::Dir;
use crate::home::{Home, HomeError};
use crate::own::OwnDir;

mod files;
mod run_folder;

use files::{lay_out, read_back};
use run_folder::RunFolder;

/// Where the files of runs are laid out. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Staging {
    place: Arc<Place>,
    unswept: usize,
}

/// The folder `staging`.
#[derive(Debug)]
struct Place {
    dir: OwnDir,
    /// Absolute, behind all links.
    path: PathBuf,
}

/// A snapshot laid out for one run: folders 0700, files 0400, the caller's. Removed when dropped.
///
/// That is what the sandbox needs of what it mounts: a run acts as the caller, or under a root host as a user that
/// root's files are shown to as its own. Only where there are no mounts and the host is root is the run another user, who
/// can read nothing here; such a launch is refused by the sandbox.
#[derive(Debug)]
#[must_use = "what is laid out is removed when this is dropped"]
pub struct Staged {
    folder: RunFolder,
    snapshot: Snapshot,
    /// Only these of its files, if not all.
    listed: Option<BTreeSet<RelPath>>,
}

/// An empty folder for one run to write in, 0700, the caller's. Removed when dropped, whatever is in it by then.
#[derive(Debug)]
#[must_use = "the folder is removed when this is dropped"]
pub struct Scratch {
    folder: RunFolder,
}

/// Why the files of a run could not be laid out, checked or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StageError {
    /// The state folder is not private.
    Home(HomeError),
    /// What lies there is not what was laid out; this is what is wrong, to stand after "the files for the run".
    Tampered(&'static str),
    /// The operating system said no to this.
    System {
        /// What was being done, to stand after "cannot".
        doing: &'static str,
        /// What it said.
        errno: i32,
    },
}

impl Staging {
    /// Opens the place, makes it if it is not there, and removes what processes left that are no more.
    ///
    /// Removes at most 262,144 entries; what is beyond waits for the next start, and is no more executed than the rest.
    ///
    /// # Errors
    /// `E_HOME_REFUSED` if the state folder is not private, `E_SKILL_WORKSPACE_FAILED`.
    pub fn open(home: &Home) -> Result<Self, StageError> {
        home.make_state().map_err(StageError::Home)?;
        let open = || {
            let real = std::fs::canonicalize(&home.state)
                .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            let dir = OwnDir::open(&real)?.open_or_make(FOLDER)?;
            let place = Place { dir, path: real.join(FOLDER) };
            let unswept = run_folder::sweep(&place)?;
            Ok(Self { place: Arc::new(place), unswept })
        };
        open().map_err(failed("open the folder for the files of runs"))
    }

    /// How many folders of dead processes could not be removed at the start. They only take room.
    pub fn unswept(&self) -> usize {
        self.unswept
    }

    /// Lays out a snapshot from memory, in a folder with a name that nobody can guess.
    ///
    /// # Errors
    /// `E_SKILL_WORKSPACE_FAILED`; nothing is left then.
    pub fn lay_out(&self, snapshot: &Snapshot) -> Result<Staged, StageError> {
        self.lay(snapshot, None)
    }

    /// Lays out some files of a snapshot and no others. Its revision stands for all of the skill all the same: what
    /// [`Staged::verify`] takes anew is of the files on the disk and, for the rest, of the bytes in memory.
    ///
    /// # Errors
    /// `E_SKILL_WORKSPACE_FAILED`, also for a file that the snapshot does not have; nothing is left then.
    pub fn lay_out_listed(&self, snapshot: &Snapshot, listed: &[RelPath]) -> Result<Staged, StageError> {
        if listed.iter().any(|path| snapshot.get(path).is_none()) {
            return Err(StageError::Tampered("are not all among those that were captured"));
        }
        self.lay(snapshot, Some(listed.iter().cloned().collect()))
    }

    fn lay(&self, snapshot: &Snapshot, listed: Option<BTreeSet<RelPath>>) -> Result<Staged, StageError> {
        let lay = || {
            let folder = RunFolder::make(&self.place)?;
            let staged = Staged { folder, snapshot: snapshot.clone(), listed };
            lay_out(staged.folder.content(), staged.files().map(|(path, file)| (path, file.bytes())))?;
            Ok(staged)
        };
        lay().map_err(failed("lay out the files for a run"))
    }

    /// An empty folder with a name that nobody can guess.
    ///
    /// # Errors
    /// `E_SKILL_WORKSPACE_FAILED`.
    pub fn scratch(&self) -> Result<Scratch, StageError> {
        let folder = RunFolder::make(&self.place).map_err(failed("make a folder for a run"))?;
        Ok(Scratch { folder })
    }
}

impl Staged {
    /// The folder that stands for the skill's: absolute, no part of it a link.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Reads every file that was laid out back and takes the skill's revision anew: for the moment before something of it is
    /// run.
    ///
    /// Refuses anything but the files that were laid out, each a plain file with no other name and the same bytes, in
    /// the folder that [`Staged::path`] leads to. Modes and times are not looked at: what is mounted is read-only.
    ///
    /// # Errors
    /// `E_SKILL_WORKSPACE_FAILED`.
    pub fn verify(&self) -> Result<VerifiedRevision, StageError> {
        if !self.folder.is_in_place() {
            return Err(StageError::Tampered("lie in a folder that was moved or replaced"));
        }
        read_back(self.folder.content().dir(), self)
    }

    /// The files that were laid out.
    fn files(&self) -> impl Iterator<Item = (&RelPath, &SnapshotFile)> {
        self.snapshot.files().filter(|(path, _)| self.is_listed(path))
    }

    fn is_listed(&self, path: &RelPath) -> bool {
        self.listed.as_ref().is_none_or(|listed| listed.contains(path))
    }

    /// Removes the files.
    ///
    /// # Errors
    /// `E_SKILL_WORKSPACE_FAILED`; what is left is removed at the next start.
    pub fn remove(self) -> Result<(), StageError> {
        self.folder.remove().map_err(failed("remove the files of a run"))
    }
}

impl Scratch {
    /// The folder: absolute, no part of it a link.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What the run left there, for [`Changes::of_outputs`](crate::Changes::of_outputs): readable whatever mode it gave
    /// the folder. Nothing of the run may be alive.
    ///
    /// # Errors
    /// `E_SKILL_WORKSPACE_FAILED`.
    pub fn outputs(&self) -> Result<impl AsFd + use<'_>, StageError> {
        self.open_again().map_err(failed("read what a run left"))
    }

    /// What the run wrote over the overlay whose upper folder this is, for [`Changes::of_overlay`](crate::Changes::of_overlay);
    /// as [`Scratch::outputs`].
    ///
    /// # Errors
    /// `E_SKILL_WORKSPACE_FAILED`.
    pub fn overlay_changes(&self) -> Result<impl AsFd + use<>, StageError> {
        let open = || {
            let changes = self.open_again()?.open_dir(CHANGES.as_bytes()).map_err(|_| Errno::NOTDIR)?;
            rustix::fs::fchmod(&changes, rustix::fs::Mode::RWXU)?;
            Ok(changes)
        };
        open().map_err(failed("read what a run wrote into the workspace"))
    }

    fn open_again(&self) -> Result<&Dir, Errno> {
        rustix::fs::fchmod(self.folder.content(), rustix::fs::Mode::RWXU)?;
        Ok(self.folder.content().dir())
    }

    /// The folder before the run, for what it is to find there.
    pub(crate) fn dir(&self) -> &OwnDir {
        self.folder.content()
    }

    /// Removes the folder and all that is in it. Takes as long as there is much in it.
    ///
    /// Nothing of the run may be alive.
    ///
    /// # Errors
    /// `E_SKILL_WORKSPACE_FAILED`; what is left is removed at the next start.
    pub fn remove(self) -> Result<(), StageError> {
        self.folder.remove().map_err(failed("remove the folder of a run"))
    }
}

/// For `map_err`: the operating system said no while this was being done.
fn failed(doing: &'static str) -> impl Fn(Errno) -> StageError {
    move |errno| StageError::System { doing, errno: errno.raw_os_error() }
}

const FOLDER: &str = "staging";
/// What the sandbox calls the folder in an overlay's upper one.
const CHANGES: &str = "changes";

impl Coded for StageError {
    fn code(&self) -> Code {
        match self {
            Self::Home(error) => error.code(),
            Self::Tampered(_) | Self::System { .. } => Code::WorkspaceFailed,
        }
    }
}

impl fmt::Display for StageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(error) => error.fmt(f),
            Self::Tampered(what) => write!(f, "the files for the run {what}"),
            Self::System { doing, errno } => {
                write!(f, "cannot {doing}: {}", std::io::Error::from_raw_os_error(*errno).kind())
            }
        }
    }
}

impl std::error::Error for StageError {}

#[cfg(test)]
mod tests;
