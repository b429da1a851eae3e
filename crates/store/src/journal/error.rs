//! Why the journal could not be written or read.

use std::fmt;

use fumehood_core::{Code, Coded};

use crate::database::{self, DatabaseError};
use crate::home::HomeError;

/// Why the journal could not be written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JournalError {
    /// The state folder is not private.
    Home(HomeError),
    /// What lies in its place is no journal of this version; this is what is wrong.
    Foreign(&'static str),
    /// It is damaged; this is what was noticed.
    Damaged(&'static str),
    /// A row that is not taken; this is why.
    Row(&'static str),
    /// Others held it for longer than five seconds.
    Busy,
    /// The disk is full.
    DiskFull,
    /// The operating system or the database said no to this.
    System(&'static str),
}

/// For `map_err`: the database said no while this was being done.
pub(super) fn failed(doing: &'static str) -> impl Fn(rusqlite::Error) -> JournalError {
    move |error| database::failed(doing)(error).into()
}

impl From<DatabaseError> for JournalError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Home(error) => Self::Home(error),
            DatabaseError::Foreign(reason) => Self::Foreign(reason),
            DatabaseError::Damaged(reason) => Self::Damaged(reason),
            DatabaseError::Busy => Self::Busy,
            DatabaseError::DiskFull => Self::DiskFull,
            DatabaseError::System(doing) => Self::System(doing),
        }
    }
}

impl Coded for JournalError {
    fn code(&self) -> Code {
        match self {
            Self::Home(error) => error.code(),
            Self::Foreign(_) => Code::JournalForeign,
            Self::Damaged(_) => Code::JournalDamaged,
            Self::Row(_) => Code::JournalRow,
            Self::Busy | Self::DiskFull | Self::System(_) => Code::StateUnavailable,
        }
    }
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(error) => error.fmt(f),
            Self::Foreign(reason) => write!(f, "{PLACE} {reason}"),
            Self::Damaged(reason) => {
                write!(
                    f,
                    "{PLACE} {reason}; move it and the files beside it with its name to a safe place, then a new one is begun"
                )
            }
            Self::Row(reason) => write!(f, "a row for the journal {reason}"),
            Self::Busy => write!(f, "{PLACE} was held by other processes for five seconds"),
            Self::DiskFull => {
                f.write_str("the disk of the state folder is full, and nothing runs without a record")
            }
            Self::System(doing) => write!(f, "cannot {doing} {PLACE}"),
        }
    }
}

impl std::error::Error for JournalError {}

const PLACE: &str = "journal.sqlite in the state folder";
