//! What `policy` says, as text.

use std::fmt::Write as _;

use fumehood_core::Shown;

use super::{plural, shown_path, unavailable};
use crate::cli::output::{BOLD, DIM, ERROR, GOOD, RESET, WARNING};
use crate::report::{PolicyCheckReport, PolicyExplainReport, PolicyTestReport, RuleExplained};

pub(in crate::cli) fn check(text: &mut String, report: &PolicyCheckReport) {
    let path = shown_path(&report.path);
    let _ = match report.state {
        "absent" => {
            writeln!(text, "{BOLD}no policy.toml{RESET}: every call is asked about\n{DIM}{path}{RESET}")
        }
        "read" => writeln!(
            text,
            "{GOOD}valid{RESET} {path}\nmode {}, {}, {}",
            report.mode,
            plural(report.rules, "rule"),
            plural(report.cases, "case")
        ),
        _ => writeln!(text, "{ERROR}nothing runs{RESET}: {path} cannot be read as written"),
    };
    if let Some(error) = &report.error {
        let place = match (error.line, error.column) {
            (Some(line), Some(column)) => format!("line {line}, column {column}: "),
            _ => String::new(),
        };
        let _ = writeln!(text, "  {place}{}  {DIM}{}{RESET}", shown(&error.message), error.code);
    }
    for finding in &report.findings {
        let _ = writeln!(
            text,
            "  {WARNING}warning{RESET} {}  {DIM}{}{RESET}",
            shown(&finding.message),
            finding.code
        );
    }
    unavailable(text, &report.unavailable);
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
