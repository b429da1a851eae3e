//! Scripts that read their arguments themselves: a usage line in a comment or a text, `getopts`, and the places they use.

use super::Reading;
use super::argument::{Argument, Kind, Takes};
use super::note::{Note, NoteKind};
use super::prose;
use super::python::{Token, Tokens};
use super::usage::{self, Usage};
use crate::script::Language;

/// What the source says.
pub(super) fn read(source: &str, language: Option<Language>) -> Reading {
    let docstring = match (language, Tokens::of(source).next()) {
        (Some(Language::Python), Some(Token::Text(text))) => text,
        _ => None,
    };
    let mut reading = Reading {
        description: docstring.or_else(|| prose::first_comment(source)),
        flags_first: language == Some(Language::Shell),
        ..Reading::default()
    };
    let flags = if language == Some(Language::Shell) { getopts(source) } else { Some(Vec::new()) };
    match usages(source).as_slice() {
        [] => {
            let places = places(source, language);
            match (flags, places) {
                (Some(flags), Some(places)) => {
                    for place in &places {
                        reading.notes.push(Note::about(&place.name, NoteKind::PositionRequired));
                    }
                    reading.arguments = flags.into_iter().chain(places).collect();
                }
                _ => reading.is_partial = true,
            }
        }
        [line] => {
            let Usage { arguments, has_exclusive, has_subcommands, is_partial } = usage::read(line);
            reading.is_partial = is_partial;
            if has_subcommands {
                reading.bar = Some(Note::of(NoteKind::Subcommands));
            }
            if has_exclusive {
                reading.notes.push(Note::of(NoteKind::Exclusive));
            }
            let is_help = |argument: &Argument| {
                argument.flags.iter().any(|flag| ["-h", "--help", "--version"].contains(&flag.as_str()))
            };
            reading.arguments = arguments.into_iter().filter(|argument| !is_help(argument)).collect();
            // A program that wants an exact number means its brackets as no more than brackets.
            let places = reading.arguments.iter_mut().filter(|argument| argument.is_positional());
            let places: Vec<_> = places.collect();
            if exact_count(source) == Some(places.len()) {
                for argument in places {
                    argument.required = Some(true);
                }
            }
            // What the usage line sums up as "[options]" is known where getopts has it.
            for flag in flags.into_iter().flatten() {
                if !reading
                    .arguments
                    .iter()
                    .any(|other| other.flags.iter().any(|one| flag.flags.contains(one)))
                {
                    reading.arguments.push(flag);
                }
            }
        }
        _ => reading.bar = Some(Note::of(NoteKind::SeveralUses)),
    }
    if language == Some(Language::Python) && reading.arguments.is_empty() && is_library(source) {
        reading.bar = Some(Note::of(NoteKind::Library));
    }
    reading
}

/// How many arguments a source insists on.
fn exact_count(source: &str) -> Option<usize> {
    let forms = [
        ("len(sys.argv) != ", 1),
        ("len(sys.argv) == ", 1),
        ("$# -ne ", 0),
        ("$#\" -ne ", 0),
        ("process.argv.length !== ", 2),
    ];
    forms.iter().find_map(|(form, own)| {
        let rest = source.split_once(form)?.1;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse::<usize>().ok()?.checked_sub(*own)
    })
}

/// Whether a Python file does nothing but define: no line of its own calls or decides anything.
fn is_library(source: &str) -> bool {
    let acts = |line: &str| {
        let name = line.split('(').next().unwrap_or_default();
        let is_call = line.contains('(')
            && !name.is_empty()
            && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
        is_call
            || ["if ", "for ", "while ", "with ", "try:", "raise ", "assert "]
                .iter()
                .any(|word| line.starts_with(word))
    };
    !source.lines().any(acts)
}

/// What stands behind the program's name in each different usage line; more than two are as good as two.
fn usages(source: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut lines = source.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(at) = find_usage(line) else { continue };
        let mut said = vec![line[at..].to_owned()];
        if is_blank(&said[0]) {
            said.clear();
            // The line that follows, and those that go on in its way.
            while let Some(next) = lines.peek().filter(|_| said.len() < USAGES_MAX) {
                let next = next.trim().trim_start_matches(['#', '/', '*', ' ']);
                if next.is_empty() || !starts_with_program(next) {
                    break;
                }
                said.push(next.to_owned());
                lines.next();
            }
        }
        for line in said {
            let line = line.chars().take(LINE_CHARS_MAX).collect::<String>();
            if let Some(line) = behind_program(&line).filter(|line| !found.contains(line)) {
                found.push(line);
            }
        }
        if found.len() >= USAGES_MAX {
            break;
        }
    }
    found
}

/// Where the text behind `usage:` begins.
fn find_usage(line: &str) -> Option<usize> {
    let lower = line.to_ascii_lowercase();
    lower.find("usage:").map(|at| at + "usage:".len())
}

fn is_blank(text: &str) -> bool {
    text.trim_matches(|c: char| c.is_whitespace() || "\"'`)\\;".contains(c))
        .trim_end_matches("\\n")
        .is_empty()
}

fn is_program(word: &str) -> bool {
    let word = word.trim_start_matches(['"', '\'', '`']).trim_end_matches(['"', '\'', '`']);
    let is_file = word.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && !stem.starts_with('<')
            && ["py", "sh", "bash", "js", "mjs", "cjs", "ts", "rb", "pl"].contains(&extension)
    });
    RUNNERS.contains(&word)
        || is_file
        || word.starts_with('$')
        || word.starts_with("./")
        || word.contains("argv[0]")
        || word.contains("basename")
}

fn starts_with_program(line: &str) -> bool {
    line.split_whitespace().next().is_some_and(is_program)
}

/// What a usage line says behind the program; `None` if it names none, and so is no usage line.
fn behind_program(line: &str) -> Option<String> {
    let mut rest = line.trim().trim_start_matches(['"', '\'', '`']).trim_start();
    let mut programs = 0;
    while let Some(word) = rest.split_whitespace().next().filter(|word| is_program(word)) {
        rest = rest[word.len()..].trim_start();
        programs += 1;
        // `$(basename "$0")` and `{sys.argv[0]}` have more to them than one word.
        if word.starts_with("$(") && !word.ends_with(')') {
            let end = rest.find(')')?;
            rest = rest[end + 1..].trim_start_matches('"').trim_start();
        }
    }
    if programs == 0 {
        return None;
    }
    // A quote, a redirection or a comment ends it.
    let ends = ["\\n", "\"", "'", "`", " #", " >", "; ", " && ", "  ("];
    let end = ends.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
    Some(rest[..end].trim().to_owned())
}

/// The flags of a `getopts` call; `None` if there are several, or its list is computed.
fn getopts(source: &str) -> Option<Vec<Argument>> {
    let code = || source.lines().filter(|line| !line.trim_start().starts_with('#'));
    let mut calls = code().filter_map(|line| line.split_once("getopts ").map(|(_, rest)| rest.trim_start()));
    let Some(call) = calls.next() else {
        // Flags that a loop of its own reads cannot be told apart.
        let is_own = code().any(|line| line.trim_start().starts_with("--") && line.contains(')'));
        return (!is_own).then(Vec::new);
    };
    if calls.next().is_some() {
        return None;
    }
    let list = call.split_whitespace().next()?.trim_matches(['"', '\'']);
    let list = list.strip_prefix(':').unwrap_or(list);
    let mut flags: Vec<Argument> = Vec::new();
    for c in list.chars() {
        match c {
            ':' => flags.last_mut()?.takes = Takes::One,
            c if c.is_ascii_alphanumeric() => flags.push(usage::of_flag(&format!("-{c}"), false)),
            _ => return None,
        }
    }
    flags.retain(|flag| flag.name != "h" || flag.takes == Takes::One);
    Some(flags)
}

/// The places that a source uses, from the first on without a gap; `None` if it uses them in another way.
fn places(source: &str, language: Option<Language>) -> Option<Vec<Argument>> {
    let (opening, first, others): (&[&str], usize, &[&str]) = match language {
        Some(Language::Shell) => (&["$", "${"], 1, &["$@", "$*", "${@", "${*", "shift"]),
        Some(Language::Python) => (
            &["sys.argv["],
            1,
            &[
                "sys.argv",
                "import click",
                "import typer",
                "import fire",
                "from docopt",
                "optparse",
                "argparse",
            ],
        ),
        Some(Language::JavaScript | Language::TypeScript) => {
            (&["process.argv["], 2, &["process.argv", "commander", "yargs", "parseArgs", "minimist"])
        }
        _ => return None,
    };
    let mut names: Vec<(Option<String>, Kind)> = Vec::new();
    let mut functions = 0_usize;
    for line in source.lines() {
        let code = line.trim_start();
        if code.starts_with(['#', '*']) || code.starts_with("//") {
            continue;
        }
        // In a shell's function they are the function's.
        if language == Some(Language::Shell) {
            functions += usize::from(code.trim_end().ends_with("() {") || code.starts_with("function "));
            if functions > 0 {
                functions -= usize::from(line.starts_with('}'));
                continue;
            }
        }
        let mut used = false;
        for opening in opening {
            for (at, _) in code.match_indices(opening) {
                let rest = &code[at + opening.len()..];
                let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                let Ok(place) = rest[..digits.min(3)].parse::<usize>() else { continue };
                let behind = &rest[digits..];
                // A slice is more than one place.
                if opening.ends_with('[') && !behind.starts_with(']') {
                    continue;
                }
                used = true;
                let is_optional = behind.starts_with(":-") || behind.starts_with('-') && *opening == "${";
                if place == 0 || (place < first && language != Some(Language::Shell)) {
                    continue;
                }
                if is_optional || place - first >= PLACES_MAX {
                    return None;
                }
                if names.len() <= place - first {
                    names.resize(place - first + 1, (None, Kind::Unsaid));
                }
                let (name, kind) = &mut names[place - first];
                *name = name.take().or_else(|| assigned(&code[..at]));
                if ["open(", "Path(", "Reader("].iter().any(|call| code[..at].ends_with(call)) {
                    *kind = Kind::Path;
                }
            }
        }
        let reads_otherwise = others.iter().any(|other| code.contains(other));
        let only_counts = code.contains("len(sys.argv)") || code.contains("process.argv.length");
        if reads_otherwise && !used && !only_counts && !is_import(code, language) {
            return None;
        }
    }
    let count = names.len();
    let argument = |(index, (name, kind)): (usize, (Option<String>, Kind))| Argument {
        name: name.unwrap_or_else(|| format!("arg_{}", index + 1)),
        kind,
        required: Some(true),
        ..Argument::default()
    };
    (count <= PLACES_MAX).then(|| names.into_iter().enumerate().map(argument).collect())
}

fn is_import(code: &str, language: Option<Language>) -> bool {
    language == Some(Language::Python) && code.starts_with("import sys")
}

/// The variable that a place is given to at once.
fn assigned(before: &str) -> Option<String> {
    let before = before.trim_end().trim_end_matches(['"', '\'']).trim_end();
    let before = ["int(", "float(", "Path(", "open("]
        .iter()
        .find_map(|call| before.strip_suffix(call))
        .unwrap_or(before);
    let before = before.trim_end().strip_suffix('=')?.trim_end();
    let name = before.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next()?;
    (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then(|| name.to_owned())
}

const RUNNERS: [&str; 11] =
    ["python", "python3", "bash", "sh", "node", "uv", "run", "npx", "bun", "deno", "ruby"];
/// One more than one: there is a choice.
const USAGES_MAX: usize = 2;
const LINE_CHARS_MAX: usize = 1024;
const PLACES_MAX: usize = 16;
