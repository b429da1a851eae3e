//! The way of one call up to the moment in which it may run.

use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fumehood_core::binding::BindingParts;
use fumehood_core::code::Coded as _;
use fumehood_core::consent::{ConsentError, State, Surface};
use fumehood_core::event::Denial;
use fumehood_core::receipt::Authority;
use fumehood_core::schema::VALIDATOR_VERSION;
use fumehood_core::tool::{Approval, Failure, ToolSpec};
use fumehood_core::{Binding, Call, CallId, EventKind, ProposalId};

use super::{Gate, panicked, undecided};
use crate::approval::Request;
use crate::cancel::Cancel;
use crate::clearance::Clearance;
use crate::error::GateError;
use crate::offer::{Liveness, Offer};
use crate::plan::Plan;
use crate::ports::{Facts, Ruling};
use crate::record;
use crate::runner::Runner;

/// One call on its way.
pub(super) struct Course<'g> {
    pub(super) gate: &'g Gate,
    pub(super) offer: Arc<Offer>,
    pub(super) call: Call,
    pub(super) id: CallId,
    pub(super) cancel: &'g Cancel,
    pub(super) live: Liveness,
}

/// A plan, and what an approval of it is bound to.
pub(super) struct Planned {
    runner: Box<dyn Runner>,
    binding: Binding,
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
    Nobody,
    Callback,
    Person(ProposalId),
}

impl Course<'_> {
    pub(super) fn span(&self) -> tracing::Span {
        let (run, call, tool) = (self.gate.run, self.id, self.spec().name().as_str());
        tracing::info_span!("call", %run, %call, tool)
    }

    /// The run has not ended, and the caller has not given up.
    pub(super) fn alive(&self) -> Result<(), GateError> {
        if self.gate.is_ended.load(Ordering::Acquire) {
            let error = ConsentError::Ended;
            return Err(GateError::new(Failure::Cancelled, error.code(), error.to_string()));
        }
        if self.cancel.is_cancelled() {
            return Err(self.error(Failure::Cancelled, "the call was cancelled before it ran"));
        }
        Ok(())
    }

    /// Plans the call, asks the policy, and then whoever approves calls of this tool.
    pub(super) fn approve(&self) -> Result<Approved, GateError> {
        let planned = self.plan().inspect_err(|error| self.told(None, error))?;
        let by = match self.spec().approval() {
            Approval::Auto => By::Nobody,
            Approval::Policy => self.ask_callback()?,
            Approval::Human => self.ask_person(&planned)?,
        };
        Ok(Approved { planned, by })
    }

    /// Looks at everything again, and spends the yes on what is there now.
    pub(super) fn clear(&self, approved: Approved) -> Result<Clearance, GateError> {
        let Approved { planned: shown, by } = approved;
        let again = self.still_offered().and_then(|()| self.alive()).and_then(|()| self.plan());
        let now = again.inspect_err(|error| {
            if let By::Person(id) = by {
                // What the person said yes to is not there any more, and the yes is good for nothing else.
                let _ = self.gate.consents.refuse(self.gate.ports.clock.now(), id);
                self.denied(Some(id), error.denial.unwrap_or(Denial::Abandoned));
            } else {
                self.told(None, error);
            }
        })?;
        let authority = match by {
            By::Person(id) => self.spend(id, &now.binding)?,
            By::Nobody | By::Callback if now.binding != shown.binding => return Err(stale()),
            By::Nobody => Authority::auto(),
            By::Callback => Authority::callback(),
        };
        let call = self.call.clone();
        Ok(Clearance::new(call, now.runner, now.binding, authority, self.live.another()))
    }

    fn plan(&self) -> Result<Planned, GateError> {
        let planned = catch_unwind(AssertUnwindSafe(|| self.offer.planner().plan(&self.call)));
        let runner = planned.map_err(|_| panicked(self.spec(), "what plans the call"))?;
        let runner = runner.map_err(GateError::of_run)?;
        if runner.plan().wall(self.spec().timeout()) > self.spec().timeout() {
            return Err(self.error(Failure::Policy, "the plan takes more time than the tool may have"));
        }
        let ruling = self.ruling(runner.plan())?;
        let binding = self.binding(runner.plan(), ruling);
        Ok(Planned { runner, binding })
    }

    fn ruling(&self, plan: &Plan) -> Result<Ruling, GateError> {
        let Gate { agent, run, ports, .. } = self.gate;
        let facts = Facts { agent, run: *run, tool: self.spec(), call: &self.call, plan };
        let ruling = catch_unwind(AssertUnwindSafe(|| ports.policy.ruling(&facts)));
        let ruling = ruling.map_err(|_| panicked(self.spec(), "the policy"))?;
        let ruling = ruling.map_err(|outage| undecided(self.spec(), &outage))?;
        if ruling.is_denied {
            return Err(self.denial(Denial::Policy));
        }
        Ok(ruling)
    }

    fn binding(&self, plan: &Plan, ruling: Ruling) -> Binding {
        Binding::of(&BindingParts {
            agent: &self.gate.agent,
            run: self.gate.run,
            tool: self.spec().name(),
            workspace: plan.workspace.as_ref(),
            revision: plan.skill.as_ref().map(|skill| skill.revision),
            overlay: plan.skill.as_ref().and_then(|skill| skill.overlay),
            invocation: self.call.invocation().bytes(),
            validator_version: VALIDATOR_VERSION,
            interpreter: plan.interpreter.as_ref(),
            profile: &plan.profile,
            policy: ruling.policy,
        })
    }

    fn ask_callback(&self) -> Result<By, GateError> {
        self.say(EventKind::ApprovalRequired { proposal: None });
        // An offer of such a tool has a callback; without one nobody says yes.
        let Some(callback) = self.offer.callback() else { return Err(self.no(None, Denial::NobodyToAsk)) };
        let answer = catch_unwind(AssertUnwindSafe(|| callback(&self.call, self.gate.run)));
        let answer = answer.map_err(|_| panicked(self.spec(), "the callback"))?;
        if !answer.map_err(|outage| undecided(self.spec(), &outage))? {
            return Err(self.no(None, Denial::Policy));
        }
        self.say(EventKind::ApprovalGranted { proposal: None, surface: None });
        Ok(By::Callback)
    }

    /// Shows the request and waits for the answer, as long as somebody could give one.
    fn ask_person(&self, planned: &Planned) -> Result<By, GateError> {
        let Gate { consents, ports, .. } = self.gate;
        let Some(approver) = &self.gate.approver else {
            return Err(self.no(None, Denial::NobodyToAsk));
        };
        let id = ports.entropy.bytes().map_err(|outage| undecided(self.spec(), &outage))?;
        let id = ProposalId::from_random(id);
        let created = ports.clock.wall();
        let asked = consents.propose(ports.clock.now(), created, id, planned.binding);
        asked.map_err(|error| GateError::new(Failure::Denied, error.code(), error.to_string()))?;
        self.say(EventKind::ApprovalRequired { proposal: Some(id) });
        let request = self.request(id, planned.runner.plan(), created);
        let shown = catch_unwind(AssertUnwindSafe(|| approver.show(&request)));
        let outage = match shown {
            Ok(Ok(())) => None,
            Ok(Err(outage)) => Some(undecided(self.spec(), &outage)),
            Err(_) => Some(panicked(self.spec(), "whoever shows requests for approval")),
        };
        let answer = match outage {
            None => self.await_answer(id),
            Some(error) => {
                let _ = consents.refuse(ports.clock.now(), id);
                Err(error)
            }
        };
        let state = consents.state(ports.clock.now(), id).unwrap_or(State::Cancelled);
        // Only told; what it does with it is no matter of the call's.
        let _ = catch_unwind(AssertUnwindSafe(|| approver.close(id, state)));
        answer.map(|()| By::Person(id))
    }

    fn request<'a>(
        &'a self,
        id: ProposalId,
        plan: &'a Plan,
        created: fumehood_core::WallTime,
    ) -> Request<'a> {
        Request {
            id,
            agent: &self.gate.agent,
            run: self.gate.run,
            tool: self.spec(),
            call: &self.call,
            plan,
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
                // Only this gate is left: whoever could answer is gone, and did not answer meanwhile.
                Some(State::Pending) if Arc::strong_count(alive) == 1 => {
                    if consents.refuse(now(), id).is_err() {
                        continue;
                    }
                    Denial::Abandoned
                }
                Some(State::Pending) => continue,
                Some(State::Denied | State::Consumed(_)) => Denial::Person,
                Some(State::Expired) => Denial::NoAnswer,
                Some(State::Stale | State::Cancelled) | None => Denial::Abandoned,
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
                let failure = match error {
                    ConsentError::Stale => Failure::Integrity,
                    ConsentError::Ended => Failure::Cancelled,
                    _ => Failure::Denied,
                };
                let denial = match error {
                    ConsentError::Expired => Denial::NoAnswer,
                    ConsentError::Denied => Denial::Person,
                    _ => Denial::Abandoned,
                };
                self.denied(Some(id), denial);
                let denial = (failure == Failure::Denied).then_some(denial);
                return Err(GateError { denial, ..GateError::new(failure, error.code(), error.to_string()) });
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

    /// Nobody said yes: recorded, told, and an error.
    fn no(&self, id: Option<ProposalId>, denial: Denial) -> GateError {
        self.denied(id, denial);
        self.denial(denial)
    }

    fn denial(&self, denial: Denial) -> GateError {
        let message = match denial {
            Denial::Person => "a person said no to the call",
            Denial::Policy => "the policy says no to the call",
            Denial::NobodyToAsk => "the call needs a person's yes, and there is nobody to ask",
            Denial::NoAnswer => "nobody answered the request for approval in time",
            Denial::Abandoned => "the request for approval was given up before anybody answered",
        };
        GateError { denial: Some(denial), ..self.error(Failure::Denied, message) }
    }

    /// If the error is a denial: recorded and told.
    fn told(&self, id: Option<ProposalId>, error: &GateError) {
        if let Some(denial) = error.denial {
            self.denied(id, denial);
        }
    }

    fn denied(&self, id: Option<ProposalId>, denial: Denial) {
        // A call that is denied does not run, whether or not that can be written down.
        let _ = self.decided(id, Err(denial), None);
        self.say(EventKind::ApprovalDenied { proposal: id, denial });
    }

    fn decided(
        &self,
        id: Option<ProposalId>,
        answer: Result<Surface, Denial>,
        binding: Option<Binding>,
    ) -> Result<(), GateError> {
        let Gate { run, agent, ports, .. } = self.gate;
        let (call, tool) = (self.id, self.spec().name());
        let decision = record::Decision { id, call, run: *run, agent, tool, answer, binding };
        let written = decision.write(&*ports.journal);
        written.map_err(|outage| undecided(self.spec(), &outage))
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

fn stale() -> GateError {
    let error = ConsentError::Stale;
    GateError::new(Failure::Integrity, error.code(), error.to_string())
}

/// How often somebody who waits looks up, to see whether the caller gave up or nobody is left to answer.
const LOOK_UP: Duration = Duration::from_millis(20);
