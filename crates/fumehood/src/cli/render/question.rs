//! A request for approval, as a person at a terminal is asked it. Nothing is cut: what is long is folded where it is shown.
//! What matters most comes last, since the first lines may have left a small terminal by the time of the question.

use std::fmt::{Display, Write as _};

use fumehood_core::Shown;

use super::diff::since as since_approved;
use super::when::{since, when};
use super::{plural, quoted};
use crate::cli::output::{BOLD, RESET, WARNING};
use crate::report::{ArgumentNote, AxisAsked, FileAsked, History, Question};

/// The last line, waiting for the answer.
pub(in crate::cli) fn prompt() -> String {
    format!("{BOLD}Run it once? [y/N]{RESET} ")
}

/// The question, without its last line. `now_unix_ms` is given for one that was not made just now.
pub(in crate::cli) fn question(question: &Question, now_unix_ms: Option<u64>) -> String {
    let mut text = String::new();
    let out = &mut text;
    let (file, skill) = (quoted(&question.file), quoted(&question.skill.name));
    let _ = writeln!(out, "\n{BOLD}Run {file} from {skill}?{RESET}\n");
    changes(out, &question.skill.history);
    asked(out, question, now_unix_ms);
    confined(out, question);
    runs(out, question);
    touches(out, question);
    bounds(out, &question.axes);
    text
}

/// What changed since a person said yes, first: it may be long, and what the call may touch is decided below it.
fn changes(out: &mut String, history: &History) {
    let History::Changed { revision, files, .. } = history else { return };
    let differ = if files.len() == 1 { "differs" } else { "differ" };
    let _ =
        writeln!(out, "  {} {differ} from the revision that was approved last,", plural(files.len(), "file"));
    let _ = writeln!(out, "  {revision}:");
    since_approved(out, files);
    let _ = writeln!(out);
}

/// What holds beyond the lists above, or that nothing does (CHK-137, CHK-138).
fn bounds(out: &mut String, axes: &[AxisAsked]) {
    let open = axes.iter().filter(|axis| axis.enforced == "not_enforced");
    let open: Vec<_> = open.map(|axis| axis.name.as_str()).collect();
    let _ = match open.as_slice() {
        [] => writeln!(out, "\nIt can read and change nothing else of yours, and reaches no network."),
        open => writeln!(out, "\n{}", full_trust(open)),
    };
}

/// What is said where axes of the sandbox are not enforced.
pub(super) fn full_trust(open: &[&str]) -> String {
    let open = open.join(", ");
    format!(
        "{WARNING}FULL TRUST{RESET}: this system does not enforce {open}. There it does whatever you yourself may do."
    )
}

/// Who asks, and why.
fn asked(out: &mut String, question: &Question, now_unix_ms: Option<u64>) {
    let skill = &question.skill;
    if question.declared && !question.description.is_empty() {
        let label = if skill.overlay.is_some() { "described as" } else { "its author says" };
        line(out, label, whole(&question.description));
    }
    line(out, "asked by", format_args!("{}, in {}", whole(&question.agent), question.run));
    line(out, "asked because", &question.why);
    let open = match now_unix_ms {
        None => "open for 5 minutes".to_owned(),
        Some(now) => since(question.created_unix_ms, question.expires_unix_ms, now),
    };
    line(out, "request", format_args!("{}, {open}, good once", question.id));
    if let Some(folder) = &question.state_folder {
        line(out, "state folder", whole(folder));
    }
}

/// Whose bytes run, and how.
fn runs(out: &mut String, question: &Question) {
    let skill = &question.skill;
    let _ = writeln!(out);
    line(out, "skill", format_args!("{}, from the source {}", whole(&skill.name), whole(&skill.source)));
    line(out, "revision", &skill.revision);
    line(out, "", history(&skill.history));
    if let Some(overlay) = &skill.overlay {
        line(out, "overlay", format_args!("yours, sha256 {overlay}"));
    }
    let argv: Vec<String> = question.argv.iter().map(|argument| quoted(argument)).collect();
    line(out, "command", argv.join(" "));
    if question.declared {
        line(out, "arguments", whole(&question.arguments));
    } else {
        line(out, "arguments", "nobody declared what this script takes; they are passed as they stand");
    }
    for note in &question.argument_notes {
        noted(out, note);
    }
    line(out, "in the folder", whole(&question.directory));
}

/// What of the person's it may touch, changes last and marked.
fn touches(out: &mut String, question: &Question) {
    let _ = writeln!(out);
    for control in &question.unsafe_controls {
        line(out, "UNSAFE", control);
    }
    if question.files.is_empty() {
        line(out, "your files", "none");
    }
    for file in &question.files {
        line(out, verb(file), place(file));
    }
}

/// What it runs on and within.
fn confined(out: &mut String, question: &Question) {
    let _ = writeln!(out);
    let interpreter = &question.interpreter;
    let version = interpreter.version.as_deref().unwrap_or("version unknown");
    line(out, "interpreter", format_args!("{} ({})", whole(&interpreter.path), whole(version)));
    line(out, "", format_args!("sha256 {}", interpreter.sha256));
    let environment = question.environment.iter();
    let environment: Vec<String> =
        environment.map(|variable| format!("{}={}", variable.name, quoted(&variable.value))).collect();
    line(out, "environment", environment.join(" "));
    for (index, limit) in question.limits.iter().enumerate() {
        let label = if index == 0 { "limits" } else { "" };
        let enforced = enforced(&limit.enforced);
        line(out, label, format_args!("{} {} ({enforced})", limit.name, limit.value));
    }
    let weak: Vec<_> = question.axes.iter().filter(|axis| axis.enforced != "enforced").collect();
    let rest = plural(question.axes.len() - weak.len(), "axis").replace("axiss", "axes");
    line(out, "sandbox", format_args!("level {}, {rest} enforced", question.level));
    for axis in weak {
        let (name, mechanism) = (&axis.name, &axis.mechanism);
        line(out, "", format_args!("{name}: {WARNING}{}{RESET}: {mechanism}", enforced(&axis.enforced)));
    }
}

/// A path that the script takes otherwise than it was meant, most likely.
fn noted(out: &mut String, note: &ArgumentNote) {
    let (argument, file) = (quoted(&note.argument), quoted(&note.file));
    if !note.relative {
        let text =
            format_args!("{WARNING}note{RESET}: {argument}: the script cannot see it; add --read {file}");
        return line(out, "", text);
    }
    let rest = if note.granted { String::new() } else { format!(" and add --read {file}") };
    let text = format_args!(
        "{WARNING}note{RESET}: {argument}: the script looks for it in the skill's folder; if {file} is meant, write that{rest}"
    );
    line(out, "", text);
}

fn verb(file: &FileAsked) -> &'static str {
    match file.usage.as_str() {
        "read" => "may read",
        "read_folder" => "may read all of",
        "replace" => "MAY REPLACE",
        "create" => "may make",
        "change_folder" => "MAY CHANGE",
        _ => "may put in",
    }
}

fn place(file: &FileAsked) -> String {
    if file.host == file.inside {
        return whole(&file.host).to_string();
    }
    format!("{} (it sees {})", whole(&file.host), whole(&file.inside))
}

fn history(history: &History) -> String {
    match history {
        History::First => "nothing of this skill was approved here before".to_owned(),
        History::Same { approved_unix_ms } => {
            format!("the same that was approved on {}", when(*approved_unix_ms))
        }
        History::Changed { approved_unix_ms, added, changed, removed, .. } => format!(
            "CHANGED since it was approved on {}: +{added} ~{changed} -{removed} files",
            when(*approved_unix_ms)
        ),
    }
}

fn enforced(word: &str) -> &'static str {
    match word {
        "enforced" => "enforced",
        "partly" => "enforced in part",
        _ => "NOT ENFORCED on this system",
    }
}

/// One thing under its label.
fn line(out: &mut String, label: &str, value: impl Display) {
    let _ = writeln!(out, "  {label:<15} {value}");
}

/// All of a text that somebody else wrote, on one line.
fn whole(text: &str) -> Shown<'_> {
    Shown::inline(text).at_most(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{InterpreterAsked, LimitAsked, SkillAsked, Variable};

    fn of_a_checked_tool(axes: Vec<AxisAsked>) -> Question {
        let text = str::to_owned;
        let variable = |name: &str, value: &str| Variable { name: text(name), value: text(value) };
        Question {
            schema_version: 1,
            id: text("ask_07"),
            agent: text("cli"),
            run: text("run_07"),
            tool: text("call_tool"),
            description: String::new(),
            skill: SkillAsked {
                source: text("path"),
                name: text("tool"),
                revision: "0".repeat(64),
                overlay: None,
                history: History::First,
            },
            file: text("go.mjs"),
            declared: true,
            arguments: text("{\"n\":1}"),
            argv: ["/usr/bin/node", "/skill/go.mjs"].map(text).to_vec(),
            argument_notes: Vec::new(),
            directory: text("/skill"),
            interpreter: InterpreterAsked {
                path: text("/usr/bin/node"),
                version: None,
                sha256: "1".repeat(64),
            },
            environment: vec![variable("A", "1"), variable("LANG", "C.UTF-8"), variable("Z", "a b")],
            files: vec![FileAsked {
                usage: text("read_folder"),
                changes: false,
                host: text("/home/user/papers"),
                inside: text("/home/user/papers"),
            }],
            limits: vec![LimitAsked { name: text("time"), value: text("5 s"), enforced: text("enforced") }],
            level: text("kernel"),
            level_floor: text("kernel"),
            axes,
            why: text("nothing decides"),
            unsafe_controls: Vec::new(),
            state_folder: None,
            created_unix_ms: 0,
            expires_unix_ms: 300_000,
        }
    }

    fn axis(name: &str, enforced: &str) -> AxisAsked {
        AxisAsked { name: name.to_owned(), enforced: enforced.to_owned(), mechanism: "nothing".to_owned() }
    }

    // CHK-026, CHK-050, CHK-137, CHK-138: the whole question of a checked tool on a machine that does not confine all of it; full
    // trust is the last thing that is said before the answer, and the axis is named twice.
    #[test]
    fn a_checked_tool_is_asked_about_with_full_trust_where_that_is_so() {
        let shown = |axes| {
            let text = question(&of_a_checked_tool(axes), None);
            [BOLD, RESET, WARNING].iter().fold(text, |text, style| text.replace(&style.to_string(), ""))
        };
        let open = shown(vec![axis("reads", "not_enforced"), axis("network", "enforced")]);
        for line in [
            "Run go.mjs from tool?",
            &format!("  revision        {}", "0".repeat(64)),
            "  arguments       {\"n\":1}",
            "  may read all of /home/user/papers",
            "  limits          time 5 s (enforced)",
            "  environment     A=1 LANG=C.UTF-8 Z='a b'",
            "                  reads: NOT ENFORCED on this system: nothing",
        ] {
            assert!(open.lines().any(|shown| shown == line), "{line}\n{open}");
        }
        let last = "\n\nFULL TRUST: this system does not enforce reads. There it does whatever you yourself may do.\n";
        assert!(open.ends_with(last), "{open}");
        let confined = shown(vec![axis("reads", "enforced"), axis("network", "enforced")]);
        assert!(!confined.contains("FULL TRUST") && !confined.contains("NOT ENFORCED"), "{confined}");
    }

    // CHK-050, CHK-137, CHK-138: where nothing holds, that is said in the place of what would hold.
    #[test]
    fn what_is_not_enforced_is_full_trust() {
        let said = |axes: &[AxisAsked]| {
            let mut text = String::new();
            bounds(&mut text, axes);
            text
        };
        let good = said(&[axis("reads", "enforced"), axis("memory", "partly")]);
        assert_eq!(good, "\nIt can read and change nothing else of yours, and reaches no network.\n");
        let open = said(&[
            axis("reads", "not_enforced"),
            axis("writes", "enforced"),
            axis("network", "not_enforced"),
        ]);
        assert!(open.contains("FULL TRUST") && open.contains("does not enforce reads, network."), "{open}");
        assert!(!open.contains("nothing else of yours"), "{open}");
    }
}
