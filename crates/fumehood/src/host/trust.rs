//! `trust-project`: a person lets a project bring its skills along.

use std::path::{Path, PathBuf};

use fumehood_core::{Code, Shown};
use fumehood_store::{Catalog, Source, SourceKind, TrustError, TrustedProjects, project_of};

use super::Host;
use super::vouch::Vouched;
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
        let Some(real) = self.real(dir).filter(|real| real.is_dir()) else {
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

    /// Records that the project is trusted. The caller has asked the person.
    ///
    /// # Errors
    /// `E_HOME_REFUSED`, `E_STATE_UNAVAILABLE`, `E_SOURCE_MISSING`.
    pub fn trust_project(&self, preview: &ProjectPreview, _: Vouched) -> Result<TrustReport, Fault> {
        let changed = TrustedProjects::set(&self.home()?, &preview.project, true)
            .map_err(|error| not_recorded(&error))?;
        Ok(answer(&preview.project, true, changed))
    }

    /// Forgets the project around `dir`, or at `dir` if the folder is gone.
    ///
    /// # Errors
    /// `E_HOME_REFUSED`, `E_STATE_UNAVAILABLE`.
    pub fn forget_project(&self, dir: &Path) -> Result<TrustReport, Fault> {
        let project = match self.real(dir) {
            Some(real) => project_of(&real).to_path_buf(),
            None => self.surroundings.current.join(dir),
        };
        let changed =
            TrustedProjects::set(&self.home()?, &project, false).map_err(|error| not_recorded(&error))?;
        Ok(answer(&project, false, changed))
    }

    /// The folder that a person means, with links resolved.
    fn real(&self, dir: &Path) -> Option<PathBuf> {
        self.surroundings.current.join(dir).canonicalize().ok()
    }
}

fn not_recorded(error: &TrustError) -> Fault {
    Fault::of(error, "nothing was changed; mend that and try again")
}

fn answer(project: &Path, trusted: bool, changed: bool) -> TrustReport {
    TrustReport {
        schema_version: SCHEMA_VERSION,
        project: project.to_string_lossy().into_owned(),
        trusted,
        changed,
    }
}
