//! `docs/schemas/policy.schema.json`, which editors use, against the reader: they take and refuse the same documents.

use fumehood_core::Json;
use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;

use super::*;

fn schema() -> Json {
    let text = repository_file("docs/schemas/policy.schema.json");
    Json::parse(text.as_bytes(), text.len()).unwrap()
}

/// Every property that the schema declares, but for words of lists.
pub(super) fn keys() -> Vec<String> {
    fn collect(value: &Json, keys: &mut Vec<String>) {
        if let Some(entries) = value.as_object() {
            if let Some(properties) = entries.get("properties").and_then(Json::as_object) {
                keys.extend(properties.keys().cloned());
            }
            for value in entries.values() {
                collect(value, keys);
            }
        }
        value.as_array().into_iter().flatten().for_each(|value| collect(value, keys));
    }
    let mut keys = Vec::new();
    collect(&schema(), &mut keys);
    keys
}

/// A value of TOML as JSON, as an editor sees it.
fn json(value: &toml::Value) -> Json {
    match value {
        toml::Value::Table(entries) => {
            Json::Object(entries.iter().map(|(key, value)| (key.clone(), json(value))).collect())
        }
        toml::Value::Array(items) => Json::Array(items.iter().map(json).collect()),
        toml::Value::String(text) => Json::String(text.clone()),
        other => Json::parse(other.to_string().as_bytes(), 100).unwrap(),
    }
}

/// A small reader of JSON Schema, with the keywords of this one; any other fails the test.
struct Validator {
    root: Json,
}

impl Validator {
    fn accepts(&self, schema: &Json, value: &Json) -> bool {
        schema.as_object().unwrap().iter().all(|(keyword, rule)| self.holds(schema, keyword, rule, value))
    }

    fn holds(&self, schema: &Json, keyword: &str, rule: &Json, value: &Json) -> bool {
        let entries = value.as_object();
        let items = value.as_array();
        let length = value.as_str().map(|text| text.chars().count());
        let number = |rule: &Json| match rule {
            Json::Number(number) => *number,
            other => panic!("{other:?}"),
        };
        let count = |rule: &Json| usize::try_from(number(rule).as_u64().unwrap()).unwrap();
        match keyword {
            "$schema" | "$id" | "$defs" | "title" | "description" | "default" => true,
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                let definitions = self.root.as_object().unwrap()["$defs"].as_object().unwrap();
                self.accepts(&definitions[name], value)
            }
            "type" => match (rule.as_str().unwrap(), value) {
                ("integer", Json::Number(number)) => number.is_integer(),
                (name, value) => value.type_name().ends_with(&format!(" {name}")),
            },
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "anyOf" => rule.as_array().unwrap().iter().any(|rule| self.accepts(rule, value)),
            "oneOf" => rule.as_array().unwrap().iter().filter(|rule| self.accepts(rule, value)).count() == 1,
            "not" => !self.accepts(rule, value),
            "required" => entries.is_none_or(|entries| {
                rule.as_array().unwrap().iter().all(|key| entries.contains_key(key.as_str().unwrap()))
            }),
            "properties" => entries.is_none_or(|entries| {
                let rules = rule.as_object().unwrap();
                rules.iter().all(|(key, rule)| entries.get(key).is_none_or(|value| self.accepts(rule, value)))
            }),
            "additionalProperties" => entries.is_none_or(|entries| {
                let declared = schema.as_object().unwrap().get("properties").and_then(Json::as_object);
                let others =
                    entries.iter().filter(|(key, _)| declared.is_none_or(|names| !names.contains_key(*key)));
                let mut others = others.map(|(_, value)| value);
                match rule {
                    Json::Bool(takes) => *takes || others.next().is_none(),
                    rule => others.all(|value| self.accepts(rule, value)),
                }
            }),
            "propertyNames" => entries.is_none_or(|entries| {
                entries.keys().all(|key| self.accepts(rule, &Json::String(key.clone())))
            }),
            "minProperties" => entries.is_none_or(|entries| entries.len() >= count(rule)),
            "maxProperties" => entries.is_none_or(|entries| entries.len() <= count(rule)),
            "items" => items.is_none_or(|items| items.iter().all(|item| self.accepts(rule, item))),
            "minItems" => items.is_none_or(|items| items.len() >= count(rule)),
            "maxItems" => items.is_none_or(|items| items.len() <= count(rule)),
            "uniqueItems" => items.is_none_or(|items| {
                items.iter().enumerate().all(|(index, item)| !items[..index].contains(item))
            }),
            "minLength" => length.is_none_or(|length| length >= count(rule)),
            "maxLength" => length.is_none_or(|length| length <= count(rule)),
            "pattern" => value.as_str().is_none_or(|text| {
                RegexMatcher::new(rule.as_str().unwrap()).unwrap().is_match(text.as_bytes()).unwrap()
            }),
            "minimum" => !matches!(value, Json::Number(value) if *value < number(rule)),
            "maximum" => !matches!(value, Json::Number(value) if *value > number(rule)),
            other => panic!("a keyword that this test does not know: {other}"),
        }
    }
}

fn is_valid(text: &str) -> bool {
    let root = schema();
    let document = json(&toml::Value::Table(text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))));
    let validator = Validator { root };
    validator.accepts(&validator.root, &document)
}

/// Documents that each use something that others do not; `REVISION` stands for one.
const TAKEN: &[&str] = &[
    "",
    "mode = \"trusted\"",
    "[surfaces]\nterminal = []\npage = [\"revision\", \"once\"]\nelicitation = [\"once\"]\nflag = [\"once\"]",
    "[[rule]]\nname = \"a\"\ndeny = {}",
    "[[rule]]\nname = \"a\"\nask = { id = \"pdf\", tool = [\"a\", \"B_2\"], agent = \"ci.nightly\", effect = \"other\" }",
    "[[rule]]\nname = \"a\"\nallow = { source = [\"team\", \"server:x\"], id = \"pdf\", revision = \"*\" }\nlimits = { timeout_seconds_max = 3600 }",
    "[[rule]]\nname = \"a\"\nallow = { source = \"team\", revision = \"REVISION\" }\nlimits = { output_bytes_max = 1 }",
    "[[rule]]\nname = \"a\"\nask = { tier = [\"undeclared\", \"checked\"], network = \"any\", workspace = [\"none\", \"/srv\"] }",
    "[[rule]]\nname = \"a\"\nask = { arguments = { a = 1, b = [true], c = [\"x\", \"y\"], \"/d/0\" = { prefix = [\"a\", \"b\"] } } }",
    "[[rule]]\nname = \"a\"\nask = { arguments = { a = { below = \"/srv\" }, b = { at_least = 1 }, c = { at_least = 0.5, at_most = 2 } } }",
    "[[case]]\nname = \"a\"\nexpect = \"ask\"\nfacts = {}",
    "[[case]]\nname = \"a\"\nexpect = \"ask\"\nfacts = { agent = \"cli\", source = \"team\", id = \"pdf\", revision = \"REVISION\", tool = \"t\", tier = \"script\", effect = \"read_only\", network = \"none\", workspace = \"/srv\", skill = true, timeout_seconds = 1, output_bytes = 1, arguments = { a = [1], f = \"x\" }, paths = { f = \"/srv/x\" } }",
];

const REFUSED: &[&str] = &[
    "modes = \"ask\"",
    "mode = \"open\"",
    "mode = 1",
    "[surfaces]\nshell = [\"once\"]",
    "[surfaces]\npage = [\"always\"]",
    "[surfaces]\npage = [\"once\", \"once\"]",
    "[surfaces]\npage = \"once\"",
    "[rule]\nname = \"a\"\ndeny = {}",
    "[[rule]]\ndeny = {}",
    "[[rule]]\nname = \"\"\ndeny = {}",
    "[[rule]]\nname = \"NAME65\"\ndeny = {}",
    "[[rule]]\nname = \"a\"",
    "[[rule]]\nname = \"a\"\ndeny = {}\nask = {}",
    "[[rule]]\nname = \"a\"\ndeny = {}\nnote = \"x\"",
    "[[rule]]\nname = \"a\"\ndeny = {}\nlimits = { timeout_seconds_max = 1 }",
    "[[rule]]\nname = \"a\"\nallow = {}",
    "[[rule]]\nname = \"a\"\nallow = { id = \"pdf\", revision = \"*\" }",
    "[[rule]]\nname = \"a\"\nallow = { agent = \"cli\" }\nlimits = {}",
    "[[rule]]\nname = \"a\"\nallow = { agent = \"cli\" }\nlimits = { timeout_seconds_max = 0 }",
    "[[rule]]\nname = \"a\"\nallow = { agent = \"cli\" }\nlimits = { timeout_seconds_max = 3601 }",
    "[[rule]]\nname = \"a\"\nallow = { agent = \"cli\" }\nlimits = { output_bytes_max = 67108865 }",
    "[[rule]]\nname = \"a\"\nallow = { agent = \"cli\" }\nlimits = { memory = 1 }",
    "[[rule]]\nname = \"a\"\ndeny = { skill = \"pdf\" }",
    "[[rule]]\nname = \"a\"\ndeny = { source = \"Team\" }",
    "[[rule]]\nname = \"a\"\ndeny = { source = [] }",
    "[[rule]]\nname = \"a\"\ndeny = { source = [\"a\", \"a\"] }",
    "[[rule]]\nname = \"a\"\ndeny = { id = \"-pdf\" }",
    "[[rule]]\nname = \"a\"\ndeny = { id = \"p--f\" }",
    "[[rule]]\nname = \"a\"\ndeny = { revision = \"sha256:12\" }",
    "[[rule]]\nname = \"a\"\ndeny = { revision = [\"*\", \"REVISION\"] }",
    "[[rule]]\nname = \"a\"\ndeny = { tool = \"9x\" }",
    "[[rule]]\nname = \"a\"\ndeny = { tier = \"3\" }",
    "[[rule]]\nname = \"a\"\ndeny = { effect = \"read\" }",
    "[[rule]]\nname = \"a\"\ndeny = { workspace = \"srv\" }",
    "[[rule]]\nname = \"a\"\ndeny = { workspace = \"/srv/*\" }",
    "[[rule]]\nname = \"a\"\ndeny = { workspace = \"/srv/../etc\" }",
    "[[rule]]\nname = \"a\"\ndeny = { agent = \"CLI\" }",
    "[[rule]]\nname = \"a\"\ndeny = { network = \"all\" }",
    "[[rule]]\nname = \"a\"\ndeny = { network = 1 }",
    "[[rule]]\nname = \"a\"\ndeny = { arguments = { \"\" = 1 } }",
    "[[rule]]\nname = \"a\"\ndeny = { arguments = { \"/a~2\" = 1 } }",
    "[[rule]]\nname = \"a\"\ndeny = { arguments = { a = [1, \"1\"] } }",
    "[[rule]]\nname = \"a\"\ndeny = { arguments = { a = [[1]] } }",
    "[[rule]]\nname = \"a\"\ndeny = { arguments = { a = {} } }",
    "[[rule]]\nname = \"a\"\ndeny = { arguments = { a = { prefix = \"a\", at_least = 1 } } }",
    "[[rule]]\nname = \"a\"\ndeny = { arguments = { a = { below = \"a\" } } }",
    "[[rule]]\nname = \"a\"\ndeny = { arguments = { a = { matches = \"a\" } } }",
    "[[rule]]\nname = \"a\"\ndeny = { arguments = { a = { at_most = \"1\" } } }",
    "[[case]]\nname = \"a\"\nexpect = \"yes\"\nfacts = {}",
    "[[case]]\nname = \"a\"\nexpect = \"ask\"",
    "[[case]]\nname = \"a\"\nexpect = \"ask\"\nfacts = { skill = \"pdf\" }",
    "[[case]]\nname = \"a\"\nexpect = \"ask\"\nfacts = { workspace = \"here\" }",
    "[[case]]\nname = \"a\"\nexpect = \"ask\"\nfacts = { tier = [\"script\"] }",
    "[[case]]\nname = \"a\"\nexpect = \"ask\"\nfacts = { arguments = { f = \"x\" }, paths = { f = \"x\" } }",
];

/// Refused by the reader only: what a schema cannot say about a document.
const BEYOND: &[&str] = &[
    "[[rule]]\nname = \"a\"\ndeny = {}\n[[rule]]\nname = \"a\"\nask = {}",
    "[[rule]]\nname = \"a\"\nallow = { source = \"team\" }",
    "[[rule]]\nname = \"a\"\ndeny = { arguments = { a = 1, \"/a\" = 1 } }",
    "[[rule]]\nname = \"a\"\ndeny = { arguments = { a = { at_least = 2, at_most = 1 } } }",
    "[[case]]\nname = \"a\"\nexpect = \"ask\"\nrule = \"b\"\nfacts = {}",
    "[[case]]\nname = \"a\"\nexpect = \"ask\"\nfacts = { skill = false, id = \"pdf\" }",
    "[[case]]\nname = \"a\"\nexpect = \"ask\"\nfacts = { paths = { f = \"/x\" } }",
];

fn filled(text: &str) -> String {
    text.replace("REVISION", &format!("sha256:{}", "0a".repeat(32))).replace("NAME65", &"n".repeat(65))
}

#[test]
fn schema_and_reader_agree() {
    for text in TAKEN {
        let text = filled(text);
        read_well(&text);
        assert!(is_valid(&text), "{text}");
    }
    for text in REFUSED {
        let text = filled(text);
        let error = refusal(&text);
        assert!(error.place.is_some(), "{text}: {error}");
        assert!(!is_valid(&text), "{text}: {error}");
    }
    for text in BEYOND {
        assert!(refusal(text).place.is_some() && is_valid(text), "{text}");
    }
    for text in cases().iter().map(|path| std::fs::read_to_string(path).unwrap()).chain(examples()) {
        assert!(is_valid(&text), "{text}");
    }
}
