//! Asking: who is asked, for how long, and what counts as an answer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use fumehood_core::code::{Class, Code, Coded as _};
use fumehood_core::consent::{Decision, State, Surface};
use fumehood_core::event::Denial;
use fumehood_core::tool::{Approval, Failure, Tier};
use fumehood_core::{AgentLabel, EventKind};
use fumehood_gate::Gate;

use crate::world::{Answer, Happening, Outcome, SECRET, Step, TOOL, Tool, World, YES, plan, raw_call};

fn human() -> World {
    World::new(&Tool::new(Approval::Human))
}

// XSF-18, XSF-34: whoever approves sees the arguments and the plan; XSF-33: no event does.
#[test]
fn whoever_approves_sees_everything() {
    let world = human();
    *world.stage.on_show.lock().unwrap() = Some(Box::new(|stage, request| {
        let text = request.call.invocation().value().to_bytes();
        assert_eq!(text, format!(r#"{{"text":"{SECRET}"}}"#).into_bytes());
        assert_eq!((request.agent.as_str(), request.tool.name().as_str()), ("cli", TOOL));
        assert_eq!(*request.plan, plan());
        assert_eq!(request.run, stage.gate().run());
        assert_eq!(request.expires.unix_ms() - request.created.unix_ms(), 300_000);
        stage.decide(request.id, YES);
    }));
    let _ = world.call().unwrap();
    assert_eq!(world.told(), ["approval.required", "approval.granted", "tool.called 1", "tool.completed 1"]);
    // What was shown is told to be over.
    assert_eq!(*world.stage.closed.lock().unwrap(), [State::Approved(Surface::Terminal)]);
}

// XSF-35, X-14: nobody to ask is a denial with its reason.
#[test]
fn nobody_to_ask_is_a_denial() {
    let world = human();
    let agent = AgentLabel::parse("cli").unwrap();
    let stage = world.stage.clone();
    let gate = Gate::builder(agent, stage.clone(), stage.clone(), stage.clone(), stage.clone(), stage);
    let gate = gate.build().unwrap();
    let offer = fumehood_gate::Offer::new(
        Tool::new(Approval::Human).spec(),
        crate::world::Plans(world.stage.clone()),
    );
    gate.offer(vec![offer.unwrap()]).unwrap();
    let error = gate.call(&raw_call(), &world.stage.cancel).unwrap_err();
    assert_eq!(
        (error.denial, error.code(), error.failure),
        (Some(Denial::NobodyToAsk), Code::ToolDenied, Failure::Denied)
    );
    assert_eq!(world.entries(), 0);
}

// EXE-62, EXE-63: the same for scripts, with their own codes.
#[test]
fn scripts_have_codes_of_their_own() {
    let script = Tool { tier: Tier::Script, ..Tool::new(Approval::Human) };
    for (answer, code, class) in [
        (Answer::No, Code::ScriptDenied, Class::Denied),
        (Answer::Gone, Code::ScriptDenied, Class::Denied),
        (Answer::Outage, Code::ScriptGateUnavailable, Class::Unavailable),
        (Answer::Panic, Code::ScriptGateUnavailable, Class::Unavailable),
    ] {
        let world = World::new(&script);
        *world.stage.answer.lock().unwrap() = answer;
        let error = world.call().unwrap_err();
        assert_eq!((error.code(), error.code().class()), (code, class), "{answer:?}");
        assert_eq!(world.entries(), 0);
    }
    let world = World::new(&script);
    let _ = world.call().unwrap();
}

// X-07, XSF-20: a person may take all the time there is; the tool then has all of its own.
#[test]
fn waiting_for_a_person_is_not_part_of_the_timeout() {
    let world = human().with_steps(&[Step { outcome: Outcome::Takes(Duration::from_secs(29)), then: None }]);
    *world.stage.on_show.lock().unwrap() = Some(Box::new(|stage, request| {
        stage.pass(Duration::from_secs(299));
        stage.decide(request.id, YES);
    }));
    let _ = world.call().unwrap();
    assert_eq!(*world.stage.walls.lock().unwrap(), [Duration::from_secs(30)]);
    let elapsed = world.events().into_iter().find_map(|event| match event.kind() {
        EventKind::ToolCompleted { elapsed_ms, .. } => Some(elapsed_ms),
        _ => None,
    });
    assert_eq!(elapsed, Some(29_000));
}

// CHK-008: five minutes, and not a moment more, also if the yes came in time and the call did not.
#[test]
fn a_request_expires() {
    for (seconds, expected) in [(299, None), (300, Some(Denial::NoAnswer))] {
        let world = human();
        *world.stage.on_show.lock().unwrap() = Some(Box::new(move |stage, request| {
            stage.pass(Duration::from_secs(seconds));
            stage.decide(request.id, YES);
        }));
        assert_eq!(world.call().err().and_then(|error| error.denial), expected, "{seconds}");
    }
}

// CHK-008, CHK-009: a machine that slept, and clocks that jump either way, before the answer: nothing makes the five minutes
// longer, and the wall clock makes them no shorter either.
#[test]
fn no_clock_lengthens_a_request() {
    const YEAR: i64 = 365 * 86_400;
    for (what, jumps, passes, runs) in [
        ("nothing", [0, 0, 0], 299, true),
        ("asleep, which only the boot time clock counts", [0, 300, 0], 0, false),
        ("asleep for less", [0, 299, 0], 0, true),
        ("only the monotonic clock counts", [300, 0, 0], 0, false),
        ("the wall clock is set forward", [0, 0, YEAR], 299, true),
        ("the wall clock is set back", [0, 0, -YEAR], 299, true),
        ("the wall clock is set back, and the time is over", [0, 0, -YEAR], 300, false),
        ("all clocks are set back, and one goes on", [-YEAR, 0, -YEAR], 300, false),
        ("all clocks but the other one are set back", [0, -YEAR, -YEAR], 300, false),
    ] {
        let world = human();
        // The gate begins at a time from which a clock can go back.
        world.stage.pass(Duration::from_secs(10 * YEAR.unsigned_abs()));
        *world.stage.on_show.lock().unwrap() = Some(Box::new(move |stage, request| {
            stage.pass(Duration::from_secs(passes));
            *stage.jumps.lock().unwrap() = jumps;
            stage.decide(request.id, YES);
        }));
        let result = world.call().map(drop);
        assert_eq!(
            result.as_ref().err().and_then(|error| error.denial),
            (!runs).then_some(Denial::NoAnswer),
            "{what}"
        );
        assert_eq!(world.entries(), usize::from(runs), "{what}");
        if !runs {
            assert_eq!(
                (result.unwrap_err().code(), world.ledger()),
                (Code::ToolDenied, vec![State::Expired]),
                "{what}"
            );
            assert_eq!(world.told(), ["approval.required", "approval.denied no_answer"], "{what}");
        }
    }
    // A clock that goes back after it had run out brings nothing back.
    let world = human();
    *world.stage.on_show.lock().unwrap() = Some(Box::new(|stage, request| {
        *stage.jumps.lock().unwrap() = [0, 300, 0];
        stage.decide(request.id, YES);
        *stage.jumps.lock().unwrap() = [0, 0, 0];
        stage.decide(request.id, YES);
    }));
    assert_eq!(world.call().unwrap_err().denial, Some(Denial::NoAnswer));
    assert_eq!(world.entries(), 0);
}

// CHK-010: the 65th is refused, and none is given up for it.
#[test]
fn a_run_asks_64_times() {
    let world = human();
    for _ in 0..64 {
        let _ = world.call().unwrap();
    }
    world.events();
    let error = world.call().unwrap_err();
    assert_eq!((error.code(), error.failure), (Code::ConsentFull, Failure::Denied));
    assert_eq!((world.entries(), world.ledger().len()), (64, 64));
    assert!(world.told().is_empty());
}

// XSF-35: an answer that comes as the last thing before its giver is gone counts.
#[test]
fn the_last_word_counts() {
    for (decision, runs) in [(YES, true), (Decision::Deny, false)] {
        let world = human();
        *world.stage.on_show.lock().unwrap() = Some(Box::new(move |stage, request| {
            let decider = stage.decider.lock().unwrap().take().unwrap();
            decider.decide(request.id, decision).unwrap();
        }));
        assert_eq!(world.call().is_ok(), runs);
    }
}

/// Calls on a thread of its own, and does `meanwhile` once somebody is asked.
fn while_it_waits(meanwhile: impl FnOnce(&World)) -> (World, Result<(), fumehood_gate::GateError>) {
    let world = human();
    let shown = Arc::new(Barrier::new(2));
    let there = Arc::clone(&shown);
    *world.stage.on_show.lock().unwrap() = Some(Box::new(move |_, _| {
        there.wait();
    }));
    let result = thread::scope(|scope| {
        let caller = scope.spawn(|| world.call().map(drop));
        shown.wait();
        meanwhile(&world);
        caller.join().unwrap()
    });
    (world, result)
}

// XSF-35, CHK-016, EXE-65: a wait ends when the caller gives up, the run ends, or nobody is left to answer; and it ends by
// an answer of another thread.
#[test]
fn a_wait_has_an_end() {
    let id = |world: &World| world.stage.asked.lock().unwrap()[0];
    let (world, result) = while_it_waits(|world| world.stage.cancel.cancel());
    assert_eq!(result.unwrap_err().code(), Code::Cancelled);
    assert_eq!(world.ledger(), [State::Denied]);
    let (world, result) = while_it_waits(|world| world.gate.end());
    assert_eq!(result.unwrap_err().code(), Code::RunEnded);
    assert_eq!(world.ledger(), [State::Cancelled]);
    let (world, result) = while_it_waits(|world| drop(world.stage.decider.lock().unwrap().take()));
    assert_eq!(result.unwrap_err().denial, Some(Denial::Abandoned));
    assert_eq!((world.entries(), world.told().pop().unwrap().as_str()), (0, "approval.denied abandoned"));
    let (world, result) = while_it_waits(|world| world.stage.decide(id(world), YES));
    result.unwrap();
    assert_eq!(world.entries(), 1);
    let (world, result) = while_it_waits(|world| {
        world.stage.happen(Happening::Withdraw);
        world.stage.decide(id(world), YES);
    });
    assert_eq!(result.unwrap_err().denial, Some(Denial::Policy));
    assert_eq!((world.entries(), world.ledger()), (0, vec![State::Denied]));
}

// CHK-013, CHK-005: callers of one gate at once; each yes runs one call.
#[test]
fn each_yes_runs_one_call() {
    let world = human();
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    *world.stage.on_show.lock().unwrap() = Some(Box::new(move |stage, request| {
        let is_even = seen.fetch_add(1, Ordering::AcqRel).is_multiple_of(2);
        stage.decide(request.id, if is_even { YES } else { Decision::Deny });
    }));
    let done = thread::scope(|scope| {
        let callers: Vec<_> = (0..16).map(|_| scope.spawn(|| world.call().is_ok())).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).filter(|done| *done).count()
    });
    assert_eq!((done, world.entries(), count.load(Ordering::Acquire)), (8, 8, 16));
}

// CHK-017: what was approved in a run that ended is good for nothing in the next.
#[test]
fn an_ended_run_takes_no_more_calls() {
    let world = human();
    let _ = world.call().unwrap();
    world.gate.end();
    let error = world.call().unwrap_err();
    assert_eq!((error.code(), error.failure), (Code::RunEnded, Failure::Cancelled));
    assert_eq!(world.entries(), 1);
}

// XSF-17, XSF-25, X-07: what does not fit is refused before anybody is asked.
#[test]
fn arguments_are_checked_first() {
    let world = human();
    for arguments in [
        format!(r#"{{"text":"{}"}}"#, SECRET.repeat(4)),
        format!(r#"{{"text":1,"more":"{SECRET}"}}"#),
        SECRET.to_owned(),
    ] {
        let raw = fumehood_core::RawCall { arguments: arguments.into_bytes(), ..raw_call() };
        let error = world.gate.call(&raw, &world.stage.cancel).unwrap_err();
        assert_eq!(error.failure, Failure::Validation);
        assert!(!format!("{error:?} {error}").contains(SECRET), "{error:?}");
    }
    let raw = fumehood_core::RawCall { tool: "other".to_owned(), ..raw_call() };
    assert_eq!(world.gate.call(&raw, &world.stage.cancel).unwrap_err().code(), Code::ToolUnknown);
    assert!(world.told().is_empty() && world.stage.rows.lock().unwrap().is_empty());
    assert!(world.stage.asked.lock().unwrap().is_empty());
}
