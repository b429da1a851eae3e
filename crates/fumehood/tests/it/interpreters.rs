//! `interpreters`: the list, and pinning one anew at the terminal.

use fumehood_core::Sha256;
use fumehood_testkit::World;
use serde_json::Value;

use crate::schemas::{assert_notices, assert_valid};
use crate::{text, texts, world};

const QUESTION: &str = "[y/N] ";
const PINS: &str = "home/.local/share/fumehood/interpreters.toml";

fn listed(world: &World, key: &str) -> Value {
    let answer = world.run(["interpreters", "--format", "json"]);
    assert_eq!((answer.code, answer.errors().as_str()), (Some(0), ""));
    let report = assert_valid("interpreters", &answer.stdout);
    let all = report["interpreters"].as_array().unwrap();
    all.iter().find(|interpreter| interpreter["key"] == key).unwrap().clone()
}

/// The shell of this machine: its file, and the digest of it.
fn shell() -> (String, String) {
    let file =
        ["/usr/bin/sh", "/bin/sh"].into_iter().find_map(|path| std::fs::canonicalize(path).ok()).unwrap();
    let sha256 = Sha256::of(&std::fs::read(&file).unwrap()).to_string();
    (file.into_os_string().into_string().unwrap(), sha256)
}

/// A state in which the shell was pinned when it had other bytes.
pub(crate) fn pinned_before(world: &World) {
    let (file, _) = shell();
    let sha256 = Sha256::of(b"before").to_string();
    let record = format!(
        "schema_version = 1\n[[pins]]\nkey = \"sh\"\npath = \"{file}\"\nsha256 = \"{sha256}\"\n\
         version = \"before\\u001b[2J\"\nseen = \"\"\n"
    );
    world.write(PINS, record);
    world.mode("home/.local/share/fumehood", 0o700);
    world.mode(PINS, 0o600);
}

#[test]
fn the_list_looks_and_makes_nothing() {
    let world = world();
    let report = world.json(["interpreters"]);
    assert_eq!(texts(&report["interpreters"], "key"), ["sh", "bash", "python3", "node"]);
    let sh = listed(&world, "sh");
    let (file, sha256) = shell();
    assert_eq!(
        (text(&sh["status"]), text(&sh["file"]), text(&sh["sha256"])),
        ("unpinned", file.as_str(), sha256.as_str())
    );
    assert_eq!((&sh["pinned"], &sh["configured"]), (&Value::Null, &false.into()));
    assert_eq!(listed(&world, "python3")["arguments"], serde_json::json!(["-E", "-s", "-B"]));
    let page = world.run(["interpreters", "list"]).text();
    assert!(page.contains("sh           not used yet  /") && page.contains(&sha256), "{page}");
    assert!(page.contains("arguments -E -s -B\n"), "{page}");
    assert!(!world.has("home/.local") && !world.has("home/.config"));
}

// EXE-61: what is configured is listed with what was found at its path, and wrong settings stop the list.
#[test]
fn configured_interpreters_are_listed_with_what_is_wrong_with_them() {
    let world = world();
    let open = world.write("open/tool", "#!/bin/sh\n");
    world.mode("open/tool", 0o755);
    world.mode("open", 0o777);
    let settings = format!(
        "[interpreters.ruby]\npath = \"/nowhere/ruby\"\n[interpreters.open]\npath = \"{}\"\narguments = [\"-x\"]\n",
        open.display()
    );
    world.write("home/.config/fumehood/fumehood.toml", &settings);
    assert_eq!(listed(&world, "ruby")["status"], "missing");
    let refused = listed(&world, "open");
    assert_eq!((&refused["status"], &refused["configured"]), (&"refused".into(), &true.into()));
    assert!(text(&refused["reason"]).contains("can be written by others"), "{refused}");
    assert_eq!(refused["arguments"], serde_json::json!(["-x"]));
    assert!(world.run(["interpreters"]).text().contains("not at /nowhere/ruby"));
    assert_eq!(world.fault(["interpreters", "repin", "ruby"], 2)["code"], "E_INTERPRETER_UNKNOWN");
    assert_eq!(world.fault(["interpreters", "repin", "open"], 3)["code"], "E_INTERPRETER_REFUSED");
    for key in ["perl", "/bin/sh", "\u{1b}[2J"] {
        let fault = world.fault(["interpreters", "repin", key], 2);
        assert_eq!(fault["code"], "E_INTERPRETER_UNKNOWN");
        assert!(!text(&fault["message"]).contains('\u{1b}'));
        assert!(text(&fault["advice"]).contains("sh, bash, python3, node, open, ruby"), "{fault}");
    }
    world.write("home/.config/fumehood/fumehood.toml", settings.replace("arguments", "argument"));
    assert_eq!(world.fault(["interpreters"], 2)["code"], "E_CONFIG_INVALID");
}

#[test]
fn a_changed_interpreter_is_shown_and_pinned_anew_by_a_person() {
    let world = world();
    pinned_before(&world);
    let (file, sha256) = shell();
    let changed = listed(&world, "sh");
    assert_eq!((&changed["status"], text(&changed["sha256"])), (&"changed".into(), sha256.as_str()));
    assert_eq!(changed["pinned"]["sha256"], Sha256::of(b"before").to_string());
    let page = world.run(["interpreters"]).text();
    assert!(page.contains("CHANGED") && page.contains("fumehood interpreters repin sh\n"), "{page}");
    assert!(page.contains("has other bytes than when it was pinned"), "{page}");

    // Nobody there, and somebody who does not say yes.
    let before = world.read(PINS);
    assert_eq!(world.fault(["interpreters", "repin", "sh"], 3)["code"], "E_TERMINAL_REQUIRED");
    let arguments = ["interpreters", "repin", "sh", "--format", "json"];
    let (_, answer) = world.call().at_terminal(arguments, QUESTION, "\n");
    assert_eq!((answer.code, world.read(PINS)), (Some(3), before));

    let (shown, answer) = world.call().at_terminal(arguments, QUESTION, "y\n");
    assert_eq!(answer.code, Some(0), "{}", answer.errors());
    for part in [&file, &sha256, &Sha256::of(b"before").to_string(), "before\\u{1b}[2J"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(!shown.contains("before\u{1b}"), "{shown:?}");
    let report = assert_valid("interpreters-repin", &answer.stdout);
    assert_notices("interpreters-repin", &report);
    assert_eq!((&report["changed"], text(&report["pinned"]["sha256"])), (&true.into(), sha256.as_str()));
    let sh = listed(&world, "sh");
    assert_eq!((&sh["status"], &sh["pinned"]), (&"pinned".into(), &report["pinned"]));
    // The same words as those that doctor gets.
    assert_eq!(report["pinned"]["version"], world.json(["doctor"])["interpreters"][0]["version"]);

    // Once more there is nothing to ask, and no terminal is needed.
    let again = world.json(["interpreters", "repin", "sh"]);
    assert_eq!((&again["changed"], &again["pinned"]), (&false.into(), &report["pinned"]));
    assert!(world.run(["interpreters", "repin", "sh"]).text().starts_with("Already pinned: sh is "));
    assert!(world.run(["interpreters"]).text().contains("sh           pinned        /"));
}

// The version is got in the sandbox; one that tells it shows that it is kept.
#[test]
fn a_first_pin_keeps_the_version() {
    let world = world();
    let (shown, answer) = world.call().at_terminal(["interpreters", "repin", "bash"], QUESTION, "y\n");
    assert_eq!(answer.code, Some(0), "{}", answer.errors());
    assert!(shown.contains("is not pinned yet"), "{shown}");
    let version = listed(&world, "bash")["pinned"]["version"].clone();
    let full = world.json(["doctor"])["interpreters"][1]["version"].clone();
    assert!(text(&full).starts_with(text(&version)) && text(&version).starts_with("GNU bash"), "{version}");
}

#[test]
fn a_record_that_is_not_ours_stops_the_list() {
    let world = world();
    pinned_before(&world);
    world.write(PINS, "schema_version = 2\n");
    assert_eq!(world.fault(["interpreters"], 4)["code"], "E_STATE_UNAVAILABLE");
    world.mode("home/.local/share/fumehood", 0o755);
    assert_eq!(world.fault(["interpreters"], 3)["code"], "E_HOME_REFUSED");
}
