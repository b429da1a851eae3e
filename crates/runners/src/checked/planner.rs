//! A call of a checked tool as a plan.

use fumehood_core::checked::CHECKED_ERRORS_BYTES_MAX;
use fumehood_core::code::Code;
use fumehood_core::manifest::{EXECUTION_TIMEOUT_MS_MIN, InterpreterKey};
use fumehood_core::tool::{Failure, Tier};
use fumehood_core::{Call, Frame};
use fumehood_gate::{Command, FileGrant, FileUse, Plan, Planner, RunError, Runner};
use fumehood_store::Workspace;

use super::run::Ready;
use super::{Admitted, Checked, NODE, NODE_FLAGS};
use crate::launch::{containment, host_path, internal};
use crate::script::{PinnedInterpreter, SKILL_PLACE, Workshop, open_workspace};

impl Planner for Checked {
    fn plan(&self, call: &Call) -> Result<Box<dyn Runner>, RunError> {
        let _ = call;
        let workshop = &self.workshop;
        Admitted::now(&*self.switches)?;
        for path in self.manifest.files() {
            if self.skill.snapshot.get(path).is_none() {
                let message = "the skill does not have all files that execution.json lists";
                return Err(RunError::new(Failure::Path, Code::DeclaredFile, message));
            }
        }
        self.has_time()?;
        workshop.has_floor(Tier::Checked)?;
        let node = workshop.interpreters.resolve(&node()?)?;
        let output_bytes = u64::from(self.manifest.output_bytes_max());
        let workspace = self.workspace.as_ref();
        let workspace = workspace.map(|path| open_workspace(path, &workshop.forbidden)).transpose()?;
        let read = workspace.iter().map(|workspace| host_path(workspace.path()));
        let read = read.collect::<Result<Vec<_>, _>>()?;
        workshop.admit([&read, &[]], &node, self.wall(), output_bytes)?;
        let command = self.command(&node, workspace.as_ref());
        let plan = Plan {
            skill: Some(self.skill.planned()),
            interpreter: Some(node.identity.clone()),
            workspace: workspace.as_ref().map(|workspace| workspace.identity().clone()),
            profile: self.profile(&node, &command),
            containment: containment(workshop.sandbox.enforcement(), workshop.envelope.parts().level_floor),
            limits: workshop.limits(self.wall(), output_bytes),
            paths: Vec::new(),
            command: Some(command),
            unsafe_controls: Vec::new(),
        };
        Ok(Box::new(Ready::new(self.clone(), plan, node, workspace)?))
    }
}

impl Checked {
    /// A person may give it less time than its author, and no more (CHK-102, CHK-105).
    fn has_time(&self) -> Result<(), RunError> {
        let least = u128::from(EXECUTION_TIMEOUT_MS_MIN);
        let (asked, most) = (self.wall().as_millis(), self.manifest.timeout().as_millis());
        if (least..=most).contains(&asked) {
            return Ok(());
        }
        let message = format!("a timeout for this tool is {least} to {most} milliseconds");
        Err(RunError::new(Failure::Validation, Code::ArgumentInvalid, message))
    }

    fn command(&self, node: &PinnedInterpreter, workspace: Option<&Workspace>) -> Command {
        let program = node.program.to_string_lossy().into_owned();
        let entry = format!("{SKILL_PLACE}/{}", self.manifest.entrypoint());
        let flags = NODE_FLAGS.into_iter().map(str::to_owned);
        // What would change Node from outside is not passed on, whoever set it (CHK-139).
        let variables = self.workshop.environment.iter().filter(|(name, _)| !name.starts_with("NODE_"));
        Command {
            file: self.manifest.entrypoint().clone(),
            is_declared: true,
            argv: [program].into_iter().chain(flags).chain([entry]).collect(),
            directory: SKILL_PLACE.to_owned(),
            environment: variables.cloned().collect(),
            files: workspace.map(seen).into_iter().collect(),
        }
    }

    /// All of it in one form. The manifest's bytes are the revision's.
    fn profile(&self, node: &PinnedInterpreter, command: &Command) -> Vec<u8> {
        let mut frame = Frame::new("checked-profile", 1);
        Workshop::frame_command(&mut frame, command, node);
        let output_bytes = u64::from(self.manifest.output_bytes_max());
        self.workshop.frame_limits(&mut frame, self.wall(), output_bytes);
        frame.number(u64::from(CHECKED_ERRORS_BYTES_MAX));
        frame.into_bytes()
    }
}

/// The workspace as a person is shown it.
fn seen(workspace: &Workspace) -> FileGrant {
    let path = workspace.identity().resolved().to_owned();
    FileGrant { usage: FileUse::ReadFolder, host: path.clone(), inside: path }
}

pub(super) fn node() -> Result<InterpreterKey, RunError> {
    InterpreterKey::parse(NODE).ok_or_else(|| internal("the key of Node is none"))
}
