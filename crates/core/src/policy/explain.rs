//! Why a policy decides as it does: of every rule, whether it has its say, and if not, what stands against it.
//!
//! Names conditions and arguments, never their values.

use core::fmt;
use core::ops::ControlFlow;

use super::condition::{Field, Truth};
use super::fact::{ComparedRevision, PolicyFacts};
use super::rule::Rule;
use super::{Outcome, Policy, Why};

/// What every rule says about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation<'a> {
    /// What is decided.
    pub outcome: Outcome,
    /// What decides.
    pub why: Why,
    /// Every rule, in the order of the file.
    pub rules: Vec<RuleVerdict<'a>>,
}

/// What one rule says about the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleVerdict<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it would say.
    pub outcome: Outcome,
    /// Whether it matches, by facts or for lack of them.
    pub is_matched: bool,
    /// Whether it decides.
    pub is_decisive: bool,
    /// What does not simply hold, in order. A rule that does not match has at least one; a `deny` or `ask` that matches may
    /// have missing facts here, which count as if they held.
    pub reasons: Vec<Reason<'a>>,
}

/// Why a condition does not simply hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason<'a> {
    /// The fact is another one.
    Differs(Field<'a>),
    /// The host could not tell, or the argument was not given or cannot be compared.
    Missing(Field<'a>),
    /// The call asks for more than the limit.
    Above(Field<'a>),
}

impl<'a> Explanation<'a> {
    pub(super) fn of<R: ComparedRevision>(
        policy: &'a Policy,
        facts: &PolicyFacts<'_, R>,
        (outcome, why): (Outcome, Why),
    ) -> Self {
        let rules = policy.rules().iter().map(|rule| RuleVerdict {
            name: rule.name(),
            outcome: rule.outcome(),
            is_matched: rule.applies(facts),
            is_decisive: why.rule() == Some(rule.name()),
            reasons: reasons(rule, facts),
        });
        let rules = rules.collect();
        Self { outcome, why, rules }
    }
}

fn reasons<'a, R: ComparedRevision>(rule: &'a Rule, facts: &PolicyFacts<'_, R>) -> Vec<Reason<'a>> {
    let mut reasons = Vec::new();
    let _ = rule.when().each(facts, |field, truth| {
        match truth {
            Truth::Yes => {}
            Truth::Unknown => reasons.push(Reason::Missing(field)),
            Truth::No => reasons.push(Reason::Differs(field)),
        }
        ControlFlow::Continue(())
    });
    for (field, truth) in rule.limits().each(facts) {
        match truth {
            Truth::Yes => {}
            Truth::Unknown => reasons.push(Reason::Missing(field)),
            Truth::No => reasons.push(Reason::Above(field)),
        }
    }
    reasons
}

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs(field) => write!(f, "{field} differs"),
            Self::Missing(field) => write!(f, "{field} is not known"),
            Self::Above(field) => write!(f, "above {field}"),
        }
    }
}
