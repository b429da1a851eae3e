//! The schema of a script's arguments, made from its parameters.

use core::time::Duration;

use super::argv::{ARGUMENTS_MAX, ARGV, PATH_BYTES_MAX};
use crate::json::{Json, Number};
use crate::manifest::{ParamClaim, ParamKind, PathAccess, RESERVED_PARAM_NAMES};

/// What models and clients see of a script's arguments: a closed object with a property for each parameter, and
/// `timeout_seconds` from 1 to the whole seconds of `timeout_max`.
///
/// Whatever it refuses, [`script_arguments`](super::script_arguments) refuses; that refuses more: the subset has no word for
/// a text that must not begin with `-`.
pub fn script_schema(params: &[ParamClaim], timeout_max: Duration) -> Json {
    let required = params.iter().filter(|param| param.is_required());
    let required = required.map(|param| text(param.name().as_str())).collect();
    closed(params.iter().map(|param| (param.name().as_str(), property(param))), required, timeout_max)
}

/// The same for a script that declares no parameters: `argv`, at most 256 strings, and `timeout_seconds`.
///
/// Whatever it refuses, [`exact_arguments`](super::exact_arguments) refuses.
pub fn exact_schema(timeout_max: Duration) -> Json {
    let argv = object([
        ("type", text("array")),
        ("description", text("The exact arguments, one for each item; no shell reads them.")),
        ("items", object([("type", text("string"))])),
        ("maxItems", Json::Number(Number::from(ARGUMENTS_MAX as u64))),
    ]);
    closed([(ARGV, argv)], vec![text(ARGV)], timeout_max)
}

fn closed<'a>(
    properties: impl IntoIterator<Item = (&'a str, Json)>,
    required: Vec<Json>,
    timeout_max: Duration,
) -> Json {
    let timeout = object([
        ("type", text("integer")),
        ("description", text("Seconds after which the script is killed.")),
        ("minimum", whole(1)),
        ("maximum", Json::Number(Number::from(timeout_max.as_secs()))),
    ]);
    object([
        ("type", text("object")),
        ("properties", object(properties.into_iter().chain([(RESERVED_PARAM_NAMES[0], timeout)]))),
        ("required", Json::Array(required)),
        ("additionalProperties", Json::Bool(false)),
    ])
}

fn property(param: &ParamClaim) -> Json {
    let mut entries = match param.kind() {
        ParamKind::String { chars_max } => {
            vec![("type", text("string")), ("maxLength", whole(i64::from(*chars_max)))]
        }
        ParamKind::Integer { minimum, maximum } => {
            vec![("type", text("integer")), ("minimum", whole(*minimum)), ("maximum", whole(*maximum))]
        }
        ParamKind::Number { minimum, maximum } => {
            let bound = |name, bound: &Option<Number>| bound.map(|number| (name, Json::Number(number)));
            let bounds = [bound("minimum", minimum), bound("maximum", maximum)];
            bounds.into_iter().flatten().chain([("type", text("number"))]).collect()
        }
        ParamKind::Boolean => vec![("type", text("boolean"))],
        ParamKind::Enum { values } => vec![
            ("type", text("string")),
            ("enum", Json::Array(values.iter().map(|value| text(value)).collect())),
        ],
        ParamKind::Path { .. } => vec![
            ("type", text("string")),
            ("minLength", whole(1)),
            ("maxLength", Json::Number(Number::from(PATH_BYTES_MAX as u64))),
        ],
    };
    entries.extend(description(param).map(|description| ("description", Json::String(description))));
    object(entries)
}

/// What the author wrote, behind what the host knows: naming a file grants it.
fn description(param: &ParamClaim) -> Option<String> {
    let author = param.description();
    let ParamKind::Path { access } = param.kind() else { return author.map(str::to_owned) };
    let host = match access {
        PathAccess::Read => "A file that the script may read.",
        PathAccess::Write => "A file that the script may replace.",
        PathAccess::Create => "A file that the script may make; it must not exist.",
    };
    Some(author.map_or_else(|| host.to_owned(), |author| format!("{host} {author}")))
}

fn object<'a>(entries: impl IntoIterator<Item = (&'a str, Json)>) -> Json {
    Json::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn text(text: &str) -> Json {
    Json::String(text.to_owned())
}

fn whole(number: i64) -> Json {
    Json::Number(Number::from(number))
}
