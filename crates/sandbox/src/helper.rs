//! Being the launcher, or an attacker of [`prove`](mod@crate::prove), instead of the program.

use crate::child::Kind;

/// Turns this process into a launcher or an attacker if it was started as one; returns at once otherwise.
///
/// Must be the first thing in `main`, before any thread or runtime exists.
pub fn dispatch() {
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

/// The hidden first argument of a launcher.
pub(crate) const LAUNCHER_ARGUMENT: &str = "--fumehood-launcher";
/// The same, of one that makes no namespaces.
pub(crate) const KERNEL_LAUNCHER_ARGUMENT: &str = "--fumehood-kernel-launcher";
/// The hidden first argument of an attacker; a name and facts follow.
pub(crate) const ATTACK_ARGUMENT: &str = "--fumehood-attack";
/// The first argument of the tests' helper by which it plays a machine; see [`become_machine`](crate::prove::become_machine).
pub const MACHINE_ARGUMENT: &str = "--fumehood-machine";
