//! The JSON-Schema-Test-Suite, required tests of two drafts: each group is judged right or refused by name.
//!
//! The suite is not in the repository: `scripts/fetch-schema-suite` puts it into `target/json-schema-test-suite`, and
//! `JSON_SCHEMA_TEST_SUITE` names another `tests` folder. Without it the test says so where nobody captures it, and only groups
//! of our own in the suite's form are judged. It fails without it where `CI` or `REQUIRE_SCHEMA_SUITE` is set, as `.ci/run` does.
//!
//! First pass: each schema as it stands. Only a `$schema` at the top is taken out, which the suite puts on every
//! schema of draft 2020-12 and which fumehood refuses by name like any other keyword outside the subset.
//!
//! Second pass, for the groups that were refused: the schema is specialised to each single test, see
//! [`specialise`]. It shows that what the subset does take is judged right in many more combinations; it says
//! nothing about which schemas are taken.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use fumehood_core::schema::SchemaErrorKind;
use fumehood_core::{Coded, Json, Schema};
use serde_json::{Map, Value};

/// With the least number of tests that each pass must judge: a suite that is read wrongly judges none.
const DRAFTS: [(&str, usize, usize); 2] = [("draft2020-12", 80, 110), ("draft7", 78, 111)];

#[derive(Default)]
struct Tally {
    groups: usize,
    tests: usize,
    judged_groups: usize,
    judged_tests: usize,
    refused: BTreeMap<String, usize>,
    specialised_groups: usize,
    specialised_tests: usize,
    /// Values that the JSON reader refuses.
    unreadable: usize,
    wrong: Vec<String>,
}

// CHK-100, CHK-101, CHK-058, CHK-059
#[test]
fn every_group_is_judged_right_or_refused_by_name() {
    let Some(suite) = suite() else { return };
    for (draft, judged_min, specialised_min) in DRAFTS {
        let tally = run(&suite.join(draft));
        tally.print(draft);
        assert_eq!(tally.wrong, Vec::<String>::new(), "{draft}");
        assert!(tally.judged_tests >= judged_min, "{draft}");
        assert!(tally.specialised_tests >= specialised_min, "{draft}");
    }
}

fn suite() -> Option<PathBuf> {
    let named = std::env::var_os("JSON_SCHEMA_TEST_SUITE").map(PathBuf::from);
    let suite = named.unwrap_or_else(|| {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/json-schema-test-suite/tests")
    });
    if suite.is_dir() {
        return Some(suite);
    }
    let reason = "the JSON-Schema-Test-Suite is not there; scripts/fetch-schema-suite fetches it";
    for demand in ["CI", "REQUIRE_SCHEMA_SUITE"] {
        assert!(std::env::var_os(demand).is_none(), "{demand} is set and {reason}");
    }
    // Not by `println`, which the test runner keeps to itself when a test passes.
    let _ = std::io::stderr().write_all(format!("\nNOT JUDGED: {reason}\n").as_bytes());
    None
}

/// Groups in the form of the suite's files, for machines that do not have it: some are taken as they stand, some when they
/// are specialised, some are refused.
const OWN: &str = include_str!("../cases/schema-suite.json");

// CHK-100, CHK-101, CHK-058, CHK-059: what is judged wrong is told, and what is judged is counted.
#[test]
fn groups_in_the_form_of_the_suite_are_judged_right_or_refused_by_name() {
    let groups: Value = serde_json::from_str(OWN).unwrap();
    let judged = |groups: &Value| {
        let mut tally = Tally::default();
        groups.as_array().unwrap().iter().for_each(|group| tally.group("own", group));
        tally
    };
    let tally = judged(&groups);
    assert_eq!(tally.wrong, Vec::<String>::new());
    let counts = (tally.groups, tally.judged_groups, tally.judged_tests);
    assert_eq!((counts, tally.specialised_groups, tally.specialised_tests), ((7, 3, 9), 3, 6));
    assert!(tally.refused.keys().any(|reason| reason.ends_with("pattern")), "{:?}", tally.refused);
    // The other verdict for each test, and every one of them is wrong.
    let mut turned = groups;
    for test in turned
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .flat_map(|group| group["tests"].as_array_mut().unwrap().iter_mut())
    {
        test["valid"] = Value::Bool(!test["valid"].as_bool().unwrap());
    }
    assert_eq!(judged(&turned).wrong.len(), tally.judged_tests + tally.specialised_tests);
}

/// The top level of a draft's folder holds the required tests; `optional` and formats lie below.
fn run(folder: &Path) -> Tally {
    let mut tally = Tally::default();
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    for file in files {
        let groups: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let stem = file.file_stem().unwrap().to_string_lossy();
        for group in groups.as_array().unwrap() {
            tally.group(&stem, group);
        }
    }
    tally
}

impl Tally {
    fn group(&mut self, file: &str, group: &Value) {
        let name = format!("{file}: {}", group["description"]);
        let mut definition = group["schema"].clone();
        if let Some(fields) = definition.as_object_mut() {
            fields.remove("$schema");
        }
        let tests = group["tests"].as_array().unwrap();
        self.groups += 1;
        self.tests += tests.len();
        match compile(&definition) {
            Ok(schema) => {
                self.judged_groups += 1;
                self.judged_tests += tests.iter().filter(|test| self.judge(&name, &schema, test)).count();
            }
            Err(reason) => {
                *self.refused.entry(reason).or_default() += 1;
                let judged = tests.iter().filter(|test| self.judge_specialised(&name, &definition, test));
                let judged = judged.count();
                self.specialised_tests += judged;
                self.specialised_groups += usize::from(judged > 0);
            }
        }
    }

    fn judge_specialised(&mut self, name: &str, definition: &Value, test: &Value) -> bool {
        let special = specialise(definition, &[&test["data"]]);
        compile(&special).is_ok_and(|schema| self.judge(&format!("{name} (specialised)"), &schema, test))
    }

    /// Whether there was a verdict.
    fn judge(&mut self, name: &str, schema: &Schema, test: &Value) -> bool {
        let Ok(value) = read(&test["data"]) else {
            self.unreadable += 1;
            return false;
        };
        if schema.validate(&value).is_ok() != test["valid"].as_bool().unwrap() {
            self.wrong.push(format!("{name}: {}", test["description"]));
        }
        true
    }

    fn print(&self, draft: &str) {
        println!("{draft}: {} groups, {} tests", self.groups, self.tests);
        println!("  as they stand: {} groups, {} tests judged", self.judged_groups, self.judged_tests);
        println!("  specialised: {} more groups, {} tests", self.specialised_groups, self.specialised_tests);
        println!("  judged wrong: {}, values not readable: {}", self.wrong.len(), self.unreadable);
        println!("  refused: {} groups", self.refused.values().sum::<usize>());
        let mut reasons: Vec<_> = self.refused.iter().collect();
        reasons.sort_by_key(|(reason, count)| (usize::MAX - **count, *reason));
        for (reason, count) in reasons {
            println!("    {count:>4}  {reason}");
        }
    }
}

fn read(value: &Value) -> Result<Json, fumehood_core::json::JsonError> {
    Json::parse(value.to_string().as_bytes(), 1 << 20)
}

/// The compiled schema, or the reason of its refusal as a line of the table.
fn compile(definition: &Value) -> Result<Schema, String> {
    let definition = read(definition).map_err(|error| error.code().to_string())?;
    Schema::compile(&definition).map_err(|error| match (error.kind.keyword(), &error.kind) {
        (Some(keyword), kind) => {
            assert!(error.to_string().contains(&format!("`{keyword}`")), "{error}");
            let how = if matches!(kind, SchemaErrorKind::KeywordMissing { .. }) { " missing" } else { "" };
            format!("{}  {keyword}{how}", error.code())
        }
        (None, SchemaErrorKind::NotAnObject) => format!("{}  (schema is no object)", error.code()),
        (None, _) => panic!("no keyword named: {error}"),
    })
}

/// A schema that gives the same verdict as `schema` on the given values of one test, and is more often in the subset.
///
/// `values` are those that arrive at this node. Three changes, none of which can turn a verdict:
/// - a `type` is added that all arriving values have;
/// - keywords of the subset that say nothing about the node's type are taken out, since they let all else pass;
/// - `properties`, `items` and schemas for `required` names are added, as schemas that the arriving values match.
fn specialise(schema: &Value, values: &[&Value]) -> Value {
    let mut fields = match schema {
        Value::Object(fields) => fields.clone(),
        Value::Bool(true) => Map::new(),
        _ => return schema.clone(),
    };
    if let Some(branches) = fields.get_mut("anyOf").and_then(Value::as_array_mut) {
        for branch in branches {
            *branch = specialise(branch, values);
        }
    }
    let typed = fields.contains_key("type") || fields.contains_key("anyOf") || fields.contains_key("enum");
    if let Some(common) = common_type(values).filter(|_| !typed) {
        fields.insert("type".to_owned(), common.into());
    }
    let Some(own) = fields.get("type").and_then(Value::as_str).map(str::to_owned) else {
        return fields.into();
    };
    fields.retain(|keyword, _| owners(keyword).is_none_or(|owners| owners.contains(&own.as_str())));
    if own == "array" {
        let items: Vec<_> = values.iter().filter_map(|value| value.as_array()).flatten().collect();
        let item = specialise(fields.get("items").unwrap_or(&Value::Bool(true)), &items);
        fields.insert("items".to_owned(), item);
    }
    if own == "object" {
        let mut properties = fields.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        // Declaring a name would open a closed object for it.
        if fields.get("additionalProperties") != Some(&Value::Bool(false)) {
            for name in fields.get("required").and_then(Value::as_array).into_iter().flatten() {
                properties.entry(name.as_str().unwrap_or_default()).or_insert(Value::Bool(true));
            }
        }
        for (name, node) in &mut properties {
            let within: Vec<_> = values.iter().filter_map(|value| value.get(name)).collect();
            *node = specialise(node, &within);
        }
        fields.insert("properties".to_owned(), properties.into());
    }
    fields.into()
}

/// The types a keyword of the subset says something about, if not about all.
fn owners(keyword: &str) -> Option<&'static [&'static str]> {
    match keyword {
        "properties" | "required" | "additionalProperties" => Some(&["object"]),
        "items" | "minItems" | "maxItems" => Some(&["array"]),
        "minLength" | "maxLength" => Some(&["string"]),
        "minimum" | "maximum" => Some(&["integer", "number"]),
        _ => None,
    }
}

/// The type that all values have; any type will do for none.
fn common_type(values: &[&Value]) -> Option<&'static str> {
    let type_of = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let first = values.first().map_or("null", |value| type_of(value));
    values.iter().all(|value| type_of(value) == first).then_some(first)
}
