//! A typed parameter of a declared script: what a value may be and where it stands in the argument vector.

use super::fields::{Fields, Value};
use super::words::{Flag, ParamName};
use super::{DESCRIPTION_CHARS_MAX, ManifestError, ManifestErrorKind};
use crate::json::{Json, Number};
use crate::shown::Shown;

/// One parameter as the skill claims it.
///
/// With a flag its value follows the flag as an argument of its own; a boolean is the flag alone, when true. Without
/// a flag the value stands by itself. Arguments come in the order in which the parameters are declared, flags and
/// positional ones alike: a subcommand goes before its flags, and a shell script's flags before its operands.
///
/// `required` is true by default without a flag and false with one. A positional parameter cannot be optional
/// (EXE-44), since the ones behind it would change their places, and a boolean cannot be positional (EXE-46).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamClaim {
    name: ParamName,
    description: Option<String>,
    kind: ParamKind,
    flag: Option<Flag>,
    required: bool,
}

/// What a value may be. Each type takes its own fields and no others. Whatever the type, a value that would reach the
/// script as text beginning with `-`, or with a NUL in it, is for the call to refuse (EXE-45).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// Text.
    String {
        /// Unicode code points, at most: `maxLength`, 1 to 16,384; 4,096 when absent.
        chars_max: u32,
    },
    /// A whole number.
    Integer {
        /// `minimum`; -(2^53 - 1) when absent and never below.
        minimum: i64,
        /// `maximum`; 2^53 - 1 when absent and never above.
        maximum: i64,
    },
    /// Any number.
    Number {
        /// `minimum`.
        minimum: Option<Number>,
        /// `maximum`.
        maximum: Option<Number>,
    },
    /// The flag, or nothing.
    Boolean,
    /// One of these texts.
    Enum {
        /// `values`: 1 to 64, unique, each 1 to 256 bytes, none beginning with `-`, none holding NUL.
        values: Vec<String>,
    },
    /// A file that the call names and thereby grants.
    Path {
        /// `access`.
        access: PathAccess,
    },
}

/// What the script may do with the file that a path parameter names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathAccess {
    /// Read it.
    Read,
    /// Replace it.
    Write,
    /// Make it; it must not be there.
    Create,
}

/// Parameters of one script.
pub const PARAMS_MAX: usize = 32;
/// Code points of a string argument when the parameter does not say.
pub const STRING_CHARS_DEFAULT: u32 = 4096;
/// Code points of a string argument, at most. Four bytes each still fit an invocation (64 KiB) and, with room to
/// spare, one argument of a Linux process (128 KiB).
pub const STRING_CHARS_MAX: u32 = 16_384;
/// The largest integer, and its negative the smallest, that every JSON client carries exactly: 2^53 - 1.
pub const INTEGER_MAX: i64 = (1 << 53) - 1;
/// Values of an enum.
pub const ENUM_VALUES_MAX: usize = 64;
/// Bytes of one value of an enum.
pub const ENUM_VALUE_BYTES_MAX: usize = 256;
/// Names that the host's own arguments of a script tool have.
pub const RESERVED_PARAM_NAMES: [&str; 1] = ["timeout_seconds"];

pub(super) const ACCESSES: [(&str, PathAccess); 3] =
    [("read", PathAccess::Read), ("write", PathAccess::Write), ("create", PathAccess::Create)];

impl ParamClaim {
    /// The parameter as it is read, with every default written out.
    pub(super) fn to_json(&self) -> Json {
        let Self { name, description, kind, flag, required } = self;
        let text = |text: &str| Some(Json::String(text.to_owned()));
        let number = |number| Some(Json::Number(number));
        let mut entries = vec![
            ("name", text(name.as_str())),
            ("description", description.as_deref().and_then(text)),
            ("type", text(kind.type_name())),
            ("flag", flag.as_ref().and_then(|flag| text(flag.as_str()))),
            ("required", Some(Json::Bool(*required))),
        ];
        match kind {
            ParamKind::String { chars_max } => {
                entries.push(("maxLength", number(i64::from(*chars_max).into())));
            }
            ParamKind::Integer { minimum, maximum } => {
                entries
                    .extend([("minimum", number((*minimum).into())), ("maximum", number((*maximum).into()))]);
            }
            ParamKind::Number { minimum, maximum } => {
                entries
                    .extend([("minimum", minimum.and_then(number)), ("maximum", maximum.and_then(number))]);
            }
            ParamKind::Boolean => {}
            ParamKind::Enum { values } => {
                let values = values.iter().cloned().map(Json::String).collect();
                entries.push(("values", Some(Json::Array(values))));
            }
            ParamKind::Path { access } => entries.push(("access", text(access.as_str()))),
        }
        let present = entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Json::Object(present.collect())
    }

    /// Its name in the tool's arguments.
    pub fn name(&self) -> &ParamName {
        &self.name
    }

    /// What the skill says about it.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// What a value may be.
    pub fn kind(&self) -> &ParamKind {
        &self.kind
    }

    /// The flag before the value; without one the value is positional.
    pub fn flag(&self) -> Option<&Flag> {
        self.flag.as_ref()
    }

    /// Whether a call must give it.
    pub fn is_required(&self) -> bool {
        self.required
    }
}

impl ParamKind {
    /// The word that the manifest uses.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::String { .. } => "string",
            Self::Integer { .. } => "integer",
            Self::Number { .. } => "number",
            Self::Boolean => "boolean",
            Self::Enum { .. } => "enum",
            Self::Path { .. } => "path",
        }
    }
}

impl PathAccess {
    /// The word that the manifest uses.
    pub fn as_str(self) -> &'static str {
        super::words::word(&ACCESSES, self)
    }
}

/// Reads the parameters of one script.
pub(super) fn params(value: &Value<'_>) -> Result<Vec<ParamClaim>, ManifestError> {
    let mut params: Vec<ParamClaim> = Vec::new();
    for item in value.items(0..=PARAMS_MAX)? {
        let next = param(&item)?;
        if params.iter().any(|other| other.name == next.name) {
            let message = format!("another parameter is called '{}'; rename one", next.name);
            return Err(item.refuse(ManifestErrorKind::Duplicate, message));
        }
        if let Some(flag) =
            next.flag.as_ref().filter(|flag| params.iter().any(|p| p.flag.as_ref() == Some(flag)))
        {
            let message = format!("another parameter has the flag '{flag}'; each needs its own");
            return Err(item.refuse(ManifestErrorKind::Duplicate, message));
        }
        params.push(next);
    }
    Ok(params)
}

fn param(value: &Value<'_>) -> Result<ParamClaim, ManifestError> {
    let mut fields = value.fields()?;
    let name = name(&fields.required("name")?)?;
    let kind = kind(&mut fields)?;
    let description = fields.optional("description").map(|v| v.prose(DESCRIPTION_CHARS_MAX)).transpose()?;
    let flag = fields.optional("flag").map(|v| Flag::of(&v)).transpose()?;
    let required = fields.optional("required").map(|v| v.boolean()).transpose()?;
    match (&flag, &kind, required) {
        (None, ParamKind::Boolean, _) => {
            let message = "give this boolean a flag; it has no other way to reach the script";
            return Err(fields.refuse(ManifestErrorKind::Value, message));
        }
        (None, _, Some(false)) => {
            let message =
                "give this parameter a flag or make it required; a positional one cannot be optional";
            return Err(fields.refuse(ManifestErrorKind::Value, message));
        }
        _ => {}
    }
    fields.finish()?;
    let required = required.unwrap_or(flag.is_none());
    Ok(ParamClaim { name, description, kind, flag, required })
}

fn name(value: &Value<'_>) -> Result<ParamName, ManifestError> {
    let name = ParamName::of(value)?;
    if RESERVED_PARAM_NAMES.contains(&name.as_str()) {
        return Err(value.out_of_rule(format!("have another name; '{name}' is the host's own argument")));
    }
    Ok(name)
}

/// What `type` says, as one word.
#[derive(Clone, Copy)]
enum Type {
    String,
    Integer,
    Number,
    Boolean,
    Enum,
    Path,
}

const TYPES: [(&str, Type); 6] = [
    ("string", Type::String),
    ("integer", Type::Integer),
    ("number", Type::Number),
    ("boolean", Type::Boolean),
    ("enum", Type::Enum),
    ("path", Type::Path),
];

/// Takes `type` and the fields that go with it.
fn kind(fields: &mut Fields<'_>) -> Result<ParamKind, ManifestError> {
    match fields.required("type")?.one_of(&TYPES)? {
        Type::String => {
            let chars_max = fields.optional("maxLength").map(|v| v.count(1, STRING_CHARS_MAX)).transpose()?;
            Ok(ParamKind::String { chars_max: chars_max.unwrap_or(STRING_CHARS_DEFAULT) })
        }
        Type::Integer => integer(fields),
        Type::Number => number(fields),
        Type::Boolean => Ok(ParamKind::Boolean),
        Type::Enum => Ok(ParamKind::Enum { values: values(&fields.required("values")?)? }),
        Type::Path => Ok(ParamKind::Path { access: fields.required("access")?.one_of(&ACCESSES)? }),
    }
}

fn integer(fields: &mut Fields<'_>) -> Result<ParamKind, ManifestError> {
    let mut bound = |name, absent| {
        let range = -INTEGER_MAX..=INTEGER_MAX;
        fields.optional(name).map_or(Ok(absent), |value| value.whole(range))
    };
    let (minimum, maximum) = (bound("minimum", -INTEGER_MAX)?, bound("maximum", INTEGER_MAX)?);
    if minimum > maximum {
        return Err(crossed(fields));
    }
    Ok(ParamKind::Integer { minimum, maximum })
}

fn number(fields: &mut Fields<'_>) -> Result<ParamKind, ManifestError> {
    let mut bound = |name| fields.optional(name).map(|value| value.number()).transpose();
    let (minimum, maximum) = (bound("minimum")?, bound("maximum")?);
    if minimum.zip(maximum).is_some_and(|(minimum, maximum)| minimum > maximum) {
        return Err(crossed(fields));
    }
    Ok(ParamKind::Number { minimum, maximum })
}

fn crossed(fields: &Fields<'_>) -> ManifestError {
    fields.refuse(ManifestErrorKind::Value, "minimum is above maximum, so no value fits")
}

fn values(value: &Value<'_>) -> Result<Vec<String>, ManifestError> {
    let mut values: Vec<String> = Vec::new();
    for item in value.items(1..=ENUM_VALUES_MAX)? {
        let text = item.text()?;
        if text.is_empty() || text.len() > ENUM_VALUE_BYTES_MAX {
            return Err(item.out_of_rule(format!("have 1 to {ENUM_VALUE_BYTES_MAX} bytes")));
        }
        if text.starts_with('-') {
            return Err(item.out_of_rule("not begin with '-', or the script may take it for a flag"));
        }
        if text.contains('\0') {
            return Err(item.out_of_rule("not hold a NUL, which no argument can"));
        }
        if values.iter().any(|other| other == text) {
            let message = format!("'{}' is listed already", Shown::inline(text).at_most(64));
            return Err(item.refuse(ManifestErrorKind::Duplicate, message));
        }
        values.push(text.to_owned());
    }
    Ok(values)
}
