//! What a superuser's tests need to be honest: a way to be refused.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "what is unexpected fails the test"
)]

use rustix::process::Uid;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities, set_thread_res_uid};

/// Whether the test runs as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs `act` in a thread that permission bits hold for, also when the test runs as root.
pub fn without_privilege<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    let confined = move || {
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
        set_capabilities(None, sets).unwrap();
        act()
    };
    match std::thread::scope(|scope| scope.spawn(confined).join()) {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Runs `act` in a thread that is another user, who may do nothing of what root may; `None`, and nothing is run, unless the
/// test runs as root: nobody else can become somebody else.
pub fn as_another_user<T: Send>(act: impl FnOnce() -> T + Send) -> Option<T> {
    let other = Uid::from_raw(65_534);
    let changed = move || {
        set_thread_res_uid(other, other, other).unwrap();
        act()
    };
    is_root().then(|| match std::thread::scope(|scope| scope.spawn(changed).join()) {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
