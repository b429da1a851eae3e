//! `trust-project`: a person lets a project bring its skills along.

use std::path::{Path, PathBuf};

use fumehood_core::{Code, Shown};
use fumehood_store::{Catalog, Source, SourceKind, TrustedProjects, project_of};

use super::Host;
use crate::fault::Fault;
use crate::report::{ListedSkill, SCHEMA_VERSION, TrustReport};

/// What a person sees before trusting a project.
#[derive(Clone, Debug)]
pub struct ProjectPreview {
    /// The project's folder.
    pub project: PathBuf,
    /// The skills it would bring.
    pub skills: Vec<ListedSkill>,
}

impl Host {
    /// Finds the project around `dir` and the skills it would bring. Changes nothing.
    ///
    /// # Errors
    /// `E_SOURCE_MISSING` if there is no such folder.
    pub fn preview_project(&self, dir: &Path) -> Result<ProjectPreview, Fault> {
        // `join` of an absolute path gives that path; the last component `.` makes sure it is a folder.
        let real = self.surroundings.current.join(dir).canonicalize().ok().filter(|real| real.is_dir());
        let Some(real) = real else {
            let message = format!("{} is no folder", Shown::inline(&dir.to_string_lossy()));
            return Err(Fault::new(Code::SourceMissing, message, "check the path"));
        };
        let project = project_of(&real).to_path_buf();
        let surroundings = fumehood_store::Surroundings { current: real, ..self.surroundings.clone() };
        let mut sources = Source::conventional(&fumehood_store::Settings::default(), &surroundings, |_| true);
        sources.retain(|source| matches!(source.kind, SourceKind::Project { .. }));
        let catalog = Catalog::build(sources, self.limits, &mut |_| {});
        let skills = catalog.entries.iter().map(|entry| ListedSkill::of(entry, &catalog)).collect();
        Ok(ProjectPreview { project, skills })
    }

    /// Records that the project is trusted, or no longer. The caller has asked the person.
    ///
    /// # Errors
    /// `E_HOME_REFUSED`, `E_STATE_UNAVAILABLE`, `E_SOURCE_MISSING`.
    pub fn trust_project(&self, project: &Path, trusted: bool) -> Result<TrustReport, Fault> {
        let home = self.home()?;
        let changed = TrustedProjects::set(&home, project, trusted)
            .map_err(|error| Fault::of(&error, "nothing was recorded; mend that and try again"))?;
        let project = project.to_string_lossy().into_owned();
        Ok(TrustReport { schema_version: SCHEMA_VERSION, project, trusted, changed })
    }
}
