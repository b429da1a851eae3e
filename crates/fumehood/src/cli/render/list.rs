//! `list` as text: the sources in their order, the skills of each below it.

use std::fmt::Write as _;
use std::path::Path;

use fumehood_core::Shown;

use super::{plural, shown_path, source_findings};
use crate::cli::output::{BOLD, DIM, ERROR, RESET, WARNING};
use crate::report::{ListReport, ListedSkill, SourceReport};

pub(in crate::cli) fn list(text: &mut String, report: &ListReport) {
    for source in &report.sources {
        let skills: Vec<_> = report.skills.iter().filter(|skill| skill.source == source.label).collect();
        if source.status == "missing" && source.diagnostics.is_empty() {
            continue;
        }
        header(text, source);
        for skill in skills {
            line(text, skill);
        }
        if source.status != "inert" {
            source_findings(text, source);
        }
    }
    if report.skills.is_empty() {
        let searched: Vec<_> =
            report.sources.iter().map(|source| shown_path(Path::new(&source.path))).collect();
        let _ = writeln!(text, "No skills to show. Searched: {}", searched.join(", "));
    }
}

fn header(text: &mut String, source: &SourceReport) {
    let path = shown_path(Path::new(&source.path));
    let count = plural(source.found, "skill");
    let _ = match source.status {
        "inert" => writeln!(
            text,
            "{BOLD}{}{RESET}  {path}  {count}, not shown: nobody trusted this project yet (fumehood trust-project)",
            Shown::inline(&source.label)
        ),
        _ => writeln!(text, "{BOLD}{}{RESET}  {path}  {count}", Shown::inline(&source.label)),
    };
}

fn line(text: &mut String, skill: &ListedSkill) {
    let name = Shown::inline(&skill.name).to_string();
    let _ = write!(text, "  {name:<NAME_COLUMN$}  ");
    match (skill.loadable, &skill.shadowed_by) {
        (false, _) => {
            let reason = skill.diagnostics.iter().find(|finding| finding.severity == "error");
            let reason = reason.map_or("", |finding| finding.message.as_str());
            let _ =
                write!(text, "{ERROR}refused{RESET}: {}", Shown::inline(reason).at_most(DESCRIPTION_CHARS));
        }
        (true, Some(winner)) => {
            let _ = write!(text, "{WARNING}shadowed{RESET} by {}", shown_path(Path::new(winner)));
        }
        (true, None) => {
            let _ =
                write!(text, "{DIM}{}{RESET}", Shown::inline(&skill.description).at_most(DESCRIPTION_CHARS));
        }
    }
    text.push('\n');
}

const NAME_COLUMN: usize = 28;
const DESCRIPTION_CHARS: usize = 100;
