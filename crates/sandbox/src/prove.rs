//! The attack list, and trying it on this machine.
//!
//! An attack is code of this program, run twice: outside, where it must succeed or it would prove nothing, and in the
//! sandbox, where it must not. What counts is what the host can see afterwards, and only then the attack's own words.

mod calls;
mod deaths;
mod files;
mod hosts;
mod in_place;
mod kernel;
mod lifetime;
mod machine;
mod memory;
mod network;
mod other_host;
pub(crate) mod payload;
mod processes;
mod resources;
mod scene;
mod stage;
mod trial;
mod tries;
mod writes;

use std::path::Path;
use std::sync::LazyLock;

use crate::{Level, Sandbox};
pub use machine::{Machine, become_machine, machines};
use scene::Payload;
use trial::{Control, Expected, HostTrial};
pub use tries::{TRY_ARGUMENT, try_each};

/// One way out of a sandbox, or around a limit.
#[derive(Debug)]
pub struct Attack {
    /// A short name in kebab-case.
    pub name: &'static str,
    /// What is tried.
    pub what: &'static str,
    /// Where it was seen: a CVE, `repository#issue`, or `general`.
    pub seen: &'static str,
    /// What holds it off.
    pub met: &'static str,
    how: How,
    control: Control,
    expected: Expected,
    /// The host sees what the attack does; seen outside, it must not be seen after the run inside.
    leaves_traces: bool,
    /// Not every machine has what is attacked.
    may_be_missing: bool,
    /// It needs a folder that it may write, or it would fail for want of one.
    writes: bool,
    promised: Promised,
    wall_millis: u64,
}

/// At which levels an attack is promised to be held off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promised {
    AtEveryLevel,
    WithNamespaces,
    WithLandlock,
}

impl Promised {
    fn at(self, level: Level) -> bool {
        match self {
            Self::AtEveryLevel => true,
            Self::WithNamespaces => level >= Level::Namespaces,
            Self::WithLandlock => level != Level::Namespaces,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum How {
    Payload(Payload),
    Host(HostTrial),
}

/// What came of one attack.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The attack.
    pub attack: &'static Attack,
    /// Whether the sandbox held.
    pub verdict: Verdict,
    /// What was seen when it ran outside, where it must succeed.
    pub outside: String,
    /// What was seen when it ran in the sandbox.
    pub inside: String,
}

/// Whether the sandbox held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It did.
    Held,
    /// It did not, or the attack could not be shown to work at all; this is why.
    Broken(String),
    /// This machine has nothing to attack, or does not arm the cap; the attack was not run inside.
    NotRun(String),
}

/// Every attack, in the order in which they run.
pub fn attacks() -> &'static [Attack] {
    static ALL: LazyLock<Vec<Attack>> = LazyLock::new(|| {
        let lists = [
            files::attacks(),
            writes::attacks(),
            processes::attacks(),
            kernel::attacks(),
            calls::attacks(),
            network::attacks(),
            memory::attacks(),
            resources::attacks(),
            lifetime::attacks(),
            hosts::attacks(),
            deaths::attacks(),
        ];
        lists.into_iter().flatten().collect()
    });
    &ALL
}

/// Tries one attack. `program` is one that calls [`helper::dispatch`](crate::helper::dispatch).
///
/// # Authority
/// Makes folders under the temporary folder and removes them, starts processes, listens on loopback. Attacks that could
/// hurt the machine are bounded outside.
pub fn prove_one(sandbox: &Sandbox, program: &Path, attack: &'static Attack) -> Proof {
    trial::run(sandbox, program, attack)
}

impl Attack {
    /// The levels that promise to hold it off.
    pub fn levels(&self) -> impl Iterator<Item = Level> {
        [Level::Full, Level::Namespaces, Level::Kernel].into_iter().filter(|level| self.promised.at(*level))
    }

    fn new(name: &'static str, what: &'static str, seen: &'static str, payload: Payload) -> Self {
        Self::with(name, what, seen, How::Payload(payload))
    }

    /// An attack that the host takes part in.
    fn host(name: &'static str, what: &'static str, seen: &'static str, trial: HostTrial) -> Self {
        Self::with(name, what, seen, How::Host(trial))
    }

    fn with(name: &'static str, what: &'static str, seen: &'static str, how: How) -> Self {
        Self {
            name,
            what,
            seen,
            met: "",
            how,
            control: Control::Plain,
            expected: Expected::Refused,
            leaves_traces: false,
            may_be_missing: false,
            writes: false,
            promised: Promised::WithNamespaces,
            wall_millis: WALL_MILLIS,
        }
    }

    fn met(self, met: &'static str) -> Self {
        Self { met, ..self }
    }

    fn leaves_traces(self) -> Self {
        Self { leaves_traces: true, ..self }
    }

    fn may_be_missing(self) -> Self {
        Self { may_be_missing: true, ..self }
    }

    /// Namespaces have no part in holding it off, or not the only one.
    fn at_every_level(self) -> Self {
        Self { promised: Promised::AtEveryLevel, ..self }
    }

    /// Nothing but Landlock holds it off.
    fn with_landlock(self) -> Self {
        Self { promised: Promised::WithLandlock, ..self }
    }

    fn writes(self) -> Self {
        Self { writes: true, ..self }
    }

    /// Outside, it runs as root of namespaces of its own: anyone's call would fail otherwise, and show nothing.
    fn in_namespaces(self) -> Self {
        Self { control: Control::Namespaces, ..self }
    }

    fn expect(self, expected: Expected) -> Self {
        Self { expected, ..self }
    }

    fn wall_millis(self, wall_millis: u64) -> Self {
        Self { wall_millis, ..self }
    }
}

const WALL_MILLIS: u64 = 20_000;
