//! The shapes of what `doctor` says about this machine.

use fumehood_core::Code;
use serde::Serialize;

/// The answer of `doctor`.
#[derive(Clone, Debug, Serialize)]
pub struct DoctorReport {
    /// 1.
    pub schema_version: u32,
    /// The version of fumehood.
    pub version: &'static str,
    /// What confines what runs here.
    pub sandbox: SandboxReport,
    /// Interpreters that need no configuration, found or not.
    pub interpreters: Vec<InterpreterReport>,
    /// Controls that somebody turned off, by name. No switch exists in this version, so it is empty.
    pub unsafe_switches: Vec<String>,
    /// The folders of fumehood's own.
    pub folders: Vec<FolderReport>,
}

/// What confines what runs here.
#[derive(Clone, Debug, Serialize)]
pub struct SandboxReport {
    /// `full`, `namespaces` or `kernel`; null if nothing can be confined, and then nothing runs.
    pub level: Option<&'static str>,
    /// `E_SANDBOX_UNAVAILABLE` if there is no level.
    pub code: Option<&'static str>,
    /// What keeps it from a stronger level; null at level `full`.
    pub obstacle: Option<ObstacleReport>,
    /// What is enforced, axis by axis; empty if there is no level.
    pub axes: Vec<AxisReport>,
}

/// What keeps a machine from a stronger level.
#[derive(Clone, Debug, Serialize)]
pub struct ObstacleReport {
    /// The step that fails, and what the operating system says.
    pub message: String,
    /// What the person who owns the machine can do.
    pub remedy: String,
}

/// One thing that a confined program could do.
#[derive(Clone, Debug, Serialize)]
pub struct AxisReport {
    /// `files`, `writes`, `network`, `processes`, `signals`, `syscalls`, `memory`, `pids`, `cpu` or `environment`.
    pub name: &'static str,
    /// `enforced`, `partly` or `not_enforced`.
    pub state: &'static str,
    /// By what, and where it ends.
    pub mechanism: &'static str,
}

/// One interpreter that needs no configuration.
#[derive(Clone, Debug, Serialize)]
pub struct InterpreterReport {
    /// The key by which scripts name it.
    pub key: &'static str,
    /// `found`, `missing` or `refused`.
    pub status: &'static str,
    /// The paths at which it is looked for.
    pub candidates: &'static [&'static str],
    /// The one of them that is there.
    pub path: Option<String>,
    /// The file that this leads to, links resolved.
    pub file: Option<String>,
    /// 64 hex digits of that file, if it was found.
    pub sha256: Option<String>,
    /// The first line that it prints for `--version`, run in the sandbox. Its words, not ours.
    pub version: Option<String>,
    /// Why it is refused, or why it has no version.
    pub reason: Option<String>,
}

/// A folder of fumehood's own.
#[derive(Clone, Debug, Serialize)]
pub struct FolderReport {
    /// `config` or `state`.
    pub role: &'static str,
    /// `private`, `absent`, `visible` (others can see into it) or `refused` (it is not used).
    pub status: &'static str,
    /// The folder, if the environment names one.
    pub path: Option<String>,
    /// Whose it is, as a number.
    pub owner: Option<u32>,
    /// Its permission bits in octal, such as `0700`.
    pub mode: Option<String>,
    /// Why it is refused, or what should be changed, to stand after the path.
    pub reason: Option<String>,
}

/// The answer of `doctor --prove`.
#[derive(Clone, Debug, Serialize)]
pub struct ProveReport {
    /// 1.
    pub schema_version: u32,
    /// The level whose promises were tried.
    pub level: &'static str,
    /// `E_SANDBOX_BROKEN` if one did not hold.
    pub code: Option<&'static str>,
    /// The counts.
    pub summary: ProofSummary,
    /// Every attack, in the order in which they ran.
    pub attacks: Vec<AttackReport>,
}

/// How many attacks ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProofSummary {
    /// Held off.
    pub held: usize,
    /// Not held off, or not shown to work without the sandbox.
    pub broken: usize,
    /// Not promised on this machine, or nothing there to attack.
    pub not_run: usize,
}

/// One attack and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct AttackReport {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Where it was seen: a CVE, `repository#issue`, or `general`.
    pub seen: &'static str,
    /// What holds it off.
    pub met: &'static str,
    /// `held`, `broken` or `not_run`.
    pub verdict: &'static str,
    /// Why, unless it was held off.
    pub detail: Option<String>,
}

impl DoctorReport {
    /// What is wrong with this machine, worst first: it decides the exit code. `None` if nothing has to be mended.
    pub fn code(&self) -> Option<Code> {
        match () {
            () if self.sandbox.level.is_none() => Some(Code::SandboxUnavailable),
            () if self.folders.iter().any(|folder| folder.status == "refused") => Some(Code::HomeRefused),
            () => None,
        }
    }
}

impl ProofSummary {
    /// Counts one more verdict.
    pub(crate) fn count(&mut self, attack: &AttackReport) {
        match attack.verdict {
            "held" => self.held += 1,
            "not_run" => self.not_run += 1,
            _ => self.broken += 1,
        }
    }

    /// What it means: a promise that does not hold is a defect of fumehood, whatever the machine.
    pub fn code(self) -> Option<Code> {
        (self.broken > 0).then_some(Code::SandboxBroken)
    }
}
