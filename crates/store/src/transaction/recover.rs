//! After a crash: finishing what was decided, undoing what was not.

use std::sync::Arc;

use fumehood_core::ReceiptId;
use fumehood_core::receipt::Applied;
use rustix::io::Errno;

use super::disk::{Disk, open};
use super::error::{Left, TransactionError, failed};
use super::moves::Moves;
use super::place::Place;
use super::record::{self, RecordError};
use super::records::{Record, Records};
use crate::dir::Dir;

/// A transaction that was left by a process that is gone, and what became of it.
#[derive(Debug)]
#[must_use = "it is reported again until it is acknowledged"]
pub struct Recovered {
    /// The receipt that it belongs to; `None` if not even that can be told.
    pub receipt: Option<ReceiptId>,
    /// What became of it.
    pub outcome: Outcome,
    record: Record,
}

/// What became of a transaction that was left.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// All of it was applied.
    Applied(Vec<Applied>),
    /// None of it was applied, or all of it was undone, but for what somebody else changed meanwhile.
    Undone(Vec<Left>),
    /// A folder that it is about is not where it was. Nothing was done; it is tried again at the next start.
    Unreachable {
        /// The absolute path.
        path: String,
    },
    /// The operating system said no. It is tried again at the next start.
    Failed {
        /// What it said.
        errno: i32,
    },
    /// The record is of another version of this program. Nothing was done.
    OtherVersion,
    /// The record is not what was written. Nothing was done.
    Damaged,
}

impl Recovered {
    /// Forgets the transaction, once its outcome is on record elsewhere. One that is unreachable or unreadable stays.
    ///
    /// # Errors
    /// `E_SKILL_WORKSPACE_FAILED`.
    pub fn acknowledge(self) -> Result<(), TransactionError> {
        match self.outcome {
            Outcome::Applied(_) | Outcome::Undone(_) => {
                let disk = Disk { before: &super::disk::unwatched };
                self.record.close(disk).map_err(failed("close the record of a transaction"))
            }
            Outcome::Unreachable { .. }
            | Outcome::Failed { .. }
            | Outcome::OtherVersion
            | Outcome::Damaged => Ok(()),
        }
    }
}

/// Finishes or undoes all transactions that nobody is at work on.
pub(super) fn recover(disk: Disk<'_>, records: &Arc<Records>) -> Result<Vec<Recovered>, Errno> {
    let _all = records.lock()?;
    let mut all = Vec::new();
    for record in records.take_all()? {
        match outcome(disk, &record) {
            // It had not even said what it was about to do, or all of it is done and known.
            Ok(None) => record.close(disk)?,
            // One that cannot be helped is in nobody else's way.
            Err(errno) => {
                let outcome = Outcome::Failed { errno: errno.raw_os_error() };
                all.push(Recovered { receipt: record.receipt(), outcome, record });
            }
            Ok(Some(outcome)) => all.push(Recovered { receipt: record.receipt(), outcome, record }),
        }
    }
    Ok(all)
}

fn outcome(disk: Disk<'_>, record: &Record) -> Result<Option<Outcome>, Errno> {
    let [intent, plan, ended] = [INTENT, PLAN, OUTCOME].map(|name| record.read(name));
    let (intent, plan, ended) = (intent?, plan?, ended?);
    let is_acknowledged = record.read(ACKNOWLEDGED)?.is_some();
    let is_planned = plan.is_some();
    let Some(text) = plan.or(intent) else { return Ok(None) };
    let mut plan = match record::read(&text) {
        Ok(plan) if Some(plan.receipt) == record.receipt() => plan,
        Err(RecordError::OtherVersion) => return Ok(Some(Outcome::OtherVersion)),
        Ok(_) | Err(RecordError::Damaged) => return Ok(Some(Outcome::Damaged)),
    };
    let ended = match ended.as_deref().map(read_outcome) {
        Some(None) => return Ok(Some(Outcome::Damaged)),
        ended => ended.flatten(),
    };
    let (mut places, mut staging) = (Vec::new(), Vec::new());
    for (index, planned) in plan.places.clone().into_iter().enumerate() {
        let unreachable = Ok(Some(Outcome::Unreachable { path: planned.path.clone() }));
        let Some(place) = Place::again(&planned.path, planned.identity) else { return unreachable };
        let ours = match open(&place.dir, &plan.staging) {
            Err(Errno::NOENT) => None,
            opened => Some(opened?),
        };
        // A folder alike may be there, of another disk: ours is in the right one as long as something is to be undone.
        let is_other = place.identity != planned.identity;
        if ours.is_none() && ((is_planned && ended.is_none()) || is_other) {
            return unreachable;
        }
        plan.set_device(index, place.identity.device());
        places.push(place);
        staging.push(ours);
    }
    if !staging.iter().flatten().all(is_ours) {
        return Ok(Some(Outcome::Damaged));
    }
    let moves = Moves { disk, plan: &plan, places: &places, staging: &staging };
    Ok(Some(match ended {
        Some(Ended::Applied) => {
            moves.remove_originals()?;
            if is_acknowledged {
                return Ok(None);
            }
            Outcome::Applied(plan.applied())
        }
        Some(Ended::Undone(left)) => {
            moves.remove_copies()?;
            Outcome::Undone(left)
        }
        None if is_planned => {
            let left = moves.undo(None)?;
            record.write(disk, OUTCOME, undone_text(&left).as_bytes())?;
            moves.remove_copies()?;
            Outcome::Undone(left)
        }
        None => {
            moves.clear()?;
            Outcome::Undone(Vec::new())
        }
    }))
}

fn is_ours(folder: &Dir) -> bool {
    let caller = rustix::process::geteuid().as_raw();
    folder.rights().is_ok_and(|rights| (rights.owner, rights.mode) == (caller, 0o700))
}

enum Ended {
    Applied,
    Undone(Vec<Left>),
}

/// What stands in the record of a transaction that was undone.
pub(super) fn undone_text(left: &[Left]) -> String {
    let lines = left.iter().map(|Left { path, kept }| {
        let kept = kept.as_deref().unwrap_or_default();
        format!("left\t{path}\t{kept}\n")
    });
    format!("{UNDONE}{}", lines.collect::<String>())
}

fn read_outcome(text: &[u8]) -> Option<Ended> {
    let text = std::str::from_utf8(text).ok()?;
    if text == APPLIED {
        return Some(Ended::Applied);
    }
    let left = text.strip_prefix(UNDONE)?.lines().map(|line| {
        let mut fields = line.split('\t');
        let (Some("left"), Some(path), Some(kept), None) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return None;
        };
        let kept = (!kept.is_empty()).then(|| kept.to_owned());
        Some(Left { path: path.to_owned(), kept })
    });
    left.collect::<Option<Vec<_>>>().map(Ended::Undone)
}

/// Says where our folders will be, before they are made.
pub(super) const INTENT: &str = "intent";
/// Says every move, before the first one.
pub(super) const PLAN: &str = "plan";
/// Says what became of it. From then on it is never undone.
pub(super) const OUTCOME: &str = "outcome";
/// Says that what became of it is known, and only originals are left to remove.
pub(super) const ACKNOWLEDGED: &str = "acknowledged";
pub(super) const APPLIED: &str = "applied\n";
const UNDONE: &str = "undone\n";
