//! Policies, made up at random, against a slow model of what they mean, which knows facts only as numbers.

use super::*;

/// What a rule says of one fact: it must be one of these.
type Allowed = Option<BTreeSet<u8>>;

/// A rule: of each of [`FIELDS`] which values it takes, and the most seconds.
#[derive(Clone, Debug)]
struct ModelRule {
    outcome: Outcome,
    fields: [Allowed; FIELDS],
    seconds_max: Option<u64>,
}

/// A call: of each field its value, the known lack of one (255), or nothing; and its seconds.
#[derive(Clone, Debug)]
struct ModelFacts {
    fields: [Option<u8>; FIELDS],
    seconds: Option<u64>,
}

const FIELDS: usize = 9;
const SOURCE: usize = 0;
const ID: usize = 1;
const REVISION: usize = 2;
const TOOL: usize = 3;
const AGENT: usize = 4;
const TIER: usize = 5;
const MODE: usize = 6;
const FILE: usize = 7;
const WORKSPACE: usize = 8;
const NONE: u8 = 255;

const NAMES: [&str; 3] = ["a", "b", "c"];
const TIERS: [PolicyTier; 3] = [PolicyTier::Isolated, PolicyTier::Script, PolicyTier::Remote];
const PLACES: [&str; 3] = ["/srv/a", "/srv/ab", "/etc"];

/// The outcome, and the number of the rule that decides.
fn model(rules: &[ModelRule], facts: &ModelFacts) -> (Outcome, Option<usize>) {
    let holds = |(allowed, fact): (&Allowed, &Option<u8>)| match (allowed, fact) {
        (None, _) => Some(true),
        (Some(_), None) => None,
        (Some(allowed), Some(value)) => Some(allowed.contains(value)),
    };
    let all = |rule: &ModelRule| rule.fields.iter().zip(&facts.fields).map(holds).collect::<Vec<_>>();
    let is_within = |rule: &ModelRule| match (rule.seconds_max, facts.seconds) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(most), Some(asked)) => asked <= most,
    };
    for outcome in Outcome::ALL {
        for (number, rule) in rules.iter().enumerate().filter(|(_, rule)| rule.outcome == outcome) {
            let all = all(rule);
            if outcome != Outcome::Allow && all.iter().all(|holds| *holds != Some(false)) {
                return (outcome, Some(number));
            }
            if outcome == Outcome::Allow && all.iter().all(|holds| *holds == Some(true)) && is_within(rule) {
                let is_script = facts.fields[TIER].is_none_or(|tier| tier == 1);
                return (if is_script { Outcome::Ask } else { Outcome::Allow }, Some(number));
            }
        }
    }
    (Outcome::Ask, None)
}

fn concrete_rule(number: usize, model: &ModelRule) -> Rule {
    fn values<T: PartialEq>(allowed: &Allowed, make: impl Fn(usize) -> T) -> Option<OneOf<T>> {
        allowed.as_ref().map(|allowed| {
            let values =
                allowed.iter().filter(|value| **value != NONE).map(|value| make(usize::from(*value)));
            OneOf::new(values.collect()).unwrap()
        })
    }
    let fields = &model.fields;
    let mode = values(&fields[MODE], |n| Scalar::Text(NAMES[n].to_owned()));
    let file = values(&fields[FILE], |n| place(PLACES[n]));
    let mode = mode.map(|values| argument("mode", ArgumentTest::one_of(values).unwrap()));
    let file = file.map(|places| argument("file", ArgumentTest::Below(places)));
    let when = Conditions {
        source: values(&fields[SOURCE], |n| source(NAMES[n])),
        id: values(&fields[ID], |n| id(NAMES[n])),
        revision: values(&fields[REVISION], |n| pin(NAMES[n])).map(RevisionCondition::OneOf),
        tool: values(&fields[TOOL], |n| tool(NAMES[n])),
        agent: values(&fields[AGENT], |n| agent(NAMES[n])),
        tier: values(&fields[TIER], |n| TIERS[n]),
        workspace: fields[WORKSPACE].as_ref().map(|allowed| {
            let conditions = allowed.iter().map(|n| match n {
                &NONE => WorkspaceCondition::NoneGranted,
                n => WorkspaceCondition::Below(place(PLACES[usize::from(*n)])),
            });
            OneOf::new(conditions.collect()).unwrap()
        }),
        arguments: mode.into_iter().chain(file).collect(),
        ..Conditions::default()
    };
    let limits = Limits { timeout_seconds_max: model.seconds_max, output_bytes_max: None };
    Rule::new(RuleParts { name: number.to_string(), outcome: model.outcome, when, limits }).unwrap()
}

fn concrete(rules: &[ModelRule]) -> Policy {
    policy(Mode::Ask, rules.iter().enumerate().map(|(number, rule)| concrete_rule(number, rule)).collect())
}

/// Hands the concrete facts to `look`, which gets them by reference.
fn with_facts<T>(model: &ModelFacts, look: impl FnOnce(&PolicyFacts<'_, RevisionPin>) -> T) -> T {
    fn fact<T>(value: Option<u8>, make: impl FnOnce(usize) -> T) -> Fact<T> {
        match value {
            None => Fact::Missing,
            Some(NONE) => Fact::None,
            Some(value) => Fact::Is(make(usize::from(value))),
        }
    }
    let fields = model.fields;
    let (ids, tools, agents) = (NAMES.map(id), NAMES.map(tool), NAMES.map(agent));
    let places = PLACES.map(place);
    let file = fields[FILE].map(|n| place(&format!("{}/x", PLACES[usize::from(n)])));
    let mode = fields[MODE].map(|n| format!(r#""mode":"{}","#, NAMES[usize::from(n)])).unwrap_or_default();
    let value = json(&format!(r#"{{{mode}"file":"x"}}"#));
    let paths = [PathFact { parameter: "file", resolved: file.as_ref() }];
    look(&PolicyFacts {
        source: fact(fields[SOURCE], |n| NAMES[n]),
        id: fact(fields[ID], |n| &ids[n]),
        revision: fact(fields[REVISION], |n| pin(NAMES[n])),
        tool: fact(fields[TOOL], |n| &tools[n]),
        agent: fact(fields[AGENT], |n| &agents[n]),
        tier: fact(fields[TIER], |n| TIERS[n]),
        workspace: fact(fields[WORKSPACE], |n| WorkspaceFact { resolved: &places[n], identity: "w" }),
        arguments: Fact::Is(ArgumentFacts { value: &value, paths: &paths }),
        timeout: model
            .seconds
            .map_or(Fact::Missing, |seconds| Fact::Is(core::time::Duration::from_secs(seconds))),
        ..PolicyFacts::default()
    })
}

fn supposed(policy: &Policy, facts: &ModelFacts) -> (Outcome, Option<usize>) {
    let Supposed { outcome, why } = with_facts(facts, |facts| policy.suppose(facts));
    (outcome, why.rule().map(|name| name.parse().unwrap()))
}

fn any_rule() -> impl Strategy<Value = ModelRule> {
    let allowed = || proptest::option::weighted(0.3, proptest::collection::btree_set(0..3_u8, 1..3));
    let fields = proptest::array::uniform9(allowed());
    let outcome = proptest::sample::select(vec![Outcome::Deny, Outcome::Ask, Outcome::Allow, Outcome::Allow]);
    (outcome, fields, proptest::option::of(1..4_u64), any::<bool>()).prop_map(
        |(outcome, mut fields, seconds_max, none_too)| {
            if let Some(allowed) = fields[WORKSPACE].as_mut().filter(|_| none_too) {
                allowed.insert(NONE);
            }
            let seconds_max = seconds_max.filter(|_| outcome == Outcome::Allow);
            if outcome == Outcome::Allow {
                let all = || Some((0..3).collect());
                if fields[ID].is_some() && fields[SOURCE].is_none() {
                    fields[SOURCE] = all();
                }
                if fields[SOURCE].is_some() && fields[REVISION].is_none() {
                    fields[REVISION] = all();
                }
                if fields.iter().all(Option::is_none) {
                    fields[TOOL] = all();
                }
            }
            ModelRule { outcome, fields, seconds_max }
        },
    )
}

fn any_facts() -> impl Strategy<Value = ModelFacts> {
    let fact = proptest::option::weighted(0.85, 0..3_u8);
    let facts = (proptest::array::uniform9(fact), proptest::option::of(1..5_u64), any::<bool>());
    facts.prop_map(|(mut fields, seconds, is_none)| {
        if is_none {
            fields[WORKSPACE] = Some(NONE);
        }
        ModelFacts { fields, seconds }
    })
}

fn any_rules() -> impl Strategy<Value = Vec<ModelRule>> {
    proptest::collection::vec(any_rule(), 0..8)
}

proptest! {
    #[test]
    fn decisions_are_those_of_the_model(rules in any_rules(), facts in any_facts()) {
        prop_assert_eq!(supposed(&concrete(&rules), &facts), model(&rules, &facts));
    }

    // Another deny or ask allows nothing more, and another allow denies nothing and asks nothing more.
    #[test]
    fn a_rule_moves_an_outcome_only_its_own_way(rules in any_rules(), rule in any_rule(), place in 0..8_usize, facts in any_facts()) {
        let before = supposed(&concrete(&rules), &facts).0;
        let mut rules = rules;
        let outcome = rule.outcome;
        rules.insert(place.min(rules.len()), rule);
        let after = supposed(&concrete(&rules), &facts).0;
        let is_right = if outcome == Outcome::Allow { after >= before } else { after <= before };
        prop_assert!(is_right, "{:?} then {:?}", before, after);
    }

    // What is not known never lets through what was not let through.
    #[test]
    fn a_fact_less_never_allows(rules in any_rules(), facts in any_facts(), lost in 0..=FIELDS) {
        let policy = concrete(&rules);
        let before = supposed(&policy, &facts).0;
        let mut facts = facts;
        match facts.fields.get_mut(lost) {
            Some(field) => *field = None,
            None => facts.seconds = None,
        }
        let after = supposed(&policy, &facts).0;
        prop_assert!(after <= before, "{:?} then {:?}", before, after);
    }

    // More time never lets through what was not let through.
    #[test]
    fn a_value_raised_never_allows(rules in any_rules(), facts in any_facts(), more in 1..4_u64) {
        let policy = concrete(&rules);
        let before = supposed(&policy, &facts).0;
        let raised = ModelFacts { seconds: facts.seconds.map(|seconds| seconds + more), ..facts };
        prop_assert!(supposed(&policy, &raised).0 <= before);
    }

    // Deny, ask, allow: the order in the file decides only which rule is named.
    #[test]
    fn the_outcome_does_not_depend_on_the_order(rules in any_rules(), facts in any_facts()) {
        let forward = supposed(&concrete(&rules), &facts).0;
        let backward: Vec<_> = rules.into_iter().rev().collect();
        prop_assert_eq!(forward, supposed(&concrete(&backward), &facts).0);
    }

    // A rule that is called unreachable never decides, and a rule that allows matches on all that it names.
    #[test]
    fn what_is_said_about_rules_is_true(rules in any_rules(), facts in any_facts()) {
        let policy = concrete(&rules);
        let findings = policy.lint(&NAMES.into());
        let dead: Vec<_> = findings.iter().filter_map(|finding| match finding {
            Finding::Unreachable { rule, .. } => Some(*rule),
            _ => None,
        }).collect();
        with_facts(&facts, |facts| {
            let explained = policy.explain_supposed(facts);
            let decisive: Vec<_> = explained.rules.iter().filter(|rule| rule.is_decisive).collect();
            prop_assert!(decisive.len() <= 1 && decisive.iter().all(|rule| !dead.contains(&rule.name)));
            for rule in &explained.rules {
                let differs = rule.reasons.iter().any(|reason| !matches!(reason, Reason::Missing(_)));
                let expected = if rule.outcome == Outcome::Allow { rule.reasons.is_empty() } else { !differs };
                prop_assert_eq!(rule.is_matched, expected, "{:?}", rule);
            }
            let allowing = explained.outcome == Outcome::Allow;
            prop_assert!(!allowing || decisive.iter().any(|rule| rule.outcome == Outcome::Allow && rule.is_matched));
            Ok(())
        })?;
    }
}
