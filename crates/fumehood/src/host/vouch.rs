//! The passphrase: what a yes needs beside the yes, where `fumehood.toml` says so.

use std::time::{Duration, SystemTime};

use fumehood_core::{Code, Coded as _};
use fumehood_gate::ports::Clock as _;
use fumehood_store::{
    Flush, Home, Journal, Passphrase, PassphraseError, PassphraseHash, Settings, check_passphrase,
    passphrase_wait,
};

use super::Host;
use super::ports::SystemClock;
use crate::fault::Fault;
use crate::report::{PassphraseReport, SCHEMA_VERSION};

/// That whoever said yes knew the passphrase, or that none is required. Good for one decision; the yes itself is the caller's.
#[derive(Debug)]
#[must_use = "a decision takes it"]
pub struct Vouched {
    /// What the passphrase matched.
    hash: Option<PassphraseHash>,
}

impl Host {
    /// Whether a passphrase is required.
    ///
    /// # Errors
    /// `E_CONFIG_INVALID`, `E_HOME_REFUSED`.
    pub fn requires_passphrase(&self) -> Result<bool, Fault> {
        Ok(self.settings(&self.home()?)?.passphrase.is_some())
    }

    /// Whether a passphrase would be looked at now, where one is required: said before anybody is asked for a yes that could not
    /// count.
    ///
    /// # Errors
    /// `E_PASSPHRASE_WAIT`; `E_CONFIG_INVALID`, `E_HOME_REFUSED`, `E_STATE_UNAVAILABLE` where it cannot be told.
    pub fn can_vouch(&self) -> Result<(), Fault> {
        let home = self.home()?;
        match self.settings(&home)?.passphrase {
            Some(_) => passphrase_wait(&home, || SystemClock.now().boot).map_err(|error| fault(&error)),
            None => Ok(()),
        }
    }

    /// Has the passphrase typed where one is required, and compares it. `read` asks at the controlling terminal; `None` from it is
    /// a no. It is not called where none is required, or where none would be looked at yet.
    ///
    /// # Errors
    /// `E_PASSPHRASE_REQUIRED`, `E_PASSPHRASE_WRONG`, `E_PASSPHRASE_WAIT`; `E_CONFIG_INVALID`, `E_HOME_REFUSED`,
    /// `E_STATE_UNAVAILABLE` where it cannot be told. Each is a no.
    pub fn vouch(&self, read: impl FnOnce() -> Result<Option<Passphrase>, Fault>) -> Result<Vouched, Fault> {
        let home = self.home()?;
        let Some(hash) = self.settings(&home)?.passphrase else { return Ok(Vouched { hash: None }) };
        let typed = type_one(&home, read)?;
        check_passphrase(&home, &hash, &typed, boot).map_err(|error| fault(&error))?;
        Ok(Vouched { hash: Some(hash) })
    }

    /// Has the passphrase typed where one is required, as [`Host::vouch`] does, for another process that compares it; `None` where
    /// none is required here.
    ///
    /// # Errors
    /// As [`Host::vouch`], but for a wrong one.
    pub fn typed_passphrase(
        &self,
        read: impl FnOnce() -> Result<Option<Passphrase>, Fault>,
    ) -> Result<Option<Passphrase>, Fault> {
        if !self.requires_passphrase()? {
            return Ok(None);
        }
        type_one(&self.home()?, read).map(Some)
    }

    /// Requires this passphrase from now on, in place of the one that was vouched with.
    ///
    /// # Errors
    /// `E_PASSPHRASE_INVALID` if it is shorter than 8 bytes or not the same twice; `E_CONFIG_CHANGED` if another one is
    /// required by now, `E_CONFIG_UNEDITABLE`, `E_CONFIG_INVALID`, `E_HOME_REFUSED`, `E_STATE_UNAVAILABLE`, `E_JOURNAL_*`.
    /// The settings are then as they were.
    pub fn set_passphrase(
        &self,
        new: &Passphrase,
        again: &Passphrase,
        vouched: Vouched,
    ) -> Result<PassphraseReport, Fault> {
        if !new.is_new(again) {
            let is_long_enough = new.is_new(new);
            let message = if is_long_enough {
                "the passphrase was not typed the same twice"
            } else {
                "the passphrase is shorter than 8 bytes"
            };
            return Err(Fault::new(Code::PassphraseInvalid, message, "nothing was changed; try again"));
        }
        let new = PassphraseHash::of(new).map_err(|error| fault(&error))?;
        self.put_passphrase(Some(&new), vouched)
    }

    /// Requires no passphrase from now on.
    ///
    /// # Errors
    /// As [`Host::set_passphrase`].
    pub fn remove_passphrase(&self, vouched: Vouched) -> Result<PassphraseReport, Fault> {
        self.put_passphrase(None, vouched)
    }

    fn put_passphrase(
        &self,
        new: Option<&PassphraseHash>,
        vouched: Vouched,
    ) -> Result<PassphraseReport, Fault> {
        let home = self.home()?;
        record(&home, if new.is_some() { ROW_SET } else { ROW_REMOVED })?;
        let known = vouched.hash;
        let changed = Settings::put_passphrase(&home, &self.surroundings, new, known.as_ref());
        let changed =
            changed.map_err(|error| Fault::of(&error, "nothing was written; mend that and try again"))?;
        Ok(PassphraseReport { schema_version: SCHEMA_VERSION, required: new.is_some(), changed })
    }
}

/// Not where none would be looked at yet.
fn type_one(
    home: &Home,
    read: impl FnOnce() -> Result<Option<Passphrase>, Fault>,
) -> Result<Passphrase, Fault> {
    passphrase_wait(home, boot).map_err(|error| fault(&error))?;
    read()?.ok_or_else(none_given)
}

fn boot() -> Duration {
    SystemClock.now().boot
}

/// What a new passphrase must be, for whoever could not type one.
pub(super) fn none_given() -> Fault {
    let message = "a passphrase is required, and none was given";
    Fault::new(Code::PassphraseRequired, message, "type it at the terminal when you are asked for it")
}

/// Written before the settings change, as all decisions are. Nothing of a passphrase is in it.
fn record(home: &Home, kind: &'static str) -> Result<(), Fault> {
    let advice = "mend that and try again; nothing was changed";
    let journal = Journal::open(home).map_err(|error| Fault::of(&error, advice))?;
    let written = journal.append(kind, "{}", SystemTime::now(), Flush::Now);
    written.map(|_| ()).map_err(|error| Fault::of(&error, advice))
}

fn fault(error: &PassphraseError) -> Fault {
    let advice = match error.code() {
        Code::PassphraseWrong => {
            "nothing was done; try again, or take it out of fumehood.toml if you forgot it"
        }
        Code::PassphraseWait => "nothing was done; try again then",
        _ => "nothing was done; mend that and try again",
    };
    Fault::of(error, advice)
}

const ROW_SET: &str = "passphrase.set";
const ROW_REMOVED: &str = "passphrase.removed";
