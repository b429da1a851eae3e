use super::*;

fn parse(text: &str) -> Result<Json, JsonErrorKind> {
    Json::parse(text.as_bytes(), 1 << 20).map_err(|error| error.kind)
}

fn nested(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

// CHK-056, CHK-116: at the limit and one over.
#[test]
fn depth_32_is_taken_and_33_refused() {
    assert!(parse(&nested(32)).is_ok());
    assert_eq!(parse(&nested(33)), Err(JsonErrorKind::Depth));
    assert!(parse(&format!("{}1{}", "[".repeat(31), "]".repeat(31))).is_ok());
    assert_eq!(parse(&format!("{}1{}", "[".repeat(32), "]".repeat(32))), Err(JsonErrorKind::Depth));
    assert_eq!(parse(&"[".repeat(100_000)), Err(JsonErrorKind::Depth));
}

// CHK-056, CHK-116
#[test]
fn nodes_4096_are_taken_and_4097_refused() {
    let array = |n: usize| format!("[{}]", vec!["0"; n].join(","));
    assert!(parse(&array(4095)).is_ok());
    assert_eq!(parse(&array(4096)), Err(JsonErrorKind::Nodes));
    let object = |n: usize| {
        let entries: Vec<_> = (0..n).map(|i| format!("\"k{i}\":0")).collect();
        format!("{{{}}}", entries.join(","))
    };
    assert!(parse(&object(4095)).is_ok());
    assert_eq!(parse(&object(4096)), Err(JsonErrorKind::Nodes));
}

// CHK-055, CHK-116
#[test]
fn bytes_at_the_cap_are_taken_and_one_more_refused() {
    assert!(Json::parse(b"12345", 5).is_ok());
    let error = Json::parse(b"12345", 4).unwrap_err();
    assert_eq!((error.kind, error.place), (JsonErrorKind::TooLarge { bytes_max: 4 }, None));
}

// CHK-087, CHK-115
#[test]
fn duplicate_keys_are_refused_however_they_are_written() {
    assert_eq!(parse(r#"{"a":1,"a":1}"#), Err(JsonErrorKind::DuplicateKey));
    assert_eq!(parse(r#"{"a":1,"\u0061":2}"#), Err(JsonErrorKind::DuplicateKey));
    assert_eq!(parse(r#"[{"b":{"a":1,"b":2,"a":3}}]"#), Err(JsonErrorKind::DuplicateKey));
    assert!(parse(r#"{"a":{"a":1},"b":{"a":1}}"#).is_ok());
}

// CHK-114
#[test]
fn surrogates() {
    assert_eq!(parse(r#""\ud83d\ude00""#), Ok(Json::String("😀".to_owned())));
    for lone in [r#""\ud83d""#, r#""\ude00""#, r#""\ud83dx""#, r#""\ud83d\n""#, r#""\ud83d\ud83d""#] {
        assert_eq!(parse(lone), Err(JsonErrorKind::Surrogate), "{lone}");
    }
    assert_eq!(parse(r#"{"\ud83d":1}"#), Err(JsonErrorKind::Surrogate));
}

// CHK-116
#[test]
fn exactly_one_value() {
    for trailing in ["1 2", "{} {}", "[1]]", "null,", "1\u{feff}"] {
        assert_eq!(parse(trailing), Err(JsonErrorKind::Trailing), "{trailing:?}");
    }
    for nothing in ["", " ", "\n"] {
        assert_eq!(parse(nothing), Err(JsonErrorKind::Syntax), "{nothing:?}");
    }
    assert!(parse(" \t\r\n1\n ").is_ok());
}

// CHK-116
#[test]
fn numbers_must_be_finite_and_written_as_json() {
    for bad in ["NaN", "Infinity", "-Infinity", "01", "+1", ".5", "1.", "0x1", "1e", "--1"] {
        assert!(matches!(parse(bad), Err(JsonErrorKind::Syntax | JsonErrorKind::Trailing)), "{bad}");
    }
    for beyond in ["1e400", "-1e400", "[1e309]"] {
        assert_eq!(parse(beyond), Err(JsonErrorKind::Number), "{beyond}");
    }
    assert!(parse(&"9".repeat(400)).is_err());
    assert!(parse("1e-400").is_ok());
}

#[test]
fn other_syntax() {
    let cases = ["'a'", "{a:1}", "[1,]", "{\"a\":1,}", "// c\n1", "\"\u{1}\"", "\"\\x\"", "\u{feff}1", "tru"];
    for bad in cases {
        assert_eq!(parse(bad), Err(JsonErrorKind::Syntax), "{bad:?}");
    }
    assert_eq!(Json::parse(b"\"\xff\"", 10).unwrap_err().kind, JsonErrorKind::Encoding);
    assert_eq!(Json::parse(b"\"\xed\xa0\x80\"", 10).unwrap_err().kind, JsonErrorKind::Encoding);
}

#[test]
fn errors_have_places() {
    let error = Json::parse(b"{\n  \"a\": 1,\n  \"a\": 2\n}", 100).unwrap_err();
    assert_eq!((error.code(), error.place.unwrap().line), (Code::JsonDuplicateKey, 3));
    let error = Json::parse(b"[1,\n x]", 100).unwrap_err();
    assert_eq!((error.code(), error.place), (Code::JsonSyntax, Some(Place { line: 2, column: 2 })));
}

// CHK-100: how 5.0, big integers and -0 compare.
#[test]
fn numbers_compare_by_value() {
    let number = |text: &str| match parse(text) {
        Ok(Json::Number(number)) => number,
        other => panic!("{text}: {other:?}"),
    };
    for (a, b) in [
        ("5", "5.0"),
        ("5", "5e0"),
        ("0", "-0"),
        ("-0", "0.0"),
        ("-0", "-0.0"),
        ("1e2", "100"),
        ("18446744073709551616", "1.8446744073709551616e19"),
        ("0.1", "0.10"),
    ] {
        assert_eq!(number(a), number(b), "{a} {b}");
    }
    for (less, more) in [
        ("4.9", "5"),
        ("5", "5.1"),
        ("-5.1", "-5"),
        ("9007199254740992.0", "9007199254740993"),
        ("18446744073709551614", "18446744073709551615"),
        ("18446744073709551615", "1e20"),
        ("-1e40", "0"),
        ("1", "1e40"),
        ("-9223372036854775808", "-9223372036854775807"),
        ("-0.5", "0"),
        ("0", "0.5"),
    ] {
        assert!(number(less) < number(more), "{less} {more}");
        assert!(number(more) > number(less), "{less} {more}");
    }
    for whole in ["5", "5.0", "-0", "1e300", "-2.0", "18446744073709551616"] {
        assert!(number(whole).is_integer(), "{whole}");
    }
    for broken in ["5.1", "1e-1", "-0.5"] {
        assert!(!number(broken).is_integer(), "{broken}");
    }
    for kept in ["-9223372036854775807", "0.1", "18446744073709551615", "1e19", "-9223372036854774784.0"] {
        assert!(number(kept).is_exactly_comparable(), "{kept}");
    }
    for rounded in
        ["-9223372036854775808", "-9223372036854775808.0", "-1e300", "18446744073709551616", "2e19"]
    {
        assert!(!number(rounded).is_exactly_comparable(), "{rounded}");
    }
    assert_eq!(number("5.0").as_u64(), Some(5));
    assert_eq!(number("-1").as_u64(), None);
    assert_eq!(number("1e20").as_u64(), None);
    assert_eq!(number("-5.0").as_i64(), Some(-5));
    assert_eq!(number("-9223372036854775808").as_i64(), Some(i64::MIN));
    assert_eq!(number("9223372036854775808").as_i64(), None);
    assert_eq!(number("0.5").as_i64(), None);
}

proptest::proptest! {
    // The reader that everybody uses is the judge: what we take, it takes, with the same value.
    #[test]
    fn what_is_taken_agrees_with_serde_json(text in r#"[\[\]{}",:0-9a-z\\. -]{0,40}"#) {
        if let Ok(ours) = parse(&text) {
            let theirs: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_value(&ours).unwrap(), theirs);
        }
    }
}
