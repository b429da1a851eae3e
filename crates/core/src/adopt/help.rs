//! What a script writes when it is asked for help, in the form of `argparse`.

use super::Reading;
use super::argument::{Argument, FLAGS_MAX, Kind, Takes};
use super::note::{Note, NoteKind};
use super::{HELP_BYTES_MAX, prose, usage};

/// What a help text says.
#[derive(Debug, Default)]
pub(super) struct Help {
    arguments: Vec<Argument>,
    description: Option<String>,
    has_exclusive: bool,
    has_subcommands: bool,
    is_partial: bool,
}

/// Reads a help text.
///
/// Refused are: more than 64 KiB, bytes that are no UTF-8, control characters (which terminals would act on), and a text
/// without a usage line.
pub(super) fn read(bytes: &[u8]) -> Result<Help, NoteKind> {
    if bytes.len() > HELP_BYTES_MAX {
        return Err(NoteKind::HelpTooLong);
    }
    let text = core::str::from_utf8(bytes).map_err(|_| NoteKind::HelpHidden)?;
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(NoteKind::HelpHidden);
    }
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let start = lines.iter().position(|line| is_usage(line)).ok_or(NoteKind::HelpForm)?;
    let after = lines[start + 1..].iter().position(|line| !line.starts_with(' '));
    let end = after.map_or(lines.len(), |after| start + 1 + after);
    let line = lines[start..end].join(" ");
    let words = &line[USAGE.len()..];
    let program = words.split_whitespace().next().unwrap_or_default();
    let behind = words.trim_start().strip_prefix(program).unwrap_or(words);
    let usage = usage::read(behind);
    let mut help = Help {
        arguments: usage.arguments,
        has_exclusive: usage.has_exclusive,
        has_subcommands: usage.has_subcommands,
        is_partial: usage.is_partial,
        description: None,
    };
    help.arguments.retain(|argument| !is_help(argument));
    let body = &lines[end..];
    let paragraph: Vec<&str> =
        body.iter().copied().skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty()).collect();
    help.description = (!paragraph.iter().any(|line| line.ends_with(':'))).then(|| paragraph.join("\n"));
    help.sections(body);
    Ok(help)
}

fn is_usage(line: &str) -> bool {
    line.get(..USAGE.len()).is_some_and(|start| start.eq_ignore_ascii_case(USAGE))
}

fn is_help(argument: &Argument) -> bool {
    argument.flags.iter().any(|flag| ["-h", "--help", "--version"].contains(&flag.as_str()))
}

impl Help {
    /// The sections behind the usage: each entry is two columns in, and its text goes on further in.
    fn sections(&mut self, lines: &[&str]) {
        let mut entry: Option<(String, String)> = None;
        let mut is_section = false;
        for line in lines {
            let indent = line.len() - line.trim_start().len();
            match indent {
                0 if !line.is_empty() => {
                    self.entry(entry.take());
                    is_section = line.ends_with(':');
                }
                2 if is_section => {
                    self.entry(entry.take());
                    let (invocation, text) = line[2..].split_once("  ").unwrap_or((&line[2..], ""));
                    entry = Some((invocation.to_owned(), text.trim().to_owned()));
                }
                _ => {
                    if let Some((_, text)) = entry.as_mut().filter(|_| !line.is_empty()) {
                        text.push(' ');
                        text.push_str(line.trim());
                    }
                }
            }
        }
        self.entry(entry);
    }

    /// One entry: flags with what stands for their values, or the name of a positional argument.
    fn entry(&mut self, entry: Option<(String, String)>) {
        let Some((invocation, text)) = entry else { return };
        let text = prose::whole(&text);
        if !invocation.starts_with('-') {
            let of_name = self.arguments.iter_mut().find(|argument| {
                argument.is_positional()
                    && (argument.name == invocation
                        || matches!(&argument.kind, Kind::Choices(values) if invocation == format!("{{{}}}", values.join(","))))
            });
            if let Some(argument) = of_name {
                argument.help = text;
            }
            return;
        }
        let mut argument = Argument { takes: Takes::Switch, required: Some(false), ..Argument::default() };
        for spelling in split(&invocation).into_iter().take(FLAGS_MAX) {
            let (flag, value) = spelling.split_once(' ').unwrap_or((spelling, ""));
            if !usage::is_flag(flag) {
                return;
            }
            argument.flags.push(flag.to_owned());
            if !value.is_empty() {
                (argument.takes, argument.kind, argument.metavar) = value_of(value.trim());
            }
        }
        let long = argument.flags.iter().find(|flag| flag.starts_with("--")).or(argument.flags.first());
        argument.name = long.map(|flag| flag.trim_start_matches('-').to_owned()).unwrap_or_default();
        argument.help = text;
        if is_help(&argument) {
            return;
        }
        let shared = |other: &Argument| other.flags.iter().any(|flag| argument.flags.contains(flag));
        match self.arguments.iter().position(shared) {
            Some(at) => {
                argument.required = self.arguments[at].required;
                self.arguments[at] = argument;
            }
            None if self.arguments.len() < ARGUMENTS_MAX => self.arguments.push(argument),
            None => self.is_partial = true,
        }
    }
}

/// The spellings of one entry: split at commas that are in no braces.
fn split(invocation: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in invocation.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(invocation[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(invocation[from..].trim());
    parts
}

/// What stands for a flag's value.
fn value_of(text: &str) -> (Takes, Kind, Option<String>) {
    if let Some(list) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        return (Takes::One, usage::choices(list), None);
    }
    let first = text.trim_start_matches('[').split([' ', ']']).next().unwrap_or(text).to_owned();
    let takes = match () {
        () if text.ends_with("...]") => Takes::Several { none: text.starts_with('[') },
        () if text.starts_with('[') => Takes::Optional,
        () if text.contains(' ') => Takes::Other,
        () => Takes::One,
    };
    (takes, Kind::Unsaid, Some(first))
}

/// Both texts as one, by the rule at the top of [`adopt`](super).
pub(super) fn merge(help: Help, source: Reading) -> Reading {
    let Reading { arguments: of_source, flags_first, description, mut notes, bar, .. } = source;
    let bar = help.has_subcommands.then(|| Note::of(NoteKind::Subcommands)).or(bar);
    if help.has_exclusive && !notes.iter().any(|note| note.kind() == NoteKind::Exclusive) {
        notes.push(Note::of(NoteKind::Exclusive));
    }
    let mut left: Vec<Option<Argument>> = of_source.into_iter().map(Some).collect();
    let places =
        |list: &[Option<Argument>]| list.iter().flatten().filter(|argument| argument.is_positional()).count();
    let same_count =
        places(&left) == help.arguments.iter().filter(|argument| argument.is_positional()).count();
    let mut arguments = Vec::new();
    for shown in help.arguments {
        let known = left.iter_mut().find(|known| {
            known.as_ref().is_some_and(|known| {
                if !shown.is_positional() {
                    return known.flags.iter().any(|flag| shown.flags.contains(flag));
                }
                let is_named = known.name == shown.name || known.metavar.as_ref() == Some(&shown.name);
                known.is_positional() && (same_count || is_named)
            })
        });
        if let Some(known) = known.and_then(Option::take) {
            arguments.push(together(known, shown, &mut notes));
        } else {
            notes.push(Note::about(shown.label(), NoteKind::HelpOnly));
            arguments.push(shown);
        }
    }
    let hidden = left.iter().flatten();
    notes.extend(hidden.map(|argument| Note::about(argument.label(), NoteKind::NotInHelp)));
    let description = description.or(help.description);
    Reading { arguments, is_partial: help.is_partial, flags_first, description, notes, bar }
}

/// One argument of both: what the source says literally, the rest from the help.
fn together(source: Argument, help: Argument, notes: &mut Vec<Note>) -> Argument {
    // What the help text shows is no longer unknown.
    if source.required.is_none() && help.required.is_some() {
        notes.retain(|note| note.kind() != NoteKind::RequiredUnknown || note.subject() != source.name);
    }
    let kind = match (source.kind, help.kind) {
        (Kind::Unsaid | Kind::Computed, choices @ Kind::Choices(_)) => choices,
        (kind, _) => kind,
    };
    Argument {
        required: source.required.or(help.required),
        metavar: source.metavar.or(help.metavar),
        help: source.help.filter(|text| !text.contains('%')).or(help.help),
        kind,
        ..source
    }
}

const USAGE: &str = "usage:";
const ARGUMENTS_MAX: usize = 256;
