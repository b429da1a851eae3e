use super::validate::Walk;
use super::*;
use crate::code::{Code, Coded};
use crate::limits::{JSON_DEPTH_MAX, JSON_NODES_MAX, SCHEMA_ISSUES_MAX};

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes(), 1 << 20).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn schema(text: &str) -> Schema {
    Schema::compile(&json(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str) -> SchemaError {
    match Schema::compile(&json(text)) {
        Ok(_) => panic!("{text} was taken"),
        Err(error) => error,
    }
}

/// The issues as `pointer keyword`.
fn issues(schema: &Schema, value: &str) -> Vec<String> {
    match schema.validate(&json(value)) {
        Ok(()) => Vec::new(),
        Err(issues) => {
            issues.as_slice().iter().map(|issue| format!("{} {}", issue.pointer, issue.keyword())).collect()
        }
    }
}

/// Every value passes, or every value has exactly the one issue.
fn judge(text: &str, pass: &[&str], fail: &[(&str, &str)]) {
    let schema = schema(text);
    for value in pass {
        assert_eq!(issues(&schema, value), Vec::<String>::new(), "{text} with {value}");
    }
    for (value, issue) in fail {
        assert_eq!(issues(&schema, value), [*issue], "{text} with {value}");
    }
}

// CHK-100, CHK-116: the seven types, and integer apart from number.
#[test]
fn types() {
    let values = ["null", "true", "5", "5.5", r#""""#, "[]", "{}"];
    let cases: [(&str, &[usize]); 7] = [
        (r#"{"type":"null"}"#, &[0]),
        (r#"{"type":"boolean"}"#, &[1]),
        (r#"{"type":"integer"}"#, &[2]),
        (r#"{"type":"number"}"#, &[2, 3]),
        (r#"{"type":"string"}"#, &[4]),
        (r#"{"type":"array","items":{"type":"null"}}"#, &[5]),
        (r#"{"type":"object","properties":{}}"#, &[6]),
    ];
    for (text, taken) in cases {
        let schema = schema(text);
        for (index, value) in values.iter().enumerate() {
            let expected: &[&str] = if taken.contains(&index) { &[] } else { &[" type"] };
            assert_eq!(issues(&schema, value), expected, "{text} with {value}");
        }
    }
}

// CHK-100: how 5.0, big integers and -0 compare.
#[test]
fn numbers() {
    judge(
        r#"{"type":"integer","minimum":5,"maximum":7.5}"#,
        &["5", "5.0", "5e0", "7", "0.7e1"],
        &[
            ("4", " minimum"),
            ("8", " maximum"),
            ("5.5", " type"),
            ("1e300", " maximum"),
            ("-1e300", " minimum"),
        ],
    );
    judge(r#"{"type":"integer","enum":[5.0,0]}"#, &["5", "5.0", "-0", "0.0", "-0.0"], &[("6", " enum")]);
    // Rounded onto the bound by every reader of doubles; never across it.
    judge(
        r#"{"type":"number","maximum":1}"#,
        &["1", "1.0", "1.00000000000000000001"],
        &[("1.0000000000000003", " maximum")],
    );
    judge(r#"{"type":"number","minimum":0}"#, &["-0", "-0.0", "1e-300"], &[("-1e-300", " minimum")]);
    judge(
        r#"{"type":"integer","maximum":9007199254740992}"#,
        &["9007199254740992"],
        &[("9007199254740993", " maximum")],
    );
    judge(
        r#"{"type":"integer","minimum":9007199254740993}"#,
        &["9007199254740993"],
        &[("9007199254740992", " minimum")],
    );
    judge(
        r#"{"type":"integer","minimum":-9223372036854775807,"maximum":18446744073709551615}"#,
        &["-9223372036854775807", "18446744073709551615"],
        &[
            ("-9223372036854775808", " minimum"),
            ("-9223372036854775809", " minimum"),
            ("-1e30", " minimum"),
            ("18446744073709551616", " maximum"),
            ("1e30", " maximum"),
        ],
    );
}

// CHK-100: a number that could not be compared with every whole number is refused where it stands.
#[test]
fn schema_numbers_are_exactly_comparable() {
    let bounds = ["-9223372036854775808", "-9223372036854775808.0", "18446744073709551616", "1e20", "-1e300"];
    for bound in bounds {
        for keyword in ["minimum", "maximum"] {
            let error = refused(&format!(r#"{{"type":"number","{keyword}":{bound}}}"#));
            assert_eq!((error.code(), error.kind.keyword()), (Code::SchemaInvalid, Some(keyword)), "{bound}");
        }
        assert_eq!(refused(&format!(r#"{{"enum":[1,{bound}]}}"#)).pointer, "/enum/1");
    }
    for bound in ["-9223372036854775807", "18446744073709551615", "1e19", "-9.2e18", "0.1"] {
        schema(&format!(r#"{{"type":"number","minimum":{bound}}}"#));
        schema(&format!(r#"{{"type":"number","maximum":{bound}}}"#));
        schema(&format!(r#"{{"enum":[{bound}]}}"#));
    }
}

// CHK-100, CHK-114, CHK-120: bounds count code points, at the limit and one over; nothing is trimmed.
#[test]
fn string_lengths() {
    judge(
        r#"{"type":"string","minLength":2,"maxLength":3.0}"#,
        &[r#""ab""#, r#""abc""#, r#""😀😀""#, r#""😀😀😀""#, r#""e\u0301a""#],
        &[(r#""a""#, " minLength"), (r#""😀""#, " minLength"), (r#""abcd""#, " maxLength")],
    );
    judge(r#"{"type":"string","maxLength":0}"#, &[r#""""#], &[(r#"" ""#, " maxLength")]);
    judge(r#"{"type":"string","minLength":3}"#, &[r#""   ""#], &[]);
    judge(r#"{"type":"string","maxLength":18446744073709551615}"#, &[r#""a""#], &[]);
}

// CHK-100: at the limit and one over.
#[test]
fn item_counts() {
    judge(
        r#"{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":2}"#,
        &["[1]", "[1,2]"],
        &[("[]", " minItems"), ("[1,2,3]", " maxItems"), (r#"[1,"2"]"#, "/1 type")],
    );
}

// CHK-100, CHK-114
#[test]
fn objects() {
    judge(
        r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"null"}},"required":["a"]}"#,
        &[r#"{"a":1}"#, r#"{"a":1,"b":null}"#, r#"{"a":1,"undeclared":[{}]}"#],
        &[("{}", "/a required"), (r#"{"a":null}"#, "/a type"), (r#"{"a":1,"b":0}"#, "/b type")],
    );
    judge(
        r#"{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}"#,
        &["{}", r#"{"a":1}"#],
        &[(r#"{"b":1}"#, "/b additionalProperties")],
    );
    judge(r#"{"type":"object","properties":{},"additionalProperties":true}"#, &[r#"{"b":1}"#], &[]);
    judge(
        r#"{"type":"object","properties":{"a/b~c":{"type":"array","items":{"type":"null"}}}}"#,
        &[],
        &[(r#"{"a/b~c":[null,1]}"#, "/a~1b~0c/1 type")],
    );
}

// CHK-114: neither coerced nor stripped.
#[test]
fn nothing_is_coerced() {
    judge(r#"{"type":"integer"}"#, &[], &[(r#""5""#, " type"), ("true", " type"), ("null", " type")]);
    judge(r#"{"type":"string"}"#, &[], &[("5", " type"), ("[]", " type")]);
    judge(r#"{"type":"boolean"}"#, &[], &[("0", " type"), (r#""true""#, " type")]);
    judge(r#"{"type":"array","items":{"type":"null"}}"#, &[], &[("{}", " type"), ("null", " type")]);
    let value = json(r#"{"a":"1","z":2}"#);
    let before = value.clone();
    let _ = schema(r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#).validate(&value);
    assert_eq!(value, before);
}

// CHK-058, CHK-100
#[test]
fn enums() {
    judge(
        r#"{"enum":[null,true,1,"1"],"title":"t"}"#,
        &["null", "true", "1", "1.0", r#""1""#],
        &[("false", " enum"), ("0", " enum"), (r#""""#, " enum"), ("[]", " enum"), ("{}", " enum")],
    );
    judge(r#"{"type":"string","enum":["a"]}"#, &[r#""a""#], &[(r#""A""#, " enum"), ("1", " type")]);
    judge(r#"{"type":"boolean","enum":[true]}"#, &["true"], &[("false", " enum"), ("1", " type")]);
    judge(r#"{"type":"null","enum":[null]}"#, &["null"], &[("0", " type")]);
    // Both are checked and both reported.
    let both = schema(r#"{"type":"string","enum":["a"],"maxLength":1}"#);
    assert_eq!(issues(&both, r#""bb""#), [" enum", " maxLength"]);
}

// CHK-118, CHK-119
#[test]
fn any_of_passes_with_any_branch_and_reports_one_issue() {
    let text = r#"{"type":"object","properties":{"a":{"anyOf":[
        {"type":"integer","minimum":3},
        {"type":"object","properties":{"x":{"type":"null"}},"required":["x"],"additionalProperties":false}]}}}"#;
    judge(
        text,
        &["{}", r#"{"a":3}"#, r#"{"a":{"x":null}}"#],
        &[
            (r#"{"a":2}"#, "/a anyOf"),
            (r#"{"a":"3"}"#, "/a anyOf"),
            (r#"{"a":{"x":1,"y":1,"z":1}}"#, "/a anyOf"),
        ],
    );
    // A schema may be an anyOf; so may a branch. Arguments may not.
    let nested = r#"{"anyOf":[{"type":"null"},{"anyOf":[{"type":"integer"},{"type":"string"}]}]}"#;
    judge(nested, &["null", "1", r#""""#], &[("true", " anyOf")]);
}

// CHK-118
#[test]
fn any_of_takes_two_to_four_branches() {
    let branches = |n: usize| format!(r#"{{"anyOf":[{}]}}"#, vec![r#"{"type":"null"}"#; n].join(","));
    for n in 2..=4 {
        schema(&branches(n));
    }
    for n in [0, 1, 5] {
        let error = refused(&branches(n));
        assert_eq!((error.code(), error.pointer.as_str()), (Code::SchemaInvalid, "/anyOf"), "{n}");
    }
}

// CHK-118
#[test]
fn any_of_takes_no_siblings() {
    let branches = r#""anyOf":[{"type":"null"},{"type":"string"}]"#;
    schema(&format!("{{{branches}}}"));
    for sibling in [r#""type":"null""#, r#""title":"t""#, r#""description":"d""#, r#""enum":[1]"#] {
        let error = refused(&format!("{{{branches},{sibling}}}"));
        assert_eq!(error.code(), Code::SchemaKeyword, "{sibling}");
        assert!(sibling.starts_with(&format!("\"{}\"", error.kind.keyword().unwrap())), "{error}");
    }
    assert_eq!(refused(r#"{"anyOf":[{"type":"null"},{"tpye":"null"}]}"#).pointer, "/anyOf/1/tpye");
}

// CHK-118: the root of arguments is an explicit object.
#[test]
fn arguments_are_an_explicit_object() {
    let object = r#"{"type":"object","properties":{}}"#;
    assert!(Schema::compile_object(&json(object)).is_ok());
    let any_of = format!(r#"{{"anyOf":[{object},{object}]}}"#);
    for other in [r#"{"type":"string"}"#, r#"{"enum":[1]}"#, &any_of] {
        schema(other);
        let error = Schema::compile_object(&json(other)).unwrap_err();
        assert_eq!((error.code(), error.kind.keyword()), (Code::SchemaInvalid, Some("type")), "{other}");
    }
}

// CHK-059, CHK-101: what the subset does not know is refused by name, wherever it stands.
#[test]
fn unknown_keywords_are_refused_by_name() {
    let keywords = [
        "$schema",
        "$id",
        "$ref",
        "$defs",
        "$comment",
        "$anchor",
        "$dynamicRef",
        "definitions",
        "allOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "const",
        "pattern",
        "format",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "multipleOf",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "uniqueItems",
        "contains",
        "prefixItems",
        "additionalItems",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "dependencies",
        "dependentRequired",
        "unevaluatedProperties",
        "nullable",
        "minLenght",
        "Type",
        "type ",
        "",
        "__proto__",
        "constructor",
    ];
    for keyword in keywords {
        for value in ["1", "{}", "true", "[]", "null", r#""object""#] {
            let error = refused(&format!(r#"{{"type":"string","{keyword}":{value}}}"#));
            assert_eq!(error.code(), Code::SchemaKeyword, "{keyword}");
            assert_eq!(error.pointer, format!("/{keyword}"));
            assert!(error.to_string().contains(&format!("`{keyword}`")), "{error}");
        }
        let inside = format!(
            r#"{{"type":"object","properties":{{"p":{{"type":"array","items":{{"type":"null","{keyword}":1}}}}}}}}"#
        );
        assert_eq!(refused(&inside).pointer, format!("/properties/p/items/{keyword}"));
    }
    // The same names are ordinary as names of properties and as values.
    schema(r#"{"type":"object","properties":{"$ref":{"type":"null"},"const":{"enum":["$ref"]}}}"#);
}

// CHK-101: a keyword on a node of another type would check nothing.
#[test]
fn keywords_of_another_type_are_refused_by_name() {
    let owners: [(&str, &[&str]); 10] = [
        (r#""properties":{}"#, &["object"]),
        (r#""required":[]"#, &["object"]),
        (r#""additionalProperties":true"#, &["object"]),
        (r#""items":{"type":"null"}"#, &["array"]),
        (r#""minItems":0"#, &["array"]),
        (r#""maxItems":0"#, &["array"]),
        (r#""minLength":0"#, &["string"]),
        (r#""maxLength":0"#, &["string"]),
        (r#""minimum":0"#, &["integer", "number"]),
        (r#""maximum":0"#, &["integer", "number"]),
    ];
    for node_type in ["null", "boolean", "integer", "number", "string", "array", "object"] {
        for (field, owned_by) in owners {
            let needs = match node_type {
                "array" if !field.contains("items") => r#","items":{"type":"null"}"#,
                "object" if !field.contains("properties") => r#","properties":{}"#,
                _ => "",
            };
            let text = format!(r#"{{"type":"{node_type}",{field}{needs}}}"#);
            if owned_by.contains(&node_type) {
                schema(&text);
                continue;
            }
            let error = refused(&text);
            assert_eq!(error.code(), Code::SchemaKeyword, "{text}");
            assert!(field.starts_with(&format!("\"{}\"", error.kind.keyword().unwrap())), "{text}: {error}");
        }
    }
    // An enum of scalars can never match an array or an object.
    for text in [
        r#"{"type":"array","items":{"type":"null"},"enum":[1]}"#,
        r#"{"type":"object","properties":{},"enum":[1]}"#,
    ] {
        assert_eq!((refused(text).code(), refused(text).kind.keyword()), (Code::SchemaKeyword, Some("enum")));
    }
}

// CHK-058, CHK-100: every value that a keyword cannot have, with its place.
#[test]
fn invalid_values_are_refused() {
    let cases = [
        (r#"{"type":["string"]}"#, "/type"),
        (r#"{"type":"strnig"}"#, "/type"),
        (r#"{"type":null}"#, "/type"),
        (r#"{"type":"null","title":1}"#, "/title"),
        (r#"{"type":"null","description":["d"]}"#, "/description"),
        (r#"{"type":"object","properties":[]}"#, "/properties"),
        (r#"{"type":"object","properties":{},"required":{}}"#, "/required"),
        (r#"{"type":"object","properties":{},"required":[1]}"#, "/required/0"),
        (r#"{"type":"object","properties":{"a":{"type":"null"}},"required":["a","b"]}"#, "/required/1"),
        (r#"{"type":"object","properties":{"a":{"type":"null"}},"required":["a","a"]}"#, "/required/1"),
        (r#"{"type":"object","properties":{},"additionalProperties":{}}"#, "/additionalProperties"),
        (r#"{"type":"object","properties":{},"additionalProperties":null}"#, "/additionalProperties"),
        (r#"{"type":"string","minLength":-1}"#, "/minLength"),
        (r#"{"type":"string","minLength":1.5}"#, "/minLength"),
        (r#"{"type":"string","minLength":"1"}"#, "/minLength"),
        (r#"{"type":"string","maxLength":18446744073709551616}"#, "/maxLength"),
        (r#"{"type":"string","minLength":2,"maxLength":1}"#, "/maxLength"),
        (r#"{"type":"array","items":{"type":"null"},"minItems":null}"#, "/minItems"),
        (r#"{"type":"array","items":{"type":"null"},"minItems":2,"maxItems":1}"#, "/maxItems"),
        (r#"{"type":"integer","minimum":"1"}"#, "/minimum"),
        (r#"{"type":"integer","minimum":1,"maximum":0.5}"#, "/maximum"),
        (r#"{"enum":[]}"#, "/enum"),
        (r#"{"enum":{"a":1}}"#, "/enum"),
        (r#"{"enum":["a",[]]}"#, "/enum/1"),
        (r#"{"enum":[{}]}"#, "/enum/0"),
        (r#"{"enum":["a","b","a"]}"#, "/enum/2"),
        (r#"{"enum":[1,1.0]}"#, "/enum/1"),
        (r#"{"enum":[0,-0]}"#, "/enum/1"),
        (r#"{"enum":[null,null]}"#, "/enum/1"),
        (r#"{"enum":[true,true]}"#, "/enum/1"),
        (r#"{"type":"integer","enum":[1,1.5]}"#, "/enum/1"),
        (r#"{"type":"string","enum":["a",null]}"#, "/enum/1"),
        (r#"{"anyOf":{}}"#, "/anyOf"),
    ];
    for (text, pointer) in cases {
        let error = refused(text);
        assert_eq!((error.code(), error.pointer.as_str()), (Code::SchemaInvalid, pointer), "{text}");
        let keyword = pointer.split('/').nth(1);
        assert_eq!(error.kind.keyword(), keyword, "{text}");
    }
}

/// The accepted twins of the cases above.
#[test]
fn valid_values_are_taken() {
    for text in [
        r#"{"type":"null","title":"","description":"d"}"#,
        r#"{"type":"object","properties":{"a":{"type":"null"}},"required":[]}"#,
        r#"{"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"}},"required":["b","a"]}"#,
        r#"{"type":"string","minLength":0,"maxLength":0}"#,
        r#"{"type":"string","minLength":-0.0,"maxLength":5.0}"#,
        r#"{"type":"array","items":{"type":"null"},"minItems":1,"maxItems":1}"#,
        r#"{"type":"integer","minimum":1,"maximum":1.0}"#,
        r#"{"type":"integer","minimum":0.5}"#,
        r#"{"type":"integer","enum":[1,2.0]}"#,
        r#"{"type":"number","enum":[1,1.5]}"#,
        r#"{"enum":[1,"1",true,null]}"#,
        r#"{"enum":[0,false,""]}"#,
    ] {
        schema(text);
    }
}

// CHK-058: explicit property maps, explicit items, an explicit type.
#[test]
fn missing_keywords_are_named() {
    let cases = [
        ("{}", "type"),
        (r#"{"title":"t"}"#, "type"),
        (r#"{"minLength":1}"#, "type"),
        (r#"{"enum":["a"],"minLength":1}"#, "type"),
        (r#"{"type":"object"}"#, "properties"),
        (r#"{"type":"array"}"#, "items"),
    ];
    for (text, keyword) in cases {
        let error = refused(text);
        assert_eq!(error.kind, SchemaErrorKind::KeywordMissing { keyword });
        assert_eq!((error.code(), error.pointer.as_str()), (Code::SchemaInvalid, ""));
        assert!(error.to_string().contains(&format!("`{keyword}`")), "{error}");
    }
}

// CHK-058: a schema is an object, everywhere.
#[test]
fn boolean_schemas_and_lists_are_refused() {
    for (text, pointer) in [
        ("true", ""),
        ("false", ""),
        ("null", ""),
        ("[]", ""),
        (r#"{"type":"object","properties":{"a":true}}"#, "/properties/a"),
        (r#"{"type":"array","items":[{"type":"null"}]}"#, "/items"),
        (r#"{"anyOf":[{"type":"null"},false]}"#, "/anyOf/1"),
    ] {
        let error = refused(text);
        assert_eq!((error.kind, error.pointer.as_str()), (SchemaErrorKind::NotAnObject, pointer), "{text}");
    }
}

// CHK-115, CHK-116: one name is refused; the other famous ones are names like any other.
#[test]
fn names_that_look_like_prototype_access() {
    for (text, pointer) in [
        (r#"{"type":"object","properties":{"__proto__":{"type":"null"}}}"#, "/properties/__proto__"),
        (r#"{"type":"object","properties":{"\u005f_proto__":{"type":"null"}}}"#, "/properties/__proto__"),
        (r#"{"type":"object","properties":{},"required":["__proto__"]}"#, "/required/0"),
    ] {
        let error = refused(text);
        assert!(matches!(error.kind, SchemaErrorKind::ReservedName { .. }), "{error}");
        assert_eq!((error.code(), error.pointer.as_str()), (Code::SchemaInvalid, pointer));
    }
    for name in ["constructor", "prototype", "toString", "hasOwnProperty", "valueOf", "__proto", "proto", ""]
    {
        let text = format!(
            r#"{{"type":"object","properties":{{"{name}":{{"type":"integer"}}}},"required":["{name}"],
                "additionalProperties":false}}"#
        );
        judge(
            &text,
            &[&format!(r#"{{"{name}":1}}"#)],
            &[
                ("{}", &format!("/{name} required")),
                (&format!(r#"{{"{name}":"1"}}"#), &format!("/{name} type")),
            ],
        );
        let open = r#"{"type":"object","properties":{}}"#;
        judge(open, &[&format!(r#"{{"{name}":1}}"#), r#"{"__proto__":1}"#], &[]);
    }
    let closed = r#"{"type":"object","properties":{},"additionalProperties":false}"#;
    judge(closed, &["{}"], &[(r#"{"__proto__":1}"#, "/__proto__ additionalProperties")]);
}

// CHK-119: 20 issues are kept; one more is only counted.
#[test]
fn issues_20_are_kept_and_21_cut() {
    let numbers = schema(r#"{"type":"array","items":{"type":"null"}}"#);
    let array = |n: usize| json(&format!("[{}]", vec!["0"; n].join(",")));
    let full = numbers.validate(&array(SCHEMA_ISSUES_MAX)).unwrap_err();
    assert_eq!((full.as_slice().len(), full.is_cut()), (SCHEMA_ISSUES_MAX, false));
    assert!(!full.to_string().ends_with("and more"));
    let cut = numbers.validate(&array(SCHEMA_ISSUES_MAX + 1)).unwrap_err();
    assert_eq!((cut.as_slice(), cut.is_cut()), (full.as_slice(), true));
    assert!(cut.to_string().ends_with("; and more"));
    assert_eq!(cut.code(), Code::SchemaMismatch);
}

// An issue says what was expected and nothing of what was there; names are shown safely.
#[test]
fn messages_hold_no_values_and_show_names_safely() {
    let rules = schema(
        r#"{"type":"object","properties":{
            "a\u202e\u001b":{"type":"string","maxLength":3},
            "b":{"type":"integer","enum":[1,2]},
            "c":{"type":"number","minimum":0.5}},
            "required":["c"],"additionalProperties":false}"#,
    );
    let value = json(r#"{"a\u202e\u001b":"secret","b":31337,"d\u200b":"secret"}"#);
    assert_eq!(
        rules.validate(&value).unwrap_err().to_string(),
        "the value at /a\\u{202e}\\u{1b} must have at most 3 characters; \
         the value at /b must be one of the 2 values that the schema lists; \
         the value at /c must be present; \
         the value at /d\\u{200b} must not be present: the schema declares no such property"
    );
    let error = refused(r#"{"type":"object","properties":{"p\u0007":{"k\u202e":1}}}"#);
    assert_eq!(
        error.to_string(),
        "in the schema at /properties/p\\u{7}/k\\u{202e}: the keyword `k\\u{202e}` is outside the strict subset"
    );
}

// XSF-06: what is published is what was compiled.
#[test]
fn the_definition_is_published_as_it_was_given() {
    let definition = json(
        r#"{"type":"object","title":"t","properties":{"n":{"type":"integer","minimum":5.0,"description":"d"}}}"#,
    );
    let compiled = Schema::compile_object(&definition).unwrap();
    assert_eq!(compiled.to_json(), &definition);
    let again = Schema::compile_object(compiled.to_json()).unwrap();
    assert_eq!(again.to_json(), &definition);
}

/// An array of arrays: `levels` of JSON, two for each but the innermost.
fn nested_arrays(levels: usize) -> Json {
    let mut schema = json(r#"{"type":"null"}"#);
    for _ in 0..(levels - 2) {
        let fields = [("type", Json::String("array".to_owned())), ("items", schema)];
        schema = Json::Object(fields.map(|(key, value)| (key.to_owned(), value)).into());
    }
    schema
}

// CHK-056, CHK-101: the bounds hold for a definition that no parser bounded.
#[test]
fn depth_32_is_taken_and_33_refused() {
    assert!(Schema::compile(&nested_arrays(JSON_DEPTH_MAX)).is_ok());
    let error = Schema::compile(&nested_arrays(JSON_DEPTH_MAX + 1)).unwrap_err();
    assert_eq!((error.kind.clone(), error.code()), (SchemaErrorKind::Depth, Code::JsonDepth));
    let error = Schema::compile(&nested_arrays(2000)).unwrap_err();
    assert_eq!(error.kind, SchemaErrorKind::Depth);
}

// CHK-056, CHK-101
#[test]
fn nodes_4096_are_taken_and_4097_refused() {
    // One for the node, one for the list.
    let list = |n: u64| {
        let scalars = (0..n).map(|i| Json::Number(i.into())).collect();
        Json::Object([("enum".to_owned(), Json::Array(scalars))].into())
    };
    let most = u64::try_from(JSON_NODES_MAX - 2).unwrap();
    assert!(Schema::compile(&list(most)).is_ok());
    let error = Schema::compile(&list(most + 1)).unwrap_err();
    assert_eq!((error.kind.clone(), error.code()), (SchemaErrorKind::Nodes, Code::JsonNodes));
}

// A value that no parser bounded is walked no deeper than its schema.
#[test]
fn a_deep_value_is_no_deeper_than_its_schema() {
    let mut value = Json::Null;
    for _ in 0..2000 {
        value = Json::Array(vec![value]);
    }
    let issues = Schema::compile(&nested_arrays(JSON_DEPTH_MAX)).unwrap().validate(&value).unwrap_err();
    assert_eq!(issues.as_slice()[0].pointer, "/0".repeat(JSON_DEPTH_MAX - 2));
}

fn nodes_in(value: &Json) -> usize {
    1 + match value {
        Json::Array(items) => items.iter().map(nodes_in).sum(),
        Json::Object(entries) => entries.values().map(nodes_in).sum(),
        _ => 0,
    }
}

/// Steps of a passing validation, and the bound of the module's argument.
fn steps(schema: &Schema, value: &Json) -> (usize, usize) {
    let mut walk = Walk::with_room(SCHEMA_ISSUES_MAX);
    assert!(walk.node(&schema.root, value, &pointer::Path::Root).is_continue());
    (walk.steps, 2 * nodes_in(schema.to_json()) * nodes_in(value))
}

// CHK-101: nested anyOf costs each item a visit of each schema node, not more, at the largest sizes there are.
#[test]
fn any_of_is_tried_once_for_each_pair() {
    fn tree(levels: usize, last: &str) -> String {
        if levels == 0 {
            return last.to_owned();
        }
        let miss = tree(levels - 1, r#"{"type":"null"}"#);
        format!(r#"{{"anyOf":[{miss},{miss},{miss},{}]}}"#, tree(levels - 1, last))
    }
    // 4^5 leaves, only the last of which matches; 341 inner nodes.
    let text = format!(r#"{{"type":"array","items":{}}}"#, tree(5, r#"{"type":"integer"}"#));
    let schema = schema(&text);
    let items = JSON_NODES_MAX - 1;
    let value = json(&format!("[{}]", vec!["0"; items].join(",")));
    let (steps, bound) = steps(&schema, &value);
    assert_eq!(steps, 1 + items * (1024 + 341));
    assert!(steps <= bound);
}

// CHK-101: alternatives at every level of a deep value add up; they do not multiply.
#[test]
fn any_of_at_every_level_does_not_blow_up() {
    fn chain(levels: usize, last: &str) -> String {
        if levels == 0 {
            return last.to_owned();
        }
        let branch = |last| {
            let inner = chain(levels - 1, last);
            format!(r#"{{"type":"object","properties":{{"a":{inner}}},"required":["a"]}}"#)
        };
        format!(r#"{{"anyOf":[{},{}]}}"#, branch(r#"{"type":"null"}"#), branch(last))
    }
    let schema = schema(&chain(7, r#"{"type":"integer"}"#));
    let value = json(&format!("{}0{}", r#"{"a":"#.repeat(7), "}".repeat(7)));
    let (steps, _) = steps(&schema, &value);
    // Each schema node meets one value only, and each object schema looks up one name.
    assert!(steps <= nodes_in(schema.to_json()), "{steps}");
}

// CHK-101: declared, required and present names are matched by look-up, not each with each.
#[test]
fn properties_cost_one_look_up_each() {
    let count = (JSON_NODES_MAX - 5) / 3;
    let names: Vec<_> = (0..count).map(|i| format!("\"k{i}\"")).collect();
    let list =
        |suffix: &str| names.iter().map(|name| format!("{name}{suffix}")).collect::<Vec<_>>().join(",");
    let text = format!(
        r#"{{"type":"object","properties":{{{}}},"required":[{}],"additionalProperties":false}}"#,
        list(r#":{"type":"null"}"#),
        list("")
    );
    let schema = schema(&text);
    let value = json(&format!("{{{}}}", list(":null")));
    let (steps, bound) = steps(&schema, &value);
    assert_eq!(steps, 1 + 3 * count);
    assert!(steps <= bound);
}
