//! Trust scopes: what runs without a question, for how long, and what takes it back.

use fumehood_testkit::{Answer, Streams, World};
use serde_json::{Value, json};

use super::policy::policy;
use super::{ASKED, flagged, receipt, scripted, yes};
use crate::schemas::{assert_notices, assert_valid};
use crate::text;

pub(super) const TRUST: &str = "[y/N] ";
const GO: [&str; 4] = ["run", "skills/tool", "go", "--param"];

/// A skill whose script prints a file, in a world of this mode.
fn reader(mode: &str) -> World {
    let params = json!([
        {"name": "file", "type": "path", "access": "read", "description": "A file.", "flag": "--file"},
        {"name": "text", "type": "string", "description": "A text.", "flag": "--text"},
    ]);
    let world = flagged(&scripted(&params, "echo ran\n").file("other.sh", "#!/bin/sh\n"));
    for file in ["papers/a.txt", "papers/.hidden", "other/b.txt"] {
        world.write(file, "text");
    }
    policy(&world, &format!("mode = \"{mode}\"\n"));
    world
}

/// What `trust` and these words answer to a person who says this.
pub(super) fn told(world: &World, words: &[&str], keys: &str) -> (String, Answer) {
    let arguments = ["--format", "json", "trust"].iter().chain(words).copied();
    world.call().at_terminal(arguments, TRUST, keys)
}

/// What is shown without the colours, which are ours.
pub(super) fn plain(shown: &str) -> String {
    ["1", "0", "2", "1;33", "31", "32", "1;31", "1;32"]
        .iter()
        .fold(shown.to_owned(), |text, style| text.replace(&format!("\u{1b}[{style}m"), ""))
}

fn add(world: &World) -> (String, Value) {
    let (shown, answer) = told(world, &["add", "skills/tool", "go", "--path", "file=papers"], "y\n");
    assert_eq!(answer.code, Some(0), "{shown}{}", answer.errors());
    let value = assert_valid("trust-scope", &answer.stdout);
    assert_notices("trust-scope", &value);
    (shown, value["scope"].clone())
}

pub(super) fn remove(world: &World, id: &str) {
    let answer = world.run(["--format", "json", "trust", "remove", id]);
    assert_eq!(answer.code, Some(0), "{}", answer.errors());
    assert_valid("trust-scope", &answer.stdout);
}

pub(super) fn list(world: &World) -> Value {
    let answer = world.run(["--format", "json", "trust", "list"]);
    assert_eq!(answer.code, Some(0), "{}", answer.errors());
    assert_valid("trust-list", &answer.stdout)
}

/// Whether a call runs without a question, where nobody could be asked.
fn runs_unasked(world: &World, param: &str, more: &[&str]) -> bool {
    let answer = world.run(GO.iter().chain(&[param]).chain(more));
    assert!(matches!(answer.code, Some(0 | 3)), "{param} {more:?}: {}", answer.errors());
    answer.code == Some(0)
}

pub(super) fn rows(world: &World, kind: &str) -> usize {
    let file = |name: &str| std::fs::read(world.path(crate::recorded::STATE).join(name)).unwrap_or_default();
    let all = [file("journal.sqlite"), file("journal.sqlite-wal")].concat();
    all.windows(kind.len()).filter(|part| *part == kind.as_bytes()).count()
}

// CHK-033, CHK-035, CHK-036, CHK-154: within the scope nobody is asked, other arguments included, and the receipt says by which scope.
#[test]
fn what_is_trusted_runs_without_a_question() {
    let world = reader("trusted");
    assert!(!runs_unasked(&world, "file=papers/a.txt", &[]));
    let (shown, scope) = add(&world);
    for part in
        ["path:tool", "cli", "run_tool_go", "file at", "sha256:", "never before", "workspace     none"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(scope["counts"], true);
    assert!(runs_unasked(&world, "file=papers/a.txt", &[]));
    assert!(runs_unasked(&world, "text=other", &["--param", "file=papers/a.txt"]));
    let authority = receipt(&world)["authority"].clone();
    assert_eq!((&authority["kind"], &authority["scope"]), (&json!("scope"), &scope["receipt"]));
    assert!(rows(&world, "trust.saved") > 0);
    // Also at a terminal: there is no question on it.
    let call = world.call();
    let (shown, answer) = call.sit_down(GO.iter().chain(&["text=x"]), Streams::Pipes).leave();
    assert_eq!(answer.code, Some(0), "{shown}{}", answer.errors());
    assert!(!shown.contains("[y/N]"), "{shown}");
}

// CHK-033, CHK-034, X-28: whatever is not the same or not within is asked about.
#[test]
fn what_is_not_trusted_is_asked_about() {
    let world = reader("trusted");
    add(&world);
    let covered = "file=papers/a.txt";
    assert!(runs_unasked(&world, covered, &[]));
    world.folder("ws");
    for (param, more) in [
        ("file=other/b.txt", &[][..]),
        ("file=papers/../other/b.txt", &[]),
        ("file=papers/.hidden", &[]),
        (covered, &["--timeout", "600"]),
        (covered, &["--read", "other/b.txt"]),
        (covered, &["--write", "other/c.txt"]),
        (covered, &["--out", "ws"]),
        ("text=x", &["--workspace", "ws"]),
    ] {
        assert!(!runs_unasked(&world, param, more), "{param} {more:?}");
    }
    world.link("papers/link", world.path("other/b.txt"));
    assert!(!runs_unasked(&world, "file=papers/link", &[]));
    // The exact vector of a script that nobody declared is never covered.
    assert_eq!(world.run(["run", "skills/tool", "go.sh", "--", "x"]).code, Some(3));
    // An ask rule comes before every scope.
    policy(&world, "mode = \"trusted\"\n[[rule]]\nname = \"asks\"\nask = { id = \"tool\" }\n");
    assert!(!runs_unasked(&world, covered, &[]));
    for mode in ["ask", "blocked"] {
        policy(&world, &format!("mode = \"{mode}\"\n"));
        assert!(!runs_unasked(&world, covered, &[]), "{mode}");
    }
    policy(&world, "mode = \"trusted\"\n");
    assert!(runs_unasked(&world, covered, &[]));
}

// CHK-039, CHK-041, CHK-154: one byte more, and it is asked about again; the question and the list say why.
#[test]
fn another_byte_is_another_revision() {
    let world = reader("trusted");
    add(&world);
    world.write("skills/tool/go.sh", "echo ran \n");
    assert!(!runs_unasked(&world, "text=x", &[]));
    let (shown, answer) = yes(&world, GO.iter().chain(&["text=x"]).copied());
    assert!(
        shown.contains("the trust scope for the tool does not count: the skill's bytes changed"),
        "{shown}"
    );
    assert_eq!(answer.code, Some(0));
    // What was approved once is what the next question compares with.
    world.write("skills/tool/go.sh", "echo ran  \n");
    world.write("skills/tool/new\u{202e}.txt", "new");
    let (shown, scope) = add(&world);
    assert!(shown.contains("changed\u{1b}[0m  go.sh"), "{shown}");
    assert!(shown.contains("new\\u{202e}.txt") && !shown.contains('\u{202e}'), "{shown}");
    assert_eq!(list(&world)["scopes"].as_array().unwrap().len(), 2);
    assert!(runs_unasked(&world, "text=x", &[]));
    assert_eq!(receipt(&world)["authority"]["scope"], scope["receipt"]);
}

// CHK-039: whoever is asked to trust another revision sees which lines are new, and nothing in them acts on the terminal.
#[test]
fn the_lines_that_changed_since_are_shown() {
    let world = reader("trusted");
    assert_eq!(world.fault(["diff", "skills/tool"], 2)["code"], "E_NOTHING_APPROVED");
    add(&world);
    assert_eq!(world.json(["diff", "skills/tool"])["identical"], true);
    world.write("skills/tool/go.sh", "echo ran\necho \u{202e}evil\u{1b}[2J\rx\n");
    world.write("skills/tool/data.bin", b"\0".as_slice());
    world.write("skills/tool/new.txt", "first\nlast");
    std::fs::remove_file(world.path("skills/tool/other.sh")).unwrap();
    let asks: [&dyn Fn() -> String; 2] = [&|| told(&world, &["add", "skills/tool", "go"], "n\n").0, &|| {
        let arguments = ["run", "skills/tool", "go", "--param", "text=x"];
        world.call().at_terminal(arguments, super::ASKED, "n\n").0
    }];
    for ask in asks {
        let shown = plain(&ask());
        for part in [
            "    1     1   echo ran",
            "          2 + echo \\u{202e}evil\\u{1b}[2J\\rx",
            "added    data.bin  not shown by lines: no text, or larger than 1 MiB",
            "added    new.txt",
            "          1 + first",
            "          2 + last",
            "changed  go.sh",
            "removed  other.sh",
            "4 files",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        for hostile in ["\u{202e}", "\u{1b}[2J", "\rx"] {
            assert!(!shown.contains(hostile), "{hostile:?}: {shown:?}");
        }
    }
    let diff = assert_valid("diff", &world.run(["--format", "json", "diff", "skills/tool"]).stdout);
    assert_eq!((&diff["before"]["path"], &diff["identical"]), (&json!(""), &json!(false)));
    let lines = diff["changed"][0]["lines"].as_array().unwrap();
    assert_eq!(lines.last().unwrap()["text"], "echo \u{202e}evil\u{1b}[2J\rx");
    assert_eq!((&diff["removed"][0]["path"], &diff["removed"][0]["size"]), (&json!("other.sh"), &json!(10)));
    let page = world.run(["diff", "skills/tool"]).text();
    assert!(page.contains("as it was approved last") && page.contains("\\u{202e}evil"), "{page}");
}

// A question is not longer than a person reads; what is left out is said, and where it is.
#[test]
fn what_is_too_long_for_a_question_is_left_to_diff() {
    let world = reader("trusted");
    add(&world);
    let lines = |count: usize| (0..count).map(|n| format!("echo {n}\n")).collect::<Vec<_>>().concat();
    for (count, left_out) in [(199, None), (200, Some("… and 1 line")), (300, Some("… and 101 lines"))] {
        world.write("skills/tool/go.sh", lines(count));
        let shown = plain(&told(&world, &["add", "skills/tool", "go"], "n\n").0);
        // One line was removed.
        assert_eq!(shown.contains(&format!("+ echo {}", count - 1)), left_out.is_none(), "{shown}");
        assert_eq!(shown.contains("`fumehood diff` with this skill alone"), left_out.is_some(), "{shown}");
        assert!(left_out.is_none_or(|said| shown.contains(said)), "{shown}");
        assert!(world.run(["diff", "skills/tool"]).text().contains(&format!("+ echo {}", count - 1)));
    }
}

// CHK-021: what is kept lets nothing run, and without it, or with other bytes in it, the question says less and nothing false.
#[test]
fn what_was_kept_is_believed_only_as_it_was() {
    let world = reader("trusted");
    add(&world);
    world.write("skills/tool/go.sh", "echo other\n");
    let shown = || plain(&told(&world, &["add", "skills/tool", "go"], "n\n").0);
    assert!(shown().contains("- echo ran"));
    let kept = world.path(crate::recorded::STATE).join("approved");
    for entry in std::fs::read_dir(&kept).unwrap() {
        let path = entry.unwrap().path();
        if std::fs::read(&path).unwrap() == b"echo ran\n" {
            std::fs::write(&path, "echo other").unwrap();
        }
    }
    let said = shown();
    assert!(said.contains("go.sh  not shown by lines: what it was is not kept"), "{said}");
    std::fs::remove_dir_all(&kept).unwrap();
    assert_eq!(shown(), said);
    assert!(!runs_unasked(&world, "text=x", &[]));
    let (_, answer) = yes(&world, GO.iter().chain(&["text=x"]).copied());
    assert_eq!(answer.code, Some(0), "{}", answer.errors());
    world.write("skills/tool/go.sh", "echo third\n");
    assert!(shown().contains("- echo other"));
}

// CHK-037, CHK-040, CHK-154: a draft counts for nothing until it is saved in mode trusted; what has its receipt keeps it.
#[test]
fn a_draft_counts_for_nothing() {
    let world = reader("ask");
    let (shown, draft) = add(&world);
    assert!(shown.contains("counts for nothing"), "{shown}");
    assert_eq!((&draft["receipt"], &draft["counts"]), (&Value::Null, &json!(false)));
    policy(&world, "mode = \"trusted\"\n");
    assert!(!runs_unasked(&world, "text=x", &[]));
    let (_, trusted) = add(&world);
    assert!(trusted["receipt"].is_string() && trusted["id"] == draft["id"]);
    assert!(runs_unasked(&world, "text=x", &[]));
    assert_eq!(add(&world).1["receipt"], trusted["receipt"]);
    // Also when it is saved again in another mode.
    policy(&world, "mode = \"ask\"\n");
    assert_eq!(add(&world).1["receipt"], trusted["receipt"]);
    assert_eq!(list(&world)["scopes"].as_array().unwrap().len(), 1);
}

// CHK-042, CHK-048, CHK-154: removed, it is revoked at once, and no draft is approved by that; added again, it has another receipt.
#[test]
fn removing_revokes_at_once() {
    let world = reader("ask");
    let (_, answer) = told(&world, &["add", "skills/tool", "go"], "y\n");
    assert_eq!(answer.code, Some(0));
    policy(&world, "mode = \"trusted\"\n");
    let (shown, scope) = add(&world);
    assert!(shown.contains("this also makes trusted"), "{shown}");
    let listed = list(&world)["scopes"].clone();
    assert!(listed.as_array().unwrap().iter().all(|scope| scope["counts"] == true), "{listed}");
    for scope in listed.as_array().unwrap() {
        remove(&world, text(&scope["id"]));
    }
    assert!(!runs_unasked(&world, "file=papers/a.txt", &[]));
    assert!(rows(&world, "trust.removed") > 0);
    let again = add(&world).1;
    assert_eq!(again["id"], scope["id"]);
    assert_ne!(again["receipt"], scope["receipt"]);
    let other = if text(&again["id"]).starts_with("scope_0") { "scope_1" } else { "scope_0" };
    assert_eq!(world.fault(["trust", "remove", other], 2)["code"], "E_ID_INVALID");
    let by_receipt = world.json(["trust", "show", text(&again["receipt"])]);
    assert_eq!(by_receipt["scope"]["id"], again["id"]);
    // A draft stays one when another is removed.
    policy(&world, "mode = \"ask\"\n");
    told(&world, &["add", "skills/tool", "go"], "y\n");
    policy(&world, "mode = \"trusted\"\n");
    remove(&world, text(&again["id"]));
    assert_eq!(list(&world)["scopes"][0]["receipt"], Value::Null);
}

// CHK-038, CHK-044, CHK-045, CHK-154: only a person at a terminal adds one, and only where the policy takes that from there.
#[test]
fn only_a_person_at_a_terminal_trusts() {
    let world = reader("trusted");
    assert_eq!(world.fault(["trust", "add", "skills/tool", "go"], 3)["code"], "E_TERMINAL_REQUIRED");
    let (_, answer) = told(&world, &["add", "skills/tool", "go"], "n\n");
    assert_eq!(answer.code, Some(3));
    assert!(list(&world)["scopes"].as_array().unwrap().is_empty());
    assert_eq!(rows(&world, "trust.saved"), 0);
    for (words, code, exit) in [
        (&["other.sh"][..], "E_TRUST_SCOPE_INVALID", 2),
        (&["go", "--path", "text=papers"], "E_ARGUMENT_INVALID", 2),
        (&["go", "--path", "file=nowhere"], "E_FOLDER_NOT_FOUND", 2),
        (&["go", "--timeout", "3601"], "E_TRUST_SCOPE_INVALID", 2),
    ] {
        let all = ["trust", "add", "skills/tool"].iter().chain(words);
        assert_eq!(world.fault(all, exit)["code"], code, "{words:?}");
    }
    policy(&world, "mode = \"trusted\"\n[surfaces]\nterminal = [\"once\"]\n");
    assert_eq!(world.fault(["trust", "add", "skills/tool", "go"], 3)["code"], "E_POLICY_DENIED");
    policy(&world, "mode = [\n");
    assert_eq!(world.fault(["trust", "add", "skills/tool", "go"], 3)["code"], "E_POLICY_INVALID");
}

// CHK-007: what changed while the question was open is not what the person said yes to.
#[test]
fn what_changes_while_the_question_is_open_is_not_trusted() {
    let world = reader("trusted");
    for change in ["go.sh", "policy"] {
        let call = world.call();
        let words = ["--format", "json", "trust", "add", "skills/tool", "go"];
        let mut session = call.sit_down(words, Streams::Pipes);
        session.see(TRUST);
        match change {
            "policy" => policy(&world, "mode = \"ask\"\n"),
            file => drop(world.write(&format!("skills/tool/{file}"), "echo other\n")),
        }
        session.keys("y\n");
        let (_, answer) = session.leave();
        let fault: Value = serde_json::from_slice(&answer.stderr).unwrap();
        assert_eq!(fault["code"], "E_CONSENT_STALE", "{change}");
        assert!(list(&world)["scopes"].as_array().unwrap().is_empty(), "{change}");
    }
}

// CHK-023, CHK-033: the workspace is the folder, not its name, and for reading is not for change.
#[test]
fn another_folder_in_its_place_is_another_workspace() {
    let world = reader("trusted");
    world.folder("ws");
    let (shown, answer) = told(&world, &["add", "skills/tool", "go", "--workspace", "ws"], "y\n");
    assert_eq!(answer.code, Some(0), "{shown}{}", answer.errors());
    assert!(runs_unasked(&world, "text=x", &["--workspace", "ws"]));
    assert!(!runs_unasked(&world, "text=x", &["--workspace", "ws:rw"]));
    assert!(!runs_unasked(&world, "text=x", &[]));
    world.rename("ws", "kept");
    world.folder("ws");
    assert!(!runs_unasked(&world, "text=x", &["--workspace", "ws"]));
}

// CHK-043: the list says which scopes their skills have left behind, and by how many files where that is on record.
#[test]
fn the_list_says_what_is_stale() {
    let world = reader("trusted");
    world.folder("home/.agents");
    world.rename("skills", "home/.agents/skills");
    let (_, answer) = told(&world, &["add", "tool", "go"], "y\n");
    assert_eq!(answer.code, Some(0), "{}", answer.errors());
    assert_eq!(list(&world)["scopes"][0]["stale"], false);
    world.write("home/.agents/skills/tool/go.sh", "echo other\n");
    world.write("home/.agents/skills/tool/new.txt", "new");
    let stale = list(&world)["scopes"][0].clone();
    assert_eq!((&stale["stale"], &stale["files_changed"]), (&json!(true), &json!(2)));
    let shown = world.run(["trust", "list"]);
    assert!(
        shown.text().contains("stale: the skill has another revision, 2 files changed"),
        "{}",
        shown.text()
    );
    let shown = world.run(["trust", "show", text(&stale["id"])]);
    assert!(shown.text().contains("is now"), "{}", shown.text());
}

// CHK-029, X-22: scopes that cannot be read cover nothing.
#[test]
fn scopes_that_cannot_be_read_cover_nothing() {
    let world = reader("trusted");
    add(&world);
    assert!(runs_unasked(&world, "text=x", &[]));
    world.write(&format!("{}/trust.sqlite", crate::recorded::STATE), "no database");
    assert!(!runs_unasked(&world, "text=x", &[]));
    let (shown, answer) = yes(&world, GO.iter().chain(&["text=x"]).copied());
    assert!(shown.contains(ASKED), "{shown}");
    assert_eq!(answer.code, Some(0));
}

// CHK-033: another interpreter is another thing than was trusted.
#[test]
fn a_repinned_interpreter_revokes_what_was_trusted() {
    let world = reader("trusted");
    add(&world);
    assert!(runs_unasked(&world, "text=x", &[]));
    crate::interpreters::pinned_before(&world);
    assert_eq!(world.fault(GO.iter().chain(&["text=x"]), 2)["code"], "E_INTERPRETER_CHANGED");
    assert_eq!(list(&world)["scopes"].as_array().unwrap().len(), 1);
    let (shown, answer) = world.call().at_terminal(["interpreters", "repin", "sh"], TRUST, "y\n");
    assert_eq!(answer.code, Some(0), "{shown}{}", answer.errors());
    assert!(list(&world)["scopes"].as_array().unwrap().is_empty());
    assert!(!runs_unasked(&world, "text=x", &[]));
}

// CHK-037, CHK-039, CHK-042: each command is a process of its own. What is the same keeps its receipt, whatever else is saved
// meanwhile; what differs in any part is another scope with another one.
#[test]
fn a_receipt_outlives_processes_and_is_for_one_scope_exactly() {
    let world = reader("trusted");
    for file in ["ws/a.txt", "ws2/a.txt"] {
        world.write(file, "text");
    }
    let base = ["add", "skills/tool", "go", "--path", "file=ws", "--workspace", "ws", "--timeout", "50"];
    let receipt = |words: &[&str]| {
        let (shown, answer) = told(&world, words, "y\n");
        assert_eq!(answer.code, Some(0), "{words:?}: {shown}{}", answer.errors());
        text(&answer.json()["scope"]["receipt"]).to_owned()
    };
    let first = receipt(&base);
    let mut seen = std::collections::BTreeSet::from([first.clone()]);
    let with = |at: usize, value: &'static str| {
        let mut words = base;
        words[at] = value;
        words
    };
    for words in [with(4, "file=ws2"), with(6, "ws2"), with(6, "ws:rw"), with(8, "49"), with(8, "1")] {
        assert!(seen.insert(receipt(&words)), "{words:?}");
        assert_eq!(receipt(&base), first, "after {words:?}");
    }
    assert!(seen.insert(receipt(&base[..5])), "without a workspace");
    let configured = |settings: &str| super::configure(&world, settings);
    configured(
        "[envelope]\nread_roots = [\"/\"]\nwrite_roots = [\"/\"]\ninterpreter_read_paths = []\noutput_bytes_max = 4096\n",
    );
    assert!(seen.insert(receipt(&base)), "another ceiling for output");
    configured("");
    assert_eq!(receipt(&base), first);
    world.write("skills/tool/other.sh", "#!/bin/sh\n\n");
    assert!(seen.insert(receipt(&base)), "another revision");
    world.write("skills/tool/other.sh", "#!/bin/sh\n");
    assert_eq!(receipt(&base), first);
    // A run between two savings renews nothing either, and says by which receipt it ran.
    assert!(runs_unasked(&world, "file=a.txt", &["--workspace", "ws", "--timeout", "50"]));
    assert_eq!(self::receipt(&world)["authority"]["scope"], first.as_str());
    assert_eq!(receipt(&base), first);
    let id = text(&world.json(["trust", "show", &first])["scope"]["id"]).to_owned();
    remove(&world, &id);
    assert!(!runs_unasked(&world, "file=a.txt", &["--workspace", "ws", "--timeout", "50"]));
    assert!(seen.insert(receipt(&base)), "taken back and added again");
}
