//! How long it takes to empty a sandbox whose programs do not want to leave.

use std::time::{Duration, Instant};

use fumehood_sandbox::{Killed, Sandbox};

use crate::Bench;
use crate::contender::{self, Payload};
use crate::measure::{self, Measured};

pub(crate) fn part(bench: &Bench) {
    println!("\n## From the end of the grace to the empty sandbox\n");
    println!(
        "All processes ignore SIGTERM and hold the output open; all but two are in sessions of their own.\n"
    );
    println!("| processes | wall, ms | grace, ms | runs | min | median | max |");
    println!("|---|---|---|---|---|---|---|");
    let sandbox = Sandbox::start().expect("this machine has a sandbox");
    for (processes, payload, grace_ms, runs) in [(10, FEW, 50, 30), (66, MANY, 50, 30), (10, FEW, 1000, 3)] {
        let grace = Duration::from_millis(grace_ms);
        let mut times: Vec<_> =
            (0..bench.runs(runs)).filter_map(|_| over_the_grace(&sandbox, payload, grace)).collect();
        assert!(!times.is_empty(), "the processes were never all there before the deadline");
        times.sort_unstable();
        let over = Measured { group: "", name: "", times };
        println!(
            "| {processes} | {} | {grace_ms} | {} | {} | {} | {} |",
            WALL.as_millis(),
            over.times.len(),
            measure::count(over.min()),
            measure::count(over.median()),
            measure::count(over.max())
        );
    }
}

/// `None` where the machine was too busy to start all processes before the deadline.
fn over_the_grace(sandbox: &Sandbox, payload: Payload, grace: Duration) -> Option<Duration> {
    let profile = contender::profile_with(payload, &[], WALL, grace);
    let confined = sandbox.spawn(&profile).expect("a confined launch");
    let started = Instant::now();
    let outcome = confined.wait(&|| false).expect("a run that ends");
    let elapsed = started.elapsed();
    assert_eq!(outcome.killed, Some(Killed::Deadline), "{outcome:?}");
    (outcome.output.bytes == b"ready\n").then(|| elapsed.saturating_sub(WALL + grace))
}

const WALL: Duration = Duration::from_millis(100);

/// Four in sessions of their own, and four whose parent has left.
const FEW: Payload = Payload(&[
    "/bin/sh",
    "-c",
    "trap '' TERM
     for one in 1 2 3 4; do
         setsid sleep 1000 &
         (setsid sleep 1000 &)
     done
     echo ready
     while :; do sleep 1000; done",
]);
const MANY: Payload = Payload(&[
    "/bin/sh",
    "-c",
    "trap '' TERM
     for one in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32; do
         setsid sleep 1000 &
         (setsid sleep 1000 &)
     done
     echo ready
     while :; do sleep 1000; done",
]);
