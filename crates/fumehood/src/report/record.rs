//! The answers of `runs`, `receipt` and `audit`.

use serde::Serialize;

/// The answer of `runs`.
#[derive(Clone, Debug, Serialize)]
pub struct RunsReport {
    /// 1.
    pub schema_version: u32,
    /// The runs, the one that was started last first.
    pub runs: Vec<ListedRun>,
    /// What to ask for rows before, if there are older runs.
    pub next_before: Option<u64>,
}

/// One run of `runs`. What is null is not known yet, or does not apply.
#[derive(Clone, Debug, Serialize)]
pub struct ListedRun {
    /// The number of the journal's row that opened its receipt.
    pub seq: u64,
    /// When it was started, in milliseconds since 1970 by the wall clock.
    pub started_unix_ms: u64,
    /// `succeeded` or `failed`; `interrupted` if its receipt was never closed, because it is still under way or because
    /// whatever ran it ended first; `unreadable` if the row holds no receipt.
    pub outcome: &'static str,
    /// The receipt's id.
    pub receipt: Option<String>,
    /// Who asked, as the host calls it.
    pub agent: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// The skill it comes from, as `source:name`.
    pub skill: Option<String>,
    /// Why it failed, as a stable code.
    pub code: Option<String>,
    /// The program's exit code.
    pub exit_code: Option<u8>,
    /// The signal that ended the program.
    pub signal: Option<u8>,
    /// The kept result.
    pub artifact: Option<String>,
    /// How long it took.
    pub elapsed_ms: Option<u64>,
}

/// The answer of `receipt`.
#[derive(Clone, Debug, Serialize)]
pub struct ReceiptReport {
    /// 1.
    pub schema_version: u32,
    /// The row that opened it.
    pub opened: Option<JournalPlace>,
    /// The row that closed it; null as long as there is none.
    pub closed: Option<JournalPlace>,
    /// The receipt, as far as it is on record, in the shape of `receipt.schema.json`.
    pub receipt: serde_json::Value,
}

/// Where something stands in the journal.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct JournalPlace {
    /// The number of the row.
    pub seq: u64,
    /// When it was added, in milliseconds since 1970 by the wall clock.
    pub time_unix_ms: i64,
}

/// The answer of `audit verify` about a chain that holds.
#[derive(Clone, Debug, Serialize)]
pub struct AuditVerifyReport {
    /// 1.
    pub schema_version: u32,
    /// Rows that were looked at: all.
    pub rows: u64,
    /// The last row's number and hash.
    pub head: String,
    /// The head that was kept elsewhere, if one was given. It is that of one of the rows.
    pub kept: Option<String>,
}

/// The answer of `audit head`.
#[derive(Clone, Debug, Serialize)]
pub struct AuditHeadReport {
    /// 1.
    pub schema_version: u32,
    /// The last row's number, a colon, and its hash: what `audit verify --head` takes.
    pub head: String,
    /// The number; 0 before the first row.
    pub seq: u64,
    /// The hash.
    pub hash: String,
}
