//! One receipt as text: what was asked, who said yes, what confined it, what became of it.
//!
//! It is read from the journal as it stands there, so each text in it is shown as if anybody had written it.

use std::fmt::Write as _;

use fumehood_core::Shown;
use serde_json::Value;

use super::size;
use super::when::when;
use crate::cli::output::{BOLD, DIM, RESET};
use crate::report::{JournalPlace, ReceiptReport};

pub(in crate::cli) fn receipt(text: &mut String, report: &ReceiptReport) {
    let receipt = &report.receipt;
    let outcome = match receipt["outcome"].as_str() {
        Some("open") => {
            "interrupted: no end is on record; it is still under way, or whatever ran it ended first"
        }
        Some(other) => other,
        None => "unknown",
    };
    let _ = writeln!(text, "{BOLD}{}{RESET}  {}", shown(&receipt["id"]), Shown::inline(outcome));
    asked(text, receipt);
    authority(text, &receipt["authority"]);
    containment(text, &receipt["containment"]);
    field(text, "limits", &limits(&receipt["limits"]));
    list(text, "unsafe", &receipt["unsafe_controls"]);
    if !receipt["state_folder"].is_null() {
        field(text, "state in", &shown(&receipt["state_folder"]));
    }
    closing(text, &receipt["closing"]);
    for (name, place) in [("opened", report.opened), ("closed", report.closed)] {
        if let Some(JournalPlace { seq, time_unix_ms }) = place {
            let time = when(u64::try_from(time_unix_ms).unwrap_or(0));
            field(text, name, &format!("row {seq} of the journal, {time}"));
        }
    }
}

fn asked(text: &mut String, receipt: &Value) {
    field(text, "tool", &format!("{}  {DIM}({}){RESET}", shown(&receipt["tool"]), shown(&receipt["tier"])));
    let skill = &receipt["skill"];
    if skill.is_object() {
        field(text, "skill", &format!("{}:{}", shown(&skill["source"]), shown(&skill["name"])));
        field(text, "revision", &shown(&skill["revision"]));
        if !skill["overlay_sha256"].is_null() {
            field(text, "overlay", &shown(&skill["overlay_sha256"]));
        }
    }
    let interpreter = &receipt["interpreter"];
    if interpreter.is_object() {
        let version = match &interpreter["version"] {
            Value::Null => "no version".to_owned(),
            version => shown(version),
        };
        let (path, sha256) = (shown(&interpreter["path"]), shown(&interpreter["sha256"]));
        field(text, "interpreter", &format!("{path}  {version}  {DIM}sha256 {sha256}{RESET}"));
    }
    if !receipt["workspace"].is_null() {
        field(text, "workspace", &shown(&receipt["workspace"]));
    }
    field(text, "arguments", &format!("sha256 {}", shown(&receipt["arguments_sha256"])));
    field(text, "binding", &shown(&receipt["binding"]));
    field(text, "agent", &shown(&receipt["agent"]));
    field(text, "run, call", &format!("{}  {}", shown(&receipt["run"]), shown(&receipt["call"])));
    field(text, "started", &receipt["started_unix_ms"].as_u64().map_or("unknown".to_owned(), when));
}

fn authority(text: &mut String, authority: &Value) {
    let detail = ["surface", "consent", "rule", "scope"].iter().filter(|key| !authority[**key].is_null());
    let detail: Vec<_> = detail.map(|key| format!("{key} {}", shown(&authority[*key]))).collect();
    let kind = shown(&authority["kind"]);
    let words = std::iter::once(kind).chain(detail).collect::<Vec<_>>().join(", ");
    field(text, "allowed by", &words);
}

fn containment(text: &mut String, containment: &Value) {
    let (level, floor) = (shown(&containment["level"]), shown(&containment["level_floor"]));
    field(text, "confined", &format!("level {level}, not below {floor}"));
    for axis in containment["axes"].as_array().into_iter().flatten() {
        let asked = if axis["asked"] == true { "" } else { ", not asked for" };
        let enforced = shown(&axis["enforced"]);
        let mechanism = match &axis["mechanism"] {
            Value::String(mechanism) if !mechanism.is_empty() => {
                format!("  {DIM}{}{RESET}", Shown::inline(mechanism))
            }
            _ => String::new(),
        };
        field(text, "", &format!("{}: {enforced}{asked}{mechanism}", shown(&axis["name"])));
    }
}

fn limits(limits: &Value) -> String {
    let set = limits.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let words: Vec<_> =
        set.map(|(name, value)| format!("{} {}", Shown::inline(name), shown(value))).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

fn closing(text: &mut String, closing: &Value) {
    if !closing.is_object() {
        return;
    }
    let mut ended = vec![match (&closing["exit_code"], &closing["signal"]) {
        (Value::Null, Value::Null) => "no exit code".to_owned(),
        (Value::Null, signal) => format!("signal {}", shown(signal)),
        (code, _) => format!("exit {}", shown(code)),
    }];
    if !closing["killed"].is_null() {
        ended.push(format!("killed for {}", shown(&closing["killed"])));
    }
    if !closing["code"].is_null() {
        ended.push(format!("{} [{}]", shown(&closing["failure"]), shown(&closing["code"])));
    }
    ended.push(format!("attempts {}", shown(&closing["attempts"])));
    ended.push(format!("{} ms", shown(&closing["elapsed_ms"])));
    if closing["fallback"] == true {
        ended.push("the result is a fallback".to_owned());
    }
    field(text, "ended", &ended.join(", "));
    for (name, key) in [("output", "output"), ("errors", "errors")] {
        let bytes = |what: &str| closing[key][what].as_u64().unwrap_or(0);
        let (kept, dropped) = (size(bytes("kept_bytes")), size(bytes("dropped_bytes")));
        field(text, name, &format!("{kept} kept, {dropped} dropped"));
    }
    if !closing["artifact"].is_null() {
        field(text, "artifact", &shown(&closing["artifact"]));
    }
    for file in closing["files_applied"].as_array().into_iter().flatten() {
        let bytes = size(file["bytes"].as_u64().unwrap_or(0));
        let path = file["path"].as_str().unwrap_or_default();
        let path = Shown::inline(path).at_most(super::PATH_CHARS_MAX);
        field(text, "applied", &format!("{} {path}  {bytes}", shown(&file["change"])));
    }
    field(text, "processes", &shown(&closing["processes_left"]));
}

fn list(text: &mut String, name: &str, values: &Value) {
    for value in values.as_array().into_iter().flatten() {
        field(text, name, &shown(value));
    }
}

fn field(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "  {name:<12}{value}");
}

/// A text or number on one line; what is not there as a dash.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => Shown::inline(text).at_most(super::PATH_CHARS_MAX).to_string(),
        other => Shown::inline(&other.to_string()).to_string(),
    }
}
