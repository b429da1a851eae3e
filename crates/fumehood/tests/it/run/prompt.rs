//! The question at the terminal: what it says, and what counts as an answer.

use std::sync::{Arc, Mutex};

use fumehood::host::{Over, Person};
use fumehood::report::{Answer, Question};
use fumehood_testkit::{Streams, World, skill};
use serde_json::{Value, json};

use super::codes::{request, run_asking};
use super::{ASKED, answering, assert_clean, flagged, receipt, revision, scripted, yes};
use crate::schemas::{assert_notices, assert_valid};
use crate::{program, text};

/// Whatever could act on a terminal, or hide on it.
const HOSTILE: [&str; 6] = ["\u{1b}[2J", "\u{1b}]52;c;aGk=\u{7}", "\u{202e}", "\u{200b}", "\r", "\u{9b}31m"];

fn runs(world: &World) -> usize {
    world.json(["runs"])["runs"].as_array().unwrap().len()
}

/// The question with everything that differs from run to run, and what the machine confines, replaced.
fn normalised(world: &World, shown: &str) -> String {
    let receipt = receipt(world);
    let interpreter = &receipt["interpreter"];
    let version = interpreter["version"].as_str().unwrap_or("version unknown");
    let mut text = shown.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "").replace("\u{1b}[1;33m", "");
    for (value, name) in [
        (text_of(&receipt["authority"]["consent"]), "ASK"),
        (text_of(&receipt["run"]), "RUN"),
        (text_of(&receipt["skill"]["revision"]), "REVISION"),
        (text_of(&interpreter["sha256"]), "SHA256"),
        (format!("{} ({version})", text_of(&interpreter["path"])), "INTERPRETER"),
        (world.text(""), "WORLD/"),
    ] {
        assert!(text.contains(&value), "{value} is not in {text}");
        text = text.replace(&value, name);
    }
    let shell = text.split_once("command         ").unwrap().1.split_once(' ').unwrap().0.to_owned();
    text = text.replace(&shell, "SHELL");
    let (before, rest) = text.split_once("  limits  ").unwrap();
    let (confined, after) = rest.split_once("\n\n  skill  ").unwrap();
    assert_confined(confined, &receipt);
    format!("{before}CONFINED\n\n  skill  {after}")
}

fn text_of(value: &Value) -> String {
    text(value).to_owned()
}

/// Each limit is marked, the level is named, and so is each axis that is not enforced in full.
fn assert_confined(confined: &str, receipt: &Value) {
    let (limits, sandbox) = confined.split_once("\n  sandbox         ").unwrap();
    let marks = ["(enforced)", "(enforced in part)", "(NOT ENFORCED on this system)"];
    assert!(limits.lines().count() >= 7, "{confined}");
    assert!(limits.lines().all(|limit| marks.iter().any(|mark| limit.ends_with(mark))), "{confined}");
    let containment = &receipt["containment"];
    assert!(sandbox.starts_with(&format!("level {}, ", text(&containment["level"]))), "{confined}");
    for axis in containment["axes"].as_array().unwrap() {
        let named = sandbox.contains(&format!("                  {}: ", text(&axis["name"])));
        assert_eq!(named, axis["enforced"] != "enforced", "{axis} in {confined}");
    }
}

// mcp.md 4.2: the whole of it, for a skill and a caller that both mean no good.
#[test]
fn the_question_says_all_of_it_and_nothing_acts_on_the_terminal() {
    let world = flagged(&scripted(
        &json!([
            {"name": "text", "type": "string", "flag": "--text"},
            {"name": "in", "type": "path", "access": "read"},
            {"name": "to", "type": "path", "access": "create"},
        ]),
        "cat \"$3\" >\"$4\"\n",
    ));
    let manifest = String::from_utf8(world.read("skills/tool/fumehood.json")).unwrap();
    let hostile = HOSTILE.concat() + "\nRun it once? [y/N] y";
    let mut manifest: Value = serde_json::from_str(&manifest).unwrap();
    manifest["scripts"][0]["description"] = format!("Goes.{hostile}").into();
    world.write("skills/tool/fumehood.json", manifest.to_string());
    world.write("project/a \u{202e}b.txt", "x\n");
    let (say, read) = (format!("text={hostile}"), "in=project/a \u{202e}b.txt");
    let arguments =
        ["run", "skills/tool", "go", "--param", &say, "--param", read, "--param", "to=project/new.txt"];
    let (shown, answer) = yes(&world, arguments);
    assert_eq!(answer.code, Some(0), "{}", answer.errors());
    for hostile in HOSTILE {
        assert!(!shown.contains(hostile), "{hostile:?} in {shown:?}");
    }
    let seen = r"\u{1b}[2J\u{1b}]52;c;aGk=\u{7}\u{202e}\u{200b}\r\u{9b}31m\nRun it once? [y/N] y";
    let expected = format!(
        "\nRun go.sh from tool?\n\n  \
         its author says Goes.{seen}\n  \
         asked by        cli, in RUN\n  \
         asked because   no rule and no trust scope matches, so a person is asked\n  \
         request         ASK, open for 5 minutes, good once\n\n  \
         interpreter     INTERPRETER\n                  \
         sha256 SHA256\n  \
         environment     HOME=/tmp LANG=C.UTF-8 PATH=/usr/bin:/bin TMPDIR=/tmp\n\
         CONFINED\n\n  \
         skill           tool, from the source path\n  \
         revision        REVISION\n                  \
         nothing of this skill was approved here before\n  \
         command         SHELL /skill/go.sh --text $'{seen}' $'WORLD/project/a \\u{{202e}}b.txt' /out/new.txt\n  \
         arguments       ARGUMENTS\n  \
         in the folder   /skill\n\n  \
         may read        WORLD/project/a \\u{{202e}}b.txt\n  \
         may make        WORLD/project/new.txt (it sees /out/new.txt)\n\n\
         It can read and change nothing else of yours, and reaches no network.\n\
         Run it once? [y/N] y\n"
    );
    let normal = normalised(&world, &shown);
    let (before, rest) = normal.split_once("  arguments       ").unwrap();
    let (arguments, after) = rest.split_once('\n').unwrap();
    assert_eq!(format!("{before}  arguments       ARGUMENTS\n{after}"), expected);
    assert!(arguments.starts_with("{\"in\":\"project/a \\u") && arguments.contains("[y/N] y"), "{arguments}");
    assert_clean(&world);
}

// The argument vector of a script that nobody declared, and a path in it that the script takes otherwise than it is meant.
#[test]
fn a_relative_path_in_an_exact_vector_is_noted() {
    let world = flagged(&skill("tool").file("go.sh", "cat \"$@\"\n").file("own.txt", "own\n"));
    world.write("project/a.txt", "a\n");
    let place = world.text("project/a.txt");
    let run = |argv: &[&'static str], read: &[&'static str]| {
        let words = ["run", "skills/tool", "go.sh"].into_iter().chain(read.iter().copied()).chain(["--"]);
        let (shown, answer) = answering(&world.call(), words.chain(argv.iter().copied()), "y\n");
        (shown.replace("\u{1b}[1;33mnote\u{1b}[0m", "note"), answer)
    };
    let (shown, answer) = run(&["project/a.txt"], &[]);
    let note = format!(
        "note: project/a.txt: the script looks for it in the skill's folder; if {place} is meant, write that and add --read {place}\n"
    );
    assert!(shown.contains(&note), "{shown}");
    assert_eq!((answer.code, answer.text().as_str()), (Some(1), ""));
    let (shown, _) = run(&["--in=project/a.txt"], &["--read", "project/a.txt"]);
    let note = format!("in the skill's folder; if {place} is meant, write that\n");
    assert!(shown.contains(&note), "{shown}");
    // A file of the skill is what it says, and what is nowhere is not for us to judge.
    let (shown, answer) = run(&["own.txt", "none.txt"], &[]);
    assert!(!shown.contains("note:"), "{shown}");
    assert_eq!(answer.text(), "own\n");
    assert!(shown.contains("nobody declared what this script takes"), "{shown}");
}

// mcp.md 4.2: what an author wrote is on no line of the question's own, however many blanks it has; and who cannot see the
// beginning is told of it.
#[test]
fn a_text_full_of_blanks_makes_no_line_of_its_own() {
    let world = flagged(&scripted(&json!([]), ""));
    let manifest = String::from_utf8(world.read("skills/tool/fumehood.json")).unwrap();
    let mut manifest: Value = serde_json::from_str(&manifest).unwrap();
    // Where the label of a value ends, up to the edge of the terminal, and there the lines that are to be believed.
    let lines = ["  MAY CHANGE      nothing", "It can read nothing at all of yours.", "Run it once? [y/N] y"];
    let description = lines.iter().fold(format!("{:<62}", "Goes."), |all, line| format!("{all}{line:<80}"));
    manifest["scripts"][0]["description"] = description.into();
    world.write("skills/tool/fumehood.json", manifest.to_string());
    let program = program().to_string_lossy().into_owned();
    for size in ["cols 80 rows 24", "cols 0 rows 0"] {
        let run = format!("stty {size}; exec \"$0\" run skills/tool go");
        let mut session = world.call().sit_down_behind("/bin/sh", ["-c", &run, &program], Streams::Terminal);
        session.see(ASKED).keys("n\n");
        let (shown, _) = session.leave();
        let (question, _) = shown.split_once(ASKED).unwrap();
        for line in question.lines().map(|line| line.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "")) {
            let width = line.replace("\u{1b}[1;33m", "").chars().count();
            assert!(width <= 80, "{width} columns: {line:?}");
            for forged in ["  MAY CHANGE", "It can read nothing", "Run it once? [y/N] y"] {
                assert!(!line.starts_with(forged), "{line:?}");
            }
        }
        assert!(question.contains("MAY CHANGE"), "{question}");
        let lines = question.trim_start_matches('\n').lines().count();
        assert!(
            lines > 24 && question.contains("lines: scroll up to the first before you answer"),
            "{question}"
        );
    }
    // One that has room for all of it says nothing of that.
    let (shown, _) = answering(&world.call(), ["run", "skills/tool", "go"], "n\n");
    assert!(!shown.contains("scroll up"), "{shown}");
}

// X-14, and the default: whatever is not yes is no.
#[test]
fn only_yes_is_yes() {
    let world = flagged(&scripted(&json!([]), "echo ran\n"));
    let words = ["run", "skills/tool", "go"];
    for keys in ["\n", "n\n", "no\n", "yy\n", "yes please\n", "\u{4}", "y\u{4}", "\u{1b}y\n", "1\n"] {
        let (shown, answer) = answering(&world.call(), words, keys);
        assert_eq!((answer.code, answer.text().as_str()), (Some(3), ""), "{keys:?}: {shown}");
        assert!(
            answer.errors().contains("a person said no to the call [E_SKILL_SCRIPT_DENIED]"),
            "{}",
            answer.errors()
        );
    }
    assert_eq!(runs(&world), 0);
    for keys in ["y\n", "YES\n"] {
        assert_eq!(answering(&world.call(), words, keys).1.text(), "ran\n");
    }
    let receipt = receipt(&world);
    assert_eq!(receipt["authority"]["surface"], "terminal");
}

// X-14: nobody to ask is no, and standard input is nobody.
#[test]
fn without_a_terminal_the_answer_is_no() {
    let world = flagged(&scripted(&json!([]), "echo ran\n"));
    let fault = world.fault(["run", "skills/tool", "go"], 3);
    assert_eq!(fault["code"], "E_SKILL_SCRIPT_DENIED");
    assert!(text(&fault["message"]).contains("there is nobody to ask"), "{fault}");
    assert!(text(&fault["advice"]).contains("in a terminal"), "{fault}");
    let piped = world.call().run_behind(
        "/usr/bin/setsid",
        ["--wait", "/bin/sh", "-c", "yes | \"$0\" \"$@\""],
        ["run", "skills/tool", "go"],
    );
    assert_eq!((piped.code, piped.text().as_str()), (Some(3), ""), "{}", piped.errors());
    assert_eq!(runs(&world), 0);
}

#[test]
fn keys_that_come_before_the_prompt_do_not_count() {
    let world = flagged(&scripted(&json!([]), "echo ran\n"));
    let words = ["run", "skills/tool", "go"];
    let (_, answer) = world.call().at_terminal_typing_ahead(words, "y\ny\n", ASKED, "\n");
    assert_eq!(answer.code, Some(3), "{}", answer.errors());
    // As soon as the question is there. On a machine that stands still for longer than the dead time the keys come after the
    // prompt, and count: then this shows nothing, and is tried again.
    for attempt in 0.. {
        let mut session = world.call().sit_down(words, Streams::Pipes);
        session.see("Run go.sh from tool?").keys("y\n").see(ASKED).keys("\n");
        let (shown, answer) = session.leave();
        if shown.find("y\n").unwrap() < shown.find(ASKED).unwrap() && !shown.contains(&format!("{ASKED}y")) {
            assert_eq!((answer.code, answer.text().as_str()), (Some(3), ""), "{shown}");
            break;
        }
        assert!(attempt < 20, "{shown}");
    }
}

// Ctrl-C at the question: nothing runs, and the terminal says so.
#[test]
fn a_question_can_be_stopped() {
    let world = flagged(&scripted(&json!([]), "echo ran\n"));
    let (shown, answer) = answering(&world.call(), ["run", "skills/tool", "go"], "\u{3}");
    assert_eq!((answer.code, answer.text().as_str()), (Some(130), ""), "{}", answer.errors());
    assert!(answer.errors().contains("[E_CANCELLED]"), "{}", answer.errors());
    assert!(shown.ends_with("\nstopped: nothing ran\n"), "{shown:?}");
    assert!(!answer.errors().contains("stopping:"), "{}", answer.errors());
    assert_eq!(runs(&world), 0);
}

// Two at once on one terminal: one question after the other, and each gets its own answer.
#[test]
fn two_questions_on_one_terminal_do_not_answer_each_other() {
    let params = json!([{"name": "who", "type": "string"}]);
    let world = flagged(&scripted(&params, "echo \"$1 ran\"\n"));
    let both = "for who in one two; do \"$0\" run skills/tool go --param who=$who & done; wait";
    let program = program().into_string().unwrap();
    let mut session = world.call().sit_down_behind("/bin/sh", ["-c", both, &program], Streams::Terminal);
    session.see(ASKED);
    wait_for_questions(session.pid(), 2);
    session.keys("y\n").see(ASKED).keys("n\n");
    let (shown, _) = session.leave();
    let (first, rest) = shown.split_once(ASKED).unwrap();
    assert_eq!(first.matches("Run go.sh from tool?").count(), 1, "{shown}");
    let [yes, no] = if first.contains("{\"who\":\"one\"}") { ["one", "two"] } else { ["two", "one"] };
    assert!(rest.contains(&format!("{yes} ran\n")) && !shown.contains(&format!("{no} ran\n")), "{shown}");
    assert!(rest.contains("a person said no to the call"), "{shown}");
    assert_eq!(runs(&world), 1);
}

/// Waits until so many children of a process have a thread that asks.
fn wait_for_questions(parent: u32, count: usize) {
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let asks = |process: &std::path::Path| {
        let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
        let tasks = std::fs::read_dir(process.join("task")).into_iter().flatten().flatten();
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        status.lines().any(|line| line == format!("PPid:\t{parent}"))
            && names.into_iter().any(|name| name.trim() == "fumehood-questi")
    };
    loop {
        let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        if processes.filter(|process| asks(process)).count() == count {
            return;
        }
        assert!(std::time::Instant::now() < patience, "not {count} questions");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Keeps what it is asked, and says no.
#[derive(Default)]
struct Keeping(Mutex<Vec<Value>>);

impl Person for Keeping {
    fn ask(&self, question: &Question, over: &dyn Fn() -> Option<Over>) -> Answer {
        assert_eq!(over(), None);
        self.0.lock().unwrap().push(serde_json::to_value(question).unwrap());
        Answer::No
    }
}

// What a program that embeds the library gets to show has its shape, and tells what is new.
#[test]
fn the_question_has_its_shape_in_json() {
    let world = flagged(&scripted(&json!([]), "echo ran\n"));
    let asked = || {
        let person = Arc::new(Keeping::default());
        let request = fumehood::host::RunRequest { approve: None, ..request(&world, "go") };
        let fault = run_asking(&world, &request, Arc::clone(&person) as _).unwrap_err();
        assert_eq!(fault.code.as_str(), "E_SKILL_SCRIPT_DENIED");
        let question = person.0.lock().unwrap().pop().unwrap();
        assert_valid("question", question.to_string().as_bytes());
        question
    };
    let first = asked();
    assert_notices("question", &first);
    assert_eq!(first["skill"]["history"], json!({"state": "first"}));
    // What was refused is no approval.
    assert_eq!(asked()["skill"]["history"]["state"], "first");
    let before = revision(&world, "skills/tool");
    assert_eq!(super::ran(&world, &["go"]).code, Some(0));
    assert_eq!(asked()["skill"]["history"]["state"], "same");
    world.write("skills/tool/go.sh", "echo other\n");
    world.write("skills/tool/more.txt", "");
    let changed = asked()["skill"]["history"].clone();
    assert_eq!((&changed["state"], &changed["revision"]), (&"changed".into(), &before.into()));
    assert_eq!(
        (&changed["added"], &changed["changed"], &changed["removed"]),
        (&1.into(), &1.into(), &0.into())
    );
}

// A yes to a folder that is another one by then is none; the next question says what changed since the last one that counted.
#[test]
fn a_skill_that_changes_while_it_is_asked_about_is_asked_about_anew() {
    let world = flagged(&scripted(&json!([]), "echo before\n"));
    let (_, answer) = yes(&world, ["run", "skills/tool", "go"]);
    assert_eq!(answer.text(), "before\n");
    let shown = revision(&world, "skills/tool");
    let mut session = world.call().sit_down(["run", "skills/tool", "go"], Streams::Pipes);
    session.see(&shown).see(ASKED);
    world.write("skills/tool/go.sh", "echo after\n");
    session.keys("y\n");
    let (_, answer) = session.leave();
    assert_eq!((answer.code, answer.text().as_str()), (Some(2), ""));
    assert!(
        answer.errors().contains("the skill's folder changed while the question was open"),
        "{}",
        answer.errors()
    );
    let (again, answer) = yes(&world, ["run", "skills/tool", "go"]);
    assert_eq!(answer.text(), "after\n");
    assert!(
        again.contains("CHANGED since it was approved on ") && again.contains(": +0 ~1 -0 files\n"),
        "{again}"
    );
}
