//! The host fails: nothing runs undecided, and nothing that ran is called a success.

use std::sync::atomic::Ordering;

use fumehood_core::code::{Code, Coded as _};
use fumehood_core::consent::State;
use fumehood_core::tool::{Approval, Failure};

use crate::world::{Outcome, SECRET, Step, Tool, World, YES, plan};

// without randomness there is no id, and nothing runs.
#[test]
fn randomness_that_fails_is_an_outage() {
    // The first is the run's, then the call, the request, the record.
    for at in 1..4 {
        let world = World::new(&Tool::new(Approval::Human));
        *world.stage.entropy_fails_at.lock().unwrap() = Some(at);
        let error = world.call().unwrap_err();
        assert_eq!(error.code(), Code::ToolGateUnavailable, "{at}");
        assert_eq!(world.entries(), 0, "{at}");
    }
    let world = World::new(&Tool::new(Approval::Human));
    *world.stage.entropy_fails_at.lock().unwrap() = Some(4);
    let _ = world.call().unwrap();
}

// X-14, CHK-008: a clock that fails makes no request last forever; nothing is decided without one.
#[test]
fn a_clock_that_fails_is_an_outage() {
    let world = World::new(&Tool::new(Approval::Auto));
    let _ = world.call().unwrap();
    let world = World::new(&Tool::new(Approval::Human));
    *world.stage.on_show.lock().unwrap() = Some(Box::new(|stage, request| {
        stage.clock_panics.store(true, Ordering::Release);
        stage.decide(request.id, YES);
    }));
    assert_eq!(world.call().unwrap_err().code(), Code::ToolGateUnavailable);
    // Also when it is back: what went by meanwhile is not known.
    world.stage.clock_panics.store(false, Ordering::Release);
    *world.stage.on_show.lock().unwrap() = None;
    assert_eq!(world.call().unwrap_err().code(), Code::ToolGateUnavailable);
    assert_eq!((world.entries(), world.ledger()), (0, vec![State::Denied]));
}

// While nobody answers, too.
#[test]
fn a_clock_that_fails_ends_a_wait() {
    let world = World::new(&Tool::new(Approval::Human));
    *world.stage.on_show.lock().unwrap() =
        Some(Box::new(|stage, _| stage.clock_panics.store(true, Ordering::Release)));
    assert_eq!(world.call().unwrap_err().code(), Code::ToolGateUnavailable);
    assert_eq!(world.entries(), 0);
}

// X-14, EXE-16: a planner that panics, and what it panics with panics again.
#[test]
fn a_planner_that_panics_is_an_outage() {
    let world = World::new(&Tool::new(Approval::Auto));
    world.stage.planner_panics.store(true, Ordering::Release);
    let error = world.call().unwrap_err();
    assert_eq!((error.code(), error.denial), (Code::ToolGateUnavailable, None));
    assert!(world.told().is_empty());
    // After a yes, that is no denial either.
    let world = World::new(&Tool::new(Approval::Human));
    *world.stage.on_show.lock().unwrap() = Some(Box::new(|stage, request| {
        stage.planner_panics.store(true, Ordering::Release);
        stage.decide(request.id, YES);
    }));
    assert_eq!(world.call().unwrap_err().code(), Code::ToolGateUnavailable);
    assert_eq!((world.told(), world.ledger()), (vec!["approval.required".to_owned()], vec![State::Denied]));
}

// EXE-15, EXE-16: whatever a tool panics with is a failure of the tool.
#[test]
fn a_tool_that_explodes_has_failed() {
    let world = World::new(&Tool { retries: 1, ..Tool::new(Approval::Auto) });
    let world = world.with_steps(&[Step { outcome: Outcome::Explodes, then: None }]);
    let _ = world.call().unwrap();
    assert_eq!(
        world.told(),
        ["tool.called 1", "tool.failed 1 E_SKILL_TOOL_FAILED", "tool.called 2", "tool.completed 2"]
    );
}

// A receipt says what it may: digests and ids.
#[test]
fn rows_hold_digests_only() {
    let world = World::new(&Tool::new(Approval::Human));
    *world.stage.plans.lock().unwrap() = Ok(plan());
    let completed = world.call().unwrap();
    let rows = world.stage.rows.lock().unwrap().clone();
    let kinds: Vec<&str> = rows.iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(kinds, ["decision", "receipt.open", "receipt.closed"]);
    let texts: Vec<String> = rows.into_iter().map(|(_, json, _)| String::from_utf8(json).unwrap()).collect();
    assert!(texts.iter().all(|text| !text.contains(SECRET)));
    let closed: serde_json::Value = serde_json::from_str(&texts[2]).unwrap();
    assert_eq!(closed["id"], completed.receipt.to_string());
    assert_eq!(closed["outcome"], "succeeded");
    assert_eq!(closed["authority"]["surface"], "terminal");
    let decision: serde_json::Value = serde_json::from_str(&texts[0]).unwrap();
    assert_eq!((&decision["decision"], &decision["binding"]), (&"approved".into(), &closed["binding"]));
}

// A failure of the host is not the tool's, and is not tried again.
#[test]
fn a_result_that_cannot_be_kept_is_the_hosts_failure() {
    use crate::world::{Fault, SpoolStage};
    let world = World::new(&Tool { retries: 2, ..Tool::new(Approval::Auto) });
    *world.stage.spool_fails_at.lock().unwrap() = Some((0, SpoolStage::Finish, Fault::Outage));
    let error = world.call().unwrap_err();
    assert_eq!((error.failure, error.code(), world.entries()), (Failure::Host, Code::StateUnavailable, 1));
    assert!(error.ran.is_some());
    // The person's files are changed only behind a result that is kept.
    assert!(!world.stage.log.lock().unwrap().iter().any(|line| line == "applied"));
}
