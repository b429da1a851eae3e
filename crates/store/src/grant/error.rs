//! Why a folder or file was not granted.

use std::fmt;

use fumehood_core::{Code, Coded};
use rustix::io::Errno;

use crate::dir::{Kind, OpenError};
use crate::forbidden::ForbiddenKind;

/// Why a folder or file was not granted. Holds no path and no value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrantError {
    /// The path is none that is looked at; this is why.
    Shape(&'static str),
    /// There is no such file.
    FileMissing,
    /// There is no such folder.
    FolderMissing,
    /// A folder stands where a file is meant.
    NotAFile,
    /// A FIFO, device or socket.
    Special,
    /// It does not lie in the workspace, or the path leads out of it on the way.
    Outside,
    /// A link that goes in a circle, or through what a process has open.
    Link,
    /// One of the places that are never granted.
    Forbidden(ForbiddenKind),
    /// A file that is never replaced or made; this is why.
    Protected(&'static str),
    /// What was to be made is there already.
    Exists,
    /// Two arguments would have one name in the output folder.
    Clash,
    /// The files to be replaced are larger than this, together.
    TooLarge {
        /// Bytes.
        bytes_max: u64,
    },
    /// It is not what was looked at any more.
    Changed,
    /// The operating system said no to this.
    System {
        /// What was being done, to stand after "cannot".
        doing: &'static str,
        /// What it said.
        errno: i32,
    },
    /// The copy for the run could not be written.
    Copy {
        /// What the operating system said.
        errno: i32,
    },
}

impl GrantError {
    /// For `map_err`: a file could not be reached.
    pub(crate) fn of_file(error: OpenError) -> Self {
        Self::of(error, Self::FileMissing)
    }

    /// For `map_err`: a folder could not be reached.
    pub(crate) fn of_folder(error: OpenError) -> Self {
        Self::of(error, Self::FolderMissing)
    }

    fn of(error: OpenError, missing: Self) -> Self {
        match error {
            OpenError::Kind(Kind::Directory) => Self::NotAFile,
            OpenError::Kind(Kind::Special) => Self::Special,
            // What is no folder leads nowhere, and neither does a name that is longer than any.
            OpenError::Missing
            | OpenError::Kind(Kind::File | Kind::Link)
            | OpenError::System(Errno::NAMETOOLONG) => missing,
            OpenError::Escapes => Self::Link,
            OpenError::System(errno) => Self::system("open it")(errno),
        }
    }

    /// For `map_err`: the operating system said no while this was being done.
    pub(crate) fn system(doing: &'static str) -> impl Fn(Errno) -> Self {
        move |errno| Self::System { doing, errno: errno.raw_os_error() }
    }
}

impl Coded for GrantError {
    fn code(&self) -> Code {
        match self {
            Self::Shape(_) => Code::ArgumentInvalid,
            Self::FileMissing => Code::FileNotFound,
            Self::FolderMissing => Code::FolderNotFound,
            Self::NotAFile => Code::NotAFile,
            Self::Special => Code::SpecialFile,
            Self::Outside => Code::PlaceOutside,
            Self::Link => Code::LinkEscapes,
            Self::Forbidden(_) => Code::PlaceForbidden,
            Self::Protected(_) => Code::TargetProtected,
            Self::Exists => Code::FileExists,
            Self::Clash => Code::OutputNameClash,
            Self::TooLarge { .. } => Code::FileTooLarge,
            Self::Changed => Code::FileChanged,
            Self::System { .. } => Code::FileUnreadable,
            Self::Copy { .. } => Code::WorkspaceFailed,
        }
    }
}

impl fmt::Display for GrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = |errno: i32| std::io::Error::from_raw_os_error(errno).kind();
        match self {
            Self::Shape(reason) => write!(f, "the path {reason}"),
            Self::FileMissing => f.write_str("there is no such file"),
            Self::FolderMissing => f.write_str("there is no such folder"),
            Self::NotAFile => f.write_str("this is a folder, and a file is meant"),
            Self::Special => f.write_str("this is a FIFO, device or socket"),
            Self::Outside => {
                f.write_str("this lies outside the workspace, or the path leads through the outside")
            }
            Self::Link => f.write_str("a link on the way leads in a circle or is not followed"),
            Self::Forbidden(kind) => write!(f, "this {}", kind.as_str()),
            Self::Protected(reason) => write!(f, "this {reason}"),
            Self::Exists => f.write_str("there is something of that name already"),
            Self::Clash => f.write_str("two of the files would have one name in the output folder"),
            Self::TooLarge { bytes_max } => {
                write!(f, "the files to be replaced are larger than {bytes_max} bytes together")
            }
            Self::Changed => f.write_str("this is not what it was when it was looked at"),
            Self::System { doing, errno } => write!(f, "cannot {doing}: {}", kind(*errno)),
            Self::Copy { errno } => write!(f, "cannot copy the file for the run: {}", kind(*errno)),
        }
    }
}

impl std::error::Error for GrantError {}
