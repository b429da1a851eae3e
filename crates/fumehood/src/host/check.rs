//! `check`: every skill below some paths, with both verdicts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fumehood_core::inspect::{Inspection, inspect};
use fumehood_core::{Code, Shown};
use fumehood_store::{
    AnyFolder, BytesOf, CatalogSource, Continue, DiskFolder, Folder, Source, SourceStatus, WalkReport,
    in_order,
};

use super::{Host, Progress};
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
        let targets = paths.iter().enumerate().map(|(position, path)| self.target(position, path));
        let targets = targets.collect::<Result<Vec<_>, _>>()?;
        let mut seen = BTreeSet::new();
        let mut is_new = |folder: &AnyFolder| folder.identity().is_none_or(|identity| seen.insert(identity));
        let CheckReport { sources, skills, summary, .. } = &mut report;
        let add = |skill: CheckedSkill| {
            summary.add(&skill);
            skills.push(skill);
            progress(skills.len());
        };
        in_order(
            |folder: AnyFolder| checked(&*folder),
            add,
            |found| {
                for (position, target) in targets.into_iter().enumerate() {
                    let mut found = |folder| {
                        if is_new(&folder) {
                            found(folder);
                        }
                        Continue::Yes
                    };
                    match target {
                        Target::Skill(folder) => {
                            sources.push(SourceReport::of(&single(position, &folder)));
                            found(AnyFolder::Disk(folder));
                        }
                        Target::Search(source) => {
                            let (status, report) = source.walk(self.limits, &mut found);
                            sources.push(SourceReport::of(&CatalogSource { source, status, report }));
                        }
                    }
                }
            },
        );
        if report.skills.is_empty() { Err(nothing_found(&report)) } else { Ok(report) }
    }
}

impl Host {
    /// A path to a file can only mean the skill it belongs to; anything but a SKILL.md gets an error that says so.
    fn target(&self, position: usize, path: &Path) -> Result<Target, Fault> {
        if self.surroundings.current.join(path).is_dir() {
            self.given(position, path).map(Target::Search)
        } else {
            self.open_folder(path).map(Target::Skill)
        }
    }
}

enum Target {
    Skill(DiskFolder),
    Search(Source),
}

fn single(position: usize, folder: &DiskFolder) -> CatalogSource {
    let report = WalkReport { found: 1, complete: true, ..WalkReport::default() };
    let source = Source { label: format!("root-{}", position + 1), ..Source::given(folder.path()) };
    CatalogSource { source, status: SourceStatus::Active, report }
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
}

impl Summary {
    fn add(&mut self, skill: &CheckedSkill) {
        self.found += 1;
        self.loadable += usize::from(skill.loadable);
        self.conformant += usize::from(skill.conformant);
        self.refused += usize::from(!skill.loadable);
    }
}

fn checked(folder: &dyn Folder) -> CheckedSkill {
    let inspection = inspection_of(folder);
    CheckedSkill {
        name: name_of(&inspection, folder),
        path: folder.location(),
        loadable: inspection.is_loadable(),
        conformant: inspection.is_conformant(),
        files: inspection.facts.files.len(),
        bytes: inspection.facts.bytes(),
        execution_json: inspection.execution.as_str(),
        fumehood_json: inspection.fumehood.as_str(),
        diagnostics: findings(&inspection.diagnostics),
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
        None => folder.fallback_name(),
    }
}

/// Why there is nothing, in the order of what can be done about it: a folder that cannot be read, a limit, the path.
fn nothing_found(report: &CheckReport) -> Fault {
    let searched: usize = report.sources.iter().map(|source| source.searched).sum();
    let paths: Vec<_> = report.sources.iter().map(|source| source.path.as_str()).collect();
    let paths = paths.join(", ");
    let findings = || report.sources.iter().flat_map(|source| &source.diagnostics);
    let has =
        |codes: &[Code]| findings().any(|finding| codes.iter().any(|code| code.as_str() == finding.code));
    if has(&[Code::SourceUnreadable, Code::WalkUnreadable]) {
        let unreadable = findings().find_map(|finding| finding.path.as_deref()).unwrap_or(&paths);
        let message = format!("no SKILL.md was found, and {} could not be read", Shown::inline(unreadable));
        let advice = "change its permissions, or run as somebody who may read it";
        return Fault::new(Code::SourceUnreadable, message, advice);
    }
    let folders = if searched == 1 { "1 folder".to_owned() } else { format!("{searched} folders") };
    let message = format!("no SKILL.md in the {folders} searched at {}", Shown::inline(&paths));
    let advice = if has(&[Code::WalkDepth, Code::WalkDirectories, Code::WalkSkills]) {
        "a limit was reached; name a folder closer to the skills, or raise --max-depth or --max-folders"
    } else {
        "name a folder that holds skills, each a folder with a SKILL.md; node_modules and the like are never entered"
    };
    Fault::new(Code::NoSkillsFound, message, advice)
}
