//! Where requests for approval lie until somebody answers for the person.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fumehood_core::consent::{ConsentError, Decision, State, Surface};
use fumehood_core::{Code, Coded as _, ProposalId};
use fumehood_gate::ports::Outage;
use fumehood_gate::{Approver, Decider, Request};
use fumehood_store::Home;

use super::Host;
use super::policy::SurfaceRule;
use crate::fault::Fault;
use crate::report::{Answer, Question};

/// The requests of one run, for whoever answers for the person.
///
/// What is on it is of one agent's run: ids of other runs are unknown here. Nothing that is asked of a desk waits.
///
/// # Authority
/// Whoever holds one can say yes in the person's place, as far as `policy.toml` takes a yes from where they say they are.
pub trait Desk: Send + Sync {
    /// Those that nobody has answered, oldest first: at most 64.
    fn pending(&self) -> Vec<Question>;

    /// One that nobody has answered; `None` for any other.
    fn question(&self, id: ProposalId) -> Option<Question>;

    /// How far one got; `None` if the run has none of that id.
    fn state(&self, id: ProposalId) -> Option<State>;

    /// Says yes (once) or no, from this surface. A no is taken from everywhere.
    ///
    /// # Errors
    /// Those of the ledger: `E_CONSENT_UNKNOWN`, `E_CONSENT_DECIDED`, `E_CONSENT_EXPIRED`, `E_CONSENT_STALE`, `E_RUN_ENDED`.
    /// `E_POLICY_DENIED` for a yes where `[surfaces]` in `policy.toml` takes none from there; the request stays open.
    fn decide(&self, id: ProposalId, answer: Answer, surface: Surface) -> Result<(), Fault>;
}

/// How a question is put, once there is one; `None` for a call that cannot be shown, which then is not asked about.
type Wording = Box<dyn Fn(&Request<'_>) -> Option<Question> + Send + Sync>;

/// The requests that a gate shows, kept until they are over: the gate's approver, and the desk of who answers.
///
/// It is handed a gate's decider with [`Requests::answer_for`] before the gate shows anything.
pub struct Requests {
    home: Home,
    /// What `fumehood.toml` says of the flag.
    is_flag_configured: bool,
    wording: Wording,
    lying: Mutex<Lying>,
}

#[derive(Default)]
struct Lying {
    decider: Option<Decider>,
    /// At most as many as a ledger takes.
    questions: BTreeMap<ProposalId, Question>,
}

impl Host {
    /// An empty desk for one gate after the other.
    ///
    /// # Errors
    /// `E_HOME_REFUSED`, `E_CONFIG_INVALID`.
    pub fn requests(
        &self,
        wording: impl Fn(&Request<'_>) -> Option<Question> + Send + Sync + 'static,
    ) -> Result<Requests, Fault> {
        let home = self.home()?;
        let is_flag_configured = self.settings(&home)?.approve_by_revision_flag;
        Ok(Requests { home, is_flag_configured, wording: Box::new(wording), lying: Mutex::default() })
    }
}

impl Requests {
    /// From here on it shows and answers the requests of this gate, and has forgotten those of the one before.
    pub fn answer_for(&self, decider: Decider) {
        *self.lying() = Lying { decider: Some(decider), questions: BTreeMap::new() };
    }

    /// Whether the policy takes a yes from there now.
    pub(super) fn takes_from(&self, surface: Surface) -> Result<(), Fault> {
        let rule =
            SurfaceRule { home: self.home.clone(), surface, is_flag_configured: self.is_flag_configured };
        if rule.is_open() {
            return Ok(());
        }
        let message = "policy.toml takes no yes from this surface, and the request is still open";
        let advice = "[surfaces] in policy.toml says from where a yes counts; a no counts from everywhere";
        Err(Fault::new(Code::PolicyDenied, message, advice))
    }

    fn decider(&self) -> Option<Decider> {
        self.lying().decider.clone()
    }

    fn lying(&self) -> MutexGuard<'_, Lying> {
        // Each step leaves it whole.
        self.lying.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Approver for Requests {
    fn show(&self, request: &Request<'_>) -> Result<(), Outage> {
        let outage = |message: &str| Outage::new(Code::Internal, message);
        // Made before the lock is taken: it reads what is on record.
        let question = (self.wording)(request).ok_or_else(|| outage("such a call cannot be shown"))?;
        let mut lying = self.lying();
        if lying.decider.is_none() {
            return Err(outage("nobody can answer for the person"));
        }
        lying.questions.insert(request.id, question);
        Ok(())
    }

    fn close(&self, id: ProposalId, _: State) {
        self.lying().questions.remove(&id);
    }
}

impl Desk for Requests {
    fn pending(&self) -> Vec<Question> {
        let Lying { decider, questions } = &*self.lying();
        let Some(decider) = decider else { return Vec::new() };
        let is_open = |id: ProposalId| decider.state(id) == Some(State::Pending);
        let open = questions.iter().filter(|(id, _)| is_open(**id));
        let mut open: Vec<_> = open.map(|(_, question)| question.clone()).collect();
        open.sort_by_key(|question| question.created_unix_ms);
        open
    }

    fn question(&self, id: ProposalId) -> Option<Question> {
        let lying = self.lying();
        let is_open = lying.decider.as_ref()?.state(id) == Some(State::Pending);
        lying.questions.get(&id).filter(|_| is_open).cloned()
    }

    fn state(&self, id: ProposalId) -> Option<State> {
        self.decider()?.state(id)
    }

    fn decide(&self, id: ProposalId, answer: Answer, surface: Surface) -> Result<(), Fault> {
        let decider = self.decider().ok_or_else(|| fault(ConsentError::Unknown))?;
        if answer == Answer::No {
            return decider.decide(id, Decision::Deny).map_err(fault);
        }
        if decider.state(id) == Some(State::Pending) {
            // What was never shown is not approved.
            if !self.lying().questions.contains_key(&id) {
                return Err(fault(ConsentError::Unknown));
            }
            self.takes_from(surface)?;
        }
        decider.decide(id, Decision::Approve(surface)).map_err(fault)
    }
}

/// What the ledger says of an answer, or of the state that keeps it from being one.
pub(super) fn fault(error: ConsentError) -> Fault {
    let advice = match error.code() {
        Code::ConsentDecided => {
            "nothing is left to answer; whoever asked makes the call again if it is wanted again"
        }
        Code::ConsentUnknown => "it may be over, or of another run",
        _ => "whoever asked has to make the call again",
    };
    Fault::of(&error, advice)
}
