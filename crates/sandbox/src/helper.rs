//! Being the launcher, or an attacker of [`prove`](mod@crate::prove), instead of the program.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::child::Kind;

/// Turns this process into a launcher or an attacker if it was started as one; returns at once otherwise.
///
/// Must be the first thing in `main`, before any thread or runtime exists.
pub fn dispatch() {
    DISPATCHED.store(true, Ordering::Relaxed);
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(argument) if argument == LAUNCHER_ARGUMENT && arguments.next().is_none() => {
            crate::launcher::main(Kind::Namespaces)
        }
        Some(argument) if argument == KERNEL_LAUNCHER_ARGUMENT && arguments.next().is_none() => {
            crate::launcher::main(Kind::Kernel)
        }
        Some(argument) if argument == ATTACK_ARGUMENT => crate::prove::payload::main(arguments),
        _ => {}
    }
}

/// Whether this program has called [`dispatch`]. One that has not would run all of itself where a launcher is to be, so what need
/// not start one does not.
pub fn is_dispatched() -> bool {
    DISPATCHED.load(Ordering::Relaxed)
}

static DISPATCHED: AtomicBool = AtomicBool::new(false);

/// The hidden first argument of a launcher.
pub(crate) const LAUNCHER_ARGUMENT: &str = "--fumehood-launcher";
/// The same, of one that makes no namespaces.
pub(crate) const KERNEL_LAUNCHER_ARGUMENT: &str = "--fumehood-kernel-launcher";
/// The hidden first argument of an attacker; a name and facts follow.
pub(crate) const ATTACK_ARGUMENT: &str = "--fumehood-attack";
/// The first argument of the tests' helper by which it plays a machine; see [`become_machine`](crate::prove::become_machine).
pub const MACHINE_ARGUMENT: &str = "--fumehood-machine";
