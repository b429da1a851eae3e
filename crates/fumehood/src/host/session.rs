//! One agent's run: its calls go through one gate, whose requests for approval lie on one desk.

mod opening;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fumehood_core::consent::{State, Surface};
use fumehood_core::{AgentLabel, Code, ProposalId, Shown};
use fumehood_gate::Cancel;
use fumehood_store::{Home, Settings};

use super::desk::{Desk, Requests};
use super::question::Wordings;
use super::run::{Call, Gated, Patience, Tell, refuse_safe_mode};
use super::{ArtifactSearch, Asker, ByteRange, CallRequest, Host, LineRange, Refusal, RunRequest, RunStep};
use crate::fault::Fault;
use crate::report::{
    Answer, ArtifactGrepReport, ArtifactLinesReport, ArtifactSizeReport, ArtifactSliceReport, CallReport,
    CatReport, LoadReport, RunReport, SurveyReport,
};

/// Whose run it is, and what every call of it has.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// What the host calls the agent: never what a client says of itself.
    pub agent: AgentLabel,
    /// Folders to look names up in, instead of the usual sources.
    pub roots: Vec<PathBuf>,
    /// A folder that scripts may read, and whether they may change it. A checked tool reads it at most.
    pub workspace: Option<(PathBuf, bool)>,
}

/// One agent's run. Its requests for approval end with it; what it left behind is kept for its agent.
///
/// Skills are named as [`Session::survey`] lists them; a path is no name here, since whoever asks is no person. The gate is opened by
/// the first call, so that what only reads needs no state folder and no sandbox. Limits: 64 requests for approval in one run of
/// the ledger; when they are used up and none is open, the next call begins a new run.
///
/// # Authority
/// As [`Host::run`] and [`Host::call`], each call on a person's word or under a scope that a person saved.
pub struct Session {
    host: Host,
    options: SessionOptions,
    wordings: Arc<Wordings>,
    requests: Arc<Requests>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    gated: Option<Arc<Gated>>,
    /// The requests that calls of this gate ended with.
    asked: Vec<ProposalId>,
    is_ended: bool,
}

impl Session {
    /// The skills that a name stands for, and what of each could run.
    ///
    /// # Errors
    /// As [`Host::list`].
    pub fn survey(&self) -> Result<SurveyReport, Fault> {
        self.host.survey(&self.options.roots)
    }

    /// The folder that scripts may read, and whether they may change it.
    pub fn workspace(&self) -> Option<(PathBuf, bool)> {
        let (folder, changes) = self.options.workspace.as_ref()?;
        Some((self.host.surroundings.current.join(folder), *changes))
    }

    /// One skill with its instructions.
    ///
    /// # Errors
    /// As [`Host::show`]; `E_SKILL_NOT_LOADABLE`.
    pub fn load(&self, skill: &str) -> Result<LoadReport, Fault> {
        named(skill)?;
        self.host.load(skill, &self.options.roots)
    }

    /// A file of a skill, or what there is of a range of it.
    ///
    /// # Errors
    /// As [`Host::cat`]; `E_RANGE_INVALID` only for a range that begins behind the end.
    pub fn read(&self, skill: &str, file: &str, range: ByteRange) -> Result<CatReport, Fault> {
        named(skill)?;
        self.host.cat_what_there_is(skill, &self.options.roots, file, range)
    }

    /// Runs a script. Where a person has to be asked, it comes back at once with [`Refusal::pending`]; the request then lies on the
    /// desk, and the same call made again finds the answer. What every call has — roots and workspace — is the session's.
    ///
    /// # Errors
    /// As [`Host::run`].
    pub fn run_script(
        &self,
        request: &RunRequest,
        cancel: &Cancel,
        tell: impl FnMut(RunStep) + Send + 'static,
    ) -> Result<RunReport, Refusal> {
        named(&request.skill)?;
        let request = RunRequest {
            roots: self.options.roots.clone(),
            workspace: self.options.workspace.clone(),
            approve: None,
            ..request.clone()
        };
        let (home, settings) = self.settings()?;
        refuse_safe_mode(&settings)?;
        let skill = self.host.captured(&request.skill, &request.roots)?;
        let request = RunRequest { script: skill.script_meant(&request.script, &settings), ..request };
        let tell = Teller::new(tell);
        self.in_run(&home, &settings, |gated| {
            let chosen = skill.choose(&request, &settings)?;
            let ready = self.host.ready(&skill, &request, settings.clone(), chosen)?;
            let call = Call { patience: Patience::Leaves, cancel, tell: tell.tell() };
            ready.pass(&self.host, gated, &skill, (&home, None), call)
        })
    }

    /// Calls a checked tool, as [`Session::run_script`] runs a script.
    ///
    /// # Errors
    /// As [`Host::call`].
    pub fn call_tool(
        &self,
        request: &CallRequest,
        cancel: &Cancel,
        tell: impl FnMut(RunStep) + Send + 'static,
    ) -> Result<CallReport, Refusal> {
        named(&request.skill)?;
        let request = CallRequest {
            roots: self.options.roots.clone(),
            workspace: self.options.workspace.as_ref().map(|(folder, _)| folder.clone()),
            approve: None,
            ..request.clone()
        };
        let (home, settings) = self.settings()?;
        let input = self.host.input(&request.input)?;
        let skill = self.host.captured(&request.skill, &request.roots)?;
        let tell = Teller::new(tell);
        self.in_run(&home, &settings, |gated| {
            let ready = skill.ready_call(&request, input.clone(), settings.clone())?;
            let call = Call { patience: Patience::Leaves, cancel, tell: tell.tell() };
            ready.pass(&self.host, gated, &skill, &home, call)
        })
    }

    /// The revision of a skill as it is now; `None` if it has none, or is not there.
    pub fn revision(&self, skill: &str) -> Option<String> {
        named(skill).ok()?;
        let captured = self.host.captured(skill, &self.options.roots).ok()?;
        Some(captured.snapshot.revision().to_string())
    }

    /// Whether a yes counts that a person gives in the client of the agent: the policy says so, and no passphrase is required, which
    /// no client asks for. Both are read now.
    pub fn takes_elicitation(&self) -> bool {
        self.elicited_counts().is_ok()
    }

    /// The answer that a client says its person gave.
    ///
    /// # Errors
    /// As [`Desk::decide`]; `E_PASSPHRASE_REQUIRED` for a yes where one is required. The request stays open.
    pub fn answer_elicited(&self, id: ProposalId, answer: Answer) -> Result<(), Fault> {
        if answer == Answer::Once {
            self.elicited_counts()?;
        }
        self.requests.decide(id, answer, Surface::Elicitation)
    }

    fn elicited_counts(&self) -> Result<(), Fault> {
        let (_, settings) = self.settings()?;
        if settings.passphrase.is_some() {
            let message = "a passphrase is required for a yes, and no client asks for it";
            let advice = "answer at the terminal of this machine";
            return Err(Fault::new(Code::PassphraseRequired, message, advice));
        }
        self.requests.takes_from(Surface::Elicitation)
    }

    /// Whether its agent has any artifact, be it of this run or of an earlier one. One that cannot be told is none.
    pub fn has_artifacts(&self) -> bool {
        self.host.artifacts(self.asker()).is_ok_and(|listed| !listed.artifacts.is_empty())
    }

    /// The artifacts of its agent.
    ///
    /// # Errors
    /// As [`Host::artifact_lines`].
    pub fn artifact_lines(&self, id: &str, range: LineRange) -> Result<ArtifactLinesReport, Fault> {
        self.host.artifact_lines(self.asker(), id, range)
    }

    /// As [`Host::artifact_slice`], of its agent's.
    ///
    /// # Errors
    /// As there.
    pub fn artifact_slice(&self, id: &str, range: ByteRange) -> Result<ArtifactSliceReport, Fault> {
        self.host.artifact_slice(self.asker(), id, range)
    }

    /// As [`Host::artifact_size`], of its agent's.
    ///
    /// # Errors
    /// As there.
    pub fn artifact_size(&self, id: &str) -> Result<ArtifactSizeReport, Fault> {
        self.host.artifact_size(self.asker(), id)
    }

    /// As [`Host::search_artifact`], of its agent's.
    ///
    /// # Errors
    /// As there.
    pub fn search_artifact(
        &self,
        id: &str,
        search: &ArtifactSearch<'_>,
        cancel: &Cancel,
    ) -> Result<ArtifactGrepReport, Fault> {
        self.host.search_artifact(self.asker(), id, search, &mut || !cancel.is_cancelled())
    }

    fn asker(&self) -> Asker<'_> {
        Asker::Agent(self.options.agent.as_str())
    }

    /// Where its open requests lie.
    pub fn desk(&self) -> Arc<dyn Desk> {
        Arc::clone(&self.requests) as _
    }

    /// Who it is a run of.
    pub fn agent(&self) -> &AgentLabel {
        &self.options.agent
    }

    /// The host that it is a run on.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Ends it: open requests are cancelled, and nothing new is taken. What runs goes on until it is over or cancelled.
    pub fn end(&self) {
        let mut open = self.open();
        open.is_ended = true;
        if let Some(gated) = open.gated.take() {
            gated.end();
        }
    }

    fn settings(&self) -> Result<(Home, Settings), Fault> {
        let home = self.host.home()?;
        let settings = self.host.settings(&home)?;
        Ok((home, settings))
    }

    /// Makes a call in the run that is open; in a new one, if the ledger of that one is used up and nothing of it is open.
    fn in_run<T>(
        &self,
        home: &Home,
        settings: &Settings,
        call: impl Fn(&Gated) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let gated = self.gated(home, settings)?;
        let mut ended = call(&gated);
        if matches!(&ended, Err(refusal) if refusal.fault.code == Code::ConsentFull) && self.renew(&gated) {
            let gated = self.gated(home, settings)?;
            ended = call(&gated);
        }
        if let Err(Refusal { pending: Some(id), .. }) = &ended {
            let asked = &mut self.open().asked;
            if !asked.contains(id) {
                asked.push(*id);
            }
        }
        ended
    }

    fn gated(&self, home: &Home, settings: &Settings) -> Result<Arc<Gated>, Fault> {
        let mut open = self.open();
        if open.is_ended {
            return Err(Fault::new(Code::RunEnded, "the run has ended", "nothing ran"));
        }
        if let Some(gated) = &open.gated {
            return Ok(Arc::clone(gated));
        }
        let bench = self.host.bench(home, settings)?;
        let (agent, approver) = (self.options.agent.clone(), Arc::clone(&self.requests));
        let gated = Gated::open(
            &self.host,
            agent,
            (home.clone(), bench),
            Arc::clone(&self.wordings),
            Some(approver as _),
        )?;
        self.requests.answer_for(gated.decider());
        let gated = Arc::new(gated);
        *open = Open { gated: Some(Arc::clone(&gated)), ..Open::default() };
        Ok(gated)
    }

    /// Gives the run up that is used up, unless something of it is open. Whether another one is to be begun.
    fn renew(&self, used_up: &Arc<Gated>) -> bool {
        let mut open = self.open();
        let is_current = open.gated.as_ref().is_some_and(|gated| Arc::ptr_eq(gated, used_up));
        if !is_current {
            return !open.is_ended;
        }
        let is_open = |id: &ProposalId| self.requests.state(*id).is_some_and(State::is_open);
        if open.asked.iter().any(is_open) {
            return false;
        }
        // It ends with the last call of it that is on its way.
        open.gated = None;
        true
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        // Each step leaves it whole.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

/// Who is told, of as many calls as are made until one counts.
struct Teller(Arc<Mutex<dyn FnMut(RunStep) + Send>>);

impl Teller {
    fn new(tell: impl FnMut(RunStep) + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(tell)))
    }

    fn tell(&self) -> Tell {
        let tell = Arc::clone(&self.0);
        Box::new(move |step| (tell.lock().unwrap_or_else(PoisonError::into_inner))(step))
    }
}

/// A path would open any folder of the person's.
fn named(skill: &str) -> Result<(), Fault> {
    if skill.contains('/') || skill == "." || skill == ".." {
        let message = format!("\"{}\" is no name of a skill", Shown::inline(skill));
        return Err(Fault::new(Code::SkillNotFound, message, "use a name from the list of skills"));
    }
    Ok(())
}
