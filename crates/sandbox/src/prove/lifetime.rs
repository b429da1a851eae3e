//! Living on when the run is over.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::Attack;
use super::scene::{Answer, Scene};
use super::trial::Expected;
use crate::Killed;

#[expect(clippy::too_many_lines, reason = "a list, one entry for each attack")]
pub(crate) fn attacks() -> Vec<Attack> {
    let at_deadline = |attack: Attack| {
        attack.leaves_traces().expect(Expected::Killed(Killed::Deadline)).wall_millis(300).at_every_level()
    };
    let at_exit =
        |attack: Attack| attack.leaves_traces().expect(Expected::Exit(0)).at_every_level().met(INIT);
    vec![
        at_exit(Attack::new(
            "grandchild-after-exit",
            "leaves a child behind that holds its output open",
            SURVIVORS,
            |scene| {
                scene.other("late-writer").spawn()?;
                Ok("left a child".to_owned())
            },
        )),
        at_exit(Attack::new(
            "daemon-after-exit",
            "leaves a daemon behind, in a session of its own",
            "berenddeboer/ready-for-agent#516",
            |scene| {
                scene
                    .other("daemon")
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status()?;
                Ok("left a daemon".to_owned())
            },
        )),
        at_exit(Attack::new("many-daemons-after-exit", "leaves many daemons behind", SURVIVORS, |scene| {
            for _ in 0..4 {
                scene
                    .other("daemon")
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status()?;
            }
            Ok("left four".to_owned())
        })),
        at_deadline(Attack::new(
            "outlive-the-deadline",
            "goes on after its time",
            "cloudflare/sandbox-sdk#338",
            late,
        ))
        .met("deadline on the monotonic clock, then the polite signal"),
        at_deadline(Attack::new(
            "ignore-the-polite-signal",
            "ignores the signal to leave",
            "openai/codex#7852",
            |scene| {
                crate::sys::attack::ignore_signal(libc::SIGTERM);
                late(scene)
            },
        ))
        .met(KILL),
        at_deadline(Attack::new(
            "close-standard-streams",
            "closes its streams, as if it had ended",
            "earendil-works/pi#9460",
            |scene| {
                let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
                rustix::stdio::dup2_stdin(&null)?;
                rustix::stdio::dup2_stdout(&null)?;
                rustix::stdio::dup2_stderr(&null)?;
                late(scene)
            },
        ))
        .met(KILL),
        at_deadline(Attack::new(
            "daemon-at-the-deadline",
            "starts a daemon and ignores the signal to leave",
            "openai/codex#8656",
            |scene| {
                crate::sys::attack::ignore_signal(libc::SIGTERM);
                scene
                    .other("daemon")
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status()?;
                late(scene)
            },
        ))
        .met(KILL),
        at_deadline(Attack::new(
            "fork-while-killed",
            "starts processes all the time while it is killed",
            "langfuse/langfuse#15955",
            |scene| {
                crate::sys::attack::ignore_signal(libc::SIGTERM);
                let started = Instant::now();
                while started.elapsed() < TOO_LATE {
                    // Some fail at the limit, which is what they are for.
                    let child = scene
                        .other("daemon")
                        .stdin(Stdio::null())
                        .stdout(Stdio::null())
                        .stderr(Stdio::null())
                        .status();
                    drop(child);
                }
                late(scene)
            },
        ))
        .met(KILL),
    ]
}

/// Writes a file when the run should be over.
fn late(scene: &Scene) -> Answer {
    std::thread::sleep(TOO_LATE);
    std::fs::write(scene.path("write").join("late"), "")?;
    Ok("was there in the end".to_owned())
}

pub(crate) fn late_writer(scene: &Scene) {
    let _ = late(scene);
}

/// Leaves its parent's session and starts a late writer, which is then nobody's child.
pub(crate) fn daemon(scene: &Scene) {
    let _ = rustix::process::setsid();
    crate::sys::attack::ignore_signal(libc::SIGTERM);
    crate::sys::attack::ignore_signal(libc::SIGHUP);
    let _ =
        scene.other("late-writer").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}

/// Sleeps as long as it is told, or long enough for anything to be seen.
pub(crate) fn sleeper(scene: &Scene) {
    let millis = scene.number("millis");
    std::thread::sleep(Duration::from_millis(if millis == 0 { 10_000 } else { millis }));
}

const TOO_LATE: Duration = Duration::from_millis(600);
const INIT: &str =
    "the end of the program is the end of the PID namespace, and only its emptiness is the end of the run";
const KILL: &str = "after the grace, pid 1 of the namespace is killed, and with it everybody";
const SURVIVORS: &str = "multikernel/sandlock#251";
