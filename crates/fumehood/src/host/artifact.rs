//! `artifact`: reading what runs left, and removing it.

use std::ops::Range;
use std::time::{Instant, SystemTime};

use fumehood_core::{ArtifactId, Code, Coded as _};
use fumehood_store::{Artifact, ArtifactError, Artifacts, Bounds, Grep, Pattern, PruneRule, Pruned};

use super::{ByteRange, Host, of_other_kind};
use crate::fault::Fault;
use crate::report::{
    ArtifactGrepReport, ArtifactLinesReport, ArtifactListReport, ArtifactPruneReport, ArtifactSizeReport,
    ArtifactSliceReport, Content, ListedArtifact, SCHEMA_VERSION,
};

pub use fumehood_store::{Asker, Case};

/// Which lines of an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineRange {
    /// So many from the first on.
    Head(u64),
    /// So many up to the last.
    Tail(u64),
    /// From a number to a number, both from 1 and both included; to the last if there is no second.
    Numbers(u64, Option<u64>),
}

/// Which bytes of an artifact are wanted as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Whole lines with their ends.
    Lines(LineRange),
    /// Bytes by offset, up to the end of the content at most.
    Bytes(ByteRange),
}

/// What to search an artifact for, and how far.
#[derive(Clone, Copy, Debug)]
pub struct ArtifactSearch<'a> {
    /// A regular expression, or a text.
    pub pattern: &'a str,
    /// Whether `pattern` is a text.
    pub fixed: bool,
    /// Whether letters match their other case.
    pub case: Case,
    /// Where to start: 0, or where an earlier search says to go on.
    pub from: u64,
    /// Lines to show before and behind each match; at most 100.
    pub context: u64,
    /// Matching lines after which to stop; 1 to 10,000.
    pub hits_max: usize,
    /// Bytes of one line that are shown; 1 to 65,536.
    pub line_bytes: usize,
    /// When to stop.
    pub deadline: Instant,
}

/// Which artifacts to remove: all that one of these says.
#[derive(Clone, Debug, Default)]
pub struct ArtifactPrune {
    /// Those that are older.
    pub older_than: Option<std::time::Duration>,
    /// The oldest, until the rest takes at most this much of the store's room, in bytes.
    pub keep_bytes: Option<u64>,
    /// These.
    pub ids: Vec<String>,
}

impl Host {
    /// The artifacts that the asker may see, newest first.
    ///
    /// # Errors
    /// `E_HOME_REFUSED`, `E_STATE_UNAVAILABLE`.
    pub fn artifacts(&self, asker: Asker<'_>) -> Result<ArtifactListReport, Fault> {
        let listed = match self.artifact_store()? {
            Some(store) => store.list(asker).map_err(|error| artifact_fault(&error))?,
            None => Vec::new(),
        };
        Ok(ArtifactListReport {
            schema_version: SCHEMA_VERSION,
            room_bytes: listed.iter().map(|one| one.bytes).sum(),
            room_bytes_max: Artifacts::BYTES_MAX_DEFAULT,
            artifacts: listed.iter().rev().map(ListedArtifact::of).collect(),
        })
    }

    /// Lines of an artifact, as many as fit into one answer: 10,000, 1 MiB, 4 KiB of each.
    ///
    /// # Errors
    /// `E_ID_INVALID`, `E_ARTIFACT_NOT_FOUND`, `E_ARTIFACT_RANGE`, `E_ARTIFACT_DAMAGED`, `E_HOME_REFUSED`,
    /// `E_STATE_UNAVAILABLE`.
    pub fn artifact_lines(
        &self,
        asker: Asker<'_>,
        id: &str,
        range: LineRange,
    ) -> Result<ArtifactLinesReport, Fault> {
        let artifact = self.artifact(asker, id)?;
        let (first, count) = range.of(&artifact);
        let lines = bounds(LINE_BYTES).and_then(|bounds| artifact.cat(first, count, bounds));
        Ok(ArtifactLinesReport::of(&artifact, lines.map_err(|error| artifact_fault(&error))?))
    }

    /// Gives a part of an artifact to `write` in pieces, as it is and however large, until `write` wants no more.
    ///
    /// # Errors
    /// Those of [`Host::artifact_lines`]; whatever `write` returns.
    pub fn read_artifact(
        &self,
        asker: Asker<'_>,
        id: &str,
        part: Part,
        write: &mut dyn FnMut(&[u8]) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        let artifact = self.artifact(asker, id)?;
        let span = match part {
            Part::Bytes(range) => span_of(&artifact, range),
            Part::Lines(range) => {
                let (first, count) = range.of(&artifact);
                artifact.line_span(first, count).map_err(|error| artifact_fault(&error))?
            }
        };
        let mut at = span.start;
        loop {
            let count = usize::try_from(span.end - at).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            // An offset behind the end is refused here, also where nothing is asked for.
            let piece = artifact.slice(at, count).map_err(|error| artifact_fault(&error))?;
            if piece.bytes.is_empty() || !write(&piece.bytes)? {
                return Ok(());
            }
            at += piece.bytes.len() as u64;
        }
    }

    /// Bytes of an artifact, as many as fit into one answer: 1 MiB.
    ///
    /// # Errors
    /// Those of [`Host::artifact_lines`].
    pub fn artifact_slice(
        &self,
        asker: Asker<'_>,
        id: &str,
        range: ByteRange,
    ) -> Result<ArtifactSliceReport, Fault> {
        let artifact = self.artifact(asker, id)?;
        let span = span_of(&artifact, range);
        let count = usize::try_from(span.end - span.start).unwrap_or(usize::MAX).min(Bounds::BYTES_MAX);
        let slice = artifact.slice(span.start, count).map_err(|error| artifact_fault(&error))?;
        let end = slice.offset + slice.bytes.len() as u64;
        Ok(ArtifactSliceReport {
            schema_version: SCHEMA_VERSION,
            id: artifact.info().id.to_string(),
            bytes: artifact.byte_length(),
            offset: slice.offset,
            length: slice.bytes.len() as u64,
            next_offset: (end < span.end).then_some(end),
            content: Content::new(slice.bytes),
        })
    }

    /// How large an artifact is.
    ///
    /// # Errors
    /// Those of [`Host::artifact_lines`].
    pub fn artifact_size(&self, asker: Asker<'_>, id: &str) -> Result<ArtifactSizeReport, Fault> {
        let artifact = self.artifact(asker, id)?;
        Ok(ArtifactSizeReport {
            schema_version: SCHEMA_VERSION,
            id: artifact.info().id.to_string(),
            byte_length: artifact.byte_length(),
            line_count: artifact.line_count(),
            estimated_tokens: artifact.estimate_tokens(),
        })
    }

    /// Searches an artifact. `go_on` is asked before each 64 KiB.
    ///
    /// # Errors
    /// Those of [`Host::artifact_lines`], and `E_ARTIFACT_PATTERN`.
    pub fn search_artifact(
        &self,
        asker: Asker<'_>,
        id: &str,
        search: &ArtifactSearch<'_>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<ArtifactGrepReport, Fault> {
        let compile = if search.fixed { Pattern::literal } else { Pattern::regex };
        let pattern = compile(search.pattern, search.case).map_err(|error| artifact_fault(&error))?;
        let artifact = self.artifact(asker, id)?;
        let grep = Grep {
            pattern: &pattern,
            from: search.from,
            before: search.context,
            after: search.context,
            hits_max: search.hits_max,
            search_bytes_max: u64::MAX,
            deadline: search.deadline,
            bounds: bounds(search.line_bytes).map_err(|error| artifact_fault(&error))?,
        };
        let found = artifact.grep(&grep, go_on).map_err(|error| artifact_fault(&error))?;
        Ok(ArtifactGrepReport::of(&artifact, found))
    }

    /// Removes artifacts, or says which ones it would. Only the person does this.
    ///
    /// # Errors
    /// `E_ID_INVALID`, `E_HOME_REFUSED`, `E_STATE_UNAVAILABLE`; some may be removed by then.
    pub fn prune_artifacts(
        &self,
        prune: &ArtifactPrune,
        now: SystemTime,
        dry_run: bool,
    ) -> Result<ArtifactPruneReport, Fault> {
        let ids = prune.ids.iter().map(|id| artifact_id(id)).collect::<Result<Vec<_>, _>>()?;
        let rule = PruneRule { older_than: prune.older_than, keep_bytes: prune.keep_bytes, ids };
        let pruned = match self.artifact_store()? {
            Some(store) => store.prune(&rule, now, dry_run).map_err(|error| artifact_fault(&error))?,
            None => Pruned { missing: rule.ids, ..Pruned::default() },
        };
        Ok(ArtifactPruneReport::of(&pruned, dry_run))
    }

    fn artifact(&self, asker: Asker<'_>, id: &str) -> Result<Artifact, Fault> {
        let id = artifact_id(id)?;
        let found = match self.artifact_store()? {
            Some(store) => store.get(id, asker),
            None => Err(ArtifactError::Missing),
        };
        found.map_err(|error| artifact_fault(&error))
    }

    fn artifact_store(&self) -> Result<Option<Artifacts>, Fault> {
        Artifacts::open_if_any(&self.home()?, Artifacts::BYTES_MAX_DEFAULT)
            .map_err(|error| artifact_fault(&error))
    }
}

impl LineRange {
    /// The first line, from 1, and how many.
    fn of(self, artifact: &Artifact) -> (u64, u64) {
        match self {
            Self::Head(count) => (1, count),
            Self::Tail(0) => (1, 0),
            Self::Tail(count) => (artifact.line_count().saturating_sub(count).saturating_add(1), count),
            Self::Numbers(first, last) => {
                (first, last.map_or(u64::MAX, |last| last.saturating_add(1).saturating_sub(first)))
            }
        }
    }
}

/// The bytes that are there of a range. One that starts behind the end is left for the reader to refuse.
fn span_of(artifact: &Artifact, range: ByteRange) -> Range<u64> {
    let end = range.length.map_or(u64::MAX, |length| range.offset.saturating_add(length));
    range.offset..end.min(artifact.byte_length()).max(range.offset)
}

fn bounds(line_bytes: usize) -> Result<Bounds, ArtifactError> {
    Bounds::new(Bounds::LINES_MAX, Bounds::BYTES_MAX, line_bytes)
}

fn artifact_id(text: &str) -> Result<ArtifactId, Fault> {
    ArtifactId::parse(text).map_err(|error| {
        Fault::of(&error, of_other_kind(text, "`fumehood artifact list` shows those of artifacts"))
    })
}

fn artifact_fault(error: &ArtifactError) -> Fault {
    let advice = match error.code() {
        Code::HomeRefused => "make the folder private, with mode 0700, or name another with FUMEHOOD_HOME",
        Code::ArtifactNotFound => "`fumehood artifact list` shows what is there; it may have been pruned",
        Code::ArtifactDamaged => "`fumehood artifact prune` can remove it",
        Code::ArtifactRange => "`fumehood artifact line-count` and `byte-length` say how much there is",
        Code::ArtifactPattern => {
            "see the syntax of Rust's regex crate, or use --fixed to find the text as it is"
        }
        _ => "try again; `fumehood doctor` looks at the state folder",
    };
    Fault::of(error, advice)
}

/// Bytes of one line in an answer. `slice` gives the rest.
const LINE_BYTES: usize = 4 << 10;
const PIECE_BYTES: usize = 256 << 10;
