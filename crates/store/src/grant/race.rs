//! Everything on the way is swapped while paths are resolved.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use fumehood_testkit::Scratch as Folder;
use rustix::fs::{CWD, RenameFlags};

use super::*;
use crate::home::Home;

/// Swaps the names of each pair without end while `act` runs.
fn while_swapping(pairs: &[[PathBuf; 2]], act: impl FnOnce()) {
    let swapping = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let _end = End(&swapping);
        scope.spawn(|| {
            while swapping.load(Ordering::Relaxed) {
                for [a, b] in pairs {
                    rustix::fs::renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
                }
            }
        });
        act();
    });
}

/// Ends the swapping also when a test fails.
struct End<'s>(&'s AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Tries until both ends of the race were seen often.
fn tries(mut one: impl FnMut() -> bool) {
    let (mut granted, mut refused) = (0, 0);
    for _ in 0..TRIES_MAX {
        if granted >= OFTEN && refused >= OFTEN {
            return;
        }
        if one() { granted += 1 } else { refused += 1 }
    }
    panic!("granted {granted} times and refused {refused} times: there was no race");
}

const OFTEN: u32 = 100;
const TRIES_MAX: u32 = 2_000_000;

fn read(grant: &ReadGrant) -> Vec<u8> {
    grant.file.read(0, 100).unwrap()
}

struct World {
    folder: Folder,
    forbidden: Forbidden,
    work: PathBuf,
}

fn world() -> World {
    let folder = Folder::new();
    folder.file("work/folder/file", "inside");
    folder.file("other/file", "secret");
    folder.file("state/file", "secret");
    folder.link("work/link-out", folder.at("other"));
    folder.link("work/link-to-secret", "../other/file");
    folder.link("work/link-to-state", "../state/file");
    folder.file("work/file", "inside");
    folder.file("work/third", "inside");
    folder.fifo("work/fifo");
    let forbidden = Forbidden::of(&Home { state: folder.at("state"), config: folder.at("config") });
    let work = folder.at("work");
    World { folder, forbidden, work }
}

// EXE-48, EXE-49
#[test]
fn a_swap_never_leads_out_of_the_workspace() {
    let World { folder, forbidden, work } = world();
    let workspace = Workspace::open(&work, &forbidden).unwrap();
    let rules = PathRules { base: &work, beneath: Some(&workspace), forbidden: &forbidden, unlocked: &[] };
    let pairs = [["folder", "link-out"], ["file", "link-to-secret"]];
    let pairs = pairs.map(|pair| pair.map(|name| work.join(name)));
    let absolute = folder.at("work/folder/file");
    while_swapping(&pairs, || {
        for value in ["folder/file", absolute.to_str().unwrap(), "file"] {
            tries(|| {
                let granted = rules.read(value);
                if let Ok(grant) = &granted {
                    assert_eq!(read(grant), b"inside");
                    assert!(Path::new(grant.path()).starts_with(&work));
                }
                granted.is_ok()
            });
        }
        let secret = fs::metadata(folder.at("other")).unwrap().ino();
        tries(|| {
            let granted = rules.create("folder/new").map(|grant| grant.target);
            if let Ok(target) = &granted {
                assert_ne!(target.folder.identity().unwrap().inode(), secret);
            }
            granted.is_ok()
        });
        tries(|| {
            let granted = rules.write("folder/file").map(|grant| grant.target);
            if let Ok(target) = &granted {
                assert_ne!(target.folder.identity().unwrap().inode(), secret);
                let there = target.folder.open_file(b"file").unwrap();
                assert_eq!(there.read(0, 100).unwrap(), b"inside");
                assert_eq!(Some(there.stat), target.original);
            }
            granted.is_ok()
        });
    });
    assert_eq!(fs::read(folder.at("other/file")).unwrap(), b"secret");
}

#[test]
fn a_swap_never_leads_to_what_is_forbidden_and_never_waits() {
    let World { folder: _folder, forbidden, work } = world();
    let rules = PathRules { base: &work, beneath: None, forbidden: &forbidden, unlocked: &[] };
    let pairs = [["file", "link-to-state"], ["third", "fifo"]];
    let pairs = pairs.map(|pair| pair.map(|name| work.join(name)));
    while_swapping(&pairs, || {
        for value in ["file", "third"] {
            tries(|| {
                let granted = rules.read(value);
                granted.is_ok_and(|grant| {
                    assert_eq!(read(&grant), b"inside");
                    true
                })
            });
        }
    });
}
