//! `policy.toml`: what the person decided before anybody asks. Read anew before every launch (CHK-048).
//!
//! There is always a policy: without a file it asks, and with a file that cannot be read as written nothing runs.

mod case;
mod draft;
mod tables;
mod write;

use std::fmt;
use std::path::{Path, PathBuf};

use fumehood_core::{Code, Coded, Policy};

use crate::config_file::{ConfigFile, Refused};
use crate::home::Home;

pub use case::{CaseResult, PolicyCase};
pub use draft::PolicyDraft;
pub use write::{PolicyWriteError, PolicyWriter};

/// What `policy.toml` says, or what holds instead.
#[derive(Clone, Debug)]
pub struct PolicyFile {
    /// The policy that is in force.
    pub policy: Policy,
    /// The cases that the person wrote beside it: `[[case]]`. No part of the policy.
    pub cases: Vec<PolicyCase>,
    /// Where the policy comes from.
    pub state: PolicyState,
}

/// Where a policy comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyState {
    /// There is no file, so every call is asked about (CHK-029).
    Absent,
    /// The file.
    Read,
    /// There is a file that cannot be read as written, so nothing runs.
    Unreadable(PolicyError),
}

/// What is wrong with `policy.toml`, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The file, or the folder that others could write.
    pub path: PathBuf,
    /// The line and the column in characters, each from 1; for a rule that breaks a rule those of its beginning. `None` if
    /// the text was not looked at.
    pub place: Option<(usize, usize)>,
    /// What is wrong, shown as safe text.
    pub message: String,
    /// `E_POLICY_INVALID`; `E_HOME_REFUSED` if others could have written the file; `E_STATE_UNAVAILABLE` if it cannot be
    /// opened. A call is denied with `E_POLICY_INVALID` whichever it is.
    pub code: Code,
}

impl PolicyFile {
    /// Its name in the config folder.
    pub const NAME: &str = FILE.name;
    /// Characters of a case's name.
    pub const CASE_NAME_CHARS_MAX: usize = 128;
    /// Cases in one file.
    pub const CASES_MAX: usize = 1024;
    /// Bytes of the file.
    pub const BYTES_MAX: u64 = FILE.bytes_max;

    /// Reads `policy.toml` in the config folder. It must be as private as `fumehood.toml`, and is read as strictly.
    ///
    /// Limits: 1 MiB, 1024 rules, 1024 cases; what else there are is in `docs/policy.md`. Whatever is out of range is refused
    /// and never moved to the edge.
    pub fn read(home: &Home) -> Self {
        let path = home.config.join(FILE.name);
        match Self::text(home) {
            Ok(None) => Self { policy: Policy::default(), cases: Vec::new(), state: PolicyState::Absent },
            Ok(Some(text)) => Self::of_text(&text, &path),
            Err(error) => Self::unreadable(error),
        }
    }

    /// The text as it stands, whether or not it can be read as a policy; `None` where there is no file.
    ///
    /// # Errors
    /// [`PolicyError`] for what others could have written, and for what is no text of at most 1 MiB.
    pub fn text(home: &Home) -> Result<Option<String>, PolicyError> {
        FILE.read(home).map_err(PolicyError::from)
    }

    /// What a text says that stands in a file at this path, or would. It is read as strictly as the file is.
    pub fn of_text(text: &str, path: &Path) -> Self {
        let too_large =
            || Fault { at: None, message: format!("the file is larger than {} KiB", Self::BYTES_MAX >> 10) };
        let read = if text.len() as u64 > Self::BYTES_MAX { Err(too_large()) } else { tables::read(text) };
        match read {
            Ok((policy, cases)) => Self { policy, cases, state: PolicyState::Read },
            Err(fault) => Self::unreadable(fault.in_file(text, path.to_path_buf())),
        }
    }

    fn unreadable(error: PolicyError) -> Self {
        Self { policy: Policy::blocked(), cases: Vec::new(), state: PolicyState::Unreadable(error) }
    }

    /// What is wrong with the file, if it cannot be read.
    pub fn error(&self) -> Option<&PolicyError> {
        if let PolicyState::Unreadable(error) = &self.state { Some(error) } else { None }
    }
}

pub(crate) const FILE_NAME: &str = "policy.toml";
const FILE: ConfigFile = ConfigFile { name: FILE_NAME, bytes_max: 1 << 20, invalid: Code::PolicyInvalid };

/// What is wrong, and at which byte of the text.
#[derive(Debug)]
struct Fault {
    at: Option<usize>,
    message: String,
}

impl Fault {
    fn in_file(self, text: &str, path: PathBuf) -> PolicyError {
        let Self { at, message } = self;
        let place = at.and_then(|at| text.get(..at)).map(|before| {
            let line = before.rsplit('\n').next().unwrap_or_default();
            (before.matches('\n').count() + 1, line.chars().count() + 1)
        });
        PolicyError { path, place, message, code: FILE.invalid }
    }
}

impl From<Refused> for PolicyError {
    fn from(Refused { path, message, code }: Refused) -> Self {
        Self { path, place: None, message, code }
    }
}

impl Coded for PolicyError {
    fn code(&self) -> Code {
        self.code
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        if let Some((line, column)) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for PolicyError {}

#[cfg(test)]
mod tests;
