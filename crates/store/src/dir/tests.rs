use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

use fumehood_testkit::{Opens, Scratch, is_root};

use super::*;

fn open(scratch: &Scratch) -> Dir {
    Dir::open(scratch.path()).unwrap()
}

fn names(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| std::str::from_utf8(&entry.name).unwrap()).collect()
}

// CHK-072, CHK-090, CHK-130: a name is opened as what it is; a link is refused and its target not touched.
#[test]
fn links_are_not_followed_by_name() {
    let scratch = Scratch::new();
    let file = scratch.file("file", "bytes");
    scratch.folder("folder");
    scratch.link("to-file", "file");
    scratch.link("to-folder", "folder");
    let dir = open(&scratch);

    let opens = Opens::of(&file);
    assert_eq!(dir.open_file(b"to-file").unwrap_err(), OpenError::Kind(Kind::Link));
    assert_eq!(opens.count(), 0);
    // The kernel says of a link only that it is no folder.
    assert_eq!(dir.open_dir(b"to-folder").unwrap_err(), OpenError::Kind(Kind::File));
    assert_eq!(dir.open_file(b"gone").unwrap_err(), OpenError::Missing);
    assert_eq!(dir.open_dir(b"gone").unwrap_err(), OpenError::Missing);
    assert_eq!(dir.open_file(b"folder").unwrap_err(), OpenError::Kind(Kind::Directory));
    assert_eq!(dir.open_dir(b"file").unwrap_err(), OpenError::Kind(Kind::File));

    assert_eq!(dir.open_file(b"file").unwrap().read(0, 99).unwrap(), b"bytes");
    assert_eq!(opens.count(), 1);
    assert!(dir.open_dir(b"folder").is_ok());
    assert_eq!(dir.kind_of(b"to-file"), Ok(Kind::Link));
}

fn resolved(dir: &Dir, path: &str) -> Result<Kind, OpenError> {
    dir.resolve(path.as_bytes()).map(|resolved| match resolved {
        Resolved::File(_) => Kind::File,
        Resolved::Dir(_) => Kind::Directory,
    })
}

// CHK-072, CHK-132: what leads out is refused; the twin beside it that stays inside is followed.
#[test]
fn resolving_stays_inside() {
    let outside = Scratch::new();
    let secret = outside.file("secret", "secret");
    let inside = outside.folder("inside");
    outside.file("inside/a/file", "");
    outside.folder("inside/b");
    let link = |name: &str, target: &str| outside.link(format!("inside/{name}"), target);
    let twins = [
        ("up", "a/../a/file", "../secret"),
        ("absolute", "./a/file", secret.to_str().unwrap()),
        ("absolute-to-inside", "a//file", inside.join("a/file").to_str().unwrap()),
        ("out-and-back", "b/../a/file", "../inside/a/file"),
        ("root", "a/file", "/"),
        ("deep-up", "b/../b/../a/file", "a/../../secret"),
    ]
    .map(|(name, good, bad)| (name.to_owned(), good.to_owned(), bad.to_owned()));
    let dir = Dir::open(&inside).unwrap();
    let opens = Opens::of(&secret);
    for (name, good, bad) in &twins {
        link(&format!("{name}-good"), good);
        link(&format!("{name}-bad"), bad);
        // And each once more behind a second link.
        link(&format!("{name}-good-chain"), &format!("{name}-good"));
        link(&format!("{name}-bad-chain"), &format!("{name}-bad"));
        for chain in ["", "-chain"] {
            assert_eq!(resolved(&dir, &format!("{name}-good{chain}")), Ok(Kind::File), "{good}");
            assert_eq!(resolved(&dir, &format!("{name}-bad{chain}")), Err(OpenError::Escapes), "{bad}");
        }
    }
    link("folder", "b");
    link("b/back", "../a");
    assert_eq!(resolved(&dir, "folder"), Ok(Kind::Directory));
    assert_eq!(resolved(&dir, "folder/back/file"), Ok(Kind::File));
    assert_eq!(resolved(&dir, "../secret"), Err(OpenError::Escapes));
    assert_eq!(resolved(&dir, secret.to_str().unwrap()), Err(OpenError::Escapes));
    assert_eq!(opens.count(), 0);
}

#[test]
fn loops_and_dead_ends_end() {
    let scratch = Scratch::new();
    scratch.file("chain0", "");
    for step in 1..=41 {
        scratch.link(format!("chain{step}"), format!("chain{}", step - 1));
    }
    scratch.link("self", "self");
    scratch.link("ping", "pong");
    scratch.link("pong", "ping");
    scratch.link("nothing", "gone");
    scratch.link("through", "chain0/x");
    let dir = open(&scratch);
    assert_eq!(resolved(&dir, "chain40"), Ok(Kind::File));
    assert_eq!(resolved(&dir, "chain41"), Err(OpenError::Escapes));
    assert_eq!(resolved(&dir, "self"), Err(OpenError::Escapes));
    assert_eq!(resolved(&dir, "ping"), Err(OpenError::Escapes));
    assert_eq!(resolved(&dir, "nothing"), Err(OpenError::Missing));
    assert_eq!(resolved(&dir, "through"), Err(OpenError::Missing));
    assert_eq!(resolved(&dir, "gone"), Err(OpenError::Missing));
}

// The links of /proc lead to open files and folders wherever those are, and no `..` gives them away.
#[test]
fn magic_links_are_not_followed() {
    let process = Dir::open(Path::new("/proc/self")).unwrap();
    for magic in ["cwd", "root", "exe", "fd/0", "cwd/x"] {
        assert_eq!(resolved(&process, magic), Err(OpenError::Escapes), "{magic}");
    }
    assert_eq!(resolved(&process, "status"), Ok(Kind::File));
    assert_eq!(resolved(&process, "fd"), Ok(Kind::Directory));

    let scratch = Scratch::new();
    let held = fs::File::open(scratch.file("file", "")).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&held);
    scratch.link("magic", format!("/proc/self/fd/{number}"));
    assert_eq!(resolved(&open(&scratch), "magic"), Err(OpenError::Escapes));
    assert_eq!(resolved(&open(&scratch), "file"), Ok(Kind::File));
}

// CHK-090, CHK-130: the count of opens is the proof, since an open that is closed again leaves nothing else to see.
#[test]
fn special_files_are_not_opened_by_resolving() {
    let scratch = Scratch::new();
    scratch.fifo("fifo");
    scratch.socket("socket");
    let mut special = vec!["fifo", "socket"];
    if is_root() {
        let mode = rustix::fs::Mode::from_raw_mode(0o666);
        let null = rustix::fs::makedev(1, 3);
        let result =
            rustix::fs::mknodat(rustix::fs::CWD, scratch.at("device"), FileType::CharacterDevice, mode, null);
        // A root without the power to make devices has the other two.
        if result.is_ok() {
            special.push("device");
        }
    }
    let dir = open(&scratch);
    for name in special {
        scratch.link(format!("to-{name}"), name);
        let opens = Opens::of(&scratch.at(name));
        assert_eq!(dir.kind_of(name.as_bytes()), Ok(Kind::Special), "{name}");
        assert_eq!(resolved(&dir, name), Err(OpenError::Kind(Kind::Special)), "{name}");
        assert_eq!(resolved(&dir, &format!("to-{name}")), Err(OpenError::Kind(Kind::Special)), "{name}");
        assert_eq!(opens.count(), 0, "{name}");
        // Behind the back of whoever looked first: it does not block, and what was opened is not used.
        assert_eq!(dir.open_file(name.as_bytes()).unwrap_err(), OpenError::Kind(Kind::Special), "{name}");
        // The control of the count. A socket cannot be opened at all.
        assert_eq!(opens.count(), usize::from(name != "socket"), "{name}");
    }
    scratch.link("null", "/dev/null");
    let opens = Opens::of(Path::new("/dev/null"));
    assert_eq!(resolved(&dir, "null"), Err(OpenError::Escapes));
    // Others open it all the time, so only the answer counts here.
    drop(opens);
}

// CHK-055, CHK-148: never more than asked for, whatever the file says its size is.
#[test]
fn reading_is_bounded() {
    let scratch = Scratch::new();
    scratch.file("ten", "0123456789");
    let dir = open(&scratch);
    let read = |offset, bytes_max| {
        let bytes = dir.open_file(b"ten").unwrap().read(offset, bytes_max).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let cases: [(u64, usize, &str); 10] = [
        (0, 0, ""),
        (0, 9, "012345678"),
        (0, 10, "0123456789"),
        (0, 11, "0123456789"),
        (0, usize::MAX, "0123456789"),
        (3, 4, "3456"),
        (9, 1, "9"),
        (10, 1, ""),
        (11, 1, ""),
        (i64::MAX as u64, usize::MAX, ""),
    ];
    for (offset, bytes_max, expected) in cases {
        assert_eq!(read(offset, bytes_max), expected, "{offset} {bytes_max}");
    }
}

#[test]
fn a_file_that_grows_is_read_to_the_bound() {
    let scratch = Scratch::new();
    let path = scratch.file("log", "ab");
    let file = open(&scratch).open_file(b"log").unwrap();
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(&[b'c'; 9_998]).unwrap();
    assert_eq!(file.stat.size, 2);
    assert_eq!(file.read(0, 9_999).unwrap().len(), 9_999);
    assert_eq!(file.read(0, 10_000).unwrap().len(), 10_000);
    assert_eq!(file.read(0, 20_000).unwrap().len(), 10_000);
    assert_ne!(file.stat_again().unwrap(), file.stat);
}

#[test]
fn a_file_without_a_size_is_read_to_the_bound() {
    let file = Dir::open(Path::new("/proc/self")).unwrap().open_file(b"status").unwrap();
    assert_eq!(file.stat.size, 0);
    let whole = file.read(0, 1 << 20).unwrap();
    assert!(whole.len() > 100);
    assert_eq!(file.read(0, 100).unwrap(), whole[..100]);
}

// CHK-150: the bytes themselves are compared, since file times are too coarse on some systems to tell two writes apart.
#[test]
fn a_second_reading_compares_every_byte() {
    let scratch = Scratch::new();
    let dir = open(&scratch);
    for size in [0, 1, COMPARED_BYTES - 1, COMPARED_BYTES, COMPARED_BYTES + 1, 3 * COMPARED_BYTES] {
        let bytes = vec![b'x'; size];
        scratch.file("file", &bytes);
        let holds = |other: &[u8]| dir.open_file(b"file").unwrap().holds(other).unwrap();
        assert!(holds(&bytes), "{size}");
        assert!(!holds(&[&bytes[..], b"x"].concat()), "{size}");
        if size > 0 {
            assert!(!holds(&bytes[1..]), "{size}");
            for place in [0, size / 2, size - 1] {
                let mut other = bytes.clone();
                other[place] = b'y';
                assert!(!holds(&other), "{size} {place}");
            }
        }
    }
}

// A sparse file of 1 TiB costs what is asked for.
#[test]
fn a_huge_file_is_read_to_the_bound() {
    let scratch = Scratch::new();
    scratch.sparse("huge", 1 << 40);
    let file = open(&scratch).open_file(b"huge").unwrap();
    assert_eq!(file.read(0, 4097).unwrap().len(), 4097);
    assert_eq!(file.read((1 << 40) - 3, 4097).unwrap().len(), 3);
}

#[test]
fn listings_are_sorted_and_bounded() {
    let scratch = Scratch::new();
    for name in ["b", "a", "d", "c", "B"] {
        scratch.file(name, "");
    }
    scratch.folder("folder");
    scratch.link("link", "gone");
    scratch.fifo("pipe");
    let dir = open(&scratch);
    let (entries, more) = dir.entries(8).unwrap();
    assert_eq!((names(&entries), more), (vec!["B", "a", "b", "c", "d", "folder", "link", "pipe"], false));
    let kinds: Vec<_> = entries[4..].iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [Kind::File, Kind::Directory, Kind::Link, Kind::Special]);
    let (entries, more) = dir.entries(7).unwrap();
    assert_eq!((entries.len(), more), (7, true));
    assert_eq!(Dir::open(&scratch.folder("empty")).unwrap().entries(0).unwrap(), (vec![], false));
}

// A handle remembers how far a listing came; a second one that went on from there would find nothing.
#[test]
fn a_handle_can_be_listed_again_and_by_many_at_once() {
    let scratch = Scratch::for_many();
    for number in 0..1000 {
        scratch.file(format!("a-rather-long-name-so-that-one-buffer-does-not-do-{number}"), "");
    }
    let dir = open(&scratch);
    let first = dir.entries(ENTRIES_MAX).unwrap();
    assert_eq!(first.0.len(), 1000);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..50).for_each(|_| assert_eq!(dir.entries(ENTRIES_MAX).unwrap(), first)));
        }
    });
}

// The kernel gives up on a `..` when anything is renamed anywhere meanwhile. A busy machine is no reason to refuse.
#[test]
fn renames_elsewhere_do_not_disturb() {
    let scratch = Scratch::new();
    scratch.file("skill/a/file", "");
    scratch.folder("skill/b");
    scratch.link("skill/b/link", "../a/../b/../a/file");
    let (one, two) = (scratch.file("one", ""), scratch.at("two"));
    let dir = Dir::open(&scratch.at("skill")).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                fs::rename(&one, &two).unwrap();
                fs::rename(&two, &one).unwrap();
            }
        });
        let bad = (0..20_000).find_map(|_| resolved(&dir, "b/link").err());
        stop.store(true, Ordering::Relaxed);
        assert_eq!(bad, None);
    });
}

#[test]
fn names_that_are_no_text_come_back_as_they_are() {
    let scratch = Scratch::new();
    let name = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    scratch.file(name, "");
    let (entries, _) = open(&scratch).entries(9).unwrap();
    assert_eq!(entries[0].name, b"\xff\xfe");
    assert!(open(&scratch).open_file(b"\xff\xfe").is_ok());
}
