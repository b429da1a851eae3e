//! The attacker's process: finds its attack, runs it and says what came of it.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::scene::{Answer, Refusal, Scene};
use super::{How, attacks, lifetime, other_host, processes, resources};
use crate::sys::process;

/// Runs the attack that the arguments name. Never returns.
pub(crate) fn main(arguments: impl Iterator<Item = std::ffi::OsString>) -> ! {
    let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    let Some(mut scene) = Scene::from_arguments(arguments) else { process::exit(NOT_UNDERSTOOD) };
    if scene.text("init") == PARENT {
        let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
        scene = scene.with("init", parent);
    }
    let answer = if scene.text("within") == "namespaces" { in_namespaces(scene) } else { play(&scene) };
    let line = match answer.map(|what| what.replace('\n', " ")) {
        Ok(what) => format!("\n{DONE}{what}\n"),
        Err(Refusal { why, is_partial: true }) => format!("\n{PARTLY}{why}\n"),
        Err(Refusal { why, .. }) => format!("\n{REFUSED}{why}\n"),
    };
    let _ = std::io::stdout().write_all(line.as_bytes());
    process::exit(0)
}

fn play(scene: &Scene) -> Answer {
    if let Some((_, part)) = PARTS.iter().find(|(name, _)| *name == scene.name) {
        part(scene);
        process::exit(0);
    }
    match attacks().iter().find(|attack| attack.name == scene.name).map(|attack| attack.how) {
        Some(How::Payload(payload) | How::Host(super::HostTrial { payload, .. })) => payload(scene),
        None => process::exit(NOT_UNDERSTOOD),
    }
}

/// Plays the scene as root of new namespaces.
fn in_namespaces(scene: Scene) -> Answer {
    let uid = rustix::process::geteuid().as_raw();
    let gid = rustix::process::getegid().as_raw();
    let all = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    process::unshare(all)?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {uid} 1\n"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {gid} 1\n"))?;
    let propagation =
        rustix::mount::MountPropagationFlags::PRIVATE | rustix::mount::MountPropagationFlags::REC;
    rustix::mount::mount_change("/", propagation)?;
    let name = scene.name.clone();
    let output =
        scene.with("within", "").other(&name).stdin(Stdio::inherit()).stderr(Stdio::null()).output()?;
    answer_in(&output.stdout).unwrap_or_else(|| Err(Refusal::of(format!("no answer, {}", output.status))))
}

/// The answer in what an attacker wrote.
pub(crate) fn answer_in(output: &[u8]) -> Option<Answer> {
    String::from_utf8_lossy(output).lines().rev().find_map(|line| {
        let done = line.strip_prefix(DONE).map(|what| Ok(what.to_owned()));
        let partly =
            line.strip_prefix(PARTLY).map(|why| Err(Refusal { why: why.to_owned(), is_partial: true }));
        let refused = line.strip_prefix(REFUSED).map(|why| Err(Refusal::of(why)));
        done.or(partly).or(refused)
    })
}

/// The attacker's program, outside.
pub(crate) fn command(program: &std::path::Path, scene: &Scene) -> Command {
    let mut command = Command::new(program);
    command.arg(crate::helper::ATTACK_ARGUMENT).args(scene.to_arguments()).env_clear();
    command
}

type Part = (&'static str, fn(&Scene));

/// Accomplices: processes that an attack, or its host, starts besides.
const PARTS: &[Part] = &[
    ("bystander", processes::bystander),
    ("sleeper", lifetime::sleeper),
    ("daemon", lifetime::daemon),
    ("late-writer", lifetime::late_writer),
    ("crowd", resources::crowd_member),
    ("host", other_host::host),
];
/// Instead of a number: only its child knows the number of a run's first process.
pub(crate) const PARENT: &str = "parent";
const DONE: &str = "answer done ";
const PARTLY: &str = "answer partly ";
const REFUSED: &str = "answer refused ";
const NOT_UNDERSTOOD: i32 = 124;
