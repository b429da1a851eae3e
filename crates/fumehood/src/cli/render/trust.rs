//! The question before a project is trusted, and the answer after.

use std::fmt::Write as _;
use std::path::Path;

use fumehood_core::Shown;

use super::{plural, shown_path};
use crate::host::ProjectPreview;
use crate::report::TrustReport;

/// What the person is asked, complete: the folder as it really is, and every skill that would be let in.
pub(in crate::cli) fn question(preview: &ProjectPreview) -> String {
    let mut text = String::new();
    let project = Shown::inline(&preview.project.to_string_lossy()).at_most(1024).to_string();
    let _ = writeln!(text, "Project {project}\nbrings {}:", plural(preview.skills.len(), "skill"));
    for skill in preview.skills.iter().take(SKILLS_SHOWN) {
        let description = Shown::inline(&skill.description).at_most(100);
        let _ = writeln!(text, "  {}  {description}", Shown::inline(&skill.name));
    }
    if preview.skills.len() > SKILLS_SHOWN {
        let _ = writeln!(text, "  and {} more", preview.skills.len() - SKILLS_SHOWN);
    }
    let _ = write!(
        text,
        "Trusting lets their texts be listed and shown to a model, also after they change.\n\
         It runs nothing and approves no script. Trust this project? [y/N] "
    );
    text
}

pub(in crate::cli) fn answer(text: &mut String, report: &TrustReport) {
    let project = shown_path(Path::new(&report.project));
    let _ = match (report.trusted, report.changed) {
        (true, true) => writeln!(text, "Trusted: {project}"),
        (true, false) => writeln!(text, "Already trusted: {project}"),
        (false, true) => writeln!(text, "No longer trusted: {project}"),
        (false, false) => writeln!(text, "Was not trusted: {project}"),
    };
}

const SKILLS_SHOWN: usize = 50;
