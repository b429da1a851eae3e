//! The child's own part of its files, over the base that it has from the zygote.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::grant::{OpenGrant, Opened};
use crate::mount::{self, DATA, Failure, READ_ONLY};
use crate::profile::Limits;
use crate::wire::Step;
use crate::zygote::read_file;

/// Adds the temporary folder and the grants. For pid 1 of namespaces that are copies of the zygote's.
pub(crate) fn complete(grants: &[OpenGrant], limits: Limits) -> Result<(), Failure> {
    let temporary = temporary(grants, limits).map_err(|errno| (Step::Temporary, errno))?;
    // While nothing else is in there that could be in the way.
    let overlays = grants.iter().map(overlay_of).collect::<Result<Vec<_>, _>>();
    overlays
        .and_then(|overlays| place_all(grants, &overlays, temporary))
        .map_err(|errno| (Step::Grant, errno))
}

fn temporary(grants: &[OpenGrant], limits: Limits) -> Result<OwnedFd, Errno> {
    // Besides the child's files: the folder itself, what leads to grants in it, and where layers are shown.
    let places: usize = grants.iter().map(|grant| grant.target.components().count()).sum();
    let has_overlay = grants.iter().any(|grant| matches!(grant.opened, Opened::Overlay { .. }));
    let files = limits.temporary_files + 1 + if has_overlay { LAYER_PLACES } else { 0 } + places as u64;
    let mount = mount::tmpfs(limits.temporary_bytes, files, "01777", DATA)?;
    attach(&mount, TEMPORARY)?;
    Ok(mount)
}

/// Shows the sandbox's own processes and nothing of the machine.
pub(crate) fn proc() -> Result<(), Errno> {
    let mount = mount::filesystem("proc", &[("subset", "pid")], DATA)?;
    attach(&mount, "/proc")
}

/// Attaches every grant. What lies deeper than the top gets a small tree of its own for the folders that lead there.
fn place_all(grants: &[OpenGrant], overlays: &[Option<OwnedFd>], temporary: OwnedFd) -> Result<(), Errno> {
    let mut trees: BTreeMap<&Path, OwnedFd> = BTreeMap::from([(Path::new("tmp"), temporary)]);
    for (grant, overlay) in grants.iter().zip(overlays) {
        let mount = match &grant.opened {
            Opened::Tree(mount) => mount,
            Opened::Overlay { .. } => overlay.as_ref().ok_or(Errno::INVAL)?,
        };
        let Some((top, below)) = split(&grant.target) else { return Err(Errno::INVAL) };
        if below.as_os_str().is_empty() {
            mount::attach(mount, rustix::fs::open("/", ROOT, Mode::empty())?, top)?;
            continue;
        }
        // Landlock gives the child all below its temporary folder, and a mount keeps nobody from writing to a pipe.
        if top == Path::new("tmp") && grant.is_directory {
            return Err(Errno::ISDIR);
        }
        if !trees.contains_key(top) {
            let tree = mount::tmpfs(TREE_BYTES, TREE_FILES, "0755", DATA)?;
            attach(&tree, Path::new("/").join(top))?;
            trees.insert(top, tree);
        }
        if let Some(tree) = trees.get(top) {
            make_place(tree, below, grant.is_directory)?;
            mount::attach(mount, tree, below)?;
        }
    }
    trees.remove(Path::new("tmp"));
    trees.values().try_for_each(|tree| mount::set(tree, READ_ONLY, false))
}

fn split(target: &Path) -> Option<(&Path, &Path)> {
    let mut parts = target.strip_prefix("/").ok()?.components();
    match parts.next()? {
        Component::Normal(top) => Some((Path::new(top), parts.as_path())),
        _ => None,
    }
}

fn attach(mount: &OwnedFd, path: impl AsRef<Path>) -> Result<(), Errno> {
    mount::attach(mount, rustix::fs::CWD, path)
}

/// The mount of an overlay. Layers are named by path, so they are shown for a moment at a place that is gone before
/// anybody looks.
fn overlay_of(grant: &OpenGrant) -> Result<Option<OwnedFd>, Errno> {
    let Opened::Overlay { lower, upper } = &grant.opened else { return Ok(None) };
    let shown =
        [("lower", lower), ("upper", upper)].map(|(name, mount)| (Path::new(LAYERS).join(name), mount));
    rustix::fs::mkdir(LAYERS, Mode::from_raw_mode(0o700))?;
    for (path, mount) in &shown {
        rustix::fs::mkdir(path, Mode::from_raw_mode(0o700))?;
        attach(mount, path)?;
    }
    if has_mounts_below(&shown[0].0)? {
        return Err(Errno::INVAL);
    }
    let overlay = overlay(Path::new(LAYERS))?;
    for (path, _) in &shown {
        rustix::mount::unmount(path, rustix::mount::UnmountFlags::DETACH)?;
        rustix::fs::rmdir(path)?;
    }
    rustix::fs::rmdir(LAYERS)?;
    Ok(Some(overlay))
}

/// An overlay shows one file system, and so what is hidden under mounts on it. The kernel refuses that to anybody but
/// root.
fn has_mounts_below(place: &Path) -> Result<bool, Errno> {
    let mounts = read_file("/proc/self/mountinfo")?;
    let mut points = mounts.lines().filter_map(|line| line.split(' ').nth(4)).map(Path::new);
    Ok(points.any(|point| point != place && point.starts_with(place)))
}

fn overlay(layers: &Path) -> Result<OwnedFd, Errno> {
    let at = |name: &str| format!("{}/{name}", layers.display());
    let options =
        [("lowerdir", at("lower")), ("upperdir", at("upper/changes")), ("workdir", at("upper/work"))];
    let mut all: Vec<(&str, &str)> = options.iter().map(|(name, path)| (*name, path.as_str())).collect();
    // Notes on layers go to attributes that need no privilege, and nothing leads from one file to another.
    all.extend([("userxattr", ""), ("redirect_dir", "nofollow"), ("metacopy", "off"), ("index", "off")]);
    mount::filesystem("overlay", &all, DATA)
}

fn make_place(root: &OwnedFd, target: &Path, is_directory: bool) -> Result<(), Errno> {
    let parts: Vec<_> = target.components().filter(|part| matches!(part, Component::Normal(_))).collect();
    for end in 1..=parts.len() {
        let path: PathBuf = parts[..end].iter().collect();
        let made = if end == parts.len() && !is_directory {
            mount::file(root, &path, b"")
        } else {
            mount::directory(root, &path)
        };
        match made {
            Err(Errno::EXIST) => {}
            made => made?,
        }
    }
    Ok(())
}

/// Folders that an overlay needs for a moment.
const LAYER_PLACES: u64 = 3;
const TEMPORARY: &str = "/tmp";
const LAYERS: &str = "/tmp/layers";
const ROOT: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const TREE_BYTES: u64 = 1 << 20;
const TREE_FILES: u64 = 1024;
