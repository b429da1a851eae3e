//! Interpreters of the system: which file a fixed path leads to, whether only root could have put it there, its digest.

use std::fmt;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use fumehood_core::digest::Hasher;
use fumehood_core::limits::INTERPRETER_BYTES_MAX;
use fumehood_core::{Code, Coded, Sha256};

use crate::dir::{Dir, File, Kind, OpenError, Rights, Stat};

/// An interpreter that only root, or the caller where the deployer chose the place, could have put in place or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// The path it is run by.
    pub candidate: PathBuf,
    /// The file that leads to, links resolved.
    pub path: PathBuf,
    /// The digest of that file.
    pub sha256: Sha256,
}

/// Why what stands at a candidate's path is not used. Its code is `E_INTERPRETER_REFUSED`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterpreterError {
    /// The path.
    pub candidate: PathBuf,
    /// The file that leads to, as far as it could be followed to the end.
    pub path: Option<PathBuf>,
    /// The place that is wrong, or where following ended.
    pub place: PathBuf,
    /// What is wrong there, to stand after the place.
    pub reason: &'static str,
}

/// Who may own the folders on the way and the file. Nobody else may be able to write any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owners {
    /// Root.
    Root,
    /// Root, or whoever runs fumehood.
    RootOrCaller,
}

/// The program that a candidate leads to, open, and in the right hands.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) candidate: PathBuf,
    /// Links resolved.
    pub(crate) path: PathBuf,
    /// Whether nobody but root can change it or what leads to it.
    pub(crate) is_roots_alone: bool,
    file: File,
}

impl Program {
    /// The program at the first of these absolute paths, below `root`, which stands for `/`, at which there is anything;
    /// `None` if there is none.
    pub(crate) fn find<P: AsRef<Path>>(
        root: &Path,
        candidates: &[P],
        owners: Owners,
    ) -> Result<Option<Self>, InterpreterError> {
        let below = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
        let is_there = |path: &&Path| match below(path).symlink_metadata() {
            Ok(_) => true,
            Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        };
        let Some(candidate) = candidates.iter().map(AsRef::as_ref).find(is_there) else { return Ok(None) };
        at(root, candidate, owners).map(Some)
    }

    /// What the file was when it was opened.
    pub(crate) fn stat(&self) -> Stat {
        self.file.stat
    }

    /// The digest of the whole file, at most 512 MiB.
    pub(crate) fn sha256(&self) -> Result<Sha256, InterpreterError> {
        digest(&self.file, INTERPRETER_BYTES_MAX).map_err(|reason| InterpreterError {
            candidate: self.candidate.clone(),
            path: Some(self.path.clone()),
            place: self.path.clone(),
            reason,
        })
    }
}

impl Interpreter {
    /// The interpreter at the first of these absolute paths at which there is anything; `None` if there is none.
    ///
    /// Every folder on the way, those of links included, and the file must belong to root and be writable by nobody
    /// else. A file above 512 MiB is refused, and so is one that changes while it is read.
    ///
    /// # Errors
    /// [`InterpreterError`] for what is there and must not be used.
    pub fn find(candidates: &[&str]) -> Result<Option<Self>, InterpreterError> {
        let Some(program) = Program::find(Path::new("/"), candidates, Owners::Root)? else { return Ok(None) };
        let sha256 = program.sha256()?;
        Ok(Some(Self { candidate: program.candidate, path: program.path, sha256 }))
    }
}

/// The program at a path below `root`, which stands for `/`.
fn at(root: &Path, candidate: &Path, owners: Owners) -> Result<Program, InterpreterError> {
    let mut way = Way { root, owners, folders: Vec::new(), is_roots_alone: true, objection: None };
    let end = way.walk(candidate);
    let refused = |path: Option<PathBuf>, (place, reason): Objection| InterpreterError {
        candidate: candidate.to_path_buf(),
        path,
        place,
        reason,
    };
    let (path, file) = end.map_err(|objection| refused(None, objection))?;
    let refused = |objection| refused(Some(path.clone()), objection);
    let here = |reason| refused((path.clone(), reason));
    if let Some(objection) = way.objection {
        return Err(refused(objection));
    }
    let rights = file.rights().map_err(|_| here("cannot be read"))?;
    check(rights, owners).map_err(here)?;
    if rights.mode & 0o111 == 0 {
        return Err(here("is no program: nobody may execute it"));
    }
    let is_roots_alone = way.is_roots_alone && rights.is_roots_alone();
    Ok(Program { candidate: candidate.to_path_buf(), path, is_roots_alone, file })
}

/// A place and what is wrong with it.
type Objection = (PathBuf, &'static str);

/// The folders that are being gone through, from the root down.
struct Way<'r> {
    root: &'r Path,
    owners: Owners,
    folders: Vec<(Vec<u8>, Dir)>,
    /// Whether nobody but root can change any folder so far.
    is_roots_alone: bool,
    /// The first folder that somebody can change who must not. Following goes on, to tell where it leads.
    objection: Option<Objection>,
}

impl Way<'_> {
    /// Goes to the file, one name after the other, following links itself so that it sees every folder.
    fn walk(&mut self, path: &Path) -> Result<(PathBuf, File), Objection> {
        self.enter(Vec::new(), Dir::open(self.root))?;
        // The names that are still to be gone through, last first.
        let mut names = reversed(path);
        let mut links = 0;
        while let Some(name) = names.pop() {
            if name == b".." {
                // Above the root is the root.
                self.folders.truncate(self.folders.len().saturating_sub(1).max(1));
                continue;
            }
            let here = self.path_of(&name);
            let failed = |error| (here.clone(), reason(error));
            let folder = self.folder();
            match folder.kind_of(&name).map_err(failed)? {
                Kind::Link => {
                    links += 1;
                    if links > LINKS_MAX {
                        return Err((here, "is a link that leads on without end"));
                    }
                    let target = folder.link_text(&name).map_err(failed)?;
                    if target.starts_with(b"/") {
                        self.folders.truncate(1);
                    }
                    names.extend(reversed(Path::new(std::ffi::OsStr::from_bytes(&target))));
                }
                Kind::Directory => {
                    let opened = folder.open_dir_to_pass(&name);
                    self.enter(name, opened)?;
                }
                Kind::File if names.is_empty() => {
                    let file = folder.open_file(&name).map_err(failed)?;
                    return Ok((here, file));
                }
                Kind::File | Kind::Special => return Err((here, "is neither a program nor a folder")),
            }
        }
        Err((self.path_of(b""), "is a folder"))
    }

    fn enter(&mut self, name: Vec<u8>, opened: Result<Dir, OpenError>) -> Result<(), Objection> {
        let path = if self.folders.is_empty() { PathBuf::from("/") } else { self.path_of(&name) };
        let failed = |error| (path.clone(), reason(error));
        let dir = opened.map_err(failed)?;
        let rights = dir.rights().map_err(|errno| failed(OpenError::System(errno)))?;
        self.is_roots_alone &= rights.is_roots_alone();
        if let (Err(reason), None) = (check(rights, self.owners), &self.objection) {
            self.objection = Some((path, reason));
        }
        self.folders.push((name, dir));
        Ok(())
    }

    fn folder(&self) -> &Dir {
        // The root is entered first and never left.
        &self.folders[self.folders.len() - 1].1
    }

    fn path_of(&self, name: &[u8]) -> PathBuf {
        let names = self.folders.iter().map(|(name, _)| name.as_slice()).chain([name]);
        let mut path = PathBuf::from("/");
        path.extend(
            names.filter(|name| !name.is_empty()).map(|name| std::ffi::OsString::from_vec(name.to_vec())),
        );
        path
    }
}

/// The names of a path, last first.
fn reversed(path: &Path) -> Vec<Vec<u8>> {
    let names = path.as_os_str().as_bytes().split(|byte| *byte == b'/');
    names.filter(|name| !name.is_empty() && *name != b".").rev().map(<[u8]>::to_vec).collect()
}

fn check(rights: Rights, owners: Owners) -> Result<(), &'static str> {
    let caller = rustix::process::geteuid().as_raw();
    let is_owner_allowed = rights.owner == 0 || (owners == Owners::RootOrCaller && rights.owner == caller);
    match (owners, is_owner_allowed, rights.mode & 0o022) {
        (_, true, 0) => Ok(()),
        (Owners::Root, true, _) => Err("can be written by others than root"),
        (Owners::Root, false, _) => Err("does not belong to root"),
        (Owners::RootOrCaller, true, _) => Err("can be written by others than root and you"),
        (Owners::RootOrCaller, false, _) => Err("belongs neither to root nor to you"),
    }
}

fn reason(error: OpenError) -> &'static str {
    match error {
        OpenError::Missing => "is not there",
        OpenError::Kind(_) | OpenError::Escapes => "changed while it was looked at",
        OpenError::System(_) => "cannot be opened",
    }
}

/// The digest of a whole file, read in pieces.
fn digest(file: &File, bytes_max: u64) -> Result<Sha256, &'static str> {
    if file.stat.size > bytes_max {
        return Err("is larger than 512 MiB");
    }
    let mut hasher = Hasher::default();
    let mut at = 0;
    while at < file.stat.size {
        let piece = file.read(at, PIECE_BYTES).map_err(|_| "cannot be read")?;
        if piece.is_empty() {
            break;
        }
        hasher.update(&piece);
        at += piece.len() as u64;
    }
    match file.stat_again() {
        Ok(stat) if stat == file.stat && at == stat.size => Ok(hasher.finish()),
        _ => Err("changed while it was read"),
    }
}

/// As many as the kernel follows in one path.
const LINKS_MAX: usize = 40;
const PIECE_BYTES: usize = 1 << 20;

impl Coded for InterpreterError {
    fn code(&self) -> Code {
        Code::InterpreterRefused
    }
}

impl fmt::Display for InterpreterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.place.display(), self.reason)
    }
}

impl std::error::Error for InterpreterError {}

#[cfg(test)]
mod tests;
