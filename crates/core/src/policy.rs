//! The policy: what the person decided before anybody asks, as rules over facts that the host measured.
//!
//! A policy never makes anything possible that was not: it says of a call whether it is denied, put to a person, or let
//! through without a question. For scripts it cannot even do the last: only a trust scope with a receipt waives that question.

mod argument;
mod condition;
mod explain;
mod fact;
mod lint;
mod rule;
mod surface;

use core::fmt;
use std::collections::BTreeSet;

pub use argument::{
    ArgumentCondition, ArgumentTest, SELECTOR_CHARS_MAX, SELECTOR_DEPTH_MAX, Scalar, Selector,
};
pub use condition::{
    ARGUMENTS_MAX, Conditions, Field, OneOf, RevisionCondition, SourceName, VALUES_MAX, WorkspaceCondition,
};
pub use explain::{Explanation, Reason, RuleVerdict};
pub use fact::{
    ArgumentFacts, ComparedRevision, Fact, NetworkUse, PathFact, PolicyFacts, PolicyTier, RevisionPin,
    WorkspaceFact,
};
pub use lint::Finding;
pub use rule::{Limits, OUTPUT_BYTES_CEILING, RULE_NAME_CHARS_MAX, Rule, RuleError, RuleParts};
pub use surface::{Kinds, Surfaces, YesKind};

use crate::code::Code;
use crate::digest::Sha256;
use crate::frame::Frame;
use crate::shown::Shown;
use crate::trust_scope::{ScopeReceiptId, Scopes};

/// Rules of one policy.
pub const RULES_MAX: usize = 1024;

/// What the person decided, whole. A value that exists keeps every rule.
///
/// `Default` is what holds without a `policy.toml`: mode ask, no rules, the surfaces of [`Surfaces::default`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    is_unreadable: bool,
    mode: Mode,
    surfaces: Surfaces,
    rules: Vec<Rule>,
    sha256: Sha256,
}

/// What holds where no rule decides, and whether trust scopes count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Every call that no rule decides is asked about (CHK-029).
    #[default]
    Ask,
    /// Nothing runs (CHK-030).
    Blocked,
    /// As ask, and a trust scope with a receipt waives the question (CHK-033).
    Trusted,
    /// A plan that somebody else verified would be needed; there is none yet, so nothing runs (CHK-031, CHK-032).
    Workflow,
}

/// What is said about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It does not run.
    Deny,
    /// Whoever approves the tool's calls is asked.
    Ask,
    /// It runs without a question.
    Allow,
}

/// What a policy says about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a call that nobody decided about does not run"]
pub struct Decision {
    /// What is decided.
    pub outcome: Outcome,
    /// What decided it.
    pub why: Why,
    /// The digest of the whole policy.
    pub policy: Sha256,
}

/// What would be decided if somebody's word about a revision were true. Nothing runs by it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Supposed {
    /// What would be decided.
    pub outcome: Outcome,
    /// What would decide it.
    pub why: Why,
}

/// What decided.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The policy could not be read, so nothing runs.
    Unreadable,
    /// The mode is blocked.
    Blocked,
    /// The mode is workflow.
    Workflow,
    /// The rule of this name.
    Rule(String),
    /// The rule of this name allows the call, but no rule waives the question for such a tool, or the tier is not known.
    NotWaived(String),
    /// A trust scope, with this receipt.
    Scope(ScopeReceiptId),
    /// Nothing else did.
    Default,
}

impl Default for Policy {
    fn default() -> Self {
        Self::of(false, Mode::Ask, Surfaces::default(), Vec::new())
    }
}

impl Policy {
    /// A policy of these rules, in their order.
    ///
    /// # Errors
    /// [`RuleError`] with code `E_POLICY_INVALID`: more than 1024 rules, or two of one name.
    pub fn new(mode: Mode, surfaces: Surfaces, rules: Vec<Rule>) -> Result<Self, RuleError> {
        if rules.len() > RULES_MAX {
            return Err(RuleError::TooManyRules);
        }
        let mut names = BTreeSet::new();
        if !rules.iter().all(|rule| names.insert(rule.name())) {
            return Err(RuleError::NameTwice);
        }
        Ok(Self::of(false, mode, surfaces, rules))
    }

    /// What holds where there is a policy that cannot be read: nothing runs, and no surface gives anything.
    pub fn blocked() -> Self {
        let none = Kinds::NEITHER;
        let surfaces = Surfaces { terminal: none, page: none, elicitation: none, flag: none };
        Self::of(true, Mode::Blocked, surfaces, Vec::new())
    }

    fn of(is_unreadable: bool, mode: Mode, surfaces: Surfaces, rules: Vec<Rule>) -> Self {
        let mut frame = Frame::new("policy", 1);
        frame.number(u64::from(is_unreadable));
        frame.part(mode.as_str().as_bytes());
        surfaces.write_to(&mut frame);
        frame.list(&rules, |frame, rule| rule.write_to(frame));
        Self { is_unreadable, mode, surfaces, rules, sha256: frame.sha256() }
    }

    /// What holds where no rule decides.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Which surface may give which kind of yes.
    pub fn surfaces(&self) -> &Surfaces {
        &self.surfaces
    }

    /// The rules, in the order of the file.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The digest of everything that it says: another one if any field differs, the order of rules and their names included.
    pub fn sha256(&self) -> Sha256 {
        self.sha256
    }

    /// What it says about a call: unreadable or blocked → deny rule → ask rule → trust scope with a receipt, in mode
    /// trusted → allow rule → ask. The first that matches in the order of the file decides.
    ///
    /// Safety modes of an agent are no fact, so they cannot stand in for consent (CHK-047).
    pub fn decide(&self, facts: &PolicyFacts<'_>, scopes: &Scopes) -> Decision {
        let scope = || if self.mode == Mode::Trusted { scopes.covering(facts) } else { None };
        let (outcome, why) = self.judge(facts, scope);
        Decision { outcome, why, policy: self.sha256 }
    }

    /// What it would say about a call of these facts, without trust scopes. For people who try out their rules.
    pub fn suppose<R: ComparedRevision>(&self, facts: &PolicyFacts<'_, R>) -> Supposed {
        let (outcome, why) = self.judge(facts, || None);
        Supposed { outcome, why }
    }

    /// The same as [`Policy::decide`], and what every rule says about the call. Holds no value of an argument.
    pub fn explain(&self, facts: &PolicyFacts<'_>, scopes: &Scopes) -> Explanation<'_> {
        let Decision { outcome, why, .. } = self.decide(facts, scopes);
        Explanation::of(self, facts, (outcome, why))
    }

    /// The same as [`Policy::suppose`], and what every rule says about the call.
    pub fn explain_supposed<R: ComparedRevision>(&self, facts: &PolicyFacts<'_, R>) -> Explanation<'_> {
        let Supposed { outcome, why } = self.suppose(facts);
        Explanation::of(self, facts, (outcome, why))
    }

    fn judge<R: ComparedRevision>(
        &self,
        facts: &PolicyFacts<'_, R>,
        scope: impl FnOnce() -> Option<ScopeReceiptId>,
    ) -> (Outcome, Why) {
        match self.mode {
            Mode::Blocked if self.is_unreadable => return (Outcome::Deny, Why::Unreadable),
            Mode::Blocked => return (Outcome::Deny, Why::Blocked),
            Mode::Workflow => return (Outcome::Deny, Why::Workflow),
            Mode::Ask | Mode::Trusted => {}
        }
        for outcome in [Outcome::Deny, Outcome::Ask] {
            if let Some(rule) = self.first(outcome, facts) {
                return (outcome, Why::Rule(rule.name().to_owned()));
            }
        }
        if let Some(receipt) = scope() {
            return (Outcome::Allow, Why::Scope(receipt));
        }
        match self.first(Outcome::Allow, facts).map(|rule| rule.name().to_owned()) {
            Some(name) if facts.tier.known().is_some_and(PolicyTier::is_waivable) => {
                (Outcome::Allow, Why::Rule(name))
            }
            Some(name) => (Outcome::Ask, Why::NotWaived(name)),
            None => (Outcome::Ask, Why::Default),
        }
    }

    fn first<R: ComparedRevision>(&self, outcome: Outcome, facts: &PolicyFacts<'_, R>) -> Option<&Rule> {
        self.rules.iter().filter(|rule| rule.outcome() == outcome).find(|rule| rule.applies(facts))
    }

    /// The rules in the order in which they decide.
    fn in_order(&self) -> impl Iterator<Item = &Rule> {
        let outcomes = [Outcome::Deny, Outcome::Ask, Outcome::Allow].into_iter();
        outcomes.flat_map(|outcome| self.rules.iter().filter(move |rule| rule.outcome() == outcome))
    }
}

impl Decision {
    /// The code of a refusal; `None` unless the call is denied.
    pub fn code(&self) -> Option<Code> {
        (self.outcome == Outcome::Deny).then_some(match self.why {
            Why::Unreadable => Code::PolicyInvalid,
            Why::Blocked => Code::PolicyBlocked,
            Why::Workflow => Code::PolicyWorkflow,
            _ => Code::PolicyDenied,
        })
    }
}

impl Why {
    /// The rule that decided, if one did.
    pub fn rule(&self) -> Option<&str> {
        match self {
            Self::Rule(name) | Self::NotWaived(name) => Some(name),
            _ => None,
        }
    }
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ask, Self::Blocked, Self::Trusted, Self::Workflow];

    /// The name in `policy.toml`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Blocked => "blocked",
            Self::Trusted => "trusted",
            Self::Workflow => "workflow",
        }
    }
}

impl Outcome {
    /// All of them, in the order in which they decide.
    pub const ALL: [Self; 3] = [Self::Deny, Self::Ask, Self::Allow];

    /// The name in `policy.toml` and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable => f.write_str("policy.toml cannot be read as written, so nothing runs"),
            Self::Blocked => f.write_str("the mode is blocked"),
            Self::Workflow => f.write_str("the mode is workflow, for which there are no verified plans yet"),
            Self::Rule(name) => write!(f, "the rule \"{}\"", Shown::inline(name)),
            Self::NotWaived(name) => write!(
                f,
                "the rule \"{}\" allows it, but for scripts only a trust scope waives the question",
                Shown::inline(name)
            ),
            Self::Scope(receipt) => write!(f, "the trust scope with receipt {receipt}"),
            Self::Default => f.write_str("no rule and no trust scope matches, so a person is asked"),
        }
    }
}

#[cfg(test)]
mod tests;
