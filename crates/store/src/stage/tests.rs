use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;

use fumehood_core::RelPath;
use fumehood_testkit::Scratch as Folder;

use super::*;
use crate::{Folder as _, MemoryFolder};

fn home(folder: &Folder) -> Home {
    Home { config: folder.at("config"), state: folder.at("state") }
}

fn snapshot() -> Snapshot {
    let files = [
        ("SKILL.md", "---\nname: s\ndescription: d\n---\n"),
        ("a.b", "beside a/b"),
        ("a/b/c", ""),
        ("a/b/d", "d"),
        ("a/x", "x"),
        ("a0", "after a/"),
        ("scripts/run.py", "print(1)\n"),
    ];
    let files = files.map(|(path, bytes)| (RelPath::parse(path).unwrap(), bytes.as_bytes().to_vec()));
    MemoryFolder::new("s", files).capture().unwrap()
}

/// The folders of runs that are there.
fn there(folder: &Folder) -> Vec<String> {
    let names = fs::read_dir(folder.at("state/staging")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "lock").collect()
}

// CHK-020, EXE-49
#[test]
fn a_snapshot_is_laid_out_read_only_in_a_private_place() {
    let folder = Folder::new();
    let staging = Staging::open(&home(&folder)).unwrap();
    let [one, two] = [(); 2].map(|()| staging.lay_out(&snapshot()).unwrap());
    assert_ne!(one.path(), two.path());
    assert!(one.path().starts_with(folder.at("state/staging")), "{:?}", one.path());
    assert_eq!(one.path().canonicalize().unwrap(), one.path());
    for (path, file) in snapshot().files() {
        let there = one.path().join(path.as_str());
        assert_eq!(fs::read(&there).unwrap(), file.bytes(), "{path}");
        assert_eq!(fs::metadata(&there).unwrap().mode() & 0o7777, 0o400, "{path}");
        for above in there.ancestors().skip(1).take_while(|above| *above != folder.path()) {
            assert_eq!(fs::metadata(above).unwrap().mode() & 0o7777, 0o700, "{above:?}");
        }
    }
    for staged in [one, two] {
        assert_eq!(staged.verify().unwrap().revision(), snapshot().revision());
        staged.remove().unwrap();
    }
    assert_eq!(there(&folder), [""; 0]);
}

// CHK-092, CHK-131, CHK-134: the listed files and no others are on the disk, and the revision stands for all of the skill.
#[test]
fn listed_files_are_laid_out_alone() {
    type Tamper = fn(&Path);
    let folder = Folder::new();
    let staging = Staging::open(&home(&folder)).unwrap();
    let listed = ["scripts/run.py", "a/b/d"].map(|path| RelPath::parse(path).unwrap());
    let lay = || staging.lay_out_listed(&snapshot(), &listed).unwrap();
    let staged = lay();
    let names = |at: &str| {
        let names = fs::read_dir(staged.path().join(at)).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!((names(""), names("a"), names("a/b"), names("scripts")), {
        let names = |names: &[&str]| names.iter().map(Into::into).collect::<Vec<_>>();
        (names(&["a", "scripts"]), names(&["b"]), names(&["d"]), names(&["run.py"]))
    });
    assert_eq!(staged.verify().unwrap().revision(), snapshot().revision());
    staged.remove().unwrap();

    let refused: [(&str, Tamper); 4] = [
        ("a changed byte", |at| rewrite(&at.join("a/b/d"), "e")),
        ("a missing file", |at| fs::remove_file(at.join("a/b/d")).unwrap()),
        ("a file of the skill's that is not listed", |at| fs::write(at.join("a/b/c"), "").unwrap()),
        ("a folder that holds no listed file", |at| fs::create_dir(at.join("node_modules")).unwrap()),
    ];
    for (what, tamper) in refused {
        let staged = lay();
        tamper(staged.path());
        let error = staged.verify().unwrap_err();
        assert!(matches!(error, StageError::Tampered(_)), "{what}: {error:?}");
    }
    // What was not captured is not laid out.
    let other = [RelPath::parse("other.mjs").unwrap()];
    assert!(matches!(staging.lay_out_listed(&snapshot(), &other), Err(StageError::Tampered(_))));
    assert_eq!(there(&folder), [""; 0]);
}

// CHK-020
#[test]
fn what_is_dropped_is_removed() {
    let folder = Folder::new();
    let staging = Staging::open(&home(&folder)).unwrap();
    let (staged, scratch) = (staging.lay_out(&snapshot()).unwrap(), staging.scratch().unwrap());
    assert_eq!(there(&folder).len(), 2);
    drop((staged, scratch, staging));
    assert_eq!(there(&folder), [""; 0]);
}

// X-28, CHK-023
#[test]
fn what_was_tampered_with_is_refused() {
    type Tamper = fn(&Path);
    let refused: [(&str, Tamper); 16] = [
        ("a changed byte", |at| rewrite(&at.join("a/b/d"), "e")),
        ("a longer file", |at| rewrite(&at.join("a/b/d"), "dd")),
        ("an emptied file", |at| rewrite(&at.join("a/b/d"), "")),
        ("one more file", |at| fs::write(at.join("a/b/e"), "").unwrap()),
        ("one more file at the top", |at| fs::write(at.join("sitecustomize.py"), "").unwrap()),
        ("one more file with a name that is no text", |at| {
            fs::write(at.join(std::ffi::OsStr::from_bytes(b"\xff")), "").unwrap();
        }),
        ("an empty folder", |at| fs::create_dir(at.join("scripts/__pycache__")).unwrap()),
        ("a missing file", |at| fs::remove_file(at.join("a/b/c")).unwrap()),
        ("a missing folder", |at| fs::remove_dir_all(at.join("scripts")).unwrap()),
        ("a renamed file", |at| fs::rename(at.join("a/x"), at.join("a/y")).unwrap()),
        ("a link to the same bytes", |at| {
            fs::rename(at.join("a/x"), at.join("../x")).unwrap();
            std::os::unix::fs::symlink("../../x", at.join("a/x")).unwrap();
        }),
        ("a folder that is a link to the same files", |at| {
            fs::rename(at.join("a"), at.join("../a")).unwrap();
            std::os::unix::fs::symlink("../a", at.join("a")).unwrap();
        }),
        ("a file with another name", |at| fs::hard_link(at.join("a/x"), at.join("../x")).unwrap()),
        ("a FIFO", |at| {
            fs::remove_file(at.join("a/x")).unwrap();
            rustix::fs::mkfifoat(rustix::fs::CWD, at.join("a/x"), rustix::fs::Mode::RUSR).unwrap();
        }),
        ("a folder for a file", |at| {
            fs::remove_file(at.join("a/x")).unwrap();
            fs::create_dir(at.join("a/x")).unwrap();
        }),
        ("the whole folder, replaced by a copy", |at| {
            fs::rename(at, at.with_file_name("moved")).unwrap();
            copy(&at.with_file_name("moved"), at);
        }),
    ];
    let folder = Folder::new();
    let staging = Staging::open(&home(&folder)).unwrap();
    for (what, tamper) in refused {
        let staged = staging.lay_out(&snapshot()).unwrap();
        staged.verify().unwrap();
        tamper(staged.path());
        let error = staged.verify().unwrap_err();
        assert_eq!(error.code(), Code::WorkspaceFailed, "{what}");
        assert!(matches!(error, StageError::Tampered(_)), "{what}: {error:?}");
        staged.remove().unwrap();
    }
    assert_eq!(there(&folder), [""; 0]);
}

fn rewrite(path: &Path, text: &str) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(path, text).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

// The twin: bytes and names are what counts.
#[test]
fn other_files_with_the_same_bytes_are_the_same() {
    let folder = Folder::new();
    let staging = Staging::open(&home(&folder)).unwrap();
    let staged = staging.lay_out(&snapshot()).unwrap();
    let file = staged.path().join("a/x");
    fs::remove_file(&file).unwrap();
    fs::write(&file, "x").unwrap();
    assert_eq!(staged.verify().unwrap().revision(), snapshot().revision());
}

// CHK-020: the path that the sandbox opens has no link in it.
#[test]
fn a_state_folder_behind_a_link_is_named_by_its_own_path() {
    let folder = Folder::new();
    folder.folder("real");
    folder.mode("real", 0o700);
    folder.link("state", "real");
    let staging = Staging::open(&home(&folder)).unwrap();
    let staged = staging.lay_out(&snapshot()).unwrap();
    assert!(staged.path().starts_with(folder.at("real")));
    assert_eq!(staged.verify().unwrap().revision(), snapshot().revision());
}

#[test]
fn a_place_that_others_can_enter_is_refused() {
    let folder = Folder::new();
    drop(Staging::open(&home(&folder)).unwrap());
    folder.mode("state/staging", 0o755);
    let error = Staging::open(&home(&folder)).unwrap_err();
    assert_eq!(error.code(), Code::WorkspaceFailed, "{error}");
    folder.mode("state/staging", 0o700);
    folder.mode("state", 0o755);
    assert_eq!(Staging::open(&home(&folder)).unwrap_err().code(), Code::HomeRefused);
    folder.mode("state", 0o700);
    Staging::open(&home(&folder)).unwrap();
}

#[test]
fn a_link_in_place_of_the_staging_folder_is_refused() {
    let folder = Folder::new();
    folder.folder("elsewhere");
    folder.mode("elsewhere", 0o700);
    folder.folder("state");
    folder.mode("state", 0o700);
    folder.link("state/staging", folder.at("elsewhere"));
    assert_eq!(Staging::open(&home(&folder)).unwrap_err().code(), Code::WorkspaceFailed);
    assert_eq!(fs::read_dir(folder.at("elsewhere")).unwrap().count(), 0);
}

// CHK-021: by marker; what is none of ours a person put there.
#[test]
fn only_what_has_a_name_of_ours_is_swept() {
    let folder = Folder::new();
    drop(Staging::open(&home(&folder)).unwrap());
    let staging = folder.at("state/staging");
    let ours = |digit: &str| format!("stage_{}", digit.repeat(32));
    let kept = ["notes", "stage_", &ours("A"), &ours("a")[..37]];
    for name in kept {
        fs::create_dir(staging.join(name)).unwrap();
    }
    fs::write(staging.join(ours("1")), "a file").unwrap();
    std::os::unix::fs::symlink(folder.path(), staging.join(ours("2"))).unwrap();
    fs::create_dir_all(staging.join(ours("3")).join("content/deep")).unwrap();
    fs::create_dir(staging.join(ours("4"))).unwrap();
    fs::create_dir(staging.join(ours("5"))).unwrap();
    fs::set_permissions(staging.join(ours("3")), fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(staging.join(ours("4")), fs::Permissions::from_mode(0o0)).unwrap();
    let opened = Staging::open(&home(&folder)).unwrap();
    assert_eq!(opened.unswept(), 0);
    let mut left = there(&folder);
    left.sort();
    let mut expected = kept.map(str::to_owned);
    expected.sort();
    assert_eq!(left, expected);
}

// EXE-41
#[test]
fn a_second_look_of_the_same_process_keeps_what_is_in_use() {
    let folder = Folder::new();
    let staging = Staging::open(&home(&folder)).unwrap();
    let staged = staging.lay_out(&snapshot()).unwrap();
    let scratch = staging.scratch().unwrap();
    drop(Staging::open(&home(&folder)).unwrap());
    staged.verify().unwrap();
    assert!(scratch.path().is_dir());
}

// EXE-41, EXE-66
#[test]
fn a_scratch_folder_goes_whatever_is_in_it() {
    let folder = Folder::new();
    let staging = Staging::open(&home(&folder)).unwrap();
    let scratch = staging.scratch().unwrap();
    let path: PathBuf = scratch.path().to_owned();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o700);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    assert_eq!(path.canonicalize().unwrap(), path);
    fs::create_dir_all(path.join("work/work")).unwrap();
    std::os::unix::fs::symlink("/", path.join("root")).unwrap();
    for closed in ["work/work", "work", ""] {
        fs::set_permissions(path.join(closed), fs::Permissions::from_mode(0o0)).unwrap();
    }
    assert!(fumehood_testkit::without_privilege(|| {
        let readable = scratch.open_again().unwrap().entries(10).unwrap();
        readable.0.len() == 2
    }));
    fumehood_testkit::without_privilege(|| scratch.remove()).unwrap();
    assert_eq!(there(&folder), [""; 0]);
}
