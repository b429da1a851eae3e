//! A host of its own, which can be killed or given strange habits.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use super::in_place;
use super::payload::command;
use super::scene::Scene;
use super::stage::Stage;
use super::trial::{LIMITS, Prover, text};
use crate::child::Kind;
use crate::{Access, Profile, ProfileBuilder, Sandbox, SandboxError};

/// Starts one, which does what `task` says.
pub(crate) fn start(prover: &Prover<'_>, stage: &Stage, task: &str) -> Result<Child, String> {
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

/// Kills it.
pub(crate) fn kill(host: &mut Child) -> Result<(), String> {
    host.kill().map_err(text)?;
    host.wait().map_err(text).map(drop)
}

/// What a host says until it ends, or until its first line.
pub(crate) fn heard(host: &mut Child, until: Option<u8>) -> Result<String, String> {
    let mut output = host.stdout.take().ok_or("no output")?;
    let mut all = Vec::new();
    let mut byte = [0];
    while output.read(&mut byte).map_err(text)? == 1 && Some(byte[0]) != until {
        all.extend(byte);
    }
    Ok(String::from_utf8_lossy(&all).into_owned())
}

/// Another launcher of the same level.
pub(crate) fn another(program: &Path, in_place: bool) -> Result<Sandbox, SandboxError> {
    if in_place { Sandbox::start_kind(program, Kind::Kernel) } else { Sandbox::start_with(program) }
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
