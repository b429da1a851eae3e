//! How often somebody may be wrong, whatever processes they start, kill or run side by side.
//!
//! Only the time since the machine was started counts: nobody can set that clock back or forward. After a restart it begins
//! anew, and then at least what it shows has passed since the last try, so a wait can become longer by that and never shorter.

use std::time::Duration;

use rustix::io::Errno;

use super::{Passphrase, PassphraseError, PassphraseHash};
use crate::home::Home;
use crate::own::OwnDir;

/// Whether this is the passphrase. After three wrong ones each try has to wait: 1 s, 2 s, 4 s and so on up to 15 minutes.
///
/// A try is counted, on the disk, before it is looked at; a right one ends the count. `boot` is the time since the machine was
/// started, suspension included; it is read while no other process tries.
///
/// # Errors
/// [`PassphraseError`]. None of them is a yes.
pub fn check_passphrase(
    home: &Home,
    hash: &PassphraseHash,
    passphrase: &Passphrase,
    boot: impl FnOnce() -> Duration,
) -> Result<(), PassphraseError> {
    let state = open(home)?;
    let _lock = state.lock(LOCK).map_err(unusable)?;
    let past = Tries::read(&state)?;
    let now = milliseconds(boot());
    past.refuse(now)?;
    let count = past.count.saturating_add(1);
    state.replace_file(FILE, format!("{count} {now}\n").as_bytes()).map_err(unusable)?;
    if !hash.matches(passphrase)? {
        return Err(PassphraseError::Wrong);
    }
    state.remove_file(FILE).map_err(unusable)
}

/// Whether a passphrase would be looked at now, said before anybody types one.
///
/// # Errors
/// As [`check_passphrase`], but for a wrong one.
pub fn passphrase_wait(home: &Home, boot: impl FnOnce() -> Duration) -> Result<(), PassphraseError> {
    let state = open(home)?;
    let _lock = state.lock(LOCK).map_err(unusable)?;
    Tries::read(&state)?.refuse(milliseconds(boot()))
}

/// Tries that were not found right, and when the last one was.
#[derive(Clone, Copy, Debug, Default)]
struct Tries {
    count: u32,
    /// Milliseconds since the machine was started.
    last: u64,
}

impl Tries {
    /// What is no count of ours is no reason to begin at nought.
    fn read(state: &OwnDir) -> Result<Self, PassphraseError> {
        let file = match state.open_file(FILE) {
            Err(Errno::NOENT) => return Ok(Self::default()),
            file => file.map_err(unusable)?,
        };
        let text = String::from_utf8(file.read(0, FILE_BYTES_MAX).map_err(unusable)?).ok();
        let tries = text.as_deref().and_then(|text| {
            let (count, last) = text.strip_suffix('\n')?.split_once(' ')?;
            Some(Self { count: count.parse().ok()?, last: last.parse().ok()? })
        });
        tries.ok_or(PassphraseError::Unusable(UNCOUNTED))
    }

    fn refuse(self, now: u64) -> Result<(), PassphraseError> {
        let Some(more) = self.count.checked_sub(FREE_TRIES) else { return Ok(()) };
        let wait = 1000 * 1_u64.checked_shl(more).unwrap_or(WAIT_SECONDS_MAX).min(WAIT_SECONDS_MAX);
        // Where the clock shows less than then, the machine was started again since.
        let passed = now.checked_sub(self.last).unwrap_or(now);
        match wait.saturating_sub(passed) {
            0 => Ok(()),
            left => Err(PassphraseError::Wait(left.div_ceil(1000))),
        }
    }
}

fn open(home: &Home) -> Result<OwnDir, PassphraseError> {
    home.make_state().map_err(PassphraseError::Home)?;
    OwnDir::open(&home.state).map_err(unusable)
}

fn unusable(_: Errno) -> PassphraseError {
    PassphraseError::Unusable(UNCOUNTED)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

const FILE: &str = "passphrase-tries";
const LOCK: &str = "passphrase-lock";
const FILE_BYTES_MAX: usize = 64;
const FREE_TRIES: u32 = 3;
const WAIT_SECONDS_MAX: u64 = 900;
const UNCOUNTED: &str =
    "wrong passphrases cannot be counted: passphrase-tries in the state folder cannot be used";
