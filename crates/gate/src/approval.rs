//! Asking a person: one side shows and cannot decide, the other decides and cannot spend.

use core::fmt;
use std::sync::Arc;

use fumehood_core::consent::{ConsentError, Decision, State};
use fumehood_core::{AgentLabel, Call, ProposalId, RunId, ToolSpec, WallTime};

use crate::consents::Consents;
use crate::plan::Plan;
use crate::ports::{Clock, Outage};

/// Shows requests for approval to a person. There is one at most, apart from all listeners (XSF-32, XSF-49), and only it
/// gets the arguments (XSF-34).
pub trait Approver: Send + Sync {
    /// Shows a request, and does not wait for the answer: that comes through a [`Decider`].
    ///
    /// # Errors
    /// [`Outage`] if it cannot be shown. A panic counts as one. Neither is a denial.
    fn show(&self, request: &Request<'_>) -> Result<(), Outage>;

    /// A request that was shown is over: answered, expired, or given up. Not waited for by anybody any more.
    fn close(&self, id: ProposalId, state: State) {
        let _ = (id, state);
    }
}

/// What a person is asked. Nothing in it is safe to show as it is but what the host wrote.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Its id: the same text wherever it is shown.
    pub id: ProposalId,
    /// Who asks, as the host calls it.
    pub agent: &'a AgentLabel,
    /// In which run.
    pub run: RunId,
    /// The tool.
    pub tool: &'a ToolSpec,
    /// The call.
    pub call: &'a Call,
    /// What it would run as.
    pub plan: &'a Plan,
    /// Why a person is asked, in the host's words.
    pub why: &'a str,
    /// When it was made.
    pub created: WallTime,
    /// When it expires.
    pub expires: WallTime,
}

/// Answers for the person. Whoever holds one is privileged; it cannot spend what it grants.
///
/// When the last one of a gate is gone, nobody can answer any more, and whoever waits is denied (XSF-35).
///
/// ```compile_fail,E0599
/// # use fumehood_gate::Decider;
/// # use fumehood_core::{Binding, Now, ProposalId};
/// fn spend(decider: &Decider, now: Now, id: ProposalId, binding: &Binding) {
///     decider.consume(now, id, binding);
/// }
/// ```
/// ```
/// # use fumehood_gate::Decider;
/// # use fumehood_core::ProposalId;
/// # use fumehood_core::consent::{ConsentError, Decision};
/// fn answer(decider: &Decider, id: ProposalId) -> Result<(), ConsentError> {
///     decider.decide(id, Decision::Deny)
/// }
/// ```
#[derive(Clone)]
pub struct Decider {
    consents: Arc<Consents>,
    clock: Arc<dyn Clock>,
    /// Counts those that are left.
    _alive: Arc<()>,
}

impl Decider {
    pub(crate) fn new(consents: Arc<Consents>, clock: Arc<dyn Clock>, alive: Arc<()>) -> Self {
        Self { consents, clock, _alive: alive }
    }

    /// Answers a pending request.
    ///
    /// # Errors
    /// As [`Ledger::decide`](fumehood_core::Ledger::decide): a second answer counts for nothing (CHK-015).
    pub fn decide(&self, id: ProposalId, decision: Decision) -> Result<(), ConsentError> {
        self.consents.decide(self.clock.now(), id, decision)
    }

    /// How far a request got; `None` if the run has none of that id.
    pub fn state(&self, id: ProposalId) -> Option<State> {
        self.consents.state(self.clock.now(), id)
    }
}

impl fmt::Debug for Decider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decider")
    }
}
