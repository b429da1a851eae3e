//! `diff`: what differs between two skills, file by file and line by line.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fumehood_core::{Coded as _, RelPath};
use fumehood_store::{CaptureError, Snapshot, SnapshotFile};
use similar::{Algorithm, ChangeTag, TextDiff};

use super::{Host, Opened};
use crate::fault::Fault;
use crate::report::{ChangedFile, DiffFile, DiffReport, DiffSide, LineChange, SCHEMA_VERSION};

impl Host {
    /// Compares two skills as they are now, from two captures.
    ///
    /// # Errors
    /// Those of [`Host::show`]; `E_NO_REVISION`, `E_SNAPSHOT_CHANGED` or `E_FILE_UNREADABLE` if one
    /// of them has no revision.
    pub fn diff(&self, before: &str, after: &str, roots: &[PathBuf]) -> Result<DiffReport, Fault> {
        let (before_side, before) = self.side(before, roots)?;
        let (after_side, after) = self.side(after, roots)?;
        let only_in = |one: &Snapshot, other: &Snapshot| {
            one.files().filter(|(path, _)| other.get(path).is_none()).map(out).collect::<Vec<_>>()
        };
        let both = before.files().filter_map(|(path, old)| after.get(path).map(|new| (path, old, new)));
        let mut budget = Budget { deadline: Instant::now() + COMPARE_TIME_MAX, lines_left: LINES_MAX };
        let differs = both.filter(|(_, old, new)| old.sha256() != new.sha256());
        let changed = differs.map(|(path, old, new)| budget.changed_file(path, old, new)).collect();
        Ok(DiffReport {
            schema_version: SCHEMA_VERSION,
            identical: before.revision() == after.revision(),
            added: only_in(&after, &before),
            removed: only_in(&before, &after),
            changed,
            before: before_side,
            after: after_side,
        })
    }

    fn side(&self, skill: &str, roots: &[PathBuf]) -> Result<(DiffSide, Snapshot), Fault> {
        let Opened { folder, .. } = self.open(skill, roots)?;
        let snapshot = folder.capture().map_err(|error| capture_fault(&error, &folder.location()))?;
        let reading = snapshot.skill_md().reading(folder.directory_name());
        let name = reading.skill.map_or_else(|| folder.fallback_name(), |skill| skill.name);
        Ok((DiffSide { name, path: folder.location(), revision: snapshot.revision().to_string() }, snapshot))
    }
}

fn capture_fault(error: &CaptureError, location: &str) -> Fault {
    let advice = match error {
        CaptureError::Changed => "try again when nothing writes to it",
        _ => "`fumehood show` lists what is in the way",
    };
    Fault::new(error.code(), format!("{}: {error}", fumehood_core::Shown::inline(location)), advice)
}

fn out((path, file): (&RelPath, &SnapshotFile)) -> DiffFile {
    DiffFile { path: path.to_string(), size: file.size(), sha256: file.sha256().to_string() }
}

/// What comparing by lines may still cost, for all files of one difference together. What is beyond it is still named as
/// changed, with sizes and digests.
struct Budget {
    deadline: Instant,
    lines_left: usize,
}

impl Budget {
    fn changed_file(&mut self, path: &RelPath, old: &SnapshotFile, new: &SnapshotFile) -> ChangedFile {
        let lines = line_changes(old.bytes(), new.bytes(), self.deadline, self.lines_left);
        self.lines_left -= lines.as_ref().map_or(0, Vec::len);
        ChangedFile { path: path.to_string(), before: out((path, old)), after: out((path, new)), lines }
    }
}

/// The lines that differ; nothing if a side is no text or too large, or the time is over, or there are too many.
pub(super) fn line_changes(
    old: &[u8],
    new: &[u8],
    deadline: Instant,
    lines_max: usize,
) -> Option<Vec<LineChange>> {
    if old.len().max(new.len()) > COMPARED_BYTES_MAX || Instant::now() >= deadline {
        return None;
    }
    let (old, new) = (std::str::from_utf8(old).ok()?, std::str::from_utf8(new).ok()?);
    // The time bound only makes a difference longer than it need be, never wrong.
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).deadline(deadline).diff_lines(old, new);
    let groups = diff.grouped_ops(CONTEXT_LINES);
    let changes = groups.iter().flatten().flat_map(|op| diff.iter_changes(op));
    let line = changes.map(|change| LineChange {
        change: match change.tag() {
            ChangeTag::Equal => "same",
            ChangeTag::Delete => "removed",
            ChangeTag::Insert => "added",
        },
        before: change.old_index().map(|index| index + 1),
        after: change.new_index().map(|index| index + 1),
        text: change.value().strip_suffix('\n').unwrap_or(change.value()).to_owned(),
    });
    let lines: Vec<_> = line.take(lines_max + 1).collect();
    (lines.len() <= lines_max).then_some(lines)
}

const COMPARED_BYTES_MAX: usize = 1 << 20;
const COMPARE_TIME_MAX: Duration = Duration::from_secs(3);
const LINES_MAX: usize = 100_000;
const CONTEXT_LINES: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_at_the_limit_are_shown_and_one_more_is_not() {
        let later = Instant::now() + Duration::from_mins(1);
        let (old, new) = ("a\n".repeat(10), "b\n".repeat(10));
        let lines = |max| line_changes(old.as_bytes(), new.as_bytes(), later, max).map(|lines| lines.len());
        assert_eq!((lines(20), lines(19)), (Some(20), None));
        // When the time is over nothing is begun.
        assert!(line_changes(old.as_bytes(), new.as_bytes(), Instant::now(), 20).is_none());
        assert!(line_changes(b"a\xff", b"b", later, 20).is_none());
    }
}
