//! Between the gate and whoever asks the person: what the gate shows becomes a [`Question`], and what the person says
//! becomes a decision.

use std::sync::{Arc, OnceLock};
use std::thread;

use fumehood_core::consent::{Decision, State, Surface};
use fumehood_core::{Code, ProposalId};
use fumehood_gate::ports::Outage;
use fumehood_gate::{Approver, Cancel, Decider, Request};
use fumehood_store::{DiskFolder, Folder as _, Passphrase};

use super::Host;
use super::policy::SurfaceRule;
use super::question::Wordings;
use super::run::Captured;
use crate::fault::Fault;
use crate::report::{Answer, Question};

/// Asks the person, at one place.
pub trait Person: Send + Sync {
    /// Puts a question and waits for the answer. Whoever cannot tell what the answer is says no.
    ///
    /// Called in a thread of its own. `over` says that nobody waits for the answer any more, and why; whoever asks looks
    /// at it while waiting, takes the question back, and says no.
    fn ask(&self, question: &Question, over: &dyn Fn() -> Option<Over>) -> Answer;

    /// Reads the passphrase at the controlling terminal, after a yes where one is required; `over` as before. `None` is a no,
    /// and so it is for whoever cannot read one.
    fn passphrase(&self, over: &dyn Fn() -> Option<Over>) -> Option<Passphrase> {
        let _ = over;
        None
    }
}

/// Why nobody waits for an answer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Whoever called for the run gave it up.
    Cancelled,
    /// It is older than five minutes.
    Expired,
    /// What would run is not what was shown.
    Stale,
    /// It has its answer already.
    Answered,
    /// The run it belongs to has ended.
    Ended,
}

impl Over {
    /// `None` as long as an answer counts.
    pub(super) fn of(state: Option<State>, is_cancelled: bool) -> Option<Self> {
        match state {
            Some(State::Pending) => None,
            Some(State::Denied) if is_cancelled => Some(Self::Cancelled),
            Some(State::Approved(_) | State::Denied | State::Consumed(_)) => Some(Self::Answered),
            Some(State::Expired) => Some(Self::Expired),
            Some(State::Stale) => Some(Self::Stale),
            Some(State::Cancelled) | None => Some(Self::Ended),
        }
    }
}

/// Whether the skill's folder still has what was shown.
pub(super) type LastLook = Arc<dyn Fn() -> Result<(), Fault> + Send + Sync>;

/// The gate's approver: hands each request to a thread that asks the person and answers for them.
pub(super) struct Asking {
    pub(super) person: Arc<dyn Person>,
    pub(super) rule: SurfaceRule,
    pub(super) wordings: Arc<Wordings>,
    pub(super) cancel: Cancel,
    /// Knows whether whoever says yes knows the passphrase.
    pub(super) host: Host,
    /// What they looked at is still there.
    pub(super) last_look: LastLook,
    /// Why a yes did not count, if that is why.
    pub(super) refused: Arc<OnceLock<Fault>>,
    pub(super) decider: OnceLock<Decider>,
}

impl Approver for Asking {
    fn show(&self, request: &Request<'_>) -> Result<(), Outage> {
        let outage = |message: &str| Outage::new(Code::Internal, message);
        let decider =
            self.decider.get().cloned().ok_or_else(|| outage("nobody can answer for the person"))?;
        if !self.rule.is_open() {
            // There is no use in asking; the request has its end at once.
            return decider
                .decide(request.id, Decision::Deny)
                .map_err(|_| outage("the request is over already"));
        }
        let question =
            self.wordings.question(request).ok_or_else(|| outage("such a call cannot be shown"))?;
        let (person, surface) = (Arc::clone(&self.person), self.rule.surface);
        let answer = Answering { decider, id: request.id, surface, cancel: self.cancel.clone() };
        let (host, refused) = (self.host.clone(), Arc::clone(&self.refused));
        let last_look = Arc::clone(&self.last_look);
        let started = thread::Builder::new().name("fumehood-question".to_owned()).spawn(move || {
            let said = host.can_vouch().and_then(|()| match person.ask(&question, &|| answer.over()) {
                Answer::Once => {
                    let _vouched = host.vouch(|| Ok(person.passphrase(&|| answer.over())))?;
                    last_look().map(|()| Answer::Once)
                }
                Answer::No => Ok(Answer::No),
            });
            answer.give(said.unwrap_or_else(|fault| {
                // There is one answer, so nobody has set it.
                let _ = refused.set(fault);
                Answer::No
            }));
        });
        started.map(|_| ()).map_err(|_| outage("there is no thread to ask the person in"))
    }
}

impl Captured {
    /// Says, after a yes to a call, whether the folder that was looked at still has what was shown. What would run was captured
    /// before and is not read again; but a folder that changed under whoever said yes is to be looked at anew.
    pub(super) fn last_look(&self) -> LastLook {
        let (path, revision) = (self.path.clone(), self.snapshot.revision());
        Arc::new(move || {
            let Some(path) = &path else { return Ok(()) };
            let now = DiskFolder::open(path).ok().and_then(|folder| folder.capture().ok());
            if now.is_some_and(|now| now.revision() == revision) {
                return Ok(());
            }
            let message = "the skill's folder changed while the question was open, so what is there is not what was shown";
            let advice = "make the call again; the question shows what is there now";
            Err(Fault::new(Code::ConsentStale, message, advice))
        })
    }
}

/// One answer that is to be given. Whatever becomes of who asks, there is one: dropped without, it is no.
struct Answering {
    decider: Decider,
    id: ProposalId,
    surface: Surface,
    cancel: Cancel,
}

impl Answering {
    fn over(&self) -> Option<Over> {
        Over::of(self.decider.state(self.id), self.cancel.is_cancelled())
    }

    fn give(self, answer: Answer) {
        if answer == Answer::Once {
            // Too late is too late; the request has its end already.
            let _ = self.decider.decide(self.id, Decision::Approve(self.surface));
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if self.over().is_none() {
            let _ = self.decider.decide(self.id, Decision::Deny);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // every end of a request is told for what it is.
    #[test]
    fn an_answer_counts_only_while_it_is_waited_for() {
        assert_eq!(Over::of(Some(State::Pending), false), None);
        // The gate has not seen the cancellation yet; until then an answer would still be taken.
        assert_eq!(Over::of(Some(State::Pending), true), None);
        for (state, is_cancelled, over) in [
            (Some(State::Denied), true, Over::Cancelled),
            (Some(State::Denied), false, Over::Answered),
            (Some(State::Approved(Surface::Page)), false, Over::Answered),
            (Some(State::Consumed(Surface::Page)), false, Over::Answered),
            (Some(State::Expired), false, Over::Expired),
            (Some(State::Stale), false, Over::Stale),
            (Some(State::Cancelled), true, Over::Ended),
            (None, false, Over::Ended),
        ] {
            assert_eq!(Over::of(state, is_cancelled), Some(over));
        }
    }
}
