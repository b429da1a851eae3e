//! Python scripts that use `argparse`: each `add_argument(` with what it says literally.

use super::Reading;
use super::argument::{Argument, FLAGS_MAX, Kind, Takes};
use super::note::{Note, NoteKind};
use super::prose;
use super::python::{Call, Token, Tokens, Value};

/// Whether a source uses `argparse` itself.
pub(super) fn is_used(source: &str) -> bool {
    source.contains("argparse") && source.contains("add_argument")
}

/// What the source says.
pub(super) fn read(source: &str) -> Reading {
    let mut reading = Reading::default();
    let mut tokens = Tokens::of(source);
    let (mut parsers, mut is_first, mut previous) = (0, true, None);
    let mut docstring = None;
    while let Some(token) = tokens.next() {
        if let (true, Token::Text(Some(text))) = (is_first, &token) {
            docstring = Some(text.clone());
        }
        is_first = false;
        if token != Token::Mark('(') {
            previous = Some(token);
            continue;
        }
        let Some(Token::Name(function)) = previous.replace(Token::Mark('(')) else { continue };
        match function {
            "ArgumentParser" => {
                parsers += 1;
                if let Some(call) = call(&mut tokens, &mut reading) {
                    let text = call.text("description").map(str::to_owned);
                    reading.description = reading.description.take().or(text);
                    reading.is_partial |= call.get("parents").is_some() || call.get("**").is_some();
                }
            }
            "add_argument" => {
                let argument =
                    call(&mut tokens, &mut reading).map(|call| argument(&call, &mut reading.notes));
                match argument {
                    Some(Read::Argument(argument)) if reading.arguments.len() < ARGUMENTS_MAX => {
                        reading.arguments.push(*argument);
                    }
                    Some(Read::Nothing) => {}
                    _ => reading.is_partial = true,
                }
            }
            "add_subparsers" => reading.bar = Some(Note::of(NoteKind::Subcommands)),
            "add_mutually_exclusive_group" => reading.notes.push(Note::of(NoteKind::Exclusive)),
            _ => {}
        }
    }
    // Which of them reads the arguments is decided when it runs.
    reading.is_partial |= parsers != 1;
    reading.description = reading.description.or(docstring).or_else(|| prose::first_comment(source));
    reading
}

fn call(tokens: &mut Tokens<'_>, reading: &mut Reading) -> Option<Call> {
    let call = tokens.call();
    reading.is_partial |= call.is_none();
    call
}

/// What one call declares.
enum Read {
    Argument(Box<Argument>),
    /// Help or a version, which are no arguments of a run.
    Nothing,
    /// Something computed.
    Computed,
}

fn argument(call: &Call, notes: &mut Vec<Note>) -> Read {
    let names: Option<Vec<&str>> = call.positional.iter().map(literal).collect();
    let Some(names) = names.filter(|names| !names.is_empty() && call.get("**").is_none()) else {
        return Read::Computed;
    };
    let flags: Vec<String> = if names[0].starts_with('-') {
        names.iter().take(FLAGS_MAX).map(|&name| name.to_owned()).collect()
    } else {
        Vec::new()
    };
    let long = flags.iter().find(|flag| flag.starts_with("--")).or(flags.first());
    let name = call.text("dest").filter(|_| !flags.is_empty()).map(str::to_owned);
    let name = name.unwrap_or_else(|| long.map_or(names[0], |flag| flag.trim_start_matches('-')).to_owned());
    let mut takes = match takes(call) {
        Some(Ok(takes)) => takes,
        Some(Err(())) => return Read::Nothing,
        None => return Read::Computed,
    };
    let required = match call.get("required") {
        Some(Value::Name(word)) if word == "True" => Some(true),
        Some(Value::Name(word)) if word == "False" => Some(false),
        Some(_) => {
            notes.push(Note::about(&name, NoteKind::RequiredUnknown));
            None
        }
        None if flags.is_empty() => None,
        None => Some(false),
    };
    if flags.is_empty() && takes == Takes::Switch {
        takes = Takes::Other;
    }
    Read::Argument(Box::new(Argument {
        name,
        metavar: call.text("metavar").map(str::to_owned),
        takes,
        kind: kind(call),
        required,
        help: call.text("help").map(str::to_owned),
        flags,
    }))
}

/// How many values; `Err` for what ends the script, `None` for what is computed.
fn takes(call: &Call) -> Option<Result<Takes, ()>> {
    let of_count = match call.get("nargs") {
        None | Some(Value::Number(1)) => Takes::One,
        Some(Value::Text(text)) => match text.as_str() {
            "?" => Takes::Optional,
            "*" => Takes::Several { none: true },
            "+" => Takes::Several { none: false },
            _ => Takes::Other,
        },
        Some(Value::Number(_)) => Takes::Other,
        Some(Value::Name(name)) if name.ends_with("REMAINDER") => Takes::Other,
        Some(_) => return None,
    };
    Some(Ok(match call.get("action") {
        None => of_count,
        Some(Value::Text(action)) => match action.as_str() {
            "store" => of_count,
            "append" | "extend" if of_count == Takes::Other => Takes::Other,
            "append" | "extend" => Takes::Several { none: false },
            "store_true" | "store_false" | "store_const" | "append_const" | "count" => Takes::Switch,
            "help" | "version" => return Some(Err(())),
            _ => return None,
        },
        Some(Value::Name(name)) if name.ends_with("BooleanOptionalAction") => Takes::Switch,
        Some(_) => return None,
    }))
}

fn kind(call: &Call) -> Kind {
    match call.get("choices") {
        Some(Value::Texts(values)) => return Kind::Choices(values.clone()),
        Some(_) => return Kind::Computed,
        None => {}
    }
    match call.get("type") {
        None => Kind::Unsaid,
        Some(Value::Name(name)) => match name.rsplit('.').next() {
            Some("int") => Kind::Integer,
            Some("float") => Kind::Number,
            Some("str") => Kind::Text,
            Some("Path") => Kind::Path,
            _ => Kind::Computed,
        },
        Some(_) => Kind::Computed,
    }
}

fn literal(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// More than can be drafted is told from what can.
const ARGUMENTS_MAX: usize = 256;
