//! `call`: the checked tool of a skill, JSON in and JSON out.

use std::path::PathBuf;
use std::sync::Arc;

use fumehood_core::checked::{Answer, CheckedFacts, CheckedResult, Problem};
use fumehood_core::inspect::ManifestState;
use fumehood_core::limits::INVOCATION_BYTES_MAX;
use fumehood_core::manifest::{ExecutionManifest, InterpreterKey, checked_tool_name};
use fumehood_core::policy::Mode;
use fumehood_core::receipt::Processes;
use fumehood_core::tool::{Effect, Origin, Tier, ToolDefinition};
use fumehood_core::{Code, Coded as _, RawCall, Shown, ToolSpec};
use fumehood_gate::{Cancel, Completed, GateError};
use fumehood_runners::checked::{Checked, NODE};
use fumehood_runners::script::ScriptSkill;
use fumehood_store::{Home, Pins, PolicyFile, Settings, read_typed};

use super::attended::Attended;
use super::gated::{Gated, Wanted};
use super::offers::Identity;
use super::switches::{HostSwitches, execute_bar, safety_bar};
use super::workshop::Bench;
use super::{Call, Captured, REPORT, Refusal, RunStep, report};
use crate::fault::Fault;
use crate::host::{Host, Person};
use crate::report::{CallReport, Reason};

/// What somebody wants to call.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// A name that `list` shows, or a path with a `/` in it.
    pub skill: String,
    /// Folders to look names up in, instead of the usual sources.
    pub roots: Vec<PathBuf>,
    /// The arguments.
    pub input: CallInput,
    /// A folder that it may read. A relative path counts from the host's current folder.
    pub workspace: Option<PathBuf>,
    /// Milliseconds after which it is killed, if that is less than its manifest says.
    pub timeout_ms: Option<u32>,
    /// The revision that the person has approved already, as in [`RunRequest`](super::RunRequest).
    pub approve: Option<String>,
}

/// Where arguments come from.
#[derive(Clone, Debug)]
pub enum CallInput {
    /// They are here: one JSON value.
    Json(Vec<u8>),
    /// In a file of at most 64 KiB. A relative path counts from the host's current folder.
    File(PathBuf),
}

impl Host {
    /// Calls the checked tool of a skill, once, if the person says yes.
    ///
    /// Who is asked, and how it is ended, as in [`Host::run`]. A program that ran and failed is no error: see
    /// [`CallReport::failure`].
    ///
    /// # Errors
    /// Whatever keeps it from running: `E_EXECUTION_UNAVAILABLE`, `E_EXECUTION_MANIFEST`, `E_SKILL_NOT_CONFORMANT`,
    /// `E_NO_REVISION`, `E_EXECUTE_DISABLED`, `E_SAFE_MODE`, the codes of JSON and schemas for the arguments, and those of
    /// [`Host::run`].
    ///
    /// # Authority
    /// Starts Node in the sandbox, with the files that the manifest lists, the workspace to read if there is one, and nothing else. The program must call
    /// [`helper::dispatch`](crate::helper::dispatch) as its first line, or name a helper that does.
    pub fn call(
        &self,
        request: &CallRequest,
        person: Option<Arc<dyn Person>>,
        cancel: &Cancel,
        tell: impl FnMut(RunStep) + Send + 'static,
    ) -> Result<CallReport, Fault> {
        let home = self.home()?;
        let settings = self.settings(&home)?;
        let input = self.input(&request.input)?;
        let skill = self.captured(&request.skill, &request.roots)?;
        let ready = skill.ready_call(request, input, settings)?;
        let attended = Attended::of(request.approve.as_deref(), &skill, &ready.settings, (&home, person))?;
        let gated = attended.open(self, &home, &ready.settings, cancel)?;
        let ended = ready.pass(self, &gated, &skill, &home, Call::of_person(cancel, tell));
        gated.end();
        ended.map_err(|refusal| attended.fault(refusal.fault))
    }

    pub(in crate::host) fn input(&self, input: &CallInput) -> Result<Vec<u8>, Fault> {
        match input {
            CallInput::Json(bytes) => Ok(bytes.clone()),
            CallInput::File(path) => {
                let read = read_typed(&self.surroundings.current.join(path), INVOCATION_BYTES_MAX);
                read.map_err(|error| {
                    let message = format!("{}: {error}", Shown::inline(&path.to_string_lossy()));
                    Fault::new(
                        error.code(),
                        message,
                        "behind @ name a file with one JSON value, at most 64 KiB",
                    )
                })
            }
        }
    }

    /// What of this host keeps checked tools from running, and, if one could otherwise, what of this machine (CHK-002,
    /// CHK-054). Pins nothing, and runs nothing but the sandbox itself.
    pub(in crate::host) fn execution_bars(&self, has_tool: bool) -> Vec<(Code, String)> {
        self.bars_under(None, has_tool)
    }

    /// The same under a policy that need not be in force; `None` for the one that is.
    fn bars_under(&self, policy: Option<&PolicyFile>, has_tool: bool) -> Vec<(Code, String)> {
        let fault = |fault: Fault| vec![(fault.code, fault.message)];
        let home = match self.home() {
            Ok(home) => home,
            Err(error) => return if has_tool { fault(error) } else { Vec::new() },
        };
        let settings = match self.settings(&home) {
            Ok(settings) => settings,
            Err(error) => return fault(error),
        };
        let own = |(code, message): (Code, &str)| (code, message.to_owned());
        let mut bars: Vec<_> = safety_bar(&settings).into_iter().map(own).collect();
        bars.extend(policy.map_or_else(|| policy_bar(&PolicyFile::read(&home)), policy_bar));
        if has_tool {
            bars.extend(execute_bar(&settings).map(own));
            bars.extend(node_bar(&settings, &Pins::open(&home)));
            bars.extend(self.sandbox_bar(&settings));
        }
        bars
    }

    /// What keeps programs of skills from running here, whatever skill they are of (CHK-155).
    pub(in crate::host) fn unavailable(&self) -> Vec<Reason> {
        self.execution_bars(true).into_iter().map(Reason::of).collect()
    }

    /// What of it would be left, or come to it, under a policy that need not be in force.
    pub(in crate::host) fn unavailable_under(&self, policy: &PolicyFile) -> Vec<Reason> {
        self.bars_under(Some(policy), true).into_iter().map(Reason::of).collect()
    }

    fn sandbox_bar(&self, settings: &Settings) -> Option<(Code, String)> {
        if self.helper.is_none() && !fumehood_sandbox::helper::is_dispatched() {
            let message = "this program has not made itself a launcher of sandboxes";
            return Some((Code::SandboxUnavailable, message.to_owned()));
        }
        let floor = settings.envelope.parts().level_floor.as_str();
        match self.sandbox() {
            Err(error) => Some((Code::SandboxUnavailable, error.to_string())),
            Ok(sandbox) => {
                let found = fumehood_runners::level(&sandbox);
                let message =
                    || format!("this machine confines at level {}, and {floor} is asked for", found.as_str());
                (found < settings.envelope.parts().level_floor)
                    .then(|| (Code::ToolSandboxRequired, message()))
            }
        }
    }
}

/// A call of a checked tool that can be made.
pub(in crate::host) struct ReadyCall {
    pub(in crate::host) spec: ToolSpec,
    pub(in crate::host) raw: RawCall,
    pub(in crate::host) settings: Settings,
    manifest: ExecutionManifest,
    workspace: Option<PathBuf>,
    timeout_ms: Option<u32>,
}

impl ReadyCall {
    /// The tool, as the host runs it now.
    pub(in crate::host) fn checked(
        &self,
        host: &Host,
        bench: &Bench,
        home: &Home,
        skill: &Captured,
    ) -> Checked {
        let of = ScriptSkill::new(skill.source.clone(), skill.name.clone(), skill.snapshot.clone(), None);
        let switches = HostSwitches { home: home.clone(), surroundings: host.surroundings.clone() };
        let workshop = host.workshop(bench, home, self.settings.clone(), skill);
        let checked = Checked::new(workshop, of, self.manifest.clone(), Arc::new(switches));
        let checked = match self.timeout_ms {
            Some(milliseconds) => checked.timeout(std::time::Duration::from_millis(milliseconds.into())),
            None => checked,
        };
        match &self.workspace {
            Some(workspace) => checked.workspace(host.surroundings.current.join(workspace)),
            None => checked,
        }
    }

    /// Makes the call.
    pub(in crate::host) fn pass(
        self,
        host: &Host,
        gated: &Gated,
        skill: &Captured,
        home: &Home,
        call: Call<'_>,
    ) -> Result<CallReport, Refusal> {
        let checked = self.checked(host, &gated.bench, home, skill);
        let Self { spec, raw, settings, manifest, workspace, timeout_ms } = self;
        let pins = Pins::open(home);
        let entrypoint = manifest.entrypoint().as_str();
        let wanted = Wanted {
            spec,
            planner: checked,
            identity: Identity::of(skill, entrypoint, format!("{workspace:?} {timeout_ms:?}"), settings),
            wording: host.wording(&gated.bench, skill, None, Box::new(|_, _| Vec::new())),
        };
        let Call { patience, cancel, tell } = call;
        let ended = gated.pass(wanted, &raw, patience, cancel, tell)?;
        gated.bench.remember(skill, &ended);
        let pending = ended.as_ref().err().and_then(|error| error.pending);
        let version = InterpreterKey::parse(NODE).and_then(|key| pins.get(&key).ok().flatten()?.version);
        answered(ended, skill, &manifest, version).map_err(|fault| Refusal { fault, pending })
    }
}

/// A mode in which nothing runs, or a file that nobody can read as it was meant.
fn policy_bar(file: &PolicyFile) -> Option<(Code, String)> {
    let of_mode = |code: Code, mode: &str| Some((code, format!("the mode of policy.toml is {mode}")));
    match (file.error(), file.policy.mode()) {
        (Some(error), _) => Some((Code::PolicyInvalid, error.to_string())),
        (None, Mode::Blocked) => of_mode(Code::PolicyBlocked, "blocked"),
        (None, Mode::Workflow) => of_mode(Code::PolicyWorkflow, "workflow, and there are no plans yet"),
        (None, _) => None,
    }
}

/// Node is pinned and the same, or could be pinned.
fn node_bar(settings: &Settings, pins: &Pins) -> Option<(Code, String)> {
    let key = InterpreterKey::parse(NODE)?;
    let Some(choice) = settings.interpreter(&key) else {
        return Some((Code::InterpreterUnknown, "this host lists no interpreter called node".to_owned()));
    };
    match pins.resolve(&choice) {
        Ok(fumehood_store::Resolution::Changed(change)) => Some((change.code(), change.to_string())),
        Ok(_) => None,
        Err(error) => Some((error.code(), error.to_string())),
    }
}

impl Captured {
    /// The call, checked as far as that goes before anything is opened.
    pub(in crate::host) fn ready_call(
        &self,
        request: &CallRequest,
        input: Vec<u8>,
        settings: Settings,
    ) -> Result<ReadyCall, Fault> {
        let manifest = self.callable()?;
        refuse_switched_off(&settings)?;
        let spec = spec(self, &manifest)?;
        let raw = RawCall { tool: spec.name().as_str().to_owned(), arguments: input };
        let CallRequest { workspace, timeout_ms, .. } = request.clone();
        Ok(ReadyCall { spec, raw, settings, manifest, workspace, timeout_ms })
    }

    /// The manifest, if nothing of the skill's own is in the way.
    pub(in crate::host) fn callable(&self) -> Result<ExecutionManifest, Fault> {
        if let Some((code, message)) = self.inspection.execution_bars().into_iter().next() {
            let advice = match self.inspection.execution {
                ManifestState::Absent => "its scripts run with `fumehood run`; `fumehood show` lists them",
                _ => "`fumehood check` says what is wrong with it",
            };
            return Err(Fault::new(code, message, advice));
        }
        let manifest = self.inspection.execution.accepted().cloned();
        manifest.ok_or_else(|| Fault::new(Code::Internal, "a tool without a manifest", REPORT))
    }
}

fn refuse_switched_off(settings: &Settings) -> Result<(), Fault> {
    let bar = execute_bar(settings).or_else(|| safety_bar(settings));
    bar.map_or(Ok(()), |(code, message)| {
        Err(Fault::new(code, message, "the person who runs fumehood can switch that there"))
    })
}

fn spec(skill: &Captured, manifest: &ExecutionManifest) -> Result<ToolSpec, Fault> {
    let advice = "`fumehood check` says more";
    let name = checked_tool_name(&skill.name).map_err(|error| Fault::of(&error, advice))?;
    let description = skill.inspection.skill.as_ref().map_or("", |skill| skill.description.as_str());
    let definition = ToolDefinition {
        name: name.as_str(),
        description,
        input: manifest.input_schema().to_json(),
        effect: Effect::Other,
        retries: 0,
        timeout: manifest.timeout(),
        tier: Tier::Checked,
        origin: Origin::Skill { source: skill.source.clone(), skill: skill.name.clone() },
        approval: None,
    };
    ToolSpec::new(definition).map_err(|error| Fault::of(&error, advice))
}

/// What to do about a call of a tool that was refused: what it takes is in its manifest.
fn refused(fault: &Fault) -> String {
    let advice = match fault.code {
        Code::SchemaMismatch => {
            "`fumehood cat SKILL execution.json` shows its inputSchema, which says what it takes"
        }
        Code::ArgumentInvalid => "its execution.json says the most, as timeoutMs",
        Code::JsonNodes | Code::JsonDepth | Code::JsonTooLarge => {
            "give less in one call: at most 64 KiB, 4096 values and 32 levels"
        }
        code if code.as_str().starts_with("E_JSON_") => {
            "give one JSON object in quotes, such as '{\"name\": \"value\"}', or @FILE, or - for standard input"
        }
        _ => return fault.advice.clone(),
    };
    advice.to_owned()
}

/// A program that ran has a result, whatever became of it; one that did not has a fault.
fn answered(
    ended: Result<Completed, GateError>,
    skill: &Captured,
    manifest: &ExecutionManifest,
    runtime_version: Option<String>,
) -> Result<CallReport, Fault> {
    let blank = CheckedFacts {
        revision: skill.snapshot.revision(),
        runtime_version,
        elapsed: std::time::Duration::ZERO,
        exit: None,
        killed: None,
        processes: Processes::Unproven,
        receipt: None,
    };
    let read = |bytes: &[u8]| {
        let answer = Answer::read(bytes, manifest.output_bytes_max(), manifest.output_schema());
        answer.map_err(|error| error.problems())
    };
    match ended {
        Ok(completed) => {
            let facts = CheckedFacts {
                elapsed: completed.elapsed,
                exit: completed.exit,
                // The gate lets nothing else complete.
                processes: Processes::ProvenGone,
                receipt: Some(completed.receipt),
                ..blank
            };
            let result = CheckedResult::of(facts, read(&completed.output.0));
            let failure = (!result.is_success())
                .then(|| Fault::new(Code::Internal, "the gate completed what did not succeed", REPORT));
            let artifact = Some(completed.kept.id.to_string());
            Ok(CallReport { result, failure, artifact, errors: completed.errors.0 })
        }
        Err(mut error) => {
            let mut fault = report::fault(&error);
            let ran = error.ran.take().filter(|ran| ran.exit.is_some() || ran.killed.is_some());
            let Some(ran) = ran else { return Err(Fault { advice: refused(&fault), ..fault }) };
            if fault.code == Code::ToolBadResponse {
                "the skill has to be mended by its author: its program and execution.json do not agree"
                    .clone_into(&mut fault.advice);
            }
            let said = Problem::new(error.code, error.message.clone());
            // What is wrong with an answer as a whole has places in it; what broke off has not, and came first.
            let is_whole = ran.killed.is_none() && std::str::from_utf8(&ran.errors.0).is_ok();
            let problems = match read(&ran.output.0) {
                Err(problems) if error.code == Code::ToolBadResponse && is_whole => problems,
                _ => vec![said],
            };
            let facts = CheckedFacts {
                elapsed: ran.elapsed,
                exit: ran.exit,
                killed: ran.killed,
                processes: ran.processes,
                receipt: Some(ran.receipt),
                ..blank
            };
            let result = CheckedResult::of(facts, Err(problems));
            let artifact = ran.artifact.map(|id| id.to_string());
            Ok(CallReport { result, failure: Some(fault), artifact, errors: ran.errors.0 })
        }
    }
}
