//! Artifacts: what a run gave, kept whole on the disk behind a name that nobody can guess.
//!
//! An artifact is written once, in pieces, and appears when it is finished: by one rename, so that whatever a crash
//! interrupts is never served and is swept away at the next start. All artifacts of a person share one limit of room,
//! kept by all processes together. Content is bytes; nothing here asks what they mean.

use std::sync::Arc;
use std::time::SystemTime;

use crate::home::Home;
use crate::own::OwnDir;

mod about;
mod cursor;
mod error;
mod grep;
mod index;
mod layout;
mod lines;
mod pattern;
mod prune;
mod quota;
mod read;
mod spool;

use about::is_label;
pub use about::{ArtifactInfo, Asker, estimate_tokens};
pub use error::ArtifactError;
use error::failed;
pub use fumehood_core::id::ArtifactId;
pub use grep::{Found, FoundLine, Grep, Hit, Stop};
use layout::Layout;
pub use pattern::{Case, Pattern};
pub use prune::{Listed, PruneRule, Pruned};
pub use read::{Artifact, Bounds, Cut, Line, LineEnd, Lines, Slice};
pub use spool::Spool;

/// The store of artifacts of one person.
///
/// Cheap to clone; all clones are one store.
#[derive(Clone, Debug)]
pub struct Artifacts {
    layout: Arc<Layout>,
    bytes_max: u64,
}

impl Artifacts {
    /// `artifact_store_bytes_max` where nothing else is set: 10 GiB.
    pub const BYTES_MAX_DEFAULT: u64 = 10 << 30;

    /// Opens the store below the state folder, makes it if it is not there, and removes what a crash left.
    ///
    /// `bytes_max` is for all artifacts together: their content, one part in 4096 of it for the index, and 8 KiB for
    /// each. It is read by this process only; several processes with several limits each keep their own.
    ///
    /// # Errors
    /// `E_HOME_REFUSED` if the state folder is not private, `E_STATE_UNAVAILABLE`.
    pub fn open(home: &Home, bytes_max: u64) -> Result<Self, ArtifactError> {
        Ok(Self { layout: Arc::new(Layout::open(home)?), bytes_max })
    }

    /// Opens the store if there is one, for whoever only wants to read or remove. Makes nothing; what a crash left is
    /// removed all the same.
    ///
    /// # Errors
    /// As [`Artifacts::open`].
    pub fn open_if_any(home: &Home, bytes_max: u64) -> Result<Option<Self>, ArtifactError> {
        let there = home.has_state().map_err(ArtifactError::Home)? && Layout::is_there(home)?;
        if there { Self::open(home, bytes_max).map(Some) } else { Ok(None) }
    }

    /// Starts an artifact of an agent's run under a random id.
    ///
    /// # Errors
    /// `E_ARTIFACT_STORE_FULL` if not even an empty one fits, `E_STATE_UNAVAILABLE`, `E_ARTIFACT_RANGE` if a label is
    /// empty or longer than 256 bytes.
    pub fn create(&self, agent: &str, run: &str, now: SystemTime) -> Result<Spool, ArtifactError> {
        let mut bits = [0; 16];
        let random = getrandom::fill(&mut bits);
        random.map_err(|error| ArtifactError::System {
            doing: "get random bits",
            errno: error.raw_os_error().unwrap_or(0),
        })?;
        self.create_as(ArtifactId::from_random(bits), agent, run, now)
    }

    /// As [`Artifacts::create`], with the randomness as an argument.
    fn create_as(
        &self,
        id: ArtifactId,
        agent: &str,
        run: &str,
        now: SystemTime,
    ) -> Result<Spool, ArtifactError> {
        if !is_label(agent) || !is_label(run) {
            return Err(ArtifactError::Range("a label must have 1 to 256 bytes"));
        }
        Spool::start(&self.layout, spool::blank(id, agent, run, now), self.bytes_max)
    }

    /// Opens an artifact.
    ///
    /// # Errors
    /// `E_ARTIFACT_NOT_FOUND` if there is none of that id, or it is another agent's; `E_ARTIFACT_DAMAGED`;
    /// `E_STATE_UNAVAILABLE`.
    pub fn get(&self, id: ArtifactId, asker: Asker<'_>) -> Result<Artifact, ArtifactError> {
        let folder = self.folder(id)?;
        let info = ArtifactInfo::read(&folder, id);
        // An agent learns nothing of what it cannot have, not even that it is damaged.
        match (info, asker) {
            (Ok(info), asker) if asker.sees(&info.agent) => Artifact::open(folder, info),
            (Err(error), Asker::Person) => Err(error),
            _ => Err(ArtifactError::Missing),
        }
    }

    fn folder(&self, id: ArtifactId) -> Result<OwnDir, ArtifactError> {
        match self.layout.kept.open_dir(&id.to_string()) {
            Err(rustix::io::Errno::NOENT) => Err(ArtifactError::Missing),
            folder => folder.map_err(failed("open an artifact")),
        }
    }
}
