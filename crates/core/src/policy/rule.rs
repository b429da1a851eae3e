//! One rule: a name, an outcome, conditions, and for `allow` the limits above which it says nothing.

use core::fmt;
use core::time::Duration;

use super::argument::{SELECTOR_CHARS_MAX, SELECTOR_DEPTH_MAX};
use super::condition::{ARGUMENTS_MAX, Conditions, Field, Truth, VALUES_MAX};
use super::fact::{ComparedRevision, Fact, PolicyFacts};
use super::{Outcome, RULES_MAX};
use crate::code::{Code, Coded};
use crate::frame::Frame;
use crate::shown::is_hidden;
use crate::tool::TIMEOUT_MAX;

/// Characters of a rule's name.
pub const RULE_NAME_CHARS_MAX: usize = 64;
/// Bytes of each output stream that a limit can name: as many as an envelope can.
pub const OUTPUT_BYTES_CEILING: u64 = 64 << 20;

/// A rule that keeps every rule about rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule(RuleParts);

/// What a [`Rule`] is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleParts {
    /// Its name, which decisions tell: 1 to 64 visible characters.
    pub name: String,
    /// What it says about the calls that it matches.
    pub outcome: Outcome,
    /// Which calls.
    pub when: Conditions,
    /// Above these it matches no call. Only for [`Outcome::Allow`].
    pub limits: Limits,
}

/// The most that a call may ask for to be matched by an allow rule. A call above one is asked about, never cut down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Seconds of one attempt: 1 to 3600.
    pub timeout_seconds_max: Option<u64>,
    /// Bytes kept of each output stream: 1 to 64 MiB.
    pub output_bytes_max: Option<u64>,
}

/// Why a rule, or a list of them, was refused. Holds nothing that somebody wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleError {
    /// The name is empty, too long, or has characters that cannot be seen.
    Name,
    /// Two rules have this name.
    NameTwice,
    /// More rules than there may be.
    TooManyRules,
    /// Limits stand on a rule that does not allow.
    LimitsNotOnAllow,
    /// A limit is outside its range.
    LimitRange(&'static str),
    /// An allow rule without any condition.
    AllowsEverything,
    /// An allow rule names a skill by its bare name, which another source could claim.
    BareId,
    /// An allow rule names skills and does not say for which revision.
    NoRevision,
    /// A list has no value, more than 64, or one twice.
    Values,
    /// A source is no label.
    Source,
    /// The selector of an argument is no name and no JSON pointer.
    Selector,
    /// More arguments than a rule may name.
    TooManyArguments,
    /// One argument twice.
    ArgumentTwice,
    /// Values of several types for one argument.
    MixedTypes,
    /// A range that holds no number, or has no bound.
    Range,
}

impl Rule {
    /// A rule of these parts.
    ///
    /// # Errors
    /// [`RuleError`] with code `E_POLICY_INVALID`.
    pub fn new(mut parts: RuleParts) -> Result<Self, RuleError> {
        let RuleParts { name, outcome, when, limits } = &mut parts;
        let length = name.chars().count();
        if length == 0 || length > RULE_NAME_CHARS_MAX || name.chars().any(is_hidden) {
            return Err(RuleError::Name);
        }
        if when.arguments.len() > ARGUMENTS_MAX {
            return Err(RuleError::TooManyArguments);
        }
        // In one order, so that two ways to write a rule are one rule.
        when.arguments.sort_by(|a, b| a.selector.cmp(&b.selector));
        if when.arguments.windows(2).any(|pair| pair[0].selector == pair[1].selector) {
            return Err(RuleError::ArgumentTwice);
        }
        limits.check()?;
        if *outcome == Outcome::Allow {
            check_allow(when)?;
        } else if *limits != Limits::default() {
            return Err(RuleError::LimitsNotOnAllow);
        }
        Ok(Self(parts))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What it says about the calls that it matches.
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// Which calls.
    pub fn when(&self) -> &Conditions {
        &self.0.when
    }

    /// Above these it matches no call.
    pub fn limits(&self) -> Limits {
        self.0.limits
    }

    /// Whether it has its say about a call: for `allow`, if all that it names is known and holds; for `deny` and `ask`, if
    /// nothing that it names is known not to hold.
    pub(super) fn applies<R: ComparedRevision>(&self, facts: &PolicyFacts<'_, R>) -> bool {
        let truth = self.when().truth(facts);
        if self.outcome() == Outcome::Allow {
            truth == Truth::Yes && self.limits().each(facts).into_iter().all(|(_, truth)| truth == Truth::Yes)
        } else {
            truth != Truth::No
        }
    }

    pub(super) fn write_to(&self, frame: &mut Frame) {
        let RuleParts { name, outcome, when, limits } = &self.0;
        frame.part(name.as_bytes());
        frame.part(outcome.as_str().as_bytes());
        when.write_to(frame);
        let Limits { timeout_seconds_max, output_bytes_max } = *limits;
        frame.optional(timeout_seconds_max, Frame::number);
        frame.optional(output_bytes_max, Frame::number);
    }
}

/// What grants names its source and the exact bytes, or says that it does not care about them.
fn check_allow(when: &Conditions) -> Result<(), RuleError> {
    let is_about_skills = match &when.source {
        None => when.id.is_some(),
        // A server's tools have no revision.
        Some(sources) => when.id.is_some() || sources.iter().any(|source| !source.is_server()),
    };
    match () {
        () if when.is_empty() => Err(RuleError::AllowsEverything),
        () if when.id.is_some() && when.source.is_none() => Err(RuleError::BareId),
        () if is_about_skills && when.revision.is_none() => Err(RuleError::NoRevision),
        () => Ok(()),
    }
}

impl Limits {
    fn check(self) -> Result<(), RuleError> {
        let bounds = [
            ("timeout_seconds_max", self.timeout_seconds_max, TIMEOUT_MAX.as_secs()),
            ("output_bytes_max", self.output_bytes_max, OUTPUT_BYTES_CEILING),
        ];
        let wrong = bounds
            .into_iter()
            .find(|(_, limit, most)| limit.is_some_and(|limit| limit == 0 || limit > *most));
        wrong.map_or(Ok(()), |(key, ..)| Err(RuleError::LimitRange(key)))
    }

    /// Whether a call is within each of them.
    pub(super) fn each<R>(self, facts: &PolicyFacts<'_, R>) -> [(Field<'static>, Truth); 2] {
        fn within<T: PartialOrd>(limit: Option<T>, fact: Fact<T>) -> Truth {
            match (limit, fact) {
                (None, _) => Truth::Yes,
                (Some(_), Fact::Missing) => Truth::Unknown,
                // No limit at all is more than any limit.
                (Some(_), Fact::None) => Truth::No,
                (Some(limit), Fact::Is(asked)) => Truth::of(asked <= limit),
            }
        }
        let timeout = self.timeout_seconds_max.map(Duration::from_secs);
        [
            (Field::Timeout, within(timeout, facts.timeout)),
            (Field::OutputBytes, within(self.output_bytes_max, facts.output_bytes)),
        ]
    }

    /// Whether every call within the other is within these.
    pub(super) fn covers(self, other: Self) -> bool {
        let covers =
            |all: Option<u64>, some: Option<u64>| all.is_none_or(|all| some.is_some_and(|some| some <= all));
        covers(self.timeout_seconds_max, other.timeout_seconds_max)
            && covers(self.output_bytes_max, other.output_bytes_max)
    }
}

impl Coded for RuleError {
    fn code(&self) -> Code {
        Code::PolicyInvalid
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => write!(f, "a name must be 1 to {RULE_NAME_CHARS_MAX} visible characters"),
            Self::NameTwice => f.write_str("two rules have this name"),
            Self::TooManyRules => write!(f, "there are more than {RULES_MAX} rules"),
            Self::LimitsNotOnAllow => f.write_str("only an allow rule can have limits"),
            Self::LimitRange("timeout_seconds_max") => {
                write!(f, "limits.timeout_seconds_max must be a whole number from 1 to {}", TIMEOUT_MAX.as_secs())
            }
            Self::LimitRange(key) => {
                write!(f, "limits.{key} must be a whole number from 1 to {OUTPUT_BYTES_CEILING}")
            }
            Self::AllowsEverything => f.write_str("an allow rule needs at least one condition"),
            Self::BareId => f.write_str(
                "an allow rule that names an id must name its source, since another source could claim the name",
            ),
            Self::NoRevision => f.write_str(
                "an allow rule for skills must name their revision; \"*\" says that any will do",
            ),
            Self::Values => write!(f, "a list must have 1 to {VALUES_MAX} values, none twice"),
            Self::Source => f.write_str(
                "a source must be 1 to 32 characters of a-z, 0-9 and -, for an MCP server with server: before them",
            ),
            Self::Selector => write!(
                f,
                "an argument must be a name of visible characters or a JSON pointer of at most {SELECTOR_DEPTH_MAX} levels, in at most {SELECTOR_CHARS_MAX} characters"
            ),
            Self::TooManyArguments => write!(f, "a rule can name at most {ARGUMENTS_MAX} arguments"),
            Self::ArgumentTwice => f.write_str("one argument is named twice"),
            Self::MixedTypes => f.write_str("the values for one argument must be of one type"),
            Self::Range => {
                f.write_str("a range needs at_least or at_most, and at_least must not be above at_most")
            }
        }
    }
}

impl core::error::Error for RuleError {}
