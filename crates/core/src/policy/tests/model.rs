//! Policies, made up at random, against a slow model of what they mean, which knows facts only as numbers.

use super::*;

/// What a rule says of one fact: it must be one of these.
type Allowed = Option<BTreeSet<u8>>;

/// A rule: of each of [`FIELDS`] which values it takes, and the most seconds and bytes.
#[derive(Clone, Debug)]
struct ModelRule {
    outcome: Outcome,
    fields: [Allowed; FIELDS],
    seconds_max: Option<u64>,
    bytes_max: Option<u64>,
}

/// A call: of each field its value, [`NONE`], [`OTHER`], or nothing; and its seconds and bytes, which may be [`ENDLESS`].
#[derive(Clone, Debug)]
struct ModelFacts {
    fields: [Option<u8>; FIELDS],
    seconds: Option<u64>,
    bytes: Option<u64>,
}

const FIELDS: usize = 12;
const SOURCE: usize = 0;
const ID: usize = 1;
const REVISION: usize = 2;
const TOOL: usize = 3;
const AGENT: usize = 4;
const TIER: usize = 5;
const MODE: usize = 6;
const FILE: usize = 7;
const WORKSPACE: usize = 8;
const EFFECT: usize = 9;
const NETWORK: usize = 10;
const COUNT: usize = 11;
/// The known lack of a value.
const NONE: u8 = 255;
/// An argument of another type than rules compare, or a path of which nobody knows where it leads.
const OTHER: u8 = 254;
/// No limit at all.
const ENDLESS: u64 = u64::MAX;

const NAMES: [&str; 3] = ["a", "b", "c"];
const TIERS: [PolicyTier; 3] = [PolicyTier::Isolated, PolicyTier::Script, PolicyTier::Remote];
const EFFECTS: [Effect; 3] = [Effect::ReadOnly, Effect::IdempotentWrite, Effect::Other];
const NETWORKS: [NetworkUse; 2] = [NetworkUse::None, NetworkUse::Any];
const PLACES: [&str; 3] = ["/srv/a", "/srv/ab", "/etc"];

/// Whether what a rule names of one field holds; nothing where that cannot be told.
fn holds((allowed, fact): (&Allowed, &Option<u8>)) -> Option<bool> {
    match (allowed, fact) {
        (None, _) => Some(true),
        (Some(_), None | Some(OTHER)) => None,
        (Some(allowed), Some(value)) => Some(allowed.contains(value)),
    }
}

/// Whether all that a rule names is known and holds, its limits included.
fn holds_whole(rule: &ModelRule, facts: &ModelFacts) -> bool {
    let is_within = |most: Option<u64>, asked: Option<u64>| match (most, asked) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(most), Some(asked)) => asked <= most,
    };
    rule.fields.iter().zip(&facts.fields).all(|pair| holds(pair) == Some(true))
        && is_within(rule.seconds_max, facts.seconds)
        && is_within(rule.bytes_max, facts.bytes)
}

/// The outcome, and the number of the rule that decides.
fn model(rules: &[ModelRule], facts: &ModelFacts) -> (Outcome, Option<usize>) {
    let may_hold =
        |rule: &ModelRule| rule.fields.iter().zip(&facts.fields).all(|pair| holds(pair) != Some(false));
    for outcome in [Outcome::Deny, Outcome::Ask, Outcome::Allow] {
        for (number, rule) in rules.iter().enumerate().filter(|(_, rule)| rule.outcome == outcome) {
            if outcome != Outcome::Allow && may_hold(rule) {
                return (outcome, Some(number));
            }
            if outcome == Outcome::Allow && holds_whole(rule, facts) {
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
    let count = fields[COUNT].as_ref().map(|allowed| {
        let bound = |value: Option<&u8>| i64::from(*value.unwrap());
        let (least, most) = (bound(allowed.first()), bound(allowed.last()));
        // What is no bound to the values that there are is left out, where another one is left.
        argument(
            "count",
            range(Some(least).filter(|least| *least > 0 || most == 2), Some(most).filter(|most| *most < 2)),
        )
    });
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
        effect: values(&fields[EFFECT], |n| EFFECTS[n]),
        network: values(&fields[NETWORK], |n| NETWORKS[n]),
        arguments: mode.into_iter().chain(file).chain(count).collect(),
    };
    let limits = Limits { timeout_seconds_max: model.seconds_max, output_bytes_max: model.bytes_max };
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
    let is_known = |n: &u8| *n != OTHER;
    let file = fields[FILE].filter(is_known).map(|n| place(&format!("{}/x", PLACES[usize::from(n)])));
    let argument = |name: &str, value: &dyn Fn(u8) -> String| {
        fields[match name {
            "mode" => MODE,
            "file" => FILE,
            _ => COUNT,
        }]
        .map(|n| format!(r#""{name}":{}"#, value(n)))
    };
    let given = [
        argument("mode", &|n| {
            if n == OTHER { "5".to_owned() } else { format!("\"{}\"", NAMES[usize::from(n)]) }
        }),
        argument("file", &|_| "\"x\"".to_owned()),
        argument("count", &|n| if n == OTHER { "\"1\"".to_owned() } else { n.to_string() }),
    ];
    let given: Vec<_> = given.into_iter().flatten().collect();
    let value = json(&format!("{{{}}}", given.join(",")));
    let path = PathFact { parameter: "file", resolved: file.as_ref() };
    let paths = fields[FILE].map(|_| path);
    let limit = |asked: Option<u64>| match asked {
        None => Fact::Missing,
        Some(ENDLESS) => Fact::None,
        Some(asked) => Fact::Is(asked),
    };
    look(&PolicyFacts {
        source: fact(fields[SOURCE], |n| NAMES[n]),
        id: fact(fields[ID], |n| &ids[n]),
        revision: fact(fields[REVISION], |n| pin(NAMES[n])),
        tool: fact(fields[TOOL], |n| &tools[n]),
        agent: fact(fields[AGENT], |n| &agents[n]),
        tier: fact(fields[TIER], |n| TIERS[n]),
        workspace: fact(fields[WORKSPACE], |n| WorkspaceFact { resolved: &places[n], identity: "w" }),
        effect: fact(fields[EFFECT], |n| EFFECTS[n]),
        network: fact(fields[NETWORK], |n| NETWORKS[n]),
        // Whoever was given none may as well not know of any.
        arguments: if given.is_empty() {
            Fact::Missing
        } else {
            Fact::Is(ArgumentFacts { value: &value, paths: paths.as_slice() })
        },
        timeout: match limit(model.seconds) {
            Fact::Missing => Fact::Missing,
            Fact::None => Fact::None,
            Fact::Is(seconds) => Fact::Is(core::time::Duration::from_secs(seconds)),
        },
        output_bytes: limit(model.bytes),
        overlay: Fact::Missing,
    })
}

fn supposed(policy: &Policy, facts: &ModelFacts) -> (Outcome, Option<usize>) {
    let Supposed { outcome, why } = with_facts(facts, |facts| policy.suppose(facts));
    (outcome, why.rule().map(|name| name.parse().unwrap()))
}

fn any_rule() -> impl Strategy<Value = ModelRule> {
    let allowed = || proptest::option::weighted(0.25, proptest::collection::btree_set(0..3_u8, 1..3));
    let fields = proptest::array::uniform12(allowed());
    let outcome = proptest::sample::select(vec![Outcome::Deny, Outcome::Ask, Outcome::Allow, Outcome::Allow]);
    let limit = || proptest::option::of(1..4_u64);
    (outcome, fields, limit(), limit(), any::<bool>()).prop_map(
        |(outcome, mut fields, seconds_max, bytes_max, none_too)| {
            if let Some(allowed) = fields[WORKSPACE].as_mut().filter(|_| none_too) {
                allowed.insert(NONE);
            }
            // There are only two.
            fields[NETWORK] = fields[NETWORK].take().map(|allowed| allowed.iter().map(|n| n % 2).collect());
            // A range has no gap.
            fields[COUNT] = fields[COUNT]
                .take()
                .map(|allowed| (*allowed.first().unwrap()..=*allowed.last().unwrap()).collect());
            let of_allow = |limit: Option<u64>| limit.filter(|_| outcome == Outcome::Allow);
            let (seconds_max, bytes_max) = (of_allow(seconds_max), of_allow(bytes_max));
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
            ModelRule { outcome, fields, seconds_max, bytes_max }
        },
    )
}

fn any_facts() -> impl Strategy<Value = ModelFacts> {
    let fact = proptest::option::weighted(0.9, 0..3_u8);
    let asked = || proptest::option::weighted(0.9, prop_oneof![6 => 1..5_u64, 1 => Just(ENDLESS)]);
    let odd = proptest::array::uniform5(proptest::bool::weighted(0.15));
    let facts = (proptest::array::uniform12(fact), asked(), asked(), odd);
    facts.prop_map(|(mut fields, seconds, bytes, [no_workspace, no_skill, odd_mode, odd_count, odd_file])| {
        for (is_odd, field, value) in [
            (no_workspace, WORKSPACE, NONE),
            (no_skill, SOURCE, NONE),
            (no_skill, ID, NONE),
            (no_skill, REVISION, NONE),
            (odd_mode, MODE, OTHER),
            (odd_count, COUNT, OTHER),
            (odd_file, FILE, OTHER),
        ] {
            if is_odd {
                fields[field] = Some(value);
            }
        }
        fields[NETWORK] = fields[NETWORK].map(|n| n % 2);
        ModelFacts { fields, seconds, bytes }
    })
}

fn any_rules() -> impl Strategy<Value = Vec<ModelRule>> {
    proptest::collection::vec(any_rule(), 0..8)
}

/// A rule, and facts by which it holds but for one of them, which is anything, or for limits by one more than they are.
fn any_near_miss() -> impl Strategy<Value = (ModelRule, ModelFacts)> {
    (any_rule(), any_facts(), 0..FIELDS + 3, 0..2_u64).prop_map(|(rule, facts, odd, more)| {
        let mut near = facts.clone();
        for (field, allowed) in rule.fields.iter().enumerate().filter(|(field, _)| *field != odd) {
            near.fields[field] = allowed.as_ref().map_or(Some(0), |allowed| allowed.first().copied());
        }
        let above = |limit: Option<u64>, is_odd| limit.map(|limit| limit + if is_odd { more } else { 0 });
        near.seconds = above(rule.seconds_max, odd == FIELDS).or(facts.seconds);
        near.bytes = above(rule.bytes_max, odd == FIELDS + 1).or(facts.bytes);
        (rule, near)
    })
}

proptest! {
    #[test]
    fn decisions_are_those_of_the_model(rules in any_rules(), facts in any_facts()) {
        prop_assert_eq!(supposed(&concrete(&rules), &facts), model(&rules, &facts));
    }

    // At the edge of a rule: all of it holds but one thing, which may hold too.
    #[test]
    fn near_misses_are_decided_as_the_model_does((rule, facts) in any_near_miss(), others in proptest::collection::vec(any_rule(), 0..2)) {
        let rules: Vec<_> = [rule].into_iter().chain(others).collect();
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
    fn a_fact_less_never_allows(rules in any_rules(), facts in any_facts(), lost in 0..=FIELDS + 1) {
        let policy = concrete(&rules);
        let before = supposed(&policy, &facts).0;
        let mut facts = facts;
        match facts.fields.get_mut(lost) {
            Some(field) => *field = None,
            None if lost == FIELDS => facts.seconds = None,
            None => facts.bytes = None,
        }
        let after = supposed(&policy, &facts).0;
        prop_assert!(after <= before, "{:?} then {:?}", before, after);
    }

    // More time and more output never let through what was not let through.
    #[test]
    fn a_value_raised_never_allows(rules in any_rules(), facts in any_facts(), more in 0..4_u64, bytes in 0..4_u64) {
        let policy = concrete(&rules);
        let before = supposed(&policy, &facts).0;
        let raise = |asked: Option<u64>, more: u64| asked.map(|asked| asked.saturating_add(more));
        let raised =
            ModelFacts { seconds: raise(facts.seconds, more), bytes: raise(facts.bytes, bytes), ..facts };
        prop_assert!(supposed(&policy, &raised).0 <= before);
    }

    // Whatever is added, lost or raised, an argument too: only an allow rule lets through, one of which all that it names is
    // known and holds, and none of those that deny or ask stands against it.
    #[test]
    fn nothing_is_allowed_but_by_a_rule_that_matches_on_all_it_names(
        rules in any_rules(), rule in any_rule(), facts in any_facts(), change in 0..4_u8, field in 0..FIELDS
    ) {
        let before = supposed(&concrete(&rules), &facts).0;
        let (mut rules, mut facts) = (rules, facts);
        match change {
            0 => rules.push(rule),
            1 => facts.fields[field] = None,
            2 => facts.fields[COUNT] = facts.fields[COUNT].map(|n| if n < 2 { n + 1 } else { n }),
            _ => facts.seconds = facts.seconds.map(|seconds| seconds.saturating_add(1)),
        }
        let (after, named) = supposed(&concrete(&rules), &facts);
        if before != Outcome::Allow && after == Outcome::Allow {
            let deciding = &rules[named.unwrap()];
            prop_assert!(deciding.outcome == Outcome::Allow && holds_whole(deciding, &facts), "{:?}", deciding);
            prop_assert!(matches!(change, 0 | 2), "{} {:?}", change, before);
        }
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
