//! What is worth a second look in a policy that is valid.

use core::fmt;
use std::collections::BTreeSet;

use super::condition::{RevisionCondition, SourceName};
use super::fact::PolicyTier;
use super::rule::Rule;
use super::surface::{Kinds, Surfaces};
use super::{Outcome, Policy};
use crate::code::{Code, Coded};
use crate::shown::Shown;

/// Something that the person may not have meant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding<'a> {
    /// The rule never decides: whatever it matches, an earlier one matches, too. Earlier means earlier in the order of
    /// deciding (deny, ask, allow), and within one outcome in the file.
    ///
    /// What is found is true of every call. Not everything true is found: only one earlier rule at a time is compared, each of
    /// its conditions with the one of the same field.
    Unreachable {
        /// The rule.
        rule: &'a str,
        /// The earlier one.
        by: &'a str,
    },
    /// The rule allows whatever a skill turns into: its revision is `"*"`, or it names none and may match skills' tools.
    AnyRevision {
        /// The rule.
        rule: &'a str,
    },
    /// The rule allows only scripts, for which no rule waives the question.
    NeverWaives {
        /// The rule.
        rule: &'a str,
    },
    /// No source of this label is configured.
    UnknownSource {
        /// The rule.
        rule: &'a str,
        /// The label.
        source: &'a str,
    },
    /// The rule compares the beginning of a text that reads as a path, where `below` is meant.
    PathAsText {
        /// The rule.
        rule: &'a str,
        /// The argument.
        argument: String,
    },
    /// This surface may say yes to more than one call, though no person need be behind it.
    WideSurface {
        /// The surface.
        surface: &'static str,
    },
}

impl Policy {
    /// Everything that is worth a second look, rule by rule in the order of the file. `known_sources` are the labels that are
    /// configured or conventional, those of servers with `server:` before them.
    pub fn lint<'a>(&'a self, known_sources: &BTreeSet<&str>) -> Vec<Finding<'a>> {
        let order: Vec<&Rule> = self.in_order().collect();
        let earlier = |rule: &Rule| {
            let place = order.iter().position(|other| core::ptr::eq(*other, rule)).unwrap_or(0);
            order.iter().take(place).find(|other| shadows(other, rule)).map(|other| other.name())
        };
        let mut findings = Vec::new();
        for rule in self.rules() {
            let name = rule.name();
            findings.extend(earlier(rule).map(|by| Finding::Unreachable { rule: name, by }));
            if rule.outcome() == Outcome::Allow {
                findings.extend(allow(rule));
            }
            let sources = rule.when().source.iter().flat_map(|sources| sources.iter());
            let unknown = sources.map(SourceName::as_str).filter(|source| !known_sources.contains(source));
            findings.extend(unknown.map(|source| Finding::UnknownSource { rule: name, source }));
            let arguments =
                rule.when().arguments.iter().filter(|argument| argument.test.takes_path_for_text());
            findings.extend(
                arguments.map(|argument| Finding::PathAsText {
                    rule: name,
                    argument: argument.selector.to_text(),
                }),
            );
        }
        findings.extend(surfaces(*self.surfaces()));
        findings
    }
}

/// Whether the later rule never has a say that the earlier one has not had.
fn shadows(earlier: &Rule, later: &Rule) -> bool {
    let is_within_limits = earlier.outcome() != Outcome::Allow || earlier.limits().covers(later.limits());
    earlier.when().covers(later.when()) && is_within_limits
}

fn allow(rule: &Rule) -> Option<Finding<'_>> {
    let rule_name = rule.name();
    let when = rule.when();
    let tiers = |is_one: fn(PolicyTier) -> bool| {
        when.tier.as_ref().is_some_and(|tiers| tiers.iter().all(|tier| is_one(*tier)))
    };
    if tiers(|tier| !tier.is_waivable()) {
        return Some(Finding::NeverWaives { rule: rule_name });
    }
    let is_of_servers = tiers(|tier| tier == PolicyTier::Remote)
        || when.source.as_ref().is_some_and(|sources| sources.iter().all(SourceName::is_server));
    let is_any = match when.revision {
        Some(RevisionCondition::OneOf(_)) => false,
        Some(RevisionCondition::Any) => true,
        None => !is_of_servers,
    };
    is_any.then_some(Finding::AnyRevision { rule: rule_name })
}

fn surfaces<'a>(surfaces: Surfaces) -> impl Iterator<Item = Finding<'a>> {
    let wide = |surface, Kinds { revision, .. }: Kinds| revision.then_some(Finding::WideSurface { surface });
    let found = [wide("elicitation", surfaces.elicitation), wide("flag", surfaces.flag)];
    found.into_iter().flatten()
}

impl Coded for Finding<'_> {
    fn code(&self) -> Code {
        match self {
            Self::Unreachable { .. } => Code::PolicyUnreachable,
            Self::AnyRevision { .. } => Code::PolicyAnyRevision,
            Self::NeverWaives { .. } => Code::PolicyNeverWaives,
            Self::UnknownSource { .. } => Code::PolicyUnknownSource,
            Self::PathAsText { .. } => Code::PolicyPathAsText,
            Self::WideSurface { .. } => Code::PolicyWideSurface,
        }
    }
}

impl fmt::Display for Finding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = Shown::inline;
        match self {
            Self::Unreachable { rule, by } => {
                let (rule, by) = (shown(rule), shown(by));
                write!(
                    f,
                    "the rule \"{rule}\" never decides: \"{by}\" comes first and matches all that it matches"
                )
            }
            Self::AnyRevision { rule } => write!(
                f,
                "the rule \"{}\" allows whatever a skill turns into; name the exact revision",
                shown(rule)
            ),
            Self::NeverWaives { rule } => write!(
                f,
                "the rule \"{}\" allows scripts, for which no rule waives the question; a trust scope does",
                shown(rule)
            ),
            Self::UnknownSource { rule, source } => {
                write!(
                    f,
                    "the rule \"{}\" names the source {}, which is not configured",
                    shown(rule),
                    shown(source)
                )
            }
            Self::PathAsText { rule, argument } => write!(
                f,
                "the rule \"{}\" compares the beginning of arguments.{} as text; for a path write below",
                shown(rule),
                shown(argument)
            ),
            Self::WideSurface { surface } => {
                write!(f, "surfaces.{surface} may trust a revision, and no person need be behind it")
            }
        }
    }
}
