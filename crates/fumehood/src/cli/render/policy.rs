//! What `policy` says, as text.

use std::fmt::Write as _;
use std::path::Path;

use fumehood_core::{Code, Shown};

use super::{diff, plural, shown_path, unavailable};
use crate::cli::output::{BOLD, DIM, ERROR, GOOD, RESET, WARNING};
use crate::host::PolicyPreview;
use crate::report::{
    PolicyCheckReport, PolicyErrorOut, PolicyExplainReport, PolicySavedReport, PolicyTestReport, Reason,
    RuleExplained,
};

pub(in crate::cli) fn check(text: &mut String, report: &PolicyCheckReport) {
    let path = shown_path(&report.path);
    let _ = match report.state {
        "absent" => writeln!(
            text,
            "{BOLD}no policy.toml{RESET}: every call is asked about\n{DIM}`fumehood policy edit` makes one, at {path}{RESET}"
        ),
        "read" => writeln!(
            text,
            "{GOOD}valid{RESET} {path}\nmode {}, {}, {}",
            report.mode,
            plural(report.rules, "rule"),
            plural(report.cases, "case")
        ),
        _ => writeln!(
            text,
            "{ERROR}unavailable{RESET}: nothing of a skill runs here: {path} cannot be read as written"
        ),
    };
    if let Some(error) = &report.error {
        self::error(text, error);
        if error.code == Code::PolicyInvalid.as_str() {
            let _ = writeln!(text, "  {DIM}mend it with `fumehood policy edit`, or with any editor{RESET}");
        }
    }
    findings(text, report);
}

fn error(text: &mut String, error: &PolicyErrorOut) {
    let _ = writeln!(text, "  {}{}  {DIM}{}{RESET}", place(error), shown(&error.message), error.code);
}

/// Where it is, to stand before what it is.
pub(in crate::cli) fn place(error: &PolicyErrorOut) -> String {
    match (error.line, error.column) {
        (Some(line), Some(column)) => format!("line {line}, column {column}: "),
        _ => String::new(),
    }
}

fn findings(text: &mut String, report: &PolicyCheckReport) {
    for finding in &report.findings {
        let _ = writeln!(
            text,
            "  {WARNING}warning{RESET} {}  {DIM}{}{RESET}",
            shown(&finding.message),
            finding.code
        );
    }
    // What is wrong with the file itself is said above, with its place.
    let is_said = |reason: &Reason| report.error.is_some() && reason.code == Code::PolicyInvalid.as_str();
    let others: Vec<_> = report.unavailable.iter().filter(|reason| !is_said(reason)).cloned().collect();
    unavailable(text, &others);
}

/// What the person is asked before `policy.toml` is replaced.
pub(in crate::cli) fn question(preview: &PolicyPreview) -> String {
    let PolicyPreview { mode_before, check, test, lines, trusted_scopes, .. } = preview;
    let mut text = format!("\n{BOLD}What differs in {}{RESET}\n\n", shown_path(&check.path));
    match lines {
        Some(lines) => diff::lines(&mut text, lines),
        None => {
            let _ = writeln!(text, "  {WARNING}more than can be compared here{RESET}: look at the file");
        }
    }
    let mode = match check.mode {
        mode if mode == *mode_before => format!("mode {mode} as before"),
        mode => format!("mode {WARNING}{mode}{RESET}, before it was {mode_before}"),
    };
    let _ = writeln!(text, "\n{mode}; {} in force", plural(check.rules, "rule"));
    findings(&mut text, check);
    if !test.cases.is_empty() {
        self::test(&mut text, test);
    }
    if check.mode == "trusted" && check.mode != *mode_before && *trusted_scopes > 0 {
        let scopes = plural(*trusted_scopes, "trust scope");
        let _ = writeln!(text, "{WARNING}Without a question from now on{RESET}: what {scopes} cover");
    }
    let _ = write!(text, "{BOLD}Let this be policy.toml? [y/N]{RESET} ");
    text
}

/// What the person is asked about a draft that is no policy.
pub(in crate::cli) fn malformed(error: &PolicyErrorOut, draft: &Path) -> String {
    let mut text = format!("\n{ERROR}This is no policy{RESET}: {}\n", shown_path(draft));
    self::error(&mut text, error);
    let _ = write!(text, "policy.toml is as it was.\n{BOLD}Edit it again? [y/N]{RESET} ");
    text
}

pub(in crate::cli) fn saved(text: &mut String, report: &PolicySavedReport) {
    let path = shown_path(&report.path);
    let word = if report.changed { "Saved" } else { "Nothing to change" };
    let _ = writeln!(text, "{word}: {path}\nmode {}, {}", report.mode, plural(report.rules, "rule"));
}

pub(in crate::cli) fn explain(text: &mut String, report: &PolicyExplainReport) {
    let style = style(report.outcome);
    let _ = writeln!(text, "{style}{}{RESET}: {}", report.outcome, shown(&report.why));
    let tier = report.tier.unwrap_or("unknown");
    let (tool, skill) = (shown(&report.tool), shown(&report.skill));
    let _ = writeln!(text, "{DIM}{tool} of {skill}, tier {tier}, mode {}{RESET}", report.mode);
    for verdict in &report.rules {
        rule(text, verdict);
    }
    for scope in &report.scopes {
        let said = if scope.covers { "covers it" } else { "does not cover it" };
        let _ = write!(text, "  trust scope {} {said}", scope.id);
        let _ = match &scope.reason {
            Some(reason) => writeln!(text, ": {}", shown(reason)),
            None => writeln!(text),
        };
    }
}

pub(in crate::cli) fn test(text: &mut String, report: &PolicyTestReport) {
    for case in &report.cases {
        if case.met {
            let _ = writeln!(text, "{GOOD}ok{RESET}      {}", shown(&case.name));
            continue;
        }
        let wanted = case.expected_rule.as_ref().map(|rule| format!(" by \"{}\"", shown(rule)));
        let _ = writeln!(
            text,
            "{ERROR}missed{RESET}  {}: {}{} was expected, and it is {}: {}",
            shown(&case.name),
            case.expected,
            wanted.unwrap_or_default(),
            case.outcome,
            shown(&case.why)
        );
        for verdict in &case.rules {
            rule(text, verdict);
        }
    }
    let missed = if report.missed == 0 { String::new() } else { format!(", {} missed", report.missed) };
    let _ = writeln!(text, "{BOLD}{}{RESET}: {} met{missed}", plural(report.cases.len(), "case"), report.met);
}

fn rule(text: &mut String, rule: &RuleExplained) {
    let said = match (rule.decides, rule.matches) {
        (true, _) => "decides",
        (false, true) => "matches, and does not decide",
        (false, false) => "does not match",
    };
    let _ = write!(text, "  {:<5} \"{}\" {said}", rule.outcome, shown(&rule.name));
    let reasons: Vec<_> = rule.reasons.iter().map(|reason| shown(reason).to_string()).collect();
    let _ = if reasons.is_empty() { writeln!(text) } else { writeln!(text, ": {}", reasons.join(", ")) };
}

fn style(outcome: &str) -> &'static str {
    match outcome {
        "allow" => GOOD,
        "deny" => ERROR,
        _ => WARNING,
    }
}

fn shown(text: &str) -> Shown<'_> {
    Shown::inline(text).at_most(TEXT_CHARS_MAX)
}

const TEXT_CHARS_MAX: usize = 2048;
