//! Files that a script may replace or make: never where they are, but as a copy that the host moves into place afterwards.

use std::collections::BTreeSet;
use std::os::fd::AsFd as _;
use std::path::{Component, Path};

use fumehood_core::Shown;
use fumehood_core::manifest::PathAccess;
use rustix::fs::{Access, AtFlags};

use super::{GrantError, PathRules, text_of};
use crate::dir::{Dir, File, Kind, OpenError, Stat};
use crate::own::write_at;
use crate::stage::Scratch;
use crate::transaction::{Expected, TransactionError};

/// A file that a script may replace or make. The script sees a file of its [`name`](WriteGrant::name) in its output folder.
#[derive(Debug)]
pub struct WriteGrant {
    pub(super) target: FileTarget,
    path: String,
    /// Open, for a file that is replaced.
    original: Option<File>,
}

/// Where a file goes once the run has ended well: a name in a folder that is held open.
#[derive(Debug)]
pub(crate) struct FileTarget {
    /// The folder.
    pub(crate) folder: Dir,
    /// Its path: absolute, behind all links.
    pub(crate) folder_path: String,
    /// The name in it.
    pub(crate) name: String,
    /// What is there now and must be there still, or nothing, which must be so still.
    pub(crate) original: Option<Stat>,
}

impl PathRules<'_> {
    /// Grants the replacing of a file: the run gets a copy.
    ///
    /// It must be a regular file with one name, no execute bit and the owner's write bit, in a folder that the caller
    /// can write. No name on the way to it may begin with a dot, unless the deployer unlocked that name or it is part of
    /// the workspace's path (of the base's, where the file lies below it).
    ///
    /// # Errors
    /// As [`PathRules::read`], and `E_TARGET_PROTECTED`.
    pub fn write(&self, value: &str) -> Result<WriteGrant, GrantError> {
        let found = self.find_file(value)?;
        let path = text_of(&found.path)?;
        self.judge(&found.path)?;
        let file = self.open_file(&found)?;
        check_replaceable(&file)?;
        let target = self.target(&found.path, Some(&file))?;
        Ok(WriteGrant { target, path, original: Some(file) })
    }

    /// Grants the making of a file. Its folder must be there, and nothing of its name.
    ///
    /// # Errors
    /// As [`PathRules::write`], and `E_FOLDER_NOT_FOUND`, `E_FILE_EXISTS`.
    pub fn create(&self, value: &str) -> Result<WriteGrant, GrantError> {
        super::shape(value)?;
        let (folder, name) = match value.rsplit_once('/') {
            None => (".", value),
            Some(("", name)) => ("/", name),
            Some(parts) => parts,
        };
        match name {
            "" | "." | ".." => return Err(GrantError::Shape("does not end in the name of a file")),
            name if name.len() > NAME_BYTES_MAX => {
                return Err(GrantError::Shape("has a name longer than 255 bytes"));
            }
            _ => {}
        }
        let found = self.find(folder, GrantError::of_folder)?;
        if found.kind != Kind::Directory {
            return Err(GrantError::FolderMissing);
        }
        let path = found.path.join(name);
        let text = text_of(&path)?;
        self.judge(&path)?;
        let target = self.target(&path, None)?;
        if target.folder.identity().ok() != Some(found.identity) {
            return Err(GrantError::Changed);
        }
        Ok(WriteGrant { target, path: text, original: None })
    }

    /// Whether anything at a path behind all links may be written, whatever is there.
    fn judge(&self, path: &Path) -> Result<(), GrantError> {
        if let Some(kind) = self.forbidden.against_writing(path) {
            return Err(GrantError::Forbidden(kind));
        }
        if self.names_judged(path).any(|name| name.starts_with('.') && !self.unlocks(name)) {
            return Err(GrantError::Protected("has a name with a leading dot on its path"));
        }
        Ok(())
    }

    /// Opens the folder of a path that was judged; `file` is what was found there.
    fn target(&self, path: &Path, file: Option<&File>) -> Result<FileTarget, GrantError> {
        // A path behind all links that is no folder has both.
        let (Some(folder_path), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(GrantError::NotAFile);
        };
        let (folder_path, name) = (text_of(folder_path)?, text_of(Path::new(name))?);
        let folder = self.open_dir(Path::new(&folder_path))?;
        let there = folder.stat(name.as_bytes());
        match (there, file) {
            (Ok((there, _)), Some(file)) if there == file.stat => {}
            (Err(OpenError::Missing), None) => {}
            (Ok(_), None) => return Err(GrantError::Exists),
            (Err(OpenError::System(errno)), _) => return Err(GrantError::system("look at it")(errno)),
            _ => return Err(GrantError::Changed),
        }
        let can_change = Access::WRITE_OK | Access::EXEC_OK;
        if rustix::fs::accessat(&folder, c".", can_change, AtFlags::EACCESS).is_err() {
            return Err(GrantError::Protected("lies in a folder that you cannot write"));
        }
        Ok(FileTarget { folder, folder_path, name, original: file.map(|file| file.stat) })
    }

    /// The names on a path that are not the choice of whoever chose the workspace or the base.
    fn names_judged<'p>(&self, path: &'p Path) -> impl Iterator<Item = &'p str> {
        let chosen = self.beneath.map_or(self.base, |workspace| workspace.path());
        let judged = path.strip_prefix(chosen).unwrap_or(path);
        judged.components().filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
    }

    fn unlocks(&self, name: &str) -> bool {
        self.unlocked.iter().any(|unlocked| unlocked == name)
    }
}

/// A file that has one place and is nobody's program.
fn check_replaceable(file: &File) -> Result<(), GrantError> {
    let look = GrantError::system("look at it");
    let (mode, links) = (file.rights().map_err(&look)?.mode, file.links().map_err(&look)?);
    match () {
        () if links != 1 => Err(GrantError::Protected("has other names, by which it would stay as it is")),
        () if mode & 0o7111 != 0 => Err(GrantError::Protected("is a program: it has an execute bit")),
        () if mode & 0o200 == 0 => Err(GrantError::Protected("is read-only")),
        () => Ok(()),
    }
}

impl WriteGrant {
    /// Whether the file is replaced or made.
    pub fn access(&self) -> PathAccess {
        if self.original.is_some() { PathAccess::Write } else { PathAccess::Create }
    }

    /// Where the file is or will be: absolute, behind all links.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The path as a person should see it.
    pub fn shown(&self) -> Shown<'_> {
        Shown::inline(&self.path).at_most(usize::MAX)
    }

    /// The file's name, which it has in the output folder too.
    pub fn name(&self) -> &str {
        &self.target.name
    }

    /// What is replaced, if anything is: which file it is, and since when it is as it is.
    pub fn original(&self) -> Option<&Stat> {
        self.target.original.as_ref()
    }

    /// The place for what the run gives, for [`Changes::of_outputs`](crate::Changes::of_outputs).
    ///
    /// # Errors
    /// `E_WORKSPACE_REFUSED` and `E_SKILL_WORKSPACE_FAILED`, also if what is there is not what was granted.
    pub fn expected(&self) -> Result<Expected, TransactionError> {
        let FileTarget { folder, folder_path, name, original } = &self.target;
        let place = crate::transaction::Place::of(folder, Path::new(folder_path))?;
        let Some(original) = original else { return Expected::create(name, &place, name) };
        let expected = Expected::write(name, &place, name)?;
        if expected.is_of(original) {
            Ok(expected)
        } else {
            Err(TransactionError::Place("holds another file by now"))
        }
    }
}

/// Copies the files that are to be replaced into the empty output folder of a run: 0600, each under its name.
///
/// # Errors
/// `E_OUTPUT_NAME_CLASH` if two of the grants, of either kind, have one name; `E_FILE_TOO_LARGE` if the files have more
/// than `bytes_max` bytes together; `E_FILE_CHANGED` if one is not what was granted, before or after;
/// `E_FILE_UNREADABLE`; `E_SKILL_WORKSPACE_FAILED`. What was copied by then goes with the folder.
pub fn copy_originals(grants: &[WriteGrant], out: &Scratch, bytes_max: u64) -> Result<(), GrantError> {
    let mut names = BTreeSet::new();
    if !grants.iter().all(|grant| names.insert(grant.name())) {
        return Err(GrantError::Clash);
    }
    let originals = || grants.iter().filter_map(|grant| Some((grant.name(), grant.original.as_ref()?)));
    let bytes = originals().fold(0_u64, |sum, (_, file)| sum.saturating_add(file.stat.size));
    if bytes > bytes_max {
        return Err(GrantError::TooLarge { bytes_max });
    }
    originals().try_for_each(|(name, file)| copy(file, name, out))
}

fn copy(original: &File, name: &str, out: &Scratch) -> Result<(), GrantError> {
    let failed = |errno: rustix::io::Errno| GrantError::Copy { errno: errno.raw_os_error() };
    let copy = out.dir().make_file(name).map_err(|errno| match errno {
        // On a file system that takes two names for one.
        rustix::io::Errno::EXIST => GrantError::Clash,
        errno => failed(errno),
    })?;
    let size = original.stat.size;
    let mut at = 0;
    while at < size {
        let wanted = usize::try_from(size - at).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        let piece = original.read(at, wanted).map_err(GrantError::system("read it"))?;
        if piece.is_empty() {
            return Err(GrantError::Changed);
        }
        write_at(copy.as_fd(), &piece, at).map_err(failed)?;
        at += piece.len() as u64;
    }
    match original.stat_again() {
        Ok(stat) if stat == original.stat => Ok(()),
        _ => Err(GrantError::Changed),
    }
}

const NAME_BYTES_MAX: usize = 255;
const PIECE_BYTES: usize = 1 << 20;
