//! Searching an artifact: block by block, so that it can be stopped, and a long line piece by piece.
//!
//! The search only finds where hits are; their numbers and the lines around them are read afterwards by the index. So
//! nothing is counted that nobody asked for, and context costs nothing where there is no hit.

use std::ops::Range;
use std::time::Instant;

use grep_matcher::{LineMatchKind, Matcher as _};
use memchr::{memchr, memrchr};

use super::cursor::fill;
use super::error::ArtifactError;
use super::lines::LineReader;
use super::pattern::Pattern;
use super::read::{Artifact, Bounds, Line};

/// What to search for, and how far.
#[derive(Clone, Debug)]
pub struct Grep<'a> {
    /// The pattern.
    pub pattern: &'a Pattern,
    /// Where to start: 0, or what [`Found::next`] said.
    pub from: u64,
    /// Lines to show before each hit; at most [`Grep::CONTEXT_MAX`].
    pub before: u64,
    /// Lines to show behind each hit; at most [`Grep::CONTEXT_MAX`].
    pub after: u64,
    /// Hits after which to stop; 1 to [`Grep::HITS_MAX`].
    pub hits_max: usize,
    /// Bytes after which to stop.
    pub search_bytes_max: u64,
    /// When to stop. Looked at before each block of 64 KiB, so it can pass by what one takes: a tenth of a millisecond, or
    /// a second and more if pattern and content are made for each other.
    pub deadline: Instant,
    /// How much of the lines is shown.
    pub bounds: Bounds,
}

/// A line that matches, or a piece of 64 KiB of a longer one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The number of its line; the first is 1.
    pub number: u64,
    /// Where its line starts.
    pub offset: u64,
    /// Which bytes of the content match; the first match of the line.
    pub matched: Range<u64>,
}

/// A line of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLine {
    /// The line; a long one is shown around the match.
    pub line: Line,
    /// Which of [`Found::hits`] it shows. A line of the context shows none.
    pub hit: Option<usize>,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The hits, in order.
    pub hits: Vec<Hit>,
    /// The lines of the hits and around them, in order; where a number is left out, there is a gap.
    pub lines: Vec<FoundLine>,
    /// Whether lines are missing because the bounds were reached. The hits are all there.
    pub lines_cut: bool,
    /// Why the search ended before the end of the content.
    pub stopped: Option<Stop>,
    /// Where to go on.
    pub next: Option<u64>,
    /// Bytes searched.
    pub searched: u64,
    /// How often a line was so long that it was searched in pieces.
    pub pieces: u64,
}

/// Why a search ended before the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// There are as many hits as were asked for; there may be more.
    Hits,
    /// So many bytes were searched.
    Bytes,
    /// The deadline passed.
    Deadline,
    /// Whoever asked gave up.
    Cancelled,
}

impl Grep<'_> {
    /// Hits of one search, at most.
    pub const HITS_MAX: usize = 10_000;
    /// Lines shown before and behind a hit, at most.
    pub const CONTEXT_MAX: u64 = 100;
}

impl Artifact {
    /// Searches line by line, in time linear in the content.
    ///
    /// A line longer than 64 KiB is searched in pieces, each as if it were a line, that overlap by 4 KiB; so a match
    /// longer than that may be missed where two pieces meet, and `^` and `$` match at the ends of pieces.
    /// `go_on` is asked before each block of 64 KiB.
    ///
    /// # Errors
    /// `E_ARTIFACT_RANGE` if a limit is out of its range or `from` behind the end; `E_ARTIFACT_DAMAGED`;
    /// `E_STATE_UNAVAILABLE`.
    pub fn grep(&self, grep: &Grep<'_>, go_on: &mut dyn FnMut() -> bool) -> Result<Found, ArtifactError> {
        if !(1..=Grep::HITS_MAX).contains(&grep.hits_max) {
            return Err(ArtifactError::Range("a search is bounded by 1 to 10000 hits"));
        }
        if grep.before.max(grep.after) > Grep::CONTEXT_MAX {
            return Err(ArtifactError::Range("at most 100 lines are shown before and behind a hit"));
        }
        if grep.from > self.byte_length() {
            return Err(ArtifactError::Range("the artifact has fewer bytes"));
        }
        let mut search = Search::new(self, grep);
        search.run(go_on)?;
        let mut found = search.found;
        self.number(&mut found.hits)?;
        self.show(grep, &mut found)?;
        Ok(found)
    }

    fn number(&self, hits: &mut [Hit]) -> Result<(), ArtifactError> {
        if hits.is_empty() {
            return Ok(());
        }
        let mut reader = LineReader::new(self)?;
        for hit in hits {
            let (line, offset) = reader.line_at(hit.matched.start)?;
            (hit.number, hit.offset) = (line + 1, offset);
        }
        Ok(())
    }

    /// Reads the lines of the hits and around them, each once.
    fn show(&self, grep: &Grep<'_>, found: &mut Found) -> Result<(), ArtifactError> {
        let mut left = grep.bounds;
        // The first line, from 0, that was not shown yet.
        let mut unshown = 0;
        for (index, hit) in found.hits.iter().enumerate() {
            let line = hit.number - 1;
            let before = line.saturating_sub(grep.before).max(unshown)..line;
            let next = found.hits.get(index + 1).map_or(self.line_count(), |next| next.number - 1);
            let after = line + 1..(line + 1).saturating_add(grep.after).min(next);
            unshown = after.end.max(line + 1);
            let whole = self.show_context(before, &mut left, &mut found.lines)?
                && self.show_hit(hit, index, &mut left, &mut found.lines)?
                && self.show_context(after, &mut left, &mut found.lines)?;
            if !whole {
                found.lines_cut = true;
                break;
            }
        }
        Ok(())
    }

    fn show_context(
        &self,
        range: Range<u64>,
        left: &mut Bounds,
        lines: &mut Vec<FoundLine>,
    ) -> Result<bool, ArtifactError> {
        let read = self.read_lines(range, *left)?;
        for line in read.lines {
            left.lines -= 1;
            left.bytes -= line.bytes.len();
            lines.push(FoundLine { line, hit: None });
        }
        Ok(read.next.is_none())
    }

    fn show_hit(
        &self,
        hit: &Hit,
        index: usize,
        left: &mut Bounds,
        lines: &mut Vec<FoundLine>,
    ) -> Result<bool, ArtifactError> {
        let mut reader = LineReader::new(self)?;
        let end = reader.end_of(hit.number - 1, hit.offset)?;
        let most = left.line_bytes as u64;
        // The whole line if it fits; else from a little before the match.
        let mut shown = hit.offset;
        if end.text - hit.offset > most && hit.matched.end - hit.offset > most {
            shown =
                hit.matched.start.saturating_sub(most / 4).clamp(hit.offset, end.text.saturating_sub(most));
        }
        let count = usize::try_from((end.text - shown).min(most)).unwrap_or(usize::MAX);
        if left.lines == 0 || count > left.bytes {
            return Ok(false);
        }
        left.lines -= 1;
        left.bytes -= count;
        let line = reader.line(hit.number - 1, hit.offset, end, shown, count)?;
        lines.push(FoundLine { line, hit: Some(index) });
        Ok(true)
    }
}

/// One search under way: a buffer that starts at a line, or within a long one.
struct Search<'a> {
    artifact: &'a Artifact,
    grep: &'a Grep<'a>,
    buffer: Vec<u8>,
    filled: usize,
    /// The offset of the buffer.
    base: u64,
    found: Found,
}

impl<'a> Search<'a> {
    fn new(artifact: &'a Artifact, grep: &'a Grep<'a>) -> Self {
        let buffer = vec![0; BLOCK_BYTES];
        Self { artifact, grep, buffer, filled: 0, base: grep.from, found: Found::default() }
    }

    fn run(&mut self, go_on: &mut dyn FnMut() -> bool) -> Result<(), ArtifactError> {
        while self.base < self.artifact.byte_length() {
            self.found.stopped = self.reason_to_stop(go_on);
            if self.found.stopped.is_some() {
                self.found.next = Some(self.base);
                break;
            }
            let block = self.fill_block()?;
            let searched = self.search(block.end)?;
            let kept = if searched < block.end { searched } else { block.next };
            self.buffer.copy_within(kept..self.filled, 0);
            self.filled -= kept;
            self.base += kept as u64;
            self.found.searched = self.base - self.grep.from;
        }
        Ok(())
    }

    fn reason_to_stop(&self, go_on: &mut dyn FnMut() -> bool) -> Option<Stop> {
        match () {
            () if self.found.hits.len() >= self.grep.hits_max => Some(Stop::Hits),
            () if self.found.searched >= self.grep.search_bytes_max => Some(Stop::Bytes),
            () if Instant::now() >= self.grep.deadline => Some(Stop::Deadline),
            () if !go_on() => Some(Stop::Cancelled),
            () => None,
        }
    }

    /// Fills the buffer, and says how much of it to search: up to the last newline, or all of it if there is none.
    fn fill_block(&mut self) -> Result<Block, ArtifactError> {
        let left = self.artifact.byte_length() - self.base;
        let end = usize::try_from(left).unwrap_or(usize::MAX).min(BLOCK_BYTES);
        let at = self.base + self.filled as u64;
        fill(&self.artifact.content, &mut self.buffer[self.filled..end], at)?;
        self.filled = end;
        if end as u64 == left {
            return Ok(Block { end, next: end });
        }
        if let Some(newline) = memrchr(b'\n', &self.buffer[..end]) {
            return Ok(Block { end: newline + 1, next: newline + 1 });
        }
        self.found.pieces += 1;
        Ok(Block { end, next: end - OVERLAP_BYTES })
    }

    /// Searches this much of the buffer. Returns where it stopped, which is earlier if there are hits enough.
    fn search(&mut self, end: usize) -> Result<usize, ArtifactError> {
        let matcher = &self.grep.pattern.matcher;
        let never = |_| ArtifactError::Damaged("cannot be searched");
        let mut at = 0;
        while at < end {
            let rest = &self.buffer[at..end];
            let Some(candidate) = matcher.find_candidate_line(rest).map_err(never)? else { return Ok(end) };
            let (LineMatchKind::Confirmed(near) | LineMatchKind::Candidate(near)) = candidate;
            let start = memrchr(b'\n', &rest[..near]).map_or(0, |newline| newline + 1);
            // Behind the last newline there is no line.
            if start == rest.len() {
                return Ok(end);
            }
            let length = memchr(b'\n', &rest[start..]).unwrap_or(rest.len() - start);
            let line = &rest[start..start + length];
            let found = matcher.find(line).map_err(never)?;
            if let Some(found) = found {
                let offset = self.base + (at + start) as u64;
                self.hit(offset + found.start() as u64..offset + found.end() as u64);
            }
            at = (at + start + length + 1).min(end);
            if self.found.hits.len() >= self.grep.hits_max {
                return Ok(at);
            }
        }
        Ok(end)
    }

    fn hit(&mut self, matched: Range<u64>) {
        // Two pieces of one line overlap, and may both have found it.
        if self.found.hits.last().is_none_or(|last| last.matched.start < matched.start) {
            self.found.hits.push(Hit { number: 0, offset: 0, matched });
        }
    }
}

/// How much of the buffer to search, and where the next block starts.
struct Block {
    end: usize,
    next: usize,
}

/// What one look at the deadline is for. A larger one is no faster, and some patterns take a microsecond a byte and more.
const BLOCK_BYTES: usize = 64 << 10;
const OVERLAP_BYTES: usize = 4 << 10;
