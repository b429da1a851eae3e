//! Writing an artifact: in pieces as they come, published as a whole or not at all.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::SystemTime;

use fumehood_core::digest::Hasher;
use rustix::io::Errno;

use super::about::{ArtifactInfo, text_of};
use super::error::{ArtifactError, failed};
use super::index::Builder;
use super::layout::Layout;
use super::quota::{Ledger, Used, cost, fits};
use crate::own::{OwnDir, write_at};
use fumehood_core::id::ArtifactId;

/// An artifact that is being written. Dropped before [`Spool::finish`], it never was.
///
/// Holds one piece of 64 KiB and 16 bytes for each 64 KiB written, whatever the size.
#[derive(Debug)]
#[must_use = "what is not finished is thrown away"]
pub struct Spool {
    layout: Arc<Layout>,
    folder: OwnDir,
    content: OwnedFd,
    info: ArtifactInfo,
    bytes_max: u64,
    piece: Vec<u8>,
    written: Written,
    /// Bytes of content that the store has room for on our behalf.
    taken: u64,
    full: bool,
    published: bool,
}

/// What the bytes on the disk say so far.
struct Written {
    bytes: u64,
    hasher: Hasher,
    index: Builder,
}

impl Spool {
    /// Takes the room of an empty artifact. The caller found out that the owner's labels are some.
    pub(super) fn start(
        layout: &Arc<Layout>,
        info: ArtifactInfo,
        bytes_max: u64,
    ) -> Result<Self, ArtifactError> {
        let mut ledger = Ledger::open(layout).map_err(failed("lock the store of artifacts"))?;
        let Used { bytes, artifacts } = ledger.used;
        if bytes.saturating_add(cost(0)) > bytes_max || artifacts >= ARTIFACTS_MAX {
            return Err(ArtifactError::StoreFull { bytes_max });
        }
        let mut make = || {
            // The folder first: whatever ends us in between, it is found at the next start and the sum taken anew.
            let made = layout.make_new(&info.id.to_string())?;
            ledger.set(Used { bytes: bytes + cost(0), artifacts: artifacts + 1 })?;
            Ok(made)
        };
        let (folder, content) = make().map_err(failed("make an artifact"))?;
        Ok(Self {
            layout: layout.clone(),
            folder,
            content,
            info,
            bytes_max,
            piece: Vec::with_capacity(PIECE_BYTES),
            written: Written { bytes: 0, hasher: Hasher::default(), index: Builder::new() },
            taken: 0,
            full: false,
            published: false,
        })
    }

    /// The name that the artifact will have.
    pub fn id(&self) -> ArtifactId {
        self.info.id
    }

    /// Bytes taken so far.
    pub fn bytes(&self) -> u64 {
        self.written.bytes + self.piece.len() as u64
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// `E_ARTIFACT_STORE_FULL` once the store or the disk is: what fits (of a full disk: the pieces before) stays, and can
    /// be published with [`Spool::finish`]; nothing more is taken. Since bytes are written in pieces of 64 KiB, this may be said a piece
    /// late. `E_STATE_UNAVAILABLE` if the operating system says no.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), ArtifactError> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at((PIECE_BYTES - self.piece.len()).min(bytes.len()));
            self.piece.extend_from_slice(now);
            bytes = later;
            if self.piece.len() == PIECE_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Publishes what was taken: from now on it is served.
    ///
    /// If the last piece does not fit, what does is published all the same; [`ArtifactInfo::bytes`] says how much.
    ///
    /// # Errors
    /// `E_STATE_UNAVAILABLE`, or `E_ARTIFACT_STORE_FULL` if the disk has no room for the description. There is then no
    /// artifact.
    pub fn finish(mut self) -> Result<ArtifactInfo, ArtifactError> {
        match self.flush() {
            Err(ArtifactError::StoreFull { .. } | ArtifactError::DiskFull) => {}
            flushed => flushed?,
        }
        let builder = std::mem::replace(&mut self.written.index, Builder::new());
        let (index, lines) = builder.finish();
        self.info.bytes = self.written.bytes;
        self.info.lines = lines;
        self.info.sha256 = text_of(std::mem::take(&mut self.written.hasher).finish());
        if !index.marks.is_empty() {
            // A cache: without it the artifact is as good, and only slower to open.
            let _ = self.folder.write_file(INDEX_NAME, &index.encode(self.info.bytes, lines));
        }
        self.info.write(&self.folder)?;
        self.publish().map_err(failed("publish an artifact"))?;
        Ok(self.info.clone())
    }

    fn publish(&mut self) -> Result<(), Errno> {
        let mut ledger = Ledger::open(&self.layout)?;
        rustix::fs::ftruncate(&self.content, self.written.bytes)?;
        give_back(&mut ledger, self.taken, self.written.bytes)?;
        self.taken = self.written.bytes;
        let name = self.info.id.to_string();
        self.layout.new.rename(&name, &self.layout.kept, &name)?;
        self.published = true;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ArtifactError> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let mut piece = std::mem::take(&mut self.piece);
        let written = self.put(&piece);
        piece.clear();
        self.piece = piece;
        written
    }

    fn put(&mut self, piece: &[u8]) -> Result<(), ArtifactError> {
        let full = Err(ArtifactError::StoreFull { bytes_max: self.bytes_max });
        if self.full {
            return full;
        }
        // Until the bytes are on the disk for sure, nothing behind them may follow.
        self.full = true;
        let room = self.take_room(self.written.bytes + piece.len() as u64)?;
        let fits = usize::try_from(room.saturating_sub(self.written.bytes)).unwrap_or(usize::MAX);
        let now = &piece[..fits.min(piece.len())];
        write_at(self.content.as_fd(), now, self.written.bytes).map_err(failed("write an artifact"))?;
        self.written.add(now);
        if now.len() < piece.len() {
            return full;
        }
        self.full = false;
        Ok(())
    }

    /// Takes room for this much content, and some ahead so that large outputs ask seldom. Returns how much there is.
    fn take_room(&mut self, needed: u64) -> Result<u64, ArtifactError> {
        if needed <= self.taken {
            return Ok(self.taken);
        }
        let take = || {
            let mut ledger = Ledger::open(&self.layout)?;
            let Used { bytes, artifacts } = ledger.used;
            let largest = fits(self.bytes_max.saturating_sub(bytes), self.taken);
            let ahead = needed.saturating_add(self.taken.min(AHEAD_BYTES_MAX));
            let taken = if ahead <= largest { ahead } else { needed.min(largest) };
            // The file first: a sum taken anew meanwhile, by whoever comes next, must not miss it.
            rustix::fs::ftruncate(&self.content, taken)?;
            ledger.set(Used { bytes: bytes + (cost(taken) - cost(self.taken)), artifacts })?;
            Ok(taken)
        };
        self.taken = take().map_err(failed("make room for an artifact"))?;
        Ok(self.taken)
    }
}

impl Written {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.hasher.update(bytes);
        self.index.add(bytes);
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if self.published {
            return;
        }
        // What cannot be removed now is removed at the next start, like after a crash.
        let Ok(mut ledger) = Ledger::open(&self.layout) else { return };
        let Used { bytes, artifacts } = ledger.used;
        let bytes = bytes.saturating_sub(cost(self.taken));
        // The sum first: as long as the folder is there, it is found and the sum taken anew.
        let _ = ledger.set(Used { bytes, artifacts: artifacts.saturating_sub(1) });
        let _ = self.layout.new.remove_dir(&self.info.id.to_string());
    }
}

impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.bytes)
    }
}

fn give_back(ledger: &mut Ledger, taken: u64, kept: u64) -> Result<(), Errno> {
    let Used { bytes, artifacts } = ledger.used;
    ledger.set(Used { bytes: bytes.saturating_sub(cost(taken) - cost(kept)), artifacts })
}

/// The start of what is known before anything is written.
pub(super) fn blank(id: ArtifactId, agent: &str, run: &str, created: SystemTime) -> ArtifactInfo {
    let (agent, run) = (agent.to_owned(), run.to_owned());
    ArtifactInfo { id, agent, run, bytes: 0, lines: 0, sha256: String::new(), created }
}

pub(super) const INDEX_NAME: &str = "index";
const PIECE_BYTES: usize = 64 << 10;
/// Room taken ahead doubles with the content up to this.
const AHEAD_BYTES_MAX: u64 = 16 << 20;
/// Below what one listing takes, so that none is ever left out.
const ARTIFACTS_MAX: u64 = 65_536;
