//! `check`: every skill below some paths, with both verdicts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fumehood_core::inspect::{Inspection, inspect};
use fumehood_core::name::slug;
use fumehood_core::{Code, Shown};
use fumehood_store::{
    AnyFolder, BytesOf, CatalogSource, Continue, DiskFolder, Folder, Source, SourceStatus, WalkReport,
};

use super::{Host, Progress, given, numbered, open_folder};
use crate::fault::Fault;
use crate::report::{CheckReport, CheckedSkill, SCHEMA_VERSION, SourceReport, Summary, findings};

/// What counts as passing a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Every skill is loadable.
    Loadable,
    /// Every skill is conformant and everything was searched.
    Conformant,
}

impl Host {
    /// Checks the skills at or below `paths`: folders to search, folders of skills, or SKILL.md files. A skill that
    /// several paths or links lead to is checked once.
    ///
    /// # Errors
    /// `E_SKILL_NOT_FOUND` for a path where nothing is, or a file that is no SKILL.md; `E_NO_SKILLS_FOUND` if there is
    /// no skill at all.
    pub fn check(&self, paths: &[PathBuf], progress: Progress<'_>) -> Result<CheckReport, Fault> {
        let mut report = CheckReport {
            schema_version: SCHEMA_VERSION,
            sources: Vec::new(),
            skills: Vec::new(),
            summary: Summary::default(),
        };
        let targets = paths.iter().enumerate().map(|(position, path)| target(position, path));
        let targets = targets.collect::<Result<Vec<_>, _>>()?;
        let mut seen = BTreeSet::new();
        let mut is_new = |folder: &AnyFolder| folder.identity().is_none_or(|identity| seen.insert(identity));
        for (position, target) in targets.into_iter().enumerate() {
            match target {
                Target::Skill(folder) => {
                    report.sources.push(SourceReport::of(&single(position, &folder)));
                    let folder = AnyFolder::Disk(folder);
                    if is_new(&folder) {
                        report.add(&*folder);
                    }
                }
                Target::Search(source) => {
                    let (status, walk) = source.walk(self.limits, &mut |folder| {
                        if is_new(&folder) {
                            report.add(&*folder);
                            progress(report.skills.len());
                        }
                        Continue::Yes
                    });
                    report.sources.push(SourceReport::of(&CatalogSource { source, status, report: walk }));
                }
            }
        }
        if report.skills.is_empty() { Err(nothing_found(&report)) } else { Ok(report) }
    }
}

enum Target {
    Skill(DiskFolder),
    Search(Source),
}

fn target(position: usize, path: &Path) -> Result<Target, Fault> {
    // A path to a file can only mean the skill it belongs to; anything but a SKILL.md gets an error that says so.
    if path.is_dir() {
        given(position, path).map(Target::Search)
    } else {
        open_folder(path).map(Target::Skill)
    }
}

fn single(position: usize, folder: &DiskFolder) -> CatalogSource {
    let report = WalkReport { found: 1, complete: true, ..WalkReport::default() };
    CatalogSource { source: numbered(position, folder.path()), status: SourceStatus::Active, report }
}

impl CheckReport {
    /// Whether every skill passes.
    pub fn passes(&self, strictness: Strictness) -> bool {
        let Summary { found, conformant, refused, .. } = self.summary;
        match strictness {
            Strictness::Loadable => refused == 0,
            Strictness::Conformant => {
                conformant == found && self.sources.iter().all(|source| source.complete)
            }
        }
    }

    fn add(&mut self, folder: &dyn Folder) {
        let inspection = inspection_of(folder);
        let Summary { found, loadable, conformant, refused } = &mut self.summary;
        *found += 1;
        *loadable += usize::from(inspection.is_loadable());
        *conformant += usize::from(inspection.is_conformant());
        *refused += usize::from(!inspection.is_loadable());
        self.skills.push(CheckedSkill {
            name: name_of(&inspection, folder),
            path: folder.location(),
            loadable: inspection.is_loadable(),
            conformant: inspection.is_conformant(),
            files: inspection.facts.files.len(),
            bytes: inspection.facts.bytes(),
            execution_json: inspection.execution.as_str(),
            fumehood_json: inspection.fumehood.as_str(),
            diagnostics: findings(&inspection.diagnostics),
        });
    }
}

/// Reads and inspects a folder as it is now.
pub(super) fn inspection_of(folder: &dyn Folder) -> Inspection {
    let reading = folder.skill_md().reading(folder.directory_name());
    inspect(reading, folder.facts_when_found(), &BytesOf(folder))
}

/// The name a skill is shown under, also when it is not loadable.
pub(super) fn name_of(inspection: &Inspection, folder: &dyn Folder) -> String {
    match &inspection.skill {
        Some(skill) => skill.name.clone(),
        None => slug(folder.directory_name()).unwrap_or_else(|| folder.directory_name().to_owned()),
    }
}

fn nothing_found(report: &CheckReport) -> Fault {
    let searched: usize = report.sources.iter().map(|source| source.searched).sum();
    let paths: Vec<_> = report.sources.iter().map(|source| source.path.as_str()).collect();
    let message =
        format!("no SKILL.md in the {searched} folders searched at {}", Shown::inline(&paths.join(", ")));
    let advice = if report.sources.iter().all(|source| source.complete) {
        "name a folder that holds skills, each a folder with a SKILL.md"
    } else {
        "a limit was reached; name a folder closer to the skills, or raise --max-depth or --max-folders"
    };
    Fault::new(Code::NoSkillsFound, message, advice)
}
