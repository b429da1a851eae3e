//! Many runs, one after the other and at once: every outcome is right, and nothing stays behind.
//!
//! Each test runs in a process of its own, which no other test of this binary gives descriptors, children or memory.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use fumehood_sandbox::{Exit, OnExcess, Profile, ProfileBuilder, Sandbox};

use crate::inside::{Granted, LIMITS, SH, count_with, eventually, start, text};

/// Runs the test of this name in a process of its own. There, tells it to go on.
fn is_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let temporary = tempfile::tempdir().expect("a folder");
    let output = Command::new(std::env::current_exe().expect("a path"))
        .args(["--exact", &format!("endurance::{test}"), "--nocapture", "--test-threads=1"])
        .env(ALONE, "1")
        .env("TMPDIR", temporary.path())
        .env("FUMEHOOD_SANDBOX_HELPER", crate::program())
        .stdin(Stdio::null())
        .output()
        .expect("a process");
    let said = [text(&output.stdout), text(&output.stderr)].concat();
    println!("{said}");
    assert!(output.status.success() && said.contains("1 passed"), "it failed in a process of its own");
    let left: Vec<_> = std::fs::read_dir(temporary.path()).expect("a folder").collect();
    assert!(left.is_empty(), "temporary files are left: {left:?}");
    false
}

/// What could be left over, in the host and in its launchers with all that is below them: a zygote each, and a child
/// that is ready.
#[derive(Debug, PartialEq, Eq)]
struct Holdings {
    own: Of,
    below: Vec<Of>,
    temporary: usize,
}

/// Of one process: `None` where this user may not look.
#[derive(Debug, PartialEq, Eq)]
struct Of {
    descriptors: Option<usize>,
    mounts: Option<usize>,
    children: usize,
    threads: usize,
}

impl Of {
    fn process(pid: &str) -> Self {
        let within = |name: &str| Path::new("/proc").join(pid).join(name);
        let lines = |name: &str| std::fs::read_to_string(within(name)).ok().map(|text| text.lines().count());
        Self {
            descriptors: std::fs::read_dir(within("fd")).ok().map(Iterator::count),
            mounts: lines("mountinfo"),
            children: children(pid).len(),
            threads: std::fs::read_dir(within("task")).map_or(0, Iterator::count),
        }
    }
}

/// The pids of a process's children, whichever of its threads made them.
fn children(pid: &str) -> BTreeSet<String> {
    let tasks = std::fs::read_dir(Path::new("/proc").join(pid).join("task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Those, and theirs.
fn below(pid: &str) -> Vec<String> {
    children(pid).into_iter().flat_map(|child| [vec![child.clone()], below(&child)].concat()).collect()
}

/// In the command line of this process's runs.
fn mark() -> String {
    format!("fumehood-endurance-{}-", own_pid())
}

fn own_pid() -> String {
    std::process::id().to_string()
}

impl Holdings {
    fn now() -> Self {
        Self {
            own: Of::process(&own_pid()),
            below: below(&own_pid()).iter().map(|pid| Of::process(pid)).collect(),
            temporary: std::fs::read_dir(std::env::temp_dir()).expect("a folder").count(),
        }
    }
}

/// Resident kibibytes of this process and of its launchers and zygotes.
fn resident() -> Vec<u64> {
    let of = |pid: &str| {
        let status = std::fs::read_to_string(Path::new("/proc").join(pid).join("status")).expect("a status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
    };
    let launchers = children(&own_pid());
    let zygotes: Vec<String> = launchers.iter().flat_map(|launcher| children(launcher)).collect();
    std::iter::once(own_pid()).chain(launchers).chain(zygotes).map(|pid| of(&pid)).collect()
}

fn numbered(number: usize, code: &str, granted: &Granted) -> Profile {
    let code = format!("{code}; exit $(({number} % 256)) # {}", mark());
    let profile = Profile::builder(SH, LIMITS, Duration::from_mins(1)).output(4096, OnExcess::Fail);
    let profile = ["-c", &code, "sh", &number.to_string()].iter().fold(profile, ProfileBuilder::argument);
    granted.to(profile).build().expect("a profile")
}

/// Runs it, and compares what it said and left with its number.
fn assert_right(sandbox: &Sandbox, number: usize, granted: &Granted) {
    let profile = numbered(number, "echo $1; echo -$1 >&2; : > /tmp/$1; : > /work/$1", granted);
    let outcome = sandbox.spawn(&profile).and_then(|run| run.wait(&|| false)).expect("a run");
    let expected = Exit::Code(u8::try_from(number % 256).expect("a byte"));
    assert_eq!((outcome.exit, outcome.killed), (Some(expected), None));
    assert_eq!(text(&outcome.output.bytes), format!("{number}\n"));
    assert_eq!(text(&outcome.errors.bytes), format!("-{number}\n"));
    std::fs::remove_file(granted.folder.path().join("work").join(number.to_string())).expect("was written");
}

// CHK-142, CHK-158, EXE-66
#[test]
fn a_thousand_runs_leave_nothing() {
    if !is_alone("a_thousand_runs_leave_nothing") {
        return;
    }
    let granted = Granted::new();
    let (sandbox, other) = (start(), start());
    for number in 0..20 {
        assert_right(if number % 2 == 0 { &sandbox } else { &other }, number, &granted);
    }
    let before = settled();
    assert_eq!(children(&own_pid()).len(), 2);
    let mut early = Vec::new();
    for number in 0..1000 {
        assert_right(if number % 4 == 0 { &other } else { &sandbox }, number, &granted);
        if number == 199 {
            early = resident();
        }
    }
    let late = resident();
    assert_eq!(settled(), before);
    assert_eq!(count_with(&mark()), 0);
    println!("resident after 200 runs {early:?} KiB, after 1,000 {late:?} KiB");
    for (early, late) in early.iter().zip(&late) {
        assert!(*late <= early + SLACK_KIB, "{early} KiB became {late} KiB");
    }
    drop((sandbox, other));
    assert_eq!(children(&own_pid()).len(), 0);
}

// CHK-142, CHK-158, EXE-66
#[test]
fn many_at_once_are_apart() {
    if !is_alone("many_at_once_are_apart") {
        return;
    }
    let granted = Granted::new();
    let (sandbox, other) = (start(), start());
    assert_right(&sandbox, 1, &granted);
    assert_right(&other, 1, &granted);
    let before = settled();
    // All are alive at once: each waits until the host has seen all.
    let count = at_once();
    let code = "echo $1; : > /work/$1; while ! [ -e /work/go ]; do sleep 0.05; done; ls /tmp";
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..count)
            .map(|number| {
                let sandbox = if number % 8 == 0 { &other } else { &sandbox };
                let profile = numbered(number, code, &granted);
                scope.spawn(move || {
                    sandbox.spawn(&profile).and_then(|run| run.wait(&|| false)).expect("a run")
                })
            })
            .collect();
        let there = || std::fs::read_dir(granted.folder.path().join("work")).expect("a folder").count();
        eventually("all are there", || there() == count);
        assert!(count_with(&mark()) >= count);
        // What is counted below would show a run that stays.
        let during = Holdings::now();
        assert!(during.below.len() >= before.below.len() + 2 * count, "{} processes", during.below.len());
        assert!(during.own.descriptors > before.own.descriptors);
        let held = |holdings: &Holdings| holdings.below.iter().filter_map(|of| of.descriptors).sum::<usize>();
        assert!(held(&during) > held(&before));
        granted.put("work/go", "", 0o600);
        for (number, run) in runs.into_iter().enumerate() {
            let outcome = run.join().expect("a thread");
            let expected = Exit::Code(u8::try_from(number % 256).expect("a byte"));
            assert_eq!(
                (outcome.exit, outcome.killed),
                (Some(expected), None),
                "{}",
                text(&outcome.errors.bytes)
            );
            assert_eq!(text(&outcome.output.bytes), format!("{number}\n"));
        }
    });
    // And one after the other by as many threads as share them.
    std::thread::scope(|scope| {
        for thread in 0..count {
            let sandbox = if thread % 8 == 0 { &other } else { &sandbox };
            let granted = &granted;
            scope.spawn(move || (0..3).for_each(|turn| assert_right(sandbox, 3 * thread + turn, granted)));
        }
    });
    assert_eq!(settled(), before);
    assert_eq!(count_with(&mark()), 0);
}

/// What is held once the zygotes, which tell that a run is over before they put its things away, have done so and made
/// another child ready: a launcher, a zygote, and two processes that wait.
fn settled() -> Holdings {
    let (mut last, mut times) = (Holdings::now(), 0);
    for _ in 0..400 {
        std::thread::sleep(Duration::from_millis(25));
        let now = Holdings::now();
        times = if now == last && now.below.len() == 4 * children(&own_pid()).len() { times + 1 } else { 0 };
        if times == 4 {
            return now;
        }
        last = now;
    }
    panic!("it does not settle: {last:?}")
}

/// 64, or fewer where this process may not open eight descriptors for each.
fn at_once() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    let count = usize::try_from(limit.saturating_sub(64) / 8).unwrap_or(usize::MAX).min(64);
    if count < 64 {
        println!("{count} at once: there may be {limit} descriptors only");
    }
    count
}

const ALONE: &str = "FUMEHOOD_ENDURANCE_ALONE";
const SLACK_KIB: u64 = 1024;
