//! Attacks that live on when whoever should end them dies, or is hit by what was meant for them.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::payload::command;
use super::scene::{Answer, Scene};
use super::stage::{Stage, processes_with};
use super::trial::{HostTrial, LIMITS, Prover, Seen, text};
use super::{Attack, in_place};
use crate::child::Kind;
use crate::patience::Patience;
use crate::{Access, Killed, Profile, ProfileBuilder, Sandbox, SandboxError};

pub(crate) fn attacks() -> Vec<Attack> {
    let on = |name, what, seen, trial, payload| Attack::host(name, what, seen, HostTrial { trial, payload });
    vec![
        on(
            "cancelled-run",
            "is cancelled and ignores it",
            "openai/codex#20925, QwenLM/qwen-code#11272",
            cancelled,
            |_| Ok(ignore_and_sleep()),
        )
        .at_every_level().met("polite signal, grace, then pid 1 of the namespace is killed"),
        on("dropped-run", "is forgotten by its host", "general", dropped, |_| Ok(sleep_long()))
            .at_every_level().met("a run that nobody holds is killed"),
        on(
            "slow-set-up",
            "is set up so slowly that the host gives up, and starts all the same",
            "general",
            slow_set_up,
            |_| Ok(sleep_long()),
        )
        .at_every_level().met("who gives up is not heard any more: the launcher kills a child that nobody asks for, and pid 1 leaves"),
        on("host-dies", "lives on when its host is killed", "general", host_dies, |_| {
            Ok(sleep_long())
        })
        .at_every_level().met("the launcher ends with its host's socket, and pid 1 with the launcher"),
        on(
            "host-dies-at-any-moment",
            "lives on when its host is killed while it is set up",
            "general",
            host_dies_early,
            |_| Ok(sleep_long()),
        )
        .at_every_level().met("each child makes sure that its launcher lives after it asked to die with it"),
        on("launcher-dies", "lives on when the launcher is killed", "general", launcher_dies, stay)
        .at_every_level().met("pid 1 dies with the launcher"),
        on(
            "host-and-launcher-die",
            "lives on when its host and the launcher are killed at once",
            "general",
            both_die,
            |_| Ok(sleep_long()),
        )
        .at_every_level()
        .met("pid 1 dies with the launcher"),
        on("init-dies", "lives on when the first process of its run is killed", "general", init_dies, stay)
            .at_every_level()
            .met("a PID namespace ends with its init; without one, the launcher inherits whom it leaves and ends them"),
        on(
            "interrupted-terminal",
            "is hit by the interrupt that was meant for its host",
            "general",
            interrupted,
            |_| Ok(sleep_long()),
        )
        .at_every_level().met("the launcher is in a session of its own"),
        on(
            "ignored-children",
            "is started by a host that ignores the ends of its children",
            "general",
            ignored_children,
            |_| Ok(sleep_long()),
        )
        .at_every_level().met("the launcher takes the signals' defaults back"),
        on(
            "leftovers",
            "leaves descriptors, processes or mounts with the host after many runs",
            "general",
            leftovers,
            |_| Ok(sleep_long()),
        )
        .at_every_level().met("each run owns what it opened"),
    ]
}

fn ignore_and_sleep() -> String {
    crate::sys::attack::ignore_signal(libc::SIGTERM);
    sleep_long()
}

/// With a daemon of its own.
fn stay(scene: &Scene) -> Answer {
    let mut daemon = scene.other("daemon");
    daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    Ok(ignore_and_sleep())
}

fn sleep_long() -> String {
    std::thread::sleep(Duration::from_secs(10));
    "slept".to_owned()
}

/// Waits until a process with this marker is there, or until none is.
fn await_processes(marker: &str, there: bool) -> Result<usize, String> {
    let started = Instant::now();
    loop {
        let count = processes_with(marker).len();
        if (count > 0) == there {
            return Ok(count);
        }
        if started.elapsed() > PATIENCE {
            return Err(format!("after {PATIENCE:?} there are {count} processes"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn cancelled(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let run = prover.sandbox.spawn(&prover.profile(&stage).build().map_err(text)?).map_err(text)?;
    let before = await_processes(&stage.marker, true)?;
    let started = Instant::now();
    let outcome = run.wait(&|| started.elapsed() > Duration::from_millis(150)).map_err(text)?;
    let left = processes_with(&stage.marker).len();
    if outcome.killed != Some(Killed::Cancelled) || left > 0 {
        return Err(format!("{:?}, {left} left", outcome.killed));
    }
    Ok(Seen {
        outside: format!("the host saw {before} processes"),
        inside: "cancelled, and none is left".to_owned(),
    })
}

fn dropped(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let run = prover.sandbox.spawn(&prover.profile(&stage).build().map_err(text)?).map_err(text)?;
    let before = await_processes(&stage.marker, true)?;
    drop(run);
    await_processes(&stage.marker, false)?;
    Ok(Seen { outside: format!("the host saw {before} processes"), inside: "none is left".to_owned() })
}

fn slow_set_up(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let profile = prover.profile(&stage).build().map_err(text)?;
    let (mut started, mut given_up) = (0, 0);
    for quarters in 0..4 * MOMENTS {
        match prover.sandbox.begin(&profile, &mut Patience::of(Duration::from_micros(quarters * 250))) {
            Ok(_) => started += 1,
            Err(_) => given_up += 1,
        }
        await_processes(&stage.marker, false)
            .map_err(|why| format!("given up after {} µs: {why}", quarters * 250))?;
        // Should one start late, it must not be seen either.
        std::thread::sleep(Duration::from_millis(10));
        await_processes(&stage.marker, false)?;
    }
    Ok(Seen {
        outside: format!("{started} were started and dropped"),
        inside: format!("{given_up} were given up, and none is left"),
    })
}

/// Another launcher of the same level.
fn another(program: &Path, in_place: bool) -> Result<Sandbox, SandboxError> {
    if in_place { Sandbox::start_kind(program, Kind::Kernel) } else { Sandbox::start_with(program) }
}

fn launcher_dies(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let sandbox = another(prover.program, prover.is_in_place()).map_err(text)?;
    let run = sandbox.spawn(&prover.profile(&stage).build().map_err(text)?).map_err(text)?;
    let before = await_processes(&stage.marker, true)?;
    sandbox.kill_launcher();
    await_processes(&stage.marker, false)?;
    match run.wait(&|| false) {
        Err(SandboxError::LauncherGone) => {}
        other => return Err(format!("the host was told {other:?}")),
    }
    Ok(Seen {
        outside: format!("the host saw {before} processes"),
        inside: "none is left, and the host was told".to_owned(),
    })
}

fn init_dies(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let run = prover.sandbox.spawn(&prover.profile(&stage).build().map_err(text)?).map_err(text)?;
    await_processes(&stage.marker, true)?;
    // The daemon takes a moment.
    std::thread::sleep(Duration::from_millis(100));
    let processes = processes_with(&stage.marker);
    let own = rustix::process::getpid();
    let parents = processes.iter().filter_map(|pid| parent_of(*pid)).collect::<Vec<_>>();
    // The only one that is a parent of theirs and not one of them. The bystander is no process of the run.
    let init = parents.into_iter().find(|parent| !processes.contains(parent) && *parent != own);
    rustix::process::kill_process(init.ok_or("no init was found")?, Signal::KILL).map_err(text)?;
    let outcome = run.wait(&|| false).map_err(text)?;
    let left = processes_with(&stage.marker).len();
    if outcome.exit.is_some() || left > 0 {
        return Err(format!("the host was told {:?}, and {left} are left", outcome.exit));
    }
    Ok(Seen {
        outside: format!("the host saw {} processes", processes.len()),
        inside: "none is left, and the host was told".to_owned(),
    })
}

fn parent_of(pid: Pid) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok().and_then(Pid::from_raw)
}

/// A host of its own, which can be killed.
fn other_host(prover: &Prover<'_>, stage: &Stage, task: &str) -> Result<Child, String> {
    let scene = Scene::new("host")
        .with("task", task)
        .with("is_in_place", u8::from(prover.is_in_place()))
        .with("marker", &stage.marker)
        .with("program", prover.program.display());
    let mut host = command(prover.program, &scene);
    host.process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(text)
}

fn kill(host: &mut Child) -> Result<(), String> {
    host.kill().map_err(text)?;
    host.wait().map_err(text).map(drop)
}

/// What a host says until it ends, or until its first line.
fn heard(host: &mut Child, until: Option<u8>) -> Result<String, String> {
    let mut output = host.stdout.take().ok_or("no output")?;
    let mut all = Vec::new();
    let mut byte = [0];
    while output.read(&mut byte).map_err(text)? == 1 && Some(byte[0]) != until {
        all.extend(byte);
    }
    Ok(String::from_utf8_lossy(&all).into_owned())
}

fn host_dies(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let mut host = other_host(prover, &stage, "run")?;
    let said = heard(&mut host, Some(b'\n'))?;
    let before = processes_with(&stage.marker).len();
    kill(&mut host)?;
    await_processes(&stage.marker, false)?;
    if said != "running" || before < 2 {
        return Err(format!("the host said {said:?} and there were {before} processes"));
    }
    Ok(Seen { outside: format!("{before} processes were there"), inside: "none is left".to_owned() })
}

fn both_die(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let mut host = other_host(prover, &stage, "run")?;
    heard(&mut host, Some(b'\n'))?;
    let before = processes_with(&stage.marker).len();
    let own = host.id();
    let launcher = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).map_err(text)?;
    let launcher = launcher.trim().parse().ok().and_then(Pid::from_raw).ok_or("no launcher was found")?;
    rustix::process::kill_process(launcher, Signal::KILL).map_err(text)?;
    kill(&mut host)?;
    await_processes(&stage.marker, false)?;
    if before < 2 {
        return Err(format!("there were {before} processes"));
    }
    Ok(Seen { outside: format!("{before} processes were there"), inside: "none is left".to_owned() })
}

fn host_dies_early(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let mut most = 0;
    for millis in 0..MOMENTS {
        let mut host = other_host(prover, &stage, "run")?;
        std::thread::sleep(Duration::from_millis(millis * 2));
        most = most.max(processes_with(&stage.marker).len());
        kill(&mut host)?;
        await_processes(&stage.marker, false)
            .map_err(|why| format!("killed after {} ms: {why}", millis * 2))?;
    }
    Ok(Seen {
        outside: format!("up to {most} processes were there"),
        inside: format!("killed at {MOMENTS} moments, none is left"),
    })
}

fn interrupted(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let mut host = other_host(prover, &stage, "interrupted")?;
    await_processes(&stage.marker, true)?;
    std::thread::sleep(Duration::from_millis(250));
    let group = i32::try_from(host.id()).ok().and_then(Pid::from_raw).ok_or("no pid")?;
    rustix::process::kill_process_group(group, Signal::INT).map_err(text)?;
    let said = heard(&mut host, None)?;
    host.wait().map_err(text)?;
    if !said.contains("Some(Code(0)) None") {
        return Err(format!("the host said {said:?}"));
    }
    Ok(Seen {
        outside: "the host was interrupted and went on".to_owned(),
        inside: "so did the run".to_owned(),
    })
}

fn ignored_children(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let mut host = other_host(prover, &stage, "ignores-children")?;
    let said = heard(&mut host, None)?;
    host.wait().map_err(text)?;
    if !said.contains("Some(Code(0)) None") {
        return Err(format!("the host said {said:?}"));
    }
    Ok(Seen {
        outside: "the host ignores its children's ends".to_owned(),
        inside: said.trim().replace('\n', " "),
    })
}

fn leftovers(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let mut host = other_host(prover, &stage, "many")?;
    let said = heard(&mut host, None)?;
    host.wait().map_err(text)?;
    let counts: Vec<&str> = said.lines().collect();
    match counts[..] {
        [before, after] if before == after => {
            Ok(Seen { outside: before.to_owned(), inside: after.to_owned() })
        }
        _ => Err(format!("before and after: {said:?}")),
    }
}

/// The other host's own program.
pub(crate) fn host(scene: &Scene) {
    match scene.text("task") {
        "interrupted" => crate::sys::attack::survive_signal(libc::SIGINT),
        "ignores-children" => crate::sys::attack::ignore_signal(libc::SIGCHLD),
        _ => {}
    }
    let is_in_place = scene.number("is_in_place") == 1;
    let sandbox = match another(Path::new("/proc/self/exe"), is_in_place) {
        Ok(sandbox) => sandbox,
        Err(error) => return println!("{error}"),
    };
    let run = |millis: u64| {
        let sleeper = Scene::new("sleeper").with("millis", millis).with("marker", scene.text("marker"));
        let program = scene.path("program");
        let inside = if is_in_place { program.clone() } else { "/payload".into() };
        let mut profile = Profile::builder(&inside, LIMITS, Duration::from_secs(10));
        if !in_place::is_of_the_system(&inside) {
            profile = profile.grant(program, inside, Access::Read);
        }
        let profile = profile.floor(sandbox.enforcement().level()).argument(crate::helper::ATTACK_ARGUMENT);
        let profile = sleeper.to_arguments().iter().fold(profile, ProfileBuilder::argument).build();
        profile.map_err(text).and_then(|profile| sandbox.spawn(&profile).map_err(text))
    };
    let end = |millis| run(millis).and_then(|run| run.wait(&|| false).map_err(text));
    let tell = |millis| match end(millis) {
        Ok(outcome) => println!("{:?} {:?}", outcome.exit, outcome.killed),
        Err(error) => println!("{error}"),
    };
    match scene.text("task") {
        "run" => {
            let run = run(10_000);
            println!("{}", if run.is_ok() { "running" } else { "not running" });
            std::thread::sleep(Duration::from_secs(10));
        }
        "interrupted" => tell(600),
        "ignores-children" => tell(1),
        _ => {
            let _ = end(1);
            // The launcher tells that a run is over before it puts its own things away.
            std::thread::sleep(Duration::from_millis(100));
            println!("{}", holdings());
            for _ in 0..30 {
                let _ = end(1);
                // One that is no launcher must not stay behind as a dead child.
                let _ = Sandbox::start_with(std::path::Path::new("/bin/true"));
            }
            std::thread::sleep(Duration::from_millis(100));
            println!("{}", holdings());
        }
    }
}

/// How much this process and all below it hold of what could be left over.
fn holdings() -> String {
    let own = format!("{} descriptors", entries("/proc/self/fd"));
    std::iter::once(own).chain(below(std::process::id())).collect::<Vec<_>>().join(", ")
}

fn below(pid: u32) -> Vec<String> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let mut all = Vec::new();
    for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
        let mounts = std::fs::read_to_string(format!("/proc/{child}/mountinfo")).unwrap_or_default();
        let descriptors = entries(&format!("/proc/{child}/fd"));
        all.push(format!("a child with {descriptors} descriptors and {} mounts", mounts.lines().count()));
        all.extend(below(child));
    }
    all
}

fn entries(folder: &str) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

const PATIENCE: Duration = Duration::from_secs(5);
const MOMENTS: u64 = 20;
