//! Calls that do not wait: the request outlives the call, and only the same call finds the answer.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use fumehood_core::code::{Class, Code, Coded as _};
use fumehood_core::consent::{Decision, PROPOSALS_MAX, State, Surface};
use fumehood_core::event::Denial;
use fumehood_core::tool::{Approval, Failure};
use fumehood_core::{ProposalId, RawCall};
use fumehood_gate::{Completed, GateError};

use crate::world::{Answer, Happening, Opinion, TOOL, Tool, World, YES, raw_call};

/// A world in which whoever is asked takes their time.
fn slow() -> World {
    let world = World::new(&Tool::new(Approval::Human));
    *world.stage.on_show.lock().unwrap() = Some(Box::new(|_, _| {}));
    world
}

fn call(world: &World) -> Result<Completed, GateError> {
    world.gate.call_without_waiting(&raw_call(), &world.stage.cancel)
}

/// The request that the call leaves open.
fn parked(world: &World) -> ProposalId {
    let error = call(world).unwrap_err();
    assert_eq!((error.code(), error.failure, error.denial), (Code::ConsentPending, Failure::Denied, None));
    error.pending.unwrap()
}

fn asked(world: &World) -> usize {
    world.stage.asked.lock().unwrap().len()
}

/// How the rows in the journal answer requests: `approved`, or why not.
fn rows(world: &World) -> Vec<String> {
    let rows = world.stage.rows.lock().unwrap();
    let decisions = rows.iter().filter(|(kind, ..)| *kind == "decision");
    decisions
        .map(|(_, json, _)| {
            let row: serde_json::Value = serde_json::from_slice(json).unwrap();
            row["denial"].as_str().or(row["decision"].as_str()).unwrap().to_owned()
        })
        .collect()
}

// CHK-013, X-07: asked once, however often the call is made; the yes is good for one call of exactly that.
#[test]
fn the_same_call_finds_the_answer() {
    let world = slow();
    let id = parked(&world);
    assert_eq!((parked(&world), parked(&world)), (id, id));
    assert_eq!((asked(&world), world.entries()), (1, 0));
    assert!(rows(&world).is_empty());

    world.stage.decide(id, YES);
    let _ = call(&world).unwrap();
    assert_eq!((asked(&world), world.entries()), (1, 1));
    assert_eq!(world.ledger(), [State::Consumed(Surface::Terminal)]);
    assert_eq!(rows(&world), ["approved"]);
    assert_eq!(*world.stage.closed.lock().unwrap(), [State::Approved(Surface::Terminal)]);
    assert_eq!(world.told(), ["approval.required", "approval.granted", "tool.called 1", "tool.completed 1"]);

    assert_ne!(parked(&world), id);
    assert_eq!((asked(&world), world.entries()), (2, 1));
}

// X-14: a no is told as one, and nobody is asked again for what they just refused.
#[test]
fn a_no_stands_as_long_as_the_request_would_have_lived() {
    let world = slow();
    let id = parked(&world);
    world.stage.decide(id, Decision::Deny);
    for _ in 0..3 {
        let error = call(&world).unwrap_err();
        assert_eq!((error.code(), error.denial), (Code::ToolDenied, Some(Denial::Person)));
        assert_eq!(error.pending, None);
    }
    assert_eq!((asked(&world), world.entries()), (1, 0));
    assert_eq!(rows(&world), ["person"]);
    assert_eq!(world.told(), ["approval.required", "approval.denied person"]);

    world.stage.happen(Happening::Expire);
    assert_ne!(parked(&world), id);
    assert_eq!((asked(&world), rows(&world).len()), (2, 1));
}

// CHK-008: neither a question nor a yes outlives five minutes, and the record says that nothing came of it.
#[test]
fn a_request_that_is_never_come_back_for_expires() {
    for answer in [None, Some(YES)] {
        let world = slow();
        let id = parked(&world);
        if let Some(answer) = answer {
            world.stage.decide(id, answer);
        }
        world.stage.pass(Duration::from_mins(5));
        assert_ne!(parked(&world), id);
        assert_eq!(world.ledger(), [State::Expired, State::Pending]);
        assert_eq!((world.entries(), rows(&world)), (0, vec!["no_answer".to_owned()]));
        assert_eq!(*world.stage.closed.lock().unwrap(), [State::Expired]);
    }
    // One moment earlier it is good.
    let world = slow();
    let id = parked(&world);
    world.stage.decide(id, YES);
    world.stage.pass(Duration::from_mins(5) - Duration::from_nanos(1));
    let _ = call(&world).unwrap();
}

// CHK-007, CHK-011: a yes to something else is no yes, and the request it answered is over.
#[test]
fn what_changed_meanwhile_is_asked_about_anew() {
    for (happening, answer) in [
        (Happening::SourceChange, None),
        (Happening::SourceChange, Some(YES)),
        (Happening::PolicyChange, None),
        (Happening::PolicyChange, Some(YES)),
    ] {
        let world = slow();
        let id = parked(&world);
        if let Some(answer) = answer {
            world.stage.decide(id, answer);
        }
        world.stage.happen(happening);
        let new = parked(&world);
        assert_ne!(new, id);
        assert_eq!(world.ledger(), [State::Stale, State::Pending], "{happening:?}");
        world.stage.decide(id, YES);
        assert_eq!((parked(&world), world.entries()), (new, 0));
        world.stage.decide(new, YES);
        let _ = call(&world).unwrap();
        assert_eq!((asked(&world), world.entries()), (2, 1));
    }
}

// CHK-048: a yes does not outlive what the policy says when it is used.
#[test]
fn a_yes_is_no_use_against_the_policy() {
    let world = slow();
    let id = parked(&world);
    world.stage.decide(id, YES);
    world.stage.happen(Happening::Revoke);
    let error = call(&world).unwrap_err();
    assert_eq!((error.code(), error.denial, world.entries()), (Code::PolicyDenied, Some(Denial::Policy), 0));
    // What is allowed meanwhile needs no answer.
    let world = slow();
    let _ = parked(&world);
    world.stage.happen(Happening::Says(Opinion::Allows));
    let _ = call(&world).unwrap();
}

// CHK-016: with the run, its requests end, and are on record.
#[test]
fn the_end_of_the_run_is_the_end_of_its_requests() {
    for answer in [None, Some(YES)] {
        let world = slow();
        let id = parked(&world);
        if let Some(answer) = answer {
            world.stage.decide(id, answer);
        }
        world.stage.happen(Happening::End);
        assert_eq!(world.ledger(), [State::Cancelled]);
        assert_eq!((rows(&world), world.entries()), (vec!["abandoned".to_owned()], 0));
        assert_eq!(call(&world).unwrap_err().code(), Code::RunEnded);
    }
}

// Whoever calls twice at once is asked about once.
#[test]
fn two_calls_at_once_are_one_question() {
    let world = slow();
    let both = Barrier::new(2);
    let ids = thread::scope(|scope| {
        let call = || {
            both.wait();
            parked(&world)
        };
        [scope.spawn(call), scope.spawn(call)].map(|thread| thread.join().unwrap())
    });
    assert_eq!((ids[0], asked(&world)), (ids[1], 1));
    // And one yes is one run.
    world.stage.decide(ids[0], YES);
    let ran = thread::scope(|scope| {
        let call = || {
            both.wait();
            call(&world).is_ok()
        };
        [scope.spawn(call), scope.spawn(call)].map(|thread| thread.join().unwrap())
    });
    assert_eq!((ran.iter().filter(|ran| **ran).count(), world.entries()), (1, 1));
}

// CHK-006: another call does not find it, nor does one that waits.
#[test]
fn only_the_same_call_finds_it() {
    let world = slow();
    let id = parked(&world);
    world.stage.decide(id, YES);
    let other = RawCall { tool: TOOL.to_owned(), arguments: br#"{"text":"other"}"#.to_vec() };
    let error = world.gate.call_without_waiting(&other, &world.stage.cancel).unwrap_err();
    assert_ne!(error.pending.unwrap(), id);
    *world.stage.on_show.lock().unwrap() = None;
    *world.stage.answer.lock().unwrap() = Answer::No;
    assert_eq!(world.call().unwrap_err().denial, Some(Denial::Person));
    assert_eq!(world.entries(), 0);
    // The twin: written in another way it is the same.
    let same = RawCall { tool: TOOL.to_owned(), arguments: br#" {"text" : "\u0073wordfish"} "#.to_vec() };
    let _ = world.gate.call_without_waiting(&same, &world.stage.cancel).unwrap();
    assert_eq!(world.entries(), 1);
}

// A question that could not be shown is an outage, and leaves nothing behind that could be found.
#[test]
fn what_cannot_be_shown_is_not_left_open() {
    let world = World::new(&Tool::new(Approval::Human));
    for answer in [Answer::Outage, Answer::Panic] {
        *world.stage.answer.lock().unwrap() = answer;
        let error = call(&world).unwrap_err();
        assert_eq!((error.failure, error.code().class()), (Failure::GateUnavailable, Class::Unavailable));
        assert_eq!((error.pending, error.denial), (None, None));
    }
    assert_eq!(world.ledger(), [State::Denied, State::Denied]);
    // Answered before it was even left: the next call finds that.
    *world.stage.answer.lock().unwrap() = Answer::Yes;
    let _ = parked(&world);
    let _ = call(&world).unwrap();
    assert_eq!(world.entries(), 1);
}

// CHK-010: requests that are left open count as all others do.
#[test]
fn a_run_leaves_64_requests() {
    let world = slow();
    for number in 0..PROPOSALS_MAX {
        let arguments = format!(r#"{{"text":"{number}"}}"#).into_bytes();
        let call = RawCall { tool: TOOL.to_owned(), arguments };
        assert!(world.gate.call_without_waiting(&call, &world.stage.cancel).unwrap_err().pending.is_some());
    }
    assert_eq!(call(&world).unwrap_err().code(), Code::ConsentFull);
    assert_eq!(asked(&world), PROPOSALS_MAX);
}
