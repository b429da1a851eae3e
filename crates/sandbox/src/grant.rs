//! What is granted, opened by the launcher among the host's files.

use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Statx, StatxFlags};
use rustix::io::Errno;

use crate::mount::{self, Failure, NEVER, READ_ONLY};
use crate::profile::{Grant, Mode as GrantMode};
use crate::socket::Message;
use crate::sys::mount::{MountAttributes, set_attributes};
use crate::wire::Step;

/// A granted file or folder, opened and attached nowhere.
pub(crate) struct OpenGrant {
    /// Where the child sees it.
    pub(crate) target: PathBuf,
    pub(crate) is_directory: bool,
    pub(crate) opened: Opened,
}

pub(crate) enum Opened {
    Tree(OwnedFd),
    /// Two folders of the host; `upper` holds `changes` and `work`.
    Overlay {
        lower: OwnedFd,
        upper: OwnedFd,
    },
}

impl OpenGrant {
    /// Puts together what was asked for and what the launcher opened for it.
    pub(crate) fn all(grants: &[Grant], Message { bytes, fds }: Message) -> Option<Vec<Self>> {
        let (mut kinds, mut fds) = (bytes.into_iter(), fds.into_iter());
        let mut open = |grant: &Grant| {
            let is_directory = is_directory(kinds.next()?);
            let first = fds.next()?;
            let opened = match grant.mode {
                GrantMode::Read | GrantMode::Write => Opened::Tree(first),
                GrantMode::Overlay { .. } => Opened::Overlay { lower: first, upper: fds.next()? },
            };
            Some(Self { target: grant.target.clone(), is_directory, opened })
        };
        let all = grants.iter().map(&mut open).collect::<Option<Vec<_>>>()?;
        fds.next().is_none().then_some(all)
    }
}

/// The name of a grant in the root, and whether it needs a folder there; `None` if every root has that place.
pub(crate) fn top(grant: &Grant, is_directory: bool) -> Option<(Vec<u8>, bool)> {
    let mut parts = grant.target.components().skip(1);
    let name = parts.next()?.as_os_str().as_bytes().to_vec();
    // The child's own, in every root.
    (name != b"tmp").then(|| (name, is_directory || parts.next().is_some()))
}

/// Whether the byte that came with a grant says that it is a folder.
pub(crate) fn is_directory(byte: u8) -> bool {
    byte == DIRECTORY
}

/// How files of the host are opened.
pub(crate) struct Opener<'l> {
    /// For a root host: shows root's files as the child's own.
    pub(crate) id_map: Option<&'l OwnedFd>,
}

impl Opener<'_> {
    /// Opens every grant: for each a byte that tells files from folders, and one mount or two. `open` are the files that
    /// the host has open.
    pub(crate) fn open_all(&self, grants: &[Grant], open: Vec<OwnedFd>) -> Result<Message, Failure> {
        let mut all = Message::default();
        let mut open = open.into_iter();
        for grant in grants {
            let (file, is_directory) = match &grant.source {
                Some(path) => open_path(path),
                None => open.next().ok_or(Errno::PROTO).and_then(|file| self.same_file(file)),
            }
            .map_err(|errno| (Step::OpenGrant, errno))?;
            all.bytes.push(if is_directory { DIRECTORY } else { FILE });
            match &grant.mode {
                // Nobody knows by which path it can be written, so it is no program.
                GrantMode::Read if grant.source.is_none() => {
                    all.fds.push(self.tree(&file, NEVER | READ_ONLY | libc::MOUNT_ATTR_NOEXEC)?);
                }
                GrantMode::Read => all.fds.push(self.tree(&file, NEVER | READ_ONLY)?),
                // What the child can write it cannot run.
                GrantMode::Write => all.fds.push(self.tree(&file, NEVER | libc::MOUNT_ATTR_NOEXEC)?),
                GrantMode::Overlay { upper } => {
                    let upper = open_layers(upper, &file).map_err(|errno| (Step::OpenGrant, errno))?;
                    all.fds.extend([self.tree(&file, NEVER | READ_ONLY)?, self.tree(&upper, NEVER)?]);
                }
            }
        }
        Ok(all)
    }

    fn tree(&self, file: &OwnedFd, attributes: u64) -> Result<OwnedFd, Failure> {
        let mount = mount::copy_of(file).map_err(|errno| (Step::OpenGrant, errno))?;
        mount::set_alone(&mount, attributes).map_err(|errno| (Step::OpenGrant, errno))?;
        if let Some(id_map) = self.id_map {
            let attributes =
                MountAttributes { set: 0, propagation: 0, id_map: Some(id_map.as_fd()), recursive: true };
            set_attributes(&mount, attributes).map_err(|errno| (Step::IdMap, errno))?;
        }
        Ok(mount)
    }

    /// The very file that the host has open, in our own view of the host's files.
    ///
    /// A launcher without privilege sees the host's files through mounts of its own, and the kernel lets it copy only
    /// those. So it looks the file up again, and takes it only if it is the same one, which nobody can fake while the
    /// descriptor keeps the file from being replaced by another of the same number.
    pub(crate) fn same_file(&self, descriptor: OwnedFd) -> Result<(OwnedFd, bool), Errno> {
        let wanted = identity(&descriptor)?;
        if !FileType::from_raw_mode(wanted.stx_mode.into()).is_file() {
            return Err(Errno::INVAL);
        }
        // Without a name it cannot be mounted.
        if wanted.stx_nlink == 0 {
            return Err(Errno::STALE);
        }
        if self.id_map.is_some() {
            return Ok((descriptor, false));
        }
        let (file, is_directory) = open_path(&path_of(&descriptor)?)?;
        let found = identity(&file)?;
        let same = |a: &Statx, b: &Statx| {
            (a.stx_dev_major, a.stx_dev_minor, a.stx_ino, a.stx_btime.tv_sec, a.stx_btime.tv_nsec)
                == (b.stx_dev_major, b.stx_dev_minor, b.stx_ino, b.stx_btime.tv_sec, b.stx_btime.tv_nsec)
        };
        if same(&wanted, &found) { Ok((file, is_directory)) } else { Err(Errno::STALE) }
    }
}

/// Where an open file is by now.
pub(crate) fn path_of(file: &OwnedFd) -> Result<PathBuf, Errno> {
    let path = rustix::fs::readlink(format!("/proc/self/fd/{}", file.as_raw_fd()), Vec::new())?;
    Ok(PathBuf::from(std::ffi::OsStr::from_bytes(path.as_bytes())))
}

/// Opens a file or folder. No part of its path may be a link: what a person looked at is what is opened, and a path that
/// was checked means one place.
pub(crate) fn open_path(path: &Path) -> Result<(OwnedFd, bool), Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
    if kind.is_dir() || kind.is_file() { Ok((file, kind.is_dir())) } else { Err(Errno::INVAL) }
}

fn open_layers(upper: &Path, lower: &OwnedFd) -> Result<OwnedFd, Errno> {
    let (upper, is_directory) = open_path(upper)?;
    let lower = rustix::fs::fstat(lower)?.st_mode;
    if !FileType::from_raw_mode(lower).is_dir() || !is_directory {
        return Err(Errno::NOTDIR);
    }
    for name in ["changes", "work"] {
        // A run of its own: leftovers of another would be taken for changes of this one.
        rustix::fs::mkdirat(&upper, name, Mode::from_raw_mode(0o700))?;
    }
    // The mode of the top is that of this layer.
    rustix::fs::chmodat(&upper, "changes", Mode::from_raw_mode(lower & 0o777), AtFlags::empty())?;
    Ok(upper)
}

fn identity(file: &OwnedFd) -> Result<Statx, Errno> {
    rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | StatxFlags::BTIME)
}

const FILE: u8 = 0;
const DIRECTORY: u8 = 1;
