//! `diff` as text, hidden characters made visible.

use std::fmt::Write as _;
use std::path::Path;

use fumehood_core::Shown;

use super::{plural, shown_path};
use crate::cli::output::{BOLD, ERROR, GOOD, RESET, WARNING};
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
    let (there, nowhere) = (rest_in_diff(files), rest_nowhere(files));
    if there {
        let _ = writeln!(
            text,
            "  That is not all: `fumehood diff` with this skill alone shows the rest of what was there before,\n  \
             and with --format json lines of any length."
        );
    }
    if nowhere {
        let _ = writeln!(
            text,
            "  {WARNING}Not all that is new is shown{RESET}, nor does `fumehood diff` show it: read it in the skill's folder."
        );
    }
}

/// Whether there is more to see of files that were there before, or of a line.
fn rest_in_diff(files: &[FileSince]) -> bool {
    let is_long = |line: &LineChange| line.text.chars().nth(LINE_CHARS_MAX).is_some();
    let has_rest = |file: &FileSince| is_partial(file) && is_in_diff(file);
    files.len() > FILES_SHOWN || files.iter().any(|file| has_rest(file) || file.lines.iter().any(is_long))
}

/// Whether there are lines that nothing of ours shows.
fn rest_nowhere(files: &[FileSince]) -> bool {
    let beyond = files.iter().skip(FILES_SHOWN).any(|file| !is_in_diff(file));
    beyond || files.iter().any(|file| is_partial(file) && !is_in_diff(file))
}

fn is_partial(file: &FileSince) -> bool {
    file.lines_left_out > 0 || file.not_shown.is_some()
}

/// Whether `diff` shows the lines: what is new it only names, and it compares no more kinds of files than a question does.
fn is_in_diff(file: &FileSince) -> bool {
    file.change != "added" && matches!(file.not_shown.as_deref(), None | Some(FileSince::TOO_MUCH))
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
        let content = Shown::inline(&line.text).at_most(LINE_CHARS_MAX).exact();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn file(
        change: &'static str,
        line: &str,
        lines_left_out: usize,
        not_shown: Option<&'static str>,
    ) -> FileSince {
        let lines =
            vec![LineChange { change: "added".into(), before: None, after: Some(1), text: line.to_owned() }];
        FileSince {
            path: "a.sh".to_owned(),
            change: change.into(),
            lines,
            lines_left_out,
            not_shown: not_shown.map(Into::into),
        }
    }

    // CHK-039: whatever is not shown in a question is said, and nobody is sent where it is not shown either.
    #[test]
    fn what_is_left_out_is_said_with_where_it_is() {
        let whole = |change| file(change, "echo", 0, None);
        let long = "x".repeat(LINE_CHARS_MAX + 1);
        let many = |last| [vec![whole("changed"); FILES_SHOWN], vec![whole(last)]].concat();
        for (files, there, nowhere) in [
            (vec![whole("changed"), whole("added")], false, false),
            (vec![file("changed", "echo", 1, None)], true, false),
            (vec![file("changed", "echo", 0, Some(FileSince::TOO_MUCH))], true, false),
            (vec![file("changed", "echo", 0, Some("what it was is not kept"))], false, true),
            (vec![file("added", "echo", 1, None)], false, true),
            (vec![file("added", "echo", 0, Some(FileSince::TOO_MUCH))], false, true),
            (vec![file("added", &long[1..], 0, None)], false, false),
            (vec![file("added", &long, 0, None)], true, false),
            (many("changed"), true, false),
            (many("added"), true, true),
        ] {
            let mut text = String::new();
            since(&mut text, &files);
            assert_eq!(text.contains("That is not all"), there, "{text}");
            assert_eq!(text.contains("Not all that is new is shown"), nowhere, "{text}");
        }
    }
}
