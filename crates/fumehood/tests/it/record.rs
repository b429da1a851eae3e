//! `runs`, `receipt` and `audit`: what is on record, whole or not.

use fumehood_core::Sha256;
use fumehood_core::consent::ROW_DECISION;
use fumehood_core::receipt::{
    Applied, Change, Closing, Exit, Killed, Opening, Processes, ROW_CLOSED, ROW_OPEN,
};
use fumehood_store::Flush;
use fumehood_testkit::World;
use fumehood_testkit::hidden::HOSTILE;
use serde_json::{Value, json};

use crate::hostile::{AS_TEXT, assert_safe, assert_shown_safely};
use crate::recorded::{STATE, at, closing, journal, opening, record};
use crate::schemas::{assert_notices, assert_valid, shape};
use crate::{text, texts, world};

const FILE: &str = "home/.local/share/fumehood/journal.sqlite";

fn receipt_id(n: u8) -> String {
    opening(n).id.to_string()
}

/// Four runs: one that went well, one with another exit code, one killed, one without an end.
fn world_with_runs() -> World {
    let world = world();
    let journal = journal(&world);
    record(&journal, opening(11), Some(closing()));
    let decision = json!({"id": format!("ask_{}", "0".repeat(32)), "tool": "t", "decision": "deny"});
    journal.append(ROW_DECISION, &decision.to_string(), at(1), Flush::Now).unwrap();
    let failed = Closing { exit: Some(Exit::Code(3)), artifact: None, ..closing() };
    record(&journal, Opening { skill: None, ..opening(12) }, Some(failed));
    let killed = Closing { exit: Some(Exit::Signal(9)), killed: Some(Killed::Deadline), ..closing() };
    record(&journal, opening(13), Some(killed));
    record(&journal, opening(14), None);
    world
}

// A reader of an empty state says so, and makes none.
#[test]
fn nothing_on_record_is_no_failure_and_stays_nothing() {
    let world = world();
    assert_eq!(world.run(["runs"]).text(), "No runs yet\n");
    assert_eq!(assert_valid("runs", &json_of(&world, &["runs"]))["runs"], json!([]));
    assert_eq!(world.fault(["receipt", &receipt_id(1)], 2)["code"], "E_RECEIPT_NOT_FOUND");
    let start = format!("0:{}", "0".repeat(64));
    assert_eq!(world.run(["audit", "head"]).text(), format!("{start}\n"));
    let verified = world.run(["audit", "verify"]);
    assert!(verified.code == Some(0) && verified.text().starts_with("The chain holds: 0 rows, head 0:"));
    assert_eq!(world.run(["audit", "verify", "--head", &start]).code, Some(0));
    // A head that was kept elsewhere shows that there was more.
    let kept = format!("7:{}", "a".repeat(64));
    let fault = world.fault(["audit", "verify", "--head", &kept], 2);
    assert_eq!(fault["code"], "E_JOURNAL_BROKEN");
    assert!(text(&fault["message"]).contains("row 7"), "{fault}");
    assert!(!world.has("home/.local") && !world.has("home/.config"));
}

fn json_of(world: &World, arguments: &[&str]) -> Vec<u8> {
    let answer = world.run(["--format", "json"].iter().chain(arguments));
    assert_eq!((answer.code, answer.errors().as_str()), (Some(0), ""), "{arguments:?}");
    answer.stdout
}

#[test]
fn runs_are_listed_newest_first() {
    let world = world_with_runs();
    let report = assert_valid("runs", &json_of(&world, &["runs"]));
    assert_notices("runs", &report);
    let column =
        |key: &str| report["runs"].as_array().unwrap().iter().map(|run| run[key].clone()).collect::<Vec<_>>();
    let ids = [14, 13, 12, 11].map(receipt_id);
    assert_eq!(texts(&report["runs"], "receipt"), ids);
    assert_eq!(texts(&report["runs"], "outcome"), ["interrupted", "failed", "succeeded", "succeeded"]);
    assert_eq!(column("exit_code"), [Value::Null, Value::Null, 3.into(), 0.into()]);
    assert_eq!(column("signal"), [Value::Null, 9.into(), Value::Null, Value::Null]);
    assert_eq!(column("code"), [Value::Null, "E_SKILL_SCRIPT_TIMEOUT".into(), Value::Null, Value::Null]);
    assert_eq!(column("skill"), ["user:notes".into(), "user:notes".into(), Value::Null, "user:notes".into()]);
    assert_eq!(column("seq"), [8, 6, 4, 1]);
    assert_eq!(column("elapsed_ms"), [Value::Null, 249.into(), 249.into(), 249.into()]);
    assert_eq!(report["next_before"], Value::Null);

    let page = world.run(["runs"]).text();
    let lines: Vec<_> = page.lines().collect();
    let artifact = format!("art_{}", "04".repeat(16));
    let expected = [
        format!("2023-11-14 22:13:34Z  interrupted  -          run_notes_count  user:notes  {}", ids[0]),
        format!(
            "2023-11-14 22:13:33Z  failed       signal 9   run_notes_count  user:notes  [E_SKILL_SCRIPT_TIMEOUT]  {}  {artifact}",
            ids[1]
        ),
        format!("2023-11-14 22:13:32Z  succeeded    exit 3     run_notes_count  {}", ids[2]),
        format!(
            "2023-11-14 22:13:31Z  succeeded    exit 0     run_notes_count  user:notes  {}  {artifact}",
            ids[3]
        ),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_list_of_runs_has_an_end_and_goes_on() {
    let world = world_with_runs();
    let first = assert_valid("runs", &json_of(&world, &["runs", "--limit", "3"]));
    assert_eq!((texts(&first["runs"], "receipt").len(), &first["next_before"]), (3, &4.into()));
    assert!(world.run(["runs", "--limit", "3"]).text().ends_with("There are older ones: --before 4\n"));
    let rest = assert_valid("runs", &json_of(&world, &["runs", "--limit", "3", "--before", "4"]));
    assert_eq!(texts(&rest["runs"], "receipt"), [receipt_id(11)]);
    // Exactly as many as there are: no more.
    assert_eq!(world.json(["runs", "--limit", "4"])["next_before"], Value::Null);
    for limit in ["0", "1001", "-1", "x"] {
        assert_eq!(world.fault(["runs", &format!("--limit={limit}")], 2)["code"], "E_USAGE");
    }
    assert_eq!(world.run(["runs", "--limit", "1000"]).code, Some(0));
}

#[test]
fn a_receipt_is_shown_as_it_was_recorded() {
    let world = world();
    let journal = journal(&world);
    let applied = |path: &str, change, sha256| Applied { path: path.to_owned(), change, bytes: 2048, sha256 };
    let full = Closing {
        applied: vec![
            applied("/home/user/notes/a", Change::Created, Some(Sha256::of(b"a"))),
            applied("/home/user/notes/b", Change::Removed, None),
        ],
        exit: None,
        processes: Processes::NoneStarted,
        ..closing()
    };
    let recorded = Opening {
        unsafe_controls: vec!["ungated-tools".to_owned()],
        state_folder: Some("/srv/state".to_owned()),
        ..opening(21)
    };
    let closed = record(&journal, recorded, Some(full));
    let opened = record(&journal, opening(22), None);
    let bare = Opening { interpreter: None, workspace: None, skill: None, ..opening(23) };
    record(&journal, bare, None);

    let report = assert_valid("receipt-on-record", &json_of(&world, &["receipt", &receipt_id(21)]));
    assert_notices("receipt-on-record", &report);
    assert_eq!(report["receipt"], serde_json::from_str::<Value>(&closed).unwrap());
    assert_eq!(report["opened"], json!({"seq": 1, "time_unix_ms": 1_700_000_021_000_u64}));
    assert_eq!(report["closed"], json!({"seq": 2, "time_unix_ms": 1_700_000_022_000_u64}));
    let report = assert_valid("receipt-on-record", &json_of(&world, &["receipt", &receipt_id(22)]));
    assert_eq!(report["receipt"], serde_json::from_str::<Value>(&opened).unwrap());
    assert_eq!((&report["opened"]["seq"], &report["closed"]), (&3.into(), &Value::Null));
    assert_valid("receipt-on-record", &json_of(&world, &["receipt", &receipt_id(23)]));

    let page = world.run(["receipt", &receipt_id(21)]).text();
    for line in [
        &format!("{}  ", receipt_id(21)),
        "  tool        run_notes_count  (script)",
        "  skill       user:notes",
        "  interpreter /usr/bin/sh  no version  sha256 ",
        "  workspace   /home/user/notes",
        "  allowed by  consent, surface terminal, consent ask_0303",
        "  confined    level ",
        "  limits      processes 64, wall_ms 5000",
        "  unsafe      ungated-tools",
        "  state in    /srv/state",
        "  ended       no exit code, ",
        "  output      7 B kept, 0 B dropped",
        "  artifact    art_0404",
        "  applied     created /home/user/notes/a  2.0 KiB",
        "  applied     removed /home/user/notes/b  ",
        "  processes   none_started",
        "  opened      row 1 of the journal, 2023-11-14 22:13:41Z",
        "  closed      row 2 of the journal, 2023-11-14 22:13:42Z",
    ] {
        assert!(page.lines().any(|shown| shown.starts_with(line)), "{line}\n{page}");
    }
    let open = world.run(["receipt", &receipt_id(22)]).text();
    assert!(open.contains("interrupted: ") && !open.contains("  ended"), "{open}");
}

#[test]
fn what_is_no_id_of_a_receipt_is_said() {
    let world = world_with_runs();
    let digits = "0".repeat(32);
    for (id, code, advice) in [
        (format!("rcpt_{digits}"), "E_RECEIPT_NOT_FOUND", "fumehood runs"),
        (format!("art_{digits}"), "E_ID_INVALID", "the id of an artifact; `fumehood artifact`"),
        (format!("run_{digits}"), "E_ID_INVALID", "the id of a run"),
        (format!("ask_{digits}"), "E_ID_INVALID", "the id of a request"),
        (format!("call_{digits}"), "E_ID_INVALID", "the id of a call"),
        (format!("rcpt_{digits}0"), "E_ID_INVALID", "`fumehood runs`"),
        (receipt_id(0xab).to_uppercase(), "E_ID_INVALID", "`fumehood runs`"),
        ("../journal.sqlite".to_owned(), "E_ID_INVALID", "`fumehood runs`"),
        (String::new(), "E_ID_INVALID", "`fumehood runs`"),
    ] {
        let fault = world.fault(["receipt", &id], 2);
        assert_eq!(fault["code"], code, "{id}");
        assert!(text(&fault["advice"]).contains(advice), "{fault}");
    }
}

#[test]
fn a_chain_that_holds_and_its_head() {
    let world = world_with_runs();
    let head = assert_valid("audit-head", &json_of(&world, &["audit", "head"]));
    assert_notices("audit-head", &head);
    assert_eq!(head["head"], format!("8:{}", text(&head["hash"])));
    let kept = text(&head["head"]);
    assert_eq!(world.run(["audit", "head"]).text(), format!("{kept}\n"));
    let report = assert_valid("audit-verify", &json_of(&world, &["audit", "verify"]));
    assert_notices("audit-verify", &report);
    assert_eq!((&report["rows"], &report["head"], &report["kept"]), (&8.into(), &head["head"], &Value::Null));
    // Rows that come later do not disturb it.
    record(&journal(&world), opening(15), None);
    let report = assert_valid("audit-verify", &json_of(&world, &["audit", "verify", "--head", kept]));
    assert_eq!((&report["rows"], &report["kept"]), (&9.into(), &head["head"]));
    let page = world.run(["audit", "verify", "--head", kept]).text();
    assert!(
        page.starts_with("The chain holds: 9 rows, head 9:") && page.contains("Nothing up to 8:"),
        "{page}"
    );
    let other = format!("8:{}", "0".repeat(64));
    let fault = world.fault(["audit", "verify", "--head", &other], 2);
    assert_eq!((&fault["code"], &fault["class"]), (&"E_JOURNAL_BROKEN".into(), &"conflict".into()));
    for malformed in ["", "8", "8:", "x:y", &kept.to_uppercase(), &format!("0{kept}"), &format!("{kept}0")] {
        assert_eq!(
            world.fault(["audit", "verify", "--head", malformed], 2)["code"],
            "E_USAGE",
            "{malformed}"
        );
    }
}

/// Writes other bytes of the same length over all places of the journal's file that hold some.
fn patch(world: &World, from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    let mut bytes = world.read(FILE);
    let places: Vec<_> = (0..=bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    write_journal(world, &bytes);
}

fn write_journal(world: &World, bytes: &[u8]) {
    world.write(FILE, bytes);
    world.mode(FILE, 0o600);
}

#[test]
fn a_row_that_was_changed_is_named() {
    let world = world_with_runs();
    let whole = world.read(FILE);
    // The exit code of the second run; what is found by its id still is.
    patch(&world, br#""exit_code":3"#, br#""exit_code":0"#);
    assert_eq!(world.json(["runs"])["runs"][2]["exit_code"], 0);
    let fault = world.fault(["audit", "verify"], 2);
    assert_eq!((&fault["code"], &fault["class"]), (&"E_JOURNAL_BROKEN".into(), &"conflict".into()));
    assert_eq!(text(&fault["message"]), "row 5 of the journal was changed");
    let plain = world.run(["audit", "verify"]);
    assert!(
        plain.code == Some(2) && plain.text().is_empty() && plain.errors().contains("row 5"),
        "{}",
        plain.errors()
    );
    // The twin: put back, it holds again.
    write_journal(&world, &whole);
    assert_eq!(world.run(["audit", "verify"]).code, Some(0));
}

#[test]
fn what_lies_in_the_journals_place_is_not_believed() {
    type Change = fn(&World);
    type AnyChange = Box<dyn Fn(&World)>;
    let header = |at: usize, bytes: [u8; 4]| {
        move |world: &World| {
            let mut file = world.read(FILE);
            file[at..at + 4].copy_from_slice(&bytes);
            write_journal(world, &file);
        }
    };
    let (version, program) = (header(60, [0, 0, 0, 2]), header(68, *b"else"));
    let simple: [(Change, &str); 5] = [
        (|world| write_journal(world, b""), "E_JOURNAL_DAMAGED"),
        (|world| write_journal(world, &b"no database at all ".repeat(500)), "E_JOURNAL_DAMAGED"),
        (|world| world.mode(FILE, 0o644), "E_JOURNAL_FOREIGN"),
        (
            |world| {
                world.rename(FILE, "elsewhere");
                world.link(FILE, world.path("elsewhere"));
            },
            "E_JOURNAL_FOREIGN",
        ),
        (
            |world| {
                world.rename(FILE, "elsewhere");
                world.fifo(FILE);
            },
            "E_JOURNAL_FOREIGN",
        ),
    ];
    let mut cases: Vec<(AnyChange, &str)> =
        vec![(Box::new(version), "E_JOURNAL_FOREIGN"), (Box::new(program), "E_JOURNAL_FOREIGN")];
    cases.extend(simple.map(|(change, code)| (Box::new(change) as AnyChange, code)));
    for (number, (change, code)) in cases.iter().enumerate() {
        let world = world_with_runs();
        change(&world);
        for arguments in
            [&["runs"][..], &["receipt", &receipt_id(11)], &["audit", "verify"], &["audit", "head"]]
        {
            let fault = world.fault(arguments, 4);
            assert_eq!(
                (&fault["code"], &fault["class"]),
                (&(*code).into(), &"unavailable".into()),
                "{number} {arguments:?}"
            );
        }
    }
    let world = world_with_runs();
    world.mode(STATE, 0o750);
    assert_eq!(world.fault(["runs"], 3)["code"], "E_HOME_REFUSED");
    world.mode(STATE, 0o700);
    assert_eq!(world.run(["runs"]).code, Some(0));
}

// Whoever can write the file can write anything into it.
#[test]
fn hostile_text_on_record_is_shown_and_does_nothing() {
    let world = world();
    let journal = journal(&world);
    let mut opened: Value = serde_json::from_slice(&opening(31).to_json()).unwrap();
    for place in ["/tool", "/agent", "/skill/source", "/state_folder", "/workspace", "/interpreter/path"] {
        *opened.pointer_mut(place).unwrap() = HOSTILE.into();
    }
    journal.append(ROW_OPEN, &opened.to_string(), at(1), Flush::Soon).unwrap();
    let applied = Applied {
        path: format!("/x/{HOSTILE}"),
        change: Change::Created,
        bytes: 1,
        sha256: Some(Sha256::of(b"")),
    };
    record(&journal, opening(32), Some(Closing { applied: vec![applied], ..closing() }));
    assert_shown_safely(&world, &["runs"]);
    for n in [31, 32] {
        assert_shown_safely(&world, &["receipt", &receipt_id(n)]);
        let (screen, code) = world.call().on_terminal(["receipt", &receipt_id(n)]);
        assert!(code == Some(0) && screen.contains(AS_TEXT) && !screen.contains("\u{1b}]"), "{screen:?}");
    }
    assert_eq!(world.run(["runs"]).text().lines().count(), 2);
    assert_safe(&world.run(["receipt", HOSTILE]), &["receipt"]);
}

// A row of a kind of ours that is something else is said to be one, and hides no other.
#[test]
fn rows_that_are_no_receipts_are_said() {
    let world = world_with_runs();
    let journal = journal(&world);
    let id = receipt_id(41);
    for json in ["1", "{}", "[]", "\"x\"", &format!("{{\"id\":\"{id}\"}}")] {
        journal.append(ROW_OPEN, json, at(1), Flush::Soon).unwrap();
    }
    record(&journal, opening(42), None);
    let bad = format!("{{\"id\":\"{}\",\"outcome\":\"succeeded\"}}", receipt_id(42));
    journal.append(ROW_CLOSED, &bad, at(1), Flush::Soon).unwrap();
    let report = assert_valid("runs", &json_of(&world, &["runs"]));
    let outcomes = texts(&report["runs"], "outcome");
    assert_eq!((outcomes.len(), outcomes.iter().filter(|one| **one == "unreadable").count()), (10, 6));
    assert!(world.run(["runs"]).text().contains("row 9 of the journal holds no receipt"));
    for n in [41, 42] {
        let fault = world.fault(["receipt", &receipt_id(n)], 4);
        assert_eq!(fault["code"], "E_JOURNAL_DAMAGED");
        assert!(text(&fault["message"]).contains(if n == 41 { "row 13" } else { "row 15" }), "{fault}");
    }
    assert_safe(&world.run(["runs"]), &["runs"]);
}

// The one copy of the receipt's shape that an answer carries is the shape itself.
#[test]
fn the_shape_of_a_receipt_is_the_same_in_both_places() {
    let (mut own, _) = shape("receipt");
    own.as_object_mut().unwrap().remove("title");
    assert_eq!(shape("receipt-on-record").0["properties"]["receipt"], own);
}
