//! What every launch of a skill's program shares: what the host's rules say of it before anybody is asked, the profile that
//! confines it, and the last looks before it starts.

mod confine;
mod outcome;

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use fumehood_core::code::{Code, Coded};
use fumehood_core::envelope::{Asked, Network};
use fumehood_core::manifest::InterpreterKey;
use fumehood_core::receipt::Limits;
use fumehood_core::tool::{Failure, Tier};
use fumehood_core::{Frame, HostPath, VerifiedRevision};
use fumehood_gate::{Attempt, Command, PlannedSkill, RunError};
use fumehood_sandbox as sandbox;
use fumehood_store::Staged;

pub(crate) use confine::{containment, level};
pub(crate) use outcome::{ended, lost};

use crate::script::{PinnedInterpreter, SKILL_PLACE, ScriptSkill, Workshop};
use confine::floor;
use outcome::{exit, killed, unconfined};

/// How much of its streams a program may write.
#[derive(Clone, Copy)]
pub(crate) struct Streams {
    pub(crate) output_bytes_max: u64,
    pub(crate) errors_bytes_max: u64,
    pub(crate) on_excess: sandbox::OnExcess,
}

impl Workshop {
    /// The level at which its sandbox confines.
    pub(crate) fn level(&self) -> fumehood_core::containment::Level {
        level(self.sandbox.enforcement().level())
    }

    /// Whether its sandbox confines as strongly as it must.
    pub(crate) fn has_floor(&self, tier: Tier) -> Result<(), RunError> {
        let (found, floor) = (self.level(), self.envelope.parts().level_floor);
        if found >= floor {
            return Ok(());
        }
        let message =
            format!("this machine confines at level {}, and {} is asked for", found.as_str(), floor.as_str());
        Err(RunError::of(Failure::SandboxRequired, tier, message))
    }

    /// Whether the envelope has room for a call (EXE-51).
    pub(crate) fn admit(
        &self,
        files: [&[HostPath]; 2],
        interpreter: &PinnedInterpreter,
        wall: Duration,
        output_bytes: u64,
    ) -> Result<(), RunError> {
        let parts = self.envelope.parts();
        let interpreter_paths = interpreter.read_paths.iter().map(|path| host_path(path));
        let interpreter_paths = interpreter_paths.collect::<Result<Vec<_>, _>>()?;
        let [read_paths, write_paths] = files;
        let admitted = self.envelope.admits(&Asked {
            read_paths,
            write_paths,
            interpreter_paths: &interpreter_paths,
            wall,
            output_bytes,
            limits: parts.limits,
            memory_bytes_total: parts.memory_bytes_total,
            level_floor: parts.level_floor,
            network: Network::None,
        });
        admitted.map_err(|widened| RunError::new(Failure::Policy, widened.code(), widened.to_string()))
    }

    /// The limits that will be in force.
    pub(crate) fn limits(&self, wall: Duration, output_bytes: u64) -> Limits {
        let parts = self.envelope.parts();
        let limits = parts.limits;
        Limits {
            wall: Some(wall),
            grace: Some(GRACE),
            output_bytes: Some(output_bytes),
            cpu_seconds: Some(limits.cpu_seconds),
            memory_bytes_per_process: Some(limits.memory_bytes_per_process),
            memory_bytes_total: parts.memory_bytes_total,
            processes: Some(limits.processes),
            file_bytes: Some(limits.file_bytes),
            open_files: Some(limits.open_files),
            temporary_bytes: Some(limits.temporary_bytes),
            temporary_files: Some(limits.temporary_files),
        }
    }

    /// Writes down what a program is started as.
    pub(crate) fn frame_command(frame: &mut Frame, command: &Command, interpreter: &PinnedInterpreter) {
        frame.part(command.file.as_str().as_bytes());
        frame.list(&command.argv, |frame, argument| frame.part(argument.as_bytes()));
        frame.part(command.directory.as_bytes());
        frame.list(&command.environment, |frame, (name, value)| {
            frame.part(name.as_bytes());
            frame.part(value.as_bytes());
        });
        frame.list(&interpreter.read_paths, |frame, path| frame.part(path.as_os_str().as_encoded_bytes()));
        frame.list(&command.files, |frame, file| {
            frame.part(file.usage.as_str().as_bytes());
            frame.part(file.host.as_bytes());
            frame.part(file.inside.as_bytes());
        });
    }

    /// Writes down its limits.
    pub(crate) fn frame_limits(&self, frame: &mut Frame, wall: Duration, output_bytes: u64) {
        let parts = self.envelope.parts();
        let limits = parts.limits;
        for number in [
            u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
            output_bytes,
            limits.cpu_seconds,
            limits.memory_bytes_per_process,
            limits.processes,
            limits.file_bytes,
            limits.open_files,
            limits.temporary_bytes,
            limits.temporary_files,
        ] {
            frame.number(number);
        }
        frame.optional(parts.memory_bytes_total, Frame::number);
        frame.part(parts.level_floor.as_str().as_bytes());
    }

    /// A profile with what every program of a skill gets: its command, the files of the skill, what its interpreter reads, and
    /// its limits.
    pub(crate) fn profile(
        &self,
        command: &Command,
        interpreter: &PinnedInterpreter,
        skill: &Path,
        wall: Duration,
        streams: Streams,
    ) -> sandbox::ProfileBuilder {
        let parts = self.envelope.parts();
        let limits = sandbox::Limits {
            cpu_seconds: parts.limits.cpu_seconds,
            memory_bytes_per_process: parts.limits.memory_bytes_per_process,
            processes: parts.limits.processes,
            file_bytes: parts.limits.file_bytes,
            open_files: parts.limits.open_files,
            temporary_bytes: parts.limits.temporary_bytes,
            temporary_files: parts.limits.temporary_files,
        };
        let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut builder = sandbox::Profile::builder(&interpreter.program, limits, wall)
            .grant(skill, SKILL_PLACE, sandbox::Access::Read)
            .grace(GRACE)
            .output(bytes(streams.output_bytes_max), streams.on_excess)
            .errors_at_most(bytes(streams.errors_bytes_max))
            .floor(floor(parts.level_floor))
            .directory(&command.directory);
        if let Some(bytes) = parts.memory_bytes_total {
            builder = builder.memory_total(bytes);
        }
        for argument in command.argv.iter().skip(1) {
            builder = builder.argument(argument);
        }
        for (name, value) in &command.environment {
            builder = builder.variable(name, value);
        }
        for path in &interpreter.read_paths {
            builder = builder.grant(path, path, sandbox::Access::Read);
        }
        builder
    }

    /// A last look at the interpreter: its file must be the one that was planned with.
    pub(crate) fn is_same_interpreter(
        &self,
        key: &InterpreterKey,
        planned: &PinnedInterpreter,
    ) -> Result<(), RunError> {
        if self.interpreters.resolve(key)? == *planned {
            return Ok(());
        }
        let message = "the interpreter is not the one that was planned with";
        Err(RunError::new(Failure::Integrity, Code::InterpreterChanged, message))
    }

    /// Starts it.
    pub(crate) fn spawn(&self, profile: &sandbox::Profile) -> Result<sandbox::Confined, RunError> {
        self.sandbox.spawn(profile).map_err(|error| unconfined(&error))
    }
}

impl ScriptSkill {
    /// As a plan names it.
    pub(crate) fn planned(&self) -> PlannedSkill {
        PlannedSkill {
            source: self.source.clone(),
            name: self.name.clone(),
            revision: self.revision,
            overlay: self.overlay,
        }
    }

    /// The last look at what is executed: the files for the run are read back, and must be those that were captured.
    pub(crate) fn verify(&self, staged: &Staged) -> Result<VerifiedRevision, RunError> {
        let revision = staged.verify().map_err(|error| changed(&error.to_string()))?;
        if revision == self.revision {
            return Ok(revision);
        }
        Err(changed("the files for the run are not those that were captured"))
    }
}

/// Waits for the end of a program, with its files removed and the events told. How it is waited for is the caller's to say.
pub(crate) fn wait(
    attempt: &Attempt<'_>,
    staged: Staged,
    wait: impl FnOnce(&dyn Fn() -> bool) -> Result<sandbox::Outcome, sandbox::SandboxError>,
) -> Result<sandbox::Outcome, sandbox::SandboxError> {
    let outcome = wait(&|| attempt.is_cancelled());
    // Nothing of the run is left that could read it; what cannot be removed now is swept at the next start.
    let _ = staged.remove();
    if let Ok(outcome) = &outcome {
        attempt.sandbox_ended(outcome.elapsed, outcome.exit.map(exit), outcome.killed.map(killed));
    }
    outcome
}

/// The profile, or why what it grants cannot be granted together.
pub(crate) fn build(builder: sandbox::ProfileBuilder) -> Result<sandbox::Profile, RunError> {
    builder.build().map_err(|error| {
        RunError::new(Failure::Path, Code::PathRejected, format!("this cannot be granted: {error}"))
    })
}

pub(crate) fn host_path(path: &Path) -> Result<HostPath, RunError> {
    let text = path.to_str();
    let parsed = text.and_then(|text| HostPath::parse(text).ok());
    parsed.ok_or_else(|| RunError::new(Failure::Path, Code::PathRejected, "a path is not absolute text"))
}

pub(crate) fn host(error: &(impl Coded + Display)) -> RunError {
    about(Failure::Host, error, "")
}

/// An error about something that the host names in front of it.
pub(crate) fn about(failure: Failure, error: &(impl Coded + Display), what: &str) -> RunError {
    let message = format!("{what} {error}");
    RunError::new(failure, error.code(), message.trim_start())
}

pub(crate) fn internal(message: &str) -> RunError {
    RunError::new(Failure::Host, Code::Internal, message)
}

pub(crate) fn changed(message: &str) -> RunError {
    RunError::of(Failure::Integrity, Tier::Script, message)
}

/// Between the polite signal and the other one (CHK-108).
pub(crate) const GRACE: Duration = Duration::from_secs(1);
