//! Answers on their way out: recorded, told, and never mixed up with an outage.

use fumehood_core::code::Coded as _;
use fumehood_core::consent::{ConsentError, Surface};
use fumehood_core::event::Denial;
use fumehood_core::tool::Failure;
use fumehood_core::{Binding, EventKind, ProposalId};

use super::course::Course;
use super::{Gate, undecided};
use crate::error::GateError;
use crate::record;

impl Course<'_> {
    /// Nobody said yes: recorded, told, and an error.
    pub(super) fn no(&self, id: Option<ProposalId>, denial: Denial) -> GateError {
        self.denied(id, denial);
        self.denial(denial)
    }

    pub(super) fn denial(&self, denial: Denial) -> GateError {
        let message = match denial {
            Denial::Person => "a person said no to the call",
            Denial::Policy => "the policy says no to the call",
            Denial::NobodyToAsk => "the call needs a person's yes, and there is nobody to ask",
            Denial::NoAnswer => "nobody answered the request for approval in time",
            Denial::Abandoned => "the request for approval was given up before anybody answered",
        };
        GateError { denial: Some(denial), ..self.error(Failure::Denied, message) }
    }

    /// What spared or replaced the question is gone, so somebody would have to be asked who was not.
    pub(super) fn not_allowed_any_more(&self) -> GateError {
        let message = "the policy asks for a person's yes now, and did not when the call was made".to_owned();
        GateError { message, ..self.denial(Denial::Policy) }
    }

    /// Somebody was asked, and whatever they say, it does not run: recorded and told, unless the gate itself failed, which
    /// is no denial.
    pub(super) fn given_up(&self, id: Option<ProposalId>, error: &GateError) {
        if error.failure != Failure::GateUnavailable {
            self.denied(id, error.denial.unwrap_or(Denial::Abandoned));
        }
    }

    /// If the error is a denial: recorded and told.
    pub(super) fn told(&self, error: &GateError) {
        if let Some(denial) = error.denial {
            self.denied(None, denial);
        }
    }

    pub(super) fn denied(&self, id: Option<ProposalId>, denial: Denial) {
        // A call that is denied does not run, whether or not that can be written down.
        let _ = self.decided(id, Err(denial), None);
        self.say(EventKind::ApprovalDenied { proposal: id, denial });
    }

    pub(super) fn decided(
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
}

/// What is there now is not what somebody said yes to.
pub(super) fn stale() -> GateError {
    of_ledger(ConsentError::Stale)
}

/// What the ledger refused, and who must act.
pub(super) fn of_ledger(error: ConsentError) -> GateError {
    let failure = match error {
        ConsentError::Stale => Failure::Integrity,
        ConsentError::Ended => Failure::Cancelled,
        // An id that is there twice, or that the ledger forgot, is the gate's own fault.
        ConsentError::IdTaken | ConsentError::Unknown => Failure::GateUnavailable,
        _ => Failure::Denied,
    };
    GateError::new(failure, error.code(), error.to_string())
}
