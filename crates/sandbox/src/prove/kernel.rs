//! Becoming somebody else, somewhere else: namespaces, mounts, roots, identities.

use rustix::mount::{MountFlags, UnmountFlags};
use rustix::thread::{CapabilitySets, SecureComputingMode};

use super::Attack;
use super::scene::{Answer, Refusal, Scene, any, found};

#[expect(clippy::too_many_lines, reason = "a list, one entry for each attack")]
pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        Attack::new(
            "new-namespaces",
            "makes a child in new namespaces, where it would be root",
            "CVE-2022-0185, CVE-2022-0492",
            clone_namespaces,
        )
        .at_every_level()
        .met("the filter refuses every flag for a namespace, and a call whose flags it cannot see"),
        Attack::new("mount-a-tmpfs", "mounts over a folder", "general, mount", |scene| mount("tmpfs", scene))
            .in_namespaces()
            .at_every_level()
            .met(NO_MOUNT),
        Attack::new("mount-proc", "mounts a proc of its own, unmasked", "CVE-2025-31133 (runc)", |scene| {
            mount("proc", scene)
        })
        .in_namespaces()
        .at_every_level()
        .met(NO_MOUNT),
        Attack::new(
            "mount-cgroups",
            "mounts the control groups, to write a release agent",
            "CVE-2022-0492",
            |scene| mount("cgroup2", scene),
        )
        .in_namespaces()
        .may_be_missing()
        .at_every_level()
        .met(NO_MOUNT),
        Attack::new("mount-an-overlay", "mounts an overlay", "CVE-2021-3493, CVE-2023-0386", |scene| {
            mount("overlay", scene)
        })
        .in_namespaces()
        .may_be_missing()
        .at_every_level()
        .met(NO_MOUNT),
        Attack::new("bind-a-folder", "binds a folder to another place", "CVE-2021-30465 (runc)", bind)
            .in_namespaces()
            .at_every_level()
            .met(NO_MOUNT),
        Attack::new("remount-writable", "makes a read-only mount writable", "general, MS_REMOUNT", remount)
            .in_namespaces()
            .at_every_level()
            .met(NO_MOUNT),
        Attack::new("share-mounts", "makes its mounts propagate", "general, MS_SHARED", share)
            .in_namespaces()
            .at_every_level()
            .met(NO_MOUNT),
        Attack::new("uncover", "unmounts what hides something", "CVE-2019-16884 (runc)", uncover)
            .in_namespaces()
            .at_every_level()
            .met(NO_MOUNT),
        Attack::new("change-root", "changes its root, to climb out of it", "general, chroot", |scene| {
            Ok(rustix::process::chroot(scene.path("write")).map(|()| "has another root".to_owned())?)
        })
        .in_namespaces()
        .at_every_level()
        .met("the filter has no chroot; no capability"),
        Attack::new("be-root", "finds itself root, or with capabilities", "general", be_root)
            .in_namespaces()
            .at_every_level()
            .met("an identity without rights, and every capability set empty"),
        Attack::new(
            "regain-privileges",
            "finds that programs may give it rights, or that nothing is filtered",
            "general, no_new_privs",
            regain,
        )
        .may_be_missing()
        .at_every_level()
        .met("no_new_privs, and a filter that stays"),
        Attack::new("name-of-the-host", "learns the machine's name", "general", |_| {
            let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
            if name == "sandbox" { Err(Refusal::of("it is made up")) } else { Ok("read it".to_owned()) }
        })
        .met("UTS namespace"),
        Attack::new("rename-the-host", "changes the machine's name", "general, sethostname", |_| {
            Ok(rustix::system::sethostname(b"renamed").map(|()| "renamed".to_owned())?)
        })
        .in_namespaces()
        .at_every_level()
        .met("UTS namespace, and no capability in it"),
        Attack::new(
            "session-of-the-host",
            "is in the session of whoever started it",
            "CVE-2017-5226 (bubblewrap)",
            |_| {
                // Not by getsid: the leader may be in a namespace above, and its pid is then no pid here.
                let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else {
                    // There are no namespaces then.
                    return match rustix::process::getsid(None)? {
                        session if session == rustix::process::getpid() => {
                            Err(Refusal::of("it leads its own"))
                        }
                        _ => Ok("is".to_owned()),
                    };
                };
                let after_name = stat.rsplit(')').next().unwrap_or_default();
                match after_name.split_whitespace().nth(3) {
                    Some(session) if session == std::process::id().to_string() => {
                        Err(Refusal::of("it leads its own"))
                    }
                    Some(_) => Ok("is".to_owned()),
                    None => Err(Refusal { why: "it could not look".to_owned(), is_partial: true }),
                }
            },
        )
        .at_every_level()
        .met("a session of its own, without a terminal"),
    ]
}

fn clone_namespaces(_: &Scene) -> Answer {
    let kinds = [
        ("user", 0),
        ("mount", libc::CLONE_NEWNS),
        ("network", libc::CLONE_NEWNET),
        ("process", libc::CLONE_NEWPID),
        ("cgroup", libc::CLONE_NEWCGROUP),
        ("ipc", libc::CLONE_NEWIPC),
        ("uts", libc::CLONE_NEWUTS),
    ];
    any(kinds.map(|(name, flag)| (name, crate::sys::attack::clone_into(libc::CLONE_NEWUSER | flag))))
}

fn mount(kind: &str, scene: &Scene) -> Answer {
    let options = if kind == "overlay" {
        let at = |name: &str| scene.path(name).display().to_string();
        Some(std::ffi::CString::new(format!("lowerdir={}:{}", at("read"), at("tmp"))).unwrap_or_default())
    } else {
        None
    };
    rustix::mount::mount("none", scene.path("write"), kind, MountFlags::empty(), options.as_deref())?;
    Ok("mounted".to_owned())
}

fn bind(scene: &Scene) -> Answer {
    rustix::mount::mount_bind(scene.path("read"), scene.path("write"))?;
    Ok("bound".to_owned())
}

fn remount(scene: &Scene) -> Answer {
    let read = scene.path("read");
    if !scene.is_inside() {
        rustix::mount::mount_bind(&read, &read)?;
    }
    let flags = MountFlags::BIND | MountFlags::NOSUID | MountFlags::NODEV;
    let places = [read, "/usr".into(), "/".into()];
    any(places.map(|place| (place.display().to_string(), rustix::mount::mount_remount(&place, flags, ""))))
}

fn share(scene: &Scene) -> Answer {
    let read = scene.path("read");
    if !scene.is_inside() {
        rustix::mount::mount_bind(&read, &read)?;
    }
    rustix::mount::mount_change(&read, rustix::mount::MountPropagationFlags::SHARED)?;
    Ok("shared".to_owned())
}

fn uncover(scene: &Scene) -> Answer {
    let own = scene.path("write");
    if !scene.is_inside() {
        rustix::mount::mount_bind(&own, &own)?;
    }
    let places = [own, "/proc".into(), "/tmp".into(), "/".into()];
    any(places
        .map(|place| (place.display().to_string(), rustix::mount::unmount(&place, UnmountFlags::DETACH))))
}

/// A line of /proc/self/status.
fn status(name: &str) -> Result<String, Refusal> {
    let table = std::fs::read_to_string("/proc/self/status")?;
    let line = table.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.map(|value| value.trim().to_owned()).ok_or_else(|| Refusal::of("no such line"))
}

fn be_root(_: &Scene) -> Answer {
    let mut strange = Vec::new();
    if rustix::process::getuid().is_root() || rustix::process::geteuid().is_root() {
        strange.push("Uid".to_owned());
    }
    if rustix::process::getgid().is_root() || rustix::process::getegid().is_root() {
        strange.push("Gid".to_owned());
    }
    let CapabilitySets { effective, permitted, inheritable } = rustix::thread::capabilities(None)?;
    for (name, set) in [("effective", effective), ("permitted", permitted), ("inheritable", inheritable)] {
        if !set.is_empty() {
            strange.push(format!("{name}={:x}", set.bits()));
        }
    }
    // Without namespaces the file is closed, and what could be gained by executing is ruled out by no_new_privs.
    for name in ["CapBnd", "CapAmb"] {
        let set = status(name).unwrap_or_default();
        if set.bytes().any(|digit| digit != b'0') {
            strange.push(format!("{name}={set}"));
        }
    }
    found(&strange, "no id is 0 and no capability is left")
}

fn regain(_: &Scene) -> Answer {
    let mut strange = Vec::new();
    if !rustix::thread::no_new_privs()? {
        strange.push("new privileges are possible".to_owned());
    }
    if rustix::thread::secure_computing_mode()? != SecureComputingMode::Filter {
        strange.push("no filter is loaded".to_owned());
    }
    found(&strange, "no_new_privs and the filter are on")
}

const NO_MOUNT: &str =
    "the filter has no call that mounts; mounts belong to a user namespace above; no capability";
