//! Schemas: what compiles judges every value, the same way twice, and as a second, plainer judge does.

use fumehood_core::limits::SCHEMA_ISSUES_MAX;
use fumehood_core::schema::Expected;
use fumehood_core::{Json, Schema};

use super::assert_showable;

/// The first line is a schema, the rest a value for it.
pub fn schema(bytes: &[u8]) {
    let mut halves = bytes.splitn(2, |byte| *byte == b'\n');
    let mut next = || Json::parse(halves.next().unwrap_or_default(), usize::MAX);
    let (Ok(definition), value) = (next(), next()) else { return };

    let schema = match Schema::compile(&definition) {
        Ok(schema) => schema,
        Err(error) => {
            assert_showable(&error.to_string());
            assert!(resolve(&definition, &error.pointer).is_some(), "{:?} is nowhere", error.pointer);
            assert!(Schema::compile_object(&definition).is_err());
            return;
        }
    };
    let is_object =
        definition.as_object().and_then(|entries| entries.get("type")?.as_str()) == Some("object");
    assert_eq!(Schema::compile_object(&definition).is_ok(), is_object);
    assert_eq!(schema.to_json(), &definition);
    let again = Schema::compile(schema.to_json()).expect("what was compiled once compiles again");

    let Ok(value) = value else { return };
    let verdict = schema.validate(&value);
    assert_eq!(verdict, schema.validate(&value));
    assert_eq!(verdict, again.validate(&value));
    assert_eq!(verdict.is_ok(), matches(&definition, &value), "the plain judge disagrees");
    let Err(issues) = verdict else { return };
    let found = issues.as_slice();
    assert!((1..=SCHEMA_ISSUES_MAX).contains(&found.len()));
    assert!(!issues.is_cut() || found.len() == SCHEMA_ISSUES_MAX);
    for issue in found {
        assert_showable(&issue.to_string());
        let here = resolve(&value, &issue.pointer);
        assert_eq!(here.is_none(), issue.expected == Expected::Present, "{issue:?}");
    }
}

/// The value that a JSON pointer names.
fn resolve<'a>(root: &'a Json, pointer: &str) -> Option<&'a Json> {
    pointer.split('/').skip(1).try_fold(root, |value, token| {
        let key = token.replace("~1", "/").replace("~0", "~");
        match value {
            Json::Object(entries) => entries.get(&key),
            Json::Array(items) => items.get(key.parse::<usize>().ok()?),
            _ => None,
        }
    })
}

/// Whether a value matches a definition that compiles, read straight from the definition: slower, and nothing shared
/// with the compiled form but the comparison of numbers.
fn matches(definition: &Json, value: &Json) -> bool {
    let keywords = definition.as_object().expect("a schema is an object");
    let keyword = |name: &str| keywords.get(name);
    if let Some(branches) = keyword("anyOf") {
        return branches.as_array().unwrap_or_default().iter().any(|branch| matches(branch, value));
    }
    let of_type = match (keyword("type").and_then(Json::as_str), value) {
        (None, _)
        | (Some("null"), Json::Null)
        | (Some("boolean"), Json::Bool(_))
        | (Some("number"), Json::Number(_))
        | (Some("string"), Json::String(_))
        | (Some("array"), Json::Array(_))
        | (Some("object"), Json::Object(_)) => true,
        (Some("integer"), Json::Number(number)) => number.is_integer(),
        _ => false,
    };
    let listed = keyword("enum").and_then(Json::as_array).is_none_or(|choices| choices.contains(value));
    of_type && listed && within_bounds(&keyword, value) && inside_matches(&keyword, value)
}

fn within_bounds<'a>(keyword: &impl Fn(&str) -> Option<&'a Json>, value: &Json) -> bool {
    let (min, max, size) = match value {
        Json::Number(number) => ("minimum", "maximum", *number),
        Json::String(text) => ("minLength", "maxLength", count(text.chars().count())),
        Json::Array(items) => ("minItems", "maxItems", count(items.len())),
        _ => return true,
    };
    let bound = |name| match keyword(name) {
        Some(Json::Number(number)) => Some(*number),
        _ => None,
    };
    bound(min).is_none_or(|min| size >= min) && bound(max).is_none_or(|max| size <= max)
}

fn inside_matches<'a>(keyword: &impl Fn(&str) -> Option<&'a Json>, value: &Json) -> bool {
    match value {
        Json::Array(items) => {
            keyword("items").is_none_or(|definition| items.iter().all(|item| matches(definition, item)))
        }
        Json::Object(entries) => {
            let Some(properties) = keyword("properties").and_then(Json::as_object) else { return true };
            let is_open = keyword("additionalProperties") != Some(&Json::Bool(false));
            let required = keyword("required").and_then(Json::as_array).unwrap_or_default();
            required.iter().all(|name| name.as_str().is_some_and(|name| entries.contains_key(name)))
                && entries.iter().all(|(name, value)| match properties.get(name) {
                    Some(definition) => matches(definition, value),
                    None => is_open,
                })
        }
        _ => true,
    }
}

fn count(n: usize) -> fumehood_core::json::Number {
    u64::try_from(n).expect("lengths fit").into()
}
