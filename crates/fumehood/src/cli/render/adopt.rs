//! A draft, the question before it is taken over, and what became of it.

use std::fmt::Write as _;

use fumehood_core::Shown;

use super::{diff, parameter, plural, shown_path};
use crate::cli::output::{BOLD, DIM, RESET, WARNING};
use crate::host::DraftPreview;
use crate::report::{AcceptReport, AdoptReport, DraftedOut, HelpOut, NoteOut};

/// `typed` is how the person named the skill: roots, then its name.
pub(in crate::cli) fn drafted(text: &mut String, report: &AdoptReport, typed: &str) {
    let _ =
        writeln!(text, "{BOLD}{}{RESET}\n  revision     {}", Shown::inline(&report.skill), report.revision);
    let asked = match report.help {
        "asked" => "scripts that answer --help were asked for it, each on your word",
        "off" => "no script was asked; read from the sources only",
        _ => "no script was asked, since there is no terminal to ask you at; read from the sources only",
    };
    let _ = writeln!(text, "  help         {asked}");
    for drafted in &report.scripts {
        script(text, drafted);
    }
    for left in &report.left_out {
        let _ = writeln!(text, "\n{WARNING}left out{RESET} {}", Shown::inline(&left.path).at_most(1024));
        note(text, &left.why);
        help(text, &left.help);
        left.notes.iter().for_each(|one| note(text, one));
    }
    let _ = match &report.draft {
        Some(draft) => writeln!(
            text,
            "\nDraft: {}\nIt counts for nothing until you take it over: fumehood adopt --accept {typed}",
            shown_path(draft.as_ref())
        ),
        None => writeln!(text, "\nNothing was drafted."),
    };
}

fn script(text: &mut String, drafted: &DraftedOut) {
    let script = &drafted.script;
    let _ = writeln!(
        text,
        "\n{BOLD}{}{RESET}  {}  {DIM}{}{RESET}",
        Shown::inline(&script.name),
        Shown::inline(&script.path).at_most(1024),
        Shown::inline(&script.interpreter)
    );
    let _ = writeln!(text, "  {}", Shown::inline(&script.description));
    for param in &script.params {
        let flag = param.flag.as_deref().map(|flag| format!("  {}", Shown::inline(flag))).unwrap_or_default();
        parameter(text, param, &flag);
    }
    help(text, &drafted.help);
    drafted.notes.iter().for_each(|one| note(text, one));
}

fn help(text: &mut String, help: &HelpOut) {
    let receipt = help.receipt.as_deref().unwrap_or("none");
    let _ = match (help.status, help.code) {
        ("not_asked", _) => Ok(()),
        ("answered", _) => writeln!(text, "  {DIM}help: answered, receipt {receipt}{RESET}"),
        ("failed", _) => writeln!(text, "  help: it failed when it was asked, receipt {receipt}"),
        ("killed", _) => writeln!(text, "  help: it did not end well, receipt {receipt}"),
        ("denied", _) => writeln!(text, "  help: not asked, you did not say yes"),
        (_, code) => writeln!(text, "  help: it could not be asked [{}]", code.unwrap_or("E_INTERNAL")),
    };
}

fn note(text: &mut String, note: &NoteOut) {
    let _ = match note.about.as_str() {
        "" => writeln!(text, "  note: {}", note.message),
        about => writeln!(text, "  note: {}: {}", Shown::inline(about), note.message),
    };
}

/// The draft in full, as it will be written, and what differs from what is there. Nothing is cut.
pub(in crate::cli) fn question(preview: &DraftPreview) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "\n{BOLD}Overlay for {}{RESET}\n{}\n\n{}",
        Shown::inline(&preview.skill),
        preview.revision,
        Shown::block(&preview.text)
    );
    match &preview.differs {
        None => {}
        Some(None) => {
            let _ = writeln!(text, "It takes the place of another one, too different to be compared here.\n");
        }
        Some(Some(lines)) => {
            let _ = writeln!(text, "It takes the place of another one. What differs:\n");
            diff::lines(&mut text, lines);
            text.push('\n');
        }
    }
    let _ = writeln!(
        text,
        "Names, descriptions and flags in it are the author's words. It goes into {}.\n\
         Each run still asks you; what a run may read is what its arguments name.",
        shown_path(&preview.settings)
    );
    let _ = write!(text, "{BOLD}Take it over? [y/N]{RESET} ");
    text
}

/// `typed` as in [`drafted`].
pub(in crate::cli) fn accepted(text: &mut String, report: &AcceptReport, typed: &str) {
    let skill = Shown::inline(&report.skill);
    let settings = shown_path(report.settings.as_ref());
    let _ = match (report.changed, report.replaced) {
        (false, _) => writeln!(text, "Taken over already: {skill} in {settings}"),
        (true, false) => writeln!(text, "Taken over: {skill} in {settings}"),
        (true, true) => writeln!(text, "Taken over in place of the one before: {skill} in {settings}"),
    };
    let names = report.scripts.join(", ");
    let count = plural(report.scripts.len(), "script");
    let _ = writeln!(text, "It declares {count}: {}", Shown::inline(&names).at_most(8192));
    let _ = writeln!(text, "What to type for each: fumehood show {typed}");
}
