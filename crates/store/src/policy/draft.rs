//! A draft of `policy.toml` for an editor: in the state folder, where nobody reads a policy from.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{FILE, PolicyError, PolicyWriteError};
use crate::home::Home;
use crate::own::OwnDir;

/// One draft, in a folder of its own, so that what an editor leaves beside it is nobody else's.
///
/// A draft stays until it is removed: what a person typed is not lost with a no, or with a change to the file meanwhile. The newest
/// 16 are kept.
///
/// # Authority
/// Reads and writes `policy-drafts` in the state folder: 0700, as each draft's folder is.
#[derive(Debug)]
pub struct PolicyDraft {
    drafts: OwnDir,
    name: String,
    path: PathBuf,
}

impl PolicyDraft {
    /// Makes a draft with this text. `now` only puts drafts in an order.
    ///
    /// # Errors
    /// `E_HOME_REFUSED`, `E_STATE_UNAVAILABLE`.
    pub fn make(home: &Home, text: &str, now: SystemTime) -> Result<Self, PolicyWriteError> {
        home.make_state().map_err(PolicyWriteError::Home)?;
        let drafts = OwnDir::open(&home.state).and_then(|state| state.open_or_make(FOLDER));
        let drafts = drafts.map_err(|_| PolicyWriteError::Unusable("has no folder for drafts of ours"))?;
        let mut kept = drafts.names().unwrap_or_default();
        let surplus = (kept.len() + 1).saturating_sub(DRAFTS_KEPT);
        for old in kept.drain(..surplus) {
            // One that an editor put a folder into stays.
            let _ = drafts.remove_dir(&old);
        }
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let random =
            getrandom::u32().map_err(|_| PolicyWriteError::Unusable("needs randomness for a draft"))?;
        let name = format!("{:016x}-{random:08x}", since.as_millis());
        let made = drafts.make(&name).and_then(|folder| folder.write_file(FILE.name, text.as_bytes()));
        made.map_err(|_| PolicyWriteError::Unusable("cannot be copied to a draft"))?;
        let path = home.state.join(FOLDER).join(&name).join(FILE.name);
        Ok(Self { drafts, name, path })
    }

    /// The file that an editor opens.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the editor left.
    ///
    /// # Errors
    /// `E_POLICY_INVALID` for what is no text of at most 1 MiB in a plain file of the caller's.
    pub fn read(&self) -> Result<String, PolicyError> {
        let error = |message: &str| PolicyError {
            path: self.path.clone(),
            place: None,
            message: message.to_owned(),
            code: FILE.invalid,
        };
        let file = self.drafts.open_dir(&self.name).and_then(|folder| folder.open_file(FILE.name));
        let file = file.map_err(|_| error("is no regular file of the caller's"))?;
        let bytes_max = usize::try_from(FILE.bytes_max).unwrap_or(usize::MAX);
        let bytes = file.read(0, bytes_max + 1).map_err(|_| error("cannot be read"))?;
        if bytes.len() > bytes_max {
            return Err(error(&format!("the file is larger than {} KiB", FILE.bytes_max >> 10)));
        }
        String::from_utf8(bytes).map_err(|_| error("the file is not UTF-8 text"))
    }

    /// Removes the draft and what an editor left beside it.
    pub fn remove(self) {
        // What cannot be removed is among the oldest some day.
        let _ = self.drafts.remove_dir(&self.name);
    }
}

const FOLDER: &str = "policy-drafts";
const DRAFTS_KEPT: usize = 16;
