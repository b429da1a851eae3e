//! The way of one call up to the moment in which it may run.

use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fumehood_core::consent::{ConsentError, State};
use fumehood_core::event::Denial;
use fumehood_core::receipt::Authority;
use fumehood_core::tool::{Approval, Failure, ToolSpec};
use fumehood_core::{Binding, Call, CallId, EventKind, ProposalId};

use super::denial::{of_ledger, stale};
use super::{Gate, broken, undecided};
use crate::approval::Request;
use crate::cancel::Cancel;
use crate::clearance::{Basis, Clearance, Leave, Planned};
use crate::error::GateError;
use crate::guard::{caught, guarded};
use crate::offer::{Liveness, Offer};
use crate::ports::Clock as _;

/// One call on its way.
pub(super) struct Course<'g> {
    pub(super) gate: &'g Gate,
    pub(super) offer: Arc<Offer>,
    pub(super) call: Call,
    pub(super) id: CallId,
    pub(super) cancel: &'g Cancel,
    pub(super) live: Liveness,
    pub(super) patience: Patience,
}

/// What a call does while a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// It waits for the answer.
    Waits,
    /// It ends, and the same call finds the answer.
    Leaves,
}

/// Somebody said yes to a plan, which has yet to be looked at again. It keeps the plan: what the plan holds open cannot be
/// replaced by something that looks the same.
#[must_use]
pub(super) struct Approved {
    planned: Planned,
    by: By,
}

#[derive(Clone, Copy)]
enum By {
    /// The tool's own approval, which needs no person.
    Tool,
    /// A rule or a scope.
    Policy,
    Person(ProposalId),
}

impl Approved {
    pub(super) fn by_person(planned: Planned, id: ProposalId) -> Self {
        Self { planned, by: By::Person(id) }
    }
}

impl By {
    fn basis(self) -> Basis {
        match self {
            Self::Tool => Basis::Tool,
            Self::Policy => Basis::Policy,
            Self::Person(_) => Basis::Person,
        }
    }
}

impl Course<'_> {
    pub(super) fn span(&self) -> tracing::Span {
        let (run, call, tool) = (self.gate.run, self.id, self.spec().name().as_str());
        tracing::info_span!("call", %run, %call, tool)
    }

    /// The run has not ended, the caller has not given up, and there is a clock to go by.
    pub(super) fn alive(&self) -> Result<(), GateError> {
        if self.gate.is_ended.load(Ordering::Acquire) {
            return Err(of_ledger(ConsentError::Ended));
        }
        if self.cancel.is_cancelled() {
            return Err(self.error(Failure::Cancelled, "the call was cancelled before it ran"));
        }
        if self.gate.ports.clock.is_broken() {
            return Err(broken(self.spec(), CLOCK));
        }
        Ok(())
    }

    /// Plans the call, asks the policy, and then whoever approves calls of this tool.
    pub(super) fn approve(&self) -> Result<Approved, GateError> {
        let planned = self.plan().inspect_err(|error| self.told(error))?;
        self.ask(planned)
    }

    /// Asks everybody who has to say yes.
    fn ask(&self, planned: Planned) -> Result<Approved, GateError> {
        let approval = self.spec().approval();
        // Also where the policy allows the call or a person is asked as well: any no wins.
        if approval == Approval::Policy {
            self.ask_callback()?;
        }
        match (&planned.leave, approval) {
            (Leave::Given(_), _) => Ok(Approved { planned, by: By::Policy }),
            (Leave::Person(_), Approval::Policy) => {
                self.say(EventKind::ApprovalGranted { proposal: None, surface: None });
                self.ask_person(planned)
            }
            (Leave::Person(_), _) | (Leave::Own(_), Approval::Human) => self.ask_person(planned),
            (Leave::Own(_), Approval::Auto | Approval::Policy) => Ok(Approved { planned, by: By::Tool }),
        }
    }

    fn ask_person(&self, planned: Planned) -> Result<Approved, GateError> {
        match self.patience {
            Patience::Waits => self.ask_and_wait(planned),
            Patience::Leaves => self.ask_and_leave(planned),
        }
    }

    /// Looks at everything again, and spends the yes on what is there now.
    pub(super) fn clear(&self, approved: Approved) -> Result<Clearance, GateError> {
        let Approved { planned: shown, by } = approved;
        let again = self.still_offered().and_then(|()| self.alive()).and_then(|()| self.plan());
        let is_same = |now: &Planned| match by {
            // Another binding is for the ledger to refuse, which then knows the request as stale.
            By::Person(_) => now.binding != shown.binding || now.plan == shown.plan,
            By::Tool | By::Policy => now.binding == shown.binding && now.plan == shown.plan,
        };
        let same = again.and_then(|now| match () {
            () if !by.basis().stands_under(&now.leave) => Err(self.not_allowed_any_more()),
            () if !is_same(&now) => Err(stale()),
            () => Ok(now),
        });
        let has_callback = self.spec().approval() == Approval::Policy;
        let now = same.inspect_err(|error| match by {
            By::Person(id) => {
                // What the person said yes to is not there any more, and the yes is good for nothing else.
                let _ = self.gate.consents.refuse(self.gate.ports.clock.now(), id);
                self.given_up(Some(id), error);
            }
            By::Tool | By::Policy if has_callback => self.given_up(None, error),
            By::Tool | By::Policy => self.told(error),
        })?;
        if has_callback && by.basis() != Basis::Person {
            self.say(EventKind::ApprovalGranted { proposal: None, surface: None });
        }
        let authority = match (by, &now.leave) {
            (By::Person(id), _) => self.spend(id, &now.binding)?,
            (By::Policy, Leave::Given(authority)) => authority.clone(),
            _ if has_callback => Authority::callback(),
            _ => Authority::auto(),
        };
        Ok(Clearance::new(self.call.clone(), now, (by.basis(), authority), self.live.another()))
    }

    fn ask_callback(&self) -> Result<(), GateError> {
        self.say(EventKind::ApprovalRequired { proposal: None });
        // An offer of such a tool has a callback; without one nobody says yes.
        let Some(callback) = self.offer.callback() else { return Err(self.no(None, Denial::NobodyToAsk)) };
        let answer = guarded("the callback", || callback(&self.call, self.gate.run));
        if !answer.map_err(|outage| undecided(self.spec(), &outage))? {
            return Err(self.no(None, Denial::Policy));
        }
        Ok(())
    }

    /// Shows the request and waits for the answer, as long as somebody could give one.
    fn ask_and_wait(&self, planned: Planned) -> Result<Approved, GateError> {
        let Gate { consents, ports, .. } = self.gate;
        let Some(approver) = &self.gate.approver else {
            return Err(self.no(None, Denial::NobodyToAsk));
        };
        let id = ports.entropy.bytes().map_err(|outage| undecided(self.spec(), &outage))?;
        let id = ProposalId::from_random(id);
        let created = ports.clock.wall();
        let asked = consents.propose(ports.clock.now(), created, id, planned.binding, &[]);
        asked.map_err(of_ledger)?;
        self.say(EventKind::ApprovalRequired { proposal: Some(id) });
        let request = self.request(id, &planned, created);
        let shown = guarded("whoever shows requests for approval", || approver.show(&request));
        let answer = match shown {
            Ok(()) => self.await_answer(id),
            Err(outage) => {
                let _ = consents.refuse(ports.clock.now(), id);
                Err(undecided(self.spec(), &outage))
            }
        };
        let state = consents.state(ports.clock.now(), id).unwrap_or(State::Cancelled);
        // Only told; what it does with it is no matter of the call's.
        caught(|| approver.close(id, state));
        answer.map(|()| Approved::by_person(planned, id))
    }

    pub(super) fn request<'a>(
        &'a self,
        id: ProposalId,
        planned: &'a Planned,
        created: fumehood_core::WallTime,
    ) -> Request<'a> {
        Request {
            id,
            agent: &self.gate.agent,
            run: self.gate.run,
            tool: self.spec(),
            call: &self.call,
            plan: &planned.plan,
            why: planned.leave.why(),
            created,
            expires: created.after(fumehood_core::consent::CONSENT_WINDOW),
        }
    }

    fn await_answer(&self, id: ProposalId) -> Result<(), GateError> {
        let Gate { consents, ports, alive, .. } = self.gate;
        let now = || ports.clock.now();
        loop {
            let denial = match consents.wait(&now, id, LOOK_UP) {
                Some(State::Approved(_)) => return Ok(()),
                Some(State::Pending) if self.cancel.is_cancelled() => {
                    let _ = consents.refuse(now(), id);
                    self.denied(Some(id), Denial::Abandoned);
                    return Err(self.error(Failure::Cancelled, "the call was cancelled while it waited"));
                }
                Some(State::Pending) if ports.clock.is_broken() => {
                    let _ = consents.refuse(now(), id);
                    return Err(broken(self.spec(), CLOCK));
                }
                Some(State::Pending) if Arc::strong_count(alive) == 1 => {
                    // Only this gate is left. Whoever could answer is gone, and may have answered as the last thing.
                    if consents.state(now(), id) != Some(State::Pending) {
                        continue;
                    }
                    let _ = consents.refuse(now(), id);
                    Denial::Abandoned
                }
                Some(State::Pending) => continue,
                Some(State::Denied | State::Consumed(_)) => Denial::Person,
                Some(State::Expired) => Denial::NoAnswer,
                Some(State::Stale | State::Cancelled) | None => {
                    self.denied(Some(id), Denial::Abandoned);
                    return Err(of_ledger(ConsentError::Ended));
                }
            };
            return Err(self.no(Some(id), denial));
        }
    }

    /// The one place where a person's yes is used up.
    fn spend(&self, id: ProposalId, binding: &Binding) -> Result<Authority, GateError> {
        let consumed = self.gate.consents.consume(self.gate.ports.clock.now(), id, binding);
        let consent = match consumed {
            Ok(consent) => consent,
            Err(error) => {
                let denial = match error {
                    ConsentError::Expired => Denial::NoAnswer,
                    ConsentError::Denied => Denial::Person,
                    _ => Denial::Abandoned,
                };
                let error = of_ledger(error);
                let denial_of_error = (error.failure == Failure::Denied).then_some(denial);
                let error = GateError { denial: denial_of_error, ..error };
                self.given_up(Some(id), &error);
                return Err(error);
            }
        };
        self.decided(Some(id), Ok(consent.surface()), Some(*binding))?;
        self.say(EventKind::ApprovalGranted { proposal: Some(id), surface: Some(consent.surface()) });
        Ok(Authority::consent(&consent))
    }

    pub(super) fn still_offered(&self) -> Result<(), GateError> {
        let is_same = |offer: Arc<Offer>| Arc::ptr_eq(&offer, &self.offer);
        if self.gate.offered(self.spec().name().as_str()).is_ok_and(is_same) {
            return Ok(());
        }
        let message = "the tool was taken off the offer while the call waited".to_owned();
        Err(GateError { message, ..self.denial(Denial::Policy) })
    }

    pub(super) fn spec(&self) -> &ToolSpec {
        self.offer.spec()
    }

    pub(super) fn error(&self, failure: Failure, message: &str) -> GateError {
        GateError::new(failure, failure.code(self.spec().tier()), message)
    }

    pub(super) fn say(&self, kind: EventKind) {
        self.gate.say(self.id, self.spec(), kind);
    }
}

/// How often somebody who waits looks up, to see whether the caller gave up or nobody is left to answer.
const LOOK_UP: Duration = Duration::from_millis(20);

const CLOCK: &str = "the clock";
