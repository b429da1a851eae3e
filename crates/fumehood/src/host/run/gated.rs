//! The gate of one run, and what it stands on: opened once, and passed by each call of the run.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fumehood_core::{AgentLabel, Call, CallId, Code, Event, EventKind, RawCall, ToolName, ToolSpec};
use fumehood_gate::{
    Accepted, Approver, Attempt, Cancel, Completed, Decider, Gate, GateError, Listeners, Offer, Plan,
    Planner, RawOutput, RunError, Runner,
};
use fumehood_store::{Home, Settings};

use super::workshop::Bench;
use super::{Captured, REPORT, RunStep};
use crate::fault::Fault;
use crate::host::Host;
use crate::host::policy::{HostPolicy, WorkedOutUnder};
use crate::host::ports::{SystemClock, SystemEntropy};
use crate::host::question::{Wording, Wordings};

/// One run: its gate, what it works with, and the tools that are on offer in it at the moment.
pub(in crate::host) struct Gated {
    gate: Gate,
    pub(in crate::host) bench: Bench,
    listeners: Arc<Listeners>,
    tellers: Arc<Tellers>,
    wordings: Arc<Wordings>,
    under: Arc<WorkedOutUnder>,
    offers: Offers,
}

/// A tool as one call wants it.
pub(in crate::host) struct Wanted<P> {
    pub(in crate::host) spec: ToolSpec,
    pub(in crate::host) planner: P,
    pub(in crate::host) identity: Identity,
    pub(in crate::host) wording: Wording,
}

/// What is on offer under a name: two calls with the same can share one offer.
#[derive(PartialEq, Eq)]
pub(in crate::host) struct Identity {
    skill: String,
    revision: String,
    /// The file, and what is granted beside the arguments.
    what: String,
    settings: Settings,
}

impl Identity {
    pub(in crate::host) fn of(skill: &Captured, what: String, settings: Settings) -> Self {
        Self {
            skill: format!("{}:{}", skill.source, skill.name),
            revision: skill.snapshot.revision().to_string(),
            what,
            settings,
        }
    }
}

/// What a call does while a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) enum Patience {
    /// It waits for the answer.
    Waits,
    /// It ends, and the same call finds the answer.
    Leaves,
}

/// Told how far a call got.
pub(in crate::host) type Tell = Box<dyn FnMut(RunStep) + Send>;

impl Gated {
    /// Opens the gate of a new run.
    pub(in crate::host) fn open(
        host: &Host,
        agent: AgentLabel,
        (home, bench): (Home, Bench),
        wordings: Arc<Wordings>,
        approver: Option<Arc<dyn Approver>>,
    ) -> Result<Self, Fault> {
        let under = Arc::new(WorkedOutUnder::default());
        let surroundings = host.surroundings.clone();
        let policy = HostPolicy { home, surroundings, settings: Arc::clone(&under) };
        let tellers = Arc::new(Tellers::default());
        let mut listeners = Listeners::new();
        let heard = Arc::clone(&tellers);
        listeners.add(move |event: &Event| heard.hear(event));
        let listeners = Arc::new(listeners);
        let builder = Gate::builder(
            agent,
            Arc::new(SystemClock),
            Arc::new(SystemEntropy),
            Arc::new(policy),
            bench.journal(),
            bench.results(),
        );
        let builder = builder.listeners(Arc::clone(&listeners)).state_folder(host.state_folder());
        let builder = match approver {
            Some(approver) => builder.approver(approver),
            None => builder,
        };
        let gate = builder.build().map_err(|outage| Fault::of(&outage, "try again"))?;
        Ok(Self { gate, bench, listeners, tellers, wordings, under, offers: Offers::default() })
    }

    /// For whoever answers for the person.
    pub(in crate::host) fn decider(&self) -> Decider {
        self.gate.decider()
    }

    /// Makes one call. A tool of the same name that is on offer as something else is taken off it first; while that one is
    /// busy, the call waits for it.
    pub(in crate::host) fn pass<P: Planner + 'static>(
        &self,
        wanted: Wanted<P>,
        raw: &RawCall,
        patience: Patience,
        cancel: &Cancel,
        tell: Tell,
    ) -> Result<Result<Completed, GateError>, Fault> {
        let Wanted { spec, planner, identity, wording } = wanted;
        let name = spec.name().clone();
        let settings = identity.settings.clone();
        let _held = self.offers.hold(&name, identity, cancel, || {
            let planner = Watched { planner, tellers: Arc::clone(&self.tellers) };
            let offer = Offer::new(spec, planner).map_err(|error| Fault::of(&error, REPORT))?;
            self.gate.withdraw(&name);
            self.wordings.set(&name, wording);
            self.under.set(&name, settings);
            let offered = self.gate.offer(vec![offer]);
            offered.map_err(|error| Fault::of(&error, "choose another name for the script"))
        })?;
        self.tellers.add(cancel, tell);
        let ended = match patience {
            Patience::Waits => self.gate.call(raw, cancel),
            Patience::Leaves => self.gate.call_without_waiting(raw, cancel),
        };
        // So that nothing is told of a call that is over.
        self.listeners.settle(SETTLE);
        self.tellers.remove(cancel);
        Ok(ended)
    }

    /// Ends the run: its open requests are cancelled, and nothing new is taken.
    pub(in crate::host) fn end(&self) {
        self.gate.end();
    }
}

/// Who is told of which call. A call is known by its token before it has an id, and by its id to those who hear of it.
#[derive(Default)]
struct Tellers(Mutex<Vec<Teller>>);

struct Teller {
    cancel: Cancel,
    call: Option<CallId>,
    tell: Tell,
}

impl Tellers {
    fn add(&self, cancel: &Cancel, tell: Tell) {
        self.lock().push(Teller { cancel: cancel.clone(), call: None, tell });
    }

    fn remove(&self, cancel: &Cancel) {
        self.lock().retain(|teller| !teller.cancel.is_clone_of(cancel));
    }

    /// The call is about to be laid out.
    fn began(&self, attempt: &Attempt<'_>) {
        let mut tellers = self.lock();
        let found = tellers.iter_mut().find(|teller| teller.cancel.is_clone_of(attempt.cancel()));
        if let Some(teller) = found {
            teller.call = Some(attempt.id());
            (teller.tell)(RunStep::Staging);
        }
    }

    fn hear(&self, event: &Event) {
        let step = match event.kind() {
            EventKind::SandboxStarted { .. } => RunStep::Started,
            EventKind::SandboxEnded { .. } => RunStep::Ended,
            _ => return,
        };
        let mut tellers = self.lock();
        if let Some(teller) = tellers.iter_mut().find(|teller| teller.call == Some(event.call())) {
            (teller.tell)(step);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Teller>> {
        // Each step leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A planner whose runs are told of.
struct Watched<P> {
    planner: P,
    tellers: Arc<Tellers>,
}

struct WatchedRunner {
    runner: Box<dyn Runner>,
    tellers: Arc<Tellers>,
}

impl<P: Planner> Planner for Watched<P> {
    fn plan(&self, call: &Call) -> Result<Box<dyn Runner>, RunError> {
        let runner = self.planner.plan(call)?;
        Ok(Box::new(WatchedRunner { runner, tellers: Arc::clone(&self.tellers) }))
    }
}

impl Runner for WatchedRunner {
    fn plan(&self) -> &Plan {
        self.runner.plan()
    }

    fn run(&mut self, attempt: Attempt<'_>) -> RawOutput {
        self.tellers.began(&attempt);
        self.runner.run(attempt)
    }

    fn apply(&mut self, accepted: Accepted<'_>) -> Result<Vec<fumehood_core::receipt::Applied>, RunError> {
        self.runner.apply(accepted)
    }

    fn recorded(&mut self) {
        self.runner.recorded();
    }
}

/// What is on offer under each name, and how many calls are on their way with it.
#[derive(Default)]
struct Offers {
    slots: Mutex<BTreeMap<ToolName, Slot>>,
    freed: Condvar,
}

struct Slot {
    identity: Identity,
    users: usize,
}

/// A call is on its way: what it was offered stays on offer.
struct Held<'o> {
    offers: &'o Offers,
    name: ToolName,
}

impl Offers {
    fn hold(
        &self,
        name: &ToolName,
        identity: Identity,
        cancel: &Cancel,
        offer: impl FnOnce() -> Result<(), Fault>,
    ) -> Result<Held<'_>, Fault> {
        let until = Instant::now() + BUSY_MAX;
        let mut slots = self.lock();
        loop {
            match slots.get_mut(name) {
                Some(slot) if slot.users > 0 && slot.identity == identity => slot.users += 1,
                Some(slot) if slot.users > 0 => {
                    if cancel.is_cancelled() {
                        let message = "the call was cancelled while it waited for another one";
                        return Err(Fault::new(Code::Cancelled, message, "nothing ran"));
                    }
                    if Instant::now() >= until {
                        let message = format!("another call of {name} is still under way");
                        return Err(Fault::new(Code::ToolBusy, message, "try again when it has ended"));
                    }
                    let waited = self.freed.wait_timeout(slots, LOOK_UP);
                    slots = waited.unwrap_or_else(PoisonError::into_inner).0;
                    continue;
                }
                _ => {
                    slots.remove(name);
                    offer()?;
                    slots.insert(name.clone(), Slot { identity, users: 1 });
                }
            }
            return Ok(Held { offers: self, name: name.clone() });
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ToolName, Slot>> {
        // Each step leaves it whole.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.offers.lock().get_mut(&self.name) {
            slot.users -= 1;
        }
        self.offers.freed.notify_all();
    }
}

/// How long a call waits for one of the same tool that is something else.
const BUSY_MAX: Duration = Duration::from_secs(30);
const LOOK_UP: Duration = Duration::from_millis(20);
/// How long the end of a call waits until what was said of it is heard.
const SETTLE: Duration = Duration::from_millis(20);
