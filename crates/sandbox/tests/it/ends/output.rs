//! Caps on output, and streams that are closed, flooded or not read.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use fumehood_sandbox::{Channel, Exit, Killed, OnExcess, Outcome};

use super::{LONG, SHORT, TERM, timed};
use crate::inside::{PYTHON, SH, count_with, has, run, shared};

const CAP: usize = 10_000;

/// Runs a program under the small cap.
fn capped(code: &str, on_excess: OnExcess) -> Outcome {
    let (profile, marker) = timed(SH, code, LONG);
    let outcome = run(profile.output(CAP, on_excess));
    assert_eq!(count_with(&marker), 0);
    outcome
}

// EXE-52
#[test]
fn as_much_as_the_cap_is_no_excess() {
    for on_excess in [OnExcess::Fail, OnExcess::Truncate] {
        let outcome = capped("head -c 10000 /dev/zero; head -c 10000 /dev/zero >&2; exit 4", on_excess);
        assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Code(4)), None));
        for stream in [&outcome.output, &outcome.errors] {
            assert_eq!((stream.bytes.len(), stream.dropped), (CAP, 0));
        }
    }
}

// EXE-52, CHK-142
#[test]
fn one_byte_more_fails() {
    for (code, to_errors) in [("head -c 10001 /dev/zero", false), ("head -c 10001 /dev/zero >&2", true)] {
        // The program may be quicker than its reader, and end before it could be asked to: it has failed all the same.
        let outcome = capped(code, OnExcess::Fail);
        assert_eq!(outcome.killed, Some(Killed::Output));
        let stream = if to_errors { &outcome.errors } else { &outcome.output };
        assert_eq!((stream.bytes.len(), stream.dropped), (CAP, 1));
    }
}

// EXE-52, CHK-110, CHK-142
#[test]
fn a_flood_fails() {
    for stream in ["1", "2"] {
        let outcome = capped(&format!("cat /dev/zero >&{stream}"), OnExcess::Fail);
        assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Signal(TERM)), Some(Killed::Output)));
        let stream = if stream == "1" { outcome.output } else { outcome.errors };
        assert_eq!(stream.bytes.len(), CAP);
        assert!(stream.dropped > 0);
    }
}

// EXE-52
#[test]
fn what_is_cut_is_counted() {
    let code = "head -c 1000000 /dev/zero & head -c 2000000 /dev/zero >&2; wait; exit 4";
    let outcome = capped(code, OnExcess::Truncate);
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Code(4)), None));
    assert_eq!((outcome.output.bytes.len(), outcome.output.dropped), (CAP, 990_000));
    assert_eq!((outcome.errors.bytes.len(), outcome.errors.dropped), (CAP, 1_990_000));
}

// EXE-52, EXE-65
#[test]
fn a_flood_that_is_cut_meets_the_deadline() {
    let (profile, marker) = timed(SH, "cat /dev/zero", SHORT);
    let outcome = run(profile.output(CAP, OnExcess::Truncate));
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Signal(TERM)), Some(Killed::Deadline)));
    assert_eq!(outcome.output.bytes.len(), CAP);
    assert_eq!(count_with(&marker), 0);
}

// CHK-110, CHK-126, CHK-142: who watches has every byte once, and ends the run by breaking off; nobody else keeps any.
#[test]
fn who_watches_may_give_up() {
    let code = "echo good >&2; sleep 0.1; echo bad; sleep 0.1; echo late; sleep 60 & wait";
    for (gives_up, killed) in [(true, Killed::Watcher), (false, Killed::Deadline)] {
        let wall = if gives_up { LONG } else { SHORT };
        let (profile, marker) = timed(SH, code, wall);
        let run = shared().spawn(&profile.output(CAP, OnExcess::Fail).build().expect("a profile"));
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let began = Instant::now();
        let outcome = run.expect("a run").watch(&|| false, &mut |channel, piece| {
            match channel {
                Channel::Output => output.extend_from_slice(piece),
                Channel::Errors => errors.extend_from_slice(piece),
            }
            if gives_up && output == b"bad\n" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let outcome = outcome.expect("an outcome");
        assert_eq!(count_with(&marker), 0);
        assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Signal(TERM)), Some(killed)));
        assert_eq!((outcome.output.bytes.len(), outcome.errors.bytes.len()), (0, 0));
        assert_eq!(errors, b"good\n");
        if gives_up {
            assert_eq!(output, b"bad\n");
            assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
        }
    }
}

#[test]
fn a_flood_that_nobody_reads_waits() {
    let (profile, marker) = timed(SH, "head -c 1000000 /dev/zero; echo end >&2; exit 4", LONG);
    let waiting = shared().spawn(&profile.build().expect("a profile")).expect("a run");
    let (other, _) = timed(SH, "exit 5", LONG);
    // Longer than the writing would take.
    std::thread::sleep(Duration::from_millis(200));
    assert!(count_with(&marker) > 0);
    // Nobody else is held up.
    assert_eq!(run(other).exit, Some(Exit::Code(5)));
    let outcome = waiting.wait(&|| false).expect("an outcome");
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Code(4)), None));
    assert_eq!(
        (outcome.output.bytes.len(), outcome.errors.bytes.as_slice()),
        (1_000_000, b"end\n".as_slice())
    );
}

// CHK-142
#[test]
fn closed_streams_are_not_the_end() {
    let (profile, marker) = timed(SH, "echo said; exec <&- >&- 2>&-; sleep 0.3; exit 3", LONG);
    let outcome = run(profile);
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Code(3)), None));
    assert!(outcome.elapsed >= Duration::from_millis(300), "{:?}", outcome.elapsed);
    assert_eq!(
        (outcome.output.bytes.as_slice(), outcome.errors.bytes.as_slice()),
        (b"said\n".as_slice(), b"".as_slice())
    );
    assert_eq!(count_with(&marker), 0);
}

#[test]
fn output_is_any_bytes() {
    if !has(PYTHON) {
        return;
    }
    let (profile, _) = timed(PYTHON, "import sys; sys.stdout.buffer.write(bytes(range(256)) * 100)", LONG);
    let outcome = run(profile);
    let expected: Vec<u8> = (0..100).flat_map(|_| 0..=255).collect();
    assert_eq!((outcome.exit, outcome.output.bytes), (Some(Exit::Code(0)), expected));
}
