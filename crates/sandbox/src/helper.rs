//! Being the launcher instead of the program.

/// Turns this process into a launcher if it was started as one; returns at once otherwise.
///
/// Must be the first thing in `main`, before any thread or runtime exists.
pub fn dispatch() {
    let mut arguments = std::env::args_os();
    let is_launcher = arguments.nth(1).is_some_and(|argument| argument == LAUNCHER_ARGUMENT);
    if is_launcher && arguments.next().is_none() {
        crate::launcher::main();
    }
}

/// The hidden first argument.
pub(crate) const LAUNCHER_ARGUMENT: &str = "--fumehood-launcher";
