//! Writing `policy.toml`: the one place that does (CHK-028, CHK-044, CHK-051).
//!
//! The file is the person's: what is written is a text that the person saw, whole or but for its mode as it stood. A text that
//! could not be read back as a policy is never written.

mod error;

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;

use fumehood_core::envelope::Roots;
use fumehood_core::policy::Mode;
use toml::de::DeTable;

use super::{FILE, PolicyFile, tables};
use crate::forbidden::resolved;
use crate::home::Home;
use crate::own::OwnDir;

pub use error::PolicyWriteError;

/// The right to replace `policy.toml` once. While it is held, other commands wait for their turn; an editor does not, and
/// what one writes between [`PolicyWriter::begin`] and [`PolicyWriter::write`] would be lost.
///
/// # Authority
/// Whoever has this says what runs. Only what serves the local person at a terminal holds one: no tool and no skill
/// reaches it.
#[derive(Debug)]
pub struct PolicyWriter {
    home: Home,
    _lock: OwnedFd,
}

impl PolicyWriter {
    /// Takes the turn, if the file is still the text that was shown: `None` where there was no file.
    ///
    /// # Errors
    /// `E_POLICY_WRITABLE` if its path lies in a place where scripts may write, `E_POLICY_CHANGED`, `E_POLICY_UNEDITABLE` for a
    /// link; `E_HOME_REFUSED`, `E_POLICY_INVALID`, `E_STATE_UNAVAILABLE` for a file or folder that cannot be used.
    pub fn begin(home: &Home, write_roots: &Roots, shown: Option<&str>) -> Result<Self, PolicyWriteError> {
        Self::refuse_writable(home, write_roots)?;
        home.make_state().map_err(PolicyWriteError::Home)?;
        let state = OwnDir::open(&home.state);
        let state = state.map_err(|_| PolicyWriteError::Unusable("lies beside no state of ours"))?;
        let lock = state.lock(LOCK).map_err(|_| PolicyWriteError::Unusable("cannot be locked"))?;
        if PolicyFile::text(home)?.as_deref() != shown {
            return Err(PolicyWriteError::Changed);
        }
        Ok(Self { home: home.clone(), _lock: lock })
    }

    /// Whether the file is one that can be replaced at all, said before anybody has edited anything.
    ///
    /// # Errors
    /// `E_POLICY_WRITABLE`, `E_POLICY_UNEDITABLE`.
    pub fn refuse_writable(home: &Home, write_roots: &Roots) -> Result<(), PolicyWriteError> {
        let file = home.config.join(FILE.name);
        let given = std::path::absolute(&file).unwrap_or_else(|_| file.clone());
        // The folder that a new file is put into, and the file that is there: a link can lead elsewhere than its folder.
        let paths = [resolved(&home.config).join(FILE.name), resolved(&given), given];
        let roots = write_roots.listed().unwrap_or_default();
        let root = |path: &Path| roots.iter().find(|root| path.starts_with(root.as_str()));
        if let Some(root) = paths.iter().find_map(|path| root(path)) {
            return Err(PolicyWriteError::Writable(root.as_str().into()));
        }
        // What replaces a link leaves the file behind it as it was, and that is the one that its owner looks after.
        if file.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_symlink()) {
            return Err(PolicyWriteError::Uneditable("is a link; change the file that it leads to"));
        }
        Ok(())
    }

    /// Puts a text in place of the file, with mode 0600: readers see the old bytes or the new ones, also after a crash.
    ///
    /// # Errors
    /// `E_POLICY_INVALID` for a text that is no policy, `E_HOME_REFUSED`, `E_STATE_UNAVAILABLE`; the file is then as it was.
    pub fn write(self, text: &str) -> Result<(), PolicyWriteError> {
        let path = self.home.config.join(FILE.name);
        if let Some(error) = PolicyFile::of_text(text, &path).error() {
            return Err(error.clone().into());
        }
        self.home.make_config().map_err(PolicyWriteError::Home)?;
        let folder = OwnDir::open_visible(&self.home.config);
        let folder =
            folder.map_err(|_| PolicyWriteError::Unusable("lies in a folder that is not the caller's"))?;
        let written = folder.replace_file(FILE.name, text.as_bytes());
        written.map_err(|_| PolicyWriteError::Unusable("cannot be replaced"))
    }
}

impl PolicyFile {
    /// The text of a policy with another mode, every other byte as it was. Where it names none, the line comes before the
    /// first key or table, above the comment that stands right over that. Names none and is to have the default: as it was.
    ///
    /// # Errors
    /// `E_POLICY_INVALID` for a text that cannot be read as written, `E_POLICY_UNEDITABLE` if the mode cannot be changed by itself.
    pub fn with_mode(text: &str, mode: Mode, path: &Path) -> Result<String, PolicyWriteError> {
        let before = tables::read(text).map_err(|fault| fault.in_file(text, path.to_path_buf()))?.0;
        if before.mode() == mode {
            return Ok(text.to_owned());
        }
        let (at, piece) = place_of_mode(text, mode).ok_or(PolicyWriteError::Uneditable(TANGLED))?;
        let mut after = text.to_owned();
        after.replace_range(at, &piece);
        let read = tables::read(&after).map_err(|_| PolicyWriteError::Uneditable(TANGLED))?.0;
        let is_same = read.rules() == before.rules() && read.surfaces() == before.surfaces();
        if read.mode() != mode || !is_same || after.len() as u64 > Self::BYTES_MAX {
            return Err(PolicyWriteError::Uneditable(TANGLED));
        }
        Ok(after)
    }
}

/// What goes where so that the text has this mode.
fn place_of_mode(text: &str, mode: Mode) -> Option<(Range<usize>, String)> {
    let parsed = DeTable::parse(text).ok()?;
    let value = format!("\"{}\"", mode.as_str());
    if let Some((_, old)) = parsed.get_ref().iter().find(|(key, _)| key.get_ref() == "mode") {
        return Some((old.span(), value));
    }
    let line = format!("mode = {value}\n");
    let Some(first) = parsed.get_ref().keys().map(|key| key.span().start).min() else {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Some((text.len()..text.len(), format!("{gap}{line}")));
    };
    let line_start = |at: usize| text.get(..at).map(|before| before.rfind('\n').map_or(0, |end| end + 1));
    let mut start = line_start(first)?;
    while start > 0 {
        let above = line_start(start - 1)?;
        if !text.get(above..start)?.starts_with('#') {
            break;
        }
        start = above;
    }
    // The toml reader takes a byte order mark, and only at the very beginning.
    if start == 0 && text.starts_with('\u{feff}') {
        start = '\u{feff}'.len_utf8();
    }
    Some((start..start, format!("{line}\n")))
}

const LOCK: &str = "policy-lock";
const TANGLED: &str = "has its mode in a form that cannot be changed by itself";

#[cfg(test)]
mod tests;
