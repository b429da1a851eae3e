//! Installing a filter program.

use std::os::fd::{FromRawFd as _, OwnedFd};

use rustix::io::Errno;

use super::check;

/// One instruction of classic BPF.
pub(crate) type Instruction = libc::sock_filter;

/// Puts this thread, and all it will become, under the filter, for ever. Needs no-new-privileges.
pub(crate) fn install(program: &[Instruction]) -> Result<(), Errno> {
    load(program, 0).map(drop)
}

/// As [`install`], and returns the descriptor at which somebody decides about the calls that wait.
pub(crate) fn install_with_listener(program: &[Instruction]) -> Result<OwnedFd, Errno> {
    let listener = load(program, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)?;
    // SAFETY: with this flag the kernel made a new descriptor for us, which nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(i32::try_from(listener).map_err(|_| Errno::BADF)?) })
}

fn load(program: &[Instruction], flags: libc::c_ulong) -> Result<libc::c_long, Errno> {
    let length = u16::try_from(program.len()).map_err(|_| Errno::INVAL)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    // SAFETY: the kernel reads `len` instructions through the pointer during the call and writes none, so the cast to
    // a mutable pointer, which the structure asks for, is never used as one.
    check(unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    })
}
