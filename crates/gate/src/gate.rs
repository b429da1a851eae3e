//! The gate of one run: [`Gate::call`] and what it is made of, in the order in which it happens.

mod course;
mod denial;
mod parking;
mod perform;
mod planning;

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use fumehood_core::call::CallError;
use fumehood_core::receipt::{Applied, Exit};
use fumehood_core::tool::{Failure, RegistryError, ToolSpec};
use fumehood_core::{
    AgentLabel, Call, CallId, Event, EventKind, RawCall, ReceiptId, Registry, RunId, ToolName,
};

use crate::approval::{Approver, Decider};
use crate::cancel::Cancel;
use crate::consents::Consents;
use crate::error::{Excerpt, GateError};
use crate::guard::{Guarded, Watch, panicked};
use crate::listen::Listeners;
use crate::offer::Offer;
use crate::ports::{Clock, Entropy, Journal, Kept, Outage, PolicySource, Results};
use course::{Course, Patience};
use parking::Parking;

/// The one door of one run: every call of every tool goes through [`Gate::call`], and nothing else runs anything.
///
/// It owns the run's requests for approval; they end with it.
pub struct Gate {
    agent: AgentLabel,
    run: RunId,
    tools: RwLock<Tools>,
    consents: Arc<Consents>,
    parking: Parking,
    alive: Arc<()>,
    approver: Option<Arc<dyn Approver>>,
    listeners: Arc<Listeners>,
    ports: Ports,
    state_folder: Option<String>,
    is_ended: AtomicBool,
}

#[derive(Default)]
struct Tools {
    registry: Registry,
    offers: BTreeMap<ToolName, Arc<Offer>>,
}

/// Collects a [`Gate`]. Nobody to ask and nobody who listens, unless said.
pub struct GateBuilder {
    agent: AgentLabel,
    approver: Option<Arc<dyn Approver>>,
    listeners: Arc<Listeners>,
    ports: Ports,
    state_folder: Option<String>,
}

/// The world, as the gate has it: none of it panics.
#[derive(Clone)]
struct Ports {
    clock: Arc<Watch>,
    entropy: Arc<dyn Entropy>,
    policy: Arc<dyn PolicySource>,
    journal: Arc<dyn Journal>,
    results: Arc<dyn Results>,
}

/// A call that ended well. What it gave is kept and on record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Completed {
    /// The call.
    pub call: CallId,
    /// The record.
    pub receipt: ReceiptId,
    /// The kept result.
    pub kept: Kept,
    /// The kept standard error, if there was any.
    pub errors_kept: Option<Kept>,
    /// The result itself, up to its cap.
    pub output: Excerpt,
    /// Bytes of it that were dropped.
    pub dropped: u64,
    /// Standard error, up to its cap.
    pub errors: Excerpt,
    /// Bytes of it that were dropped.
    pub errors_dropped: u64,
    /// How the program ended, if there was one.
    pub exit: Option<Exit>,
    /// The files of the person's that were changed.
    pub applied: Vec<Applied>,
    /// Whether the tool failed and the host's own fallback stands in (XSF-41).
    pub fallback: bool,
    /// How long the last attempt took.
    pub elapsed: Duration,
}

impl Gate {
    /// The parts that every gate needs.
    pub fn builder(
        agent: AgentLabel,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        policy: Arc<dyn PolicySource>,
        journal: Arc<dyn Journal>,
        results: Arc<dyn Results>,
    ) -> GateBuilder {
        let ports = Ports {
            clock: Arc::new(Watch::new(clock)),
            entropy: Arc::new(Guarded(entropy)),
            policy: Arc::new(Guarded(policy)),
            journal: Arc::new(Guarded(journal)),
            results: Arc::new(Guarded(results)),
        };
        GateBuilder { agent, approver: None, listeners: Arc::default(), ports, state_folder: None }
    }

    /// Runs a tool, or says why not. Comes back when it is over, at the latest when its time is; the time that a person
    /// takes to answer is not part of that.
    ///
    /// The order is the same for every tool:
    /// 1. the name is one on offer;
    /// 2. the arguments fit its schema;
    /// 3. the run is alive and the caller has not given up;
    /// 4. what it would run as is planned, the policy is asked, and whoever has to approve the call says yes;
    /// 5. offer, policy, run and plan are looked at again, and the yes is spent on exactly what is there now;
    /// 6. there is room for the result, and the record is opened;
    /// 7. each attempt: `tool.called`, the deadline, the runner, its output accepted and kept, the person's files changed,
    ///    the record closed, `tool.completed` or `tool.failed`, and another one only if the table says so.
    ///
    /// # Errors
    /// [`GateError`]. A denial (403), a gate that cannot decide (503) and a run that failed (502, 504) never share a code.
    pub fn call(&self, raw: &RawCall, cancel: &Cancel) -> Result<Completed, GateError> {
        self.pass(raw, cancel, Patience::Waits)
    }

    /// As [`Gate::call`], for a caller that cannot wait for a person: where one has to be asked, the call ends with
    /// `E_CONSENT_PENDING` and [`GateError::pending`], and its request stays open. The same call made again, in this run and
    /// while the request lives, finds it: pending, it ends the same way and nobody is asked twice; approved, it uses the
    /// approval up and runs; denied, it is denied until the request would have expired, so that nobody is asked again for
    /// what they just refused. *The same* is the binding: whatever else would run is another call.
    ///
    /// # Errors
    /// As there.
    pub fn call_without_waiting(&self, raw: &RawCall, cancel: &Cancel) -> Result<Completed, GateError> {
        self.pass(raw, cancel, Patience::Leaves)
    }

    fn pass(&self, raw: &RawCall, cancel: &Cancel, patience: Patience) -> Result<Completed, GateError> {
        let offer = self.offered(&raw.tool)?;
        let call = Call::of_tool(offer.spec(), &raw.arguments);
        let call = call.map_err(|error| GateError::of_call(&error))?;
        let course = self.set_out(offer, call, cancel, patience)?;
        let _entered = course.span().entered();
        course
            .alive()
            .and_then(|()| course.approve())
            .and_then(|approved| course.clear(approved))
            .and_then(|clearance| course.perform(clearance))
            .map_err(|error| error.in_call(course.id))
    }

    /// Who calls here.
    pub fn agent(&self) -> &AgentLabel {
        &self.agent
    }

    /// The run.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Offers all of these tools, or none. Nothing is ever replaced.
    ///
    /// # Errors
    /// [`RegistryError`]: `E_SKILL_TOOL_DUPLICATE`, `E_SKILL_TOOL_COLLISION`.
    pub fn offer(&self, offers: Vec<Offer>) -> Result<(), RegistryError> {
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        tools.registry.register(offers.iter().map(|offer| offer.spec().clone()).collect())?;
        let offers = offers.into_iter().map(|offer| (offer.spec().name().clone(), Arc::new(offer)));
        tools.offers.extend(offers);
        Ok(())
    }

    /// Takes a tool off the offer. Calls that wait for approval do not run any more; those that run already go on.
    /// Whether it was on it, and how much of its work is not over.
    pub fn withdraw(&self, name: &ToolName) -> Option<usize> {
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        tools.registry.remove(name);
        tools.offers.remove(name).map(|offer| offer.live())
    }

    /// How much of the work of a tool on offer is not over; calls that wait for an answer count. A tool that is busy is
    /// not to be replaced by another version of itself.
    pub fn live(&self, name: &ToolName) -> Option<usize> {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        tools.offers.get(name).map(|offer| offer.live())
    }

    /// The tools on offer, by name.
    pub fn tools(&self) -> Vec<ToolSpec> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner).registry.tools().cloned().collect()
    }

    /// For whoever answers for the person.
    pub fn decider(&self) -> Decider {
        Decider::new(Arc::clone(&self.consents), self.ports.clock.clone(), Arc::clone(&self.alive))
    }

    /// Ends the run: open requests are cancelled, and nothing new is taken. What runs goes on until it is over.
    pub fn end(&self) {
        self.is_ended.store(true, Ordering::Release);
        self.consents.end(self.ports.clock.now());
        self.forget_all();
    }

    fn offered(&self, name: &str) -> Result<Arc<Offer>, GateError> {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        let spec = tools.registry.get(name);
        let offer = spec.and_then(|spec| tools.offers.get(spec.name())).cloned();
        offer.ok_or_else(|| GateError::of_call(&CallError::UnknownTool))
    }

    /// Gives the call its id, and counts it as work of its tool.
    fn set_out<'g>(
        &'g self,
        offer: Arc<Offer>,
        call: Call,
        cancel: &'g Cancel,
        patience: Patience,
    ) -> Result<Course<'g>, GateError> {
        let tier = offer.spec().tier();
        let id = self.ports.entropy.bytes().map_err(|outage| {
            let code = Failure::GateUnavailable.code(tier);
            GateError::new(Failure::GateUnavailable, code, outage.message)
        })?;
        let live = offer.begin();
        Ok(Course { gate: self, offer, call, id: CallId::from_random(id), cancel, live, patience })
    }

    fn say(&self, id: CallId, tool: &ToolSpec, kind: EventKind) {
        tracing::debug!(event = kind.name());
        if !self.listeners.is_empty() {
            self.listeners.say(&Event::new(self.ports.clock.wall(), self.run, id, tool, kind));
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.end();
    }
}

impl GateBuilder {
    /// Who shows requests for approval to a person. There is one at most.
    #[must_use]
    pub fn approver(self, approver: Arc<dyn Approver>) -> Self {
        Self { approver: Some(approver), ..self }
    }

    /// Who is told what happens.
    #[must_use]
    pub fn listeners(self, listeners: Arc<Listeners>) -> Self {
        Self { listeners, ..self }
    }

    /// The state folder, if it is not the usual one: every receipt names it.
    #[must_use]
    pub fn state_folder(self, folder: Option<String>) -> Self {
        Self { state_folder: folder, ..self }
    }

    /// The gate of a new run.
    ///
    /// # Errors
    /// [`Outage`] without randomness for the run's id.
    pub fn build(self) -> Result<Gate, Outage> {
        let run = RunId::from_random(self.ports.entropy.bytes()?);
        Ok(Gate {
            agent: self.agent,
            run,
            tools: RwLock::default(),
            consents: Arc::new(Consents::new(run)),
            parking: Parking::default(),
            alive: Arc::default(),
            approver: self.approver,
            listeners: self.listeners,
            ports: self.ports,
            state_folder: self.state_folder,
            is_ended: AtomicBool::new(false),
        })
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("agent", &self.agent).field("run", &self.run).finish_non_exhaustive()
    }
}

/// An outage while the call was being decided: whatever its code, the call was not decided and did not run.
fn undecided(spec: &ToolSpec, outage: &Outage) -> GateError {
    let code = Failure::GateUnavailable.code(spec.tier());
    GateError::new(Failure::GateUnavailable, code, outage.message.clone())
}

/// The host's own code or one of its callbacks panicked before anything ran.
fn broken(spec: &ToolSpec, what: &str) -> GateError {
    undecided(spec, &panicked(what))
}
