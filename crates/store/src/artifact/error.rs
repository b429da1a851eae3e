//! Why an artifact could not be kept or read.

use std::fmt;

use fumehood_core::{Code, Coded};
use rustix::io::Errno;

use crate::home::HomeError;

/// Why an artifact could not be kept or read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArtifactError {
    /// The state folder is not private.
    Home(HomeError),
    /// There is no such artifact, or it is another agent's.
    Missing,
    /// The store holds as much as it may.
    StoreFull {
        /// `artifact_store_bytes_max`.
        bytes_max: u64,
    },
    /// The disk below the store holds as much as it can.
    DiskFull,
    /// A range or bound that no reader takes; this is why.
    Range(&'static str),
    /// A pattern that is not searched for; this is why.
    Pattern(String),
    /// What is on the disk is not what was put there; this is what is wrong.
    Damaged(&'static str),
    /// The operating system said no to this.
    System {
        /// What was being done, to stand after "cannot".
        doing: &'static str,
        /// What it said.
        errno: i32,
    },
}

/// For `map_err`: the operating system said no while this was being done.
pub(super) fn failed(doing: &'static str) -> impl Fn(Errno) -> ArtifactError {
    move |errno| match errno {
        Errno::NOSPC | Errno::DQUOT => ArtifactError::DiskFull,
        errno => ArtifactError::System { doing, errno: errno.raw_os_error() },
    }
}

impl Coded for ArtifactError {
    fn code(&self) -> Code {
        match self {
            Self::Home(error) => error.code(),
            Self::Missing => Code::ArtifactNotFound,
            Self::StoreFull { .. } | Self::DiskFull => Code::ArtifactStoreFull,
            Self::Range(_) => Code::ArtifactRange,
            Self::Pattern(_) => Code::ArtifactPattern,
            Self::Damaged(_) => Code::ArtifactDamaged,
            Self::System { .. } => Code::StateUnavailable,
        }
    }
}

impl fmt::Display for ArtifactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(error) => error.fmt(f),
            Self::Missing => f.write_str("there is no artifact of that id"),
            Self::StoreFull { bytes_max } => {
                write!(
                    f,
                    "the artifacts fill the {bytes_max} bytes they may take; make room with `fumehood artifact prune`"
                )
            }
            Self::DiskFull => f.write_str(
                "the disk of the state folder is full; make room there, or with `fumehood artifact prune`",
            ),
            Self::Range(reason) => f.write_str(reason),
            Self::Pattern(reason) => write!(f, "the pattern {reason}"),
            Self::Damaged(reason) => write!(f, "the artifact {reason}"),
            Self::System { doing, errno } => {
                write!(f, "cannot {doing}: {}", std::io::Error::from_raw_os_error(*errno).kind())
            }
        }
    }
}

impl std::error::Error for ArtifactError {}
