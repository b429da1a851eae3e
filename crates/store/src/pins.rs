//! Pinned interpreters: which file a key stood for when it was first used, and whether it still does.
//!
//! One small file in the state folder, replaced as a whole under a lock. A key is pinned with the file that its path led to,
//! links resolved, the digest of that file, and the version that it reported. Whatever is found later must be the same.
//!
//! # When a digest is not taken anew
//!
//! An interpreter can have a hundred megabytes, and is looked at before each start. Its digest on record is believed if the
//! file has the device, the inode, the size and the change time that it had when it was hashed, **and** nobody but root can
//! write it or any folder that leads to it. That is enough: every write to a file moves its change time to the present, and
//! no call sets that time back; only the system's clock or the bare device could, and both are root's, as is a second write
//! within one tick of that clock. So a file that looks the same has been left alone, or root, who could change fumehood and
//! the kernel as well, took pains to fool us.
//!
//! A file that belongs to the caller is hashed each time, and so is one of which anything differs: a file system that
//! forgets inodes costs time and never lets another file pass.

mod error;

use std::path::PathBuf;

use fumehood_core::manifest::InterpreterKey;
use fumehood_core::{InterpreterIdentity, Sha256};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::home::{Home, check_private};
use crate::interpreter::{InterpreterError, Program};
use crate::own::OwnDir;
use crate::settings::InterpreterChoice;

pub use error::PinError;

/// The pins of one person.
#[derive(Clone, Debug)]
pub struct Pins {
    home: Home,
    /// Stands for `/`.
    root: PathBuf,
}

/// What a key was pinned to, as the record has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The file, links resolved.
    pub path: String,
    /// The digest of its bytes: 64 hex digits.
    pub sha256: String,
    /// What it said of itself, if it said anything. Its words, not ours: shown only through [`Shown`](fumehood_core::Shown).
    pub version: Option<String>,
}

/// An interpreter as it was found just now, hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundInterpreter {
    /// The key.
    pub key: InterpreterKey,
    /// The path it is run by.
    pub candidate: PathBuf,
    /// The file that leads to, links resolved.
    pub path: String,
    /// The digest of its bytes.
    pub sha256: Sha256,
    /// What the file was when it was hashed.
    seen: String,
}

/// An interpreter that is what it was pinned to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedInterpreter {
    /// The path it is run by.
    pub candidate: PathBuf,
    /// The file, its version and its digest, for prompts, bindings and receipts.
    pub identity: InterpreterIdentity,
}

/// An interpreter that is not what it was pinned to. Its code is `E_INTERPRETER_CHANGED`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterpreterChange {
    /// What it was.
    pub pinned: Pin,
    /// What it is.
    pub found: FoundInterpreter,
}

/// How what is there compares with what was pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Resolution {
    /// Nothing was pinned for this key. [`Pins::pin`] does that.
    First(FoundInterpreter),
    /// It is the same.
    Same(PinnedInterpreter),
    /// It is another one. It must not run; [`Pins::repin`] takes it, when a person says so.
    Changed(Box<InterpreterChange>),
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    key: String,
    path: String,
    sha256: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// What the file was when it was hashed; compared as text. Empty where that would prove nothing.
    seen: String,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema_version: u32,
    #[serde(default)]
    pins: Vec<Record>,
}

impl Pins {
    /// The pins in the state folder of this home. Reads nothing and makes nothing yet.
    pub fn open(home: &Home) -> Self {
        Self { home: home.clone(), root: PathBuf::from("/") }
    }

    /// What a key is pinned to.
    ///
    /// # Errors
    /// [`PinError::Home`] and [`PinError::Unusable`].
    pub fn get(&self, key: &InterpreterKey) -> Result<Option<Pin>, PinError> {
        Ok(self.read()?.record(key).map(Record::pin))
    }

    /// Looks at what is there for a key now, and compares it with what was pinned. To be done before each start.
    ///
    /// The file is hashed unless the module's argument spares it. Writes nothing but, where the bytes are the same and the
    /// file was only touched, what it is now; a failure of that is none.
    ///
    /// # Errors
    /// [`PinError`], with a code of its own for each: `E_INTERPRETER_UNKNOWN`, `E_INTERPRETER_REFUSED`, those of the state.
    pub fn resolve(&self, choice: &InterpreterChoice) -> Result<Resolution, PinError> {
        let key = &choice.key;
        let program = Program::find(&self.root, &choice.candidates, choice.owners());
        let program = program.map_err(PinError::Refused)?;
        let program = program.ok_or_else(|| PinError::Unknown(key.clone()))?;
        let file = self.read()?;
        let record = file.record(key);
        let seen = if program.is_roots_alone { program.stat().to_string() } else { String::new() };
        if let Some(record) = record
            && !seen.is_empty()
            && record.seen == seen
            && program.path.to_str() == Some(&record.path)
            && let Some(sha256) = Sha256::of_record(&record.sha256)
        {
            return Ok(Resolution::Same(record.pinned(program.candidate, sha256)));
        }
        let found = FoundInterpreter::of(key, program, seen)?;
        let Some(record) = record else { return Ok(Resolution::First(found)) };
        if !record.is(&found) {
            return Ok(Resolution::Changed(Box::new(InterpreterChange { pinned: record.pin(), found })));
        }
        if record.seen != found.seen {
            // To be spared the next time; it is as right without.
            let _ = self.write(&found, record.version.as_deref(), false);
        }
        Ok(Resolution::Same(record.pinned(found.candidate, found.sha256)))
    }

    /// Pins a key for the first time. That another process did so meanwhile, with the same file, is as good.
    ///
    /// `version` is what the interpreter says of itself; at most 80 characters of it are kept.
    ///
    /// # Errors
    /// [`PinError::Changed`] if the key is pinned to something else by now; the record is then as it was.
    pub fn pin(
        &self,
        found: &FoundInterpreter,
        version: Option<&str>,
    ) -> Result<PinnedInterpreter, PinError> {
        self.write(found, version, false)
    }

    /// Pins a key to what was found, whatever it was pinned to before. The caller has asked the person.
    ///
    /// # Errors
    /// [`PinError`]; the record is then as it was.
    pub fn repin(
        &self,
        found: &FoundInterpreter,
        version: Option<&str>,
    ) -> Result<PinnedInterpreter, PinError> {
        self.write(found, version, true)
    }

    fn write(
        &self,
        found: &FoundInterpreter,
        version: Option<&str>,
        over: bool,
    ) -> Result<PinnedInterpreter, PinError> {
        self.home.make_state().map_err(PinError::Home)?;
        let failed = |_: Errno| PinError::Unusable("cannot be replaced");
        let folder = OwnDir::open(&self.home.state).map_err(failed)?;
        let _lock = folder.lock(LOCK_NAME).map_err(|_| PinError::Unusable("cannot be locked"))?;
        let mut file = self.read()?;
        let new = Record {
            key: found.key.to_string(),
            path: found.path.clone(),
            sha256: found.sha256.to_string(),
            version: version.map(|version| version.chars().take(VERSION_CHARS_MAX).collect()),
            seen: found.seen.clone(),
        };
        let is_full = file.pins.len() >= PINS_MAX;
        match file.pins.iter_mut().find(|record| record.key == new.key) {
            Some(old) if !over && !old.is(found) => {
                let pinned = old.pin();
                return Err(PinError::Changed(Box::new(InterpreterChange { pinned, found: found.clone() })));
            }
            // Whoever was first named the version; it is part of what was shown since.
            Some(old) if !over => old.seen.clone_from(&new.seen),
            Some(old) => *old = new,
            None if is_full => return Err(PinError::Full),
            None => file.pins.push(new),
        }
        file.schema_version = SCHEMA_VERSION;
        let text = toml::to_string(&file).map_err(|_| PinError::Unusable("cannot be written as TOML"))?;
        folder.replace_file(FILE_NAME, text.as_bytes()).map_err(failed)?;
        let record = file.record(&found.key).ok_or(PinError::Unusable("cannot be replaced"))?;
        Ok(record.pinned(found.candidate.clone(), found.sha256))
    }

    fn read(&self) -> Result<File, PinError> {
        match check_private(&self.home.state) {
            Ok(()) => {}
            // Not made yet: nothing is pinned. Whatever else is wrong with it shows when it is made.
            Err(_) if self.home.state.symlink_metadata().is_err() => return Ok(File::default()),
            Err(error) => return Err(PinError::Home(error)),
        }
        let folder =
            OwnDir::open(&self.home.state).map_err(|_| PinError::Unusable("lies in no folder of ours"))?;
        let file = match folder.open_file(FILE_NAME) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(File::default()),
            Err(_) => return Err(PinError::Unusable("is no regular file of the caller's")),
        };
        if file.rights().is_ok_and(|rights| rights.mode & 0o022 != 0) {
            return Err(PinError::Unusable("can be written by others"));
        }
        let bytes = file.read(0, FILE_BYTES_MAX + 1).map_err(|_| PinError::Unusable("cannot be read"))?;
        if bytes.len() > FILE_BYTES_MAX {
            return Err(PinError::Unusable("is larger than fumehood writes it"));
        }
        let malformed = PinError::Unusable("is not in the form fumehood writes");
        let text = String::from_utf8(bytes).map_err(|_| malformed.clone())?;
        let file: File = toml::from_str(&text).map_err(|_| malformed.clone())?;
        if file.schema_version != SCHEMA_VERSION {
            return Err(PinError::Unusable("was written by another version of fumehood"));
        }
        // Two records of one key would be a choice.
        let mut keys: Vec<_> = file.pins.iter().map(|record| &record.key).collect();
        keys.sort_unstable();
        let is_twice = keys.windows(2).any(|pair| pair[0] == pair[1]);
        if is_twice || file.pins.len() > PINS_MAX || !file.pins.iter().all(Record::is_well_formed) {
            return Err(malformed);
        }
        Ok(file)
    }
}

impl File {
    fn record(&self, key: &InterpreterKey) -> Option<&Record> {
        self.pins.iter().find(|record| record.key == key.as_str())
    }
}

impl Record {
    fn is_well_formed(&self) -> bool {
        InterpreterKey::parse(&self.key).is_some()
            && self.path.starts_with('/')
            && Sha256::of_record(&self.sha256).is_some()
            && self.version.as_ref().is_none_or(|version| version.chars().count() <= VERSION_CHARS_MAX)
    }

    fn is(&self, found: &FoundInterpreter) -> bool {
        self.path == found.path && self.sha256 == found.sha256.to_string()
    }

    fn pin(&self) -> Pin {
        Pin { path: self.path.clone(), sha256: self.sha256.clone(), version: self.version.clone() }
    }

    fn pinned(&self, candidate: PathBuf, sha256: Sha256) -> PinnedInterpreter {
        let identity = InterpreterIdentity::of_hashed_file(&self.path, self.version.as_deref(), sha256);
        PinnedInterpreter { candidate, identity }
    }
}

impl FoundInterpreter {
    fn of(key: &InterpreterKey, program: Program, seen: String) -> Result<Self, PinError> {
        let sha256 = program.sha256().map_err(PinError::Refused)?;
        let Program { candidate, path, .. } = program;
        match path.into_os_string().into_string() {
            Ok(path) => Ok(Self { key: key.clone(), candidate, path, sha256, seen }),
            // It could not be shown as it is, so nobody could say yes to it.
            Err(path) => Err(PinError::Refused(InterpreterError {
                candidate,
                path: None,
                place: path.into(),
                reason: "has a path that is not UTF-8",
            })),
        }
    }
}

/// Characters of a version that are kept.
pub const VERSION_CHARS_MAX: usize = 80;
const FILE_NAME: &str = "interpreters.toml";
const LOCK_NAME: &str = "interpreters.lock";
const SCHEMA_VERSION: u32 = 1;
const FILE_BYTES_MAX: usize = 1 << 20;
/// As many as can be configured, twice: those of keys that are no longer configured stay.
const PINS_MAX: usize = 128;

#[cfg(test)]
mod tests;
