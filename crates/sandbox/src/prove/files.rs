//! Reading what was not granted.

use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::Attack;
use super::scene::{Answer, Refusal, Scene, all, any, found};
use super::stage::SECRET;

#[expect(clippy::too_many_lines, reason = "a list, one entry for each attack")]
pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        Attack::new("read-a-host-file", "reads a file of the host by its path", "general", |scene| {
            read(&scene.path("secret"))
        })
        .at_every_level()
        .met(ABSENT),
        Attack::new(
            "link-to-a-host-file",
            "makes a link to a host file and reads through it",
            "general",
            by_own_link,
        )
        .writes()
        .at_every_level()
        .met(ABSENT),
        Attack::new(
            "granted-link-to-a-host-file",
            "reads through a link that lies in a granted folder",
            GRANTED_LINK,
            |scene| read(&scene.path("read").join("link")),
        )
        .at_every_level()
        .met(ABSENT),
        Attack::new(
            "climb-out-of-a-grant",
            "goes up from a granted folder until the host's root",
            "general",
            |scene| climb(&scene.path("read"), scene),
        )
        .at_every_level()
        .met(ABSENT),
        Attack::new(
            "climb-out-of-the-current-folder",
            "goes up from the current folder",
            "CVE-2024-21626 (runc)",
            |scene| climb(Path::new("."), scene),
        )
        .at_every_level()
        .met("the current folder is entered inside the new root"),
        Attack::new(
            "leaked-folder",
            "goes up from an open folder that the host forgot",
            "CVE-2024-21626 (runc)",
            by_leaked_folder,
        )
        .at_every_level()
        .met("every descriptor but the three standard ones is closed before the program starts"),
        Attack::new(
            "leaked-descriptors",
            "looks for open descriptors beyond the three standard ones",
            "CVE-2016-9962 (runc)",
            open_descriptors,
        )
        .at_every_level()
        .met("every descriptor but the three standard ones is closed before the program starts"),
        Attack::new(
            "root-of-a-process",
            "reads through /proc/*/root and /proc/*/cwd",
            "CVE-2016-9962 (runc)",
            by_proc_root,
        )
        .at_every_level()
        .met(ABSENT),
        Attack::new(
            "list-the-root",
            "looks for /home, /root, /var, /run, /sys, /mnt and others",
            "GreyhavenHQ/greywall#55",
            root_folders,
        )
        .met("the root is a new one and holds a fixed list of names"),
        Attack::new(
            "read-host-settings",
            "looks for the host's accounts, keys and machine id in /etc",
            "general",
            host_settings,
        )
        .at_every_level()
        .met("/etc is made up, apart from the loader's cache, alternatives and the time zone"),
        Attack::new(
            "read-kernel-files",
            "opens files in /proc and /sys that tell of the machine",
            "CVE-2019-16884 (runc)",
            |_| {
                let names = ["/proc/kallsyms", "/proc/meminfo", "/proc/cmdline", "/proc/sys/kernel/random/boot_id"];
                let others = ["/proc/net/route", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/fs/cgroup/cgroup.procs"];
                any(names.into_iter().chain(others).map(|name| (name, std::fs::read(name).map(drop))))
            },
        )
        .at_every_level()
        .met("/proc shows processes only, and there is no /sys; without a new root, Landlock opens none"),
        Attack::new(
            "watch-a-host-folder",
            "is told what others do in a folder that nobody granted",
            "general, inotify",
            |scene| {
                use rustix::fs::inotify;
                let folder = scene.path("secret").with_file_name("");
                let watch = inotify::init(inotify::CreateFlags::CLOEXEC)?;
                Ok(inotify::add_watch(watch, folder, inotify::WatchFlags::CREATE).map(|_| "watches".to_owned())?)
            },
        )
        .at_every_level()
        .met("the new root holds nothing of the host but what is granted; without one, the filter lets nobody watch"),
        Attack::new(
            "watch-what-is-started",
            "is told which programs of the machine others start, and which of its files they read",
            "general, inotify, dnotify",
            watch_what_is_started,
        )
        .at_every_level()
        .met("the filter lets nobody ask to be told of reading"),
        Attack::new("device-nodes", "looks for devices", "CVE-2025-52565 (runc)", devices)
            .at_every_level()
            .met("/dev holds null, zero, full, random and urandom, and nothing else"),
        Attack::new(
            "kernel-files",
            "looks for kcore, sysrq-trigger, /proc/sys, keys and the like",
            "CVE-2019-16884, CVE-2025-31133 (runc)",
            kernel_files,
        )
        .met("/proc shows processes only; there is nothing to mask"),
        Attack::new(
            "shared-memory-of-the-host",
            "reads another program's shared memory",
            "general",
            |scene| read(&scene.path("shared")),
        )
        .may_be_missing()
        .at_every_level()
        .met("/dev/shm is a new one"),
        Attack::new(
            "foreign-mounts",
            "looks for mounts that are not the sandbox's own",
            "CVE-2021-30465 (runc)",
            mounts,
        )
        .at_every_level()
        .met("the host's tree is detached once the new root is entered"),
        Attack::new("sockets-by-proc", "reads the host's connections in /proc/net", "general", connections)
            .at_every_level()
            .met("network namespace"),
    ]
}

/// Whether the secret can be read there.
pub(crate) fn read(path: &Path) -> Answer {
    match std::fs::read_to_string(path) {
        Ok(text) if text == SECRET => Ok("read the secret".to_owned()),
        Ok(_) => Err(Refusal::of("another file is there")),
        Err(error) => Err(error.into()),
    }
}

fn by_own_link(scene: &Scene) -> Answer {
    let link = scene.path("write").join("fair-link");
    std::os::unix::fs::symlink(scene.path("secret"), &link)?;
    read(&link)
}

/// Tries every number of steps up, with the secret's whole path after it.
fn climb(from: &Path, scene: &Scene) -> Answer {
    let secret = scene.path("secret");
    let Ok(secret) = secret.strip_prefix("/") else { return Err(Refusal::of("no secret")) };
    any((0..16).map(|steps| {
        let up = "../".repeat(steps);
        (format!("{steps} up"), read(&from.join(up).join(secret)).map(drop))
    }))
}

fn descriptors() -> Vec<(i32, std::path::PathBuf)> {
    // One after the other: without namespaces the folder cannot be listed.
    (0..DESCRIPTORS)
        .filter_map(|number| Some((number, std::fs::read_link(format!("/proc/self/fd/{number}")).ok()?)))
        .collect()
}

fn by_leaked_folder(scene: &Scene) -> Answer {
    let folders = descriptors()
        .into_iter()
        .filter(|(number, _)| Path::new(&format!("/proc/self/fd/{number}/.")).is_dir());
    let tries: Vec<_> = folders
        .map(|(number, _)| (number, climb(Path::new(&format!("/proc/self/fd/{number}")), scene).map(drop)))
        .collect();
    if tries.is_empty() {
        return Err(Refusal::of("no open folder"));
    }
    any(tries)
}

fn open_descriptors(_: &Scene) -> Answer {
    // Outside, the folder that the host gives as standard input is one.
    let is_strange = |(number, target): &(i32, std::path::PathBuf)| {
        *number > 2 || (!target.to_string_lossy().starts_with("pipe:") && target != Path::new("/dev/null"))
    };
    let strange: Vec<String> = descriptors()
        .into_iter()
        .filter(is_strange)
        .map(|(number, target)| format!("{number}={}", target.display()))
        .collect();
    found(&strange, "0, 1 and 2 are pipes, and no other is open")
}

fn by_proc_root(scene: &Scene) -> Answer {
    let init = scene.text("init");
    let secret = scene.text("secret");
    any(["/proc/self/root".to_owned(), format!("/proc/{init}/root"), format!("/proc/{init}/cwd")]
        .map(|root| (root.clone(), read(Path::new(&format!("{root}{secret}"))).map(drop))))
}

/// The names in a folder that are not on a list.
fn beyond(folder: &str, known: &[&str]) -> Result<Vec<String>, Refusal> {
    let names =
        std::fs::read_dir(folder)?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| !known.contains(&name.as_str())).collect())
}

fn root_folders(_: &Scene) -> Answer {
    let known = [
        "bin", "dev", "etc", "granted", "lib", "lib32", "lib64", "payload", "proc", "sbin", "tmp", "usr",
        "work",
    ];
    found(&beyond("/", &known)?, "only the known names are there")
}

fn host_settings(_: &Scene) -> Answer {
    let known = [
        "alternatives",
        "group",
        "hostname",
        "hosts",
        "ld.so.cache",
        "localtime",
        "nsswitch.conf",
        "passwd",
        "resolv.conf",
    ];
    // Without namespaces the folder is the host's, and closed.
    let mut strange = beyond("/etc", &known).unwrap_or_default();
    for name in ["passwd", "group", "hosts", "resolv.conf", "machine-id", "ssl/private", "fstab"] {
        let text = std::fs::read_to_string(Path::new("/etc").join(name)).unwrap_or_default();
        let is_made_up = known.contains(&name) && !text.lines().any(|line| line.starts_with("root:"));
        if !text.is_empty() && !is_made_up {
            strange.push(name.to_owned());
        }
    }
    found(&strange, "only made-up files are there")
}

fn devices(_: &Scene) -> Answer {
    let known = ["null", "zero", "full", "random", "urandom", "shm", "fd", "stdin", "stdout", "stderr"];
    // Without namespaces the folder is the host's, and closed; and so is what is in it.
    let mut strange = beyond("/dev", &known).unwrap_or_default();
    for name in ["tty", "ptmx", "console", "fuse", "kvm", "kmsg", "mem", "net/tun", "loop-control", "vsock"] {
        for flags in [OFlags::RDONLY, OFlags::WRONLY] {
            if rustix::fs::open(format!("/dev/{name}"), flags | OFlags::NOCTTY, Mode::empty()).is_ok() {
                strange.push(name.to_owned());
            }
        }
    }
    found(&strange, "only the known devices are there")
}

fn watch_what_is_started(_: &Scene) -> Answer {
    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
    let asked = |flags| {
        let watch = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        add_watch(watch, "/usr/bin", flags).map(drop)
    };
    let signals = || {
        crate::sys::attack::ignore_signal(libc::SIGIO);
        crate::sys::attack::watch_reading(std::fs::File::open("/usr/bin")?).map_err(std::io::Error::from)
    };
    all([
        ("inotify, opened", asked(WatchFlags::OPEN).map_err(std::io::Error::from)),
        ("inotify, read", asked(WatchFlags::ACCESS).map_err(std::io::Error::from)),
        (
            "inotify, closed",
            asked(WatchFlags::CLOSE_NOWRITE | WatchFlags::MODIFY).map_err(std::io::Error::from),
        ),
        ("dnotify", signals()),
    ])
}

fn kernel_files(_: &Scene) -> Answer {
    let names = [
        "kcore",
        "sysrq-trigger",
        "sys/kernel/core_pattern",
        "sys/kernel/modprobe",
        "sys/vm/panic_on_oom",
        "kallsyms",
        "keys",
        "key-users",
        "timer_list",
        "kmsg",
        "kpagecount",
        "kpageflags",
        "interrupts",
        "cpuinfo",
        "meminfo",
        "bus",
        "fs",
        "irq",
        "sys/fs/binfmt_misc",
        "config.gz",
        "latency_stats",
        "acpi",
        "scsi",
        "partitions",
        "swaps",
        "modules",
        "mounts/../kcore",
    ];
    let there = names.iter().filter(|name| std::fs::symlink_metadata(format!("/proc/{name}")).is_ok());
    let mut there: Vec<String> = there.map(ToString::to_string).collect();
    for path in ["/sys/kernel/uevent_helper", "/sys/fs/cgroup", "/sys/firmware", "/sys/kernel/security"] {
        if std::fs::symlink_metadata(path).is_ok() {
            there.push(path.to_owned());
        }
    }
    found(&there, "none of them is there")
}

fn mounts(_: &Scene) -> Answer {
    let known = [
        "/",
        "/usr",
        "/bin",
        "/sbin",
        "/lib",
        "/lib32",
        "/lib64",
        "/tmp",
        "/proc",
        "/granted",
        "/work",
        "/payload",
        "/etc",
        "/dev",
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/random",
        "/dev/urandom",
    ];
    let table = std::fs::read_to_string("/proc/self/mountinfo")?;
    let points = table.lines().filter_map(|line| line.split(' ').nth(4));
    let strange: Vec<String> = points
        // Host mounts below /usr come with it, read-only as it is.
        .filter(|point| !known.contains(point) && !point.starts_with("/usr/"))
        .map(str::to_owned)
        .collect();
    found(&strange, "only its own mounts are there")
}

fn connections(_: &Scene) -> Answer {
    let mut lines = Vec::new();
    for name in ["tcp", "udp", "unix"] {
        let table = std::fs::read_to_string(format!("/proc/self/net/{name}"))?;
        // A connected pair of the program's own has no name and is not of interest.
        let count = table
            .lines()
            .skip(1)
            .filter(|line| name != "unix" || line.contains('/') || line.contains('@'))
            .count();
        if count > 0 {
            lines.push(format!("{name}: {count}"));
        }
    }
    found(&lines, "no connection is listed")
}

/// More than any host of ours has open.
const DESCRIPTORS: i32 = 4096;
const ABSENT: &str = "the new root holds nothing of the host but what is granted";
const GRANTED_LINK: &str = "openai/codex#15725, CVE-2021-25741 (Kubernetes)";
