//! The files of one skill on disk, within limits, with a finding for everything that is left out.

use std::collections::BTreeMap;

use fumehood_core::inspect::{FileFact, FolderFacts};
use fumehood_core::limits::{
    LISTED_DEPTH_MAX, LISTED_DIRECTORIES_MAX, LISTED_ENTRIES_MAX, LISTED_FILES_MAX, LISTED_FINDINGS_MAX,
    LISTED_LINKS_MAX,
};
use fumehood_core::path::{PathError, PathReason};
use fumehood_core::{Code, Diagnostic, PathSet, RelPath, Shown};

use crate::dir::{Dir, Entry, Identity, Kind, OpenError, Resolved};
use crate::folder::is_skill_md;

/// Lists `root`. Links inside it are followed, and what they lead to is listed under the link's own path.
pub(crate) fn list(root: &Dir) -> FolderFacts {
    list_with(root, None)
}

/// The same, where `names` says what was in `root` a moment ago.
pub(crate) fn list_with(root: &Dir, names: Option<&[Entry]>) -> FolderFacts {
    let mut lister = Lister {
        root,
        facts: FolderFacts { complete: true, ..FolderFacts::default() },
        directories_left: LISTED_DIRECTORIES_MAX,
        entries_left: LISTED_ENTRIES_MAX,
        links_left: LISTED_LINKS_MAX,
        above: Vec::new(),
        hard_links: 0,
    };
    lister.directory(root, names, None, false);
    let Lister { mut facts, hard_links, .. } = lister;
    if hard_links > 0 {
        let message = format!("{hard_links} of the files have other names on this disk");
        facts.diagnostics.push(Diagnostic::new(Code::HardLinked, message));
    }
    judge_paths(&mut facts);
    facts
}

/// Sorts the files, notes a SKILL.md among them that is none, refuses every file that cannot stand beside another on
/// some system, and shortens what was found. The same for every kind of folder.
pub(crate) fn judge_paths(facts: &mut FolderFacts) {
    facts.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    for path in facts.files.iter().map(|file| &file.path) {
        if path.as_str().contains('/') && is_skill_md(path.file_name().as_bytes()) {
            let finding = Diagnostic::new(Code::NestedSkill, "counts as a supporting file of this skill");
            facts.diagnostics.push(finding.in_file(path.as_str()));
        }
    }
    let mut seen = PathSet::default();
    for file in &facts.files {
        if let Err(other) = seen.insert(&file.path) {
            let message = format!("on some systems it cannot stand beside {}", Shown::inline(other.as_str()));
            let finding = Diagnostic::new(Code::PathCollision, message).in_file(file.path.as_str());
            facts.diagnostics.push(finding);
            facts.refused += 1;
        }
    }
    shorten(&mut facts.diagnostics);
}

/// Keeps the first findings of each code, so that a verdict never depends on one that was dropped.
fn shorten(findings: &mut Vec<Diagnostic>) {
    let mut counts: BTreeMap<Code, usize> = BTreeMap::new();
    findings.retain(|finding| {
        let count = counts.entry(finding.code).or_default();
        *count += 1;
        *count <= LISTED_FINDINGS_MAX
    });
    let dropped: usize = counts.values().map(|count| count.saturating_sub(LISTED_FINDINGS_MAX)).sum();
    if dropped > 0 {
        let message =
            format!("{dropped} more findings are not shown; {LISTED_FINDINGS_MAX} of each code are");
        findings.push(Diagnostic::new(Code::FilesNotListed, message));
    }
}

struct Lister<'r> {
    root: &'r Dir,
    facts: FolderFacts,
    directories_left: usize,
    entries_left: usize,
    links_left: usize,
    /// The directories we are inside of, to notice a link that leads back up.
    above: Vec<Identity>,
    hard_links: usize,
}

impl Lister<'_> {
    fn directory(&mut self, dir: &Dir, names: Option<&[Entry]>, path: Option<&RelPath>, link: bool) {
        let Ok(identity) = dir.identity() else { return self.unreadable(path) };
        if self.above.contains(&identity) {
            return self.refuse(path, Code::LinkEscapes, "the link leads back to a folder it lies in");
        }
        if self.directories_left == 0 || self.above.len() > LISTED_DEPTH_MAX {
            return self.incomplete(path);
        }
        self.directories_left -= 1;
        let listed;
        let names = if let Some(names) = names.filter(|names| names.len() <= self.entries_left) {
            names
        } else {
            let Ok((entries, more)) = dir.entries(self.entries_left) else { return self.unreadable(path) };
            if more {
                self.incomplete(path);
            }
            listed = entries;
            &listed
        };
        self.entries_left -= names.len();
        self.above.push(identity);
        for entry in names {
            self.entry(dir, path, entry, link);
        }
        self.above.pop();
    }

    fn entry(&mut self, dir: &Dir, parent: Option<&RelPath>, entry: &Entry, link: bool) {
        let path = match portable(parent, &entry.name) {
            Ok(path) => path,
            Err((shown, error)) => {
                let finding = Diagnostic::new(Code::PathRejected, error.to_string()).in_file(shown);
                self.facts.diagnostics.push(finding);
                self.facts.refused += 1;
                return;
            }
        };
        if is_git(&path) {
            self.facts.diagnostics.push(git_skipped());
            return;
        }
        match entry.kind {
            Kind::File => self.file(dir, path, entry, link),
            Kind::Directory => match dir.open_dir(&entry.name) {
                Ok(inner) => self.directory(&inner, None, Some(&path), link),
                Err(_) => self.unreadable(Some(&path)),
            },
            Kind::Link => self.link(&path),
            Kind::Special => {
                self.refuse(Some(&path), Code::SpecialFile, "a FIFO, device or socket is never opened");
            }
        }
    }

    fn file(&mut self, dir: &Dir, path: RelPath, entry: &Entry, link: bool) {
        match dir.stat(&entry.name) {
            Ok((stat, links)) => {
                self.hard_links += usize::from(links > 1);
                self.add(FileFact { path, size: stat.size, link });
            }
            Err(_) => self.unreadable(Some(&path)),
        }
    }

    fn link(&mut self, path: &RelPath) {
        if self.links_left == 0 {
            self.incomplete(Some(path));
        }
        // Without the rest there is no revision, so nothing is worth the cost of another link.
        if !self.facts.complete {
            return;
        }
        self.links_left -= 1;
        match self.root.resolve(path.as_str().as_bytes()) {
            Ok(resolved) => {
                let finding = Diagnostic::new(Code::LinkFollowed, "a link; its target's bytes count");
                self.facts.diagnostics.push(finding.in_file(path.as_str()));
                match resolved {
                    Resolved::File(file) => {
                        self.add(FileFact { path: path.clone(), size: file.stat.size, link: true });
                    }
                    Resolved::Dir(inner) => self.directory(&inner, None, Some(path), true),
                }
            }
            Err(OpenError::Kind(_)) => {
                self.refuse(Some(path), Code::SpecialFile, "the link leads to a FIFO, device or socket");
            }
            Err(OpenError::System(_)) => self.unreadable(Some(path)),
            Err(OpenError::Escapes | OpenError::Missing) => {
                self.refuse(Some(path), Code::LinkEscapes, "the link leaves the skill or leads to nothing");
            }
        }
    }

    fn add(&mut self, fact: FileFact) {
        if self.facts.files.len() < LISTED_FILES_MAX {
            self.facts.files.push(fact);
        } else {
            self.incomplete(Some(&fact.path));
        }
    }

    fn refuse(&mut self, path: Option<&RelPath>, code: Code, message: &str) {
        self.facts.refused += 1;
        self.report(path, code, message);
    }

    /// A folder that could not be listed may hold anything: there is no revision without it.
    fn unreadable(&mut self, path: Option<&RelPath>) {
        self.refuse(path, Code::FileUnreadable, "the operating system refused to read this");
    }

    fn incomplete(&mut self, path: Option<&RelPath>) {
        if std::mem::replace(&mut self.facts.complete, false) {
            let message = format!(
                "listing stops at {LISTED_FILES_MAX} files, {LISTED_DIRECTORIES_MAX} folders, \
                 {LISTED_DEPTH_MAX} levels, {LISTED_ENTRIES_MAX} names or {LISTED_LINKS_MAX} links; \
                 the rest, from here on, is not shown"
            );
            self.report(path, Code::FilesNotListed, &message);
        }
    }

    fn report(&mut self, path: Option<&RelPath>, code: Code, message: &str) {
        let mut finding = Diagnostic::new(code, message);
        finding.path = path.map(RelPath::to_string);
        self.facts.diagnostics.push(finding);
    }
}

/// Whether a path is git's own at the top of a skill: history, not content. It is not shown, not read, and not
/// covered by the revision.
pub(crate) fn is_git(path: &RelPath) -> bool {
    path.components().next() == Some(".git")
}

pub(crate) fn git_skipped() -> Diagnostic {
    Diagnostic::new(Code::GitSkipped, "git's own files are no part of the skill").in_file(".git")
}

/// The path of a name within the skill, or the name as it can be shown and why it is refused.
fn portable(parent: Option<&RelPath>, name: &[u8]) -> Result<RelPath, (String, PathError)> {
    let shown = || {
        let name = String::from_utf8_lossy(name).into_owned();
        parent.map_or_else(|| name.clone(), |parent| format!("{parent}/{name}"))
    };
    let text =
        std::str::from_utf8(name).map_err(|_| (shown(), PathError { reason: PathReason::Encoding }))?;
    let path = match parent {
        Some(parent) => parent.join(text),
        None => RelPath::parse(text),
    };
    path.map_err(|error| (shown(), error))
}

#[cfg(test)]
mod tests;
