//! From a definition to nodes. Everything that can be wrong with a schema is found here.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{SchemaError, SchemaErrorKind};
use super::keyword::{JsonType, Keyword};
use super::node::{ArrayRule, Choices, Node, NumberRule, ObjectRule, Property, Range, StringRule};
use super::pointer::Path;
use crate::json::{Json, Number};
use crate::limits::{JSON_DEPTH_MAX, JSON_NODES_MAX};

pub(super) fn root(definition: &Json) -> Result<Node, SchemaError> {
    let mut nodes_left = JSON_NODES_MAX;
    measure(definition, JSON_DEPTH_MAX, &mut nodes_left).map_err(|kind| kind.at(&Path::Root))?;
    node(definition, &Path::Root)
}

/// The bounds of [`Json::parse`], for a definition that was built otherwise; they also bound every recursion here
/// and in a validation.
fn measure(value: &Json, depth_left: usize, nodes_left: &mut usize) -> Result<(), SchemaErrorKind> {
    let depth_left = depth_left.checked_sub(1).ok_or(SchemaErrorKind::Depth)?;
    *nodes_left = nodes_left.checked_sub(1).ok_or(SchemaErrorKind::Nodes)?;
    match value {
        Json::Array(items) => items.iter().try_for_each(|item| measure(item, depth_left, nodes_left)),
        Json::Object(entries) => entries.values().try_for_each(|item| measure(item, depth_left, nodes_left)),
        _ => Ok(()),
    }
}

fn node(definition: &Json, at: &Path<'_>) -> Result<Node, SchemaError> {
    let entries = definition.as_object().ok_or_else(|| SchemaErrorKind::NotAnObject.at(at))?;
    let fields = Fields { entries, at };
    let keywords = fields.keywords()?;
    if keywords.contains(&Keyword::AnyOf) {
        return any_of(&fields, &keywords);
    }
    fields.text(Keyword::Title)?;
    fields.text(Keyword::Description)?;
    if keywords.iter().all(|keyword| *keyword == Keyword::Enum || keyword.is_annotation())
        && let Some(choices) = fields.choices(None)?
    {
        return Ok(Node::Listed(choices));
    }
    let node_type = fields
        .needed(Keyword::Type)?
        .as_str()
        .and_then(JsonType::parse)
        .ok_or_else(|| fields.invalid(Keyword::Type, "one of the seven type names"))?;
    if let Some(stranger) = keywords.iter().find(|keyword| !keyword.belongs_to(node_type)) {
        let keyword = stranger.as_str();
        return Err(SchemaErrorKind::KeywordOfOtherType { keyword, node_type }.at(&fields.path_of(*stranger)));
    }
    typed(&fields, node_type)
}

fn typed(fields: &Fields<'_>, node_type: JsonType) -> Result<Node, SchemaError> {
    Ok(match node_type {
        JsonType::Null => Node::Null(fields.choices(Some(node_type))?),
        JsonType::Boolean => Node::Boolean(fields.choices(Some(node_type))?),
        JsonType::Integer => Node::Integer(number(fields, node_type)?),
        JsonType::Number => Node::Number(number(fields, node_type)?),
        JsonType::String => Node::String(StringRule {
            length: fields.counts(Keyword::MinLength, Keyword::MaxLength)?,
            choices: fields.choices(Some(node_type))?,
        }),
        JsonType::Array => {
            let item = node(fields.needed(Keyword::Items)?, &fields.path_of(Keyword::Items))?;
            let count = fields.counts(Keyword::MinItems, Keyword::MaxItems)?;
            Node::Array(ArrayRule { count, item: Box::new(item) })
        }
        JsonType::Object => Node::Object(object(fields)?),
    })
}

fn number(fields: &Fields<'_>, node_type: JsonType) -> Result<NumberRule, SchemaError> {
    let min = fields.bound(Keyword::Minimum)?;
    let max = fields.bound(Keyword::Maximum)?;
    let value = Range::new(min, max).ok_or_else(|| fields.invalid(Keyword::Maximum, "minimum or more"))?;
    Ok(NumberRule { value, choices: fields.choices(Some(node_type))? })
}

fn object(fields: &Fields<'_>) -> Result<ObjectRule, SchemaError> {
    let declared = fields
        .needed(Keyword::Properties)?
        .as_object()
        .ok_or_else(|| fields.invalid(Keyword::Properties, "an object of schemas"))?;
    let required = required(fields, declared)?;
    let here = fields.path_of(Keyword::Properties);
    let mut properties = BTreeMap::new();
    for (name, definition) in declared {
        let here = Path::Key(&here, name);
        if name == RESERVED_NAME {
            return Err(SchemaErrorKind::ReservedName { keyword: Keyword::Properties.as_str() }.at(&here));
        }
        let required = required.contains(name.as_str());
        properties.insert(name.clone(), Property { node: node(definition, &here)?, required });
    }
    let closed = match fields.value(Keyword::AdditionalProperties) {
        None | Some(Json::Bool(true)) => false,
        Some(Json::Bool(false)) => true,
        Some(_) => return Err(fields.invalid(Keyword::AdditionalProperties, "true or false")),
    };
    Ok(ObjectRule { properties, closed })
}

fn required<'a>(
    fields: &Fields<'a>,
    declared: &BTreeMap<String, Json>,
) -> Result<BTreeSet<&'a str>, SchemaError> {
    let mut names = BTreeSet::new();
    for (index, entry) in fields.list(Keyword::Required)?.unwrap_or_default().iter().enumerate() {
        let invalid = |expected| fields.invalid_item(Keyword::Required, index, expected);
        let name = entry.as_str().ok_or_else(|| invalid("a list of property names"))?;
        if name == RESERVED_NAME {
            let here = fields.path_of(Keyword::Required);
            let kind = SchemaErrorKind::ReservedName { keyword: Keyword::Required.as_str() };
            return Err(kind.at(&Path::Index(&here, index)));
        }
        if !declared.contains_key(name) {
            return Err(invalid("a list of names that `properties` declares"));
        }
        if !names.insert(name) {
            return Err(invalid("a list without duplicates"));
        }
    }
    Ok(names)
}

fn any_of(fields: &Fields<'_>, keywords: &[Keyword]) -> Result<Node, SchemaError> {
    if let Some(sibling) = keywords.iter().find(|keyword| **keyword != Keyword::AnyOf) {
        let kind = SchemaErrorKind::KeywordBesideAnyOf { keyword: sibling.as_str() };
        return Err(kind.at(&fields.path_of(*sibling)));
    }
    let branches = fields.list(Keyword::AnyOf)?.unwrap_or_default();
    if !(2..=ANY_OF_BRANCHES_MAX).contains(&branches.len()) {
        return Err(fields.invalid(Keyword::AnyOf, "a list of two to four schemas"));
    }
    let here = fields.path_of(Keyword::AnyOf);
    let nodes = branches.iter().enumerate().map(|(index, branch)| node(branch, &Path::Index(&here, index)));
    nodes.collect::<Result<_, _>>().map(Node::AnyOf)
}

/// The keywords of one node and their values, read by kind.
struct Fields<'a> {
    entries: &'a BTreeMap<String, Json>,
    at: &'a Path<'a>,
}

impl<'a> Fields<'a> {
    fn keywords(&self) -> Result<Vec<Keyword>, SchemaError> {
        let parse = |name: &String| {
            Keyword::parse(name).ok_or_else(|| {
                SchemaErrorKind::KeywordUnknown { keyword: name.clone() }.at(&Path::Key(self.at, name))
            })
        };
        self.entries.keys().map(parse).collect()
    }

    fn value(&self, keyword: Keyword) -> Option<&'a Json> {
        self.entries.get(keyword.as_str())
    }

    fn needed(&self, keyword: Keyword) -> Result<&'a Json, SchemaError> {
        let missing = || SchemaErrorKind::KeywordMissing { keyword: keyword.as_str() }.at(self.at);
        self.value(keyword).ok_or_else(missing)
    }

    fn path_of(&self, keyword: Keyword) -> Path<'a> {
        Path::Key(self.at, keyword.as_str())
    }

    fn invalid(&self, keyword: Keyword, expected: &'static str) -> SchemaError {
        let kind = SchemaErrorKind::ValueInvalid { keyword: keyword.as_str(), expected };
        kind.at(&self.path_of(keyword))
    }

    fn invalid_item(&self, keyword: Keyword, index: usize, expected: &'static str) -> SchemaError {
        let kind = SchemaErrorKind::ValueInvalid { keyword: keyword.as_str(), expected };
        kind.at(&Path::Index(&self.path_of(keyword), index))
    }

    fn text(&self, keyword: Keyword) -> Result<(), SchemaError> {
        match self.value(keyword) {
            None | Some(Json::String(_)) => Ok(()),
            Some(_) => Err(self.invalid(keyword, "a string")),
        }
    }

    fn list(&self, keyword: Keyword) -> Result<Option<&'a [Json]>, SchemaError> {
        let as_list = |value: &'a Json| value.as_array().ok_or_else(|| self.invalid(keyword, "a list"));
        self.value(keyword).map(as_list).transpose()
    }

    fn counts(&self, min: Keyword, max: Keyword) -> Result<Range<u64>, SchemaError> {
        let range = Range::new(self.count(min)?, self.count(max)?);
        range.ok_or_else(|| self.invalid(max, "no less than its minimum"))
    }

    fn count(&self, keyword: Keyword) -> Result<Option<u64>, SchemaError> {
        match self.value(keyword) {
            None => Ok(None),
            Some(Json::Number(number)) if number.as_u64().is_some() => Ok(number.as_u64()),
            Some(_) => Err(self.invalid(keyword, "a whole number from 0 to 2^64 - 1")),
        }
    }

    fn bound(&self, keyword: Keyword) -> Result<Option<Number>, SchemaError> {
        match self.value(keyword) {
            None => Ok(None),
            Some(Json::Number(number)) if number.is_exactly_comparable() => Ok(Some(*number)),
            Some(_) => Err(self.invalid(keyword, COMPARABLE)),
        }
    }

    /// The values of `enum`, each of the node's type if it has one.
    fn choices(&self, node_type: Option<JsonType>) -> Result<Option<Choices>, SchemaError> {
        let Some(values) = self.list(Keyword::Enum)? else { return Ok(None) };
        if values.is_empty() {
            return Err(self.invalid(Keyword::Enum, "a list of one or more scalars"));
        }
        let mut choices = Choices::default();
        for (index, value) in values.iter().enumerate() {
            let invalid = |expected| Err(self.invalid_item(Keyword::Enum, index, expected));
            if matches!(value, Json::Number(number) if !number.is_exactly_comparable()) {
                return invalid(COMPARABLE);
            }
            if node_type.is_some_and(|node_type| !node_type.holds(value)) {
                return invalid("a list of values of the node's own type");
            }
            match choices.insert(value) {
                Some(true) => {}
                Some(false) => return invalid("a list without duplicates"),
                None => return invalid("a list of scalars"),
            }
        }
        Ok(Some(choices))
    }
}

const ANY_OF_BRANCHES_MAX: usize = 4;
/// In JavaScript, writing it into an object changes the object's prototype instead (CHK-115).
const RESERVED_NAME: &str = "__proto__";
const COMPARABLE: &str = "a number between -2^63 and 2^64, both excluded";
