//! Writing what was not granted for writing, and leaving what hurts later.

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{AtFlags, CWD, FileType, MemfdFlags, Mode, OFlags, Timespec, Timestamps, XattrFlags};
use rustix::io::Errno;

use super::Attack;
use super::scene::{Answer, Refusal, Scene, all, any};

#[expect(clippy::too_many_lines, reason = "a list, one entry for each attack")]
pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        Attack::new(
            "write-a-granted-file",
            "writes to a file that is granted for reading",
            "general",
            |scene| {
                Ok(std::fs::write(scene.path("read").join("file"), "changed")
                    .map(|()| "written".to_owned())?)
            },
        )
        .leaves_traces()
        .at_every_level()
        .met(READ_ONLY),
        Attack::new(
            "change-a-granted-folder",
            "makes, renames and removes in a folder granted for reading",
            "openai/codex#17555",
            change_folder,
        )
        .leaves_traces()
        .at_every_level()
        .met(READ_ONLY),
        Attack::new(
            "change-metadata",
            "changes mode, times and length of a file granted for reading",
            LANDLOCK_GAP,
            change_metadata,
        )
        .leaves_traces()
        .at_every_level()
        .met(READ_ONLY),
        Attack::new(
            "change-mode-of-a-host-file",
            "changes the mode of a file that nobody granted",
            LANDLOCK_GAP,
            |scene| {
                let mode = Mode::from_raw_mode(0o666);
                let secret = scene.path("secret");
                Ok(rustix::fs::chmodat(CWD, secret, mode, AtFlags::empty()).map(|()| "changed".to_owned())?)
            },
        )
        .leaves_traces()
        .at_every_level()
        .met(NO_METADATA),
        Attack::new(
            "touch-a-host-file",
            "changes the times of a file that nobody granted",
            LANDLOCK_GAP,
            |scene| {
                let times = Timestamps { last_access: LONG_AGO, last_modification: LONG_AGO };
                let secret = scene.path("secret");
                Ok(rustix::fs::utimensat(CWD, secret, &times, AtFlags::empty())
                    .map(|()| "changed".to_owned())?)
            },
        )
        .leaves_traces()
        .at_every_level()
        .met(NO_METADATA),
        Attack::new(
            "move-a-host-file",
            "renames, links, cuts and removes a file that nobody granted",
            "general",
            |scene| {
                let secret = scene.path("secret");
                let at = |name: &str| secret.with_file_name(name);
                any([
                    ("link", std::fs::hard_link(&secret, at("linked"))),
                    (
                        "cut",
                        rustix::fs::open(&secret, OFlags::WRONLY | OFlags::TRUNC, Mode::empty())
                            .map(drop)
                            .map_err(Into::into),
                    ),
                    ("rename", std::fs::rename(&secret, at("renamed"))),
                    ("remove", std::fs::remove_file(at("renamed"))),
                ])
            },
        )
        .leaves_traces()
        .at_every_level()
        .met("the new root holds nothing of the host but what is granted; Landlock"),
        Attack::new(
            "write-to-a-program",
            "writes to its own program, the launcher's and a granted one",
            "CVE-2019-5736 (runc)",
            write_programs,
        )
        .leaves_traces()
        .at_every_level()
        .met("read-only mounts; the launcher is not reachable by /proc/1/exe"),
        Attack::new(
            "write-to-the-system",
            "makes files in the root, /usr, /etc, /dev, /proc and a granted folder",
            "general",
            write_system,
        )
        .leaves_traces()
        .at_every_level()
        .met(READ_ONLY),
        Attack::new(
            "hard-link-out",
            "links a read-only file into a writable folder",
            "multikernel/sandlock#179, landstrip/landstrip#90",
            hard_link,
        )
        .leaves_traces()
        .writes()
        .at_every_level()
        .met("links do not cross mounts"),
        Attack::new(
            "setuid-file",
            "leaves a program with the setuid bit for others to run",
            "moby/moby#35598, NixOS/nix#10424",
            setuid_file,
        )
        .leaves_traces()
        .writes()
        .at_every_level()
        .met("no call that sets a mode may have the setuid or setgid bit in it"),
        Attack::new("device-file", "leaves a device in a writable folder", "general, mknod", device_file)
            .leaves_traces()
            .writes()
            .at_every_level()
            .met("the filter lets no device be made; Landlock; nodev mounts"),
        Attack::new(
            "attributes",
            "sets extended attributes, as file capabilities are",
            "general, file capabilities",
            attributes,
        )
        .may_be_missing()
        .writes()
        .at_every_level()
        .met("the filter has no call that sets attributes"),
        Attack::new(
            "lease-a-granted-file",
            "makes the host wait for a granted file",
            "general, F_SETLEASE",
            lease,
        )
        .at_every_level()
        .met("the filter lets nobody take a lease"),
        Attack::new(
            "run-what-it-wrote",
            "writes a program to every writable place and runs it",
            "general",
            run_written,
        )
        .may_be_missing()
        .writes()
        .at_every_level()
        .met("writable mounts are noexec"),
        Attack::new(
            "loader-runs-what-it-wrote",
            "has the loader run a program from a writable place",
            "general, ld.so",
            run_by_loader,
        )
        .may_be_missing()
        .met("noexec mounts cannot be mapped as code either"),
        Attack::new(
            "run-from-memory",
            "runs a program that is in memory only",
            "general, memfd_create",
            run_from_memory,
        )
        .at_every_level()
        .met("the filter has no memfd_create"),
        Attack::new("write-to-proc", "changes its own entries of /proc", "CVE-2025-52881 (runc)", write_proc)
            .with_landlock()
            .met("Landlock grants no writing there"),
        Attack::new(
            "open-for-writing",
            "opens its read-only places for writing by every flag",
            "general",
            open_flags,
        )
        .leaves_traces()
        .at_every_level()
        .met(READ_ONLY),
    ]
}

fn change_folder(scene: &Scene) -> Answer {
    let at = |name: &str| scene.path("read").join(name);
    all([
        ("make", std::fs::write(at("new"), "")),
        ("make a folder", std::fs::create_dir(at("folder"))),
        ("rename", std::fs::rename(at("tool"), at("renamed"))),
        ("remove", std::fs::remove_file(at("file"))),
    ])
}

fn change_metadata(scene: &Scene) -> Answer {
    let file = scene.path("read").join("file");
    let times = Timestamps { last_access: LONG_AGO, last_modification: LONG_AGO };
    let truncate = || -> Result<(), Errno> {
        let file = rustix::fs::open(&file, OFlags::WRONLY | OFlags::TRUNC, Mode::empty())?;
        rustix::fs::ftruncate(&file, 1)
    };
    all([
        ("mode", rustix::fs::chmodat(CWD, &file, Mode::from_raw_mode(0o777), AtFlags::empty())),
        ("times", rustix::fs::utimensat(CWD, &file, &times, AtFlags::empty())),
        ("length", truncate()),
    ])
}

fn write_programs(scene: &Scene) -> Answer {
    let tool = scene.path("read").join("tool");
    let program = scene.path("program");
    let of_init = PathBuf::from(format!("/proc/{}/exe", scene.text("init")));
    let write = |path: &Path| {
        let file = rustix::fs::open(path, OFlags::WRONLY, Mode::empty())?;
        // Nothing is written unless it is the stage's own file.
        if path == tool { rustix::io::write(&file, b"#!changed\n").map(drop) } else { Ok(()) }
    };
    any([Path::new("/proc/self/exe"), &of_init, &program, &tool]
        .map(|path| (path.display().to_string(), write(path))))
}

fn write_system(scene: &Scene) -> Answer {
    let places = ["/", "/usr", "/usr/bin", "/etc", "/dev", "/proc", "/proc/self"].map(PathBuf::from);
    // Outside only the stage's own folder: the machine is left alone.
    let places = places.into_iter().filter(|_| scene.is_inside()).chain([scene.path("read")]);
    any(places
        .map(|place| (place.display().to_string(), std::fs::write(place.join("fumehood-was-here"), ""))))
}

fn hard_link(scene: &Scene) -> Answer {
    let (from, to) = (scene.path("read").join("file"), scene.path("write").join("linked"));
    Ok(std::fs::hard_link(from, to).map(|()| "linked".to_owned())?)
}

fn setuid_file(scene: &Scene) -> Answer {
    let at = |name: &str| scene.path("write").join(name);
    let (set, plain) = (Mode::from_raw_mode(0o6755), Mode::from_raw_mode(0o755));
    let make =
        |name: &str, mode| rustix::fs::open(at(name), OFlags::CREATE | OFlags::EXCL | OFlags::RDWR, mode);
    let temporary = || -> Result<(), Errno> {
        let file = rustix::fs::open(scene.path("write"), OFlags::TMPFILE | OFlags::RDWR, set)?;
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        rustix::fs::linkat(CWD, path, CWD, at("fair-d"), AtFlags::SYMLINK_FOLLOW)
    };
    let by_openat2 = || -> Result<(), Errno> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR;
        rustix::fs::openat2(CWD, at("fair-e"), flags, set, rustix::fs::ResolveFlags::empty()).map(drop)
    };
    any([
        (
            "chmod",
            make("fair-a", plain).and_then(|_| rustix::fs::chmodat(CWD, at("fair-a"), set, AtFlags::empty())),
        ),
        ("fchmod", make("fair-b", plain).and_then(|file| rustix::fs::fchmod(&file, set))),
        ("open", make("fair-c", set).map(drop)),
        ("temporary file", temporary()),
        ("openat2", by_openat2()),
        ("mknod", rustix::fs::mknodat(CWD, at("fair-f"), FileType::RegularFile, set, 0)),
    ])
}

fn device_file(scene: &Scene) -> Answer {
    let make = |place: PathBuf, name: &str, kind, major, minor| {
        rustix::fs::mknodat(
            CWD,
            place.join(name),
            kind,
            Mode::from_raw_mode(0o666),
            rustix::fs::makedev(major, minor),
        )
    };
    let whiteout = || -> Result<(), Errno> {
        let [from, to] = ["fair-hidden", "fair-moved"].map(|name| scene.path("write").join(name));
        rustix::fs::open(&from, OFlags::CREATE | OFlags::WRONLY, Mode::from_raw_mode(0o644))?;
        rustix::fs::renameat_with(CWD, &from, CWD, &to, rustix::fs::RenameFlags::WHITEOUT)
    };
    any([
        ("what a rename leaves", whiteout()),
        // The one device that everybody may make: it answers nothing, but it is a device.
        ("0:0", make(scene.path("write"), "device", FileType::CharacterDevice, 0, 0)),
        ("0:0 in /tmp", make(scene.path("tmp"), "device", FileType::CharacterDevice, 0, 0)),
        ("1:3", make(scene.path("write"), "null", FileType::CharacterDevice, 1, 3)),
        ("7:0", make(scene.path("write"), "loop", FileType::BlockDevice, 7, 0)),
    ])
}

fn attributes(scene: &Scene) -> Answer {
    let file = scene.path("write").join("fair-file");
    std::fs::write(&file, "")?;
    rustix::fs::setxattr(&file, "user.fumehood", b"1", XattrFlags::empty())?;
    Ok("set".to_owned())
}

fn lease(scene: &Scene) -> Answer {
    let file = std::fs::File::open(scene.path("read").join("file"))?;
    crate::sys::attack::lease(&file)?;
    Ok("has a lease".to_owned())
}

/// Writes a small program to a place.
fn written(place: &Path) -> Result<PathBuf, Refusal> {
    let path = place.join("fair-program");
    // Made with its mode: it could not be changed everywhere.
    let mut file =
        std::fs::File::options().write(true).create(true).truncate(true).mode(0o755).open(&path)?;
    std::io::Write::write_all(&mut file, &std::fs::read("/bin/true")?)?;
    Ok(path)
}

fn succeed(command: &mut Command) -> Result<(), Refusal> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Refusal::of(status)),
        Err(error) => Err(error.into()),
    }
}

fn run_written(scene: &Scene) -> Answer {
    any(["write", "tmp", "shm"]
        .map(|place| (place, written(&scene.path(place)).and_then(|path| succeed(&mut Command::new(path))))))
}

fn run_by_loader(scene: &Scene) -> Answer {
    let loader = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"]
        .into_iter()
        .find(|path| Path::new(path).exists());
    let Some(loader) = loader else { return Err(Refusal::of("no loader")) };
    any(["write", "tmp", "shm"].map(|place| {
        (place, written(&scene.path(place)).and_then(|path| succeed(Command::new(loader).arg(path))))
    }))
}

fn run_from_memory(_: &Scene) -> Answer {
    let memory = rustix::fs::memfd_create(c"program", MemfdFlags::empty())?;
    let program = std::fs::read("/bin/true")?;
    let mut rest = program.as_slice();
    while !rest.is_empty() {
        rest = &rest[rustix::io::write(&memory, rest)?..];
    }
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&memory));
    succeed(&mut Command::new(path)).map(|()| "ran".to_owned())
}

fn write_proc(_: &Scene) -> Answer {
    let names = ["oom_score_adj", "coredump_filter", "clear_refs", "comm", "timerslack_ns"];
    any(names.map(|name| {
        (name, rustix::fs::open(format!("/proc/self/{name}"), OFlags::WRONLY, Mode::empty()).map(drop))
    }))
}

fn open_flags(scene: &Scene) -> Answer {
    let file = scene.path("read").join("file");
    let flags = [
        OFlags::RDWR,
        OFlags::WRONLY | OFlags::APPEND,
        OFlags::RDONLY | OFlags::TRUNC,
        OFlags::RDWR | OFlags::DIRECT,
    ];
    any(flags.map(|flags| {
        let written = rustix::fs::open(&file, flags, Mode::empty()).map(|file| {
            let _ = rustix::io::write(&file, b"changed");
        });
        (format!("{flags:?}").replace('\n', " "), written)
    }))
}

const LONG_AGO: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
const NO_METADATA: &str = "the new root holds nothing of the host but what is granted; without one, the filter has no call that changes modes, owners or times";
const READ_ONLY: &str = "read-only mounts; Landlock";
const LANDLOCK_GAP: &str = "general: what Landlock does not govern";
