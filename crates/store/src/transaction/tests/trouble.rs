//! A disk that fails, and records that are not what was written.

use std::cell::Cell;

use rustix::io::Errno;

use super::*;

/// Applies the busy run; step `at` and, if `for_good`, all after it fail. `None` when there are fewer steps.
fn failing(desk: &Desk, at: usize, errno: Errno, until: usize) -> Option<Result<(), TransactionError>> {
    busy_workspace(desk.scratch.path());
    let baseline = desk.baseline();
    busy_run(desk.scratch.path());
    let changes = desk.overlay(baseline).unwrap();
    let step = Cell::new(0);
    let before = |_: &str| {
        let now = step.replace(step.get() + 1);
        if (at..until).contains(&now) { Err(errno) } else { Ok(()) }
    };
    let result = desk.transactions().apply_watched(&changes, receipt(1), &|| false, &before);
    (step.get() > at).then(|| result.map(|committed| assert!(committed.acknowledge().is_ok())))
}

// EXE-66. Disk full while applying: at every step, by a step that fails as it would.
#[test]
fn a_disk_that_is_full_at_any_step_leaves_the_folder_as_it_was_or_complete() {
    let mut failures = 0;
    for at in 0.. {
        let desk = Desk::in_memory();
        let Some(result) = failing(&desk, at, Errno::NOSPC, at + 1) else { break };
        match result {
            Ok(()) => {
                // If removing the originals failed, the next start does that, and has nothing to say.
                desk.no_trace();
                assert_eq!(desk.ws(), files(&BUSY_AFTER), "step {at}");
            }
            Err(error) => {
                failures += 1;
                assert_eq!(error.code(), Code::WorkspaceFailed, "step {at}: {error}");
                // What could not even be cleaned up is cleaned up at the next start.
                for recovered in desk.transactions().recover().unwrap() {
                    assert_eq!(recovered.outcome, Outcome::Undone(Vec::new()));
                    recovered.acknowledge().unwrap();
                }
                assert_eq!(desk.ws(), files(&BUSY_BEFORE), "step {at}");
                desk.no_trace();
            }
        }
    }
    assert!(failures > 60, "{failures}");
}

#[test]
fn a_disk_that_fails_for_good_is_undone_at_the_next_start() {
    for at in 0.. {
        let desk = Desk::in_memory();
        let Some(result) = failing(&desk, at, Errno::IO, usize::MAX) else { break };
        for recovered in desk.transactions().recover().unwrap() {
            assert_eq!(recovered.outcome, Outcome::Undone(Vec::new()), "step {at}");
            recovered.acknowledge().unwrap();
        }
        let expected = if result.is_ok() { files(&BUSY_AFTER) } else { files(&BUSY_BEFORE) };
        assert_eq!(desk.ws(), expected, "step {at}");
        desk.no_trace();
    }
}

/// What the kernel leaves of a run, where the test may mount an overlay. Elsewhere, and of an overlay of the sandbox, the
/// tests beside show the same by a form that is made by hand.
#[test]
fn the_kernels_own_overlay_is_understood() {
    let desk = Desk::in_memory();
    busy_workspace(desk.scratch.path());
    let baseline = desk.baseline();
    for folder in ["work", "merged"] {
        desk.scratch.folder(folder);
    }
    let at = |name: &str| desk.scratch.at(name).display().to_string();
    let layers = format!("lowerdir={},upperdir={},workdir={}", at("ws"), at("changes"), at("work"));
    let options = format!("{layers},userxattr,redirect_dir=nofollow,metacopy=off,index=off");
    let merged = desk.scratch.at("merged");
    let Some(mounted) = mounted(&["-t", "overlay", "-o", &options, "overlay"], &merged) else { return };
    for gone in ["keep/removed.txt", "was-file"] {
        fs::remove_file(merged.join(gone)).unwrap();
    }
    for gone in ["old", "was-folder", "replaced"] {
        fs::remove_dir_all(merged.join(gone)).unwrap();
    }
    fs::write(merged.join("was-folder"), "a file now").unwrap();
    for folder in ["was-file", "replaced", "fresh/deep"] {
        fs::create_dir_all(merged.join(folder)).unwrap();
    }
    for (file, text) in BUSY_AFTER {
        // As many editors do.
        fs::write(merged.join("temporary"), text).unwrap();
        fs::rename(merged.join("temporary"), merged.join(file)).unwrap();
    }
    drop(mounted);
    desk.apply(&desk.overlay(baseline).unwrap()).unwrap();
    assert_eq!(desk.ws(), files(&BUSY_AFTER));
}

/// A file system of its own, small enough to fill.
#[test]
fn a_small_file_system_that_is_full_is_left_as_it_was() {
    let Some((small, _mounted, _folder)) = small_file_system() else { return };
    let scratch = Scratch::new();
    let ws = small.join("ws");
    fs::create_dir(&ws).unwrap();
    fs::write(ws.join("a"), vec![b'1'; 100 << 10]).unwrap();
    fs::write(ws.join("b"), "old").unwrap();
    let before = tree(&ws);
    let baseline = Baseline::of(&place(&ws), &[], ChangeLimits::default()).unwrap();
    scratch.file("changes/b", "new");
    scratch.file("changes/a", vec![b'2'; 2 << 20]);
    let changes = open(&scratch.at("changes"));
    let changes = Changes::of_overlay(baseline, changes, ChangeLimits::default()).unwrap();
    let transactions = Transactions::open(&home(scratch.path())).unwrap();
    let error = transactions.apply(&changes, receipt(1), &|| false).unwrap_err();
    assert_eq!(error.code(), Code::WorkspaceFailed);
    assert!(error.to_string().contains("no storage space"), "{error}");
    assert_eq!(tree(&ws), before);
    assert!(transactions.recover().unwrap().is_empty());
}

/// A tmpfs of one MiB if the test may mount one; elsewhere the test above has shown the same at every step.
fn small_file_system() -> Option<(PathBuf, Mounted, tempfile::TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let mounted = mounted(&["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs"], &path)?;
    Some((path, mounted, folder))
}

/// Mounts, if the test may.
fn mounted(arguments: &[&str], place: &Path) -> Option<Mounted> {
    let mut mount = std::process::Command::new("mount");
    let status = mount.args(arguments).arg(place).stderr(std::process::Stdio::null()).status();
    status.is_ok_and(|status| status.success()).then(|| Mounted(place.to_owned()))
}

/// Unmounted when dropped.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
        assert!(unmounted.unwrap().success());
    }
}

/// Leaves a transaction that was committed and not acknowledged, and returns its record's folder.
fn left_record(desk: &Desk) -> PathBuf {
    busy_workspace(desk.scratch.path());
    let baseline = desk.baseline();
    busy_run(desk.scratch.path());
    let changes = desk.overlay(baseline).unwrap();
    drop(desk.transactions().apply(&changes, receipt(1), &|| false).unwrap());
    desk.scratch.at(format!("state/transactions/open/{}", receipt(1)))
}

/// Something done to a record, and what it is then.
type Damage = (fn(&str) -> String, Outcome);

#[test]
fn a_record_that_is_damaged_or_foreign_is_reported_and_not_guessed_at() {
    let damage: [Damage; 8] = [
        (|text| text.replace("transaction 1", "transaction 2"), Outcome::OtherVersion),
        (|text| text.replace("top.txt", "t0p.txt"), Outcome::Damaged),
        (|text| text[..text.len() - 1].to_owned(), Outcome::Damaged),
        (|text| text[..text.len() / 2].to_owned(), Outcome::Damaged),
        (|text| format!("{text}\n"), Outcome::Damaged),
        (|text| text.to_uppercase(), Outcome::Damaged),
        (|_| String::new(), Outcome::Damaged),
        (|text| text.lines().rev().collect::<Vec<_>>().join("\n"), Outcome::Damaged),
    ];
    for (damage, outcome) in damage {
        let desk = Desk::new();
        let record = left_record(&desk);
        let plan = fs::read_to_string(record.join("plan")).unwrap();
        fs::write(record.join("plan"), damage(&plan)).unwrap();
        // Acknowledging does not make it go away: somebody must look.
        for _ in 0..2 {
            let [recovered] = <[_; 1]>::try_from(desk.transactions().recover().unwrap()).unwrap();
            assert_eq!(recovered.outcome, outcome);
            recovered.acknowledge().unwrap();
        }
        assert_eq!(desk.ws(), files(&BUSY_AFTER));
        fs::write(record.join("plan"), plan).unwrap();
        let [recovered] = <[_; 1]>::try_from(desk.transactions().recover().unwrap()).unwrap();
        assert!(matches!(recovered.outcome, Outcome::Applied(_)));
    }
}

#[test]
fn a_record_for_a_folder_that_moved_waits_for_it() {
    let desk = Desk::new();
    let record = left_record(&desk);
    fs::remove_file(record.join("outcome")).unwrap();
    fs::rename(desk.scratch.at("ws"), desk.scratch.at("elsewhere")).unwrap();
    desk.scratch.folder("ws");
    let [recovered] = <[_; 1]>::try_from(desk.transactions().recover().unwrap()).unwrap();
    let ws = desk.scratch.at("ws").to_str().unwrap().to_owned();
    assert_eq!(recovered.outcome, Outcome::Unreachable { path: ws });
    recovered.acknowledge().unwrap();
    assert_eq!(tree(&desk.scratch.at("elsewhere")), files(&BUSY_AFTER));
    assert_eq!(desk.ws(), Tree::new());
}

#[test]
fn another_disk_that_looks_alike_is_not_the_one() {
    let desk = Desk::new();
    let record = left_record(&desk);
    fs::remove_file(record.join("outcome")).unwrap();
    // Nothing of ours is in the folder, so there is nothing to undo in it.
    let ws = desk.scratch.at("ws").to_str().unwrap().to_owned();
    let [recovered] = <[_; 1]>::try_from(desk.transactions().recover().unwrap()).unwrap();
    assert_eq!(recovered.outcome, Outcome::Unreachable { path: ws });
    assert_eq!(desk.ws(), files(&BUSY_AFTER));
}

// After a restart of the machine, the same file system may have another number.
#[test]
fn a_file_system_with_another_number_is_found_by_what_we_left_in_it() {
    let desk = Desk::in_memory();
    busy_workspace(desk.scratch.path());
    let baseline = desk.baseline();
    busy_run(desk.scratch.path());
    let changes = desk.overlay(baseline).unwrap();
    let step = Cell::new(0);
    // From the middle of the moves on, nothing works any more.
    let before = |what: &str| {
        step.set(step.get() + usize::from(what == "exchange"));
        if step.get() == 0 { Ok(()) } else { Err(Errno::IO) }
    };
    let failed = desk.transactions().apply_watched(&changes, receipt(1), &|| false, &before);
    assert!(failed.is_err());
    assert_ne!(desk.ws(), files(&BUSY_BEFORE));
    let plan = desk.scratch.at(format!("state/transactions/open/{}/plan", receipt(1)));
    let text = fs::read_to_string(&plan).unwrap();
    let device = fs::metadata(desk.scratch.at("ws")).unwrap().dev();
    let other = text[..text.rfind("end\t").unwrap()].replace(&format!("{device}:"), "987654321:");
    let digest = fumehood_core::Sha256::of(other.as_bytes());
    let other = format!("{other}end\t{digest}\n");
    assert_ne!(other, text);
    fs::write(&plan, other).unwrap();
    let [recovered] = <[_; 1]>::try_from(desk.transactions().recover().unwrap()).unwrap();
    assert_eq!(recovered.outcome, Outcome::Undone(Vec::new()));
    assert_eq!(desk.ws(), files(&BUSY_BEFORE));
}

#[test]
fn what_lies_among_the_records_is_no_record() {
    let desk = Desk::new();
    desk.no_trace();
    let open = desk.scratch.at("state/transactions/open");
    // A folder without a word in it was left before anything was done.
    let empty = open.join(receipt(3).to_string());
    fs::create_dir(&empty).unwrap();
    fs::set_permissions(&empty, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(desk.transactions().recover().unwrap().is_empty());
    assert!(!empty.exists());
}
