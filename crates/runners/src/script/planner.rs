//! A call as a plan: everything that is bound, shown and recorded.

use std::path::Path;

use fumehood_core::tool::{Failure, Tier};
use fumehood_core::{Call, Frame};
use fumehood_gate::{Command, Plan, Planner, RunError, Runner};

use super::call::Named;
use super::run::Ready;
use super::{PinnedInterpreter, SKILL_PLACE, Script, Source, Workshop};
use crate::launch::{containment, host_path};

impl Planner for Script {
    fn plan(&self, call: &Call) -> Result<Box<dyn Runner>, RunError> {
        let workshop = &self.workshop;
        if self.skill.snapshot.get(self.path()).is_none() {
            let message = "the skill has no such file";
            return Err(RunError::new(Failure::Path, fumehood_core::Code::FileNotFound, message));
        }
        workshop.has_floor(Tier::Script)?;
        let interpreter = workshop.interpreters.resolve(self.interpreter())?;
        let named = Named::of(self, call)?;
        self.admit(&named, &interpreter)?;
        let command = self.command(&named, &interpreter);
        let plan = Plan {
            skill: Some(self.skill.planned()),
            interpreter: Some(interpreter.identity.clone()),
            workspace: named.workspace.as_ref().map(|(workspace, _)| workspace.identity().clone()),
            profile: self.profile(&named, &interpreter, &command),
            containment: containment(workshop.sandbox.enforcement(), workshop.envelope.parts().level_floor),
            limits: workshop.limits(named.wall, workshop.envelope.parts().output_bytes_max),
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
        let (mut read, mut write) = (Vec::new(), Vec::new());
        for file in named.shown() {
            let path = host_path(Path::new(&file.host))?;
            if file.usage.changes() { write.push(path) } else { read.push(path) }
        }
        let output_bytes = self.workshop.envelope.parts().output_bytes_max;
        self.workshop.admit([&read, &write], interpreter, named.wall, output_bytes)
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

    /// All of it in one form, so that another file, argument, limit or rule is another consent.
    fn profile(&self, named: &Named, interpreter: &PinnedInterpreter, command: &Command) -> Vec<u8> {
        let mut frame = Frame::new("script-profile", 1);
        Workshop::frame_command(&mut frame, command, interpreter);
        frame.list(&named.reads, |frame, file| file.identity().write_to(frame));
        frame.list(&named.writes, |frame, file| {
            frame.optional(file.original(), |frame, original| original.write_to(frame));
        });
        frame.optional(named.out.as_ref(), |frame, out| out.identity().write_to(frame));
        let output_bytes = self.workshop.envelope.parts().output_bytes_max;
        self.workshop.frame_limits(&mut frame, named.wall, output_bytes);
        frame.number(u64::from(self.fail_on_nonzero_exit));
        frame.list(&self.workshop.unlocked, |frame, name| frame.part(name.as_bytes()));
        frame.into_bytes()
    }
}
