//! The journal: what is added stays, what is changed is found.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fumehood_core::{Code, Coded as _};
use fumehood_store::{Breach, Break, ChainHash, Flush, Head, Home, Journal, JournalError};
use fumehood_testkit::Scratch;

use crate::child::{home, start};

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

pub(crate) fn append_rows(home: &Home, begun: impl Fn()) {
    let journal = Journal::open(home).unwrap();
    begun();
    for number in 0..500 {
        let flush = if number % 10 == 0 { Flush::Now } else { Flush::Soon };
        journal.append("test.row", &format!("{{\"id\":\"{number}\"}}"), SystemTime::now(), flush).unwrap();
    }
}

fn with_rows(rows: u64) -> (Scratch, Home) {
    let scratch = Scratch::new();
    let home = home(&scratch);
    let journal = Journal::open(&home).unwrap();
    for row in 1..=rows {
        let head =
            journal.append("test.row", &format!("{{\"id\":\"r{row}\"}}"), at(row), Flush::Soon).unwrap();
        assert_eq!(head.seq, row);
    }
    (scratch, home)
}

fn file(home: &Home) -> PathBuf {
    home.state.join("journal.sqlite")
}

#[test]
fn rows_are_added_listed_and_found() {
    let (_scratch, home) = with_rows(20);
    let journal = Journal::open(&home).unwrap();
    journal.append("other", "{\"id\":\"r7\",\"more\":[1]}", at(99), Flush::Now).unwrap();
    journal.append("other", "[\"no id\"]", at(100), Flush::Now).unwrap();
    let seqs = |rows: Vec<fumehood_store::Entry>| rows.iter().map(|row| row.seq).collect::<Vec<_>>();
    assert_eq!(seqs(journal.newest(None, None, 3).unwrap()), [22, 21, 20]);
    assert_eq!(seqs(journal.newest(None, Some(3), 10).unwrap()), [2, 1]);
    assert_eq!(seqs(journal.newest(Some("other"), None, 10).unwrap()), [22, 21]);
    assert_eq!(seqs(journal.newest(Some("none"), None, 10).unwrap()), [0; 0]);
    assert_eq!(seqs(journal.newest(None, None, 0).unwrap()), [0; 0]);
    assert_eq!(seqs(journal.newest(None, Some(u64::MAX), Journal::LISTED_MAX).unwrap()).len(), 22);
    assert_eq!(journal.newest(None, None, Journal::LISTED_MAX + 1).unwrap_err().code(), Code::JournalRow);
    assert_eq!(seqs(journal.by_id("r7", 10).unwrap()), [21, 7]);
    assert_eq!(seqs(journal.by_id("r7", 1).unwrap()), [21]);
    assert_eq!(seqs(journal.by_id("' OR 1 --", 10).unwrap()), [0; 0]);
    let row = journal.by_seq(7).unwrap().unwrap();
    assert_eq!(
        (row.seq, row.time_ms, row.kind.as_str(), row.json.as_str()),
        (7, 7000, "test.row", "{\"id\":\"r7\"}")
    );
    assert_eq!(journal.by_seq(23).unwrap(), None);
    assert_eq!(journal.by_seq(u64::MAX).unwrap(), None);
    let verified = journal.verify(None).unwrap();
    assert_eq!((verified.rows, verified.head, verified.broken), (22, journal.head().unwrap(), None));
}

#[test]
fn an_empty_journal_has_the_head_before_the_first_row() {
    let (_scratch, home) = with_rows(0);
    let journal = Journal::open(&home).unwrap();
    assert_eq!(journal.head().unwrap(), Head { seq: 0, hash: ChainHash::START });
    assert_eq!(journal.verify(Some(&Head::START)).unwrap().broken, None);
}

#[test]
fn rows_have_limits() {
    let (_scratch, home) = with_rows(0);
    let journal = Journal::open(&home).unwrap();
    let longest = format!("\"{}\"", "x".repeat(Journal::JSON_BYTES_MAX - 2));
    assert_eq!(journal.append(&"k".repeat(64), &longest, at(1), Flush::Now).unwrap().seq, 1);
    let longer = format!("{longest} ");
    for (kind, json) in [
        ("k".repeat(65).as_str(), "{}"),
        ("", "{}"),
        ("Kind", "{}"),
        ("a b", "{}"),
        ("k", longer.as_str()),
        ("k", ""),
        ("k", "{"),
        ("k", "{} {}"),
    ] {
        let error = journal.append(kind, json, at(2), Flush::Now).unwrap_err();
        assert_eq!(error.code(), Code::JournalRow, "{kind} {}", json.len());
    }
    assert_eq!(journal.head().unwrap().seq, 1);
    assert_eq!(journal.verify(None).unwrap().broken, None);
}

#[test]
fn files_are_private() {
    let (_scratch, home) = with_rows(2);
    let _journal = Journal::open(&home).unwrap();
    let names: Vec<_> = fs::read_dir(&home.state).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(names.len() >= 3, "{names:?}");
    for name in names {
        assert_eq!(fs::metadata(&name).unwrap().mode() & 0o7777, 0o600, "{}", name.display());
    }
}

/// What somebody with the file and another program can do.
fn tamper(home: &Home, sql: &str) {
    let connection = rusqlite::Connection::open(file(home)).unwrap();
    let triggers = "DROP TRIGGER entry_no_update; DROP TRIGGER entry_no_delete;";
    let put_back: Vec<String> = connection
        .prepare("SELECT sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    connection.execute_batch(&format!("{triggers} {sql}; {};", put_back.join(";"))).unwrap();
}

#[test]
fn what_was_changed_is_found_and_named() {
    let cases: &[(&str, Option<(i64, Breach)>)] = &[
        ("SELECT 1", None),
        ("UPDATE entry SET json = '{\"id\":\"no\"}' WHERE seq = 3", Some((3, Breach::Changed))),
        ("UPDATE entry SET kind = 'other' WHERE seq = 1", Some((1, Breach::Changed))),
        ("UPDATE entry SET time = time + 1 WHERE seq = 10", Some((10, Breach::Changed))),
        ("UPDATE entry SET hash = zeroblob(32) WHERE seq = 5", Some((5, Breach::Changed))),
        ("UPDATE entry SET hash = zeroblob(31) WHERE seq = 5", Some((5, Breach::Changed))),
        ("UPDATE entry SET previous = zeroblob(32) WHERE seq = 5", Some((5, Breach::Changed))),
        ("DELETE FROM entry WHERE seq = 4", Some((4, Breach::Removed))),
        ("DELETE FROM entry WHERE seq < 3", Some((1, Breach::Removed))),
        // Renumbered to hide the gap.
        (
            "DELETE FROM entry WHERE seq = 4; UPDATE entry SET seq = seq - 1 WHERE seq > 4",
            Some((4, Breach::Changed)),
        ),
        (
            "UPDATE entry SET seq = 99 WHERE seq = 3; UPDATE entry SET seq = 3 WHERE seq = 4; UPDATE entry SET seq = 4 WHERE seq = 99",
            Some((3, Breach::Changed)),
        ),
        (
            "INSERT INTO entry SELECT -1, time, kind, json, previous, hash FROM entry WHERE seq = 1",
            Some((-1, Breach::Inserted)),
        ),
        (
            "INSERT INTO entry SELECT 0, time, kind, json, previous, hash FROM entry WHERE seq = 1",
            Some((0, Breach::Inserted)),
        ),
        (
            "INSERT INTO entry SELECT 11, time, kind, json, previous, hash FROM entry WHERE seq = 10",
            Some((11, Breach::Changed)),
        ),
        (
            "INSERT INTO entry SELECT 9223372036854775807, time, kind, json, previous, hash FROM entry WHERE seq = 10",
            Some((11, Breach::Removed)),
        ),
    ];
    for (sql, expected) in cases {
        let (_scratch, home) = with_rows(10);
        tamper(&home, sql);
        let verified = Journal::open(&home).unwrap().verify(None).unwrap();
        assert_eq!(verified.broken, expected.map(|(seq, what)| Break { seq, what }), "{sql}");
    }
}

// Somebody who computes the hashes anew can write what he likes, but not so that a head kept elsewhere still fits.
#[test]
fn a_chain_made_anew_or_cut_off_is_shown_by_a_head_kept_elsewhere() {
    let (_scratch, home) = with_rows(10);
    let kept = Journal::open(&home).unwrap().head().unwrap();
    let fifth = {
        let journal = Journal::open(&home).unwrap();
        journal.append("test.row", "{}", at(11), Flush::Soon).unwrap();
        assert_eq!(journal.verify(Some(&kept)).unwrap().broken, None);
        journal.by_seq(5).unwrap().unwrap()
    };
    // One row whole in itself, that the next does not follow.
    let connection = rusqlite::Connection::open(file(&home)).unwrap();
    let previous: String = connection
        .query_row("SELECT lower(hex(previous)) FROM entry WHERE seq = 5", [], |row| row.get(0))
        .unwrap();
    drop(connection);
    let previous = ChainHash::parse(&previous).unwrap();
    let forged = ChainHash::of(5, fifth.time_ms, &fifth.kind, "\"forged\"", previous);
    tamper(&home, &format!("UPDATE entry SET json = '\"forged\"', hash = x'{forged}' WHERE seq = 5"));
    let verified = Journal::open(&home).unwrap().verify(None).unwrap();
    assert_eq!(verified.broken, Some(Break { seq: 6, what: Breach::Unlinked }));
    assert_eq!(
        verified.broken.unwrap().to_string(),
        "row 6 of the journal does not follow the one before it"
    );
    // With the rest made anew behind it.
    tamper(&home, "DELETE FROM entry WHERE seq > 5");
    let journal = Journal::open(&home).unwrap();
    let seen = journal.verify(Some(&kept)).unwrap();
    assert_eq!(seen.broken, Some(Break { seq: 10, what: Breach::NotTheHead }));
    for row in 6..=12 {
        journal.append("test.row", "{}", at(row), Flush::Soon).unwrap();
    }
    assert_eq!(journal.verify(None).unwrap().broken, None);
    let seen = journal.verify(Some(&kept)).unwrap();
    assert_eq!(seen.broken, Some(Break { seq: 10, what: Breach::NotTheHead }));
}

#[test]
fn our_own_mistakes_cannot_change_a_row() {
    let (_scratch, home) = with_rows(3);
    let connection = rusqlite::Connection::open(file(&home)).unwrap();
    for sql in ["UPDATE entry SET json = '{}'", "DELETE FROM entry", "DELETE FROM entry WHERE seq = 3"] {
        let error = connection.execute(sql, []).unwrap_err();
        assert!(error.to_string().contains("append only"), "{error}");
    }
    assert_eq!(connection.execute("INSERT INTO entry VALUES (3, 1, 'k', '{}', x'', x'')", []).ok(), None);
}

#[test]
fn what_is_no_journal_is_refused_and_left_as_it_is() {
    let odd = |sql: &str| {
        let (scratch, home) = with_rows(3);
        rusqlite::Connection::open(file(&home)).unwrap().execute_batch(sql).unwrap();
        (scratch, home)
    };
    for (sql, code) in [
        ("PRAGMA application_id = 5", Code::JournalForeign),
        ("PRAGMA user_version = 2", Code::JournalForeign),
        ("CREATE TABLE more (x)", Code::JournalForeign),
        ("DROP TRIGGER entry_no_update", Code::JournalForeign),
        ("CREATE TRIGGER more AFTER INSERT ON entry BEGIN SELECT 1; END", Code::JournalForeign),
    ] {
        let (_scratch, home) = odd(sql);
        assert_eq!(Journal::open(&home).unwrap_err().code(), code, "{sql}");
    }
    for bytes in [b"".as_slice(), b"not a database, and long enough to look like one".repeat(100).as_slice()]
    {
        let scratch = Scratch::new();
        let home = home(&scratch);
        home.make_state().unwrap();
        fs::write(file(&home), bytes).unwrap();
        scratch.mode("state/journal.sqlite", 0o600);
        let error = Journal::open(&home).unwrap_err();
        assert_eq!(error.code(), Code::JournalDamaged);
        assert!(error.to_string().contains("move it"), "{error}");
        assert_eq!(fs::read(file(&home)).unwrap(), bytes);
    }
}

#[test]
fn a_damaged_page_is_noticed() {
    let (_scratch, home) = with_rows(500);
    let mut bytes = fs::read(file(&home)).unwrap();
    assert!(bytes.len() > 10 * 4096);
    // The page behind the table's first, which holds rows.
    bytes[4096..].fill(0xa5);
    fs::write(file(&home), &bytes).unwrap();
    let noticed = Journal::open(&home).and_then(|journal| journal.verify(None).map(|_| ()));
    assert_eq!(noticed.unwrap_err().code(), Code::JournalDamaged);
    assert_eq!(fs::read(file(&home)).unwrap(), bytes);
}

#[test]
fn a_journal_of_others_or_elsewhere_is_refused() {
    let (scratch, home) = with_rows(1);
    scratch.mode("state/journal.sqlite", 0o640);
    assert_eq!(Journal::open(&home).unwrap_err().code(), Code::JournalForeign);
    scratch.mode("state/journal.sqlite", 0o600);
    fs::rename(file(&home), scratch.at("elsewhere")).unwrap();
    scratch.link("state/journal.sqlite", scratch.at("elsewhere"));
    assert_eq!(Journal::open(&home).unwrap_err().code(), Code::JournalForeign);
    fs::remove_file(file(&home)).unwrap();
    scratch.fifo("state/journal.sqlite");
    assert_eq!(Journal::open(&home).unwrap_err().code(), Code::JournalForeign);
    scratch.mode("state", 0o750);
    assert!(matches!(Journal::open(&home).unwrap_err(), JournalError::Home(_)));
}

#[test]
fn several_processes_begin_and_append_at_once() {
    let scratch = Scratch::new();
    let home = home(&scratch);
    let mut children: Vec<_> = (0..4).map(|_| start("append rows", &scratch)).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let verified = Journal::open(&home).unwrap().verify(None).unwrap();
    assert_eq!((verified.rows, verified.head.seq, verified.broken), (2000, 2000, None));
}

#[test]
fn killed_at_any_step_the_chain_holds() {
    let scratch = Scratch::new();
    let home = home(&scratch);
    let mut rows = 0;
    for run in 0..20 {
        let mut child = start("append rows", &scratch);
        std::thread::sleep(Duration::from_micros(run * 1371));
        child.kill().unwrap();
        child.wait().unwrap();
        let verified = Journal::open(&home).unwrap().verify(None).unwrap();
        assert_eq!(verified.broken, None);
        assert!(verified.rows >= rows);
        rows = verified.rows;
    }
    assert!(rows > 0);
}

#[test]
fn a_full_disk_refuses_the_row_and_keeps_the_others() {
    let scratch = Scratch::new();
    crate::artifact_store::on_small_disk(&scratch, "2m", || {
        let home = home(&scratch);
        let journal = Journal::open(&home).unwrap();
        let row = format!("\"{}\"", "x".repeat(50_000));
        let mut head = Head::START;
        let error = loop {
            match journal.append("test.row", &row, at(1), Flush::Now) {
                Ok(next) => head = next,
                Err(error) => break error,
            }
        };
        assert_eq!(error.code(), Code::StateUnavailable, "{error:?}");
        assert!(head.seq > 5);
        let verified = journal.verify(Some(&head)).unwrap();
        assert_eq!((verified.head, verified.broken), (head, None));
        drop(journal);
        let verified = Journal::open(&home).unwrap().verify(Some(&head)).unwrap();
        assert_eq!((verified.head, verified.broken), (head, None));
    });
}

#[test]
fn looking_makes_nothing() {
    let scratch = Scratch::new();
    let home = home(&scratch);
    assert!(Journal::open_if_any(&home).unwrap().is_none());
    assert!(!home.state.exists());
    home.make_state().unwrap();
    assert!(Journal::open_if_any(&home).unwrap().is_none());
    assert_eq!(fs::read_dir(&home.state).unwrap().count(), 0);
    // The twins: one that is there is opened, and refused for what it would always be refused for.
    let head = Journal::open(&home).unwrap().append("test.row", "{}", at(1), Flush::Soon).unwrap();
    assert_eq!(Journal::open_if_any(&home).unwrap().unwrap().head().unwrap(), head);
    scratch.mode("state/journal.sqlite", 0o640);
    assert_eq!(Journal::open_if_any(&home).unwrap_err().code(), Code::JournalForeign);
    scratch.mode("state", 0o750);
    assert!(matches!(Journal::open_if_any(&home).unwrap_err(), JournalError::Home(_)));
}

// Rows of other kinds in between cost nothing.
#[test]
fn a_kind_is_found_by_its_index() {
    let (_scratch, home) = with_rows(5);
    let connection = rusqlite::Connection::open(file(&home)).unwrap();
    let query = "EXPLAIN QUERY PLAN SELECT seq, time, kind, json FROM entry WHERE kind = 'k' AND seq < 9 \
                 ORDER BY seq DESC LIMIT 5";
    let plan: Vec<String> = connection
        .prepare(query)
        .unwrap()
        .query_map([], |row| row.get(3))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(plan, ["SEARCH entry USING INDEX entry_kind (kind=? AND rowid<?)"]);
}

#[test]
fn a_head_is_written_in_one_way() {
    let (_scratch, home) = with_rows(12);
    let head = Journal::open(&home).unwrap().head().unwrap();
    let text = head.to_string();
    assert!(text.starts_with("12:") && text.len() == 3 + 64, "{text}");
    assert_eq!(Head::parse(&text), Some(head));
    assert_eq!(Head::parse(&Head::START.to_string()), Some(Head::START));
    let hash = head.hash;
    for other in [
        String::new(),
        "12".to_owned(),
        hash.to_string(),
        format!("+12:{hash}"),
        format!("012:{hash}"),
        format!("-1:{hash}"),
        format!(" {text}"),
        format!("{text}\n"),
        format!("12:{hash}0"),
        format!("18446744073709551616:{hash}"),
        text.to_uppercase().replace(':', ";"),
    ] {
        assert_eq!(Head::parse(&other), None, "{other:?}");
    }
}
