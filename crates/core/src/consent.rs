//! Consent: a person's yes to one exact call, good once, for five minutes, in memory only.
//!
//! This is neither a sandbox nor an authorization of its own (CHK-027): it counts requests and answers. Whether the person
//! saw what was bound, whether the policy still agrees and what then confines the program are for others; the gate asks
//! all of them.

mod proposal;

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;

pub use proposal::{Proposal, State, Surface};

use crate::binding::Binding;
use crate::code::{Code, Coded};
use crate::id::{ProposalId, RunId};
use crate::time::{Now, WallTime};

/// Requests for approval of one run, the answered ones included (CHK-010).
pub const PROPOSALS_MAX: usize = 64;
/// How long a request can be answered and its approval used, from when it was made (CHK-008).
pub const CONSENT_WINDOW: Duration = Duration::from_mins(5);

/// The kind of the journal's row that holds the answer to a request for approval: `id` (the request's), `tool`,
/// `decision`, `surface` and `binding`.
pub const ROW_DECISION: &str = "decision";

/// All requests for approval of one run, and what became of them.
///
/// A ledger begins empty and is never copied, stored or read back, so what was approved before a restart is gone
/// (CHK-017, CHK-021). Dropping it ends the run's open requests as [`Ledger::end`] does. Its owner holds the lock; each
/// method is one step that nobody can come between.
///
/// Time only goes forward here: a `now` before an earlier one counts as that earlier one, so that no request lives longer
/// because a clock was read twice and used in the wrong order.
///
/// ```compile_fail
/// # use fumehood_core::consent::Ledger;
/// fn copy(ledger: &Ledger) -> Ledger {
///     Ledger::clone(ledger)
/// }
/// ```
/// ```compile_fail
/// # use fumehood_core::consent::Ledger;
/// fn store(ledger: &Ledger) -> String {
///     serde_json::to_string(ledger).unwrap()
/// }
/// ```
/// ```compile_fail
/// # use fumehood_core::consent::Ledger;
/// fn restore(text: &str) -> Ledger {
///     serde_json::from_str(text).unwrap()
/// }
/// ```
#[derive(Debug)]
pub struct Ledger {
    run: RunId,
    proposals: BTreeMap<ProposalId, Proposal>,
    latest: Option<Now>,
    is_ended: bool,
}

/// A yes that is spent: made by [`Ledger::consume`] for one call, and by nothing else.
///
/// It says that the call was approved and that nobody can use the approval again. It does not say that anything started,
/// ended or can be undone (CHK-019).
///
/// ```compile_fail
/// # use fumehood_core::consent::Consent;
/// fn copy(consent: &Consent) -> Consent {
///     Consent::clone(consent)
/// }
/// ```
/// ```compile_fail
/// # use fumehood_core::consent::{Consent, Surface};
/// # use fumehood_core::{Binding, ProposalId, RunId};
/// fn forge(run: RunId, proposal: ProposalId, binding: Binding) -> Consent {
///     Consent { run, proposal, binding, surface: Surface::Terminal }
/// }
/// ```
/// ```compile_fail
/// # use fumehood_core::consent::Consent;
/// let consent = Consent::default();
/// ```
/// ```compile_fail
/// # use fumehood_core::consent::Consent;
/// fn store(consent: &Consent) -> String {
///     serde_json::to_string(consent).unwrap()
/// }
/// ```
/// ```compile_fail
/// # use fumehood_core::consent::Consent;
/// fn restore(text: &str) -> Consent {
///     serde_json::from_str(text).unwrap()
/// }
/// ```
/// The same, but for what must not be:
/// ```
/// # use fumehood_core::consent::{Consent, Ledger};
/// # use fumehood_core::{Binding, ProposalId, RunId};
/// fn pass(consent: Consent) -> (RunId, ProposalId, Binding) {
///     (consent.run(), consent.proposal(), consent.binding())
/// }
/// fn show(ledger: &Ledger) -> String {
///     serde_json::to_string(&ledger.run()).unwrap()
/// }
/// ```
#[must_use = "the approval is used up, and only this value says so"]
#[derive(Debug)]
pub struct Consent {
    run: RunId,
    proposal: ProposalId,
    binding: Binding,
    surface: Surface,
}

/// What a person answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Yes, given at this surface.
    Approve(Surface),
    /// No.
    Deny,
}

/// Why the ledger refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConsentError {
    /// The run has made 64 requests already.
    Full,
    /// The run has ended.
    Ended,
    /// No request of this run has that id; ids of other runs are unknown, too.
    Unknown,
    /// A request of this run has that id already.
    IdTaken,
    /// The request has its answer, and may be used up. Only for answers.
    AlreadyDecided,
    /// Nobody has answered.
    Undecided,
    /// The answer was no.
    Denied,
    /// The five minutes are over.
    Expired,
    /// Another binding was about to run, or a newer request replaced this one.
    Stale,
    /// The approval was used.
    Consumed,
}

impl Ledger {
    /// The empty ledger of a run.
    pub fn new(run: RunId) -> Self {
        Self { run, proposals: BTreeMap::new(), latest: None, is_ended: false }
    }

    /// The run.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Asks for approval of what is bound. `id` is fresh randomness, `shown` the wall clock for people to read.
    ///
    /// The requests in `replaces` go stale if they are pending or approved (CHK-011); those that came to their end stay as
    /// they are. A refusal changes nothing.
    ///
    /// # Errors
    /// [`ConsentError::Ended`] (`E_RUN_ENDED`), [`ConsentError::Full`] (`E_CONSENT_FULL`; an older request is never given
    /// up for a newer one), [`ConsentError::IdTaken`] (`E_INTERNAL`), and [`ConsentError::Unknown`] (`E_CONSENT_UNKNOWN`)
    /// for an id in `replaces`.
    pub fn propose(
        &mut self,
        now: Now,
        shown: WallTime,
        id: ProposalId,
        binding: Binding,
        replaces: &[ProposalId],
    ) -> Result<(), ConsentError> {
        let now = self.advance(now);
        match () {
            () if self.is_ended => return Err(ConsentError::Ended),
            () if self.proposals.len() >= PROPOSALS_MAX => return Err(ConsentError::Full),
            () if self.proposals.contains_key(&id) => return Err(ConsentError::IdTaken),
            () if replaces.iter().any(|old| !self.proposals.contains_key(old)) => {
                return Err(ConsentError::Unknown);
            }
            () => {}
        }
        for old in replaces {
            if let Some(old) = self.proposals.get_mut(old) {
                old.close(State::Stale);
            }
        }
        self.proposals.insert(id, Proposal::new(id, binding, now, shown));
        Ok(())
    }

    /// Takes the answer to a pending request.
    ///
    /// # Errors
    /// [`ConsentError::AlreadyDecided`] (`E_CONSENT_DECIDED`) for a second answer, the same one or another (CHK-015);
    /// [`ConsentError::Unknown`], [`ConsentError::Expired`], [`ConsentError::Stale`] or [`ConsentError::Ended`] when there is
    /// nothing left to answer.
    pub fn decide(&mut self, now: Now, id: ProposalId, decision: Decision) -> Result<(), ConsentError> {
        self.advance(now);
        let proposal = self.proposals.get_mut(&id).ok_or(ConsentError::Unknown)?;
        match proposal.state() {
            State::Pending => {
                proposal.answer(decision);
                Ok(())
            }
            State::Approved(_) | State::Denied | State::Consumed(_) => Err(ConsentError::AlreadyDecided),
            state => Err(refusal(state)),
        }
    }

    /// Ends an open request because the policy no longer allows what it asks for: it counts as denied, also if a person
    /// had said yes (CHK-014).
    ///
    /// # Errors
    /// As [`Ledger::consume`] for a request that has come to its end.
    pub fn refuse(&mut self, now: Now, id: ProposalId) -> Result<(), ConsentError> {
        self.advance(now);
        let proposal = self.proposals.get_mut(&id).ok_or(ConsentError::Unknown)?;
        if proposal.close(State::Denied) { Ok(()) } else { Err(refusal(proposal.state())) }
    }

    /// Spends an approval on the call that is about to run.
    ///
    /// A request that is still open and meets another binding than its own goes stale: something changed since it was
    /// shown, and what changed once may change back.
    ///
    /// # Errors
    /// [`ConsentError::Undecided`] (`E_CONSENT_PENDING`), [`ConsentError::Denied`] (`E_CONSENT_DENIED`),
    /// [`ConsentError::Expired`] (`E_CONSENT_EXPIRED`), [`ConsentError::Stale`] (`E_CONSENT_STALE`),
    /// [`ConsentError::Consumed`] (`E_CONSENT_CONSUMED`), [`ConsentError::Ended`] (`E_RUN_ENDED`) and
    /// [`ConsentError::Unknown`] (`E_CONSENT_UNKNOWN`).
    pub fn consume(&mut self, now: Now, id: ProposalId, binding: &Binding) -> Result<Consent, ConsentError> {
        self.advance(now);
        let run = self.run;
        let proposal = self.proposals.get_mut(&id).ok_or(ConsentError::Unknown)?;
        if proposal.binding() != *binding {
            proposal.close(State::Stale);
        }
        match proposal.state() {
            State::Approved(surface) => {
                proposal.close(State::Consumed(surface));
                Ok(Consent { run, proposal: id, binding: *binding, surface })
            }
            state => Err(refusal(state)),
        }
    }

    /// Ends the run: every open request is cancelled, and no new one is taken (CHK-016).
    pub fn end(&mut self, now: Now) {
        self.advance(now);
        self.is_ended = true;
        for proposal in self.proposals.values_mut() {
            proposal.close(State::Cancelled);
        }
    }

    /// Every request of the run, by id, as it stands now.
    pub fn proposals(&mut self, now: Now) -> impl Iterator<Item = &Proposal> {
        self.advance(now);
        self.proposals.values()
    }

    /// One request, as it stands now.
    pub fn get(&mut self, now: Now, id: ProposalId) -> Option<&Proposal> {
        self.advance(now);
        self.proposals.get(&id)
    }

    /// Moves time forward and ends what expired.
    fn advance(&mut self, now: Now) -> Now {
        let now = self.latest.map_or(now, |latest| latest.max(now));
        self.latest = Some(now);
        for proposal in self.proposals.values_mut() {
            if now.since(proposal.made()) >= CONSENT_WINDOW {
                proposal.close(State::Expired);
            }
        }
        now
    }
}

/// What to tell whoever comes for a request that is not approved.
fn refusal(state: State) -> ConsentError {
    match state {
        State::Pending | State::Approved(_) => ConsentError::Undecided,
        State::Denied => ConsentError::Denied,
        State::Consumed(_) => ConsentError::Consumed,
        State::Expired => ConsentError::Expired,
        State::Stale => ConsentError::Stale,
        State::Cancelled => ConsentError::Ended,
    }
}

impl Consent {
    /// The run in which it was given.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// The request that it answered.
    pub fn proposal(&self) -> ProposalId {
        self.proposal
    }

    /// What was approved.
    pub fn binding(&self) -> Binding {
        self.binding
    }

    /// Where the person said yes.
    pub fn surface(&self) -> Surface {
        self.surface
    }
}

impl Coded for ConsentError {
    fn code(&self) -> Code {
        match self {
            Self::Full => Code::ConsentFull,
            Self::Ended => Code::RunEnded,
            Self::Unknown => Code::ConsentUnknown,
            Self::IdTaken => Code::Internal,
            Self::AlreadyDecided => Code::ConsentDecided,
            Self::Undecided => Code::ConsentPending,
            Self::Denied => Code::ConsentDenied,
            Self::Expired => Code::ConsentExpired,
            Self::Stale => Code::ConsentStale,
            Self::Consumed => Code::ConsentConsumed,
        }
    }
}

impl fmt::Display for ConsentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "this run has made 64 requests for approval, and no more are taken",
            Self::Ended => "the run has ended",
            Self::Unknown => "this run has no such request for approval",
            Self::IdTaken => "the id of a request for approval was used twice",
            Self::AlreadyDecided => "the request for approval was answered already",
            Self::Undecided => "nobody has answered the request for approval yet",
            Self::Denied => "the request for approval was denied",
            Self::Expired => "the request for approval is older than five minutes",
            Self::Stale => "what would run is not what was shown, or a newer request replaced it",
            Self::Consumed => "the approval was used already",
        })
    }
}

impl core::error::Error for ConsentError {}

#[cfg(test)]
mod tests;
