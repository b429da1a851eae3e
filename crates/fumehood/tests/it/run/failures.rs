//! Scripts that fail, and what is told of it.

use fumehood_testkit::{World, skill};
use serde_json::{Value, json};

use super::{assert_clean, configure, flagged, ran, receipt, reported, scripted};
use crate::schemas::assert_notices;
use crate::text;

fn running(script: &str) -> World {
    flagged(&scripted(&json!([]), script))
}

/// The bytes that are kept under an id.
fn kept(world: &World, id: &Value) -> Vec<u8> {
    world.run(["artifact", "cat", text(id)]).stdout
}

// EXE-55: what it wrote is kept all the same, and told with the code.
#[test]
fn another_exit_code_than_zero_is_a_failure() {
    let world = running("echo out; echo err >&2; exit 3\n");
    let answer = ran(&world, &["go"]);
    assert_eq!((answer.code, answer.text().as_str()), (Some(1), "out\n"));
    assert!(answer.errors().starts_with("err\n"), "{}", answer.errors());
    assert!(answer.errors().contains("exit code 3 [E_SKILL_SCRIPT_FAILED]"), "{}", answer.errors());

    let (code, report) = reported(&world, &["go"]);
    assert_eq!((code, &report["failure"]["code"]), (Some(1), &"E_SKILL_SCRIPT_FAILED".into()));
    assert_eq!(
        (&report["exit_code"], &report["signal"], &report["killed"]),
        (&3.into(), &Value::Null, &Value::Null)
    );
    assert_eq!((&report["output"]["text"], &report["errors"]["text"]), (&"out\n".into(), &"err\n".into()));
    assert_eq!(kept(&world, &report["output"]["artifact"]), b"out\n");
    assert_eq!(kept(&world, &report["errors"]["artifact"]), b"err\n");
    assert_notices("run", &report);
    let receipt = receipt(&world);
    assert_eq!((&receipt["id"], &receipt["outcome"]), (&report["receipt"], &"failed".into()));
    assert_eq!(
        (&receipt["closing"]["exit_code"], &receipt["closing"]["code"]),
        (&3.into(), &"E_SKILL_SCRIPT_FAILED".into())
    );
    assert_clean(&world);
}

#[test]
fn a_script_that_succeeds_is_told_in_its_shape() {
    let world = running("echo out\n");
    let (code, report) = reported(&world, &["go"]);
    assert_eq!((code, &report["failure"], &report["exit_code"]), (Some(0), &Value::Null, &0.into()));
    assert_eq!((&report["skill"], &report["tool"]), (&"path:tool".into(), &"run_tool_go".into()));
    assert_notices("run", &report);
}

// EXE-55
#[test]
fn death_by_a_signal_is_a_failure() {
    let world = running("kill -TERM $$\n");
    let (code, report) = reported(&world, &["go"]);
    assert_eq!((code, &report["failure"]["code"]), (Some(1), &"E_SKILL_SCRIPT_FAILED".into()));
    assert_eq!((&report["signal"], &report["exit_code"]), (&15.into(), &Value::Null), "{report}");
    assert_eq!(receipt(&world)["closing"]["signal"], 15);
}

// EXE-56: only the deployer says so.
#[test]
fn the_deployer_may_take_any_exit_code() {
    let world = running("echo out; exit 3\n");
    configure(&world, "[scripts]\nfail_on_nonzero_exit = false\n");
    let (code, report) = reported(&world, &["go"]);
    assert_eq!((code, &report["failure"], &report["exit_code"]), (Some(0), &Value::Null, &3.into()));
    assert_eq!(ran(&world, &["go"]).text(), "out\n");
    let receipt = receipt(&world);
    assert_eq!((&receipt["outcome"], &receipt["closing"]["exit_code"]), (&"succeeded".into(), &3.into()));
}

// EXE-52, X-05: cut while it is read, counted and flagged.
#[test]
fn output_beyond_the_cap_is_dropped_and_counted() {
    let world = running("head -c 3000 /dev/zero | tr '\\0' x; head -c 1001 /dev/zero | tr '\\0' y >&2\n");
    let lists = "read_roots = []\nwrite_roots = []\ninterpreter_read_paths = []\n";
    configure(&world, &format!("[envelope]\n{lists}output_bytes_max = 1000\n"));
    let answer = ran(&world, &["go"]);
    assert_eq!((answer.code, answer.text()), (Some(0), "x".repeat(1000)));
    let errors = answer.errors();
    assert!(errors.starts_with(&"y".repeat(1000)), "{errors}");
    assert!(
        errors.contains("cut: 2000 bytes of standard output beyond the first 1000 were dropped; [envelope] output_bytes_max is the most\n"),
        "{errors}"
    );
    assert!(
        errors.contains("cut: 1 bytes of standard error beyond the first 1000 were dropped; [envelope] output_bytes_max is the most\n"),
        "{errors}"
    );
    let (code, report) = reported(&world, &["go"]);
    let counts = |stream: &str| (report[stream]["bytes"].as_u64(), report[stream]["dropped_bytes"].as_u64());
    assert_eq!(
        (code, counts("output"), counts("errors")),
        (Some(0), (Some(1000), Some(2000)), (Some(1000), Some(1)))
    );
    assert_eq!(kept(&world, &report["output"]["artifact"]), "x".repeat(1000).into_bytes());
    // At the cap nothing is dropped.
    configure(&world, &format!("[envelope]\n{lists}output_bytes_max = 3000\n"));
    assert_eq!(ran(&world, &["go"]).text().len(), 3000);
}

#[test]
fn a_script_may_write_errors_only() {
    let world = running("echo warning >&2\n");
    let answer = ran(&world, &["go"]);
    assert_eq!((answer.code, answer.text().as_str(), answer.errors().as_str()), (Some(0), "", "warning\n"));
    let (_, report) = reported(&world, &["go"]);
    assert_eq!(report["errors"]["text"], "warning\n");
    assert_eq!(kept(&world, &report["errors"]["artifact"]), b"warning\n");
}

// A program that reads gets the bytes; a terminal gets nothing that could act on it.
#[test]
fn binary_output_is_raw_in_a_pipe_and_visible_on_a_terminal() {
    let world = running("printf '\\377\\000\\033]52;c;aGk=\\a\\342\\200\\256x'; printf '\\033[2Jerr' >&2\n");
    let raw = b"\xff\x00\x1b]52;c;aGk=\x07\xe2\x80\xaex";
    let answer = ran(&world, &["go"]);
    assert_eq!(
        (answer.code, answer.stdout.as_slice(), answer.stderr.as_slice()),
        (Some(0), &raw[..], &b"\x1b[2Jerr"[..])
    );
    let (_, report) = reported(&world, &["go"]);
    assert_eq!(
        (&report["output"]["text"], &report["output"]["base64"]),
        (&Value::Null, &"/wAbXTUyO2M7YUdrPQfigK54".into())
    );
    let (shown, code) = world.call().on_terminal(super::approved(&world, &["go"]));
    assert_eq!(code, Some(0));
    for hostile in ["\u{1b}]", "\u{1b}[2J", "\u{7}", "\u{202e}", "\0"] {
        assert!(!shown.contains(hostile), "{hostile:?} in {shown:?}");
    }
    assert!(
        shown.contains("\\u{1b}]52;c;aGk=\\u{7}\\u{202e}x\n") && shown.contains("\\u{1b}[2Jerr\n"),
        "{shown:?}"
    );
}

// EXE-48, EXE-60: names that a script gives files are its own text too.
#[test]
fn a_file_that_a_script_names_is_shown_and_no_more() {
    let world = flagged(&skill("tool").file("go.sh", "touch \"/out/$(printf 'a\\033[2J')\"\n"));
    world.folder("out");
    let (shown, _) = world.call().on_terminal(super::approved(&world, &["go.sh", "--out", "out"]));
    assert!(!shown.contains("\u{1b}[2J"), "{shown:?}");
}

/// Runs the program on a kernel without Landlock: its answer to whoever asks is that of one that never had it.
fn without_landlock(world: &World, arguments: &[String]) -> fumehood_testkit::Answer {
    let own = ["--wait", "/usr/bin/python3", "-c", WITHOUT_LANDLOCK];
    world.call().run_behind("/usr/bin/setsid", own, arguments)
}

const WITHOUT_LANDLOCK: &str = "import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
LANDLOCK_CREATE_RULESET, NOT_THERE = 444, 0x00050000 | 38
code = b''.join(struct.pack('HBBI', *line) for line in [
    (0x20, 0, 0, 0), (0x15, 0, 1, LANDLOCK_CREATE_RULESET), (0x06, 0, 0, NOT_THERE), (0x06, 0, 0, 0x7fff0000)])
lines = ctypes.create_string_buffer(code, len(code))
program = struct.pack('HxxxxxxP', len(code) // 8, ctypes.addressof(lines))
assert libc.prctl(38, 1, 0, 0, 0) == 0, ctypes.get_errno()
assert libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
";

// DESIGN 7: below the floor nothing runs, nobody is asked, and `show` says so of a tool that could be called otherwise.
#[test]
fn a_machine_below_the_floor_runs_nothing() {
    let manifest = json!({
        "schemaVersion": 1, "entrypoint": "go.mjs", "files": ["go.mjs"], "timeoutMs": 5000, "maxOutputBytes": 1024,
        "inputSchema": {"type": "object", "properties": {}}, "outputSchema": {"type": "object", "properties": {}},
    });
    let files = scripted(&json!([]), "echo ran\n").file("execution.json", manifest.to_string());
    let world = flagged(&files.file("go.mjs", "console.log('{}');"));
    let approve = super::revision(&world, "skills/tool");
    let run = ["run", "skills/tool", "go", "--approve", &approve].map(str::to_owned);
    let call = ["call", "skills/tool", "--input", "{}", "--approve", &approve].map(str::to_owned);
    let envelope = |floor: &str| {
        let roots = "read_roots = [\"/\"]\nwrite_roots = [\"/\"]\ninterpreter_read_paths = []\n";
        configure(&world, &format!("[envelope]\n{roots}level_floor = \"{floor}\"\n"));
    };
    envelope("full");
    let json = ["--format", "json"].map(str::to_owned);
    for words in [&run[..], &call[..]] {
        let answer = without_landlock(&world, &[&json[..], words].concat());
        let fault: Value = serde_json::from_slice(&answer.stderr).unwrap();
        assert_eq!((answer.code, &fault["code"]), (Some(4), &"E_TOOL_SANDBOX_REQUIRED".into()), "{fault}");
        assert!(text(&fault["message"]).contains("full is asked for"), "{fault}");
        assert!(text(&fault["advice"]).contains("doctor"), "{fault}");
    }
    assert!(world.json(["runs"])["runs"].as_array().unwrap().is_empty());
    let show = [&json[..], &["show", "skills/tool"].map(str::to_owned)].concat();
    let shown = without_landlock(&world, &show).json();
    assert_eq!(shown["execution_available"], false);
    assert_eq!(crate::texts(&shown["execution"]["reasons"], "code"), ["E_TOOL_SANDBOX_REQUIRED"]);
    // Where the deployer takes less, it runs, and the receipt says under what.
    envelope("namespaces");
    for (words, output) in [(&run[..], "ran\n"), (&call[..], "{}\n")] {
        let answer = without_landlock(&world, words);
        assert_eq!((answer.code, answer.text().as_str()), (Some(0), output), "{}", answer.errors());
        assert_eq!(receipt(&world)["containment"]["level"], "namespaces");
    }
    assert_clean(&world);
}
