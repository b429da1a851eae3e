//! `run`: one script of a skill, asked for, approved, confined, on record.

mod approver;
mod arguments;
mod attended;
mod call;
mod chosen;
mod gated;
mod interpreters;
mod notes;
mod offers;
mod report;
mod switches;
mod workshop;

use std::path::PathBuf;
use std::sync::Arc;

use fumehood_core::call::{exact_schema, script_schema};
use fumehood_core::inspect::{Inspection, inspect};
use fumehood_core::tool::{Effect, Origin, Tier, ToolDefinition};
use fumehood_core::{AgentLabel, Code, Json, ProposalId, RawCall, SkillName, ToolSpec};
use fumehood_gate::Cancel;
use fumehood_runners::script::{Granted, Script, ScriptSkill, Source, WorkspaceAccess};
use fumehood_store::{AnyFolder, CaptureError, GIVEN_LABEL, Home, Settings, Snapshot};

use super::question::{Notes, Wording};
use super::{Host, Opened, Person};
use crate::fault::Fault;
use crate::report::RunReport;
use attended::Attended;
pub use call::{CallInput, CallRequest};
use chosen::Chosen;
use gated::Wanted;
use offers::Identity;
use workshop::Bench;

pub(super) use gated::{Gated, Patience, Tell};
pub(super) use switches::{execute_bar, refuse_safe_mode, safety_bar};

/// What somebody wants to run.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    /// A name that `list` shows, or a path with a `/` in it.
    pub skill: String,
    /// Folders to look names up in, instead of the usual sources.
    pub roots: Vec<PathBuf>,
    /// The name of a declared script, or the path of a file of the skill.
    pub script: String,
    /// Arguments of a declared script, by name, as typed.
    pub params: Vec<(String, String)>,
    /// Arguments of a declared script as a JSON object, in place of `params`.
    pub named: Option<Json>,
    /// The exact arguments of a script that nobody declared.
    pub argv: Option<Vec<String>>,
    /// The interpreter of a script that nobody declared, if its file does not say.
    pub interpreter: Option<String>,
    /// Files that it may read.
    pub read: Vec<String>,
    /// Files that it may replace or make.
    pub write: Vec<String>,
    /// A folder that it may read, and whether it may change it.
    pub workspace: Option<(PathBuf, bool)>,
    /// Whether it starts there, and not in the skill's folder.
    pub in_workspace: bool,
    /// Where the files go that it leaves in `/out`.
    pub out: Option<PathBuf>,
    /// Seconds after which it is killed.
    pub timeout: Option<u64>,
    /// The revision that the person has approved already: 64 hex digits, `sha256:` before them or not.
    pub approve: Option<String>,
}

/// What a run tells while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStep {
    /// Somebody said yes, or nobody had to, and its files are laid out.
    Staging,
    /// The script runs.
    Started,
    /// Nothing of it is left.
    Ended,
}

/// A skill that can run: its bytes, and what they claim.
pub(super) struct Captured {
    pub(super) source: String,
    pub(super) name: SkillName,
    /// The folder that it was read from, if it was one.
    pub(super) path: Option<PathBuf>,
    pub(super) snapshot: Snapshot,
    pub(super) inspection: Inspection,
}

/// A call of a script that can be made, or only looked at.
pub(super) struct Ready {
    pub(super) spec: ToolSpec,
    pub(super) raw: RawCall,
    pub(super) settings: Settings,
    granted: Granted,
    chosen: Chosen,
}

/// Who makes a call: how long it waits, how it is given up, and who is told how far it is.
pub(super) struct Call<'c> {
    pub(super) patience: Patience,
    pub(super) cancel: &'c Cancel,
    pub(super) tell: Tell,
}

impl<'c> Call<'c> {
    /// One that waits for the person.
    pub(super) fn of_person(cancel: &'c Cancel, tell: impl FnMut(RunStep) + Send + 'static) -> Self {
        Self { patience: Patience::Waits, cancel, tell: Box::new(tell) }
    }
}

/// Why a call did not run: a fault, and the request that is still open if that is why.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The fault.
    pub fault: Fault,
    /// The request that nobody has answered: the same call made again finds it.
    pub pending: Option<ProposalId>,
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self { fault, pending: None }
    }
}

impl Ready {
    /// The script, as the host runs it now.
    pub(super) fn script(&self, host: &Host, bench: &Bench, home: &Home, skill: &Captured) -> Script {
        let Chosen { source, overlay, fail_on_nonzero_exit, .. } = &self.chosen;
        let workshop = host.workshop(bench, home, self.settings.clone(), skill);
        let of = ScriptSkill::new(skill.source.clone(), skill.name.clone(), skill.snapshot.clone(), *overlay);
        let script = Script::new(workshop, of, source.clone(), self.granted.clone());
        script.fail_on_nonzero_exit(*fail_on_nonzero_exit)
    }

    /// Makes the call.
    pub(super) fn pass(
        self,
        host: &Host,
        gated: &Gated,
        skill: &Captured,
        (home, purpose): (&Home, Option<&'static str>),
        call: Call<'_>,
    ) -> Result<RunReport, Refusal> {
        let planner = self.script(host, &gated.bench, home, skill);
        let Self { spec, raw, settings, granted, chosen } = self;
        let notes = notes::of(&chosen.source, &skill.snapshot, &granted);
        let what = format!("{:?} {:?} {granted:?}", chosen.source, chosen.overlay);
        let wanted = Wanted {
            spec,
            planner,
            identity: Identity::of(skill, file(&chosen.source), what, settings),
            wording: host.wording(&gated.bench, skill, purpose, notes),
        };
        let Call { patience, cancel, tell } = call;
        let ended = gated.pass(wanted, &raw, patience, cancel, tell)?;
        gated.bench.remember(skill, &ended);
        let pending = ended.as_ref().err().and_then(|error| error.pending);
        let report = report::of(ended, raw.tool, skill, skill.snapshot.revision());
        report.map_err(|fault| Refusal { fault, pending })
    }
}

impl Host {
    /// Runs a script of a skill, once, if the person says yes.
    ///
    /// `person` is asked; without one the answer is no. `cancel` ends it, and comes back when nothing of it is left. A
    /// script that ran and failed is no error: see [`RunReport::failure`].
    ///
    /// # Errors
    /// Whatever keeps it from running: the codes of [`Host::show`], of arguments, paths and grants,
    /// `E_SKILL_SCRIPT_DENIED`, `E_SKILL_SCRIPT_GATE_UNAVAILABLE`, `E_SKILL_SCRIPT_POLICY_WIDENED`,
    /// `E_POLICY_*`, `E_TOOL_SANDBOX_REQUIRED`, `E_INTERPRETER_*`, `E_CONSENT_*`, `E_APPROVE_*`, `E_ARTIFACT_STORE_FULL`, `E_CANCELLED`.
    ///
    /// # Authority
    /// Starts an interpreter in the sandbox with what the request names, and changes the files that it names for that. The
    /// program must call [`helper::dispatch`](crate::helper::dispatch) as its first line, or name a helper that does.
    pub fn run(
        &self,
        request: &RunRequest,
        person: Option<Arc<dyn Person>>,
        cancel: &Cancel,
        tell: impl FnMut(RunStep) + Send + 'static,
    ) -> Result<RunReport, Fault> {
        // A mistake in the command is said before anything is opened or started.
        self.settings(&self.home()?)?;
        let skill = self.captured(&request.skill, &request.roots)?;
        self.run_captured(&skill, request, person, cancel, None, tell)
    }

    /// The one way to run a script of a skill for a person who is there, for whatever reason: `purpose` says to them which, if
    /// it is the host's.
    pub(super) fn run_captured(
        &self,
        skill: &Captured,
        request: &RunRequest,
        person: Option<Arc<dyn Person>>,
        cancel: &Cancel,
        purpose: Option<&'static str>,
        tell: impl FnMut(RunStep) + Send + 'static,
    ) -> Result<RunReport, Fault> {
        let home = self.home()?;
        let settings = self.settings(&home)?;
        refuse_safe_mode(&settings)?;
        let chosen = skill.choose(request, &settings)?;
        let attended = Attended::of(request.approve.as_deref(), skill, &settings, (&home, person))?;
        let ready = self.ready(skill, request, settings, chosen)?;
        let gated = attended.open(self, &home, &ready.settings, cancel)?;
        let ended = ready.pass(self, &gated, skill, (&home, purpose), Call::of_person(cancel, tell));
        gated.end();
        ended.map_err(|refusal| attended.fault(refusal.fault))
    }

    /// A call as it was asked for, checked as far as that goes before anything is opened.
    pub(super) fn ready(
        &self,
        skill: &Captured,
        request: &RunRequest,
        settings: Settings,
        chosen: Chosen,
    ) -> Result<Ready, Fault> {
        let spec = spec(skill, &chosen, &settings)?;
        let raw = RawCall {
            tool: spec.name().as_str().to_owned(),
            arguments: arguments::of(request, &chosen.source, settings.envelope.timeout_max())?,
        };
        Ok(Ready { spec, raw, granted: self.granted(request), chosen, settings })
    }

    /// The bytes of a skill, all later steps work from them.
    pub(super) fn captured(&self, skill: &str, roots: &[PathBuf]) -> Result<Captured, Fault> {
        let Opened { folder, source, .. } = self.open(skill, roots)?;
        let (captured, facts) = (folder.capture(), folder.facts());
        let snapshot = match captured {
            Ok(snapshot) if !snapshot.is_of(&facts) => Err(CaptureError::Changed),
            captured => captured,
        };
        let snapshot = snapshot.map_err(|error| {
            let advice = "`fumehood show` says what is in the way; without a revision a skill cannot run";
            Fault::of(&error, advice)
        })?;
        let reading = snapshot.skill_md().reading(folder.directory_name());
        let inspection = inspect(reading, facts, &snapshot);
        let text = inspection.skill.as_ref().ok_or_else(|| {
            let message = "the skill cannot be loaded, so nothing of it can run";
            Fault::new(Code::NotLoadable, message, "`fumehood check` says what is wrong with it")
        })?;
        let name = SkillName::parse(&text.name);
        let name = name.map_err(|error| Fault::of(&error, "`fumehood check` says what is wrong with it"))?;
        let source = source.unwrap_or_else(|| GIVEN.to_owned());
        let path = match &folder {
            AnyFolder::Disk(folder) => Some(folder.path().to_path_buf()),
            AnyFolder::Memory(_) => None,
        };
        Ok(Captured { source, name, path, snapshot, inspection })
    }

    fn granted(&self, request: &RunRequest) -> Granted {
        let current = &self.surroundings.current;
        let access = |change| if change { WorkspaceAccess::Change } else { WorkspaceAccess::Read };
        Granted {
            base: current.canonicalize().unwrap_or_else(|_| current.clone()),
            workspace: request.workspace.as_ref().map(|(path, change)| (current.join(path), access(*change))),
            in_workspace: request.in_workspace,
            read: request.read.clone(),
            write: request.write.clone(),
            out: request.out.as_ref().map(|out| current.join(out)),
        }
    }

    /// How calls of a skill's tools are put to a person.
    fn wording(
        &self,
        bench: &Bench,
        skill: &Captured,
        purpose: Option<&'static str>,
        notes: Notes,
    ) -> Wording {
        Wording { purpose, state_folder: self.state_folder(), record: bench.history(skill), notes }
    }

    pub(super) fn state_folder(&self) -> Option<String> {
        self.surroundings.fumehood_home.as_ref().map(|home| home.to_string_lossy().into_owned())
    }
}

/// How the host calls whoever uses the command line.
pub(super) fn agent() -> Result<AgentLabel, Fault> {
    AgentLabel::parse("cli").map_err(|error| Fault::of(&error, REPORT))
}

fn spec(skill: &Captured, chosen: &Chosen, settings: &Settings) -> Result<ToolSpec, Fault> {
    let timeout = settings.envelope.timeout_max();
    let input: Json = match &chosen.source {
        Source::Declared(claim) => script_schema(claim.params(), timeout),
        Source::Undeclared { .. } => exact_schema(timeout),
    };
    let definition = ToolDefinition {
        name: &chosen.tool,
        description: &chosen.description,
        input: &input,
        effect: Effect::Other,
        retries: 0,
        timeout,
        tier: Tier::Script,
        origin: Origin::Skill { source: skill.source.clone(), skill: skill.name.clone() },
        approval: None,
    };
    ToolSpec::new(definition).map_err(|error| Fault::of(&error, "`fumehood check` says more"))
}

fn file(source: &Source) -> &str {
    match source {
        Source::Declared(claim) => claim.path().as_str(),
        Source::Undeclared { path, .. } => path.as_str(),
    }
}

/// A denial with its reason, where it is one that the gate does not know.
pub(super) fn denied(fault: Fault, is_open: bool, refused: Option<&Fault>) -> Fault {
    match (fault.code, refused) {
        (Code::ScriptDenied, Some(refused)) => refused.clone(),
        (Code::ScriptDenied, None) if !is_open => Fault { advice: SHUT.to_owned(), ..fault },
        _ => fault,
    }
}

/// The label of a skill that the person named by its path.
pub(super) const GIVEN: &str = GIVEN_LABEL;
const SHUT: &str = "policy.toml takes no yes from here; [surfaces] in it says from where one counts";
const REPORT: &str = "this is a bug; please report it";
