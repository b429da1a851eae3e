//! Conditions on arguments: equality, prefix or range, by name or JSON pointer.

use std::collections::BTreeSet;

use super::condition::{OneOf, Truth};
use super::fact::{ArgumentFacts, Fact};
use super::rule::RuleError;
use crate::frame::Frame;
use crate::host_path::HostPath;
use crate::json::{Json, Number};
use crate::shown::is_hidden;

/// Characters of a selector.
pub const SELECTOR_CHARS_MAX: usize = 256;
/// Levels that a JSON pointer goes down.
pub const SELECTOR_DEPTH_MAX: usize = 8;

/// Which argument: the name of a parameter, or a JSON pointer that begins with `/`.
///
/// `mode` and `/mode` are the same argument, and equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selector(Vec<String>);

/// What one argument must be.
///
/// A value of another type than the condition compares (a text where a range stands, a path where a text prefix stands)
/// cannot be compared: it counts as a missing fact. So does an argument that was not given, since what the tool then takes
/// is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentTest {
    /// Equal to one of these, all of one type. For a path, its real place.
    OneOf(OneOf<Scalar>),
    /// A text that begins with one of these. Never for paths.
    Prefix(OneOf<String>),
    /// A path whose real place is one of these or below it, by whole components.
    Below(OneOf<HostPath>),
    /// A number within these, both included. At least one is there, and the first is not above the second.
    Range {
        /// The least.
        at_least: Option<Number>,
        /// The most.
        at_most: Option<Number>,
    },
}

/// A value that is compared as a whole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scalar {
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
}

/// A condition on one argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentCondition {
    /// Which argument.
    pub selector: Selector,
    /// What it must be.
    pub test: ArgumentTest,
}

impl Selector {
    /// Reads a selector: a name of visible characters, or a JSON pointer (RFC 6901) of at most 8 levels; at most 256
    /// characters.
    ///
    /// # Errors
    /// [`RuleError::Selector`].
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let is_fit = !text.is_empty() && text.chars().count() <= SELECTOR_CHARS_MAX;
        if !is_fit || text.chars().any(is_hidden) {
            return Err(RuleError::Selector);
        }
        let Some(pointer) = text.strip_prefix('/') else { return Ok(Self(vec![text.to_owned()])) };
        let tokens = pointer.split('/').map(token).collect::<Option<Vec<_>>>().ok_or(RuleError::Selector)?;
        if tokens.len() > SELECTOR_DEPTH_MAX { Err(RuleError::Selector) } else { Ok(Self(tokens)) }
    }

    /// As text: the name for a parameter that reads as one, else the pointer.
    pub fn to_text(&self) -> String {
        match self.0.as_slice() {
            [name] if !name.is_empty() && !name.starts_with('/') => name.clone(),
            tokens => tokens
                .iter()
                .fold(String::new(), |text, token| text + "/" + &token.replace('~', "~0").replace('/', "~1")),
        }
    }

    fn find<'a>(&self, arguments: &'a Json) -> Option<&'a Json> {
        self.0.iter().try_fold(arguments, |value, token| match value {
            Json::Object(entries) => entries.get(token),
            Json::Array(items) => {
                let is_index = token == "0" || !token.starts_with(['0', '+']);
                token.parse::<usize>().ok().filter(|_| is_index).and_then(|index| items.get(index))
            }
            _ => None,
        })
    }

    pub(super) fn write_to(&self, frame: &mut Frame) {
        frame.list(&self.0, |frame, token| frame.part(token.as_bytes()));
    }
}

/// `~` stands only in `~0` and `~1`.
fn token(text: &str) -> Option<String> {
    let is_escaped = |rest: &str| rest.starts_with(['0', '1']);
    let is_sound = text.split('~').skip(1).all(is_escaped);
    is_sound.then(|| text.replace("~1", "/").replace("~0", "~"))
}

impl ArgumentTest {
    /// A test that a value must be equal to one of these.
    ///
    /// # Errors
    /// [`RuleError::MixedTypes`] if they are of more than one type.
    pub fn one_of(values: OneOf<Scalar>) -> Result<Self, RuleError> {
        let kinds: BTreeSet<u8> = values.iter().map(Scalar::kind).collect();
        if kinds.len() == 1 { Ok(Self::OneOf(values)) } else { Err(RuleError::MixedTypes) }
    }

    /// A test that a number must lie within these, both included.
    ///
    /// # Errors
    /// [`RuleError::Range`] if nothing can lie within, or everything.
    pub fn range(at_least: Option<Number>, at_most: Option<Number>) -> Result<Self, RuleError> {
        let is_empty = at_least.zip(at_most).is_some_and(|(least, most)| least > most);
        if is_empty || at_least.or(at_most).is_none() {
            return Err(RuleError::Range);
        }
        Ok(Self::Range { at_least, at_most })
    }

    fn of_value(&self, value: &Json) -> Truth {
        match self {
            Self::OneOf(values) => {
                match Scalar::of(value).filter(|value| values.first().kind() == value.kind()) {
                    Some(value) => Truth::of(values.iter().any(|other| *other == value)),
                    None => Truth::Unknown,
                }
            }
            Self::Prefix(prefixes) => match value.as_str() {
                Some(text) => Truth::of(prefixes.iter().any(|prefix| text.starts_with(prefix.as_str()))),
                None => Truth::Unknown,
            },
            // Where it leads is not known, whatever the text looks like.
            Self::Below(_) => Truth::Unknown,
            Self::Range { at_least, at_most } => match value {
                Json::Number(number) => Truth::of(
                    at_least.is_none_or(|least| least <= *number)
                        && at_most.is_none_or(|most| *number <= most),
                ),
                _ => Truth::Unknown,
            },
        }
    }

    fn of_path(&self, path: Option<&HostPath>) -> Truth {
        let Some(path) = path else { return Truth::Unknown };
        match self {
            Self::Below(roots) => Truth::of(roots.iter().any(|root| root.contains(path))),
            Self::OneOf(values) => values.iter().fold(Truth::No, |truth, value| {
                let place = match value {
                    Scalar::Text(text) => HostPath::parse(text).ok(),
                    Scalar::Bool(_) | Scalar::Number(_) => None,
                };
                // What is written as no real place may still have been meant as this one.
                truth.or(place.map_or(Truth::Unknown, |place| Truth::of(place == *path)))
            }),
            Self::Prefix(_) | Self::Range { .. } => Truth::Unknown,
        }
    }

    /// Whether it is satisfied by every value, or lack of one, by which the other is. False where that is not plain.
    pub(super) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::OneOf(all), Self::OneOf(some)) => some.iter().all(|value| all.contains(value)),
            (Self::Prefix(all), Self::Prefix(some)) => {
                some.iter().all(|text| all.iter().any(|prefix| text.starts_with(prefix.as_str())))
            }
            (Self::Below(all), Self::Below(some)) => {
                some.iter().all(|place| all.iter().any(|root| root.contains(place)))
            }
            (Self::Range { at_least, at_most }, Self::Range { at_least: least, at_most: most }) => {
                at_least.is_none_or(|bound| least.is_some_and(|least| bound <= least))
                    && at_most.is_none_or(|bound| most.is_some_and(|most| most <= bound))
            }
            (Self::Range { at_least, at_most }, Self::OneOf(values)) => {
                values.iter().all(|value| match value {
                    Scalar::Number(number) => {
                        at_least.is_none_or(|least| least <= *number)
                            && at_most.is_none_or(|most| *number <= most)
                    }
                    Scalar::Bool(_) | Scalar::Text(_) => false,
                })
            }
            _ => false,
        }
    }

    /// Whether it compares a text that reads as a path as if it were none.
    pub(super) fn takes_path_for_text(&self) -> bool {
        matches!(self, Self::Prefix(prefixes) if prefixes.iter().any(|text| text.starts_with(['/', '~', '.'])))
    }

    fn write_to(&self, frame: &mut Frame) {
        match self {
            Self::OneOf(values) => {
                frame.part(b"one_of");
                values.write_to(frame, |frame, value| match value {
                    Scalar::Bool(value) => frame.part(if *value { b"true" } else { b"false" }),
                    Scalar::Number(number) => frame.part(number.to_string().as_bytes()),
                    Scalar::Text(text) => {
                        frame.part(b"text");
                        frame.part(text.as_bytes());
                    }
                });
            }
            Self::Prefix(prefixes) => {
                frame.part(b"prefix");
                prefixes.write_to(frame, |frame, prefix| frame.part(prefix.as_bytes()));
            }
            Self::Below(roots) => {
                frame.part(b"below");
                roots.write_to(frame, |frame, root| frame.part(root.as_str().as_bytes()));
            }
            Self::Range { at_least, at_most } => {
                frame.part(b"range");
                for bound in [at_least, at_most] {
                    frame.optional(*bound, |frame, number| frame.part(number.to_string().as_bytes()));
                }
            }
        }
    }
}

impl ArgumentCondition {
    pub(super) fn truth(&self, arguments: Fact<ArgumentFacts<'_>>) -> Truth {
        let Fact::Is(ArgumentFacts { value, paths }) = arguments else { return Truth::Unknown };
        let Some(value) = self.selector.find(value) else { return Truth::Unknown };
        let parameter = self.selector.0.first();
        let mut paths = paths.iter().filter(|path| parameter.is_some_and(|name| name == path.parameter));
        match (paths.next(), paths.next()) {
            (None, _) => self.test.of_value(value),
            (Some(path), None) if self.selector.0.len() == 1 => self.test.of_path(path.resolved),
            // Which of them is meant is not known.
            _ => Truth::Unknown,
        }
    }

    pub(super) fn write_to(&self, frame: &mut Frame) {
        let Self { selector, test } = self;
        selector.write_to(frame);
        test.write_to(frame);
    }
}

impl Scalar {
    /// The value, if it is one.
    pub fn of(value: &Json) -> Option<Self> {
        match value {
            Json::Bool(value) => Some(Self::Bool(*value)),
            Json::Number(number) => Some(Self::Number(*number)),
            Json::String(text) => Some(Self::Text(text.clone())),
            Json::Null | Json::Array(_) | Json::Object(_) => None,
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Bool(_) => 0,
            Self::Number(_) => 1,
            Self::Text(_) => 2,
        }
    }
}
