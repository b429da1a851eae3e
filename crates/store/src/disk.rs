//! A skill's folder on disk.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fumehood_core::inspect::{FileFact, FolderFacts};
use fumehood_core::limits::{SKILL_BYTES_MAX, SKILL_MD_BYTES_MAX};
use fumehood_core::{Code, Diagnostic, RelPath};

use crate::capture::{CaptureError, Snapshot};
use crate::dir::{Dir, ENTRIES_MAX, Entry, File, Identity, Kind, OpenError, Resolved, Stat};
use crate::folder::{FileError, Folder, HeldFile, SkillMd, is_skill_md};
use crate::list;

/// A folder on disk that holds a SKILL.md, held open by a handle.
#[derive(Debug)]
pub struct DiskFolder {
    dir: Dir,
    path: PathBuf,
    name: String,
    /// Names that are SKILL.md in some spelling.
    spellings: Vec<Entry>,
    /// All names, if the listing by which the folder was found had all.
    names: Option<Vec<Entry>>,
}

impl DiskFolder {
    /// Opens a skill by the path of its folder or of its SKILL.md. A path that the person typed may lead through links.
    ///
    /// # Errors
    /// [`FileError`]: `E_SKILL_NOT_FOUND` if there is nothing, `E_SKILL_MD_MISSING` if it is no skill,
    /// `E_SOURCE_UNREADABLE` if the system says no.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let named_file = path.file_name().is_some_and(|name| is_skill_md(name.as_encoded_bytes()));
        let is_other_file = !named_file && path.is_file();
        let path = if named_file && !path.is_dir() { path.parent().unwrap_or(path) } else { path };
        if is_other_file {
            return Err(FileError { code: Code::SkillNotFound, message: "this is a file, and no SKILL.md" });
        }
        let not_found = FileError { code: Code::SkillNotFound, message: "there is nothing at this path" };
        let refused = FileError {
            code: Code::SourceUnreadable,
            message: "the operating system refused to open this folder",
        };
        let path = std::fs::canonicalize(or_current(path)).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => refused.clone(),
            _ => not_found.clone(),
        })?;
        let dir = Dir::open(&path).map_err(|error| match error {
            OpenError::System(_) => refused,
            _ => not_found,
        })?;
        let (entries, more) = dir.entries(ENTRIES_MAX).map_err(|_| FileError {
            code: Code::SourceUnreadable,
            message: "the operating system refused to list this folder",
        })?;
        Self::from_entries(dir, path, entries, more)
            .ok_or(FileError { code: Code::SkillMdMissing, message: "there is no SKILL.md in this folder" })
    }

    /// The folder as a skill, if one of its entries is a SKILL.md.
    pub(crate) fn from_entries(dir: Dir, path: PathBuf, entries: Vec<Entry>, more: bool) -> Option<Self> {
        let is_candidate = |entry: &&Entry| is_skill_md(&entry.name) && entry.kind != Kind::Directory;
        let spellings: Vec<Entry> = entries.iter().filter(is_candidate).cloned().collect();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let names = (!more).then_some(entries);
        (!spellings.is_empty()).then_some(Self { dir, path, name, spellings, names })
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which folder it is, whatever path leads to it; `None` if the system does not say.
    pub fn identity(&self) -> Option<Identity> {
        self.dir.identity().ok()
    }

    /// Opens a file of the skill, component by component; only where that meets a link, through the kernel's resolver.
    fn open_file(&self, path: &RelPath) -> Result<File, FileError> {
        let opened = if list::is_git(path) { Err(OpenError::Missing) } else { self.open_plain(path) };
        let opened = opened.or_else(|error| match error {
            OpenError::Kind(met) => match self.dir.resolve(path.as_str().as_bytes()) {
                Ok(Resolved::File(file)) => Ok(file),
                Ok(Resolved::Dir(_)) => Err(OpenError::Kind(Kind::Directory)),
                // The link is there and its target is not.
                Err(OpenError::Missing) if met == Kind::Link => Err(OpenError::Escapes),
                Err(error) => Err(error),
            },
            error => Err(error),
        });
        opened.map_err(|error| match error {
            OpenError::Missing => {
                FileError { code: Code::FileNotFound, message: "the skill has no such file" }
            }
            OpenError::Kind(Kind::Directory) => {
                FileError { code: Code::FileNotFound, message: "this is a folder" }
            }
            OpenError::Kind(_) => {
                FileError { code: Code::SpecialFile, message: "a FIFO, device or socket is never opened" }
            }
            OpenError::Escapes => FileError {
                code: Code::LinkEscapes,
                message: "the link leaves the skill or leads to nothing",
            },
            OpenError::System(_) => FileError {
                code: Code::FileUnreadable,
                message: "the operating system refused to read the file",
            },
        })
    }

    fn open_plain(&self, path: &RelPath) -> Result<File, OpenError> {
        let mut below: Option<Dir> = None;
        let mut components = path.components().peekable();
        while let Some(component) = components.next() {
            let here = below.as_ref().unwrap_or(&self.dir);
            let name = component.as_bytes();
            if components.peek().is_some() {
                below = Some(here.open_dir(name)?);
            } else {
                return match here.kind_of(name)? {
                    Kind::File => here.open_file(name),
                    kind => Err(OpenError::Kind(kind)),
                };
            }
        }
        Err(OpenError::Missing)
    }

    fn capture_in_steps(&self, did: &mut dyn FnMut(Step)) -> Result<Snapshot, CaptureError> {
        let facts = self.facts();
        if let Some(reason) = facts.no_revision() {
            return Err(CaptureError::NoRevision(reason));
        }
        did(Step::Listed);
        let contents = self.read_all(&facts.files)?;
        did(Step::Read);
        self.compare_all(&contents)?;
        did(Step::Compared);
        let again = self.facts();
        // What is refused is in no list of files, and has come since then if there is any.
        let same = again.files == facts.files && again.no_revision().is_none();
        if !same || !self.is_still_there() {
            return Err(CaptureError::Changed);
        }
        Ok(Snapshot::of(contents.into_iter().map(|file| (file.path, file.bytes)).collect()))
    }

    /// First reading: the bytes of every listed file, and what each was when it was read.
    fn read_all(&self, files: &[FileFact]) -> Result<Vec<Contents>, CaptureError> {
        let mut left = SKILL_BYTES_MAX;
        let read_one = |fact: &FileFact| {
            let file = self.open_file(&fact.path).map_err(|error| capture_error(&error))?;
            let bytes_max = usize::try_from(left).unwrap_or(usize::MAX).saturating_add(1);
            let bytes = file.read(0, bytes_max).map_err(|_| CaptureError::Unreadable)?;
            if bytes.len() as u64 != fact.size {
                return Err(CaptureError::Changed);
            }
            left = left.checked_sub(fact.size).ok_or(CaptureError::Changed)?;
            Ok(Contents { path: fact.path.clone(), bytes, stat: file.stat })
        };
        files.iter().map(read_one).collect()
    }

    /// Second reading: nothing may differ from the first.
    fn compare_all(&self, contents: &[Contents]) -> Result<(), CaptureError> {
        for Contents { path, bytes, stat } in contents {
            let file = self.open_file(path).map_err(|error| capture_error(&error))?;
            let same = file.holds(bytes).map_err(|_| CaptureError::Unreadable)?;
            let after = file.stat_again().map_err(|_| CaptureError::Unreadable)?;
            if !same || file.stat != *stat || after != *stat {
                return Err(CaptureError::Changed);
            }
        }
        Ok(())
    }

    /// Whether the path still leads to the folder that was opened.
    fn is_still_there(&self) -> bool {
        let now = Dir::open(&self.path).ok().and_then(|dir| dir.identity().ok());
        now.is_some() && now == self.identity()
    }
}

impl Folder for DiskFolder {
    fn directory_name(&self) -> &str {
        &self.name
    }

    fn location(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    fn skill_md(&self) -> SkillMd {
        let [entry] = self.spellings.as_slice() else { return SkillMd::ambiguous() };
        let name = String::from_utf8_lossy(&entry.name).into_owned();
        let Ok(path) = RelPath::parse(&name) else { return SkillMd::ambiguous() };
        let file = match self.open_file(&path) {
            Ok(file) => file,
            Err(error) => return SkillMd::refused(&name, error.code, error.message),
        };
        // A file that says it is too large is believed without reading it.
        if file.stat.size > SKILL_MD_BYTES_MAX as u64 {
            let message = format!("the file is larger than {SKILL_MD_BYTES_MAX} bytes");
            return SkillMd::refused(&name, Code::SkillMdTooLarge, &message);
        }
        match file.read_at(0, SKILL_MD_BYTES_MAX + 1) {
            Ok(bytes) => SkillMd { file: name, bytes: Some(bytes), diagnostics: Vec::new() },
            Err(error) => SkillMd::refused(&name, error.code, error.message),
        }
    }

    fn facts(&self) -> FolderFacts {
        list::list(&self.dir)
    }

    fn facts_when_found(&self) -> FolderFacts {
        list::list_with(&self.dir, self.names.as_deref())
    }

    fn hold(&self, path: &RelPath) -> Result<Box<dyn HeldFile + '_>, FileError> {
        Ok(Box::new(self.open_file(path)?))
    }

    fn capture(&self) -> Result<Snapshot, CaptureError> {
        self.capture_in_steps(&mut |_| {})
    }
}

impl HeldFile for File {
    fn size(&self) -> u64 {
        self.stat.size
    }

    fn read_at(&self, offset: u64, bytes_max: usize) -> Result<Vec<u8>, FileError> {
        let unreadable = FileError { code: Code::FileUnreadable, message: "the file could not be read" };
        self.read(offset, bytes_max).map_err(|_| unreadable)
    }

    fn is_unchanged(&self) -> bool {
        self.stat_again().is_ok_and(|now| now == self.stat)
    }
}

/// What a capture has just done. Tests change the folder there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Listed,
    Read,
    Compared,
}

/// One file as the first reading found it.
struct Contents {
    path: RelPath,
    bytes: Vec<u8>,
    stat: Stat,
}

/// A file that was listed and is gone, or is something else now, is a change; the rest is trouble with the disk.
fn capture_error(error: &FileError) -> CaptureError {
    if error.code == Code::FileUnreadable { CaptureError::Unreadable } else { CaptureError::Changed }
}

fn or_current(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// A finding about a folder of a walk.
pub(crate) fn about(path: &Path, code: Code, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(code, message).in_file(path.to_string_lossy())
}

#[cfg(test)]
mod tests;
