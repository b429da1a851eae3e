//! Bounded JSON: one value from untrusted bytes, or a reason.
//!
//! The grammar and number conversion are `serde_json`'s; the bounds, the refusal of duplicate keys and the exact
//! meaning of numbers are ours. Depth is counted here, below the reader's own limit of 128.

mod number;

use core::fmt;
use std::cell::Cell;
use std::collections::BTreeMap;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

pub use number::Number;

use crate::code::{Code, Coded};
use crate::diagnostic::Place;
use crate::limits::{JSON_DEPTH_MAX, JSON_NODES_MAX};
use crate::wiped::wipe;

/// A JSON value that passed the bounds.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number; see [`Number`] for how it compares.
    Number(Number),
    /// Text; never holds a lone surrogate.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object. Keys are unique; their order in the text is not kept.
    Object(BTreeMap<String, Json>),
}

/// Why a JSON text was refused, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// What is wrong.
    pub kind: JsonErrorKind,
    /// The place, if the reader could name one. Columns count bytes.
    pub place: Option<Place>,
}

/// What is wrong with a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// More bytes than the caller's cap.
    TooLarge {
        /// The cap.
        bytes_max: usize,
    },
    /// Not UTF-8 (a byte order mark counts as a syntax error).
    Encoding,
    /// Not JSON.
    Syntax,
    /// Something other than white space follows the value.
    Trailing,
    /// Nested deeper than 32 levels.
    Depth,
    /// More than 4,096 values.
    Nodes,
    /// A key twice in one object.
    DuplicateKey,
    /// An escape that is half of a surrogate pair.
    Surrogate,
    /// A number beyond the range of a double.
    Number,
}

impl Json {
    /// Reads exactly one value of at most `bytes_max` bytes.
    ///
    /// Limits: 32 levels, 4,096 values. Both are refused when passed, as is a key that stands twice in one object.
    ///
    /// # Errors
    /// [`JsonError`], with a code for each [`JsonErrorKind`].
    ///
    /// ```
    /// use fumehood_core::json::Json;
    /// assert!(Json::parse(b"{\"a\": [1, 2.5]}", 64).is_ok());
    /// assert!(Json::parse(b"{\"a\": 1, \"a\": 2}", 64).is_err());
    /// ```
    pub fn parse(bytes: &[u8], bytes_max: usize) -> Result<Self, JsonError> {
        if bytes.len() > bytes_max {
            return Err(JsonErrorKind::TooLarge { bytes_max }.nowhere());
        }
        let text = core::str::from_utf8(bytes).map_err(|_| JsonErrorKind::Encoding.nowhere())?;
        let bounds = Bounds { nodes_left: Cell::new(JSON_NODES_MAX), broken: Cell::new(None) };
        let mut reader = serde_json::Deserializer::from_str(text);
        let value = Seed { bounds: &bounds, depth_left: JSON_DEPTH_MAX }
            .deserialize(&mut reader)
            .map_err(|error| translate(&error, bounds.broken.get()))?;
        reader.end().map_err(|error| JsonError { kind: JsonErrorKind::Trailing, place: place_of(&error) })?;
        Ok(value)
    }

    /// The object's entries, if this is an object.
    pub fn as_object(&self) -> Option<&BTreeMap<String, Json>> {
        if let Self::Object(entries) = self { Some(entries) } else { None }
    }

    /// The array's items, if this is an array.
    pub fn as_array(&self) -> Option<&[Json]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// The value as JSON text without white space, the keys of each object in the order of their bytes: the same for every
    /// text that was read as this value, but for how a number is written (`5` and `5.0` stay two).
    pub fn to_bytes(&self) -> Vec<u8> {
        // Writing to memory cannot fail, and every key is a string.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Overwrites every text in it, for values that must not stay in memory. Nothing of it is left then.
    pub(crate) fn wipe(&mut self) {
        match core::mem::replace(self, Self::Null) {
            Self::Null | Self::Bool(_) | Self::Number(_) => {}
            Self::String(text) => wipe(&mut text.into_bytes()),
            Self::Array(mut items) => items.iter_mut().for_each(Self::wipe),
            Self::Object(entries) => entries.into_iter().for_each(|(key, mut value)| {
                wipe(&mut key.into_bytes());
                value.wipe();
            }),
        }
    }

    /// The JSON type's name, as messages use it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

/// What one parse has left, shared by all its levels.
struct Bounds {
    nodes_left: Cell<usize>,
    /// Set when a bound, not the grammar, stopped the reader: the reader's own errors carry text only.
    broken: Cell<Option<JsonErrorKind>>,
}

impl Bounds {
    fn refuse<E: serde::de::Error>(&self, kind: JsonErrorKind) -> E {
        self.broken.set(Some(kind));
        E::custom("bound")
    }
}

#[derive(Clone, Copy)]
struct Seed<'b> {
    bounds: &'b Bounds,
    depth_left: usize,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Seed<'_> {
    fn count<E: serde::de::Error>(self) -> Result<Self, E> {
        let Some(depth_left) = self.depth_left.checked_sub(1) else {
            return Err(self.bounds.refuse(JsonErrorKind::Depth));
        };
        let Some(nodes_left) = self.bounds.nodes_left.get().checked_sub(1) else {
            return Err(self.bounds.refuse(JsonErrorKind::Nodes));
        };
        self.bounds.nodes_left.set(nodes_left);
        Ok(Self { depth_left, ..self })
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Json, E> {
        self.count().map(|_| Json::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Json, E> {
        self.count().map(|_| Json::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Json, E> {
        self.count().map(|_| Json::Number(Number::from(value)))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Json, E> {
        self.count().map(|_| Json::Number(Number::from(value)))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Json, E> {
        self.count::<E>()?;
        let number = Number::from_f64(value).ok_or_else(|| self.bounds.refuse(JsonErrorKind::Number))?;
        Ok(Json::Number(number))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Json, E> {
        self.count().map(|_| Json::String(value.to_owned()))
    }

    fn visit_string<E: serde::de::Error>(self, value: String) -> Result<Json, E> {
        self.count().map(|_| Json::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let inner = self.count()?;
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(inner)? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let inner = self.count()?;
        let mut entries = BTreeMap::new();
        while let Some(key) = access.next_key::<String>()? {
            if entries.contains_key(&key) {
                return Err(self.bounds.refuse(JsonErrorKind::DuplicateKey));
            }
            let value = access.next_value_seed(inner)?;
            entries.insert(key, value);
        }
        Ok(Json::Object(entries))
    }
}

/// The reader says in words only what kind of grammar error it met; two of them have codes of their own.
fn translate(error: &serde_json::Error, broken: Option<JsonErrorKind>) -> JsonError {
    let words = error.to_string();
    let kind = broken.unwrap_or_else(|| match () {
        () if words.starts_with("number out of range") => JsonErrorKind::Number,
        () if words.starts_with("lone leading surrogate") => JsonErrorKind::Surrogate,
        () if words.starts_with("unexpected end of hex escape") => JsonErrorKind::Surrogate,
        () if words.starts_with("recursion limit") => JsonErrorKind::Depth,
        () => JsonErrorKind::Syntax,
    });
    JsonError { kind, place: place_of(error) }
}

fn place_of(error: &serde_json::Error) -> Option<Place> {
    let line = u32::try_from(error.line()).ok().filter(|line| *line > 0)?;
    let column = u32::try_from(error.column()).ok()?.max(1);
    Some(Place { line, column })
}

impl JsonErrorKind {
    fn nowhere(self) -> JsonError {
        JsonError { kind: self, place: None }
    }
}

impl Coded for JsonErrorKind {
    fn code(&self) -> Code {
        match self {
            Self::TooLarge { .. } => Code::JsonTooLarge,
            Self::Encoding => Code::JsonEncoding,
            Self::Syntax => Code::JsonSyntax,
            Self::Trailing => Code::JsonTrailing,
            Self::Depth => Code::JsonDepth,
            Self::Nodes => Code::JsonNodes,
            Self::DuplicateKey => Code::JsonDuplicateKey,
            Self::Surrogate => Code::JsonSurrogate,
            Self::Number => Code::JsonNumber,
        }
    }
}

impl Coded for JsonError {
    fn code(&self) -> Code {
        self.kind.code()
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            JsonErrorKind::TooLarge { bytes_max } => {
                write!(f, "the JSON text is larger than {bytes_max} bytes")
            }
            JsonErrorKind::Encoding => f.write_str("the JSON text is not UTF-8"),
            JsonErrorKind::Syntax => f.write_str("the text is not JSON"),
            JsonErrorKind::Trailing => f.write_str("something follows the JSON value"),
            JsonErrorKind::Depth => write!(f, "the JSON value is nested deeper than {JSON_DEPTH_MAX} levels"),
            JsonErrorKind::Nodes => write!(f, "the JSON value has more than {JSON_NODES_MAX} nodes"),
            JsonErrorKind::DuplicateKey => f.write_str("an object has one key twice"),
            JsonErrorKind::Surrogate => {
                f.write_str("a string has an escape that is half of a surrogate pair")
            }
            JsonErrorKind::Number => f.write_str("a number is beyond the range of a double"),
        }
    }
}

impl core::error::Error for JsonError {}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(value) => value.serialize(serializer),
            Self::String(value) => serializer.serialize_str(value),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(entries) => serializer.collect_map(entries),
        }
    }
}

#[cfg(test)]
mod tests;
