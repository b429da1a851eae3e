//! Attacks where nothing hides the host: what is granted is granted where it is.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::launcher::UNUSED_ID;

/// A folder in which something can be granted at its own path. The sandbox has its own `/tmp` at other levels, so
/// profiles grant nothing there.
pub(crate) fn folder() -> PathBuf {
    let usual = std::env::temp_dir();
    if is_reserved(&usual) { PathBuf::from("/var/tmp") } else { usual }
}

/// Whether everybody may run the system's programs there without a grant.
pub(crate) fn is_of_the_system(path: &Path) -> bool {
    ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32"].iter().any(|place| path.starts_with(place))
}

/// Whether it is a place of the sandbox's own, and none of the system's programs.
pub(crate) fn is_reserved(path: &Path) -> bool {
    ["/tmp", "/dev", "/proc", "/sys", "/etc"].iter().any(|place| path.starts_with(place))
}

/// Whether somebody who owns nothing can read it.
pub(crate) fn is_open(path: &Path) -> bool {
    let has = |path: &Path, bits: u32| std::fs::metadata(path).is_ok_and(|file| file.mode() & bits == bits);
    has(path, 0o005) && path.ancestors().skip(1).all(|folder| has(folder, 0o001))
}

/// As the user that children are.
pub(crate) fn run_as_a_child_would(command: &mut Command) {
    if rustix::process::geteuid().is_root() {
        command.uid(UNUSED_ID).gid(UNUSED_ID);
    }
}

/// Gives a file, or a folder and all in it, to the user that children of a root host are: what they cannot do with it is then not for want
/// of owning it.
pub(crate) fn give_away(path: &Path) -> io::Result<()> {
    if std::fs::symlink_metadata(path)?.is_dir() {
        for entry in std::fs::read_dir(path)? {
            give_away(&entry?.path())?;
        }
    }
    std::os::unix::fs::lchown(path, Some(UNUSED_ID), Some(UNUSED_ID))
}
