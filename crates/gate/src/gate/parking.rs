//! Requests for approval whose call did not wait: they stay open after it, and the same call made again finds them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fumehood_core::consent::{CONSENT_WINDOW, ConsentError, State};
use fumehood_core::event::Denial;
use fumehood_core::tool::Failure;
use fumehood_core::{
    Binding, CallId, EventKind, Now, ProposalId, RelPath, Sha256, SkillName, ToolName, WallTime,
};

use super::course::{Approved, Course};
use super::denial::of_ledger;
use super::{Gate, undecided};
use crate::clearance::Planned;
use crate::consents::Consents;
use crate::error::GateError;
use crate::guard::{caught, guarded};
use crate::offer::Offer;
use crate::ports::Clock as _;
use crate::record;

/// What is left of calls that ended with a question. There is one request at most for one binding, so a call that is made
/// twice is asked about once.
#[derive(Default)]
pub(super) struct Parking(Mutex<BTreeMap<Binding, Parked>>);

/// One of them.
struct Parked {
    id: ProposalId,
    call: CallId,
    offer: Arc<Offer>,
    subject: Subject,
    made: Now,
    /// What was shown. It is kept so that what the plan holds open cannot be replaced by something that looks the same;
    /// `None` until whoever shows it is done.
    shown: Option<Planned>,
    /// The caller was told that the answer is no, and that is on record.
    is_told: bool,
}

/// What a request is about, whatever revision, settings or policy it was made under. One tool may stand for many files, so
/// its name is not enough.
#[derive(PartialEq, Eq)]
struct Subject {
    tool: ToolName,
    skill: Option<(String, SkillName)>,
    file: Option<RelPath>,
    arguments: Sha256,
}

/// What a call finds.
enum Found {
    /// Nothing. It has a request of its own now, which is yet to be shown, and which takes the place of these: they were
    /// about the same thing with the same arguments, and something else has changed.
    Nothing(Vec<Parked>),
    /// A request that nobody has answered.
    Open(ProposalId),
    /// A yes, and what it was said to.
    Yes(ProposalId, Box<Planned>),
    /// A no, and whether this is the first call that finds it.
    No(ProposalId, bool),
}

impl Parking {
    /// What there is for the binding. All of it is one step, so that of two calls at once one makes the request and the
    /// other finds it.
    fn find(
        &self,
        binding: Binding,
        new: Parked,
        consents: &Consents,
        wall: WallTime,
    ) -> Result<Found, ConsentError> {
        let now = new.made;
        let mut parked = self.lock();
        let Some(found) = parked.get_mut(&binding) else {
            let is_same = |old: &Parked| old.subject == new.subject;
            let replaced: Vec<_> = parked.values().filter(|old| is_same(old)).map(|old| old.id).collect();
            consents.propose(now, wall, new.id, binding, &replaced)?;
            let replaced = parked.extract_if(.., |_, old| is_same(old)).map(|(_, old)| old).collect();
            parked.insert(binding, new);
            return Ok(Found::Nothing(replaced));
        };
        let id = found.id;
        match consents.state(now, id) {
            Some(State::Approved(_)) => Ok(match found.shown.take() {
                Some(shown) => {
                    parked.remove(&binding);
                    Found::Yes(id, Box::new(shown))
                }
                None => Found::Open(id),
            }),
            Some(State::Denied) => Ok(Found::No(id, !std::mem::replace(&mut found.is_told, true))),
            Some(State::Pending) => Ok(Found::Open(id)),
            Some(State::Expired) => Err(ConsentError::Expired),
            Some(State::Stale | State::Consumed(_)) => Err(ConsentError::Stale),
            Some(State::Cancelled) | None => Err(ConsentError::Ended),
        }
    }

    /// A request was shown, and what was shown is kept with it.
    fn keep(&self, shown: Planned) {
        if let Some(parked) = self.lock().get_mut(&shown.binding) {
            parked.shown = Some(shown);
        }
    }

    fn remove(&self, binding: &Binding) -> Option<Parked> {
        self.lock().remove(binding)
    }

    /// Takes out those of which this is true.
    fn take(&self, is_over: impl Fn(&Parked) -> bool) -> Vec<Parked> {
        self.lock().extract_if(.., |_, parked| is_over(parked)).map(|(_, parked)| parked).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Binding, Parked>> {
        // Each step leaves the map whole or does not come back at all.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Course<'_> {
    /// Finds the answer to the same call, or asks and ends the call.
    pub(super) fn ask_and_leave(&self, planned: Planned) -> Result<Approved, GateError> {
        let Gate { consents, ports, parking, approver, .. } = self.gate;
        let Some(approver) = approver else { return Err(self.no(None, Denial::NobodyToAsk)) };
        let now = ports.clock.now();
        self.gate.forget(now);
        let id = ports.entropy.bytes().map_err(|outage| undecided(self.spec(), &outage))?;
        let id = ProposalId::from_random(id);
        let created = ports.clock.wall();
        let offer = Arc::clone(&self.offer);
        let subject = self.subject(&planned);
        let new = Parked { id, call: self.id, offer, subject, made: now, shown: None, is_told: false };
        let binding = planned.binding;
        match parking.find(binding, new, consents, created).map_err(of_ledger)? {
            Found::Nothing(replaced) => {
                for old in replaced {
                    self.gate.end_one(old, Denial::Abandoned);
                }
            }
            Found::Open(id) => return Err(pending(id)),
            Found::Yes(id, shown) => {
                let state = consents.state(now, id).unwrap_or(State::Cancelled);
                caught(|| approver.close(id, state));
                return Ok(Approved::by_person(*shown, id));
            }
            Found::No(id, is_first) => {
                return Err(if is_first {
                    self.no(Some(id), Denial::Person)
                } else {
                    self.denial(Denial::Person)
                });
            }
        }
        self.say(EventKind::ApprovalRequired { proposal: Some(id) });
        let request = self.request(id, &planned, created);
        let shown = guarded("whoever shows requests for approval", || approver.show(&request));
        if let Err(outage) = shown {
            parking.remove(&binding);
            let _ = consents.refuse(ports.clock.now(), id);
            caught(|| approver.close(id, State::Denied));
            return Err(undecided(self.spec(), &outage));
        }
        parking.keep(planned);
        Err(pending(id))
    }

    fn subject(&self, planned: &Planned) -> Subject {
        let skill = planned.plan.skill.as_ref();
        Subject {
            tool: self.spec().name().clone(),
            skill: skill.map(|skill| (skill.source.clone(), skill.name.clone())),
            file: planned.plan.command.as_ref().map(|command| command.file.clone()),
            arguments: self.call.invocation().sha256(),
        }
    }
}

impl Gate {
    /// Ends the requests of calls that did not wait and whose time is over.
    pub(super) fn forget(&self, now: Now) {
        for parked in self.parking.take(|parked| now.since(parked.made) >= CONSENT_WINDOW) {
            self.end_one(parked, Denial::NoAnswer);
        }
    }

    /// Ends all of them.
    pub(super) fn forget_all(&self) {
        for parked in self.parking.take(|_| true) {
            self.end_one(parked, Denial::Abandoned);
        }
    }

    /// Nobody can answer a request any more: recorded and told, with this as the reason unless a person gave one.
    fn end_one(&self, parked: Parked, denial: Denial) {
        let Parked { id, call, offer, is_told, .. } = parked;
        let state = self.consents.state(self.ports.clock.now(), id).unwrap_or(State::Cancelled);
        if !is_told {
            let denial = if state == State::Denied { Denial::Person } else { denial };
            let (run, agent, tool) = (self.run, &self.agent, offer.spec().name());
            let decision =
                record::Decision { id: Some(id), call, run, agent, tool, answer: Err(denial), binding: None };
            // Nothing runs, whether or not that can be written down.
            let _ = decision.write(&*self.ports.journal);
            self.say(call, offer.spec(), EventKind::ApprovalDenied { proposal: Some(id), denial });
        }
        if let Some(approver) = &self.approver {
            caught(|| approver.close(id, state));
        }
    }
}

/// The call ended, and its request did not.
fn pending(id: ProposalId) -> GateError {
    GateError { pending: Some(id), failure: Failure::Denied, ..of_ledger(ConsentError::Undecided) }
}
