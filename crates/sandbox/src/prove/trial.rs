//! One attack, outside and inside, and the verdict.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::payload::{answer_in, command};
use super::scene::{Answer, Payload, Refusal};
use super::stage::{Stage, processes_with};
use super::{Attack, How, Proof, Verdict, in_place};
use crate::{Access, Exit, Killed, Level, Limits, OnExcess, Outcome, Profile, ProfileBuilder, Sandbox};

/// In which way an attack runs where it must succeed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Control {
    Plain,
    Namespaces,
}

/// What must come of an attack inside.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expected {
    /// It says that it was refused.
    Refused,
    /// It ends by this signal, before it can say anything.
    Signal(u8),
    /// It says nothing, and the run was ended for this reason.
    Killed(Killed),
    /// It ends by itself with this; only traces count.
    Exit(u8),
}

/// An attack in which the host does something too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostTrial {
    pub(crate) trial: fn(&Prover<'_>) -> Result<Seen, String>,
    /// What runs inside, if the trial starts it.
    pub(crate) payload: Payload,
}

/// Both observations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) outside: String,
    pub(crate) inside: String,
}

/// What a trial needs.
pub(crate) struct Prover<'p> {
    pub(crate) sandbox: &'p Sandbox,
    pub(crate) program: &'p Path,
    pub(crate) attack: &'static Attack,
}

pub(crate) fn run(sandbox: &Sandbox, program: &Path, attack: &'static Attack) -> Proof {
    let prover = Prover { sandbox, program, attack };
    let mut seen = Seen::default();
    let level = sandbox.enforcement().level();
    let verdict = match attack.how {
        _ if !attack.promised.at(level) => Verdict::NotRun(format!("level {level} does not hold it off")),
        _ if prover.is_in_place()
            && let Some(why) = prover.obstacle() =>
        {
            Verdict::NotRun(why.to_owned())
        }
        How::Payload(_) => prover.judge(&mut seen).unwrap_or_else(Verdict::Broken),
        How::Host(host) => match (host.trial)(&prover) {
            Ok(both) => {
                seen = both;
                Verdict::Held
            }
            Err(why) => Verdict::Broken(why),
        },
    };
    Proof { attack, verdict, outside: seen.outside, inside: seen.inside }
}

impl Prover<'_> {
    /// Whether everything is shown where it is.
    pub(crate) fn is_in_place(&self) -> bool {
        self.sandbox.enforcement().level() == Level::Kernel
    }

    /// Why an attack cannot be shown to be held off without namespaces.
    fn obstacle(&self) -> Option<&'static str> {
        let is_root = rustix::process::geteuid().is_root();
        match () {
            () if self.attack.writes && is_root => Some("a root host can grant nothing for writing here"),
            () if in_place::is_reserved(self.program) => {
                Some("this program lies where nothing can be granted")
            }
            () if is_root && !in_place::is_open(self.program) => {
                Some("the user that children of a root host are cannot reach this program")
            }
            () => None,
        }
    }

    fn judge(&self, seen: &mut Seen) -> Result<Verdict, String> {
        let attack = self.attack;
        let (answer, traces) = self.outside()?;
        seen.outside = describe(answer.as_ref(), traces.as_deref());
        let succeeded = match attack.expected {
            Expected::Refused | Expected::Exit(_) => match &answer {
                Some(Err(refusal)) => refusal.is_partial && attack.may_be_missing,
                answer => answer.is_some(),
            },
            // A call of another architecture may be unknown here; what counts is that it is survived.
            Expected::Signal(_) => answer.is_some(),
            // It may have closed its output.
            Expected::Killed(_) => attack.leaves_traces || matches!(answer, Some(Ok(_))),
        };
        if !succeeded || (attack.leaves_traces && traces.is_none()) {
            let why = format!("it did not succeed outside: {}", seen.outside);
            // Where namespaces are forbidden much else may be.
            let may_fail = attack.may_be_missing || self.is_in_place();
            return if may_fail { Ok(Verdict::NotRun(why)) } else { Err(why) };
        }
        let mut stage = self.stage()?;
        let outcome = self.confine(&stage, self.profile(&stage))?;
        if attack.leaves_traces {
            std::thread::sleep(SETTLED);
        }
        let answer = answer_in(&outcome.output.bytes);
        let traces = stage.traces();
        seen.inside = format!("{}; {}", describe(answer.as_ref(), traces.as_deref()), ending(&outcome));
        if let Some(traces) = traces {
            return Err(traces);
        }
        if is_expected(attack.expected, answer.as_ref(), &outcome) {
            Ok(Verdict::Held)
        } else {
            Err(format!("inside: {}", seen.inside))
        }
    }

    pub(crate) fn stage(&self) -> Result<Stage, String> {
        Stage::new(self.program, self.is_in_place())
            .map_err(|error| format!("the stage could not be set: {error}"))
    }

    /// Runs the attack where nothing holds it off.
    fn outside(&self) -> Result<(Option<Answer>, Option<String>), String> {
        let mut stage = self.stage()?;
        let mut scene = stage.outside(self.attack.name, self.program);
        if matches!(self.attack.control, Control::Namespaces) {
            scene = scene.with("within", "namespaces");
        }
        // A folder, as if a careless host had left it open for its child.
        let leaked: OwnedFd = std::fs::File::open(stage.root.join("read")).map_err(text)?.into();
        let mut command = command(self.program, &scene);
        if self.is_in_place() {
            in_place::run_as_a_child_would(&mut command);
        }
        let output = command
            .env("FUMEHOOD_CANARY", "leaked")
            .current_dir(&stage.root)
            .stdin(Stdio::from(leaked))
            .stderr(Stdio::null())
            .output()
            .map_err(text)?;
        // What it left running gets the time that it would have had inside.
        if matches!(self.attack.expected, Expected::Exit(_)) {
            std::thread::sleep(LATE);
        }
        // A killed process takes a moment to be dead.
        let seen = (0..100).find_map(|_| {
            let traces = stage.traces();
            if traces.is_none() && self.attack.leaves_traces {
                std::thread::sleep(Duration::from_millis(5));
            }
            traces
        });
        Ok((answer_in(&output.stdout), seen))
    }

    /// The profile of a run inside.
    pub(crate) fn profile(&self, stage: &Stage) -> ProfileBuilder {
        let scene = stage.inside(self.attack.name, self.program);
        let arguments = scene.to_arguments();
        let wall = Duration::from_millis(self.attack.wall_millis);
        let mut profile = Profile::builder(scene.path("program"), LIMITS, wall);
        if !in_place::is_of_the_system(&scene.path("program")) {
            profile = profile.grant(self.program, scene.path("program"), Access::Read);
        }
        if !(self.is_in_place() && rustix::process::geteuid().is_root()) {
            profile = profile.grant(stage.root.join("write"), scene.path("write"), Access::Write);
        }
        let profile = profile
            .grant(stage.root.join("read"), scene.path("read"), Access::Read)
            .variable("DECLARED", "1")
            .floor(self.sandbox.enforcement().level())
            .grace(Duration::from_millis(200))
            .output(OUTPUT_BYTES_MAX, OnExcess::Fail)
            .argument(crate::helper::ATTACK_ARGUMENT);
        arguments.iter().fold(profile, ProfileBuilder::argument)
    }

    /// Runs the attack inside and makes sure that nobody of it is left.
    pub(crate) fn confine(&self, stage: &Stage, profile: ProfileBuilder) -> Result<Outcome, String> {
        let profile = profile.build().map_err(text)?;
        let outcome = self.sandbox.spawn(&profile).and_then(|run| run.wait(&|| false)).map_err(text)?;
        let left = processes_with(&stage.marker);
        if !left.is_empty() {
            return Err(format!("{} processes are left after the run", left.len()));
        }
        if matches!(self.attack.expected, Expected::Exit(_) | Expected::Killed(Killed::Deadline)) {
            std::thread::sleep(LATE);
        }
        Ok(outcome)
    }
}

fn is_expected(expected: Expected, answer: Option<&Answer>, outcome: &Outcome) -> bool {
    match expected {
        Expected::Refused => matches!(answer, Some(Err(Refusal { is_partial: false, .. }))),
        Expected::Signal(signal) => answer.is_none() && outcome.exit == Some(Exit::Signal(signal)),
        Expected::Killed(reason) => answer.is_none() && outcome.killed == Some(reason),
        Expected::Exit(code) => outcome.exit == Some(Exit::Code(code)) && outcome.killed.is_none(),
    }
}

pub(crate) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn describe(answer: Option<&Answer>, traces: Option<&str>) -> String {
    let words = match answer {
        None => "no answer".to_owned(),
        Some(Ok(what)) => format!("succeeded: {what}"),
        Some(Err(Refusal { why, is_partial: true })) => format!("partly succeeded: {why}"),
        Some(Err(Refusal { why, .. })) => format!("refused: {why}"),
    };
    traces.map_or(words.clone(), |traces| format!("{words}; the host sees: {traces}"))
}

fn ending(outcome: &Outcome) -> String {
    let exit = match outcome.exit {
        Some(Exit::Code(code)) => format!("exit {code}"),
        Some(Exit::Signal(signal)) => format!("signal {signal}"),
        None => "no exit".to_owned(),
    };
    match outcome.killed {
        None => exit,
        Some(Killed::Deadline) => format!("{exit}, killed at the deadline"),
        Some(Killed::Output) => format!("{exit}, killed for its output"),
        Some(Killed::Cancelled) => format!("{exit}, cancelled"),
        Some(Killed::Watcher) => format!("{exit}, given up for what it wrote"),
    }
}

/// Small enough that bombs are cheap, large enough for an honest program.
pub(crate) const LIMITS: Limits = Limits {
    cpu_seconds: 1,
    memory_bytes_per_process: 64 << 20,
    processes: 16,
    file_bytes: 1 << 20,
    open_files: 32,
    temporary_bytes: 1 << 20,
    temporary_files: 64,
};
pub(crate) const OUTPUT_BYTES_MAX: usize = 64 << 10;
/// When what was done to the host has taken effect.
const SETTLED: Duration = Duration::from_millis(20);
/// When something that outlives its run would have shown itself.
const LATE: Duration = Duration::from_millis(700);
