//! Capture against a writer that never stops.
//!
//! The writer numbers its rounds. In round `g` it brings every file, in a fixed order, from generation `g - 1` to `g`,
//! each in one step that readers see whole. So a state that was on disk has one number in its first files and the
//! number before it in the rest, and any other combination was never there.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fumehood_store::{CaptureError, DiskFolder, Folder as _, Snapshot};
use fumehood_testkit::Scratch;

/// In the order in which the writer goes through them; not that of their names.
const FILES: [&str; 6] = ["m.txt", "SKILL.md", "sub/z.txt", "a.txt", "sub/deep/b.txt", "z.txt"];
const ROUNDS_MIN: usize = 3_000;
const TIME_MAX: Duration = Duration::from_secs(20);

/// Of one length for every generation, so that no size gives a change away.
fn content(generation: u64) -> String {
    format!("{generation:020}\n").repeat(8)
}

/// Rewrites a file where it is: same inode, one `write`.
fn in_place(path: &Path, generation: u64) {
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all(content(generation).as_bytes()).unwrap();
}

/// Puts another file in its place.
fn by_rename(path: &Path, generation: u64, spare: &Path) {
    fs::write(spare, content(generation)).unwrap();
    fs::rename(spare, path).unwrap();
}

/// What was wrong with a snapshot, if anything.
fn mix(snapshot: &Snapshot) -> Option<String> {
    let mut generations = Vec::new();
    for file in FILES {
        let path = fumehood_core::RelPath::parse(file).unwrap();
        let text = std::str::from_utf8(snapshot.get(&path)?.bytes()).unwrap();
        let generation: u64 = text.lines().next()?.parse().unwrap();
        if text != content(generation) {
            return Some(format!("{file} is torn: {text}"));
        }
        generations.push(generation);
    }
    let falls = generations.windows(2).all(|pair| pair[0] >= pair[1]);
    let span = generations[0].abs_diff(generations[FILES.len() - 1]);
    if falls && span <= 1 && snapshot.files().len() == FILES.len() {
        return None;
    }
    Some(format!("{generations:?} of {} files", snapshot.files().len()))
}

#[derive(Debug, Default)]
struct Counts {
    captures: usize,
    refusals: usize,
    mixes: Vec<String>,
}

fn race(scratch: &Scratch, write: impl Fn(&Path, u64, &Path) + Sync) -> Counts {
    let paths: Vec<PathBuf> =
        FILES.iter().map(|file| scratch.file(format!("skill/{file}"), content(0))).collect();
    let spare = scratch.at("spare");
    let stop = AtomicBool::new(false);
    let mut counts = Counts::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for generation in 1.. {
                for path in &paths {
                    write(path, generation, &spare);
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                }
                // Long enough that a capture can fall between two rounds, not so long that each one does.
                std::thread::sleep(Duration::from_micros(generation % 5 * 50));
            }
        });
        let started = Instant::now();
        let folder = DiskFolder::open(&scratch.at("skill")).unwrap();
        let enough = |counts: &Counts| {
            let rounds = counts.captures + counts.refusals;
            rounds >= ROUNDS_MIN && counts.captures > 0 && counts.refusals > 0
        };
        while !enough(&counts) && started.elapsed() < TIME_MAX {
            match folder.capture() {
                Ok(snapshot) => {
                    counts.captures += 1;
                    counts.mixes.extend(mix(&snapshot));
                }
                Err(CaptureError::Changed) => counts.refusals += 1,
                Err(error) => counts.mixes.push(format!("refused for another reason: {error}")),
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    counts
}

fn judge(name: &str, counts: &Counts) {
    let Counts { captures, refusals, mixes } = counts;
    let rounds = captures + refusals;
    println!("{name}: {rounds} rounds, {captures} captures, {refusals} refusals, {} mixes", mixes.len());
    assert!(mixes.is_empty(), "{name}: {:?}", &mixes[..mixes.len().min(5)]);
    assert!(*captures > 0 && *refusals > 0, "{name}: {captures} captures, {refusals} refusals");
    assert!(rounds >= ROUNDS_MIN, "{name}: only {rounds} rounds in {TIME_MAX:?}");
}

// CHK-132, CHK-150: old bytes, new bytes or a refusal, never a mix.
#[test]
fn a_snapshot_is_a_state_that_was_on_disk() {
    let memory = Scratch::for_many;
    judge("in place", &race(&memory(), |path, generation, _| in_place(path, generation)));
    judge("by rename", &race(&memory(), by_rename));
    let both = |path: &Path, generation: u64, spare: &Path| match generation % 2 {
        0 => in_place(path, generation),
        _ => by_rename(path, generation, spare),
    };
    judge("both", &race(&memory(), both));
    judge("both, on disk", &race(&Scratch::new(), both));
}

// The check of the check: what a careless reader takes home is a mix often enough to be seen.
#[test]
fn a_mix_would_be_recognised() {
    let files = |generations: [u64; 6]| {
        let scratch = Scratch::new();
        for (file, generation) in FILES.iter().zip(generations) {
            scratch.file(format!("skill/{file}"), content(generation));
        }
        DiskFolder::open(&scratch.at("skill")).unwrap().capture().unwrap()
    };
    for good in [[5; 6], [6, 5, 5, 5, 5, 5], [6, 6, 6, 6, 6, 5]] {
        assert_eq!(mix(&files(good)), None);
    }
    for bad in
        [[5, 6, 5, 5, 5, 5], [6, 6, 5, 6, 5, 5], [7, 6, 6, 5, 5, 5], [5, 5, 5, 5, 5, 6], [7, 5, 5, 5, 5, 5]]
    {
        assert!(mix(&files(bad)).is_some(), "{bad:?}");
    }
}
