//! The tools on offer: names, schemas, hints. Few and fixed; which of them there are depends on what could be done with them.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::report::SurveyReport;

/// What a model is told before it sees any of them.
pub(super) const INSTRUCTIONS: &str = "Skills are folders of instructions for kinds of tasks. List them, load the one that fits the task before you work on it, and run its scripts only with the tools here.\nA script may need a person's approval: an answer that says approval_required is no failure; make the same call again once it is approved.";

/// Which tools there is something to do with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Available {
    pub(super) scripts: bool,
    pub(super) tools: bool,
    pub(super) artifacts: bool,
}

/// What a tool does, at worst.
enum Kind {
    /// Reads what is there.
    Reads,
    /// Runs what a skill carries.
    Runs,
}

impl Available {
    pub(super) fn of(survey: &SurveyReport, artifacts: bool) -> Self {
        Self {
            scripts: survey.skills.iter().any(|skill| skill.scripts_available),
            tools: survey.skills.iter().any(|skill| skill.tool_available),
            artifacts,
        }
    }
}

/// All tools that are on offer, always in this order.
pub(super) fn all(available: Available, survey: &SurveyReport) -> Vec<Tool> {
    let mut tools = vec![list_skills(), load_skill(survey), read_skill_resource()];
    if available.scripts {
        tools.push(run_skill_script());
    }
    if available.tools {
        tools.push(call_skill_tool());
    }
    if available.artifacts {
        tools.extend(artifact_readers());
    }
    tools
}

/// Whether there is, or could come to be, a tool of this name.
pub(super) fn is_known(name: &str) -> bool {
    NAMES.contains(&name)
}

fn list_skills() -> Tool {
    let skill = object(&json!({
        "name": TEXT, "description": TEXT, "origin": TEXT, "has_scripts": FLAG, "status": TEXT,
    }));
    tool(
        ("list_skills", "List skills"),
        "Lists the skills there are. A skill is a folder of instructions, and sometimes scripts, for one kind of task. Names and descriptions are their authors' words.",
        (
            &json!({"query": described(&TEXT, "Words that the name or the description must all have. Left out, all skills are listed.")}),
            &[],
        ),
        &json!({
            "skills": {"type": "array", "items": skill},
            "not_shown": NUMBER, "not_loadable": NUMBER, "complete": FLAG, "shortened": FLAG, "note": TEXT,
        }),
        &Kind::Reads,
    )
}

fn load_skill(survey: &SurveyReport) -> Tool {
    let mut name = json!({"type": "string", "description": "A name from list_skills."});
    if !survey.skills.is_empty() && survey.skills.len() <= ENUM_MAX {
        name["enum"] = survey.skills.iter().map(|skill| skill.name.as_str()).collect();
    }
    tool(
        ("load_skill", "Load a skill"),
        "Gives the instructions of a skill, its files, and what each of its scripts takes. Loading runs nothing and allows nothing.",
        (&json!({"skill_name": name}), &["skill_name"]),
        &json!({
            "name": TEXT, "origin": TEXT, "description": TEXT, "revision": MAYBE_TEXT, "content": TEXT, "clipped": FLAG,
            "resources": {"type": "array", "items": object(&json!({"path": TEXT, "bytes": NUMBER}))},
            "resources_left_out": NUMBER,
            "scripts": {"type": "array", "items": {"type": "object"}},
            "tool": {"anyOf": [{"type": "object"}, {"type": "null"}]},
            "how": TEXT,
        }),
        &Kind::Reads,
    )
}

fn read_skill_resource() -> Tool {
    tool(
        ("read_skill_resource", "Read a file of a skill"),
        "Gives a file of a skill as it is. Paths are exact and count from the skill's folder.",
        (
            &json!({
                "skill_name": described(&TEXT, "A name from list_skills."),
                "resource_name": described(&TEXT, "The path of the file, such as references/api.md."),
                "offset": described(&WHOLE, "The first byte, from 0."),
                "length": described(&WHOLE, "How many bytes; at most 32 KiB are given at once."),
            }),
            &["skill_name", "resource_name"],
        ),
        &json!({
            "skill": TEXT, "path": TEXT, "bytes": NUMBER, "offset": NUMBER, "length": NUMBER,
            "next_offset": MAYBE_NUMBER, "content": MAYBE_TEXT, "base64": MAYBE_TEXT,
        }),
        &Kind::Reads,
    )
}

fn run_skill_script() -> Tool {
    tool(
        ("run_skill_script", "Run a script of a skill"),
        "Runs a script of a skill in a sandbox, without network. A person may be asked first. If the answer says approval_required, go on with something else or wait; once a person has approved it, make exactly the same call again.",
        (
            &json!({
                "skill_name": described(&TEXT, "A name from list_skills."),
                "script_name": described(&TEXT, "The name of a declared script, or the path of a script of the skill."),
                "args": {
                    "description": "For a declared script an object with its parameters by name; for any other the exact arguments, as a list of texts.",
                    "anyOf": [{"type": "object"}, {"type": "array", "items": {"type": "string"}}],
                },
                "timeout_seconds": described(&WHOLE, "Seconds after which it is killed."),
            }),
            &["skill_name", "script_name"],
        ),
        &json!({
            "skill": TEXT, "tool": TEXT, "revision": TEXT, "receipt": TEXT,
            "exit_code": MAYBE_NUMBER, "signal": MAYBE_NUMBER, "killed": MAYBE_TEXT, "elapsed_ms": NUMBER,
            "stdout": {"type": "object"}, "stderr": {"type": "object"},
            "files_applied": {"type": "array", "items": {"type": "object"}},
        }),
        &Kind::Runs,
    )
}

fn call_skill_tool() -> Tool {
    tool(
        ("call_skill_tool", "Call the checked tool of a skill"),
        "Calls the tool that a skill declares: JSON in, JSON out, both checked against its schemas, in a sandbox without network. A person may be asked first, as for run_skill_script.",
        (
            &json!({
                "skill_name": described(&TEXT, "A name from list_skills."),
                "arguments": described(&json!({"type": "object"}), "What the tool takes; load_skill gives its schema, under tool."),
            }),
            &["skill_name"],
        ),
        &json!({
            "skill": TEXT, "result": {"type": "object"}, "output": TEXT, "clipped": FLAG, "errors": TEXT, "stderr": TEXT,
        }),
        &Kind::Runs,
    )
}

fn artifact_readers() -> Vec<Tool> {
    let id = || described(&TEXT, "The id of a result: art_ and 32 hex digits.");
    let lines = || described(&WHOLE, "How many lines; 50 if not given.");
    let text = json!({
        "artifact": TEXT, "bytes": NUMBER, "line_count": NUMBER, "first_line": MAYBE_NUMBER, "lines": NUMBER,
        "next_line": MAYBE_NUMBER, "lines_cut": NUMBER, "content": TEXT,
    });
    let size =
        json!({"artifact": TEXT, "byte_length": NUMBER, "line_count": NUMBER, "estimated_tokens": NUMBER});
    let reader = |names, description: &'static str, input: (&Value, &[&str]), output: &Value| {
        tool(names, description, input, output, &Kind::Reads)
    };
    let sized = |name: &'static str, title, what| {
        reader((name, title), what, (&json!({"artifact": id()}), &["artifact"]), &size)
    };
    vec![
        reader(
            ("artifact_head", "First lines of a result"),
            "Gives the first lines of a result.",
            (&json!({"artifact": id(), "lines": lines()}), &["artifact"]),
            &text,
        ),
        reader(
            ("artifact_tail", "Last lines of a result"),
            "Gives the last lines of a result.",
            (&json!({"artifact": id(), "lines": lines()}), &["artifact"]),
            &text,
        ),
        reader(
            ("artifact_cat", "Lines of a result"),
            "Gives lines of a result by number.",
            (
                &json!({
                    "artifact": id(),
                    "first": described(&WHOLE, "The first line, from 1."),
                    "last": described(&WHOLE, "The last line; as many as fit if not given."),
                }),
                &["artifact"],
            ),
            &text,
        ),
        reader(
            ("artifact_grep", "Search a result"),
            "Searches a result for a regular expression, line by line.",
            (
                &json!({
                    "artifact": id(),
                    "pattern": described(&TEXT, "A regular expression, or a text if fixed is true."),
                    "fixed": described(&FLAG, "Whether the pattern is a text."),
                    "ignore_case": described(&FLAG, "Whether letters match their other case."),
                    "context": described(&WHOLE, "Lines to give around each match; at most 100."),
                    "hits": described(&WHOLE, "Matches after which to stop; 50 if not given, at most 10,000."),
                    "offset": described(&WHOLE, "Where to start, in bytes: next_offset of an earlier search."),
                }),
                &["artifact", "pattern"],
            ),
            &json!({
                "artifact": TEXT, "hits": NUMBER, "stopped": MAYBE_TEXT, "next_offset": MAYBE_NUMBER, "content": TEXT,
            }),
        ),
        reader(
            ("artifact_slice", "Bytes of a result"),
            "Gives bytes of a result by offset.",
            (
                &json!({
                    "artifact": id(),
                    "offset": described(&WHOLE, "The first byte, from 0."),
                    "length": described(&WHOLE, "How many bytes; at most 32 KiB are given at once."),
                }),
                &["artifact"],
            ),
            &json!({
                "artifact": TEXT, "bytes": NUMBER, "offset": NUMBER, "length": NUMBER, "next_offset": MAYBE_NUMBER,
                "content": MAYBE_TEXT, "base64": MAYBE_TEXT,
            }),
        ),
        sized("artifact_byte_length", "Size of a result", "Says how many bytes a result has."),
        sized("artifact_line_count", "Lines in a result", "Says how many lines a result has."),
        sized(
            "artifact_estimate_tokens",
            "Cost of a result",
            "Estimates what reading all of a result would cost in tokens.",
        ),
    ]
}

fn tool(
    (name, title): (&'static str, &'static str),
    description: &'static str,
    (input, required): (&Value, &[&str]),
    output: &Value,
    kind: &Kind,
) -> Tool {
    let mut input = object(input);
    input["additionalProperties"] = json!(false);
    input["required"] = json!(required);
    let mut properties = output.clone();
    if let (Some(properties), Value::Object(failure)) = (properties.as_object_mut(), failure()) {
        properties.extend(failure);
    }
    let reads = matches!(kind, Kind::Reads);
    let hints = ToolAnnotations::with_title(title)
        .read_only(reads)
        .destructive(!reads)
        .idempotent(reads)
        .open_world(!reads);
    Tool::new(name, description, Arc::new(fields(input)))
        .with_title(title)
        .with_raw_output_schema(Arc::new(fields(object(&properties))))
        .with_annotations(hints)
}

/// What an answer has if the call failed. No field of an answer is always there.
fn failure() -> Value {
    json!({
        "code": TEXT, "class": TEXT, "message": TEXT, "advice": TEXT, "id": TEXT,
        "status": TEXT, "approval_id": TEXT, "expires_unix_ms": NUMBER,
    })
}

fn object(properties: &Value) -> Value {
    json!({"type": "object", "properties": properties})
}

fn fields(value: Value) -> JsonObject {
    if let Value::Object(fields) = value { fields } else { JsonObject::new() }
}

fn described(schema: &impl serde::Serialize, description: &str) -> Value {
    let mut schema = json!(schema);
    schema["description"] = json!(description);
    schema
}

/// A schema with a type and nothing else.
#[derive(serde::Serialize)]
struct Typed {
    #[serde(rename = "type")]
    of: &'static str,
}

/// The same, or null; not as a list of types, which some clients cannot read.
#[derive(serde::Serialize)]
struct Maybe {
    #[serde(rename = "anyOf")]
    of: [Typed; 2],
}

#[derive(serde::Serialize)]
struct Whole {
    #[serde(rename = "type")]
    of: &'static str,
    minimum: u8,
}

const TEXT: Typed = Typed { of: "string" };
const NUMBER: Typed = Typed { of: "integer" };
const FLAG: Typed = Typed { of: "boolean" };
const NULL: Typed = Typed { of: "null" };
const MAYBE_TEXT: Maybe = Maybe { of: [TEXT, NULL] };
const MAYBE_NUMBER: Maybe = Maybe { of: [NUMBER, NULL] };
const WHOLE: Whole = Whole { of: "integer", minimum: 0 };
/// Names of skills that are listed in a schema.
const ENUM_MAX: usize = 50;

const NAMES: [&str; 13] = [
    "list_skills",
    "load_skill",
    "read_skill_resource",
    "run_skill_script",
    "call_skill_tool",
    "artifact_head",
    "artifact_tail",
    "artifact_cat",
    "artifact_grep",
    "artifact_slice",
    "artifact_byte_length",
    "artifact_line_count",
    "artifact_estimate_tokens",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn survey() -> SurveyReport {
        SurveyReport { schema_version: 1, skills: Vec::new(), inert: 0, refused: 0, complete: true }
    }

    #[test]
    fn every_tool_is_closed_described_and_hinted() {
        let tools = all(Available { scripts: true, tools: true, artifacts: true }, &survey());
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, NAMES);
        for tool in &tools {
            assert_eq!(tool.input_schema["additionalProperties"], json!(false));
            assert!(tool.output_schema.is_some() && tool.title.is_some());
            let hints = tool.annotations.as_ref().unwrap();
            assert!(hints.title.is_some() && hints.idempotent_hint.is_some());
            let runs = ["run_skill_script", "call_skill_tool"].contains(&tool.name.as_ref());
            assert_eq!((hints.read_only_hint, hints.destructive_hint), (Some(!runs), Some(runs)));
            assert_eq!(hints.open_world_hint, Some(runs));
        }
    }

    #[test]
    fn what_nothing_could_be_done_with_is_not_offered() {
        assert_eq!(all(Available::default(), &survey()).len(), 3);
        assert!(is_known("run_skill_script") && !is_known("run_script"));
    }
}
