//! Mounts by descriptor, so that no path is looked up twice.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount, open_tree, unmount,
};

use crate::sys::mount::{MountAttributes, set_attributes};
use crate::wire::Step;

/// A step and why it failed.
pub(crate) type Failure = (Step, Errno);

/// What holds for every mount of the host's files.
pub(crate) const NEVER: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
pub(crate) const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
pub(crate) const NO_DEVICES: MountAttrFlags =
    MountAttrFlags::MOUNT_ATTR_NODEV.union(MountAttrFlags::MOUNT_ATTR_NOSUID);
/// For what a child can write: it cannot run it.
pub(crate) const DATA: MountAttrFlags = NO_DEVICES.union(MountAttrFlags::MOUNT_ATTR_NOEXEC);

/// Changes attributes of a mount; `recursive` also of those below.
pub(crate) fn set(mount: impl AsFd, attributes: u64, recursive: bool) -> Result<(), Errno> {
    set_attributes(mount, MountAttributes { set: attributes, propagation: 0, id_map: None, recursive })
}

/// Changes attributes of a mount and of those below, and cuts them off from the mounts that they are copies of: what is
/// mounted there later would show here, with attributes of its own.
pub(crate) fn set_alone(mount: impl AsFd, attributes: u64) -> Result<(), Errno> {
    let (propagation, recursive) = (libc::MS_PRIVATE, true);
    set_attributes(mount, MountAttributes { set: attributes, propagation, id_map: None, recursive })
}

/// Keeps what is mounted below from showing elsewhere, and the other way round.
pub(crate) fn make_private(path: &str) -> Result<(), Errno> {
    let place = rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let attributes = MountAttributes { set: 0, propagation: libc::MS_PRIVATE, id_map: None, recursive: true };
    set_attributes(&place, attributes)
}

/// A new file system in memory, attached nowhere.
pub(crate) fn tmpfs(bytes: u64, files: u64, mode: &str, flags: MountAttrFlags) -> Result<OwnedFd, Errno> {
    let (bytes, files) = (bytes.to_string(), files.to_string());
    filesystem("tmpfs", &[("size", &bytes), ("nr_inodes", &files), ("mode", mode)], flags)
}

/// A new file system with these options, attached nowhere. An option without a value is a flag.
pub(crate) fn filesystem(
    kind: &str,
    options: &[(&str, &str)],
    flags: MountAttrFlags,
) -> Result<OwnedFd, Errno> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        if value.is_empty() {
            fsconfig_set_flag(&context, *name)?;
        } else {
            fsconfig_set_string(&context, *name, *value)?;
        }
    }
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)
}

/// A copy of the mount that an open file lies in, rooted at the file, with all that is mounted below it.
pub(crate) fn copy_of(file: impl AsFd) -> Result<OwnedFd, Errno> {
    open_tree(file, c"", COPY | OpenTreeFlags::AT_EMPTY_PATH)
}

/// Attaches a mount at a place that is there already.
pub(crate) fn attach(mount: impl AsFd, to: impl AsFd, path: impl AsRef<Path>) -> Result<(), Errno> {
    move_mount(mount, c"", to, path.as_ref(), MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Shows a file or folder at a place that is there already.
pub(crate) fn bind(root: &OwnedFd, source: &str, target: &str, attributes: u64) -> Result<(), Errno> {
    let mount = open_tree(CWD, source, COPY)?;
    set(&mount, attributes, true)?;
    attach(&mount, root, target)
}

/// Makes an attached mount the root of everything and lets go of what was there before.
pub(crate) fn pivot(root: &OwnedFd) -> Result<(), Errno> {
    rustix::process::fchdir(root)?;
    rustix::process::pivot_root(c".", c".")?;
    // The old root now lies over the new one.
    unmount(c".", UnmountFlags::DETACH)?;
    rustix::process::chdir(c"/")
}

pub(crate) fn directory(root: &OwnedFd, name: impl rustix::path::Arg) -> Result<(), Errno> {
    rustix::fs::mkdirat(root, name, Mode::from_raw_mode(0o755))
}

pub(crate) fn file(root: &OwnedFd, name: impl rustix::path::Arg, content: &[u8]) -> Result<(), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(root, name, flags, Mode::from_raw_mode(0o644))?;
    let mut rest = content;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = &rest[written..];
    }
    Ok(())
}

const COPY: OpenTreeFlags =
    OpenTreeFlags::OPEN_TREE_CLONE.union(OpenTreeFlags::OPEN_TREE_CLOEXEC).union(OpenTreeFlags::AT_RECURSIVE);
