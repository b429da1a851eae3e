//! `check` as text: a line for each skill, its findings below it, the counts at the end.

use std::fmt::Write as _;
use std::path::Path;

use fumehood_core::Shown;

use super::{finding, plural, shown_path, source_findings};
use crate::cli::output::{BOLD, ERROR, GOOD, RESET, WARNING};
use crate::report::{CheckReport, CheckedSkill};

pub(in crate::cli) fn check(text: &mut String, report: &CheckReport, notes: bool, quiet: bool) {
    let mut hidden = 0;
    for skill in &report.skills {
        let (shown, held_back): (Vec<_>, Vec<_>) =
            skill.diagnostics.iter().partition(|finding| notes || finding.changes_verdict);
        hidden += held_back.len();
        if quiet && shown.is_empty() {
            continue;
        }
        verdict(text, skill);
        for found in shown {
            text.push_str("    ");
            finding(text, found, Path::new(&skill.path));
        }
    }
    for source in &report.sources {
        source_findings(text, source);
    }
    let summary = report.summary;
    let _ = write!(
        text,
        "{BOLD}{}{RESET}: {} loadable, {} conformant, {} refused",
        plural(summary.found, "skill"),
        summary.loadable,
        summary.conformant,
        summary.refused
    );
    let _ = match hidden {
        0 => writeln!(text),
        n => writeln!(text, "; {} not shown (--notes shows them)", plural(n, "note")),
    };
}

fn verdict(text: &mut String, skill: &CheckedSkill) {
    let (style, word) = match (skill.loadable, skill.conformant) {
        (true, true) => (GOOD, "conformant"),
        (true, false) => (WARNING, "loadable"),
        (false, _) => (ERROR, "refused"),
    };
    let name = Shown::inline(&skill.name);
    let _ = writeln!(text, "{style}{word:<10}{RESET} {name}  {}", shown_path(Path::new(&skill.path)));
}
