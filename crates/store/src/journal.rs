//! The journal: what was decided and what ran, one row after the other, each bound to the one before.
//!
//! Rows are only added. Several processes add at once; each waits for the others. A row is on the disk for good before
//! [`Journal::append`] returns if it is of a kind that must come before its effect, and soon otherwise.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior};

use crate::home::Home;

mod chain;
mod error;
mod file;
mod verify;

pub use chain::ChainHash;
pub use error::JournalError;
use error::failed;
use verify::link;
pub use verify::{Breach, Break, Verified};

/// The journal of one person, open.
#[derive(Debug)]
pub struct Journal {
    connection: Mutex<Connection>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number; the first is 1, and none is left out.
    pub seq: u64,
    /// When it was added, in milliseconds since 1970 as the machine's clock had it; the order is that of `seq`.
    pub time_ms: i64,
    /// What it is about, in the host's words.
    pub kind: String,
    /// What it says. Its top-level `id`, if it has one, is what [`Journal::by_id`] finds it by.
    pub json: String,
}

/// A row's number and hash. Kept elsewhere, it shows later that nothing up to it is missing.
///
/// `Display` prints the number, a colon and the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The number; 0 before the first row.
    pub seq: u64,
    /// The hash.
    pub hash: ChainHash,
}

/// When a row must be on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Before [`Journal::append`] returns, whatever happens to the machine: decisions and launches.
    Now,
    /// Soon. It survives the end of this process, not that of the machine.
    Soon,
}

impl Head {
    /// Before the first row.
    pub const START: Self = Self { seq: 0, hash: ChainHash::START };

    /// Reads what `Display` prints.
    pub fn parse(text: &str) -> Option<Self> {
        let (digits, hash) = text.split_once(':')?;
        // Exactly what is printed: no sign and no zeros before the number.
        let seq = digits.parse().ok().filter(|seq: &u64| seq.to_string() == digits)?;
        Some(Self { seq, hash: ChainHash::parse(hash)? })
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

impl Journal {
    /// Bytes of a row's JSON.
    pub const JSON_BYTES_MAX: usize = 4 << 20;
    /// Rows of one listing.
    pub const LISTED_MAX: usize = 10_000;

    /// Opens `journal.sqlite` in the state folder, and begins one if there is none.
    ///
    /// # Errors
    /// `E_HOME_REFUSED`; `E_JOURNAL_FOREIGN` if the file is not ours or of another version; `E_JOURNAL_DAMAGED`, and
    /// it is left as it is; `E_STATE_UNAVAILABLE`.
    pub fn open(home: &Home) -> Result<Self, JournalError> {
        Ok(Self { connection: Mutex::new(file::FILE.open(home)?) })
    }

    /// Opens the journal if there is one, for whoever only wants to read. Makes nothing.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn open_if_any(home: &Home) -> Result<Option<Self>, JournalError> {
        Ok(file::FILE.open_if_any(home)?.map(|connection| Self { connection: Mutex::new(connection) }))
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A transaction that a panic interrupted was rolled back when it was dropped.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a row: `kind` of 1 to 64 characters of `a-z0-9._`, `json` any JSON up to 4 MiB. Returns the new head.
    ///
    /// # Errors
    /// `E_JOURNAL_ROW`; `E_JOURNAL_DAMAGED`; `E_STATE_UNAVAILABLE` if the disk is full or others hold the journal for
    /// five seconds. The row is then not there.
    pub fn append(
        &self,
        kind: &str,
        json: &str,
        now: SystemTime,
        flush: Flush,
    ) -> Result<Head, JournalError> {
        if !is_kind(kind) {
            return Err(JournalError::Row("has a kind that is none"));
        }
        if json.len() > Self::JSON_BYTES_MAX {
            return Err(JournalError::Row("is larger than 4 MiB"));
        }
        let mut connection = self.connection();
        let wrong = failed("write");
        // Takes effect for the next transaction, and there is none open.
        let level = match flush {
            Flush::Now => "PRAGMA synchronous = FULL",
            Flush::Soon => "PRAGMA synchronous = NORMAL",
        };
        connection.execute_batch(level).map_err(&wrong)?;
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&wrong)?;
        let head = head(&transaction)?;
        let seq = head.seq + 1;
        let number =
            i64::try_from(seq).map_err(|_| JournalError::Damaged("has a row with the last number"))?;
        let time_ms = milliseconds(now);
        let hash = ChainHash::of(seq, time_ms, kind, json, head.hash);
        let added = transaction.execute(
            "INSERT INTO entry (seq, time, kind, json, previous, hash) VALUES (?, ?, ?, ?, ?, ?)",
            (number, time_ms, kind, json, head.hash.as_bytes(), hash.as_bytes()),
        );
        added.map_err(|error| match error.sqlite_error_code() {
            // Only the index on the JSON's id looks into it.
            Some(rusqlite::ErrorCode::Unknown) => JournalError::Row("is no JSON"),
            _ => wrong(error),
        })?;
        transaction.commit().map_err(&wrong)?;
        Ok(Head { seq, hash })
    }

    /// The last row's number and hash.
    ///
    /// # Errors
    /// `E_JOURNAL_DAMAGED`; `E_STATE_UNAVAILABLE`.
    pub fn head(&self) -> Result<Head, JournalError> {
        head(&self.connection())
    }

    /// Rows, newest first, at most `limit`, of those before `before`; of one kind if that is said.
    ///
    /// # Errors
    /// As [`Journal::head`]; `E_JOURNAL_ROW` if `limit` is above 10000.
    pub fn newest(
        &self,
        kind: Option<&str>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Entry>, JournalError> {
        let before = before.and_then(|seq| i64::try_from(seq).ok()).unwrap_or(i64::MAX);
        let limit = limit_of(limit)?;
        // Two queries: one that takes a kind or none would look at every row, with or without the index.
        match kind {
            Some(kind) => self.select(
                "SELECT seq, time, kind, json FROM entry WHERE kind = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
                (kind, before, limit),
            ),
            None => self.select(
                "SELECT seq, time, kind, json FROM entry WHERE seq < ? ORDER BY seq DESC LIMIT ?",
                (before, limit),
            ),
        }
    }

    /// The row of a number.
    ///
    /// # Errors
    /// As [`Journal::head`].
    pub fn by_seq(&self, seq: u64) -> Result<Option<Entry>, JournalError> {
        let Ok(seq) = i64::try_from(seq) else { return Ok(None) };
        Ok(self.select("SELECT seq, time, kind, json FROM entry WHERE seq = ?", (seq,))?.pop())
    }

    /// The rows whose JSON has this `id` at the top, newest first, at most `limit`.
    ///
    /// # Errors
    /// As [`Journal::newest`].
    pub fn by_id(&self, id: &str, limit: usize) -> Result<Vec<Entry>, JournalError> {
        self.select(
            "SELECT seq, time, kind, json FROM entry WHERE json ->> '$.id' = ? ORDER BY seq DESC LIMIT ?",
            (id, limit_of(limit)?),
        )
    }

    fn select(&self, query: &str, parameters: impl rusqlite::Params) -> Result<Vec<Entry>, JournalError> {
        let connection = self.connection();
        let read = || {
            let mut query = connection.prepare(query)?;
            let rows = query.query_map(parameters, Entry::of)?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        read().map_err(failed("read"))
    }
}

impl Entry {
    /// The first four columns.
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        let seq: i64 = row.get(0)?;
        let seq = u64::try_from(seq).unwrap_or(0);
        Ok(Self { seq, time_ms: row.get(1)?, kind: row.get(2)?, json: row.get(3)? })
    }
}

fn head(connection: &Connection) -> Result<Head, JournalError> {
    let last = connection.query_row("SELECT seq, hash FROM entry ORDER BY seq DESC LIMIT 1", [], |row| {
        let seq: i64 = row.get(0)?;
        Ok(Head { seq: u64::try_from(seq).unwrap_or(0), hash: link(row, 1)? })
    });
    Ok(last.optional().map_err(failed("read"))?.unwrap_or(Head::START))
}

fn is_kind(kind: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_');
    (1..=KIND_CHARS_MAX).contains(&kind.len()) && kind.bytes().all(plain)
}

fn limit_of(limit: usize) -> Result<i64, JournalError> {
    if limit > Journal::LISTED_MAX {
        return Err(JournalError::Row("is not listed with more than 10000 others"));
    }
    i64::try_from(limit).map_err(|_| JournalError::Row("is not listed with so many others"))
}

/// A clock before 1970 is a wrong one, and not a reason to lose a row.
fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

const KIND_CHARS_MAX: usize = 64;
