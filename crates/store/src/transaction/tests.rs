//! A folder of a person, what a run wrote over it, and what becomes of both.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use fumehood_core::{Code, Coded as _, ReceiptId};
use fumehood_testkit::Scratch;
use rustix::fs::{FileType, Mode, XattrFlags};

use super::*;
use crate::home::Home;

mod apply;
mod collect;
mod kill;
mod outputs;
mod race;
mod trouble;

/// A workspace `ws`, the overlay `changes`, the outputs `out`, a place `outside`, and a home.
struct Desk {
    scratch: Scratch,
}

impl Desk {
    fn new() -> Self {
        Self::of(Scratch::new())
    }

    /// Where syncing takes no time, if marks of an overlay can be made there.
    fn in_memory() -> Self {
        let scratch = Scratch::for_many();
        let has_marks = rustix::fs::setxattr(scratch.path(), "user.test", b"", XattrFlags::empty()).is_ok();
        if has_marks { Self::of(scratch) } else { Self::new() }
    }

    fn of(scratch: Scratch) -> Self {
        Self::at(scratch.path());
        Self { scratch }
    }

    fn at(path: &Path) {
        for folder in ["ws", "changes", "out", "outside"] {
            fs::create_dir_all(path.join(folder)).unwrap();
        }
    }

    fn file(&self, path: &str, text: &str) -> PathBuf {
        self.scratch.file(path, text)
    }

    fn whiteout(&self, path: &str) {
        whiteout(&self.scratch.ready(path));
    }

    fn opaque(&self, path: &str) {
        opaque(&self.scratch.folder(path));
    }

    fn place(&self, path: &str) -> Place {
        place(&self.scratch.at(path))
    }

    fn baseline(&self) -> Baseline {
        Baseline::of(&self.place("ws"), &[], ChangeLimits::default()).unwrap()
    }

    fn overlay(&self, baseline: Baseline) -> Result<Changes, TransactionError> {
        Changes::of_overlay(baseline, open(&self.scratch.at("changes")), ChangeLimits::default())
    }

    fn transactions(&self) -> Transactions {
        Transactions::open(&self.home()).unwrap()
    }

    fn home(&self) -> Home {
        home(self.scratch.path())
    }

    fn apply(&self, changes: &Changes) -> Result<Vec<Applied>, TransactionError> {
        let committed = self.transactions().apply(changes, receipt(1), &|| false)?;
        let applied = committed.applied().to_vec();
        assert_eq!(committed.left(), []);
        committed.acknowledge().unwrap();
        Ok(applied)
    }

    /// Takes the baseline, lets the run write, and applies it.
    fn run(&self, write: impl FnOnce()) -> Result<Vec<Applied>, TransactionError> {
        let baseline = self.baseline();
        write();
        self.apply(&self.overlay(baseline)?)
    }

    /// What the run wrote is refused for just these, and nothing happened.
    fn refused(&self, write: impl FnOnce()) -> Vec<(String, RefusedReason)> {
        let baseline = self.baseline();
        let before = tree(&self.scratch.at("ws"));
        write();
        let error = self.overlay(baseline).and_then(|changes| self.apply(&changes)).unwrap_err();
        assert_eq!(tree(&self.scratch.at("ws")), before);
        self.no_trace();
        let prefix = format!("{}/", self.scratch.at("ws").display());
        let TransactionError::Refused { refused, more: 0 } = error else { panic!("{error}") };
        let short = |path: String| path.strip_prefix(&prefix).unwrap().to_owned();
        refused.into_iter().map(|refused| (short(refused.path), refused.reason)).collect()
    }

    /// No record is left, and nobody would recover anything.
    fn no_trace(&self) {
        assert!(self.transactions().recover().unwrap().is_empty());
        let open = self.scratch.at("state/transactions/open");
        assert_eq!(fs::read_dir(open).unwrap().count(), 0);
    }

    fn ws(&self) -> Tree {
        tree(&self.scratch.at("ws"))
    }
}

fn home(path: &Path) -> Home {
    Home { config: path.join("config"), state: path.join("state") }
}

fn place(path: &Path) -> Place {
    Place::of(open(path), path).unwrap()
}

fn open(path: &Path) -> fs::File {
    fs::File::open(path).unwrap()
}

fn receipt(number: u8) -> ReceiptId {
    ReceiptId::from_random([number; 16])
}

/// Removing a name in an overlay leaves this; the kernel lets everybody make one.
fn whiteout(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
}

/// Replacing a folder in an overlay leaves this.
fn opaque(path: &Path) {
    rustix::fs::setxattr(path, "user.overlay.opaque", b"y", XattrFlags::empty()).unwrap();
}

/// Something that a test does to a desk, and why it is refused.
type Refusal = (fn(&Desk), RefusedReason);

/// Paths with kind, mode and contents.
type Tree = BTreeMap<String, (char, u32, Vec<u8>)>;

fn tree(top: &Path) -> Tree {
    fn walk(top: &Path, here: &Path, all: &mut Tree) {
        for entry in fs::read_dir(here).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(top).unwrap().to_string_lossy().into_owned();
            let metadata = path.symlink_metadata().unwrap();
            let kind = metadata.file_type();
            let (kind, bytes) = match () {
                () if kind.is_dir() => ('d', Vec::new()),
                () if kind.is_file() => ('f', fs::read(&path).unwrap()),
                () if kind.is_symlink() => {
                    ('l', fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
                }
                () if kind.is_fifo() => ('p', Vec::new()),
                () => ('s', Vec::new()),
            };
            all.insert(name, (kind, metadata.permissions().mode() & 0o7777, bytes));
            if metadata.is_dir() {
                walk(top, &path, all);
            }
        }
    }
    let mut all = Tree::new();
    walk(top, top, &mut all);
    all
}

/// A tree with these files, all 0644, their folders 0755.
fn files(files: &[(&str, &str)]) -> Tree {
    let mut all = Tree::new();
    for (path, text) in files {
        for (end, _) in path.match_indices('/') {
            all.insert(path[..end].to_owned(), ('d', 0o755, Vec::new()));
        }
        if !path.ends_with('/') {
            all.insert((*path).to_owned(), ('f', 0o644, text.as_bytes().to_vec()));
        }
    }
    all
}

/// A workspace with some of everything, and a run that did some of everything to it. The same for every path.
fn busy_workspace(path: &Path) {
    Desk::at(path);
    for (file, text) in BUSY_BEFORE {
        let file = path.join("ws").join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
    }
}

fn busy_run(path: &Path) {
    let changes = path.join("changes");
    for (file, text) in [
        ("keep/edited.txt", "second"),
        ("keep/same.txt", "same"),
        ("fresh/deep/a.txt", "a"),
        ("fresh/b.txt", "b"),
        ("top.txt", "new top"),
        ("was-folder", "a file now"),
        ("was-file/inside.txt", "a folder now"),
        ("replaced/new.txt", "n"),
    ] {
        let file = changes.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
    }
    for gone in ["keep/removed.txt", "old"] {
        whiteout(&changes.join(gone));
    }
    opaque(&changes.join("replaced"));
}

const BUSY_BEFORE: [(&str, &str); 9] = [
    ("keep/edited.txt", "first"),
    ("keep/same.txt", "same"),
    ("keep/removed.txt", "removed"),
    ("keep/untouched.txt", "untouched"),
    ("old/tree/x.txt", "x"),
    ("old/y.txt", "y"),
    ("was-folder/z.txt", "z"),
    ("was-file", "w"),
    ("replaced/gone.txt", "g"),
];

const BUSY_AFTER: [(&str, &str); 9] = [
    ("keep/edited.txt", "second"),
    ("keep/same.txt", "same"),
    ("keep/untouched.txt", "untouched"),
    ("fresh/deep/a.txt", "a"),
    ("fresh/b.txt", "b"),
    ("top.txt", "new top"),
    ("was-folder", "a file now"),
    ("was-file/inside.txt", "a folder now"),
    ("replaced/new.txt", "n"),
];
