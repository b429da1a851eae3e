//! The ways to launch a program. All read its output from pipes and wait for its end, which must be exit 0.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use fumehood_sandbox::{Access, Confined, Exit, Limits, Profile, Sandbox};

/// A program and its arguments.
#[derive(Clone, Copy)]
pub(crate) struct Payload(pub(crate) &'static [&'static str]);

/// A part of the host's files, and where the program sees it.
#[derive(Clone)]
pub(crate) struct Bind {
    pub(crate) source: PathBuf,
    pub(crate) target: &'static str,
    pub(crate) access: Access,
}

/// By the standard library, which uses `posix_spawn`, with an empty environment.
pub(crate) fn plain(payload: Payload) -> impl FnMut() {
    let mut command = Command::new(payload.0[0]);
    command.args(&payload.0[1..]);
    runs(command)
}

/// By a launcher that is running already.
pub(crate) fn full(sandbox: &Sandbox, profile: Profile) -> impl FnMut() + Send + '_ {
    move || finish(sandbox.spawn(&profile).expect("a confined launch"))
}

/// The same restrictions as far as it has them: a private root with the system's programs, all namespaces, no
/// capability, an empty environment. It has no system call filter, no Landlock and no limits.
pub(crate) fn bubblewrap(payload: Payload, binds: &[Bind]) -> impl FnMut() + use<> {
    let mut command = Command::new(BWRAP);
    command.args(BWRAP_ARGUMENTS);
    for bind in binds {
        let option = if bind.access == Access::Write { "--bind" } else { "--ro-bind" };
        command.arg(option).arg(&bind.source).arg(bind.target);
    }
    command.arg("--").args(payload.0);
    runs(command)
}

/// The command line of `@anthropic-ai/sandbox-runtime` with nothing allowed. It needs to find its tools and a home.
pub(crate) fn runtime(cli: &Path, payload: Payload, folder: &Path) -> impl FnMut() + use<> {
    let settings = folder.join("runtime.json");
    std::fs::write(&settings, RUNTIME_SETTINGS).expect("a file in the temporary folder");
    let mut command = Command::new(NODE);
    command.arg(cli).arg("--settings").arg(settings).args(payload.0);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", folder).current_dir(folder);
    piped(&mut command);
    move || run(&mut command)
}

/// Whether bubblewrap is installed.
pub(crate) fn has_bubblewrap() -> bool {
    let there = Path::new(BWRAP).exists();
    if !there {
        eprintln!("  no {BWRAP}, no rows of it");
    }
    there
}

pub(crate) fn profile(payload: Payload, binds: &[Bind]) -> Profile {
    profile_with(payload, binds, Duration::from_mins(1), Duration::from_secs(1))
}

pub(crate) fn profile_with(payload: Payload, binds: &[Bind], wall: Duration, grace: Duration) -> Profile {
    let mut profile = Profile::builder(payload.0[0], LIMITS, wall).grace(grace);
    for argument in &payload.0[1..] {
        profile = profile.argument(argument);
    }
    for bind in binds {
        profile = profile.grant(&bind.source, bind.target, bind.access);
    }
    profile.build().expect("a consistent profile")
}

fn finish(confined: Confined) {
    let outcome = confined.wait(&|| false).expect("a run that ends");
    let failed = outcome.exit != Some(Exit::Code(0)) || outcome.killed.is_some();
    assert!(
        !failed,
        "{:?} {:?}: {}",
        outcome.exit,
        outcome.killed,
        String::from_utf8_lossy(&outcome.errors.bytes)
    );
}

fn runs(mut command: Command) -> impl FnMut() {
    command.env_clear();
    piped(&mut command);
    move || run(&mut command)
}

fn piped(command: &mut Command) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

fn run(command: &mut Command) {
    let output = command.spawn().and_then(std::process::Child::wait_with_output).expect("a launch");
    assert!(
        output.status.success(),
        "{command:?}: {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

pub(crate) const TRUE: Payload = Payload(&["/bin/true"]);
pub(crate) const SLEEP: Payload = Payload(&["/usr/bin/sleep", "infinity"]);
pub(crate) const BWRAP: &str = "/usr/bin/bwrap";
pub(crate) const NODE: &str = "/usr/bin/node";

/// Enough for each payload here; what they are does not change what arming them costs.
const LIMITS: Limits = Limits {
    cpu_seconds: 60,
    memory_bytes_per_process: 1 << 30,
    processes: 128,
    file_bytes: 1 << 20,
    open_files: 256,
    temporary_bytes: 16 << 20,
    temporary_files: 1000,
};

#[rustfmt::skip]
const BWRAP_ARGUMENTS: [&str; 27] = [
    "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL",
    "--ro-bind", "/usr", "/usr",
    "--symlink", "usr/bin", "/bin",
    "--symlink", "usr/sbin", "/sbin",
    "--symlink", "usr/lib", "/lib",
    "--symlink", "usr/lib64", "/lib64",
    "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
];

const RUNTIME_SETTINGS: &str = r#"{
    "network": { "allowedDomains": [], "deniedDomains": [] },
    "filesystem": { "denyRead": [], "allowWrite": [], "denyWrite": [] }
}"#;
