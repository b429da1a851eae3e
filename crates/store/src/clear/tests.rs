use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use fumehood_testkit::{Opens, Scratch, is_root, without_privilege};
use rustix::fs::{CWD, FileType, Mode, OFlags};

use super::*;

fn clear(scratch: &Scratch, entries_left: u64) -> (Result<(), Errno>, u64) {
    let dir = Dir::open(scratch.path()).unwrap();
    let mut left = entries_left;
    let cleared = without_privilege(|| tree(&dir, "tree", &mut left));
    (cleared, left)
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

// EXE-41
#[test]
fn a_hostile_tree_goes_and_nothing_beside_it() {
    let scratch = Scratch::new();
    let beside = scratch.file("beside/kept", "kept");
    scratch.file("tree/a/b/c/file", "x");
    scratch.file("tree/a/locked/file", "x");
    scratch.file("tree/closed/below/file", "x");
    scratch.file("tree/0/1/2", "the names that the remover gives");
    scratch.file("tree/a/0/0/0", "x");
    scratch.fifo("tree/a/fifo");
    scratch.socket("tree/socket");
    scratch.link("tree/out", scratch.at("beside"));
    scratch.link("tree/a/file-out", &beside);
    scratch.link("tree/a/circle", "circle");
    for name in [b"\xff\xfe".as_slice(), b"new\nline", b"\x1b[2J"] {
        let name = std::ffi::OsStr::from_bytes(name);
        scratch.file(Path::new("tree/names").join(name), "x");
        fs::create_dir_all(scratch.at("tree/folders").join(name).join("deeper")).unwrap();
    }
    if is_root() {
        // What an overlay leaves of a removed name, and files of another user.
        let whiteout = scratch.at("tree/a/whiteout");
        rustix::fs::mknodat(CWD, &whiteout, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
        scratch.file("tree/others/folder/file", "x");
        for path in ["tree/others/folder/file", "tree/others/folder", "tree/others"] {
            std::os::unix::fs::chown(scratch.at(path), Some(65534), Some(65534)).unwrap();
        }
    }
    for (path, mode) in [
        ("tree/a/b/c/file", 0),
        ("tree/a/b/c", 0),
        ("tree/a/locked", 0o500),
        ("tree/closed/below", 0o2000),
        ("tree/closed", 0),
        ("tree", 0),
    ] {
        scratch.mode(path, mode);
    }
    let dir = Dir::open(scratch.path()).unwrap();
    // Files of another user need root's rights.
    assert_eq!(tree(&dir, "tree", &mut { u64::MAX }), Ok(()));
    assert!(!is_there(&scratch.at("tree")));
    assert_eq!(fs::read(&beside).unwrap(), b"kept");
    assert_eq!(tree(&dir, "tree", &mut { 0 }), Ok(()), "what is not there is removed already");
}

#[test]
fn modes_hold_up_nobody() {
    let scratch = Scratch::new();
    scratch.file("tree/a/b/c/file", "x");
    scratch.folder("tree/a/empty");
    for path in ["tree/a/b/c/file", "tree/a/b/c", "tree/a/b", "tree/a/empty", "tree/a", "tree"] {
        scratch.mode(path, 0);
    }
    assert_eq!(clear(&scratch, u64::MAX).0, Ok(()));
    assert!(!is_there(&scratch.at("tree")));
}

#[test]
fn depth_and_width_hold_up_nobody() {
    let scratch = Scratch::for_many();
    scratch.chain("tree", 20_000);
    let wide = scratch.folder("tree/wide");
    for number in 0..9000 {
        fs::create_dir(wide.join(number.to_string())).unwrap();
        fs::write(wide.join(format!("{number}/file")), "x").unwrap();
    }
    assert_eq!(clear(&scratch, u64::MAX).0, Ok(()));
    assert!(!is_there(&scratch.at("tree")));
}

#[test]
fn work_is_bounded_and_goes_on_where_it_ended() {
    let scratch = Scratch::new();
    for number in 0..50 {
        scratch.file(format!("tree/{number}/file"), "x");
    }
    assert_eq!(clear(&scratch, 30), (Err(Errno::TOOBIG), 0));
    assert!(is_there(&scratch.at("tree")));
    let (cleared, left) = clear(&scratch, 1000);
    assert_eq!(cleared, Ok(()));
    assert!(left > 800, "{left}");
}

#[test]
fn a_link_or_a_file_in_its_place_is_removed_as_such() {
    let scratch = Scratch::new();
    let kept = scratch.file("beside/kept", "kept");
    scratch.link("tree", scratch.at("beside"));
    assert_eq!(clear(&scratch, 1).0, Ok(()));
    scratch.file("tree", "x");
    assert_eq!(clear(&scratch, 1).0, Ok(()));
    assert!(kept.exists() && !is_there(&scratch.at("tree")));
}

// Nothing but folders is opened, or a device of the run's choice would be.
#[test]
fn no_file_is_opened() {
    let scratch = Scratch::new();
    let file = scratch.file("tree/a/file", "x");
    // Its other name keeps the file, and so what is watched.
    fs::hard_link(&file, scratch.at("other")).unwrap();
    let opens = Opens::of(&file);
    assert_eq!(clear(&scratch, 10).0, Ok(()));
    assert_eq!(opens.count(), 0);
    drop(rustix::fs::open(scratch.at("other"), OFlags::RDONLY, Mode::empty()).unwrap());
    assert_eq!(opens.count(), 1, "the positive control");
}
