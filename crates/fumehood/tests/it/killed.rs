//! The host is killed: at any moment of a run, from its first instruction to the last file that it applies.
//!
//! Whatever the moment, nothing of the run goes on living, the next start cleans up and executes nothing of what it finds,
//! the person's files are as they were or all as the run wanted them, and the journal says which.

mod scene;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use scene::{Files, Scene};

/// How many moments are tried.
const POINTS: usize = 200;
/// More than there are processors: each mostly waits, for the disk or for its moment.
const AT_ONCE: usize = 4;

/// What became of the files, over all moments.
#[derive(Debug, Default)]
struct Tally {
    untouched: AtomicUsize,
    complete: AtomicUsize,
    /// Of those, by the next start.
    recovered: AtomicUsize,
    /// Moments at which the run was over already.
    over: AtomicUsize,
}

// DESIGN 5, 9, CHK-021, EXE-66: a workspace, files that are replaced and made, and a folder for the rest, all at once.
#[test]
fn killed_while_it_changes_files_they_are_as_they_were_or_all_changed() {
    let tally = try_all(&[
        "--workspace",
        "work:rw",
        "--write",
        "files/report",
        "--write",
        "files/new",
        "--out",
        "results",
    ]);
    assert!(count(&tally.untouched) > 0 && count(&tally.complete) > 0, "{tally:?}");
}

// CHK-020, CHK-021, EXE-66: an ordinary run, which changes nothing.
#[test]
fn killed_in_an_ordinary_run_nothing_is_left() {
    let tally = try_all(&["--read", "files/report"]);
    assert_eq!(count(&tally.complete), 0);
}

fn count(of: &AtomicUsize) -> usize {
    of.load(Ordering::Relaxed)
}

/// Half of the moments are spread over the whole of a run; the other half over what comes after the script has ended.
fn try_all(grants: &[&str]) -> Tally {
    let (tally, began) = (Tally::default(), Instant::now());
    thread::scope(|scope| {
        for worker in 0..AT_ONCE {
            let tally = &tally;
            scope.spawn(move || {
                let scene = Scene::new(grants);
                let whole = scene.time_of_a_run();
                for point in (worker..POINTS).step_by(AT_ONCE) {
                    let part = |of: usize| u32::try_from(of).unwrap();
                    let spread = |most: Duration| most * part(point / 2) / part(POINTS / 2) + Scene::jitter();
                    let moment = if point % 2 == 0 {
                        Moment::AfterStart(spread(whole * 11 / 10))
                    } else {
                        Moment::AfterScript(spread(whole / 4))
                    };
                    try_one(&scene, moment, tally);
                }
            });
        }
    });
    println!("{POINTS} moments in {:?}: {tally:?}", began.elapsed());
    tally
}

/// When the host is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    AfterStart(Duration),
    /// Counted from when the host begins to write down what it will change, or to keep the result.
    AfterScript(Duration),
}

fn try_one(scene: &Scene, moment: Moment, tally: &Tally) {
    scene.reset();
    let before = scene.head();
    let mut host = scene.start();
    match moment {
        Moment::AfterStart(after) => thread::sleep(after),
        Moment::AfterScript(after) => {
            scene.await_end_of_script(&mut host);
            thread::sleep(after);
        }
    }
    let was_over = host.try_wait().unwrap().is_some();
    // It may have ended just now.
    let _ = host.kill();
    host.wait().unwrap();
    scene.assert_nothing_lives();

    let staged = scene.watch_staged_files();
    let (receipts, recorded) = (scene.receipts(before), scene.recorded_as_applied(before));
    scene.start_again();
    assert!(staged.iter().all(|file| file.count() == 0), "{moment:?}: something that was left is opened");
    assert_eq!(scene.receipts(before), receipts, "{moment:?}: the next start ran something");
    scene.assert_clean();
    scene.assert_journal_verifies();

    let recorded_now = scene.recorded_as_applied(before);
    match scene.files() {
        Files::Untouched => {
            assert!(!recorded_now, "{moment:?}: nothing is changed, and the journal says that it was");
            tally.untouched.fetch_add(1, Ordering::Relaxed);
        }
        Files::Complete => {
            assert!(recorded_now, "{moment:?}: everything is changed, and the journal does not say so");
            tally.complete.fetch_add(1, Ordering::Relaxed);
            tally.recovered.fetch_add(usize::from(!recorded), Ordering::Relaxed);
        }
        Files::Mixed(what) => panic!("{moment:?}: {what}"),
    }
    tally.over.fetch_add(usize::from(was_over), Ordering::Relaxed);
}
