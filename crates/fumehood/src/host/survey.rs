//! What an agent is told about skills: which there are, and one of them in full.

use std::path::PathBuf;
use std::sync::LazyLock;

use fumehood_core::inspect::Inspection;
use fumehood_core::manifest::FumehoodManifest;
use fumehood_core::{Code, Diagnostic, Severity};
use fumehood_store::{BytesOf, CatalogEntry, Folder, Settings, SourceStatus, in_order};

use super::Host;
use super::check::inspection_of;
use super::run::{execute_bar, safety_bar};
use super::show::{ByteRange, cat_what_there_is};
use crate::fault::Fault;
use crate::report::{CatReport, LoadReport, SCHEMA_VERSION, SurveyReport, SurveyedSkill};

impl Host {
    /// The loadable skills that a name stands for, by name, and what of each could run on a person's word.
    ///
    /// Reads each skill's instructions and manifests, and the first bytes of what could be a script; nothing is hashed, nothing
    /// started. Skills of a project that nobody trusted, and those that cannot be loaded, are counted and not named.
    ///
    /// # Errors
    /// As [`Host::list`].
    pub fn survey(&self, roots: &[PathBuf]) -> Result<SurveyReport, Fault> {
        let catalog = self.catalog(roots, &mut |_| {})?;
        // They are read if there is a skill that they are about.
        let settings = LazyLock::new(|| self.home().and_then(|home| self.settings(&home)).ok());
        let inert = catalog.sources.iter().filter(|source| source.status == SourceStatus::Inert);
        let inert = inert.map(|source| source.report.found).sum();
        let refused = catalog.entries.iter().filter(|entry| !entry.loadable).count();
        let mut skills = Vec::new();
        in_order(
            |entry: &CatalogEntry| {
                let folder = entry.open().ok()?;
                Some(surveyed(entry, catalog.label(entry), &*folder, settings.as_ref()))
            },
            // One that is gone since it was found is not listed.
            |skill| skills.extend(skill),
            |found| {
                let is_served = |entry: &&CatalogEntry| entry.loadable && entry.shadowed_by.is_none();
                catalog.entries.iter().filter(is_served).for_each(found);
            },
        );
        skills.sort_by(|a, b| a.name.cmp(&b.name));
        let complete = catalog.sources.iter().all(|source| source.report.complete);
        Ok(SurveyReport { schema_version: SCHEMA_VERSION, skills, inert, refused, complete })
    }

    /// One skill as [`Host::show`] shows it, with its instructions; nothing is started.
    ///
    /// # Errors
    /// As [`Host::show`]; `E_SKILL_NOT_LOADABLE`.
    pub fn load(&self, skill: &str, roots: &[PathBuf]) -> Result<LoadReport, Fault> {
        let (mut report, inspection, md) = self.shown(skill, roots)?;
        let text = inspection.skill.as_ref().zip(md.bytes.as_ref());
        let body = text.and_then(|(text, bytes)| std::str::from_utf8(bytes.get(text.body.clone())?).ok());
        let body = body.ok_or_else(|| not_loadable(&inspection.diagnostics))?;
        let settings = self.home().and_then(|home| self.settings(&home)).ok();
        let bars = settings.as_ref().and_then(safety_bar).into_iter();
        let own_tool = settings.as_ref().filter(|_| inspection.execution.accepted().is_some());
        let bars = bars.chain(own_tool.and_then(execute_bar));
        let bars = bars.map(|(code, message)| (code, message.to_owned())).collect();
        report.execution = super::show::execution(&inspection, bars);
        report.execution_available = report.execution.available;
        Ok(LoadReport { schema_version: SCHEMA_VERSION, body: body.to_owned(), skill: report })
    }

    /// A file of a skill that can be loaded, or what there is of a range of it. Of one that cannot, only a person sees files
    /// ([`Host::cat`]).
    ///
    /// # Errors
    /// As [`Host::cat`], `E_RANGE_INVALID` only for a range that begins behind the end; `E_SKILL_NOT_LOADABLE`.
    pub fn read(
        &self,
        skill: &str,
        roots: &[PathBuf],
        file: &str,
        range: ByteRange,
    ) -> Result<CatReport, Fault> {
        let folder = self.open(skill, roots)?.folder;
        let reading = folder.skill_md().reading(folder.directory_name());
        if reading.skill.is_none() {
            return Err(not_loadable(&reading.diagnostics));
        }
        cat_what_there_is(&*folder, file, range)
    }
}

/// In words of ours alone: whoever asked may be a model.
fn not_loadable(findings: &[Diagnostic]) -> Fault {
    let why = findings.iter().find(|finding| finding.severity() == Severity::Error);
    let why = why.map_or("its SKILL.md cannot be read.", |finding| finding.code.sentence());
    let message = format!("the skill cannot be loaded: {why}");
    Fault::new(Code::NotLoadable, message, "`fumehood check` says what is wrong with it")
}

fn surveyed(
    entry: &CatalogEntry,
    source: &str,
    folder: &dyn Folder,
    settings: Option<&Settings>,
) -> SurveyedSkill {
    let inspection = inspection_of(folder);
    let is_safe = settings.and_then(safety_bar).is_some();
    let has_revision = inspection.facts.no_revision().is_none();
    let overlay = settings.is_some_and(|settings| {
        let name = fumehood_core::SkillName::parse(&entry.name);
        name.is_ok_and(|name| settings.overlay(source, &name).is_some())
    });
    let has_scripts = overlay || carries_scripts(&inspection, folder);
    let tool = inspection.execution_bars().is_empty() && settings.and_then(execute_bar).is_none();
    SurveyedSkill {
        name: entry.name.clone(),
        description: entry.description.clone(),
        source: source.to_owned(),
        has_scripts,
        scripts_available: has_scripts && has_revision && !is_safe,
        tool_available: tool && has_revision && !is_safe,
    }
}

fn carries_scripts(inspection: &Inspection, folder: &dyn Folder) -> bool {
    let declared = inspection.fumehood.accepted().map(FumehoodManifest::scripts).unwrap_or_default();
    !declared.is_empty() || !inspection.undeclared_scripts(&BytesOf(folder)).is_empty()
}
