//! Reaching other processes, and learning what they were told.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{PidfdFlags, Signal};

use super::Attack;
use super::scene::{Answer, Refusal, Scene, any, found};
use super::stage::RENICED;
use super::trial::Expected;

#[expect(clippy::too_many_lines, reason = "a list, one entry for each attack")]
pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        Attack::new("signal-a-host-process", "kills a process of the host by its pid", "general", |scene| {
            Ok(rustix::process::kill_process(scene.pid("bystander")?, Signal::KILL)
                .map(|()| "killed".to_owned())?)
        })
        .leaves_traces()
        .at_every_level()
        .met(PIDS),
        Attack::new(
            "signal-by-descriptor",
            "kills a process of the host by a process descriptor",
            "general, pidfd_open",
            |scene| {
                let process = rustix::process::pidfd_open(scene.pid("bystander")?, PidfdFlags::empty())?;
                Ok(rustix::process::pidfd_send_signal(process, Signal::KILL).map(|()| "killed".to_owned())?)
            },
        )
        .leaves_traces()
        .at_every_level()
        .met(PIDS),
        Attack::new(
            "signal-everybody",
            "kills everybody that it may, and pid 1",
            "general, kill(-1)",
            signal_everybody,
        )
        .in_namespaces()
        .at_every_level()
        .met("PID namespace: everybody is the sandbox's own, and pid 1 cannot be killed from inside"),
        Attack::new("slow-a-host-process", "lowers the priority of a host process", "general", |scene| {
            let slowed = rustix::process::setpriority_process(Some(scene.pid("bystander")?), RENICED);
            Ok(slowed.map(|()| "slowed".to_owned())?)
        })
        .leaves_traces()
        .at_every_level()
        .met(PIDS),
        Attack::new("pin-a-host-process", "keeps a host process to one processor", "general, sched_setaffinity", |scene| {
            let mut one = rustix::thread::CpuSet::new();
            one.set(0);
            let pinned = rustix::thread::sched_setaffinity(Some(scene.pid("bystander")?), &one);
            Ok(pinned.map(|()| "pinned".to_owned())?)
        })
        .at_every_level()
        .met(UNTOUCHED),
        Attack::new(
            "signal-by-file-owner",
            "makes a host process the owner of a pipe, which is sent a signal when something comes",
            "general, F_SETOWN",
            |scene| {
                let (read, write) = rustix::pipe::pipe()?;
                crate::sys::attack::signal_owner(&read, scene.pid("bystander")?)?;
                rustix::io::write(&write, b"x")?;
                Ok("made it the owner".to_owned())
            },
        )
        .leaves_traces()
        .at_every_level()
        .met("PID namespace; without one, the filter lets nobody set an owner, and the Landlock domain"),
        Attack::new(
            "kill-its-init",
            "kills and stops the first process of its run, which is to end it",
            "general",
            |scene| {
                let init = scene.pid("init")?;
                let signals = [Signal::STOP, Signal::USR1, Signal::HUP, Signal::KILL];
                any(signals.map(|signal| (format!("{signal:?}"), rustix::process::kill_process(init, signal))))
            },
        )
        .leaves_traces()
        .expect(Expected::Exit(0))
        .at_every_level()
        .met("a namespace keeps its init from signals from inside; without one, the init lives in the domain above"),
        Attack::new(
            "read-a-host-process",
            "reads memory, maps, descriptors and program of a process of the host",
            PID_1,
            |scene| read_process(scene.text("bystander")),
        )
        .at_every_level()
        .met("PID namespace; without one, Landlock opens nothing of /proc and lets nobody look up"),
        Attack::new("see-host-processes", "looks for other people's processes", "general", see_processes)
            .met(PIDS),
        Attack::new(
            "environment-of-others",
            "reads the environments of other processes",
            ENVIRONMENTS,
            environments,
        )
        .at_every_level()
        .met("the launcher has an empty environment; /proc shows no other process's"),
        Attack::new(
            "inherited-environment",
            "looks for variables that were not declared",
            "earendil-works/pi#7522, lijunzh/koda#1229",
            own_environment,
        )
        .at_every_level()
        .met("the environment is built from nothing"),
        Attack::new(
            "read-pid-1",
            "reads memory, maps, descriptors and program of the sandbox's first process",
            PID_1,
            |scene| read_process(scene.text("init")),
        )
        .at_every_level()
        .met("pid 1 cannot be dumped and lives in a user namespace above"),
        Attack::new(
            "command-line-of-pid-1",
            "reads a path of the host in pid 1's command line",
            "general",
            command_line,
        )
        .at_every_level()
        .met("the launcher is started under a name without a path"),
        Attack::new("limit-others", "changes the limits of a host process", "general, prlimit", |scene| {
            let limits = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
            let resource = rustix::process::Resource::Core;
            Ok(rustix::process::prlimit(Some(scene.pid("bystander")?), resource, limits)
                .map(|_| "limited".to_owned())?)
        })
        .at_every_level()
        .met(PIDS),
    ]
}

/// A process of the host's: waits until its standard input ends.
pub(crate) fn bystander(_: &Scene) {
    let mut byte = [0];
    let _ = std::io::Read::read(&mut std::io::stdin(), &mut byte);
}

fn signal_everybody(scene: &Scene) -> Answer {
    // Outside it must be the first of a namespace of its own, or it would end the user's session.
    if !scene.is_inside() && std::process::id() != 1 {
        return Err(Refusal::of("not in a namespace of its own"));
    }
    let mut victim = scene.other("sleeper").stdout(Stdio::null()).spawn()?;
    if scene.is_inside() && rustix::process::test_kill_process(scene.pid("bystander")?).is_ok() {
        // Enough is shown: the next step would end the user's session.
        return Ok("could kill a process of the host".to_owned());
    }
    let at_init = scene.pid("init").map(|init| rustix::process::kill_process(init, Signal::KILL));
    crate::sys::attack::kill_everybody()?;
    let signal = victim.wait()?.signal();
    // Killing one's own is no attack: the bystander tells whether others were hit, and the run must end by itself.
    match (signal, scene.is_inside()) {
        (Some(9), false) => Ok("its own child is dead".to_owned()),
        (Some(9), true) => Err(Refusal::of(format!("its own child is dead; killing its init: {at_init:?}"))),
        _ => Err(Refusal { why: "its own child is alive".to_owned(), is_partial: true }),
    }
}

fn see_processes(scene: &Scene) -> Answer {
    let mut strange: Vec<String> = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_own = name == "1" || name == std::process::id().to_string();
        if name.parse::<u32>().is_ok() && !is_own {
            strange.push(name);
        }
    }
    if Path::new("/proc").join(scene.text("bystander")).exists() {
        strange.push("the bystander".to_owned());
    }
    strange.truncate(5);
    found(&strange, "only pid 1 and itself are there")
}

fn environments(scene: &Scene) -> Answer {
    let mut strange = Vec::new();
    // Where the folder cannot be listed, numbers can still be known, or tried.
    let listed =
        std::fs::read_dir("/proc").map(|folder| folder.flatten().map(|entry| entry.path()).collect());
    let known = || {
        let tried = (1..TRIED_PIDS).map(|pid| pid.to_string());
        let known = ["init", "bystander"].map(|key| scene.text(key).to_owned());
        known.into_iter().chain(tried).map(|pid| Path::new("/proc").join(pid)).collect()
    };
    let all: Vec<PathBuf> = listed.unwrap_or_else(|_| known());
    for path in all {
        if path.ends_with(std::process::id().to_string())
            || path.ends_with("self")
            || path.ends_with("thread-self")
        {
            continue;
        }
        if let Ok(content) = std::fs::read(path.join("environ"))
            && !content.is_empty()
        {
            strange.push(path.display().to_string());
        }
    }
    strange.truncate(5);
    found(&strange, "no environment of another process can be read")
}

fn own_environment(_: &Scene) -> Answer {
    // Not readable everywhere.
    let own = std::fs::read("/proc/self/environ").unwrap_or_default();
    let names = own.split(|byte| *byte == 0).filter_map(|entry| entry.split(|byte| *byte == b'=').next());
    let names = names.filter(|name| !name.is_empty()).map(|name| String::from_utf8_lossy(name).into_owned());
    let all = names.chain(std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()));
    let strange: Vec<String> = all.filter(|name| name != "DECLARED").collect();
    found(&strange, "only the declared variable is there")
}

fn read_process(pid: &str) -> Answer {
    let names = ["environ", "mem", "maps", "auxv", "syscall", "stack", "personality"];
    let opened = names.map(|name| {
        let opened = std::fs::File::open(format!("/proc/{pid}/{name}"));
        (name, opened.and_then(|mut file| std::io::Read::read(&mut file, &mut [0; 1]).map(drop)))
    });
    let links = ["exe", "root", "cwd", "fd/0", "ns/user", "ns/mnt"];
    let links = links.map(|name| (name, std::fs::read_link(format!("/proc/{pid}/{name}")).map(drop)));
    any(opened.into_iter().chain(links))
}

fn command_line(scene: &Scene) -> Answer {
    let place = format!("/proc/{}/cmdline", scene.text("init"));
    let mut line = std::fs::read(&place)?;
    // A program that was started just now has none for a moment.
    for _ in 0..200 {
        if !line.is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
        line = std::fs::read(&place)?;
    }
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    let paths: Vec<String> = line.split(' ').filter(|word| word.contains('/')).map(str::to_owned).collect();
    found(&paths, "no path is in it")
}

const TRIED_PIDS: u32 = 2000;
const UNTOUCHED: &str = "PID namespace: the host's pids mean nothing inside; without one, the filter lets such calls name nobody else";
const PIDS: &str = "PID namespace: the host's pids mean nothing inside";
const PID_1: &str = "CVE-2016-9962, CVE-2016-8659 (bubblewrap)";
const ENVIRONMENTS: &str = "containers/bubblewrap#725, multikernel/sandlock#246, gke-labs/kube-agents#1270";
