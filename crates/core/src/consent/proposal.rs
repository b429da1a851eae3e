//! One request for approval, from when it is made to its end.

use core::time::Duration;

use super::{CONSENT_WINDOW, Decision};
use crate::binding::Binding;
use crate::id::ProposalId;
use crate::time::{Now, WallTime};

/// A request for approval: what it is bound to and how far it got. It holds no argument and no code (CHK-025).
#[derive(Debug)]
pub struct Proposal {
    id: ProposalId,
    binding: Binding,
    made: Now,
    shown: WallTime,
    state: State,
}

/// How far a request got. All but the first two are ends: nothing leaves them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nobody has answered.
    Pending,
    /// A person said yes at this surface, and it was not used yet.
    Approved(Surface),
    /// A person said no, or the policy did.
    Denied,
    /// It was approved at this surface and used. Whether anything started is another matter (CHK-019).
    Consumed(Surface),
    /// The five minutes went by before it was used.
    Expired,
    /// Something bound changed, or a newer request replaced it.
    Stale,
    /// The run ended.
    Cancelled,
}

/// Where a person can say yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Surface {
    /// The controlling terminal.
    Terminal,
    /// The local web page.
    Page,
    /// A question that an MCP client puts to its user.
    Elicitation,
    /// A flag on the command line that names the exact revision.
    Flag,
}

impl Proposal {
    pub(super) fn new(id: ProposalId, binding: Binding, made: Now, shown: WallTime) -> Self {
        Self { id, binding, made, shown, state: State::Pending }
    }

    /// Its id.
    pub fn id(&self) -> ProposalId {
        self.id
    }

    /// What it is bound to.
    pub fn binding(&self) -> Binding {
        self.binding
    }

    /// How far it got.
    pub fn state(&self) -> State {
        self.state
    }

    /// When it was made, for people to read.
    pub fn shown_created(&self) -> WallTime {
        self.shown
    }

    /// When it expires, for people to read. It expires by clocks that nobody can set, whatever the wall clock does.
    pub fn shown_expires(&self) -> WallTime {
        self.shown.after(CONSENT_WINDOW)
    }

    /// What is left of the five minutes.
    pub fn time_left(&self, now: Now) -> Duration {
        CONSENT_WINDOW.saturating_sub(now.since(self.made))
    }

    pub(super) fn made(&self) -> Now {
        self.made
    }

    /// Takes the answer to a pending request; nothing else is answered.
    pub(super) fn answer(&mut self, decision: Decision) {
        if self.state == State::Pending {
            self.state = match decision {
                Decision::Approve(surface) => State::Approved(surface),
                Decision::Deny => State::Denied,
            };
        }
    }

    /// Brings an open request to this end. Whether it was open.
    pub(super) fn close(&mut self, end: State) -> bool {
        let is_open = self.state.is_open();
        if is_open {
            self.state = end;
        }
        is_open
    }
}

impl State {
    /// Whether it can still become a consent.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Approved(_))
    }

    /// The name in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved(_) => "approved",
            Self::Denied => "denied",
            Self::Consumed(_) => "consumed",
            Self::Expired => "expired",
            Self::Stale => "stale",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Surface {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Terminal, Self::Page, Self::Elicitation, Self::Flag];

    /// The name in settings, answers and receipts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Page => "page",
            Self::Elicitation => "elicitation",
            Self::Flag => "flag",
        }
    }
}
