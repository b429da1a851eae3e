//! The schemas in `docs/schemas`, which authors' editors use, say what the readers do.
//!
//! No validator is needed for that: field names and required fields are compared through the readers themselves, by
//! taking documents that use every field and changing one thing at a time; numbers, lists and patterns are compared
//! with the constants; and what a pattern generates, the readers take.

#![expect(clippy::disallowed_methods, reason = "the schemas are files")]

use std::collections::{BTreeMap, BTreeSet};

use fumehood_core::limits::BUNDLE_FILES_MAX;
use fumehood_core::manifest::{self, ExecutionManifest, FumehoodManifest, ManifestError, ManifestErrorKind};
use fumehood_core::path::PATH_BYTES_MAX;
use proptest::strategy::{Strategy as _, ValueTree as _};
use serde_json::{Value, json};

/// A published schema, with the reader that it describes and a document that uses every field.
struct Published {
    schema: Value,
    read: fn(&[u8]) -> Result<(), ManifestError>,
    full: Value,
    /// Each closed object of the schema, with a place in the document where one stands.
    sites: &'static [(&'static str, &'static str)],
}

fn execution() -> Published {
    Published {
        schema: load("execution"),
        read: |bytes| ExecutionManifest::parse(bytes).map(drop),
        full: json!({
            "schemaVersion": 1, "entrypoint": "a.mjs", "files": ["a.mjs"],
            "inputSchema": {"type": "object", "properties": {}}, "outputSchema": {"type": "null"},
            "timeoutMs": 1000, "maxOutputBytes": 1024,
        }),
        sites: &[("", "")],
    }
}

fn fumehood() -> Published {
    let param = |name: &str, kind: &str| json!({"name": name, "type": kind, "description": "d", "flag": format!("--{name}"), "required": true});
    let with = |mut param: Value, extra: &[(&str, Value)]| {
        for (key, value) in extra {
            param[key] = value.clone();
        }
        param
    };
    let bounds = [("minimum", json!(0)), ("maximum", json!(1))];
    let params = [
        with(param("param_a", "string"), &[("maxLength", json!(1))]),
        with(param("param_b", "integer"), &bounds),
        with(param("param_c", "number"), &bounds),
        param("param_d", "boolean"),
        with(param("param_e", "enum"), &[("values", json!(["x"]))]),
        with(param("param_f", "path"), &[("access", json!("read"))]),
    ];
    Published {
        schema: load("fumehood"),
        read: |bytes| FumehoodManifest::parse(bytes).map(drop),
        full: json!({
            "schemaVersion": 1, "toolOutputs": {}, "artifactKind": "k", "channel": "handle",
            "scripts": [{"name": "s", "path": "s.py", "description": "d", "interpreter": "python3", "params": params}],
            "isolatedTools": [{
                "name": "t", "description": "d", "source": "t.js",
                "inputSchema": {"type": "object", "properties": {}},
            }],
        }),
        sites: &[
            ("", ""),
            ("/$defs/script", "/scripts/0"),
            ("/$defs/isolatedTool", "/isolatedTools/0"),
            ("/$defs/stringParam", "/scripts/0/params/0"),
            ("/$defs/integerParam", "/scripts/0/params/1"),
            ("/$defs/numberParam", "/scripts/0/params/2"),
            ("/$defs/booleanParam", "/scripts/0/params/3"),
            ("/$defs/enumParam", "/scripts/0/params/4"),
            ("/$defs/pathParam", "/scripts/0/params/5"),
        ],
    }
}

fn load(name: &str) -> Value {
    let path = format!("{}/../../docs/schemas/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

impl Published {
    fn read(&self, document: &Value) -> Result<(), ManifestError> {
        (self.read)(&serde_json::to_vec(document).unwrap())
    }

    /// Reads the full document with the value at `place` replaced.
    fn read_with(&self, place: &str, value: Value) -> Result<(), ManifestError> {
        let mut document = self.full.clone();
        *document.pointer_mut(place).unwrap() = value;
        self.read(&document)
    }

    fn object(&self, place: &str) -> serde_json::Map<String, Value> {
        self.full.pointer(place).unwrap().as_object().unwrap().clone()
    }
}

// CHK-087, CHK-088, EXE-42: the same fields, and the same ones required.
#[test]
fn fields_and_required_fields_agree() {
    for published in [execution(), fumehood()] {
        assert_eq!(published.read(&published.full), Ok(()));
        for (definition, place) in published.sites {
            let definition = published.schema.pointer(definition).unwrap();
            assert_eq!(definition["additionalProperties"], json!(false), "{place}");
            let names: BTreeSet<&str> =
                definition["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            let object = published.object(place);
            assert_eq!(names, object.keys().map(String::as_str).collect(), "{place}");
            assert_eq!(names, known_fields(&published, place), "{place}");
            let required: BTreeSet<&str> = definition["required"]
                .as_array()
                .unwrap()
                .iter()
                .map(|name| name.as_str().unwrap())
                .collect();
            for name in names {
                let mut without = object.clone();
                without.remove(name);
                let refused = published.read_with(place, without.into()).is_err();
                assert_eq!(refused, required.contains(name), "{place}/{name}");
            }
        }
    }
}

/// The fields that the reader names when it refuses one that it does not know.
fn known_fields(published: &Published, place: &str) -> BTreeSet<&'static str> {
    let mut object = published.object(place);
    object.insert("zzz".to_owned(), json!(null));
    match published.read_with(place, object.into()).unwrap_err().kind() {
        ManifestErrorKind::UnknownField { known } => known.iter().copied().collect(),
        kind => panic!("{kind:?}"),
    }
}

// CHK-103, CHK-105, CHK-106: every number in a schema is a constant of the reader.
#[test]
fn limits_agree() {
    let description = |at: &str| {
        [(format!("{at}/minLength"), 1), (format!("{at}/maxLength"), chars(manifest::DESCRIPTION_CHARS_MAX))]
    };
    let path =
        |at: &str| [(format!("{at}/minLength"), 1), (format!("{at}/maxLength"), chars(PATH_BYTES_MAX))];
    let list =
        |limits: &[(&str, i64)]| limits.iter().map(|(at, n)| ((*at).to_owned(), *n)).collect::<Vec<_>>();

    let mut expected = list(&[
        ("/properties/schemaVersion/const", manifest::SCHEMA_VERSION),
        ("/properties/files/minItems", 1),
        ("/properties/files/maxItems", chars(BUNDLE_FILES_MAX)),
        ("/properties/timeoutMs/minimum", i64::from(manifest::EXECUTION_TIMEOUT_MS_MIN)),
        ("/properties/timeoutMs/maximum", i64::from(manifest::EXECUTION_TIMEOUT_MS_MAX)),
        ("/properties/timeoutMs/default", i64::from(manifest::EXECUTION_TIMEOUT_MS_DEFAULT)),
        ("/properties/maxOutputBytes/minimum", i64::from(manifest::EXECUTION_OUTPUT_BYTES_MIN)),
        ("/properties/maxOutputBytes/maximum", i64::from(manifest::EXECUTION_OUTPUT_BYTES_MAX)),
        ("/properties/maxOutputBytes/default", i64::from(manifest::EXECUTION_OUTPUT_BYTES_DEFAULT)),
    ]);
    expected.extend(["/properties/entrypoint", "/properties/files/items"].iter().flat_map(|at| path(at)));
    assert_eq!(numbers(&execution().schema), expected.into_iter().collect());

    let mut expected = list(&[
        ("/properties/schemaVersion/const", manifest::SCHEMA_VERSION),
        ("/properties/scripts/maxItems", chars(manifest::SCRIPTS_MAX)),
        ("/properties/isolatedTools/maxItems", chars(manifest::ISOLATED_TOOLS_MAX)),
        ("/$defs/script/properties/params/maxItems", chars(manifest::PARAMS_MAX)),
        ("/$defs/paramName/maxLength", chars(manifest::PARAM_NAME_CHARS_MAX)),
        ("/$defs/flag/maxLength", chars(manifest::FLAG_CHARS_MAX)),
        ("/$defs/stringParam/properties/maxLength/minimum", 1),
        ("/$defs/stringParam/properties/maxLength/maximum", i64::from(manifest::STRING_CHARS_MAX)),
        ("/$defs/stringParam/properties/maxLength/default", i64::from(manifest::STRING_CHARS_DEFAULT)),
        ("/$defs/integerParam/properties/minimum/minimum", -manifest::INTEGER_MAX),
        ("/$defs/integerParam/properties/minimum/maximum", manifest::INTEGER_MAX),
        ("/$defs/integerParam/properties/minimum/default", -manifest::INTEGER_MAX),
        ("/$defs/integerParam/properties/maximum/minimum", -manifest::INTEGER_MAX),
        ("/$defs/integerParam/properties/maximum/maximum", manifest::INTEGER_MAX),
        ("/$defs/integerParam/properties/maximum/default", manifest::INTEGER_MAX),
        ("/$defs/enumParam/properties/values/minItems", 1),
        ("/$defs/enumParam/properties/values/maxItems", chars(manifest::ENUM_VALUES_MAX)),
        ("/$defs/enumParam/properties/values/items/minLength", 1),
        ("/$defs/enumParam/properties/values/items/maxLength", chars(manifest::ENUM_VALUE_BYTES_MAX)),
    ]);
    let kinds =
        ["string", "integer", "number", "boolean", "enum", "path"].map(|kind| format!("/$defs/{kind}Param"));
    let described = kinds.iter().map(String::as_str).chain(["/$defs/script", "/$defs/isolatedTool"]);
    expected.extend(described.flat_map(|at| description(&format!("{at}/properties/description"))));
    expected.extend(path("/$defs/script/properties/path"));
    expected.extend(path("/$defs/isolatedTool/properties/source"));
    assert_eq!(numbers(&fumehood().schema), expected.into_iter().collect());
}

fn chars(limit: usize) -> i64 {
    i64::try_from(limit).unwrap()
}

/// Every number in a schema, by its pointer.
fn numbers(schema: &Value) -> BTreeMap<String, i64> {
    leaves(schema, String::new())
        .into_iter()
        .filter_map(|(at, value)| value.as_number().map(|number| (at, number.as_i64().unwrap())))
        .collect()
}

fn leaves(value: &Value, at: String) -> Vec<(String, Value)> {
    match value {
        Value::Object(entries) => {
            entries.iter().flat_map(|(key, value)| leaves(value, format!("{at}/{key}"))).collect()
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .flat_map(|(index, value)| leaves(value, format!("{at}/{index}")))
            .collect(),
        leaf => vec![(at, leaf.clone())],
    }
}

// RES-15, EXE-42: the reader's own list of words is the schema's, in its order.
#[test]
fn closed_lists_agree() {
    let fumehood = fumehood();
    let words = |at: &str| -> Vec<String> {
        let list = fumehood.schema.pointer(at).unwrap().as_array().unwrap();
        list.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let variants = fumehood.schema["$defs"]["param"]["oneOf"].as_array().unwrap();
    let types = variants.iter().map(|variant| {
        let name = variant["$ref"].as_str().unwrap().strip_prefix("#").unwrap();
        fumehood
            .schema
            .pointer(&format!("{name}/properties/type/const"))
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    });
    let lists = [
        ("/channel", words("/properties/channel/enum")),
        ("/toolOutputs", words("/properties/toolOutputs/additionalProperties/enum")),
        ("/scripts/0/params/5/access", words("/$defs/pathParam/properties/access/enum")),
        ("/scripts/0/params/0/type", types.collect()),
    ];
    for (place, words) in lists {
        let (at, value) =
            if place == "/toolOutputs" { ("/toolOutputs/s", json!({"s": "?"})) } else { (place, json!("?")) };
        let error = fumehood.read_with(place, value).unwrap_err();
        assert_eq!(error.to_string(), format!("{at}: it must be one of {}", words.join(", ")));
    }
    let reserved = fumehood.schema["$defs"]["paramName"]["not"]["enum"].clone();
    assert_eq!(reserved, json!(manifest::RESERVED_PARAM_NAMES));
}

// EXE-22, EXE-42, EXE-61, CHK-091: patterns are the constants, and the reader takes what they generate.
#[test]
fn patterns_agree() {
    let entrypoint = format!("\\.({})$", manifest::ENTRYPOINT_EXTENSIONS.join("|"));
    check_patterns(&execution(), &[("/properties/entrypoint", &entrypoint, None)]);
    let name = manifest::PROVIDER_NAME_PATTERN;
    let interpreter = manifest::INTERPRETER_KEY_PATTERN;
    let mut patterns = vec![
        ("/properties/toolOutputs/propertyNames", name, None),
        ("/properties/artifactKind", name, Some("/artifactKind")),
        ("/$defs/script/properties/name", name, Some("/scripts/0/name")),
        ("/$defs/script/properties/interpreter", interpreter, Some("/scripts/0/interpreter")),
        ("/$defs/isolatedTool/properties/name", name, Some("/isolatedTools/0/name")),
        ("/$defs/isolatedTool/properties/source", "\\.(js)$", None),
        ("/$defs/paramName", manifest::PARAM_NAME_PATTERN, Some("/scripts/0/params/0/name")),
        ("/$defs/flag", manifest::FLAG_PATTERN, Some("/scripts/0/params/0/flag")),
        ("/$defs/enumParam/properties/values/items", "^[^-]", None),
    ];
    let described =
        ["string", "integer", "number", "boolean", "enum", "path"].map(|kind| format!("/$defs/{kind}Param"));
    let described: Vec<_> = described
        .into_iter()
        .chain(["/$defs/script".to_owned(), "/$defs/isolatedTool".to_owned()])
        .map(|at| format!("{at}/properties/description"))
        .collect();
    patterns.extend(described.iter().map(|at| (at.as_str(), "\\S", None)));
    check_patterns(&fumehood(), &patterns);
}

/// Compares each pattern of a schema with the expected one, and reads what it generates at a place in the document.
fn check_patterns(published: &Published, expected: &[(&str, &str, Option<&str>)]) {
    let found: BTreeMap<String, Value> = leaves(&published.schema, String::new())
        .into_iter()
        .filter_map(|(at, value)| Some((at.strip_suffix("/pattern")?.to_owned(), value)))
        .collect();
    let listed = expected.iter().map(|(at, pattern, _)| ((*at).to_owned(), json!(pattern))).collect();
    assert_eq!(found, listed);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for (_, pattern, place) in expected {
        let Some(place) = place else { continue };
        // The generator knows no anchors; it always makes the whole text.
        let generator = pattern.trim_start_matches('^').trim_end_matches('$');
        let texts = proptest::string::string_regex(generator).unwrap();
        for _ in 0..500 {
            let text = texts.new_tree(&mut runner).unwrap().current();
            // The limit of 64 characters stands beside the pattern, not in it.
            if text.len() <= 64 {
                assert_eq!(published.read_with(place, json!(text)), Ok(()), "{place} {text:?}");
            }
        }
    }
}
