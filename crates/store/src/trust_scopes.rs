//! The trust scopes of one person, in a `SQLite` file of their own: `trust.sqlite` in the state folder.
//!
//! Not in the journal's file. That one is only ever added to, and a person whose journal is damaged is told to move it aside,
//! which must neither revoke what is trusted nor bring back what was revoked. A scope that is saved is on the disk before
//! [`TrustScopes::save`] returns; a removed one is gone for every process from then on.

mod error;
mod rows;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use fumehood_core::policy::Mode;
use fumehood_core::trust_scope::{ScopeDraft, save};
use fumehood_core::{Scopes, WallTime};
use rusqlite::{Connection, TransactionBehavior};

use crate::database::{Database, failed};
use crate::home::Home;

pub use error::TrustScopesError;

/// The file with the trust scopes of one person, open.
///
/// # Authority
/// Whoever has this can mint receipts, so only what serves the local person holds one: no tool and no skill reaches it
/// (CHK-044).
#[derive(Debug)]
pub struct TrustScopes {
    connection: Mutex<Connection>,
}

impl TrustScopes {
    /// Opens `trust.sqlite` in the state folder, and begins one if there is none.
    ///
    /// # Errors
    /// `E_HOME_REFUSED`; `E_TRUST_SCOPES_FOREIGN` if the file is not ours, open to others or of another version;
    /// `E_TRUST_SCOPES_DAMAGED`; `E_STATE_UNAVAILABLE`. The file is left as it is.
    pub fn open(home: &Home) -> Result<Self, TrustScopesError> {
        Ok(Self { connection: Mutex::new(FILE.open(home)?) })
    }

    /// The scopes that hold now. Where nobody ever saved one there are none, and nothing is made.
    ///
    /// # Errors
    /// As [`TrustScopes::open`]. What cannot be read as written is `E_TRUST_SCOPES_DAMAGED`, whole: no scope of such a file
    /// is believed.
    pub fn read(home: &Home) -> Result<Scopes, TrustScopesError> {
        match FILE.open_if_any(home)? {
            None => Ok(Scopes::default()),
            Some(connection) => rows::load(&connection),
        }
    }

    /// The scopes as they stand at this moment, also if another process saved them (CHK-048).
    ///
    /// # Errors
    /// `E_TRUST_SCOPES_DAMAGED`, `E_STATE_UNAVAILABLE`.
    pub fn load(&self) -> Result<Scopes, TrustScopesError> {
        rows::load(&self.connection())
    }

    /// Puts what the person changed in place of what is there, by the rules of [`save`]. `change` gets the drafts of what is
    /// there now; between that and the end nobody else saves. Returns what holds from then on.
    ///
    /// # Errors
    /// As [`TrustScopes::load`]; `E_TRUST_SCOPES_FULL` for more than 64, `E_TRUST_SCOPE_INVALID` for two alike. Then everything
    /// is as it was.
    pub fn save(
        &self,
        mode: Mode,
        now: SystemTime,
        change: impl FnOnce(Vec<ScopeDraft>) -> Vec<ScopeDraft>,
    ) -> Result<Scopes, TrustScopesError> {
        let mut connection = self.connection();
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed("write"))?;
        let old = rows::load(&transaction)?;
        let new = save(&old, change(old.drafts()), mode, &mut random, wall(now))?;
        rows::replace(&transaction, &new).map_err(failed("write"))?;
        transaction.commit().map_err(failed("write"))?;
        Ok(new)
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A transaction that a panic interrupted was rolled back when it was dropped.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn random() -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok().map(|()| bytes)
}

/// Milliseconds since 1970; a clock before that shows 1970.
fn wall(now: SystemTime) -> WallTime {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    WallTime::from_unix_ms(u64::try_from(since.as_millis()).unwrap_or(u64::MAX).min(TIME_MAX))
}

/// `trust.sqlite`; its application id is "fumt".
const FILE: Database =
    Database { stem: "trust", application: 0x6675_6d74, version: 1, schema: &[rows::SCOPES, rows::PATHS] };
/// What an integer of the database holds.
const TIME_MAX: u64 = i64::MAX.cast_unsigned();

#[cfg(test)]
mod tests;
