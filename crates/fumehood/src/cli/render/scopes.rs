//! Trust scopes as text, the question before one is saved, and the answers after.

use std::fmt::Write as _;

use fumehood_core::Shown;

use super::diff::since;
use super::question::full_trust;
use super::when::when;
use super::{plural, size, unavailable};
use crate::cli::output::{BOLD, DIM, GOOD, RESET, WARNING};
use crate::host::{PastFiles, ScopePreview, TrustedProgram};
use crate::report::{ScopeListReport, ScopeOut, ScopeReport};

/// What the person is asked, complete.
pub(in crate::cli) fn question(preview: &ScopePreview) -> String {
    let mut text = format!("{BOLD}Trust this without asking again{RESET}\n");
    scope(&mut text, &preview.scope);
    program(&mut text, &preview.program);
    if !preview.asked_paths.is_empty() {
        line(&mut text, "still asked", &format!("whenever {} is given", preview.asked_paths.join(", ")));
    }
    past(&mut text, &preview.past, &preview.scope.revision);
    for draft in &preview.drafts {
        let _ = writeln!(
            text,
            "  {WARNING}this also makes trusted{RESET} the draft {}: {}:{}, {}",
            draft.id,
            shown(&draft.source),
            shown(&draft.skill),
            shown(&draft.tool)
        );
    }
    if let Some(folder) = &preview.state_folder {
        line(&mut text, "state folder", folder);
    }
    terms(&mut text, &preview.program);
    let _ = match preview.mode {
        "trusted" => write!(text, "Trust it? [y/N] "),
        mode => write!(
            text,
            "The mode of policy.toml is {mode}, so this is only a draft and {WARNING}counts for nothing{RESET} yet. Save it? [y/N] "
        ),
    };
    text
}

pub(in crate::cli) fn saved(text: &mut String, report: &ScopeReport) {
    let ScopeOut { id, receipt, .. } = &report.scope;
    let _ = match receipt {
        Some(receipt) if report.scope.counts => writeln!(text, "Trusted: {id}, receipt {receipt}"),
        Some(receipt) => writeln!(text, "Kept: {id}, receipt {receipt}; it counts in mode trusted only"),
        None => writeln!(
            text,
            "Saved as a draft, which counts for nothing: {id}\nset mode = \"trusted\" in policy.toml and add it again to trust it"
        ),
    };
    unavailable(text, &report.unavailable);
}

pub(in crate::cli) fn removed(text: &mut String, report: &ScopeReport) {
    let _ = writeln!(text, "No longer trusted: {}", report.scope.id);
    unavailable(text, &report.unavailable);
}

pub(in crate::cli) fn show(text: &mut String, report: &ScopeReport) {
    let _ = writeln!(text, "{BOLD}{}{RESET}  {}", report.scope.id, status(&report.scope, report.mode));
    scope(text, &report.scope);
    unavailable(text, &report.unavailable);
}

pub(in crate::cli) fn list(text: &mut String, report: &ScopeListReport) {
    for scope in &report.scopes {
        let _ = writeln!(
            text,
            "{}  {}:{}  {}  {}",
            scope.id,
            shown(&scope.source),
            shown(&scope.skill),
            shown(&scope.tool),
            status(scope, report.mode)
        );
    }
    let _ =
        writeln!(text, "{DIM}{}, mode {}{RESET}", plural(report.scopes.len(), "trust scope"), report.mode);
    unavailable(text, &report.unavailable);
}

fn status(scope: &ScopeOut, mode: &str) -> String {
    let files = match scope.files_changed {
        Some(files) => format!(", {} changed", plural(files, "file")),
        None => String::new(),
    };
    match (scope.stale, &scope.receipt) {
        (Some(true), _) => format!("{WARNING}stale{RESET}: the skill has another revision{files}"),
        (_, None) => format!("{WARNING}draft{RESET}: it counts for nothing"),
        _ if scope.counts => format!("{GOOD}trusted{RESET}"),
        _ => format!("{DIM}does not count in mode {mode}{RESET}"),
    }
}

fn scope(text: &mut String, scope: &ScopeOut) {
    line(text, "agent", &scope.agent);
    line(text, "skill", &format!("{}:{}", scope.source, scope.skill));
    line(text, "revision", &scope.revision);
    line(text, "tool", &scope.tool);
    line(text, "overlay", scope.overlay.as_deref().unwrap_or("none"));
    line(text, "workspace", scope.workspace.as_deref().unwrap_or("none"));
    for path in &scope.paths {
        line(text, "path", &format!("{} at {} or below", path.parameter, path.place));
    }
    line(
        text,
        "at most",
        &format!("{} s, {} of each stream", scope.timeout_seconds_max, size(scope.output_bytes_max)),
    );
    if let (Some(receipt), Some(approved)) = (&scope.receipt, scope.approved_unix_ms) {
        line(text, "receipt", &format!("{receipt}, {}", when(approved)));
    }
    if let Some(current) = scope.current_revision.as_ref().filter(|current| **current != scope.revision) {
        line(text, "is now", current);
    }
}

/// What trust means here, and what it does not.
fn terms(text: &mut String, program: &TrustedProgram) {
    text.push_str(
        "Calls within this run without a question until a byte of the skill changes. Trust is no sandbox",
    );
    match program.open_axes.as_slice() {
        [] => text.push_str(": what runs is\nconfined as ever.\n"),
        open => {
            let _ = writeln!(text, ".\n{}", full_trust(open));
        }
    }
}

fn program(text: &mut String, program: &TrustedProgram) {
    let what = if program.is_checked { "the checked tool" } else { "the script" };
    line(text, "runs", &format!("{what} {}", program.file));
    if program.is_checked {
        line(text, "its files", &program.files.join(", "));
        line(text, "input", "any that fits its schema");
    }
    line(text, "interpreter", &program.interpreter);
}

fn past(text: &mut String, past: &PastFiles, revision: &str) {
    let Some(old) = &past.revision else {
        line(text, "approved", "never before");
        return;
    };
    if old == revision {
        line(text, "approved", "this revision was approved before");
        return;
    }
    let files = plural(past.files.len(), "file");
    line(text, "approved", &format!("{old}; since then {files} changed:"));
    since(text, &past.files);
}

fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "  {name:<COLUMN$}  {}", shown(value));
}

fn shown(text: &str) -> Shown<'_> {
    Shown::inline(text).at_most(TEXT_CHARS_MAX)
}

const COLUMN: usize = 12;
const TEXT_CHARS_MAX: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;

    // CHK-050, CHK-137, CHK-138: whoever trusts a tool on a machine that does not confine all of it is told so last.
    #[test]
    fn what_is_not_enforced_is_full_trust_before_it_is_trusted() {
        let program = |open_axes| TrustedProgram {
            is_checked: true,
            file: "go.mjs".to_owned(),
            files: ["go.mjs", "li\u{202e}b.mjs"].map(str::to_owned).to_vec(),
            interpreter: "/usr/bin/node, sha256 0".to_owned(),
            open_axes,
        };
        let said = |open_axes| {
            let mut text = String::new();
            terms(&mut text, &program(open_axes));
            text
        };
        let open = said(vec!["reads", "network"]);
        assert!(open.contains("FULL TRUST"), "{open}");
        assert!(
            open.ends_with("does not enforce reads, network. There it does whatever you yourself may do.\n"),
            "{open}"
        );
        assert!(!open.contains("is confined as ever"), "{open}");
        let confined = said(Vec::new());
        assert!(!confined.contains("FULL TRUST") && confined.ends_with("confined as ever.\n"), "{confined}");
        let mut shown = String::new();
        super::program(&mut shown, &program(Vec::new()));
        assert!(shown.contains("go.mjs, li\\u{202e}b.mjs") && !shown.contains('\u{202e}'), "{shown}");
    }
}
