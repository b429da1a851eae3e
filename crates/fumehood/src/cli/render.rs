//! Answers as text. Everything an author wrote passes through [`Shown`].

pub(super) mod adopt;
pub(super) mod artifact;
pub(super) mod check;
pub(super) mod diff;
pub(super) mod doctor;
pub(super) mod interpreters;
pub(super) mod list;
pub(super) mod pending;
pub(super) mod policy;
pub(super) mod question;
pub(super) mod receipt;
pub(super) mod record;
pub(super) mod scopes;
pub(super) mod show;
pub(super) mod trust;
mod when;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use fumehood_core::{Json, Shown};

use super::output::{DIM, ERROR, RESET, WARNING};
pub(in crate::cli) use crate::report::quoted;
use crate::report::{CatReport, Finding, ParamOut, Reason, SourceReport};

pub(super) fn cat(text: &mut String, report: &CatReport) {
    let content = report.content.text().unwrap_or_default();
    let _ = write!(text, "{}", Shown::block(content));
    if !content.ends_with('\n') {
        text.push('\n');
    }
}

/// A finding on one line, in the form that editors and `grep` know: place, severity, sentence, code.
fn finding(text: &mut String, finding: &Finding, skill: &Path) {
    let place = match &finding.path {
        Some(path) => skill.join(path),
        None => skill.to_path_buf(),
    };
    let _ = write!(text, "{}", shown_path(&place));
    if let (Some(line), Some(column)) = (finding.line, finding.column) {
        let _ = write!(text, ":{line}:{column}");
    }
    let style = match finding.severity {
        "error" => ERROR,
        "warning" => WARNING,
        _ => DIM,
    };
    let _ = writeln!(
        text,
        ": {style}{}{RESET}: {} [{}]",
        finding.severity,
        Shown::block(&finding.message),
        finding.code
    );
}

/// What a search met, and that it stopped early if it did.
fn source_findings(text: &mut String, source: &SourceReport) {
    for found in &source.diagnostics {
        finding(text, found, Path::new(""));
    }
}

/// Whatever is decided about them, programs do not run here, and why (CHK-050, CHK-155).
fn unavailable(text: &mut String, reasons: &[Reason]) {
    for reason in reasons {
        let what = if reason.is_about_scripts() { "nothing of a skill runs" } else { "no checked tool runs" };
        let message = Shown::inline(&reason.message).at_most(PATH_CHARS_MAX);
        let _ = writeln!(text, "{WARNING}unavailable{RESET}: {what} here: {message} [{}]", reason.code);
    }
}

/// A path as a person would type it: relative to the current folder if it is below.
fn shown_path(path: &Path) -> String {
    let relative = path.strip_prefix(&*CURRENT).unwrap_or(path);
    let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
    Shown::inline(&relative.to_string_lossy()).at_most(PATH_CHARS_MAX).to_string()
}

/// A parameter of a script: its name, what it takes, what it is for. `flag` stands behind what it takes.
fn parameter(text: &mut String, param: &ParamOut, flag: &str) {
    let optional = if param.required { "" } else { "  optional" };
    let _ = write!(text, "    {}  {}{flag}{optional}", Shown::inline(&param.name), takes(param));
    let _ = match &param.description {
        Some(description) => writeln!(text, "  {DIM}{}{RESET}", Shown::inline(description)),
        None => writeln!(text),
    };
}

fn takes(param: &ParamOut) -> String {
    let json = |bound: &Json| String::from_utf8_lossy(&bound.to_bytes()).into_owned();
    match (param.minimum.as_ref().map(json), param.maximum.as_ref().map(json)) {
        (Some(least), Some(most)) => return format!("{} {least} to {most}", param.kind),
        (Some(least), None) => return format!("{} from {least}", param.kind),
        (None, Some(most)) => return format!("{} to {most}", param.kind),
        (None, None) => {}
    }
    if let Some(values) = &param.values {
        let is_word = |value: &str| !value.is_empty() && value.chars().all(char::is_alphanumeric);
        let values = values.iter().map(|value| match Shown::inline(value) {
            shown if is_word(value) => shown.to_string(),
            shown => format!("'{shown}'"),
        });
        return format!("one of {}", values.collect::<Vec<_>>().join(" "));
    }
    match param.access {
        Some(access) => format!("{} to {access}", param.kind),
        None => param.kind.to_owned(),
    }
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// A number of bytes for people.
fn size(bytes: u64) -> String {
    let mut unit = 0;
    let mut tenths = u128::from(bytes) * 10;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} {}", UNITS[0]),
        _ => format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit]),
    }
}

const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const PATH_CHARS_MAX: usize = 1024;

/// The program never changes its folder, and an answer can have many paths.
static CURRENT: LazyLock<PathBuf> = LazyLock::new(|| std::env::current_dir().unwrap_or_default());
