use core::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::manifest::{Flag, FumehoodManifest, ParamClaim, PathAccess};
use crate::schema::Schema;
use crate::tool::{Effect, Origin, Tier, ToolDefinition};

const TIMEOUT_MAX: Duration = Duration::from_mins(2);

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes(), INVOCATION_BYTES_MAX).unwrap()
}

fn params(params: &str) -> Vec<ParamClaim> {
    let text = format!(
        r#"{{"schemaVersion": 1, "scripts": [{{"name": "s", "path": "s.py", "description": "d", "interpreter": "python3",
            "params": [{params}]}}]}}"#
    );
    FumehoodManifest::parse(text.as_bytes()).unwrap().scripts()[0].params().to_vec()
}

/// One parameter of each kind, with and without flags.
fn all_kinds() -> Vec<ParamClaim> {
    params(
        r#"{"name": "command", "type": "enum", "values": ["sum", "mean"]},
           {"name": "text", "type": "string", "maxLength": 5, "flag": "--text"},
           {"name": "count", "type": "integer", "minimum": -5, "maximum": 99, "flag": "-n"},
           {"name": "scale", "type": "number", "minimum": -1, "maximum": 2.5, "flag": "--scale"},
           {"name": "verbose", "type": "boolean", "flag": "--verbose"},
           {"name": "file", "type": "path", "access": "read", "description": "The table."},
           {"name": "report", "type": "path", "access": "create", "flag": "--out"}"#,
    )
}

/// The vector as text, paths in brackets.
fn argv(params: &[ParamClaim], arguments: &str) -> Result<Vec<String>, (Option<String>, ArgumentFault)> {
    let built = script_arguments(params, &json(arguments), TIMEOUT_MAX);
    let built = built.map_err(|error| (error.param.map(|param| param.to_string()), error.fault))?;
    let show = |argument: &Argument| match argument {
        Argument::Text(text) => text.clone(),
        Argument::Path { access, value, .. } => format!("[{} {value}]", access.as_str()),
    };
    Ok(built.argv.iter().map(show).collect())
}

fn registry() -> Registry {
    let input = json(
        r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false}"#,
    );
    let tool = ToolSpec::new(ToolDefinition {
        name: "add",
        description: "Adds.",
        input: &input,
        effect: Effect::ReadOnly,
        retries: 0,
        timeout: Duration::from_secs(1),
        tier: Tier::Module,
        origin: Origin::Host,
        approval: None,
    });
    let mut registry = Registry::new();
    registry.register(vec![tool.unwrap()]).unwrap();
    registry
}

fn call(tool: &str, arguments: &[u8]) -> Result<Call, CallError> {
    Call::validate(&RawCall { tool: tool.to_owned(), arguments: arguments.to_vec() }, &registry())
}

// XSF-17, CHK-112: the bytes are one thing with the value.
#[test]
fn a_call_holds_what_was_checked() {
    let valid = call("add", b" { \"n\" : 5 } ").unwrap();
    assert_eq!((valid.tool().as_str(), valid.invocation().bytes()), ("add", &br#"{"n":5}"#[..]));
    assert_eq!(valid.invocation().value(), &json(r#"{"n": 5}"#));
    assert_eq!(valid.invocation().sha256(), Sha256::of(br#"{"n":5}"#));
}

// GRT-10: a name that is not offered gets one generic answer, whatever the arguments are.
#[test]
fn an_unknown_tool_is_unknown_first() {
    for name in ["", "sub", "ADD", "add ", "artifact_head", "../add"] {
        let error = call(name, b"\xff").unwrap_err();
        assert_eq!((error.code(), error.clone()), (Code::ToolUnknown, CallError::UnknownTool));
        assert_eq!(error.to_string(), "no tool of this name can be called here");
    }
}

// XSF-17, XSF-46, XSF-56, XSF-57
#[test]
fn arguments_that_do_not_fit_are_no_call() {
    for (arguments, code) in [
        (&b""[..], Code::JsonSyntax),
        (b"\xff", Code::JsonEncoding),
        (b"{\"n\": 1} {}", Code::JsonTrailing),
        (b"{\"n\": 1, \"n\": 2}", Code::JsonDuplicateKey),
        (b"[]", Code::SchemaMismatch),
        (b"{}", Code::SchemaMismatch),
        (b"{\"n\": \"5\"}", Code::SchemaMismatch),
        (b"{\"n\": 5, \"m\": 5}", Code::SchemaMismatch),
    ] {
        assert_eq!(call("add", arguments).unwrap_err().code(), code, "{arguments:?}");
    }
}

// CHK-104: 64 KiB of text, and 64 KiB of what is hashed and sent.
#[test]
fn an_invocation_has_64_kib() {
    let padded = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
    assert_eq!(Invocation::parse(padded(65_536).as_bytes()).unwrap().bytes().len(), 65_536);
    let too_large = |text: &str| Invocation::parse(text.as_bytes()).unwrap_err().code();
    assert_eq!(too_large(&padded(65_537)), Code::JsonTooLarge);
    // Four bytes that stand for eighteen.
    let numbers = format!("[{}1e15]", "1e15,".repeat(4_000));
    assert!(numbers.len() < INVOCATION_BYTES_MAX);
    assert_eq!(too_large(&numbers), Code::JsonTooLarge);
}

// CHK-113, CHK-007: what is written otherwise may be another call, and what is another value always is.
#[test]
fn canonical_bytes_are_of_the_value() {
    let bytes = |text: &str| Invocation::parse(text.as_bytes()).unwrap().bytes().to_vec();
    assert_eq!(bytes(r#"{"b": 1, "a": "\u0041"}"#), bytes(r#"{"a":"A","b":1}"#));
    assert_ne!(bytes(r#"{"a": 1}"#), bytes(r#"{"a": "1"}"#));
    assert_ne!(bytes(r#"{"a": 9007199254740993}"#), bytes(r#"{"a": 9007199254740992}"#));
    assert_ne!(bytes(r#"{"a": "\u00e9"}"#), bytes(r#"{"a": "e\u0301"}"#));
}

// XSF-47, XSF-58: what reaches a log by accident holds no argument.
#[test]
fn debug_forms_hold_no_arguments() {
    let raw = RawCall { tool: "secret-tool".to_owned(), arguments: br#"{"n": 770077}"#.to_vec() };
    let valid = call("add", br#"{"n": 770077}"#).unwrap();
    let text = "secret-text".to_owned();
    let path = script_arguments(
        &params(r#"{"name": "f", "type": "path", "access": "read"}"#),
        &json(r#"{"f": "secret-path"}"#),
        TIMEOUT_MAX,
    );
    for shown in
        [format!("{raw:?}"), format!("{valid:?}"), format!("{:?}", Argument::Text(text)), format!("{path:?}")]
    {
        assert!(!shown.contains("secret") && !shown.contains("770077"), "{shown}");
    }
    for wrong in [&br#"{"n": "secret"}"#[..], br#"{"n": 1, "n": "secret"}"#] {
        assert!(!format!("{0} {0:?}", call("add", wrong).unwrap_err()).contains("secret"));
    }
}

// EXE-43, EXE-45: in the order of the parameters, flag and value two arguments.
#[test]
fn an_argument_vector_follows_the_parameters() {
    let arguments = r#"{"report": "out.md", "file": "a b;$(c).csv", "verbose": true, "scale": 0.5, "count": 7.0,
        "text": "é 'x", "command": "mean"}"#;
    let expected = [
        "mean",
        "--text",
        "é 'x",
        "-n",
        "7",
        "--scale",
        "0.5",
        "--verbose",
        "[read a b;$(c).csv]",
        "--out",
        "[create out.md]",
    ];
    assert_eq!(argv(&all_kinds(), arguments), Ok(expected.map(str::to_owned).to_vec()));
    let least = argv(&all_kinds(), r#"{"command": "sum", "file": "f"}"#);
    assert_eq!(least, Ok(["sum", "[read f]"].map(str::to_owned).to_vec()));
}

// EXE-46
#[test]
fn a_boolean_is_its_flag_when_true() {
    let params = params(r#"{"name": "v", "type": "boolean", "flag": "-v"}"#);
    assert_eq!(argv(&params, r#"{"v": true}"#), Ok(vec!["-v".to_owned()]));
    assert_eq!(argv(&params, r#"{"v": false}"#), Ok(vec![]));
    assert_eq!(argv(&params, "{}"), Ok(vec![]));
    for other in ["\"true\"", "1", "null"] {
        let refused = argv(&params, &format!(r#"{{"v": {other}}}"#)).unwrap_err();
        assert_eq!(refused.1, ArgumentFault::Type("a boolean"));
    }
}

// EXE-44: a required argument that is not there is named; nothing moves into its place.
#[test]
fn a_positional_argument_is_never_left_out() {
    let missing = argv(&all_kinds(), r#"{"command": "sum", "text": "a"}"#);
    assert_eq!(missing, Err((Some("file".to_owned()), ArgumentFault::Missing)));
}

// EXE-45: whatever the type, no value can be taken for a flag or be cut short.
#[test]
fn values_that_begin_with_a_dash_or_hold_nul_are_refused() {
    let refused = |name: &str, value: &str| {
        let fixed = format!(r#""command": "sum", "file": "f", "{name}": {value}"#);
        let fixed = if name == "file" { format!(r#""command": "sum", "file": {value}"#) } else { fixed };
        argv(&all_kinds(), &format!("{{{fixed}}}")).map_err(|(_, fault)| fault)
    };
    for name in ["text", "file", "report"] {
        assert_eq!(refused(name, r#""-x""#), Err(ArgumentFault::LeadingDash), "{name}");
        assert_eq!(refused(name, r#""-""#), Err(ArgumentFault::LeadingDash), "{name}");
        assert_eq!(refused(name, r#""a\u0000b""#), Err(ArgumentFault::Nul), "{name}");
        assert!(refused(name, r#""a-b""#).is_ok(), "{name}");
    }
    for (name, value) in [("count", "-1"), ("scale", "-0.5"), ("scale", "-0.0")] {
        assert_eq!(refused(name, value), Err(ArgumentFault::LeadingDash), "{name} {value}");
    }
    assert!(refused("count", "0").is_ok());
}

#[test]
fn values_keep_to_their_parameters() {
    let fault = |name: &str, value: &str| {
        argv(&all_kinds(), &format!(r#"{{"command": "sum", "file": "f", "{name}": {value}}}"#))
            .map(drop)
            .map_err(|(param, fault)| {
                assert_eq!(param.as_deref(), Some(name));
                fault
            })
    };
    for (name, value, expected) in [
        ("text", "\"éééé5\"", Ok(())),
        ("text", "\"éééé56\"", Err(ArgumentFault::TooLong(5))),
        ("text", "5", Err(ArgumentFault::Type("a string"))),
        ("count", "99", Ok(())),
        ("count", "100", Err(ArgumentFault::Range)),
        ("count", "1e300", Err(ArgumentFault::Range)),
        ("count", "1.5", Err(ArgumentFault::Type("an integer"))),
        ("count", "\"1\"", Err(ArgumentFault::Type("an integer"))),
        ("scale", "2.5", Ok(())),
        ("scale", "2.6", Err(ArgumentFault::Range)),
        ("scale", "-2", Err(ArgumentFault::Range)),
        ("scale", "null", Err(ArgumentFault::Type("a number"))),
        ("report", "\"\"", Err(ArgumentFault::Empty)),
        ("report", "[]", Err(ArgumentFault::Type("a string"))),
    ] {
        assert_eq!(fault(name, value), expected, "{name} {value}");
    }
    let listed = argv(&all_kinds(), r#"{"command": "Sum", "file": "f"}"#);
    assert_eq!(listed, Err((Some("command".to_owned()), ArgumentFault::NotListed)));
    let path = |bytes: usize| format!("\"{}\"", "p".repeat(bytes));
    assert_eq!(fault("report", &path(4095)), Ok(()));
    assert_eq!(fault("report", &path(4096)), Err(ArgumentFault::TooLong(4095)));
}

#[test]
fn arguments_that_nothing_declares_are_refused_unnamed() {
    let params = params(r#"{"name": "a", "type": "boolean", "flag": "-a"}"#);
    for other in [r#"{"b": 1}"#, r#"{"a": true, "A": true}"#, r#"{"timeout": 5}"#] {
        let error = script_arguments(&params, &json(other), TIMEOUT_MAX).unwrap_err();
        assert_eq!((error.param.clone(), error.fault), (None, ArgumentFault::Undeclared), "{other}");
        assert_eq!(error.code(), Code::ArgumentInvalid);
    }
    let array = script_arguments(&params, &json("[]"), TIMEOUT_MAX).unwrap_err();
    assert_eq!(array.fault, ArgumentFault::NotAnObject);
}

// EXE-53, CHK-102, X-06: refused, never clamped.
#[test]
fn a_timeout_is_from_1_to_the_ceiling() {
    let timeout = |value: &str| {
        let arguments = json(&format!(r#"{{"timeout_seconds": {value}}}"#));
        script_arguments(&[], &arguments, TIMEOUT_MAX).map(|built| built.timeout).map_err(|error| error.fault)
    };
    assert_eq!(timeout("1"), Ok(Some(Duration::from_secs(1))));
    assert_eq!(timeout("120"), Ok(Some(TIMEOUT_MAX)));
    for out in ["0", "121", "-1", "1.5", "1e300"] {
        assert_eq!(timeout(out), Err(ArgumentFault::Range), "{out}");
    }
    assert_eq!(timeout("\"5\""), Err(ArgumentFault::Type("an integer")));
    assert_eq!(script_arguments(&[], &json("{}"), TIMEOUT_MAX).unwrap().timeout, None);
}

#[test]
fn an_undeclared_script_gets_exactly_what_was_written() {
    let schema = Schema::compile_object(&exact_schema(TIMEOUT_MAX)).unwrap();
    let exact = |arguments: &str| {
        let arguments = json(arguments);
        let built = exact_arguments(&arguments, TIMEOUT_MAX).map_err(|error| error.fault);
        assert!(built.is_err() || schema.validate(&arguments).is_ok(), "the schema refuses what passes");
        built
    };
    let built = exact(r#"{"argv": ["-x", "", "--", "a b", "é;$(c)"], "timeout_seconds": 7}"#).unwrap();
    let texts = ["-x", "", "--", "a b", "é;$(c)"].map(|text| Argument::Text(text.to_owned()));
    assert_eq!((built.argv, built.timeout), (texts.to_vec(), Some(Duration::from_secs(7))));
    assert_eq!(exact(r#"{"argv": []}"#), Ok(ScriptArguments { argv: Vec::new(), timeout: None }));
    for (arguments, fault) in [
        (r#"["-x"]"#, ArgumentFault::NotAnObject),
        ("{}", ArgumentFault::Missing),
        (r#"{"argv": "-x"}"#, ArgumentFault::Type("an array of strings")),
        (r#"{"argv": ["a", 1]}"#, ArgumentFault::Type("an array of strings")),
        (r#"{"argv": ["a\u0000"]}"#, ArgumentFault::Nul),
        (r#"{"argv": [], "env": {}}"#, ArgumentFault::Undeclared),
        (r#"{"argv": [], "timeout_seconds": 121}"#, ArgumentFault::Range),
    ] {
        assert_eq!(exact(arguments), Err(fault), "{arguments}");
    }
    let many = |count: usize| {
        let items = vec!["\"\""; count].join(",");
        exact(&format!(r#"{{"argv": [{items}]}}"#)).map(|built| built.argv.len())
    };
    assert_eq!(many(256), Ok(256));
    assert_eq!(many(257), Err(ArgumentFault::TooMany));
}

// XSF-12, X-25: what the host makes is closed, and compiles as a tool's schema does.
#[test]
fn the_schema_of_a_script_says_what_its_parameters_are() {
    let schema = script_schema(&all_kinds(), TIMEOUT_MAX);
    assert!(Schema::compile_object(&schema).is_ok());
    let expected = json(
        r#"{"type": "object", "additionalProperties": false, "required": ["command", "file"], "properties": {
            "command": {"type": "string", "enum": ["sum", "mean"]},
            "text": {"type": "string", "maxLength": 5},
            "count": {"type": "integer", "minimum": -5, "maximum": 99},
            "scale": {"type": "number", "minimum": -1, "maximum": 2.5},
            "verbose": {"type": "boolean"},
            "file": {"type": "string", "minLength": 1, "maxLength": 4095,
                "description": "A file that the script may read. The table."},
            "report": {"type": "string", "minLength": 1, "maxLength": 4095,
                "description": "A file that the script may make; it must not exist."},
            "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": 120,
                "description": "Seconds after which the script is killed."}
        }}"#,
    );
    assert_eq!(schema, expected);
    assert!(Schema::compile_object(&script_schema(&[], TIMEOUT_MAX)).is_ok());
}

/// A value for some parameter: often one that fits.
fn values() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        (-200_i64..200).prop_map(|number| Json::Number(number.into())),
        (-3.0_f64..3.0).prop_map(|number| Json::Number(crate::json::Number::from_f64(number).unwrap())),
        "[-a-c\u{0}é]{0,7}".prop_map(Json::String),
        "(sum|mean)".prop_map(Json::String),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // XSF-13: whatever the published schema refuses is refused. EXE-45: and nothing gets through that can be taken for
    // a flag that the script does not declare.
    #[test]
    fn arguments_that_pass_are_valid_and_harmless(
        names in proptest::sample::subsequence(
            vec!["command", "text", "count", "scale", "verbose", "file", "report", "timeout_seconds", "other"], 0..9),
        values in proptest::collection::vec(values(), 9),
    ) {
        let params = all_kinds();
        // Without the two that are required nearly nothing would pass.
        let fit = ["command", "file"].map(|name| (name.to_owned(), Json::String("sum".to_owned())));
        let given = names.into_iter().map(str::to_owned).zip(values);
        let arguments = Json::Object(fit.into_iter().chain(given).collect());
        let built = script_arguments(&params, &arguments, TIMEOUT_MAX);
        let valid = Schema::compile_object(&script_schema(&params, TIMEOUT_MAX)).unwrap().validate(&arguments);
        if let Ok(built) = built {
            prop_assert_eq!(valid, Ok(()));
            let flags: Vec<_> = params.iter().filter_map(ParamClaim::flag).map(Flag::as_str).collect();
            for argument in &built.argv {
                match argument {
                    Argument::Text(text) => {
                        prop_assert!(!text.contains('\0'));
                        prop_assert!(!text.starts_with('-') || flags.contains(&text.as_str()));
                    }
                    Argument::Path { access, value, .. } => {
                        prop_assert!(matches!(access, PathAccess::Read | PathAccess::Create));
                        prop_assert!(!value.contains('\0') && !value.starts_with('-') && !value.is_empty());
                    }
                }
            }
        }
    }
}
