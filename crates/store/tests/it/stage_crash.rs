//! Files of runs whose processes are killed, and several processes at once.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use fumehood_core::RelPath;
use fumehood_store::{Folder as _, Home, MemoryFolder, Snapshot, Staging};
use fumehood_testkit::{Opens, Scratch};

use crate::child::{home, start};

fn snapshot() -> Snapshot {
    let file =
        |number: u32| (RelPath::parse(&format!("d{}/f{number}", number % 7)).unwrap(), vec![b'x'; 1000]);
    MemoryFolder::new("s", (0..100).map(file)).capture().unwrap()
}

pub(crate) fn hold_files_of_a_run(home: &Home, begun: impl Fn()) {
    let staging = Staging::open(home).unwrap();
    let _staged = staging.lay_out(&snapshot()).unwrap();
    let scratch = staging.scratch().unwrap();
    fs::create_dir_all(scratch.path().join("changes/deep")).unwrap();
    fs::write(scratch.path().join("changes/deep/file"), "written by the run").unwrap();
    begun();
    std::thread::sleep(Duration::from_mins(10));
}

pub(crate) fn lay_out_without_end(home: &Home, begun: impl Fn()) {
    let staging = Staging::open(home).unwrap();
    begun();
    loop {
        staging.lay_out(&snapshot()).unwrap().remove().unwrap();
    }
}

pub(crate) fn lay_out_and_remove(home: &Home, begun: impl Fn()) {
    begun();
    for _ in 0..20 {
        let staging = Staging::open(home).unwrap();
        assert_eq!(staging.unswept(), 0);
        let staged = staging.lay_out(&snapshot()).unwrap();
        let scratch = staging.scratch().unwrap();
        fs::write(scratch.path().join("file"), "x").unwrap();
        drop(Staging::open(home).unwrap());
        assert_eq!(staged.verify().unwrap().revision(), snapshot().revision());
        assert!(scratch.path().join("file").exists());
        scratch.remove().unwrap();
        staged.remove().unwrap();
    }
}

/// The folders of runs.
fn folders(home: &Home) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.state.join("staging")).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().is_some_and(|name| name != "lock")).collect()
}

// CHK-021, EXE-41, X-27, CHK-157
#[test]
fn what_a_killed_process_left_is_removed_unread_and_a_living_ones_stays() {
    let scratch = Scratch::new();
    let home = home(&scratch);
    let mut dead = start("hold files of a run", &scratch);
    let mut left = folders(&home);
    left.sort();
    assert_eq!(left.len(), 2);
    let mut living = start("hold files of a run", &scratch);
    let kept: Vec<PathBuf> = folders(&home).into_iter().filter(|folder| !left.contains(folder)).collect();
    // Another name keeps each file, and so what is watched.
    let contents = ["content/d1/f1", "content/changes/deep/file"];
    let files: Vec<PathBuf> = left
        .iter()
        .flat_map(|folder| contents.map(|content| folder.join(content)))
        .filter(|file| file.exists())
        .collect();
    assert_eq!(files.len(), 2);
    let watched = files.iter().enumerate().map(|(number, file)| {
        fs::hard_link(file, scratch.at(format!("watched{number}"))).unwrap();
        Opens::of(file)
    });
    let watched: Vec<Opens> = watched.collect();
    drop(Staging::open(&home).unwrap());
    assert_eq!(folders(&home).len(), 4, "both live");

    dead.kill().unwrap();
    dead.wait().unwrap();
    let staging = Staging::open(&home).unwrap();
    assert_eq!(staging.unswept(), 0);
    let mut now = folders(&home);
    let mut expected = kept;
    now.sort();
    expected.sort();
    assert_eq!(now, expected);
    for opens in &watched {
        assert_eq!(opens.count(), 0, "what is left over is not even opened");
    }
    drop(fs::File::open(scratch.at("watched0")).unwrap());
    assert_eq!(watched[0].count(), 1, "the positive control");

    living.kill().unwrap();
    living.wait().unwrap();
    drop(Staging::open(&home).unwrap());
    assert_eq!(folders(&home), NONE);
}

// CHK-021
#[test]
fn killed_between_two_steps_nothing_is_left() {
    let scratch = Scratch::new();
    let home = home(&scratch);
    for run in 0..25 {
        let mut child = start("lay out without end", &scratch);
        std::thread::sleep(Duration::from_micros(run * 977));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(Staging::open(&home).unwrap().unswept(), 0);
        assert_eq!(folders(&home), NONE, "after {run}");
    }
}

// EXE-49: two materialisations of one skill may be alive at once.
#[test]
fn several_processes_do_not_sweep_each_others() {
    let scratch = Scratch::new();
    let home = home(&scratch);
    let mut children: Vec<_> = (0..3).map(|_| start("lay out and remove", &scratch)).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(folders(&home), NONE);
}

const NONE: [PathBuf; 0] = [];
