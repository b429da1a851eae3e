//! `fumehood.toml`: what the deployer says. Strict; an unknown key is an error, since a typo must not loosen anything.

mod drafts;
mod edit;
mod environment;
mod interpreters;
mod overlay;
mod tables;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use fumehood_core::manifest::InterpreterKey;
use fumehood_core::{Code, Coded, Envelope, Shown, SkillName};

use crate::artifact::Artifacts;
use crate::config_file::{ConfigFile, Refused};
use crate::home::{Home, Surroundings};
use crate::passphrase::PassphraseHash;

pub use drafts::{DraftError, Drafts};
pub use edit::EditError;
pub use environment::Environment;
pub use interpreters::{InterpreterChoice, InterpreterSetting};
pub use overlay::{OVERLAYS_MAX, Overlay, OverlayError, OverlayParts, OverlayScript, overlays_to_toml};

/// The settings of one person. `docs/configuration.md` has every key with its unit, default and ceiling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Sources, in the order that decides which of two skills of one name comes first.
    pub sources: Vec<SourceSetting>,
    /// The most that a script may get: `[envelope]`, or [`Envelope::of_a_person`] without that table.
    pub envelope: Envelope,
    /// What the deployer says about interpreters, each key once: `[interpreters.KEY]`.
    pub interpreters: Vec<InterpreterSetting>,
    /// The whole environment of a script: `[environment]` over the defaults.
    pub environment: Environment,
    /// Whether a flag of the command line may approve an exact revision: `approve.revision_flag`.
    pub approve_by_revision_flag: bool,
    /// What a passphrase must match before a yes counts: `approver.passphrase`. Without one there is none to type.
    pub passphrase: Option<PassphraseHash>,
    /// Whether another exit code than zero is a failure: `scripts.fail_on_nonzero_exit` (EXE-56).
    pub fail_on_nonzero_exit: bool,
    /// Whether checked tools may run: `execute.checked` (CHK-135).
    pub execute_checked: bool,
    /// `execute.safety`.
    pub safety: Safety,
    /// Bytes that all artifacts may take: `artifacts.artifact_store_bytes_max`.
    pub artifact_store_bytes_max: u64,
    /// Protected names that a script may change in a workspace that it may write: `workspace.unlocked`.
    pub unlocked: BTreeSet<String>,
    /// What is declared for skills of others: `[[overlay]]`, at most one for each source and skill.
    pub overlays: Vec<Overlay>,
}

/// How much the person lets run at all. It is a switch of its own and never a yes: what may run is asked for as before (CHK-047).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Safety {
    /// Nothing that a skill carries runs.
    Safe,
    /// Whatever is asked for and approved may run.
    #[default]
    MostlySafe,
    /// The same: there is nothing that it bypasses. Known so that the settings of other hosts can be taken over.
    Bypass,
}

impl Safety {
    /// All of them, by their names in the file.
    pub const ALL: [(&'static str, Self); 3] =
        [("safe", Self::Safe), ("mostly_safe", Self::MostlySafe), ("bypass", Self::Bypass)];
}

/// One configured folder of skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceSetting {
    /// Its label, which qualified names use.
    pub name: String,
    /// The folder, absolute. A relative path counts from the folder of `fumehood.toml`, `~/` from the home folder.
    pub path: PathBuf,
}

/// Why the settings could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong, shown as safe text.
    pub message: String,
    /// `E_CONFIG_INVALID`, or `E_HOME_REFUSED` if others could have written the file or replaced it.
    pub code: Code,
}

impl Default for Settings {
    /// What holds without a `fumehood.toml`.
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            envelope: Envelope::of_a_person(),
            interpreters: Vec::new(),
            environment: Environment::default(),
            approve_by_revision_flag: false,
            passphrase: None,
            fail_on_nonzero_exit: true,
            execute_checked: true,
            safety: Safety::MostlySafe,
            artifact_store_bytes_max: Artifacts::BYTES_MAX_DEFAULT,
            unlocked: BTreeSet::new(),
            overlays: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads `fumehood.toml`; a missing file is the default.
    ///
    /// Limits: 256 KiB; what else there are is beside each key in `docs/configuration.md`. Out of range is refused, never
    /// moved to the edge.
    ///
    /// # Errors
    /// [`SettingsError`]. Bad settings stop everything; there is no part of them that is used.
    pub fn read(home: &Home, surroundings: &Surroundings) -> Result<Self, SettingsError> {
        let Some(text) = FILE.read(home)? else { return Ok(Self::default()) };
        let places = Places { config: &home.config, home: surroundings.absolute_home() };
        let path = home.config.join(FILE.name);
        tables::read(&text, places).map_err(|message| SettingsError { path, message, code: FILE.invalid })
    }

    /// The interpreter by that key: as configured, else as it is without configuration. `None` if there is none (EXE-61).
    pub fn interpreter(&self, key: &InterpreterKey) -> Option<InterpreterChoice> {
        InterpreterChoice::of(key, self.interpreters.iter().find(|setting| setting.key == *key))
    }

    /// All interpreters that scripts can name: those that need no configuration, then the others by their keys.
    pub fn interpreter_choices(&self) -> Vec<InterpreterChoice> {
        InterpreterChoice::all(&self.interpreters)
    }

    /// What is declared for the skill of that name in the source of that label.
    pub fn overlay(&self, source: &str, skill: &SkillName) -> Option<&Overlay> {
        self.overlays.iter().find(|overlay| overlay.source() == source && overlay.skill() == skill)
    }
}

/// From where paths in the file count.
#[derive(Clone, Copy)]
struct Places<'a> {
    /// The folder of the file.
    config: &'a Path,
    /// The home folder, if it is known.
    home: Option<&'a Path>,
}

impl Places<'_> {
    /// A path with `~/` in front, from the home folder; `None` for any other.
    fn below_home(&self, text: &str) -> Result<Option<PathBuf>, String> {
        let Some(rest) = text.strip_prefix("~/") else { return Ok(None) };
        let home = self.home.ok_or("a path starts with ~/ and HOME is no absolute path")?;
        Ok(Some(home.join(rest)))
    }
}

/// The rule for labels of sources.
fn check_label(name: &str) -> Result<(), String> {
    let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if plain && !name.is_empty() && name.len() <= LABEL_CHARS_MAX {
        return Ok(());
    }
    let name = Shown::inline(name);
    Err(format!("the source name \"{name}\" must be 1 to {LABEL_CHARS_MAX} characters of a-z, 0-9 and -"))
}

/// Labels of the conventional roots, and [`GIVEN_LABEL`].
pub const RESERVED_LABELS: [&str; 5] =
    ["user-agents", "user-claude", "project-agents", "project-claude", GIVEN_LABEL];
/// The label of a skill that somebody named by its path. A source of that name would be taken for any folder there is.
pub const GIVEN_LABEL: &str = "path";
pub(crate) const FILE_NAME: &str = "fumehood.toml";
const FILE: ConfigFile = ConfigFile { name: FILE_NAME, bytes_max: 256 << 10, invalid: Code::ConfigInvalid };
const LABEL_CHARS_MAX: usize = 32;

impl From<Refused> for SettingsError {
    fn from(Refused { path, message, code }: Refused) -> Self {
        Self { path, message, code }
    }
}

impl Coded for SettingsError {
    fn code(&self) -> Code {
        self.code
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.message)
    }
}

impl std::error::Error for SettingsError {}

#[cfg(test)]
mod tests;
