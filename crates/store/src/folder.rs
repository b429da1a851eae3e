//! One skill's folder, wherever it is kept.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use fumehood_core::inspect::{FileBytes, FileFact, FolderFacts};
use fumehood_core::limits::SKILL_MD_BYTES_MAX;
use fumehood_core::name::slug;
use fumehood_core::skill::{self, Found, Reading};
use fumehood_core::{Code, Coded, Diagnostic, RelPath};

use crate::capture::{CaptureError, Snapshot};
use crate::dir::Identity;
use crate::disk::DiskFolder;
use crate::list;

/// A skill's folder: on disk, in memory, later on another machine.
///
/// Everything here reads; nothing writes, runs, or follows a link out of the folder.
pub trait Folder {
    /// The folder's own name, which the skill's name should equal. Lossy where it is not UTF-8.
    fn directory_name(&self) -> &str;

    /// The name of a skill that has none of its own: the folder's, made to fit as a catalogue's name where it can be.
    fn fallback_name(&self) -> String {
        slug(self.directory_name()).unwrap_or_else(|| self.directory_name().to_owned())
    }

    /// Where it is, for people.
    fn location(&self) -> String;

    /// SKILL.md, at most 1 MiB; a larger one is refused with a finding.
    fn skill_md(&self) -> SkillMd;

    /// The files, in byte order of their paths.
    fn facts(&self) -> FolderFacts;

    /// The same, for somebody who has just found the folder: the names at its top may be those it was found by, which
    /// saves listing them again.
    fn facts_when_found(&self) -> FolderFacts {
        self.facts()
    }

    /// Up to `bytes_max` bytes of a file from `offset`.
    ///
    /// # Errors
    /// [`FileError`]: `E_FILE_NOT_FOUND`, `E_LINK_ESCAPES`, `E_SPECIAL_FILE`, `E_FILE_UNREADABLE`.
    fn read(&self, path: &RelPath, offset: u64, bytes_max: usize) -> Result<Vec<u8>, FileError> {
        self.hold(path)?.read_at(offset, bytes_max)
    }

    /// A file held open, so that all pieces that are read of it are of one file.
    ///
    /// # Errors
    /// As [`Folder::read`].
    fn hold(&self, path: &RelPath) -> Result<Box<dyn HeldFile + '_>, FileError>;

    /// All bytes and the revision, as one unchanging value.
    ///
    /// # Errors
    /// [`CaptureError`]: the folder can have no revision, changed meanwhile, or could not be read.
    fn capture(&self) -> Result<Snapshot, CaptureError>;
}

/// A file that is read in pieces.
pub trait HeldFile {
    /// Its size when it was opened.
    fn size(&self) -> u64;

    /// Up to `bytes_max` bytes from `offset`.
    ///
    /// # Errors
    /// `E_FILE_UNREADABLE`.
    fn read_at(&self, offset: u64, bytes_max: usize) -> Result<Vec<u8>, FileError>;

    /// Whether it is still what it was when it was opened.
    fn is_unchanged(&self) -> bool;
}

/// The instructions of a skill as they were found.
#[derive(Clone, Debug)]
pub struct SkillMd {
    /// The file's name, `SKILL.md` or another spelling.
    pub file: String,
    /// Its bytes; `None` if it was refused.
    pub bytes: Option<Vec<u8>>,
    /// What was met on the way.
    pub diagnostics: Vec<Diagnostic>,
}

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The code.
    pub code: Code,
    /// One sentence, without a path.
    pub message: &'static str,
}

impl SkillMd {
    /// Reads the instructions with both verdicts.
    pub fn reading(&self, directory: &str) -> Reading {
        let mut reading = match &self.bytes {
            Some(bytes) => skill::read(bytes, Found { directory, file: &self.file }),
            None => Reading { skill: None, diagnostics: Vec::new() },
        };
        reading.diagnostics.splice(0..0, self.diagnostics.iter().cloned());
        reading
    }
}

/// The bytes of a folder's files, for [`fumehood_core::inspect`].
pub struct BytesOf<'f>(
    /// The folder.
    pub &'f dyn Folder,
);

impl FileBytes for BytesOf<'_> {
    fn head(&self, path: &RelPath, bytes_max: usize) -> Result<Vec<u8>, Diagnostic> {
        self.0
            .read(path, 0, bytes_max)
            .map_err(|error| Diagnostic::new(error.code, error.message).in_file(path.as_str()))
    }
}

/// A skill from any source.
#[derive(Debug)]
pub enum AnyFolder {
    /// A folder on disk.
    Disk(DiskFolder),
    /// Files in memory.
    Memory(MemoryFolder),
}

impl Deref for AnyFolder {
    type Target = dyn Folder;

    fn deref(&self) -> &(dyn Folder + 'static) {
        match self {
            Self::Disk(folder) => folder,
            Self::Memory(folder) => folder,
        }
    }
}

impl AnyFolder {
    /// Which folder on disk it is; files in memory have no such identity.
    pub fn identity(&self) -> Option<Identity> {
        match self {
            Self::Disk(folder) => folder.identity(),
            Self::Memory(_) => None,
        }
    }
}

impl Coded for FileError {
    fn code(&self) -> Code {
        self.code
    }
}

impl std::fmt::Display for FileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.message)
    }
}

impl std::error::Error for FileError {}

/// A skill whose files a program holds: for programs that make or fetch skills, and for tests. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct MemoryFolder {
    directory: String,
    files: Arc<BTreeMap<RelPath, Vec<u8>>>,
}

impl MemoryFolder {
    /// A folder called `directory` with these files.
    pub fn new(directory: impl Into<String>, files: impl IntoIterator<Item = (RelPath, Vec<u8>)>) -> Self {
        Self { directory: directory.into(), files: Arc::new(files.into_iter().collect()) }
    }

    fn file(&self, path: &RelPath) -> Result<&[u8], FileError> {
        let missing = FileError { code: Code::FileNotFound, message: "the skill has no such file" };
        let bytes = self.files.get(path).filter(|_| !list::is_git(path));
        bytes.map(Vec::as_slice).ok_or(missing)
    }

    /// The files but for git's own.
    fn content(&self) -> impl Iterator<Item = (&RelPath, &Vec<u8>)> {
        self.files.iter().filter(|(path, _)| !list::is_git(path))
    }
}

impl Folder for MemoryFolder {
    fn directory_name(&self) -> &str {
        &self.directory
    }

    fn location(&self) -> String {
        format!("memory:{}", self.directory)
    }

    fn skill_md(&self) -> SkillMd {
        SkillMd::among(self.files.iter().map(|(path, bytes)| (path, bytes.as_slice())))
    }

    fn facts(&self) -> FolderFacts {
        let fact = |(path, bytes): (&RelPath, &Vec<u8>)| FileFact {
            path: path.clone(),
            size: bytes.len() as u64,
            link: false,
        };
        let mut facts = FolderFacts {
            files: self.content().map(fact).collect(),
            complete: true,
            ..FolderFacts::default()
        };
        if self.files.keys().any(list::is_git) {
            facts.diagnostics.push(list::git_skipped());
        }
        list::judge_paths(&mut facts);
        facts
    }

    fn hold(&self, path: &RelPath) -> Result<Box<dyn HeldFile + '_>, FileError> {
        Ok(Box::new(self.file(path)?))
    }

    fn capture(&self) -> Result<Snapshot, CaptureError> {
        let facts = self.facts();
        match facts.no_revision() {
            Some(reason) => Err(CaptureError::NoRevision(reason)),
            None => {
                Ok(Snapshot::of(self.content().map(|(path, bytes)| (path.clone(), bytes.clone())).collect()))
            }
        }
    }
}

impl HeldFile for &[u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, bytes_max: usize) -> Result<Vec<u8>, FileError> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let end = start.saturating_add(bytes_max).min(self.len());
        Ok(self[start..end].to_vec())
    }

    fn is_unchanged(&self) -> bool {
        true
    }
}

impl SkillMd {
    /// The one file that is SKILL.md in some spelling, of files that cannot change any more.
    pub(crate) fn among<'f>(files: impl Iterator<Item = (&'f RelPath, &'f [u8])>) -> Self {
        let spellings: Vec<_> = files.filter(|(path, _)| is_skill_md(path.as_str().as_bytes())).collect();
        match spellings.as_slice() {
            [] => Self::refused("SKILL.md", Code::SkillMdMissing, "there is no SKILL.md in this folder"),
            [(path, bytes)] => {
                let bytes = bytes[..bytes.len().min(SKILL_MD_BYTES_MAX + 1)].to_vec();
                Self { file: path.to_string(), bytes: Some(bytes), diagnostics: Vec::new() }
            }
            _ => Self::ambiguous(),
        }
    }

    pub(crate) fn refused(file: &str, code: Code, message: &str) -> Self {
        let finding = Diagnostic::new(code, message).in_file(file);
        Self { file: file.to_owned(), bytes: None, diagnostics: vec![finding] }
    }

    pub(crate) fn ambiguous() -> Self {
        Self::refused(
            "SKILL.md",
            Code::SkillMdAmbiguous,
            "keep one of the spellings of SKILL.md and remove the others",
        )
    }
}

/// Whether a name is SKILL.md in some spelling.
pub(crate) fn is_skill_md(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"SKILL.md")
}
