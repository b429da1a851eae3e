//! Checking the chain from its start.

use std::fmt;

use super::chain::ChainHash;
use super::error::{JournalError, failed};
use super::{Entry, Head, Journal};

/// What a check of the whole chain found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Rows looked at.
    pub rows: u64,
    /// The last row that follows all before it.
    pub head: Head,
    /// The first thing that is wrong.
    pub broken: Option<Break>,
}

/// Where the chain does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Break {
    /// The number of the row.
    pub seq: i64,
    /// What is wrong there.
    pub what: Breach,
}

/// What is wrong with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Breach {
    /// It is not there, and later ones are.
    Removed,
    /// Its own hash is not that of its parts: it was changed.
    Changed,
    /// It is whole and does not follow the one before: one of them was inserted, moved, or made anew.
    Unlinked,
    /// It is before the first or behind what was known to be the last.
    Inserted,
    /// The head that was kept elsewhere is not that of this row: the end was cut off, or made anew.
    NotTheHead,
}

impl Journal {
    /// Follows the chain from its first row. Reads every row, in memory one at a time.
    ///
    /// The chain alone does not show that the last rows are missing. `kept`, a [`Head`] that was kept elsewhere, does.
    ///
    /// # Errors
    /// `E_JOURNAL_DAMAGED` if rows cannot be read at all; `E_STATE_UNAVAILABLE`.
    pub fn verify(&self, kept: Option<&Head>) -> Result<Verified, JournalError> {
        let connection = self.connection();
        let wrong = failed("read");
        let mut query =
            connection.prepare("SELECT seq, time, kind, json, previous, hash FROM entry ORDER BY seq");
        let query = query.as_mut().map_err(|_| JournalError::System("read"))?;
        let mut rows = query.query([]).map_err(&wrong)?;
        let mut found = Verified { rows: 0, head: Head::START, broken: None };
        let mut met = kept.is_none_or(|kept| *kept == Head::START);
        while let Some(row) = rows.next().map_err(&wrong)? {
            found.rows += 1;
            let seq: i64 = row.get(0).map_err(&wrong)?;
            // A row whose parts are no longer of their type was changed, like any other.
            let entry = Entry::of(row).and_then(|entry| Ok((entry, link(row, 4)?, link(row, 5)?))).ok();
            let what = match entry {
                Some((entry, previous, hash)) => {
                    found.head.breach(&entry, previous, hash).err().or_else(|| {
                        found.head = Head { seq: entry.seq, hash };
                        let is_kept = kept.filter(|kept| kept.seq == entry.seq);
                        met |= is_kept.is_some();
                        is_kept.filter(|kept| kept.hash != hash).map(|_| Breach::NotTheHead)
                    })
                }
                None => Some(Breach::Changed),
            };
            if let Some(what) = what {
                let expected = i64::try_from(found.head.seq + 1).unwrap_or(i64::MAX);
                let seq = if what == Breach::Removed { expected } else { seq };
                found.broken = Some(Break { seq, what });
                return Ok(found);
            }
        }
        if let Some(kept) = kept.filter(|_| !met) {
            let seq = i64::try_from(kept.seq).unwrap_or(i64::MAX);
            found.broken = Some(Break { seq, what: Breach::NotTheHead });
        }
        Ok(found)
    }
}

impl Head {
    /// Whether a row follows this one.
    fn breach(&self, entry: &Entry, previous: ChainHash, hash: ChainHash) -> Result<(), Breach> {
        let own = ChainHash::of(entry.seq, entry.time_ms, &entry.kind, &entry.json, previous);
        match () {
            () if entry.seq <= self.seq => Err(Breach::Inserted),
            () if entry.seq > self.seq + 1 => Err(Breach::Removed),
            () if own != hash => Err(Breach::Changed),
            () if previous != self.hash => Err(Breach::Unlinked),
            () => Ok(()),
        }
    }
}

/// A hash in a column.
pub(super) fn link(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<ChainHash> {
    Ok(ChainHash::from_bytes(row.get::<_, [u8; 32]>(column)?))
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            Breach::Removed => "was removed",
            Breach::Changed => "was changed",
            Breach::Unlinked => "does not follow the one before it",
            Breach::Inserted => "was inserted",
            Breach::NotTheHead => "is not the one that was kept as the head",
        };
        write!(f, "row {} of the journal {what}", self.seq)
    }
}
