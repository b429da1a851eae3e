//! Compiled nodes: what exists here can be checked, and says nothing twice.

use std::collections::{BTreeMap, BTreeSet};

use crate::json::{Json, Number};

/// One schema node.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Null(Option<Choices>),
    Boolean(Option<Choices>),
    Integer(NumberRule),
    Number(NumberRule),
    String(StringRule),
    Array(ArrayRule),
    Object(ObjectRule),
    /// `enum` without `type`.
    Listed(Choices),
    /// Two to four.
    AnyOf(Vec<Node>),
}

#[derive(Clone, Debug)]
pub(super) struct NumberRule {
    pub(super) value: Range<Number>,
    pub(super) choices: Option<Choices>,
}

#[derive(Clone, Debug)]
pub(super) struct StringRule {
    /// In Unicode code points.
    pub(super) length: Range<u64>,
    pub(super) choices: Option<Choices>,
}

#[derive(Clone, Debug)]
pub(super) struct ArrayRule {
    pub(super) count: Range<u64>,
    pub(super) item: Box<Node>,
}

#[derive(Clone, Debug)]
pub(super) struct ObjectRule {
    pub(super) properties: BTreeMap<String, Property>,
    /// Whether properties that are not declared are refused.
    pub(super) closed: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Property {
    pub(super) node: Node,
    pub(super) required: bool,
}

/// Bounds that both belong to the range; never turned round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range<T> {
    min: Option<T>,
    max: Option<T>,
}

impl<T: Copy + Ord> Range<T> {
    /// `None` if the minimum is above the maximum.
    pub(super) fn new(min: Option<T>, max: Option<T>) -> Option<Self> {
        match (min, max) {
            (Some(low), Some(high)) if low > high => None,
            _ => Some(Self { min, max }),
        }
    }

    /// The minimum, if the value is below it.
    pub(super) fn min_missed_by(&self, value: T) -> Option<T> {
        self.min.filter(|min| value < *min)
    }

    /// The maximum, if the value is above it.
    pub(super) fn max_passed_by(&self, value: T) -> Option<T> {
        self.max.filter(|max| value > *max)
    }
}

/// The scalars of an `enum`, by type, so that looking one up copies nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Choices {
    null: bool,
    booleans: BTreeSet<bool>,
    numbers: BTreeSet<Number>,
    strings: BTreeSet<String>,
}

impl Choices {
    /// Takes in a scalar; `false` if an equal one is there, `None` if it is no scalar.
    pub(super) fn insert(&mut self, scalar: &Json) -> Option<bool> {
        match scalar {
            Json::Null => Some(!core::mem::replace(&mut self.null, true)),
            Json::Bool(value) => Some(self.booleans.insert(*value)),
            Json::Number(value) => Some(self.numbers.insert(*value)),
            Json::String(value) => Some(self.strings.insert(value.clone())),
            Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// Whether the value equals one of the scalars. Values of different types are never equal.
    pub(super) fn contain(&self, value: &Json) -> bool {
        match value {
            Json::Null => self.null,
            Json::Bool(value) => self.booleans.contains(value),
            Json::Number(value) => self.numbers.contains(value),
            Json::String(value) => self.strings.contains(value),
            Json::Array(_) | Json::Object(_) => false,
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        usize::from(self.null) + self.booleans.len() + self.numbers.len() + self.strings.len()
    }
}
