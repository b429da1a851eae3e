//! When a profile is refused.

use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use super::{Grant, Limits, Mode};

/// Why a profile was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProfileError {
    /// A text that is handed to the kernel holds a NUL byte.
    Nul(&'static str),
    /// A path inside the sandbox is not absolute, or has `..` in it.
    Path(PathBuf),
    /// The target is one of the sandbox's own places.
    Reserved(PathBuf),
    /// Two grants have one target, or one lies inside the other.
    Overlap(PathBuf),
    /// A folder that the child may write is, or holds, or lies in what it may run or only read.
    WritableProgram(PathBuf),
    /// A folder that the child may write is, or holds, or lies in a protected one.
    Protected(PathBuf),
    /// A variable's name is empty or has `=` in it.
    Variable,
    /// A limit is zero or above its ceiling.
    Limit(&'static str),
}

impl Limits {
    pub(super) fn check(self) -> Result<(), ProfileError> {
        let Self {
            cpu_seconds,
            memory_bytes_per_process,
            processes,
            file_bytes,
            open_files,
            temporary_bytes,
            temporary_files,
        } = self;
        let checks = [
            ("cpu_seconds", cpu_seconds, 1, 86_400),
            ("memory_bytes_per_process", memory_bytes_per_process, 1 << 20, 1 << 40),
            ("processes", processes, 1, 65_536),
            ("file_bytes", file_bytes, 0, 1 << 40),
            ("open_files", open_files, 8, 65_536),
            ("temporary_bytes", temporary_bytes, 4096, 1 << 36),
            ("temporary_files", temporary_files, 1, 1 << 24),
        ];
        match checks.into_iter().find(|(_, value, min, max)| value < min || value > max) {
            Some((name, ..)) => Err(ProfileError::Limit(name)),
            None => Ok(()),
        }
    }
}

/// Inside, and for what is compared, a path is written in one way.
pub(super) fn inside(path: &Path) -> Result<(), ProfileError> {
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if path.is_absolute() && plain { Ok(()) } else { Err(ProfileError::Path(path.to_path_buf())) }
}

pub(super) fn grants(all: &[Grant], program: &Path, protected: &[PathBuf]) -> Result<(), ProfileError> {
    for (index, grant) in all.iter().enumerate() {
        inside(&grant.target)?;
        for path in [&grant.target].into_iter().chain(&grant.source).chain(grant.written()) {
            if path.as_os_str().as_bytes().contains(&0) {
                return Err(ProfileError::Nul("a granted path"));
            }
        }
        for source in grant.source.iter().chain(grant.written()).chain(protected) {
            // Two paths can be compared only if each is written in one way.
            inside(source)?;
        }
        let is_temporary = grant.target.starts_with(TEMPORARY)
            && grant.target != Path::new(TEMPORARY)
            && !matches!(grant.mode, Mode::Overlay { .. });
        let is_reserved = RESERVED.iter().any(|place| overlap(Path::new(place), &grant.target));
        if (is_reserved && !is_temporary) || grant.target == Path::new("/") {
            return Err(ProfileError::Reserved(grant.target.clone()));
        }
        if all[..index].iter().any(|other| overlap(&other.target, &grant.target)) {
            return Err(ProfileError::Overlap(grant.target.clone()));
        }
        writable(grant, &all[..index], &all[index + 1..], program, protected)?;
    }
    Ok(())
}

/// What the child writes is nothing that it, or somebody else, runs or relies on.
fn writable(
    grant: &Grant,
    before: &[Grant],
    after: &[Grant],
    program: &Path,
    protected: &[PathBuf],
) -> Result<(), ProfileError> {
    let Some(written) = grant.written() else { return Ok(()) };
    if protected.iter().any(|place| overlap(place, written)) {
        return Err(ProfileError::Protected(written.clone()));
    }
    let holds_program =
        program.starts_with(&grant.target) || PROGRAMS.iter().any(|place| overlap(Path::new(place), written));
    let others = || before.iter().chain(after);
    let read = others().filter(|other| other.mode != Mode::Write).filter_map(|other| other.source.as_ref());
    let holds_read_only = read.chain(grant.read_below()).any(|place| overlap(place, written));
    let holds_layer = others().filter(|other| other.mode != Mode::Write).filter_map(Grant::written);
    if holds_program || holds_read_only || holds_layer.into_iter().any(|place| overlap(place, written)) {
        return Err(ProfileError::WritableProgram(written.clone()));
    }
    Ok(())
}

impl Grant {
    /// The folder of the host that the child's writes end up in.
    fn written(&self) -> Option<&PathBuf> {
        match &self.mode {
            Mode::Read => None,
            Mode::Write => self.source.as_ref(),
            Mode::Overlay { upper } => Some(upper),
        }
    }

    /// The folder that shows through an overlay.
    fn read_below(&self) -> Option<&PathBuf> {
        if matches!(self.mode, Mode::Overlay { .. }) { self.source.as_ref() } else { None }
    }
}

/// Whether one of the paths is, or lies in, the other.
fn overlap(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// Places that the sandbox makes itself.
const RESERVED: [&str; 11] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc", "/dev", "/proc", "/tmp", "/sys"];
/// The child's own folder, which may hold files that it is granted too.
const TEMPORARY: &str = "/tmp";
/// Where the host's programs are.
const PROGRAMS: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc"];
pub(super) const MEMORY_TOTAL: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 44;
pub(super) const WALL_MAX: Duration = Duration::from_hours(24);
pub(super) const GRACE_MAX: Duration = Duration::from_mins(1);
pub(super) const OUTPUT_BYTES_MAX: usize = 64 << 20;

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nul(what) => write!(f, "{what} holds a NUL byte"),
            Self::Path(path) => write!(f, "{} is not an absolute path without '..'", path.display()),
            Self::Reserved(path) => write!(f, "{} is a place of the sandbox's own", path.display()),
            Self::Overlap(path) => write!(f, "{} lies in, or holds, another granted place", path.display()),
            Self::WritableProgram(path) => {
                write!(
                    f,
                    "{} would be writable and holds, or lies in, what the child may run or read only",
                    path.display()
                )
            }
            Self::Protected(path) => write!(f, "{} would be writable and is protected", path.display()),
            Self::Variable => f.write_str("a variable's name is empty or has '=' in it"),
            Self::Limit(name) => write!(f, "{name} is outside its range"),
        }
    }
}

impl std::error::Error for ProfileError {}
