//! A receipt as JSON. Every field is always there, `null` where it has nothing to say.

use core::time::Duration;

use serde::Serialize;

use super::{
    Applied, Authority, AuthorityKind, Captured, Change, Exit, Killed, Limits, Opening,
    RECEIPT_SCHEMA_VERSION, Receipt, SkillIdentity, Verdict,
};
use crate::binding::{Binding, InterpreterIdentity, WorkspaceIdentity};
use crate::code::Code;
use crate::consent::Surface;
use crate::containment::AxisReport;
use crate::digest::{Revision, Sha256};
use crate::id::{ArtifactId, CallId, ProposalId, ReceiptId, RunId};
use crate::name::{AgentLabel, ToolName};
use crate::time::WallTime;
use crate::tool::Failure;

pub(super) fn bytes(opening: &Opening, receipt: Option<&Receipt>) -> Vec<u8> {
    // Writing to memory cannot fail, and every key is a string.
    serde_json::to_vec(&OpeningShape::of(opening, receipt)).unwrap_or_default()
}

#[derive(Serialize)]
struct OpeningShape<'a> {
    schema_version: u32,
    id: ReceiptId,
    run: RunId,
    call: CallId,
    agent: &'a AgentLabel,
    tool: &'a ToolName,
    tier: &'static str,
    skill: Option<SkillShape<'a>>,
    interpreter: Option<InterpreterShape<'a>>,
    workspace: Option<&'a str>,
    binding: Binding,
    arguments_sha256: Sha256,
    authority: AuthorityShape<'a>,
    containment: ContainmentShape<'a>,
    limits: LimitsShape,
    unsafe_controls: &'a [String],
    state_folder: Option<&'a str>,
    started_unix_ms: WallTime,
    outcome: &'static str,
    closing: Option<ClosingShape<'a>>,
}

#[derive(Serialize)]
struct SkillShape<'a> {
    source: &'a str,
    name: &'a str,
    revision: Revision,
    overlay_sha256: Option<Sha256>,
}

#[derive(Serialize)]
struct InterpreterShape<'a> {
    path: &'a str,
    version: Option<&'a str>,
    sha256: Sha256,
}

#[derive(Default, Serialize)]
struct AuthorityShape<'a> {
    kind: &'static str,
    consent: Option<ProposalId>,
    surface: Option<&'static str>,
    rule: Option<&'a str>,
    scope: Option<&'a str>,
}

#[derive(Serialize)]
struct ContainmentShape<'a> {
    level_floor: &'static str,
    level: &'static str,
    axes: Vec<AxisShape<'a>>,
}

#[derive(Serialize)]
struct AxisShape<'a> {
    name: &'static str,
    asked: bool,
    enforced: &'static str,
    mechanism: &'a str,
}

#[derive(Serialize)]
struct LimitsShape {
    wall_ms: Option<u64>,
    grace_ms: Option<u64>,
    output_bytes: Option<u64>,
    cpu_seconds: Option<u64>,
    memory_bytes_per_process: Option<u64>,
    memory_bytes_total: Option<u64>,
    processes: Option<u64>,
    file_bytes: Option<u64>,
    open_files: Option<u64>,
    temporary_bytes: Option<u64>,
    temporary_files: Option<u64>,
}

#[derive(Serialize)]
struct ClosingShape<'a> {
    attempts: u32,
    failure: Option<&'static str>,
    code: Option<Code>,
    exit_code: Option<u8>,
    signal: Option<u8>,
    killed: Option<&'static str>,
    output: CapturedShape,
    errors: CapturedShape,
    artifact: Option<ArtifactId>,
    errors_artifact: Option<ArtifactId>,
    files_applied: Vec<AppliedShape<'a>>,
    processes_left: &'static str,
    fallback: bool,
    ended_unix_ms: WallTime,
    elapsed_ms: u64,
}

#[derive(Serialize)]
struct CapturedShape {
    kept_bytes: u64,
    dropped_bytes: u64,
}

#[derive(Serialize)]
struct AppliedShape<'a> {
    path: &'a str,
    change: &'static str,
    bytes: u64,
    sha256: Option<Sha256>,
}

impl<'a> OpeningShape<'a> {
    fn of(opening: &'a Opening, receipt: Option<&'a Receipt>) -> Self {
        Self {
            schema_version: RECEIPT_SCHEMA_VERSION,
            id: opening.id,
            run: opening.run,
            call: opening.call,
            agent: &opening.agent,
            tool: &opening.tool,
            tier: opening.tier.as_str(),
            skill: opening.skill.as_ref().map(SkillShape::of),
            interpreter: opening.interpreter.as_ref().map(InterpreterShape::of),
            workspace: opening.workspace.as_ref().map(WorkspaceIdentity::resolved),
            binding: opening.binding,
            arguments_sha256: opening.arguments,
            authority: AuthorityShape::of(&opening.authority),
            containment: ContainmentShape {
                level_floor: opening.containment.level_floor.as_str(),
                level: opening.containment.level.as_str(),
                axes: opening.containment.axes.iter().map(AxisShape::of).collect(),
            },
            limits: LimitsShape::of(opening.limits),
            unsafe_controls: &opening.unsafe_controls,
            state_folder: opening.state_folder.as_deref(),
            started_unix_ms: opening.started,
            outcome: match receipt.map(Receipt::verdict) {
                None => "open",
                Some(Verdict::Succeeded) => "succeeded",
                Some(Verdict::Failed(..)) => "failed",
            },
            closing: receipt.map(ClosingShape::of),
        }
    }
}

impl<'a> SkillShape<'a> {
    fn of(skill: &'a SkillIdentity) -> Self {
        let SkillIdentity { source, name, revision, overlay } = skill;
        Self { source, name: name.as_str(), revision: *revision, overlay_sha256: *overlay }
    }
}

impl<'a> InterpreterShape<'a> {
    fn of(identity: &'a InterpreterIdentity) -> Self {
        Self { path: identity.path(), version: identity.version(), sha256: identity.sha256() }
    }
}

impl<'a> AuthorityShape<'a> {
    fn of(authority: &'a Authority) -> Self {
        let none = Self::default();
        match &authority.kind {
            AuthorityKind::Auto => Self { kind: "auto", ..none },
            AuthorityKind::Callback => Self { kind: "callback", ..none },
            AuthorityKind::Consent(id, surface) => {
                Self { kind: "consent", consent: Some(*id), surface: Some(Surface::as_str(*surface)), ..none }
            }
            AuthorityKind::Rule(name) => Self { kind: "rule", rule: Some(name), ..none },
            AuthorityKind::Scope(id) => Self { kind: "scope", scope: Some(id), ..none },
        }
    }
}

impl<'a> AxisShape<'a> {
    fn of(report: &'a AxisReport) -> Self {
        let AxisReport { axis, asked, enforced, mechanism } = report;
        Self { name: axis.as_str(), asked: *asked, enforced: enforced.as_str(), mechanism }
    }
}

impl LimitsShape {
    fn of(limits: Limits) -> Self {
        Self {
            wall_ms: limits.wall.map(milliseconds),
            grace_ms: limits.grace.map(milliseconds),
            output_bytes: limits.output_bytes,
            cpu_seconds: limits.cpu_seconds,
            memory_bytes_per_process: limits.memory_bytes_per_process,
            memory_bytes_total: limits.memory_bytes_total,
            processes: limits.processes,
            file_bytes: limits.file_bytes,
            open_files: limits.open_files,
            temporary_bytes: limits.temporary_bytes,
            temporary_files: limits.temporary_files,
        }
    }
}

impl<'a> ClosingShape<'a> {
    fn of(receipt: &'a Receipt) -> Self {
        let closing = &receipt.closing;
        let failed = match receipt.verdict {
            Verdict::Succeeded => None,
            Verdict::Failed(failure, code) => Some((failure, code)),
        };
        Self {
            attempts: closing.attempts,
            failure: failed.map(|(failure, _)| Failure::as_str(failure)),
            code: failed.map(|(_, code)| code),
            exit_code: closing.exit.and_then(Exit::code),
            signal: closing.exit.and_then(Exit::signal),
            killed: closing.killed.map(Killed::as_str),
            output: CapturedShape::of(closing.output),
            errors: CapturedShape::of(closing.errors),
            artifact: closing.artifact,
            errors_artifact: closing.errors_artifact,
            files_applied: closing.applied.iter().map(AppliedShape::of).collect(),
            processes_left: closing.processes.as_str(),
            fallback: closing.fallback,
            ended_unix_ms: closing.ended,
            elapsed_ms: milliseconds(closing.elapsed),
        }
    }
}

impl CapturedShape {
    fn of(captured: Captured) -> Self {
        Self { kept_bytes: captured.kept_bytes, dropped_bytes: captured.dropped_bytes }
    }
}

impl<'a> AppliedShape<'a> {
    fn of(applied: &'a Applied) -> Self {
        let change = match applied.change {
            Change::Created => "created",
            Change::Replaced => "replaced",
            Change::Removed => "removed",
        };
        Self { path: &applied.path, change, bytes: applied.bytes, sha256: applied.sha256 }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
