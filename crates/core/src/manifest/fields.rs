//! A strict reader of JSON objects: every field is asked for by name, and what nobody asked for is refused.

use core::fmt::Display;
use core::ops::RangeInclusive;
use std::collections::BTreeMap;

use super::{ManifestError, ManifestErrorKind};
use crate::code::Coded;
use crate::json::{Json, JsonErrorKind, Number};
use crate::limits::MANIFEST_BYTES_MAX;
use crate::path::RelPath;
use crate::schema::{Schema, SchemaError};
use crate::shown::{Shown, is_hidden};

/// Reads the text of a manifest.
pub(super) fn parse(bytes: &[u8]) -> Result<Json, ManifestError> {
    Json::parse(bytes, MANIFEST_BYTES_MAX).map_err(|error| ManifestError {
        place: error.place,
        ..ManifestError::new(ManifestErrorKind::Json(error.kind), "", advice_on(error.kind, &error))
    })
}

/// An object that is being read.
pub(super) struct Fields<'a> {
    entries: &'a BTreeMap<String, Json>,
    pointer: String,
    /// The names asked for so far: by the end, all that the object may have.
    known: Vec<&'static str>,
}

/// A value and where it stands.
pub(super) struct Value<'a> {
    json: &'a Json,
    pointer: String,
}

impl<'a> Fields<'a> {
    pub(super) fn of(json: &'a Json, pointer: &str) -> Result<Self, ManifestError> {
        let Some(entries) = json.as_object() else {
            return Err(wrong_type(json, pointer, "an object"));
        };
        Ok(Self { entries, pointer: pointer.to_owned(), known: Vec::new() })
    }

    pub(super) fn optional(&mut self, name: &'static str) -> Option<Value<'a>> {
        self.known.push(name);
        let json = self.entries.get(name)?;
        Some(Value { json, pointer: format!("{}/{name}", self.pointer) })
    }

    pub(super) fn required(&mut self, name: &'static str) -> Result<Value<'a>, ManifestError> {
        let value = self.optional(name);
        value.ok_or_else(|| self.refuse(ManifestErrorKind::MissingField, format!("add the field '{name}'")))
    }

    /// An error about the object as a whole.
    pub(super) fn refuse(&self, kind: ManifestErrorKind, message: impl Into<String>) -> ManifestError {
        ManifestError::new(kind, &self.pointer, message)
    }

    /// Ends the reading: a field that nobody asked for is refused by its name (CHK-087).
    pub(super) fn finish(self) -> Result<(), ManifestError> {
        let Some(unknown) = self.entries.keys().find(|key| !self.known.contains(&key.as_str())) else {
            return Ok(());
        };
        let message = format!(
            "remove the field '{}', which has no meaning here; fields here are {}",
            Shown::inline(unknown).at_most(64),
            self.known.join(", ")
        );
        Err(ManifestError::new(ManifestErrorKind::UnknownField { known: self.known }, &self.pointer, message))
    }
}

impl<'a> Value<'a> {
    /// A value that stands in no manifest.
    pub(super) fn root(json: &'a Json) -> Self {
        Self { json, pointer: String::new() }
    }

    pub(super) fn fields(&self) -> Result<Fields<'a>, ManifestError> {
        Fields::of(self.json, &self.pointer)
    }

    /// The entries of an object whose names are the author's, in the order of the names.
    pub(super) fn entries(&self) -> Result<impl Iterator<Item = (&'a str, Value<'a>)>, ManifestError> {
        let entries = self.json.as_object().ok_or_else(|| self.wrong_type("an object"))?;
        let pointer = self.pointer.clone();
        Ok(entries.iter().map(move |(key, json)| {
            let token = key.replace('~', "~0").replace('/', "~1");
            (key.as_str(), Value { json, pointer: format!("{pointer}/{token}") })
        }))
    }

    /// The items of an array of a length in `count`.
    pub(super) fn items(
        &self,
        count: RangeInclusive<usize>,
    ) -> Result<impl Iterator<Item = Value<'a>>, ManifestError> {
        let items = self.json.as_array().ok_or_else(|| self.wrong_type("an array"))?;
        if !count.contains(&items.len()) {
            let (min, max) = count.into_inner();
            let least = if min > 0 { format!("{min} to ") } else { "at most ".to_owned() };
            let rule = format!("have {least}{max} items, not {}", items.len());
            return Err(self.out_of_rule(rule));
        }
        let pointer = self.pointer.clone();
        let value = move |(index, json)| Value { json, pointer: format!("{pointer}/{index}") };
        Ok(items.iter().enumerate().map(value))
    }

    pub(super) fn text(&self) -> Result<&'a str, ManifestError> {
        self.json.as_str().ok_or_else(|| self.wrong_type("a string"))
    }

    pub(super) fn boolean(&self) -> Result<bool, ManifestError> {
        match self.json {
            Json::Bool(value) => Ok(*value),
            _ => Err(self.wrong_type("a boolean")),
        }
    }

    pub(super) fn number(&self) -> Result<Number, ManifestError> {
        match self.json {
            Json::Number(number) => Ok(*number),
            _ => Err(self.wrong_type("a number")),
        }
    }

    /// A whole number in a range. Outside of it is refused, never moved to its edge (CHK-102).
    pub(super) fn whole(&self, range: RangeInclusive<i64>) -> Result<i64, ManifestError> {
        let whole = self.number()?.as_i64().filter(|value| range.contains(value));
        whole.ok_or_else(|| {
            self.out_of_rule(format!("be a whole number from {} to {}", range.start(), range.end()))
        })
    }

    /// As [`Value::whole`], for what is counted in bytes, milliseconds or characters.
    pub(super) fn count<N: TryFrom<i64>>(&self, min: u32, max: u32) -> Result<N, ManifestError> {
        let whole = self.whole(i64::from(min)..=i64::from(max))?;
        N::try_from(whole).map_err(|_| self.out_of_rule("fit this machine's numbers".to_owned()))
    }

    pub(super) fn path(&self) -> Result<RelPath, ManifestError> {
        RelPath::parse(self.text()?).map_err(|error| {
            let advice = "write a relative path with '/' between plain names";
            self.refuse(ManifestErrorKind::Path(error.reason), format!("{error}; {advice}"))
        })
    }

    /// One word of a closed list.
    pub(super) fn one_of<T: Copy>(&self, words: &[(&'static str, T)]) -> Result<T, ManifestError> {
        let text = self.text()?;
        words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning).ok_or_else(|| {
            let list: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            self.out_of_rule(format!("be one of {}", list.join(", ")))
        })
    }

    /// Text for a person or a model: something visible, at most `chars_max` code points.
    pub(super) fn prose(&self, chars_max: usize) -> Result<String, ManifestError> {
        let text = self.text()?;
        if text.chars().all(|c| c.is_whitespace() || is_hidden(c)) {
            return Err(self.out_of_rule("say something; it is blank".to_owned()));
        }
        if text.chars().nth(chars_max).is_some() {
            return Err(self.out_of_rule(format!("have at most {chars_max} characters")));
        }
        Ok(text.to_owned())
    }

    /// A schema, by one of [`Schema`]'s two compilers.
    pub(super) fn schema(
        &self,
        compile: fn(&Json) -> Result<Schema, SchemaError>,
    ) -> Result<Schema, ManifestError> {
        compile(self.json).map_err(|error| {
            // Shown again here: what a schema error quotes is the author's as well.
            let message = Shown::inline(&error.to_string()).to_string();
            self.refuse(ManifestErrorKind::Schema(error.code()), message)
        })
    }

    pub(super) fn refuse(&self, kind: ManifestErrorKind, message: impl Into<String>) -> ManifestError {
        ManifestError::new(kind, &self.pointer, message)
    }

    /// An error for a value of the right type that breaks a rule. The rule stands after "it must".
    pub(super) fn out_of_rule(&self, rule: impl Display) -> ManifestError {
        self.refuse(ManifestErrorKind::Value, format!("it must {rule}"))
    }

    fn wrong_type(&self, expected: &str) -> ManifestError {
        wrong_type(self.json, &self.pointer, expected)
    }
}

fn wrong_type(json: &Json, pointer: &str, expected: &str) -> ManifestError {
    let found = json.type_name();
    ManifestError::new(ManifestErrorKind::Type, pointer, format!("it must be {expected}, not {found}"))
}

fn advice_on(kind: JsonErrorKind, error: &impl Display) -> String {
    match kind {
        JsonErrorKind::Encoding => format!("{error}; save it as UTF-8"),
        JsonErrorKind::Syntax => {
            format!("{error}; comments, trailing commas and a byte order mark are not JSON")
        }
        JsonErrorKind::DuplicateKey => format!("{error}; keep one of the two"),
        _ => error.to_string(),
    }
}
