//! The envelope: the most that any script may get, and whether what a call would get lies within it (EXE-51).

mod bounds;

use core::fmt;
use core::time::Duration;

pub use bounds::{BOUNDS, Bound, EnvelopeError, ROOTS_MAX};

use crate::code::{Code, Coded};
use crate::containment::Level;
use crate::host_path::HostPath;

/// What the deployer lets scripts have at most: the session policy of which every derived profile is a subset.
///
/// It grants nothing: a call gets what its arguments and the person named, and no more than this. A value that exists is
/// within the ceilings of [`BOUNDS`], with the default timeout not above the maximum. There is no `Default`, so that
/// nobody gets one without having chosen: [`Envelope::of_a_person`] or [`Envelope::new`] (EXE-40).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope(EnvelopeParts);

/// What an [`Envelope`] is made from. Every field is the most that a call may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvelopeParts {
    /// Where the files lie that a script may read.
    pub read_roots: Roots,
    /// Where the files lie that it may change or make.
    pub write_roots: Roots,
    /// What its interpreter may read beside the system's own programs and libraries.
    pub interpreter_read_paths: Roots,
    /// Seconds that a call gets which does not say how many.
    pub timeout_seconds_default: u64,
    /// Seconds that a call may ask for.
    pub timeout_seconds_max: u64,
    /// Bytes that are kept of each output stream.
    pub output_bytes_max: u64,
    /// What the kernel enforces by counting.
    pub limits: ResourceLimits,
    /// Bytes of memory of all processes together. `None` leaves it to `processes` times `memory_bytes_per_process`.
    pub memory_bytes_total: Option<u64>,
    /// The weakest level at which a script may run; never [`Level::None`].
    pub level_floor: Level,
}

/// Where paths may lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Roots {
    /// Wherever the person who says yes names one.
    AsNamed,
    /// At one of these places or below it.
    Within(Vec<HostPath>),
}

/// Limits of each run that are not time and not output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Bytes of data and heap of each process.
    pub memory_bytes_per_process: u64,
    /// Processes and threads at once.
    pub processes: u64,
    /// Seconds of processor time of each process.
    pub cpu_seconds: u64,
    /// Bytes of one file that is written.
    pub file_bytes: u64,
    /// Descriptors open at once in one process.
    pub open_files: u64,
    /// Bytes in each of the private temporary folders.
    pub temporary_bytes: u64,
    /// Files in each of the private temporary folders.
    pub temporary_files: u64,
}

/// What one call would get: the derived profile in the envelope's words.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Files and folders that the script can read, links resolved. The staged skill is not among them.
    pub read_paths: &'a [HostPath],
    /// Files and folders of the host that will be changed or made, links resolved.
    pub write_paths: &'a [HostPath],
    /// What is granted for the interpreter's sake, links resolved.
    pub interpreter_paths: &'a [HostPath],
    /// Time for the call.
    pub wall: Duration,
    /// Bytes kept of each output stream.
    pub output_bytes: u64,
    /// Limits.
    pub limits: ResourceLimits,
    /// Bytes of memory of all processes together, if that is limited.
    pub memory_bytes_total: Option<u64>,
    /// The level below which it would not run.
    pub level_floor: Level,
    /// The network.
    pub network: Network,
}

/// What a script gets of the network. A second value needs a rule of its own in the envelope, and does not compile without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Nothing.
    None,
}

/// A call would get more than the envelope allows. Holds the rule and no argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widened {
    /// The first rule that it would break, in the order of [`Rule::ALL`].
    pub rule: Rule,
}

/// What an envelope says, one rule for each key but the default timeout, which bounds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// `read_roots`
    ReadRoots,
    /// `write_roots`
    WriteRoots,
    /// `interpreter_read_paths`
    InterpreterReadPaths,
    /// `timeout_seconds_max`
    TimeoutSecondsMax,
    /// `output_bytes_max`
    OutputBytesMax,
    /// `memory_bytes_per_process`
    MemoryBytesPerProcess,
    /// `processes`
    Processes,
    /// `cpu_seconds`
    CpuSeconds,
    /// `file_bytes`
    FileBytes,
    /// `open_files`
    OpenFiles,
    /// `temporary_bytes`
    TemporaryBytes,
    /// `temporary_files`
    TemporaryFiles,
    /// `memory_bytes_total`
    MemoryBytesTotal,
    /// `level_floor`
    LevelFloor,
}

impl Envelope {
    /// An envelope of these parts.
    ///
    /// # Errors
    /// [`EnvelopeError`] for the first key that is out of its range. Nothing is clamped (EXE-38, X-06).
    pub fn new(parts: EnvelopeParts) -> Result<Self, EnvelopeError> {
        bounds::check(&parts)?;
        Ok(Self(parts))
    }

    /// What holds where nobody configured an envelope: paths are bounded by the person's own word at the prompt, everything
    /// else by limits that fit Python and Node.js.
    ///
    /// 60 s by default and 600 s at most; 1 MiB of each output stream; 1 GiB of memory for each of 128 processes; 600 s of
    /// processor time; files of 1 GiB; 256 descriptors; 256 MiB in 65,536 temporary files; level `full`.
    pub fn of_a_person() -> Self {
        Self(EnvelopeParts {
            read_roots: Roots::AsNamed,
            write_roots: Roots::AsNamed,
            interpreter_read_paths: Roots::AsNamed,
            timeout_seconds_default: 60,
            timeout_seconds_max: 600,
            output_bytes_max: 1 << 20,
            limits: ResourceLimits {
                memory_bytes_per_process: 1 << 30,
                processes: 128,
                cpu_seconds: 600,
                file_bytes: 1 << 30,
                open_files: 256,
                temporary_bytes: 256 << 20,
                temporary_files: 65_536,
            },
            memory_bytes_total: None,
            level_floor: Level::Full,
        })
    }

    /// Every part of it.
    pub fn parts(&self) -> &EnvelopeParts {
        &self.0
    }

    /// The time for a call that does not say how long.
    pub fn timeout_default(&self) -> Duration {
        Duration::from_secs(self.0.timeout_seconds_default)
    }

    /// The time that a call may ask for.
    pub fn timeout_max(&self) -> Duration {
        Duration::from_secs(self.0.timeout_seconds_max)
    }

    /// Whether a call lies within this envelope.
    ///
    /// Fails closed: a path lies within a root only by whole components, and what is limited here must be limited there.
    ///
    /// # Errors
    /// [`Widened`] with code `E_SKILL_SCRIPT_POLICY_WIDENED` and the first rule that the call would break (EXE-64).
    pub fn admits(&self, asked: &Asked<'_>) -> Result<(), Widened> {
        // Both taken apart, so that a part that is added and not compared does not compile.
        let EnvelopeParts {
            read_roots,
            write_roots,
            interpreter_read_paths,
            timeout_seconds_default: _,
            timeout_seconds_max: _,
            output_bytes_max,
            limits,
            memory_bytes_total,
            level_floor,
        } = &self.0;
        let Asked {
            read_paths,
            write_paths,
            interpreter_paths,
            wall,
            output_bytes,
            limits: asked_limits,
            memory_bytes_total: asked_total,
            level_floor: asked_floor,
            network: Network::None,
        } = *asked;
        let ceilings = limits.each().into_iter().zip(asked_limits.each());
        let ceilings = ceilings.map(|((rule, most), (_, asked))| (rule, asked <= most));
        // No limit at all is more than any limit.
        let total = memory_bytes_total.is_none_or(|most| asked_total.is_some_and(|asked| asked <= most));
        let rules = [
            (Rule::ReadRoots, read_roots.contain(read_paths)),
            (Rule::WriteRoots, write_roots.contain(write_paths)),
            (Rule::InterpreterReadPaths, interpreter_read_paths.contain(interpreter_paths)),
            (Rule::TimeoutSecondsMax, wall <= self.timeout_max()),
            (Rule::OutputBytesMax, output_bytes <= *output_bytes_max),
        ];
        let last = [(Rule::MemoryBytesTotal, total), (Rule::LevelFloor, asked_floor >= *level_floor)];
        match rules.into_iter().chain(ceilings).chain(last).find(|(_, is_kept)| !is_kept) {
            Some((rule, _)) => Err(Widened { rule }),
            None => Ok(()),
        }
    }
}

impl Roots {
    fn contain(&self, paths: &[HostPath]) -> bool {
        match self {
            Self::AsNamed => true,
            Self::Within(roots) => paths.iter().all(|path| roots.iter().any(|root| root.contains(path))),
        }
    }

    /// The places, if they are listed.
    pub fn listed(&self) -> Option<&[HostPath]> {
        match self {
            Self::AsNamed => None,
            Self::Within(roots) => Some(roots),
        }
    }
}

impl ResourceLimits {
    fn each(self) -> [(Rule, u64); 7] {
        let Self {
            memory_bytes_per_process,
            processes,
            cpu_seconds,
            file_bytes,
            open_files,
            temporary_bytes,
            temporary_files,
        } = self;
        [
            (Rule::MemoryBytesPerProcess, memory_bytes_per_process),
            (Rule::Processes, processes),
            (Rule::CpuSeconds, cpu_seconds),
            (Rule::FileBytes, file_bytes),
            (Rule::OpenFiles, open_files),
            (Rule::TemporaryBytes, temporary_bytes),
            (Rule::TemporaryFiles, temporary_files),
        ]
    }
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::ReadRoots,
        Self::WriteRoots,
        Self::InterpreterReadPaths,
        Self::TimeoutSecondsMax,
        Self::OutputBytesMax,
        Self::MemoryBytesPerProcess,
        Self::Processes,
        Self::CpuSeconds,
        Self::FileBytes,
        Self::OpenFiles,
        Self::TemporaryBytes,
        Self::TemporaryFiles,
        Self::MemoryBytesTotal,
        Self::LevelFloor,
    ];

    /// The rule as `fumehood.toml` has it: the table and the key.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadRoots => "envelope.read_roots",
            Self::WriteRoots => "envelope.write_roots",
            Self::InterpreterReadPaths => "envelope.interpreter_read_paths",
            Self::TimeoutSecondsMax => "envelope.timeout_seconds_max",
            Self::OutputBytesMax => "envelope.output_bytes_max",
            Self::MemoryBytesPerProcess => "envelope.memory_bytes_per_process",
            Self::Processes => "envelope.processes",
            Self::CpuSeconds => "envelope.cpu_seconds",
            Self::FileBytes => "envelope.file_bytes",
            Self::OpenFiles => "envelope.open_files",
            Self::TemporaryBytes => "envelope.temporary_bytes",
            Self::TemporaryFiles => "envelope.temporary_files",
            Self::MemoryBytesTotal => "envelope.memory_bytes_total",
            Self::LevelFloor => "envelope.level_floor",
        }
    }
}

impl Coded for Widened {
    fn code(&self) -> Code {
        Code::ScriptPolicyWidened
    }
}

impl fmt::Display for Widened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the call would get more than {} allows", self.rule.as_str())
    }
}

impl core::error::Error for Widened {}

#[cfg(test)]
mod tests;
