//! All orders of what can happen to a call, over a small world, against a model that was written by itself.

use std::fmt::Debug;

use fumehood_core::code::{Class, Coded as _};
use fumehood_core::consent::State;
use fumehood_core::tool::Approval;
use fumehood_gate::{Completed, GateError};

use crate::model::{Outcomes, Scenario, expected};
use crate::world::{
    Answer, ENTERED, Ears, Fault, Happening, Opinion, Outcome, SECRET, SpoolStage, Step, Tool, World, brief,
};

const APPROVALS: [Approval; 3] = [Approval::Auto, Approval::Policy, Approval::Human];

const OPINIONS: [Opinion; 3] = [Opinion::None, Opinion::Asks, Opinion::Allows];

const HAPPENINGS: [Happening; 12] = [
    Happening::Withdraw,
    Happening::Revoke,
    Happening::Says(Opinion::None),
    Happening::Says(Opinion::Asks),
    Happening::Says(Opinion::Allows),
    Happening::PolicyChange,
    Happening::PolicyOutage,
    Happening::SourceChange,
    Happening::PlanFails,
    Happening::Cancel,
    Happening::End,
    Happening::Expire,
];

const REVOKING: [Happening; 4] = [Happening::Withdraw, Happening::Revoke, Happening::Cancel, Happening::End];

fn scenario(approval: Approval) -> Scenario {
    Scenario {
        approval,
        opinion: Opinion::None,
        retries: 0,
        has_fallback: false,
        meanwhile: Vec::new(),
        answer: Answer::Yes,
        steps: Vec::new(),
        journal_fails_at: None,
        spool_fails_at: None,
    }
}

/// Plays the scenario, compares it with the model, and checks what holds in each.
fn play(scenario: &Scenario, ears: &Ears) {
    let Scenario { approval, retries, has_fallback, .. } = *scenario;
    let world = World::heard_by(&Tool { retries, has_fallback, ..Tool::new(approval) }, ears);
    let world = world.with_steps(&scenario.steps);
    world.stage.say_of_calls(scenario.opinion);
    world.stage.meanwhile.lock().unwrap().clone_from(&scenario.meanwhile);
    *world.stage.answer.lock().unwrap() = scenario.answer;
    *world.stage.journal_fails_at.lock().unwrap() = scenario.journal_fails_at;
    *world.stage.spool_fails_at.lock().unwrap() = scenario.spool_fails_at;
    let result = world.call();
    let events = world.events();
    let seen = Outcomes {
        result: match &result {
            Ok(Completed { fallback: true, .. }) => "fallback".to_owned(),
            Ok(_) => "done".to_owned(),
            Err(error) => error.code().as_str().to_owned(),
        },
        events: events.iter().map(brief).collect(),
        rows: world.stage.rows.lock().unwrap().iter().map(|(kind, ..)| *kind).collect(),
        entries: world.entries(),
        ledger: world.ledger().first().map(|state| State::as_str(*state)),
    };
    assert_eq!(seen, expected(scenario), "{scenario:?}");
    invariants(scenario, &world, &seen, &result);
    let events = serde_json::to_string(&events).unwrap();
    for text in [events, format!("{:?}", world.gate)] {
        assert!(!text.contains(SECRET), "{scenario:?}: {text}");
    }
}

fn invariants(scenario: &Scenario, world: &World, seen: &Outcomes, result: &Result<Completed, GateError>) {
    let log = world.stage.log.lock().unwrap().clone();
    let place = |word: &str| log.iter().position(|line| line == word);
    // EXE-57, CHK-024: nothing is entered before the answer and the record of it.
    if let Some(entered) = place(ENTERED) {
        assert!(place("receipt.open").unwrap() < entered, "{scenario:?}: {log:?}");
        let is_human = scenario.is_human();
        assert!(!is_human || place("decision").unwrap() < entered, "{scenario:?}: {log:?}");
        assert!(!is_human || seen.ledger == Some("consumed"), "{scenario:?}");
    }
    // XSF-27
    assert!(seen.entries <= scenario.retries as usize + 1, "{scenario:?}");
    // each attempt that was called has one end.
    for attempt in 1..=3 {
        let of = |name: &str| {
            let start = format!("{name} {attempt}");
            seen.events
                .iter()
                .filter(|event| event.starts_with(&start) && !event.ends_with("fallback"))
                .count()
        };
        assert_eq!(of("tool.called"), of("tool.completed") + of("tool.failed"), "{scenario:?}");
    }
    assert_eq!(seen.events.iter().filter(|event| event.starts_with("tool.called")).count(), seen.entries);
    // Who was asked gets one answer, unless the gate failed.
    let of = |name: &str| seen.events.iter().filter(|event| event.starts_with(name)).count();
    let is_out = seen.result == "E_TOOL_GATE_UNAVAILABLE";
    assert!(of("approval.required") <= of("approval.granted") + of("approval.denied") + usize::from(is_out));
    assert!(of("approval.granted") <= of("approval.required"));
    let error = match result {
        Ok(completed) => {
            // No receipt, no success; and each kept result can be found by it.
            assert!(seen.rows.contains(&"receipt.closed"), "{scenario:?}");
            assert!(!world.stage.kept.lock().unwrap().is_empty());
            return shows_nothing(scenario, world, completed);
        }
        Err(error) => error,
    };
    // EXE-58, X-14: a denial is no outage, and an outage is no denial.
    assert_eq!(error.denial.is_some(), error.code().class() == Class::Denied, "{scenario:?}: {error:?}");
    assert!(error.denial.is_none() || error.code().class() != Class::Unavailable);
    // What was denied, ended or cancelled before it ran was never entered.
    assert!(error.ran.is_some() || seen.entries == 0, "{scenario:?}: {error:?}");
    assert!(error.call.is_some());
    shows_nothing(scenario, world, error);
}

/// XSF-47, XSF-58, EXE-16, EXE-17: no text of an argument, an output or a panic.
fn shows_nothing(scenario: &Scenario, world: &World, what: &impl Debug) {
    let rows = world.stage.rows.lock().unwrap();
    let rows = rows.iter().map(|(_, json, _)| String::from_utf8(json.clone()).unwrap());
    for text in rows.chain([format!("{what:?}")]) {
        assert!(!text.contains(SECRET), "{scenario:?}: {text}");
    }
}

fn up_to_two<T: Copy>(items: &[T]) -> Vec<Vec<T>> {
    let one = items.iter().map(|a| vec![*a]);
    let two = items.iter().flat_map(|a| items.iter().map(move |b| vec![*a, *b]));
    std::iter::once(Vec::new()).chain(one).chain(two).collect()
}

/// Whatever the policy says, with a tool of this approval.
fn waits(approval: Approval, answers: &[Answer]) {
    let ears = Ears::new();
    for (opinion, meanwhile) in OPINIONS
        .into_iter()
        .flat_map(|opinion| up_to_two(&HAPPENINGS).into_iter().map(move |meanwhile| (opinion, meanwhile)))
    {
        for answer in answers {
            let meanwhile = meanwhile.clone();
            let scenario = Scenario { opinion, meanwhile, answer: *answer, ..scenario(approval) };
            play(&scenario, &ears);
        }
    }
}

// EXE-57, EXE-58, XSF-25, XSF-26, XSF-35, CHK-007, CHK-008, CHK-012 to CHK-016, CHK-024, X-07, X-14, CHK-157
#[test]
fn whatever_happens_while_a_person_is_asked() {
    waits(Approval::Human, &[Answer::Yes, Answer::No, Answer::Outage, Answer::Panic, Answer::Gone]);
}

// XSF-30, XSF-31, X-07, X-14
#[test]
fn whatever_happens_while_a_callback_is_asked() {
    waits(Approval::Policy, &[Answer::Yes, Answer::No, Answer::Outage, Answer::Panic]);
}

// XSF-29, X-07
#[test]
fn whatever_happens_while_nobody_is_asked() {
    waits(Approval::Auto, &[Answer::Yes, Answer::No, Answer::Outage, Answer::Panic, Answer::Gone]);
}

/// Everything that an attempt can do, with everything that can happen meanwhile.
fn steps(outcomes: &[Outcome], happenings: &[Option<Happening>]) -> Vec<Step> {
    let of = |outcome: &Outcome| {
        let outcome = outcome.clone();
        happenings.iter().map(move |then| Step { outcome: outcome.clone(), then: *then })
    };
    outcomes.iter().flat_map(of).collect()
}

/// All sequences of attempts: those before the last are ones after which there may be another.
fn attempts(retries: u32) -> Vec<Vec<Step>> {
    // A third attempt follows the second as the second follows the first, so of those there are fewer.
    let happenings = if retries < 2 { &HAPPENINGS[..] } else { &REVOKING[..] };
    let any: Vec<Option<Happening>> =
        std::iter::once(None).chain(happenings.iter().copied().map(Some)).collect();
    let (fails, panics) = (Outcome::Fails, Outcome::Panics);
    let ends = [Outcome::Answers, Outcome::TimesOut, Outcome::BadResponse, Outcome::Cancelled];
    let last = steps(&[&ends[..], &[fails.clone(), panics.clone()]].concat(), &any);
    let first = if retries < 2 { steps(&[fails, panics], &any) } else { steps(&[fails], &any) };
    let mut all: Vec<Vec<Step>> = last.iter().map(|step| vec![step.clone()]).collect();
    for _ in 0..retries {
        let longer = first.iter().flat_map(|step| {
            all.iter().map(move |rest| std::iter::once(step).chain(rest).cloned().collect())
        });
        all = longer.collect();
    }
    all
}

fn runs(approval: Approval, opinion: Opinion) {
    let ears = Ears::new();
    for retries in 0..=2 {
        // Three attempts for one kind of approval, which then makes no difference.
        if retries == 2 && approval != Approval::Human {
            continue;
        }
        for steps in attempts(retries) {
            for has_fallback in [false, true] {
                let steps = steps.clone();
                play(&Scenario { opinion, retries, has_fallback, steps, ..scenario(approval) }, &ears);
            }
        }
    }
}

// XSF-19, XSF-22 to XSF-27, XSF-40, XSF-41, X-03, X-09, X-10: a consent is good for the attempts of one call.
#[test]
fn whatever_attempts_do_after_a_person_said_yes() {
    runs(Approval::Human, Opinion::None);
}

// The same
#[test]
fn whatever_attempts_do_after_a_callback_said_yes() {
    runs(Approval::Policy, Opinion::None);
}

// The same
#[test]
fn whatever_attempts_do_when_nobody_was_asked() {
    runs(Approval::Auto, Opinion::None);
}

// The same, CHK-048: what a rule or a scope allowed and does not any more is not tried again.
#[test]
fn whatever_attempts_do_when_the_policy_allowed_the_call() {
    for approval in APPROVALS {
        runs(approval, Opinion::Allows);
    }
}

// No receipt, no success: a journal or a place for results that fails at each of its steps, by an error or a panic.
#[test]
fn whatever_fails_of_the_host() {
    let ears = Ears::new();
    let (answers, fails) = (Outcome::Answers, Outcome::Fails);
    let step = |outcome: &Outcome| Step { outcome: outcome.clone(), then: None };
    let revoked = Step { outcome: fails.clone(), then: Some(Happening::Revoke) };
    let sequences = [
        vec![step(&answers)],
        vec![step(&fails), step(&answers)],
        vec![step(&fails), step(&fails)],
        vec![revoked, step(&answers)],
        vec![step(&Outcome::TimesOut)],
    ];
    for approval in APPROVALS {
        for (steps, has_fallback) in sequences.iter().flat_map(|steps| [(steps, false), (steps, true)]) {
            let base = Scenario { retries: 1, has_fallback, steps: steps.clone(), ..scenario(approval) };
            for fault in [Fault::Outage, Fault::Panic] {
                for at in 0..5 {
                    play(&Scenario { journal_fails_at: Some((at, fault)), ..base.clone() }, &ears);
                    for stage in [SpoolStage::Begin, SpoolStage::Write, SpoolStage::Finish] {
                        play(&Scenario { spool_fails_at: Some((at, stage, fault)), ..base.clone() }, &ears);
                    }
                }
            }
        }
        for answer in [Answer::No, Answer::Outage] {
            let base = Scenario { answer, ..scenario(approval) };
            play(&Scenario { journal_fails_at: Some((0, Fault::Outage)), ..base }, &ears);
        }
    }
}
