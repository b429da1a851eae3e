//! An argument as a reader found it, and the parameter that comes of it.

use std::collections::{BTreeMap, BTreeSet};

use super::note::{Note, NoteKind};
use super::prose;
use crate::json::Json;
use crate::manifest::{PARAM_NAME_CHARS_MAX, PARAMS_MAX, RESERVED_PARAM_NAMES, ScriptClaim};
use crate::shown::is_hidden;

/// One argument of a script.
#[derive(Clone, Debug, Default)]
pub(super) struct Argument {
    /// What it is called: the name of a positional one, or where a flag's value goes.
    pub(super) name: String,
    /// Its flags as they are written; none for a positional one.
    pub(super) flags: Vec<String>,
    /// What stands for its value in the help text.
    pub(super) metavar: Option<String>,
    /// How many values it takes.
    pub(super) takes: Takes,
    /// What a value is.
    pub(super) kind: Kind,
    /// Whether it must be given, if that is known.
    pub(super) required: Option<bool>,
    /// What it is for.
    pub(super) help: Option<String>,
}

/// How many values an argument takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Takes {
    /// One.
    #[default]
    One,
    /// None: it is there or not.
    Switch,
    /// One, which can be left out.
    Optional,
    /// Any number, or one each time it is given.
    Several {
        /// Whether it can have none.
        none: bool,
    },
    /// Something that no parameter can express.
    Other,
}

/// What a value is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing says.
    #[default]
    Unsaid,
    /// Something computed.
    Computed,
    /// Text.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A file or folder.
    Path,
    /// One of these.
    Choices(Vec<String>),
}

impl Argument {
    pub(super) fn is_positional(&self) -> bool {
        self.flags.is_empty()
    }

    /// What it is called in a note.
    pub(super) fn label(&self) -> &str {
        self.flag().unwrap_or(&self.name)
    }

    /// The flag that a draft uses: the first long one, else the first.
    fn flag(&self) -> Option<&str> {
        let long = self.flags.iter().find(|flag| flag.starts_with("--"));
        long.or_else(|| self.flags.first()).map(String::as_str)
    }

    fn is_required(&self) -> bool {
        match self.required {
            Some(required) => required,
            None if self.is_positional() => match self.takes {
                Takes::Optional => false,
                Takes::Several { none } => !none,
                _ => true,
            },
            None => false,
        }
    }
}

/// The parameters of all arguments, as JSON of a manifest.
pub(super) fn params(
    arguments: Vec<Argument>,
    flags_first: bool,
    notes: &mut Vec<Note>,
) -> Result<Vec<Json>, Note> {
    let (positional, flagged): (Vec<_>, Vec<_>) = arguments.into_iter().partition(Argument::is_positional);
    let ordered: Vec<_> = if flags_first {
        flagged.into_iter().chain(positional).collect()
    } else {
        positional.into_iter().chain(flagged).collect()
    };
    let mut params = Vec::new();
    let (mut names, mut flags) = (BTreeSet::new(), BTreeSet::new());
    for argument in ordered {
        let required = argument.is_required();
        let left_out = |kind| if required { Err(NoteKind::RequiredInexpressible) } else { Ok(kind) };
        let unusable = match argument.takes {
            Takes::Other => Some(left_out(NoteKind::Inexpressible)),
            _ if argument.is_positional() && !required => Some(Ok(NoteKind::OptionalLeftOut)),
            _ if argument.flag().is_some_and(|flag| flags.contains(flag)) => {
                Some(left_out(NoteKind::NameUnusable))
            }
            _ => None,
        };
        let made = match unusable {
            Some(left_out) => Err(left_out),
            None => param(&argument, &mut names, notes).ok_or_else(|| left_out(NoteKind::NameUnusable)),
        };
        match made {
            Ok(_) if params.len() == PARAMS_MAX => return Err(Note::of(NoteKind::TooManyParams)),
            Ok(param) => {
                flags.extend(argument.flag().map(str::to_owned));
                params.push(param);
            }
            Err(Ok(kind)) => notes.push(Note::about(argument.label(), kind)),
            Err(Err(kind)) => return Err(Note::about(argument.label(), kind)),
        }
    }
    Ok(params)
}

/// One parameter; `None` if the rules for names and flags have no room for it.
fn param(argument: &Argument, names: &mut BTreeSet<String>, notes: &mut Vec<Note>) -> Option<Json> {
    let mut said = Vec::new();
    let label = argument.label();
    if matches!(argument.takes, Takes::Several { .. }) {
        said.push(Note::about(label, NoteKind::SeveralAsOne));
    }
    if argument.takes != Takes::Switch && argument.kind == Kind::Computed {
        said.push(Note::about(label, NoteKind::TypeUnknown));
    }
    let name = param_name(argument, names, &mut said)?;
    let mut fields = kind(argument, &mut said);
    fields.insert("name".to_owned(), Json::String(name.clone()));
    if let Some(help) = argument.help.as_deref().and_then(prose::whole) {
        fields.insert("description".to_owned(), Json::String(help));
    }
    if let Some(flag) = argument.flag() {
        fields.insert("flag".to_owned(), Json::String(flag.to_owned()));
        fields.insert("required".to_owned(), Json::Bool(argument.is_required()));
    }
    // Read by the one reader there is: what it would refuse is not drafted.
    let param = Json::Object(fields);
    let alone = object([
        ("name", Json::String("x".to_owned())),
        ("path", Json::String("x".to_owned())),
        ("description", Json::String("x".to_owned())),
        ("interpreter", Json::String("x".to_owned())),
        ("params", Json::Array(vec![param.clone()])),
    ]);
    ScriptClaim::read_list(&Json::Array(vec![alone])).ok()?;
    names.insert(name);
    notes.extend(said);
    Some(param)
}

/// The fields that say what a value is.
fn kind(argument: &Argument, notes: &mut Vec<Note>) -> BTreeMap<String, Json> {
    let text = |text: &str| Json::String(text.to_owned());
    let label = argument.label();
    let of = |kind: &str| BTreeMap::from([("type".to_owned(), text(kind))]);
    if argument.takes == Takes::Switch {
        return of("boolean");
    }
    match &argument.kind {
        Kind::Integer => of("integer"),
        Kind::Number => of("number"),
        Kind::Choices(values) if are_usable(values) => {
            let mut fields = of("enum");
            fields.insert("values".to_owned(), Json::Array(values.iter().map(|value| text(value)).collect()));
            fields
        }
        Kind::Choices(_) => {
            notes.push(Note::about(label, NoteKind::ChoicesUnusable));
            of("string")
        }
        kind => match path_words(argument, kind) {
            Some(note) => {
                notes.push(Note::about(label, note));
                let mut fields = of("path");
                fields.insert("access".to_owned(), text("read"));
                fields
            }
            None => of("string"),
        },
    }
}

/// By the rules for the values of an enum.
fn are_usable(values: &[String]) -> bool {
    let unique: BTreeSet<_> = values.iter().collect();
    let fits = |value: &String| {
        !value.is_empty()
            && value.len() <= crate::manifest::ENUM_VALUE_BYTES_MAX
            && !value.starts_with('-')
            && !value.chars().any(is_hidden)
    };
    (1..=crate::manifest::ENUM_VALUES_MAX).contains(&values.len())
        && unique.len() == values.len()
        && values.iter().all(fits)
}

/// Whether a value looks like a path, and what is to be said about it then.
fn path_words(argument: &Argument, kind: &Kind) -> Option<NoteKind> {
    let named = [Some(argument.name.as_str()), argument.flag(), argument.metavar.as_deref()];
    let words: Vec<String> = named
        .into_iter()
        .flatten()
        .flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric()))
        .map(str::to_ascii_lowercase)
        .collect();
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let help = argument.help.as_deref().unwrap_or_default();
    let is_called_path = help.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("path to "));
    match () {
        () if has(&OUTPUT_WORDS) => Some(NoteKind::PathOutput),
        () if has(&FOLDER_WORDS) => Some(NoteKind::PathFolder),
        () if *kind == Kind::Path || has(&FILE_WORDS) || is_called_path => Some(NoteKind::PathRead),
        () => None,
    }
}

/// A free name in snake case from where the value goes.
fn param_name(argument: &Argument, names: &BTreeSet<String>, notes: &mut Vec<Note>) -> Option<String> {
    let word = argument.name.trim_matches('-');
    let mut name = String::new();
    for c in word.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => name.push(c.to_ascii_lowercase()),
            _ if name.is_empty() || name.ends_with('_') => {}
            _ => name.push('_'),
        }
    }
    let name = name.trim_end_matches('_');
    let mut name = match name.chars().next()? {
        first if first.is_ascii_lowercase() => name.to_owned(),
        _ => format!("arg_{name}"),
    };
    if name.len() > PARAM_NAME_CHARS_MAX - 4 {
        return None;
    }
    if RESERVED_PARAM_NAMES.contains(&name.as_str()) {
        name.insert_str(0, "its_");
    }
    let numbered = (2..100).map(|n| format!("{name}_{n}"));
    let free = core::iter::once(name.clone()).chain(numbered).find(|name| !names.contains(name))?;
    if free != word.replace('-', "_") {
        notes.push(Note::about(word, NoteKind::ParamNamed));
    }
    Some(free)
}

/// A JSON object of these fields.
pub(super) fn object<const N: usize>(fields: [(&str, Json); N]) -> Json {
    Json::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Spellings of one flag that are looked at.
pub(super) const FLAGS_MAX: usize = 8;
const OUTPUT_WORDS: [&str; 8] =
    ["out", "output", "outputs", "outfile", "outdir", "outpath", "dest", "destination"];
const FOLDER_WORDS: [&str; 6] = ["dir", "dirs", "directory", "folder", "indir", "root"];
const FILE_WORDS: [&str; 28] = [
    "file", "files", "filename", "filepath", "infile", "path", "paths", "in", "input", "inputs", "image",
    "document", "pdf", "docx", "xlsx", "pptx", "csv", "tsv", "json", "jsonl", "xml", "html", "md", "yaml",
    "png", "jpg", "zip", "txt",
];
