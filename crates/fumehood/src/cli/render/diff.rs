//! `diff` as text, hidden characters made visible.

use std::fmt::Write as _;
use std::path::Path;

use fumehood_core::Shown;

use super::{plural, shown_path};
use crate::cli::output::{BOLD, ERROR, GOOD, RESET};
use crate::report::{ChangedFile, DiffFile, DiffReport, DiffSide, FileSince, LineChange};

pub(in crate::cli) fn diff(text: &mut String, report: &DiffReport) {
    side(text, "before", &report.before);
    side(text, "after ", &report.after);
    if report.identical {
        let _ = writeln!(text, "Identical: every path and every byte (git's own files are not looked at).");
        return;
    }
    let mut whole = |style: &str, word: &str, file: &DiffFile| {
        let path = Shown::inline(&file.path).at_most(1024);
        let _ = writeln!(text, "{style}{word}{RESET}  {path}  {} bytes", file.size);
    };
    report.added.iter().for_each(|file| whole(GOOD, "added  ", file));
    report.removed.iter().for_each(|file| whole(ERROR, "removed", file));
    report.changed.iter().for_each(|file| changed(text, file));
}

fn side(text: &mut String, word: &str, side: &DiffSide) {
    let name = Shown::inline(&side.name);
    let place = if side.path.is_empty() {
        "as it was approved last".to_owned()
    } else {
        shown_path(Path::new(&side.path))
    };
    let _ = writeln!(text, "{word}  {BOLD}{name}{RESET}  {place}  {}", side.revision);
}

fn changed(text: &mut String, file: &ChangedFile) {
    let path = Shown::inline(&file.path).at_most(1024);
    let _ = writeln!(text, "{BOLD}changed{RESET}  {path}  {} to {} bytes", file.before.size, file.after.size);
    let Some(lines) = &file.lines else {
        let _ = writeln!(
            text,
            "    not shown by lines: no text, larger than 1 MiB, not kept, or more than one answer holds"
        );
        return;
    };
    self::lines(text, lines);
}

/// How the files of a skill differ from those that were approved last, for a question: as many as are given, and what is beyond
/// them is said.
pub(super) fn since(text: &mut String, files: &[FileSince]) {
    for file in files.iter().take(FILES_SHOWN) {
        let style = match &*file.change {
            "added" => GOOD,
            "removed" => ERROR,
            _ => BOLD,
        };
        let path = Shown::inline(&file.path).at_most(1024);
        let reason = file
            .not_shown
            .as_ref()
            .map(|reason| format!("  not shown by lines: {reason}"))
            .unwrap_or_default();
        let _ = writeln!(text, "  {style}{:<7}{RESET}  {path}{reason}", file.change);
        lines(text, &file.lines);
        if file.lines_left_out > 0 {
            let _ = writeln!(text, "    … and {}", plural(file.lines_left_out, "line"));
        }
    }
    let more = files.len().saturating_sub(FILES_SHOWN);
    if more > 0 {
        let _ = writeln!(text, "  … and {}", plural(more, "file"));
    }
    if more > 0 || files.iter().any(|file| file.lines_left_out > 0 || file.not_shown.is_some()) {
        let _ = writeln!(text, "  That is not all: `fumehood diff` with this skill alone shows the rest.");
    }
}

/// Lines that differ, with those around them.
pub(super) fn lines(text: &mut String, lines: &[LineChange]) {
    let mut last: Option<&LineChange> = None;
    for line in lines {
        if last.is_some_and(|last| !follows(last, line)) {
            let _ = writeln!(text, "    …");
        }
        let (style, sign) = match &*line.change {
            "added" => (GOOD, '+'),
            "removed" => (ERROR, '-'),
            _ => ("", ' '),
        };
        let number = |line: Option<usize>| line.map_or_else(String::new, |line| line.to_string());
        let (before, after) = (number(line.before), number(line.after));
        // A line is cut only far beyond what a terminal shows; the JSON form has all of it.
        let content = Shown::inline(&line.text).at_most(LINE_CHARS_MAX);
        let _ = writeln!(text, "  {before:>5} {after:>5} {style}{sign} {content}{RESET}");
        last = Some(line);
    }
}

/// Whether two shown lines stand next to each other in one of the files.
fn follows(last: &LineChange, line: &LineChange) -> bool {
    let next = |a: Option<usize>, b: Option<usize>| matches!((a, b), (Some(a), Some(b)) if b == a + 1);
    next(last.before, line.before) || next(last.after, line.after) || last.change != line.change
}

const LINE_CHARS_MAX: usize = 2000;
const FILES_SHOWN: usize = 50;
