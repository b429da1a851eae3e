//! What host, launcher and init say to each other: small, framed by their own lengths, bounded.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::profile::{Grant, Limits, Mode};

/// A run, as the launcher gets it: the part of a profile that the child needs. The rest stays with the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The program; empty for a probe, which goes through every step and then leaves instead of executing one.
    pub(crate) program: CString,
    pub(crate) arguments: Vec<CString>,
    pub(crate) environment: Vec<CString>,
    pub(crate) directory: CString,
    pub(crate) grants: Vec<Grant>,
    pub(crate) limits: Limits,
    pub(crate) memory_bytes_total: Option<u64>,
}

/// What the launcher found when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    /// Whether children can be made at all, or the step and errno that stopped it.
    pub(crate) ready: Result<(), (Step, i32)>,
    /// The version of Landlock, 0 if there is none.
    pub(crate) landlock_abi: u32,
    /// Whether the memory of all processes of a run can be limited.
    pub(crate) has_groups: bool,
    /// Whether the host is root, so that children are an unused user of the host's.
    pub(crate) is_root: bool,
}

/// What became of a run, from inside out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// The launcher made the child; its process descriptor comes with this.
    Cloned,
    /// The program is running.
    Executed,
    /// A step failed before the program ran.
    Failed { step: Step, errno: i32 },
    /// The program ended by itself, with this code.
    Exited { code: u8 },
    /// The program was ended by this signal.
    Signalled { signal: u8 },
    /// Every process of the sandbox is gone.
    Empty,
}

macro_rules! steps {
    ($( $step:ident $text:literal )*) => {
        /// A step of setting a child up; the number is what travels.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Step { $( #[doc = $text] $step, )* }

        impl Step {
            const ALL: &'static [Step] = &[ $( Step::$step, )* ];

            /// What was being done.
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$step => $text, )* }
            }
        }
    };
}

steps! {
    Start "starting the launcher"
    LauncherNamespace "giving the launcher namespaces of its own"
    Request "reading the request"
    MemoryGroup "limiting the memory of all processes"
    OpenGrant "opening a granted file or folder"
    IdMap "showing a granted folder through an id map"
    Clone "making the namespaces"
    MapIds "mapping user and group"
    Identity "taking the sandbox's identity"
    HostName "naming the host"
    Base "laying out the base of all roots"
    Propagation "making mounts private"
    Temporary "mounting the temporary folders"
    Proc "mounting proc"
    Grant "mounting a granted file or folder"
    Fork "starting the program's process"
    Session "starting a session"
    Directory "entering the current folder"
    Limits "setting limits that are always there"
    FileLimit "setting the limit of a file's size"
    OpenFilesLimit "setting the limit of open files"
    ProcessesLimit "setting the limit of processes"
    MemoryLimit "setting the limit of memory"
    CpuLimit "setting the limit of processor time"
    ProcessLimit "trying the limit of processes"
    InnerNamespace "entering the inner user namespace"
    Privileges "giving up privileges"
    Landlock "setting up Landlock"
    Descriptors "closing descriptors"
    Seccomp "loading the system call filter"
    Execute "executing the program"
}

/// Bytes of a request, at most.
pub(crate) const REQUEST_BYTES_MAX: usize = 1 << 20;
/// Bytes of a hello.
pub(crate) const HELLO_BYTES: usize = 12;
/// Bytes of a record.
pub(crate) const RECORD_BYTES: usize = 8;

impl Record {
    pub(crate) fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let (kind, small, errno) = match self {
            Self::Cloned => (1, 0, 0),
            Self::Executed => (2, 0, 0),
            Self::Failed { step, errno } => (3, step as u8, errno),
            Self::Exited { code } => (4, code, 0),
            Self::Signalled { signal } => (5, signal, 0),
            Self::Empty => (6, 0, 0),
        };
        let [a, b, c, d] = errno.to_le_bytes();
        [kind, small, 0, 0, a, b, c, d]
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [kind, small, 0, 0, a, b, c, d] = *<&[u8; RECORD_BYTES]>::try_from(bytes).ok()? else {
            return None;
        };
        Some(match kind {
            1 => Self::Cloned,
            2 => Self::Executed,
            3 => Self::Failed {
                step: *Step::ALL.get(usize::from(small))?,
                errno: i32::from_le_bytes([a, b, c, d]),
            },
            4 => Self::Exited { code: small },
            5 => Self::Signalled { signal: small },
            6 => Self::Empty,
            _ => return None,
        })
    }
}

impl Hello {
    pub(crate) fn to_bytes(self) -> [u8; HELLO_BYTES] {
        let (failed, step, errno) = match self.ready {
            Ok(()) => (0, 0, 0),
            Err((step, errno)) => (1, step as u8, errno),
        };
        let mut bytes = [0; HELLO_BYTES];
        bytes[..4].copy_from_slice(&[failed, step, u8::from(self.is_root), u8::from(self.has_groups)]);
        bytes[4..8].copy_from_slice(&errno.to_le_bytes());
        bytes[8..].copy_from_slice(&self.landlock_abi.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<4>()?;
        let (errno, abi) = rest.split_first_chunk::<4>()?;
        let [failed, step, is_root, has_groups] = *head;
        let ready = match failed {
            0 => Ok(()),
            1 => Err((*Step::ALL.get(usize::from(step))?, i32::from_le_bytes(*errno))),
            _ => return None,
        };
        let landlock_abi = u32::from_le_bytes(abi.try_into().ok()?);
        Some(Self { ready, landlock_abi, has_groups: has_groups == 1, is_root: is_root == 1 })
    }
}

/// What one run was given stays in nobody's memory: children are copies of the launcher.
impl Drop for Request {
    fn drop(&mut self) {
        let texts = [std::mem::take(&mut self.arguments), std::mem::take(&mut self.environment)];
        let single = [std::mem::take(&mut self.program), std::mem::take(&mut self.directory)];
        for text in texts.into_iter().flatten().chain(single) {
            wipe(text.into_bytes());
        }
        for Grant { source, target, mode } in self.grants.drain(..) {
            let upper = if let Mode::Overlay { upper } = mode { Some(upper) } else { None };
            for path in source.into_iter().chain([target]).chain(upper) {
                wipe(path.into_os_string().into_vec());
            }
        }
    }
}

/// Overwrites bytes before their memory goes back.
pub(crate) fn wipe(mut bytes: Vec<u8>) {
    bytes.fill(0);
    // The compiler must not take the memory for unused.
    std::hint::black_box(&mut bytes);
}

impl Request {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Writer(Vec::new());
        bytes.text(self.program.as_bytes());
        bytes.texts(self.arguments.iter().map(CString::as_bytes));
        bytes.texts(self.environment.iter().map(CString::as_bytes));
        bytes.text(self.directory.as_bytes());
        bytes.number(self.grants.len() as u64);
        for grant in &self.grants {
            bytes.path(grant.source.as_deref());
            bytes.path(Some(&grant.target));
            let (mode, upper) = match &grant.mode {
                Mode::Read => (0, None),
                Mode::Write => (1, None),
                Mode::Overlay { upper } => (2, Some(upper.as_path())),
            };
            bytes.number(mode);
            bytes.path(upper);
        }
        self.limits.to_array().into_iter().for_each(|limit| bytes.number(limit));
        // No limit is as small as zero.
        bytes.number(self.memory_bytes_total.unwrap_or(0));
        bytes.0
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Reader(bytes);
        let request = Self {
            program: bytes.c_string()?,
            arguments: bytes.c_strings()?,
            environment: bytes.c_strings()?,
            directory: bytes.c_string()?,
            grants: (0..bytes.number()?).map(|_| bytes.grant()).collect::<Option<_>>()?,
            limits: bytes.limits()?,
            memory_bytes_total: Some(bytes.number()?).filter(|bytes| *bytes > 0),
        };
        bytes.0.is_empty().then_some(request)
    }
}

impl Limits {
    fn to_array(self) -> [u64; 7] {
        [
            self.cpu_seconds,
            self.memory_bytes_per_process,
            self.processes,
            self.file_bytes,
            self.open_files,
            self.temporary_bytes,
            self.temporary_files,
        ]
    }

    fn from_array(limits: [u64; 7]) -> Self {
        let [
            cpu_seconds,
            memory_bytes_per_process,
            processes,
            file_bytes,
            open_files,
            temporary_bytes,
            temporary_files,
        ] = limits;
        Self {
            cpu_seconds,
            memory_bytes_per_process,
            processes,
            file_bytes,
            open_files,
            temporary_bytes,
            temporary_files,
        }
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text);
    }

    /// No path is an empty one.
    fn path(&mut self, path: Option<&Path>) {
        self.text(path.map_or(&[], |path| path.as_os_str().as_bytes()));
    }

    fn texts<'t>(&mut self, texts: impl ExactSizeIterator<Item = &'t [u8]>) {
        self.number(texts.len() as u64);
        texts.for_each(|text| self.text(text));
    }
}

struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn text(&mut self) -> Option<Vec<u8>> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        // With room for the NUL: growing would leave a copy behind that nobody wipes.
        let mut owned = Vec::with_capacity(length + 1);
        owned.extend_from_slice(text);
        Some(owned)
    }

    fn path(&mut self) -> Option<PathBuf> {
        Some(PathBuf::from(OsString::from_vec(self.text()?)))
    }

    fn c_string(&mut self) -> Option<CString> {
        CString::new(self.text()?).ok()
    }

    fn c_strings(&mut self) -> Option<Vec<CString>> {
        (0..self.number()?).map(|_| self.c_string()).collect()
    }

    fn limits(&mut self) -> Option<Limits> {
        let mut limits = [0; 7];
        for limit in &mut limits {
            *limit = self.number()?;
        }
        Some(Limits::from_array(limits))
    }

    fn grant(&mut self) -> Option<Grant> {
        let given = |path: PathBuf| (!path.as_os_str().is_empty()).then_some(path);
        let (source, target) = (given(self.path()?), self.path()?);
        let mode = match (self.number()?, given(self.path()?)) {
            (0, None) => Mode::Read,
            (1, None) => Mode::Write,
            (2, Some(upper)) => Mode::Overlay { upper },
            _ => return None,
        };
        Some(Grant { source, target, mode })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
            program: c"/bin/sh".to_owned(),
            arguments: vec![c"-c".to_owned(), c"".to_owned()],
            environment: vec![c"A=b".to_owned()],
            directory: c"/tmp".to_owned(),
            grants: vec![
                Grant { source: Some("/a".into()), target: "/b".into(), mode: Mode::Write },
                Grant { source: None, target: "/c".into(), mode: Mode::Read },
                Grant {
                    source: Some("/d".into()),
                    target: "/e".into(),
                    mode: Mode::Overlay { upper: "/f".into() },
                },
            ],
            limits: Limits::from_array([1, 2, 3, 4, 5, 6, 7]),
            memory_bytes_total: Some(8),
        }
    }

    #[test]
    fn requests_come_back() {
        let bytes = request().to_bytes();
        assert_eq!(Request::from_bytes(&bytes), Some(request()));
        for end in 0..bytes.len() {
            assert_eq!(Request::from_bytes(&bytes[..end]), None, "cut at {end}");
        }
        assert_eq!(Request::from_bytes(&[bytes, vec![0]].concat()), None);
    }

    #[test]
    fn hellos_come_back() {
        for ready in [Ok(()), Err((Step::Proc, 1)), Err((Step::LauncherNamespace, 28))] {
            let hello = Hello { ready, landlock_abi: 9, has_groups: ready.is_err(), is_root: ready.is_ok() };
            assert_eq!(Hello::from_bytes(&hello.to_bytes()), Some(hello));
        }
        assert_eq!(Hello::from_bytes(&[2; HELLO_BYTES]), None);
        assert_eq!(Hello::from_bytes(&[]), None);
    }

    #[test]
    fn records_come_back() {
        let failed = Step::ALL.iter().map(|step| Record::Failed { step: *step, errno: -7 });
        let others = [
            Record::Cloned,
            Record::Executed,
            Record::Exited { code: 255 },
            Record::Signalled { signal: 9 },
            Record::Empty,
        ];
        for record in failed.chain(others) {
            assert_eq!(Record::from_bytes(&record.to_bytes()), Some(record));
        }
        assert_eq!(Record::from_bytes(&[0; RECORD_BYTES]), None);
        assert_eq!(Record::from_bytes(&[3, 255, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(Record::from_bytes(&[]), None);
    }
}
