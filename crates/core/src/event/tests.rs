use core::time::Duration;
use std::collections::BTreeSet;

use super::*;
use crate::json::Json;
use crate::tool::{Effect, Origin, Tier, ToolDefinition};

fn tool() -> ToolSpec {
    let input = br#"{"type": "object", "properties": {}, "additionalProperties": false}"#;
    ToolSpec::new(ToolDefinition {
        name: "read_note",
        description: "Reads a note.",
        input: &Json::parse(input, 4096).unwrap(),
        effect: Effect::ReadOnly,
        retries: 0,
        timeout: Duration::from_secs(1),
        tier: Tier::Module,
        origin: Origin::Host,
        approval: None,
    })
    .unwrap()
}

fn event(kind: EventKind) -> Event {
    let (run, call) = (RunId::from_random([1; 16]), CallId::from_random([2; 16]));
    Event::new(WallTime::from_unix_ms(1_700_000_000_000), run, call, &tool(), kind)
}

/// Every kind, with every field there.
fn every_kind() -> Vec<EventKind> {
    let proposal = Some(ProposalId::from_random([3; 16]));
    let artifact = Some(ArtifactId::from_random([4; 16]));
    let receipt = Some(ReceiptId::from_random([5; 16]));
    let mut kinds = vec![
        EventKind::ToolCalled { attempt: 1 },
        EventKind::ToolCompleted { attempt: 2, elapsed_ms: 3, artifact, receipt, fallback: true },
        EventKind::ApprovalRequired { proposal },
        EventKind::SandboxStarted { attempt: 1, level: Level::Full },
    ];
    for failure in Failure::ALL {
        let code = Code::ScriptFailed;
        kinds.push(EventKind::ToolFailed { attempt: 1, elapsed_ms: 9, failure, code, receipt });
    }
    for surface in Surface::ALL {
        kinds.push(EventKind::ApprovalGranted { proposal, surface: Some(surface) });
    }
    for denial in Denial::ALL {
        kinds.push(EventKind::ApprovalDenied { proposal, denial });
    }
    for exit in [Exit::Code(7), Exit::Signal(9)] {
        for killed in Killed::ALL {
            let (exit, killed) = (Some(exit), Some(killed));
            kinds.push(EventKind::SandboxEnded { attempt: 1, elapsed_ms: 4, exit, killed });
        }
    }
    kinds
}

/// What may be in an event. A type that can hold a text of somebody else is not on this list, and must not be.
trait Plain {}
impl Plain for WallTime {}
impl Plain for RunId {}
impl Plain for CallId {}
impl Plain for ProposalId {}
impl Plain for ArtifactId {}
impl Plain for ReceiptId {}
/// Of a tool on offer: the constructor takes the tool.
impl Plain for ToolName {}
impl Plain for u32 {}
impl Plain for u64 {}
impl Plain for bool {}
impl Plain for Code {}
impl Plain for Failure {}
impl Plain for Surface {}
impl Plain for Denial {}
impl Plain for Level {}
impl Plain for Exit {}
impl Plain for Killed {}
impl<T: Plain> Plain for Option<T> {}

fn plain<T: Plain>(_: &T) {}

// XSF-33, XSF-47, XSF-58: takes every kind apart, so that a field which is added or changes its type is looked at here.
#[test]
fn every_field_is_an_id_a_name_a_code_a_number_or_a_time() {
    for kind in every_kind() {
        let Event { at, run, call, tool, kind } = event(kind);
        plain(&at);
        plain(&run);
        plain(&call);
        plain(&tool);
        match kind {
            EventKind::ToolCalled { attempt } => plain(&attempt),
            EventKind::ToolCompleted { attempt, elapsed_ms, artifact, receipt, fallback } => {
                plain(&attempt);
                plain(&elapsed_ms);
                plain(&artifact);
                plain(&receipt);
                plain(&fallback);
            }
            EventKind::ToolFailed { attempt, elapsed_ms, failure, code, receipt } => {
                plain(&attempt);
                plain(&elapsed_ms);
                plain(&failure);
                plain(&code);
                plain(&receipt);
            }
            EventKind::ApprovalRequired { proposal } => plain(&proposal),
            EventKind::ApprovalGranted { proposal, surface } => {
                plain(&proposal);
                plain(&surface);
            }
            EventKind::ApprovalDenied { proposal, denial } => {
                plain(&proposal);
                plain(&denial);
            }
            EventKind::SandboxStarted { attempt, level } => {
                plain(&attempt);
                plain(&level);
            }
            EventKind::SandboxEnded { attempt, elapsed_ms, exit, killed } => {
                plain(&attempt);
                plain(&elapsed_ms);
                plain(&exit);
                plain(&killed);
            }
        }
    }
}

// XSF-47: the same about what leaves: each text is one of a closed list, an id, a code or the tool's name.
#[test]
fn every_text_of_an_event_is_a_known_one() {
    let mut known: BTreeSet<&str> = BTreeSet::from(["read_note"]);
    known.extend(Failure::ALL.map(Failure::as_str));
    known.extend(Surface::ALL.map(Surface::as_str));
    known.extend(Denial::ALL.map(Denial::as_str));
    known.extend(Killed::ALL.map(Killed::as_str));
    known.extend(Code::ALL.iter().map(|code| code.as_str()));
    known.extend(["full"]);
    let mut names = BTreeSet::new();
    for kind in every_kind() {
        names.insert(kind.name());
        let json = serde_json::to_value(event(kind)).unwrap();
        for (key, value) in json.as_object().unwrap() {
            let text = value.as_str();
            let is_known = match key.as_str() {
                "event" => text == Some(kind.name()),
                "run" => text.is_some_and(|text| RunId::parse(text).is_ok()),
                "call" => text.is_some_and(|text| CallId::parse(text).is_ok()),
                "proposal" => text.is_some_and(|text| ProposalId::parse(text).is_ok()),
                "artifact" => text.is_some_and(|text| ArtifactId::parse(text).is_ok()),
                "receipt" => text.is_some_and(|text| ReceiptId::parse(text).is_ok()),
                _ => match text {
                    Some(text) => known.contains(text),
                    None => value.is_number() || value.is_boolean(),
                },
            };
            assert!(is_known, "{key}: {value}");
        }
    }
    let expected = [
        "tool.called",
        "tool.completed",
        "tool.failed",
        "approval.required",
        "approval.granted",
        "approval.denied",
        "sandbox.started",
        "sandbox.ended",
    ];
    assert_eq!(names, BTreeSet::from(expected));
}

// XSF-19, XSF-22, XSF-36, X-09
#[test]
fn events_as_json() {
    let head = "\"at_unix_ms\":1700000000000,\"run\":\"run_01010101010101010101010101010101\",\
                \"call\":\"call_02020202020202020202020202020202\",\"tool\":\"read_note\"";
    let failed = EventKind::ToolFailed {
        attempt: 2,
        elapsed_ms: 15,
        failure: Failure::Timeout,
        code: Code::ToolTimeout,
        receipt: None,
    };
    let ended =
        EventKind::SandboxEnded { attempt: 1, elapsed_ms: 4, exit: Some(Exit::Signal(9)), killed: None };
    for (kind, name, rest) in [
        (EventKind::ToolCalled { attempt: 2 }, "tool.called", r#","attempt":2"#),
        (
            failed,
            "tool.failed",
            r#","attempt":2,"elapsed_ms":15,"failure":"timeout","code":"E_TOOL_TIMEOUT""#,
        ),
        (EventKind::ApprovalRequired { proposal: None }, "approval.required", ""),
        (ended, "sandbox.ended", r#","attempt":1,"elapsed_ms":4,"signal":9"#),
    ] {
        let expected = format!("{{\"event\":\"{name}\",{head}{rest}}}");
        assert_eq!(serde_json::to_string(&event(kind)).unwrap(), expected);
    }
}
