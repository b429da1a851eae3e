//! `artifact`: bytes as they are for programs, made visible for people, and never more than was asked for.

mod bounds;

use fumehood::host::{Asker, LineRange};
use fumehood::{Host, HostOptions};
use fumehood_testkit::World;
use fumehood_testkit::hidden::{HOSTILE, hidden_in};
use serde_json::{Value, json};

use crate::hostile::{AS_TEXT, assert_safe, assert_shown_safely};
use crate::recorded::{STATE, at, keep, keep_as};
use crate::schemas::{assert_notices, assert_valid};
use crate::{text, texts, world};

/// Line ends of both kinds, a NUL, bytes that are no UTF-8, an empty line, and no newline at the end.
const MIXED: &[u8] = b"one\ntwo\r\n\nnul\0 \xff\xfe four\nsix";

/// The answer in JSON, which must have its shape; and the shape notices other ones.
fn valid(world: &World, name: &str, arguments: &[&str]) -> Value {
    let answer = world.run(["--format", "json", "artifact"].iter().chain(arguments));
    assert_eq!((answer.code, answer.errors().as_str()), (Some(0), ""), "{arguments:?}");
    let report = assert_valid(name, &answer.stdout);
    assert_notices(name, &report);
    report
}

/// What a program gets, which comes without a word on standard error.
fn raw(world: &World, arguments: &[&str]) -> Vec<u8> {
    let answer = world.run(["artifact"].iter().chain(arguments));
    assert_eq!((answer.code, answer.errors().as_str()), (Some(0), ""), "{arguments:?}");
    answer.stdout
}

fn unknown() -> String {
    format!("art_{}", "0".repeat(32))
}

// A reader of an empty state says so, and makes none.
#[test]
fn nothing_kept_is_no_failure_and_stays_nothing() {
    let world = world();
    assert_eq!(world.run(["artifact", "list"]).text(), "No artifacts yet\n");
    let list = valid(&world, "artifact-list", &["list"]);
    assert_eq!((&list["artifacts"], &list["room_bytes"]), (&json!([]), &0.into()));
    let pruned = valid(&world, "artifact-prune", &["prune", "--older-than", "0s"]);
    assert_eq!((&pruned["removed"], &pruned["kept_room_bytes"]), (&json!([]), &0.into()));
    assert_eq!(world.fault(["artifact", "cat", &unknown()], 2)["code"], "E_ARTIFACT_NOT_FOUND");
    assert!(!world.has("home/.local") && !world.has("home/.config"));
    // Nor where there is a state folder and nothing in it.
    world.folder(STATE);
    world.mode(STATE, 0o700);
    assert_eq!(world.run(["artifact", "list"]).text(), "No artifacts yet\n");
    assert_eq!(std::fs::read_dir(world.path(STATE)).unwrap().count(), 0);
}

// RES-19, RES-33: readers give the bytes that were kept.
#[test]
fn a_pipe_gets_the_bytes_as_they_are() {
    let world = world();
    let id = keep(&world, MIXED);
    let lines: Vec<&[u8]> = MIXED.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(raw(&world, &["cat", &id]), MIXED);
    assert_eq!(raw(&world, &["head", &id]), MIXED);
    assert_eq!(raw(&world, &["tail", &id]), MIXED);
    for count in 1..=6 {
        let n = count.to_string();
        assert_eq!(raw(&world, &["head", &id, "--lines", &n]), lines[..count.min(5)].concat(), "{n}");
        assert_eq!(raw(&world, &["tail", &id, "-n", &n]), lines[5 - count.min(5)..].concat(), "{n}");
    }
    for (range, expected) in [("2..4", 1..4), ("2..", 1..5), ("..2", 0..2), ("3", 2..3), ("4..99", 3..5)] {
        assert_eq!(raw(&world, &["cat", &id, "--line", range]), lines[expected].concat(), "{range}");
    }
    for (offset, length, expected) in [
        ("0", "5", 0..5),
        ("13", "4", 13..17),
        ("20", "99", 20..MIXED.len()),
        ("26", "1", MIXED.len()..MIXED.len()),
    ] {
        let slice = ["slice", &id, "--offset", offset, "--length", length];
        assert_eq!(raw(&world, &slice), MIXED[expected], "{offset} {length}");
    }
    assert_eq!(raw(&world, &["slice", &id]), MIXED);
    assert_eq!(raw(&world, &["grep", &id, "o$"]), b"two\r\n");
    assert_eq!(raw(&world, &["grep", &id, "(?-u:\\xff)"]), b"nul\0 \xff\xfe four\n");
    assert_eq!(raw(&world, &["grep", &id, "SIX", "--ignore-case", "-n"]), b"5:six\n");
    assert_eq!(raw(&world, &["grep", &id, "-C1", "two"]), b"one\ntwo\r\n\n");
    for (command, number) in [("byte-length", 26), ("line-count", 5), ("estimate-tokens", 10)] {
        assert_eq!(raw(&world, &[command, &id]), format!("{number}\n").as_bytes(), "{command}");
    }
    let empty = keep(&world, b"");
    for command in [&["cat"][..], &["head"], &["tail"], &["slice"]] {
        assert_eq!(raw(&world, &[command, &[&empty]].concat()), b"");
    }
    assert_eq!(raw(&world, &["line-count", &empty]), b"0\n");
}

#[test]
fn json_has_text_or_base64_and_says_where() {
    let world = world();
    let id = keep(&world, MIXED);
    let report = valid(&world, "artifact-lines", &["cat", &id]);
    assert_eq!(
        (&report["bytes"], &report["line_count"], &report["next_line"]),
        (&26.into(), &5.into(), &Value::Null)
    );
    let lines = report["lines"].as_array().unwrap();
    let column = |key: &str| lines.iter().map(|line| line[key].clone()).collect::<Vec<_>>();
    assert_eq!(column("text"), [json!("one"), json!("two"), json!(""), Value::Null, json!("six")]);
    assert_eq!(
        column("base64"),
        [Value::Null, Value::Null, Value::Null, json!("bnVsACD//iBmb3Vy"), Value::Null]
    );
    assert_eq!(texts(&report["lines"], "end"), ["lf", "crlf", "lf", "lf", "none"]);
    assert_eq!(column("offset"), [0, 4, 9, 10, 23]);
    assert_eq!(valid(&world, "artifact-lines", &["tail", &id, "-n1"])["lines"][0]["number"], 5);
    assert_eq!(valid(&world, "artifact-lines", &["head", &id, "-n1"])["lines"][0]["text"], "one");

    let slice = valid(&world, "artifact-slice", &["slice", &id, "--offset", "4", "--length", "5"]);
    assert_eq!(
        (&slice["text"], &slice["length"], &slice["next_offset"]),
        (&"two\r\n".into(), &5.into(), &Value::Null)
    );
    let slice = valid(&world, "artifact-slice", &["slice", &id, "--offset", "13"]);
    assert_eq!((&slice["text"], &slice["base64"]), (&Value::Null, &"ACD//iBmb3VyCnNpeA==".into()));
    let size = valid(&world, "artifact-size", &["byte-length", &id]);
    assert_eq!(
        (&size["byte_length"], &size["line_count"], &size["estimated_tokens"]),
        (&26.into(), &5.into(), &10.into())
    );

    let found = valid(&world, "artifact-grep", &["grep", &id, "o", "--context", "1"]);
    let hits: Vec<_> = found["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| (hit["line"].clone(), hit["start"].clone()))
        .collect();
    assert_eq!(hits, [(1.into(), 0.into()), (2.into(), 6.into()), (4.into(), 19.into())]);
    let matches: Vec<_> =
        found["lines"].as_array().unwrap().iter().map(|line| line["matches"] == true).collect();
    assert_eq!(matches, [true, true, false, true, false]);
    assert_eq!((&found["stopped"], &found["searched_bytes"]), (&Value::Null, &26.into()));
}

// Labels are the host's, and the content a program's: neither drives a terminal.
#[test]
fn a_terminal_gets_text_that_cannot_move_its_cursor() {
    let world = world();
    let clipboard = "\u{1b}]52;c;aGVsbG8=\u{7}";
    let content = [format!("{clipboard}\n{HOSTILE}\r\n").as_bytes(), b"nul\0 \xff \r go\n"].concat();
    let id = keep_as(&world, &format!("agent {HOSTILE}"), HOSTILE, at(1_700_000_000), [content.as_slice()]);
    for arguments in [
        &["cat", &id][..],
        &["head", &id],
        &["tail", &id],
        &["slice", &id],
        &["grep", &id, "."],
        &["grep", &id, "nul", "-C5"],
    ] {
        let (screen, code) = world.call().on_terminal(["artifact"].iter().chain(arguments));
        let visible = screen.replace("\u{1b}[2m", "").replace("\u{1b}[0m", "");
        assert_eq!((code, hidden_in(visible.as_bytes())), (Some(0), vec![]), "{arguments:?}");
        for part in ["\\u{1b}]52;c;aGVsbG8=\\u{7}", AS_TEXT, "nul\\u{0} \\xff \\r go"] {
            assert!(screen.contains(part), "{part} in {arguments:?}: {screen:?}");
        }
    }
    assert_shown_safely(&world, &["artifact", "list"]);
    assert_shown_safely(&world, &["artifact", "prune", "--older-than", "1s", "--dry-run"]);
    let (screen, _) = world.call().on_terminal(["artifact", "list"]);
    assert!(screen.contains(AS_TEXT) && !screen.contains('\u{7}'), "{screen:?}");
    for arguments in [&["cat", &id][..], &["slice", &id], &["grep", &id, "."]] {
        let json = world.run(["--format", "json", "artifact"].iter().chain(arguments));
        assert_safe(&json, arguments);
    }
    // The positive control: a pipe gets them.
    assert_eq!(raw(&world, &["cat", &id]), content);
}

#[test]
fn a_list_has_the_newest_first_and_says_whose_it_is() {
    let world = world();
    let one = keep_as(&world, "cli", "run_1", at(1_700_000_000), [b"a\nb\n".as_slice()]);
    let two = keep_as(&world, "claude-code", "run_2", at(1_700_000_060), [vec![b'x'; 3000].as_slice()]);
    let report = valid(&world, "artifact-list", &["list"]);
    assert_eq!(texts(&report["artifacts"], "id"), [two.as_str(), &one]);
    assert_eq!(texts(&report["artifacts"], "agent"), ["claude-code", "cli"]);
    assert_eq!(report["artifacts"][1]["created_unix_ms"], 1_700_000_000_000_u64);
    assert_eq!(report["room_bytes_max"], 10_u64 << 30);
    let page = raw(&world, &["list"]);
    let expected = format!(
        "{two}  2023-11-14 22:14:20Z     2.9 KiB        1 line  claude-code  run_2\n\
         {one}  2023-11-14 22:13:20Z         4 B       2 lines  cli  run_1\n\
         2 artifacts, 18.9 KiB of 10.0 GiB\n"
    );
    assert_eq!(String::from_utf8(page).unwrap(), expected);
}

#[test]
fn what_cannot_be_read_is_said_with_its_code() {
    let world = world();
    let id = keep(&world, MIXED);
    let digits = "0".repeat(32);
    let other_kind = format!("rcpt_{digits}");
    let upper = id.to_uppercase();
    let faults: [(&[&str], &str); 17] = [
        (&["cat", &unknown()], "E_ARTIFACT_NOT_FOUND"),
        (&["grep", &unknown(), "x"], "E_ARTIFACT_NOT_FOUND"),
        (&["byte-length", &unknown()], "E_ARTIFACT_NOT_FOUND"),
        (&["cat", &other_kind], "E_ID_INVALID"),
        (&["head", &upper], "E_ID_INVALID"),
        (&["tail", "../../journal.sqlite"], "E_ID_INVALID"),
        (&["prune", &id[1..]], "E_ID_INVALID"),
        (&["cat", &id, "--line", "6.."], "E_ARTIFACT_RANGE"),
        (&["cat", &id, "--line", "0..3"], "E_ARTIFACT_RANGE"),
        (&["slice", &id, "--offset", "27"], "E_ARTIFACT_RANGE"),
        (&["slice", &id, "--offset", "27", "--length", "0"], "E_ARTIFACT_RANGE"),
        (&["grep", &id, "x", "--from", "27"], "E_ARTIFACT_RANGE"),
        (&["grep", &id, "("], "E_ARTIFACT_PATTERN"),
        (&["grep", &id, ""], "E_ARTIFACT_PATTERN"),
        (&["grep", &id, "a\nb", "--fixed"], "E_ARTIFACT_PATTERN"),
        (&["grep", &id, "(a)\\1"], "E_ARTIFACT_PATTERN"),
        (&["grep", &id, "a{1000}{1000}"], "E_ARTIFACT_PATTERN"),
    ];
    for (arguments, code) in faults {
        let arguments = [&["artifact"], arguments].concat();
        assert_eq!(world.fault(&arguments, 2)["code"], code, "{arguments:?}");
        let plain = world.run(&arguments);
        assert!(plain.code == Some(2) && plain.stdout.is_empty(), "{arguments:?}");
        assert!(plain.errors().contains(&format!("[{code}]")), "{}", plain.errors());
    }
    let fault = world.fault(["artifact", "cat", &other_kind], 2);
    assert!(text(&fault["advice"]).contains("the id of a receipt; `fumehood receipt`"), "{fault}");
    for arguments in [
        &["head", &id, "--lines", "0"][..],
        &["cat", &id, "--line", "5..2"],
        &["grep", &id, "x", "--context", "101"],
        &["grep", &id, "x", "--max", "0"],
        &["grep", &id, "x", "--max", "10001"],
        &["grep", &id, "x", "--deadline", "0"],
        &["prune"],
        &["prune", "--dry-run"],
        &["prune", "--older-than", "30"],
        &["prune", "--keep-bytes", "1T"],
    ] {
        assert_eq!(world.fault([&["artifact"], arguments].concat(), 2)["code"], "E_USAGE", "{arguments:?}");
    }
    // The accepted twins, at the limits.
    for arguments in [
        &["grep", &id, "x", "--context", "100", "--max", "10000", "--deadline", "600"][..],
        &["slice", &id, "--offset", "26"],
        &["cat", &id, "--line", "5..5"],
        &["grep", &id, "x", "--from", "26"],
        &["grep", &id, "--", "-x"],
    ] {
        assert_eq!(world.run([&["artifact"], arguments].concat()).code, Some(0), "{arguments:?}");
    }
    assert_shown_safely(&world, &["artifact", "grep", &id, &format!("({HOSTILE}")]);
}

#[test]
fn a_damaged_artifact_is_listed_refused_and_pruned() {
    let damage: [fn(&World, &str); 4] = [
        |world, folder| drop(world.write(&format!("{folder}/content"), b"on")),
        |world, folder| drop(world.write(&format!("{folder}/about.toml"), b"agent = 1")),
        |world, folder| {
            world.rename(&format!("{folder}/content"), "elsewhere");
            world.fifo(&format!("{folder}/content"));
        },
        |world, folder| {
            world.rename(&format!("{folder}/content"), "elsewhere");
            world.link(&format!("{folder}/content"), "/etc/passwd");
        },
    ];
    for (number, damage) in damage.iter().enumerate() {
        let world = world();
        let whole = keep(&world, b"whole\n");
        let id = keep(&world, MIXED);
        damage(&world, &format!("{STATE}/artifacts/kept/{id}"));
        for command in ["head", "tail", "cat", "slice", "byte-length", "line-count", "estimate-tokens"] {
            let fault = world.fault(["artifact", command, &id], 4);
            let code = text(&fault["code"]);
            assert!(["E_ARTIFACT_DAMAGED", "E_STATE_UNAVAILABLE"].contains(&code), "{number} {fault}");
            assert!(number > 1 || code == "E_ARTIFACT_DAMAGED", "{number} {fault}");
        }
        let list = valid(&world, "artifact-list", &["list"]);
        assert_eq!(list["artifacts"].as_array().unwrap().len(), 2);
        let page = String::from_utf8(raw(&world, &["list"])).unwrap();
        assert_eq!(page.contains("damaged"), number == 1, "{page}");
        assert_eq!(raw(&world, &["cat", &whole]), b"whole\n");
        valid(&world, "artifact-prune", &["prune", &id]);
        assert_eq!(world.fault(["artifact", "cat", &id], 2)["code"], "E_ARTIFACT_NOT_FOUND");
    }
}

// RES-33, RES-37
#[test]
fn pruning_removes_what_the_rule_says_and_a_dry_run_nothing() {
    let world = world();
    let old = keep_as(&world, "cli", "r", at(1_000_000), [b"old".as_slice()]);
    let new = keep(&world, b"new");
    let ids = |list: &Value| texts(list, "id").iter().map(ToString::to_string).collect::<Vec<_>>();
    let left = || ids(&world.json(["artifact", "list"])["artifacts"]);
    let report = valid(&world, "artifact-prune", &["prune", "--older-than", "30d", "--dry-run"]);
    assert_eq!((ids(&report["removed"]), &report["dry_run"]), (vec![old.clone()], &true.into()));
    assert_eq!(left(), [new.clone(), old.clone()]);
    let page = String::from_utf8(raw(&world, &["prune", "--keep-bytes", "0", "--dry-run"])).unwrap();
    assert!(page.ends_with("2 artifacts would be removed: 16.0 KiB; 0 B kept\n"), "{page}");
    let report = valid(&world, "artifact-prune", &["prune", "--keep-bytes", "12K"]);
    assert_eq!((ids(&report["removed"]), &report["dry_run"]), (vec![old.clone()], &false.into()));
    assert_eq!(left(), [new.as_str()]);
    // One that is not there is told, and the others are removed.
    let answer = world.run(["artifact", "prune", &old, &new]);
    assert_eq!((answer.code, answer.errors().as_str()), (Some(2), ""));
    assert!(
        answer.text().contains("1 artifact removed")
            && answer.text().ends_with(&format!("no artifact: {old}\n"))
    );
    assert_eq!(left(), [""; 0]);
}

// RES-33: an agent reads its own results through the same host, and learns nothing of others.
#[test]
fn an_agent_sees_its_own_artifacts_only() {
    let world = world();
    let own = keep_as(&world, "claude-code", "r", at(1), [b"own".as_slice()]);
    let other = keep_as(&world, "codex", "r", at(2), [b"other".as_slice()]);
    let options =
        HostOptions { home: Some(world.path("home")), ..HostOptions::isolated(world.path("project")) };
    let host = Host::new(options);
    let ids =
        |asker| host.artifacts(asker).unwrap().artifacts.into_iter().map(|one| one.id).collect::<Vec<_>>();
    let agent = Asker::Agent("claude-code");
    assert_eq!(ids(agent), [own.as_str()]);
    assert_eq!(ids(Asker::Person), [other.as_str(), &own]);
    assert_eq!(host.artifact_size(agent, &own).unwrap().byte_length, 3);
    let errors = [
        host.artifact_size(agent, &other).unwrap_err(),
        host.artifact_lines(agent, &other, LineRange::Head(1)).unwrap_err(),
        host.artifact_size(agent, &unknown()).unwrap_err(),
    ];
    for error in &errors {
        assert_eq!((error.code, &error.message), (errors[2].code, &errors[2].message));
    }
    assert_eq!(errors[2].code.as_str(), "E_ARTIFACT_NOT_FOUND");
}
