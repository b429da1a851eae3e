//! Others who change the folder while it is being changed.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Applies the busy run and lets somebody act before step `at`; `None` when there are fewer steps.
fn disturbed(desk: &Desk, at: usize, act: &dyn Fn(&Desk)) -> Option<Result<(), TransactionError>> {
    busy_workspace(desk.scratch.path());
    let baseline = desk.baseline();
    busy_run(desk.scratch.path());
    let changes = desk.overlay(baseline).unwrap();
    let step = Cell::new(0);
    let before = |_: &str| {
        if step.replace(step.get() + 1) == at {
            act(desk);
        }
        Ok(())
    };
    let result = desk.transactions().apply_watched(&changes, receipt(1), &|| false, &before);
    let acted = step.get() > at;
    acted.then(|| result.map(|committed| committed.acknowledge().unwrap()))
}

/// What must be so after the step at which somebody acted.
type Check<'c> = dyn Fn(&Desk, usize, Result<(), TransactionError>) + 'c;

/// Lets somebody act before every step in turn, and looks at what came of it.
fn disturbed_everywhere(act: &dyn Fn(&Desk), check: &Check<'_>) -> (usize, usize) {
    let (mut applied, mut conflicts) = (0, 0);
    for at in 0.. {
        let desk = Desk::in_memory();
        let Some(result) = disturbed(&desk, at, act) else { break };
        match &result {
            Ok(()) => applied += 1,
            Err(error) => {
                assert_eq!(error.code(), Code::WorkspaceConflict, "{at}: {error}");
                conflicts += 1;
            }
        }
        check(&desk, at, result);
        desk.no_trace();
    }
    (applied, conflicts)
}

/// Without what somebody did in `keep`, which the check looks at by itself.
fn without_keep(tree: Tree) -> Tree {
    tree.into_iter()
        .filter(|(path, _)| !path.starts_with("keep") && !path.starts_with(".fumehood-"))
        .collect()
}

fn before_and_after() -> [Tree; 2] {
    [files(&BUSY_BEFORE), files(&BUSY_AFTER)].map(without_keep)
}

// Attacks on applying: renames under our feet.
#[test]
fn a_folder_that_becomes_a_link_leads_nowhere() {
    let swap = |desk: &Desk| {
        fs::rename(desk.scratch.at("ws/keep"), desk.scratch.at("moved")).unwrap();
        desk.scratch.link("ws/keep", desk.scratch.at("outside"));
    };
    let check = |desk: &Desk, at: usize, result: Result<(), TransactionError>| {
        assert_eq!(tree(&desk.scratch.at("outside")), Tree::new(), "step {at}");
        let [before, after] = before_and_after();
        let now = without_keep(desk.ws());
        assert_eq!(now, if result.is_ok() { after } else { before }, "step {at}");
        // The folder that was moved away is whole: all old or all new, never without a file.
        let moved = tree(&desk.scratch.at("moved"));
        let text =
            |name: &str| moved.get(name).map(|(_, _, bytes)| String::from_utf8(bytes.clone()).unwrap());
        match result {
            Ok(()) => {
                assert_eq!((text("edited.txt").unwrap().as_str(), text("removed.txt")), ("second", None));
            }
            Err(TransactionError::Conflict { left, .. }) => {
                // What could not be put back is kept and named.
                let kept = |name: &str| {
                    let path = left.iter().find(|left| left.path.ends_with(name))?.kept.clone()?;
                    Some(fs::read_to_string(path).unwrap())
                };
                let edited = kept("edited.txt").or_else(|| text("edited.txt"));
                let removed = kept("removed.txt").or_else(|| text("removed.txt"));
                assert_eq!(
                    (edited.as_deref(), removed.as_deref()),
                    (Some("first"), Some("removed")),
                    "step {at}"
                );
            }
            // It was seen before anything was done.
            Err(_) => assert_eq!(
                (text("edited.txt").unwrap().as_str(), text("removed.txt").unwrap().as_str()),
                ("first", "removed")
            ),
        }
    };
    let (applied, conflicts) = disturbed_everywhere(&swap, &check);
    assert!(applied > 5 && conflicts > 20, "{applied} {conflicts}");
}

#[test]
fn a_folder_that_is_moved_away_in_the_last_moment_keeps_its_files() {
    // Each is the very call: the folder was looked at and is held open.
    for (last, change) in [("exchange", "a"), ("move", "new"), ("move", "gone")] {
        let desk = Desk::in_memory();
        for file in ["a", "gone"] {
            desk.file(&format!("ws/sub/{file}"), "1");
        }
        let baseline = desk.baseline();
        if change == "gone" {
            desk.whiteout("changes/sub/gone");
        } else {
            desk.file(&format!("changes/sub/{change}"), "2");
        }
        let changes = desk.overlay(baseline).unwrap();
        let is_moved = Cell::new(false);
        let before = |what: &str| {
            if what == last && !is_moved.replace(true) {
                fs::rename(desk.scratch.at("ws/sub"), desk.scratch.at("outside/sub")).unwrap();
            }
            Ok(())
        };
        let error = desk.transactions().apply_watched(&changes, receipt(1), &|| false, &before).unwrap_err();
        let TransactionError::Conflict { left, .. } = &error else { panic!("{error}") };
        assert_eq!((left.as_slice(), is_moved.get()), (&[][..], true));
        assert_eq!(tree(&desk.scratch.at("outside/sub")), files(&[("a", "1"), ("gone", "1")]), "{change}");
        assert_eq!(desk.ws(), Tree::new());
        desk.no_trace();
    }
}

#[test]
fn another_folder_of_the_same_name_is_not_the_one() {
    let desk = Desk::new();
    desk.file("ws/sub/a", "1");
    let baseline = desk.baseline();
    desk.file("changes/sub/new", "2");
    let changes = desk.overlay(baseline).unwrap();
    fs::rename(desk.scratch.at("ws/sub"), desk.scratch.at("ws/other")).unwrap();
    desk.file("ws/sub/b", "1");
    assert_eq!(desk.apply(&changes).unwrap_err().code(), Code::WorkspaceConflict);
    assert_eq!(desk.ws(), files(&[("other/a", "1"), ("sub/b", "1")]));
    desk.no_trace();
}

#[test]
fn a_file_that_somebody_saves_meanwhile_is_theirs() {
    let save = |desk: &Desk| {
        fs::write(desk.scratch.at("mine"), "mine").unwrap();
        fs::rename(desk.scratch.at("mine"), desk.scratch.at("ws/keep/edited.txt")).unwrap();
    };
    let check = |desk: &Desk, at: usize, result: Result<(), TransactionError>| {
        assert_eq!(fs::read(desk.scratch.at("ws/keep/edited.txt")).unwrap(), b"mine", "step {at}");
        let [before, after] = before_and_after();
        assert_eq!(without_keep(desk.ws()), if result.is_ok() { after } else { before }, "step {at}");
        if let Err(TransactionError::Conflict { left, .. }) = result {
            for left in left {
                assert!(left.path.ends_with("edited.txt"));
                assert_eq!(fs::read(left.kept.unwrap()).unwrap(), b"first");
            }
        }
    };
    let (applied, conflicts) = disturbed_everywhere(&save, &check);
    assert!(applied > 5 && conflicts > 20, "{applied} {conflicts}");
}

#[test]
fn a_file_that_somebody_made_meanwhile_is_never_written_over() {
    let make = |desk: &Desk| {
        let path = desk.scratch.at("ws/top.txt");
        // Where ours is already, it is written like any other file.
        fs::write(path, "mine").unwrap();
    };
    let check = |desk: &Desk, at: usize, result: Result<(), TransactionError>| {
        assert_eq!(fs::read(desk.scratch.at("ws/top.txt")).unwrap(), b"mine", "step {at}");
        let top = |mut tree: Tree| {
            tree.remove("top.txt");
            tree
        };
        let [before, after] = before_and_after().map(top);
        assert_eq!(top(without_keep(desk.ws())), if result.is_ok() { after } else { before }, "step {at}");
    };
    let (applied, conflicts) = disturbed_everywhere(&make, &check);
    assert!(applied > 5 && conflicts > 20, "{applied} {conflicts}");
}

#[test]
fn what_somebody_adds_to_a_folder_that_is_removed_is_not_lost() {
    let add = |desk: &Desk| {
        let Ok(()) = fs::write(desk.scratch.at("ws/old/mine"), "mine") else { return };
    };
    let check = |desk: &Desk, at: usize, result: Result<(), TransactionError>| {
        let mine = fs::read(desk.scratch.at("ws/old/mine"));
        // It was gone before they could, or it is theirs.
        assert_eq!(mine.is_ok(), result.is_err(), "step {at}");
    };
    let (applied, conflicts) = disturbed_everywhere(&add, &check);
    assert!(applied > 5 && conflicts > 20, "{applied} {conflicts}");
}

#[test]
fn nothing_is_ever_written_outside_while_somebody_swaps_folders_for_links() {
    let (mut applied, mut refused) = (0, 0);
    for round in 0..150 {
        let desk = Desk::new();
        desk.file("ws/sub/a", "1");
        desk.file("ws/sub/b", "1");
        desk.file("outside/a", "outside");
        let baseline = desk.baseline();
        desk.file("changes/sub/a", "2");
        desk.file("changes/sub/deep/c", "3");
        desk.whiteout("changes/sub/b");
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let swap = || {
                let (sub, aside) = (desk.scratch.at("ws/sub"), desk.scratch.at("ws/aside"));
                // Every other round in one system call, so that there is always something.
                if round % 2 == 0 {
                    desk.scratch.link("ws/aside", desk.scratch.at("outside"));
                }
                while !ended.load(Ordering::Relaxed) {
                    if round % 2 == 0 {
                        let flags = rustix::fs::RenameFlags::EXCHANGE;
                        rustix::fs::renameat_with(rustix::fs::CWD, &sub, rustix::fs::CWD, &aside, flags)
                            .unwrap();
                    } else {
                        fs::rename(&sub, &aside).unwrap();
                        std::os::unix::fs::symlink(desk.scratch.at("outside"), &sub).unwrap();
                        fs::remove_file(&sub).unwrap();
                        fs::rename(&aside, &sub).unwrap();
                    }
                    std::thread::yield_now();
                }
            };
            let swapping = scope.spawn(swap);
            let result = desk.overlay(baseline).and_then(|changes| {
                let committed = desk.transactions().apply(&changes, receipt(1), &|| false)?;
                committed.acknowledge()
            });
            ended.store(true, Ordering::Relaxed);
            swapping.join().unwrap();
            match result {
                Ok(()) => applied += 1,
                Err(error) => {
                    let code = error.code();
                    let known = [Code::WorkspaceConflict, Code::WorkspaceRefused, Code::WorkspaceFailed];
                    assert!(known.contains(&code), "{error}");
                    refused += 1;
                }
            }
        });
        assert_eq!(tree(&desk.scratch.at("outside")), files(&[("a", "outside")]), "round {round}");
    }
    println!("{applied} applied, {refused} not");
    assert!(refused > 0);
}

#[test]
fn two_processes_that_start_at_once_recover_once() {
    for _ in 0..20 {
        let desk = Desk::new();
        busy_workspace(desk.scratch.path());
        let baseline = desk.baseline();
        busy_run(desk.scratch.path());
        let changes = desk.overlay(baseline).unwrap();
        drop(desk.transactions().apply(&changes, receipt(1), &|| false).unwrap());
        let found: usize = std::thread::scope(|scope| {
            let recover = || {
                let all = Transactions::open(&desk.home()).unwrap().recover().unwrap();
                let count = all.len();
                for recovered in all {
                    recovered.acknowledge().unwrap();
                }
                count
            };
            let both = [scope.spawn(recover), scope.spawn(recover)];
            both.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(found, 1);
        desk.no_trace();
    }
}
