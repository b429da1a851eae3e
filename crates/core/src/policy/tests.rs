use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::digest::{Revision, VerifiedRevision};
use crate::host_path::HostPath;
use crate::json::{Json, Number};
use crate::name::{AgentLabel, SkillName, ToolName};
use crate::path::RelPath;
use crate::tool::Effect;

mod model;

#[expect(clippy::unnecessary_wraps, reason = "a condition that is there")]
fn list<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Option<OneOf<T>> {
    Some(OneOf::new(values.into_iter().collect()).unwrap())
}

fn source(text: &str) -> SourceName {
    SourceName::parse(text).unwrap()
}

fn id(text: &str) -> SkillName {
    SkillName::parse(text).unwrap()
}

fn tool(text: &str) -> ToolName {
    ToolName::parse(text).unwrap()
}

fn agent(text: &str) -> AgentLabel {
    AgentLabel::parse(text).unwrap()
}

fn place(text: &str) -> HostPath {
    HostPath::parse(text).unwrap()
}

fn revision(content: &str) -> VerifiedRevision {
    VerifiedRevision::of(&[(RelPath::parse("SKILL.md").unwrap(), content.as_bytes())].into())
}

fn pin(content: &str) -> RevisionPin {
    revision(content).pin()
}

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes(), 1 << 16).unwrap()
}

fn argument(selector: &str, test: ArgumentTest) -> ArgumentCondition {
    ArgumentCondition { selector: Selector::parse(selector).unwrap(), test }
}

fn texts(values: &[&str]) -> ArgumentTest {
    let values = values.iter().map(|text| Scalar::Text((*text).to_owned())).collect();
    ArgumentTest::one_of(OneOf::new(values).unwrap()).unwrap()
}

fn range(least: Option<i64>, most: Option<i64>) -> ArgumentTest {
    ArgumentTest::range(least.map(Number::from), most.map(Number::from)).unwrap()
}

fn below(places: &[&str]) -> ArgumentTest {
    ArgumentTest::Below(OneOf::new(places.iter().map(|text| place(text)).collect()).unwrap())
}

fn prefix(texts: &[&str]) -> ArgumentTest {
    ArgumentTest::Prefix(OneOf::new(texts.iter().map(|text| (*text).to_owned()).collect()).unwrap())
}

fn rule(name: &str, outcome: Outcome, when: Conditions) -> Rule {
    Rule::new(RuleParts { name: name.to_owned(), outcome, when, limits: Limits::default() }).unwrap()
}

fn policy(mode: Mode, rules: Vec<Rule>) -> Policy {
    Policy::new(mode, Surfaces::default(), rules).unwrap()
}

/// A condition on every field.
fn everything() -> Conditions {
    Conditions {
        source: list([source("team")]),
        id: list([id("pdf")]),
        revision: Some(RevisionCondition::OneOf(OneOf::new(vec![pin("1")]).unwrap())),
        tool: list([tool("run_pdf_read")]),
        tier: list([PolicyTier::Isolated]),
        effect: list([Effect::ReadOnly]),
        workspace: list([WorkspaceCondition::Below(place("/srv"))]),
        agent: list([agent("cli")]),
        network: list([NetworkUse::None]),
        arguments: vec![
            argument("mode", texts(&["fast"])),
            argument("name", prefix(&["re"])),
            argument("size", range(Some(1), Some(9))),
        ],
    }
}

fn full_parts() -> RuleParts {
    RuleParts {
        name: "one".to_owned(),
        outcome: Outcome::Allow,
        when: everything(),
        limits: Limits { timeout_seconds_max: Some(30), output_bytes_max: Some(1024) },
    }
}

/// A change of one field.
type Change = (&'static str, fn(&mut RuleParts));

const CHANGES: &[Change] = &[
    ("name", |parts| parts.name = "two".to_owned()),
    ("outcome", |parts| (parts.outcome, parts.limits) = (Outcome::Ask, Limits::default())),
    ("timeout", |parts| parts.limits.timeout_seconds_max = Some(31)),
    ("no timeout", |parts| parts.limits.timeout_seconds_max = None),
    ("output", |parts| parts.limits.output_bytes_max = Some(1025)),
    ("no output", |parts| parts.limits.output_bytes_max = None),
    ("source", |parts| parts.when.source = list([source("other")])),
    ("two sources", |parts| parts.when.source = list([source("team"), source("other")])),
    ("id", |parts| parts.when.id = list([id("pdg")])),
    ("no id", |parts| parts.when.id = None),
    ("revision", |parts| {
        parts.when.revision = Some(RevisionCondition::OneOf(OneOf::new(vec![pin("2")]).unwrap()));
    }),
    ("any revision", |parts| parts.when.revision = Some(RevisionCondition::Any)),
    ("tool", |parts| parts.when.tool = list([tool("run_pdf_write")])),
    ("tier", |parts| parts.when.tier = list([PolicyTier::Remote])),
    ("effect", |parts| parts.when.effect = list([Effect::Other])),
    ("workspace", |parts| parts.when.workspace = list([WorkspaceCondition::Below(place("/sr"))])),
    ("no workspace", |parts| parts.when.workspace = list([WorkspaceCondition::NoneGranted])),
    ("agent", |parts| parts.when.agent = list([agent("cl")])),
    ("network", |parts| parts.when.network = list([NetworkUse::Any])),
    ("argument", |parts| parts.when.arguments[0] = argument("mod", texts(&["fast"]))),
    ("equal", |parts| parts.when.arguments[0] = argument("mode", texts(&["slow"]))),
    ("prefix for equal", |parts| parts.when.arguments[0] = argument("mode", prefix(&["fast"]))),
    ("below for prefix", |parts| parts.when.arguments[1] = argument("name", below(&["/re"]))),
    ("bool for text", |parts| {
        let values = OneOf::new(vec![Scalar::Bool(true)]).unwrap();
        parts.when.arguments[0] = argument("mode", ArgumentTest::one_of(values).unwrap());
    }),
    ("text true", |parts| parts.when.arguments[0] = argument("mode", texts(&["true"]))),
    ("least", |parts| parts.when.arguments[2] = argument("size", range(Some(2), Some(9)))),
    ("most", |parts| parts.when.arguments[2] = argument("size", range(Some(1), None))),
    ("one argument less", |parts| drop(parts.when.arguments.pop())),
];

// CHK-007, CHK-048: another policy is another binding, whichever field differs.
#[test]
fn each_field_is_in_the_digest() {
    let of = |parts: RuleParts| policy(Mode::Ask, vec![Rule::new(parts).unwrap()]).sha256();
    let mut digests = BTreeSet::from([of(full_parts())]);
    for (what, change) in CHANGES {
        let mut parts = full_parts();
        change(&mut parts);
        assert!(digests.insert(of(parts)), "{what}");
    }
    for mode in Mode::ALL {
        assert!(digests.insert(policy(mode, Vec::new()).sha256()), "{mode:?}");
    }
    let surfaces = Surfaces::default();
    let changed = |kinds: Kinds| Kinds { once: !kinds.once, ..kinds };
    let widened = |kinds: Kinds| Kinds { revision: !kinds.revision, ..kinds };
    for surfaces in [
        Surfaces { terminal: changed(surfaces.terminal), ..surfaces },
        Surfaces { page: changed(surfaces.page), ..surfaces },
        Surfaces { elicitation: changed(surfaces.elicitation), ..surfaces },
        Surfaces { flag: changed(surfaces.flag), ..surfaces },
        Surfaces { terminal: widened(surfaces.terminal), ..surfaces },
        Surfaces { page: widened(surfaces.page), ..surfaces },
        Surfaces { elicitation: widened(surfaces.elicitation), ..surfaces },
        Surfaces { flag: widened(surfaces.flag), ..surfaces },
    ] {
        assert!(digests.insert(Policy::new(Mode::Ask, surfaces, Vec::new()).unwrap().sha256()));
    }
    assert!(digests.insert(Policy::blocked().sha256()));
    let rules = || ["a", "b"].map(|name| rule(name, Outcome::Deny, Conditions::default()));
    let [a, b] = rules();
    assert!(digests.insert(policy(Mode::Ask, vec![a, b]).sha256()));
    let [a, b] = rules();
    assert!(digests.insert(policy(Mode::Ask, vec![b, a]).sha256()), "the order");
    assert_eq!(Policy::default().sha256(), policy(Mode::Ask, Vec::new()).sha256());
}

// The same rule, however its arguments were ordered and spelled.
#[test]
fn two_ways_to_write_a_rule_are_one_policy() {
    let mut parts = full_parts();
    parts.when.arguments.reverse();
    parts.when.arguments[2] = argument("/mode", texts(&["fast"]));
    assert_eq!(Rule::new(parts), Rule::new(full_parts()));
}

// X-06: each refusal, and an accepted twin at its edge.
#[test]
fn rules_have_rules() {
    let with = |change: &dyn Fn(&mut RuleParts)| {
        let mut parts = full_parts();
        change(&mut parts);
        Rule::new(parts).map(drop)
    };
    let long = "n".repeat(RULE_NAME_CHARS_MAX);
    assert_eq!(with(&|parts| parts.name.clone_from(&long)), Ok(()));
    assert_eq!(with(&|parts| parts.name = format!("{long}n")), Err(RuleError::Name));
    assert_eq!(with(&|parts| parts.name.clear()), Err(RuleError::Name));
    assert_eq!(with(&|parts| parts.name = "a\u{202e}b".to_owned()), Err(RuleError::Name));
    for (seconds, fits) in [(0, false), (1, true), (3600, true), (3601, false)] {
        let made = with(&|parts| parts.limits.timeout_seconds_max = Some(seconds));
        assert_eq!(made.is_ok(), fits, "{seconds}");
    }
    for (bytes, fits) in
        [(0, false), (1, true), (OUTPUT_BYTES_CEILING, true), (OUTPUT_BYTES_CEILING + 1, false)]
    {
        let made = with(&|parts| parts.limits.output_bytes_max = Some(bytes));
        assert_eq!(made.is_ok(), fits, "{bytes}");
    }
    for outcome in [Outcome::Ask, Outcome::Deny] {
        assert_eq!(with(&|parts| parts.outcome = outcome), Err(RuleError::LimitsNotOnAllow));
        assert_eq!(with(&|parts| (parts.outcome, parts.limits) = (outcome, Limits::default())), Ok(()));
    }
    assert_eq!(with(&|parts| parts.when = Conditions::default()), Err(RuleError::AllowsEverything));
    assert_eq!(with(&|parts| parts.when.source = None), Err(RuleError::BareId));
    assert_eq!(with(&|parts| parts.when.revision = None), Err(RuleError::NoRevision));
    let server = || list([source("server:git")]);
    let of_server = |parts: &mut RuleParts| {
        (parts.when.source, parts.when.id, parts.when.revision) = (server(), None, None);
    };
    assert_eq!(with(&of_server), Ok(()));
    // What a deny says of a bare name holds for every source.
    let bare = Conditions { id: list([id("pdf")]), ..Conditions::default() };
    assert_eq!(rule("bare", Outcome::Deny, bare).when().id, list([id("pdf")]));
    assert_eq!(
        with(&|parts| parts.when.arguments.push(argument("/mode", texts(&["x"])))),
        Err(RuleError::ArgumentTwice)
    );
    let many =
        |count: usize| (0..count).map(|n| argument(&format!("a{n}"), texts(&["x"]))).collect::<Vec<_>>();
    assert_eq!(with(&|parts| parts.when.arguments = many(ARGUMENTS_MAX)), Ok(()));
    assert_eq!(
        with(&|parts| parts.when.arguments = many(ARGUMENTS_MAX + 1)),
        Err(RuleError::TooManyArguments)
    );
    assert!(OneOf::new((0..VALUES_MAX).collect()).is_ok());
    for wrong in [Vec::new(), vec![1, 2, 1], (0..=VALUES_MAX).collect()] {
        assert_eq!(OneOf::new(wrong), Err(RuleError::Values));
    }
    let mixed = OneOf::new(vec![Scalar::Bool(true), Scalar::Text("true".to_owned())]).unwrap();
    assert_eq!(ArgumentTest::one_of(mixed), Err(RuleError::MixedTypes));
    assert_eq!(ArgumentTest::range(None, None), Err(RuleError::Range));
    assert_eq!(ArgumentTest::range(Some(2_i64.into()), Some(1_i64.into())), Err(RuleError::Range));
    assert!(ArgumentTest::range(Some(1_i64.into()), Some(1_i64.into())).is_ok());
}

#[test]
fn a_policy_has_limits() {
    let rules = |count: usize| {
        let named = (0..count).map(|n| rule(&n.to_string(), Outcome::Deny, Conditions::default()));
        Policy::new(Mode::Ask, Surfaces::default(), named.collect())
    };
    assert!(rules(RULES_MAX).is_ok());
    assert_eq!(rules(RULES_MAX + 1), Err(RuleError::TooManyRules));
    let twins = ["a", "a"].map(|name| rule(name, Outcome::Deny, Conditions::default()));
    assert_eq!(Policy::new(Mode::Ask, Surfaces::default(), twins.into()), Err(RuleError::NameTwice));
}

#[test]
fn sources_and_selectors_are_read_in_one_way() {
    for good in ["a", "team-2", "server:git", &"a".repeat(32), &format!("server:{}", "a".repeat(32))] {
        assert_eq!(source(good).as_str(), good);
    }
    for bad in ["", "server:", "Team", "a b", "a_b", "server:server:a", "é", &"a".repeat(33)] {
        assert_eq!(SourceName::parse(bad), Err(RuleError::Source), "{bad}");
    }
    let value = json(r#"{"a":1,"a/b":2,"m~n":3,"":4,"list":[{"x":5},6],"0":7}"#);
    let of = |selector: &str| Selector::parse(selector).map(|selector| selector.to_text());
    let holds = |selector: &str, number: i64| {
        let condition = argument(selector, range(Some(number), Some(number)));
        condition.truth(Fact::Is(ArgumentFacts { value: &value, paths: &[] })) == condition::Truth::Yes
    };
    for (selector, number, text) in [
        ("a", 1, "a"),
        ("/a", 1, "a"),
        ("a/b", 2, "a/b"),
        ("/a~1b", 2, "a/b"),
        ("/m~0n", 3, "m~n"),
        ("/", 4, "/"),
        ("/list/0/x", 5, "/list/0/x"),
        ("/list/1", 6, "/list/1"),
        ("0", 7, "0"),
    ] {
        assert!(holds(selector, number), "{selector}");
        assert_eq!(of(selector).as_deref(), Ok(text));
        assert_eq!(Selector::parse(text), Selector::parse(selector));
    }
    for (selector, number) in [("/list/01", 6), ("/list/+1", 6), ("/list/2", 6), ("/a/b", 2), ("list", 6)] {
        assert!(!holds(selector, number), "{selector}");
    }
    let deep = "/a".repeat(SELECTOR_DEPTH_MAX);
    assert!(Selector::parse(&deep).is_ok() && Selector::parse(&"a".repeat(SELECTOR_CHARS_MAX)).is_ok());
    for bad in ["", "/a~", "/a~2", "a\n", &format!("{deep}/a"), &"a".repeat(SELECTOR_CHARS_MAX + 1)] {
        assert_eq!(Selector::parse(bad), Err(RuleError::Selector), "{bad}");
    }
}

#[test]
fn revisions_are_written_in_one_way() {
    let text = revision("1").revision().to_string();
    assert_eq!(RevisionPin::parse(&text), Some(pin("1")));
    assert_eq!(pin("1").to_string(), text);
    assert_eq!(Revision::of_record(&text), Some(revision("1").revision()));
    let upper = text.to_uppercase();
    for bad in ["", "*", text.trim_start_matches("sha256:"), &upper, &text[..70], &format!("{text}0")] {
        assert_eq!(RevisionPin::parse(bad), None, "{bad}");
        assert_eq!(Revision::of_record(bad), None, "{bad}");
    }
}

// X-08, X-21: an elicitation never trusts a revision by default, and a flag counts only where it is configured.
#[test]
fn surfaces_give_what_they_may() {
    use crate::consent::Surface;
    let default = Surfaces::default();
    for surface in Surface::ALL {
        for kind in YesKind::ALL {
            for configured in [false, true] {
                let expected = match (surface, kind) {
                    (Surface::Terminal | Surface::Page, _) => true,
                    (Surface::Elicitation, kind) => kind == YesKind::Once,
                    (Surface::Flag, kind) => kind == YesKind::Once && configured,
                };
                assert_eq!(default.allow(surface, kind, configured), expected, "{surface:?} {kind:?}");
                assert!(!Policy::blocked().surfaces().allow(surface, kind, configured));
            }
        }
    }
}

// CHK-029, CHK-030, CHK-031, CHK-032
#[test]
fn modes_that_run_nothing_have_their_codes() {
    let facts = PolicyFacts { tier: Fact::Is(PolicyTier::Module), ..PolicyFacts::default() };
    let tier = Conditions { tier: list([PolicyTier::Module]), ..Conditions::default() };
    let allow = || vec![rule("all", Outcome::Allow, tier.clone())];
    let decide = |policy: &Policy| {
        let decision = policy.decide(&facts, &Scopes::default());
        assert_eq!(decision.policy, policy.sha256());
        (decision.outcome, decision.code(), decision.why)
    };
    let allowed = (Outcome::Allow, None, Why::Rule("all".to_owned()));
    assert_eq!(decide(&policy(Mode::Ask, allow())), allowed);
    assert_eq!(decide(&policy(Mode::Trusted, allow())), allowed);
    let denied = |code, why| (Outcome::Deny, Some(code), why);
    assert_eq!(decide(&policy(Mode::Blocked, allow())), denied(Code::PolicyBlocked, Why::Blocked));
    assert_eq!(decide(&policy(Mode::Workflow, allow())), denied(Code::PolicyWorkflow, Why::Workflow));
    assert_eq!(decide(&Policy::blocked()), denied(Code::PolicyInvalid, Why::Unreadable));
    let deny = policy(Mode::Ask, vec![rule("no", Outcome::Deny, tier.clone())]);
    assert_eq!(decide(&deny), denied(Code::PolicyDenied, Why::Rule("no".to_owned())));
    assert_eq!(decide(&Policy::default()), (Outcome::Ask, None, Why::Default));
}

// No rule waives the question for scripts, and none does where the tier is not known.
#[test]
fn an_allow_rule_never_waives_the_question_for_scripts() {
    let when = Conditions { agent: list([agent("cli")]), ..Conditions::default() };
    let policy = policy(Mode::Ask, vec![rule("mine", Outcome::Allow, when)]);
    let label = agent("cli");
    let tiers = PolicyTier::ALL.into_iter().map(Fact::Is).chain([Fact::Missing, Fact::None]);
    for tier in tiers {
        let facts: PolicyFacts<'_> = PolicyFacts { agent: Fact::Is(&label), tier, ..PolicyFacts::default() };
        let is_waived =
            matches!(tier, Fact::Is(PolicyTier::Remote | PolicyTier::Module | PolicyTier::Isolated));
        let name = "mine".to_owned();
        let (outcome, why) =
            if is_waived { (Outcome::Allow, Why::Rule(name)) } else { (Outcome::Ask, Why::NotWaived(name)) };
        assert_eq!(policy.suppose(&facts), Supposed { outcome, why }, "{tier:?}");
    }
}

/// Whether one condition on the argument `a` is known to hold, known not to, or neither.
fn of_argument(test: &ArgumentTest, value: &str, paths: &[PathFact<'_>]) -> &'static str {
    let value = json(value);
    let facts = PolicyFacts::<RevisionPin> {
        arguments: Fact::Is(ArgumentFacts { value: &value, paths }),
        tier: Fact::Is(PolicyTier::Module),
        ..PolicyFacts::default()
    };
    let when = || Conditions { arguments: vec![argument("a", test.clone())], ..Conditions::default() };
    let decides = |outcome| policy(Mode::Ask, vec![rule("r", outcome, when())]).suppose(&facts).outcome;
    match (decides(Outcome::Deny), decides(Outcome::Allow)) {
        (Outcome::Deny, Outcome::Allow) => "yes",
        (Outcome::Ask, Outcome::Ask) => "no",
        (Outcome::Deny, Outcome::Ask) => "unknown",
        other => panic!("{other:?}"),
    }
}

// XSF-12's values as they are: nothing is coerced, and what cannot be compared counts as missing.
#[test]
fn arguments_are_compared_by_type() {
    let number = |value: i64| range(Some(value), Some(value));
    for (test, value, expected) in [
        (texts(&["x", "y"]), r#"{"a":"y"}"#, "yes"),
        (texts(&["x"]), r#"{"a":"X"}"#, "no"),
        (texts(&["5"]), r#"{"a":5}"#, "unknown"),
        (texts(&["x"]), r#"{"a":null}"#, "unknown"),
        (texts(&["x"]), r#"{"a":["x"]}"#, "unknown"),
        (texts(&["x"]), "{}", "unknown"),
        (prefix(&["ab"]), r#"{"a":"abc"}"#, "yes"),
        (prefix(&["ab"]), r#"{"a":"a"}"#, "no"),
        (prefix(&["5"]), r#"{"a":5}"#, "unknown"),
        (number(5), r#"{"a":5.0}"#, "yes"),
        (number(5), r#"{"a":5.5}"#, "no"),
        (number(5), r#"{"a":"5"}"#, "unknown"),
        (range(Some(1), None), r#"{"a":0}"#, "no"),
        (range(None, Some(1)), r#"{"a":1}"#, "yes"),
        (below(&["/srv"]), r#"{"a":"/srv/x"}"#, "unknown"),
    ] {
        assert_eq!(of_argument(&test, value, &[]), expected, "{test:?} {value}");
    }
}

// Paths are compared by their real place and by whole components, whatever the text was.
#[test]
fn paths_are_compared_by_component_where_they_lead() {
    let real = place("/srv/papers/a");
    let to = |resolved| [PathFact { parameter: "a", resolved }];
    for (test, expected) in [
        (below(&["/srv"]), "yes"),
        (below(&["/srv/papers/a"]), "yes"),
        (below(&["/srv/pap"]), "no"),
        (below(&["/srv/papers/b", "/"]), "yes"),
        (texts(&["/srv/papers/a"]), "yes"),
        (texts(&["/srv//papers/./a"]), "yes"),
        (texts(&["/etc/passwd"]), "no"),
        (texts(&["../../etc/passwd"]), "unknown"),
        (prefix(&["../../etc"]), "unknown"),
        (prefix(&["/srv"]), "unknown"),
        (range(Some(1), None), "unknown"),
    ] {
        let value = r#"{"a":"../../etc/passwd"}"#;
        assert_eq!(of_argument(&test, value, &to(Some(&real))), expected, "{test:?}");
        assert_eq!(of_argument(&test, value, &to(None)), "unknown", "{test:?}");
    }
    // Of two paths in one parameter nobody knows which is meant, and within one there is nothing to point at.
    let value = json(r#"{"a":["x","y"]}"#);
    let paths = [("a", "/srv/x"), ("a", "/etc/y")].map(|(parameter, path)| (parameter, place(path)));
    let paths = paths.each_ref().map(|(parameter, path)| PathFact { parameter, resolved: Some(path) });
    for paths in [&paths[..], &paths[..1]] {
        let facts = ArgumentFacts { value: &value, paths };
        for selector in ["/a/0", "/a/1"] {
            let truth = argument(selector, texts(&["x"])).truth(Fact::Is(facts));
            assert_eq!(truth, condition::Truth::Unknown);
        }
    }
}

// What the host knows not to be there is not missing: a rule about skills says nothing of the host's own tools.
#[test]
fn none_and_missing_are_two_things() {
    let when = Conditions { source: list([source("team")]), ..Conditions::default() };
    let deny = policy(Mode::Ask, vec![rule("no", Outcome::Deny, when)]);
    let outcome = |source| deny.suppose(&PolicyFacts::<RevisionPin> { source, ..Default::default() }).outcome;
    assert_eq!(outcome(Fact::None), Outcome::Ask);
    assert_eq!(outcome(Fact::Is("other")), Outcome::Ask);
    assert_eq!(outcome(Fact::Is("team")), Outcome::Deny);
    assert_eq!(outcome(Fact::Missing), Outcome::Deny);
}

// A call above a limit is asked about and not cut down; deny and ask rules have no limits to be below of.
#[test]
fn a_call_above_a_limit_is_not_matched() {
    let parts = RuleParts {
        when: Conditions { tier: list([PolicyTier::Module]), ..Conditions::default() },
        ..full_parts()
    };
    let policy = policy(Mode::Ask, vec![Rule::new(parts).unwrap()]);
    let within = PolicyFacts::<RevisionPin> {
        tier: Fact::Is(PolicyTier::Module),
        timeout: Fact::Is(core::time::Duration::from_secs(30)),
        output_bytes: Fact::Is(1024),
        ..PolicyFacts::default()
    };
    assert_eq!(policy.suppose(&within).outcome, Outcome::Allow);
    let longer = core::time::Duration::from_millis(30_001);
    for above in [
        PolicyFacts { timeout: Fact::Is(longer), ..within },
        PolicyFacts { timeout: Fact::Missing, ..within },
        PolicyFacts { timeout: Fact::None, ..within },
        PolicyFacts { output_bytes: Fact::Is(1025), ..within },
        PolicyFacts { output_bytes: Fact::Missing, ..within },
    ] {
        assert_eq!(policy.suppose(&above).outcome, Outcome::Ask, "{above:?}");
    }
    let explained = policy.explain_supposed(&PolicyFacts { timeout: Fact::Is(longer), ..within });
    assert_eq!(explained.rules[0].reasons, [Reason::Above(Field::Timeout)]);
}

fn found(policy: &Policy) -> Vec<String> {
    let known = BTreeSet::from(["team", "server:git"]);
    policy
        .lint(&known)
        .iter()
        .map(|finding| format!("{} {finding}", crate::code::Coded::code(finding)))
        .collect()
}

#[test]
fn lint_finds_what_may_not_have_been_meant() {
    assert_eq!(found(&policy(Mode::Ask, vec![Rule::new(full_parts()).unwrap()])), [""; 0]);
    let any = Conditions { revision: Some(RevisionCondition::Any), ..everything() };
    let scripts = Conditions { tier: list([PolicyTier::Script, PolicyTier::Checked]), ..everything() };
    let agents = Conditions { agent: list([agent("cli")]), ..Conditions::default() };
    let servers =
        Conditions { source: list([source("server:git"), source("server:x")]), ..Conditions::default() };
    let as_text =
        Conditions { arguments: vec![argument("file", prefix(&["/srv"]))], ..Conditions::default() };
    let rules = vec![
        rule("any", Outcome::Allow, any),
        rule("scripts", Outcome::Allow, scripts),
        rule("agents", Outcome::Allow, agents),
        rule("servers", Outcome::Allow, servers),
        rule("text", Outcome::Ask, as_text),
    ];
    let wide = Surfaces { elicitation: Kinds::BOTH, flag: Kinds::BOTH, ..Surfaces::default() };
    let policy = Policy::new(Mode::Ask, wide, rules).unwrap();
    let codes: Vec<_> =
        found(&policy).iter().map(|text| text.split(' ').next().unwrap().to_owned()).collect();
    let expected = [
        "W_POLICY_ANY_REVISION",
        "W_POLICY_NEVER_WAIVES",
        "W_POLICY_ANY_REVISION",
        "W_POLICY_UNKNOWN_SOURCE",
        "W_POLICY_PATH_AS_TEXT",
        "W_POLICY_WIDE_SURFACE",
        "W_POLICY_WIDE_SURFACE",
    ];
    assert_eq!(codes, expected);
}

/// Whether the second of two rules never decides.
fn is_shadowed(first: Rule, second: Rule) -> bool {
    let policy = policy(Mode::Ask, vec![first, second]);
    policy.lint(&BTreeSet::from(["team", "other"])).iter().any(|finding| {
        matches!(finding, Finding::Unreachable { rule, by } if *rule == "later" && *by == "earlier")
    })
}

#[test]
fn what_lint_calls_unreachable() {
    let first = |outcome, when| rule("earlier", outcome, when);
    let second = |outcome, when| rule("later", outcome, when);
    let (deny, ask, allow) = (Outcome::Deny, Outcome::Ask, Outcome::Allow);
    assert!(is_shadowed(first(ask, everything()), second(allow, everything())));
    assert!(is_shadowed(first(deny, Conditions::default()), second(ask, everything())));
    assert!(is_shadowed(first(allow, everything()), second(allow, everything())));
    // A deny decides before an ask, wherever it stands.
    assert!(!is_shadowed(first(ask, Conditions::default()), second(deny, everything())));
    assert!(!is_shadowed(first(allow, everything()), second(ask, everything())));
    // Whichever field is narrower or another one, the later rule has its say.
    for (what, change) in CHANGES {
        let mut parts = full_parts();
        change(&mut parts);
        let narrow = rule("earlier", ask, parts.when.clone());
        let is_broader = matches!(
            *what,
            "name"
                | "outcome"
                | "timeout"
                | "no timeout"
                | "output"
                | "no output"
                | "two sources"
                | "no id"
                | "any revision"
                | "most"
                | "one argument less"
        );
        assert_eq!(is_shadowed(narrow, second(allow, everything())), is_broader, "{what}");
    }
    let pair = |all: ArgumentTest, some: ArgumentTest| {
        let when = |test| Conditions { arguments: vec![argument("a", test)], ..Conditions::default() };
        is_shadowed(first(deny, when(all)), second(ask, when(some)))
    };
    assert!(pair(below(&["/srv"]), below(&["/srv/a", "/srv"])));
    assert!(!pair(below(&["/srv/a"]), below(&["/srv"])));
    assert!(pair(prefix(&["a", "b"]), prefix(&["bc"])));
    assert!(!pair(prefix(&["bc"]), prefix(&["b"])));
    assert!(pair(range(Some(0), None), range(Some(0), Some(1))));
    assert!(!pair(range(Some(0), Some(1)), range(Some(0), None)));
    let numbers = |values: &[i64]| {
        let values = values.iter().map(|value| Scalar::Number((*value).into())).collect();
        ArgumentTest::one_of(OneOf::new(values).unwrap()).unwrap()
    };
    assert!(pair(range(Some(0), Some(9)), numbers(&[0, 9])));
    assert!(!pair(range(Some(0), Some(9)), numbers(&[0, 10])));
    let limited = |name: &str, seconds| {
        let limits = Limits { timeout_seconds_max: seconds, output_bytes_max: None };
        Rule::new(RuleParts { name: name.to_owned(), limits, ..full_parts() }).unwrap()
    };
    for (first, second, expected) in
        [(None, Some(1), true), (Some(2), Some(1), true), (Some(1), Some(2), false), (Some(1), None, false)]
    {
        assert_eq!(is_shadowed(limited("earlier", first), limited("later", second)), expected);
    }
}
