//! Everything about a folder that somebody could notice.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Path below the folder, to what is there.
pub(crate) type Manifest = BTreeMap<Vec<u8>, Entry>;

/// One entry. Only times of access are left out: whoever looks changes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    mode: u32,
    owner: (u32, u32),
    inode: u64,
    links: u64,
    modified: (i64, i64),
    content: Vec<u8>,
}

/// All of a folder, itself included; links are not followed and FIFOs not opened.
pub(crate) fn manifest(folder: &Path) -> Manifest {
    let mut all = Manifest::new();
    add(folder, folder, &mut all);
    all
}

/// Where something was begun and taken back, that is all that the times of folders may tell.
pub(crate) fn without_times_of_folders(mut manifest: Manifest) -> Manifest {
    manifest.values_mut().filter(|entry| entry.is_folder()).for_each(|entry| entry.modified = (0, 0));
    manifest
}

impl Entry {
    fn is_folder(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }
}

fn add(top: &Path, path: &Path, all: &mut Manifest) {
    let meta = fs::symlink_metadata(path).unwrap();
    let content = match meta.file_type() {
        kind if kind.is_file() => fs::read(path).unwrap(),
        kind if kind.is_symlink() => fs::read_link(path).unwrap().as_os_str().as_bytes().to_vec(),
        _ => Vec::new(),
    };
    let entry = Entry {
        mode: meta.mode(),
        owner: (meta.uid(), meta.gid()),
        inode: meta.ino(),
        links: meta.nlink(),
        modified: (meta.mtime(), meta.mtime_nsec()),
        content,
    };
    all.insert(path.strip_prefix(top).unwrap().as_os_str().as_bytes().to_vec(), entry);
    if meta.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            add(top, &entry.unwrap().path(), all);
        }
    }
}
