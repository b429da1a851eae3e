//! Each manifest in `tests/cases/manifest` against the outcome beside it. `UPDATE=1` rewrites the outcomes; a file's
//! name says whether the manifest may be accepted, and that is never rewritten.

#![expect(clippy::disallowed_methods, reason = "the cases are files")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use fumehood_core::code::Coded as _;
use fumehood_core::manifest::{
    ExecutionManifest, FumehoodManifest, ManifestError, ManifestErrorKind, ParamClaim, ParamKind,
};

// CHK-055, CHK-074, CHK-086, CHK-087, CHK-088, CHK-089, CHK-090, CHK-091, CHK-102, CHK-103, CHK-105, CHK-106, X-06, X-18: a case for each
// field, bound and kind of path or file.
#[test]
fn execution_manifests() {
    compare("execution", |bytes| ExecutionManifest::parse(bytes).map(|manifest| execution(&manifest)));
}

// EXE-24, EXE-42, EXE-44, EXE-46, EXE-48, EXE-60, RES-15, RES-24, X-06.
#[test]
fn fumehood_manifests() {
    compare("fumehood", |bytes| FumehoodManifest::parse(bytes).map(|manifest| fumehood(&manifest)));
}

fn compare(kind: &str, read: impl Fn(&[u8]) -> Result<String, ManifestError>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/manifest").join(kind);
    let mut wrong = Vec::new();
    let cases = cases(&folder);
    assert!(!cases.is_empty());
    for case in cases {
        let outcome = match read(&std::fs::read(&case).unwrap()) {
            Ok(shown) => format!("accepted\n{shown}"),
            Err(error) => refusal(&error),
        };
        let name = case.file_name().unwrap().to_str().unwrap();
        let promised = name.split('-').next().unwrap();
        assert!(outcome.starts_with(promised), "{name}: {outcome}");
        let expected = case.with_extension("out");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&expected, &outcome).unwrap();
        }
        if std::fs::read_to_string(&expected).unwrap_or_default() != outcome {
            wrong.push(format!("{name}:\n{outcome}"));
        }
    }
    assert!(wrong.is_empty(), "run UPDATE=1 and read the difference:\n{}", wrong.join("\n"));
}

fn cases(folder: &Path) -> Vec<PathBuf> {
    let mut cases: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    cases.sort();
    cases
}

fn refusal(error: &ManifestError) -> String {
    let place =
        error.place().map_or(String::new(), |place| format!(" line {} column {}", place.line, place.column));
    // What a schema error says is the schema module's to test.
    let message = match error.kind() {
        ManifestErrorKind::Schema(_) => format!("{}: (a schema error)", error.pointer()),
        _ => error.to_string(),
    };
    format!("refused {}{place}\n{message}\n", error.code())
}

fn execution(manifest: &ExecutionManifest) -> String {
    let mut shown = String::new();
    writeln!(shown, "entrypoint {}", manifest.entrypoint()).unwrap();
    for file in manifest.files() {
        writeln!(shown, "file {file}").unwrap();
    }
    let schema = |schema: &fumehood_core::Schema| serde_json::to_string(schema.to_json()).unwrap();
    writeln!(shown, "input {}", schema(manifest.input_schema())).unwrap();
    writeln!(shown, "output {}", schema(manifest.output_schema())).unwrap();
    writeln!(shown, "timeout {:?}", manifest.timeout()).unwrap();
    writeln!(shown, "output bytes max {}", manifest.output_bytes_max()).unwrap();
    shown
}

fn fumehood(manifest: &FumehoodManifest) -> String {
    let mut shown = String::new();
    for script in manifest.scripts() {
        writeln!(shown, "script {} {} {}", script.name(), script.interpreter(), script.path()).unwrap();
        writeln!(shown, "  {}", script.description()).unwrap();
        for param in script.params() {
            writeln!(shown, "  {}", self::param(param)).unwrap();
        }
    }
    for tool in manifest.isolated_tools() {
        writeln!(shown, "isolated {} {}", tool.name(), tool.source()).unwrap();
        writeln!(shown, "  {}", tool.description()).unwrap();
        writeln!(shown, "  {}", serde_json::to_string(tool.input_schema().to_json()).unwrap()).unwrap();
    }
    for (name, output) in manifest.tool_outputs() {
        writeln!(shown, "output {name} {}", output.as_str()).unwrap();
    }
    if let Some(kind) = manifest.artifact_kind() {
        writeln!(shown, "artifact kind {kind}").unwrap();
    }
    if let Some(channel) = manifest.channel() {
        writeln!(shown, "channel {}", channel.as_str()).unwrap();
    }
    shown
}

fn param(param: &ParamClaim) -> String {
    let flag = param.flag().map_or("(positional)", |flag| flag.as_str());
    let required = if param.is_required() { "required" } else { "optional" };
    let kind = match param.kind() {
        ParamKind::String { chars_max } => format!("at most {chars_max} characters"),
        ParamKind::Integer { minimum, maximum } => format!("{minimum} to {maximum}"),
        ParamKind::Number { minimum, maximum } => {
            let bound = |bound: &Option<_>| {
                bound.map_or("any".to_owned(), |b: fumehood_core::json::Number| b.to_string())
            };
            format!("{} to {}", bound(minimum), bound(maximum))
        }
        ParamKind::Boolean => "alone".to_owned(),
        ParamKind::Enum { values } => values.join("|"),
        ParamKind::Path { access } => access.as_str().to_owned(),
    };
    let description = param.description().map_or(String::new(), |text| format!(": {text}"));
    format!("{} {} {flag} {required}, {kind}{description}", param.name(), param.kind().type_name())
}
