//! A file that the person names to be read as what they would have typed.

use std::fmt;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use fumehood_core::{Code, Coded};
use rustix::fs::OFlags;

/// Why such a file was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypedError {
    /// There is none.
    Missing,
    /// A folder, FIFO, device or socket.
    NotAFile,
    /// It is larger than this.
    TooLarge {
        /// Bytes.
        bytes_max: usize,
    },
    /// The operating system said no.
    Unreadable,
}

/// Reads a file of at most so many bytes.
///
/// # Authority
/// Reads whatever the process may read; the path is the person's own word.
///
/// # Errors
/// [`TypedError`].
pub fn read_typed(path: &Path, bytes_max: usize) -> Result<Vec<u8>, TypedError> {
    // A FIFO would hold us until somebody writes into it.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => TypedError::Missing,
        _ => TypedError::Unreadable,
    })?;
    let metadata = file.metadata().map_err(|_| TypedError::Unreadable)?;
    if !metadata.is_file() {
        return Err(TypedError::NotAFile);
    }
    let mut bytes = Vec::new();
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes).map_err(|_| TypedError::Unreadable)?;
    if bytes.len() > bytes_max { Err(TypedError::TooLarge { bytes_max }) } else { Ok(bytes) }
}

impl Coded for TypedError {
    fn code(&self) -> Code {
        match self {
            Self::Missing => Code::FileNotFound,
            Self::NotAFile => Code::NotAFile,
            Self::TooLarge { .. } => Code::JsonTooLarge,
            Self::Unreadable => Code::FileUnreadable,
        }
    }
}

impl fmt::Display for TypedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such file"),
            Self::NotAFile => f.write_str("it is no regular file"),
            Self::TooLarge { bytes_max } => write!(f, "it is larger than {bytes_max} bytes"),
            Self::Unreadable => f.write_str("it cannot be read"),
        }
    }
}

impl std::error::Error for TypedError {}
