//! Programs that take what they can get and go on when they get no more, so that only the deadline ends them.

use std::cell::Cell;
use std::time::Duration;

use fumehood_sandbox::{Exit, Killed, Limits, Outcome};

use super::{GRACE, LONG, TERM};
use crate::inside::{LIMITS, PYTHON, count_with, has, marker, run, shared, text, with_limits};

const SMALL: Limits = Limits {
    processes: 24,
    memory_bytes_per_process: 64 << 20,
    temporary_bytes: 1 << 20,
    temporary_files: 64,
    ..LIMITS
};

/// What became of a bomb, and the most processes that the host saw of it.
fn explode(code: &str) -> (Outcome, usize) {
    let marker = marker();
    let code = format!("{code}\n# {marker}");
    let profile = with_limits(PYTHON, &["-c", &code], SMALL, WALL).grace(GRACE);
    let run = shared().spawn(&profile.build().expect("a profile")).expect("a run");
    let most = Cell::new(0);
    let outcome = run.wait(&|| {
        most.set(most.get().max(count_with(&marker)));
        false
    });
    assert_eq!(count_with(&marker), 0);
    (outcome.expect("an outcome"), most.get())
}

// CHK-142, EXE-67
#[test]
fn a_fork_bomb_that_goes_on_is_killed() {
    if !has(PYTHON) {
        return;
    }
    let bomb = "
while True:
    try: os.fork()
    except OSError: time.sleep(0.01)";
    let (outcome, most) = explode(&format!("import os, time{bomb}"));
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Signal(TERM)), Some(Killed::Deadline)));
    assert!((2..=24).contains(&most), "{most} processes");
    let (outcome, most) =
        explode(&format!("import os, time, signal; signal.signal(15, signal.SIG_IGN){bomb}"));
    assert_eq!((outcome.exit, outcome.killed), (None, Some(Killed::Deadline)));
    assert!((2..=24).contains(&most), "{most} processes");
}

// CHK-142, EXE-67
#[test]
fn a_fork_bomb_that_gives_up_tells_itself() {
    if !has(PYTHON) {
        return;
    }
    let code = "
import os, time
n = 0
try:
    while True:
        if os.fork() == 0: time.sleep(20)
        n += 1
except BlockingIOError:
    print(n)
    raise SystemExit(9)";
    let outcome = run(with_limits(PYTHON, &["-c", code], SMALL, LONG));
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Code(9)), None));
    // The program itself is the other one.
    assert_eq!(text(&outcome.output.bytes), format!("{}\n", SMALL.processes - 1));
}

// CHK-142, EXE-67
#[test]
fn a_thread_bomb_that_goes_on_is_killed() {
    if !has(PYTHON) {
        return;
    }
    let code = "
import threading, time, sys
started = 0
while True:
    try:
        threading.Thread(target=time.sleep, args=(60,)).start(); started += 1
    except RuntimeError:
        if started: print(started, flush=True); started = 0
        time.sleep(0.01)";
    let (outcome, _) = explode(code);
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Signal(TERM)), Some(Killed::Deadline)));
    let started: u64 = text(&outcome.output.bytes).trim().parse().expect("one number");
    assert!(started < SMALL.processes, "{started} threads");
}

// CHK-142, EXE-67
#[test]
fn a_memory_bomb_that_goes_on_is_killed() {
    if !has(PYTHON) {
        return;
    }
    let code = "
import time
held = []
while True:
    try: held.append(bytes(b'x' * (1 << 20)))
    except MemoryError:
        if held[0]: print(len(held), flush=True); held[0] = None
        time.sleep(0.01)";
    let (outcome, _) = explode(code);
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Signal(TERM)), Some(Killed::Deadline)));
    let held: u64 = text(&outcome.output.bytes).trim().parse().expect("one number");
    assert!((30..=64).contains(&held), "{held} MiB");
}

// EXE-67
#[test]
fn a_memory_bomb_that_gives_up_tells_itself() {
    if !has(PYTHON) {
        return;
    }
    let outcome = run(with_limits(PYTHON, &["-c", "x = bytearray(65 << 20)"], SMALL, LONG));
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Code(1)), None));
    assert!(text(&outcome.errors.bytes).ends_with("MemoryError\n"));
}

// CHK-142, EXE-67
#[test]
fn filling_the_temporary_folders_fills_nothing_of_the_host() {
    if !has(PYTHON) {
        return;
    }
    let name = marker();
    let code = format!(
        "
import errno, os, time
for folder in '/tmp', '/dev/shm':
    size = 0
    try:
        with open(folder + '/{name}', 'wb', buffering=0) as file:
            while True: size += file.write(b'x' * 4096)
    except OSError as error: print(size, errno.errorcode[error.errno], flush=True)
    count = 0
    try:
        while True: open(folder + f'/{name}{{count}}', 'w').close(); count += 1
    except OSError as error: print(count, errno.errorcode[error.errno], flush=True)
time.sleep(20)"
    );
    let marker = marker();
    let code = format!("{code}\n# {marker}");
    let profile = with_limits(PYTHON, &["-c", &code], SMALL, WALL).grace(GRACE);
    let run = shared().spawn(&profile.build().expect("a profile")).expect("a run");
    let outcome = run.wait(&|| false).expect("an outcome");
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Signal(TERM)), Some(Killed::Deadline)));
    assert_eq!(text(&outcome.output.bytes), "1048576 ENOSPC\n63 ENOSPC\n".repeat(2));
    for folder in ["/tmp", "/dev/shm"] {
        assert!(!std::path::Path::new(folder).join(&name).exists());
    }
    assert_eq!(count_with(&marker), 0);
}

// EXE-67
#[test]
fn processor_time_ends_by_a_signal() {
    if !has(PYTHON) {
        return;
    }
    let limits = Limits { cpu_seconds: 1, ..SMALL };
    for (code, signal) in
        [("while True: pass", 24), ("import signal\nsignal.signal(24, signal.SIG_IGN)\nwhile True: pass", 9)]
    {
        let outcome = run(with_limits(PYTHON, &["-c", code], limits, LONG));
        assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Signal(signal)), None));
    }
}

/// Long enough for Python to start and to reach its limits on a busy machine.
const WALL: Duration = Duration::from_secs(1);
