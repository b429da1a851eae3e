use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::binding::BindingParts;
use crate::digest::Sha256;
use crate::name::{AgentLabel, ToolName};

const SHOWN: WallTime = WallTime::from_unix_ms(1_000);

fn at(seconds: u64) -> Now {
    clocks(seconds, seconds)
}

fn clocks(monotonic: u64, boot: u64) -> Now {
    Now { monotonic: Duration::from_secs(monotonic), boot: Duration::from_secs(boot) }
}

fn id(number: u8) -> ProposalId {
    ProposalId::from_random([number; 16])
}

fn binding(number: u8) -> Binding {
    Binding::of(&BindingParts {
        agent: &AgentLabel::parse("cli").unwrap(),
        run: RunId::from_random([0; 16]),
        tool: &ToolName::parse("tool").unwrap(),
        workspace: None,
        revision: None,
        overlay: None,
        invocation: &[number],
        validator_version: 1,
        interpreter: None,
        profile: b"",
        policy: Sha256::of(b""),
    })
}

fn ledger() -> Ledger {
    Ledger::new(RunId::from_random([1; 16]))
}

const YES: Decision = Decision::Approve(Surface::Terminal);

/// A ledger with request 1, made at 0 and bound to 1.
fn pending() -> Ledger {
    let mut ledger = ledger();
    ledger.propose(at(0), SHOWN, id(1), binding(1), &[]).unwrap();
    ledger
}

fn approved() -> Ledger {
    let mut ledger = pending();
    ledger.decide(at(1), id(1), YES).unwrap();
    ledger
}

fn state(ledger: &mut Ledger, now: Now, number: u8) -> State {
    ledger.get(now, id(number)).unwrap().state()
}

fn consume(ledger: &mut Ledger, now: Now) -> Result<ProposalId, ConsentError> {
    ledger.consume(now, id(1), &binding(1)).map(|consent| consent.proposal())
}

// CHK-012, CHK-013: one way through, and only once.
#[test]
fn an_approval_is_consumed_once() {
    let mut ledger = pending();
    assert_eq!(consume(&mut ledger, at(1)), Err(ConsentError::Undecided));
    ledger.decide(at(2), id(1), Decision::Approve(Surface::Page)).unwrap();
    assert_eq!(state(&mut ledger, at(2), 1), State::Approved(Surface::Page));
    let consent = ledger.consume(at(3), id(1), &binding(1)).unwrap();
    assert_eq!((consent.run(), consent.proposal()), (ledger.run(), id(1)));
    assert_eq!((consent.binding(), consent.surface()), (binding(1), Surface::Page));
    assert_eq!(state(&mut ledger, at(3), 1), State::Consumed(Surface::Page));
    assert_eq!(consume(&mut ledger, at(4)), Err(ConsentError::Consumed));
}

// CHK-012, CHK-157
#[test]
fn a_denied_request_is_never_consumed() {
    let mut ledger = pending();
    ledger.decide(at(1), id(1), Decision::Deny).unwrap();
    assert_eq!(consume(&mut ledger, at(2)), Err(ConsentError::Denied));
    assert_eq!(state(&mut ledger, at(2), 1), State::Denied);
}

// CHK-015, CHK-157: neither the same answer again nor another one.
#[test]
fn a_second_answer_is_an_error() {
    for first in [YES, Decision::Deny] {
        for second in [YES, Decision::Approve(Surface::Flag), Decision::Deny] {
            let mut ledger = pending();
            ledger.decide(at(1), id(1), first).unwrap();
            let before = state(&mut ledger, at(1), 1);
            assert_eq!(ledger.decide(at(2), id(1), second), Err(ConsentError::AlreadyDecided));
            assert_eq!(state(&mut ledger, at(2), 1), before);
        }
    }
    let mut ledger = approved();
    consume(&mut ledger, at(2)).unwrap();
    assert_eq!(ledger.decide(at(3), id(1), YES), Err(ConsentError::AlreadyDecided));
}

// CHK-008, CHK-022, CHK-157: five minutes from the request, whichever clock says so; the answer does not start them anew.
#[test]
fn a_request_expires_after_five_minutes() {
    for (now, expected) in [
        (at(299), Ok(id(1))),
        (at(300), Err(ConsentError::Expired)),
        (clocks(300, 299), Err(ConsentError::Expired)),
        // The machine slept.
        (clocks(10, 300), Err(ConsentError::Expired)),
    ] {
        assert_eq!(consume(&mut approved(), now), expected, "{now:?}");
        let answered = pending().decide(now, id(1), YES);
        assert_eq!(answered, expected.map(drop), "{now:?}");
    }
    let mut late = pending();
    late.decide(at(299), id(1), YES).unwrap();
    assert_eq!(consume(&mut late, at(300)), Err(ConsentError::Expired));
}

// CHK-008: one nanosecond decides.
#[test]
fn the_window_ends_exactly() {
    let end = CONSENT_WINDOW;
    let almost = end.saturating_sub(Duration::from_nanos(1));
    assert!(consume(&mut approved(), Now { monotonic: almost, boot: almost }).is_ok());
    assert!(consume(&mut approved(), Now { monotonic: end, boot: end }).is_err());
}

// CHK-009: no clock that runs backwards makes a request younger.
#[test]
fn time_only_goes_forward() {
    let mut ledger = approved();
    assert_eq!(state(&mut ledger, at(300), 1), State::Expired);
    assert_eq!(consume(&mut ledger, at(2)), Err(ConsentError::Expired));
    // Made when it was late already, whatever its own reading says.
    ledger.propose(at(0), SHOWN, id(2), binding(2), &[]).unwrap();
    assert_eq!(state(&mut ledger, at(599), 2), State::Pending);
    assert_eq!(state(&mut ledger, at(600), 2), State::Expired);
}

// CHK-009: the wall clock is shown and decides nothing.
#[test]
fn wall_time_is_for_display() {
    let mut ledger = ledger();
    let far = WallTime::from_unix_ms(u64::MAX - 1);
    ledger.propose(at(0), far, id(1), binding(1), &[]).unwrap();
    ledger.propose(at(0), SHOWN, id(2), binding(2), &[]).unwrap();
    let request = ledger.get(at(60), id(2)).unwrap();
    assert_eq!((request.shown_created(), request.shown_expires().unix_ms()), (SHOWN, 301_000));
    assert_eq!(request.time_left(at(60)), Duration::from_mins(4));
    assert_eq!(request.time_left(at(900)), Duration::ZERO);
    assert_eq!(state(&mut ledger, at(300), 1), State::Expired);
}

// CHK-010: refused, and nothing older is given up for it.
#[test]
fn a_run_makes_64_requests() {
    let mut ledger = approved();
    for number in 2..=64 {
        assert_eq!(ledger.propose(at(1), SHOWN, id(number), binding(number), &[]), Ok(()), "{number}");
    }
    let full = ledger.propose(at(1), SHOWN, id(65), binding(65), &[id(1)]);
    assert_eq!(full, Err(ConsentError::Full));
    assert_eq!(ledger.proposals(at(1)).count(), PROPOSALS_MAX);
    // It would have replaced request 1, and did not.
    assert_eq!(consume(&mut ledger, at(2)), Ok(id(1)));
    // An end makes no room.
    assert_eq!(ledger.propose(at(900), SHOWN, id(65), binding(65), &[]), Err(ConsentError::Full));
}

// CHK-011
#[test]
fn a_replacement_makes_open_requests_stale() {
    let mut ledger = approved();
    for number in [2, 3, 4] {
        ledger.propose(at(2), SHOWN, id(number), binding(number), &[]).unwrap();
    }
    ledger.decide(at(2), id(3), Decision::Deny).unwrap();
    let old = [id(1), id(2), id(3)];
    ledger.propose(at(3), SHOWN, id(5), binding(1), &old).unwrap();
    let states: Vec<_> = ledger.proposals(at(3)).map(Proposal::state).collect();
    assert_eq!(states, [State::Stale, State::Stale, State::Denied, State::Pending, State::Pending]);
    assert_eq!(consume(&mut ledger, at(4)), Err(ConsentError::Stale));
    assert_eq!(ledger.decide(at(4), id(2), YES), Err(ConsentError::Stale));
}

#[test]
fn a_refused_request_changes_nothing() {
    let mut ledger = approved();
    let unknown = ledger.propose(at(1), SHOWN, id(2), binding(2), &[id(1), id(9)]);
    assert_eq!(unknown, Err(ConsentError::Unknown));
    let taken = ledger.propose(at(1), SHOWN, id(1), binding(2), &[id(1)]);
    assert_eq!(taken, Err(ConsentError::IdTaken));
    assert_eq!(ledger.proposals(at(1)).count(), 1);
    assert_eq!(consume(&mut ledger, at(2)), Ok(id(1)));
}

// CHK-007, CHK-014, CHK-157: and what was bound coming back does not help.
#[test]
fn another_binding_ends_an_open_request() {
    let mut ledger = approved();
    assert_eq!(ledger.consume(at(2), id(1), &binding(2)).unwrap_err(), ConsentError::Stale);
    assert_eq!(consume(&mut ledger, at(3)), Err(ConsentError::Stale));
    let mut ledger = pending();
    assert_eq!(ledger.consume(at(2), id(1), &binding(2)).unwrap_err(), ConsentError::Stale);
    assert_eq!(ledger.decide(at(3), id(1), YES), Err(ConsentError::Stale));
}

// CHK-014: the policy's no counts after a person's yes.
#[test]
fn a_refusal_by_policy_is_an_end() {
    for mut ledger in [pending(), approved()] {
        ledger.refuse(at(2), id(1)).unwrap();
        assert_eq!(consume(&mut ledger, at(3)), Err(ConsentError::Denied));
        assert_eq!(ledger.refuse(at(3), id(1)), Err(ConsentError::Denied));
    }
    assert_eq!(ledger().refuse(at(0), id(1)), Err(ConsentError::Unknown));
    let mut ledger = approved();
    consume(&mut ledger, at(2)).unwrap();
    assert_eq!(ledger.refuse(at(3), id(1)), Err(ConsentError::Consumed));
}

// CHK-016
#[test]
fn the_end_of_a_run_cancels_open_requests() {
    let mut ledger = approved();
    ledger.propose(at(1), SHOWN, id(2), binding(2), &[]).unwrap();
    ledger.propose(at(1), SHOWN, id(3), binding(3), &[]).unwrap();
    ledger.decide(at(1), id(3), Decision::Deny).unwrap();
    ledger.end(at(2));
    let states: Vec<_> = ledger.proposals(at(2)).map(Proposal::state).collect();
    assert_eq!(states, [State::Cancelled, State::Cancelled, State::Denied]);
    assert_eq!(consume(&mut ledger, at(3)), Err(ConsentError::Ended));
    assert_eq!(ledger.decide(at(3), id(2), YES), Err(ConsentError::Ended));
    assert_eq!(ledger.propose(at(3), SHOWN, id(4), binding(4), &[]), Err(ConsentError::Ended));
    ledger.end(at(4));
    assert_eq!(state(&mut ledger, at(900), 1), State::Cancelled);
}

// CHK-004, CHK-005, CHK-017, CHK-021, CHK-157: what one instance approved, no other knows, not even one of the same run.
#[test]
fn another_ledger_knows_nothing() {
    let first = approved();
    let mut again = Ledger::new(first.run());
    drop(first);
    assert_eq!(consume(&mut again, at(2)), Err(ConsentError::Unknown));
    assert_eq!(again.decide(at(2), id(1), YES), Err(ConsentError::Unknown));
}

// CHK-018: a spent approval is spent, whatever became of the call; another attempt needs another request.
#[test]
fn nothing_gives_an_approval_back() {
    let mut ledger = approved();
    drop(ledger.consume(at(2), id(1), &binding(1)).unwrap());
    ledger.end(at(3));
    assert_eq!(consume(&mut ledger, at(4)), Err(ConsentError::Consumed));
}

// CHK-019: "consumed" is the ledger's last word; it has none for started, done or undone.
#[test]
fn the_states_say_nothing_about_what_ran() {
    let surface = Surface::Terminal;
    let states = [
        State::Pending,
        State::Approved(surface),
        State::Denied,
        State::Consumed(surface),
        State::Expired,
        State::Stale,
        State::Cancelled,
    ];
    let names: BTreeSet<_> = states.iter().map(|state| state.as_str()).collect();
    let expected = ["pending", "approved", "denied", "consumed", "expired", "stale", "cancelled"];
    assert_eq!(names, BTreeSet::from(expected));
    assert_eq!(states.iter().filter(|state| state.is_open()).count(), 2);
}

#[test]
fn every_refusal_has_its_code() {
    let errors = [
        (ConsentError::Full, Code::ConsentFull),
        (ConsentError::Ended, Code::RunEnded),
        (ConsentError::Unknown, Code::ConsentUnknown),
        (ConsentError::IdTaken, Code::Internal),
        (ConsentError::AlreadyDecided, Code::ConsentDecided),
        (ConsentError::Undecided, Code::ConsentPending),
        (ConsentError::Denied, Code::ConsentDenied),
        (ConsentError::Expired, Code::ConsentExpired),
        (ConsentError::Stale, Code::ConsentStale),
        (ConsentError::Consumed, Code::ConsentConsumed),
    ];
    for (error, code) in errors {
        assert_eq!(error.code(), code, "{error}");
    }
}

// A model: the same rules, each question answered by reading the whole history again.

#[derive(Clone, Debug)]
enum Step {
    Propose { id: u8, binding: u8, replaces: Vec<u8> },
    Decide { id: u8, decision: Decision },
    Refuse { id: u8 },
    Consume { id: u8, binding: u8 },
    End,
    Look,
}

#[derive(Default)]
struct Model {
    /// What was done, and when by the latest clocks that anybody had read; refused steps are left out, but for a consumption
    /// by another binding, which leaves a trace.
    history: Vec<(Now, Step)>,
}

impl Model {
    /// How far a request has got when `now` has come.
    fn state(&self, wanted: u8, now: Now) -> Option<State> {
        let mut found: Option<(State, Now, u8)> = None;
        for (when, step) in self.history.iter().chain([&(now, Step::Look)]) {
            let Some((state, made, bound)) = &mut found else {
                if let Step::Propose { id, binding, .. } = step
                    && *id == wanted
                {
                    found = Some((State::Pending, *when, *binding));
                }
                continue;
            };
            if !matches!(state, State::Pending | State::Approved(_)) {
                continue;
            }
            let over = |then: Duration, now: Duration| now >= then + Duration::from_mins(5);
            if over(made.monotonic, when.monotonic) || over(made.boot, when.boot) {
                *state = State::Expired;
                continue;
            }
            *state = match (step, *state) {
                (Step::Propose { replaces, .. }, _) if replaces.contains(&wanted) => State::Stale,
                (Step::Decide { id, decision: Decision::Approve(surface) }, _) if *id == wanted => {
                    State::Approved(*surface)
                }
                (Step::Decide { id, decision: Decision::Deny } | Step::Refuse { id }, _) if *id == wanted => {
                    State::Denied
                }
                (Step::Consume { id, binding }, _) if *id == wanted && binding != bound => State::Stale,
                (Step::Consume { id, .. }, State::Approved(surface)) if *id == wanted => {
                    State::Consumed(surface)
                }
                (Step::End, _) => State::Cancelled,
                (_, state) => state,
            };
        }
        found.map(|(state, ..)| state)
    }

    fn answer(&mut self, now: Now, step: &Step) -> Result<(), ConsentError> {
        let refused = |state| match state {
            None => Err(ConsentError::Unknown),
            Some(State::Pending | State::Approved(_)) => Err(ConsentError::Undecided),
            Some(State::Denied) => Err(ConsentError::Denied),
            Some(State::Consumed(_)) => Err(ConsentError::Consumed),
            Some(State::Expired) => Err(ConsentError::Expired),
            Some(State::Stale) => Err(ConsentError::Stale),
            Some(State::Cancelled) => Err(ConsentError::Ended),
        };
        let answer = match step {
            Step::Propose { id, replaces, .. } => {
                let made = self.history.iter().filter(|(_, step)| matches!(step, Step::Propose { .. }));
                match () {
                    () if self.history.iter().any(|(_, step)| matches!(step, Step::End)) => {
                        Err(ConsentError::Ended)
                    }
                    () if made.count() == 64 => Err(ConsentError::Full),
                    () if self.state(*id, now).is_some() => Err(ConsentError::IdTaken),
                    () if replaces.iter().any(|old| self.state(*old, now).is_none()) => {
                        Err(ConsentError::Unknown)
                    }
                    () => Ok(()),
                }
            }
            Step::Decide { id, .. } => match self.state(*id, now) {
                Some(State::Pending) => Ok(()),
                Some(State::Approved(_) | State::Denied | State::Consumed(_)) => {
                    Err(ConsentError::AlreadyDecided)
                }
                state => refused(state),
            },
            Step::Refuse { id } => match self.state(*id, now) {
                Some(State::Pending | State::Approved(_)) => Ok(()),
                state => refused(state),
            },
            Step::Consume { id, .. } => {
                let before = self.state(*id, now);
                self.history.push((now, step.clone()));
                let after = self.state(*id, now);
                let spent =
                    matches!(before, Some(State::Approved(_))) && matches!(after, Some(State::Consumed(_)));
                return if spent { Ok(()) } else { refused(after) };
            }
            Step::End | Step::Look => Ok(()),
        };
        if answer.is_ok() {
            self.history.push((now, step.clone()));
        }
        answer
    }
}

fn perform(ledger: &mut Ledger, now: Now, step: &Step) -> Result<(), ConsentError> {
    match step {
        Step::Propose { id: number, binding: bound, replaces } => {
            let replaces: Vec<_> = replaces.iter().copied().map(id).collect();
            ledger.propose(now, SHOWN, id(*number), binding(*bound), &replaces)
        }
        Step::Decide { id: number, decision } => ledger.decide(now, id(*number), *decision),
        Step::Refuse { id: number } => ledger.refuse(now, id(*number)),
        Step::Consume { id: number, binding: bound } => {
            let consent = ledger.consume(now, id(*number), &binding(*bound))?;
            assert_eq!((consent.proposal(), consent.binding()), (id(*number), binding(*bound)));
            Ok(())
        }
        Step::End => {
            ledger.end(now);
            Ok(())
        }
        Step::Look => Ok(()),
    }
}

fn steps() -> impl Strategy<Value = Step> {
    let ids = || 0_u8..5;
    let decision = prop_oneof![Just(YES), Just(Decision::Approve(Surface::Flag)), Just(Decision::Deny)];
    prop_oneof![
        5 => (ids(), 0_u8..2, proptest::collection::vec(ids(), 0..3))
            .prop_map(|(id, binding, replaces)| Step::Propose { id, binding, replaces }),
        5 => (ids(), decision).prop_map(|(id, decision)| Step::Decide { id, decision }),
        1 => ids().prop_map(|id| Step::Refuse { id }),
        6 => (ids(), 0_u8..2).prop_map(|(id, binding)| Step::Consume { id, binding }),
        1 => Just(Step::Look),
    ]
}

/// Seconds by which each clock goes on; sometimes one of them goes back.
fn passes() -> impl Strategy<Value = (i64, i64)> {
    prop_oneof![
        6 => (0_i64..20).prop_map(|seconds| (seconds, seconds)),
        2 => (0_i64..20, 0_i64..200),
        1 => (-50_i64..50, -50_i64..50),
        1 => Just((300, 300)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    // CHK-012, CHK-013, CHK-014, CHK-015, CHK-016, CHK-022: whatever is done in whatever order, ledger and model agree, no end is left, and no
    // request is consumed twice.
    #[test]
    fn the_ledger_does_what_its_rules_say(
        todo in proptest::collection::vec((passes(), steps()), 0..40),
        end in proptest::option::weighted(0.3, 0_usize..40),
    ) {
        let (mut ledger, mut model) = (ledger(), Model::default());
        let (mut monotonic, mut boot, mut latest) = (1_000_i64, 1_000_i64, at(0));
        let mut consumed = BTreeSet::new();
        for (index, ((more, more_boot), step)) in todo.into_iter().enumerate() {
            monotonic += more;
            boot += more_boot;
            let now = clocks(monotonic.unsigned_abs(), boot.unsigned_abs());
            latest = clocks(
                now.monotonic.max(latest.monotonic).as_secs(),
                now.boot.max(latest.boot).as_secs(),
            );
            let step = if end == Some(index) { Step::End } else { step };
            let before: Vec<_> = (0..5).map(|number| model.state(number, latest)).collect();
            let answer = perform(&mut ledger, now, &step);
            prop_assert_eq!(answer, model.answer(latest, &step), "{:?}", step);
            if let (Step::Consume { id, .. }, Ok(())) = (&step, answer) {
                prop_assert!(consumed.insert(*id), "{} twice", id);
            }
            for (number, before) in (0..5).zip(before) {
                let state = ledger.get(now, id(number)).map(Proposal::state);
                prop_assert_eq!(state, model.state(number, latest), "{} after {:?}", number, step);
                if before.is_some_and(|before| !before.is_open()) {
                    prop_assert_eq!(state, before, "{} left its end", number);
                }
            }
        }
    }
}
