//! `runs`, `receipt` and `audit`: what is on record, read from the journal and never written to it.

use fumehood_core::receipt::{ROW_CLOSED, ROW_OPEN};
use fumehood_core::{Code, Coded as _, ReceiptId};
use fumehood_store::{Entry, Head, Journal, JournalError};
use serde::Deserialize;

use super::{Host, of_other_kind};
use crate::fault::Fault;
use crate::report::{
    AuditHeadReport, AuditVerifyReport, JournalPlace, ListedRun, ReceiptReport, RunsReport, SCHEMA_VERSION,
};

pub use fumehood_store::Head as JournalHead;

/// Runs of one listing, at most.
pub const RUNS_LISTED_MAX: usize = 1000;

/// What a listing takes of a receipt.
#[derive(Deserialize)]
struct Shape {
    id: String,
    agent: String,
    tool: String,
    skill: Option<SkillShape>,
    started_unix_ms: u64,
    outcome: String,
    closing: Option<ClosingShape>,
}

#[derive(Deserialize)]
struct SkillShape {
    source: String,
    name: String,
}

#[derive(Default, Deserialize)]
struct ClosingShape {
    code: Option<String>,
    exit_code: Option<u8>,
    signal: Option<u8>,
    artifact: Option<String>,
    elapsed_ms: u64,
}

impl Host {
    /// Lists what was run, newest first: at most `limit` runs (1 to 1000), of those opened before row `before`.
    ///
    /// # Errors
    /// `E_USAGE` for another limit; `E_HOME_REFUSED`; `E_JOURNAL_FOREIGN`, `E_JOURNAL_DAMAGED`, `E_STATE_UNAVAILABLE`.
    pub fn runs(&self, limit: usize, before: Option<u64>) -> Result<RunsReport, Fault> {
        if !(1..=RUNS_LISTED_MAX).contains(&limit) {
            let message = format!("1 to {RUNS_LISTED_MAX} runs can be listed at once");
            return Err(Fault::new(Code::Usage, message, "ask for fewer, and then for those before"));
        }
        let mut report = RunsReport { schema_version: SCHEMA_VERSION, runs: Vec::new(), next_before: None };
        let Some(journal) = self.journal()? else { return Ok(report) };
        // One more than is shown, to know whether there are more.
        let mut opened =
            journal.newest(Some(ROW_OPEN), before, limit + 1).map_err(|error| journal_fault(&error))?;
        let more = opened.len() > limit;
        opened.truncate(limit);
        report.next_before = opened.last().filter(|_| more).map(|last| last.seq);
        for row in &opened {
            report.runs.push(listed(&journal, row)?);
        }
        Ok(report)
    }

    /// One receipt in full, as it was last recorded.
    ///
    /// # Errors
    /// `E_ID_INVALID`; `E_RECEIPT_NOT_FOUND`; those of [`Host::runs`].
    pub fn receipt(&self, id: &str) -> Result<ReceiptReport, Fault> {
        let parsed = ReceiptId::parse(id).map_err(|error| {
            Fault::of(&error, of_other_kind(id, "`fumehood runs` shows those of receipts"))
        })?;
        let missing = || {
            Fault::new(
                Code::ReceiptNotFound,
                "no receipt of that id is on record",
                "`fumehood runs` shows them",
            )
        };
        let journal = self.journal()?.ok_or_else(missing)?;
        let rows = rows_of(&journal, &parsed.to_string())?;
        let Rows { opened, closed } = &rows;
        let row = closed.as_ref().or(opened.as_ref()).ok_or_else(missing)?;
        let receipt: serde_json::Value = serde_json::from_str(&row.json).map_err(|_| no_receipt(row))?;
        if Shape::of(row).is_none() {
            return Err(no_receipt(row));
        }
        let place = |row: &Entry| JournalPlace { seq: row.seq, time_unix_ms: row.time_ms };
        Ok(ReceiptReport {
            schema_version: SCHEMA_VERSION,
            opened: opened.as_ref().map(place),
            closed: closed.as_ref().map(place),
            receipt,
        })
    }

    /// Follows the journal's chain from its first row to its last, and past `kept`, a head that was kept elsewhere.
    ///
    /// # Errors
    /// `E_JOURNAL_BROKEN`, which names the row; those of [`Host::runs`].
    pub fn verify_journal(&self, kept: Option<&Head>) -> Result<AuditVerifyReport, Fault> {
        let (rows, head, broken) = if let Some(journal) = self.journal()? {
            let found = journal.verify(kept).map_err(|error| journal_fault(&error))?;
            (found.rows, found.head, found.broken.map(|broken| broken.to_string()))
        } else {
            let kept = kept.filter(|kept| **kept != Head::START);
            let gone =
                |kept: &Head| format!("row {} of the journal is gone, and all others with it", kept.seq);
            (0, Head::START, kept.map(gone))
        };
        if let Some(broken) = broken {
            let advice = "somebody or something changed journal.sqlite in the state folder: keep a copy of it, and \
                          believe no row from there on";
            return Err(Fault::new(Code::JournalBroken, broken, advice));
        }
        let kept = kept.map(ToString::to_string);
        Ok(AuditVerifyReport { schema_version: SCHEMA_VERSION, rows, head: head.to_string(), kept })
    }

    /// The last row's number and hash, to be kept where whoever can change the journal cannot change it.
    ///
    /// # Errors
    /// Those of [`Host::runs`].
    pub fn journal_head(&self) -> Result<AuditHeadReport, Fault> {
        let head = match self.journal()? {
            Some(journal) => journal.head().map_err(|error| journal_fault(&error))?,
            None => Head::START,
        };
        Ok(AuditHeadReport {
            schema_version: SCHEMA_VERSION,
            head: head.to_string(),
            seq: head.seq,
            hash: head.hash.to_string(),
        })
    }

    fn journal(&self) -> Result<Option<Journal>, Fault> {
        Journal::open_if_any(&self.home()?).map_err(|error| journal_fault(&error))
    }
}

/// The rows of one receipt.
#[derive(Default)]
struct Rows {
    opened: Option<Entry>,
    closed: Option<Entry>,
}

fn rows_of(journal: &Journal, id: &str) -> Result<Rows, Fault> {
    let mut found = Rows::default();
    for row in journal.by_id(id, ROWS_OF_ID_MAX).map_err(|error| journal_fault(&error))? {
        match row.kind.as_str() {
            ROW_OPEN => found.opened = Some(row),
            ROW_CLOSED => found.closed = Some(row),
            _ => {}
        }
    }
    Ok(found)
}

/// The run of a row that opened a receipt.
fn listed(journal: &Journal, row: &Entry) -> Result<ListedRun, Fault> {
    let unreadable = ListedRun {
        seq: row.seq,
        started_unix_ms: u64::try_from(row.time_ms).unwrap_or(0),
        outcome: "unreadable",
        receipt: None,
        agent: None,
        tool: None,
        skill: None,
        code: None,
        exit_code: None,
        signal: None,
        artifact: None,
        elapsed_ms: None,
    };
    let Some(opened) = Shape::of(row) else { return Ok(unreadable) };
    let closed = match rows_of(journal, &opened.id)?.closed.as_ref().map(Shape::of) {
        Some(None) => return Ok(unreadable),
        Some(closed) => closed,
        None => None,
    };
    let outcome = match closed.as_ref().map(|closed| closed.outcome.as_str()) {
        None => "interrupted",
        Some("succeeded") => "succeeded",
        Some("failed") => "failed",
        Some(_) => return Ok(unreadable),
    };
    let closing = closed.and_then(|closed| closed.closing);
    let elapsed_ms = closing.as_ref().map(|closing| closing.elapsed_ms);
    let closing = closing.unwrap_or_default();
    Ok(ListedRun {
        started_unix_ms: opened.started_unix_ms,
        outcome,
        receipt: Some(opened.id),
        agent: Some(opened.agent),
        tool: Some(opened.tool),
        skill: opened.skill.map(|skill| format!("{}:{}", skill.source, skill.name)),
        code: closing.code,
        exit_code: closing.exit_code,
        signal: closing.signal,
        artifact: closing.artifact,
        elapsed_ms,
        ..unreadable
    })
}

impl Shape {
    fn of(row: &Entry) -> Option<Self> {
        serde_json::from_str(&row.json).ok()
    }
}

fn no_receipt(row: &Entry) -> Fault {
    let message = format!("row {} of the journal holds no receipt, though its kind says so", row.seq);
    Fault::new(Code::JournalDamaged, message, "`fumehood audit verify` says whether it was changed")
}

fn journal_fault(error: &JournalError) -> Fault {
    let advice = match error.code() {
        Code::HomeRefused => "make the folder private, with mode 0700, or name another with FUMEHOOD_HOME",
        Code::JournalForeign => "move it away if it is not needed, or use the fumehood that wrote it",
        Code::JournalDamaged => "what is in it may still be read with the sqlite3 program",
        _ => "try again; `fumehood doctor` looks at the state folder",
    };
    Fault::of(error, advice)
}

/// A receipt has two rows; more of its id were not written by fumehood.
const ROWS_OF_ID_MAX: usize = 16;
