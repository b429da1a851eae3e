//! What the gate gives back, as an answer or as a fault.

use fumehood_core::receipt::{Applied, Change};
use fumehood_core::{Class, Code, Coded as _, Revision, Wiped};
use fumehood_gate::{Completed, GateError, Ran};

use super::Captured;
use crate::fault::Fault;
use crate::report::{AppliedFile, Content, RunReport, SCHEMA_VERSION, Written};

/// A script that ran has an answer, whatever became of it; one that did not has a fault.
pub(super) fn of(
    ended: Result<Completed, GateError>,
    tool: String,
    skill: &Captured,
    revision: Revision,
) -> Result<RunReport, Fault> {
    let blank = RunReport {
        schema_version: SCHEMA_VERSION,
        failure: None,
        tool,
        skill: format!("{}:{}", skill.source, skill.name),
        revision: revision.to_string(),
        receipt: String::new(),
        exit_code: None,
        signal: None,
        killed: None,
        output: written(None, Wiped::default(), 0),
        errors: written(None, Wiped::default(), 0),
        files_applied: Vec::new(),
        elapsed_ms: 0,
    };
    let mut error = match ended {
        Ok(completed) => return Ok(completed_report(blank, completed)),
        Err(error) => error,
    };
    let fault = fault(&error);
    let ran = error.ran.take();
    match ran {
        Some(ran) if ran.exit.is_some() || ran.killed.is_some() => Ok(failed_report(blank, *ran, fault)),
        _ => Err(fault),
    }
}

fn completed_report(blank: RunReport, completed: Completed) -> RunReport {
    let Completed {
        receipt,
        kept,
        errors_kept,
        output,
        dropped,
        errors,
        errors_dropped,
        exit,
        applied,
        elapsed,
        ..
    } = completed;
    RunReport {
        receipt: receipt.to_string(),
        exit_code: exit.and_then(fumehood_core::receipt::Exit::code),
        signal: exit.and_then(fumehood_core::receipt::Exit::signal),
        output: written(Some(kept.id.to_string()), output.0, dropped),
        errors: written(errors_kept.map(|kept| kept.id.to_string()), errors.0, errors_dropped),
        files_applied: applied.into_iter().map(applied_file).collect(),
        elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        ..blank
    }
}

fn failed_report(blank: RunReport, ran: Ran, mut fault: Fault) -> RunReport {
    // Its words choose between sentences of ours, and no more.
    if fault.code == Code::ScriptFailed {
        let said = |word: &&str| holds(&ran.errors.0, word) || holds(&ran.output.0, word);
        let reason = REASONS.iter().find(|(words, _)| words.iter().any(said));
        if let Some((_, advice)) = reason {
            (*advice).clone_into(&mut fault.advice);
        }
    }
    RunReport {
        failure: Some(fault),
        receipt: ran.receipt.to_string(),
        exit_code: ran.exit.and_then(fumehood_core::receipt::Exit::code),
        signal: ran.exit.and_then(fumehood_core::receipt::Exit::signal),
        killed: ran.killed.map(fumehood_core::receipt::Killed::as_str),
        output: written(ran.artifact.map(|id| id.to_string()), ran.output.0, ran.dropped),
        errors: written(ran.errors_artifact.map(|id| id.to_string()), ran.errors.0, ran.errors_dropped),
        elapsed_ms: u64::try_from(ran.elapsed.as_millis()).unwrap_or(u64::MAX),
        ..blank
    }
}

fn written(artifact: Option<String>, raw: Wiped, dropped_bytes: u64) -> Written {
    // A script's, which is shown as a whole.
    let raw = raw.into_vec();
    Written { artifact, bytes: raw.len() as u64, dropped_bytes, content: Content::new(raw) }
}

fn applied_file(applied: Applied) -> AppliedFile {
    AppliedFile {
        path: applied.path,
        change: match applied.change {
            Change::Created => "created",
            Change::Replaced => "replaced",
            Change::Removed => "removed",
        },
        bytes: applied.bytes,
        sha256: applied.sha256.map(|sha256| sha256.to_string()),
    }
}

/// Whether it ran to an end of its own, so that what is wrong is with what it wrote.
fn has_ended(error: &GateError) -> bool {
    error.ran.as_ref().is_some_and(|ran| ran.exit.is_some())
}

pub(super) fn fault(error: &GateError) -> Fault {
    let advice = match (error.code, error.code().class()) {
        (Code::ScriptDenied, _) if error.denial == Some(fumehood_core::event::Denial::NobodyToAsk) => {
            "run it yourself in a terminal; no program can answer for you"
        }
        (Code::PolicyInvalid, _) => {
            "mend policy.toml; `fumehood policy check` says all that is wrong with it"
        }
        (Code::PolicyDenied, _) => {
            "the rule is in policy.toml; `fumehood policy explain` says what each rule makes of a call"
        }
        (Code::PolicyBlocked | Code::PolicyWorkflow, _) => "change mode in policy.toml if scripts are to run",
        (Code::ScriptDenied, _) => "nothing ran, and nothing was changed",
        (Code::ScriptFailed, _) => "what it wrote says why; `fumehood receipt` shows what it was allowed",
        (Code::ExecuteDisabled | Code::SafeMode, _) => "[execute] in fumehood.toml says so",
        (Code::ScriptTimeout, _) => {
            "give it more time with --timeout, up to the envelope's timeout_seconds_max"
        }
        (Code::ScriptPolicyWidened, _) => {
            "ask for less, or widen that rule under [envelope] in fumehood.toml"
        }
        (Code::ToolSandboxRequired, _) => "`fumehood doctor` says what this machine lacks",
        (Code::ArtifactStoreFull, _) => {
            "make room with `fumehood artifact prune`; --dry-run shows what would go"
        }
        (Code::InterpreterChanged, _) => {
            "if you updated it, accept the new one with `fumehood interpreters repin`"
        }
        (Code::SchemaMismatch | Code::ArgumentInvalid, _) => "`fumehood show` lists what the script takes",
        (Code::InterpreterUnknown, _) => {
            "`fumehood interpreters` lists what there is; --interpreter names another, and [interpreters] in fumehood.toml adds one"
        }
        (Code::PlaceForbidden, _) => {
            "grant another folder, or single files with --read; what fumehood or its skills are made of is never granted"
        }
        (Code::FileNotFound | Code::FolderNotFound, _) => {
            "relative paths count from the current folder, in arguments from the workspace; a folder must be there before the run"
        }
        (_, Class::Denied | Class::Conflict | Class::TooLarge) if has_ended(error) => {
            "the script ran, and nothing that it wrote was put in place"
        }
        (Code::FileExists, _) => "name another file, or move that one away: nothing is written over",
        (_, Class::Cancelled) => "nothing of it is left, and no file was changed",
        (_, Class::Invalid | Class::Missing) => "check the command",
        (_, Class::Conflict) => "look at what changed, and ask again",
        (_, Class::Denied) => "nothing ran, and nothing was changed",
        _ => "try again; if it stays so, please report it",
    };
    Fault::of(error, advice)
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

/// What programs say when they meet what is usual outside and not here, and what to do about it.
const REASONS: [(&[&str], &str); 5] = [
    (
        &["Read-only file system", "EROFS: "],
        "the skill's folder and all others are read-only to it: let it write to /out, which --out DIR collects, or give it --workspace DIR:rw",
    ),
    (
        &["ModuleNotFoundError: No module named", "Error: Cannot find module", "ERR_MODULE_NOT_FOUND"],
        "it needs a package that its interpreter does not have; nothing is installed, but [interpreters] in fumehood.toml can name one that has it",
    ),
    (
        &["Name or service not known", "Could not resolve host", "ENOTFOUND", "EAI_AGAIN"],
        "it looked for a host on the network, which no script gets: fetch outside, and grant the result with --read",
    ),
    (
        &["/out': No such file", "/out’: No such file", "create /out/", "directory: '/out/", "open '/out/"],
        "/out is there when --out DIR says where its files go, or --write names one; folders in it are the script's to make",
    ),
    (
        &["$'\\r'", "\r: not found", "Illegal option -\r"],
        "its lines end in CR LF, which shells take for a part of the command: convert them in a copy of the skill",
    ),
];
