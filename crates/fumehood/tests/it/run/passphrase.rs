//! The passphrase: what needs it, that a wrong one is a no, and that nobody sees it.

use fumehood_testkit::{Answer, Session, Streams, World, skill};
use serde_json::{Value, json};

use super::policy::policy;
use super::{configure, copy, example, flagged, refused, scripted};
use crate::schemas::{assert_notices, assert_valid};
use crate::text;

/// Of "correct horse", as cheap as one may be.
pub(crate) const HASH: &str =
    "$argon2id$v=19$m=7168,t=5,p=1$BwcHBwcHBwcHBwcHBwcHBw$fa+qNNUDrXo/TV/DkEjqECMpAe2xRAMFzKBvIhZP5ns";
const RIGHT: &str = "correct horse\n";
const PROMPT: &str = "Passphrase: ";
const YES: &str = "[y/N]";
const TRIES: &str = "passphrase-tries";

/// A world in which `skills/tool` has a script and a passphrase is required.
fn guarded() -> World {
    let world = flagged(&scripted(&json!([]), "echo ran\n"));
    configure(&world, &format!("[approver]\npassphrase = \"{HASH}\"\n"));
    policy(&world, "mode = \"trusted\"\n");
    world
}

fn sit_down(world: &World, words: &[&str]) -> Session {
    world.call().sit_down(["--format", "json"].iter().chain(words), Streams::Pipes)
}

/// Says yes, and types this when the passphrase is asked for.
fn typing(world: &World, words: &[&str], typed: &str) -> (String, Answer) {
    let mut session = sit_down(world, words);
    session.see(YES).see(" ").keys("y\n").see(PROMPT).keys(typed);
    session.leave()
}

fn code(answer: &Answer) -> String {
    let fault: Value =
        serde_json::from_slice(&answer.stderr).unwrap_or_else(|_| panic!("{}", answer.errors()));
    text(&fault["code"]).to_owned()
}

/// Forgets what was wrong, for the next case.
fn forget(world: &World) {
    let _ = std::fs::remove_file(world.path(crate::recorded::STATE).join(TRIES));
}

// DESIGN 6, CHK-044: each decision at the terminal needs it; wrong, none or Ctrl-D is a no, and nothing happened.
#[test]
fn every_yes_needs_the_passphrase() {
    let world = guarded();
    copy(&example("semver-sort"), &world.path("skills/semver-sort"));
    world.add(
        "home/.agents/skills",
        &skill("plain").file("run.sh", "#!/bin/sh\n# Usage: run.sh FILE\ncat \"$1\"\n"),
    );
    world.add("project/.agents/skills", &skill("inert"));
    let drafted = world.run(["adopt", "plain", "--no-help"]);
    assert_eq!(drafted.code, Some(0), "{}", drafted.errors());
    let input = r#"{"versions": ["1.0.0"]}"#;
    let commands: [&[&str]; 6] = [
        &["run", "skills/tool", "go"],
        &["call", "skills/semver-sort", "--input", input],
        &["trust", "add", "skills/tool", "go"],
        &["trust-project", "project"],
        &["adopt", "--accept", "plain"],
        &["policy", "mode", "ask"],
    ];
    for words in commands {
        for (typed, expected) in [
            ("wrong\n", "E_PASSPHRASE_WRONG"),
            ("\n", "E_PASSPHRASE_REQUIRED"),
            ("\u{4}", "E_PASSPHRASE_REQUIRED"),
        ] {
            forget(&world);
            let (shown, answer) = typing(&world, words, typed);
            assert_eq!((answer.code, code(&answer).as_str()), (Some(3), expected), "{words:?}: {shown}");
        }
    }
    assert!(world.json(["runs"])["runs"].as_array().unwrap().is_empty());
    assert!(world.json(["trust", "list"])["scopes"].as_array().unwrap().is_empty());
    assert_eq!(world.read("home/.config/fumehood/policy.toml"), b"mode = \"trusted\"\n");
    for words in commands {
        let (shown, answer) = typing(&world, words, RIGHT);
        assert_eq!(answer.code, Some(0), "{words:?}: {shown}{}", answer.errors());
        assert!(!shown.contains("correct horse"), "{shown}");
    }
    assert!(!world.path(crate::recorded::STATE).join(TRIES).exists());
}

#[test]
fn a_repin_needs_the_passphrase() {
    let world = guarded();
    let (_, answer) = typing(&world, &["run", "skills/tool", "go"], RIGHT);
    assert_eq!(answer.code, Some(0), "{}", answer.errors());
    crate::interpreters::pinned_before(&world);
    let (_, answer) = typing(&world, &["interpreters", "repin", "sh"], "wrong\n");
    assert_eq!(code(&answer), "E_PASSPHRASE_WRONG");
    assert_eq!(refused(&world, &["go"], 3)["code"], "E_PASSPHRASE_REQUIRED");
    let (shown, answer) = typing(&world, &["interpreters", "repin", "sh"], RIGHT);
    assert_eq!(answer.code, Some(0), "{shown}{}", answer.errors());
}

#[test]
fn an_edit_of_the_policy_needs_the_passphrase() {
    let world = guarded();
    world.write("edit.sh", "echo 'mode = \"blocked\"' >\"$1\"\n");
    let call = world.call().variable("EDITOR", format!("/bin/sh {}", world.text("edit.sh")));
    for (typed, exit) in [("wrong\n", Some(3)), (RIGHT, Some(0))] {
        let mut session = call.sit_down(["policy", "edit"], Streams::Pipes);
        session.see(YES).keys("y\n").see(PROMPT).keys(typed);
        let (shown, answer) = session.leave();
        assert_eq!(answer.code, exit, "{shown}{}", answer.errors());
    }
    assert_eq!(world.read("home/.config/fumehood/policy.toml"), b"mode = \"blocked\"\n");
}

// X-04: the flag is no person; and without a terminal there is nobody to type one.
#[test]
fn a_flag_is_no_passphrase() {
    let world = guarded();
    let fault = refused(&world, &["go"], 3);
    assert_eq!(fault["code"], "E_PASSPHRASE_REQUIRED");
    assert!(text(&fault["advice"]).contains("fumehood passphrase remove"), "{fault}");
    configure(&world, "");
    assert_eq!(super::ran(&world, &["go"]).code, Some(0));
}

// No is no: nobody is asked for a passphrase then. What is covered by a scope asks for neither.
#[test]
fn without_a_question_there_is_no_passphrase() {
    let world = guarded();
    let mut session = sit_down(&world, &["run", "skills/tool", "go"]);
    session.see(YES).see(" ").keys("n\n");
    let (shown, answer) = session.leave();
    assert_eq!(code(&answer), "E_SKILL_SCRIPT_DENIED");
    assert!(!shown.contains(PROMPT), "{shown}");
    let (_, answer) = typing(&world, &["trust", "add", "skills/tool", "go"], RIGHT);
    assert_eq!(answer.code, Some(0), "{}", answer.errors());
    assert_eq!(world.run(["run", "skills/tool", "go"]).code, Some(0));
}

// The fourth in a row is not looked at, also by another command, also if it is right.
#[test]
fn wrong_tries_make_the_next_wait() {
    let world = guarded();
    for _ in 0..3 {
        assert_eq!(code(&typing(&world, &["policy", "mode", "ask"], "wrong\n").1), "E_PASSPHRASE_WRONG");
    }
    let file = world.path(crate::recorded::STATE).join(TRIES);
    let counted = std::fs::read_to_string(&file).unwrap();
    let (count, last) = counted.trim().split_once(' ').unwrap();
    assert_eq!(count, "3");
    // As if it had been far more: so the wait is longer than this test takes.
    std::fs::write(&file, format!("40 {last}\n")).unwrap();
    for words in [&["policy", "mode", "ask"][..], &["run", "skills/tool", "go"]] {
        // Said before anybody reads a question whose answer could not count.
        let (shown, answer) = sit_down(&world, words).leave();
        assert_eq!((answer.code, code(&answer).as_str()), (Some(3), "E_PASSPHRASE_WAIT"), "{shown}");
        assert!(!shown.contains(YES) && !shown.contains(PROMPT), "{shown}");
    }
    std::fs::write(&file, "3 1\n").unwrap();
    assert_eq!(typing(&world, &["policy", "mode", "ask"], RIGHT).1.code, Some(0));
}

// Ctrl-C is a no, and the terminal shows what is typed again: the shell that started it says so.
#[test]
fn ctrl_c_gives_the_echo_back() {
    let world = guarded();
    let program = crate::program().into_string().unwrap();
    for words in ["policy mode ask", "run skills/tool go"] {
        let script = format!("trap : INT; '{program}' {words}; echo ended $?; stty -a");
        let call = world.call().variable("PATH", "/usr/bin:/bin");
        let mut session = call.sit_down_behind("/bin/sh", ["-c", &script], Streams::Terminal);
        session.see(YES).see(" ").keys("y\n").see(PROMPT).keys("corr\u{3}").see("ended ");
        let (shown, _) = session.leave();
        let (before, after) = shown.split_once("ended ").unwrap();
        assert!(!after.starts_with("0\n"), "{words}: {shown}");
        assert!(after.contains(" echo ") && !after.contains("-echo "), "{words}: {after}");
        assert!(after.contains("susp = ^Z"), "{words}: {after}");
        assert!(!before.contains("corr"), "{words}: {before}");
    }
    assert_eq!(world.read("home/.config/fumehood/policy.toml"), b"mode = \"trusted\"\n");
}

fn answered(answer: &Answer) -> Value {
    assert_eq!(answer.code, Some(0), "{}", answer.errors());
    let value = assert_valid("passphrase", &answer.stdout);
    assert_notices("passphrase", &value);
    value
}

// Set, changed and removed by whoever knows the one before; in the file only a hash, and every other byte as it was.
#[test]
fn a_passphrase_is_set_changed_and_removed() {
    const NEW: &str = "New passphrase";
    const AGAIN: &str = "The same again: ";
    let world = flagged(&scripted(&json!([]), "echo ran\n"));
    let settings = || String::from_utf8(world.read("home/.config/fumehood/fumehood.toml")).unwrap();
    let before = settings();
    assert_eq!(world.fault(["passphrase", "set"], 3)["code"], "E_TERMINAL_REQUIRED");
    assert_eq!(world.json(["passphrase", "remove"])["changed"], false);
    for (first, second, message) in [
        ("short\n", "short\n", "shorter than 8 bytes"),
        ("long enough\n", "long enougH\n", "not typed the same twice"),
    ] {
        let mut session = sit_down(&world, &["passphrase", "set"]);
        session.see(YES).keys("y\n").see(NEW).see(": ").keys(first).see(AGAIN).keys(second);
        let (_, answer) = session.leave();
        assert_eq!((answer.code, code(&answer).as_str()), (Some(2), "E_PASSPHRASE_INVALID"));
        assert!(answer.errors().contains(message), "{}", answer.errors());
    }
    let too_long = format!("{}\n", "x".repeat(1025));
    let mut session = sit_down(&world, &["passphrase", "set"]);
    session.see(YES).keys("y\n").see(NEW).see(": ").keys(&too_long);
    assert_eq!(code(&session.leave().1), "E_PASSPHRASE_INVALID");
    assert_eq!(settings(), before);
    let set = |old: Option<&str>, new: &str| {
        let mut session = sit_down(&world, &["passphrase", "set"]);
        session.see(YES).keys("y\n");
        if let Some(old) = old {
            session.see("\nPassphrase: ").keys(old);
        }
        session.see(NEW).see(": ").keys(new).see(AGAIN).keys(new);
        session.leave()
    };
    let (shown, answer) = set(None, "first one\n");
    assert_eq!(answered(&answer)["required"], true);
    assert!(!shown.contains("first one"), "{shown}");
    assert!(settings().starts_with(&before) && settings().contains("$argon2id$v=19$m=19456,t=2,p=1$"));
    assert!(!settings().contains("first one"));
    assert_eq!(code(&typing(&world, &["passphrase", "set"], "wrong one\n").1), "E_PASSPHRASE_WRONG");
    let first = settings();
    answered(&set(Some("first one\n"), "second one\n").1);
    assert_ne!(settings(), first);
    assert_eq!(code(&typing(&world, &["passphrase", "remove"], "first one\n").1), "E_PASSPHRASE_WRONG");
    let removed = answered(&typing(&world, &["passphrase", "remove"], "second one\n").1);
    assert_eq!((&removed["required"], &removed["changed"]), (&json!(false), &json!(true)));
    assert_eq!(settings(), before);
    let verified = world.json(["audit", "verify"]);
    assert!(verified["rows"].as_u64().unwrap() >= 3, "{verified}");
}

// X-22: one that is too weak stops every command, and the message does not repeat it.
#[test]
fn a_weak_hash_is_no_passphrase() {
    let world = guarded();
    let weak = HASH.replace("t=5", "t=1");
    configure(&world, &format!("[approver]\npassphrase = \"{weak}\"\n"));
    let fault = world.fault(["policy", "mode", "ask"], 2);
    assert_eq!(fault["code"], "E_CONFIG_INVALID");
    assert!(text(&fault["message"]).contains("approver.passphrase is too weak"), "{fault}");
    assert!(!fault.to_string().contains("BwcHBw"), "{fault}");
}
