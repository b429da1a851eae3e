use fumehood_core::json::Number;
use fumehood_core::manifest::ParamKind;
use fumehood_core::{Code, Coded as _, RelPath};
use fumehood_testkit::Scratch;
use proptest::prelude::*;

use super::*;
use crate::home::{Home, Surroundings};
use crate::settings::Settings;

const HEX: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

fn read(text: &str) -> Result<Vec<Overlay>, String> {
    let scratch = Scratch::new();
    scratch.file("config/fumehood.toml", text);
    scratch.mode("config/fumehood.toml", 0o600);
    scratch.mode("config", 0o700);
    let home = Home { config: scratch.at("config"), state: scratch.at("state") };
    let settings = Settings::read(&home, &Surroundings::default());
    settings.map(|settings| settings.overlays).map_err(|error| {
        assert_eq!(error.code, Code::ConfigInvalid);
        assert!(!error.message.contains('\u{1b}'), "{:?}", error.message);
        error.message
    })
}

fn overlay(source: &str, skill: &str, rest: &str) -> String {
    format!("[[overlay]]\nsource = \"{source}\"\nskill = \"{skill}\"\nrevision = \"{HEX}\"\n{rest}\n")
}

fn script(name: &str, rest: &str) -> String {
    let fields = "description = \"D.\"\ninterpreter = \"python3\"";
    format!("[[overlay.scripts]]\nname = \"{name}\"\npath = \"s/{name}.py\"\n{fields}\n{rest}\n")
}

// EXE-42, EXE-47
#[test]
fn an_overlay_declares_typed_scripts() {
    let params = "params = [{ name = \"file\", type = \"path\", access = \"read\" }, \
                  { name = \"share\", type = \"number\", minimum = 0.5, flag = \"--share\" }]";
    let text = overlay("team", "csv-tools", "fail_on_nonzero_exit = false")
        + &script("sum", params)
        + &script("list", "tool_name = \"csv_list\"");
    let overlays = read(&text).unwrap();
    let overlay = &overlays[0];
    assert_eq!((overlay.source(), overlay.skill().as_str()), ("team", "csv-tools"));
    assert_eq!(overlay.parts().fail_on_nonzero_exit, Some(false));
    let tools: Vec<_> =
        overlay.tools().map(|(name, script)| (name.as_str(), script.path().as_str())).collect();
    assert_eq!(tools, [("run_csv-tools_sum", "s/sum.py"), ("csv_list", "s/list.py")]);
    assert_eq!(overlay.parts().scripts[0].script.params().len(), 2);
    // A skill of that name in another source is another skill.
    let settings = Settings { overlays: overlays.clone(), ..Settings::default() };
    assert!(settings.overlay("team", overlay.skill()).is_some());
    assert!(settings.overlay("user-claude", overlay.skill()).is_none());
}

// EXE-43 to EXE-48: the rules are those of fumehood.json, and what differs is the deployer's own.
#[test]
fn what_is_wrong_with_an_overlay_is_named() {
    let good = || overlay("team", "s", &script("a", ""));
    assert!(read(&good()).is_ok());
    let with = |rest: &str| overlay("team", "s", &script("a", rest));
    let param = |rest: &str| with(&format!("params = [{{ name = \"x\", {rest} }}]"));
    let long = "n".repeat(60);
    for (text, expected) in [
        (good().replace(HEX, &HEX[1..]), "revision must be 64 digits"),
        (good().replace(HEX, &HEX.to_uppercase()), "revision must be 64 digits"),
        (good().replace(HEX, &format!("sha256:{HEX}")), "revision must be 64 digits"),
        (good().replace("revision", "revisions"), "revision"),
        (overlay("Team", "s", ""), "1 to 32"),
        (overlay("team\\u001b", "s", ""), "1 to 32"),
        (overlay("team", "S", ""), "character 1 of the name"),
        (overlay("team", "s", "enabled = true"), "enabled"),
        (overlay("team", "s", "fail_on_nonzero_exit = \"no\""), "fail_on_nonzero_exit"),
        (with("command = \"rm\""), "remove the field 'command'"),
        (with("path = \"x\""), "path"),
        (good().replace("s/a.py", "../a.py"), "'..'"),
        (good().replace("s/a.py", "/etc/passwd"), "is absolute"),
        (good().replace("\"python3\"", "\"/usr/bin/python3\""), "the key of an interpreter"),
        (param("type = \"string\", required = false"), "positional one cannot be optional"),
        (param("type = \"number\", minimum = nan"), "not finite"),
        (param("type = \"string\", maxLength = 1.5"), "whole number"),
        (with("params = [2026-01-01]"), "dates have no meaning"),
        (with(&format!("params = {}1{}", "[".repeat(40), "]".repeat(40))), "too deep"),
        (with("tool_name = 1"), "tool_name must be a text"),
        (with("tool_name = \"9\""), "tool_name: character 1"),
        (with(&format!("tool_name = \"{}\"", "t".repeat(65))), "longer than 64"),
        (with("tool_name = \"Artifact_x\""), "readers"),
        (overlay("team", "s", &(script("a", "") + &script("a", ""))), "another one is called 'a'"),
        (
            overlay("team", "s", &(script("a", "tool_name = \"run_s_b\"") + &script("b", ""))),
            "called 'run_s_b'",
        ),
        (overlay("team", "s", &script(&long, "")), "would have 66 characters"),
        (good() + &good(), "two overlays are for team:s"),
    ] {
        let error = read(&text).unwrap_err();
        assert!(error.contains(expected), "{text}\n{error}");
    }
    // Too long a name is not cut, but another can be given.
    assert!(read(&overlay("team", "s", &script(&long, "tool_name = \"short\""))).is_ok());
    assert!(read(&(good() + &overlay("other", "s", "") + &overlay("team", "t", ""))).is_ok());
}

#[test]
fn limits_hold_on_both_sides() {
    let many = |n: usize| (0..n).map(|i| overlay("team", &format!("s{i}"), "")).collect::<String>();
    assert_eq!(read(&many(OVERLAYS_MAX)).unwrap().len(), 256);
    assert!(read(&many(OVERLAYS_MAX + 1)).unwrap_err().contains("256"));
    let scripts = |n: usize| (0..n).map(|i| script(&format!("s{i}"), "")).collect::<String>();
    assert_eq!(read(&overlay("team", "s", &scripts(SCRIPTS_MAX))).unwrap()[0].tools().len(), 64);
    assert!(read(&overlay("team", "s", &scripts(SCRIPTS_MAX + 1))).unwrap_err().contains("64"));
}

#[test]
fn it_says_nothing_about_another_revision() {
    let revision = |bytes: &'static [u8]| {
        let files = std::collections::BTreeMap::from([(RelPath::parse("SKILL.md").unwrap(), bytes)]);
        fumehood_core::VerifiedRevision::of(&files).revision()
    };
    let (one, other) = (revision(b"1"), revision(b"2"));
    let text = overlay("team", "s", "").replace(HEX, &one.sha256().to_string());
    let overlays = read(&text).unwrap();
    assert!(overlays[0].is_confirmed_for(one) && !overlays[0].is_confirmed_for(other));
}

#[test]
fn a_number_that_toml_cannot_hold_is_no_overlay() {
    let with = |minimum: &str| {
        let text = format!(
            r#"[{{"name": "a", "path": "a", "description": "d", "interpreter": "sh",
                "params": [{{"name": "x", "type": "number", "minimum": {minimum}}}]}}]"#
        );
        let script = ScriptClaim::read_list(&Json::parse(text.as_bytes(), 4096).unwrap()).unwrap().remove(0);
        Overlay::new(OverlayParts { scripts: vec![OverlayScript { script, tool_name: None }], ..parts() })
    };
    assert!(with("9223372036854775807").is_ok());
    let error = with("9223372036854775809").unwrap_err();
    assert_eq!((&error, error.code()), (&OverlayError::Number, Code::ConfigInvalid));
}

fn parts() -> OverlayParts {
    OverlayParts {
        source: "team".to_owned(),
        skill: SkillName::parse("s").unwrap(),
        revision: HEX.to_owned(),
        fail_on_nonzero_exit: None,
        scripts: Vec::new(),
    }
}

/// Text with everything that could end a string, a line or a table of TOML.
fn hostile() -> impl Strategy<Value = String> {
    let planted = "\"\"\"'''\\\\u0022\n[[overlay]]\nsource = \"x\"\r\n# \u{202e}\u{1b}[2J\u{0}\t\u{7f}";
    prop_oneof!["\\PC{1,20}", Just(planted.to_owned()), "[\"'\\\\\n\r\\[\\]{}=#. a]{1,30}"]
}

fn text(text: impl Into<String>) -> Json {
    Json::String(text.into())
}

fn object<const N: usize>(entries: [(&str, Json); N]) -> Json {
    Json::Object(entries.map(|(key, value)| (key.to_owned(), value)).into())
}

fn param() -> impl Strategy<Value = Json> {
    let number = |number: i64| Json::Number(number.into());
    let kind = prop_oneof![
        (1i64..=16_384).prop_map(move |n| ("string", "maxLength", number(n))),
        (-1_000_000i64..=0).prop_map(move |n| ("integer", "minimum", number(n))),
        any::<f64>().prop_filter_map("finite", |n| Some((
            "number",
            "maximum",
            Json::Number(Number::from_f64(n)?)
        ))),
        Just(("boolean", "required", Json::Bool(true))),
        Just(("path", "access", text("read"))),
        hostile().prop_filter_map("a value", |value| {
            let value = value.replace('\0', "0");
            (!value.starts_with('-')).then(|| ("enum", "values", Json::Array(vec![text(value)])))
        }),
    ];
    (kind, hostile()).prop_map(|((kind, key, value), said)| {
        let said = format!("D{said}");
        object([
            ("name", text("p")),
            ("flag", text("--p")),
            ("type", text(kind)),
            (key, value),
            ("description", text(said)),
        ])
    })
}

fn any_overlay() -> impl Strategy<Value = Overlay> {
    let script = (hostile(), prop::option::of(param()), prop::option::of("[a-z]{1,9}"));
    let switches = (prop::option::of(any::<bool>()), "[a-f0-9]{64}");
    (switches, prop::collection::vec(script, 0..4)).prop_map(|((fail_on_nonzero_exit, revision), scripts)| {
        let scripts = scripts.into_iter().enumerate().map(|(index, (said, param, tool))| {
            let json = object([
                ("name", text(format!("n{index}"))),
                ("path", text("a b/ä.py")),
                ("description", text(format!("D{said}"))),
                ("interpreter", text("sh")),
                ("params", Json::Array(param.into_iter().collect())),
            ]);
            let script = ScriptClaim::read_list(&Json::Array(vec![json])).unwrap().remove(0);
            let tool_name = tool.map(|tool| ToolName::parse(&format!("t{index}{tool}")).unwrap());
            OverlayScript { script, tool_name }
        });
        let scripts = scripts.collect();
        Overlay::new(OverlayParts { revision, fail_on_nonzero_exit, scripts, ..parts() }).unwrap()
    })
}

proptest! {
    // Whatever an author wrote ends up in the field that it came from, and nowhere else.
    #[test]
    fn what_is_written_reads_back_equal(overlay in any_overlay()) {
        let text = overlays_to_toml(std::slice::from_ref(&overlay)).unwrap();
        let back = read(&text).map_err(TestCaseError::fail)?;
        prop_assert_eq!(back.as_slice(), std::slice::from_ref(&overlay));
        prop_assert_eq!(back[0].sha256(), overlay.sha256());
        prop_assert_eq!(overlays_to_toml(&back).unwrap(), text);
    }

    #[test]
    fn two_overlays_have_one_digest_only_if_they_are_equal(one in any_overlay(), other in any_overlay()) {
        prop_assert_eq!(one.sha256() == other.sha256(), one == other);
    }
}

// CHK-007: a consent is bound to this digest.
#[test]
fn every_field_counts_in_the_digest() {
    let base = overlay("team", "s", "") + &script("a", "params = [{ name = \"x\", type = \"string\" }]");
    let digest = |text: &str| read(text).unwrap()[0].sha256();
    let mut seen = std::collections::BTreeSet::from([digest(&base)]);
    let other = HEX.replace("00", "01");
    for (from, to) in [
        ("\"team\"", "\"other\""),
        ("skill = \"s\"", "skill = \"t\""),
        (HEX, other.as_str()),
        ("[[overlay.scripts]]", "fail_on_nonzero_exit = true\n[[overlay.scripts]]"),
        ("[[overlay.scripts]]", "fail_on_nonzero_exit = false\n[[overlay.scripts]]"),
        ("name = \"a\"", "name = \"b\""),
        ("s/a.py", "s/b.py"),
        ("\"D.\"", "\"E.\""),
        ("python3", "python"),
        ("name = \"a\"", "name = \"a\"\ntool_name = \"run_s_a\""),
        ("name = \"x\"", "name = \"y\""),
        ("\"string\"", "\"string\", maxLength = 5"),
        ("\"string\"", "\"string\", flag = \"-x\""),
        ("\"string\"", "\"string\", flag = \"-x\", required = true"),
        ("\"string\"", "\"string\", description = \"X.\""),
        ("\"string\"", "\"path\", access = \"read\""),
        ("\"string\"", "\"path\", access = \"write\""),
        ("\"string\"", "\"enum\", values = [\"a\"]"),
        ("\"string\"", "\"integer\", minimum = 0"),
    ] {
        assert_ne!(base.replacen(from, to, 1), base, "{from}");
        assert!(seen.insert(digest(&base.replacen(from, to, 1))), "{from} -> {to}");
    }
    // What is only written out is no change.
    let written_out = base.replace("\"string\"", "\"string\", maxLength = 4096, required = true");
    assert_eq!(digest(&written_out), digest(&base));
    let overlays = read(&base).unwrap();
    let kind = overlays[0].parts().scripts[0].script.params()[0].kind();
    assert!(matches!(kind, ParamKind::String { chars_max: 4096 }));
}
