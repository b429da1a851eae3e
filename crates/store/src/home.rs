//! Where fumehood keeps its own files, and whether those places are private enough to be believed.

use std::fmt;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use fumehood_core::{Code, Coded};

/// The two folders of one person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// Holds `fumehood.toml`. Written by the person, and by fumehood where the person has seen each word.
    pub config: PathBuf,
    /// Holds what fumehood records. Written by fumehood.
    pub state: PathBuf,
}

/// A folder of ours as it is on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnFolder {
    /// The folder.
    pub path: PathBuf,
    /// Whose it is, as a number, if it is there.
    pub owner: Option<u32>,
    /// Its permission bits, if it is there.
    pub mode: Option<u32>,
    /// Whether it is as it should be.
    pub status: FolderStatus,
}

/// Whether a folder of ours is as it should be: the caller's, with mode 0700.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderStatus {
    /// It is.
    Private,
    /// It was not made yet.
    Absent,
    /// Others can see into it. It is used all the same.
    Visible,
    /// It is not used; this is why, to stand after the path.
    Refused(&'static str),
}

/// The environment that decides where things are; read once, by the face.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// `FUMEHOOD_HOME`.
    pub fumehood_home: Option<PathBuf>,
    /// The current folder, with links resolved once.
    pub current: PathBuf,
}

/// Why a folder of ours is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HomeError {
    /// Neither variable is set to an absolute path.
    Unknown,
    /// The folder is missing, not the caller's, open to others, or lies in a project.
    Refused {
        /// The folder.
        path: PathBuf,
        /// Why, to stand after the path.
        reason: &'static str,
    },
}

impl Surroundings {
    /// `HOME`, if it is absolute. A relative one would name a folder of whatever project is the current folder.
    pub(crate) fn absolute_home(&self) -> Option<&Path> {
        self.home.as_deref().filter(|home| home.is_absolute())
    }

    /// The project around the current folder. The home folder itself is none, and neither is `/`: everything of the
    /// person would lie in it.
    pub fn project(&self) -> Option<&Path> {
        let project = project_of(&self.current);
        let home = self.absolute_home().and_then(|home| std::fs::canonicalize(home).ok());
        (project.parent().is_some() && home.as_deref() != Some(project)).then_some(project)
    }
}

impl Home {
    /// The folders for these surroundings: `FUMEHOOD_HOME` for both if set, else below `HOME`.
    ///
    /// # Errors
    /// [`HomeError`]: `FUMEHOOD_HOME` must exist, be the caller's, have mode 0700 and lie outside the project.
    pub fn find(surroundings: &Surroundings) -> Result<Self, HomeError> {
        if let Some(path) = &surroundings.fumehood_home {
            let real = check_given(path, surroundings)?;
            return Ok(Self { config: real.clone(), state: real });
        }
        let home = surroundings.absolute_home().ok_or(HomeError::Unknown)?;
        Ok(Self { config: home.join(".config/fumehood"), state: home.join(".local/share/fumehood") })
    }

    /// Makes the state folder, 0700, if it is not there, and checks that it is private.
    ///
    /// # Errors
    /// [`HomeError::Refused`].
    pub fn make_state(&self) -> Result<(), HomeError> {
        make(&self.state)?;
        check_private(&self.state)
    }

    /// Makes the config folder, 0700, if it is not there.
    pub(crate) fn make_config(&self) -> Result<(), HomeError> {
        make(&self.config)
    }

    /// Whether there is a state folder, which then is private. Makes nothing.
    ///
    /// # Errors
    /// [`HomeError::Refused`].
    pub fn has_state(&self) -> Result<bool, HomeError> {
        match self.look_at_state().status {
            FolderStatus::Absent => Ok(false),
            _ => check_private(&self.state).map(|()| true),
        }
    }

    /// The config folder as it is. Changes nothing.
    pub fn look_at_config(&self) -> OwnFolder {
        // It holds no secret; what is read there must be what the person, or root for everybody, wrote.
        look(&self.config, |owner, mode| match () {
            () if owner != caller() && owner != 0 => FolderStatus::Refused(SOMEBODY_ELSES),
            () if mode & 0o022 != 0 => {
                FolderStatus::Refused("can be written by others; set its mode to 0700")
            }
            () if owner != caller() || mode & 0o077 != 0 => FolderStatus::Visible,
            () => FolderStatus::Private,
        })
    }

    /// The state folder as it is. Changes nothing.
    pub fn look_at_state(&self) -> OwnFolder {
        look(&self.state, judge_private)
    }
}

fn make(path: &Path) -> Result<(), HomeError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|_| HomeError::Refused { path: path.to_path_buf(), reason: "cannot be made" })
}

fn judge_private(owner: u32, mode: u32) -> FolderStatus {
    match () {
        () if owner != caller() => FolderStatus::Refused(SOMEBODY_ELSES),
        () if mode & 0o077 != 0 => FolderStatus::Refused("is open to others; set its mode to 0700"),
        () => FolderStatus::Private,
    }
}

/// What a folder is; `judge` is told its owner and mode.
fn look(path: &Path, judge: impl FnOnce(u32, u32) -> FolderStatus) -> OwnFolder {
    let (owner, mode, status) = match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (None, None, FolderStatus::Absent),
        Err(_) => (None, None, FolderStatus::Refused("cannot be read")),
        Ok(metadata) => {
            let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
            let is_folder = metadata.is_dir();
            let status =
                if is_folder { judge(owner, mode) } else { FolderStatus::Refused("is not a folder") };
            (Some(owner), Some(mode), status)
        }
    };
    OwnFolder { path: path.to_path_buf(), owner, mode, status }
}

fn caller() -> u32 {
    rustix::process::geteuid().as_raw()
}

const SOMEBODY_ELSES: &str = "belongs to somebody else";

fn check_given(path: &Path, surroundings: &Surroundings) -> Result<PathBuf, HomeError> {
    let refused = |reason| HomeError::Refused { path: path.to_path_buf(), reason };
    if !path.is_absolute() {
        return Err(refused("is not an absolute path"));
    }
    let real = std::fs::canonicalize(path).map_err(|_| refused("does not exist; make it with mode 0700"))?;
    check_private(&real)?;
    if surroundings.project().is_some_and(|project| real.starts_with(project)) {
        return Err(refused("lies inside the current project, where a skill could write it"));
    }
    Ok(real)
}

/// Whether a folder of ours is the caller's and closed to everybody else.
pub(crate) fn check_private(path: &Path) -> Result<(), HomeError> {
    let refused = |reason| HomeError::Refused { path: path.to_path_buf(), reason };
    match look(path, judge_private).status {
        FolderStatus::Private | FolderStatus::Visible => Ok(()),
        FolderStatus::Absent => Err(refused("cannot be read")),
        FolderStatus::Refused(reason) => Err(refused(reason)),
    }
}

/// The project around a folder: the nearest folder upward that holds `.git` (a folder, or the file of a worktree),
/// else the folder itself.
pub fn project_of(current: &Path) -> &Path {
    current.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok()).unwrap_or(current)
}

impl Coded for HomeError {
    fn code(&self) -> Code {
        Code::HomeRefused
    }
}

impl fmt::Display for HomeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("neither HOME nor FUMEHOOD_HOME names an absolute folder"),
            Self::Refused { path, reason } => write!(f, "{} {reason}", path.display()),
        }
    }
}

impl std::error::Error for HomeError {}

#[cfg(test)]
mod tests;
