//! The interpreters as text, the question before one is pinned anew, and the answer after.

use std::fmt::Write as _;

use fumehood_core::Shown;

use crate::cli::output::{DIM, ERROR, GOOD, RESET, WARNING};
use crate::host::RepinPreview;
use crate::report::{InterpretersReport, ListedInterpreter, PinReport, RepinReport};

pub(in crate::cli) fn list(text: &mut String, report: &InterpretersReport) {
    for interpreter in &report.interpreters {
        one(text, interpreter);
    }
}

fn one(text: &mut String, interpreter: &ListedInterpreter) {
    let (style, status) = match interpreter.status {
        "pinned" => (GOOD, "pinned"),
        "unpinned" => (DIM, "not used yet"),
        "missing" => (DIM, "missing"),
        "changed" => (ERROR, "CHANGED"),
        _ => (ERROR, "refused"),
    };
    let configured = if interpreter.configured { "  (fumehood.toml)" } else { "" };
    let path = match &interpreter.path {
        Some(path) => path.clone(),
        None => format!("not at {}", interpreter.candidates.join(" or ")),
    };
    let _ = write!(text, "{:<KEY_COLUMN$}  {style}{status:<STATUS_COLUMN$}{RESET}  ", interpreter.key);
    let _ = write!(text, "{}", shown(&path));
    if let Some(file) = interpreter.file.as_ref().filter(|file| **file != path) {
        let _ = write!(text, " -> {}", shown(file));
    }
    let _ = writeln!(text, "{DIM}{configured}{RESET}");
    if !interpreter.arguments.is_empty() {
        let arguments = interpreter.arguments.join(" ");
        let _ = writeln!(text, "{:<KEY_COLUMN$}  {DIM}arguments {}{RESET}", "", shown(&arguments));
    }
    if let Some(pinned) = interpreter.pinned.as_ref().filter(|_| interpreter.status == "pinned") {
        let version = pinned.version.as_deref().unwrap_or("no version");
        let _ = writeln!(text, "{:<KEY_COLUMN$}  {}", "", version_of(version));
    }
    if let Some(sha256) = &interpreter.sha256 {
        let _ = writeln!(text, "{:<KEY_COLUMN$}  {DIM}sha256 {sha256}{RESET}", "");
    }
    if let Some(reason) = &interpreter.reason {
        let _ = writeln!(text, "{:<KEY_COLUMN$}  {}", "", shown(reason));
    }
    if interpreter.status == "changed" {
        let key = &interpreter.key;
        let _ = writeln!(
            text,
            "{:<KEY_COLUMN$}  {WARNING}it does not run{RESET}; to take the new one: fumehood interpreters repin {key}",
            ""
        );
    }
}

/// What the person is asked, complete: what it was, and what it is now.
pub(in crate::cli) fn question(preview: &RepinPreview) -> String {
    let mut text = format!("Interpreter {}\n", preview.key);
    match &preview.before {
        Some(before) => pin(&mut text, "pinned to", before),
        None => text.push_str("  is not pinned yet\n"),
    }
    pin(&mut text, "is now", &preview.now);
    if let Some(reason) = &preview.reason {
        let _ = writeln!(text, "  {:<PIN_COLUMN$}  {}", "", shown(reason));
    }
    if preview.before.is_some() {
        text.push_str("What was approved or trusted with the old file has to be approved again.\n");
    }
    text.push_str("Let scripts be run by what is there now? [y/N] ");
    text
}

fn pin(text: &mut String, what: &str, pin: &PinReport) {
    let version = pin.version.as_deref().unwrap_or_default();
    let _ = writeln!(text, "  {what:<PIN_COLUMN$}  {}  {}", shown(&pin.file), version_of(version));
    let _ = writeln!(text, "  {:<PIN_COLUMN$}  sha256 {}", "", pin.sha256);
}

pub(in crate::cli) fn answer(text: &mut String, report: &RepinReport) {
    let RepinReport { key, changed, pinned, .. } = report;
    let what = if *changed { "Pinned" } else { "Already pinned" };
    let _ = writeln!(text, "{what}: {key} is {}", shown(&pinned.file));
}

fn shown(text: &str) -> Shown<'_> {
    Shown::inline(text).at_most(TEXT_CHARS_MAX)
}

/// Its own words, which it may have chosen to look like ours.
fn version_of(text: &str) -> Shown<'_> {
    Shown::inline(text).at_most(VERSION_CHARS)
}

const KEY_COLUMN: usize = 11;
const STATUS_COLUMN: usize = 12;
const PIN_COLUMN: usize = 9;
const TEXT_CHARS_MAX: usize = 1024;
const VERSION_CHARS: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ours_stays_on_its_line() {
        let hostile = "v\u{1b}[2J\u{202e}1\nsh  pinned".to_owned();
        let interpreter = |status| ListedInterpreter {
            key: "sh".to_owned(),
            status,
            configured: true,
            candidates: vec![hostile.clone()],
            arguments: vec![hostile.clone()],
            path: Some(hostile.clone()),
            file: Some(format!("/{hostile}")),
            sha256: Some("00".to_owned()),
            pinned: Some(PinReport {
                file: hostile.clone(),
                sha256: "00".to_owned(),
                version: Some(hostile.clone()),
            }),
            reason: Some(hostile.clone()),
        };
        for (status, lines) in [("pinned", 5), ("changed", 5), ("refused", 4), ("unpinned", 4)] {
            let mut text = String::new();
            one(&mut text, &interpreter(status));
            assert_eq!(text.lines().count(), lines, "{text}");
            assert!(!text.contains("[2J\u{202e}") && text.contains("v\\u{1b}[2J\\u{202e}1\\nsh"), "{text:?}");
        }
    }
}
