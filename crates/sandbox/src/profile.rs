//! What a child may see and do, by value.

mod check;

use std::ffi::{CString, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use check::ProfileError;
use check::{GRACE_MAX, OUTPUT_BYTES_MAX, WALL_MAX};

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
    pub(crate) memory_bytes_total: Option<u64>,
    pub(crate) limits: Limits,
    pub(crate) wall: Duration,
    pub(crate) grace: Duration,
    pub(crate) output_bytes_max: usize,
    pub(crate) errors_bytes_max: usize,
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
    /// Processes and threads of the program alive at once, its first included.
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
    memory_bytes_total: Option<u64>,
    protected: Vec<PathBuf>,
    limits: Limits,
    wall: Duration,
    grace: Duration,
    output_bytes_max: usize,
    errors_bytes_max: usize,
    on_excess: OnExcess,
    floor: crate::Level,
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
            memory_bytes_total: None,
            protected: Vec::new(),
            limits,
            wall,
            grace: Duration::from_secs(1),
            output_bytes_max: 64 << 10,
            errors_bytes_max: 64 << 10,
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
            memory_bytes_total: None,
            limits: Limits {
                cpu_seconds: 1,
                memory_bytes_per_process: 1 << 28,
                processes: 1,
                file_bytes: 1 << 20,
                open_files: 32,
                temporary_bytes: 1 << 20,
                temporary_files: 16,
            },
            wall: Duration::from_secs(1),
            grace: Duration::ZERO,
            output_bytes_max: 1,
            errors_bytes_max: 1,
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

    /// Grants a file or folder of the host at `target`. At most 100 grants of all kinds. Not in a place that is the
    /// sandbox's own; below `/tmp`, which is the child's, only files.
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

    /// Grants a regular file that is open already, to be read at `target` and never run: this very file, whatever its path
    /// leads to by now.
    ///
    /// The file must still have a name, and where the host is not root the one that it has moved to must be reachable,
    /// or the launch fails with [`Step::OpenGrant`](crate::Step::OpenGrant); it never becomes another file.
    #[must_use]
    pub fn grant_open(mut self, file: impl Into<OwnedFd>, target: impl Into<PathBuf>) -> Self {
        self.open.push(Arc::new(file.into()));
        self.grants.push(Grant { source: None, target: target.into(), mode: Mode::Read });
        self
    }

    /// Shows the folder `lower` at `target`; the child can write there, and `lower` stays as it is. A launch fails with
    /// [`Step::Grant`](crate::Step::Grant) if other file systems are mounted below `lower`.
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

    /// Limits the memory of all processes together, files in the temporary folder included, by a control group. Where
    /// that cannot be done the launch is refused with [`SandboxError::NoMemoryTotal`](crate::SandboxError).
    ///
    /// The kernel then kills, by the signal that cannot be caught, whoever asks for more.
    #[must_use]
    pub fn memory_total(mut self, bytes: u64) -> Self {
        self.memory_bytes_total = Some(bytes);
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
        (self.output_bytes_max, self.errors_bytes_max) = (bytes_max, bytes_max);
        self.on_excess = on_excess;
        self
    }

    /// Another cap for standard error than for standard output. To be called after [`output`](Self::output), which sets both.
    #[must_use]
    pub fn errors_at_most(mut self, bytes_max: usize) -> Self {
        self.errors_bytes_max = bytes_max;
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
        if self.errors_bytes_max == 0 || self.errors_bytes_max > OUTPUT_BYTES_MAX {
            return Err(ProfileError::Limit("errors_bytes_max"));
        }
        if self.memory_bytes_total.is_some_and(|bytes| !check::MEMORY_TOTAL.contains(&bytes)) {
            return Err(ProfileError::Limit("memory_total"));
        }
        check::inside(&self.program)?;
        check::inside(&self.directory)?;
        if self.grants.len() > GRANTS_MAX {
            return Err(ProfileError::Limit("grants"));
        }
        check::grants(&self.grants, &self.program, &self.protected)?;
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
            // Written in one way: a slash at the end asks for a folder.
            grants: self
                .grants
                .into_iter()
                .map(|grant| Grant { target: grant.target.components().collect(), ..grant })
                .collect(),
            open: self.open,
            memory_bytes_total: self.memory_bytes_total,
            limits: self.limits,
            wall: self.wall,
            grace: self.grace,
            output_bytes_max: self.output_bytes_max,
            errors_bytes_max: self.errors_bytes_max,
            on_excess: self.on_excess,
            floor: self.floor,
        })
    }
}

/// So many fit into one message, which holds 253 descriptors: five, and two for each.
pub(crate) const GRANTS_MAX: usize = 100;
