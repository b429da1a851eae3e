//! How runs end, and that the outcome says why.

mod bombs;
mod output;
mod start;

use std::time::{Duration, Instant};

use fumehood_sandbox::{Exit, Killed, Outcome, ProfileBuilder, SandboxError};

use crate::inside::{
    Granted, INPUT, LIMITS, PYTHON, SH, count_with, eventually, has, marker, run, shared, start, text,
    with_limits, write_all,
};

/// A run that has this long, and the name by which the host finds its processes.
fn timed(program: &str, code: &str, wall: Duration) -> (ProfileBuilder, String) {
    let marker = marker();
    let code = format!("{code}\n# {marker}");
    let profile = with_limits(program, &["-c", &code], LIMITS, wall);
    (profile.variable("PATH", "/usr/bin:/bin").grace(GRACE), marker)
}

fn cancelled_after(profile: ProfileBuilder, patience: Duration) -> Outcome {
    let run = shared().spawn(&profile.build().expect("a profile")).expect("a run");
    let started = Instant::now();
    run.wait(&|| started.elapsed() >= patience).expect("an outcome")
}

// CHK-141, CHK-142, CHK-158
#[test]
fn a_cancelled_run_is_asked_and_gone() {
    for patience in [Duration::ZERO, Duration::from_millis(150)] {
        let (profile, marker) = timed(SH, "sleep 20 & sleep 20", LONG);
        let outcome = cancelled_after(profile, patience);
        assert_eq!(count_with(&marker), 0);
        assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Signal(TERM)), Some(Killed::Cancelled)));
    }
}

// CHK-141, CHK-142
#[test]
fn who_was_cancelled_may_end_well() {
    let granted = Granted::new();
    let code = "trap 'echo saved; exit 5' TERM; : > /work/ready; while :; do sleep 0.02; done";
    let (profile, marker) = timed(SH, code, LONG);
    let run = shared().spawn(&granted.to(profile).build().expect("a profile")).expect("a run");
    let outcome = run.wait(&|| granted.bytes("work/ready").is_ok()).expect("an outcome");
    assert_eq!(count_with(&marker), 0);
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Code(5)), Some(Killed::Cancelled)));
    assert_eq!(text(&outcome.output.bytes), "saved\n");
}

// CHK-142, CHK-158, EXE-65
#[test]
fn a_cancel_in_the_grace_does_not_hide_the_deadline() {
    let (profile, marker) = timed(SH, "trap '' TERM; sleep 20; sleep 20", SHORT);
    let outcome = cancelled_after(profile, SHORT + GRACE / 2);
    assert_eq!(count_with(&marker), 0);
    assert_eq!((outcome.exit, outcome.killed), (None, Some(Killed::Deadline)));
    assert!(outcome.elapsed >= SHORT + GRACE, "{:?}", outcome.elapsed);
}

// CHK-142, EXE-54, EXE-65
#[test]
fn a_deadline_asks_first() {
    let (profile, marker) =
        timed(SH, "echo before; trap 'echo asked; exit 6' TERM; while :; do sleep 0.02; done", SHORT);
    let outcome = run(profile);
    assert_eq!(count_with(&marker), 0);
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Code(6)), Some(Killed::Deadline)));
    // What was written before the end is there.
    assert_eq!(text(&outcome.output.bytes), "before\nasked\n");
    assert!(outcome.elapsed >= SHORT, "{:?}", outcome.elapsed);
}

// CHK-142, CHK-143, EXE-65
#[test]
fn who_stays_is_killed_with_all_descendants() {
    // A child of its own session, whose parent is gone, and which ignores what can be ignored.
    let daemons = "(setsid sh -c \"trap '' TERM HUP INT; (sleep 20; sleep 20) & sleep 20\" &)";
    let code = format!("trap '' TERM HUP INT; {daemons}; {daemons}; exec <&- >&- 2>&-; sleep 20; sleep 20");
    for grace in [Duration::ZERO, GRACE] {
        let (profile, marker) = timed(SH, &code, SHORT);
        let outcome = run(profile.grace(grace));
        assert_eq!(count_with(&marker), 0);
        assert_eq!((outcome.exit, outcome.killed), (None, Some(Killed::Deadline)));
        assert!(outcome.elapsed >= SHORT + grace, "{:?}", outcome.elapsed);
    }
}

// CHK-142, CHK-143
#[test]
fn who_ends_takes_all_descendants_along() {
    // The grandchild holds the output open and would write to it.
    let (profile, marker) =
        timed(SH, "(setsid sh -c 'sleep 0.5; echo late' &) ; sleep 0.1; echo done; exit 3", LONG);
    let started = Instant::now();
    let outcome = run(profile);
    assert_eq!(count_with(&marker), 0);
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Code(3)), None));
    assert_eq!(text(&outcome.output.bytes), "done\n");
    assert!(started.elapsed() < LONG);
}

// EXE-65
#[test]
fn a_deadline_can_be_shorter_than_the_start() {
    let granted = Granted::new();
    for (program, code) in [
        (SH, "sleep 5; : > /work/late"),
        (PYTHON, "import asyncio, time; time.sleep(5); open('/work/late', 'w')"),
    ] {
        if has(program) {
            let (profile, marker) = timed(program, code, Duration::from_millis(1));
            let outcome = run(granted.to(profile));
            assert_eq!(count_with(&marker), 0);
            assert_eq!(
                (outcome.exit, outcome.killed),
                (Some(Exit::Signal(TERM)), Some(Killed::Deadline)),
                "{program}"
            );
            granted.bytes("work/late").expect_err("nobody was left to write it");
        }
    }
}

// CHK-142
#[test]
fn dropping_the_sandbox_ends_its_runs() {
    let sandbox = start();
    let runs: Vec<_> = (0..3)
        .map(|_| {
            let (profile, marker) = timed(SH, "trap '' TERM; sleep 20; sleep 20", LONG);
            (sandbox.spawn(&profile.build().expect("a profile")).expect("a run"), marker)
        })
        .collect();
    assert!(runs.iter().all(|(_, marker)| count_with(marker) > 0));
    drop(sandbox);
    for (run, marker) in runs {
        eventually("the run has ended", || count_with(&marker) == 0);
        let ended = run.wait(&|| false);
        assert!(matches!(ended, Err(SandboxError::LauncherGone)), "{ended:?}");
    }
}

// CHK-142
#[test]
fn dropping_a_run_ends_it_and_no_other() {
    let (dropped, marker) = timed(SH, "trap '' TERM; sleep 20; sleep 20", LONG);
    let (kept, kept_marker) = timed(SH, "sleep 0.2; echo kept", LONG);
    let dropped = shared().spawn(&dropped.build().expect("a profile")).expect("a run");
    let kept = shared().spawn(&kept.build().expect("a profile")).expect("a run");
    assert!(count_with(&marker) > 0 && count_with(&kept_marker) > 0);
    drop(dropped);
    eventually("the run has ended", || count_with(&marker) == 0);
    let outcome = kept.wait(&|| false).expect("an outcome");
    assert_eq!((outcome.exit, text(&outcome.output.bytes).as_str()), (Some(Exit::Code(0)), "kept\n"));
}

#[test]
fn input_that_nobody_reads_holds_nobody_up() {
    for (code, exit, killed) in
        [("exit 3", Exit::Code(3), None), ("sleep 20", Exit::Signal(TERM), Some(Killed::Deadline))]
    {
        let (profile, marker) = timed(SH, code, SHORT);
        let mut run = shared().spawn(&profile.build().expect("a profile")).expect("a run");
        let input = run.take_input().expect("an input");
        let writer = std::thread::spawn(move || write_all(&input, &INPUT));
        let outcome = run.wait(&|| false).expect("an outcome");
        assert_eq!((outcome.exit, outcome.killed), (Some(exit), killed));
        let error = writer.join().expect("the writer").expect_err("nobody read it");
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
        assert_eq!(count_with(&marker), 0);
    }
}

// EXE-65
#[test]
fn who_waits_for_input_that_never_comes_meets_the_deadline() {
    let (profile, marker) = timed(SH, "read -r line; echo \"<$line>\"", SHORT);
    let mut run = shared().spawn(&profile.build().expect("a profile")).expect("a run");
    let input = run.take_input().expect("an input");
    assert!(run.take_input().is_none());
    let outcome = run.wait(&|| false).expect("an outcome");
    drop(input);
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Signal(TERM)), Some(Killed::Deadline)));
    assert!(outcome.output.bytes.is_empty());
    assert_eq!(count_with(&marker), 0);
}

// CHK-142, EXE-65
#[test]
fn a_deadline_that_nobody_waited_for_is_kept_late() {
    let (profile, marker) = timed(SH, "sleep 20; sleep 20", SHORT);
    let run = shared().spawn(&profile.build().expect("a profile")).expect("a run");
    std::thread::sleep(2 * SHORT);
    let outcome = run.wait(&|| false).expect("an outcome");
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Signal(TERM)), Some(Killed::Deadline)));
    assert_eq!(count_with(&marker), 0);
}

// CHK-142
#[test]
fn a_stopped_program_is_killed() {
    // It cannot answer the polite signal; the other one does not ask.
    let (profile, marker) = timed(SH, "kill -STOP $$", SHORT);
    let outcome = run(profile);
    assert_eq!(count_with(&marker), 0);
    assert_eq!((outcome.exit, outcome.killed), (None, Some(Killed::Deadline)));
}

#[test]
fn every_code_is_the_programs_own() {
    for code in [0, 1, 2, 125, 126, 127, 128, 137, 254, 255] {
        let (profile, _) = timed(SH, &format!("exit {code}"), LONG);
        let outcome = run(profile);
        assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Code(code)), None));
    }
    for signal in [1, 2, 3, 6, 8, 9, 11, 13, 14, 15, 31, 34, 64] {
        let (profile, _) = timed(SH, &format!("kill -{signal} $$"), LONG);
        let outcome = run(profile);
        assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Signal(signal)), None));
    }
}

const TERM: u8 = 15;
/// Long enough for a shell to start and set its traps on a busy machine.
const SHORT: Duration = Duration::from_millis(500);
const GRACE: Duration = Duration::from_millis(200);
/// So long that no test waits for it.
const LONG: Duration = Duration::from_mins(1);
