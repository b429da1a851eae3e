//! `run_skill_script` and `call_skill_tool`: what was asked for, and what came of it.

use rmcp::model::Resource;
use serde_json::{Value, json};

use super::answer::{Reply, TEXT_BYTES_MAX, artifact_link};
use super::arguments::{Arguments, json, wrong};
use super::artifact::OUTPUT;
use super::fence::{clipped, fenced};
use super::reading::SKILL;
use crate::fault::Fault;
use crate::host::{CallInput, CallRequest, Cancel, Refusal, RunRequest, RunStep, Session};
use crate::report::{CallReport, RunReport, Written};

/// A call of something that a skill carries.
#[derive(Clone)]
pub(super) enum Work {
    Script(RunRequest),
    Tool(CallRequest),
}

/// What came of it, and whether there is a result to be read now.
pub(super) struct Ran {
    pub(super) reply: Reply,
    pub(super) has_artifact: bool,
}

impl Work {
    pub(super) fn of_script(mut arguments: Arguments) -> Result<Self, Fault> {
        let skill = arguments.required(&SKILL)?;
        let script = arguments.required(&["script_name", "script", "path"])?;
        let args = arguments.value(&["args", "arguments", "params"])?;
        let timeout = arguments.number("timeout_seconds")?;
        arguments.end()?;
        let mut request = RunRequest { skill, script, timeout, ..RunRequest::default() };
        // An empty list is no list: a declared script takes none, and another one takes none as well.
        match args {
            None => {}
            Some(value @ Value::Object(_)) => request.named = Some(json(&value)?),
            Some(Value::Array(items)) if items.is_empty() => {}
            Some(Value::Array(items)) => {
                let text = |item: Value| match item {
                    Value::String(text) => Ok(text),
                    _ => Err(wrong("args", "as a list has texts only")),
                };
                request.argv = Some(items.into_iter().map(text).collect::<Result<_, _>>()?);
            }
            Some(_) => return Err(wrong("args", "is an object or a list of texts")),
        }
        Ok(Self::Script(request))
    }

    pub(super) fn of_tool(mut arguments: Arguments) -> Result<Self, Fault> {
        let skill = arguments.required(&SKILL)?;
        let input = arguments.value(&["arguments", "args", "input"])?.unwrap_or_else(|| json!({}));
        arguments.end()?;
        let input = CallInput::Json(json(&input)?.to_bytes());
        let nothing = (Vec::new(), None, None, None);
        let (roots, workspace, timeout_ms, approve) = nothing;
        Ok(Self::Tool(CallRequest { skill, roots, input, workspace, timeout_ms, approve }))
    }

    /// The skill that is meant.
    pub(super) fn skill(&self) -> &str {
        match self {
            Self::Script(request) => &request.skill,
            Self::Tool(request) => &request.skill,
        }
    }

    pub(super) fn run(
        &self,
        session: &Session,
        cancel: &Cancel,
        tell: impl FnMut(RunStep) + Send + 'static,
    ) -> Result<Ran, Refusal> {
        match self {
            Self::Script(request) => session.run_script(request, cancel, tell).map(|report| ran(&report)),
            Self::Tool(request) => {
                let report = session.call_tool(request, cancel, tell)?;
                Ok(called(&request.skill, &report))
            }
        }
    }
}

fn ran(report: &RunReport) -> Ran {
    let (stdout, first) = stream(&report.output, "standard output");
    let (stderr, second) = stream(&report.errors, "standard error");
    let files: Vec<Value> = report
        .files_applied
        .iter()
        .map(|file| json!({"path": file.path, "change": file.change, "bytes": file.bytes, "sha256": file.sha256}))
        .collect();
    let mut reply = Reply::new(json!({
        "skill": report.skill,
        "tool": report.tool,
        "revision": report.revision,
        "receipt": report.receipt,
        "exit_code": report.exit_code,
        "signal": report.signal,
        "killed": report.killed,
        "elapsed_ms": report.elapsed_ms,
        "stdout": stdout,
        "stderr": stderr,
        "files_applied": files,
    }));
    for link in first.into_iter().chain(second) {
        reply = reply.link(link);
    }
    if let Some(failure) = &report.failure {
        reply = reply.failed(failure);
    }
    let has_artifact = report.output.artifact.is_some() || report.errors.artifact.is_some();
    Ran { reply, has_artifact }
}

/// One stream as it is answered, and a link to all of it if that is more.
fn stream(written: &Written, name: &str) -> (Value, Option<Resource>) {
    let all = written.content.text();
    let (text, is_clipped) = all.map_or(("", true), |text| clipped(text, TEXT_BYTES_MAX));
    let is_clipped = is_clipped && written.bytes > 0;
    let value = json!({
        "content": all.map(|_| fenced(OUTPUT, text)).filter(|_| written.bytes > 0),
        "is_text": all.is_some(),
        "bytes": written.bytes,
        "clipped": is_clipped,
        "dropped_bytes": written.dropped_bytes,
        "artifact": written.artifact,
    });
    let link = written.artifact.as_deref().filter(|_| is_clipped);
    (value, link.map(|id| artifact_link(id, name, written.bytes)))
}

fn called(skill: &str, report: &CallReport) -> Ran {
    let mut result = serde_json::to_value(report).unwrap_or_default();
    let mut taken = |name: &str| {
        result.as_object_mut().and_then(|fields| fields.remove(name)).unwrap_or_default().to_string()
    };
    let (output, problems) = (taken("output"), taken("errors"));
    let (text, is_clipped) = clipped(&output, TEXT_BYTES_MAX);
    // They say where in the answer something is wrong, in its own names.
    let (problems, _) = clipped(&problems, TEXT_BYTES_MAX);
    let errors = String::from_utf8_lossy(&report.errors);
    let mut reply = Reply::new(json!({
        "skill": skill,
        "result": result,
        "output": fenced("answer of a checked tool, as JSON", text),
        "clipped": is_clipped,
        "errors": if problems == "[]" { String::new() } else { fenced("what is wrong, as JSON", problems) },
        "stderr": if errors.is_empty() { String::new() } else { fenced(OUTPUT, &errors) },
    }));
    if let Some(id) = report.artifact.as_deref().filter(|_| is_clipped) {
        reply = reply.link(artifact_link(id, "answer", output.len() as u64));
    }
    if let Some(failure) = &report.failure {
        reply = reply.failed(failure);
    }
    Ran { reply, has_artifact: report.artifact.is_some() }
}
