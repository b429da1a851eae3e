//! Many launches: how many a second, and what is left of them.

use std::path::Path;
use std::time::{Duration, Instant};

use fumehood_sandbox::Sandbox;

use crate::Bench;
use crate::contender::{self, TRUE};
use crate::measure::{BUBBLEWRAP, FULL, PLAIN, count};

pub(crate) fn part(bench: &Bench) {
    println!("\n## A thousand launches, and 64 at once\n");
    let sandbox = Sandbox::start().expect("this machine has a sandbox");
    // Buffers have grown to their size after these.
    in_a_row(&sandbox, bench.runs(100));
    at_once(&sandbox, 2);
    let mut counted = vec![("before", Census::take())];
    let (batch, batches) = (bench.runs(100), 10);
    let mut took = [Duration::ZERO; 3];
    for number in 0..batches {
        eprintln!("  batch {number} of {batches}");
        took[0] += in_turn(batch, contender::plain(TRUE));
        took[1] += in_a_row(&sandbox, batch);
        if contender::has_bubblewrap() {
            took[2] += in_turn(batch, contender::bubblewrap(TRUE, &[]));
        }
    }
    let in_a_row = took.map(|took| rate(batch * batches, took));
    counted.push(("after those in a row", Census::take()));
    let each = bench.runs(20);
    eprintln!("  {THREADS} at once");
    let at_once = [
        threads(each, || contender::plain(TRUE)),
        at_once(&sandbox, each),
        if contender::has_bubblewrap() {
            threads(each, || contender::bubblewrap(TRUE, &[]))
        } else {
            Duration::ZERO
        },
    ]
    .map(|took| rate(THREADS * each, took));
    counted.push(("after those at once", Census::take()));
    println!("| launches a second | {PLAIN} | {FULL} | {BUBBLEWRAP} |\n|---|---|---|---|");
    println!("| {} in a row | {} |", batch * batches, in_a_row.join(" | "));
    println!("| {} by {THREADS} threads | {} |\n", THREADS * each, at_once.join(" | "));
    Census::print(&counted);
}

fn in_a_row(sandbox: &Sandbox, launches: usize) -> Duration {
    in_turn(launches, contender::full(sandbox, contender::profile(TRUE, &[])))
}

fn in_turn(launches: usize, mut launch: impl FnMut()) -> Duration {
    let started = Instant::now();
    (0..launches).for_each(|_| launch());
    started.elapsed()
}

fn at_once(sandbox: &Sandbox, each: usize) -> Duration {
    threads(each, || contender::full(sandbox, contender::profile(TRUE, &[])))
}

fn threads<L: FnMut()>(each: usize, launch: impl Fn() -> L + Sync) -> Duration {
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| in_turn(each, launch()));
        }
    });
    started.elapsed()
}

fn rate(launches: usize, took: Duration) -> String {
    if took.is_zero() {
        return String::new();
    }
    let launches = f64::from(u32::try_from(launches).expect("a few thousand"));
    count(launches / took.as_secs_f64())
}

/// What this process and its launcher hold.
struct Census {
    host_memory_kib: Option<usize>,
    launcher_memory_kib: Option<usize>,
    host_descriptors: Option<usize>,
    launcher_descriptors: Option<usize>,
    host_mounts: Option<usize>,
    launcher_mounts: Option<usize>,
    descendants: usize,
    network_namespaces: Option<usize>,
}

impl Census {
    fn take() -> Self {
        // The kernel takes network namespaces apart later.
        std::thread::sleep(Duration::from_secs(1));
        let processes = processes();
        let host = std::process::id();
        let launcher = processes.iter().find(|process| process.parent == host && process.is_launcher());
        let launcher = launcher.expect("the launcher is a child of this process").id;
        Self {
            host_memory_kib: memory_kib(host),
            launcher_memory_kib: memory_kib(launcher),
            host_descriptors: descriptors(host),
            launcher_descriptors: descriptors(launcher),
            host_mounts: lines(host, "mountinfo"),
            launcher_mounts: lines(launcher, "mountinfo"),
            descendants: descendants(host, &processes),
            network_namespaces: network_namespaces(),
        }
    }

    fn print(counted: &[(&str, Self)]) {
        let print = |what: &str, of: fn(&Self) -> Option<usize>| {
            let cells = counted
                .iter()
                .map(|(_, census)| of(census).map_or_else(|| "?".to_owned(), |n| n.to_string()));
            println!("| {what} | {} |", cells.collect::<Vec<_>>().join(" | "));
        };
        let heads = counted.iter().map(|(when, _)| *when).collect::<Vec<_>>().join(" | ");
        println!("| | {heads} |\n|---|{}", "---|".repeat(counted.len()));
        print("memory of the host, KiB", |census| census.host_memory_kib);
        print("memory of the launcher, KiB", |census| census.launcher_memory_kib);
        print("descriptors of the host", |census| census.host_descriptors);
        print("descriptors of the launcher", |census| census.launcher_descriptors);
        print("mounts that the host sees", |census| census.host_mounts);
        print("mounts that the launcher sees", |census| census.launcher_mounts);
        print("processes below the host, the launcher being one", |census| Some(census.descendants));
        print("network namespaces of the machine", |census| census.network_namespaces);
    }
}

struct Process {
    id: u32,
    parent: u32,
}

impl Process {
    fn is_launcher(&self) -> bool {
        let command = std::fs::read(format!("/proc/{}/cmdline", self.id)).unwrap_or_default();
        command.starts_with(b"fumehood-launcher\0")
    }
}

/// All processes, those that end meanwhile left out.
fn processes() -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").expect("proc is mounted").filter_map(Result::ok);
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter_map(|id| Some(Process { id, parent: u32::try_from(status(id, "PPid:")?).ok()? })).collect()
}

fn descendants(ancestor: u32, processes: &[Process]) -> usize {
    let children = processes.iter().filter(|process| process.parent == ancestor);
    children.map(|child| 1 + descendants(child.id, processes)).sum()
}

fn memory_kib(process: u32) -> Option<usize> {
    status(process, "VmRSS:")
}

fn status(process: u32, key: &str) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

fn descriptors(process: u32) -> Option<usize> {
    Some(std::fs::read_dir(Path::new("/proc").join(process.to_string()).join("fd")).ok()?.count())
}

fn lines(process: u32, file: &str) -> Option<usize> {
    Some(std::fs::read_to_string(format!("/proc/{process}/{file}")).ok()?.lines().count())
}

/// How many the kernel has in memory; only root may ask.
fn network_namespaces() -> Option<usize> {
    let slabs = std::fs::read_to_string("/proc/slabinfo").ok()?;
    let line = slabs.lines().find_map(|line| line.strip_prefix("net_namespace "))?;
    line.split_whitespace().next()?.parse().ok()
}

const THREADS: usize = 64;
