//! Whether a launch costs more where the host has mounted more.
//!
//! The host of each number of mounts is this program again, in a mount namespace of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use fumehood_sandbox::Sandbox;
use rustix::mount::{MountFlags, mount};

use crate::Bench;
use crate::contender::{self, TRUE};
use crate::measure::{self, BUBBLEWRAP, FULL, Measured, PLAIN, Row};

pub(crate) fn part(bench: &Bench) {
    println!("\n## More mounts on the host\n");
    if !rustix::process::geteuid().is_root() {
        println!("Not measured: to mount needs root.");
        return;
    }
    let mut measured: BTreeMap<usize, Vec<Measured>> = BTreeMap::new();
    // In turns, too.
    for pass in 0..PASSES {
        for extra in EXTRA_MOUNTS {
            eprintln!("  pass {pass} of {PASSES}, {extra} mounts");
            collect(measured.entry(extra).or_default(), &in_a_namespace(extra, bench.runs(50)));
        }
    }
    println!(
        "| more mounts | runs | plain, min | full, + min | bubblewrap, + min | of bubblewrap's | full, + median | bubblewrap, + median |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (extra, mut rows) in measured {
        for row in &mut rows {
            row.times.sort_unstable();
        }
        let plain = measure::baseline(&rows);
        let full = measure::find(&rows, FULL).expect("it is always measured");
        let bubblewrap = measure::find(&rows, BUBBLEWRAP);
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            extra,
            plain.times.len(),
            measure::count(plain.min()),
            measure::count(full.min() - plain.min()),
            bubblewrap.map_or_else(String::new, |row| measure::count(row.min() - plain.min())),
            measure::share(&rows, full),
            measure::count(full.median() - plain.median()),
            bubblewrap.map_or_else(String::new, |row| measure::count(row.median() - plain.median())),
        );
    }
}

/// Runs [`inside`] and returns what it printed.
fn in_a_namespace(extra: usize, runs: usize) -> String {
    let output = Command::new("/usr/bin/unshare")
        .args(["--mount", "--propagation", "private", "--"])
        .arg(std::env::current_exe().expect("the path of this program"))
        .args([INSIDE, &extra.to_string(), &runs.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .expect("unshare is installed");
    assert!(output.status.success(), "{}", output.status);
    String::from_utf8(output.stdout).expect("lines of text")
}

/// Adds times to rows.
fn collect(rows: &mut Vec<Measured>, printed: &str) {
    for line in printed.lines() {
        let mut words = line.split(' ');
        let first = words.next().expect("a line that is not empty");
        let name = [PLAIN, FULL, BUBBLEWRAP].into_iter().find(|name| *name == first);
        let name = name.expect("the name of a row");
        let times = words.map(|word| Duration::from_nanos(word.parse().expect("a number")));
        match rows.iter_mut().find(|row| row.name == name) {
            Some(row) => row.times.extend(times),
            None => rows.push(Measured { group: "", name, times: times.collect() }),
        }
    }
}

/// Mounts so many more file systems, measures, and prints a line for each row: its name and its times in nanoseconds.
pub(crate) fn inside(extra: &str, runs: &str) {
    let (extra, runs) = (extra.parse::<usize>().expect("a number"), runs.parse().expect("a number"));
    // Seen in this namespace only, and gone with it. The first holds the places of the others.
    let mut place = PathBuf::from("/mnt");
    for number in 0..extra {
        mount("extra", &place, "tmpfs", MountFlags::empty(), None).expect("a mount");
        place = Path::new("/mnt").join(number.to_string());
        std::fs::create_dir(&place).expect("a folder on the temporary file system");
    }
    let sandbox = Sandbox::start().expect("this machine has a sandbox");
    let mut rows = vec![
        Row::new("", PLAIN, runs, contender::plain(TRUE)),
        Row::new("", FULL, runs, contender::full(&sandbox, contender::profile(TRUE, &[]))),
    ];
    if contender::has_bubblewrap() {
        rows.push(Row::new("", BUBBLEWRAP, runs, contender::bubblewrap(TRUE, &[])));
    }
    for row in measure::in_turns(rows, Duration::from_micros(1500)) {
        let times: Vec<String> = row.times.iter().map(|time| time.as_nanos().to_string()).collect();
        println!("{} {}", row.name, times.join(" "));
    }
}

/// Passes over all numbers of mounts.
const PASSES: usize = 4;
const EXTRA_MOUNTS: [usize; 4] = [0, 20, 200, 1000];
/// The hidden first argument of [`inside`].
pub(crate) const INSIDE: &str = "mounts-inside";
