//! The one mount call that rustix lacks.

use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

use rustix::io::Errno;

use super::check;

/// Attributes of a mount, and whose eyes it is seen through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MountAttributes<'n> {
    /// `MOUNT_ATTR_*` bits to set.
    pub(crate) set: u64,
    /// The propagation type (`MS_PRIVATE` …), or 0 to leave it.
    pub(crate) propagation: u64,
    /// The user namespace whose mapping the files are shown by.
    pub(crate) id_map: Option<BorrowedFd<'n>>,
    /// Whether the mounts below are changed too.
    pub(crate) recursive: bool,
}

/// Changes a mount by its descriptor.
pub(crate) fn set_attributes(mount: impl AsFd, attributes: MountAttributes<'_>) -> Result<(), Errno> {
    let MountAttributes { set, propagation, id_map, recursive } = attributes;
    let arguments = libc::mount_attr {
        attr_set: set | if id_map.is_some() { libc::MOUNT_ATTR_IDMAP } else { 0 },
        attr_clr: 0,
        propagation,
        userns_fd: id_map.map_or(0, |namespace| u64::try_from(namespace.as_raw_fd()).unwrap_or(u64::MAX)),
    };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty C string, so the descriptor itself is meant; the structure lives until the call
    // returns and its size is passed.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const arguments,
            size_of::<libc::mount_attr>(),
        )
    })
    .map(drop)
}
