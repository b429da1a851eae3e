//! Removing a tree that somebody hostile filled: of any depth and width, with any modes, never through a link.
//!
//! No more than three folders are open at once and nothing is held for each level: a folder that is not empty gives its
//! folders to the top of the tree, so that nothing ever lies deeper than two. Nothing but folders is opened.

use std::os::fd::{AsFd, AsRawFd as _};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use crate::dir::{DIRECTORY, Dir, Entry, Kind};

/// Removes what is called `name` in a folder, and all below. What is not there is removed already.
///
/// Other file systems that are mounted in the tree are not entered; `EXDEV` or `EBUSY` then. Nobody else may be working
/// in the tree.
///
/// # Errors
/// `E2BIG` once `entries_left` is used up, from which each entry that is looked at takes one; the rest is still there.
pub(crate) fn tree(parent: impl AsFd, name: &str, entries_left: &mut u64) -> Result<(), Errno> {
    let mut top = match enter(&parent, name.as_bytes()) {
        Err(Errno::NOENT) => return Ok(()),
        Err(Errno::NOTDIR | Errno::LOOP) => return rustix::fs::unlinkat(parent, name, AtFlags::empty()),
        entered => Top { dir: entered?, names: 0, left: entries_left },
    };
    while let Some(entries) = some_of(&top.dir)? {
        entries.iter().try_for_each(|entry| top.remove(entry))?;
    }
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// The top of the tree, where everything is brought.
struct Top<'l> {
    dir: Dir,
    /// How many names were given to folders that were brought here.
    names: u64,
    /// How many entries may still be removed.
    left: &'l mut u64,
}

impl Top<'_> {
    fn remove(&mut self, entry: &Entry) -> Result<(), Errno> {
        self.count()?;
        if remove_alone(&self.dir, entry)? {
            return Ok(());
        }
        let folder = enter(&self.dir, &entry.name)?;
        while let Some(entries) = some_of(&folder)? {
            for below in entries {
                self.count()?;
                if !remove_alone(&folder, &below)? {
                    self.bring(&folder, &below)?;
                }
            }
        }
        rustix::fs::unlinkat(&self.dir, entry.name.as_slice(), AtFlags::REMOVEDIR)
    }

    fn count(&mut self) -> Result<(), Errno> {
        *self.left = self.left.checked_sub(1).ok_or(Errno::TOOBIG)?;
        Ok(())
    }

    /// Moves a folder to the top, under a name that is free there.
    fn bring(&mut self, from: &Dir, entry: &Entry) -> Result<(), Errno> {
        // A folder that is moved must be one that can be written, since it notes its parent.
        enter(from, &entry.name)?;
        loop {
            let name = self.names.to_string();
            self.names += 1;
            let free = RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(from, entry.name.as_slice(), &self.dir, name, free) {
                Err(Errno::EXIST) => {}
                renamed => return renamed,
            }
        }
    }
}

/// Removes an entry unless it is a folder with something in it; whether it is gone.
fn remove_alone(dir: &Dir, Entry { name, kind }: &Entry) -> Result<bool, Errno> {
    let flags = if *kind == Kind::Directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    match rustix::fs::unlinkat(dir, name.as_slice(), flags) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Opens a folder, after making it one that its owner can list and change.
fn enter(at: impl AsFd, name: &[u8]) -> Result<Dir, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let here = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let look = rustix::fs::openat2(at, name, flags, Mode::empty(), here)?;
    let mode = rustix::fs::fstat(&look)?.st_mode;
    if !FileType::from_raw_mode(mode).is_dir() {
        return Err(Errno::NOTDIR);
    }
    if Mode::from_raw_mode(mode) & Mode::RWXU != Mode::RWXU {
        // By this way it is the folder just looked at, whatever has its name by now.
        rustix::fs::chmod(format!("/proc/self/fd/{}", look.as_raw_fd()), Mode::RWXU)?;
    }
    Ok(Dir::of(rustix::fs::openat(&look, c".", DIRECTORY, Mode::empty())?))
}

/// Some of the entries, until there are none.
fn some_of(dir: &Dir) -> Result<Option<Vec<Entry>>, Errno> {
    let (entries, _) = dir.entries(ENTRIES_AT_ONCE)?;
    Ok((!entries.is_empty()).then_some(entries))
}

const ENTRIES_AT_ONCE: usize = 4096;

#[cfg(test)]
mod tests;
