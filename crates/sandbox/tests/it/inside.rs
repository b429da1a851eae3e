//! A sandbox for tests that run interpreters in it, and what the host sees meanwhile.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use fumehood_sandbox::{Access, Exit, Limits, OnExcess, Outcome, Profile, ProfileBuilder, Sandbox};

pub(crate) const PYTHON: &str = "/usr/bin/python3";
pub(crate) const NODE: &str = "/usr/bin/node";
pub(crate) const SH: &str = "/bin/sh";
pub(crate) const BASH: &str = "/bin/bash";

/// Enough for honest work of any interpreter.
pub(crate) const LIMITS: Limits = Limits {
    cpu_seconds: 30,
    memory_bytes_per_process: 512 << 20,
    processes: 64,
    file_bytes: 64 << 20,
    open_files: 128,
    temporary_bytes: 64 << 20,
    temporary_files: 4096,
};

/// What tests give on standard input when it should be much: more than a pipe holds.
pub(crate) static INPUT: [u8; 1 << 20] = [b'i'; 1 << 20];

/// One for all tests that do not end it.
pub(crate) fn shared() -> &'static Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX.get_or_init(start)
}

pub(crate) fn start() -> Sandbox {
    Sandbox::start_with(&crate::program()).expect("this machine has a sandbox")
}

/// Whether the program is there. Where tests count, it must be.
pub(crate) fn has(program: &str) -> bool {
    let there = Path::new(program).exists();
    assert!(there || std::env::var_os("REQUIRE_SANDBOX").is_none(), "{program} is missing");
    if !there {
        println!("skipped: {program} is missing");
    }
    there
}

/// At the default floor, which is the level `full`, and with an environment that is empty.
pub(crate) fn profile<A: AsRef<OsStr>>(program: &str, arguments: &[A]) -> ProfileBuilder {
    with_limits(program, arguments, LIMITS, Duration::from_mins(1))
}

pub(crate) fn with_limits<A: AsRef<OsStr>>(
    program: &str,
    arguments: &[A],
    limits: Limits,
    wall: Duration,
) -> ProfileBuilder {
    let profile = Profile::builder(program, limits, wall).output(8 << 20, OnExcess::Fail);
    arguments.iter().fold(profile, ProfileBuilder::argument)
}

/// Runs code that an interpreter takes as an argument.
pub(crate) fn code(program: &str, code: &str) -> ProfileBuilder {
    let flag = if program == NODE { "-e" } else { "-c" };
    let profile = profile(program, &[flag, code]);
    // Shells look for programs; Python and Node are told where they are.
    if program == SH || program == BASH { profile.variable("PATH", "/usr/bin:/bin") } else { profile }
}

pub(crate) fn run(profile: ProfileBuilder) -> Outcome {
    run_in(shared(), profile)
}

pub(crate) fn run_in(sandbox: &Sandbox, profile: ProfileBuilder) -> Outcome {
    let profile = profile.build().expect("a profile");
    sandbox.spawn(&profile).and_then(|run| run.wait(&|| false)).expect("a run")
}

/// Runs with these bytes on standard input, which is closed after them.
pub(crate) fn run_with_input(profile: ProfileBuilder, input: &'static [u8]) -> Outcome {
    let profile = profile.build().expect("a profile");
    let mut run = shared().spawn(&profile).expect("a run");
    let pipe = run.take_input().expect("an input");
    let writer = std::thread::spawn(move || write_all(&pipe, input));
    let outcome = run.wait(&|| false).expect("an outcome");
    writer.join().expect("the writer").expect("everything was read");
    outcome
}

pub(crate) fn write_all(pipe: &std::os::fd::OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = rustix::io::write(pipe, bytes)?;
        bytes = &bytes[written..];
    }
    Ok(())
}

/// What the program printed, after it ended well and said nothing else.
pub(crate) fn printed(profile: ProfileBuilder) -> String {
    let outcome = run(profile);
    assert_well(&outcome);
    text(&outcome.output.bytes)
}

pub(crate) fn assert_well(outcome: &Outcome) {
    let errors = text(&outcome.errors.bytes);
    assert_eq!((outcome.exit, outcome.killed, errors.as_str()), (Some(Exit::Code(0)), None, ""));
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder of the host with a file to read and a folder to write, granted at `/read` and `/work`.
pub(crate) struct Granted {
    pub(crate) folder: tempfile::TempDir,
}

impl Granted {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["read", "work"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        Self { folder }
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>, mode: u32) {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("a file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&path, mode).expect("a mode");
    }

    /// What the host finds at this name.
    pub(crate) fn bytes(&self, name: &str) -> io::Result<Vec<u8>> {
        std::fs::read(self.folder.path().join(name))
    }

    pub(crate) fn to(&self, profile: ProfileBuilder) -> ProfileBuilder {
        let at = |name: &str| self.folder.path().join(name);
        profile.grant(at("read"), "/read", Access::Read).grant(at("work"), "/work", Access::Write)
    }
}

/// A name that is in the command line of one test's processes and of no others.
pub(crate) fn marker() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("fumehood-it-{}-{}-", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// How many processes of this machine have `marker` in their command line.
pub(crate) fn count_with(marker: &str) -> usize {
    let processes = std::fs::read_dir("/proc").expect("proc is mounted").flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| text(line).contains(marker)).count()
}

/// Waits until something is so, for longer than any machine should take.
pub(crate) fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(20), "not after {:?}: {what}", started.elapsed());
        std::thread::sleep(Duration::from_millis(2));
    }
}
