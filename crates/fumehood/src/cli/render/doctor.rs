//! `doctor` as text: what confines, what could run, where our own files are; and the lines of a proof.

use std::fmt::Write as _;
use std::path::Path;

use fumehood_core::Shown;

use super::{plural, shown_path};
use crate::cli::output::{BOLD, DIM, ERROR, GOOD, RESET, WARNING};
use crate::report::{
    AttackReport, DoctorReport, FolderReport, InterpreterReport, ProveReport, SandboxReport,
};

pub(in crate::cli) fn doctor(text: &mut String, report: &DoctorReport) {
    sandbox(text, &report.sandbox);
    let _ = writeln!(text, "\n{BOLD}Interpreters{RESET}");
    for interpreter in &report.interpreters {
        found(text, interpreter);
    }
    let _ = writeln!(text, "\n{BOLD}Folders{RESET}");
    for own in &report.folders {
        folder(text, own);
    }
    let switches = match report.unsafe_switches.as_slice() {
        [] => "none".to_owned(),
        switches => format!("{ERROR}{}{RESET}", Shown::inline(&switches.join(", "))),
    };
    let _ = writeln!(text, "\n{BOLD}Unsafe switches{RESET}  {switches}");
    if report.sandbox.level.is_some() {
        let _ = writeln!(
            text,
            "\n{DIM}To see whether the sandbox holds on this machine: fumehood doctor --prove{RESET}"
        );
    }
}

fn sandbox(text: &mut String, sandbox: &SandboxReport) {
    let _ = match sandbox.level {
        Some(level) => {
            let (style, of) = match level {
                "full" => (GOOD, "namespaces, Landlock and a system call filter"),
                "namespaces" => (WARNING, "namespaces and a system call filter, without Landlock"),
                _ => (WARNING, "Landlock and a system call filter, without namespaces"),
            };
            writeln!(text, "{BOLD}Sandbox{RESET}  level {style}{level}{RESET}: {of}")
        }
        None => writeln!(
            text,
            "{BOLD}Sandbox{RESET}  {ERROR}none{RESET}: this machine cannot confine a program, so nothing runs on it [{}]",
            sandbox.code.unwrap_or_default()
        ),
    };
    if let Some(obstacle) = &sandbox.obstacle {
        let why = if sandbox.level.is_some() { "not full" } else { "why" };
        let _ = writeln!(text, "  {why:<KEY_COLUMN$}  {}", Shown::inline(&obstacle.message));
        let _ = writeln!(text, "  {:<KEY_COLUMN$}  {}", "remedy", Shown::inline(&obstacle.remedy));
    }
    for axis in &sandbox.axes {
        let (style, state) = match axis.state {
            "enforced" => (GOOD, "enforced"),
            "partly" => (WARNING, "partly"),
            _ => (ERROR, "NOT ENFORCED"),
        };
        let _ = writeln!(
            text,
            "  {:<KEY_COLUMN$}  {style}{state:<STATE_COLUMN$}{RESET}  {}",
            axis.name, axis.mechanism
        );
    }
}

fn found(text: &mut String, interpreter: &InterpreterReport) {
    let _ = write!(text, "  {:<KEY_COLUMN$}  ", interpreter.key);
    if interpreter.status == "missing" {
        let _ = writeln!(text, "{DIM}not at {}{RESET}", interpreter.candidates.join(" or "));
        return;
    }
    let path = interpreter.path.as_deref().unwrap_or_default();
    let _ = write!(text, "{}", Shown::inline(path));
    if let Some(file) = interpreter.file.as_deref().filter(|file| *file != path) {
        let _ = write!(text, " -> {}", Shown::inline(file));
    }
    if interpreter.status == "refused" {
        let reason = interpreter.reason.as_deref().unwrap_or_default();
        let _ = writeln!(text, "  {ERROR}refused{RESET}: {}", Shown::inline(reason));
        return;
    }
    let _ = match (&interpreter.version, &interpreter.reason) {
        (Some(version), _) => writeln!(text, "  {}", Shown::inline(version).at_most(VERSION_CHARS)),
        (None, reason) => {
            writeln!(text, "  {DIM}{}{RESET}", Shown::inline(reason.as_deref().unwrap_or_default()))
        }
    };
    let sha256 = interpreter.sha256.as_deref().unwrap_or_default();
    let _ = writeln!(text, "  {:<KEY_COLUMN$}  {DIM}sha256 {sha256}{RESET}", "");
}

fn folder(text: &mut String, folder: &FolderReport) {
    let path = folder.path.as_deref().map(|path| shown_path(Path::new(path)));
    let _ = write!(text, "  {:<KEY_COLUMN$}  {}", folder.role, path.as_deref().unwrap_or("unknown"));
    if let (Some(mode), Some(owner)) = (&folder.mode, folder.owner) {
        let _ = write!(text, "  mode {mode}, user {owner}");
    }
    let reason = Shown::inline(folder.reason.as_deref().unwrap_or_default()).at_most(1024);
    let _ = match folder.status {
        "private" => writeln!(text, "  {GOOD}private{RESET}"),
        "absent" => writeln!(text, "  {DIM}not made yet{RESET}"),
        "visible" => writeln!(text, "  {WARNING}used{RESET}: {reason}"),
        _ => writeln!(text, "  {ERROR}refused{RESET}: {reason} [E_HOME_REFUSED]"),
    };
}

pub(in crate::cli) fn begin(text: &mut String, level: &str, attacks: usize) {
    let _ = writeln!(
        text,
        "{BOLD}Level {level}{RESET}: {}, each tried outside the sandbox, where it must succeed, and inside.\n\
         Takes about half a minute; Ctrl-C stops it.\n",
        plural(attacks, "attack")
    );
}

/// One attack on one line.
pub(in crate::cli) fn attack(text: &mut String, attack: &AttackReport) {
    let detail = Shown::inline(attack.detail.as_deref().unwrap_or_default()).at_most(DETAIL_CHARS);
    let name = attack.name;
    let _ = match attack.verdict {
        "held" => writeln!(text, "{GOOD}held{RESET}    {name:<NAME_COLUMN$}  {DIM}{}{RESET}", attack.what),
        "not_run" => {
            writeln!(text, "{WARNING}-{RESET}       {name:<NAME_COLUMN$}  not enforced, not run: {detail}")
        }
        _ => writeln!(text, "{ERROR}BROKEN{RESET}  {name:<NAME_COLUMN$}  {detail}"),
    };
}

pub(in crate::cli) fn summary(text: &mut String, report: &ProveReport) {
    let (level, summary) = (report.level, report.summary);
    let _ = write!(
        text,
        "\n{BOLD}{}{RESET}: {} held, {} broken, {} not run. ",
        plural(report.attacks.len(), "attack"),
        summary.held,
        summary.broken,
        summary.not_run
    );
    let _ = match report.code {
        None => writeln!(text, "{GOOD}Every promise of level {level} holds here.{RESET}"),
        Some(code) => writeln!(
            text,
            "{ERROR}Level {level} does not hold here.{RESET} [{code}]\n  this is a bug; please report the broken lines, privately (SECURITY.md), and run nothing you do not trust"
        ),
    };
}

const KEY_COLUMN: usize = 11;
const STATE_COLUMN: usize = 8;
/// As long as the longest name of an attack.
const NAME_COLUMN: usize = 31;
const VERSION_CHARS: usize = 80;
const DETAIL_CHARS: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{AxisReport, ObstacleReport, ProofSummary};

    fn plain(build: impl FnOnce(&mut String)) -> String {
        let mut text = String::new();
        build(&mut text);
        anstream::adapter::strip_str(&text).to_string()
    }

    const HOSTILE: &str = "v\u{1b}[2J\u{202e}1\nheld  everything";

    #[test]
    fn what_an_interpreter_says_of_itself_stays_on_its_line() {
        let interpreter = |status, version: Option<&str>, reason: Option<&str>| InterpreterReport {
            key: "sh",
            status,
            candidates: &["/usr/bin/sh"],
            path: Some("/usr/bin/sh".to_owned()),
            file: Some(HOSTILE.to_owned()),
            sha256: Some("00".to_owned()),
            version: version.map(str::to_owned),
            reason: reason.map(str::to_owned),
        };
        let long = "x".repeat(VERSION_CHARS + 1);
        for (interpreter, lines) in [
            (interpreter("found", Some(HOSTILE), None), 2),
            (interpreter("found", None, Some(HOSTILE)), 2),
            (interpreter("found", Some(&long), None), 2),
            (interpreter("refused", None, Some(HOSTILE)), 1),
        ] {
            let mut text = String::new();
            found(&mut text, &interpreter);
            assert_eq!(text.lines().count(), lines, "{text}");
            assert!(
                text.contains("v\\u{1b}[2J\\u{202e}1\\nheld") && !text.contains("[2J\u{202e}"),
                "{text:?}"
            );
            assert!(!text.contains(&long), "{text}");
        }
    }

    #[test]
    fn a_weaker_level_says_why_and_an_axis_that_is_not_enforced_shouts() {
        let report = SandboxReport {
            level: Some("namespaces"),
            code: None,
            obstacle: Some(ObstacleReport { message: "it fails".to_owned(), remedy: "mend it".to_owned() }),
            axes: vec![AxisReport { name: "files", state: "not_enforced", mechanism: "nothing" }],
        };
        let expected = "\
Sandbox  level namespaces: namespaces and a system call filter, without Landlock
  not full     it fails
  remedy       mend it
  files        NOT ENFORCED  nothing
";
        assert_eq!(plain(|text| sandbox(text, &report)), expected);
    }

    // XSF-53: a promise that does not hold has another exit code than anything a script can give.
    #[test]
    fn a_broken_promise_is_told_on_its_line_and_at_the_end() {
        let tried = |verdict, detail: Option<&str>| AttackReport {
            name: "read",
            what: "reads",
            seen: "general",
            met: "",
            verdict,
            detail: detail.map(str::to_owned),
        };
        let attacks =
            vec![tried("held", None), tried("broken", Some(HOSTILE)), tried("not_run", Some("no cap"))];
        let mut summary = ProofSummary::default();
        for attack in &attacks {
            summary.count(attack);
        }
        assert_eq!(summary, ProofSummary { held: 1, broken: 1, not_run: 1 });
        assert_eq!(summary.code().map(|code| code.class().exit_code()), Some(70));
        assert_eq!(ProofSummary { broken: 0, ..summary }.code(), None);
        let shown = plain(|text| attacks.iter().for_each(|tried| attack(text, tried)));
        let name = format!("{:<NAME_COLUMN$}", "read");
        let expected = format!(
            "held    {name}  reads\nBROKEN  {name}  v\\u{{1b}}[2J\\u{{202e}}1\\nheld  everything\n\
             -       {name}  not enforced, not run: no cap\n"
        );
        assert_eq!(shown, expected);
        let code = summary.code().map(fumehood_core::Code::as_str);
        let report = ProveReport { schema_version: 1, level: "full", code, summary, attacks };
        let end = plain(|text| super::summary(text, &report));
        assert!(end.starts_with("\n3 attacks: 1 held, 1 broken, 1 not run. Level full does not hold here. [E_SANDBOX_BROKEN]\n"), "{end}");
        let good = ProveReport { code: None, ..report };
        assert!(
            plain(|text| super::summary(text, &good)).ends_with("Every promise of level full holds here.\n")
        );
    }
}
