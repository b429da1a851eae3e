//! Reading a content piece by piece, each piece at its own offset: the file has no position that two could share.

use super::error::{ArtifactError, failed};
use crate::dir::File;
use crate::own::read_at;
use std::os::fd::AsFd as _;

/// One piece of a content.
pub(super) struct Cursor<'a> {
    file: &'a File,
    bytes: u64,
    base: u64,
    piece: Vec<u8>,
    filled: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(file: &'a File, bytes: u64) -> Self {
        Self { file, bytes, base: 0, piece: vec![0; PIECE_BYTES], filled: 0 }
    }

    /// The bytes from an offset on: a part of the piece around it, empty only at the end.
    pub(super) fn from(&mut self, offset: u64) -> Result<&[u8], ArtifactError> {
        let end = self.base + self.filled as u64;
        if offset < self.base || offset >= end {
            let left = usize::try_from(self.bytes.saturating_sub(offset)).unwrap_or(usize::MAX);
            let wanted = left.min(PIECE_BYTES);
            // Not believed until it is there.
            (self.base, self.filled) = (offset, 0);
            fill(self.file, &mut self.piece[..wanted], offset)?;
            self.filled = wanted;
        }
        let at = usize::try_from(offset - self.base).unwrap_or(usize::MAX);
        Ok(&self.piece[at.min(self.filled)..self.filled])
    }
}

/// Fills a buffer from an offset of a content, which is as long as it was said to be.
pub(super) fn fill(file: &File, buffer: &mut [u8], offset: u64) -> Result<(), ArtifactError> {
    let read = read_at(file.as_fd(), buffer, offset).map_err(failed("read an artifact"))?;
    if read == buffer.len() { Ok(()) } else { Err(ArtifactError::Damaged("is shorter than it was")) }
}

const PIECE_BYTES: usize = 16 << 10;
