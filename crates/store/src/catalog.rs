//! The index of skills: which names there are, and which skill each name stands for.
//!
//! A name is looked up here and never becomes a path. Within one source a skill whose folder has its name comes
//! before one that only claims it; then byte order of paths decides. Across sources their order decides, and a
//! project's skills come last. Who is shadowed is listed all the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use fumehood_core::skill::Reading;
use fumehood_core::{Code, Diagnostic};

use crate::dir::Identity;
use crate::disk::DiskFolder;
use crate::folder::{AnyFolder, FileError, Folder as _, MemoryFolder};
use crate::in_order::in_order;
use crate::source::{Source, SourceStatus};
use crate::walk::{Continue, WalkLimits, WalkReport};

/// One skill of the index. Small on purpose: bodies and files stay where they are.
#[derive(Clone, Debug)]
pub struct CatalogEntry {
    /// The name it is looked up by.
    pub name: String,
    /// The name as its author wrote it.
    pub declared_name: Option<String>,
    /// The description as a catalogue shows it; empty if the skill is not loadable.
    pub description: String,
    /// The position of its source in [`Catalog::sources`].
    pub source: usize,
    /// Its folder, with links resolved; for people, and for [`CatalogEntry::open`].
    pub path: PathBuf,
    /// Its files, if it is in memory.
    memory: Option<MemoryFolder>,
    /// Whether it can be used.
    pub loadable: bool,
    /// Whether SKILL.md follows the standard. The folder's other files are looked at by `check` and `show` only.
    pub conformant: bool,
    /// Findings about SKILL.md.
    pub diagnostics: Vec<Diagnostic>,
    /// The position of the skill that its name stands for, if that is another one.
    pub shadowed_by: Option<usize>,
    /// Whether `source:name` stands for it; another skill of the same source may have the same name.
    pub qualified: bool,
}

/// A source and what searching it gave.
#[derive(Clone, Debug)]
pub struct CatalogSource {
    /// The source.
    pub source: Source,
    /// What became of it.
    pub status: SourceStatus,
    /// The search.
    pub report: WalkReport,
}

/// All skills of some sources.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// The sources in their order.
    pub sources: Vec<CatalogSource>,
    /// The skills: by source, then by name, then in the order that decides who is shadowed.
    pub entries: Vec<CatalogEntry>,
}

/// Why a name stands for no skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupError {
    /// Nothing is called that; these names are near.
    Missing {
        /// Known names that are close to what was asked for, best first, at most five.
        near: Vec<String>,
    },
    /// Several skills declare this name, and none of them is listed by it.
    Ambiguous,
    /// The name belongs to a project that is not trusted.
    Inert,
}

impl Catalog {
    /// Searches the sources in their order. `progress` is told the number of skills so far.
    pub fn build(sources: Vec<Source>, limits: WalkLimits, progress: &mut dyn FnMut(usize)) -> Self {
        let mut catalog = Self::default();
        let mut seen: BTreeSet<Identity> = BTreeSet::new();
        let mut count = 0;
        for (position, source) in sources.into_iter().enumerate() {
            let first = catalog.entries.len();
            let inert = source.is_inert();
            let (status, report) = in_order(
                |folder: AnyFolder| entry(&folder, position),
                |entry| catalog.entries.push(entry),
                |found| {
                    source.walk(limits, &mut |folder| {
                        count += 1;
                        progress(count);
                        // Two roots can lead to one folder through a link; it is one skill, of the first root.
                        if !inert && folder.identity().is_none_or(|identity| seen.insert(identity)) {
                            found(folder);
                        }
                        Continue::Yes
                    })
                },
            );
            catalog.entries[first..].sort_by(|a, b| key(a).cmp(&key(b)));
            catalog.sources.push(CatalogSource { source, status, report });
        }
        catalog.mark_qualified();
        catalog.mark_shadowed();
        catalog
    }

    fn mark_qualified(&mut self) {
        for namesakes in self.entries.chunk_by_mut(|a, b| (a.source, &a.name) == (b.source, &b.name)) {
            let first = namesakes.iter().position(|entry| entry.loadable).unwrap_or(0);
            namesakes[first].qualified = true;
        }
    }

    fn mark_shadowed(&mut self) {
        let mut winners: BTreeMap<&str, usize> = BTreeMap::new();
        let mut shadows = Vec::new();
        for (position, entry) in self.entries.iter().enumerate().filter(|(_, entry)| entry.loadable) {
            match winners.get(entry.name.as_str()) {
                Some(winner) => shadows.push((position, *winner)),
                None => _ = winners.insert(&entry.name, position),
            }
        }
        for (position, winner) in shadows {
            self.entries[position].shadowed_by = Some(winner);
        }
    }

    /// The skill that `name` stands for: a name, `source:name`, or the name as its author wrote it.
    ///
    /// # Errors
    /// [`LookupError`].
    pub fn find(&self, name: &str) -> Result<&CatalogEntry, LookupError> {
        let unshadowed = || self.entries.iter().filter(|entry| entry.shadowed_by.is_none());
        if let Some(entry) = unshadowed().find(|entry| entry.name == name && entry.loadable) {
            return Ok(entry);
        }
        if let Some((label, name)) = name.rsplit_once(':')
            && let Some(entry) =
                self.entries.iter().find(|e| e.qualified && e.name == name && self.label(e) == label)
        {
            return Ok(entry);
        }
        // A name with a source's label before it means that source and nothing that only claims to be called so.
        if name
            .rsplit_once(':')
            .is_some_and(|(label, _)| self.sources.iter().any(|s| s.source.label == label))
        {
            return Err(self.missing(name));
        }
        let mut declared = unshadowed().filter(|entry| entry.declared_name.as_deref() == Some(name));
        match (declared.next(), declared.next()) {
            (Some(entry), None) => return Ok(entry),
            (Some(_), Some(_)) => return Err(LookupError::Ambiguous),
            (None, _) => {}
        }
        // Last, a skill that is not loadable: its findings are what the person wants to see.
        unshadowed().find(|entry| entry.name == name).ok_or_else(|| self.missing(name))
    }

    fn missing(&self, name: &str) -> LookupError {
        let label = name.rsplit_once(':').map(|(label, _)| label);
        let asked = |source: &CatalogSource| Some(source.source.label.as_str()) == label;
        if self.sources.iter().any(|source| source.status == SourceStatus::Inert && asked(source)) {
            return LookupError::Inert;
        }
        let mut near: Vec<(usize, &str)> = self
            .entries
            .iter()
            .map(|entry| (distance(name, &entry.name), entry.name.as_str()))
            .filter(|(distance, other)| *distance <= 2 || other.contains(name))
            .collect();
        near.sort_unstable();
        near.dedup_by(|a, b| a.1 == b.1);
        LookupError::Missing {
            near: near.into_iter().take(NEAR_MAX).map(|(_, name)| name.to_owned()).collect(),
        }
    }

    /// The label of an entry's source.
    pub fn label(&self, entry: &CatalogEntry) -> &str {
        self.sources.get(entry.source).map_or("", |source| &source.source.label)
    }
}

impl CatalogEntry {
    /// Opens the skill again.
    ///
    /// # Errors
    /// Those of [`DiskFolder::open`], if its folder is gone or has changed meanwhile.
    pub fn open(&self) -> Result<AnyFolder, FileError> {
        match &self.memory {
            Some(folder) => Ok(AnyFolder::Memory(folder.clone())),
            None => DiskFolder::open(&self.path).map(AnyFolder::Disk),
        }
    }
}

fn entry(folder: &AnyFolder, source: usize) -> CatalogEntry {
    let reading = folder.skill_md().reading(folder.directory_name());
    let conformant = reading.is_conformant();
    let Reading { skill, diagnostics } = reading;
    let (path, memory) = match folder {
        AnyFolder::Disk(folder) => (folder.path().to_path_buf(), None),
        AnyFolder::Memory(folder) => (PathBuf::from(folder.location()), Some(folder.clone())),
    };
    match skill {
        Some(skill) => CatalogEntry {
            description: skill.catalogue_description().to_owned(),
            name: skill.name,
            declared_name: skill.declared_name,
            source,
            path,
            memory,
            loadable: true,
            conformant,
            diagnostics,
            shadowed_by: None,
            qualified: false,
        },
        None => CatalogEntry {
            name: folder.fallback_name(),
            declared_name: None,
            description: String::new(),
            source,
            path,
            memory,
            loadable: false,
            conformant: false,
            diagnostics,
            shadowed_by: None,
            qualified: false,
        },
    }
}

/// The order within a source. A folder that claims another's name comes after the one that has it (C4).
fn key(entry: &CatalogEntry) -> (&str, bool, &PathBuf) {
    let folder = entry.path.file_name().and_then(|name| name.to_str());
    (&entry.name, folder != Some(entry.name.as_str()), &entry.path)
}

/// Edits between two names, counted no further than three.
fn distance(a: &str, b: &str) -> usize {
    if a.len().abs_diff(b.len()) > 2 || a.len() > NAME_BYTES_COMPARED_MAX {
        return 3;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()].min(3)
}

const NEAR_MAX: usize = 5;
const NAME_BYTES_COMPARED_MAX: usize = 256;

/// A note for a skill that its name does not stand for.
pub fn shadow_note(winner: &CatalogEntry) -> Diagnostic {
    let message =
        format!("the name stands for {}", fumehood_core::Shown::inline(&winner.path.to_string_lossy()));
    Diagnostic::new(Code::Shadowed, message)
}

#[cfg(test)]
mod tests;
