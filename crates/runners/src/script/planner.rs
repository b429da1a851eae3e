//! A call as a plan: everything that is bound, shown and recorded.

use std::path::Path;

use fumehood_core::code::Coded as _;
use fumehood_core::envelope::{Asked, Network};
use fumehood_core::receipt::Limits;
use fumehood_core::tool::{Failure, Tier};
use fumehood_core::{Call, Frame, HostPath};
use fumehood_gate::{Command, Plan, PlannedSkill, Planner, RunError, Runner};

use super::call::Named;
use super::confine::{containment, level};
use super::run::Ready;
use super::{PinnedInterpreter, SKILL_PLACE, Script, Source};

impl Planner for Script {
    fn plan(&self, call: &Call) -> Result<Box<dyn Runner>, RunError> {
        let workshop = &self.workshop;
        if self.skill.snapshot.get(self.path()).is_none() {
            let message = "the skill has no such file";
            return Err(RunError::new(Failure::Path, fumehood_core::Code::FileNotFound, message));
        }
        let floor = workshop.envelope.parts().level_floor;
        let found = level(workshop.sandbox.enforcement().level());
        if found < floor {
            let message = format!(
                "this machine confines at level {}, and {} is asked for",
                found.as_str(),
                floor.as_str()
            );
            return Err(RunError::of(Failure::SandboxRequired, Tier::Script, message));
        }
        let interpreter = workshop.interpreters.resolve(self.interpreter())?;
        let named = Named::of(self, call)?;
        self.admit(&named, &interpreter)?;
        let command = self.command(&named, &interpreter);
        let plan = Plan {
            skill: Some(PlannedSkill {
                source: self.skill.source.clone(),
                name: self.skill.name.clone(),
                revision: self.skill.revision,
                overlay: self.skill.overlay,
            }),
            interpreter: Some(interpreter.identity.clone()),
            workspace: named.workspace.as_ref().map(|(workspace, _)| workspace.identity().clone()),
            profile: self.profile(&named, &interpreter, &command),
            containment: containment(workshop.sandbox.enforcement(), floor),
            limits: self.limits(&named),
            paths: named.paths.clone(),
            command: Some(command),
            unsafe_controls: Vec::new(),
        };
        Ok(Box::new(Ready::new(self.clone(), plan, named, interpreter)?))
    }
}

impl Script {
    /// Whether the envelope has room for it (EXE-51).
    fn admit(&self, named: &Named, interpreter: &PinnedInterpreter) -> Result<(), RunError> {
        let parts = self.workshop.envelope.parts();
        let (mut read, mut write) = (Vec::new(), Vec::new());
        for file in named.shown() {
            let path = host_path(Path::new(&file.host))?;
            if file.usage.changes() { write.push(path) } else { read.push(path) }
        }
        let interpreter_paths = interpreter.read_paths.iter().map(|path| host_path(path));
        let interpreter_paths = interpreter_paths.collect::<Result<Vec<_>, _>>()?;
        let asked = Asked {
            read_paths: &read,
            write_paths: &write,
            interpreter_paths: &interpreter_paths,
            wall: named.wall,
            output_bytes: parts.output_bytes_max,
            limits: parts.limits,
            memory_bytes_total: parts.memory_bytes_total,
            level_floor: parts.level_floor,
            network: Network::None,
        };
        let admitted = self.workshop.envelope.admits(&asked);
        admitted.map_err(|widened| RunError::new(Failure::Policy, widened.code(), widened.to_string()))
    }

    fn command(&self, named: &Named, interpreter: &PinnedInterpreter) -> Command {
        let program = interpreter.program.to_string_lossy().into_owned();
        let script = format!("{SKILL_PLACE}/{}", self.path());
        let flags = interpreter.flags.iter().cloned();
        let argv = [program].into_iter().chain(flags).chain([script]).chain(named.arguments.iter().cloned());
        Command {
            file: self.path().clone(),
            is_declared: matches!(self.source, Source::Declared(_)),
            argv: argv.collect(),
            directory: self.directory(named).to_owned(),
            environment: self.workshop.environment.clone(),
            files: named.shown(),
        }
    }

    /// Where it starts.
    fn directory<'n>(&self, named: &'n Named) -> &'n str {
        let workspace = named.workspace.as_ref().filter(|_| self.grants.in_workspace);
        workspace.map_or(SKILL_PLACE, |(workspace, _)| workspace.identity().resolved())
    }

    fn limits(&self, named: &Named) -> Limits {
        let parts = self.workshop.envelope.parts();
        let limits = parts.limits;
        Limits {
            wall: Some(named.wall),
            grace: Some(super::run::GRACE),
            output_bytes: Some(parts.output_bytes_max),
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

    /// All of it in one form, so that another file, argument, limit or rule is another consent.
    fn profile(&self, named: &Named, interpreter: &PinnedInterpreter, command: &Command) -> Vec<u8> {
        let parts = self.workshop.envelope.parts();
        let mut frame = Frame::new("script-profile", 1);
        frame.part(self.path().as_str().as_bytes());
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
        frame.list(&named.reads, |frame, file| file.identity().write_to(frame));
        frame.list(&named.writes, |frame, file| {
            frame.optional(file.original(), |frame, original| original.write_to(frame));
        });
        frame.optional(named.out.as_ref(), |frame, out| out.identity().write_to(frame));
        let limits = parts.limits;
        for number in [
            u64::try_from(named.wall.as_millis()).unwrap_or(u64::MAX),
            parts.output_bytes_max,
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
        frame.number(u64::from(self.fail_on_nonzero_exit));
        frame.list(&self.workshop.unlocked, |frame, name| frame.part(name.as_bytes()));
        frame.into_bytes()
    }
}

fn host_path(path: &Path) -> Result<HostPath, RunError> {
    let text = path.to_str();
    let parsed = text.and_then(|text| HostPath::parse(text).ok());
    parsed.ok_or_else(|| {
        RunError::new(Failure::Path, fumehood_core::Code::PathRejected, "a path is not absolute text")
    })
}
