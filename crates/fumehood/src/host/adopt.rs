//! `adopt`: drafts an overlay for scripts that nobody declared, and takes one over when a person has seen it.

mod accept;
mod help;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use fumehood_core::adopt::{self, Candidate, Draft};
use fumehood_core::inspect::UndeclaredScript;
use fumehood_core::manifest::{FumehoodManifest, SCRIPTS_MAX, ScriptClaim};
use fumehood_core::{Coded, RelPath};
use fumehood_store::{Drafts, Overlay, OverlayParts, OverlayScript, overlays_to_toml};

use super::run::Captured;
use super::{Cancel, Host, Person, RunStep};
use crate::fault::Fault;
use crate::report::{AdoptReport, DraftedOut, HelpOut, LeftOutOut, NoteOut, SCHEMA_VERSION, ScriptOut};

pub use accept::DraftPreview;
use help::Asked;

/// Which skill an overlay is to be drafted for, and how.
#[derive(Clone, Debug, Default)]
pub struct AdoptRequest {
    /// A name that `list` shows, or a path with a `/` in it.
    pub skill: String,
    /// Folders to look names up in, instead of the usual sources.
    pub roots: Vec<PathBuf>,
    /// Whether scripts are asked for help.
    pub ask_help: bool,
}

/// Told how far the scripts are that are asked for help.
pub type AdoptProgress = Arc<dyn Fn(RunStep) + Send + Sync>;

impl Host {
    /// Drafts an overlay for the scripts of a skill that nobody declared, and keeps it in the state folder, where nothing
    /// loads it. Nothing can run by it until [`Host::accept_draft`].
    ///
    /// What each script takes is read from its source. If the request says so and there is a `person`, each script whose
    /// source looks as if it answered `--help` is asked for it: in the sandbox, through the gate, on the person's word for
    /// that one call, with a receipt, and with no file granted. A script that does not end well on it is left out.
    ///
    /// Scripts of an overlay that is there for this skill are kept in the draft as they are, whatever revision it was
    /// confirmed for, as long as their files are there; the person changed them, or could have.
    ///
    /// # Errors
    /// The codes of [`Host::show`], `E_NO_REVISION`, `E_STATE_UNAVAILABLE`, `E_CONFIG_UNEDITABLE` for a draft that no
    /// `fumehood.toml` has room for, `E_CANCELLED`. That a script could not be asked is no error; the report says so.
    ///
    /// # Authority
    /// As [`Host::run`], for the scripts that the person lets run.
    pub fn adopt(
        &self,
        request: &AdoptRequest,
        person: Option<&Arc<dyn Person>>,
        cancel: &Cancel,
        tell: &AdoptProgress,
    ) -> Result<AdoptReport, Fault> {
        let home = self.home()?;
        let settings = self.settings(&home)?;
        let skill = self.captured(&request.skill, &request.roots)?;
        let old = settings.overlay(&skill.source, &skill.name);
        let (kept, gone) = kept(old, &skill);
        let undeclared = undeclared(&skill, &kept);
        let willing = person.filter(|_| request.ask_help);
        let mut asked = Vec::new();
        for script in &undeclared {
            asked.push(match willing {
                Some(person) => self.ask_for_help(&skill, &settings, script, person, cancel, tell)?,
                None => Asked::not(),
            });
        }
        let draft = draft(&skill, &kept, &undeclared, &asked);
        let overlay = overlay(&skill, old, &kept, &draft)?;
        let path = overlay.as_ref().map(|overlay| Drafts::of(&home).save(overlay)).transpose();
        let path = path.map_err(|error| not_kept(&error))?;
        let text = overlay.as_ref().map(text).transpose()?;
        let mut report = AdoptReport {
            schema_version: SCHEMA_VERSION,
            skill: skill.qualified(),
            revision: skill.snapshot.revision().to_string(),
            help: match (request.ask_help, person) {
                (false, _) => "off",
                (true, None) => "no_terminal",
                (true, Some(_)) => "asked",
            },
            draft: path,
            overlay: text,
            scripts: kept.iter().map(|script| kept_out(&script.script)).collect(),
            left_out: gone,
        };
        fill(&mut report, &draft, &undeclared, &asked);
        Ok(report)
    }
}

/// The scripts of the overlay that is there, without those whose files are gone.
fn kept(old: Option<&Overlay>, skill: &Captured) -> (Vec<OverlayScript>, Vec<LeftOutOut>) {
    let scripts = old.map(|old| old.parts().scripts.as_slice()).unwrap_or_default();
    let (kept, gone): (Vec<_>, Vec<_>) =
        scripts.iter().cloned().partition(|script| skill.snapshot.get(script.script.path()).is_some());
    let left_out = |script: &OverlayScript| LeftOutOut {
        path: script.script.path().to_string(),
        why: NoteOut { about: script.script.name().to_string(), message: GONE },
        help: HelpOut::of("not_asked"),
        notes: Vec::new(),
    };
    let gone = gone.iter().map(left_out).collect();
    (kept, gone)
}

/// Scripts that neither the skill nor the overlay declares, in the order of their paths.
fn undeclared(skill: &Captured, kept: &[OverlayScript]) -> Vec<UndeclaredScript> {
    let declared: BTreeSet<&RelPath> = kept.iter().map(|script| script.script.path()).collect();
    let mut scripts = skill.inspection.undeclared_scripts(&skill.snapshot);
    scripts.retain(|script| !declared.contains(&script.path));
    scripts.sort_by(|one, other| one.path.as_str().cmp(other.path.as_str()));
    scripts
}

fn draft(skill: &Captured, kept: &[OverlayScript], scripts: &[UndeclaredScript], asked: &[Asked]) -> Draft {
    let own = skill.inspection.fumehood.accepted().map(FumehoodManifest::scripts).unwrap_or_default();
    let taken = own.iter().chain(kept.iter().map(|script| &script.script));
    let taken: Vec<&str> = taken.map(|script| script.name().as_str()).collect();
    let candidates = scripts.iter().zip(asked).filter(|(_, asked)| !asked.is_killed());
    let candidates: Vec<_> = candidates
        .filter_map(|(script, asked)| {
            let bytes = skill.snapshot.get(&script.path)?.bytes();
            Some(Candidate { path: &script.path, bytes, help: asked.text() })
        })
        .collect();
    adopt::draft(&skill.name, &taken, SCRIPTS_MAX - kept.len(), &candidates)
}

/// The overlay that the draft is; `None` if it would declare nothing.
fn overlay(
    skill: &Captured,
    old: Option<&Overlay>,
    kept: &[OverlayScript],
    draft: &Draft,
) -> Result<Option<Overlay>, Fault> {
    let drafted = draft.scripts.iter().map(|drafted| &drafted.script).cloned();
    let drafted = drafted.map(|script| OverlayScript { script, tool_name: None });
    let scripts: Vec<_> = kept.iter().cloned().chain(drafted).collect();
    if scripts.is_empty() {
        return Ok(None);
    }
    let parts = OverlayParts {
        source: skill.source.clone(),
        skill: skill.name.clone(),
        revision: skill.snapshot.revision().sha256().to_string(),
        fail_on_nonzero_exit: old.and_then(|old| old.parts().fail_on_nonzero_exit),
        scripts,
    };
    let overlay = Overlay::new(parts);
    overlay
        .map(Some)
        .map_err(|error| Fault::of(&error, "write the overlay by hand; docs/configuration.md says how"))
}

/// An overlay as it stands in the file.
fn text(overlay: &Overlay) -> Result<String, Fault> {
    overlays_to_toml(std::slice::from_ref(overlay)).map_err(|error| not_kept(&error))
}

fn not_kept(error: &(impl Coded + std::fmt::Display)) -> Fault {
    Fault::of(error, "no draft was kept; mend that and try again")
}

fn kept_out(script: &ScriptClaim) -> DraftedOut {
    DraftedOut {
        script: ScriptOut::of(script),
        kept: true,
        help: HelpOut::of("not_asked"),
        notes: vec![NoteOut { about: String::new(), message: KEPT }],
    }
}

/// What came of each script, in the order of their paths.
fn fill(report: &mut AdoptReport, draft: &Draft, scripts: &[UndeclaredScript], asked: &[Asked]) {
    let notes = |notes: &[adopt::Note]| notes.iter().map(NoteOut::from).collect::<Vec<_>>();
    for (script, asked) in scripts.iter().zip(asked) {
        let drafted = draft.scripts.iter().find(|drafted| *drafted.script.path() == script.path);
        let left = draft.left_out.iter().find(|left| left.path == script.path);
        match (drafted, left) {
            (Some(drafted), _) => report.scripts.push(DraftedOut {
                script: ScriptOut::of(&drafted.script),
                kept: false,
                help: asked.out(),
                notes: notes(&drafted.notes),
            }),
            (None, left) => report.left_out.push(LeftOutOut {
                path: script.path.to_string(),
                why: left.map_or(NoteOut { about: String::new(), message: KILLED }, |left| {
                    NoteOut::from(&left.why)
                }),
                help: asked.out(),
                notes: left.map_or(Vec::new(), |left| notes(&left.notes)),
            }),
        }
    }
}

impl Captured {
    /// The name by which a person would tell it from others.
    pub(super) fn qualified(&self) -> String {
        format!("{}:{}", self.source, self.name)
    }
}

const KEPT: &str = "Your overlay declares it already; it is kept as it is. Look whether it still fits.";
const GONE: &str = "Your overlay declares it, and its file is not there any more.";
const KILLED: &str =
    "When it was asked for help it had to be killed, died by a signal, or wrote more than is kept.";
