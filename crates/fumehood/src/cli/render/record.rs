//! `runs` and `audit` as text.

use std::fmt::Write as _;

use fumehood_core::Shown;

use super::when::when;
use crate::cli::output::{DIM, ERROR, GOOD, RESET, WARNING};
use crate::report::{AuditHeadReport, AuditVerifyReport, ListedRun, RunsReport};

pub(in crate::cli) fn runs(text: &mut String, report: &RunsReport) {
    for run in &report.runs {
        line(text, run);
    }
    if report.runs.is_empty() {
        let _ = writeln!(text, "No runs yet");
    }
    if let Some(before) = report.next_before {
        let _ = writeln!(text, "There are older ones: --before {before}");
    }
}

/// When, what became of it, what it was; then the ids to go on with.
fn line(text: &mut String, run: &ListedRun) {
    let style = match run.outcome {
        "succeeded" => GOOD,
        "failed" => ERROR,
        _ => WARNING,
    };
    let _ = write!(text, "{}  {style}{:<11}{RESET}", when(run.started_unix_ms), run.outcome);
    let _ = write!(text, "  {:<9}", ending(run));
    if let Some(tool) = &run.tool {
        let _ = write!(text, "  {}", Shown::inline(tool));
    }
    if let Some(skill) = &run.skill {
        let _ = write!(text, "  {DIM}{}{RESET}", Shown::inline(skill));
    }
    if let Some(code) = &run.code {
        let _ = write!(text, "  [{}]", Shown::inline(code));
    }
    for id in [&run.receipt, &run.artifact].into_iter().flatten() {
        let _ = write!(text, "  {}", Shown::inline(id));
    }
    if run.receipt.is_none() {
        let _ = write!(text, "  row {} of the journal holds no receipt", run.seq);
    }
    text.push('\n');
}

fn ending(run: &ListedRun) -> String {
    match (run.exit_code, run.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "-".to_owned(),
    }
}

pub(in crate::cli) fn verified(text: &mut String, report: &AuditVerifyReport) {
    let rows = if report.rows == 1 { "1 row".to_owned() } else { format!("{} rows", report.rows) };
    let _ = writeln!(text, "The chain holds: {rows}, head {}", report.head);
    let _ = match &report.kept {
        Some(kept) => writeln!(text, "Nothing up to {kept} is missing"),
        None => writeln!(
            text,
            "{DIM}Whether later rows were cut off shows only a head that was kept elsewhere: --head{RESET}"
        ),
    };
}

pub(in crate::cli) fn head(text: &mut String, report: &AuditHeadReport) {
    let _ = writeln!(text, "{}", report.head);
}
