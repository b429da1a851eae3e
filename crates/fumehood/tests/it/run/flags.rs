//! What can be typed after `run`: every value with its refused twin.

use fumehood_testkit::{World, skill};
use serde_json::{Value, json};

use super::{configure, flagged, ran, receipt, refused, reported, revision, scripted};
use crate::text;

/// Prints its arguments, each in brackets.
const ECHO: &str = "for argument; do printf '[%s]' \"$argument\"; done\n";

fn params() -> Value {
    json!([
        {"name": "s", "type": "string", "maxLength": 3, "flag": "--s"},
        {"name": "i", "type": "integer", "minimum": 1, "maximum": 5, "flag": "--i"},
        {"name": "n", "type": "number", "minimum": 0.5, "maximum": 1.5, "flag": "--n"},
        {"name": "b", "type": "boolean", "flag": "-b"},
        {"name": "e", "type": "enum", "values": ["x", "y z"], "flag": "--e"},
        {"name": "r", "type": "path", "access": "read", "flag": "--r"},
        {"name": "w", "type": "path", "access": "write", "flag": "--w"},
        {"name": "c", "type": "path", "access": "create", "flag": "--c"},
    ])
}

fn echoing() -> World {
    let world = flagged(&scripted(&params(), ECHO));
    world.write("project/a.txt", "a\n");
    world
}

/// What the script got for these `--param`.
fn got(world: &World, given: &[&str]) -> String {
    let answer = ran(world, &with(given));
    assert_eq!((answer.code, answer.errors().as_str()), (Some(0), ""), "{given:?}");
    answer.text()
}

fn with<'a>(given: &[&'a str]) -> Vec<&'a str> {
    ["go"].into_iter().chain(given.iter().flat_map(|pair| ["--param", *pair])).collect()
}

// EXE-42, EXE-43, EXE-45, EXE-46: a flag and its value are two arguments, in the order of the declaration, and no shell
// reads any of it.
#[test]
fn every_type_reaches_the_script_as_it_was_written() {
    let world = echoing();
    assert_eq!(got(&world, &["b=true", "n=0.5", "i=5", "s=a=b"]), "[--s][a=b][--i][5][--n][0.5][-b]");
    assert_eq!(got(&world, &["b=false", "e=y z", "s=$("]), "[--s][$(][--e][y z]");
    assert_eq!(got(&world, &["s=äöü"]), "[--s][äöü]");
    assert_eq!(got(&world, &["r=project/a.txt"]), format!("[--r][{}]", world.text("project/a.txt")));
    let wrote = ran(&world, &with(&["w=project/a.txt"]));
    assert_eq!((wrote.code, wrote.text().as_str()), (Some(0), "[--w][/out/a.txt]"), "{}", wrote.errors());
    // Nothing was written to it, so nothing of it is changed; nothing was made.
    assert_eq!(world.read("project/a.txt"), b"a\n");
    assert_eq!(got(&world, &["c=project/new.txt"]), "[--c][/out/new.txt]");
    assert!(!world.has("project/new.txt"));
    assert_eq!(got(&world, &[]), "");
}

// EXE-45, EXE-53, X-06: refused, never clamped or mended, and never run.
#[test]
fn what_does_not_fit_its_parameter_is_refused() {
    let world = echoing();
    for (given, code) in [
        (&["q=1"][..], "E_ARGUMENT_INVALID"),
        (&["s=a", "s=b"], "E_ARGUMENT_INVALID"),
        (&["i=1", "i=1"], "E_ARGUMENT_INVALID"),
        (&["i=one"], "E_ARGUMENT_INVALID"),
        (&["i="], "E_ARGUMENT_INVALID"),
        (&["n=1,5"], "E_ARGUMENT_INVALID"),
        (&["b=yes"], "E_ARGUMENT_INVALID"),
        (&["s=-x"], "E_ARGUMENT_INVALID"),
        (&["r=-x"], "E_ARGUMENT_INVALID"),
        (&["c="], "E_ARGUMENT_INVALID"),
        (&["s=abcd"], "E_SCHEMA_MISMATCH"),
        (&["i=0"], "E_SCHEMA_MISMATCH"),
        (&["i=6"], "E_SCHEMA_MISMATCH"),
        (&["i=1.5"], "E_SCHEMA_MISMATCH"),
        (&["n=1.51"], "E_SCHEMA_MISMATCH"),
        (&["e=z"], "E_SCHEMA_MISMATCH"),
        (&["r=project/none.txt"], "E_FILE_NOT_FOUND"),
        (&["w=project/none.txt"], "E_FILE_NOT_FOUND"),
        (&["c=project/a.txt"], "E_FILE_EXISTS"),
    ] {
        let fault = refused(&world, &with(given), 2);
        assert!(
            fault["code"] == code || code == "E_ARGUMENT_INVALID" && fault["code"] == "E_SCHEMA_MISMATCH",
            "{given:?}: {fault}"
        );
        // No value of an argument is in it (XSF-47).
        assert!(!text(&fault["message"]).contains("none.txt"), "{fault}");
    }
    for malformed in ["q", "=1"] {
        assert_eq!(refused(&world, &with(&[malformed]), 2)["code"], "E_USAGE");
    }
    assert_eq!(world.json(["runs"])["runs"], json!([]), "something ran");
    // A parameter that must be there.
    let world = flagged(&scripted(&json!([{"name": "s", "type": "string"}]), ECHO));
    assert_eq!(refused(&world, &["go"], 2)["code"], "E_SCHEMA_MISMATCH");
    assert_eq!(got(&world, &["s=x"]), "[x]");
}

// EXE-45: no system takes an argument with a NUL in it, so one comes only by the library.
#[test]
fn a_nul_is_refused_through_the_library() {
    let world = echoing();
    let request = |value: &str| fumehood::host::RunRequest {
        params: vec![("s".to_owned(), value.to_owned())],
        ..super::codes::request(&world, "go")
    };
    let fault = super::codes::run(&world, &request("a\0")).unwrap_err();
    assert_eq!(fault.code.as_str(), "E_ARGUMENT_INVALID");
    let report = super::codes::run(&world, &request("ab")).unwrap();
    assert_eq!(report.output.content.text(), Some("[--s][ab]"));
}

// EXE-53
#[test]
fn a_timeout_is_from_one_second_to_the_ceiling() {
    let world = flagged(&scripted(&json!([]), "echo ran\n"));
    configure(
        &world,
        "[envelope]\nread_roots = []\nwrite_roots = []\ninterpreter_read_paths = []\ntimeout_seconds_max = 7\n",
    );
    for timeout in ["1", "7"] {
        assert_eq!(ran(&world, &["go", "--timeout", timeout]).code, Some(0), "{timeout}");
        assert_eq!(receipt(&world)["limits"]["wall_ms"], timeout.parse::<u64>().unwrap() * 1000);
    }
    for timeout in ["0", "8", "18446744073709551615"] {
        let fault = refused(&world, &["go", "--timeout", timeout], 2);
        assert_eq!(fault["code"], "E_SCHEMA_MISMATCH", "{fault}");
    }
    for timeout in ["-1", "1.5", "x", "18446744073709551616"] {
        assert_eq!(refused(&world, &["go", "--timeout", timeout], 2)["code"], "E_USAGE");
    }
}

#[test]
fn files_that_are_named_beside_the_call_are_granted() {
    let script = "cat \"$1\"; echo new >/out/a.txt; echo made >/out/made.txt; echo more >/out/more.txt\n";
    let world = flagged(&skill("tool").file("go.sh", script));
    world.write("project/r.txt", "read\n");
    world.write("project/a.txt", "old\n");
    world.folder("out");
    world.folder("ws");
    let (read, out) = (world.text("project/r.txt"), world.text("out"));
    let arguments = [
        "go.sh",
        "--read",
        "project/r.txt",
        "--write",
        "project/a.txt",
        "--write",
        "ws/made.txt",
        "--out",
        "out",
        "--",
        &read,
    ];
    let (code, report) = reported(&world, &arguments);
    assert_eq!((code, &report["output"]["text"]), (Some(0), &"read\n".into()), "{report}");
    let applied: Vec<_> = report["files_applied"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| (text(&file["path"]), text(&file["change"])))
        .collect();
    let (a, made, more) = (world.text("project/a.txt"), world.text("ws/made.txt"), format!("{out}/more.txt"));
    let mut expected = vec![(a.as_str(), "replaced"), (&made, "created"), (&more, "created")];
    expected.sort_unstable();
    let mut sorted = applied.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    assert_eq!(
        (world.read("project/a.txt"), world.read("ws/made.txt")),
        (b"new\n".to_vec(), b"made\n".to_vec())
    );
    assert_eq!(world.read("out/more.txt"), b"more\n");

    // What is not named is not there, and without a place to write there is none.
    let without = ran(&world, &["go.sh", "--", &read]);
    assert_eq!((without.code, without.text().as_str()), (Some(1), ""));
    assert!(without.errors().contains("No such file"), "{}", without.errors());
    // Never over what is there.
    let again = ran(&world, &arguments);
    assert_eq!(again.code, Some(3), "{}", again.errors());
    assert!(
        again.errors().contains("more.txt exists") && again.errors().contains("it ran, and"),
        "{}",
        again.errors()
    );
}

#[test]
fn a_workspace_is_read_or_changed_as_a_whole() {
    let script = "cd \"${1%/sub/a.txt}\"\ncat sub/a.txt\necho changed >sub/a.txt || exit 1\necho x >new.txt\nrm gone.txt\n";
    let params = json!([{"name": "in", "type": "path", "access": "read"}]);
    let world = flagged(&scripted(&params, script));
    world.write("ws/sub/a.txt", "old\n");
    world.write("ws/gone.txt", "");
    world.write("outside.txt", "");
    let answer = ran(&world, &["go", "--workspace", "ws", "--param", "in=sub/a.txt"]);
    assert_eq!((answer.code, answer.text().as_str()), (Some(1), "old\n"), "{}", answer.errors());
    assert_eq!(
        (world.read("ws/sub/a.txt"), world.has("ws/new.txt"), world.has("ws/gone.txt")),
        (b"old\n".to_vec(), false, true)
    );

    let (code, report) = reported(&world, &["go", "--workspace", "ws:rw", "--param", "in=sub/a.txt"]);
    assert_eq!((code, &report["output"]["text"]), (Some(0), &"old\n".into()), "{report}");
    assert_eq!(
        (world.read("ws/sub/a.txt"), world.read("ws/new.txt"), world.has("ws/gone.txt")),
        (b"changed\n".to_vec(), b"x\n".to_vec(), false)
    );
    let changes: Vec<_> =
        report["files_applied"].as_array().unwrap().iter().map(|file| text(&file["change"])).collect();
    assert_eq!(changes.len(), 3, "{changes:?}");

    let outside = refused(&world, &["go", "--workspace", "ws", "--param", "in=../outside.txt"], 3);
    assert_eq!(outside["code"], "E_PLACE_OUTSIDE");
    assert_eq!(
        refused(&world, &["go", "--workspace", "none", "--param", "in=a"], 2)["code"],
        "E_FOLDER_NOT_FOUND"
    );
    assert_eq!(
        refused(&world, &["go", "--workspace", "home", "--param", "in=a"], 3)["code"],
        "E_PLACE_FORBIDDEN"
    );
}

// EXE-61
#[test]
fn an_interpreter_is_named_where_the_file_does_not_say() {
    let world = flagged(&skill("tool").file("go.txt", "echo \"$1\"\n"));
    let fault = refused(&world, &["go.txt", "--", "x"], 2);
    assert_eq!(fault["code"], "E_INTERPRETER_UNKNOWN", "{fault}");
    let answer = ran(&world, &["go.txt", "--interpreter", "sh", "--", "x y"]);
    assert_eq!((answer.code, answer.text().as_str()), (Some(0), "x y\n"), "{}", answer.errors());
    for key in ["ruby", "/bin/sh", ""] {
        let fault = refused(&world, &["go.txt", "--interpreter", key, "--", "x"], 2);
        assert_eq!(fault["code"], "E_INTERPRETER_UNKNOWN", "{fault}");
    }
}

// The exact vector: flags and all, and `--param` has no place beside it.
#[test]
fn an_exact_vector_is_for_scripts_that_nobody_declared() {
    let world = flagged(&skill("tool").file("go.sh", ECHO));
    let answer = ran(&world, &["go.sh", "--", "-x", "--y=z", "", "a b", "*"]);
    assert_eq!(
        (answer.code, answer.text().as_str()),
        (Some(0), "[-x][--y=z][][a b][*]"),
        "{}",
        answer.errors()
    );
    assert_eq!(ran(&world, &["go.sh"]).text(), "");
    assert_eq!(refused(&world, &["go.sh", "--param", "a=b"], 2)["code"], "E_ARGUMENT_INVALID");
    let many: Vec<_> = ["go.sh", "--"].into_iter().chain(std::iter::repeat_n("x", 256)).collect();
    assert_eq!(ran(&world, &many).text().len(), 3 * 256);
    let more: Vec<_> = many.iter().copied().chain(["x"]).collect();
    assert_eq!(refused(&world, &more, 2)["code"], "E_SCHEMA_MISMATCH");
    // A declared script takes one as well, and then counts as undeclared.
    let world = echoing();
    assert_eq!(ran(&world, &["go.sh", "--", "-b"]).text(), "[-b]");
    for missing in ["none", "none.sh", "../go.sh", "/go.sh", "SKILL.md/x"] {
        let fault = refused(&world, &[missing], 2);
        let code = text(&fault["code"]);
        assert!(["E_FILE_NOT_FOUND", "E_SKILL_SOURCE_PATH_REJECTED"].contains(&code), "{fault}");
    }
    assert!(text(&refused(&world, &["none"], 2)["advice"]).contains("go"), "names what there is");
}

// Only where the deployer says so, only that revision, and the receipt says how it was approved.
#[test]
fn a_revision_is_approved_on_the_command_line_only_where_that_is_allowed() {
    let world = flagged(&scripted(&json!([]), "echo ran\n"));
    let revision = revision(&world, "skills/tool");
    let digits = revision.strip_prefix("sha256:").unwrap();
    let run = |approve: &str| ["run", "skills/tool", "go", "--approve", approve].map(str::to_owned);
    for right in [revision.as_str(), digits] {
        assert_eq!(world.run(run(right)).text(), "ran\n");
        let receipt = receipt(&world);
        assert_eq!(
            (&receipt["authority"]["surface"], &receipt["authority"]["kind"]),
            (&"flag".into(), &"consent".into())
        );
    }
    let other = "0".repeat(64);
    for wrong in [other.as_str(), &digits[..63], &digits.to_uppercase(), "", "sha256:"] {
        let fault = world.fault(run(wrong), 2);
        assert_eq!(fault["code"], "E_APPROVE_MISMATCH", "{wrong}");
    }
    world.add("skills", &scripted(&json!([]), "echo other\n"));
    assert_eq!(world.fault(run(&revision), 2)["code"], "E_APPROVE_MISMATCH");
    world.write("home/.config/fumehood/fumehood.toml", "");
    assert_eq!(world.fault(run(&revision), 3)["code"], "E_APPROVE_FLAG_OFF");
    assert_eq!(world.json(["runs"])["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_name_is_looked_up_below_the_roots_that_are_given() {
    let world = flagged(&scripted(&json!([]), "echo ran\n"));
    let revision = revision(&world, "skills/tool");
    let run = |root: &str| ["run", "tool", "go", "--root", root, "--approve", &revision].map(str::to_owned);
    assert_eq!(world.run(run("skills")).text(), "ran\n");
    world.folder("empty");
    assert_eq!(world.fault(run("empty"), 2)["code"], "E_SKILL_NOT_FOUND");
    assert_eq!(world.fault(run("none"), 2)["code"], "E_SOURCE_MISSING");
}
