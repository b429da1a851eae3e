//! Files of the host: described, laid out, and looked at afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};

use rustix::fs::{CWD, FileType, Mode};

use super::random::Random;

/// By path below the case's folder, which itself has the empty path.
pub(super) type World = BTreeMap<String, Entry>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// Permission bits; none that matter for a link.
    pub(super) mode: u32,
    /// Whether it belongs to who runs the sandbox, or to somebody else.
    pub(super) is_callers: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    File(Vec<u8>),
    /// `@` at the start stands for the case's folder.
    Link(String),
    Socket,
    Fifo,
    /// What an overlay leaves where something was removed. Never laid out.
    Gone,
    /// Never laid out.
    Device(u64),
}

/// `@` at the start of a path, resolved.
pub(super) fn at(root: &str, path: &str) -> String {
    match path.strip_prefix('@') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{root}{rest}"),
        _ => path.to_owned(),
    }
}

/// Where an entry is.
pub(super) fn path_of(name: &str) -> String {
    if name.is_empty() { "@".to_owned() } else { format!("@/{name}") }
}

pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

impl Entry {
    pub(super) fn new(kind: Kind, mode: u32) -> Self {
        Self { kind, mode, is_callers: true }
    }
}

/// A world of a dozen files or two. What is called `secret` or `beside` is there to stay as it is.
pub(super) fn random(random: &mut Random, has_strangers: bool) -> World {
    let mut world = World::from([
        (String::new(), Entry::new(Kind::Folder, 0o755)),
        ("secret".to_owned(), Entry::new(Kind::File(b"canary-7f3a".into()), 0o600)),
        ("beside".to_owned(), Entry::new(Kind::Folder, 0o755)),
        ("beside/canary".to_owned(), Entry::new(Kind::File(b"canary-81c2".into()), 0o644)),
    ]);
    for number in 0..UPPERS {
        world.insert(format!("up{number}"), Entry::new(Kind::Folder, 0o755));
    }
    let mut folders: Vec<String> = Vec::new();
    for name in ["a", "b", "c"] {
        folders.push(name.to_owned());
        world.insert(name.to_owned(), Entry::new(Kind::Folder, folder_mode(random)));
    }
    for number in 0..16 + random.below(24) {
        let inside = if random.chance(10) { String::new() } else { random.pick_of(&folders).clone() };
        let path = join(&inside, random.pick(NAMES));
        if world.contains_key(&path) {
            continue;
        }
        let entry = match random.below(20) {
            0..6 => {
                folders.push(path.clone());
                Entry::new(Kind::Folder, folder_mode(random))
            }
            6..12 => {
                let mode =
                    *random.pick_of(&[0o644, 0o644, 0o644, 0o600, 0o444, 0o200, 0o000, 0o666, 0o755, 0o111]);
                Entry::new(Kind::File(format!("file-{number}").into()), mode)
            }
            12..15 => {
                let mode = *random.pick_of(&[0o755, 0o755, 0o755, 0o700, 0o711, 0o100, 0o644, 0o655]);
                Entry::new(Kind::File(PROGRAM.into()), mode)
            }
            15..18 => Entry::new(Kind::Link(link_target(random, &folders)), 0o777),
            18 => Entry::new(Kind::Socket, *random.pick_of(&[0o755, 0o777, 0o600])),
            _ => Entry::new(Kind::Fifo, *random.pick_of(&[0o644, 0o666, 0o600, 0o000])),
        };
        let is_callers = !has_strangers || random.chance(75);
        world.insert(path, Entry { is_callers, ..entry });
    }
    world
}

fn folder_mode(random: &mut Random) -> u32 {
    if random.chance(75) {
        return 0o755;
    }
    *random.pick_of(&[0o700, 0o555, 0o500, 0o300, 0o311, 0o000, 0o777, 0o705])
}

fn link_target(random: &mut Random, folders: &[String]) -> String {
    let name = random.pick(NAMES);
    match random.below(10) {
        0 | 1 => name.to_owned(),
        2 => format!("../{name}"),
        3 => format!("../../{}", random.pick(&["secret", "a", "beside/canary", "up0"])),
        4 => format!("{}/{name}", path_of(random.pick_of(folders).as_str())),
        5 => random.pick(&["@/secret", "@", "@/beside/canary", "@/up0/changes"]).to_owned(),
        6 => format!("{}/{name}", random.pick(super::plan::PLACES)),
        7 => random.pick(&["/etc/passwd", "/tmp/n0", "/", "/dev/null", "/payload"]).to_owned(),
        8 => format!("{}/../{name}", random.pick(NAMES)),
        _ => random.pick(&[".", "..", "nowhere", "../../../../../.."]).to_owned(),
    }
}

/// Makes everything, each with its mode.
pub(super) fn lay_out(root: &str, world: &World) -> io::Result<()> {
    for (name, Entry { kind, .. }) in world {
        let path = at(root, &path_of(name));
        match kind {
            Kind::Folder => fs::create_dir(&path)?,
            Kind::File(content) => fs::write(&path, content)?,
            Kind::Link(target) => symlink(at(root, target), &path)?,
            Kind::Socket => rustix::fs::mknodat(CWD, &path, FileType::Socket, Mode::empty(), 0)?,
            Kind::Fifo => rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::empty(), 0)?,
            Kind::Gone | Kind::Device(_) => return Err(io::ErrorKind::Unsupported.into()),
        }
    }
    // What is inside first: a mode may close a folder.
    for (name, Entry { kind, mode, is_callers }) in world.iter().rev() {
        let path = at(root, &path_of(name));
        if !is_callers {
            std::os::unix::fs::lchown(&path, Some(STRANGER), Some(STRANGER))?;
        }
        if !matches!(kind, Kind::Link(_)) {
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode))?;
        }
    }
    Ok(())
}

/// What is there now. Opens folders and files that are closed to their owner.
pub(super) fn look_at(root: &str) -> io::Result<World> {
    let mut seen = World::new();
    let mut waiting = vec![String::new()];
    while let Some(name) = waiting.pop() {
        let path = at(root, &path_of(&name));
        let metadata = fs::symlink_metadata(&path)?;
        let kind = metadata.file_type();
        let mode = metadata.mode() & 0o7777;
        let open = |needed: u32| fs::set_permissions(&path, fs::Permissions::from_mode(mode | needed));
        let kind = match () {
            () if kind.is_dir() => {
                open(0o700)?;
                for entry in fs::read_dir(&path)? {
                    let entry = entry?.file_name().to_string_lossy().into_owned();
                    waiting.push(join(&name, &entry));
                }
                Kind::Folder
            }
            () if kind.is_file() => {
                open(0o400)?;
                let content = fs::read(&path)?;
                // It may have another name, which is looked at later.
                fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
                Kind::File(content)
            }
            () if kind.is_symlink() => Kind::Link(fs::read_link(&path)?.to_string_lossy().into_owned()),
            () if kind.is_socket() => Kind::Socket,
            () if kind.is_fifo() => Kind::Fifo,
            () if kind.is_char_device() && metadata.rdev() == 0 => Kind::Gone,
            () => Kind::Device(metadata.rdev()),
        };
        let mode = if matches!(kind, Kind::Link(_)) { 0o777 } else { mode };
        let is_callers = (metadata.uid(), metadata.gid()) == caller();
        seen.insert(name, Entry { kind, mode, is_callers });
    }
    Ok(seen)
}

/// Whether an overlay says that nothing of the folder below shows through.
pub(super) fn is_opaque(path: &str) -> bool {
    let mut value = [0; 1];
    rustix::fs::lgetxattr(path, "user.overlay.opaque", &mut value) == Ok(1) && value == *b"y"
}

/// Removes it all, closed folders too.
pub(super) fn take_down(root: &str) -> io::Result<()> {
    look_at(root)?;
    fs::remove_dir_all(root)
}

fn caller() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

/// Whether we are root with root's rights: then there can be files of others, and granted ones are id-mapped.
pub(super) fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("proc is there");
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).expect("it is listed");
    let effective = u64::from_str_radix(effective.trim(), 16).expect("a number");
    caller().0 == 0 && effective & SYS_ADMIN != 0
}

pub(super) const PROGRAM: &str = "#!/bin/true\n";
pub(super) const UPPERS: usize = 4;
pub(super) const NAMES: &[&str] = &["a", "b", "c", "d", "e"];
const STRANGER: u32 = 12_345;
const SYS_ADMIN: u64 = 1 << 21;
