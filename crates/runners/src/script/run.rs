//! The run itself: laid out from memory, looked at once more, started, waited for; and what it wrote, applied.

use std::os::fd::AsFd as _;
use std::path::Path;

use fumehood_core::code::{Class, Coded as _};
use fumehood_core::receipt::Applied;
use fumehood_core::tool::Failure;
use fumehood_gate::{Accepted, Attempt, Plan, RawOutput, RunError, Runner};
use fumehood_sandbox as sandbox;
use fumehood_store::{
    Baseline, ChangeLimits, Changes, Committed, Expected, Place, Scratch, Staged, TransactionError,
    WriteGrant, copy_originals,
};

use super::call::Named;
use super::{OUT_PLACE, PinnedInterpreter, Script, WorkspaceAccess};
use crate::launch::{Streams, about, build, changed, ended, host, internal, lost, wait};

/// A planned call.
pub(super) struct Ready {
    script: Script,
    plan: Plan,
    named: Named,
    interpreter: PinnedInterpreter,
    written: Written,
    committed: Option<Committed>,
}

/// Where a run writes and what was there before, until what it wrote is applied or thrown away.
#[derive(Default)]
struct Written {
    folders: Folders,
    /// What the person named to be replaced or made.
    expected: Vec<Expected>,
    /// The workspace, if it may be changed.
    baseline: Option<Baseline>,
}

#[derive(Default)]
struct Folders {
    out: Option<Scratch>,
    /// Over the workspace.
    upper: Option<Scratch>,
}

/// Where on the host that lies which a run gets beside what was named.
struct Laid<'p> {
    skill: &'p Path,
    out: Option<&'p Path>,
    upper: Option<&'p Path>,
}

impl Ready {
    /// A planned call that could be launched as far as can be told without laying anything out.
    pub(super) fn new(
        script: Script,
        plan: Plan,
        named: Named,
        interpreter: PinnedInterpreter,
    ) -> Result<Self, RunError> {
        let ready = Self { script, plan, named, interpreter, written: Written::default(), committed: None };
        // What cannot be granted together is said before anybody is asked. The places will be others, as unlike all else.
        let [skill, out, upper] = TRIAL.map(Path::new);
        ready.profile(&Laid { skill, out: ready.named.has_out().then_some(out), upper: Some(upper) })?;
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
        let (confined, staged) = match self.launch() {
            Ok(launched) => launched,
            Err(error) => return RawOutput::failed(error),
        };
        attempt.sandbox_started(self.script.workshop.level());
        match wait(&attempt, staged, |is_cancelled| confined.wait(is_cancelled)) {
            Ok(outcome) => ended(outcome, self.script.fail_on_nonzero_exit),
            Err(error) => lost(&error),
        }
    }

    fn apply(&mut self, accepted: Accepted<'_>) -> Result<Vec<Applied>, RunError> {
        // The folders stay until all is applied: it is read from there.
        let Written { folders, expected, baseline } = std::mem::take(&mut self.written);
        let changes = self.changes(&folders, expected, baseline)?;
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let transactions = &self.script.workshop.transactions;
        let applied = transactions.apply(&changes, accepted.receipt(), &|| accepted.is_cancelled());
        let committed = applied.map_err(|error| refused(&error))?;
        let applied = committed.applied().to_vec();
        self.committed = Some(committed);
        Ok(applied)
    }

    fn recorded(&mut self) {
        if let Some(committed) = self.committed.take() {
            // It is told of again at the next start, which does no harm.
            let _ = committed.acknowledge();
        }
    }
}

impl Ready {
    /// Everything up to the moment in which the script runs. Whatever is not as it was planned ends it here.
    fn launch(&mut self) -> Result<(sandbox::Confined, Staged), RunError> {
        let workshop = &self.script.workshop;
        let staged = workshop.staging.lay_out(&self.script.skill.snapshot).map_err(|error| host(&error))?;
        self.written = self.prepare()?;
        let Folders { out, upper } = &self.written.folders;
        let (out, upper) = (out.as_ref().map(Scratch::path), upper.as_ref().map(Scratch::path));
        let profile = self.profile(&Laid { skill: staged.path(), out, upper })?;
        // The last looks: from here on nothing is asked of anybody.
        workshop.is_same_interpreter(self.script.interpreter(), &self.interpreter)?;
        if let Some((workspace, _)) = &self.named.workspace {
            workspace.recheck().map_err(|error| about(Failure::Integrity, &error, "the workspace"))?;
        }
        // Of these the last, since it is about what is executed.
        self.script.skill.verify(&staged)?;
        let confined = workshop.spawn(&profile)?;
        Ok((confined, staged))
    }

    /// The folders that the run writes in.
    fn prepare(&self) -> Result<Written, RunError> {
        let Named { writes, workspace, .. } = &self.named;
        let workshop = &self.script.workshop;
        let mut written = Written::default();
        if self.named.has_out() {
            let scratch = workshop.staging.scratch().map_err(|error| host(&error))?;
            copy_originals(writes, &scratch, ChangeLimits::BYTES_DEFAULT)
                .map_err(|error| about(Failure::Path, &error, "a file that would be replaced"))?;
            let expected = writes.iter().map(WriteGrant::expected).collect::<Result<_, _>>();
            written.expected = expected.map_err(|error| refused(&error))?;
            written.folders.out = Some(scratch);
        }
        if let Some((workspace, WorkspaceAccess::Change)) = workspace {
            let place = Place::of(workspace, workspace.path()).map_err(|error| refused(&error))?;
            let baseline = Baseline::of(&place, &workshop.unlocked, workshop.changes);
            written.baseline = Some(baseline.map_err(|error| refused(&error))?);
            written.folders.upper = Some(workshop.staging.scratch().map_err(|error| host(&error))?);
        }
        Ok(written)
    }

    /// What the run wrote, judged.
    fn changes(
        &self,
        folders: &Folders,
        expected: Vec<Expected>,
        baseline: Option<Baseline>,
    ) -> Result<Changes, RunError> {
        let limits = self.script.workshop.changes;
        let mut changes = Changes::default();
        if let Some(out) = &folders.out {
            let rest = self.named.out.as_ref().map(|rest| Place::of(rest, rest.path())).transpose();
            let rest = rest.map_err(|error| refused(&error))?;
            let outputs = out.outputs().map_err(|error| host(&error))?;
            let found = Changes::of_outputs(outputs, expected, rest.as_ref(), limits);
            changes = changes.and(found.map_err(|error| refused(&error))?);
        }
        if let (Some(upper), Some(baseline)) = (&folders.upper, baseline) {
            let wrote = upper.overlay_changes().map_err(|error| host(&error))?;
            let found = Changes::of_overlay(baseline, wrote, limits);
            changes = changes.and(found.map_err(|error| refused(&error))?);
        }
        Ok(changes)
    }

    fn profile(&self, laid: &Laid<'_>) -> Result<sandbox::Profile, RunError> {
        let workshop = &self.script.workshop;
        let bytes_max = workshop.envelope.parts().output_bytes_max;
        let streams = Streams {
            output_bytes_max: bytes_max,
            errors_bytes_max: bytes_max,
            on_excess: sandbox::OnExcess::Truncate,
        };
        let command = self.plan.command.as_ref().ok_or_else(|| internal("a script without a command"))?;
        let mut builder = workshop.profile(command, &self.interpreter, laid.skill, self.named.wall, streams);
        for file in &self.named.reads {
            if self.is_in_workspace(file.path()) {
                continue;
            }
            let open = file.as_fd().try_clone_to_owned();
            let open = open.map_err(|_| internal("a file that is open cannot be opened again"))?;
            builder = builder.grant_open(open, file.path());
        }
        build(self.folders(builder, laid))
    }

    fn folders(&self, mut builder: sandbox::ProfileBuilder, laid: &Laid<'_>) -> sandbox::ProfileBuilder {
        if let Some(out) = laid.out {
            builder = builder.grant(out, OUT_PLACE, sandbox::Access::Write);
        }
        match (&self.named.workspace, laid.upper) {
            (Some((workspace, WorkspaceAccess::Read)), _) => {
                builder.grant(workspace.path(), workspace.path(), sandbox::Access::Read)
            }
            (Some((workspace, WorkspaceAccess::Change)), Some(upper)) => {
                builder.overlay(workspace.path(), upper, workspace.path())
            }
            _ => builder,
        }
    }

    /// Whether the script sees the file in the workspace already.
    fn is_in_workspace(&self, path: &str) -> bool {
        let workspace = self.named.workspace.as_ref();
        workspace.is_some_and(|(workspace, _)| Path::new(path).starts_with(workspace.path()))
    }
}

/// What was written is not applied: for what it is, or since somebody else was there meanwhile, or since the host could not.
fn refused(error: &TransactionError) -> RunError {
    let failure = match error.code().class() {
        Class::Denied | Class::TooLarge => Failure::Policy,
        Class::Conflict => Failure::Integrity,
        Class::Cancelled => Failure::Cancelled,
        _ => Failure::Host,
    };
    about(failure, error, "")
}

/// Stands for the places of a run that are not made yet.
const TRIAL: [&str; 3] = ["/fumehood-trial/skill", "/fumehood-trial/out", "/fumehood-trial/upper"];
