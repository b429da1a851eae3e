//! Why a transaction was not made, in the words of whoever must act.

use std::fmt;

use fumehood_core::{Code, Coded, Shown};
use rustix::io::Errno;

use crate::home::HomeError;

/// Why nothing was applied, or could not be looked at. A folder is then as it was, but for what [`Left`] names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransactionError {
    /// The state folder is not private.
    Home(HomeError),
    /// A limit outside its range; this is why.
    Limit(&'static str),
    /// A folder that cannot be one of a transaction; this is why, to stand after "the folder".
    Place(&'static str),
    /// The folder has more entries than are looked through before a run.
    TooManyEntries {
        /// The limit.
        entries_max: usize,
    },
    /// What a run wrote, or would write over, is refused; with it all of the rest.
    Refused {
        /// The first ones, at most [`REFUSED_MAX`].
        refused: Vec<Refused>,
        /// How many more there are.
        more: u64,
    },
    /// Somebody else changed this while it was applied.
    Conflict {
        /// The absolute path.
        path: String,
        /// What could not be put back.
        left: Vec<Left>,
    },
    /// The caller stopped it before anything was changed.
    Cancelled,
    /// The operating system said no to this.
    System {
        /// What was being done, to stand after "cannot".
        doing: &'static str,
        /// What it said.
        errno: i32,
        /// What could not be put back.
        left: Vec<Left>,
    },
}

/// One thing that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The absolute path that it has or would have, with what is no UTF-8 replaced. A script chose it; `Display` shows it
    /// through [`Shown`].
    pub path: String,
    /// Why.
    pub reason: RefusedReason,
}

/// Why something is never applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RefusedReason {
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device.
    Special,
    /// The written file has a second name, which may be anything's.
    LinkedSource,
    /// A file of the person with more than one name: which one was meant cannot be told.
    LinkedTarget,
    /// A file of the person that can be executed.
    Executable,
    /// A file of the person that runs as somebody else.
    SetId,
    /// A file of the person whose owner, group or access list would be lost.
    OwnerOrAccess,
    /// A name with a leading dot, `.git`, or one that some system takes for that.
    Protected,
    /// A name that differs from another one in the same folder only by case or Unicode form.
    CaseTwin,
    /// A name that is not UTF-8.
    Encoding,
    /// A name with a control or invisible character.
    HiddenCharacter,
    /// Deeper than 32 folders, or a path above 1,024 bytes.
    TooDeep,
    /// On another file system, in a folder that cannot be listed, or below a protected name.
    OutOfReach,
    /// Changed, made or removed by somebody else since the run began.
    Changed,
    /// Something is there already, and this may only make new files.
    Exists,
    /// An output that nobody asked for.
    Unexpected,
    /// A mark of the overlay that this program never asks for.
    Mark,
    /// More files and folders than may be applied at once.
    TooMany,
    /// More bytes than may be applied at once.
    TooLarge,
}

/// Something that could not be put back or removed, mostly because somebody else changed it meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The absolute path.
    pub path: String,
    /// Where the file that was there before is kept, if it is not in its place.
    pub kept: Option<String>,
}

/// Refusals that are listed, at most.
pub const REFUSED_MAX: usize = 64;

/// A list of refusals that stays short.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    refused: Vec<Refused>,
    more: u64,
}

impl Refusals {
    pub(super) fn add(&mut self, path: String, reason: RefusedReason) {
        if self.refused.len() == REFUSED_MAX {
            self.more += 1;
        } else {
            self.refused.push(Refused { path, reason });
        }
    }

    pub(super) fn into_result(self) -> Result<(), TransactionError> {
        let Self { refused, more } = self;
        if refused.is_empty() { Ok(()) } else { Err(TransactionError::Refused { refused, more }) }
    }
}

impl RefusedReason {
    /// The reason, to stand after the path.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Link => "is a link",
            Self::Special => "is a FIFO, socket or device",
            Self::LinkedSource => "was written as one file with two names",
            Self::LinkedTarget => "has another name on this disk",
            Self::Executable => "can be executed",
            Self::SetId => "runs as somebody else",
            Self::OwnerOrAccess => "has an owner, group or access list that would be lost",
            Self::Protected => "has a protected name",
            Self::CaseTwin => "has the name of another file but for case or Unicode form",
            Self::Encoding => "has a name that is not UTF-8",
            Self::HiddenCharacter => "has a name with a control or invisible character",
            Self::TooDeep => "lies deeper than 32 folders, or its path has more than 1024 bytes",
            Self::OutOfReach => "is on another file system, unreadable, or below a protected name",
            Self::Changed => "was changed by somebody else since the run began",
            Self::Exists => "exists, and may not be written over",
            Self::Unexpected => "was not asked for",
            Self::Mark => "carries a mark of the overlay that was not asked for",
            Self::TooMany => "is one file or folder more than may be applied at once",
            Self::TooLarge => "is larger than what may be applied at once",
        }
    }
}

/// For `map_err`: the operating system said no while this was being done.
pub(super) fn failed(doing: &'static str) -> impl Fn(Errno) -> TransactionError {
    move |errno| TransactionError::System { doing, errno: errno.raw_os_error(), left: Vec::new() }
}

impl Coded for TransactionError {
    fn code(&self) -> Code {
        match self {
            Self::Home(error) => error.code(),
            Self::Limit(_) => Code::ConfigInvalid,
            Self::Place(_) | Self::System { .. } => Code::WorkspaceFailed,
            Self::TooManyEntries { .. } => Code::WorkspaceTooLarge,
            Self::Refused { refused, more } => refused_code(refused, *more),
            Self::Conflict { .. } => Code::WorkspaceConflict,
            Self::Cancelled => Code::Cancelled,
        }
    }
}

/// A conflict if nothing is wrong but that somebody else was faster, too large if nothing but that.
fn refused_code(refused: &[Refused], more: u64) -> Code {
    let all = |is: fn(RefusedReason) -> bool| more == 0 && refused.iter().all(|refused| is(refused.reason));
    if all(|reason| reason == RefusedReason::Changed) {
        Code::WorkspaceConflict
    } else if all(|reason| matches!(reason, RefusedReason::TooMany | RefusedReason::TooLarge)) {
        Code::WorkspaceTooLarge
    } else {
        Code::WorkspaceRefused
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Shown::inline(&self.path), self.reason.as_str())
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is left as it is", Shown::inline(&self.path))?;
        match &self.kept {
            Some(kept) => write!(f, "; what was there before is kept at {}", Shown::inline(kept)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for TransactionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = match self {
            Self::Home(error) => return error.fmt(f),
            Self::Limit(reason) => return f.write_str(reason),
            Self::Place(reason) => return write!(f, "the folder {reason}"),
            Self::TooManyEntries { entries_max } => {
                return write!(
                    f,
                    "the folder has more than {entries_max} entries, so it cannot be given to write"
                );
            }
            Self::Refused { refused, more } => {
                f.write_str("nothing was applied: ")?;
                let Some(first) = refused.first() else { return Ok(()) };
                let others = refused.len() as u64 - 1 + more;
                return if others == 0 { first.fmt(f) } else { write!(f, "{first} (and {others} more)") };
            }
            Self::Cancelled => return f.write_str("stopped before anything was applied"),
            Self::Conflict { path, left } => {
                write!(f, "{} was changed by somebody else meanwhile", Shown::inline(path))?;
                left
            }
            Self::System { doing, errno, left } => {
                write!(f, "cannot {doing}: {}", std::io::Error::from_raw_os_error(*errno).kind())?;
                left
            }
        };
        left.iter().try_for_each(|left| write!(f, "; {left}"))
    }
}

impl std::error::Error for TransactionError {}
