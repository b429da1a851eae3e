//! Taking a draft over.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fumehood_core::{Code, Revision};
use fumehood_store::{ApprovedText, Drafts, Journal, Overlay, Settings, Snapshot};

use super::text;
use crate::fault::Fault;
use crate::host::Host;
use crate::host::diff::line_changes;
use crate::host::past::{SkillId, remember};
use crate::host::vouch::Vouched;
use crate::report::{AcceptReport, LineChange, SCHEMA_VERSION};

/// A draft as a person sees it before it is taken over.
#[derive(Clone, Debug)]
pub struct DraftPreview {
    /// The skill's qualified name.
    pub skill: String,
    /// Its revision, which is the draft's.
    pub revision: Revision,
    /// The draft as it will be written. Words of the skill's author are in it.
    pub text: String,
    /// What differs from the overlay that is there for the skill, if one is; `None` in it if that is too much to compare.
    pub differs: Option<Option<Vec<LineChange>>>,
    /// The file that it goes into.
    pub settings: PathBuf,
    draft: Overlay,
    old: Option<Overlay>,
    id: SkillId,
    snapshot: Snapshot,
}

impl DraftPreview {
    /// Whether the very same is in the settings already, so that there is nothing to take over.
    pub fn is_accepted(&self) -> bool {
        self.old.as_ref() == Some(&self.draft)
    }
}

impl Host {
    /// The draft for a skill. Changes nothing.
    ///
    /// # Errors
    /// The codes of [`Host::show`], `E_DRAFT_NOT_FOUND`, `E_DRAFT_STALE` if the skill is another revision than the draft was
    /// made from, `E_STATE_UNAVAILABLE`.
    pub fn preview_draft(&self, skill: &str, roots: &[PathBuf]) -> Result<DraftPreview, Fault> {
        let home = self.home()?;
        let settings = self.settings(&home)?;
        let skill = self.captured(skill, roots)?;
        let revision = skill.snapshot.revision();
        let draft = Drafts::of(&home).read(&skill.source, &skill.name);
        let draft = draft.map_err(|error| Fault::of(&error, "draft it again with `fumehood adopt`"))?;
        let draft = draft.ok_or_else(|| {
            let message = format!("there is no draft for {}", skill.qualified());
            Fault::new(Code::DraftNotFound, message, "make one with `fumehood adopt`")
        })?;
        if !draft.is_confirmed_for(revision) {
            let message = format!("the draft was made from another revision than {revision}");
            return Err(Fault::new(Code::DraftStale, message, "draft it again with `fumehood adopt`"));
        }
        let old = settings.overlay(&skill.source, &skill.name).cloned();
        let text = text(&draft)?;
        let differs = old.as_ref().map(|old| {
            let old = super::text(old).ok()?;
            let deadline = Instant::now() + COMPARE_TIME_MAX;
            line_changes(old.as_bytes(), text.as_bytes(), deadline, LINES_MAX)
        });
        Ok(DraftPreview {
            skill: skill.qualified(),
            revision,
            text,
            differs,
            settings: home.config.join("fumehood.toml"),
            draft,
            old,
            id: SkillId::of(&skill),
            snapshot: skill.snapshot,
        })
    }

    /// Writes the draft into `fumehood.toml`: at its end, or in place of the overlay that was shown beside it. The caller has
    /// asked the person; only what is accepted already needs no one to vouch. Every other byte of the file stays as it is.
    ///
    /// # Errors
    /// `E_CONFIG_CHANGED`, `E_CONFIG_UNEDITABLE`, `E_CONFIG_INVALID`, `E_HOME_REFUSED`, `E_STATE_UNAVAILABLE`. Nothing was
    /// written then.
    pub fn accept_draft(
        &self,
        preview: &DraftPreview,
        vouched: Option<Vouched>,
    ) -> Result<AcceptReport, Fault> {
        if vouched.map(drop).is_none() && !preview.is_accepted() {
            return Err(Fault::new(
                Code::NotConfirmed,
                "nobody said yes to the draft",
                "nothing was changed",
            ));
        }
        let (draft, old) = (&preview.draft, preview.old.as_ref());
        let changed = Settings::put_overlay(&self.home()?, &self.surroundings, draft, old);
        let changed =
            changed.map_err(|error| Fault::of(&error, "nothing was written; mend that and try again"))?;
        // They said yes to this revision, so it is what the next one is compared with.
        if let Ok(journal) = Journal::open(&self.home()?) {
            remember(&journal, &ApprovedText::of(&self.home()?), &preview.id, &preview.snapshot);
        }
        Ok(AcceptReport {
            schema_version: SCHEMA_VERSION,
            skill: preview.skill.clone(),
            revision: preview.revision.to_string(),
            settings: preview.settings.to_string_lossy().into_owned(),
            changed,
            replaced: changed && old.is_some(),
            scripts: draft.tools().map(|(_, script)| script.name().to_string()).collect(),
        })
    }
}

const COMPARE_TIME_MAX: Duration = Duration::from_secs(3);
const LINES_MAX: usize = 20_000;
