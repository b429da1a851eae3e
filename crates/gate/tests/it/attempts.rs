//! Attempts: what a run gives is judged by its facts.

use std::time::Duration;

use fumehood_core::code::{Code, Coded as _};
use fumehood_core::event::Denial;
use fumehood_core::receipt::{Exit, Killed, Processes};
use fumehood_core::tool::{Approval, Failure, Tier};
use fumehood_gate::{RawOutput, RunError, Stream};

use crate::world::{Fault, Happening, Outcome, SECRET, SpoolStage, Step, Tool, World};

fn gives(raw: RawOutput) -> Step {
    Step { outcome: Outcome::Gives(Box::new(raw)), then: None }
}

fn answer() -> RawOutput {
    RawOutput::answer(SECRET.into())
}

fn execution() -> RunError {
    RunError::of(Failure::Execution, Tier::Isolated, "it went wrong")
}

fn script(raw: RawOutput) -> World {
    let world = World::new(&Tool { tier: Tier::Script, ..Tool::new(Approval::Human) });
    world.with_steps(&[gives(raw)])
}

// EXE-59: what became of a script is read off its end, never off its text.
#[test]
fn the_end_of_a_script_is_judged() {
    let ended = RawOutput { exit: Some(Exit::Code(0)), processes: Processes::ProvenGone, ..answer() };
    let killed = |killed| RawOutput { killed: Some(killed), exit: None, ..ended.clone() };
    for (raw, code) in [
        (ended.clone(), None),
        (RawOutput { exit: Some(Exit::Signal(9)), ..ended.clone() }, Some(Code::ScriptFailed)),
        (killed(Killed::Deadline), Some(Code::ScriptTimeout)),
        (killed(Killed::Output), Some(Code::ScriptOutputLimit)),
        (killed(Killed::Cancelled), Some(Code::Cancelled)),
        (RawOutput { processes: Processes::Unproven, ..ended.clone() }, Some(Code::ProcessesLeft)),
        // A program that ended was started, so that none was is no proof.
        (RawOutput { processes: Processes::NoneStarted, ..ended.clone() }, Some(Code::ProcessesLeft)),
    ] {
        let world = script(raw.clone());
        let result = world.call();
        assert_eq!(
            result.as_ref().err().map(<fumehood_gate::GateError as fumehood_core::Coded>::code),
            code,
            "{raw:?}"
        );
        // The person's files are changed after success only.
        let log = world.stage.log.lock().unwrap().clone();
        assert_eq!(log.iter().any(|line| line == "applied"), code.is_none(), "{raw:?}");
        assert_eq!(world.entries(), 1);
    }
}

// A run that was killed has been killed, whether or not what it wrote can be kept.
#[test]
fn a_failure_stays_what_it_was() {
    let world =
        script(RawOutput { killed: Some(Killed::Deadline), processes: Processes::ProvenGone, ..answer() });
    *world.stage.spool_fails_at.lock().unwrap() = Some((0, SpoolStage::Write, Fault::Outage));
    assert_eq!(world.call().unwrap_err().code(), Code::ScriptTimeout);
}

// A script's runner that panics has shown nothing about processes.
#[test]
fn a_panic_proves_nothing_about_processes() {
    for (tier, left) in [(Tier::Script, "unproven"), (Tier::Module, "none_started")] {
        let world = World::new(&Tool { tier, ..Tool::new(Approval::Human) });
        let world = world.with_steps(&[Step { outcome: Outcome::Panics, then: None }]);
        let _ = world.call().unwrap_err();
        let rows = world.stage.rows.lock().unwrap().clone();
        let closed: serde_json::Value = serde_json::from_slice(&rows.last().unwrap().1).unwrap();
        assert_eq!(closed["closing"]["processes_left"], left);
    }
}

// nothing is tried again beside something that may be left.
#[test]
fn nothing_is_tried_again_beside_what_is_left() {
    for (processes, entries) in [(Processes::Unproven, 1), (Processes::ProvenGone, 2)] {
        let world = World::new(&Tool { tier: Tier::Isolated, retries: 1, ..Tool::new(Approval::Human) });
        let raw = RawOutput { processes, error: Some(execution()), ..answer() };
        let world = world.with_steps(&[gives(raw)]);
        assert_eq!(world.call().is_ok(), entries == 2);
        assert_eq!(world.entries(), entries, "{processes:?}");
    }
}

// What a failed run wrote is kept, and both streams come along for a person.
#[test]
fn what_a_failed_run_wrote_is_kept() {
    let errors = Stream { bytes: vec![b'e'; 5_000].into(), dropped: 7 };
    let world = script(RawOutput {
        errors,
        exit: Some(Exit::Code(3)),
        processes: Processes::ProvenGone,
        error: Some(execution()),
        ..answer()
    });
    let error = world.call().unwrap_err();
    let ran = error.ran.unwrap();
    assert_eq!((ran.errors.0.len(), ran.errors_dropped, ran.exit), (5_000, 7, Some(Exit::Code(3))));
    assert!(ran.artifact.is_some() && ran.errors_artifact.is_some());
    let kept = world.stage.kept.lock().unwrap().clone();
    assert_eq!(kept, [SECRET.as_bytes().to_vec(), vec![b'e'; 5_000]]);
}

// XSF-41, XSF-45, X-10: a fallback is marked, and nothing of the failure comes with it.
#[test]
fn a_fallback_stands_in_and_says_so() {
    let world = World::new(&Tool { has_fallback: true, ..Tool::new(Approval::Auto) });
    let errors = Stream { bytes: SECRET.into(), dropped: 0 };
    let world = world.with_steps(&[gives(RawOutput { errors, error: Some(execution()), ..answer() })]);
    let completed = world.call().unwrap();
    assert!(completed.fallback);
    assert_eq!(completed.output.0, b"stand-in");
    assert!(completed.errors.0.is_empty() && completed.errors_kept.is_none());
    let rows = world.stage.rows.lock().unwrap().clone();
    let closed: serde_json::Value = serde_json::from_slice(&rows.last().unwrap().1).unwrap();
    assert_eq!((&closed["outcome"], &closed["closing"]["fallback"]), (&"failed".into(), &true.into()));
    // The record keeps where the failure can be read.
    assert!(closed["closing"]["errors_artifact"].is_string());
    // not for a denial.
    let world = World::new(&Tool { has_fallback: true, ..Tool::new(Approval::Auto) });
    world.stage.happen(Happening::Revoke);
    assert_eq!(world.call().unwrap_err().denial, Some(Denial::Policy));
}

// XSF-42: a tool knows its run and whether the caller gave up; XSF-20: and how long it has.
#[test]
fn an_attempt_has_the_time_of_its_tool() {
    let world = World::new(&Tool::new(Approval::Auto));
    let completed = world.call().unwrap();
    assert_eq!(*world.stage.walls.lock().unwrap(), [Duration::from_secs(30)]);
    assert_eq!(completed.output.0, SECRET.as_bytes());
    assert!(!format!("{completed:?}").contains(SECRET));
}

// a tool is busy for as long as anything of it is not over.
#[test]
fn a_tool_that_is_over_is_not_busy() {
    let world = World::new(&Tool::new(Approval::Human));
    let name = fumehood_core::ToolName::parse(crate::world::TOOL).unwrap();
    assert_eq!(world.gate.live(&name), Some(0));
    *world.stage.on_show.lock().unwrap() = Some(Box::new(|stage, request| {
        let name = request.tool.name();
        assert_eq!(stage.gate().live(name), Some(1));
        stage.decide(request.id, crate::world::YES);
    }));
    let _ = world.call().unwrap();
    assert_eq!(world.gate.live(&name), Some(0));
    assert_eq!(world.gate.withdraw(&name), Some(0));
    assert_eq!(world.gate.live(&name), None);
}

// XSF-24: a fallback that panics stands in for nothing.
#[test]
fn a_fallback_that_panics_is_none() {
    let world = World::new(&Tool { has_fallback: true, ..Tool::new(Approval::Auto) });
    world.stage.fallback_panics.store(true, std::sync::atomic::Ordering::Release);
    let world = world.with_steps(&[Step { outcome: Outcome::Fails, then: None }]);
    assert_eq!(world.call().unwrap_err().code(), Code::ToolFailed);
    assert_eq!(world.told(), ["tool.called 1", "tool.failed 1 E_SKILL_TOOL_FAILED receipt"]);
}

// The person's files are changed behind a kept result and before the record is closed; what fails there is no success, is
// not tried again, and has no fallback.
#[test]
fn changes_that_fail_are_the_hosts_failure() {
    for (fault, code) in [
        (None, None),
        (Some(Fault::Outage), Some(Code::WorkspaceFailed)),
        (Some(Fault::Panic), Some(Code::Internal)),
    ] {
        let world = World::new(&Tool { retries: 2, has_fallback: true, ..Tool::new(Approval::Auto) });
        *world.stage.apply_fails.lock().unwrap() = fault;
        let result = world.call();
        assert_eq!(result.as_ref().map(|done| done.applied.len()).ok(), code.is_none().then_some(1));
        assert_eq!(
            result.err().map(|error| (error.code(), error.failure)),
            code.map(|code| (code, Failure::Host))
        );
        let log = world.stage.log.lock().unwrap().clone();
        assert_eq!(log, ["receipt.open", "entered", "applied", "receipt.closed"]);
    }
}

// No receipt, no success; and whoever called learns that files were changed all the same.
#[test]
fn changes_without_a_record_are_said() {
    let world = World::new(&Tool::new(Approval::Auto));
    *world.stage.journal_fails_at.lock().unwrap() = Some((1, Fault::Outage));
    let error = world.call().unwrap_err();
    assert_eq!((error.code(), error.failure), (Code::StateUnavailable, Failure::Host));
    assert!(error.to_string().contains("files were changed"));
    assert_eq!(world.told(), ["tool.called 1", "tool.failed 1 E_STATE_UNAVAILABLE receipt"]);
}
