//! The part of a child's files that is the same for all: the host's programs, a synthetic `/etc`, a minimal `/dev`.
//!
//! Laid out once, as the root of a mount namespace that the zygote lives in. A child's namespace is a copy of it, of a
//! handful of mounts, however many the host has, and nothing is left to be built but what is the child's own.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::mount::{self, DATA, Failure, NEVER, READ_ONLY};
use crate::sys::process::unshare;
use crate::wire::Step;

/// The zygote's mount namespaces. Their roots differ only in the empty places at the top that grants will cover, so that
/// a child sees no trace of what another was granted.
pub(crate) struct Views {
    /// The one we are in is the last.
    all: Vec<(Top, OwnedFd)>,
}

/// Names in the root that are not the sandbox's own, and whether each is a folder.
pub(crate) type Top = BTreeMap<Vec<u8>, bool>;

impl Views {
    /// Lays out a root and enters it, leaving the host's files behind.
    pub(crate) fn enter() -> Result<Self, Failure> {
        mount::make_private("/").map_err(|errno| (Step::Propagation, errno))?;
        let at_base = |errno| (Step::Base, errno);
        let root = new_root(&Top::new()).map_err(at_base)?;
        settings(&root).map_err(at_base)?;
        devices(&root).map_err(at_base)?;
        // The kernel gives a fresh proc only to who can see one already; this one shows the zygote and its children.
        let proc =
            mount::filesystem("proc", &[("subset", "pid")], DATA).map_err(|errno| (Step::Proc, errno))?;
        mount::attach(&proc, &root, "proc").map_err(|errno| (Step::Proc, errno))?;
        mount::set(&root, READ_ONLY, false).and_then(|()| mount::pivot(&root)).map_err(at_base)?;
        Ok(Self { all: vec![(Top::new(), current().map_err(at_base)?)] })
    }

    /// Enters the view that has these places, and no others.
    pub(crate) fn choose(&mut self, top: &Top) -> Result<(), Errno> {
        match self.all.iter().position(|(known, _)| known == top) {
            Some(place) if place + 1 == self.all.len() => return Ok(()),
            Some(place) => {
                let view = self.all.remove(place);
                self.all.push(view);
            }
            None => {
                let view = another(top)?;
                if self.all.len() == VIEWS_MAX {
                    self.all.remove(0);
                }
                self.all.push((top.clone(), view));
            }
        }
        let (_, view) = self.all.last().ok_or(Errno::NOENT)?;
        move_into_link_name_space(view.as_fd(), Some(LinkNameSpaceType::Mount))
    }
}

/// A view made from the current one, which is left.
fn another(top: &Top) -> Result<OwnedFd, Errno> {
    unshare(libc::CLONE_NEWNS)?;
    let root = new_root(top)?;
    for name in ["etc", "dev", "proc"] {
        mount::bind(&root, &format!("/{name}"), name, 0)?;
    }
    mount::set(&root, READ_ONLY, false)?;
    mount::pivot(&root)?;
    current()
}

fn current() -> Result<OwnedFd, Errno> {
    rustix::fs::open("/proc/self/ns/mnt", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// A root over the current one with the host's programs, and folders for the rest.
fn new_root(top: &Top) -> Result<OwnedFd, Errno> {
    let root = mount::tmpfs(ROOT_BYTES, ROOT_FILES, "0755", mount::NO_DEVICES)?;
    // Mounts can only be added to a tree that is attached.
    mount::attach(&root, CWD, "/")?;
    programs(&root)?;
    for name in ["etc", "dev", "proc", "tmp"] {
        mount::directory(&root, name)?;
    }
    for (name, is_directory) in top {
        if *is_directory {
            mount::directory(&root, name.as_slice())?;
        } else {
            mount::file(&root, name.as_slice(), b"")?;
        }
    }
    Ok(root)
}

/// The host's programs and libraries, read-only.
fn programs(root: &OwnedFd) -> Result<(), Errno> {
    mount::directory(root, "usr")?;
    mount::bind(root, "/usr", "usr", READ_ONLY | NEVER)?;
    for name in OUTSIDE_USR {
        // Links into /usr on most systems; a folder of its own on others.
        match rustix::fs::readlink(format!("/{name}"), Vec::new()) {
            Ok(target) => rustix::fs::symlinkat(target, root, name)?,
            Err(Errno::INVAL) => {
                mount::directory(root, name)?;
                mount::bind(root, &format!("/{name}"), name, READ_ONLY | NEVER)?;
            }
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Who the child is, that no name can be looked up, and what programs look for to find their libraries and the time.
fn settings(root: &OwnedFd) -> Result<(), Errno> {
    for (name, content) in ETC {
        mount::file(root, name, content.as_bytes())?;
    }
    for name in ["etc/ld.so.cache", "etc/localtime"] {
        if let Some(content) = small_file(&format!("/{name}"))? {
            mount::file(root, name, &content)?;
        }
    }
    let alternatives = match rustix::fs::open("/etc/alternatives", DIRECTORY, Mode::empty()) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
        opened => opened?,
    };
    mount::directory(root, "etc/alternatives")?;
    for entry in rustix::fs::Dir::read_from(&alternatives)?.take(ALTERNATIVES_MAX) {
        let entry = entry?;
        if let Ok(target) = rustix::fs::readlinkat(&alternatives, entry.file_name(), Vec::new()) {
            let name = [b"etc/alternatives/", entry.file_name().to_bytes()].concat();
            rustix::fs::symlinkat(target, root, name)?;
        }
    }
    Ok(())
}

/// The content of a regular file; `None` if there is none, or it is too large to be what its name says.
fn small_file(path: &str) -> Result<Option<Vec<u8>>, Errno> {
    let file =
        match rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::NOENT | Errno::ACCESS | Errno::LOOP) => return Ok(None),
            opened => opened?,
        };
    let Stat { st_mode, st_size, .. } = rustix::fs::fstat(&file)?;
    let length = usize::try_from(st_size).unwrap_or(usize::MAX);
    if !FileType::from_raw_mode(st_mode).is_file() || length > SETTING_BYTES_MAX {
        return Ok(None);
    }
    let (mut content, mut filled) = (vec![0; length], 0);
    while filled < length {
        match rustix::io::read(&file, &mut content[filled..])? {
            0 => break,
            more => filled += more,
        }
    }
    content.truncate(filled);
    Ok(Some(content))
}

fn devices(root: &OwnedFd) -> Result<(), Errno> {
    for name in ["dev/null", "dev/zero", "dev/full", "dev/random", "dev/urandom"] {
        mount::file(root, name, b"")?;
        mount::bind(root, &format!("/{name}"), name, libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC)?;
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        // One temporary folder, with one limit.
        ("shm", "/tmp"),
    ] {
        rustix::fs::symlinkat(target, root, format!("dev/{name}"))?;
    }
    Ok(())
}

/// Where programs and libraries are, beside `/usr`.
const OUTSIDE_USR: [&str; 5] = ["bin", "sbin", "lib", "lib64", "lib32"];

const ETC: [(&str, &str); 6] = [
    (
        "etc/passwd",
        "sandbox:x:1000:1000::/tmp:/usr/sbin/nologin\nnobody:x:65534:65534::/:/usr/sbin/nologin\n",
    ),
    ("etc/group", "sandbox:x:1000:\nnogroup:x:65534:\n"),
    ("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    ("etc/hostname", "sandbox\n"),
    ("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    ("etc/resolv.conf", ""),
];
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Hosts grant at few places; a view takes a millisecond to make.
const VIEWS_MAX: usize = 16;
const ROOT_BYTES: u64 = 16 << 20;
const ROOT_FILES: u64 = 8192;
const SETTING_BYTES_MAX: usize = 4 << 20;
const ALTERNATIVES_MAX: usize = 4096;
