//! What a person is asked about a call, in one value that every face can show.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use fumehood_core::ToolName;
use fumehood_core::checked::CHECKED_ERRORS_BYTES_MAX;
use fumehood_core::containment::{Axis, AxisReport, Enforcement};
use fumehood_core::receipt::Limits;
use fumehood_core::tool::Tier;
use fumehood_gate::{Command, Plan, Request};

use crate::report::{
    ArgumentNote, AxisAsked, FileAsked, History, InterpreterAsked, LimitAsked, Question, SCHEMA_VERSION,
    SkillAsked, Variable,
};

/// What is on record of a skill: asked when there is a question to be put.
pub(super) type Record = Arc<dyn Fn(&Plan) -> History + Send + Sync>;

/// What there is to say about the arguments of a call that runs as this command.
pub(super) type Notes = Box<dyn Fn(&Request<'_>, &Command) -> Vec<ArgumentNote> + Send + Sync>;

/// What a question says that the gate's request does not.
pub(super) struct Wording {
    /// What the host wants with the call, if that is not plain from the call itself.
    pub(super) purpose: Option<&'static str>,
    pub(super) state_folder: Option<String>,
    pub(super) record: Record,
    pub(super) notes: Notes,
}

/// The wording of each tool that is on offer.
#[derive(Default)]
pub(super) struct Wordings(Mutex<BTreeMap<ToolName, Arc<Wording>>>);

impl Wordings {
    /// From here on, this is what is said about calls of the tool.
    pub(super) fn set(&self, tool: &ToolName, wording: Wording) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(tool.clone(), Arc::new(wording));
    }

    /// `None` for a tool that is no program of a skill's, or not on offer.
    pub(super) fn question(&self, request: &Request<'_>) -> Option<Question> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wording = all.get(request.tool.name()).cloned();
        drop(all);
        wording?.question(request)
    }
}

impl Wording {
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
            argument_notes: (self.notes)(request, command),
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
