//! Several processes, and processes that are killed.

use std::fs;
use std::time::{Duration, SystemTime};

use fumehood_core::{Code, Coded as _};
use fumehood_store::{Artifacts, Asker, Home};
use fumehood_testkit::Scratch;

use crate::child::{home, start};

pub(crate) fn write_one_without_end(home: &Home, begun: impl Fn()) {
    let artifacts = Artifacts::open(home, Artifacts::BYTES_MAX_DEFAULT).unwrap();
    let mut spool = artifacts.create("agent", "run", SystemTime::now()).unwrap();
    spool.write(&vec![b'x'; 1 << 20]).unwrap();
    begun();
    for _ in 0..200 {
        spool.write(&vec![b'x'; 1 << 20]).unwrap();
    }
    std::thread::sleep(Duration::from_mins(1));
}

pub(crate) fn write_many(home: &Home, begun: impl Fn()) {
    let artifacts = Artifacts::open(home, Artifacts::BYTES_MAX_DEFAULT).unwrap();
    begun();
    for number in 0_u32.. {
        let mut spool = artifacts.create("agent", "run", SystemTime::now()).unwrap();
        spool.write(format!("{number}\n").repeat(20_000).as_bytes()).unwrap();
        // Every third is given up, so that removing is interrupted too.
        if number % 3 != 0 {
            spool.finish().unwrap();
        }
    }
}

pub(crate) fn fill_the_store(home: &Home, begun: impl Fn()) {
    let artifacts = Artifacts::open(home, SHARED_BYTES_MAX).unwrap();
    begun();
    for size in (1..).map(|number| number * 77_777 % 300_000) {
        match artifacts.create("agent", "run", SystemTime::now()) {
            Err(error) if error.code() == Code::ArtifactStoreFull => return,
            spool => {
                let mut spool = spool.unwrap();
                let written = spool.write(&vec![b'y'; size]);
                let info = spool.finish().unwrap();
                assert!(info.bytes == size as u64 || written.is_err() || info.bytes < size as u64);
            }
        }
    }
}

const SHARED_BYTES_MAX: u64 = 20 << 20;

/// What the files below the folder of finished artifacts take.
fn kept_bytes(home: &Home) -> u64 {
    let mut sum = 0;
    for folder in fs::read_dir(home.state.join("artifacts/kept")).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            sum += file.unwrap().metadata().unwrap().len();
        }
    }
    sum
}

#[test]
fn what_a_killed_writer_left_is_swept_and_never_served() {
    for run in 0..8 {
        let scratch = Scratch::new();
        let home = home(&scratch);
        let mut child = start("write one without end", &scratch);
        // The positive control: it is there, and as long as its writer lives it stays.
        let artifacts = Artifacts::open(&home, Artifacts::BYTES_MAX_DEFAULT).unwrap();
        let new = home.state.join("artifacts/new");
        assert_eq!(fs::read_dir(&new).unwrap().count(), 1);
        std::thread::sleep(Duration::from_millis(run * 7));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(artifacts.list(Asker::Person).unwrap(), []);
        let artifacts = Artifacts::open(&home, Artifacts::BYTES_MAX_DEFAULT).unwrap();
        assert_eq!(fs::read_dir(&new).unwrap().count(), 0);
        assert_eq!(artifacts.list(Asker::Person).unwrap(), []);
        // The room it had taken is free again: a store of just one artifact takes one.
        let small = Artifacts::open(&home, 8192 + 10_002).unwrap();
        let mut spool = small.create("agent", "run", SystemTime::now()).unwrap();
        spool.write(&[0; 10_000]).unwrap();
        assert_eq!(spool.finish().unwrap().bytes, 10_000);
    }
}

#[test]
fn killed_between_two_steps_every_artifact_is_whole_or_none() {
    let scratch = Scratch::new();
    let home = home(&scratch);
    for run in 0..25 {
        let mut child = start("write many", &scratch);
        std::thread::sleep(Duration::from_micros(run * 977));
        child.kill().unwrap();
        child.wait().unwrap();
        let artifacts = Artifacts::open(&home, Artifacts::BYTES_MAX_DEFAULT).unwrap();
        for listed in artifacts.list(Asker::Person).unwrap() {
            let artifact = artifacts.get(listed.id, Asker::Agent("agent")).unwrap();
            artifact.verify().unwrap();
            assert_eq!(artifact.line_count(), 20_000);
        }
        for folder in ["new", "gone"] {
            assert_eq!(fs::read_dir(home.state.join("artifacts").join(folder)).unwrap().count(), 0);
        }
        let used = fs::read_to_string(home.state.join("artifacts/used")).unwrap();
        let listed = artifacts.list(Asker::Person).unwrap();
        let sum: u64 = listed.iter().map(|one| one.bytes).sum();
        assert!(used.starts_with(&format!("{sum:020} {:010} ", listed.len())), "{used} {sum}");
    }
    let artifacts = Artifacts::open(&home, Artifacts::BYTES_MAX_DEFAULT).unwrap();
    assert!(!artifacts.list(Asker::Person).unwrap().is_empty(), "no writer ever finished one");
}

#[test]
fn several_processes_share_one_limit() {
    let scratch = Scratch::new();
    let home = home(&scratch);
    let mut children: Vec<_> = (0..4).map(|_| start("fill the store", &scratch)).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let artifacts = Artifacts::open(&home, SHARED_BYTES_MAX).unwrap();
    let counted: u64 = artifacts.list(Asker::Person).unwrap().iter().map(|one| one.bytes).sum();
    let on_disk = kept_bytes(&home);
    assert!(on_disk <= counted && counted <= SHARED_BYTES_MAX, "{on_disk} {counted}");
    // And it was used, but for less than an empty artifact.
    assert!(counted > SHARED_BYTES_MAX - 8192, "{counted}");
}
