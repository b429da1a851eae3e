//! What a confined launch costs, beside a plain one and beside other sandboxes, all measured in the same rounds.
//!
//! `cargo bench -p fumehood-sandbox --bench launch -- [quick] [PART…]`, with the parts below, all by default; `quick` takes a
//! tenth of the runs, which tries the benchmark and measures nothing. Tables go to standard output as Markdown.
//! `scripts/bench-sandbox` installs the peers first and does this as root and as nobody. No figure makes this fail; a
//! program that does not do its work does.
#![expect(
    clippy::disallowed_methods,
    reason = "a benchmark makes the files that it grants, and counts what is left"
)]
#![expect(clippy::expect_used, clippy::panic, reason = "a benchmark that cannot launch has nothing to say")]

mod contender;
mod endurance;
mod kill;
mod launch;
mod measure;
mod mounts;
mod workspace;

use std::path::PathBuf;
use std::process::Command;

use fumehood_sandbox::{Sandbox, helper};
use tempfile::TempDir;

/// What all parts need.
struct Bench {
    /// Divides the number of runs.
    divisor: usize,
    /// The sandbox-runtime's command line, a script for Node. Without it there are no rows of it.
    runtime: Option<PathBuf>,
    folder: TempDir,
}

impl Bench {
    fn runs(&self, runs: usize) -> usize {
        (runs / self.divisor).max(2)
    }
}

fn main() {
    helper::dispatch();
    // Cargo adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [mounts::INSIDE, extra, runs] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return mounts::inside(extra, runs);
    }
    let (quick, parts): (Vec<_>, Vec<_>) = words.iter().partition(|word| *word == "quick");
    let known = |part: &&String| PARTS.iter().any(|(name, _)| name == *part);
    if let Some(unknown) = parts.iter().find(|part| !known(part)) {
        let names = PARTS.map(|(name, _)| name).join(", ");
        panic!("there is no part {unknown}; there are {names}");
    }
    let bench = Bench {
        divisor: if quick.is_empty() { 1 } else { 10 },
        runtime: std::env::var_os("SANDBOX_RUNTIME").map(PathBuf::from),
        folder: TempDir::new().expect("a temporary folder"),
    };
    describe(&bench);
    for (name, part) in PARTS {
        if parts.is_empty() || parts.iter().any(|chosen| *chosen == name) {
            eprintln!("part {name}");
            part(&bench);
        }
    }
}

/// What was measured, on what.
fn describe(bench: &Bench) {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("proc is mounted");
    let cores = std::thread::available_parallelism().expect("a number of processors");
    let sandbox = Sandbox::start().expect("this machine has a sandbox");
    let version = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok();
        output.map_or_else(
            || "absent".to_owned(),
            |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        )
    };
    let runtime = bench.runtime.as_ref().map_or_else(
        || "absent".to_owned(),
        |cli| version(contender::NODE, &[&cli.to_string_lossy(), "--version"]),
    );
    println!(
        "Linux {}, {cores} processors, user {}, fumehood at level {}, {}, sandbox-runtime {runtime}. Times in microseconds.",
        kernel.trim(),
        rustix::process::geteuid().as_raw(),
        sandbox.enforcement().level(),
        version(contender::BWRAP, &["--version"]),
    );
}

type Part = (&'static str, fn(&Bench));

const PARTS: [Part; 6] = [
    ("launch", launch::back_to_back),
    ("sparse", launch::sparse),
    ("kill", kill::part),
    ("endurance", endurance::part),
    ("mounts", mounts::part),
    ("workspace", workspace::part),
];
