//! `policy mode` and `policy edit`: who may change the policy, what they see first, and what keeps it as it was.

use std::os::unix::fs::PermissionsExt as _;

use fumehood_testkit::{Answer, Call, Streams, World};
use serde_json::{Value, json};

use super::policy::policy;
use super::{ASKED, configure, flagged, ran, scripted};
use crate::schemas::{assert_notices, assert_valid};
use crate::text;

const FILE: &str = "home/.config/fumehood/policy.toml";
const DRAFTS: &str = "policy-drafts";

fn plain() -> World {
    flagged(&scripted(&json!([]), "echo ran\n"))
}

/// A call in which the editor is this script; `$1` is the draft.
fn editing<'w>(world: &'w World, script: &str) -> Call<'w> {
    world.write("edit.sh", script);
    world.call().variable("VISUAL", format!("/bin/sh {}", world.text("edit.sh")))
}

fn said(call: &Call<'_>, words: &[&str], keys: &str) -> (String, Answer) {
    let all = ["--format", "json", "policy"].iter().chain(words);
    call.at_terminal(all, ASKED, keys)
}

fn saved(answer: &Answer) -> Value {
    assert_eq!(answer.code, Some(0), "{}", answer.errors());
    let value = assert_valid("policy-saved", &answer.stdout);
    assert_notices("policy-saved", &value);
    value
}

fn fault(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.stderr).unwrap_or_else(|_| panic!("{}", answer.errors()))
}

fn in_force(world: &World) -> String {
    String::from_utf8(world.read(FILE)).unwrap()
}

fn rows(world: &World) -> Vec<Value> {
    let journal = fumehood_store::Journal::open(&fumehood_store::Home {
        config: world.path("home/.config/fumehood"),
        state: world.path(crate::recorded::STATE),
    });
    let rows = journal.unwrap().newest(Some("policy.saved"), None, 10).unwrap();
    rows.iter().map(|row| serde_json::from_str(&row.json).unwrap()).collect()
}

fn drafts(world: &World) -> usize {
    let folder = world.path(crate::recorded::STATE).join(DRAFTS);
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

// CHK-028, CHK-154: one key, every comment kept, mode 0600, on record with what it was before.
#[test]
fn mode_changes_the_mode_and_nothing_else() {
    let world = plain();
    policy(&world, "# mine\nmode = \"ask\" # for now\n\n[[rule]]\nname = \"n\"\ndeny = { id = \"other\" }\n");
    let before = in_force(&world);
    let (shown, answer) = said(&world.call(), &["mode", "blocked"], "y\n");
    let report = saved(&answer);
    assert_eq!(
        (&report["changed"], &report["mode"], &report["rules"]),
        (&json!(true), &json!("blocked"), &json!(1))
    );
    assert_eq!(in_force(&world), before.replace("\"ask\"", "\"blocked\""));
    assert_eq!(std::fs::metadata(world.path(FILE)).unwrap().permissions().mode() & 0o7777, 0o600);
    for part in ["mode = \"ask\" # for now", "mode = \"blocked\" # for now", "before it was ask"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let rows = rows(&world);
    assert_eq!(rows.len(), 1);
    assert_eq!((&rows[0]["old"], &rows[0]["new"]), (&report["file_sha256_before"], &report["file_sha256"]));
    assert_eq!(rows[0]["mode"], "blocked");
    // It acts on the next launch.
    assert_eq!(ran(&world, &["go"]).code, Some(3));
    saved(&said(&world.call(), &["mode", "ask"], "yes\n").1);
    assert_eq!(in_force(&world), before);
    assert_eq!(ran(&world, &["go"]).code, Some(0));
    // What holds already needs nobody.
    let same = world.json(["policy", "mode", "ask"]);
    assert_eq!((&same["changed"], &same["mode"]), (&json!(false), &json!("ask")));
    assert!(!world.run(["policy", "mode", "open"]).text().contains("Saved"));
}

#[test]
fn mode_makes_a_policy_where_there_is_none() {
    let world = plain();
    let report = saved(&said(&world.call(), &["mode", "trusted"], "y\n").1);
    assert_eq!(
        (in_force(&world).as_str(), &report["file_sha256_before"]),
        ("mode = \"trusted\"\n", &Value::Null)
    );
}

// CHK-044, CHK-045: a whole-line yes of a person at a terminal, and nothing else.
#[test]
fn only_a_whole_yes_at_a_terminal_changes_the_policy() {
    let world = plain();
    policy(&world, "mode = \"ask\"\n");
    assert_eq!(world.fault(["policy", "mode", "trusted"], 3)["code"], "E_TERMINAL_REQUIRED");
    let edit = editing(&world, "echo 'mode = \"trusted\"' >\"$1\"\n");
    assert_eq!(edit.fault(["policy", "edit"], 3)["code"], "E_TERMINAL_REQUIRED");
    assert_eq!(drafts(&world), 0);
    for keys in ["n\n", "\n", "yess\n", "y\u{4}\u{4}"] {
        let (_, answer) = said(&world.call(), &["mode", "trusted"], keys);
        assert_eq!(
            (answer.code, fault(&answer)["code"].as_str()),
            (Some(3), Some("E_NOT_CONFIRMED")),
            "{keys:?}"
        );
        let (_, answer) = said(&edit, &["edit"], keys);
        assert_eq!(answer.code, Some(3), "{keys:?}");
    }
    assert_eq!((in_force(&world).as_str(), rows(&world).len()), ("mode = \"ask\"\n", 0));
    // What the person typed is not lost with a no.
    assert_eq!(drafts(&world), 4);
    saved(&said(&edit, &["edit"], "y\n").1);
    assert_eq!((in_force(&world).as_str(), drafts(&world)), ("mode = \"trusted\"\n", 4));
}

// What differs is shown with what is hidden in it, the cases are played, and what may not have been meant is said.
#[test]
fn edit_shows_what_differs() {
    let world = plain();
    policy(&world, "mode = \"ask\"\n# kept\n");
    let new = "mode = \"ask\"\n# kept\n# a\\342\\200\\256b\n[[rule]]\nname = \"any\"\n\
               allow = { source = \"nowhere\", id = \"tool\", revision = \"*\" }\n\
               [[case]]\nname = \"a case\"\nexpect = \"deny\"\nfacts = { agent = \"cli\" }\n";
    let edit = editing(&world, &format!("printf '{new}' >\"$1\"\n"));
    let (shown, answer) = said(&edit, &["edit"], "y\n");
    let report = saved(&answer);
    assert_eq!((&report["rules"], &report["cases"]), (&json!(1), &json!(1)));
    for part in
        ["  # kept", "+ # a\\u{202e}b", "W_POLICY_ANY_REVISION", "missed", "a case", "mode ask as before"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains('\u{202e}'), "{shown}");
    assert!(in_force(&world).contains('\u{202e}'));
    assert_eq!(drafts(&world), 0);
}

// CHK-154: a malformed policy is refused with its place, edited again or left, and nothing of it counts.
#[test]
fn edit_refuses_what_is_no_policy() {
    let world = plain();
    policy(&world, "mode = \"ask\"\n");
    let edit = editing(&world, "printf 'mode = \"ask\"\\nmood = 1\\n' >\"$1\"\n");
    let (shown, answer) = said(&edit, &["edit"], "n\n");
    let said_so = fault(&answer);
    assert_eq!(said_so["code"], "E_POLICY_INVALID");
    assert!(shown.contains("line 2, column 1") && shown.contains("Edit it again?"), "{shown}");
    assert!(text(&said_so["message"]).contains("line 2, column 1"), "{said_so}");
    let advice = text(&said_so["advice"]);
    let draft = advice.split_once("kept at ").unwrap().1;
    assert!(std::fs::read_to_string(draft).unwrap().contains("mood"), "{advice}");
    assert_eq!(in_force(&world), "mode = \"ask\"\n");
    // Again, and this time it is one.
    let edit = editing(
        &world,
        "if [ -e again ]; then echo 'mode = \"blocked\"' >\"$1\"; else touch again; echo 'mode = [' >\"$1\"; fi\n",
    );
    let mut session = edit.sit_down(["--format", "json", "policy", "edit"], Streams::Pipes);
    session.see("Edit it again?").see(ASKED).keys("y\n").see("policy.toml?").see(ASKED).keys("y\n");
    saved(&session.leave().1);
    assert_eq!(in_force(&world), "mode = \"blocked\"\n");
    assert_eq!(rows(&world).len(), 1);
}

// A policy under which nothing runs can be mended by it; what was not touched is not written.
#[test]
fn edit_mends_a_malformed_policy_and_leaves_an_untouched_one() {
    let world = plain();
    policy(&world, "mode = [\n");
    assert_eq!(world.fault(["policy", "mode", "ask"], 3)["code"], "E_POLICY_INVALID");
    // What is asked about is what would be, and not what is in the way now.
    let (shown, answer) = said(&editing(&world, "echo >\"$1\"\n"), &["edit"], "y\n");
    saved(&answer);
    assert!(!shown.contains("unavailable"), "{shown}");
    assert_eq!(ran(&world, &["go"]).code, Some(0));
    let (shown, _) = said(&editing(&world, "echo 'mode = \"blocked\"' >\"$1\"\n"), &["edit"], "n\n");
    assert!(shown.contains("nothing of a skill runs here: the mode of policy.toml is blocked"), "{shown}");
    let untouched = editing(&world, "exit 0\n");
    let (shown, answer) = untouched.sit_down(["--format", "json", "policy", "edit"], Streams::Pipes).leave();
    assert_eq!(saved(&answer)["changed"], false, "{shown}");
    assert_eq!((rows(&world).len(), drafts(&world)), (1, 1));
}

// What somebody else wrote meanwhile stays, and so does what the person wrote.
#[test]
fn a_policy_that_changes_meanwhile_stays() {
    let world = plain();
    policy(&world, "mode = \"ask\"\n");
    let edit = editing(&world, "echo 'mode = \"trusted\"' >\"$1\"\n");
    for words in [&["mode", "trusted"][..], &["edit"]] {
        policy(&world, "mode = \"ask\"\n");
        let all = ["--format", "json", "policy"].iter().chain(words);
        let mut session = edit.sit_down(all, Streams::Pipes);
        session.see(ASKED);
        policy(&world, "mode = \"blocked\"\n");
        session.keys("y\n");
        let (_, answer) = session.leave();
        let said = fault(&answer);
        assert_eq!((answer.code, &said["code"]), (Some(2), &json!("E_POLICY_CHANGED")), "{words:?}");
        assert_eq!(in_force(&world), "mode = \"blocked\"\n");
        if words[0] == "edit" {
            let draft = text(&said["advice"]).split_once("kept at ").unwrap().1.to_owned();
            assert_eq!(std::fs::read_to_string(draft).unwrap(), "mode = \"trusted\"\n");
        }
    }
    assert!(rows(&world).is_empty());
}

// CHK-044: what was shown is what is saved, whatever an editor that lives on makes of the draft.
#[test]
fn a_draft_that_changes_while_the_question_is_open_is_saved_as_it_was_shown() {
    let world = plain();
    policy(&world, "mode = \"blocked\"\n");
    let place = world.text("place");
    let edit = editing(&world, &format!("printf 'mode = \"ask\"\\n' >\"$1\"\nprintf %s \"$1\" >'{place}'\n"));
    let mut session = edit.sit_down(["--format", "json", "policy", "edit"], Streams::Pipes);
    session.see(ASKED);
    let draft = String::from_utf8(world.read("place")).unwrap();
    std::fs::write(draft, "mode = \"trusted\"\n").unwrap();
    session.keys("y\n");
    assert_eq!(saved(&session.leave().1)["mode"], "ask");
    assert_eq!(in_force(&world), "mode = \"ask\"\n");
}

// CHK-044: not where a script may write, by settings that are read again when it is saved.
#[test]
fn a_policy_where_scripts_may_write_is_not_written() {
    let world = plain();
    let envelope = |root: &str| {
        let lists = format!("read_roots = []\nwrite_roots = [\"{root}\"]\ninterpreter_read_paths = []\n");
        configure(&world, &format!("[envelope]\n{lists}"));
    };
    envelope(&world.text("home"));
    assert_eq!(world.fault(["policy", "mode", "trusted"], 3)["code"], "E_POLICY_WRITABLE");
    envelope(&world.text("project"));
    let mut session =
        world.call().sit_down(["--format", "json", "policy", "mode", "trusted"], Streams::Pipes);
    session.see(ASKED);
    envelope(&world.text("home"));
    session.keys("y\n");
    assert_eq!(fault(&session.leave().1)["code"], "E_POLICY_WRITABLE");
    assert!(!world.has(FILE));
    envelope(&world.text("project"));
    saved(&said(&world.call(), &["mode", "trusted"], "y\n").1);
    // A link is not replaced either.
    world.rename(FILE, "elsewhere.toml");
    world.link(FILE, world.path("elsewhere.toml"));
    assert_eq!(world.fault(["policy", "mode", "ask"], 2)["code"], "E_POLICY_UNEDITABLE");
}

#[test]
fn an_editor_that_fails_changes_nothing() {
    let world = plain();
    policy(&world, "mode = \"ask\"\n");
    // What was typed is kept, and what is no other text than before is not.
    for (call, message, kept) in [
        (editing(&world, "echo 'mode = \"trusted\"' >\"$1\"; exit 1\n"), "exit status: 1", 1),
        (world.call().variable("EDITOR", "/nowhere/editor"), "there is no such program", 1),
    ] {
        let (_, answer) = call.sit_down(["--format", "json", "policy", "edit"], Streams::Pipes).leave();
        let said = fault(&answer);
        assert_eq!((answer.code, said["code"].as_str()), (Some(4), Some("E_EDITOR_FAILED")));
        assert!(text(&said["message"]).contains(message), "{said}");
        assert_eq!(drafts(&world), kept);
    }
    assert_eq!(in_force(&world), "mode = \"ask\"\n");
}

// Ctrl-C in the editor is the editor's; afterwards it ends the question, and nothing changed.
#[test]
fn ctrl_c_is_for_whoever_has_the_terminal() {
    let world = plain();
    policy(&world, "mode = \"ask\"\n");
    let edit = editing(
        &world,
        "trap 'echo \"mode = \\\"trusted\\\"\" >\"$1\"; exit 0' INT\necho editing >/dev/tty\nwhile :; do sleep 0.05; done\n",
    );
    let mut session = edit.sit_down(["--format", "json", "policy", "edit"], Streams::Pipes);
    session.see("editing").keys("\u{3}").see(ASKED).keys("\u{3}").see("stopped");
    let (_, answer) = session.leave();
    assert_eq!(fault(&answer)["code"], "E_NOT_CONFIRMED");
    assert_eq!(in_force(&world), "mode = \"ask\"\n");
}
