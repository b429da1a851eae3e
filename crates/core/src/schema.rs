//! The strict JSON Schema subset: what a manifest may say about arguments and results, compiled once.
//!
//! The subset means what JSON Schema means, and refuses by name whatever it does not know: a keyword that is
//! ignored is a check that somebody believes in and nobody makes.
//!
//! | node | needs | may have |
//! |---|---|---|
//! | `type: object` | `properties` (may be empty) | `required`, `additionalProperties` (boolean) |
//! | `type: array` | `items` (one schema) | `minItems`, `maxItems` |
//! | `type: string` | | `minLength`, `maxLength` (Unicode code points), `enum` |
//! | `type: integer`, `type: number` | | `minimum`, `maximum`, `enum` |
//! | `type: boolean`, `type: null` | | `enum` |
//! | `enum` without `type` | one or more unique scalars, of any types | |
//! | `anyOf` | two to four schemas | nothing beside it, not even annotations |
//!
//! Every node but `anyOf` may have `title` and `description`, texts without effect. Refused, although JSON Schema
//! would take them: a keyword on a node of another type, an `enum` value of another type than its node, a
//! `required` name that `properties` does not declare, a minimum above its maximum, and the name `__proto__` in
//! `properties` or `required`, where a JavaScript reader would silently see another schema. Any other name is
//! ordinary, `constructor` and `toString` included.
//!
//! Nothing is coerced, filled in or taken out. Properties that no schema declares pass, unless
//! `additionalProperties` is `false`. What a date is, whether text is trimmed, what an empty string means: the
//! script's own business.
//!
//! # Numbers
//! Numbers compare by the value they are read as (see [`Number`](crate::json::Number)): `5`, `5.0` and `5e0` are
//! one integer, `-0` is `0`, and whole numbers are exact from -2^63 to 2^64 - 1. A number in a schema must lie
//! between -2^63 and 2^64, both excluded, since only there the comparison with a whole number is right for every
//! whole number that a value can hold: those in the range are exact, and those outside are rounded to a double that
//! is still outside, on the same side. A number with a fraction or an exponent *is* its nearest double, in the
//! schema and in the value, as it is for nearly every program that will read either; rounding to doubles is monotone,
//! so it can move a value onto a bound that is a double and never across it.
//!
//! # Work
//! Both walks recurse only as deep as the schema, at most 32 levels. A validation visits each pair of schema node
//! and value at most once: both sides are trees, a pair is reached only from one parent pair (the node's parent
//! with the same value for `anyOf`, with the value's parent otherwise), and the branches of an `anyOf` are tried
//! once, each up to its first mismatch. Beyond that, a visited pair of object schema and object looks up each
//! declared name once and each present key at most once. A compiled node stands for two or more nodes of the
//! definition, so a schema of S nodes and a value of V nodes cost at most 2 · S · V steps, and each string is
//! counted at most S / 2 times.

mod compile;
mod error;
mod issue;
mod keyword;
mod node;
mod pointer;
mod validate;

pub use error::{SchemaError, SchemaErrorKind};
pub use issue::{Expected, Issue, Issues};
pub use keyword::JsonType;

use crate::json::Json;
use node::Node;

/// The version of the rules by which values are validated. It goes up whenever a value may be judged otherwise than before,
/// so that what a person consented to under other rules is asked about again.
pub const VALIDATOR_VERSION: u32 = 1;

/// A compiled schema together with the definition it was compiled from.
///
/// Within the bounds of [`Json::parse`]: 32 levels, 4,096 nodes.
///
/// ```
/// use fumehood_core::{Json, Schema};
/// let definition = Json::parse(br#"{"type": "object", "properties": {"n": {"type": "integer"}}}"#, 1024)?;
/// let schema = Schema::compile_object(&definition)?;
/// assert!(schema.validate(&Json::parse(br#"{"n": 5.0}"#, 1024)?).is_ok());
/// let issues = schema.validate(&Json::parse(br#"{"n": "5"}"#, 1024)?).unwrap_err();
/// assert_eq!(issues.as_slice()[0].to_string(), "the value at /n must be an integer");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Schema {
    root: Node,
    definition: Json,
}

impl Schema {
    /// Compiles a schema whose root may be any node of the subset.
    ///
    /// # Errors
    /// [`SchemaError`]: `E_SCHEMA_KEYWORD` for a keyword outside the subset or out of place, `E_SCHEMA_INVALID` for
    /// one that is missing or has a value it cannot have, `E_JSON_DEPTH` or `E_JSON_NODES` for a definition beyond
    /// the bounds (possible only if it was not read by [`Json::parse`]).
    pub fn compile(definition: &Json) -> Result<Self, SchemaError> {
        Ok(Self { root: compile::root(definition)?, definition: definition.clone() })
    }

    /// Compiles a schema for arguments: its root must be a `type: object` node.
    ///
    /// # Errors
    /// As [`Schema::compile`], and `E_SCHEMA_INVALID` for another root, an `anyOf` of objects included.
    pub fn compile_object(definition: &Json) -> Result<Self, SchemaError> {
        let schema = Self::compile(definition)?;
        match schema.root {
            Node::Object(_) => Ok(schema),
            _ => Err(SchemaErrorKind::RootNotObject.at(&pointer::Path::Root)),
        }
    }

    /// Checks a value. Changes nothing in it.
    ///
    /// # Errors
    /// `E_SCHEMA_MISMATCH` with the first [`SCHEMA_ISSUES_MAX`](crate::limits::SCHEMA_ISSUES_MAX) issues, in the
    /// order of the schema's property names.
    pub fn validate(&self, value: &Json) -> Result<(), Issues> {
        validate::run(&self.root, value)
    }

    /// The definition, to publish: the very value that was compiled.
    pub fn to_json(&self) -> &Json {
        &self.definition
    }
}

#[cfg(test)]
mod tests;
