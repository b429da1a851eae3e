//! A request for approval as the client of an agent can show it: the facts of the terminal's question in short, none of them cut.
//! What matters most comes first: a form shows its beginning, and may show no more.

use std::fmt::Write as _;

use fumehood_core::Shown;

use crate::report::{FileAsked, History, Question, quoted};

/// The question; `None` where it would be too long for a form, so that it is asked elsewhere.
pub(super) fn message(question: &Question) -> Option<String> {
    let mut text = String::new();
    let out = &mut text;
    let _ = writeln!(out, "Run {} from {}?", quoted(&question.file), quoted(&question.skill.name));
    touches(out, question);
    runs(out, question);
    let _ = writeln!(out, "Asked by: {}, in {}", whole(&question.agent), question.run);
    let _ = writeln!(out, "Asked because: {}", whole(&question.why));
    identified(out, question);
    let _ = write!(out, "Request: {}, open for 5 minutes, good once", question.id);
    (text.len() <= MESSAGE_BYTES_MAX).then_some(text)
}

/// What is at stake, and what is no longer what a person said yes to.
fn touches(out: &mut String, question: &Question) {
    for control in &question.unsafe_controls {
        let _ = writeln!(out, "UNSAFE: {}", whole(control));
    }
    let weak: Vec<_> = question.axes.iter().filter(|axis| axis.enforced == "not_enforced").collect();
    let names: Vec<_> = weak.iter().map(|axis| axis.name.as_str()).collect();
    if !names.is_empty() {
        let _ = writeln!(out, "FULL TRUST: this system does not enforce {}.", names.join(", "));
    }
    if question.files.is_empty() {
        let _ = writeln!(out, "Your files: none");
    }
    // What changes of what is there comes first.
    let (changed, rest): (Vec<_>, Vec<_>) =
        question.files.iter().partition(|file| matches!(file.usage.as_str(), "replace" | "change_folder"));
    for file in changed.into_iter().chain(rest) {
        let _ = writeln!(out, "{}: {}", verb(file), whole(&file.host));
    }
    if names.is_empty() {
        let _ = writeln!(out, "Network: none. It can read and change nothing else of yours.");
    }
}

/// What it is told to do.
fn runs(out: &mut String, question: &Question) {
    let argv: Vec<String> = question.argv.iter().map(|argument| quoted(argument)).collect();
    let _ = writeln!(out, "Command: {}", argv.join(" "));
    let _ = writeln!(out, "Skill: {}", history(&question.skill.history));
    let undeclared = "nobody declared what this script takes; they are passed as they stand";
    let arguments = if question.declared { whole(&question.arguments) } else { whole(undeclared) };
    let _ = writeln!(out, "Arguments: {arguments}");
    for note in &question.argument_notes {
        let (argument, file) = (quoted(&note.argument), quoted(&note.file));
        let _ = if note.relative {
            writeln!(out, "Note: the script looks for {argument} in the skill's folder, not for {file}")
        } else {
            writeln!(out, "Note: the script cannot see {argument}")
        };
    }
    let _ = writeln!(out, "In the folder: {}", whole(&question.directory));
}

/// Which bytes exactly, and within which limits: for who compares them.
fn identified(out: &mut String, question: &Question) {
    let skill = &question.skill;
    let _ = writeln!(out, "Source: {}", whole(&skill.source));
    let _ = writeln!(out, "Revision: {}", skill.revision);
    if let Some(overlay) = &skill.overlay {
        let _ = writeln!(out, "Declared by your overlay: sha256 {overlay}");
    }
    let interpreter = &question.interpreter;
    let _ = writeln!(out, "Interpreter: {}, sha256 {}", whole(&interpreter.path), interpreter.sha256);
    let limits: Vec<_> =
        question.limits.iter().map(|limit| format!("{} {}", limit.name, limit.value)).collect();
    let _ = writeln!(out, "Limits: {}", limits.join(", "));
    if let Some(folder) = &question.state_folder {
        let _ = writeln!(out, "State folder: {}", whole(folder));
    }
}

fn verb(file: &FileAsked) -> &'static str {
    match file.usage.as_str() {
        "read" => "May read",
        "read_folder" => "May read all of",
        "replace" => "MAY REPLACE",
        "create" => "May make",
        "change_folder" => "MAY CHANGE",
        _ => "May put in",
    }
}

fn history(history: &History) -> String {
    match history {
        History::First => "nothing of this skill was approved here before".to_owned(),
        History::Same { .. } => "the same that was approved before".to_owned(),
        History::Changed { added, changed, removed, .. } => {
            format!("CHANGED since it was approved: +{added} ~{changed} -{removed} files")
        }
    }
}

/// All of a text that somebody else wrote, on one line.
fn whole(text: &str) -> Shown<'_> {
    Shown::inline(text).at_most(usize::MAX)
}

/// More than a person reads in a form.
const MESSAGE_BYTES_MAX: usize = 8 << 10;
