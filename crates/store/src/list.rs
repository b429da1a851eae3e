//! The files of one skill on disk, within limits, with a finding for everything that is left out.

use fumehood_core::inspect::{FileFact, FolderFacts};
use fumehood_core::limits::{LISTED_DEPTH_MAX, LISTED_DIRECTORIES_MAX, LISTED_FILES_MAX};
use fumehood_core::path::{PathError, PathReason};
use fumehood_core::{Code, Diagnostic, PathSet, RelPath, Shown};

use crate::dir::{Dir, ENTRIES_MAX, Entry, Identity, Kind, OpenError, Resolved};
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
        above: Vec::new(),
        hard_links: 0,
    };
    lister.directory(root, names, None, false);
    let Lister { mut facts, hard_links, .. } = lister;
    if hard_links > 0 {
        let message = format!("{hard_links} of the files have other names on this disk");
        facts.diagnostics.push(Diagnostic::new(Code::HardLinked, message));
    }
    facts.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    refuse_collisions(&mut facts);
    facts
}

/// Refuses every file that would be another file of the same skill on some system.
pub(crate) fn refuse_collisions(facts: &mut FolderFacts) {
    let mut seen = PathSet::default();
    for file in &facts.files {
        if let Err(other) = seen.insert(&file.path) {
            let message = format!("the same file as {} on some systems", Shown::inline(other.as_str()));
            let finding = Diagnostic::new(Code::PathCollision, message).in_file(file.path.as_str());
            facts.diagnostics.push(finding);
            facts.refused += 1;
        }
    }
}

struct Lister<'r> {
    root: &'r Dir,
    facts: FolderFacts,
    directories_left: usize,
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
        let names = if let Some(names) = names {
            names
        } else {
            let Ok((entries, more)) = dir.entries(ENTRIES_MAX) else { return self.unreadable(path) };
            if more {
                self.incomplete(path);
            }
            listed = entries;
            &listed
        };
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
        if parent.is_none() && entry.name == b".git" {
            // History, not content: it is neither shown nor covered by the revision.
            let finding = Diagnostic::new(Code::GitSkipped, "git's own files are no part of the skill");
            self.facts.diagnostics.push(finding.in_file(".git"));
            return;
        }
        if parent.is_some() && is_skill_md(&entry.name) {
            let finding = Diagnostic::new(Code::NestedSkill, "counts as a supporting file of this skill");
            self.facts.diagnostics.push(finding.in_file(path.as_str()));
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
                "listing stops at {LISTED_FILES_MAX} files, {LISTED_DIRECTORIES_MAX} folders or \
                 {LISTED_DEPTH_MAX} levels; the rest, from here on, is not shown"
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
