//! Where lines start and end, found by the index and at most 64 KiB behind a mark.

use std::sync::Arc;

use memchr::{memchr, memchr_iter};

use super::cursor::{Cursor, fill};
use super::error::ArtifactError;
use super::index::{Index, Mark, STEP_BYTES, newlines};
use super::read::{Artifact, Line, LineEnd};

/// Finds where lines start and end.
pub(super) struct LineReader<'a> {
    artifact: &'a Artifact,
    index: Arc<Index>,
    cursor: Cursor<'a>,
}

/// Where a line ends: its text, and where the next one starts.
#[derive(Clone, Copy)]
pub(super) struct End {
    pub(super) text: u64,
    pub(super) next: u64,
    kind: LineEnd,
}

impl<'a> LineReader<'a> {
    pub(super) fn new(artifact: &'a Artifact) -> Result<Self, ArtifactError> {
        let index = artifact.index()?;
        Ok(Self { artifact, index, cursor: Cursor::new(&artifact.content, artifact.byte_length()) })
    }

    /// Where a line starts, by its number from 0: at most 64 KiB behind a mark.
    pub(super) fn start_of(&mut self, line: u64) -> Result<u64, ArtifactError> {
        let Mark { line: known, mut offset } = self.index.before_line(line);
        let mut left = line - known;
        while left > 0 {
            let piece = self.cursor.from(offset)?;
            let mut ends = memchr_iter(b'\n', piece);
            let nth = usize::try_from(left - 1).ok().and_then(|skip| ends.nth(skip));
            if let Some(at) = nth {
                return Ok(offset + at as u64 + 1);
            }
            if piece.is_empty() {
                return Err(ArtifactError::Damaged("has other lines than it had"));
            }
            left -= newlines(piece);
            offset += piece.len() as u64;
        }
        Ok(offset)
    }

    /// The number from 0 of the line that an offset lies in, and where that line starts.
    pub(super) fn line_at(&mut self, target: u64) -> Result<(u64, u64), ArtifactError> {
        let Mark { mut line, offset: mut start } = self.index.before_offset(target);
        let mut at = start;
        while at < target {
            let piece = self.cursor.from(at)?;
            let within = usize::try_from(target - at).unwrap_or(usize::MAX).min(piece.len());
            if within == 0 {
                return Err(ArtifactError::Damaged("is shorter than it was"));
            }
            for end in memchr_iter(b'\n', &piece[..within]) {
                line += 1;
                start = at + end as u64 + 1;
            }
            at += within as u64;
            // The rest up to the next mark is one line.
            if at - start > STEP_BYTES {
                break;
            }
        }
        Ok((line, start))
    }

    /// Where the line that starts here ends. One longer than 64 KiB ends just before the next mark, if it is not the last.
    pub(super) fn end_of(&mut self, line: u64, start: u64) -> Result<End, ArtifactError> {
        let bytes = self.artifact.byte_length();
        let mut at = start;
        let newline = loop {
            if at - start > STEP_BYTES {
                break self.far_end(line)?;
            }
            let piece = self.cursor.from(at)?;
            if piece.is_empty() {
                break None;
            }
            if let Some(found) = memchr(b'\n', piece) {
                break Some(at + found as u64);
            }
            at += piece.len() as u64;
        };
        let Some(newline) = newline else {
            return Ok(End { text: bytes, next: bytes, kind: LineEnd::Open });
        };
        let is_crlf = newline > start && self.cursor.from(newline - 1)?.first() == Some(&b'\r');
        let (text, kind) = if is_crlf { (newline - 1, LineEnd::CrLf) } else { (newline, LineEnd::Lf) };
        Ok(End { text, next: newline + 1, kind })
    }

    fn far_end(&mut self, line: u64) -> Result<Option<u64>, ArtifactError> {
        if let Some(mark) = self.index.after_line(line) {
            return Ok(Some(mark.offset - 1));
        }
        let last = self.artifact.byte_length() - 1;
        Ok((self.cursor.from(last)?.first() == Some(&b'\n')).then_some(last))
    }

    /// A line whose ends are known, with so many bytes of it from `shown` on.
    pub(super) fn line(
        &self,
        line: u64,
        offset: u64,
        end: End,
        shown: u64,
        count: usize,
    ) -> Result<Line, ArtifactError> {
        let mut bytes = vec![0; count];
        fill(&self.artifact.content, &mut bytes, shown)?;
        Ok(Line { number: line + 1, offset, length: end.text - offset, shown, bytes, end: end.kind })
    }
}
