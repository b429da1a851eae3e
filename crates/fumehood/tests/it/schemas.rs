//! The shapes of JSON answers in `docs/schemas`, within fumehood's own strict subset, hold for real answers.

use fumehood_core::{Json, Schema};
use fumehood_testkit::{World, skill};
use serde_json::{Value, json};

use crate::{repository_file, world, world_with};

const SHAPES: [&str; 35] = [
    "adopt",
    "adopt-accept",
    "list",
    "check",
    "show",
    "diff",
    "cat",
    "trust-project",
    "doctor",
    "doctor-prove",
    "run",
    "call",
    "question",
    "artifact-list",
    "artifact-lines",
    "artifact-grep",
    "artifact-slice",
    "artifact-size",
    "artifact-prune",
    "runs",
    "receipt-on-record",
    "audit-verify",
    "audit-head",
    "interpreters",
    "interpreters-repin",
    "pending",
    "decision",
    "passphrase",
    "policy-check",
    "policy-explain",
    "policy-saved",
    "policy-test",
    "trust-list",
    "trust-scope",
    "error",
];

pub(crate) fn shape(name: &str) -> (Value, Schema) {
    let text = repository_file(&format!("docs/schemas/{name}.schema.json"));
    let definition =
        Json::parse(text.as_bytes(), text.len()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let schema = Schema::compile_object(&definition).unwrap_or_else(|error| panic!("{name}: {error}"));
    (serde_json::from_str(&text).unwrap(), schema)
}

fn validate(name: &str, bytes: &[u8]) -> Result<(), String> {
    let value = Json::parse(bytes, bytes.len()).map_err(|error| error.to_string())?;
    shape(name).1.validate(&value).map_err(|issues| format!("{:#?}", issues.as_slice()))
}

pub(crate) fn assert_valid(name: &str, answer: &[u8]) -> Value {
    validate(name, answer)
        .unwrap_or_else(|issues| panic!("{name}: {issues}\n{}", String::from_utf8_lossy(answer)));
    serde_json::from_slice(answer).unwrap()
}

/// Runs a command whose JSON must have its shape. The exit code may say that a skill is not good.
fn valid(world: &World, arguments: &[&str]) -> Value {
    let answer = world.run(["--format", "json"].iter().chain(arguments));
    assert_eq!(answer.errors(), "", "{arguments:?}");
    assert_valid(arguments[0], &answer.stdout)
}

fn skill_with_everything() -> fumehood_testkit::Skill {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 3}}});
    let params = json!([
        {"name": "text", "type": "string", "description": "A text.", "flag": "--text"},
        {"name": "file", "type": "path", "access": "read", "description": "A file.", "required": true},
    ]);
    let fumehood = json!({
        "schemaVersion": 1, "artifactKind": "report", "channel": "handle", "toolOutputs": {"run": "text"},
        "scripts": [{"name": "run", "path": "run.py", "description": "Runs.", "interpreter": "python3", "params": params}],
        "isolatedTools": [{"name": "tool", "description": "Adds.", "source": "tool.js", "inputSchema": schema}],
    });
    let execution = json!({
        "schemaVersion": 1, "entrypoint": "main.mjs", "files": ["main.mjs"], "timeoutMs": 1000, "maxOutputBytes": 1024,
        "inputSchema": schema, "outputSchema": schema,
    });
    skill("rich")
        .field("license: MIT\ncompatibility: Needs nothing.\nallowed-tools: Read\nmetadata: {a: [1, null, {b: true}]}")
        .field("hooks: {start: x}\nversion: 1.0")
        .body("!`date`\n")
        .file("fumehood.json", fumehood.to_string())
        .file("execution.json", execution.to_string())
        .file("main.mjs", "")
        .file("tool.js", "async (args) => args")
        .file("run.py", "")
        .file("other.sh", "#!/usr/bin/env -S node -x\n")
        .file("scripts/deno.ts", "")
}

#[test]
fn every_shape_names_all_its_fields_and_no_others() {
    for name in SHAPES {
        let mut objects = 0;
        closed_objects(&shape(name).0, name, &mut objects);
        assert!(objects > 0, "{name}");
    }
}

/// In a closed object every property is required: an answer never leaves a field out.
fn closed_objects(schema: &Value, place: &str, objects: &mut usize) {
    if schema["additionalProperties"] == false {
        let properties: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        let mut required: Vec<&str> =
            schema["required"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
        required.sort_unstable();
        assert_eq!(properties, required, "{place}");
        *objects += 1;
    }
    let children: Vec<(&str, &Value)> = match schema {
        Value::Object(entries) => entries.iter().map(|(key, value)| (key.as_str(), value)).collect(),
        Value::Array(items) => items.iter().map(|item| ("", item)).collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        closed_objects(child, &format!("{place}/{key}"), objects);
    }
}

// CHK-083: a skill without any manifest is found, judged and shown.
#[test]
fn answers_about_a_minimal_skill() {
    let world = world_with(&skill("x"));
    valid(&world, &["list", "skills"]);
    valid(&world, &["check", "skills"]);
    valid(&world, &["show", "skills/x"]);
    valid(&world, &["diff", "skills/x", "skills/x"]);
    valid(&world, &["cat", "skills/x", "SKILL.md"]);
    valid(&world, &["trust-project", "project", "--remove"]);
    valid(&world, &["doctor"]);
    valid(&world, &["interpreters"]);
    valid(&world, &["list"]);
    world.folder("empty");
    valid(&world, &["list", "empty"]);
}

#[test]
fn answers_about_skills_with_everything() {
    let world = world_with(&skill_with_everything());
    world.add("other", &skill_with_everything().file("run.py", "print()\n").file("raw", b"\xff"));
    world.link("other/rich/linked", "run.py");
    world.link("other/rich-link", "/usr");
    world.add("other/deep/1/2/3/4/5/6/7", &skill("too-deep"));
    world.add("other", &skill("refused").skill_md(b"\xff"));
    world.add("other", &skill("rescued").frontmatter("description: d\nname: rescued\n? ["));
    world.add("other", &skill("quoted").description("a: b"));
    world.add("other", &skill("pipes"));
    world.fifo("other/pipes/fifo");

    let show = valid(&world, &["show", "skills/rich"]);
    for part in ["execution", "fumehood", "license", "compatibility", "allowed_tools"] {
        assert!(!show["claims"][part].is_null(), "{part}: {show:#}");
    }
    assert_eq!(show["undeclared_scripts"].as_array().unwrap().len(), 2);
    let list = valid(&world, &["list", "skills", "other"]);
    assert!(list["skills"].as_array().unwrap().iter().any(|skill| skill["shadowed_by"].is_string()));
    assert_eq!(list["sources"][1]["complete"], false);
    valid(&world, &["check", "skills", "other"]);
    for name in ["rich", "refused", "rescued", "quoted", "pipes"] {
        valid(&world, &["show", &format!("other/{name}")]);
    }
    valid(&world, &["show", "root-2:rich", "--root", "skills", "--root", "other"]);
    let diff = valid(&world, &["diff", "skills/rich", "other/rich"]);
    assert_eq!((diff["added"].as_array().unwrap().len(), diff["changed"].as_array().unwrap().len()), (2, 1));
    valid(&world, &["diff", "other/rich", "skills/rich"]);
    valid(&world, &["cat", "other/rich", "raw"]);
}

#[test]
fn answers_about_every_kind_of_source() {
    let world = world();
    let team = world.text("team");
    world.write(
        "home/.config/fumehood/fumehood.toml",
        format!("[[sources]]\nname = \"team\"\npath = \"{team}\"\n"),
    );
    world.add("home/.agents/skills", &skill("x"));
    world.add("project/.agents/skills", &skill("y"));
    let call = world.call().within("project");
    let list = assert_valid("list", &call.run(["list", "--format", "json"]).stdout);
    let kinds = ["configured", "user", "user", "project", "project"];
    assert_eq!(crate::texts(&list["sources"], "kind"), kinds);
    assert_eq!(
        crate::texts(&list["sources"], "status"),
        ["missing", "active", "missing", "inert", "missing"]
    );
    let (_, trusted) = call.at_terminal(["trust-project", ".", "--format", "json"], "[y/N] ", "y\n");
    assert_valid("trust-project", &trusted.stdout);
    assert_valid("list", &call.run(["list", "--format", "json"]).stdout);
}

#[test]
fn errors() {
    let world = world();
    world.folder("empty");
    let call = world.call();
    for (arguments, code) in [
        (&["check", "empty"][..], 2),
        (&["show", "nothing"], 2),
        (&["inspect"], 2),
        (&["trust-project", "."], 3),
    ] {
        call.fault(arguments, code);
        let answer = call.run(["--format", "json"].iter().chain(arguments));
        assert_valid("error", &answer.stderr);
    }
}

// The shapes would notice.
#[test]
fn a_field_more_less_or_other_is_noticed() {
    let world = world_with(&skill_with_everything());
    for (name, answer) in [
        ("list", world.json(["list", "skills"])),
        ("check", world.json(["check", "skills"])),
        ("show", world.json(["show", "skills/rich"])),
        ("diff", world.json(["diff", "skills/rich", "skills/rich"])),
        ("cat", world.json(["cat", "skills/rich", "run.py"])),
        ("trust-project", world.json(["trust-project", "project", "--remove"])),
        ("doctor", world.json(["doctor"])),
        ("interpreters", world.json(["interpreters"])),
        ("error", world.fault(["show", "nothing"], 2)),
    ] {
        assert_notices(name, &answer);
    }
}

/// The shape takes this answer, and none with a field more, less or of another kind.
pub(crate) fn assert_notices(name: &str, answer: &Value) {
    let refused = |changed: &Value| validate(name, changed.to_string().as_bytes()).is_err();
    assert!(!refused(answer), "{name}");
    let mut more = answer.clone();
    more["more"] = 1.into();
    assert!(refused(&more), "{name}");
    for key in answer.as_object().unwrap().keys() {
        let mut less = answer.clone();
        less.as_object_mut().unwrap().remove(key);
        assert!(refused(&less), "{name} without {key}");
        let mut other = answer.clone();
        other[key] = json!([[1]]);
        assert!(refused(&other), "{name} with another {key}");
    }
}
