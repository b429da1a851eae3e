//! The keywords of the subset, the types, and which keyword belongs to which type.

use crate::json::Json;

/// A type that a schema can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonType {
    /// `null`
    Null,
    /// `boolean`
    Boolean,
    /// `integer`: a number whose value is whole, however it is written.
    Integer,
    /// `number`
    Number,
    /// `string`
    String,
    /// `array`
    Array,
    /// `object`
    Object,
}

impl JsonType {
    /// Reads the value of `type`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }

    /// The type with its article, as messages use it.
    pub fn with_article(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }

    /// Whether a value is of this type.
    pub(super) fn holds(self, value: &Json) -> bool {
        match (self, value) {
            (Self::Integer, Json::Number(number)) => number.is_integer(),
            (Self::Null, Json::Null)
            | (Self::Boolean, Json::Bool(_))
            | (Self::Number, Json::Number(_))
            | (Self::String, Json::String(_))
            | (Self::Array, Json::Array(_))
            | (Self::Object, Json::Object(_)) => true,
            _ => false,
        }
    }
}

/// A keyword of the subset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    Type,
    Title,
    Description,
    Properties,
    Required,
    AdditionalProperties,
    Items,
    MinItems,
    MaxItems,
    MinLength,
    MaxLength,
    Minimum,
    Maximum,
    Enum,
    AnyOf,
}

impl Keyword {
    pub(super) const ALL: [Self; 15] = [
        Self::Type,
        Self::Title,
        Self::Description,
        Self::Properties,
        Self::Required,
        Self::AdditionalProperties,
        Self::Items,
        Self::MinItems,
        Self::MaxItems,
        Self::MinLength,
        Self::MaxLength,
        Self::Minimum,
        Self::Maximum,
        Self::Enum,
        Self::AnyOf,
    ];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Title => "title",
            Self::Description => "description",
            Self::Properties => "properties",
            Self::Required => "required",
            Self::AdditionalProperties => "additionalProperties",
            Self::Items => "items",
            Self::MinItems => "minItems",
            Self::MaxItems => "maxItems",
            Self::MinLength => "minLength",
            Self::MaxLength => "maxLength",
            Self::Minimum => "minimum",
            Self::Maximum => "maximum",
            Self::Enum => "enum",
            Self::AnyOf => "anyOf",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|keyword| keyword.as_str() == text)
    }

    /// Whether the keyword says something about values of this type.
    pub(super) fn belongs_to(self, node_type: JsonType) -> bool {
        match self {
            Self::Type | Self::Title | Self::Description => true,
            Self::Properties | Self::Required | Self::AdditionalProperties => node_type == JsonType::Object,
            Self::Items | Self::MinItems | Self::MaxItems => node_type == JsonType::Array,
            Self::MinLength | Self::MaxLength => node_type == JsonType::String,
            Self::Minimum | Self::Maximum => matches!(node_type, JsonType::Integer | JsonType::Number),
            Self::Enum => !matches!(node_type, JsonType::Array | JsonType::Object),
            Self::AnyOf => false,
        }
    }

    /// Whether the keyword is for people only.
    pub(super) fn is_annotation(self) -> bool {
        matches!(self, Self::Title | Self::Description)
    }
}
