//! Installing a filter program.

use rustix::io::Errno;

use super::check;

/// One instruction of classic BPF.
pub(crate) type Instruction = libc::sock_filter;

/// Puts this thread, and all it will become, under the filter, for ever. Needs no-new-privileges.
pub(crate) fn install(program: &[Instruction]) -> Result<(), Errno> {
    let length = u16::try_from(program.len()).map_err(|_| Errno::INVAL)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    // SAFETY: the kernel reads `len` instructions through the pointer during the call and writes none, so the cast to
    // a mutable pointer, which the structure asks for, is never used as one.
    check(unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0u32, &raw const program)
    })
    .map(drop)
}
