//! Installing a filter program.

use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};

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

/// Waits for a call that waits, and has it return `value`.
pub(crate) fn answer_one(listener: impl AsFd, value: i64) -> Result<(), Errno> {
    let listener = listener.as_fd().as_raw_fd();
    // SAFETY: a notification is plain integers, for which zero is a value; the kernel asks for zeroes.
    let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes as many bytes as the request's number says, which is the size of this live value, and
    // only for a listener; any other descriptor is refused.
    let received = unsafe { libc::ioctl(listener, NOTIFICATION_RECEIVE, &raw mut call) };
    check(received.into())?;
    let answer = libc::seccomp_notif_resp { id: call.id, val: value, error: 0, flags: 0 };
    // SAFETY: the kernel reads as many bytes as the request's number says, which is the size of this live value.
    check(unsafe { libc::ioctl(listener, NOTIFICATION_SEND, &raw const answer) }.into()).map(drop)
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

/// Both have the sizes of their structures in them, 80 and 24 bytes.
const NOTIFICATION_RECEIVE: libc::Ioctl = 0xc050_2100_u32 as libc::Ioctl;
const NOTIFICATION_SEND: libc::Ioctl = 0xc018_2101_u32 as libc::Ioctl;
const _: () = assert!(size_of::<libc::seccomp_notif>() == 80 && size_of::<libc::seccomp_notif_resp>() == 24);
