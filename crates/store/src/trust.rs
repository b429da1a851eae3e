//! Which projects the person trusts to bring skills along.
//!
//! One small file in the state folder, replaced as a whole under a lock. A record names the project's real path and
//! which folder it was: another folder put at the same path is not trusted.

use std::fmt;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use fumehood_core::{Code, Coded};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::dir::Dir;
use crate::home::{Home, HomeError, check_private};
use crate::own::OwnDir;

/// The trusted projects of one person.
#[derive(Clone, Debug, Default)]
pub struct TrustedProjects {
    records: Vec<Record>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    path: String,
    /// Device, inode and, where the file system keeps it, time of birth. Text: inodes can exceed TOML's integers.
    identity: String,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema_version: u32,
    #[serde(default)]
    projects: Vec<Record>,
}

/// Why the record of trusted projects could not be used or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustError {
    /// The state folder is not private.
    Home(HomeError),
    /// The file could not be read or written, or is not ours.
    Unusable(&'static str),
    /// The project could not be opened, or its path is not UTF-8.
    Project(&'static str),
    /// There are 256 trusted projects already, or so long paths that they fill the file.
    Full,
}

impl TrustedProjects {
    /// Reads the record; a missing file means that no project is trusted.
    ///
    /// # Errors
    /// [`TrustError`] if the file is there and cannot be believed. Callers stop: nothing is listed until it is mended.
    pub fn read(home: &Home) -> Result<Self, TrustError> {
        let path = home.state.join(FILE_NAME);
        if path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            return Ok(Self::default());
        }
        // Before the file is opened: in a folder of others it could be anything.
        check_private(&home.state).map_err(TrustError::Home)?;
        let file = open_own(&path)?;
        let mut text = String::new();
        let read = file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text);
        read.map_err(|_| TrustError::Unusable("cannot be read"))?;
        // The beginning of a longer file could be a list that lacks some.
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(TrustError::Unusable("is larger than fumehood writes it"));
        }
        let file: File =
            toml::from_str(&text).map_err(|_| TrustError::Unusable("is not in the form fumehood writes"))?;
        if file.schema_version != SCHEMA_VERSION {
            return Err(TrustError::Unusable("was written by another version of fumehood"));
        }
        Ok(Self { records: file.projects })
    }

    /// Whether this very folder is trusted.
    pub fn contains(&self, project: &Path) -> bool {
        record_of(project).is_ok_and(|record| self.records.contains(&record))
    }

    /// Records a project as trusted, or no longer so. Returns whether that changed anything.
    ///
    /// A project that is gone can still be forgotten, by the absolute path it had.
    ///
    /// # Errors
    /// [`TrustError`]; the file is then as it was.
    pub fn set(home: &Home, project: &Path, trusted: bool) -> Result<bool, TrustError> {
        let record = match record_of(project) {
            Err(_) if !trusted => record_of_missing(project)?,
            record => record?,
        };
        home.make_state().map_err(TrustError::Home)?;
        let folder =
            OwnDir::open(&home.state).map_err(|_| TrustError::Unusable("lies in no folder of ours"))?;
        // Held while the file is read and replaced, so that two commands at once lose nothing.
        let _lock = folder.lock(LOCK_NAME).map_err(|_| TrustError::Unusable("cannot be locked"))?;
        let mut projects = Self::read(home)?;
        if trusted && projects.records.contains(&record) {
            return Ok(false);
        }
        let before = projects.records.len();
        // A record of another folder at this path is stale either way.
        projects.records.retain(|old| old.path != record.path);
        if trusted {
            projects.records.push(record);
        } else if projects.records.len() == before {
            return Ok(false);
        }
        if projects.records.len() > PROJECTS_MAX {
            return Err(TrustError::Full);
        }
        projects.write(&folder)?;
        Ok(true)
    }

    fn write(self, folder: &OwnDir) -> Result<(), TrustError> {
        let file = File { schema_version: SCHEMA_VERSION, projects: self.records };
        let text = toml::to_string(&file).map_err(|_| TrustError::Unusable("cannot be written as TOML"))?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(TrustError::Full);
        }
        let replaced = folder.replace_file(FILE_NAME, text.as_bytes());
        replaced.map_err(|_| TrustError::Unusable("cannot be replaced"))
    }
}

/// Opens a file that fumehood wrote: never through a link, without waiting for anybody, and only the caller's own.
fn open_own(path: &Path) -> Result<std::fs::File, TrustError> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|_| TrustError::Unusable("cannot be opened"))?;
    let metadata = file.metadata().map_err(|_| TrustError::Unusable("cannot be read"))?;
    if metadata.is_file() && metadata.uid() == rustix::process::geteuid().as_raw() {
        Ok(file)
    } else {
        Err(TrustError::Unusable("is no regular file of the caller's"))
    }
}

fn record_of(project: &Path) -> Result<Record, TrustError> {
    let real = std::fs::canonicalize(project).map_err(|_| TrustError::Project("does not exist"))?;
    let dir = Dir::open(&real).map_err(|_| TrustError::Project("is not a folder that can be opened"))?;
    let mut identity = dir.identity().map_err(|_| TrustError::Project("cannot be identified"))?.to_string();
    // A folder made after this one was removed often gets its number.
    if let Some((seconds, nanoseconds)) = dir.birth() {
        identity = format!("{identity}@{seconds}.{nanoseconds:09}");
    }
    let path = real
        .into_os_string()
        .into_string()
        .map_err(|_| TrustError::Project("has a path that is not UTF-8"))?;
    Ok(Record { path, identity })
}

/// What can still be said of a folder that is gone.
fn record_of_missing(project: &Path) -> Result<Record, TrustError> {
    let path = project.to_str().filter(|_| project.is_absolute());
    let path = path.ok_or(TrustError::Project("does not exist, and is no absolute path to forget"))?;
    Ok(Record { path: path.to_owned(), identity: String::new() })
}

const FILE_NAME: &str = "trusted-projects.toml";
const LOCK_NAME: &str = "lock";
const SCHEMA_VERSION: u32 = 1;
const FILE_BYTES_MAX: u64 = 1 << 20;
const PROJECTS_MAX: usize = 256;

impl Coded for TrustError {
    fn code(&self) -> Code {
        match self {
            Self::Home(error) => error.code(),
            Self::Unusable(_) => Code::StateUnavailable,
            Self::Full => Code::TrustFull,
            Self::Project(_) => Code::SourceMissing,
        }
    }
}

impl fmt::Display for TrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(error) => error.fmt(f),
            Self::Unusable(reason) => write!(f, "the record of trusted projects {reason}"),
            Self::Project(reason) => write!(f, "the project {reason}"),
            Self::Full => write!(f, "{PROJECTS_MAX} projects are trusted already; remove one first"),
        }
    }
}

impl std::error::Error for TrustError {}

#[cfg(test)]
mod tests;
