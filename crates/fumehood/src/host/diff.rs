//! `diff`: what differs between two skills, or between one and what was approved of it, file by file and line by line.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fumehood_core::line_diff::{line_diff, near_changes};
use fumehood_core::{Code, Coded as _, RelPath};
use fumehood_store::{ApprovedText, CaptureError, Journal, Snapshot, SnapshotFile, text_of};

use super::past::{SkillId, past};
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

    /// Compares a skill as it is now with the revision of it that was approved last, as far as the text of that is kept.
    ///
    /// # Errors
    /// Those of [`Host::show`] and of a capture; `E_NOTHING_APPROVED`; `E_JOURNAL_FOREIGN`, `E_JOURNAL_DAMAGED`.
    pub fn diff_since_approved(&self, skill: &str, roots: &[PathBuf]) -> Result<DiffReport, Fault> {
        let home = self.home()?;
        let skill = self.captured(skill, roots)?;
        let (after, kept) = (&skill.snapshot, ApprovedText::of(&home));
        let journal = Journal::open_if_any(&home).map_err(|error| Fault::of(&error, "mend that first"))?;
        let past = journal.and_then(|journal| past(&journal, &SkillId::of(&skill))).ok_or_else(|| {
            let message = format!("no revision of {} was approved before", skill.qualified());
            Fault::new(
                Code::NothingApproved,
                message,
                "name another skill to compare it with; `fumehood show` says what it is now",
            )
        })?;
        let was = |path: &str, sha256: &str| DiffFile {
            path: path.to_owned(),
            size: past.sizes.get(path).copied().unwrap_or(0),
            sha256: sha256.to_owned(),
        };
        let gone = |path: &str| RelPath::parse(path).map_or(true, |path| after.get(&path).is_none());
        let removed = past.files.iter().filter(|(path, _)| gone(path));
        let mut budget = Budget { deadline: Instant::now() + COMPARE_TIME_MAX, lines_left: LINES_MAX };
        let both =
            after.files().filter_map(|(path, new)| past.files.get(path.as_str()).map(|old| (path, old, new)));
        let differs = both.filter(|(_, old, new)| **old != new.sha256().to_string());
        let changed = differs.map(|(path, old, new)| {
            let text = kept.read(old);
            let lines = text.and_then(|text| budget.lines(text.as_bytes(), new.bytes()));
            ChangedFile {
                path: path.to_string(),
                before: was(path.as_str(), old),
                after: out((path, new)),
                lines,
            }
        });
        Ok(DiffReport {
            schema_version: SCHEMA_VERSION,
            identical: past.revision == after.revision().to_string(),
            changed: changed.collect(),
            added: after
                .files()
                .filter(|(path, _)| !past.files.contains_key(path.as_str()))
                .map(out)
                .collect(),
            removed: removed.map(|(path, sha256)| was(path, sha256)).collect(),
            before: DiffSide {
                name: skill.name.as_str().to_owned(),
                path: String::new(),
                revision: past.revision.clone(),
            },
            after: DiffSide {
                name: skill.name.as_str().to_owned(),
                path: skill
                    .path
                    .as_ref()
                    .map_or_else(|| skill.qualified(), |path| path.to_string_lossy().into_owned()),
                revision: after.revision().to_string(),
            },
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
    fn lines(&mut self, old: &[u8], new: &[u8]) -> Option<Vec<LineChange>> {
        let lines = line_changes(old, new, self.deadline, self.lines_left);
        self.lines_left -= lines.as_ref().map_or(0, Vec::len);
        lines
    }

    fn changed_file(&mut self, path: &RelPath, old: &SnapshotFile, new: &SnapshotFile) -> ChangedFile {
        let lines = self.lines(old.bytes(), new.bytes());
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
    if Instant::now() >= deadline {
        return None;
    }
    let lines = near_changes(line_diff(text_of(old)?, text_of(new)?), CONTEXT_LINES);
    let lines: Vec<_> = lines.into_iter().take(lines_max + 1).map(LineChange::from).collect();
    (lines.len() <= lines_max).then_some(lines)
}

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
