//! The proofs that a call may run. They move, and only the gate makes them.

use core::time::Duration;

use fumehood_core::containment::Level;
use fumehood_core::receipt::{Authority, Exit, Killed};
use fumehood_core::{AgentLabel, Binding, Call, CallId, EventKind, ReceiptId, RunId};

use crate::cancel::Cancel;
use crate::guard::caught;
use crate::offer::Liveness;
use crate::plan::Plan;
use crate::runner::Runner;

/// A call that was approved, and whose approval is spent: good for the attempts of this one call.
///
/// ```compile_fail,E0277
/// # use fumehood_gate::Clearance;
/// fn copy(clearance: &Clearance) -> Clearance {
///     Clearance::clone(clearance)
/// }
/// ```
/// ```compile_fail,E0599
/// # use fumehood_gate::Clearance;
/// let clearance = Clearance::default();
/// ```
/// ```compile_fail,E0451
/// # use fumehood_core::Call;
/// # use fumehood_gate::Clearance;
/// fn another(clearance: Clearance, call: Call) -> Clearance {
///     Clearance { call, ..clearance }
/// }
/// ```
/// ```compile_fail,E0277
/// # use fumehood_gate::Clearance;
/// fn store(clearance: &Clearance) -> String {
///     serde_json::to_string(clearance).unwrap()
/// }
/// ```
/// The same, but for what must not be:
/// ```
/// # use fumehood_gate::Clearance;
/// fn pass(clearance: Clearance) -> (Clearance, String) {
///     let binding = serde_json::to_string(&clearance.binding()).unwrap();
///     (clearance, binding)
/// }
/// ```
#[must_use = "the approval is spent, and only this value can run the call"]
pub struct Clearance {
    call: Call,
    planned: Planned,
    basis: Basis,
    authority: Authority,
    live: Liveness,
}

/// A runner, what it said once that it would run as, and what an approval of that is bound to.
///
/// What is shown, bound, timed and recorded is this one plan, whatever the runner would say another time. What the runner
/// holds open stays so for as long as this lives, and cannot be replaced by something that looks the same.
pub(crate) struct Planned {
    pub(crate) runner: Held,
    pub(crate) plan: Plan,
    pub(crate) binding: Binding,
    pub(crate) leave: Leave,
}

/// What a policy that does not deny a call leaves to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// The tool's own approval stands; where that is a person's, this is why they are asked.
    Own(String),
    /// A person is to be asked, for this reason.
    Person(String),
    /// Nobody needs to be asked.
    Given(Authority),
}

/// Whose word a call rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The tool's own approval, which needed no person.
    Tool,
    /// A rule or a scope.
    Policy,
    /// A person.
    Person,
}

/// A runner that cannot panic when it is dropped.
pub(crate) struct Held(Option<Box<dyn Runner>>);

/// The right to run a cleared call once, handed to [`Runner::run`] and to nothing else.
///
/// ```compile_fail,E0382
/// # use fumehood_gate::Attempt;
/// fn twice<'a>(attempt: Attempt<'a>) -> (Attempt<'a>, Attempt<'a>) {
///     (attempt, attempt)
/// }
/// ```
/// ```compile_fail,E0451
/// # use fumehood_gate::Attempt;
/// fn another<'a>(attempt: Attempt<'a>) -> Attempt<'a> {
///     Attempt { number: 2, ..attempt }
/// }
/// ```
/// ```compile_fail,E0061
/// # use fumehood_gate::{RawOutput, Runner};
/// fn without(runner: &mut dyn Runner) -> RawOutput {
///     runner.run()
/// }
/// ```
/// With one:
/// ```
/// # use fumehood_gate::{Attempt, RawOutput, Runner};
/// fn with(runner: &mut dyn Runner, attempt: Attempt<'_>) -> RawOutput {
///     runner.run(attempt)
/// }
/// ```
#[must_use = "an attempt that is not run is lost"]
pub struct Attempt<'a> {
    pub(crate) call: &'a Call,
    pub(crate) plan: &'a Plan,
    pub(crate) about: About<'a>,
    pub(crate) number: u32,
    pub(crate) wall: Duration,
    pub(crate) cancel: &'a Cancel,
    pub(crate) live: &'a Liveness,
    pub(crate) say: &'a dyn Fn(EventKind),
}

/// The right to change the person's files after a run that succeeded and whose output is kept, handed to
/// [`Runner::apply`] and to nothing else.
///
/// ```compile_fail,E0599
/// # use fumehood_gate::Accepted;
/// let accepted = Accepted::default();
/// ```
/// ```compile_fail,E0382
/// # use fumehood_gate::Accepted;
/// fn twice<'a>(accepted: Accepted<'a>) -> (Accepted<'a>, Accepted<'a>) {
///     (accepted, accepted)
/// }
/// ```
/// ```
/// # use fumehood_gate::Accepted;
/// # use fumehood_core::ReceiptId;
/// fn with(accepted: Accepted<'_>) -> ReceiptId {
///     accepted.receipt()
/// }
/// ```
#[must_use = "what was accepted and is not applied is lost"]
pub struct Accepted<'a> {
    pub(crate) about: About<'a>,
    pub(crate) cancel: &'a Cancel,
}

/// Which call of whom.
#[derive(Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) agent: &'a AgentLabel,
    pub(crate) run: RunId,
    pub(crate) id: CallId,
    pub(crate) receipt: ReceiptId,
}

impl Clearance {
    pub(crate) fn new(
        call: Call,
        planned: Planned,
        (basis, authority): (Basis, Authority),
        live: Liveness,
    ) -> Self {
        Self { call, planned, basis, authority, live }
    }

    /// What was approved.
    pub fn binding(&self) -> Binding {
        self.planned.binding
    }

    /// Why it may run.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Whether what it rests on still stands. A record that is open names one rule or scope, so another is none.
    pub(crate) fn stands_under(&self, leave: &Leave) -> bool {
        match leave {
            Leave::Given(authority) if self.basis == Basis::Policy => *authority == self.authority,
            leave => self.basis.stands_under(leave),
        }
    }

    pub(crate) fn call(&self) -> &Call {
        &self.call
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.planned.plan
    }

    /// The record of it is closed. A runner that panics now is told of at the next start.
    pub(crate) fn recorded(&mut self) {
        let _ = self.planned.runner.step(|runner| runner.recorded());
    }

    /// What one attempt is made of.
    pub(crate) fn parts(&mut self) -> (&mut Held, &Call, &Plan, &Liveness) {
        (&mut self.planned.runner, &self.call, &self.planned.plan, &self.live)
    }
}

impl Leave {
    /// Why a person is asked, if one is.
    pub(crate) fn why(&self) -> &str {
        match self {
            Self::Own(why) | Self::Person(why) => why,
            Self::Given(_) => "",
        }
    }
}

impl Basis {
    /// Whether it is enough under a policy that does not deny the call.
    pub(crate) fn stands_under(self, leave: &Leave) -> bool {
        match self {
            Self::Person => true,
            Self::Policy => matches!(leave, Leave::Given(_)),
            Self::Tool => !matches!(leave, Leave::Person(_)),
        }
    }
}

impl Held {
    pub(crate) fn new(runner: Box<dyn Runner>) -> Self {
        Self(Some(runner))
    }

    /// What `step` of the runner gives; `None` if it panics.
    pub(crate) fn step<T>(&mut self, step: impl FnOnce(&mut dyn Runner) -> T) -> Option<T> {
        let runner = self.0.as_deref_mut()?;
        caught(|| step(runner))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let runner = self.0.take();
        caught(move || drop(runner));
    }
}

impl<'a> Attempt<'a> {
    /// The call; its arguments fit.
    pub fn call(&self) -> &'a Call {
        self.call
    }

    /// What was shown, approved and recorded. Whoever starts something compares: this attempt is good for nothing else, and
    /// a runner that was handed it by another one has another plan.
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// Who called.
    pub fn agent(&self) -> &'a AgentLabel {
        self.about.agent
    }

    /// The run in which it was called (XSF-42).
    pub fn run(&self) -> RunId {
        self.about.run
    }

    /// The call's id.
    pub fn id(&self) -> CallId {
        self.about.id
    }

    /// The receipt's id.
    pub fn receipt(&self) -> ReceiptId {
        self.about.receipt
    }

    /// From 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// How long it may take, from now.
    pub fn wall(&self) -> Duration {
        self.wall
    }

    /// Whether the caller gave up.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// The token itself, to pass on.
    pub fn cancel(&self) -> &'a Cancel {
        self.cancel
    }

    /// For work that cannot be ended and is left behind: its tool stays busy until this is dropped.
    pub fn keep_alive(&self) -> Liveness {
        self.live.another()
    }

    /// A program is confined and begins.
    pub fn sandbox_started(&self, level: Level) {
        (self.say)(EventKind::SandboxStarted { attempt: self.number, level });
    }

    /// No process of it is left.
    pub fn sandbox_ended(&self, elapsed: Duration, exit: Option<Exit>, killed: Option<Killed>) {
        let elapsed_ms = millis(elapsed);
        (self.say)(EventKind::SandboxEnded { attempt: self.number, elapsed_ms, exit, killed });
    }
}

impl Accepted<'_> {
    /// The receipt's id.
    pub fn receipt(&self) -> ReceiptId {
        self.about.receipt
    }

    /// Whether the caller gave up. Looked at until the first file changes, and not any more then.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
