//! What a person is shown before a revision is trusted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fumehood_core::consent::Surface;
use fumehood_core::policy::{Mode, YesKind};
use fumehood_core::trust_scope::{ScopeDraft, ScopeParts};
use fumehood_core::{AgentLabel, Code, Coded as _, HostPath, Shown};
use fumehood_gate::{FileUse, workspace_words};
use fumehood_store::{ApprovedText, Home, Journal, PolicyFile, Settings, TrustScopes, Workspace};

use super::program::TrustedProgram;
use super::{MEND, fault, scope_id};
use crate::fault::Fault;
use crate::host::Host;
use crate::host::past::{SkillId, past};
use crate::host::policy::SurfaceRule;
use crate::host::run::{Captured, agent};
use crate::report::{FileSince, ScopeOut};

/// What somebody wants to trust.
#[derive(Clone, Debug, Default)]
pub struct TrustRequest {
    /// A name that `list` shows, or a path with a `/` in it.
    pub skill: String,
    /// Folders to look names up in, instead of the usual sources.
    pub roots: Vec<PathBuf>,
    /// The name or the path of a declared script, or the tool name of the checked tool. Without it the checked tool is meant.
    pub script: Option<String>,
    /// For path parameters the place at or below which their values must lie. One that is not here is asked about.
    pub paths: Vec<(String, PathBuf)>,
    /// The workspace folder, and whether it may be changed.
    pub workspace: Option<(PathBuf, bool)>,
    /// Seconds that one attempt may take; if not given the envelope's default, for a checked tool all that its manifest gives.
    pub timeout: Option<u64>,
    /// The agent whose calls are trusted; whoever uses the command line if not given.
    pub agent: Option<AgentLabel>,
}

/// What a person sees before it is trusted.
#[derive(Clone, Debug)]
pub struct ScopePreview {
    /// The scope as it would be saved.
    pub scope: ScopeOut,
    /// What would run.
    pub program: TrustedProgram,
    /// Path parameters that it has no place for: calls that give them are asked about.
    pub asked_paths: Vec<String>,
    /// What differs from the revision that was approved last.
    pub past: PastFiles,
    /// Scopes that were saved as drafts before and become trusted with this one.
    pub drafts: Vec<ScopeOut>,
    /// The mode of the policy. In any but `trusted` what is saved is a draft.
    pub mode: &'static str,
    /// The state folder, if it is not the usual one.
    pub state_folder: Option<String>,
    pub(super) draft: ScopeDraft,
    pub(super) request: TrustRequest,
}

/// How the files of a skill differ from those of the revision that was approved last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PastFiles {
    /// The revision; `None` if none is on record.
    pub revision: Option<String>,
    /// The files that differ, by their paths.
    pub files: Vec<FileSince>,
}

type Places = BTreeMap<String, HostPath>;

impl Host {
    /// Works out what would be trusted. Changes nothing.
    ///
    /// # Errors
    /// The codes of [`Host::show`]; `E_TRUST_SCOPE_INVALID`, also for a script that nobody declared and for more than the
    /// checked tool gets; what keeps the skill from having a checked tool, where that is meant; `E_ARGUMENT_INVALID` for a
    /// place of something that is no path parameter, and for a name that could be either; `E_FOLDER_NOT_FOUND`; those of a workspace; `E_POLICY_INVALID`, and
    /// `E_POLICY_DENIED` where the policy lets no terminal trust a revision.
    pub fn preview_scope(&self, request: &TrustRequest) -> Result<ScopePreview, Fault> {
        let home = self.home()?;
        let settings = self.settings(&home)?;
        let file = PolicyFile::read(&home);
        if let Some(error) = file.error() {
            return Err(Fault::new(Code::PolicyInvalid, error.to_string(), "mend policy.toml first"));
        }
        may_trust(&home)?;
        let skill = self.captured(&request.skill, &request.roots)?;
        let meant = skill.meant(request, &settings)?;
        let paths = self.places(&meant.path_parameters, request)?;
        let workspace = self.workspace_trusted(&home, &settings, &skill, request)?;
        let parts = ScopeParts {
            agent: request.agent.clone().map_or_else(agent, Ok)?,
            source: skill.source.clone(),
            id: skill.name.clone(),
            revision: skill.snapshot.revision(),
            tool: meant.tool.clone(),
            overlay: meant.overlay,
            workspace,
            timeout_seconds_max: meant.seconds,
            output_bytes_max: meant.output_bytes,
            paths,
        };
        let asked_paths = meant.path_parameters.iter().filter(|name| !parts.paths.contains_key(*name));
        let asked_paths = asked_paths.cloned().collect();
        let draft =
            ScopeDraft::new(parts).map_err(|error| Fault::of(&error, "ask for less, or name less"))?;
        let journal = Journal::open_if_any(&home).map_err(|error| Fault::of(&error, MEND))?;
        let past = journal.and_then(|journal| past(&journal, &SkillId::of(&skill)));
        let scopes = TrustScopes::read(&home).map_err(|error| fault(&error))?;
        let drafts = scopes.as_slice().iter().filter(|scope| scope.receipt().is_none());
        let mode = file.policy.mode();
        Ok(ScopePreview {
            scope: ScopeOut::of_draft(&draft, scope_id(&draft)),
            program: self.program(&home, &settings, meant),
            asked_paths,
            past: past.map_or_else(PastFiles::default, |past| PastFiles {
                files: past.since(&ApprovedText::of(&home), &skill.snapshot),
                revision: Some(past.revision),
            }),
            drafts: drafts
                .filter(|scope| mode == Mode::Trusted && *scope.draft() != draft)
                .map(|scope| ScopeOut::of(scope, scope_id(scope.draft())))
                .collect(),
            mode: mode.as_str(),
            state_folder: self.state_folder(),
            draft,
            request: request.clone(),
        })
    }

    /// The places that the person named, each for a path parameter.
    fn places(&self, all: &BTreeSet<String>, request: &TrustRequest) -> Result<Places, Fault> {
        let mut paths = Places::new();
        for (name, place) in &request.paths {
            if !all.contains(name) {
                let message = format!("{} is no path parameter of it", Shown::inline(name));
                return Err(Fault::new(
                    Code::ArgumentInvalid,
                    message,
                    "`fumehood show` lists what it takes",
                ));
            }
            if paths.insert(name.clone(), self.trusted_place(place)?).is_some() {
                let message = format!("{} is given twice", Shown::inline(name));
                return Err(Fault::new(Code::ArgumentInvalid, message, "give it once"));
            }
        }
        Ok(paths)
    }

    /// The workspace that calls must have, in the words of the scope.
    fn workspace_trusted(
        &self,
        home: &Home,
        settings: &Settings,
        skill: &Captured,
        request: &TrustRequest,
    ) -> Result<Option<String>, Fault> {
        let workspace = request.workspace.as_ref().map(|(path, change)| {
            let forbidden = self.forbidden(home, settings, skill.path.as_deref());
            let folder =
                Workspace::open(&self.surroundings.current.join(path), &forbidden).map_err(|error| {
                    let message = format!("{}: {error}", Shown::inline(&path.to_string_lossy()));
                    Fault::new(error.code(), message, "name another folder")
                })?;
            let usage = if *change { FileUse::ChangeFolder } else { FileUse::ReadFolder };
            Ok::<_, Fault>(workspace_words(usage, folder.identity()))
        });
        workspace.transpose()
    }

    /// A place that the person typed, behind all links.
    fn trusted_place(&self, place: &Path) -> Result<HostPath, Fault> {
        let shown = Shown::inline(&place.to_string_lossy()).to_string();
        let real = self.surroundings.current.join(place).canonicalize().map_err(|_| {
            Fault::new(
                Code::FolderNotFound,
                format!("{shown} is not there"),
                "name a folder or a file that is",
            )
        })?;
        let text = real.to_str().and_then(|text| HostPath::parse(text).ok());
        text.ok_or_else(|| {
            Fault::new(Code::PathRejected, format!("{shown} cannot be written as text"), "name another place")
        })
    }
}

/// Whether the policy lets the terminal trust a revision.
fn may_trust(home: &Home) -> Result<(), Fault> {
    let rule = SurfaceRule { home: home.clone(), surface: Surface::Terminal, is_flag_configured: false };
    if rule.takes(YesKind::Revision) {
        return Ok(());
    }
    let message = "policy.toml lets nobody trust a revision at the terminal";
    Err(Fault::new(Code::PolicyDenied, message, "[surfaces] in it says from where trust counts"))
}
