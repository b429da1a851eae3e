//! Where artifacts lie: a folder each, which is moved as a whole when it is finished and before it is removed.

use std::os::fd::OwnedFd;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::error::{ArtifactError, failed};
use super::quota::Ledger;
use crate::home::Home;
use crate::own::OwnDir;

/// The folders of the store.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) store: OwnDir,
    /// Being written. The writer holds a lock on its `content`; one without a lock was left by a crash.
    pub(super) new: OwnDir,
    /// Finished. Only these are served.
    pub(super) kept: OwnDir,
    /// Being removed.
    pub(super) gone: OwnDir,
}

impl Layout {
    /// Makes what is missing, and removes what a crash left.
    pub(super) fn open(home: &Home) -> Result<Self, ArtifactError> {
        home.make_state().map_err(ArtifactError::Home)?;
        let open = || {
            let state = OwnDir::open(&home.state)?;
            let store = state.open_or_make("artifacts")?;
            let [new, kept, gone] = ["new", "kept", "gone"].map(|name| store.open_or_make(name));
            let layout = Self { new: new?, kept: kept?, gone: gone?, store };
            layout.sweep()?;
            Ok(layout)
        };
        open().map_err(failed("open the store of artifacts"))
    }

    /// Whether there is a store below the state folder, which is there.
    pub(super) fn is_there(home: &Home) -> Result<bool, ArtifactError> {
        let found = OwnDir::open(&home.state).and_then(|state| state.open_dir("artifacts"));
        match found {
            Err(Errno::NOENT) => Ok(false),
            found => found.map(|_| true).map_err(failed("open the store of artifacts")),
        }
    }

    /// Under the lock, so that a folder whose writer has not taken its own lock yet is never seen.
    fn sweep(&self) -> Result<(), Errno> {
        let mut ledger = Ledger::open(self)?;
        let mut swept = false;
        for name in self.new.names()? {
            if self.is_left(&name)? {
                self.new.remove_dir(&name)?;
                swept = true;
            }
        }
        for name in self.gone.names()? {
            self.gone.remove_dir(&name)?;
            swept = true;
        }
        if swept { ledger.count(self) } else { Ok(()) }
    }

    fn is_left(&self, name: &str) -> Result<bool, Errno> {
        let folder = match self.new.open_dir(name) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::PERM) => return Ok(true),
            folder => folder?,
        };
        match folder.open_file("content") {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::PERM) => Ok(true),
            Err(error) => Err(error),
            Ok(content) => match rustix::fs::flock(&content, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => Ok(true),
                Err(Errno::WOULDBLOCK) => Ok(false),
                Err(error) => Err(error),
            },
        }
    }

    /// Makes the folder of a new artifact and takes its writer's lock. The caller holds the lock of the store.
    pub(super) fn make_new(&self, name: &str) -> Result<(OwnDir, OwnedFd), Errno> {
        let folder = self.new.make(name)?;
        let content = folder.make_file("content")?;
        rustix::fs::flock(&content, FlockOperation::NonBlockingLockExclusive)?;
        Ok((folder, content))
    }
}
