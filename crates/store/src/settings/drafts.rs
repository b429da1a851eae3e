//! Drafts of overlays: kept in the state folder, where no settings are read from, until a person takes one over.

use fumehood_core::{Frame, SkillName};
use rustix::io::Errno;
use serde::Deserialize;

use super::FILE;
use super::overlay::{Overlay, OverlayTable, overlays_to_toml};
use crate::home::Home;
use crate::own::OwnDir;

mod error;

pub use error::DraftError;

/// The drafts of one person, at most one for each source and skill.
///
/// # Authority
/// Reads and writes `drafts` in the state folder: 0700, its files 0600, each replaced as a whole.
#[derive(Clone, Debug)]
pub struct Drafts {
    home: Home,
}

/// A file with one draft.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DraftFile {
    overlay: Vec<OverlayTable>,
}

impl Drafts {
    /// The drafts in this state folder. Makes nothing.
    pub fn of(home: &Home) -> Self {
        Self { home: home.clone() }
    }

    /// Keeps a draft in place of the one before it, and returns the path of its file.
    ///
    /// # Errors
    /// [`DraftError`]; the draft before it is then as it was.
    pub fn save(&self, draft: &Overlay) -> Result<String, DraftError> {
        let text = overlays_to_toml(std::slice::from_ref(draft)).map_err(|_| DraftError::TooLarge)?;
        if text.len() as u64 > FILE.bytes_max {
            return Err(DraftError::TooLarge);
        }
        self.home.make_state().map_err(DraftError::Home)?;
        let folder = OwnDir::open(&self.home.state).and_then(|state| state.open_or_make(FOLDER));
        let folder = folder.map_err(|_| DraftError::Unusable("lie in no folder of ours"))?;
        // Two commands at once write one after the other.
        let _lock = folder.lock(LOCK).map_err(|_| DraftError::Unusable("cannot be locked"))?;
        let name = file_name(draft.source(), draft.skill());
        let replaced = folder.replace_file(&name, text.as_bytes());
        replaced.map_err(|_| DraftError::Unusable("cannot be written"))?;
        Ok(self.home.state.join(FOLDER).join(name).to_string_lossy().into_owned())
    }

    /// The draft for the skill of that name in the source of that label; `None` if there is none.
    ///
    /// # Errors
    /// [`DraftError`] for one that is there and cannot be believed.
    pub fn read(&self, source: &str, skill: &SkillName) -> Result<Option<Overlay>, DraftError> {
        if !self.home.has_state().map_err(DraftError::Home)? {
            return Ok(None);
        }
        let unusable = |reason| move |_: Errno| DraftError::Unusable(reason);
        let state = OwnDir::open(&self.home.state).map_err(unusable("lie in no folder of ours"))?;
        let folder = match state.open_dir(FOLDER) {
            Err(Errno::NOENT) => return Ok(None),
            folder => folder.map_err(unusable("lie in no folder of ours"))?,
        };
        let file = match folder.open_file(&file_name(source, skill)) {
            Err(Errno::NOENT) => return Ok(None),
            file => file.map_err(unusable("are no regular files of the caller's"))?,
        };
        if file.rights().is_ok_and(|rights| rights.mode & 0o022 != 0) {
            return Err(DraftError::Unusable("can be written by others"));
        }
        // The beginning of a longer file is not in the form that is asked for.
        let bytes_max = usize::try_from(FILE.bytes_max).unwrap_or(usize::MAX);
        let bytes = file.read(0, bytes_max).map_err(unusable("cannot be read"))?;
        let text = String::from_utf8(bytes).ok();
        let file: Option<DraftFile> = text.and_then(|text| toml::from_str(&text).ok());
        let table = file.and_then(|mut file| file.overlay.pop().filter(|_| file.overlay.is_empty()));
        let draft = table.and_then(|table| table.read().ok());
        let is_asked = |draft: &Overlay| draft.source() == source && draft.skill() == skill;
        draft.filter(is_asked).map(Some).ok_or(DraftError::Unusable("are not in the form fumehood writes"))
    }
}

/// One name for each source and skill: a digest, since a name is somebody else's text.
fn file_name(source: &str, skill: &SkillName) -> String {
    let mut frame = Frame::new("draft", 1);
    frame.part(source.as_bytes());
    frame.part(skill.as_str().as_bytes());
    format!("{}.toml", frame.sha256())
}

const FOLDER: &str = "drafts";
const LOCK: &str = "lock";
