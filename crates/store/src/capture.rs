//! Capture: all bytes of a skill as one unchanging value with one identity.
//!
//! Every byte is read twice, and before, between and after the two readings each file's size, identity and change
//! time, the list of files, and the root's identity must stay the same. That notices changes; it is no atomic
//! snapshot, says nothing of the folders above, and stops nobody who has the same account (CHK-150).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use fumehood_core::inspect::{FileBytes, FolderFacts, NoRevision};
use fumehood_core::{Code, Coded, Diagnostic, RelPath, Revision, Sha256};

use crate::folder::SkillMd;

/// The bytes of a whole skill. Immutable, cheap to clone, and what every later step works from.
#[derive(Clone)]
pub struct Snapshot {
    inner: Arc<Inner>,
}

struct Inner {
    files: BTreeMap<RelPath, SnapshotFile>,
    revision: Revision,
}

/// One file of a snapshot.
#[derive(Debug)]
pub struct SnapshotFile {
    bytes: Vec<u8>,
    sha256: Sha256,
}

/// Why a skill could not be captured.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaptureError {
    /// Its folder can have no revision.
    NoRevision(NoRevision),
    /// It changed while it was read.
    Changed,
    /// A file could not be read.
    Unreadable,
}

impl Snapshot {
    /// A snapshot of bytes that cannot change any more, since they are given away.
    pub(crate) fn of(files: BTreeMap<RelPath, Vec<u8>>) -> Self {
        let hash = |(path, bytes): (RelPath, Vec<u8>)| {
            let sha256 = Sha256::of(&bytes);
            (path, SnapshotFile { bytes, sha256 })
        };
        let files: BTreeMap<_, _> = files.into_iter().map(hash).collect();
        let identity = |(path, file): (&RelPath, &SnapshotFile)| (path.clone(), (file.size(), file.sha256));
        let revision = Revision::of(&files.iter().map(identity).collect());
        Self { inner: Arc::new(Inner { files, revision }) }
    }

    /// SKILL.md as it was captured: what is said about it belongs to this revision and no other.
    pub fn skill_md(&self) -> SkillMd {
        SkillMd::among(self.files().map(|(path, file)| (path, file.bytes())))
    }

    /// Whether these are the files of the snapshot, by path and size.
    pub fn is_of(&self, facts: &FolderFacts) -> bool {
        let listed = facts.files.iter().map(|file| (&file.path, file.size));
        listed.eq(self.files().map(|(path, file)| (path, file.size())))
    }

    /// The identity of the bytes.
    pub fn revision(&self) -> Revision {
        self.inner.revision
    }

    /// One file.
    pub fn get(&self, path: &RelPath) -> Option<&SnapshotFile> {
        self.inner.files.get(path)
    }

    /// All files in byte order of their paths.
    pub fn files(&self) -> impl ExactSizeIterator<Item = (&RelPath, &SnapshotFile)> {
        self.inner.files.iter()
    }
}

impl FileBytes for Snapshot {
    fn head(&self, path: &RelPath, bytes_max: usize) -> Result<Vec<u8>, Diagnostic> {
        match self.get(path) {
            Some(file) => Ok(file.bytes[..file.bytes.len().min(bytes_max)].to_vec()),
            None => {
                Err(Diagnostic::new(Code::FileNotFound, "the skill has no such file").in_file(path.as_str()))
            }
        }
    }
}

impl SnapshotFile {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many there are.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Their SHA-256.
    pub fn sha256(&self) -> Sha256 {
        self.sha256
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("revision", &self.inner.revision)
            .field("files", &self.inner.files.len())
            .finish()
    }
}

impl Coded for CaptureError {
    fn code(&self) -> Code {
        match self {
            Self::NoRevision(_) => Code::NoRevision,
            Self::Changed => Code::SnapshotChanged,
            Self::Unreadable => Code::FileUnreadable,
        }
    }
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoRevision(NoRevision::TooLarge) => "the skill is too large for a revision",
            Self::NoRevision(NoRevision::Refused) => "a refused entry keeps the skill from having a revision",
            Self::Changed => "the skill changed while it was read",
            Self::Unreadable => "a file of the skill could not be read",
        })
    }
}

impl std::error::Error for CaptureError {}
