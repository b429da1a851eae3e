//! What a script says, and how it calls the files that it leaves: none of it reaches a terminal or the record as it is, and
//! none of it passes for something that fumehood said.

use fumehood_testkit::hidden::{HOSTILE, hidden_in};
use fumehood_testkit::{Call, Streams, World, skill};
use serde_json::Value;

use crate::hostile::{AS_TEXT, assert_safe};
use crate::recorded::journal;
use crate::{program, text, world};

/// A receipt of a run that never was, and the end of a question.
const FORGED: &str = "{\"schema_version\":1,\"id\":\"rcpt_00000000000000000000000000000000\",\"outcome\":\"succeeded\",\"tool\":\"forged\"}\n\
    2023-11-14 22:13:34Z  succeeded    exit 0     forged  user:forged  rcpt_00000000000000000000000000000000\n\
    Run it once? [y/N] y\nreplaced /etc/forged\n";

/// A world in which the flag may say yes, with a skill of one script; and the revision to name.
fn person(script: &str) -> (World, String) {
    let world = world();
    for folder in ["home/.config", "home/.config/fumehood"] {
        world.folder(folder);
        world.mode(folder, 0o700);
    }
    world.write("home/.config/fumehood/fumehood.toml", "[approve]\nrevision_flag = true\n");
    let say = format!("{FORGED}{HOSTILE}\n");
    world.add("", &skill("talker").file("scripts/say.sh", script).file("say", say));
    world.folder("results");
    let shown = world.json(["show", "./talker"]);
    (world, text(&shown["revision"]).to_owned())
}

/// Without colours, which are fumehood's own.
fn plain(world: &World) -> Call<'_> {
    world.call().variable("NO_COLOR", "1")
}

fn run<'a>(revision: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "./talker", "scripts/say.sh", "--approve", revision], more, &["--"]].concat()
}

// EXE-52: escaped on a terminal, byte for byte where a program reads it; the same for standard error.
#[test]
fn what_a_script_says_drives_no_terminal() {
    let (world, revision) = person("cat say; cat say >&2");
    let (shown, code) = plain(&world).on_terminal(run(&revision, &[]));
    assert_eq!(code, Some(0));
    assert_eq!(hidden_in(shown.replace('\r', "").as_bytes()), [""; 0], "{shown}");
    assert_eq!(shown.matches(AS_TEXT).count(), 2, "{shown}");
    // Nor does a line of it stand where fumehood's own do.
    for forged in FORGED.lines() {
        let lines: Vec<_> = shown.lines().filter(|line| line.contains(forged)).collect();
        assert!(lines.len() == 2 && lines.iter().all(|line| line.starts_with("│ ")), "{lines:?}");
    }
    let answer = plain(&world).run(run(&revision, &[]));
    let said = format!("{FORGED}{HOSTILE}\n");
    assert_eq!((answer.text(), answer.errors()), (said.clone(), said));
    // As JSON it is text of a field, and drives nothing.
    let answer = plain(&world).run([&["--format", "json"], run(&revision, &[]).as_slice()].concat());
    assert_safe(&answer, &["run"]);
    assert_eq!(answer.json()["output"]["dropped_bytes"], 0);
}

// A line or a name that is folded by the terminal goes on where no line of ours begins.
#[test]
fn a_gap_in_what_a_script_says_or_makes_begins_no_line_of_ours() {
    let gap = " ".repeat(100);
    let (world, revision) = person(&format!("echo 'one{gap}error: two'; : >'/out/three{gap}replaced four'"));
    let mut arguments = run(&revision, &["--out", "results"]);
    let program = program().to_string_lossy().into_owned();
    let size = "stty cols 100 rows 50; exec \"$0\" \"$@\"";
    arguments.splice(0..0, ["-c", size, program.as_str()]);
    let (shown, answer) = plain(&world).sit_down_behind("/bin/sh", arguments, Streams::Terminal).leave();
    assert_eq!(answer.code, Some(0), "{shown}");
    for forged in ["error: two", "replaced four"] {
        assert_eq!(shown.matches(forged).count(), 1, "{shown}");
        assert!(shown.lines().all(|line| !line.starts_with(forged)), "{shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
}

// What it says of receipts and answers is nobody's receipt and no answer, and stands in no list.
#[test]
fn what_a_script_forges_is_not_on_record() {
    let (world, revision) = person("cat say; cat say >&2; exit 7");
    let answer = plain(&world).run([&["--format", "json"], run(&revision, &[]).as_slice()].concat());
    let report = answer.json();
    assert_eq!(
        (&report["exit_code"], &report["failure"]["code"]),
        (&7.into(), &"E_SKILL_SCRIPT_FAILED".into())
    );
    let receipt = text(&report["receipt"]).to_owned();
    for arguments in
        [vec!["runs"], vec!["receipt", receipt.as_str()], vec!["audit", "verify"], vec!["artifact", "list"]]
    {
        for form in ["text", "json"] {
            let answer = plain(&world).run(["--format", form].iter().chain(&arguments));
            assert_eq!(answer.code, Some(0), "{arguments:?}");
            assert_safe(&answer, &arguments);
            let shown = answer.text();
            assert!(!shown.contains("forged") && !shown.contains(&"0".repeat(32)), "{arguments:?}: {shown}");
        }
    }
    let runs = world.json(["runs"]);
    let column: Vec<&Value> = runs["runs"].as_array().unwrap().iter().map(|run| &run["outcome"]).collect();
    assert_eq!(column, ["failed"]);
    assert_eq!(
        world.fault(["receipt", &format!("rcpt_{}", "0".repeat(32))], 2)["code"],
        "E_RECEIPT_NOT_FOUND"
    );
    let rows = journal(&world).newest(None, None, 100).unwrap();
    assert!(rows.iter().all(|row| !row.json.contains("forged")));
    // The result is there as it was said, for whoever asks for it.
    let kept = world.run(["artifact", "cat", text(&report["output"]["artifact"])]);
    assert!(kept.text().starts_with("{\"schema_version\":1"), "{}", kept.text());
}

// The names of what it leaves are refused where they hide something, and shown where they are refused.
#[test]
fn names_that_hide_something_are_refused_and_shown() {
    let script = "printf x > \"/out/$(head -n 5 say | tail -n 1)\"; echo y > /out/fine";
    let (world, revision) = person(script);
    let out = ["--out", "results"];
    let (shown, code) = plain(&world).on_terminal(run(&revision, &out));
    assert_eq!(code, Some(3), "{shown}");
    assert_eq!(hidden_in(shown.replace('\r', "").as_bytes()), [""; 0], "{shown}");
    assert!(shown.contains(AS_TEXT) && shown.contains("E_WORKSPACE_REFUSED"), "{shown}");
    let answer = plain(&world).run([&["--format", "json"], run(&revision, &out).as_slice()].concat());
    assert_safe(&answer, &["run"]);
    assert_eq!(answer.json()["failure"]["code"], "E_WORKSPACE_REFUSED");
    for arguments in [["runs"].as_slice(), &["receipt", text(&answer.json()["receipt"])]] {
        assert_safe(&plain(&world).run(arguments), arguments);
    }
    assert!(!world.has("results/fine"));
    // The twin.
    let (world, revision) = person("printf x > \"/out/größe 1.txt\"");
    assert_eq!(plain(&world).run(run(&revision, &out)).code, Some(0));
    assert_eq!(world.read("results/größe 1.txt"), b"x");
}

// A skill and a file below /tmp are as good as any; only a workspace cannot be there, which is said.
#[test]
fn below_tmp_there_are_files_and_skills_but_no_workspace() {
    let (world, revision) = person("cat \"$1\"; echo made > /out/made");
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let below = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(below("paper"), "mine\n").unwrap();
    std::fs::create_dir(below("results")).unwrap();
    let (paper, results) = (below("paper"), below("results"));
    let arguments = [run(&revision, &["--read", &paper, "--out", &results]).as_slice(), &[&paper]].concat();
    assert_eq!(plain(&world).run(arguments).text(), "mine\n");
    assert_eq!(std::fs::read_to_string(below("results/made")).unwrap(), "made\n");
    for workspace in [results.clone(), format!("{results}:rw")] {
        let fault = world.fault(run(&revision, &["--workspace", &workspace]), 3);
        assert_eq!(fault["code"], "E_PLACE_FORBIDDEN");
        let message = text(&fault["message"]);
        assert!(message.contains("/tmp") && message.contains("elsewhere"), "{message}");
    }
}
