//! Becoming another program.

use std::ffi::{CStr, c_char};

use rustix::io::Errno;

use super::last_error;

/// Replaces this process by the program at `path`. Returns only if that fails.
pub(crate) fn execve(path: &CStr, argv: &[&CStr], environment: &[&CStr]) -> Errno {
    let pointers = |strings: &[&CStr]| -> Vec<*const c_char> {
        strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (argv, environment) = (pointers(argv), pointers(environment));
    // SAFETY: both arrays end in a null pointer and their strings end in a null byte; all of them outlive the call,
    // which either replaces the process or returns with nothing changed.
    unsafe { libc::execve(path.as_ptr(), argv.as_ptr(), environment.as_ptr()) };
    last_error()
}
