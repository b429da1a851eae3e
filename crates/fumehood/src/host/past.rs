//! What a person said yes to before, kept to show what changed since. Nothing is decided by it, and nothing runs from it.
//!
//! The last revision of a skill is the one that a yes or a saved trust scope was about last, whatever became of it after.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use fumehood_core::line_diff::{DiffLine, line_diff, near_changes};
use fumehood_core::{Frame, Json, RelPath, SkillName};
use fumehood_store::{ApprovedText, Flush, Journal, Snapshot, text_of};

use super::run::Captured;
use crate::report::{FileSince, LineChange};

/// Which skill: a name in a source.
#[derive(Clone, Debug)]
pub(super) struct SkillId {
    source: String,
    name: SkillName,
}

/// A revision as it was written down when a person said yes to it.
pub(super) struct Past {
    pub(super) revision: String,
    pub(super) approved_unix_ms: u64,
    /// The digest of each file.
    pub(super) files: BTreeMap<String, String>,
    /// Bytes of each file, where they were written down.
    pub(super) sizes: BTreeMap<String, u64>,
}

impl SkillId {
    pub(super) fn of(skill: &Captured) -> Self {
        Self { source: skill.source.clone(), name: skill.name.clone() }
    }

    /// One for each skill of each source: a hash, since a path may be the name of a skill.
    fn row_id(&self) -> String {
        let mut frame = Frame::new("approved", 1);
        frame.part(self.source.as_bytes());
        frame.part(self.name.as_str().as_bytes());
        format!("approved_{}", frame.sha256())
    }
}

/// The revision of a skill that was approved last, if one is on record.
pub(super) fn past(journal: &Journal, skill: &SkillId) -> Option<Past> {
    let last = journal.by_id(&skill.row_id(), 1).ok()?.pop()?;
    let past = Past::read(&last.json)?;
    Some(Past { approved_unix_ms: u64::try_from(last.time_ms).unwrap_or(0), ..past })
}

/// Puts a revision on record as the one that was approved last, and keeps its text. Without either the next question says less,
/// and nothing else is lost, so neither is a reason to fail.
pub(super) fn remember(journal: &Journal, kept: &ApprovedText, skill: &SkillId, snapshot: &Snapshot) {
    let _ = kept.keep(&skill.source, &skill.name, snapshot);
    let revision = snapshot.revision().to_string();
    if past(journal, skill).is_some_and(|past| past.revision == revision) {
        return;
    }
    let files = digests(snapshot).into_iter().map(|(path, sha256)| (path, Json::String(sha256)));
    let size = |file: &fumehood_store::SnapshotFile| Json::Number(file.size().into());
    let sizes = snapshot.files().map(|(path, file)| (path.as_str().to_owned(), size(file)));
    let row = [
        ("id", Json::String(skill.row_id())),
        ("revision", Json::String(revision)),
        ("files", Json::Object(files.collect())),
        ("sizes", Json::Object(sizes.collect())),
    ];
    let row = Json::Object(row.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
    let text = String::from_utf8_lossy(&row.to_bytes()).into_owned();
    let _ = journal.append(ROW_APPROVED, &text, SystemTime::now(), Flush::Soon);
}

/// The digest of each file.
pub(super) fn digests(snapshot: &Snapshot) -> BTreeMap<String, String> {
    let digest = |(path, file): (&RelPath, &fumehood_store::SnapshotFile)| {
        (path.as_str().to_owned(), file.sha256().to_string())
    };
    snapshot.files().map(digest).collect()
}

impl Past {
    /// The revision and the files of a row that names them.
    pub(super) fn read(json: &str) -> Option<Self> {
        let json = Json::parse(json.as_bytes(), Journal::JSON_BYTES_MAX).ok()?;
        let fields = json.as_object()?;
        let revision = fields.get("revision")?.as_str()?.to_owned();
        let files = fields.get("files")?.as_object()?;
        let text = |(path, sha256): (&String, &Json)| Some((path.clone(), sha256.as_str()?.to_owned()));
        let files = files.iter().map(text).collect::<Option<_>>()?;
        let size = |(path, bytes): (&String, &Json)| match bytes {
            Json::Number(bytes) => Some((path.clone(), bytes.as_u64()?)),
            _ => None,
        };
        let sizes = fields.get("sizes").and_then(Json::as_object);
        let sizes = sizes.into_iter().flatten().filter_map(size).collect();
        Some(Self { revision, approved_unix_ms: 0, files, sizes })
    }

    /// How the files of a skill differ from those of this revision, in the order of their paths, with as many lines as a person
    /// at a prompt can be shown.
    pub(super) fn since(&self, kept: &ApprovedText, snapshot: &Snapshot) -> Vec<FileSince> {
        let new = digests(snapshot);
        let paths: BTreeSet<_> = self.files.keys().chain(new.keys()).collect();
        let differing = paths.into_iter().filter(|path| self.files.get(*path) != new.get(*path));
        let mut room = Room { lines: LINES_MAX, bytes: COMPARED_BYTES_MAX };
        let file = |path: &String| {
            let change = match (self.files.get(path), new.get(path)) {
                (None, _) => ADDED,
                (_, None) => REMOVED,
                _ => CHANGED,
            };
            let shown = match self.files.get(path).map(|sha256| kept.read(sha256)) {
                // Its name says all there is to it.
                _ if change == REMOVED => Ok((Vec::new(), 0)),
                Some(None) => Err("what it was is not kept"),
                Some(Some(old)) => room.differing(&old, snapshot, path),
                None => room.differing("", snapshot, path),
            };
            let (lines, lines_left_out, not_shown) = match shown {
                Ok((lines, left_out)) => (lines, left_out, None),
                Err(reason) => (Vec::new(), 0, Some(reason)),
            };
            FileSince {
                path: path.clone(),
                change: change.into(),
                lines,
                lines_left_out,
                not_shown: not_shown.map(Into::into),
            }
        };
        differing.map(file).collect()
    }
}

/// What may still be compared and shown, for all files of one question together.
struct Room {
    lines: usize,
    bytes: usize,
}

impl Room {
    /// The lines for which there is room, and how many there are beyond; or why there are none.
    fn differing(
        &mut self,
        old: &str,
        snapshot: &Snapshot,
        path: &str,
    ) -> Result<(Vec<LineChange>, usize), &'static str> {
        let new = RelPath::parse(path).ok().and_then(|path| snapshot.get(&path));
        let new = new.and_then(|file| text_of(file.bytes())).ok_or("no text, or larger than 1 MiB")?;
        let bytes = old.len() + new.len();
        if self.lines == 0 || bytes > self.bytes {
            return Err("too much to show here");
        }
        self.bytes -= bytes;
        let mut lines = near_changes(line_diff(old, new), CONTEXT_LINES);
        let left_out = lines.len().saturating_sub(self.lines);
        lines.truncate(self.lines);
        self.lines -= lines.len();
        Ok((lines.into_iter().map(LineChange::from).collect(), left_out))
    }
}

impl From<DiffLine<'_>> for LineChange {
    fn from(line: DiffLine<'_>) -> Self {
        let (change, before, after, text) = match line {
            DiffLine::Kept { old, new, text } => ("same", Some(old), Some(new), text),
            DiffLine::Removed { line, text } => ("removed", Some(line), None, text),
            DiffLine::Added { line, text } => ("added", None, Some(line), text),
        };
        Self {
            change: change.into(),
            before,
            after,
            text: text.strip_suffix('\n').unwrap_or(text).to_owned(),
        }
    }
}

pub(super) const ADDED: &str = "added";
pub(super) const CHANGED: &str = "changed";
pub(super) const REMOVED: &str = "removed";
const ROW_APPROVED: &str = "revision.approved";
const CONTEXT_LINES: usize = 2;
/// Lines of one question.
const LINES_MAX: usize = 200;
/// Bytes of both sides of all files of one question.
const COMPARED_BYTES_MAX: usize = 8 << 20;
