//! Landlock's three calls.

use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};

use rustix::io::Errno;
use rustix::process::Pid;

use super::check;

/// What a ruleset takes charge of; everything in it is denied unless a rule grants it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Handled {
    pub(crate) files: u64,
    pub(crate) network: u64,
    pub(crate) scopes: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// The newest version that the kernel knows.
pub(crate) fn abi() -> Result<u32, Errno> {
    // SAFETY: with this flag the call takes no structure and only answers a number.
    let version = check(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<Handled>(), 0usize, VERSION_FLAG)
    })?;
    Ok(u32::try_from(version).unwrap_or(0))
}

/// A new ruleset. `size` is the part of [`Handled`] that this kernel knows.
pub(crate) fn create(handled: Handled, size: usize) -> Result<OwnedFd, Errno> {
    let size = size.min(size_of::<Handled>());
    // SAFETY: the structure lives until the call returns and at least `size` bytes of it are initialised.
    let fd =
        check(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const handled, size, 0u32) })?;
    // SAFETY: the kernel made this descriptor for us; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(i32::try_from(fd).map_err(|_| Errno::BADF)?) })
}

/// Grants `allowed` on everything beneath `parent`.
pub(crate) fn add_path(ruleset: impl AsFd, parent: impl AsFd, allowed: u64) -> Result<(), Errno> {
    let rule = PathBeneath { allowed, parent: parent.as_fd().as_raw_fd() };
    // SAFETY: the rule lives until the call returns and has the layout of landlock_path_beneath_attr.
    check(unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_fd().as_raw_fd(),
            RULE_PATH_BENEATH,
            &raw const rule,
            0u32,
        )
    })
    .map(drop)
}

/// Puts this process and all it will become under the ruleset, for ever.
pub(crate) fn restrict_self(ruleset: impl AsFd) -> Result<(), Errno> {
    // SAFETY: the call takes a descriptor and an integer.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_fd().as_raw_fd(), 0u32) })
        .map(drop)
}

/// Proof that a signal to everybody reaches the processes of one run and nobody else.
///
/// There is no other way to get one than to enter such a domain, which nobody can leave, and to have seen that it took
/// somebody out of reach. It stays with the thread that entered.
pub(crate) struct SignalDomain {
    _of_this_thread: PhantomData<*const ()>,
}

impl SignalDomain {
    /// Enters a domain of its own. `outsider` is somebody outside whom a signal of this process reaches now.
    pub(crate) fn enter(handled: Handled, size: usize, outsider: Pid) -> Result<Self, Errno> {
        // Who could not be reached before, for another reason, would show nothing.
        rustix::process::test_kill_process(outsider)?;
        restrict_self(create(handled, size)?)?;
        match rustix::process::test_kill_process(outsider) {
            Err(Errno::PERM) => Ok(Self { _of_this_thread: PhantomData }),
            Ok(()) => Err(Errno::NOTSUP),
            Err(errno) => Err(errno),
        }
    }

    /// Kills every process of the domain but the caller.
    #[expect(clippy::unused_self, reason = "it is the proof")]
    pub(crate) fn kill_everybody(&self) {
        // SAFETY: kill(2) takes integers.
        unsafe { libc::kill(-1, libc::SIGKILL) };
    }
}

const VERSION_FLAG: u32 = 1;
const RULE_PATH_BENEATH: u32 = 1;
