//! Which program an interpreter's key stands for: what the deployer says, else one of those that need no configuration.

use std::path::PathBuf;

use fumehood_core::interpreter::{WELL_KNOWN, WellKnown};
use fumehood_core::manifest::InterpreterKey;
use fumehood_core::shown::is_hidden;
use fumehood_core::{HostPath, Shown};

use crate::interpreter::Owners;

/// `[interpreters.KEY]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterpreterSetting {
    /// The key by which scripts name it.
    pub key: InterpreterKey,
    /// Where it is. Never searched for along `PATH`.
    pub path: HostPath,
    /// What stands between it and the script, if the deployer says so.
    pub arguments: Option<Vec<String>>,
}

/// An interpreter that a script can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterpreterChoice {
    /// The key.
    pub key: InterpreterKey,
    /// Where it may be, absolute; the first that is there counts.
    pub candidates: Vec<PathBuf>,
    /// What stands between it and the script.
    pub arguments: Vec<String>,
    /// Whether the deployer configured it.
    pub is_configured: bool,
}

impl InterpreterSetting {
    pub(super) fn new(key: &str, path: &str, arguments: Option<Vec<String>>) -> Result<Self, String> {
        let Some(key) = InterpreterKey::parse(key) else {
            let shown = Shown::inline(key).at_most(64);
            return Err(format!(
                "interpreters: the key \"{shown}\" must be 1 to 32 characters of a-z, 0-9, _, ., + and -, and begin with a letter"
            ));
        };
        let path = HostPath::parse(path).map_err(|error| format!("interpreters.{key}.path: {error}"))?;
        let arguments_of = arguments.as_deref().unwrap_or_default();
        let fits = |argument: &String| {
            (1..=ARGUMENT_BYTES_MAX).contains(&argument.len()) && !argument.chars().any(is_hidden)
        };
        if arguments_of.len() > ARGUMENTS_MAX || !arguments_of.iter().all(fits) {
            return Err(format!(
                "interpreters.{key}.arguments must be at most {ARGUMENTS_MAX} texts of 1 to {ARGUMENT_BYTES_MAX} bytes without control or invisible characters"
            ));
        }
        Ok(Self { key, path, arguments })
    }
}

impl InterpreterChoice {
    pub(super) fn of(key: &InterpreterKey, setting: Option<&InterpreterSetting>) -> Option<Self> {
        let known = WELL_KNOWN.iter().find(|known| known.key == key.as_str());
        match (setting, known) {
            (Some(setting), known) => Some(Self::configured(setting, known)),
            (None, Some(known)) => Some(Self::well_known(key.clone(), known)),
            (None, None) => None,
        }
    }

    pub(super) fn all(settings: &[InterpreterSetting]) -> Vec<Self> {
        let known = WELL_KNOWN.iter().filter_map(|known| InterpreterKey::parse(known.key));
        let is_known = |key: &InterpreterKey| WELL_KNOWN.iter().any(|known| known.key == key.as_str());
        let others = settings.iter().map(|setting| setting.key.clone()).filter(|key| !is_known(key));
        let setting = |key: &InterpreterKey| settings.iter().find(|setting| setting.key == *key);
        known.chain(others).filter_map(|key| Self::of(&key, setting(&key))).collect()
    }

    fn configured(setting: &InterpreterSetting, known: Option<&WellKnown>) -> Self {
        let InterpreterSetting { key, path, arguments } = setting;
        // Another Python is still Python: what keeps it to the script stays, unless the deployer says otherwise.
        let arguments =
            arguments.clone().unwrap_or_else(|| texts(known.map_or(&[], |known| known.arguments)));
        Self { key: key.clone(), candidates: vec![path.as_str().into()], arguments, is_configured: true }
    }

    fn well_known(key: InterpreterKey, known: &WellKnown) -> Self {
        let candidates = known.candidates.iter().map(PathBuf::from).collect();
        Self { key, candidates, arguments: texts(known.arguments), is_configured: false }
    }

    /// Who may own what leads to it: where the deployer chose the place, the caller as well as root.
    pub(crate) fn owners(&self) -> Owners {
        if self.is_configured { Owners::RootOrCaller } else { Owners::Root }
    }
}

fn texts(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|argument| (*argument).to_owned()).collect()
}

/// Interpreters that can be configured.
pub(super) const INTERPRETERS_MAX: usize = 64;
const ARGUMENTS_MAX: usize = 16;
const ARGUMENT_BYTES_MAX: usize = 256;
