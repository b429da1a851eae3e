//! `run`: one script of a skill, asked for, approved, confined, on record.

mod approver;
mod arguments;
mod call;
mod chosen;
mod interpreters;
mod notes;
mod report;
mod switches;
mod workshop;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use fumehood_core::call::{exact_schema, script_schema};
use fumehood_core::inspect::{Inspection, inspect};
use fumehood_core::tool::{Effect, Origin, Tier, ToolDefinition};
use fumehood_core::{AgentLabel, Code, Json, RawCall, SkillName, ToolSpec};
use fumehood_gate::{Cancel, Gate, Listeners, Offer};
use fumehood_runners::script::{Granted, Script, ScriptSkill, Source, WorkspaceAccess};
use fumehood_store::{AnyFolder, CaptureError, GIVEN_LABEL, Settings, Snapshot};

use super::person::Asking;
use super::policy::{HostPolicy, SurfaceRule};
use super::ports::{SystemClock, SystemEntropy};
use super::{Host, Opened, Person};
use crate::fault::Fault;
use crate::report::RunReport;
pub use call::{CallInput, CallRequest};
use chosen::Chosen;
use workshop::Bench;

pub(super) use switches::safety_bar;

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

/// A call that can be made, or only looked at.
pub(super) struct Prepared {
    pub(super) spec: ToolSpec,
    pub(super) raw: RawCall,
    pub(super) bench: Bench,
    pub(super) script: Script,
    pub(super) source: Source,
    pub(super) base: PathBuf,
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

    /// The one way to run a script of a skill, for whatever reason: `purpose` says to the person which, if it is the host's.
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
        switches::refuse_safe_mode(&settings)?;
        let chosen = skill.choose(request, &settings)?;
        let (person, surface) = approver::of(request.approve.as_deref(), skill, &settings, person)?;
        let (is_flag_configured, now) = (settings.approve_by_revision_flag, settings.clone());
        let Prepared { spec, raw, bench, script, source, base } =
            self.prepare(skill, request, settings, chosen)?;
        let record = bench.history(skill);
        let rule = SurfaceRule { home: home.clone(), surface, is_flag_configured };
        // Who may not say yes there is not asked.
        let is_open = rule.is_open();
        let refused = Arc::new(OnceLock::new());
        let asking = person.filter(|_| is_open).map(|person| {
            Arc::new(Asking {
                person,
                rule,
                purpose,
                state_folder: self.state_folder(),
                record,
                notes: notes::of(request, &source, &skill.snapshot, &base),
                cancel: cancel.clone(),
                vouch: self.vouching(),
                refused: Arc::clone(&refused),
                decider: OnceLock::new(),
            })
        });
        let policy = HostPolicy::new(home, self.surroundings.clone(), now);
        let gate = self.gate(policy, &bench, asking.as_ref(), tell)?;
        let revision = skill.snapshot.revision();
        let offer = Offer::new(spec, script).map_err(|error| Fault::of(&error, REPORT))?;
        gate.offer(vec![offer]).map_err(|error| Fault::of(&error, "choose another name for the script"))?;
        let ended = gate.call(&raw, cancel);
        bench.remember(skill, &ended);
        gate.end();
        report::of(ended, raw.tool, skill, revision).map_err(|fault| denied(fault, is_open, refused.get()))
    }

    /// Everything up to the call itself.
    pub(super) fn prepare(
        &self,
        skill: &Captured,
        request: &RunRequest,
        settings: Settings,
        chosen: Chosen,
    ) -> Result<Prepared, Fault> {
        let spec = spec(skill, &chosen, &settings)?;
        let granted = self.granted(request);
        let raw = RawCall {
            tool: spec.name().as_str().to_owned(),
            arguments: arguments::of(request, &chosen.source, settings.envelope.timeout_max())?,
        };
        let bench = self.bench(&self.home()?, settings, skill)?;
        let (source, base) = (chosen.source.clone(), granted.base.clone());
        let script = Script::new(
            Arc::clone(&bench.workshop),
            ScriptSkill::new(
                skill.source.clone(),
                skill.name.clone(),
                skill.snapshot.clone(),
                chosen.overlay,
            ),
            chosen.source,
            granted,
        );
        let script = script.fail_on_nonzero_exit(chosen.fail_on_nonzero_exit);
        Ok(Prepared { spec, raw, bench, script, source, base })
    }

    fn gate(
        &self,
        policy: HostPolicy,
        bench: &Bench,
        asking: Option<&Arc<Asking>>,
        mut tell: impl FnMut(RunStep) + Send + 'static,
    ) -> Result<Gate, Fault> {
        let mut listeners = Listeners::new();
        listeners.add(move |event: &fumehood_core::Event| match event.kind() {
            fumehood_core::EventKind::SandboxStarted { .. } => tell(RunStep::Started),
            fumehood_core::EventKind::SandboxEnded { .. } => tell(RunStep::Ended),
            _ => {}
        });
        let builder = Gate::builder(
            agent()?,
            Arc::new(SystemClock),
            Arc::new(SystemEntropy),
            Arc::new(policy),
            bench.journal(),
            bench.results(),
        );
        let builder = builder.listeners(Arc::new(listeners)).state_folder(self.state_folder());
        let builder = match asking {
            Some(asking) => builder.approver(Arc::clone(asking) as _),
            None => builder,
        };
        let gate = builder.build().map_err(|outage| Fault::of(&outage, "try again"))?;
        if let Some(asking) = asking {
            // It was made just now, so nobody has set it.
            let _ = asking.decider.set(gate.decider());
        }
        Ok(gate)
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
