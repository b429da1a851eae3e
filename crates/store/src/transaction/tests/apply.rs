//! What is applied, and how it looks afterwards.

use fumehood_core::receipt::Change::{Created, Removed, Replaced};

use super::*;

// The "Transaction" line of the issue: success applies all. DESIGN 5: new files are 0644, a replaced file keeps its mode.
#[test]
fn a_run_that_did_everything_is_applied_whole() {
    let desk = Desk::new();
    busy_workspace(desk.scratch.path());
    desk.scratch.mode("ws/keep/edited.txt", 0o640);
    let same = fs::metadata(desk.scratch.at("ws/keep/same.txt")).unwrap().ino();
    let applied = desk.run(|| busy_run(desk.scratch.path())).unwrap();
    let mut after = files(&BUSY_AFTER);
    after.get_mut("keep/edited.txt").unwrap().1 = 0o640;
    assert_eq!(desk.ws(), after);
    // A file that was opened to write and left as it was is not touched.
    assert_eq!(fs::metadata(desk.scratch.at("ws/keep/same.txt")).unwrap().ino(), same);
    desk.no_trace();

    let prefix = format!("{}/", desk.scratch.at("ws").display());
    let told: Vec<_> = applied
        .iter()
        .map(|applied| (applied.path.strip_prefix(&prefix).unwrap(), applied.change, applied.bytes))
        .collect();
    assert_eq!(
        told,
        [
            ("keep/removed.txt", Removed, 0),
            ("old/", Removed, 0),
            ("old/tree/", Removed, 0),
            ("old/tree/x.txt", Removed, 0),
            ("old/y.txt", Removed, 0),
            ("replaced/gone.txt", Removed, 0),
            ("was-file", Removed, 0),
            ("was-folder/", Removed, 0),
            ("was-folder/z.txt", Removed, 0),
            ("fresh/", Created, 0),
            ("fresh/deep/", Created, 0),
            ("was-file/", Created, 0),
            ("fresh/b.txt", Created, 1),
            ("fresh/deep/a.txt", Created, 1),
            ("keep/edited.txt", Replaced, 6),
            ("replaced/new.txt", Created, 1),
            ("top.txt", Created, 7),
            ("was-file/inside.txt", Created, 12),
            ("was-folder", Created, 10),
        ]
    );
    let edited = applied.iter().find(|applied| applied.change == Replaced).unwrap();
    assert_eq!(edited.sha256, Some(fumehood_core::Sha256::of(b"second")));
}

#[test]
fn what_the_run_made_executable_or_private_is_0644_and_the_callers() {
    let desk = Desk::new();
    desk.run(|| {
        desk.file("changes/tool.sh", "#!/bin/sh\n");
        desk.scratch.mode("changes/tool.sh", 0o6777);
        desk.scratch.folder("changes/empty");
        desk.scratch.mode("changes/empty", 0o700);
    })
    .unwrap();
    assert_eq!(desk.ws(), files(&[("tool.sh", "#!/bin/sh\n"), ("empty/", "")]));
    let owner = fs::metadata(desk.scratch.at("ws/tool.sh")).unwrap().uid();
    assert_eq!(owner, rustix::process::geteuid().as_raw());
}

#[test]
fn a_replaced_file_keeps_its_owner() {
    let desk = Desk::new();
    desk.file("ws/a", "1");
    if fumehood_testkit::is_root() {
        std::os::unix::fs::chown(desk.scratch.at("ws/a"), Some(12345), Some(54321)).unwrap();
    }
    let before = fs::metadata(desk.scratch.at("ws/a")).unwrap();
    desk.run(|| drop(desk.file("changes/a", "2"))).unwrap();
    let after = fs::metadata(desk.scratch.at("ws/a")).unwrap();
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    assert_ne!(after.ino(), before.ino());
    assert_eq!(fs::read(desk.scratch.at("ws/a")).unwrap(), b"2");
}

#[test]
fn nothing_wanted_is_nothing_done_and_no_record() {
    let desk = Desk::new();
    desk.file("ws/a", "1");
    assert_eq!(desk.run(|| drop(desk.scratch.folder("changes"))).unwrap(), []);
    // A copy of what is there already is no change either.
    assert_eq!(desk.run(|| drop(desk.file("changes/a", "1"))).unwrap(), []);
    desk.no_trace();
    assert_eq!(desk.ws(), files(&[("a", "1")]));
}

#[test]
fn a_committed_transaction_is_reported_until_it_is_acknowledged() {
    let desk = Desk::new();
    let baseline = desk.baseline();
    desk.file("changes/a", "1");
    let changes = desk.overlay(baseline).unwrap();
    let committed = desk.transactions().apply(&changes, receipt(7), &|| false).unwrap();
    let applied = committed.applied().to_vec();
    // Its process is alive and at work on it.
    assert!(desk.transactions().recover().unwrap().is_empty());
    drop(committed);
    for _ in 0..2 {
        let [recovered] = <[_; 1]>::try_from(desk.transactions().recover().unwrap()).unwrap();
        assert_eq!(
            (recovered.receipt, &recovered.outcome),
            (Some(receipt(7)), &Outcome::Applied(applied.clone()))
        );
        // As long as one is at work on what is left, nobody else is.
        assert!(desk.transactions().recover().unwrap().is_empty());
    }
    // One receipt has one transaction.
    let again = desk.transactions().apply(&changes, receipt(7), &|| false).unwrap_err();
    assert_eq!(again.code(), Code::WorkspaceFailed);
    for recovered in desk.transactions().recover().unwrap() {
        recovered.acknowledge().unwrap();
    }
    desk.no_trace();
    assert_eq!(desk.ws(), files(&[("a", "1")]));
}

#[test]
fn a_caller_can_stop_it_until_the_first_move() {
    for stop_at in 0.. {
        let desk = Desk::new();
        busy_workspace(desk.scratch.path());
        let before = desk.ws();
        let baseline = desk.baseline();
        busy_run(desk.scratch.path());
        let changes = desk.overlay(baseline).unwrap();
        let asked = std::cell::Cell::new(0);
        let is_cancelled = || asked.replace(asked.get() + 1) == stop_at;
        match desk.transactions().apply(&changes, receipt(1), &is_cancelled) {
            Ok(committed) => {
                assert!(stop_at > 8, "asked only {stop_at} times");
                committed.acknowledge().unwrap();
                assert_eq!(desk.ws(), files(&BUSY_AFTER));
                return;
            }
            Err(error) => assert_eq!(error.code(), Code::Cancelled),
        }
        assert_eq!(desk.ws(), before);
        desk.no_trace();
    }
}

#[test]
fn two_sets_of_changes_are_one_transaction() {
    let desk = Desk::new();
    desk.file("ws/a", "1");
    desk.file("outside/b", "1");
    let write = Expected::write("b", &desk.place("outside"), "b").unwrap();
    let baseline = desk.baseline();
    desk.file("changes/a", "2");
    desk.file("out/b", "2");
    let out = open(&desk.scratch.at("out"));
    let outputs = Changes::of_outputs(out, vec![write], None, ChangeLimits::default()).unwrap();
    let both = desk.overlay(baseline).unwrap().and(outputs);
    // Somebody changes one of them: then neither is written.
    desk.file("outside/b", "somebody's");
    let error = desk.apply(&both).unwrap_err();
    assert_eq!(error.code(), Code::WorkspaceConflict, "{error}");
    assert_eq!(desk.ws(), files(&[("a", "1")]));
    desk.no_trace();

    let write = Expected::write("b", &desk.place("outside"), "b").unwrap();
    let out = open(&desk.scratch.at("out"));
    let outputs = Changes::of_outputs(out, vec![write], None, ChangeLimits::default()).unwrap();
    assert_eq!(desk.apply(&outputs.and(desk.overlay(desk.baseline()).unwrap())).unwrap().len(), 2);
    assert_eq!(desk.ws(), files(&[("a", "2")]));
    assert_eq!(tree(&desk.scratch.at("outside")), files(&[("b", "2")]));
}
