use super::*;
use crate::limits::MANIFEST_BYTES_MAX;
use crate::name::{SkillName, ToolName};

const EXECUTION: &str = r#"{"schemaVersion": 1, "entrypoint": "a.mjs", "files": ["b.json", "a.mjs"],
    "inputSchema": {"type": "object", "properties": {}}, "outputSchema": {"type": "null"}}"#;

fn fumehood(scripts: &[&str], tools: &[&str]) -> FumehoodManifest {
    let script = |name: &&str| {
        format!(r#"{{"name": "{name}", "path": "s/{name}", "description": "d", "interpreter": "sh"}}"#)
    };
    let tool = |name: &&str| {
        let schema = r#"{"type": "object", "properties": {}}"#;
        format!(
            r#"{{"name": "{name}", "source": "t/{name}.js", "description": "d", "inputSchema": {schema}}}"#
        )
    };
    let list = |items: Vec<String>| items.join(",");
    let text = format!(
        r#"{{"schemaVersion": 1, "scripts": [{}], "isolatedTools": [{}]}}"#,
        list(scripts.iter().map(script).collect()),
        list(tools.iter().map(tool).collect())
    );
    FumehoodManifest::parse(text.as_bytes()).unwrap()
}

fn skill(name: &str) -> SkillName {
    SkillName::parse(name).unwrap()
}

fn names(manifest: &FumehoodManifest, skill_name: &str) -> Result<Vec<String>, (Code, String)> {
    let names = manifest.tool_names(&skill(skill_name));
    names
        .map(|names| names.iter().map(ToString::to_string).collect())
        .map_err(|error| (error.code(), error.pointer().to_owned()))
}

// CHK-055, CHK-103
#[test]
fn a_manifest_has_at_most_64_kib() {
    let padded = |bytes: usize| EXECUTION.to_owned() + &" ".repeat(bytes - EXECUTION.len());
    assert!(ExecutionManifest::parse(padded(MANIFEST_BYTES_MAX).as_bytes()).is_ok());
    let error = ExecutionManifest::parse(padded(MANIFEST_BYTES_MAX + 1).as_bytes()).unwrap_err();
    assert_eq!(error.code(), Code::JsonTooLarge);
    let error = FumehoodManifest::parse(padded(MANIFEST_BYTES_MAX + 1).as_bytes()).unwrap_err();
    assert_eq!(error.code(), Code::JsonTooLarge);
}

// CHK-055, CHK-056
#[test]
fn a_manifest_is_bounded_utf_8() {
    let error = ExecutionManifest::parse(b"{\"schemaVersion\": \"\xff\"}").unwrap_err();
    assert_eq!(
        (error.code(), error.to_string()),
        (Code::JsonEncoding, "the JSON text is not UTF-8; save it as UTF-8".to_owned())
    );
    let deep = format!("{}{}", "[".repeat(33), "]".repeat(33));
    assert_eq!(FumehoodManifest::parse(deep.as_bytes()).unwrap_err().code(), Code::JsonDepth);
}

// CHK-105, CHK-106: what holds when the manifest does not say.
#[test]
fn defaults() {
    let manifest = ExecutionManifest::parse(EXECUTION.as_bytes()).unwrap();
    assert_eq!(manifest.timeout().as_millis(), 60_000);
    assert_eq!(manifest.output_bytes_max(), 65_536);
}

// EXE-47, X-02: exactly 64 characters pass and 65 do not.
#[test]
fn tool_names_are_never_shortened() {
    let script = |chars: usize| {
        let manifest = fumehood(&["s".repeat(chars).as_str()], &[]);
        manifest.scripts()[0].name().clone()
    };
    let skill = skill(&"k".repeat(39));
    let longest = tool_name(&skill, &script(20)).unwrap();
    assert_eq!(longest.as_str(), format!("run_{skill}_{}", "s".repeat(20)));
    assert_eq!(longest.as_str().len(), 64);
    let error = tool_name(&skill, &script(21)).unwrap_err();
    assert_eq!((error, error.code()), (ToolNameTooLong { chars: 65 }, Code::ToolNameTooLong));
    let manifest = fumehood(&["s", "s".repeat(21).as_str()], &[]);
    let refused = Err((Code::ToolNameTooLong, "/scripts/1/name".to_owned()));
    assert_eq!(names(&manifest, skill.as_str()), refused);
}

// X-02: some clients prefix a name and cut it.
#[test]
fn tool_names_above_48_are_warned_about() {
    let name = |chars: usize| ToolName::parse(&"t".repeat(chars)).unwrap();
    assert_eq!(long_tool_name(&name(48)), None);
    assert_eq!(long_tool_name(&name(49)).unwrap().code, Code::ToolNameLong);
}

// EXE-22, EXE-24
#[test]
fn two_tools_of_a_skill_never_share_a_name() {
    let manifest = fumehood(&["add", "B-2"], &["add", "run_other_add"]);
    let expected = ["run_my-skill_add", "run_my-skill_B-2", "add", "run_other_add"];
    assert_eq!(names(&manifest, "my-skill"), Ok(expected.map(str::to_owned).to_vec()));
    assert_eq!(names(&manifest, "other"), Err((Code::ToolDuplicate, "/isolatedTools/1/name".to_owned())));
}

// CHK-090, EXE-48: what the inspection has to find as plain files.
#[test]
fn declared_paths_are_all_and_in_order() {
    let manifest = ExecutionManifest::parse(EXECUTION.as_bytes()).unwrap();
    let paths: Vec<_> = manifest.declared_paths().map(crate::RelPath::as_str).collect();
    assert_eq!(paths, ["b.json", "a.mjs"]);
    let manifest = fumehood(&["x", "y"], &["z"]);
    let paths: Vec<_> = manifest.declared_paths().map(crate::RelPath::as_str).collect();
    assert_eq!(paths, ["s/x", "s/y", "t/z.js"]);
}

#[test]
fn pointers_are_json_pointers() {
    // A name with a slash cannot get this far, so the escape shows in no message; the rule is the reader's alone.
    let json = crate::Json::parse(br#"{"a": {"x/y~z": 1}}"#, 64).unwrap();
    let mut fields = fields::Fields::of(&json, "").unwrap();
    let value = fields.required("a").unwrap();
    let error = value.entries().unwrap().next().unwrap().1.text().unwrap_err();
    assert_eq!(error.pointer(), "/a/x~1y~0z");
}

// EXE-42: what the deployer declares is read by the same rules, and written so that it reads back equal.
#[test]
fn scripts_are_read_and_written_alone() {
    let text = r#"[
        {"name": "a", "path": "s/a.py", "description": "A \u202e.", "interpreter": "python3"},
        {"name": "b", "path": "s/a.py", "description": "B.", "interpreter": "sh", "params": [
            {"name": "text", "type": "string", "description": "T."},
            {"name": "short", "type": "string", "maxLength": 1, "flag": "-s", "required": true},
            {"name": "count", "type": "integer"},
            {"name": "some", "type": "integer", "minimum": -1, "maximum": 5, "flag": "--some"},
            {"name": "share", "type": "number", "minimum": -0.5, "maximum": 1e300},
            {"name": "any", "type": "number"},
            {"name": "verbose", "type": "boolean", "flag": "-v"},
            {"name": "mode", "type": "enum", "values": ["fast", "a b\n"]},
            {"name": "file", "type": "path", "access": "create"}]}]"#;
    let scripts = ScriptClaim::read_list(&crate::Json::parse(text.as_bytes(), 4096).unwrap()).unwrap();
    let written = crate::Json::Array(scripts.iter().map(ScriptClaim::to_json).collect());
    assert_eq!(ScriptClaim::read_list(&written).unwrap(), scripts);
    assert_eq!(scripts[1].params().len(), 9);
    let refused = crate::Json::parse(text.replace("\"b\"", "\"a\"").as_bytes(), 4096).unwrap();
    let error = ScriptClaim::read_list(&refused).unwrap_err();
    assert_eq!((error.pointer(), error.code()), ("/1", Code::ToolDuplicate));
}

proptest::proptest! {
    // Whatever an author writes, the answer is one line without hidden characters and of bounded length.
    #[test]
    fn errors_are_safe_to_show(key in "\\PC{0,80}|[\u{0}-\u{9f}\u{202e}]{1,20}", value in "\\PC{0,40}|[\u{0}-\u{1f}]{0,9}") {
        let key = serde_json::to_string(&key).unwrap();
        let value = serde_json::to_string(&value).unwrap();
        for text in [
            format!(r#"{{"schemaVersion": 1, {key}: {value}}}"#),
            format!(r#"{{"schemaVersion": 1, "toolOutputs": {{{key}: {value}}}}}"#),
            format!(r#"{{"schemaVersion": 1, "channel": {value}}}"#),
            format!(r#"{{"schemaVersion": 1, "artifactKind": {value}}}"#),
            format!(r#"{{"schemaVersion": 1, "files": [{value}, {value}]}}"#),
            format!(r#"{{"schemaVersion": 1, "scripts": [{{"name": {value}, {key}: 1}}]}}"#),
        ] {
            let read = [
                ExecutionManifest::parse(text.as_bytes()).map(drop),
                FumehoodManifest::parse(text.as_bytes()).map(drop),
            ];
            for error in read.into_iter().filter_map(Result::err) {
                let shown = error.to_string();
                let is_plain = |c: char| !crate::shown::is_hidden(c) || c == '\u{fe0f}';
                assert!(shown.chars().all(is_plain), "{shown:?}");
                assert!(shown.chars().count() < 1200, "{shown:?}");
            }
        }
    }
}
