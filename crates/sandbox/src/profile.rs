//! What a child may see and do, by value.

use std::ffi::{CString, OsStr};
use std::fmt;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Everything that one child may see and do. Nothing that is not in here is there.
///
/// Made by [`Profile::builder`]; a profile that exists is consistent. Which defaults are closed is said there.
#[derive(Clone, Debug)]
pub struct Profile {
    pub(crate) program: CString,
    pub(crate) arguments: Vec<CString>,
    pub(crate) environment: Vec<CString>,
    pub(crate) directory: CString,
    pub(crate) grants: Vec<Grant>,
    /// The files of those grants that have no source, in their order.
    pub(crate) open: Vec<Arc<OwnedFd>>,
    pub(crate) limits: Limits,
    pub(crate) wall: Duration,
    pub(crate) grace: Duration,
    pub(crate) output_bytes_max: usize,
    pub(crate) on_excess: OnExcess,
    pub(crate) floor: crate::Level,
}

/// A part of the host's files that the child sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// `None` is a file that the host has open.
    pub(crate) source: Option<PathBuf>,
    /// Where the child sees it, absolute.
    pub(crate) target: PathBuf,
    pub(crate) mode: Mode,
}

/// What happens with a grant's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Read,
    Write,
    /// It is read; what is written goes to a folder of its own.
    Overlay {
        upper: PathBuf,
    },
}

/// What a child may do with a granted file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read and, where the file is a program, run it.
    Read,
    /// Read, write, make and remove; never run.
    Write,
}

/// What the kernel enforces by counting. All are required: a limit that nobody chose is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Seconds of processor time that each process may use.
    pub cpu_seconds: u64,
    /// Bytes of data and heap of each process. There is no limit on all of them together but `processes` times this.
    pub memory_bytes_per_process: u64,
    /// Processes and threads alive at once, the sandbox's own two included.
    pub processes: u64,
    /// Bytes of one file that is written.
    pub file_bytes: u64,
    /// Descriptors open at once in one process.
    pub open_files: u64,
    /// Bytes in each of the private temporary folders.
    pub temporary_bytes: u64,
    /// Files in each of the private temporary folders.
    pub temporary_files: u64,
}

/// What happens to output beyond the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExcess {
    /// The run is killed and has failed.
    Fail,
    /// The output is cut; the rest is read, counted and dropped.
    Truncate,
}

/// Collects a [`Profile`].
#[derive(Clone, Debug)]
pub struct ProfileBuilder {
    program: PathBuf,
    arguments: Vec<Vec<u8>>,
    environment: Vec<(Vec<u8>, Vec<u8>)>,
    directory: PathBuf,
    grants: Vec<Grant>,
    open: Vec<Arc<OwnedFd>>,
    protected: Vec<PathBuf>,
    limits: Limits,
    wall: Duration,
    grace: Duration,
    output_bytes_max: usize,
    on_excess: OnExcess,
    floor: crate::Level,
}

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

impl Profile {
    /// A profile for one program, with these limits and this deadline.
    ///
    /// Closed by default: no files but the system's programs and libraries, read-only; no network; an empty environment;
    /// an empty temporary folder as the current one; no arguments; nothing on standard input; output beyond 64 KiB for
    /// each stream ends the run; 1,000 ms between the polite signal and the other one; the floor is [`Level::Full`].
    ///
    /// [`Level::Full`]: crate::Level::Full
    pub fn builder(program: impl Into<PathBuf>, limits: Limits, wall: Duration) -> ProfileBuilder {
        ProfileBuilder {
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: PathBuf::from("/tmp"),
            grants: Vec::new(),
            open: Vec::new(),
            protected: Vec::new(),
            limits,
            wall,
            grace: Duration::from_secs(1),
            output_bytes_max: 64 << 10,
            on_excess: OnExcess::Fail,
            floor: crate::Level::Full,
        }
    }
}

impl Profile {
    /// Goes through every step of a launch and executes nothing.
    pub(crate) fn probe() -> Self {
        Self {
            program: CString::default(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: c"/tmp".to_owned(),
            grants: Vec::new(),
            open: Vec::new(),
            limits: Limits {
                cpu_seconds: 1,
                memory_bytes_per_process: 1 << 28,
                processes: PROBE_PROCESSES,
                file_bytes: 1 << 20,
                open_files: 32,
                temporary_bytes: 1 << 20,
                temporary_files: 16,
            },
            wall: Duration::from_secs(1),
            grace: Duration::ZERO,
            output_bytes_max: 1,
            on_excess: OnExcess::Fail,
            floor: crate::Level::Kernel,
        }
    }
}

impl ProfileBuilder {
    /// Adds an argument. It reaches the program as it is; no shell reads it.
    #[must_use]
    pub fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().as_bytes().to_vec());
        self
    }

    /// Adds an environment variable.
    #[must_use]
    pub fn variable(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().as_bytes().to_vec(), value.as_ref().as_bytes().to_vec()));
        self
    }

    /// The current folder, as the child sees it.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    /// Grants a file or folder of the host at `target`. At most 100 grants of all kinds.
    ///
    /// No part of `source` may be a symbolic link: resolve it first, so that what was looked at is what is granted.
    /// A launch fails with [`Step::OpenGrant`](crate::Step::OpenGrant) otherwise.
    #[must_use]
    pub fn grant(mut self, source: impl Into<PathBuf>, target: impl Into<PathBuf>, access: Access) -> Self {
        let mode = match access {
            Access::Read => Mode::Read,
            Access::Write => Mode::Write,
        };
        self.grants.push(Grant { source: Some(source.into()), target: target.into(), mode });
        self
    }

    /// Grants a regular file that is open already, to be read at `target`: this very file, whatever its path leads to
    /// by now.
    ///
    /// The file must still have a name, and where the host is not root the one that it has moved to must be reachable,
    /// or the launch fails with [`Step::OpenGrant`](crate::Step::OpenGrant); it never becomes another file.
    #[must_use]
    pub fn grant_open(mut self, file: impl Into<OwnedFd>, target: impl Into<PathBuf>) -> Self {
        self.open.push(Arc::new(file.into()));
        self.grants.push(Grant { source: None, target: target.into(), mode: Mode::Read });
        self
    }

    /// Shows the folder `lower` at `target`; the child can write there, and `lower` stays as it is.
    ///
    /// `upper` is a folder of the caller's own for this one run. What was written is in its folder `changes` afterwards,
    /// in the form of Linux's overlayfs: new and changed files whole, a removed name as a character device 0:0, a
    /// replaced folder with the attribute `user.overlay.opaque`. All of it is as hostile as what wrote it.
    #[must_use]
    pub fn overlay(
        mut self,
        lower: impl Into<PathBuf>,
        upper: impl Into<PathBuf>,
        target: impl Into<PathBuf>,
    ) -> Self {
        let mode = Mode::Overlay { upper: upper.into() };
        self.grants.push(Grant { source: Some(lower.into()), target: target.into(), mode });
        self
    }

    /// A place of the host that no grant may make writable: where the host keeps its state, settings, snapshots.
    #[must_use]
    pub fn protect(mut self, place: impl Into<PathBuf>) -> Self {
        self.protected.push(place.into());
        self
    }

    /// How long the child may take to leave after it was asked to.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// The cap on each output stream, and what happens beyond it.
    #[must_use]
    pub fn output(mut self, bytes_max: usize, on_excess: OnExcess) -> Self {
        self.output_bytes_max = bytes_max;
        self.on_excess = on_excess;
        self
    }

    /// The weakest level that will do. Below it nothing is started.
    #[must_use]
    pub fn floor(mut self, floor: crate::Level) -> Self {
        self.floor = floor;
        self
    }

    /// Checks the whole.
    ///
    /// # Errors
    /// [`ProfileError`].
    pub fn build(self) -> Result<Profile, ProfileError> {
        self.limits.check()?;
        if self.wall.is_zero() || self.wall > WALL_MAX {
            return Err(ProfileError::Limit("wall"));
        }
        if self.grace > GRACE_MAX {
            return Err(ProfileError::Limit("grace"));
        }
        if self.output_bytes_max == 0 || self.output_bytes_max > OUTPUT_BYTES_MAX {
            return Err(ProfileError::Limit("output_bytes_max"));
        }
        check_inside(&self.program)?;
        check_inside(&self.directory)?;
        if self.grants.len() > GRANTS_MAX {
            return Err(ProfileError::Limit("grants"));
        }
        check_grants(&self.grants, &self.program, &self.protected)?;
        let text = |bytes: Vec<u8>, what| CString::new(bytes).map_err(|_| ProfileError::Nul(what));
        let mut environment = Vec::with_capacity(self.environment.len());
        for (name, value) in self.environment {
            if name.is_empty() || name.contains(&b'=') {
                return Err(ProfileError::Variable);
            }
            environment.push(text([name.as_slice(), b"=", value.as_slice()].concat(), "a variable")?);
        }
        let arguments = self.arguments.into_iter().map(|argument| text(argument, "an argument"));
        Ok(Profile {
            program: text(self.program.into_os_string().as_bytes().to_vec(), "the program")?,
            arguments: arguments.collect::<Result<_, _>>()?,
            environment,
            directory: text(self.directory.into_os_string().as_bytes().to_vec(), "the directory")?,
            grants: self.grants,
            open: self.open,
            limits: self.limits,
            wall: self.wall,
            grace: self.grace,
            output_bytes_max: self.output_bytes_max,
            on_excess: self.on_excess,
            floor: self.floor,
        })
    }
}

impl Limits {
    fn check(self) -> Result<(), ProfileError> {
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
            // Two are the sandbox's own.
            ("processes", processes, 3, 65_536),
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

fn check_inside(path: &Path) -> Result<(), ProfileError> {
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if path.is_absolute() && plain { Ok(()) } else { Err(ProfileError::Path(path.to_path_buf())) }
}

fn check_grants(grants: &[Grant], program: &Path, protected: &[PathBuf]) -> Result<(), ProfileError> {
    for (index, grant) in grants.iter().enumerate() {
        check_inside(&grant.target)?;
        for source in grant.source.iter().chain(grant.written()).chain(protected) {
            // Two paths can be compared only if each is written in one way.
            check_inside(source)?;
        }
        let reserved = RESERVED.iter().any(|place| overlap(Path::new(place), &grant.target));
        if reserved || grant.target == Path::new("/") {
            return Err(ProfileError::Reserved(grant.target.clone()));
        }
        if grants[..index].iter().any(|other| overlap(&other.target, &grant.target)) {
            return Err(ProfileError::Overlap(grant.target.clone()));
        }
        check_writable(grant, &grants[..index], &grants[index + 1..], program, protected)?;
    }
    Ok(())
}

/// What the child writes is nothing that it, or somebody else, runs or relies on.
fn check_writable(
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
/// Where the host's programs are.
const PROGRAMS: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc"];
/// The least that a profile may have.
pub(crate) const PROBE_PROCESSES: u64 = 3;
/// So many fit into one message, which holds 253 descriptors: five, and two for each.
pub(crate) const GRANTS_MAX: usize = 100;
const WALL_MAX: Duration = Duration::from_hours(24);
const GRACE_MAX: Duration = Duration::from_mins(1);
const OUTPUT_BYTES_MAX: usize = 64 << 20;

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
