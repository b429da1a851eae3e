//! `pending`, `approve` and `deny` as text.

use std::fmt::Write as _;

use fumehood_core::Shown;

use super::when::since;
use crate::cli::output::{BOLD, DIM, RESET};
use crate::report::{DecisionReport, PendingReport, PendingRequest};

/// Three lines for each: what to name it by and since when, then who wants what, then with which arguments.
pub(in crate::cli) fn list(text: &mut String, report: &PendingReport, now_unix_ms: u64, is_for_person: bool) {
    for request in &report.requests {
        let since = since(request.created_unix_ms, request.expires_unix_ms, now_unix_ms);
        let _ = writeln!(text, "{BOLD}{}{RESET}  {since}", Shown::inline(&request.id));
        let _ = writeln!(text, "  {}", what(request));
        let _ = writeln!(text, "  with {}", arguments(request));
    }
    let _ = match report.requests.is_empty() {
        true => writeln!(text, "Nothing is waiting for an answer"),
        // Who reads it by way of a program is no person who could approve anything.
        false if is_for_person => {
            writeln!(
                text,
                "{DIM}`fumehood approve ID` shows all of one and asks; `fumehood deny ID` denies it{RESET}"
            )
        }
        false => Ok(()),
    };
}

pub(in crate::cli) fn decided(text: &mut String, report: &DecisionReport, now_unix_ms: u64) {
    let request = &report.request;
    let _ = if report.decision == "approved" {
        let seconds = request.expires_unix_ms.saturating_sub(now_unix_ms) / 1000;
        writeln!(
            text,
            "Approved once: {}; it runs when {} makes the call again within {seconds} s; tell it to go on",
            what(request),
            Shown::inline(&request.agent)
        )
    } else {
        writeln!(text, "Denied: {}", what(request))
    };
}

fn what(request: &PendingRequest) -> String {
    let PendingRequest { agent, tool, skill, file, .. } = request;
    let [agent, tool, skill, file] = [agent, tool, skill, file].map(|text| Shown::inline(text));
    format!("{agent} wants {tool}: {file} of {skill}")
}

/// All that there is of them: what tells two requests apart may stand anywhere.
fn arguments(request: &PendingRequest) -> String {
    let shown = Shown::inline(&request.arguments).at_most(usize::MAX);
    match request.arguments_cut {
        0 => shown.to_string(),
        cut => format!("{shown}… (+{cut} characters)"),
    }
}
