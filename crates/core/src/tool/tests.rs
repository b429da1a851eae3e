use super::*;

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes(), 4096).unwrap()
}

fn closed() -> Json {
    json(r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": false}"#)
}

fn definition(input: &Json) -> ToolDefinition<'_> {
    ToolDefinition {
        name: "read_note",
        description: "Reads a note.",
        input,
        effect: Effect::ReadOnly,
        retries: 0,
        timeout: Duration::from_secs(1),
        tier: Tier::Module,
        origin: Origin::Host,
        approval: None,
    }
}

fn skill() -> Origin {
    Origin::Skill { source: "user".to_owned(), skill: SkillName::parse("notes").unwrap() }
}

fn server(trust: Trust) -> Origin {
    Origin::Server { server: "mail".to_owned(), trust }
}

/// What becomes of the definition with a change.
fn with(change: impl FnOnce(&mut ToolDefinition<'_>)) -> Result<ToolSpec, ToolError> {
    let input = closed();
    let mut definition = definition(&input);
    change(&mut definition);
    ToolSpec::new(definition)
}

fn script(name: &str) -> ToolSpec {
    let input = closed();
    ToolSpec::new(ToolDefinition { name, tier: Tier::Script, origin: skill(), ..definition(&input) }).unwrap()
}

// XSF-01
#[test]
fn a_tool_keeps_what_its_definition_says() {
    let tool = with(|_| {}).unwrap();
    assert_eq!((tool.name().as_str(), tool.description()), ("read_note", "Reads a note."));
    assert_eq!((tool.effect(), tool.timeout()), (Effect::ReadOnly, Duration::from_secs(1)));
    assert_eq!((tool.tier(), tool.origin()), (Tier::Module, &Origin::Host));
    assert!(tool.input().validate(&json(r#"{"n": 1}"#)).is_ok());
    assert_eq!(Effect::default(), Effect::Other);
}

// XSF-02, X-02: one rule for the host, another for what has to hold the names of skills.
#[test]
fn names_follow_the_rule_of_their_origin() {
    let long = "a".repeat(65);
    let name = |name, origin: Origin, tier| {
        let input = closed();
        ToolSpec::new(ToolDefinition { name, tier, origin, ..definition(&input) }).map_err(|e| e.code())
    };
    assert!(name("run_word-count_Count", skill(), Tier::Script).is_ok());
    let refused = name("run_word-count_Count", Origin::Host, Tier::Module);
    assert_eq!(refused.unwrap_err(), Code::NameInvalid);
    assert_eq!(name(&long, skill(), Tier::Script).unwrap_err(), Code::NameInvalid);
    assert!(name(&long[1..], skill(), Tier::Script).is_ok());
}

// XSF-03
#[test]
fn a_description_says_something() {
    for blank in ["", " ", "\n\t", "\u{a0}"] {
        let refused = with(|tool| tool.description = blank).unwrap_err();
        assert_eq!((refused.clone(), refused.code()), (ToolError::DescriptionBlank, Code::ToolInvalid));
    }
    let (longest, longer) = ("é".repeat(4096), "é".repeat(4097));
    let input = closed();
    assert!(ToolSpec::new(ToolDefinition { description: &longest, ..definition(&input) }).is_ok());
    let refused = ToolSpec::new(ToolDefinition { description: &longer, ..definition(&input) });
    assert_eq!(refused.unwrap_err(), ToolError::DescriptionTooLong);
}

// XSF-04, XSF-05: at the limit and one above.
#[test]
fn retries_and_timeout_have_limits() {
    assert!(with(|tool| tool.retries = 5).is_ok());
    assert_eq!(with(|tool| tool.retries = 6).unwrap_err(), ToolError::RetriesTooMany);
    let hour = Duration::from_hours(1);
    assert!(with(|tool| tool.timeout = Duration::from_nanos(1)).is_ok());
    assert!(with(|tool| tool.timeout = hour).is_ok());
    for timeout in [Duration::ZERO, hour + Duration::from_nanos(1)] {
        assert_eq!(with(|tool| tool.timeout = timeout).unwrap_err(), ToolError::Timeout);
    }
}

// X-03, CHK-018, CHK-109: where a second attempt could do harm there is none to have.
#[test]
fn only_harmless_tools_have_retries() {
    for effect in [Effect::ReadOnly, Effect::IdempotentWrite, Effect::Other] {
        for tier in Tier::ALL {
            let origin = if tier == Tier::Remote { server(Trust::Trusted) } else { Origin::Host };
            let once = with(|tool| (tool.effect, tool.tier, tool.origin) = (effect, tier, origin.clone()));
            assert_eq!(once.unwrap().attempts_max(), 1);
            let twice = with(|tool| {
                (tool.effect, tool.tier, tool.origin, tool.retries) = (effect, tier, origin, 1);
            });
            let harmless = effect != Effect::Other && tier <= Tier::Isolated;
            assert_eq!(twice.is_ok(), harmless, "{effect:?} {tier:?}");
            assert!(harmless || twice.unwrap_err() == ToolError::RetriesUnsafe);
        }
    }
}

// XSF-06, XSF-07, XSF-08, XSF-10, XSF-13: one definition, compiled and published.
#[test]
fn the_published_schema_is_the_one_that_validates() {
    let tool = with(|_| {}).unwrap();
    let published = Json::parse(tool.published(), 4096).unwrap();
    let mut entries = published.as_object().unwrap().clone();
    assert_eq!(entries.remove("$schema"), Some(Json::String(DRAFT_07.to_owned())));
    assert_eq!(&Json::Object(entries), tool.input().to_json());
}

// XSF-11
#[test]
fn a_schema_that_does_not_compile_is_no_tool() {
    for (schema, code) in [
        (r#"{"type": "string"}"#, Code::SchemaInvalid),
        (r##"{"$ref": "#/x"}"##, Code::SchemaKeyword),
        (r#"{"type": "object", "properties": {}, "pattern": "x"}"#, Code::SchemaKeyword),
    ] {
        let input = json(schema);
        assert_eq!(ToolSpec::new(definition(&input)).unwrap_err().code(), code, "{schema}");
    }
}

// XSF-12, X-25: the host closes its objects; what authors write follows the written rule.
#[test]
fn schemas_of_the_host_are_closed() {
    let inner = r#"{"type": "object", "properties": {}}"#;
    for open in [
        inner.to_owned(),
        r#"{"type": "object", "properties": {}, "additionalProperties": true}"#.to_owned(),
        format!(r#"{{"type": "object", "properties": {{"a": {inner}}}, "additionalProperties": false}}"#),
        format!(
            r#"{{"type": "object", "properties": {{"a": {{"type": "array", "items": {inner}}}}}, "additionalProperties": false}}"#
        ),
        format!(
            r#"{{"type": "object", "properties": {{"a": {{"anyOf": [{{"type": "null"}}, {inner}]}}}}, "additionalProperties": false}}"#
        ),
    ] {
        let input = json(&open);
        let host = ToolSpec::new(definition(&input));
        assert_eq!(host.unwrap_err(), ToolError::OpenSchema, "{open}");
        let author = ToolDefinition { tier: Tier::Script, origin: skill(), ..definition(&input) };
        assert!(ToolSpec::new(author).is_ok(), "{open}");
    }
}

// EXE-03, EXE-04, EXE-05, EXE-07
#[test]
fn no_file_is_ever_tier_1() {
    let tiers = |origin: Origin| {
        let fits = |tier: &Tier| with(|tool| (tool.tier, tool.origin) = (*tier, origin.clone())).is_ok();
        Tier::ALL.into_iter().filter(fits).collect::<Vec<_>>()
    };
    let compiled = Origin::CompiledSkill { skill: SkillName::parse("notes").unwrap() };
    assert_eq!(tiers(skill()), [Tier::Isolated, Tier::Script, Tier::Checked]);
    assert_eq!(tiers(server(Trust::Trusted)), [Tier::Remote]);
    for origin in [Origin::Host, compiled] {
        assert_eq!(tiers(origin), [Tier::Module, Tier::Isolated, Tier::Script, Tier::Checked]);
    }
    assert!(Tier::ALL.is_sorted() && Tier::Module < Tier::Isolated && Tier::Isolated < Tier::Script);
}

// XSF-28, XSF-29, XSF-37, XSF-38, XSF-39
#[test]
fn a_person_says_yes_to_what_the_deployer_did_not_write() {
    let approval = |tier, origin: Origin, approval| {
        with(|tool| (tool.tier, tool.origin, tool.approval) = (tier, origin, approval)).unwrap().approval()
    };
    assert_eq!(approval(Tier::Module, Origin::Host, None), Approval::Auto);
    assert_eq!(approval(Tier::Script, skill(), None), Approval::Human);
    let compiled = Origin::CompiledSkill { skill: SkillName::parse("notes").unwrap() };
    assert_eq!(approval(Tier::Module, compiled, None), Approval::Human);
    assert_eq!(approval(Tier::Remote, server(Trust::default()), None), Approval::Human);
    assert_eq!(approval(Tier::Remote, server(Trust::Trusted), None), Approval::Auto);
    assert_eq!(approval(Tier::Remote, server(Trust::Untrusted), Some(Approval::Policy)), Approval::Policy);
}

// XSF-23, XSF-25, XSF-26: of all failures one is tried again.
#[test]
fn only_a_failed_execution_is_tried_again() {
    let tool = with(|tool| tool.retries = 1).unwrap();
    for failure in Failure::ALL {
        let expected = if failure == Failure::Execution { Retry::Eligible } else { Retry::Never };
        assert_eq!(tool.retry(failure, 1), expected, "{failure:?}");
    }
}

// XSF-27, XSF-40: at most one attempt more than there are retries.
#[test]
fn attempts_are_counted() {
    for retries in [0, 1, 2] {
        let tool = with(|tool| tool.retries = retries).unwrap();
        assert_eq!(tool.attempts_max(), retries + 1);
        for attempts in 1..5 {
            let expected = if attempts <= retries { Retry::Eligible } else { Retry::Never };
            assert_eq!(tool.retry(Failure::Execution, attempts), expected, "{retries} {attempts}");
        }
    }
}

// XSF-24, XSF-41, X-10
#[test]
fn a_fallback_never_hides_a_no() {
    let may: Vec<_> = {
        let tool = with(|_| {}).unwrap();
        Failure::ALL.into_iter().filter(|failure| tool.may_fall_back(*failure)).collect()
    };
    assert_eq!(may, [Failure::Timeout, Failure::Execution, Failure::BadResponse]);
    let script = script("run_notes_a");
    assert!(Failure::ALL.into_iter().all(|failure| !script.may_fall_back(failure)));
}

// EXE-58, EXE-59, EXE-62, EXE-63, EXE-65: who must act is told by the code.
#[test]
fn a_refusal_an_outage_and_a_failure_never_share_a_code() {
    use crate::code::Class;
    for tier in Tier::ALL {
        let class = |failure: Failure| failure.code(tier).class();
        for refusal in [Failure::Denied, Failure::Policy] {
            assert_eq!(class(refusal), Class::Denied, "{tier:?}");
        }
        for outage in [Failure::GateUnavailable, Failure::SandboxRequired, Failure::Host] {
            assert_eq!(class(outage).status(), 503, "{tier:?}");
        }
        for failed in [Failure::Execution, Failure::BadResponse] {
            assert_eq!(class(failed), Class::Guest, "{tier:?}");
        }
        assert_eq!(class(Failure::Timeout), Class::Timeout);
        assert_eq!(class(Failure::Cancelled), Class::Cancelled);
    }
    let script = |failure: Failure| failure.code(Tier::Script).as_str();
    assert_eq!(script(Failure::Denied), "E_SKILL_SCRIPT_DENIED");
    assert_eq!(script(Failure::GateUnavailable), "E_SKILL_SCRIPT_GATE_UNAVAILABLE");
    assert_eq!(script(Failure::Policy), "E_SKILL_SCRIPT_POLICY_WIDENED");
    assert_eq!(script(Failure::Timeout), "E_SKILL_SCRIPT_TIMEOUT");
    assert_eq!(script(Failure::Execution), "E_SKILL_SCRIPT_FAILED");
    assert_eq!(script(Failure::Host), "E_SKILL_WORKSPACE_FAILED");
    assert_eq!(Failure::Execution.code(Tier::Module).as_str(), "E_SKILL_TOOL_FAILED");
    assert_eq!(Failure::BadResponse.code(Tier::Module).as_str(), "E_SKILL_TOOL_BAD_RESPONSE");
}

// EXE-22, EXE-23, EXE-24, EXE-25: all or nothing, and nothing is replaced.
#[test]
fn a_name_is_taken_once() {
    let mut registry = Registry::new();
    registry.register(vec![with(|_| {}).unwrap()]).unwrap();
    let names = |registry: &Registry| registry.tools().map(|t| t.name().to_string()).collect::<Vec<_>>();

    let clash = registry.register(vec![script("a"), script("read_note")]).unwrap_err();
    assert_eq!((clash.code(), clash.code().as_str()), (Code::ToolCollision, "E_SKILL_TOOL_COLLISION"));
    let twice = registry.register(vec![script("a"), script("b"), script("a")]).unwrap_err();
    assert_eq!((twice.code(), twice.code().as_str()), (Code::ToolDuplicate, "E_SKILL_TOOL_DUPLICATE"));
    assert_eq!(names(&registry), ["read_note"]);
    assert_eq!(registry.get("read_note").unwrap().tier(), Tier::Module);

    registry.register(vec![script("a"), script("A")]).unwrap();
    assert_eq!(names(&registry), ["A", "a", "read_note"]);
    let a = registry.get("a").unwrap().name().clone();
    assert!(registry.remove(&a) && !registry.remove(&a));
    assert!(registry.get("a").is_none() && registry.get("not a name").is_none());
}

// EXE-23, RES-28, RES-29: reserved from the start, with no artifact there.
#[test]
fn names_of_readers_are_reserved() {
    let mut registry = Registry::new();
    for name in ["artifact_head", "artifact_md_outline", "artifact_", "Artifact_Head", "ARTIFACT_x"] {
        let refused = registry.register(vec![script(name)]).unwrap_err();
        assert!(matches!(refused, RegistryError::Reserved(_)), "{name}");
        assert_eq!(refused.code(), Code::ToolCollision);
    }
    for name in ["artifact", "artifacts_head", "my_artifact_head", "a"] {
        assert_eq!(registry.register(vec![script(name)]), Ok(()), "{name}");
    }
}
