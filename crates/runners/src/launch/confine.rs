//! What the sandbox enforces, in the words of a receipt.

use fumehood_core::Containment;
use fumehood_core::containment::{Axis, AxisReport, Enforcement, Level};
use fumehood_sandbox as sandbox;

/// What confines programs, where every axis is asked for.
pub(crate) fn containment(enforcement: &sandbox::Enforcement, level_floor: Level) -> Containment {
    let axes = Axis::ALL.into_iter().map(|axis| {
        let found = enforcement.axes().iter().find(|found| found.name == axis.as_str());
        AxisReport {
            axis,
            asked: true,
            enforced: found.map_or(Enforcement::NotEnforced, |found| match found.state {
                sandbox::State::Enforced => Enforcement::Enforced,
                sandbox::State::Partly => Enforcement::Partly,
                sandbox::State::NotEnforced => Enforcement::NotEnforced,
            }),
            mechanism: found.map_or_else(String::new, |found| found.mechanism.to_owned()),
        }
    });
    Containment { level_floor, level: level(enforcement.level()), axes: axes.collect() }
}

pub(crate) fn level(level: sandbox::Level) -> Level {
    match level {
        sandbox::Level::Kernel => Level::Kernel,
        sandbox::Level::Namespaces => Level::Namespaces,
        sandbox::Level::Full => Level::Full,
    }
}

/// The floor as the sandbox takes it. A floor of nothing at all is for nobody to ask: then it is the weakest there is.
pub(crate) fn floor(level: Level) -> sandbox::Level {
    match level {
        Level::None | Level::Kernel => sandbox::Level::Kernel,
        Level::Namespaces => sandbox::Level::Namespaces,
        Level::Full => sandbox::Level::Full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_kinds_of_levels_have_one_order_and_one_name() {
        for (ours, theirs) in [
            (Level::Kernel, sandbox::Level::Kernel),
            (Level::Namespaces, sandbox::Level::Namespaces),
            (Level::Full, sandbox::Level::Full),
        ] {
            assert_eq!((level(theirs), floor(ours)), (ours, theirs));
            assert_eq!(ours.as_str(), theirs.as_str());
        }
        assert_eq!(floor(Level::None), sandbox::Level::Kernel);
    }
}
