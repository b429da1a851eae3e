//! Attacks in which the host takes part: by what it grants and what it gives.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::payload::{answer_in, command};
use super::scene::{Answer, Refusal, Scene};
use super::stage::{SECRET, Stage};
use super::trial::{HostTrial, OUTPUT_BYTES_MAX, Prover, Seen, text};
use super::{Attack, files};
use crate::{Access, Exit, OnExcess, ProfileBuilder, ProfileError, SandboxError, Step};

pub(crate) fn attacks() -> Vec<Attack> {
    let on = |name, what, seen, trial, payload| Attack::host(name, what, seen, HostTrial { trial, payload });
    vec![
        on(
            "grant-a-link",
            "has a link granted, which can be pointed elsewhere",
            "CVE-2021-30465 (runc)",
            grant_link,
            |_| Ok("started".to_owned()),
        )
        .at_every_level()
        .met("the last part of a granted path is never followed"),
        on(
            "grant-a-pipe",
            "has a named pipe, a socket or a device granted",
            "general",
            grant_special,
            |_| Ok("started".to_owned()),
        )
        .at_every_level()
        .met("only files and folders can be granted"),
        on(
            "swap-a-grant",
            "has a granted folder replaced during the run",
            "CVE-2021-25741 (Kubernetes)",
            swap_grant,
            read_for_a_while,
        )
        .at_every_level()
        .met("what is granted is opened once and mounted from the descriptor"),
        on(
            "place-below-a-grant",
            "has a place for another grant made in a folder that it filled with links",
            "CVE-2026-87766 (bubblewrap)",
            place_below_a_grant,
            |_| Ok("started".to_owned()),
        )
        .at_every_level()
        .met("no grant lies in another, and places are made in folders that nobody has written to"),
        on(
            "current-folder-by-proc",
            "is started in a folder of /proc/self/fd",
            "CVE-2024-21626 (runc)",
            folder_by_proc,
            climb_from_here,
        )
        .at_every_level()
        .met("the current folder is entered in the new root, and nothing open leads out of it"),
        on(
            "neighbours",
            "sees files or processes of another run, of the same time or earlier",
            "general",
            neighbours,
            look_around,
        )
        .met("each run has namespaces and temporary folders of its own"),
        on(
            "strange-arguments",
            "has quotes, newlines, dashes and 100 KiB for arguments",
            "general",
            strange_arguments,
            |_| Ok(echo_arguments()),
        )
        .at_every_level()
        .met("arguments go to the program as they are; no shell reads them"),
        on(
            "flood-that-is-cut",
            "writes without end where the output is cut",
            "antirez/ds4#680",
            flood_cut,
            flood_some,
        )
        .at_every_level()
        .met("the rest is read, counted and dropped"),
        on("unread-input", "never reads what the host gives it", "general", unread_input, |_| {
            Ok(sleep_a_little())
        })
        .at_every_level()
        .met("the end of the run closes its input"),
    ]
}

/// Whether a source can be granted, as the launcher answers it.
fn grant(prover: &Prover<'_>, stage: &Stage, source: &Path) -> Result<Result<(), SandboxError>, String> {
    // What is no plain file is refused before anybody looks where it would be shown.
    let is_plain = std::fs::symlink_metadata(source).is_ok_and(|file| file.is_file());
    let target = if prover.is_in_place() && is_plain { source } else { Path::new("/extra") };
    let profile = prover.profile(stage).grant(source, target, Access::Read).build().map_err(text)?;
    match prover.sandbox.spawn(&profile).and_then(|run| run.wait(&|| false)) {
        Ok(_) => Ok(Ok(())),
        Err(error @ SandboxError::SetUp { step: Step::OpenGrant, .. }) => Ok(Err(error)),
        Err(error) => Err(text(error)),
    }
}

fn refused(prover: &Prover<'_>, stage: &Stage, sources: &[(&str, &Path)]) -> Result<Seen, String> {
    let plain = stage.root.join("secret");
    grant(prover, stage, &plain)?.map_err(|error| format!("a plain file was refused: {error}"))?;
    let mut inside = Vec::new();
    for (what, source) in sources {
        match grant(prover, stage, source)? {
            Ok(()) => return Err(format!("{what} was granted")),
            Err(error) => inside.push(format!("{what}: {error}")),
        }
    }
    Ok(Seen { outside: "a plain file is granted".to_owned(), inside: inside.join("; ") })
}

fn grant_link(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let folder = stage.root.join("folder-link");
    std::os::unix::fs::symlink(stage.root.join("read"), &folder).map_err(text)?;
    refused(
        prover,
        &stage,
        &[("a link to a file", &stage.root.join("read/link")), ("a link to a folder", &folder)],
    )
}

fn grant_special(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let pipe = stage.root.join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).map_err(text)?;
    let sources = [
        ("a named pipe", pipe.as_path()),
        ("a socket", &stage.root.join("stream")),
        ("a device", Path::new("/dev/zero")),
    ];
    refused(prover, &stage, &sources)
}

fn read_for_a_while(scene: &Scene) -> Answer {
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(400) {
        if std::fs::read_to_string(scene.path("read").join("file")).is_ok_and(|text| text == SECRET) {
            return Ok("read what was put in its place".to_owned());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(Refusal::of("read only what was granted"))
}

fn swap_grant(prover: &Prover<'_>) -> Result<Seen, String> {
    let swap = |stage: &Stage| -> std::io::Result<()> {
        std::thread::sleep(Duration::from_millis(100));
        let other = stage.root.join("other");
        std::fs::create_dir(&other)?;
        std::fs::write(other.join("file"), SECRET)?;
        std::fs::rename(stage.root.join("read"), stage.root.join("moved"))?;
        std::os::unix::fs::symlink(other, stage.root.join("read"))
    };
    let stage = prover.stage()?;
    let scene = stage.outside(prover.attack.name, prover.program);
    let child =
        command(prover.program, &scene).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(text)?;
    swap(&stage).map_err(text)?;
    let outside = answer_in(&child.wait_with_output().map_err(text)?.stdout);
    let Some(Ok(outside)) = outside else { return Err(format!("it did not succeed outside: {outside:?}")) };
    let stage = prover.stage()?;
    let run = prover.sandbox.spawn(&prover.profile(&stage).build().map_err(text)?).map_err(text)?;
    swap(&stage).map_err(text)?;
    let inside = answer_in(&run.wait(&|| false).map_err(text)?.output.bytes);
    match inside {
        Some(Err(inside)) => Ok(Seen { outside, inside: inside.why }),
        inside => Err(format!("{inside:?}")),
    }
}

fn place_below_a_grant(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let (source, elsewhere) = (stage.root.join("read"), stage.root.join("elsewhere"));
    std::fs::create_dir(&elsewhere).map_err(text)?;
    std::os::unix::fs::symlink(&elsewhere, source.join("leads-out")).map_err(text)?;
    // What a careless set-up does.
    let (folder, place) = (source.join("leads-out/made"), elsewhere.join("made"));
    std::fs::create_dir_all(&folder).map_err(text)?;
    if !place.exists() {
        return Err("making a place by its path stayed inside".to_owned());
    }
    std::fs::remove_dir(&place).map_err(text)?;
    let shown = if prover.is_in_place() { source.as_path() } else { Path::new("/granted") };
    for below in ["leads-out/made", "leads-out/made/deeper"] {
        let granted =
            prover.profile(&stage).grant(stage.root.join("secret"), shown.join(below), Access::Read);
        match granted.build() {
            Err(ProfileError::Overlap(_)) => {}
            other => return Err(format!("{below}: {other:?}")),
        }
    }
    if place.exists() {
        return Err("a place was made on the host".to_owned());
    }
    Ok(Seen {
        outside: "a link led the place out".to_owned(),
        inside: "the profile was refused, and nothing was made".to_owned(),
    })
}

fn climb_from_here(scene: &Scene) -> Answer {
    let secret = scene.text("secret");
    super::scene::any((0..12).map(|steps| {
        let path = format!("./{}{}", "../".repeat(steps), secret.trim_start_matches('/'));
        (steps, files::read(Path::new(&path)).map(drop))
    }))
}

fn folder_by_proc(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let scene = stage.outside(prover.attack.name, prover.program);
    let outside = command(prover.program, &scene).current_dir("/proc/self/cwd").output().map_err(text)?;
    let Some(Ok(outside)) = answer_in(&outside.stdout) else {
        return Err("it did not succeed outside".to_owned());
    };
    let mut started = 0;
    for number in 0..24 {
        let profile =
            prover.profile(&stage).directory(format!("/proc/self/fd/{number}")).build().map_err(text)?;
        match prover.sandbox.spawn(&profile).and_then(|run| run.wait(&|| false)) {
            Ok(outcome) => match answer_in(&outcome.output.bytes) {
                Some(Err(Refusal { is_partial: false, .. })) => started += 1,
                answer => return Err(format!("descriptor {number}: {answer:?}")),
            },
            Err(SandboxError::SetUp { .. }) => {}
            Err(error) => return Err(text(error)),
        }
    }
    Ok(Seen { outside, inside: format!("24 descriptors tried, {started} could be entered and led nowhere") })
}

/// Looks for what another left, leaves something itself and stays for a while.
fn look_around(scene: &Scene) -> Answer {
    let mut strange = Vec::new();
    for place in ["tmp", "shm"] {
        let names = std::fs::read_dir(scene.path(place))?.flatten().map(|entry| entry.path());
        strange.extend(names.map(|path| path.display().to_string()));
    }
    for place in ["tmp", "shm"] {
        std::fs::write(scene.path(place).join("fair-left"), SECRET)?;
    }
    let pids = std::fs::read_dir("/proc")?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let others = pids.filter(|pid| *pid != 1 && *pid != std::process::id());
    strange.extend(others.take(3).map(|pid| format!("process {pid}")));
    std::thread::sleep(Duration::from_millis(200));
    super::scene::found(&strange, "it is alone")
}

fn neighbours(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let scene = stage.outside(prover.attack.name, prover.program);
    let outside =
        || command(prover.program, &scene).output().map_err(text).map(|output| answer_in(&output.stdout));
    let Some(Ok(seen)) = outside().and_then(|_| outside())? else {
        return Err("it did not succeed outside".to_owned());
    };
    let profile = prover.profile(&stage).build().map_err(text)?;
    let first = prover.sandbox.spawn(&profile).map_err(text)?;
    std::thread::sleep(Duration::from_millis(100));
    let second = prover.sandbox.spawn(&profile).map_err(text)?;
    let mut inside = Vec::new();
    for run in [first, second, prover.sandbox.spawn(&profile).map_err(text)?] {
        match answer_in(&run.wait(&|| false).map_err(text)?.output.bytes) {
            Some(Err(refusal)) => inside.push(refusal.why),
            answer => return Err(format!("{answer:?}")),
        }
    }
    Ok(Seen { outside: seen, inside: inside.join(", ") })
}

fn echo_arguments() -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let all: Vec<String> = std::env::args_os()
        .skip_while(|argument| argument != "--")
        .map(|argument| {
            argument
                .as_bytes()
                .iter()
                .map(|byte| u64::from(*byte))
                .fold(argument.len() as u64, mix)
                .to_string()
        })
        .collect();
    all.join(" ")
}

/// Of a text, so that it can be told from others.
fn mix(sum: u64, byte: u64) -> u64 {
    sum.wrapping_mul(0x0100_0000_01b3) ^ byte
}

fn strange_arguments(prover: &Prover<'_>) -> Result<Seen, String> {
    let long = "x".repeat(100 << 10);
    let arguments = [
        "--",
        "-c",
        "",
        "a b",
        "$(id)`id`;&|<>*?",
        "line\nline",
        "'\"\\",
        "\u{202e}\u{0007}",
        long.as_str(),
        "--",
        "-rf",
    ];
    let stage = prover.stage()?;
    let scene = stage.outside(prover.attack.name, prover.program);
    let outside = command(prover.program, &scene).args(arguments).output().map_err(text)?;
    let profile = arguments.into_iter().fold(prover.profile(&stage), ProfileBuilder::argument);
    let inside = prover.confine(&stage, profile)?;
    match (answer_in(&outside.stdout), answer_in(&inside.output.bytes)) {
        (Some(Ok(outside)), Some(Ok(inside)))
            if inside == outside && inside.split(' ').count() == arguments.len() =>
        {
            Ok(Seen { outside, inside })
        }
        (outside, inside) => Err(format!("outside {outside:?}, inside {inside:?}")),
    }
}

fn flood_some(_: &Scene) -> Answer {
    let part = [0xff; 4096];
    for _ in 0..FLOOD_BYTES / part.len() {
        std::io::Write::write_all(&mut std::io::stdout(), &part)?;
    }
    crate::sys::process::exit(0)
}

fn flood_cut(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let scene = stage.outside(prover.attack.name, prover.program);
    let outside = command(prover.program, &scene).output().map_err(text)?.stdout.len();
    let outcome =
        prover.confine(&stage, prover.profile(&stage).output(OUTPUT_BYTES_MAX, OnExcess::Truncate))?;
    let (kept, dropped) = (outcome.output.bytes.len(), outcome.output.dropped);
    let is_counted = kept == OUTPUT_BYTES_MAX && kept as u64 + dropped == FLOOD_BYTES as u64;
    if outside != FLOOD_BYTES || !is_counted || outcome.exit != Some(Exit::Code(0)) {
        return Err(format!("outside {outside}; inside kept {kept}, dropped {dropped}, {:?}", outcome.exit));
    }
    Ok(Seen {
        outside: format!("{outside} bytes came"),
        inside: format!("{kept} bytes were kept, {dropped} counted"),
    })
}

fn sleep_a_little() -> String {
    std::thread::sleep(Duration::from_millis(100));
    "did not read".to_owned()
}

fn unread_input(prover: &Prover<'_>) -> Result<Seen, String> {
    let stage = prover.stage()?;
    let mut run = prover.sandbox.spawn(&prover.profile(&stage).build().map_err(text)?).map_err(text)?;
    let input = run.take_input().ok_or("no input")?;
    let writer = std::thread::spawn(move || {
        let mut written = 0;
        while let Ok(length) = rustix::io::write(&input, &[0; 4096]) {
            written += length;
        }
        written
    });
    let outcome = run.wait(&|| false).map_err(text)?;
    let written = writer.join().map_err(|_| "the writer panicked".to_owned())?;
    if outcome.exit != Some(Exit::Code(0)) || outcome.killed.is_some() {
        return Err(format!("{:?} {:?}", outcome.exit, outcome.killed));
    }
    Ok(Seen {
        outside: format!("the host wrote {written} bytes"),
        inside: "it ended, and so did the writing".to_owned(),
    })
}

const FLOOD_BYTES: usize = 2 << 20;
