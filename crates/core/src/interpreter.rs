//! The interpreters that need no configuration.

/// An interpreter that may be used although nobody configured it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WellKnown {
    /// The key by which scripts name it.
    pub key: &'static str,
    /// Where it may be, absolute; the first that is there counts, whatever is wrong with it.
    pub candidates: &'static [&'static str],
    /// What stands between it and the script unless the deployer says otherwise.
    pub arguments: &'static [&'static str],
}

/// All of them. Never searched for along `PATH`: whoever can change that would choose what runs.
///
/// `/bin` is a folder of its own on systems that did not merge it into `/usr/bin`.
pub const WELL_KNOWN: [WellKnown; 4] = [
    WellKnown { key: "sh", candidates: &["/usr/bin/sh", "/bin/sh"], arguments: &[] },
    WellKnown { key: "bash", candidates: &["/usr/bin/bash", "/bin/bash"], arguments: &[] },
    WellKnown { key: "python3", candidates: &["/usr/bin/python3"], arguments: PYTHON_ARGUMENTS },
    WellKnown { key: "node", candidates: &["/usr/bin/node"], arguments: &[] },
];

/// No variables of Python's, no packages of a person's, no bytecode beside the sources. Not `-I`: it would keep a script from
/// importing its neighbours.
const PYTHON_ARGUMENTS: &[&str] = &["-E", "-s", "-B"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_candidate_is_an_absolute_path_of_the_system() {
        for WellKnown { key, candidates, .. } in WELL_KNOWN {
            for candidate in candidates {
                let (folder, name) = candidate.rsplit_once('/').unwrap();
                assert!(["/usr/bin", "/bin"].contains(&folder) && name == key, "{candidate}");
            }
        }
    }
}
