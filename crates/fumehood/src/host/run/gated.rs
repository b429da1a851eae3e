//! The gate of one run, and what it stands on: opened once, and passed by each call of the run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fumehood_core::{AgentLabel, Call, CallId, Event, EventKind, RawCall, ToolSpec};
use fumehood_gate::{
    Accepted, Approver, Attempt, Cancel, Completed, Decider, Gate, GateError, Listeners, Offer, Plan,
    Planner, RawOutput, RunError, Runner,
};
use fumehood_store::Home;

use super::offers::{Held, Identity, Offers};
use super::workshop::Bench;
use super::{REPORT, RunStep};
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
    offers: Arc<Offers>,
}

/// A tool as one call wants it.
pub(in crate::host) struct Wanted<P> {
    pub(in crate::host) spec: ToolSpec,
    pub(in crate::host) planner: P,
    pub(in crate::host) identity: Identity,
    pub(in crate::host) wording: Wording,
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
        Ok(Self { gate, bench, listeners, tellers, wordings, under, offers: Arc::default() })
    }

    /// For whoever answers for the person.
    pub(in crate::host) fn decider(&self) -> Decider {
        self.gate.decider()
    }

    /// Makes one call. A tool of the same name that is on offer as something else is taken off it first. The call waits while
    /// something else of that name is being decided, and while another version of the same file runs.
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
        let settings = identity.settings().clone();
        let held = self.offers.hold(&name, identity, cancel, || {
            let planner = Watched { planner, tellers: Arc::clone(&self.tellers) };
            let offer = Offer::new(spec, planner).map_err(|error| Fault::of(&error, REPORT))?;
            self.gate.withdraw(&name);
            self.wordings.set(&name, wording);
            self.under.set(&name, settings);
            let offered = self.gate.offer(vec![offer]);
            offered.map_err(|error| Fault::of(&error, "choose another name for the script"))
        })?;
        let held = Arc::new(held);
        self.tellers.add(cancel, telling(Arc::clone(&held), tell));
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

/// Once it is laid out, the call was decided about. Scripts are not tried again, so nothing asks for what they were offered any more.
fn telling(held: Arc<Held>, mut tell: Tell) -> Tell {
    Box::new(move |step| {
        if step == RunStep::Staging {
            held.begin();
        }
        tell(step);
    })
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

/// How long the end of a call waits until what was said of it is heard.
const SETTLE: Duration = Duration::from_millis(20);
