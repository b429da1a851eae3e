//! Manifests, script hints and tool lists: what is accepted is within its limits, and what is refused can be shown.

use std::collections::BTreeSet;
use std::time::Duration;

use fumehood_core::allowed_tools::{self, ENTRIES_MAX, ENTRY_CHARS_MAX, Parsed};
use fumehood_core::limits::{BUNDLE_FILES_MAX, MANIFEST_BYTES_MAX};
use fumehood_core::manifest::{
    DESCRIPTION_CHARS_MAX, ENUM_VALUE_BYTES_MAX, ENUM_VALUES_MAX, ExecutionManifest, FLAG_CHARS_MAX,
    FumehoodManifest, INTEGER_MAX, ISOLATED_TOOLS_MAX, InterpreterKey, ManifestError, PARAM_NAME_CHARS_MAX,
    PARAMS_MAX, ParamClaim, ParamKind, RESERVED_PARAM_NAMES, SCRIPTS_MAX, STRING_CHARS_MAX,
};
use fumehood_core::script::{self, SHEBANG_BYTES_MAX, SHEBANG_LINE_BYTES_MAX};
use fumehood_core::shown::is_hidden;
use fumehood_core::{PathSet, RelPath, Schema, SkillName, ToolName};

use super::{assert_place_within, assert_showable, text_of};

/// Reads the input as both manifests, as the beginning of a script, and as a list of tools.
pub fn manifests(bytes: &[u8]) {
    let execution = ExecutionManifest::parse(bytes);
    let fumehood = FumehoodManifest::parse(bytes);
    assert!(execution.is_err() || fumehood.is_err(), "one text is both manifests");
    assert!(bytes.len() <= MANIFEST_BYTES_MAX || (execution.is_err() && fumehood.is_err()));
    match execution {
        Ok(manifest) => assert_execution(&manifest),
        Err(error) => assert_refusal(&error, bytes),
    }
    match fumehood {
        Ok(manifest) => assert_fumehood(&manifest),
        Err(error) => assert_refusal(&error, bytes),
    }
    for path in SCRIPT_PATHS {
        assert_hint(path, bytes);
    }
    assert_tools(text_of(bytes));
}

fn assert_refusal(error: &ManifestError, bytes: &[u8]) {
    assert_showable(&error.to_string());
    if let Some(place) = error.place() {
        assert_place_within(place, bytes);
    }
}

fn assert_execution(manifest: &ExecutionManifest) {
    let files = manifest.files();
    assert!((1..=BUNDLE_FILES_MAX).contains(&files.len()));
    let mut set = PathSet::default();
    assert!(files.iter().all(|file| set.insert(file).is_ok()), "two files are one somewhere");
    assert!(files.contains(manifest.entrypoint()));
    assert!(matches!(manifest.entrypoint().extension(), Some("mjs" | "cjs")));
    assert!((Duration::from_secs(1)..=Duration::from_mins(2)).contains(&manifest.timeout()));
    assert!((1 << 10..=256 << 10).contains(&manifest.output_bytes_max()));
    assert!(Schema::compile_object(manifest.input_schema().to_json()).is_ok());
    assert!(Schema::compile(manifest.output_schema().to_json()).is_ok());
    assert!(manifest.declared_paths().eq(files));
}

fn assert_fumehood(manifest: &FumehoodManifest) {
    assert!(manifest.scripts().len() <= SCRIPTS_MAX && manifest.isolated_tools().len() <= ISOLATED_TOOLS_MAX);
    let mut scripts = BTreeSet::new();
    for script in manifest.scripts() {
        assert!(scripts.insert(script.name().as_str()), "two scripts of one name");
        assert!(ToolName::parse(script.name().as_str()).is_ok());
        assert!(InterpreterKey::parse(script.interpreter().as_str()).is_some());
        assert_description(script.description());
        assert_params(script.params());
    }
    let mut tools = BTreeSet::new();
    for tool in manifest.isolated_tools() {
        assert!(tools.insert(tool.name().as_str()), "two tools of one name");
        assert_eq!(tool.source().extension(), Some("js"));
        assert_description(tool.description());
        assert!(Schema::compile_object(tool.input_schema().to_json()).is_ok());
    }
    for (name, _) in manifest.tool_outputs() {
        assert!(scripts.contains(name) != tools.contains(name), "an output of no tool, or of two");
    }
    assert_eq!(manifest.declared_paths().count(), scripts.len() + tools.len());
    let skill = SkillName::parse("x").expect("a name");
    match manifest.tool_names(&skill) {
        Ok(names) => {
            let different: BTreeSet<_> = names.iter().collect();
            assert_eq!((names.len(), different.len()), (scripts.len() + tools.len(), names.len()));
        }
        Err(error) => assert_showable(&error.to_string()),
    }
}

fn assert_params(params: &[ParamClaim]) {
    assert!(params.len() <= PARAMS_MAX);
    let mut names = BTreeSet::new();
    let mut flags = BTreeSet::new();
    for param in params {
        let name = param.name().as_str();
        assert!(names.insert(name), "two parameters of one name");
        assert!(name.len() <= PARAM_NAME_CHARS_MAX && !RESERVED_PARAM_NAMES.contains(&name));
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'));
        param.description().into_iter().for_each(assert_description);
        if let Some(flag) = param.flag() {
            let flag = flag.as_str();
            assert!(flags.insert(flag), "two parameters of one flag");
            assert!(flag.starts_with('-') && flag.len() <= FLAG_CHARS_MAX);
            assert!(flag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
        } else {
            assert!(param.is_required() && *param.kind() != ParamKind::Boolean);
        }
        match param.kind() {
            ParamKind::String { chars_max } => assert!((1..=STRING_CHARS_MAX).contains(chars_max)),
            ParamKind::Integer { minimum, maximum } => {
                assert!(-INTEGER_MAX <= *minimum && minimum <= maximum && *maximum <= INTEGER_MAX);
            }
            ParamKind::Number { minimum: Some(minimum), maximum: Some(maximum) } => {
                assert!(minimum <= maximum);
            }
            ParamKind::Enum { values } => {
                assert!((1..=ENUM_VALUES_MAX).contains(&values.len()));
                assert_eq!(values.iter().collect::<BTreeSet<_>>().len(), values.len());
                for value in values {
                    assert!((1..=ENUM_VALUE_BYTES_MAX).contains(&value.len()));
                    assert!(!value.starts_with('-') && !value.contains('\0'));
                }
            }
            ParamKind::Number { .. } | ParamKind::Boolean | ParamKind::Path { .. } => {}
        }
    }
}

fn assert_description(text: &str) {
    assert!(text.chars().count() <= DESCRIPTION_CHARS_MAX);
    assert!(text.chars().any(|c| !c.is_whitespace() && !is_hidden(c)), "a description that says nothing");
}

/// A file in each kind of folder, with and without an extension.
const SCRIPT_PATHS: [&str; 6] =
    ["scripts/a", "scripts/a.py", "scripts/a.js", "run.sh", "example.ts", "assets/a.sh"];

fn assert_hint(path: &str, bytes: &[u8]) {
    let path = RelPath::parse(path).expect("a path");
    let hint = script::suggest(&path, bytes);
    let part = &bytes[..bytes.len().min(SHEBANG_BYTES_MAX)];
    assert_eq!(hint, script::suggest(&path, part), "more bytes than needed change the hint");
    let Some(hint) = hint else { return };
    if let Some(interpreter) = hint.interpreter {
        assert!(InterpreterKey::parse(interpreter).is_some(), "no manifest can say {interpreter:?}");
    }
    if let Some(shebang) = hint.shebang {
        assert!(!shebang.program.is_empty());
        let words = shebang.program.len() + shebang.arguments.iter().map(String::len).sum::<usize>();
        assert!(words <= SHEBANG_LINE_BYTES_MAX);
    }
    let different: BTreeSet<_> = hint.notes.iter().collect();
    assert_eq!(different.len(), hint.notes.len(), "one note twice: {:?}", hint.notes);
}

fn assert_tools(text: &str) {
    match allowed_tools::parse_text(text) {
        Err(error) => assert_showable(&error.to_string()),
        Ok(parsed) => {
            assert_entries(&parsed);
            let again =
                allowed_tools::parse_text(&parsed.entries.join(" ")).expect("entries can be read again");
            assert_eq!(again.entries, parsed.entries);
            let is_separator = |c: &char| c.is_whitespace() || *c == ',';
            let kept = parsed.entries.iter().flat_map(|entry| entry.chars());
            let kept: String = kept.filter(|c| !is_separator(c)).collect();
            let written: String = text.chars().filter(|c| !is_separator(c)).collect();
            assert_eq!(kept, written, "text was lost or made up");
        }
    }
    let items: Vec<&str> = text.split('\n').collect();
    match allowed_tools::parse_items(&items) {
        Err(error) => assert_showable(&error.to_string()),
        Ok(parsed) => assert_entries(&parsed),
    }
}

fn assert_entries(parsed: &Parsed) {
    assert!(parsed.entries.len() <= ENTRIES_MAX);
    for entry in &parsed.entries {
        assert!(!entry.is_empty() && entry.chars().count() <= ENTRY_CHARS_MAX);
        assert!(!entry.starts_with('(') && entry.trim() == entry);
        assert_eq!(entry.matches('(').count(), entry.matches(')').count());
    }
}
