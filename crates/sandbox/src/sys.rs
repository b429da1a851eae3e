//! The only place with `unsafe`: system calls that have no safe wrapper elsewhere, one block for each call.
//!
//! Everything here is a thin, typed door to one call. What is done with it, and in which order, is decided outside.

pub(crate) mod attack;
pub(crate) mod exec;
pub(crate) mod landlock;
pub(crate) mod mount;
pub(crate) mod process;
pub(crate) mod seccomp;

use rustix::io::Errno;

/// A raw result as `Result`.
fn check(result: libc::c_long) -> Result<libc::c_long, Errno> {
    if result < 0 { Err(last_error()) } else { Ok(result) }
}

fn last_error() -> Errno {
    let code = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
    Errno::from_raw_os_error(code)
}
