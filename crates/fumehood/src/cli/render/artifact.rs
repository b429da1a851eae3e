//! `artifact` as text. What a program wrote is made visible, byte for byte; what it is called by was the host's choice, and
//! is made visible all the same.

use std::fmt::Write as _;

use fumehood_core::Shown;

use super::when::when;
use super::{plural, size};
use crate::cli::output::{DIM, ERROR, RESET};
use crate::report::{
    ArtifactGrepReport, ArtifactLine, ArtifactLinesReport, ArtifactListReport, ArtifactPruneReport,
    ArtifactSliceReport, ListedArtifact,
};

pub(in crate::cli) fn list(text: &mut String, report: &ArtifactListReport) {
    for artifact in &report.artifacts {
        line(text, artifact);
    }
    let count = plural(report.artifacts.len(), "artifact");
    let _ = match report.artifacts.as_slice() {
        [] => writeln!(text, "No artifacts yet"),
        _ => writeln!(text, "{count}, {} of {}", size(report.room_bytes), size(report.room_bytes_max)),
    };
}

fn line(text: &mut String, artifact: &ListedArtifact) {
    let _ = write!(text, "{}  {}  ", artifact.id, when(artifact.created_unix_ms));
    let known = (artifact.bytes, artifact.lines, &artifact.agent, &artifact.run);
    let _ = match known {
        (Some(bytes), Some(lines), Some(agent), Some(run)) => {
            let lines = if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
            let (agent, run) = (Shown::inline(agent), Shown::inline(run));
            writeln!(text, "{:>10}  {lines:>12}  {agent}  {DIM}{run}{RESET}", size(bytes))
        }
        _ => writeln!(text, "{:>10}  {ERROR}damaged{RESET}", size(artifact.room_bytes)),
    };
}

pub(in crate::cli) fn lines(text: &mut String, report: &ArtifactLinesReport) {
    for line in &report.lines {
        content(text, line);
        text.push('\n');
    }
}

pub(in crate::cli) fn slice(text: &mut String, report: &ArtifactSliceReport) {
    bytes(text, report.content.bytes());
    if !report.content.bytes().ends_with(b"\n") {
        text.push('\n');
    }
}

pub(in crate::cli) fn number(text: &mut String, number: u64) {
    let _ = writeln!(text, "{number}");
}

/// As `grep -n`: a colon behind the number of a line that matches, a dash behind that of one around it.
pub(in crate::cli) fn grep(text: &mut String, report: &ArtifactGrepReport) {
    let mut next = None;
    for found in &report.lines {
        let number = found.line.number;
        if is_gap(report, next, number) {
            let _ = writeln!(text, "{DIM}--{RESET}");
        }
        let mark = if found.matches { ':' } else { '-' };
        let _ = write!(text, "{DIM}{number}{mark}{RESET}");
        content(text, &found.line);
        text.push('\n');
        next = Some(number + 1);
    }
}

/// The same for a file or pipe: the lines as they are.
pub(in crate::cli) fn grep_raw(report: &ArtifactGrepReport, numbers: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut next = None;
    for found in &report.lines {
        let line = &found.line;
        if is_gap(report, next, line.number) {
            bytes.extend_from_slice(b"--\n");
        }
        if numbers {
            let mark = if found.matches { ':' } else { '-' };
            bytes.extend_from_slice(format!("{}{mark}", line.number).as_bytes());
        }
        bytes.extend_from_slice(line.content.bytes());
        bytes.extend_from_slice(if line.end == "crlf" { b"\r\n" } else { b"\n" });
        next = Some(line.number + 1);
    }
    bytes
}

/// Where lines are left out between matches that are shown with what is around them.
fn is_gap(report: &ArtifactGrepReport, next: Option<u64>, number: u64) -> bool {
    let has_context = report.lines.iter().any(|line| !line.matches);
    has_context && next.is_some_and(|next| number > next)
}

pub(in crate::cli) fn prune(text: &mut String, report: &ArtifactPruneReport) {
    for artifact in &report.removed {
        line(text, artifact);
    }
    let did = if report.dry_run { "would be removed" } else { "removed" };
    let count = plural(report.removed.len(), "artifact");
    let (removed, kept) = (size(report.removed_room_bytes), size(report.kept_room_bytes));
    let _ = writeln!(text, "{count} {did}: {removed}; {kept} kept");
    for id in &report.missing {
        let _ = writeln!(text, "{ERROR}no artifact{RESET}: {id}");
    }
}

/// The part of a line that is given, and what is left out on both sides.
fn content(text: &mut String, line: &ArtifactLine) {
    if line.cut_before > 0 {
        let _ = write!(text, "{DIM}[{} bytes at offset {}]{RESET}…", line.cut_before, line.offset);
    }
    bytes(text, line.content.bytes());
    if line.cut_after > 0 {
        let offset = line.offset + line.length - line.cut_after;
        let _ = write!(text, "…{DIM}[{} bytes at offset {offset}]{RESET}", line.cut_after);
    }
}

/// Text made visible; a byte that is none as `\x` and two digits.
fn bytes(text: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        let _ = write!(text, "{}", Shown::block(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
}
