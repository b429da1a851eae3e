//! `diff`: what differs between two skills, file by file and line by line.

use std::path::PathBuf;
use std::time::Duration;

use fumehood_core::{Coded as _, RelPath};
use fumehood_store::{CaptureError, Snapshot, SnapshotFile};
use similar::{Algorithm, ChangeTag, TextDiff};

use super::check::{inspection_of, name_of};
use super::{Host, Opened};
use crate::fault::Fault;
use crate::report::{ChangedFile, DiffReport, DiffSide, FileOut, LineChange, SCHEMA_VERSION};

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
        let changed = both.filter(|(_, old, new)| old.sha256() != new.sha256()).map(changed_file).collect();
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
        let name = name_of(&inspection_of(&*folder), &*folder);
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

fn out((path, file): (&RelPath, &SnapshotFile)) -> FileOut {
    FileOut {
        path: path.to_string(),
        size: file.size(),
        sha256: Some(file.sha256().to_string()),
        link: false,
    }
}

fn changed_file((path, old, new): (&RelPath, &SnapshotFile, &SnapshotFile)) -> ChangedFile {
    ChangedFile {
        path: path.to_string(),
        before: out((path, old)),
        after: out((path, new)),
        lines: line_changes(old.bytes(), new.bytes()),
    }
}

fn line_changes(old: &[u8], new: &[u8]) -> Option<Vec<LineChange>> {
    if old.len().max(new.len()) > COMPARED_BYTES_MAX {
        return None;
    }
    let (old, new) = (std::str::from_utf8(old).ok()?, std::str::from_utf8(new).ok()?);
    // The time bound only makes a difference longer than it need be, never wrong.
    let diff =
        TextDiff::configure().algorithm(Algorithm::Myers).timeout(COMPARE_TIME_MAX).diff_lines(old, new);
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
    Some(line.collect())
}

const COMPARED_BYTES_MAX: usize = 1 << 20;
const COMPARE_TIME_MAX: Duration = Duration::from_secs(2);
const CONTEXT_LINES: usize = 3;
