//! Drafts of declarations for scripts that nobody declared: from their source, and from what they say about themselves
//! when they are asked for help.
//!
//! A draft is a claim like any other: typed data that grants nothing until a person has taken it over. Both texts are
//! hostile. They are read in linear time within the bounds below, and what could not be understood is said in a note and
//! never guessed.
//!
//! # Which text decides
//! The source is what runs, so what it writes out literally decides: types, choices, whether something must be given. What it
//! computes, and what it does not say, is filled in from the help text. The help text decides which arguments there are and
//! in which order positional ones stand; without one, a script whose arguments are computed is left out.
//!
//! # What is left out
//! A script with subcommands, or with a required argument that no parameter can express (an exact number of values, a rest),
//! is left out. An optional argument of that kind is left out by itself. One that may be given several times, or takes
//! several values, becomes a parameter with one value. Every one of these leaves a note.

mod argparse;
mod argument;
mod help;
mod note;
mod plain;
mod prose;
mod python;
mod usage;

use std::collections::BTreeSet;

pub use note::{Note, NoteKind};

use crate::json::Json;
use crate::manifest::{InterpreterKey, SCRIPTS_MAX, ScriptClaim, tool_name};
use crate::name::SkillName;
use crate::path::RelPath;
use crate::script::{self, Language, ScriptHint};
use argument::Argument;

/// Bytes of a script that is read; a larger one is left out.
pub const SOURCE_BYTES_MAX: usize = 256 << 10;
/// Bytes of a help text that is read; a longer one counts for nothing.
pub const HELP_BYTES_MAX: usize = 64 << 10;
/// Notes that are kept of one script.
pub const NOTES_MAX: usize = 64;

/// A script that nobody declared.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its path in the skill.
    pub path: &'a RelPath,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// What it wrote to standard output when it was asked for help and ended well.
    pub help: Option<&'a [u8]>,
}

/// What was drafted for the scripts of one skill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// The scripts, in the order of the candidates.
    pub scripts: Vec<DraftedScript>,
    /// What could not be drafted, in the same order.
    pub left_out: Vec<LeftOut>,
}

/// One script that was drafted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftedScript {
    /// The declaration. All of its words but the path are drafted.
    pub script: ScriptClaim,
    /// What a person who takes it over should know.
    pub notes: Vec<Note>,
}

/// One script that was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path in the skill.
    pub path: RelPath,
    /// Why.
    pub why: Note,
    /// What else there is to know.
    pub notes: Vec<Note>,
}

/// What one of the readers understood.
#[derive(Debug, Default)]
struct Reading {
    /// Its arguments.
    arguments: Vec<Argument>,
    /// Whether there are arguments that could not be read.
    is_partial: bool,
    /// Whether flags stand before positional arguments, as shells want it.
    flags_first: bool,
    /// What it says that it does.
    description: Option<String>,
    /// What there is to know.
    notes: Vec<Note>,
    /// What keeps the script from being drafted.
    bar: Option<Note>,
}

/// Drafts declarations.
///
/// Names are made from the names of files: what a name cannot hold becomes `_`, and one that is taken gets `_2`, `_3` and so
/// on; a note says from which file. `taken` are names that are declared already. What would be too long for a tool's name is
/// left out, and so is what is beyond `room` scripts, at most 64.
pub fn draft(skill: &SkillName, taken: &[&str], room: usize, candidates: &[Candidate<'_>]) -> Draft {
    let mut taken: BTreeSet<String> = taken.iter().map(|&name| name.to_owned()).collect();
    let mut draft = Draft::default();
    for candidate in candidates {
        let mut reading = read(candidate);
        let drafted = if let Some(why) = reading.bar.take() {
            Err(why)
        } else if draft.scripts.len() >= room.min(SCRIPTS_MAX) {
            Err(Note::of(NoteKind::TooManyScripts))
        } else {
            claim(skill, &taken, candidate, &mut reading)
        };
        reading.notes.truncate(NOTES_MAX);
        match drafted {
            Ok(script) => {
                taken.insert(script.name().as_str().to_owned());
                draft.scripts.push(DraftedScript { script, notes: reading.notes });
            }
            Err(why) => {
                draft.left_out.push(LeftOut { path: candidate.path.clone(), why, notes: reading.notes });
            }
        }
    }
    draft
}

/// Whether the source looks as if it answered `--help`. Others would take the word for an argument and go to work.
pub fn answers_help(bytes: &[u8]) -> bool {
    let words: [&[u8]; 9] = [
        b"argparse",
        b"click",
        b"typer",
        b"optparse",
        b"docopt",
        b"--help",
        b"commander",
        b"yargs",
        b"parseArgs",
    ];
    let bytes = &bytes[..bytes.len().min(SOURCE_BYTES_MAX)];
    words.iter().any(|word| bytes.windows(word.len()).any(|window| window == *word))
}

/// Everything that both texts say.
fn read(candidate: &Candidate<'_>) -> Reading {
    if candidate.bytes.len() > SOURCE_BYTES_MAX {
        return Reading::barred(NoteKind::SourceTooLarge);
    }
    let Ok(source) = core::str::from_utf8(candidate.bytes) else {
        return Reading::barred(NoteKind::SourceEncoding);
    };
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let language = hint(candidate).and_then(|hint| hint.language);
    let mut reading = match language {
        Some(Language::Python) if argparse::is_used(source) => argparse::read(source),
        _ => plain::read(source, language),
    };
    reading.notes.extend(prose::needs(source));
    let Some(help) = candidate.help else { return reading };
    match help::read(help) {
        Ok(help) => help::merge(help, reading),
        Err(kind) => {
            reading.notes.push(Note::of(kind));
            reading
        }
    }
}

/// The declaration that comes of a reading, or what keeps it from being one.
fn claim(
    skill: &SkillName,
    taken: &BTreeSet<String>,
    candidate: &Candidate<'_>,
    reading: &mut Reading,
) -> Result<ScriptClaim, Note> {
    if reading.is_partial {
        return Err(Note::of(NoteKind::NotUnderstood));
    }
    let hint = hint(candidate);
    let key = hint.as_ref().and_then(|hint| hint.interpreter).and_then(InterpreterKey::parse);
    let key = key.ok_or_else(|| Note::of(NoteKind::NoInterpreter))?;
    let arguments = core::mem::take(&mut reading.arguments);
    let params = argument::params(arguments, reading.flags_first, &mut reading.notes)?;
    let name = name(taken, candidate.path, &mut reading.notes);
    let description = reading.description.as_deref().and_then(prose::sentence);
    let description = description.unwrap_or_else(|| {
        reading.notes.push(Note::of(NoteKind::NoDescription));
        format!("Runs {}.", candidate.path.as_str())
    });
    let text = |text: &str| Json::String(text.to_owned());
    let script = argument::object([
        ("name", text(&name)),
        ("path", text(candidate.path.as_str())),
        ("description", text(&prose::cut(&description))),
        ("interpreter", text(key.as_str())),
        ("params", Json::Array(params)),
    ]);
    let read = ScriptClaim::read_list(&Json::Array(vec![script])).ok().and_then(|mut list| list.pop());
    let script = read.ok_or_else(|| Note::of(NoteKind::NotUnderstood))?;
    // It is the deployer's to choose another name for the tool (EXE-47).
    tool_name(skill, script.name())
        .map_err(|_| Note::about(script.name().as_str(), NoteKind::ToolNameTooLong))?;
    Ok(script)
}

fn hint(candidate: &Candidate<'_>) -> Option<ScriptHint> {
    let head = &candidate.bytes[..candidate.bytes.len().min(script::SHEBANG_BYTES_MAX)];
    script::suggest(candidate.path, head)
}

/// A free name from the file's name. That it differs is said.
fn name(taken: &BTreeSet<String>, path: &RelPath, notes: &mut Vec<Note>) -> String {
    let file = path.file_name();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| if stem.is_empty() { file } else { stem });
    let fits = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    let mut name: String = stem.chars().map(fits).take(NAME_CHARS_MAX).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name.insert(0, '_');
    }
    let numbered = (2..).map(|n| format!("{name}_{n}"));
    let free = core::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
    let free = free.unwrap_or(name);
    if free != stem {
        notes.push(Note::about(path.as_str(), NoteKind::Named));
    }
    free
}

impl Reading {
    fn barred(kind: NoteKind) -> Self {
        Self { bar: Some(Note::of(kind)), ..Self::default() }
    }
}

/// Room for a number behind it, within the 64 characters of a script's name.
const NAME_CHARS_MAX: usize = 56;

#[cfg(test)]
mod tests;
