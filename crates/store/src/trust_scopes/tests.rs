use std::time::Duration;

use fumehood_core::trust_scope::{ScopeParts, ScopesError};
use fumehood_core::{
    AgentLabel, Code, Coded as _, HostPath, RelPath, Sha256, SkillName, ToolName, VerifiedRevision,
};
use fumehood_testkit::Scratch;

use super::*;
use crate::journal::Journal;

fn home_of(scratch: &Scratch) -> Home {
    Home { config: scratch.at("config"), state: scratch.at("state") }
}

fn draft(number: u64) -> ScopeDraft {
    let place = |text: &str| HostPath::parse(text).unwrap();
    let files = [(RelPath::parse("SKILL.md").unwrap(), number.to_be_bytes())].into();
    ScopeDraft::new(ScopeParts {
        agent: AgentLabel::parse("cli").unwrap(),
        source: "team".to_owned(),
        id: SkillName::parse("pdf").unwrap(),
        revision: VerifiedRevision::of(&files).revision(),
        tool: ToolName::parse("run_pdf_read").unwrap(),
        overlay: number.is_multiple_of(2).then(|| Sha256::of(b"overlay")),
        workspace: number.is_multiple_of(3).then(|| "8:1:42 /srv/päpers".to_owned()),
        paths: [("file".to_owned(), place("/srv/papers")), ("other".to_owned(), place("/"))].into(),
        timeout_seconds_max: 30,
        output_bytes_max: 64 << 20,
    })
    .unwrap()
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn with_scopes(count: u64) -> (Scratch, Home, Scopes) {
    let scratch = Scratch::new();
    let home = home_of(&scratch);
    let scopes = TrustScopes::open(&home).unwrap();
    let saved = scopes.save(Mode::Trusted, at(7), |_| (0..count).map(draft).collect()).unwrap();
    (scratch, home, saved)
}

// CHK-035, CHK-036, CHK-037, CHK-154: all of it is there after a restart, and saved again unchanged it is the same.
#[test]
fn scopes_and_receipts_survive_a_restart() {
    let (_scratch, home, saved) = with_scopes(64);
    assert_eq!(TrustScopes::read(&home).unwrap(), saved);
    let scopes = TrustScopes::open(&home).unwrap();
    assert_eq!(scopes.load().unwrap(), saved);
    let receipts: std::collections::BTreeSet<_> =
        saved.as_slice().iter().map(|scope| scope.receipt().unwrap().id).collect();
    assert_eq!(receipts.len(), 64);
    assert!(saved.as_slice().iter().all(|scope| scope.receipt().unwrap().approved.unix_ms() == 7000));
    assert_eq!(scopes.save(Mode::Ask, at(8), |old| old).unwrap(), saved);
    assert_eq!(TrustScopes::read(&home).unwrap(), saved);
}

// CHK-042, CHK-048: what one process removes is gone for another that has the file open.
#[test]
fn a_removal_acts_at_once() {
    let (_scratch, home, saved) = with_scopes(3);
    let (one, other) = (TrustScopes::open(&home).unwrap(), TrustScopes::open(&home).unwrap());
    assert_eq!(other.load().unwrap(), saved);
    let remove = |drafts: Vec<ScopeDraft>| drafts.into_iter().filter(|old| *old != draft(1)).collect();
    let left = one.save(Mode::Trusted, at(8), remove).unwrap();
    assert_eq!((left.as_slice().len(), other.load().unwrap()), (2, left));
    let again = other.save(Mode::Trusted, at(9), |old| [old, vec![draft(1)]].concat()).unwrap();
    let receipt = |scopes: &Scopes| {
        let scope = scopes.as_slice().iter().find(|scope| *scope.draft() == draft(1)).unwrap();
        scope.receipt().unwrap()
    };
    assert_ne!(receipt(&again).id, receipt(&saved).id);
    assert_eq!(receipt(&again).approved.unix_ms(), 9000);
}

// CHK-028, CHK-154: nothing is saved of what cannot stand.
#[test]
fn a_refused_save_changes_nothing() {
    let (_scratch, home, saved) = with_scopes(2);
    let scopes = TrustScopes::open(&home).unwrap();
    let refused = |new: Vec<ScopeDraft>| scopes.save(Mode::Trusted, at(8), |_| new).unwrap_err();
    assert_eq!(refused((0..65).map(draft).collect()), TrustScopesError::Refused(ScopesError::Full));
    assert_eq!(refused(vec![draft(1), draft(1)]).code(), Code::TrustScopeInvalid);
    assert_eq!(scopes.load().unwrap(), saved);
}

// CHK-040
#[test]
fn drafts_are_kept_as_drafts() {
    let scratch = Scratch::new();
    let home = home_of(&scratch);
    let scopes = TrustScopes::open(&home).unwrap();
    scopes.save(Mode::Ask, at(7), |_| vec![draft(1)]).unwrap();
    let read = TrustScopes::read(&home).unwrap();
    assert_eq!(read.as_slice()[0].receipt(), None);
    let trusted = scopes.save(Mode::Trusted, at(8), |old| old).unwrap();
    assert!(trusted.as_slice()[0].receipt().is_some());
}

#[test]
fn reading_makes_nothing() {
    let scratch = Scratch::new();
    assert_eq!(TrustScopes::read(&home_of(&scratch)), Ok(Scopes::default()));
    assert!(!scratch.at("state").exists());
}

#[test]
fn several_processes_save_in_turns() {
    let scratch = Scratch::new();
    let home = home_of(&scratch);
    std::thread::scope(|threads| {
        for number in 0..8 {
            let home = &home;
            threads.spawn(move || {
                let scopes = TrustScopes::open(home).unwrap();
                for step in 0..4 {
                    let add = |old| [old, vec![draft(number * 4 + step)]].concat();
                    scopes.save(Mode::Trusted, at(1), add).unwrap();
                }
            });
        }
    });
    assert_eq!(TrustScopes::read(&home).unwrap().as_slice().len(), 32);
}

// CHK-038, CHK-045: what others, or other versions, put in the place is refused and left as it is.
#[test]
fn a_file_that_is_not_ours_is_refused() {
    let tampered = |sql: &str| {
        let (scratch, home, _) = with_scopes(2);
        let connection = Connection::open(home.state.join("trust.sqlite")).unwrap();
        connection.execute_batch(sql).unwrap();
        drop(connection);
        let error = TrustScopes::read(&home).unwrap_err();
        let opened = TrustScopes::open(&home).and_then(|scopes| scopes.load());
        assert_eq!(opened.unwrap_err(), error, "{sql}");
        drop(scratch);
        error.code()
    };
    for sql in [
        "PRAGMA application_id = 5",
        "PRAGMA user_version = 2",
        "CREATE TABLE more (x)",
        "CREATE TRIGGER more AFTER INSERT ON scope BEGIN SELECT 1; END",
        "DROP TABLE path",
        "ALTER TABLE scope ADD COLUMN more TEXT",
    ] {
        assert_eq!(tampered(sql), Code::TrustScopesForeign, "{sql}");
    }
    for sql in [
        "UPDATE scope SET agent = 'A B'",
        "UPDATE scope SET source = ''",
        "UPDATE scope SET revision = 'sha256:00'",
        "UPDATE scope SET overlay = 'x'",
        "UPDATE scope SET workspace = ''",
        "UPDATE scope SET timeout_seconds_max = 0",
        "UPDATE scope SET timeout_seconds_max = -1",
        "UPDATE scope SET output_bytes_max = 67108865",
        "UPDATE scope SET receipt = NULL",
        "UPDATE scope SET approved = NULL",
        "UPDATE scope SET receipt = 'ffffffff-ffff-1fff-bfff-ffffffffffff'",
        "UPDATE scope SET receipt = (SELECT receipt FROM scope WHERE place = 1)",
        "UPDATE scope SET approved = -1",
        "UPDATE path SET place = 'papers'",
        "UPDATE path SET parameter = '' WHERE parameter = 'file'",
        "DELETE FROM scope WHERE place = 1",
        "INSERT INTO scope SELECT 9, agent, source, id, revision, tool, overlay, workspace, timeout_seconds_max, \
         output_bytes_max, NULL, NULL FROM scope WHERE place = 1; INSERT INTO path SELECT 9, parameter, place FROM path WHERE scope = 1",
    ] {
        assert_eq!(tampered(sql), Code::TrustScopesDamaged, "{sql}");
    }
    let many = "WITH RECURSIVE n (x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM n WHERE x < 75) INSERT INTO scope \
                SELECT x, agent, source, id, revision, tool, overlay, workspace, timeout_seconds_max, x, NULL, NULL \
                FROM scope, n WHERE place = 1";
    assert_eq!(tampered(many), Code::TrustScopesDamaged);
}

#[test]
fn what_is_no_file_of_ours_is_refused() {
    let scratch = Scratch::new();
    let home = home_of(&scratch);
    home.make_state().unwrap();
    let code = |home: &Home| {
        let error = TrustScopes::open(home).unwrap_err();
        assert_eq!(TrustScopes::read(home).unwrap_err(), error);
        error.code()
    };
    for bytes in [b"".as_slice(), b"not a database, and long enough to look like one".repeat(100).as_slice()]
    {
        scratch.file("state/trust.sqlite", bytes);
        scratch.mode("state/trust.sqlite", 0o600);
        assert_eq!(code(&home), Code::TrustScopesDamaged);
        assert_eq!(std::fs::read(scratch.at("state/trust.sqlite")).unwrap(), bytes);
    }
    std::fs::remove_file(scratch.at("state/trust.sqlite")).unwrap();
    // A journal put in the place, or any file of somebody's.
    drop(Journal::open(&home).unwrap());
    std::fs::rename(scratch.at("state/journal.sqlite"), scratch.at("state/trust.sqlite")).unwrap();
    assert_eq!(code(&home), Code::TrustScopesForeign);
    scratch.mode("state/trust.sqlite", 0o640);
    assert_eq!(code(&home), Code::TrustScopesForeign);
    std::fs::remove_file(scratch.at("state/trust.sqlite")).unwrap();
    scratch.link("state/trust.sqlite", scratch.at("elsewhere"));
    assert_eq!(code(&home), Code::TrustScopesForeign);
    std::fs::remove_file(scratch.at("state/trust.sqlite")).unwrap();
    drop(TrustScopes::open(&home).unwrap());
    scratch.mode("state", 0o750);
    assert_eq!(code(&home), Code::HomeRefused);
}
