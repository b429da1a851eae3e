//! Reading an artifact: lines by number, bytes by offset, never more than was asked for.
//!
//! Results are bytes and offsets. What they look like, escaped for a terminal or a model, is for whoever shows them.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use fumehood_core::digest::Hasher;

use super::about::{ArtifactInfo, text_of};
use super::cursor::fill;
use super::error::{ArtifactError, failed};
use super::index::{Builder, Index, STEP_BYTES};
use super::lines::LineReader;
use super::spool::INDEX_NAME;
use crate::dir::File;
use crate::own::OwnDir;

/// An artifact, open. It can be read to the end even if it is pruned meanwhile.
#[derive(Debug)]
pub struct Artifact {
    info: ArtifactInfo,
    folder: OwnDir,
    pub(super) content: File,
    index: Mutex<Option<Arc<Index>>>,
}

/// How much one reading gives at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub(super) lines: usize,
    pub(super) bytes: usize,
    pub(super) line_bytes: usize,
}

/// A line, or the part of it that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number; the first is 1.
    pub number: u64,
    /// Where it starts.
    pub offset: u64,
    /// Its bytes without the line end, however long it is.
    pub length: u64,
    /// Where `bytes` start.
    pub shown: u64,
    /// The part of the line that is given, without the line end.
    pub bytes: Vec<u8>,
    /// What ends the line.
    pub end: LineEnd,
}

/// What ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// `\n`.
    Lf,
    /// `\r\n`.
    CrLf,
    /// Nothing: the content ends.
    Open,
}

/// Bytes of a line that were left out: "+N bytes at offset X".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// How many.
    pub bytes: u64,
    /// Where they start.
    pub offset: u64,
}

/// Lines that follow each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// The lines.
    pub lines: Vec<Line>,
    /// The first line that was asked for and did not fit.
    pub next: Option<u64>,
}

/// Bytes that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Where they start.
    pub offset: u64,
    /// The bytes; fewer than asked for only at the end of the content.
    pub bytes: Vec<u8>,
}

impl Bounds {
    /// Lines of one reading, at most.
    pub const LINES_MAX: usize = 10_000;
    /// Bytes of one reading, at most.
    pub const BYTES_MAX: usize = 1 << 20;
    /// Bytes of one line in a reading, at most.
    pub const LINE_BYTES_MAX: usize = 64 << 10;

    /// Bounds of a reading: lines, bytes of all lines together, bytes of one line.
    ///
    /// # Errors
    /// `E_ARTIFACT_RANGE` if one is 0 or above its maximum, or one line could be larger than all.
    pub fn new(lines: usize, bytes: usize, line_bytes: usize) -> Result<Self, ArtifactError> {
        let within = (1..=Self::LINES_MAX).contains(&lines)
            && (1..=Self::BYTES_MAX).contains(&bytes)
            && (1..=Self::LINE_BYTES_MAX.min(bytes)).contains(&line_bytes);
        if within {
            Ok(Self { lines, bytes, line_bytes })
        } else {
            Err(ArtifactError::Range(
                "a reading is bounded by 1 to 10000 lines, 1 to 1048576 bytes, and 1 to 65536 bytes a line, no more than by bytes",
            ))
        }
    }
}

impl Default for Bounds {
    /// 2000 lines, 64 KiB, 4 KiB a line.
    fn default() -> Self {
        Self { lines: 2000, bytes: 64 << 10, line_bytes: 4 << 10 }
    }
}

impl Line {
    /// What was left out before the part that is given.
    pub fn cut_before(&self) -> Option<Cut> {
        let bytes = self.shown - self.offset;
        (bytes > 0).then_some(Cut { bytes, offset: self.offset })
    }

    /// What was left out behind the part that is given.
    pub fn cut_after(&self) -> Option<Cut> {
        let offset = self.shown + self.bytes.len() as u64;
        let bytes = self.offset + self.length - offset;
        (bytes > 0).then_some(Cut { bytes, offset })
    }
}

impl Artifact {
    pub(super) fn open(folder: OwnDir, info: ArtifactInfo) -> Result<Self, ArtifactError> {
        let content = folder.open_file("content").map_err(failed("open an artifact"))?;
        if content.stat.size != info.bytes {
            return Err(ArtifactError::Damaged("has another size than it had"));
        }
        Ok(Self { info, folder, content, index: Mutex::new(None) })
    }

    /// What is known of it beside its content.
    pub fn info(&self) -> &ArtifactInfo {
        &self.info
    }

    /// Bytes of its content.
    pub fn byte_length(&self) -> u64 {
        self.info.bytes
    }

    /// Lines of its content; a last one without a newline counts.
    pub fn line_count(&self) -> u64 {
        self.info.lines
    }

    /// An estimate of what the whole content costs a model: 2.8 bytes a token, rounded up.
    pub fn estimate_tokens(&self) -> u64 {
        self.info.tokens()
    }

    /// The first lines.
    ///
    /// # Errors
    /// As [`Artifact::cat`].
    pub fn head(&self, lines: u64, bounds: Bounds) -> Result<Lines, ArtifactError> {
        self.read_lines(0..lines.min(self.info.lines), bounds)
    }

    /// The last lines, first to last. What does not fit is left out at the end, and named by [`Lines::next`].
    ///
    /// # Errors
    /// As [`Artifact::cat`].
    pub fn tail(&self, lines: u64, bounds: Bounds) -> Result<Lines, ArtifactError> {
        self.read_lines(self.info.lines.saturating_sub(lines)..self.info.lines, bounds)
    }

    /// Lines by number, `first` and the ones behind it, `count` in all or up to the end.
    ///
    /// # Errors
    /// `E_ARTIFACT_RANGE` if `first` is 0 or there is no such line (an empty artifact has a first one all the same);
    /// `E_ARTIFACT_DAMAGED`; `E_STATE_UNAVAILABLE`.
    pub fn cat(&self, first: u64, count: u64, bounds: Bounds) -> Result<Lines, ArtifactError> {
        self.read_lines(self.line_range(first, count)?, bounds)
    }

    /// Numbers from 0 of the lines that are asked for by their number from 1.
    fn line_range(&self, first: u64, count: u64) -> Result<Range<u64>, ArtifactError> {
        let start = first.checked_sub(1).ok_or(ArtifactError::Range("the first line is line 1"))?;
        if start > 0 && start >= self.info.lines {
            return Err(ArtifactError::Range("the artifact has fewer lines"));
        }
        Ok(start..start.saturating_add(count).min(self.info.lines))
    }

    /// Where lines lie, `first` and the ones behind it, `count` in all or up to the end; with their line ends.
    ///
    /// For whoever wants them as they are, however long: the bytes of the span are [`Artifact::slice`]'s to give.
    ///
    /// # Errors
    /// As [`Artifact::cat`].
    pub fn line_span(&self, first: u64, count: u64) -> Result<Range<u64>, ArtifactError> {
        let lines = self.line_range(first, count)?;
        // All of it needs no index.
        if lines == (0..self.info.lines) {
            return Ok(0..self.info.bytes);
        }
        let mut reader = LineReader::new(self)?;
        let mut start_of = |line| {
            if line == self.info.lines { Ok(self.info.bytes) } else { reader.start_of(line) }
        };
        Ok(start_of(lines.start)?..start_of(lines.end)?)
    }

    /// Bytes by offset, up to the end of the content.
    ///
    /// # Errors
    /// `E_ARTIFACT_RANGE` if the offset is behind the end or `count` above [`Bounds::BYTES_MAX`];
    /// `E_ARTIFACT_DAMAGED`; `E_STATE_UNAVAILABLE`.
    pub fn slice(&self, offset: u64, count: usize) -> Result<Slice, ArtifactError> {
        if count > Bounds::BYTES_MAX {
            return Err(ArtifactError::Range("a slice has at most 1048576 bytes"));
        }
        let Some(left) = self.info.bytes.checked_sub(offset) else {
            return Err(ArtifactError::Range("the artifact has fewer bytes"));
        };
        let mut bytes = vec![0; usize::try_from(left).unwrap_or(usize::MAX).min(count)];
        fill(&self.content, &mut bytes, offset)?;
        Ok(Slice { offset, bytes })
    }

    /// Reads the whole content and compares its digest with the one it was published with.
    ///
    /// # Errors
    /// `E_ARTIFACT_DAMAGED` if they differ; `E_STATE_UNAVAILABLE`.
    pub fn verify(&self) -> Result<(), ArtifactError> {
        let mut hasher = Hasher::default();
        self.for_each_piece(|piece| hasher.update(piece))?;
        if text_of(hasher.finish()) == self.info.sha256 {
            Ok(())
        } else {
            Err(ArtifactError::Damaged("is not what was put there"))
        }
    }

    fn for_each_piece(&self, mut take: impl FnMut(&[u8])) -> Result<(), ArtifactError> {
        let mut piece = vec![0; SCANNED_BYTES];
        let mut at = 0;
        while at < self.info.bytes {
            let left = usize::try_from(self.info.bytes - at).unwrap_or(usize::MAX);
            let piece = &mut piece[..left.min(SCANNED_BYTES)];
            fill(&self.content, piece, at)?;
            take(piece);
            at += piece.len() as u64;
        }
        Ok(())
    }

    /// Lines by their number from 0.
    pub(super) fn read_lines(&self, range: Range<u64>, bounds: Bounds) -> Result<Lines, ArtifactError> {
        let mut found = Lines::default();
        if range.is_empty() {
            return Ok(found);
        }
        let mut reader = LineReader::new(self)?;
        let mut offset = reader.start_of(range.start)?;
        let mut room = bounds.bytes;
        for line in range {
            let end = reader.end_of(line, offset)?;
            let length = usize::try_from(end.text - offset).unwrap_or(usize::MAX).min(bounds.line_bytes);
            if found.lines.len() == bounds.lines || length > room {
                found.next = Some(line + 1);
                break;
            }
            room -= length;
            found.lines.push(reader.line(line, offset, end, offset, length)?);
            offset = end.next;
        }
        Ok(found)
    }

    /// The index, from beside the content, or made anew.
    pub(super) fn index(&self) -> Result<Arc<Index>, ArtifactError> {
        // A panic under the lock leaves either no index or a whole one.
        let mut held = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = &*held {
            return Ok(index.clone());
        }
        let index = Arc::new(match self.stored_index() {
            Some(index) => index,
            None => self.build_index()?,
        });
        *held = Some(index.clone());
        Ok(index)
    }

    fn stored_index(&self) -> Option<Index> {
        if self.info.bytes <= STEP_BYTES {
            return Some(Index::default());
        }
        let bytes_max = Index::file_bytes_max(self.info.bytes);
        let text = self.folder.open_file(INDEX_NAME).ok()?.read(0, bytes_max + 1).ok()?;
        Index::decode(&text, self.info.bytes, self.info.lines)
    }

    fn build_index(&self) -> Result<Index, ArtifactError> {
        let mut builder = Builder::new();
        self.for_each_piece(|piece| builder.add(piece))?;
        let (index, lines) = builder.finish();
        if lines != self.info.lines {
            return Err(ArtifactError::Damaged("has other lines than it had"));
        }
        // Best effort: another process may do the same, and the next reader checks what it finds.
        let name = format!("index.{}", std::process::id());
        let _ = self.folder.remove_file(&name);
        if self.folder.write_file(&name, &index.encode(self.info.bytes, lines)).is_ok() {
            let _ = self.folder.replace(&name, INDEX_NAME);
        }
        Ok(index)
    }
}

const SCANNED_BYTES: usize = 64 << 10;
