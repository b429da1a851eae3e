//! Transactions: what a confined run wrote is put among the person's files all at once, or not at all.
//!
//! A run never writes to a file of the person. It writes to an overlay or to a folder for outputs, all of which is as
//! hostile as the run. After it succeeded, its host goes this way, each step a type that only the step before can make:
//!
//! ```text
//! Place ─of→ Baseline ─(the run)→ Changes ─apply→ Committed ─(receipt on record)→ acknowledge
//!                                    └ Refused { path, reason }: nothing is applied
//! ```
//!
//! - [`Place`]: an open folder of the person, and its path. Everything below it is reached by handle, and no link or other
//!   mount is ever followed.
//! - [`Baseline`]: what was in a workspace before the run: identity, size, mode and times of every entry.
//!   [`Expected`] is the same for one file that a person named.
//! - [`Changes`]: what the run wants, each part judged against the baseline. One refusal refuses all.
//! - `Plan`: the list of moves. A move is one system call between a folder of the person and a folder of ours beside it,
//!   called `.fumehood-` and 32 random digits and 0700: a new file or folder is moved in where nothing may be, a replaced
//!   one changes places with its successor, a removed one is moved out. So an original is moved and never copied, and is
//!   at hand until the end.
//! - `Record`: what is written ahead, in the state folder. First `intent`, where our folders will be; then the copies are
//!   made and synced; then `plan`; then the moves; then `outcome`, which decides. Without that mark, whoever finds the
//!   record undoes; with it, whoever finds it removes the originals. How far the moves came is read off our folder.
//!
//! New files are 0644 and new folders 0755, the caller's; a replaced file keeps mode, owner and group. Other attributes
//! (`user.` and such) of a replaced file are not kept. Times of folders change.
//!
//! # What does not hold
//! A machine that loses its power keeps what it said it kept only as far as its disk does. Removing a whole folder needs a
//! file system that moves folders; an overlay, such as the root of a container, does not move those of its lower layer.
//! Then nothing is applied, and the error says what could not be done.
//!
//! A program of the same person that holds a file open goes on writing to the original after it was replaced, as with
//! every editor that saves by renaming. All other changes by others at any moment are found, since what was taken away is
//! compared with the baseline after it was taken.

use std::sync::Arc;

use fumehood_core::ReceiptId;
use fumehood_core::receipt::Applied;
use rustix::io::Errno;

use crate::home::Home;

mod baseline;
mod changes;
mod collect;
mod disk;
mod error;
mod moment;
mod moves;
mod names;
mod place;
mod plan;
mod record;
mod records;
mod recover;
mod stage;
mod stamp;
mod undo;

pub use baseline::Baseline;
pub use changes::{Changes, Expected};
use disk::{Before, Disk, unwatched};
use error::failed;
pub use error::{Left, REFUSED_MAX, Refused, RefusedReason, TransactionError};
use moves::{FailedMove, MoveError, Moves};
pub use place::{ChangeLimits, Place};
use plan::{Plan, PlannedPlace};
use records::{Record, Records};
pub use recover::{Outcome, Recovered};

/// The transactions of one person.
///
/// Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct Transactions {
    records: Arc<Records>,
}

/// A transaction that was applied. Until it is acknowledged, a later start reports it again.
#[derive(Debug)]
#[must_use = "it is reported again until it is acknowledged"]
pub struct Committed {
    applied: Vec<Applied>,
    left: Vec<Left>,
    record: Option<Record>,
    /// Whether what was taken away is removed.
    is_clean: bool,
}

impl Transactions {
    /// Opens the records below the state folder, and makes their folder if it is not there.
    ///
    /// # Errors
    /// `E_HOME_REFUSED` if the state folder is not private, `E_SKILL_WORKSPACE_FAILED`.
    pub fn open(home: &Home) -> Result<Self, TransactionError> {
        Ok(Self { records: Arc::new(Records::open(home)?) })
    }

    /// Applies changes, all or none. `is_cancelled` is asked until the first file is moved.
    ///
    /// # Errors
    /// `E_WORKSPACE_CONFLICT` if somebody else changed something meanwhile, `E_WORKSPACE_REFUSED` for a file whose owner or
    /// access list would be lost, `E_CANCELLED`, and `E_SKILL_WORKSPACE_FAILED`, also for a second transaction of one
    /// receipt. The folders are then as they were, but for what the error names as left.
    pub fn apply(
        &self,
        changes: &Changes,
        receipt: ReceiptId,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Committed, TransactionError> {
        self.apply_watched(changes, receipt, is_cancelled, &unwatched)
    }

    /// Finishes or undoes what processes that are gone left behind, at most 256 transactions. Nothing but the records is
    /// believed, and a transaction that a process is at work on is left alone.
    ///
    /// # Errors
    /// `E_SKILL_WORKSPACE_FAILED`; what was not done is done by the next call.
    pub fn recover(&self) -> Result<Vec<Recovered>, TransactionError> {
        self.recover_watched(&unwatched)
    }

    fn recover_watched(&self, before: Before<'_>) -> Result<Vec<Recovered>, TransactionError> {
        recover::recover(Disk { before }, &self.records)
            .map_err(failed("recover the transactions that were left"))
    }

    fn apply_watched(
        &self,
        changes: &Changes,
        receipt: ReceiptId,
        is_cancelled: &dyn Fn() -> bool,
        before: Before<'_>,
    ) -> Result<Committed, TransactionError> {
        let nothing = Committed { applied: Vec::new(), left: Vec::new(), record: None, is_clean: true };
        if changes.is_empty() {
            return Ok(nothing);
        }
        changes.check_record()?;
        let disk = Disk { before };
        let staging = staging_name()?;
        let places = changes.places.iter();
        let places =
            places.map(|place| PlannedPlace { path: place.path.to_string(), identity: place.identity });
        let mut plan = Plan { receipt, staging, places: places.collect(), moves: Vec::new() };
        let record = self.records.make(disk, receipt).map_err(failed(RECORDING))?;
        let mut staged = Vec::new();
        let prepared = prepare(disk, &record, changes, &mut plan, &mut staged, is_cancelled);
        let staged: Vec<_> = staged.into_iter().map(Some).collect();
        let moves = Moves { disk, plan: &plan, places: &changes.places, staging: &staged };
        if let Err(error) = prepared {
            // Without a plan nothing was moved. What cannot be removed now is removed at the next start.
            if record.remove_file(recover::PLAN).and_then(|()| moves.clear()).is_ok() {
                let _ = record.close(disk);
            }
            return Err(error);
        }
        if plan.moves.is_empty() {
            let removed = record.remove_file(recover::PLAN).and_then(|()| moves.clear());
            removed.and_then(|()| record.close(disk)).map_err(failed("remove the copies"))?;
            return Ok(nothing);
        }
        if let Err(failed) = moves.make() {
            return Err(undo(disk, &moves, record, failed));
        }
        if let Err(errno) = record.write(disk, recover::OUTCOME, recover::APPLIED.as_bytes()) {
            // If the mark cannot be taken back, it stands.
            if record.remove_file(recover::OUTCOME).is_ok() {
                let (index, error) = (plan.moves.len() - 1, MoveError::System(errno));
                return Err(undo(disk, &moves, record, FailedMove::of(index, error)));
            }
        }
        // What cannot be removed now is removed at the next start.
        let removed = moves.remove_originals();
        let is_clean = removed.is_ok();
        let left = removed.unwrap_or_default();
        Ok(Committed { applied: plan.applied(), left, record: Some(record), is_clean })
    }
}

/// Everything up to the first move: our folders, the copies in them, and the plan on the disk.
fn prepare(
    disk: Disk<'_>,
    record: &Record,
    changes: &Changes,
    plan: &mut Plan,
    staged: &mut Vec<crate::dir::Dir>,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<(), TransactionError> {
    record.write(disk, recover::INTENT, &record::write(plan)).map_err(failed(RECORDING))?;
    for place in &changes.places {
        let made = disk.make_dir(&place.dir, &plan.staging);
        staged.push(made.map_err(failed("make a folder beside the files"))?);
    }
    plan.moves = stage::stage(disk, changes, staged, is_cancelled)?;
    record.write(disk, recover::PLAN, &record::write(plan)).map_err(failed(RECORDING))?;
    if is_cancelled() { Err(TransactionError::Cancelled) } else { Ok(()) }
}

/// After a failed move: puts everything back and says what could not be.
fn undo(disk: Disk<'_>, moves: &Moves<'_>, record: Record, failed: FailedMove) -> TransactionError {
    let path = moves.target(failed.index);
    let errno = match failed.error {
        MoveError::Changed => None,
        MoveError::System(errno) => Some(errno),
    };
    let left = match moves.undo(Some(failed)) {
        Ok(left) => {
            // Without this mark our folders are looked for, so they stay for whoever does. The next start does the rest.
            let text = recover::undone_text(&left);
            let written = record.write(disk, recover::OUTCOME, text.as_bytes());
            if written.and_then(|()| moves.remove_copies()).is_ok() {
                let _ = record.close(disk);
            }
            left
        }
        // The record stays, and the next start tries again.
        Err(_) => vec![Left { path: path.clone(), kept: None }],
    };
    match errno {
        None => TransactionError::Conflict { path, left },
        Some(errno) => {
            TransactionError::System { doing: "put a file in its place", errno: errno.raw_os_error(), left }
        }
    }
}

impl Committed {
    /// What was applied, in order. The path of a folder ends in a slash; files in a removed folder are listed.
    pub fn applied(&self) -> &[Applied] {
        &self.applied
    }

    /// Removed folders in which somebody made something in the last moment, kept as they are.
    pub fn left(&self) -> &[Left] {
        &self.left
    }

    /// Forgets the transaction, once what was applied is on record elsewhere.
    ///
    /// # Errors
    /// `E_SKILL_WORKSPACE_FAILED`; it is then reported again at the next start.
    pub fn acknowledge(self) -> Result<(), TransactionError> {
        let Some(record) = self.record else { return Ok(()) };
        let disk = Disk { before: &unwatched };
        let closed =
            if self.is_clean { record.close(disk) } else { record.write(disk, recover::ACKNOWLEDGED, b"") };
        closed.map_err(failed("close the record of a transaction"))
    }
}

/// 128 random bits, so that nobody can have made a folder of that name before.
fn staging_name() -> Result<String, TransactionError> {
    let mut bits = [0; 16];
    let random = getrandom::fill(&mut bits);
    random.map_err(|error| {
        failed("get random bits")(Errno::from_raw_os_error(error.raw_os_error().unwrap_or(0)))
    })?;
    Ok(format!("{}{:032x}", names::OURS, u128::from_be_bytes(bits)))
}

const RECORDING: &str = "write the record of a transaction";

#[cfg(test)]
mod tests;
