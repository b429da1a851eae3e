//! A limit on the memory of all processes of a run together, where the kernel's control groups can be used: as root, or
//! in a group that was delegated with its memory controller. There is no way to make up for it elsewhere, so a run that
//! asks for it is refused there.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

/// Where groups can be made, and those that were.
pub(crate) struct Groups {
    parent: PathBuf,
    files: Files,
    made: u64,
    names: Vec<String>,
}

/// What the limits are called.
#[derive(Clone, Copy)]
struct Files {
    limit: &'static str,
    /// With swap; not every kernel counts it.
    swap: (&'static str, SwapLimit),
    /// What has the kernel end all of a group when one process of it asks for too much.
    together: Option<&'static str>,
}

#[derive(Clone, Copy)]
enum SwapLimit {
    None,
    /// That of memory, which is in it.
    OfBoth,
}

impl Groups {
    /// Finds where this process may make groups, by making one.
    pub(crate) fn find() -> Option<Self> {
        let (parent, files) = own_group()?;
        let mut groups = Self { parent, files, made: 0, names: Vec::new() };
        // By doing: a folder that can be made says nothing about its limit.
        groups.make(PROBE_BYTES).ok()?;
        groups.sweep();
        groups.names.is_empty().then_some(groups)
    }

    /// Makes a group with this limit. Whoever writes `0` to what is returned joins it.
    pub(crate) fn make(&mut self, bytes: u64) -> Result<OwnedFd, Errno> {
        self.sweep();
        self.made += 1;
        let name = format!("fumehood-{}-{}", rustix::process::getpid().as_raw_nonzero(), self.made);
        let path = self.parent.join(&name);
        rustix::fs::mkdir(&path, Mode::from_raw_mode(0o755))?;
        self.names.push(name);
        let bytes = bytes.to_string();
        set(&path, self.files.limit, &bytes)?;
        let (swap, limit) = self.files.swap;
        match set(&path, swap, if let SwapLimit::OfBoth = limit { &bytes } else { "0" }) {
            Err(Errno::NOENT) => {}
            done => done?,
        }
        if let Some(together) = self.files.together {
            set(&path, together, "1")?;
        }
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        rustix::fs::open(path.join("cgroup.procs"), flags, Mode::empty())
    }

    /// Removes the groups that nobody is in any more.
    pub(crate) fn sweep(&mut self) {
        let parent = &self.parent;
        self.names.retain(|name| {
            let removed = rustix::fs::unlinkat(CWD, parent.join(name), AtFlags::REMOVEDIR);
            !matches!(removed, Ok(()) | Err(Errno::NOENT))
        });
    }
}

/// Joins a group, for good.
pub(crate) fn join(group: impl AsFd) -> Result<(), Errno> {
    rustix::io::write(group, b"0").map(drop)
}

fn set(group: &Path, name: &str, value: &str) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(group.join(name), flags, Mode::empty())?;
    rustix::io::write(&file, value.as_bytes()).map(drop)
}

/// The group that this process is in, of the hierarchy that controls memory.
fn own_group() -> Option<(PathBuf, Files)> {
    let groups = read("/proc/self/cgroup").ok()?;
    let mounts = read("/proc/self/mountinfo").ok()?;
    let group_of = |is_wanted: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            is_wanted(controllers).then_some(path)
        })
    };
    if let Some(path) = group_of(&|names| names.split(',').any(|name| name == "memory")) {
        return Some((place(&mounts, "cgroup", "memory", path)?, OLD));
    }
    Some((place(&mounts, "cgroup2", "", group_of(&str::is_empty)?)?, NEW))
}

/// Where a group of a hierarchy is in the tree of files.
fn place(mounts: &str, kind: &str, controller: &str, group: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, filesystem) = line.split_once(" - ")?;
        let (mut mount, mut filesystem) = (mount.split(' ').skip(3), filesystem.split(' '));
        let (root, point) = (mount.next()?, mount.next()?);
        let options = filesystem.clone().nth(2)?;
        let fits = filesystem.next()? == kind
            && (controller.is_empty() || options.split(',').any(|option| option == controller));
        let below = Path::new(group).strip_prefix(root).ok()?;
        fits.then(|| Path::new(point).join(below))
    })
}

fn read(path: &str) -> Result<String, Errno> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut content = Vec::new();
    loop {
        let mut part = [0; 4096];
        match rustix::io::read(&file, &mut part)? {
            0 => return String::from_utf8(content).map_err(|_| Errno::ILSEQ),
            length if content.len() < TABLE_BYTES_MAX => content.extend_from_slice(&part[..length]),
            _ => return Err(Errno::TOOBIG),
        }
    }
}

/// The first version of control groups.
const OLD: Files = Files {
    limit: "memory.limit_in_bytes",
    swap: ("memory.memsw.limit_in_bytes", SwapLimit::OfBoth),
    together: None,
};
/// The second.
const NEW: Files = Files {
    limit: "memory.max",
    swap: ("memory.swap.max", SwapLimit::None),
    together: Some("memory.oom.group"),
};
const PROBE_BYTES: u64 = 64 << 20;
const TABLE_BYTES_MAX: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_below_its_mount() {
        let mounts = "24 1 0:22 / /proc rw - proc proc rw\n\
                      35 30 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
                      36 30 0:32 /docker/x /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let at = |kind, controller, group| place(mounts, kind, controller, group);
        assert_eq!(at("cgroup", "memory", "/a/b"), Some("/sys/fs/cgroup/memory/a/b".into()));
        assert_eq!(at("cgroup", "pids", "/a/b"), None);
        assert_eq!(at("cgroup2", "", "/docker/x/y"), Some("/sys/fs/cgroup/unified/y".into()));
        // A group outside what is mounted is nowhere.
        assert_eq!(at("cgroup2", "", "/elsewhere"), None);
        assert_eq!(at("cgroup2", "", "/"), None);
    }
}
