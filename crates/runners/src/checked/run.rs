//! The run of a checked tool: five proofs, one launch, and an answer only of what all of them hold for.

use std::path::Path;
use std::time::Duration;

use fumehood_core::VerifiedRevision;
use fumehood_core::call::Invocation;
use fumehood_core::checked::CHECKED_ERRORS_BYTES_MAX;
use fumehood_core::code::Code;
use fumehood_core::tool::Failure;
use fumehood_gate::{Attempt, Plan, RawOutput, RunError, Runner};
use fumehood_sandbox as sandbox;
use fumehood_store::{Staged, Workspace};

use super::heard::Heard;
use super::input::Input;
use super::planner::node;
use super::{Admitted, Checked};
use crate::launch::{Streams, about, build, changed, ended, host, internal, lost, wait};
use crate::script::PinnedInterpreter;

/// A planned call.
pub(super) struct Ready {
    checked: Checked,
    plan: Plan,
    node: PinnedInterpreter,
    workspace: Option<Workspace>,
}

/// What was shown right before a launch, each by the check that makes it (CHK-024).
struct Proofs<'a> {
    /// What lies on the disk for the run is what was captured.
    revision: VerifiedRevision,
    /// The workspace, if one was asked for, is the folder that was planned with.
    workspace: Option<&'a Workspace>,
    /// The arguments fit the manifest's schema.
    input: &'a Invocation,
    /// A person or what they trust said yes, and the policy was asked since.
    attempt: &'a Attempt<'a>,
    /// The host executes checked tools, and not in safe mode.
    admitted: Admitted,
    /// Node is what was planned with.
    node: &'a PinnedInterpreter,
}

impl Ready {
    /// A planned call that could be launched as far as can be told without laying anything out.
    pub(super) fn new(
        checked: Checked,
        plan: Plan,
        node: PinnedInterpreter,
        workspace: Option<Workspace>,
    ) -> Result<Self, RunError> {
        let ready = Self { checked, plan, node, workspace };
        let wall = ready.checked.wall();
        ready.profile(&ready.node, ready.workspace.as_ref(), Path::new(TRIAL), wall)?;
        Ok(ready)
    }
}

impl Runner for Ready {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run(&mut self, attempt: Attempt<'_>) -> RawOutput {
        if *attempt.plan() != self.plan {
            return RawOutput::failed(changed("this is not what was approved"));
        }
        let manifest = &self.checked.manifest;
        let mut heard = Heard::new(manifest.output_bytes_max());
        let (confined, staged, writing) = match self.start(&attempt) {
            Ok(started) => started,
            Err(error) => return RawOutput::failed(error),
        };
        let outcome = wait(&attempt, staged, |is_cancelled| {
            confined.watch(is_cancelled, &mut |channel, piece| heard.take(channel, piece))
        });
        // Nobody is left who could read, so it has come to its end.
        let _ = writing.join();
        match outcome {
            Ok(outcome) => heard.judge(ended(outcome, true), manifest.output_schema()),
            Err(error) => lost(&error),
        }
    }
}

type Started = (sandbox::Confined, Staged, std::thread::JoinHandle<()>);

impl Ready {
    /// Lays out the listed files, gathers what must be shown, the bytes last, and starts the program.
    fn start(&self, attempt: &Attempt<'_>) -> Result<Started, RunError> {
        let Checked { workshop, skill, manifest, switches, .. } = &self.checked;
        let staged = workshop.staging.lay_out_listed(&skill.snapshot, manifest.files());
        let staged = staged.map_err(|error| host(&error))?;
        workshop.is_same_interpreter(&node()?, &self.node)?;
        let workspace = self.workspace.as_ref();
        workspace
            .map_or(Ok(()), Workspace::recheck)
            .map_err(|error| about(Failure::Integrity, &error, "the workspace"))?;
        let proofs = Proofs {
            workspace,
            input: attempt.call().invocation(),
            attempt,
            node: &self.node,
            admitted: Admitted::now(&**switches)?,
            revision: skill.verify(&staged)?,
        };
        let (confined, writing) = self.launch(proofs, staged.path())?;
        Ok((confined, staged, writing))
    }

    #[expect(clippy::needless_pass_by_value, reason = "proofs are used up")]
    /// The launch. It cannot be called without the proofs, and uses each of them up.
    fn launch(
        &self,
        proofs: Proofs<'_>,
        skill: &Path,
    ) -> Result<(sandbox::Confined, std::thread::JoinHandle<()>), RunError> {
        let Proofs { revision, workspace, input, attempt, admitted: Admitted(()), node } = proofs;
        if Some(revision) != self.plan.skill.as_ref().map(|skill| skill.revision) {
            return Err(internal("another revision was verified than was planned with"));
        }
        let profile = self.profile(node, workspace, skill, self.checked.wall().min(attempt.wall()))?;
        let input = Input::prepare(input)?;
        if attempt.is_cancelled() {
            let message = "the call was cancelled before the program started";
            return Err(RunError::new(Failure::Cancelled, Code::Cancelled, message));
        }
        let mut confined = self.checked.workshop.spawn(&profile)?;
        attempt.sandbox_started(self.checked.workshop.level());
        let writing = input.write_to(confined.take_input());
        Ok((confined, writing))
    }

    fn profile(
        &self,
        node: &PinnedInterpreter,
        workspace: Option<&Workspace>,
        skill: &Path,
        wall: Duration,
    ) -> Result<sandbox::Profile, RunError> {
        let streams = Streams {
            output_bytes_max: u64::from(self.checked.manifest.output_bytes_max()),
            errors_bytes_max: u64::from(CHECKED_ERRORS_BYTES_MAX),
            on_excess: sandbox::OnExcess::Fail,
        };
        let command = self.plan.command.as_ref().ok_or_else(|| internal("a tool without a command"))?;
        let builder = self.checked.workshop.profile(command, node, skill, wall, streams);
        build(match workspace {
            Some(workspace) => builder.grant(workspace.path(), workspace.path(), sandbox::Access::Read),
            None => builder,
        })
    }
}

/// Stands for the place of the files, which are not laid out yet.
const TRIAL: &str = "/fumehood-trial/skill";
