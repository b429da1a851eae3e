//! Where lines start: one mark at the first line start after each 64 KiB.
//!
//! Kept beside the content as a cache. It is checked when it is read, and made anew if anything about it is wrong.

use fumehood_core::digest::{Hasher, Sha256};
use memchr::memchr;

/// The start of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Lines before it.
    pub(super) line: u64,
    /// Bytes before it.
    pub(super) offset: u64,
}

/// The marks of one content, first to last; the first line is not among them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    pub(super) marks: Vec<Mark>,
}

/// Takes content in pieces and finds the marks.
#[derive(Debug)]
pub(super) struct Builder {
    marks: Vec<Mark>,
    bytes: u64,
    newlines: u64,
    /// The next mark is the first line start at or after this offset.
    boundary: u64,
    last: u8,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self { marks: Vec::new(), bytes: 0, newlines: 0, boundary: STEP_BYTES, last: b'\n' }
    }

    pub(super) fn add(&mut self, mut bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        self.last = *last;
        while !bytes.is_empty() {
            // A line that starts at the boundary has its newline one byte before.
            let ahead = self.boundary - 1;
            if self.bytes < ahead {
                let ahead = usize::try_from(ahead - self.bytes).unwrap_or(usize::MAX).min(bytes.len());
                let (before, rest) = bytes.split_at(ahead);
                self.newlines += newlines(before);
                self.bytes += ahead as u64;
                bytes = rest;
            } else if let Some(at) = memchr(b'\n', bytes) {
                self.newlines += 1;
                self.bytes += at as u64 + 1;
                self.marks.push(Mark { line: self.newlines, offset: self.bytes });
                self.boundary = self.bytes - self.bytes % STEP_BYTES + STEP_BYTES;
                bytes = &bytes[at + 1..];
            } else {
                self.bytes += bytes.len() as u64;
                return;
            }
        }
    }

    /// Lines so far; one without a newline counts.
    pub(super) fn lines(&self) -> u64 {
        self.newlines + u64::from(self.last != b'\n')
    }

    /// The index, and how many lines there are.
    pub(super) fn finish(mut self) -> (Index, u64) {
        // Behind the last newline no line starts.
        if self.marks.last().is_some_and(|mark| mark.offset == self.bytes) {
            self.marks.pop();
        }
        let lines = self.lines();
        (Index { marks: self.marks }, lines)
    }
}

impl Index {
    /// The last mark at or before a line.
    pub(super) fn before_line(&self, line: u64) -> Mark {
        self.at(self.marks.partition_point(|mark| mark.line <= line))
    }

    /// The last mark at or before an offset.
    pub(super) fn before_offset(&self, offset: u64) -> Mark {
        self.at(self.marks.partition_point(|mark| mark.offset <= offset))
    }

    /// The first mark behind the start of a line.
    pub(super) fn after_line(&self, line: u64) -> Option<Mark> {
        self.marks.get(self.marks.partition_point(|mark| mark.line <= line)).copied()
    }

    fn at(&self, end: usize) -> Mark {
        end.checked_sub(1).map_or(Mark { line: 0, offset: 0 }, |index| self.marks[index])
    }

    /// The file beside the content.
    pub(super) fn encode(&self, bytes: u64, lines: u64) -> Vec<u8> {
        let mut text = Vec::with_capacity(HEAD_BYTES + self.marks.len() * MARK_BYTES + DIGEST_BYTES);
        text.extend_from_slice(MAGIC);
        text.extend_from_slice(&bytes.to_be_bytes());
        text.extend_from_slice(&lines.to_be_bytes());
        for mark in &self.marks {
            text.extend_from_slice(&mark.line.to_be_bytes());
            text.extend_from_slice(&mark.offset.to_be_bytes());
        }
        let digest = digest(&text);
        text.extend_from_slice(digest.as_bytes());
        text
    }

    /// Reads the file beside a content of this many bytes and lines; nothing, if it is not exactly one for it.
    pub(super) fn decode(text: &[u8], bytes: u64, lines: u64) -> Option<Self> {
        let (body, end) = text.split_at_checked(text.len().checked_sub(DIGEST_BYTES)?)?;
        let marks = body.strip_prefix(MAGIC)?;
        let (numbers, marks) = marks.split_first_chunk::<16>()?;
        let whole = digest(body).as_bytes() == end && marks.len().is_multiple_of(MARK_BYTES);
        let is_for = pair(numbers) == (bytes, lines);
        let marks = marks.chunks_exact(MARK_BYTES).filter_map(|mark| mark.first_chunk::<16>());
        let marks: Vec<Mark> = marks.map(pair).map(|(line, offset)| Mark { line, offset }).collect();
        let rises = marks.windows(2).all(|two| two[0].line < two[1].line && two[0].offset < two[1].offset);
        let first = marks.first().is_none_or(|mark| mark.line > 0 && mark.offset >= STEP_BYTES);
        let last = marks.last().is_none_or(|mark| mark.line < lines && mark.offset < bytes);
        (whole && is_for && rises && first && last).then_some(Self { marks })
    }

    /// The most that the file beside a content of this size can hold.
    pub(super) fn file_bytes_max(bytes: u64) -> usize {
        let marks = usize::try_from(bytes / STEP_BYTES).unwrap_or(usize::MAX / MARK_BYTES / 2);
        HEAD_BYTES + marks * MARK_BYTES + DIGEST_BYTES
    }
}

/// How many newlines there are.
pub(super) fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn digest(bytes: &[u8]) -> Sha256 {
    let mut hasher = Hasher::default();
    hasher.update(bytes);
    hasher.finish()
}

fn pair(bytes: &[u8; 16]) -> (u64, u64) {
    let number = u128::from_be_bytes(*bytes);
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of one number")]
    let halves = ((number >> 64) as u64, number as u64);
    halves
}

/// A line start is found by looking at no more than this many bytes behind a mark.
pub(super) const STEP_BYTES: u64 = 64 << 10;
const MAGIC: &[u8] = b"fumehood index 1\n";
const HEAD_BYTES: usize = MAGIC.len() + 16;
const MARK_BYTES: usize = 16;
const DIGEST_BYTES: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, slowly.
    fn slow(bytes: &[u8]) -> (Index, u64) {
        let mut starts = vec![0];
        starts.extend((0..bytes.len()).filter(|at| bytes[*at] == b'\n').map(|at| at + 1));
        starts.retain(|start| *start < bytes.len());
        let mut marks: Vec<Mark> = Vec::new();
        for boundary in (1..).map(|step| step * STEP_BYTES).take_while(|at| *at < bytes.len() as u64) {
            let found = starts.iter().position(|start| *start as u64 >= boundary);
            let mark = found.map(|line| Mark { line: line as u64, offset: starts[line] as u64 });
            if mark.is_some() && mark.as_ref() != marks.last() {
                marks.extend(mark);
            }
        }
        (Index { marks }, starts.len() as u64)
    }

    fn built(bytes: &[u8], piece: usize) -> (Index, u64) {
        let mut builder = Builder::new();
        bytes.chunks(piece).for_each(|piece| builder.add(piece));
        builder.finish()
    }

    fn contents() -> impl Strategy<Value = Vec<u8>> {
        let line = prop_oneof![
            4 => (0..200_usize).boxed(),
            2 => (65_530..65_545_usize).boxed(),
            1 => (0..200_000_usize).boxed(),
        ];
        (proptest::collection::vec(line, 0..12), any::<bool>()).prop_map(|(lines, open)| {
            let mut bytes: Vec<u8> =
                lines.iter().flat_map(|line| [vec![b'x'; *line], vec![b'\n']].concat()).collect();
            if open {
                bytes.pop();
            }
            bytes
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn pieces_make_no_difference(bytes in contents(), piece in 1..100_000_usize) {
            let slow = slow(&bytes);
            prop_assert_eq!(&built(&bytes, piece.max(100)), &slow);
            let (index, lines) = slow;
            let text = index.encode(bytes.len() as u64, lines);
            prop_assert!(text.len() <= Index::file_bytes_max(bytes.len() as u64));
            prop_assert_eq!(Index::decode(&text, bytes.len() as u64, lines), Some(index));
        }
    }

    #[test]
    fn line_ends_at_a_boundary() {
        let step = usize::try_from(STEP_BYTES).unwrap();
        for at in step - 2..step + 3 {
            for tail in ["", "x", "\n", "x\n"] {
                let bytes = [vec![b'x'; at], vec![b'\n'], tail.as_bytes().to_vec()].concat();
                for piece in [1, 7, step, step + 1, bytes.len()] {
                    assert_eq!(built(&bytes, piece), slow(&bytes), "{at} {tail:?} {piece}");
                }
            }
        }
        assert_eq!(built(b"", 1), (Index::default(), 0));
    }

    #[test]
    fn a_damaged_file_is_no_index() {
        let bytes = "line\n".repeat(100_000).into_bytes();
        let (index, lines) = built(&bytes, 4096);
        let (size, good) = (bytes.len() as u64, index.encode(bytes.len() as u64, lines));
        assert!(Index::decode(&good, size, lines).is_some());
        assert_eq!(Index::decode(&good, size + 1, lines), None);
        assert_eq!(Index::decode(&good, size, lines - 1), None);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert_eq!(Index::decode(&bad, size, lines), None, "{at}");
            assert_eq!(Index::decode(&good[..at], size, lines), None, "{at}");
        }
        // Whole and wrong: somebody who can compute the digest.
        for marks in [vec![(0, 65_536)], vec![(1, 5)], vec![(9, 65_600), (8, 65_700)], vec![(lines, 65_600)]]
        {
            let marks = marks.into_iter().map(|(line, offset)| Mark { line, offset }).collect();
            let text = Index { marks }.encode(size, lines);
            assert_eq!(Index::decode(&text, size, lines), None);
        }
    }
}
