//! Where fumehood keeps its own files, and whether those places are private enough to be believed.

use std::fmt;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use fumehood_core::{Code, Coded};

/// The two folders of one person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// Holds `fumehood.toml`. Written by the person.
    pub config: PathBuf,
    /// Holds what fumehood records. Written by fumehood.
    pub state: PathBuf,
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
        let refused = |reason| HomeError::Refused { path: self.state.clone(), reason };
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.state)
            .map_err(|_| refused("cannot be made"))?;
        check_private(&self.state)
    }
}

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
    let metadata = std::fs::metadata(path).map_err(|_| refused("cannot be read"))?;
    match () {
        () if !metadata.is_dir() => Err(refused("is not a folder")),
        () if metadata.uid() != rustix::process::geteuid().as_raw() => {
            Err(refused("belongs to somebody else"))
        }
        () if metadata.mode() & 0o077 != 0 => Err(refused("is open to others; set its mode to 0700")),
        () => Ok(()),
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
