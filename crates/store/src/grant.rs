//! The argument is the grant: a path that a call names gives the script that one file, and nothing beside it.
//!
//! A path is looked at first, without opening anything, to learn where it leads behind all links. That place is judged,
//! shown and opened, without following links again, and must be the very file that was looked at. So whatever is swapped
//! meanwhile, what is granted is what was judged, or the grant is refused.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use fumehood_core::Shown;
use fumehood_core::call::PATH_BYTES_MAX;

use crate::dir::{Dir, File, Kind, OpenError, Stat};
use crate::forbidden::Forbidden;
use crate::place::{self, Place};
use crate::workspace::Workspace;

mod error;
mod target;

pub use error::GrantError;
pub use target::{WriteGrant, copy_originals};

/// How the paths of one call are resolved. Nothing here is the skill's.
#[derive(Clone, Copy, Debug)]
pub struct PathRules<'a> {
    /// What relative paths count from: an absolute path, behind all links. The workspace, or where the person stands.
    pub base: &'a Path,
    /// The workspace that every file must lie in; without one, any file that the caller could open.
    pub beneath: Option<&'a Workspace>,
    /// What is never granted.
    pub forbidden: &'a Forbidden,
    /// Names with a leading dot that the deployer allows to be written all the same.
    pub unlocked: &'a [String],
}

/// A file that a script may read: open, and shown to the script at its own path.
#[derive(Debug)]
pub struct ReadGrant {
    file: File,
    path: String,
}

impl PathRules<'_> {
    /// Grants the reading of a file. The path has 1 to 4,095 bytes; it is opened once and never waited for.
    ///
    /// # Errors
    /// `E_ARGUMENT_INVALID` for a path, as given or behind its links, that is empty, too long, no text, or has control
    /// characters; `E_FILE_NOT_FOUND`; `E_NOT_A_FILE`; `E_SPECIAL_FILE`; `E_PLACE_OUTSIDE`; `E_PLACE_FORBIDDEN`;
    /// `E_LINK_ESCAPES`; `E_FILE_CHANGED` if something is swapped on the way; `E_FILE_UNREADABLE`.
    pub fn read(&self, value: &str) -> Result<ReadGrant, GrantError> {
        let found = self.find_file(value)?;
        let path = text_of(&found.path)?;
        if let Some(kind) = self.forbidden.against_reading(&found.path) {
            return Err(GrantError::Forbidden(kind));
        }
        let file = self.open_file(&found)?;
        Ok(ReadGrant { file, path })
    }

    /// Where the path of a file leads.
    fn find_file(&self, value: &str) -> Result<Place, GrantError> {
        shape(value)?;
        // Only a folder can be meant by it.
        if value.ends_with('/') { Err(GrantError::NotAFile) } else { self.find(value, GrantError::of_file) }
    }

    /// Where a path leads. Nothing is opened; of what lies outside the workspace nothing is told, not even whether it is
    /// there.
    fn find(&self, value: &str, missing: fn(OpenError) -> GrantError) -> Result<Place, GrantError> {
        let path = self.base.join(value);
        let Some(workspace) = self.beneath else { return place::look(&path).map_err(missing) };
        let found = match path.strip_prefix(workspace.path()) {
            // By the kernel's own rule no step of the way leads out, not even one that would come back.
            Ok(below) => place::look_beneath(workspace.dir(), below).map_err(|error| match error {
                OpenError::Escapes => GrantError::Outside,
                error => missing(error),
            }),
            // By another way that ends inside.
            Err(_) => place::look(&path).map_err(|_| GrantError::Outside),
        }?;
        below(workspace, &found.path)?;
        Ok(found)
    }

    /// Opens the file that was looked at, by the path behind all links.
    fn open_file(&self, found: &Place) -> Result<File, GrantError> {
        match found.kind {
            Kind::File => {}
            Kind::Directory => return Err(GrantError::NotAFile),
            Kind::Link | Kind::Special => return Err(GrantError::Special),
        }
        let opened = match self.beneath {
            None => place::open_file(&found.path),
            Some(workspace) => place::open_file_beneath(workspace.dir(), below(workspace, &found.path)?),
        };
        let file = opened.map_err(replaced)?;
        if file.stat.identity == found.identity { Ok(file) } else { Err(GrantError::Changed) }
    }

    /// Opens a folder that was looked at, by the path behind all links.
    fn open_dir(&self, path: &Path) -> Result<Dir, GrantError> {
        match self.beneath {
            None => place::open_dir(path),
            Some(workspace) => place::open_dir_beneath(workspace.dir(), below(workspace, path)?),
        }
        .map_err(replaced)
    }
}

impl ReadGrant {
    /// Where the file is, absolute, behind all links; and where the script sees it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The path as a person should see it.
    pub fn shown(&self) -> Shown<'_> {
        Shown::inline(&self.path).at_most(usize::MAX)
    }

    /// Which file it is, and since when it is as it is.
    pub fn identity(&self) -> &Stat {
        &self.file.stat
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.file.stat.size
    }

    /// The open file, to hand to the sandbox.
    pub fn into_file(self) -> OwnedFd {
        self.file.into()
    }
}

impl AsFd for ReadGrant {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Whether a text is a path that is looked at: 1 to 4,095 bytes without control characters.
pub(crate) fn shape(path: &str) -> Result<(), GrantError> {
    match () {
        () if path.is_empty() => Err(GrantError::Shape("is empty")),
        () if path.len() > PATH_BYTES_MAX => Err(GrantError::Shape("is longer than 4095 bytes")),
        () if path.chars().any(char::is_control) => Err(GrantError::Shape("holds a control character")),
        () => Ok(()),
    }
}

/// The text of a path behind all links, which the caller never saw.
fn text_of(path: &Path) -> Result<String, GrantError> {
    let text = path.to_str().ok_or(GrantError::Shape("leads to one that is not UTF-8"))?;
    shape(text).map(|()| text.to_owned())
}

/// The path below the workspace that is behind all links.
fn below<'p>(workspace: &Workspace, path: &'p Path) -> Result<&'p Path, GrantError> {
    path.strip_prefix(workspace.path()).map_err(|_| GrantError::Outside)
}

/// What was looked at a moment ago cannot be reached the same way: it was replaced, unless the system says no.
fn replaced(error: OpenError) -> GrantError {
    match error {
        OpenError::Missing | OpenError::Kind(_) | OpenError::Escapes => GrantError::Changed,
        OpenError::System(errno) => GrantError::system("open it")(errno),
    }
}

#[cfg(test)]
mod race;
#[cfg(test)]
mod tests;
