use super::*;

fn json(text: &str) -> Result<String, YamlErrorKind> {
    let node = parse(text).map_err(|error| error.kind)?;
    Ok(serde_json::to_string(&node.value).unwrap())
}

#[test]
fn scalars_mean_what_yaml_1_2_says() {
    let cases = [
        ("a: no", r#"{"a":"no"}"#),
        ("a: on", r#"{"a":"on"}"#),
        ("a: true", r#"{"a":true}"#),
        ("a: 'true'", r#"{"a":"true"}"#),
        ("a: 3000", r#"{"a":3000}"#),
        ("a: \"3000\"", r#"{"a":"3000"}"#),
        ("a: 1.10", r#"{"a":1.1}"#),
        ("a: 1.2.3", r#"{"a":"1.2.3"}"#),
        ("a: 0x1F", r#"{"a":31}"#),
        ("a: 0o17", r#"{"a":15}"#),
        ("a: .inf", r#"{"a":".inf"}"#),
        ("a: nan", r#"{"a":"nan"}"#),
        ("a: 1e999", r#"{"a":"1e999"}"#),
        ("a: e", r#"{"a":"e"}"#),
        ("a:", r#"{"a":null}"#),
        ("a: 2026-01-02", r#"{"a":"2026-01-02"}"#),
        ("a: >-\n  x\n  y", r#"{"a":"x y"}"#),
        ("a: |\n  x\n  y\n", r#"{"a":"x\ny\n"}"#),
        ("a: [1, b]\nc: {d: e}", r#"{"a":[1,"b"],"c":{"d":"e"}}"#),
        ("- a\n- b", r#"["a","b"]"#),
        ("", "null"),
        ("<<: x", r#"{"<<":"x"}"#),
    ];
    for (text, expected) in cases {
        assert_eq!(json(text).as_deref(), Ok(expected), "{text:?}");
    }
}

// CHK-067: aliases, tags, a second document, keys that stand twice.
#[test]
fn what_readers_disagree_on_is_refused() {
    let cases = [
        ("a: 1\na: 2", YamlErrorKind::DuplicateKey),
        ("a: 1\n\"a\": 2", YamlErrorKind::DuplicateKey),
        ("x: {a: 1, b: 2, a: 3}", YamlErrorKind::DuplicateKey),
        ("a: &x 1", YamlErrorKind::Indirection),
        ("a: &x [1]", YamlErrorKind::Indirection),
        ("a: &x {b: 1}", YamlErrorKind::Indirection),
        ("a: *x", YamlErrorKind::Indirection),
        ("a: &x 1\nb: *x", YamlErrorKind::Indirection),
        ("a: !!str 1", YamlErrorKind::Indirection),
        ("a: !x {}", YamlErrorKind::Indirection),
        ("? [a]\n: b", YamlErrorKind::KeyNotScalar),
        ("a: 1\n---\nb: 2", YamlErrorKind::SecondDocument),
        ("a: 1\rb: 2", YamlErrorKind::DisputedLineEnd),
        ("a: 1\r\r\nb: 2", YamlErrorKind::DisputedLineEnd),
        ("a: 1\r", YamlErrorKind::DisputedLineEnd),
        ("a: 1 # \u{2028}b: 2", YamlErrorKind::DisputedLineEnd),
        ("a: 1 # \u{2029}b: 2", YamlErrorKind::DisputedLineEnd),
        ("a: \"1\u{85}2\"", YamlErrorKind::DisputedLineEnd),
    ];
    for (text, kind) in cases {
        assert_eq!(json(text), Err(kind), "{text:?}");
    }
    for syntax in ["a: b: c", "a: [", "a: \"x", "%YAML 1.1\n---\na: 1", "a: 1\n\tb: 2", "a: @x", "a: `x"] {
        assert!(matches!(json(syntax), Err(YamlErrorKind::Syntax(_))), "{syntax:?}: {:?}", json(syntax));
    }
}

// CHK-067
#[test]
fn depth_16_is_taken_and_17_refused() {
    let flow = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(json(&flow(16)).is_ok());
    assert_eq!(json(&flow(17)), Err(YamlErrorKind::Limit));
    assert_eq!(json(&"[".repeat(50_000)), Err(YamlErrorKind::Limit));
    let block = |n: usize| (0..n).map(|i| " ".repeat(i) + "a:\n").collect::<Vec<_>>().concat();
    assert!(json(&block(16)).is_ok());
    assert_eq!(json(&block(17)), Err(YamlErrorKind::Limit));
    assert_eq!(json(&"- ".repeat(5000)), Err(YamlErrorKind::Limit));
}

// CHK-067
#[test]
fn nodes_4096_are_taken_and_4097_refused() {
    let list = |n: usize| "- x\n".repeat(n);
    assert!(json(&list(4095)).is_ok());
    assert_eq!(json(&list(4096)), Err(YamlErrorKind::Limit));
}

#[test]
fn errors_have_places() {
    let error = parse("a: 1\nb: 2\na: 3").unwrap_err();
    assert_eq!(error.place, Place { line: 3, column: 1 });
    let error = parse("name: x\ndescription: Use when: asked").unwrap_err();
    assert_eq!(error.place.line, 2, "{error}");
}

proptest::proptest! {
    #[test]
    fn never_panics(text in "[a-z:\\[\\]{}&*!|>\"'#%@`?, \n\t-]{0,60}") {
        let _ = parse(&text);
    }
}
