//! How far an envelope itself may go.

use core::fmt;

use super::{EnvelopeParts, Roots};
use crate::code::{Code, Coded};
use crate::containment::Level;

/// The range of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The key in the table `[envelope]`.
    pub key: &'static str,
    /// The least.
    pub min: u64,
    /// The most.
    pub max: u64,
}

/// The range of every key that is a number. No ceiling of a limit can be zero (EXE-38), and none is beyond what the sandbox
/// can enforce or a tool may take.
pub const BOUNDS: [Bound; 11] = [
    bound("timeout_seconds_default", 1, 3600),
    bound("timeout_seconds_max", 1, 3600),
    bound("output_bytes_max", 1, 64 << 20),
    bound("memory_bytes_per_process", 1 << 20, 1 << 40),
    bound("processes", 1, 65_536),
    bound("cpu_seconds", 1, 86_400),
    bound("file_bytes", 1, 1 << 40),
    bound("open_files", 16, 65_536),
    bound("temporary_bytes", 4096, 1 << 36),
    bound("temporary_files", 1, 1 << 24),
    bound("memory_bytes_total", 1 << 20, 1 << 44),
];
/// Places in one list of an envelope.
pub const ROOTS_MAX: usize = 64;

/// Why an envelope was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnvelopeError {
    /// A number is outside its range.
    Range(Bound),
    /// `timeout_seconds_default` is above `timeout_seconds_max`.
    DefaultAboveMax,
    /// More than 64 places in the list of this key.
    TooManyRoots(&'static str),
    /// A place in the list of this key has `*`, `?` or `[` in it (EXE-51).
    Pattern(&'static str),
    /// The level `none`, at which nothing is confined.
    NoFloor,
}

const fn bound(key: &'static str, min: u64, max: u64) -> Bound {
    Bound { key, min, max }
}

pub(super) fn check(parts: &EnvelopeParts) -> Result<(), EnvelopeError> {
    let limits = parts.limits;
    let values = [
        Some(parts.timeout_seconds_default),
        Some(parts.timeout_seconds_max),
        Some(parts.output_bytes_max),
        Some(limits.memory_bytes_per_process),
        Some(limits.processes),
        Some(limits.cpu_seconds),
        Some(limits.file_bytes),
        Some(limits.open_files),
        Some(limits.temporary_bytes),
        Some(limits.temporary_files),
        parts.memory_bytes_total,
    ];
    for (bound, value) in BOUNDS.into_iter().zip(values) {
        if value.is_some_and(|value| value < bound.min || value > bound.max) {
            return Err(EnvelopeError::Range(bound));
        }
    }
    if parts.timeout_seconds_default > parts.timeout_seconds_max {
        return Err(EnvelopeError::DefaultAboveMax);
    }
    for (key, roots) in [
        ("read_roots", &parts.read_roots),
        ("write_roots", &parts.write_roots),
        ("interpreter_read_paths", &parts.interpreter_read_paths),
    ] {
        let Roots::Within(roots) = roots else { continue };
        if roots.len() > ROOTS_MAX {
            return Err(EnvelopeError::TooManyRoots(key));
        }
        if roots.iter().any(crate::HostPath::looks_like_a_pattern) {
            return Err(EnvelopeError::Pattern(key));
        }
    }
    if parts.level_floor == Level::None { Err(EnvelopeError::NoFloor) } else { Ok(()) }
}

impl Coded for EnvelopeError {
    fn code(&self) -> Code {
        Code::ConfigInvalid
    }
}

impl fmt::Display for EnvelopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(Bound { key, min, max }) => {
                write!(f, "envelope.{key} must be a whole number from {min} to {max}")
            }
            Self::DefaultAboveMax => {
                f.write_str("envelope.timeout_seconds_default is above envelope.timeout_seconds_max")
            }
            Self::TooManyRoots(key) => write!(f, "envelope.{key} has more than {ROOTS_MAX} places"),
            Self::Pattern(key) => write!(
                f,
                "envelope.{key} has a place with '*', '?' or '[' in it; places are paths and no patterns"
            ),
            Self::NoFloor => f.write_str("envelope.level_floor cannot be none"),
        }
    }
}

impl core::error::Error for EnvelopeError {}
