//! Between the gate and whoever asks the person: what the gate shows becomes a [`Question`], and what the person says
//! becomes a decision.

use std::sync::{Arc, OnceLock};
use std::thread;

use fumehood_core::checked::CHECKED_ERRORS_BYTES_MAX;
use fumehood_core::consent::{Decision, State, Surface};
use fumehood_core::containment::{Axis, AxisReport, Enforcement};
use fumehood_core::receipt::Limits;
use fumehood_core::tool::Tier;
use fumehood_core::{Code, ProposalId};
use fumehood_gate::ports::Outage;
use fumehood_gate::{Approver, Cancel, Command, Decider, Plan, Request};
use fumehood_store::Passphrase;

use super::Host;
use super::policy::SurfaceRule;
use crate::fault::Fault;
use crate::report::{
    Answer, ArgumentNote, AxisAsked, FileAsked, History, InterpreterAsked, LimitAsked, Question,
    SCHEMA_VERSION, SkillAsked, Variable,
};

/// Asks the person, at one place.
pub trait Person: Send + Sync {
    /// Puts a question and waits for the answer. Whoever cannot tell what the answer is says no.
    ///
    /// Called in a thread of its own. `over` says that nobody waits for the answer any more, and why; whoever asks looks
    /// at it while waiting, takes the question back, and says no.
    fn ask(&self, question: &Question, over: &dyn Fn() -> Option<Over>) -> Answer;

    /// Reads the passphrase at the controlling terminal, after a yes where one is required; `over` as before. `None` is a no,
    /// and so it is for whoever cannot read one.
    fn passphrase(&self, over: &dyn Fn() -> Option<Over>) -> Option<Passphrase> {
        let _ = over;
        None
    }
}

/// Why nobody waits for an answer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Whoever called for the run gave it up.
    Cancelled,
    /// It is older than five minutes.
    Expired,
    /// What would run is not what was shown.
    Stale,
    /// It has its answer already.
    Answered,
    /// The run it belongs to has ended.
    Ended,
}

impl Over {
    /// `None` as long as an answer counts.
    fn of(state: Option<State>, is_cancelled: bool) -> Option<Self> {
        match state {
            Some(State::Pending) => None,
            Some(State::Denied) if is_cancelled => Some(Self::Cancelled),
            Some(State::Approved(_) | State::Denied | State::Consumed(_)) => Some(Self::Answered),
            Some(State::Expired) => Some(Self::Expired),
            Some(State::Stale) => Some(Self::Stale),
            Some(State::Cancelled) | None => Some(Self::Ended),
        }
    }
}

/// What is on record of a skill: asked when there is a question to be put.
pub(super) type Record = Arc<dyn Fn(&Plan) -> History + Send + Sync>;

/// Has the passphrase read where one is required, by whom it is given, and compares it.
pub(super) type Vouch = Arc<dyn Fn(&dyn Fn() -> Option<Passphrase>) -> Result<(), Fault> + Send + Sync>;

/// What there is to say about the arguments of a command.
pub(super) type Notes = Box<dyn Fn(&Command) -> Vec<ArgumentNote> + Send + Sync>;

/// The gate's approver: hands each request to a thread that asks the person and answers for them.
pub(super) struct Asking {
    pub(super) person: Arc<dyn Person>,
    pub(super) rule: SurfaceRule,
    /// What the host wants with the call, if that is not plain from the call itself.
    pub(super) purpose: Option<&'static str>,
    pub(super) state_folder: Option<String>,
    pub(super) record: Record,
    pub(super) notes: Notes,
    pub(super) cancel: Cancel,
    /// Whether whoever says yes knows the passphrase.
    pub(super) vouch: Vouch,
    /// Why a yes did not count, if that is why.
    pub(super) refused: Arc<OnceLock<Fault>>,
    pub(super) decider: OnceLock<Decider>,
}

impl Approver for Asking {
    fn show(&self, request: &Request<'_>) -> Result<(), Outage> {
        let outage = |message: &str| Outage::new(Code::Internal, message);
        let decider =
            self.decider.get().cloned().ok_or_else(|| outage("nobody can answer for the person"))?;
        if !self.rule.is_open() {
            // There is no use in asking; the request has its end at once.
            return decider
                .decide(request.id, Decision::Deny)
                .map_err(|_| outage("the request is over already"));
        }
        let question = self.question(request).ok_or_else(|| outage("such a call cannot be shown"))?;
        let (person, surface) = (Arc::clone(&self.person), self.rule.surface);
        let answer = Answering { decider, id: request.id, surface, cancel: self.cancel.clone() };
        let (vouch, refused) = (Arc::clone(&self.vouch), Arc::clone(&self.refused));
        let started = thread::Builder::new().name("fumehood-question".to_owned()).spawn(move || {
            let said = person.ask(&question, &|| answer.over());
            let vouched = match said {
                Answer::Once => vouch(&|| person.passphrase(&|| answer.over())),
                Answer::No => Ok(()),
            };
            answer.give(vouched.map_or_else(
                |fault| {
                    // There is one answer, so nobody has set it.
                    let _ = refused.set(fault);
                    Answer::No
                },
                |()| said,
            ));
        });
        started.map(|_| ()).map_err(|_| outage("there is no thread to ask the person in"))
    }
}

impl Host {
    /// What decides, after a yes to a run, whether it counts.
    pub(super) fn vouching(&self) -> Vouch {
        let host = self.clone();
        Arc::new(move |read| host.vouch(|| Ok(read())).map(drop))
    }
}

/// One answer that is to be given. Whatever becomes of who asks, there is one: dropped without, it is no.
struct Answering {
    decider: Decider,
    id: ProposalId,
    surface: Surface,
    cancel: Cancel,
}

impl Answering {
    fn over(&self) -> Option<Over> {
        Over::of(self.decider.state(self.id), self.cancel.is_cancelled())
    }

    fn give(self, answer: Answer) {
        if answer == Answer::Once {
            // Too late is too late; the request has its end already.
            let _ = self.decider.decide(self.id, Decision::Approve(self.surface));
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if self.over().is_none() {
            let _ = self.decider.decide(self.id, Decision::Deny);
        }
    }
}

impl Asking {
    /// `None` for a tool that is no program of a skill's.
    fn question(&self, request: &Request<'_>) -> Option<Question> {
        let plan = request.plan;
        let (command, skill) = (plan.command.as_ref()?, plan.skill.as_ref()?);
        let interpreter = plan.interpreter.as_ref()?;
        Some(Question {
            schema_version: SCHEMA_VERSION,
            id: request.id.to_string(),
            agent: request.agent.as_str().to_owned(),
            run: request.run.to_string(),
            tool: request.tool.name().as_str().to_owned(),
            description: request.tool.description().to_owned(),
            skill: SkillAsked {
                source: skill.source.clone(),
                name: skill.name.as_str().to_owned(),
                revision: skill.revision.revision().to_string(),
                overlay: skill.overlay.map(|overlay| overlay.to_string()),
                history: (self.record)(plan),
            },
            file: command.file.as_str().to_owned(),
            declared: command.is_declared,
            arguments: String::from_utf8_lossy(request.call.invocation().bytes()).into_owned(),
            argv: command.argv.clone(),
            argument_notes: (self.notes)(command),
            directory: command.directory.clone(),
            interpreter: InterpreterAsked {
                path: interpreter.path().to_owned(),
                version: interpreter.version().map(str::to_owned),
                sha256: interpreter.sha256().to_string(),
            },
            environment: environment(command),
            files: files(command),
            limits: limits(&plan.limits, &plan.containment.axes, request.tool.tier()),
            level: plan.containment.level.as_str().to_owned(),
            level_floor: plan.containment.level_floor.as_str().to_owned(),
            axes: plan.containment.axes.iter().map(axis).collect(),
            why: match self.purpose {
                Some(purpose) => format!("{purpose}; {}", request.why),
                None => request.why.to_owned(),
            },
            unsafe_controls: plan.unsafe_controls.clone(),
            state_folder: self.state_folder.clone(),
            created_unix_ms: request.created.unix_ms(),
            expires_unix_ms: request.expires.unix_ms(),
        })
    }
}

fn environment(command: &Command) -> Vec<Variable> {
    let variable = |(name, value): &(String, String)| Variable { name: name.clone(), value: value.clone() };
    command.environment.iter().map(variable).collect()
}

fn files(command: &Command) -> Vec<FileAsked> {
    let file = |file: &fumehood_gate::FileGrant| FileAsked {
        usage: file.usage.as_str().to_owned(),
        changes: file.usage.changes(),
        host: file.host.clone(),
        inside: file.inside.clone(),
    };
    command.files.iter().map(file).collect()
}

fn axis(report: &AxisReport) -> AxisAsked {
    AxisAsked {
        name: report.axis.as_str().to_owned(),
        enforced: report.enforced.as_str().to_owned(),
        mechanism: report.mechanism.clone(),
    }
}

/// Each limit with what the sandbox says of the axis that keeps it. The time and the output are kept by the host itself.
fn limits(limits: &Limits, axes: &[AxisReport], tier: Tier) -> Vec<LimitAsked> {
    let kept = |axis: Axis| {
        let report = axes.iter().find(|report| report.axis == axis);
        report.map_or(Enforcement::NotEnforced, |report| report.enforced)
    };
    let limit = |name: &str, value: Option<String>, enforced: Enforcement| {
        value.map(|value| LimitAsked { name: name.to_owned(), value, enforced: enforced.as_str().to_owned() })
    };
    let by_host = Enforcement::Enforced;
    let seconds = |duration: std::time::Duration| format!("{} s", duration.as_secs());
    let output = |bytes: u64| match tier {
        // CHK-107: the answer has the limit of the manifest, and what is said beside it always the same.
        Tier::Checked => {
            let errors = size(u64::from(CHECKED_ERRORS_BYTES_MAX));
            format!("{}, and {errors} of errors; more ends it", size(bytes))
        }
        _ => format!("{} of each stream", size(bytes)),
    };
    let memory = limits.memory_bytes_per_process.map(|each| match limits.processes {
        Some(processes) => {
            let worst = size(each.saturating_mul(processes));
            format!("{} for each process, {worst} at worst", size(each))
        }
        None => format!("{} for each process", size(each)),
    });
    [
        limit("time", limits.wall.map(seconds), by_host),
        limit("processor", limits.cpu_seconds.map(|n| format!("{n} s for each process")), kept(Axis::Cpu)),
        limit("memory", memory, kept(Axis::Memory)),
        limit("memory in all", limits.memory_bytes_total.map(size), kept(Axis::Memory)),
        limit("processes", limits.processes.map(|n| n.to_string()), kept(Axis::Pids)),
        limit("output", limits.output_bytes.map(output), by_host),
        limit("a file", limits.file_bytes.map(size), kept(Axis::Writes)),
        limit("temporary files", limits.temporary_bytes.map(size), kept(Axis::Writes)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Bytes in the largest unit that leaves a whole number.
fn size(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(shift, _)| bytes >= 1 << shift && bytes.trailing_zeros() >= *shift);
    unit.map_or_else(|| format!("{bytes} bytes"), |(shift, unit)| format!("{} {unit}", bytes >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    // every end of a request is told for what it is.
    #[test]
    fn an_answer_counts_only_while_it_is_waited_for() {
        assert_eq!(Over::of(Some(State::Pending), false), None);
        // The gate has not seen the cancellation yet; until then an answer would still be taken.
        assert_eq!(Over::of(Some(State::Pending), true), None);
        for (state, is_cancelled, over) in [
            (Some(State::Denied), true, Over::Cancelled),
            (Some(State::Denied), false, Over::Answered),
            (Some(State::Approved(Surface::Page)), false, Over::Answered),
            (Some(State::Consumed(Surface::Page)), false, Over::Answered),
            (Some(State::Expired), false, Over::Expired),
            (Some(State::Stale), false, Over::Stale),
            (Some(State::Cancelled), true, Over::Ended),
            (None, false, Over::Ended),
        ] {
            assert_eq!(Over::of(state, is_cancelled), Some(over));
        }
    }

    #[test]
    fn sizes_are_exact() {
        for (bytes, shown) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (1536, "1536 bytes"),
            (512 << 20, "512 MiB"),
            (3 << 30, "3 GiB"),
            (1 << 40, "1 TiB"),
        ] {
            assert_eq!(size(bytes), shown);
        }
    }
}
