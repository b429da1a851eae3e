//! The one folder that a person grants to a run.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use fumehood_core::{Shown, WorkspaceIdentity};

use crate::dir::{Dir, Identity, Kind};
use crate::forbidden::Forbidden;
use crate::grant::{GrantError, shape};
use crate::place;

/// A granted folder, held open, with the path behind all links that leads to it.
#[derive(Debug)]
pub struct Workspace {
    dir: Dir,
    identity: WorkspaceIdentity,
    found: Identity,
}

impl Workspace {
    /// Opens a folder by a path of 1 to 4,095 bytes of text that a person chose. Links are followed, and where they lead is
    /// what is granted and shown.
    ///
    /// # Errors
    /// `E_ARGUMENT_INVALID` for a path, as given or behind its links, that is no text or has control characters,
    /// `E_FOLDER_NOT_FOUND`, `E_PLACE_FORBIDDEN` for what is never a workspace, `E_LINK_ESCAPES`, `E_FILE_CHANGED` if
    /// it is replaced while it is opened, `E_FILE_UNREADABLE`.
    pub fn open(path: &Path, forbidden: &Forbidden) -> Result<Self, GrantError> {
        shape(path.to_str().ok_or(GrantError::Shape("is not UTF-8"))?)?;
        let place = place::look(path).map_err(GrantError::of_folder)?;
        if place.kind != Kind::Directory {
            return Err(GrantError::FolderMissing);
        }
        let resolved = place.path.to_str().ok_or(GrantError::Shape("leads to one that is not UTF-8"))?;
        shape(resolved)?;
        if let Some(kind) = forbidden.against_workspace(&place.path) {
            return Err(GrantError::Forbidden(kind));
        }
        let dir = place::open_dir(&place.path).map_err(GrantError::of_folder)?;
        let found = dir.identity().map_err(GrantError::system("look at the folder"))?;
        if found != place.identity {
            return Err(GrantError::Changed);
        }
        let identity = WorkspaceIdentity::of_open_directory(found.device(), found.inode(), resolved);
        Ok(Self { dir, identity, found })
    }

    /// What an approval is bound to.
    pub fn identity(&self) -> &WorkspaceIdentity {
        &self.identity
    }

    /// Where it is: absolute, behind all links.
    pub fn path(&self) -> &Path {
        Path::new(self.identity.resolved())
    }

    /// The path as a person should see it.
    pub fn shown(&self) -> Shown<'_> {
        Shown::inline(self.identity.resolved()).at_most(usize::MAX)
    }

    /// Whether the path still leads to this folder, without links: for the moment before it is used.
    ///
    /// # Errors
    /// `E_FILE_CHANGED`.
    pub fn recheck(&self) -> Result<(), GrantError> {
        let there = place::open_dir(self.path()).ok().and_then(|dir| dir.identity().ok());
        if there == Some(self.found) { Ok(()) } else { Err(GrantError::Changed) }
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }
}

impl AsFd for Workspace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

#[cfg(test)]
mod tests;
