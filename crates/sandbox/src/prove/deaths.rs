//! Attacks that live on when whoever should end them dies, or is hit by what was meant for them.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::scene::{Answer, Scene};
use super::stage::processes_with;
use super::trial::{HostTrial, Prover, Seen, text};
use super::{Attack, other_host};
use crate::patience::Patience;
use crate::{Killed, SandboxError};

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

fn launcher_dies(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let sandbox = other_host::another(prover.program, prover.is_in_place()).map_err(text)?;
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

fn host_dies(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let mut host = other_host::start(prover, &stage, "run")?;
    let said = other_host::heard(&mut host, Some(b'\n'))?;
    let before = processes_with(&stage.marker).len();
    other_host::kill(&mut host)?;
    await_processes(&stage.marker, false)?;
    if said != "running" || before < 2 {
        return Err(format!("the host said {said:?} and there were {before} processes"));
    }
    Ok(Seen { outside: format!("{before} processes were there"), inside: "none is left".to_owned() })
}

fn both_die(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let mut host = other_host::start(prover, &stage, "run")?;
    other_host::heard(&mut host, Some(b'\n'))?;
    let before = processes_with(&stage.marker).len();
    let own = host.id();
    let launcher = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")).map_err(text)?;
    let launcher = launcher.trim().parse().ok().and_then(Pid::from_raw).ok_or("no launcher was found")?;
    rustix::process::kill_process(launcher, Signal::KILL).map_err(text)?;
    other_host::kill(&mut host)?;
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
        let mut host = other_host::start(prover, &stage, "run")?;
        std::thread::sleep(Duration::from_millis(millis * 2));
        most = most.max(processes_with(&stage.marker).len());
        other_host::kill(&mut host)?;
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
    let mut host = other_host::start(prover, &stage, "interrupted")?;
    await_processes(&stage.marker, true)?;
    std::thread::sleep(Duration::from_millis(250));
    let group = i32::try_from(host.id()).ok().and_then(Pid::from_raw).ok_or("no pid")?;
    rustix::process::kill_process_group(group, Signal::INT).map_err(text)?;
    let said = other_host::heard(&mut host, None)?;
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
    let mut host = other_host::start(prover, &stage, "ignores-children")?;
    let said = other_host::heard(&mut host, None)?;
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
    let mut host = other_host::start(prover, &stage, "many")?;
    let said = other_host::heard(&mut host, None)?;
    host.wait().map_err(text)?;
    let counts: Vec<&str> = said.lines().collect();
    match counts[..] {
        [before, after] if before == after => {
            Ok(Seen { outside: before.to_owned(), inside: after.to_owned() })
        }
        _ => Err(format!("before and after: {said:?}")),
    }
}

const PATIENCE: Duration = Duration::from_secs(5);
const MOMENTS: u64 = 20;
