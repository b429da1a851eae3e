//! The lock around the ledger: one run's requests and answers, shared by those who ask and those who answer.

use core::time::Duration;

#[cfg(loom)]
use loom::sync::{Condvar, Mutex, MutexGuard};
use std::sync::PoisonError;
#[cfg(not(loom))]
use std::sync::{Condvar, Mutex, MutexGuard};

use fumehood_core::consent::{Consent, ConsentError, Decision, State};
use fumehood_core::{Binding, Ledger, Now, ProposalId, RunId, WallTime};

/// A [`Ledger`] behind a lock that is held for one step at a time, never while anybody waits or is called.
#[derive(Debug)]
pub struct Consents {
    ledger: Mutex<Ledger>,
    changed: Condvar,
}

impl Consents {
    /// The empty ledger of a run.
    pub fn new(run: RunId) -> Self {
        Self { ledger: Mutex::new(Ledger::new(run)), changed: Condvar::new() }
    }

    /// As [`Ledger::propose`].
    ///
    /// # Errors
    /// As there.
    pub fn propose(
        &self,
        now: Now,
        shown: WallTime,
        id: ProposalId,
        binding: Binding,
        replaces: &[ProposalId],
    ) -> Result<(), ConsentError> {
        self.lock().propose(now, shown, id, binding, replaces)
    }

    /// As [`Ledger::decide`], and wakes who waits for it.
    ///
    /// # Errors
    /// As there.
    pub fn decide(&self, now: Now, id: ProposalId, decision: Decision) -> Result<(), ConsentError> {
        let decided = self.lock().decide(now, id, decision);
        self.changed.notify_all();
        decided
    }

    /// As [`Ledger::refuse`].
    ///
    /// # Errors
    /// As there.
    pub fn refuse(&self, now: Now, id: ProposalId) -> Result<(), ConsentError> {
        self.lock().refuse(now, id)
    }

    /// As [`Ledger::consume`]: of all who race for one approval, one gets it.
    ///
    /// # Errors
    /// As there.
    pub fn consume(&self, now: Now, id: ProposalId, binding: &Binding) -> Result<Consent, ConsentError> {
        self.lock().consume(now, id, binding)
    }

    /// How far a request got.
    pub fn state(&self, now: Now, id: ProposalId) -> Option<State> {
        self.lock().get(now, id).map(fumehood_core::consent::Proposal::state)
    }

    /// As [`Ledger::end`], and wakes everybody.
    pub fn end(&self, now: Now) {
        self.lock().end(now);
        self.changed.notify_all();
    }

    /// Waits until somebody answers, the run ends, or `patience` is over; then says how far the request got. `now` is
    /// read when that is so, and never under the lock.
    pub fn wait(&self, now: &dyn Fn() -> Now, id: ProposalId, patience: Duration) -> Option<State> {
        let at = now();
        let mut ledger = self.lock();
        let state = ledger.get(at, id).map(fumehood_core::consent::Proposal::state);
        if state != Some(State::Pending) {
            return state;
        }
        drop(self.changed.wait_timeout(ledger, patience));
        self.state(now(), id)
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        // Each step leaves the ledger whole or does not come back at all.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[cfg(loom)]
mod tests {
    use super::*;
    use fumehood_core::Sha256;
    use fumehood_core::consent::Surface;
    use loom::sync::Arc;
    use loom::thread;

    fn now() -> Now {
        Now { monotonic: Duration::from_secs(1), boot: Duration::from_secs(1) }
    }

    fn binding() -> Binding {
        use fumehood_core::binding::BindingParts;
        Binding::of(&BindingParts {
            agent: &fumehood_core::AgentLabel::parse("cli").unwrap(),
            run: RunId::from_random([1; 16]),
            tool: &fumehood_core::ToolName::parse("run_a_b").unwrap(),
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

    fn asked() -> (Arc<Consents>, ProposalId) {
        let consents = Arc::new(Consents::new(RunId::from_random([1; 16])));
        let id = ProposalId::from_random([2; 16]);
        consents.propose(now(), WallTime::from_unix_ms(0), id, binding(), &[]).unwrap();
        (consents, id)
    }

    // CHK-013: whoever races, one approval is one consent.
    #[test]
    fn one_of_racing_consumers_gets_the_consent() {
        loom::model(|| {
            let (consents, id) = asked();
            consents.decide(now(), id, Decision::Approve(Surface::Terminal)).unwrap();
            let racer = {
                let consents = Arc::clone(&consents);
                thread::spawn(move || consents.consume(now(), id, &binding()).is_ok())
            };
            let here = consents.consume(now(), id, &binding()).is_ok();
            let there = racer.join().unwrap();
            assert!(here ^ there);
            assert_eq!(consents.state(now(), id), Some(State::Consumed(Surface::Terminal)));
        });
    }

    // CHK-015: of two answers at once, one counts and the other is an error.
    #[test]
    fn one_of_racing_answers_counts() {
        loom::model(|| {
            let (consents, id) = asked();
            let racer = {
                let consents = Arc::clone(&consents);
                thread::spawn(move || consents.decide(now(), id, Decision::Deny).is_ok())
            };
            let approved = consents.decide(now(), id, Decision::Approve(Surface::Terminal)).is_ok();
            let denied = racer.join().unwrap();
            assert!(approved ^ denied);
            assert_eq!(consents.consume(now(), id, &binding()).is_ok(), approved);
        });
    }

    // CHK-016: a run that ends while somebody consumes gives the consent before or never.
    #[test]
    fn the_end_of_the_run_and_a_consumer_agree() {
        loom::model(|| {
            let (consents, id) = asked();
            consents.decide(now(), id, Decision::Approve(Surface::Terminal)).unwrap();
            let racer = {
                let consents = Arc::clone(&consents);
                thread::spawn(move || consents.end(now()))
            };
            let got = consents.consume(now(), id, &binding()).is_ok();
            racer.join().unwrap();
            let state = consents.state(now(), id).unwrap();
            assert_eq!(got, state == State::Consumed(Surface::Terminal));
            assert!(consents.consume(now(), id, &binding()).is_err());
        });
    }

    // A waiter is woken by the answer, in every order of the two.
    #[test]
    fn an_answer_wakes_who_waits() {
        loom::model(|| {
            let (consents, id) = asked();
            let answerer = {
                let consents = Arc::clone(&consents);
                thread::spawn(move || consents.decide(now(), id, Decision::Deny).unwrap())
            };
            assert_eq!(consents.wait(&now, id, Duration::from_secs(60)), Some(State::Denied));
            answerer.join().unwrap();
        });
    }
}
