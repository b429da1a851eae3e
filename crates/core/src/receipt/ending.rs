//! How a program ended.

/// What the program itself did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exit {
    /// It ended with this code.
    Code(u8),
    /// This signal ended it.
    Signal(u8),
}

/// Why a program was ended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Killed {
    /// Its time was over.
    Deadline,
    /// It wrote more than it may.
    Output,
    /// The caller gave up.
    Cancelled,
    /// What it wrote could not be taken, whatever had followed. The code of the failure says why.
    Content,
}

impl Exit {
    /// The exit code, if it ended with one.
    pub fn code(self) -> Option<u8> {
        if let Self::Code(code) = self { Some(code) } else { None }
    }

    /// The signal, if one ended it.
    pub fn signal(self) -> Option<u8> {
        if let Self::Signal(signal) = self { Some(signal) } else { None }
    }
}

impl Killed {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Deadline, Self::Output, Self::Cancelled, Self::Content];

    /// The name in events and receipts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::Output => "output",
            Self::Cancelled => "cancelled",
            Self::Content => "content",
        }
    }
}
