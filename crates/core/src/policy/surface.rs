//! Where a person can say yes, and what kind of yes counts there.

use crate::consent::Surface;
use crate::frame::Frame;

/// What a yes is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum YesKind {
    /// This call, once.
    Once,
    /// Calls of this exact revision within a trust scope, until it is taken back.
    Revision,
}

/// The kinds of yes that one surface may give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// [`YesKind::Once`].
    pub once: bool,
    /// [`YesKind::Revision`].
    pub revision: bool,
}

/// Which surface may give which kind of yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surfaces {
    /// The controlling terminal.
    pub terminal: Kinds,
    /// The local web page.
    pub page: Kinds,
    /// A question that an MCP client puts to its user. The client relays the answer, and could make it up.
    pub elicitation: Kinds,
    /// A flag on the command line. Only where the deployer's configuration turns it on, whatever stands here.
    pub flag: Kinds,
}

impl Kinds {
    /// No kind.
    pub const NEITHER: Self = Self { once: false, revision: false };
    /// One call at a time.
    pub const ONCE: Self = Self { once: true, revision: false };
    /// Both kinds.
    pub const BOTH: Self = Self { once: true, revision: true };

    /// Whether this kind is among them.
    pub fn contains(self, kind: YesKind) -> bool {
        match kind {
            YesKind::Once => self.once,
            YesKind::Revision => self.revision,
        }
    }
}

impl Default for Surfaces {
    /// Terminal and page both kinds, elicitation and flag only once.
    fn default() -> Self {
        Self { terminal: Kinds::BOTH, page: Kinds::BOTH, elicitation: Kinds::ONCE, flag: Kinds::ONCE }
    }
}

impl Surfaces {
    /// Whether a yes of this kind counts that was given there. `is_flag_configured` is what the deployer's configuration says
    /// of the flag (`approve.revision_flag`).
    pub fn allow(&self, surface: Surface, kind: YesKind, is_flag_configured: bool) -> bool {
        self.of(surface).contains(kind) && (surface != Surface::Flag || is_flag_configured)
    }

    /// The kinds of one surface.
    pub fn of(&self, surface: Surface) -> Kinds {
        match surface {
            Surface::Terminal => self.terminal,
            Surface::Page => self.page,
            Surface::Elicitation => self.elicitation,
            Surface::Flag => self.flag,
        }
    }

    pub(super) fn write_to(self, frame: &mut Frame) {
        let Self { terminal, page, elicitation, flag } = self;
        for Kinds { once, revision } in [terminal, page, elicitation, flag] {
            frame.number(u64::from(once));
            frame.number(u64::from(revision));
        }
    }
}

impl YesKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Once, Self::Revision];

    /// The name in `policy.toml`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Revision => "revision",
        }
    }
}
