use std::collections::BTreeMap;

use super::*;
use crate::binding::BindingParts;
use crate::consent::{Decision, Ledger};
use crate::containment::{Enforcement, Level};
use crate::digest::VerifiedRevision;
use crate::path::RelPath;
use crate::time::Now;

fn binding() -> Binding {
    Binding::of(&BindingParts {
        agent: &AgentLabel::parse("cli").unwrap(),
        run: RunId::from_random([1; 16]),
        tool: &ToolName::parse("run_notes_count").unwrap(),
        workspace: None,
        revision: None,
        overlay: None,
        invocation: b"{}",
        validator_version: 1,
        interpreter: None,
        profile: b"",
        policy: Sha256::of(b""),
    })
}

/// A consent as the one way to it gives it.
fn consent() -> Consent {
    let now = Now { monotonic: Duration::ZERO, boot: Duration::ZERO };
    let mut ledger = Ledger::new(RunId::from_random([1; 16]));
    let id = ProposalId::from_random([3; 16]);
    ledger.propose(now, WallTime::from_unix_ms(0), id, binding(), &[]).unwrap();
    ledger.decide(now, id, Decision::Approve(Surface::Terminal)).unwrap();
    ledger.consume(now, id, &binding()).unwrap()
}

fn opening() -> Opening {
    let bytes = BTreeMap::from([(RelPath::parse("SKILL.md").unwrap(), b"x")]);
    let mut containment = Containment::none();
    (containment.level_floor, containment.level) = (Level::Namespaces, Level::Full);
    for report in &mut containment.axes {
        (report.asked, report.enforced) = (true, Enforcement::Enforced);
        report.mechanism = "namespace".to_owned();
    }
    Opening {
        id: ReceiptId::from_random([5; 16]),
        run: RunId::from_random([1; 16]),
        call: CallId::from_random([2; 16]),
        agent: AgentLabel::parse("cli").unwrap(),
        tool: ToolName::parse("run_notes_count").unwrap(),
        tier: Tier::Script,
        skill: Some(SkillIdentity {
            source: "user".to_owned(),
            name: SkillName::parse("notes").unwrap(),
            revision: VerifiedRevision::of(&bytes).revision(),
            overlay: Some(Sha256::of(b"overlay")),
        }),
        interpreter: Some(InterpreterIdentity::of_hashed_file("/usr/bin/sh", None, Sha256::of(b"sh"))),
        workspace: Some(WorkspaceIdentity::of_open_directory(1, 2, "/home/user/notes")),
        binding: binding(),
        arguments: Sha256::of(b"{}"),
        authority: Authority::consent(&consent()),
        containment,
        limits: Limits { wall: Some(Duration::from_secs(5)), processes: Some(64), ..Limits::default() },
        unsafe_controls: vec!["ungated-tools".to_owned()],
        state_folder: Some("/srv/fumehood".to_owned()),
        started: WallTime::from_unix_ms(1_700_000_000_000),
    }
}

fn closing() -> Closing {
    Closing {
        attempts: 1,
        failure: None,
        exit: Some(Exit::Code(0)),
        killed: None,
        output: Captured { kept_bytes: 7, dropped_bytes: 0 },
        errors: Captured::default(),
        artifact: Some(ArtifactId::from_random([4; 16])),
        errors_artifact: Some(ArtifactId::from_random([6; 16])),
        applied: vec![
            Applied {
                path: "/home/user/notes/a".to_owned(),
                change: Change::Created,
                bytes: 1,
                sha256: Some(Sha256::of(b"a")),
            },
            Applied {
                path: "/home/user/notes/b".to_owned(),
                change: Change::Removed,
                bytes: 0,
                sha256: None,
            },
        ],
        processes: Processes::ProvenGone,
        fallback: false,
        ended: WallTime::from_unix_ms(1_700_000_000_250),
        elapsed: Duration::from_micros(249_700),
    }
}

type Edit = fn(&mut Opening, &mut Closing);

fn verdict_with(change: impl FnOnce(&mut Opening, &mut Closing)) -> Verdict {
    let (mut opening, mut closing) = (opening(), closing());
    change(&mut opening, &mut closing);
    Receipt::close(opening, closing).verdict()
}

// CHK-111, CHK-129: the facts decide, and each of them can only take success away.
#[test]
fn success_is_drawn_from_the_facts() {
    assert_eq!(verdict_with(|_, _| {}), Verdict::Succeeded);
    let failed = |failure, code| Verdict::Failed(failure, code);
    let cases: [(Edit, Verdict); 11] = [
        (
            |_, closing| closing.failure = Some((Failure::Policy, Code::ScriptPolicyWidened)),
            failed(Failure::Policy, Code::ScriptPolicyWidened),
        ),
        (
            |_, closing| closing.processes = Processes::Unproven,
            failed(Failure::Integrity, Code::ProcessesLeft),
        ),
        (
            |opening, _| opening.containment.level = Level::Kernel,
            failed(Failure::SandboxRequired, Code::ToolSandboxRequired),
        ),
        (|_, closing| closing.killed = Some(Killed::Deadline), failed(Failure::Timeout, Code::ScriptTimeout)),
        (
            |opening, closing| (opening.tier, closing.killed) = (Tier::Isolated, Some(Killed::Deadline)),
            failed(Failure::Timeout, Code::ToolTimeout),
        ),
        (
            |_, closing| closing.killed = Some(Killed::Output),
            failed(Failure::Execution, Code::ScriptOutputLimit),
        ),
        (|_, closing| closing.killed = Some(Killed::Cancelled), failed(Failure::Cancelled, Code::Cancelled)),
        (
            |_, closing| closing.killed = Some(Killed::Content),
            failed(Failure::BadResponse, Code::ToolBadResponse),
        ),
        (|_, closing| closing.exit = Some(Exit::Signal(11)), failed(Failure::Execution, Code::ScriptFailed)),
        (
            |opening, closing| (opening.tier, closing.exit) = (Tier::Checked, Some(Exit::Code(1))),
            failed(Failure::Execution, Code::ScriptFailed),
        ),
        (|_, closing| closing.attempts = 0, failed(Failure::Host, Code::Internal)),
    ];
    for (index, (change, expected)) in cases.into_iter().enumerate() {
        assert_eq!(verdict_with(change), expected, "{index}");
    }
}

// X-04, EXE-55, EXE-56: for a text script another exit code than zero is a failure if the host says so.
#[test]
fn the_exit_code_of_a_text_script_is_for_the_host_to_judge() {
    let code = |_: &mut Opening, closing: &mut Closing| closing.exit = Some(Exit::Code(3));
    assert_eq!(verdict_with(code), Verdict::Succeeded);
    let judged = |_: &mut Opening, closing: &mut Closing| {
        (closing.exit, closing.failure) =
            (Some(Exit::Code(3)), Some((Failure::Execution, Code::ScriptFailed)));
    };
    assert_eq!(verdict_with(judged), Verdict::Failed(Failure::Execution, Code::ScriptFailed));
}

// CHK-025: a receipt says that a person said yes only if one did.
#[test]
fn a_receipt_names_who_said_yes() {
    let authority = |authority| {
        let receipt = Receipt::close(Opening { authority, ..opening() }, closing());
        let json: serde_json::Value = serde_json::from_slice(&receipt.to_json()).unwrap();
        json["authority"].to_string()
    };
    let shape = |kind: &str, consent: &str, surface: &str, rule: &str, scope: &str| {
        format!(
            r#"{{"consent":{consent},"kind":"{kind}","rule":{rule},"scope":{scope},"surface":{surface}}}"#
        )
    };
    let id = r#""ask_03030303030303030303030303030303""#;
    let null = "null";
    assert_eq!(authority(Authority::consent(&consent())), shape("consent", id, r#""terminal""#, null, null));
    assert_eq!(authority(Authority::rule("read")), shape("rule", null, null, r#""read""#, null));
    assert_eq!(authority(Authority::scope("s1")), shape("scope", null, null, null, r#""s1""#));
    assert_eq!(authority(Authority::auto()), shape("auto", null, null, null, null));
    assert_eq!(authority(Authority::callback()), shape("callback", null, null, null, null));
}

// The published shape, in our own strict subset.
mod published {
    use super::*;
    use crate::json::Json;
    use crate::schema::Schema;

    #[expect(clippy::disallowed_methods, reason = "the shape is a file")]
    fn text() -> String {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schemas/receipt.schema.json");
        std::fs::read_to_string(path).unwrap()
    }

    fn validate(answer: &[u8]) -> Result<(), String> {
        let text = text();
        let definition = Json::parse(text.as_bytes(), text.len()).unwrap();
        let schema = Schema::compile_object(&definition).unwrap();
        let value = Json::parse(answer, answer.len()).unwrap();
        schema.validate(&value).map_err(|issues| issues.to_string())
    }

    /// With nothing there that can be absent.
    fn least() -> (Opening, Closing) {
        let opening = Opening {
            skill: None,
            interpreter: None,
            workspace: None,
            authority: Authority::auto(),
            containment: Containment::none(),
            limits: Limits::default(),
            unsafe_controls: Vec::new(),
            state_folder: None,
            tier: Tier::Module,
            ..opening()
        };
        let closing = Closing {
            exit: None,
            artifact: None,
            errors_artifact: None,
            applied: Vec::new(),
            processes: Processes::NoneStarted,
            ..closing()
        };
        (opening, closing)
    }

    #[test]
    fn receipts_have_the_published_shape() {
        let (least_opening, least_closing) = least();
        let mut receipts = vec![
            opening().to_json(),
            least_opening.to_json(),
            Receipt::close(opening(), closing()).to_json(),
            Receipt::close(least_opening, least_closing).to_json(),
        ];
        let full = Limits {
            grace: Some(Duration::MAX),
            output_bytes: Some(u64::MAX),
            cpu_seconds: Some(1),
            memory_bytes_per_process: Some(1),
            memory_bytes_total: Some(1),
            file_bytes: Some(1),
            open_files: Some(1),
            temporary_bytes: Some(1),
            temporary_files: Some(1),
            ..opening().limits
        };
        for failure in Failure::ALL {
            let closing = Closing { failure: Some((failure, Code::ScriptFailed)), ..closing() };
            receipts.push(Receipt::close(Opening { limits: full, ..opening() }, closing).to_json());
        }
        let changes = [Change::Created, Change::Replaced, Change::Removed];
        for (killed, change) in Killed::ALL.into_iter().zip(changes.into_iter().cycle()) {
            let mut closing =
                Closing { killed: Some(killed), exit: Some(Exit::Signal(255)), fallback: true, ..closing() };
            closing.applied[0].change = change;
            closing.processes = Processes::Unproven;
            receipts.push(Receipt::close(opening(), closing).to_json());
        }
        for tier in Tier::ALL {
            receipts.push(Opening { tier, ..opening() }.to_json());
        }
        for authority in [Authority::callback(), Authority::rule("r"), Authority::scope("s")] {
            receipts.push(Opening { authority, ..opening() }.to_json());
        }
        for receipt in receipts {
            assert_eq!(validate(&receipt), Ok(()), "{}", String::from_utf8_lossy(&receipt));
        }
    }

    /// In a closed object every property is required: a receipt never leaves a field out.
    fn closed_objects(schema: &serde_json::Value, objects: &mut usize) {
        if let Some(properties) = schema["properties"].as_object().filter(|_| schema["type"] == "object") {
            assert_eq!(schema["additionalProperties"], false);
            let mut required: Vec<_> =
                schema["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
            required.sort_unstable();
            assert_eq!(properties.keys().collect::<Vec<_>>(), required);
            *objects += 1;
        }
        match schema {
            serde_json::Value::Object(entries) => {
                entries.values().for_each(|entry| closed_objects(entry, objects));
            }
            serde_json::Value::Array(items) => items.iter().for_each(|item| closed_objects(item, objects)),
            _ => {}
        }
    }

    #[test]
    fn the_shape_names_all_its_fields_and_no_others() {
        let mut objects = 0;
        closed_objects(&serde_json::from_str(&text()).unwrap(), &mut objects);
        assert_eq!(objects, 11);
    }

    // The shape would notice.
    #[test]
    fn a_field_more_less_or_other_is_noticed() {
        let receipt: serde_json::Value =
            serde_json::from_slice(&Receipt::close(opening(), closing()).to_json()).unwrap();
        let refused = |changed: &serde_json::Value| validate(changed.to_string().as_bytes()).is_err();
        assert!(!refused(&receipt));
        for place in ["", "/closing", "/skill", "/interpreter", "/authority", "/containment", "/limits"] {
            let with = |change: &dyn Fn(&mut serde_json::Map<String, serde_json::Value>)| {
                let mut changed = receipt.clone();
                change(changed.pointer_mut(place).unwrap().as_object_mut().unwrap());
                changed
            };
            assert!(refused(&with(&|object| drop(object.insert("more".to_owned(), 1.into())))), "{place}");
            for key in receipt.pointer(place).unwrap().as_object().unwrap().keys() {
                assert!(refused(&with(&|object| drop(object.remove(key)))), "{place}/{key}");
                let other = with(&|object| drop(object.insert(key.clone(), serde_json::json!([[1]]))));
                assert!(refused(&other), "{place}/{key}");
            }
        }
    }
}

// XSF-47: arguments are in a receipt only as their digest.
#[test]
fn a_receipt_holds_a_digest_of_the_arguments() {
    let arguments = Sha256::of(br#"{"word":"secret"}"#);
    let receipt = Receipt::close(Opening { arguments, ..opening() }, closing());
    let text = String::from_utf8(receipt.to_json()).unwrap();
    assert!(text.contains(&format!(r#""arguments_sha256":"{arguments}""#)) && !text.contains("secret"));
    assert_eq!((receipt.opening().arguments, receipt.closing().attempts), (arguments, 1));
}
