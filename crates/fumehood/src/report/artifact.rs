//! The answers of `fumehood artifact …`.

use serde::Serialize;

use fumehood_store::{Artifact, Found, FoundLine, Hit, Line, LineEnd, Lines, Listed, Pruned, Stop};

use super::{Content, SCHEMA_VERSION};

/// The answer of `artifact list`.
#[derive(Clone, Debug, Serialize)]
pub struct ArtifactListReport {
    /// 1.
    pub schema_version: u32,
    /// The artifacts, newest first.
    pub artifacts: Vec<ListedArtifact>,
    /// Bytes of the store's room that they take.
    pub room_bytes: u64,
    /// The room there is, in bytes.
    pub room_bytes_max: u64,
}

/// One artifact of a list. What is null is not known, because its description is damaged.
#[derive(Clone, Debug, Serialize)]
pub struct ListedArtifact {
    /// Its id.
    pub id: String,
    /// The agent it belongs to: a label that the host gave.
    pub agent: Option<String>,
    /// The run it came from.
    pub run: Option<String>,
    /// Bytes of its content.
    pub bytes: Option<u64>,
    /// Lines of its content; a last one without a newline counts.
    pub lines: Option<u64>,
    /// SHA-256 of its content when it was kept.
    pub sha256: Option<String>,
    /// When it was started, in milliseconds since 1970; of a damaged one, when its content was last changed.
    pub created_unix_ms: u64,
    /// Bytes of the store's room that it takes.
    pub room_bytes: u64,
    /// Whether its description is damaged. It cannot be read then, only pruned.
    pub damaged: bool,
}

/// The answer of `artifact head`, `tail` and `cat`.
#[derive(Clone, Debug, Serialize)]
pub struct ArtifactLinesReport {
    /// 1.
    pub schema_version: u32,
    /// The artifact.
    pub id: String,
    /// Bytes of its whole content.
    pub bytes: u64,
    /// Lines of its whole content.
    pub line_count: u64,
    /// The lines.
    pub lines: Vec<ArtifactLine>,
    /// The first line that was asked for and did not fit into the answer.
    pub next_line: Option<u64>,
}

/// A line, or the part of it that fits.
#[derive(Clone, Debug, Serialize)]
pub struct ArtifactLine {
    /// Its number, from 1.
    pub number: u64,
    /// Where the line starts, in bytes.
    pub offset: u64,
    /// Its bytes without the line end, however many are given.
    pub length: u64,
    /// Bytes left out before what is given.
    pub cut_before: u64,
    /// Bytes left out behind what is given.
    pub cut_after: u64,
    /// What ends it: `lf`, `crlf`, or `none` where the content ends.
    pub end: &'static str,
    /// The part that is given, without the line end.
    #[serde(flatten)]
    pub content: Content,
}

/// The answer of `artifact grep`.
#[derive(Clone, Debug, Serialize)]
pub struct ArtifactGrepReport {
    /// 1.
    pub schema_version: u32,
    /// The artifact.
    pub id: String,
    /// The matches, in order, one for each line; a line above 64 KiB is searched in pieces and can have one in each.
    pub hits: Vec<ArtifactHit>,
    /// The lines of the matches and around them, each once.
    pub lines: Vec<FoundArtifactLine>,
    /// Whether lines of some hits are left out, because they would make the answer too large.
    pub lines_cut: bool,
    /// Why the search ended before the end: `hits`, `deadline` or `cancelled`; null if it did not.
    pub stopped: Option<&'static str>,
    /// Where to go on, in bytes, if anything was left out.
    pub next_offset: Option<u64>,
    /// Bytes that were searched.
    pub searched_bytes: u64,
    /// How often a line was so long that it was searched in pieces.
    pub pieces: u64,
}

/// A match.
#[derive(Clone, Debug, Serialize)]
pub struct ArtifactHit {
    /// The number of its line, from 1.
    pub line: u64,
    /// Where its line starts, in bytes.
    pub line_offset: u64,
    /// Its first byte.
    pub start: u64,
    /// The byte behind its last.
    pub end: u64,
}

/// A line of a search.
#[derive(Clone, Debug, Serialize)]
pub struct FoundArtifactLine {
    /// Whether it matches; the others are around one that does.
    pub matches: bool,
    /// The line.
    #[serde(flatten)]
    pub line: ArtifactLine,
}

/// The answer of `artifact slice`.
#[derive(Clone, Debug, Serialize)]
pub struct ArtifactSliceReport {
    /// 1.
    pub schema_version: u32,
    /// The artifact.
    pub id: String,
    /// Bytes of its whole content.
    pub bytes: u64,
    /// The first byte given.
    pub offset: u64,
    /// Bytes given.
    pub length: u64,
    /// The first byte that was asked for and did not fit into the answer.
    pub next_offset: Option<u64>,
    /// The bytes.
    #[serde(flatten)]
    pub content: Content,
}

/// The answer of `artifact byte-length`, `line-count` and `estimate-tokens`.
#[derive(Clone, Debug, Serialize)]
pub struct ArtifactSizeReport {
    /// 1.
    pub schema_version: u32,
    /// The artifact.
    pub id: String,
    /// Bytes of its content.
    pub byte_length: u64,
    /// Lines of its content; a last one without a newline counts.
    pub line_count: u64,
    /// What its content costs a model, estimated: 2.8 bytes a token, rounded up.
    pub estimated_tokens: u64,
}

/// The answer of `artifact prune`.
#[derive(Clone, Debug, Serialize)]
pub struct ArtifactPruneReport {
    /// 1.
    pub schema_version: u32,
    /// Whether nothing was removed, and this says what would be.
    pub dry_run: bool,
    /// The artifacts, oldest first.
    pub removed: Vec<ListedArtifact>,
    /// The room they took, in bytes.
    pub removed_room_bytes: u64,
    /// The room that the rest takes, in bytes.
    pub kept_room_bytes: u64,
    /// Ids that were named and are no artifacts.
    pub missing: Vec<String>,
}

impl ListedArtifact {
    pub(crate) fn of(listed: &Listed) -> Self {
        let info = listed.info.as_ref();
        let since = listed.created.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self {
            id: listed.id.to_string(),
            agent: info.map(|info| info.agent.clone()),
            run: info.map(|info| info.run.clone()),
            bytes: info.map(|info| info.bytes),
            lines: info.map(|info| info.lines),
            sha256: info.map(|info| info.sha256.clone()),
            created_unix_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            room_bytes: listed.bytes,
            damaged: info.is_none(),
        }
    }
}

impl ArtifactLinesReport {
    pub(crate) fn of(artifact: &Artifact, lines: Lines) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            id: artifact.info().id.to_string(),
            bytes: artifact.byte_length(),
            line_count: artifact.line_count(),
            lines: lines.lines.into_iter().map(ArtifactLine::of).collect(),
            next_line: lines.next,
        }
    }
}

impl ArtifactLine {
    fn of(line: Line) -> Self {
        let cut = |cut: Option<fumehood_store::Cut>| cut.map_or(0, |cut| cut.bytes);
        Self {
            number: line.number,
            offset: line.offset,
            length: line.length,
            cut_before: cut(line.cut_before()),
            cut_after: cut(line.cut_after()),
            end: match line.end {
                LineEnd::Lf => "lf",
                LineEnd::CrLf => "crlf",
                LineEnd::Open => "none",
            },
            content: Content::new(line.bytes),
        }
    }
}

impl ArtifactGrepReport {
    pub(crate) fn of(artifact: &Artifact, found: Found) -> Self {
        let next_offset = if found.lines_cut { first_unshown(&found) } else { found.next };
        Self {
            schema_version: SCHEMA_VERSION,
            id: artifact.info().id.to_string(),
            next_offset,
            hits: found.hits.iter().map(ArtifactHit::of).collect(),
            lines_cut: found.lines_cut,
            stopped: found.stopped.map(|stop| match stop {
                Stop::Hits => "hits",
                Stop::Bytes => "bytes",
                Stop::Deadline => "deadline",
                Stop::Cancelled => "cancelled",
            }),
            searched_bytes: found.searched,
            pieces: found.pieces,
            lines: found.lines.into_iter().map(FoundArtifactLine::of).collect(),
        }
    }
}

/// Where a search has to start to show the first hit whose line was left out.
fn first_unshown(found: &Found) -> Option<u64> {
    let shown = found.lines.iter().filter_map(|line| line.hit).max();
    let first = shown.map_or(0, |last| last + 1);
    let hit = found.hits.get(first)?;
    // A second hit of a line that was shown already is in a later piece of it.
    let in_shown_line = shown.is_some_and(|last| found.hits[last].number == hit.number);
    Some(if in_shown_line { hit.matched.start } else { hit.offset })
}

impl ArtifactHit {
    fn of(hit: &Hit) -> Self {
        Self { line: hit.number, line_offset: hit.offset, start: hit.matched.start, end: hit.matched.end }
    }
}

impl FoundArtifactLine {
    fn of(found: FoundLine) -> Self {
        Self { matches: found.hit.is_some(), line: ArtifactLine::of(found.line) }
    }
}

impl ArtifactPruneReport {
    pub(crate) fn of(pruned: &Pruned, dry_run: bool) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            dry_run,
            removed: pruned.removed.iter().map(ListedArtifact::of).collect(),
            removed_room_bytes: pruned.bytes,
            kept_room_bytes: pruned.kept_bytes,
            missing: pruned.missing.iter().map(ToString::to_string).collect(),
        }
    }
}
