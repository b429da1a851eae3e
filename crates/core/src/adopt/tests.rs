use proptest::prelude::*;

use super::*;
use crate::manifest::{ParamKind, PathAccess};

fn skill() -> SkillName {
    SkillName::parse("a-skill").unwrap()
}

fn of(path: &str, source: &str, help: Option<&[u8]>) -> Draft {
    let path = RelPath::parse(path).unwrap();
    draft(&skill(), &[], 64, &[Candidate { path: &path, bytes: source.as_bytes(), help }])
}

fn why(draft: &Draft) -> NoteKind {
    draft.left_out[0].why.kind()
}

#[test]
fn a_name_that_is_taken_is_numbered_and_said() {
    let (one, two) =
        (RelPath::parse("scripts/a/run.sh").unwrap(), RelPath::parse("scripts/b/run.sh").unwrap());
    let candidates = [&one, &two].map(|path| Candidate { path, bytes: b"echo\n", help: None });
    let free = draft(&skill(), &[], 64, &candidates);
    let names: Vec<_> = free.scripts.iter().map(|script| script.script.name().as_str()).collect();
    assert_eq!(names, ["run", "run_2"]);
    assert!(!free.scripts[0].notes.iter().any(|note| note.kind() == NoteKind::Named));
    assert_eq!(free.scripts[1].notes[0].subject(), "scripts/b/run.sh");
    let taken = draft(&skill(), &["run", "run_2"], 64, &candidates);
    assert_eq!(taken.scripts[0].script.name().as_str(), "run_3");
}

#[test]
fn what_is_beyond_the_room_is_left_out() {
    let path = RelPath::parse("scripts/run.sh").unwrap();
    let candidate = Candidate { path: &path, bytes: b"echo\n", help: None };
    assert_eq!(draft(&skill(), &[], 1, &[candidate]).scripts.len(), 1);
    assert_eq!(why(&draft(&skill(), &[], 0, &[candidate])), NoteKind::TooManyScripts);
}

// EXE-47: a name is refused, never shortened.
#[test]
fn a_tool_name_that_is_too_long_keeps_the_script_out() {
    let path = |chars: usize| format!("scripts/{}.sh", "x".repeat(chars));
    let fits = 64 - "run_a-skill_".len();
    assert_eq!(of(&path(fits), "echo\n", None).scripts.len(), 1);
    assert_eq!(why(&of(&path(fits + 1), "echo\n", None)), NoteKind::ToolNameTooLong);
}

#[test]
fn sources_and_help_have_their_bounds() {
    let source = |bytes: usize| format!("echo {}", "x".repeat(bytes - 5));
    assert_eq!(of("scripts/x.sh", &source(SOURCE_BYTES_MAX), None).scripts.len(), 1);
    assert_eq!(why(&of("scripts/x.sh", &source(SOURCE_BYTES_MAX + 1), None)), NoteKind::SourceTooLarge);
    let help = |bytes: usize| {
        let usage = "usage: x [-h] file\n";
        format!("{usage}{}", " ".repeat(bytes - usage.len()))
    };
    let notes = |bytes: usize| {
        let draft = of("scripts/x.sh", "echo\n", Some(help(bytes).as_bytes()));
        (
            draft.scripts[0].script.params().len(),
            draft.scripts[0].notes.iter().map(Note::kind).collect::<Vec<_>>(),
        )
    };
    assert_eq!(notes(HELP_BYTES_MAX).0, 1);
    let (params, kinds) = notes(HELP_BYTES_MAX + 1);
    assert!(params == 0 && kinds.contains(&NoteKind::HelpTooLong), "{kinds:?}");
}

#[test]
fn help_with_control_characters_counts_for_nothing() {
    for evil in ["\u{1b}[2J", "\u{1b}]52;c;AAAA\u{7}", "\u{9b}2J", "\0"] {
        let help = format!("usage: x [-h] file\n{evil}\n");
        let draft = of("scripts/x.sh", "echo\n", Some(help.as_bytes()));
        assert_eq!(draft.scripts[0].script.params().len(), 0);
        assert!(draft.scripts[0].notes.iter().any(|note| note.kind() == NoteKind::HelpHidden));
    }
}

/// Whatever is drafted keeps every rule, reads no more than it may, and gives no access but `read`.
fn is_well_formed(draft: &Draft) {
    for script in &draft.scripts {
        let json = Json::Array(vec![script.script.to_json()]);
        assert_eq!(ScriptClaim::read_list(&json).unwrap(), std::slice::from_ref(&script.script));
        assert!(script.notes.len() <= NOTES_MAX);
        for param in script.script.params() {
            assert!(!matches!(
                param.kind(),
                ParamKind::Path { access: PathAccess::Write | PathAccess::Create }
            ));
        }
        let texts = script.script.params().iter().filter_map(|param| param.description());
        for text in texts.chain([script.script.description()]) {
            assert!(!text.chars().any(crate::shown::is_hidden), "{text:?}");
        }
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "import argparse\n",
        "p = argparse.ArgumentParser(",
        "p.add_argument(",
        ")",
        "(",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "'",
        "\"\"\"",
        "--flag",
        "-x",
        "nargs=",
        "'?'",
        "'*'",
        "type=int",
        "choices=[",
        "required=True",
        ",",
        "\n",
        " ",
        "\\",
        "#",
        "usage: ",
        "x.py ",
        "<a>",
        "[b]",
        "...",
        "$1",
        "${2:-x}",
        "getopts ab: o",
        "sys.argv[1]",
        "options:\n",
        "  --y Y  text",
        "\u{202e}",
        "é",
        "f\"",
        "|",
        "action=",
        "\"append\"",
        "# /// script\n",
        "# dependencies = [",
        "# ///\n",
        "%(x)s",
        "\u{1b}",
    ]);
    prop::collection::vec(prop_oneof![8 => words.prop_map(str::to_owned), 1 => any::<String>()], 0..60)
        .prop_map(|all| all.concat())
}

proptest! {
    #[test]
    fn no_text_panics_or_drafts_what_breaks_a_rule(
        source in pieces(), help in prop::option::of(pieces()), path in prop::sample::select(vec!["scripts/x.py", "scripts/x.sh", "x.js"]),
    ) {
        is_well_formed(&of(path, &source, help.as_deref().map(str::as_bytes)));
    }
}

// Hostile repetition: each of these once took more than linear time in readers like these.
#[test]
fn long_runs_of_one_thing_end_soon() {
    let once = [
        "(",
        "[",
        "{",
        "<",
        "|",
        "p.add_argument(",
        "usage: ",
        "usage: x.py ",
        "\"",
        "\"\"\"",
        "'",
        "\\",
        "$1 ",
        "#",
        "[x ",
        "--a ",
        "a,",
        ", -a",
        "sys.argv[",
        "\n",
        "# /// script\n",
        "x",
        "getopts ",
        "...",
        "…",
    ];
    for piece in once {
        let text = piece.repeat(HELP_BYTES_MAX / piece.len() - 8);
        let python = format!("import argparse\np = argparse.ArgumentParser()\np.add_argument({text}");
        let help = format!("usage: x {text}");
        for (path, source) in [("scripts/x.py", &python), ("scripts/x.py", &text), ("scripts/x.sh", &text)] {
            is_well_formed(&of(path, source, Some(&help.as_bytes()[..help.len().min(HELP_BYTES_MAX)])));
        }
        let entries = format!("usage: x\n\noptions:\n  {text}\n  -x {text}");
        is_well_formed(&of("scripts/x.sh", "echo\n", Some(entries.as_bytes())));
    }
}
