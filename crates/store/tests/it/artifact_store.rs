//! The store of artifacts: what is kept, for whom, how much, and what is removed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fumehood_core::{Code, Coded as _, Sha256};
use fumehood_store::{
    ArtifactError, ArtifactId, ArtifactInfo, Artifacts, Asker, Bounds, Home, PruneRule, estimate_tokens,
};
use fumehood_testkit::{Scratch, is_root};

use crate::child::home;

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn store(scratch: &Scratch) -> Artifacts {
    Artifacts::open(&home(scratch), Artifacts::BYTES_MAX_DEFAULT).unwrap()
}

fn keep(artifacts: &Artifacts, seconds: u64, bytes: &[u8]) -> ArtifactInfo {
    let mut spool = artifacts.create("agent", "run", at(seconds)).unwrap();
    spool.write(bytes).unwrap();
    spool.finish().unwrap()
}

fn folder(scratch: &Scratch, id: ArtifactId) -> std::path::PathBuf {
    scratch.at(format!("state/artifacts/kept/{id}"))
}

fn ids(artifacts: &Artifacts) -> Vec<ArtifactId> {
    artifacts.list(Asker::Person).unwrap().into_iter().map(|one| one.id).collect()
}

#[test]
fn what_is_written_is_kept() {
    let scratch = Scratch::new();
    let artifacts = store(&scratch);
    for size in [0, 1, 65_535, 65_536, 65_537, 300_000] {
        let content: Vec<u8> =
            (0..size).map(|n: u32| n.wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect();
        for piece in [1000, 65_536, 1 << 20] {
            let mut spool = artifacts.create("agent", "run 7", at(9)).unwrap();
            content.chunks(piece).for_each(|piece| spool.write(piece).unwrap());
            assert_eq!(spool.bytes(), content.len() as u64);
            let id = spool.id();
            let info = spool.finish().unwrap();
            let artifact = artifacts.get(id, Asker::Agent("agent")).unwrap();
            assert_eq!(artifact.info(), &info);
            assert_eq!((info.id, info.agent.as_str(), info.run.as_str()), (id, "agent", "run 7"));
            assert_eq!((info.bytes, info.created), (content.len() as u64, at(9)));
            assert_eq!(info.sha256, Sha256::of(&content).to_string());
            assert_eq!(artifact.slice(0, Bounds::BYTES_MAX).unwrap().bytes, content);
            assert_eq!(artifact.estimate_tokens(), estimate_tokens(info.bytes));
            artifact.verify().unwrap();
        }
    }
}

#[test]
fn nothing_is_served_before_it_is_finished() {
    let scratch = Scratch::new();
    let artifacts = store(&scratch);
    let mut spool = artifacts.create("agent", "run", at(1)).unwrap();
    spool.write(&vec![b'x'; 200_000]).unwrap();
    let id = spool.id();
    assert_eq!(artifacts.get(id, Asker::Person).unwrap_err(), ArtifactError::Missing);
    // Another process that starts meanwhile leaves it alone.
    let other = store(&scratch);
    assert_eq!(ids(&other), []);
    spool.write(b"y").unwrap();
    assert_eq!(spool.finish().unwrap().bytes, 200_001);
    assert_eq!(ids(&other), [id]);

    let mut dropped = artifacts.create("agent", "run", at(2)).unwrap();
    dropped.write(&vec![b'x'; 200_000]).unwrap();
    drop(dropped);
    assert_eq!(ids(&artifacts), [id]);
    assert_eq!(fs::read_dir(scratch.at("state/artifacts/new")).unwrap().count(), 0);
}

#[test]
fn an_artifact_is_its_agents() {
    let scratch = Scratch::new();
    let artifacts = store(&scratch);
    let info = keep(&artifacts, 1, b"secret\n");
    assert!(artifacts.get(info.id, Asker::Agent("agent")).is_ok());
    assert!(artifacts.get(info.id, Asker::Person).is_ok());
    for other in ["", "Agent", "agent ", "other"] {
        let error = artifacts.get(info.id, Asker::Agent(other)).unwrap_err();
        assert_eq!((error.code(), error), (Code::ArtifactNotFound, ArtifactError::Missing));
        assert_eq!(artifacts.list(Asker::Agent(other)).unwrap(), []);
    }
    assert_eq!(artifacts.list(Asker::Agent("agent")).unwrap().len(), 1);
    // Nor does a damaged one tell another agent that it is there.
    fs::write(folder(&scratch, info.id).join("about.toml"), "agent = ").unwrap();
    assert_eq!(artifacts.get(info.id, Asker::Agent("agent")).unwrap_err(), ArtifactError::Missing);
    assert_eq!(artifacts.get(info.id, Asker::Person).unwrap_err().code(), Code::ArtifactDamaged);
}

#[test]
fn labels_have_a_length() {
    let scratch = Scratch::new();
    let artifacts = store(&scratch);
    let longest = "x".repeat(256);
    assert!(artifacts.create(&longest, &longest, at(1)).is_ok());
    for (agent, run) in [("", "run"), ("agent", ""), (&format!("{longest}x"), "run")] {
        assert_eq!(artifacts.create(agent, run, at(1)).unwrap_err().code(), Code::ArtifactRange);
    }
    // A label cannot write other fields of the description.
    let odd = "a\"\nlines = 5\n[x]";
    let mut spool = artifacts.create(odd, odd, at(1)).unwrap();
    spool.write(b"x").unwrap();
    let info = spool.finish().unwrap();
    assert_eq!(artifacts.get(info.id, Asker::Agent(odd)).unwrap().info(), &info);
}

#[test]
fn ids_differ_and_files_are_private() {
    let scratch = Scratch::new();
    let artifacts = store(&scratch);
    let kept: BTreeSet<_> = (0..100).map(|_| keep(&artifacts, 1, &vec![b'\n'; 70_000]).id).collect();
    assert_eq!(kept.len(), 100);
    let mut files = 0;
    let mut folders = vec![scratch.at("state")];
    while let Some(folder) = folders.pop() {
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o7777, 0o700, "{}", folder.display());
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                files += 1;
                assert_eq!(entry.metadata().unwrap().mode() & 0o7777, 0o600, "{}", entry.path().display());
            }
        }
    }
    assert_eq!(files, 302);
}

#[test]
fn the_limit_is_kept_to_the_byte() {
    let scratch = Scratch::new();
    // Room for one artifact of 100,000 bytes: with its description, and one part in 4096 for its index.
    let bytes_max = 8192 + 100_000 + 24;
    let artifacts = Artifacts::open(&home(&scratch), bytes_max).unwrap();
    let mut spool = artifacts.create("agent", "run", at(1)).unwrap();
    spool.write(&vec![b'x'; 100_000]).unwrap();
    let info = spool.finish().unwrap();
    assert_eq!(info.bytes, 100_000);
    let error = artifacts.create("agent", "run", at(2)).unwrap_err();
    assert_eq!(error.code(), Code::ArtifactStoreFull);
    assert!(error.to_string().contains("fumehood artifact prune"));

    let all = PruneRule { ids: vec![info.id], ..PruneRule::default() };
    artifacts.prune(&all, at(3), false).unwrap();
    let mut spool = artifacts.create("agent", "run", at(1)).unwrap();
    let written = spool.write(&vec![b'x'; 140_000]);
    assert_eq!(written.unwrap_err().code(), Code::ArtifactStoreFull);
    // Nothing behind a gap: once full, it stays so.
    assert!(spool.write(&vec![b'y'; 200_000]).is_err());
    let info = spool.finish().unwrap();
    assert_eq!(info.bytes, 100_000);
    artifacts.get(info.id, Asker::Person).unwrap().verify().unwrap();
}

#[test]
fn room_taken_ahead_is_given_back() {
    let scratch = Scratch::new();
    let artifacts = Artifacts::open(&home(&scratch), 100 << 20).unwrap();
    for _ in 0..20 {
        let mut spool = artifacts.create("agent", "run", at(1)).unwrap();
        spool.write(&vec![b'x'; 3 << 20]).unwrap();
        let other = artifacts.create("agent", "run", at(1)).unwrap();
        drop(other);
        spool.finish().unwrap();
    }
    // Of 100 MiB, 60 are taken; 39 more fit.
    let mut spool = artifacts.create("agent", "run", at(1)).unwrap();
    spool.write(&vec![b'x'; 39 << 20]).unwrap();
    assert_eq!(spool.finish().unwrap().bytes, 39 << 20);
}

#[test]
fn a_sum_that_is_missing_or_damaged_is_taken_anew() {
    let scratch = Scratch::new();
    let artifacts = store(&scratch);
    keep(&artifacts, 1, &vec![b'x'; 100_000]);
    let used = scratch.at("state/artifacts/used");
    let good = fs::read_to_string(&used).unwrap();
    for bad in [None, Some(""), Some("-1 5 x\n"), Some("00000000000000000000 0000000000 another-start\n")] {
        match bad {
            None => fs::remove_file(&used).unwrap(),
            Some(text) => fs::write(&used, text).unwrap(),
        }
        drop(artifacts.create("agent", "run", at(2)).unwrap());
        assert_eq!(fs::read_to_string(&used).unwrap()[..good.len()], good, "{bad:?}");
    }
}

#[test]
fn a_full_disk_is_said_and_leaves_nothing() {
    let scratch = Scratch::new();
    on_small_disk(&scratch, "4m", || {
        let artifacts = store(&scratch);
        let mut spool = artifacts.create("agent", "run", at(1)).unwrap();
        let error = spool.write(&vec![b'x'; 8 << 20]).unwrap_err();
        assert_eq!((error.code(), &error), (Code::ArtifactStoreFull, &ArtifactError::DiskFull));
        assert!(spool.write(&vec![b'x'; 1 << 20]).is_err());
        // The description does not fit either.
        assert_eq!(spool.finish().unwrap_err(), ArtifactError::DiskFull);
        assert_eq!(ids(&artifacts), []);
        assert_eq!(fs::read_dir(scratch.at("state/artifacts/new")).unwrap().count(), 0);
        assert_eq!(keep(&artifacts, 1, &vec![b'x'; 1 << 20]).bytes, 1 << 20);
    });
}

/// Runs a test whose state folder is a file system of this size; says so where that cannot be.
pub(crate) fn on_small_disk(scratch: &Scratch, size: &str, test: impl FnOnce()) {
    if !is_root() {
        println!("skipped: only root can mount a small file system");
        return;
    }
    let disk = scratch.folder("state");
    let run = |arguments: &[&str]| Command::new(arguments[0]).args(&arguments[1..]).arg(&disk).status();
    let options = format!("size={size},mode=700");
    if !run(&["mount", "-t", "tmpfs", "-o", &options, "tmpfs"]).is_ok_and(|status| status.success()) {
        println!("skipped: a small file system cannot be mounted here");
        return;
    }
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
    assert!(run(&["umount", "-l"]).unwrap().success());
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn pruning_takes_what_the_rule_says_and_a_dry_run_nothing() {
    let scratch = Scratch::new();
    let artifacts = store(&scratch);
    let kept: Vec<_> = (0..5).map(|n| keep(&artifacts, n * 100, &[b'x'; 1000]).id).collect();
    assert_eq!(ids(&artifacts), kept);
    let rules = [
        (PruneRule::default(), 0..0),
        (PruneRule { older_than: Some(Duration::from_mins(5)), ..PruneRule::default() }, 0..1),
        (PruneRule { older_than: Some(Duration::from_secs(299)), ..PruneRule::default() }, 0..2),
        (PruneRule { keep_bytes: Some(3 * 9192), ..PruneRule::default() }, 0..2),
        (PruneRule { keep_bytes: Some(3 * 9192 - 1), ..PruneRule::default() }, 0..3),
        (PruneRule { ids: kept[3..].to_vec(), ..PruneRule::default() }, 3..5),
    ];
    for (rule, expected) in &rules {
        let pruned = artifacts.prune(rule, at(400), true).unwrap();
        let removed: Vec<_> = pruned.removed.iter().map(|one| one.id).collect();
        assert_eq!(removed, kept[expected.clone()], "{rule:?}");
        assert_eq!((pruned.bytes, pruned.kept_bytes + pruned.bytes), (9192 * removed.len() as u64, 5 * 9192));
        assert_eq!(ids(&artifacts), kept);
    }
    // A clock that went back makes nothing old.
    let old = PruneRule { older_than: Some(Duration::ZERO), ..PruneRule::default() };
    assert_eq!(artifacts.prune(&old, at(0), true).unwrap().removed, []);

    let reader = artifacts.get(kept[0], Asker::Person).unwrap();
    let rule = PruneRule { ids: vec![kept[0], kept[4], kept[0]], ..rules[2].0.clone() };
    let dry = artifacts.prune(&rule, at(400), true).unwrap();
    assert_eq!(artifacts.prune(&rule, at(400), false).unwrap(), dry);
    assert_eq!(ids(&artifacts), kept[2..4]);
    assert_eq!(artifacts.prune(&rule, at(400), false).unwrap().missing, [kept[0], kept[4], kept[0]]);
    assert_eq!(reader.slice(0, 2000).unwrap().bytes, [b'x'; 1000]);
    assert_eq!(artifacts.get(kept[0], Asker::Person).unwrap_err(), ArtifactError::Missing);
}

#[test]
fn what_is_damaged_is_said_listed_and_can_be_pruned() {
    let scratch = Scratch::new();
    let artifacts = store(&scratch);
    let damage: &[fn(&Path)] = &[
        |folder| fs::remove_file(folder.join("about.toml")).unwrap(),
        |folder| fs::write(folder.join("about.toml"), "x".repeat(5000)).unwrap(),
        |folder| fs::write(folder.join("about.toml"), [0xff]).unwrap(),
        |folder| edit(folder, "bytes = 11", "bytes = 12"),
        |folder| edit(folder, "bytes = 11", "bytes = -1"),
        |folder| edit(folder, "lines = 1", "lines = 12"),
        |folder| edit(folder, "schema_version = 1", "schema_version = 2"),
        |folder| edit(folder, "sha256 = \"", "sha256 = \"\\u001b[2J"),
        |folder| edit(folder, "agent = \"agent\"", "agent = \"\""),
        |folder| edit(folder, "bytes = 11", "bytes = 11\nmore = 1"),
        |folder| fs::write(folder.join("content"), b"short").unwrap(),
        |folder| fs::remove_file(folder.join("content")).unwrap(),
        |folder| {
            fs::rename(folder.join("content"), folder.join("elsewhere")).unwrap();
            std::os::unix::fs::symlink("elsewhere", folder.join("content")).unwrap();
        },
        |folder| {
            fs::remove_file(folder.join("content")).unwrap();
            fs::create_dir(folder.join("content")).unwrap();
            fs::remove_dir(folder.join("content")).unwrap();
            make_fifo(&folder.join("content"));
        },
        |folder| {
            let real = folder.with_file_name("real");
            fs::rename(folder, &real).unwrap();
            std::os::unix::fs::symlink(&real, folder).unwrap();
        },
    ];
    for (number, damage) in damage.iter().enumerate() {
        let info = keep(&artifacts, 1, b"0123456789\n");
        damage(&folder(&scratch, info.id));
        let error = artifacts.get(info.id, Asker::Person).unwrap_err();
        assert!(
            matches!(error.code(), Code::ArtifactDamaged | Code::StateUnavailable),
            "{number}: {error:?}"
        );
        assert!(ids(&artifacts).contains(&info.id), "{number}");
        let rule = PruneRule { ids: vec![info.id], ..PruneRule::default() };
        artifacts.prune(&rule, at(2), false).unwrap();
        assert!(!ids(&artifacts).contains(&info.id), "{number}");
        let _ = fs::remove_dir_all(scratch.at("state/artifacts/kept/real"));
    }
    let info = keep(&artifacts, 1, b"0123456789\n");
    fs::write(folder(&scratch, info.id).join("content"), b"0123456780\n").unwrap();
    let artifact = artifacts.get(info.id, Asker::Person).unwrap();
    assert_eq!(artifact.verify().unwrap_err().code(), Code::ArtifactDamaged);
}

fn edit(folder: &Path, from: &str, to: &str) {
    let about = folder.join("about.toml");
    let text = fs::read_to_string(&about).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(about, text.replace(from, to)).unwrap();
}

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn an_index_that_is_missing_or_wrong_is_made_anew() {
    let scratch = Scratch::new();
    let artifacts = store(&scratch);
    let content = (1..=50_000).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
    let info = keep(&artifacts, 1, content.as_bytes());
    let index = folder(&scratch, info.id).join("index");
    let good = fs::read(&index).unwrap();
    let mut changed = good.clone();
    changed[60] ^= 1;
    let cut = good[..good.len() - 16].to_vec();
    let longer = [good.clone(), vec![0; 1 << 20]].concat();
    for bad in [None, Some(Vec::new()), Some(changed), Some(cut), Some(longer)] {
        match bad {
            None => fs::remove_file(&index).unwrap(),
            Some(bytes) => fs::write(&index, bytes).unwrap(),
        }
        let artifact = artifacts.get(info.id, Asker::Person).unwrap();
        let lines = artifact.cat(49_999, 1, Bounds::default()).unwrap().lines;
        assert_eq!(lines[0].bytes, b"line 49999");
        assert_eq!(fs::read(&index).unwrap(), good);
    }
}

#[test]
fn a_folder_that_others_may_enter_is_not_used() {
    let scratch = Scratch::new();
    drop(store(&scratch));
    for folder in ["state/artifacts/kept", "state/artifacts", "state"] {
        scratch.mode(folder, 0o750);
        let error = Artifacts::open(&home(&scratch), 1 << 20).unwrap_err();
        assert!(matches!(error.code(), Code::HomeRefused | Code::StateUnavailable), "{folder}: {error:?}");
        scratch.mode(folder, 0o700);
    }
    fs::remove_dir(scratch.at("state/artifacts/kept")).unwrap();
    scratch.folder("elsewhere");
    scratch.mode("elsewhere", 0o700);
    scratch.link("state/artifacts/kept", scratch.at("elsewhere"));
    assert!(
        Artifacts::open(&Home { config: scratch.at("config"), state: scratch.at("state") }, 1 << 20).is_err()
    );
}

#[test]
fn looking_makes_no_store() {
    let scratch = Scratch::new();
    let home = home(&scratch);
    let look = || Artifacts::open_if_any(&home, Artifacts::BYTES_MAX_DEFAULT);
    assert!(look().unwrap().is_none());
    assert!(!home.state.exists());
    home.make_state().unwrap();
    assert!(look().unwrap().is_none());
    assert_eq!(fs::read_dir(&home.state).unwrap().count(), 0);
    let info = keep(&store(&scratch), 1, b"x");
    assert_eq!(ids(&look().unwrap().unwrap()), [info.id]);
    scratch.mode("state/artifacts", 0o750);
    assert_eq!(look().unwrap_err().code(), Code::StateUnavailable);
}
