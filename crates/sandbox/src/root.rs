//! The child's file system: a small tree of its own, attached from descriptors so that no path is looked up twice.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, move_mount, open_tree, unmount,
};

use crate::profile::{Access, Grant, Limits};
use crate::sys::mount::{MountAttributes, set_attributes};
use crate::wire::Step;

/// A step and why it failed.
pub(crate) type Failure = (Step, Errno);

/// A granted file or folder, opened by the launcher and not attached anywhere.
pub(crate) struct OpenGrant {
    pub(crate) grant: Grant,
    pub(crate) mount: OwnedFd,
    pub(crate) is_directory: bool,
}

/// Opens what is granted, in the launcher's view of the host.
///
/// The last component of a source may not be a link: a link could be pointed elsewhere between a person's look and this
/// one. `id_map` is set where the host is root, so that root's files can be used as the child's own.
pub(crate) fn open_grant(grant: Grant, id_map: Option<&OwnedFd>) -> Result<OpenGrant, Failure> {
    let at = |step| move |errno| (step, errno);
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(&grant.source, flags, Mode::empty()).map_err(at(Step::OpenGrant))?;
    let stat = rustix::fs::fstat(&file).map_err(at(Step::OpenGrant))?;
    let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
    if !kind.is_dir() && !kind.is_file() {
        return Err((Step::OpenGrant, Errno::INVAL));
    }
    let tree = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let mount = open_tree(&file, c"", tree).map_err(at(Step::OpenGrant))?;
    let never = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    let set = match grant.access {
        Access::Read => never | libc::MOUNT_ATTR_RDONLY,
        // What the child can write it cannot run.
        Access::Write => never | libc::MOUNT_ATTR_NOEXEC,
    };
    let attributes = MountAttributes { set, propagation: 0, id_map: None, recursive: true };
    set_attributes(&mount, attributes).map_err(at(Step::OpenGrant))?;
    if let Some(id_map) = id_map {
        let attributes =
            MountAttributes { set: 0, propagation: 0, id_map: Some(id_map.as_fd()), recursive: true };
        set_attributes(&mount, attributes).map_err(at(Step::IdMap))?;
    }
    Ok(OpenGrant { grant, mount, is_directory: kind.is_dir() })
}

/// Builds the root and enters it; the host's tree is gone afterwards. For pid 1 of new namespaces.
pub(crate) fn enter(grants: &[OpenGrant], limits: Limits) -> Result<(), Failure> {
    let at = |step| move |errno| (step, errno);
    let host_root = rustix::fs::open("/", DIRECTORY, Mode::empty()).map_err(at(Step::Propagation))?;
    let private = MountAttributes { set: 0, propagation: libc::MS_PRIVATE, id_map: None, recursive: true };
    set_attributes(&host_root, private).map_err(at(Step::Propagation))?;

    let root =
        tmpfs(ROOT_BYTES, ROOT_FILES, "0755", MountAttrFlags::MOUNT_ATTR_NODEV).map_err(at(Step::Root))?;
    // Attached over the host's root for us alone: mounts can only be added to a tree that is attached.
    attach(&root, CWD, "/").map_err(at(Step::Root))?;
    system(&root).map_err(at(Step::Root))?;
    temporary(&root, limits).map_err(at(Step::Temporary))?;
    proc(&root).map_err(at(Step::Proc))?;
    for grant in grants {
        place(&root, grant).map_err(at(Step::Grant))?;
    }
    let read_only =
        MountAttributes { set: libc::MOUNT_ATTR_RDONLY, propagation: 0, id_map: None, recursive: false };
    set_attributes(&root, read_only).map_err(at(Step::Root))?;
    pivot(&root).map_err(at(Step::PivotRoot))
}

/// The host's programs and libraries, read-only, and just enough of `/etc` and `/dev`.
fn system(root: &OwnedFd) -> Result<(), Errno> {
    rustix::fs::mkdirat(root, "usr", DIRECTORY_MODE)?;
    bind(root, "/usr", "usr", libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV)?;
    for name in ["bin", "sbin", "lib", "lib64", "lib32"] {
        // Links into /usr on most systems; a folder of its own on others.
        match rustix::fs::readlink(format!("/{name}"), Vec::new()) {
            Ok(target) => rustix::fs::symlinkat(target, root, name)?,
            Err(Errno::INVAL) => {
                rustix::fs::mkdirat(root, name, DIRECTORY_MODE)?;
                let attributes = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
                bind(root, &format!("/{name}"), name, attributes)?;
            }
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
    }
    rustix::fs::mkdirat(root, "etc", DIRECTORY_MODE)?;
    for (name, content) in ETC {
        write_file(root, name, content.as_bytes())?;
    }
    for name in ["etc/ld.so.cache", "etc/alternatives", "etc/localtime"] {
        bind_if_there(root, name)?;
    }
    rustix::fs::mkdirat(root, "dev", DIRECTORY_MODE)?;
    for name in ["dev/null", "dev/zero", "dev/full", "dev/random", "dev/urandom"] {
        write_file(root, name, b"")?;
        bind(root, &format!("/{name}"), name, libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC)?;
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        rustix::fs::symlinkat(target, root, format!("dev/{name}"))?;
    }
    Ok(())
}

fn temporary(root: &OwnedFd, limits: Limits) -> Result<(), Errno> {
    for name in ["tmp", "dev/shm"] {
        rustix::fs::mkdirat(root, name, DIRECTORY_MODE)?;
        let flags = MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let mount = tmpfs(limits.temporary_bytes, limits.temporary_files + 1, "01777", flags)?;
        attach(&mount, root, name)?;
    }
    Ok(())
}

/// Shows the sandbox's own processes and nothing of the machine.
fn proc(root: &OwnedFd) -> Result<(), Errno> {
    rustix::fs::mkdirat(root, "proc", DIRECTORY_MODE)?;
    let context = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, "subset", "pid")?;
    fsconfig_create(&context)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)?;
    attach(&mount, root, "proc")
}

/// Makes the place for a grant and attaches it there.
fn place(root: &OwnedFd, open: &OpenGrant) -> Result<(), Errno> {
    let target = open.grant.target.strip_prefix("/").unwrap_or(&open.grant.target);
    let parts: Vec<_> = target.components().filter(|part| matches!(part, Component::Normal(_))).collect();
    for end in 1..=parts.len() {
        let path: std::path::PathBuf = parts[..end].iter().collect();
        let is_last = end == parts.len();
        let made = if is_last && !open.is_directory {
            rustix::fs::openat(root, &path, OFlags::CREATE | OFlags::CLOEXEC | OFlags::WRONLY, FILE_MODE)
                .map(drop)
        } else {
            rustix::fs::mkdirat(root, &path, DIRECTORY_MODE)
        };
        match made {
            Err(Errno::EXIST) => {}
            made => made?,
        }
    }
    move_mount(&open.mount, c"", root, target, FROM_DESCRIPTOR)
}

fn pivot(root: &OwnedFd) -> Result<(), Errno> {
    rustix::process::fchdir(root)?;
    rustix::process::pivot_root(c".", c".")?;
    // The host's root now lies over ours.
    unmount(c".", UnmountFlags::DETACH)?;
    rustix::process::chdir(c"/")
}

fn tmpfs(bytes: u64, files: u64, mode: &str, flags: MountAttrFlags) -> Result<OwnedFd, Errno> {
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&context, "size", bytes.to_string())?;
    fsconfig_set_string(&context, "nr_inodes", files.to_string())?;
    fsconfig_set_string(&context, "mode", mode)?;
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)
}

fn attach(mount: &OwnedFd, to: impl AsFd, path: impl AsRef<Path>) -> Result<(), Errno> {
    move_mount(mount, c"", to, path.as_ref(), FROM_DESCRIPTOR)
}

/// Shows a file or folder of the host at a place that is there already.
fn bind(root: &OwnedFd, source: &str, target: &str, attributes: u64) -> Result<(), Errno> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    let mount = open_tree(CWD, source, flags)?;
    set_attributes(
        &mount,
        MountAttributes { set: attributes, propagation: 0, id_map: None, recursive: true },
    )?;
    attach(&mount, root, target)
}

fn bind_if_there(root: &OwnedFd, name: &str) -> Result<(), Errno> {
    let source = format!("/{name}");
    let stat = match rustix::fs::statat(CWD, &source, AtFlags::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        stat => stat?,
    };
    if rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir() {
        rustix::fs::mkdirat(root, name, DIRECTORY_MODE)?;
    } else {
        write_file(root, name, b"")?;
    }
    let attributes =
        libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOEXEC;
    bind(root, &source, name, attributes)
}

fn write_file(root: &OwnedFd, name: &str, content: &[u8]) -> Result<(), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(root, name, flags, FILE_MODE)?;
    let mut rest = content;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = &rest[written..];
    }
    Ok(())
}

/// Who the child is, and that no name can be looked up.
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

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const FROM_DESCRIPTOR: MoveMountFlags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o755);
const FILE_MODE: Mode = Mode::from_raw_mode(0o644);
const ROOT_BYTES: u64 = 4 << 20;
const ROOT_FILES: u64 = 4096;
