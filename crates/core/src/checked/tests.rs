use core::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::code::{Code, Coded as _};
use crate::digest::VerifiedRevision;
use crate::id::ReceiptId;
use crate::json::{Json, JsonErrorKind};
use crate::limits::{JSON_DEPTH_MAX, JSON_NODES_MAX, SCHEMA_ISSUES_MAX};
use crate::receipt::{Exit, Killed, Processes};
use crate::schema::Schema;
use crate::wiped::Wiped;

fn schema(text: &str) -> Schema {
    Schema::compile(&Json::parse(text.as_bytes(), 1 << 16).unwrap()).unwrap()
}

/// Takes anything.
fn anything() -> Schema {
    schema(
        r#"{"anyOf":[{"type":"object","properties":{}},{"type":"array","items":{"type":"integer"}},{"type":"number"},{"type":"string"}]}"#,
    )
}

fn read(bytes: &[u8], schema: &Schema) -> Result<Answer, CaptureError> {
    let mut capture = Capture::new(1 << 16);
    capture.push(bytes)?;
    capture.answer(schema)
}

fn kind(bytes: &[u8]) -> Result<(), JsonErrorKind> {
    match read(bytes, &anything()) {
        Ok(_) => Ok(()),
        Err(CaptureError::Json(error)) => Err(error.kind),
        Err(other) => panic!("{other:?}"),
    }
}

// CHK-097, CHK-113, CHK-116: one value, white space around it, and nothing else.
#[test]
fn one_value_is_an_answer_and_nothing_else_is() {
    for good in ["{}", " {} \r\n\t", "[1]", "-1.5e3", "\"\u{fffd}\"", r#"{"__proto__":1,"constructor":2}"#] {
        assert_eq!(kind(good.as_bytes()), Ok(()), "{good}");
    }
    for (bad, expected) in [
        ("", JsonErrorKind::Syntax),
        ("  \n", JsonErrorKind::Syntax),
        ("{} {}", JsonErrorKind::Trailing),
        ("{}\n[1]\n", JsonErrorKind::Trailing),
        ("{} done", JsonErrorKind::Trailing),
        ("{}\0", JsonErrorKind::Trailing),
        ("NaN", JsonErrorKind::Syntax),
        ("{\"n\":NaN}", JsonErrorKind::Syntax),
        ("-Infinity", JsonErrorKind::Syntax),
        ("1e999", JsonErrorKind::Number),
        ("\u{feff}{}", JsonErrorKind::Syntax),
        ("{\"a\":1,\"a\":1}", JsonErrorKind::DuplicateKey),
        (r#""\ud800""#, JsonErrorKind::Surrogate),
        ("{'a':1}", JsonErrorKind::Syntax),
        ("{\"a\":1,}", JsonErrorKind::Syntax),
        ("{\"a\":", JsonErrorKind::Syntax),
    ] {
        assert_eq!(kind(bad.as_bytes()), Err(expected), "{bad}");
    }
}

// CHK-116: depth and count at the limit and one over.
#[test]
fn the_bounds_of_json_hold_for_answers() {
    let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert_eq!(kind(nested(JSON_DEPTH_MAX + 1).as_bytes()), Err(JsonErrorKind::Depth));
    // Deeper than the schema, and no deeper than the bound.
    assert!(matches!(read(nested(JSON_DEPTH_MAX).as_bytes(), &anything()), Err(CaptureError::Schema(_))));
    let list = |n: usize| format!("[{}]", vec!["0"; n].join(","));
    assert_eq!(kind(list(JSON_NODES_MAX - 1).as_bytes()), Ok(()));
    assert_eq!(kind(list(JSON_NODES_MAX).as_bytes()), Err(JsonErrorKind::Nodes));
}

// CHK-106, CHK-107, CHK-117, CHK-124, CHK-126: exact to the byte, the first error is final, and nothing is added after it.
#[test]
fn the_cap_is_exact_and_the_first_error_is_final() {
    let mut capture = Capture::new(4);
    assert_eq!(capture.push(b"1234"), Ok(()));
    assert_eq!(capture.push(b""), Ok(()));
    let at = capture.held.as_ptr();
    assert_eq!(capture.finish(), Ok(()));
    let excess = CaptureError::TooLarge { bytes_max: 4 };
    assert_eq!(capture.push(b"5"), Err(excess.clone()));
    assert_eq!((capture.held.as_ptr(), &capture.held), (at, &Wiped::from("1234")));
    // Neither a smaller piece nor another fault changes that.
    assert_eq!(capture.push(b"1"), Err(excess.clone()));
    assert_eq!(capture.push(b"\xff"), Err(excess.clone()));
    assert_eq!(capture.finish(), Err(excess.clone()));
    assert_eq!(capture.error(), Some(&excess));
    assert_eq!(capture.answer(&anything()), Err(excess));
    // For the record, and not as an answer.
    assert_eq!(capture.into_bytes(), b"1234");

    let mut capture = Capture::new(4);
    assert_eq!(capture.push(b"\xff"), Err(CaptureError::Encoding));
    assert_eq!(capture.push(b"12345"), Err(CaptureError::Encoding));
    assert_eq!(capture.into_bytes(), b"\xff");
    assert_eq!(Capture::new(0).push(b""), Ok(()));
}

// CHK-123, CHK-125, CHK-128: a character in pieces is one, half of one is none.
#[test]
fn encoding_is_strict_over_pieces() {
    let whole = "\"ä€😀\"".as_bytes();
    for cut in 0..=whole.len() {
        let mut capture = Capture::new(64);
        capture.push(&whole[..cut]).unwrap();
        assert!(capture.held.len() - capture.whole <= 3, "{cut}");
        assert_eq!(capture.finish().is_ok(), core::str::from_utf8(&whole[..cut]).is_ok(), "{cut}");
        capture.push(&whole[cut..]).unwrap();
        assert_eq!(capture.answer(&anything()).unwrap().value().as_str(), Some("ä€😀"));
    }
    // Over-long, a surrogate, beyond the last character, a byte out of place: said as soon as it is sure.
    for bad in [
        b"\xc0\x80".as_slice(),
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"a\x80",
        b"\xe2\x28",
        b"\xf0\x9f\x98\x22",
    ] {
        let mut capture = Capture::new(64);
        let mut said = Ok(());
        for byte in bad {
            said = capture.push(core::slice::from_ref(byte));
        }
        assert_eq!(said, Err(CaptureError::Encoding), "{bad:?}");
    }
}

proptest! {
    // CHK-128: how the bytes come in pieces changes nothing, and nobody else's buffer is held.
    #[test]
    fn pieces_do_not_matter(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..64),
            "[\\[\\]{}\",:0-9 ä€😀]{0,24}".prop_map(String::into_bytes),
        ],
        cuts in prop::collection::vec(0usize..65, 0..8),
        bytes_max in 0u32..64,
    ) {
        let schema = super::tests::anything();
        let mut whole = Capture::new(bytes_max);
        let _ = whole.push(&bytes);
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut capture = Capture::new(bytes_max);
        let mut from = 0;
        for cut in cuts.into_iter().chain([bytes.len()]) {
            let mut piece = bytes[from..cut].to_vec();
            let _ = capture.push(&piece);
            piece.fill(b'!');
            from = cut;
        }
        match (whole.answer(&schema), capture.answer(&schema)) {
            // Which of two faults is met first depends on the pieces.
            (Err(_), Err(_)) => {}
            (one, other) => prop_assert_eq!(one, other),
        }
    }
}

// CHK-098, CHK-114, CHK-127: judged by the schema as it stands, and an error holds no name and no value of the program's.
#[test]
fn an_error_says_where_and_nothing_of_what() {
    let schema = schema(
        r#"{"type":"object","additionalProperties":false,"required":["n"],
            "properties":{"n":{"type":"integer"},"list":{"type":"array","items":{"type":"object","properties":{},"additionalProperties":false}}}}"#,
    );
    assert!(read(br#"{"n":1}"#, &schema).is_ok());
    assert!(matches!(read(br#"{"n":"1"}"#, &schema), Err(CaptureError::Schema(_))));
    let error = read(br#"{"secret-name":"secret","list":[{"secret/2":"secret"}]}"#, &schema).unwrap_err();
    assert_eq!(error.code(), Code::ToolBadResponse);
    let problems = error.problems();
    let mut places: Vec<_> =
        problems.iter().map(|problem| (problem.pointer.as_deref(), problem.keyword)).collect();
    places.sort_unstable();
    let expected = [
        (None, None),
        (Some(""), Some("additionalProperties")),
        (Some("/list/0"), Some("additionalProperties")),
        (Some("/n"), Some("required")),
    ];
    assert_eq!(places, expected);
    let all =
        format!("{error} {error:?} {problems:?} {:?} {:?}", read(br#"{"n":1}"#, &schema), Capture::new(1));
    assert!(!all.contains("secret"), "{all}");
}

// CHK-144: a place that a schema makes as long as it likes is left out, and the result stays within its bound.
#[test]
fn the_bound_of_a_result_holds_for_long_places() {
    let fails_at = |name: &str, count: usize| {
        let inner: Vec<_> = (0..count).map(|n| format!(r#""{n}":{{"type":"null"}}"#)).collect();
        let object = |inner: &str| format!(r#"{{"type":"object","properties":{{{inner}}}}}"#);
        let schema = schema(&object(&format!(r#""{name}":{}"#, object(&inner.join(",")))));
        let inner: Vec<_> = (0..count).map(|n| format!(r#""{n}":1"#)).collect();
        let answer = format!(r#"{{"{name}":{{{}}}}}"#, inner.join(","));
        let problems = read(answer.as_bytes(), &schema).unwrap_err().problems();
        CheckedResult::of(facts(), Err(problems))
    };
    // "~" is two bytes in a pointer. One "/" before the name and three bytes behind it.
    let longest = "~".repeat((POINTER_BYTES_MAX - 3) / 2 - 1);
    let told = |result: &CheckedResult| {
        let problems = result.outcome().unwrap_err();
        problems.iter().filter(|problem| problem.pointer.is_some()).count()
    };
    assert_eq!(told(&fails_at(&longest, 1)), 1);
    assert_eq!(told(&fails_at(&format!("{longest}~"), 1)), 1);
    assert_eq!(told(&fails_at(&format!("{longest}~~"), 1)), 0);
    let worst = fails_at(&"~".repeat(60_000), SCHEMA_ISSUES_MAX);
    assert_eq!((told(&worst), worst.outcome().unwrap_err().len()), (0, SCHEMA_ISSUES_MAX + 1));
    assert!(worst.to_json().to_bytes().len() < CHECKED_RESULT_BYTES_MAX);
}

fn facts() -> CheckedFacts {
    CheckedFacts {
        revision: VerifiedRevision::of::<&[u8]>(&std::collections::BTreeMap::new()).revision(),
        runtime_version: Some("v20.0.0".to_owned()),
        elapsed: Duration::from_millis(12),
        exit: Some(Exit::Code(0)),
        killed: None,
        processes: Processes::ProvenGone,
        receipt: Some(ReceiptId::from_random([7; 16])),
    }
}

// CHK-111, CHK-117, CHK-129: an answer alone is no success.
#[test]
fn success_takes_all_of_it() {
    let answer = || read(b"{}", &anything());
    let good = CheckedResult::of(facts(), Ok(answer().unwrap()));
    assert!(good.is_success() && good.outcome().is_ok());
    for (facts, code) in [
        (CheckedFacts { exit: Some(Exit::Code(1)), ..facts() }, Code::ScriptFailed),
        (CheckedFacts { exit: Some(Exit::Signal(9)), ..facts() }, Code::ScriptFailed),
        (CheckedFacts { exit: None, ..facts() }, Code::ScriptFailed),
        (CheckedFacts { processes: Processes::Unproven, ..facts() }, Code::ProcessesLeft),
        (CheckedFacts { processes: Processes::NoneStarted, ..facts() }, Code::ScriptFailed),
        (CheckedFacts { killed: Some(Killed::Deadline), ..facts() }, Code::ScriptTimeout),
        (CheckedFacts { killed: Some(Killed::Output), ..facts() }, Code::ScriptOutputLimit),
        (CheckedFacts { killed: Some(Killed::Cancelled), ..facts() }, Code::Cancelled),
        (CheckedFacts { killed: Some(Killed::Content), ..facts() }, Code::ToolBadResponse),
    ] {
        let result = CheckedResult::of(facts, Ok(answer().unwrap()));
        assert_eq!(result.outcome().unwrap_err()[0].code, code);
        let json = result.to_json();
        let fields = json.as_object().unwrap();
        assert_eq!((fields["status"].as_str(), &fields["output"]), (Some("failed"), &Json::Null));
    }
    assert_eq!(CheckedResult::of(facts(), Err(Vec::new())).outcome().unwrap_err().len(), 1);
}

// CHK-144, CHK-145: every field is there, and the whole is bounded.
#[test]
fn a_result_has_its_shape_and_its_bound() {
    let result = CheckedResult::of(facts(), Ok(read(b"[1]", &anything()).unwrap()));
    let text = String::from_utf8(result.to_json().to_bytes()).unwrap();
    let revision = result.facts().revision;
    assert_eq!(
        text,
        format!(
            r#"{{"elapsed_ms":12,"errors":[],"exit_code":0,"killed":null,"output":[1],"processes":"proven_gone","receipt":"rcpt_{}","revision":"{revision}","runtime_version":"v20.0.0","schema_version":1,"signal":null,"status":"succeeded"}}"#,
            "07".repeat(16)
        )
    );
    // The longest way to write what was short: 4,095 numbers in 256 KiB.
    let numbers = format!("[{}{}]", "1e15,".repeat(4093), "1e300,".to_owned() + "1".repeat(200_000).as_str());
    let mut capture = Capture::new(256 << 10);
    capture.push(numbers.as_bytes()).unwrap();
    assert!(matches!(capture.answer(&anything()), Err(CaptureError::Json(_))));
    let numbers = format!("[{}1e15]", "1e15,".repeat(4094));
    let list = self::schema(r#"{"type":"array","items":{"type":"number"}}"#);
    let mut capture = Capture::new(256 << 10);
    capture.push(numbers.as_bytes()).unwrap();
    let longest = CheckedResult::of(facts(), capture.answer(&list).map_err(|error| error.problems()));
    assert!(longest.is_success());
    assert!(longest.to_json().to_bytes().len() < CHECKED_RESULT_BYTES_MAX);
    // Bytes that JSON escapes.
    let mut capture = Capture::new(256 << 10);
    capture.push(format!("\"{}\"", "\u{7f}".repeat((256 << 10) - 2)).as_bytes()).unwrap();
    let longest = CheckedResult::of(facts(), capture.answer(&anything()).map_err(|error| error.problems()));
    assert!(longest.is_success() && longest.to_json().to_bytes().len() < CHECKED_RESULT_BYTES_MAX);
    // As many places as are reported, and one more problem that says so.
    let many = format!("[{}]", vec!["\"x\""; 100].join(","));
    let problems = read(many.as_bytes(), &list).unwrap_err().problems();
    assert_eq!(problems.len(), SCHEMA_ISSUES_MAX + 2);
    assert!(problems.len() <= PROBLEMS_MAX);
    assert_eq!(
        CheckedResult::of(facts(), Err([problems.clone(), problems.clone()].concat()))
            .outcome()
            .unwrap_err()
            .len(),
        PROBLEMS_MAX
    );
}
