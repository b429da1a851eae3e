//! Why trust scopes could not be read or saved.

use std::fmt;

use fumehood_core::trust_scope::ScopesError;
use fumehood_core::{Code, Coded};

use crate::database::DatabaseError;
use crate::home::HomeError;

/// Why trust scopes could not be read or saved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustScopesError {
    /// The state folder is not private.
    Home(HomeError),
    /// What lies in their place is no such file of this version; this is what is wrong.
    Foreign(&'static str),
    /// The file is damaged; this is what was noticed.
    Damaged(&'static str),
    /// What was to be saved cannot stand as it is.
    Refused(ScopesError),
    /// Others held the file for longer than five seconds.
    Busy,
    /// The disk is full.
    DiskFull,
    /// The operating system or the database said no to this.
    System(&'static str),
}

impl From<DatabaseError> for TrustScopesError {
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

impl From<ScopesError> for TrustScopesError {
    fn from(error: ScopesError) -> Self {
        Self::Refused(error)
    }
}

impl Coded for TrustScopesError {
    fn code(&self) -> Code {
        match self {
            Self::Home(error) => error.code(),
            Self::Foreign(_) => Code::TrustScopesForeign,
            Self::Damaged(_) => Code::TrustScopesDamaged,
            Self::Refused(error) => error.code(),
            Self::Busy | Self::DiskFull | Self::System(_) => Code::StateUnavailable,
        }
    }
}

impl fmt::Display for TrustScopesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(error) => error.fmt(f),
            Self::Foreign(reason) => write!(f, "{PLACE} {reason}"),
            Self::Damaged(reason) => write!(
                f,
                "{PLACE} {reason}; move it and the files beside it with its name to a safe place, and trust anew what is still trusted"
            ),
            Self::Refused(error) => error.fmt(f),
            Self::Busy => write!(f, "{PLACE} was held by other processes for five seconds"),
            Self::DiskFull => f.write_str("the disk of the state folder is full, so no trust scope is saved"),
            Self::System(doing) => write!(f, "cannot {doing} {PLACE}"),
        }
    }
}

impl std::error::Error for TrustScopesError {}

const PLACE: &str = "trust.sqlite in the state folder";
