//! What an interpreter says about itself, asked in the sandbox only.

use std::path::Path;
use std::time::Duration;

use fumehood_core::HostPath;
use fumehood_sandbox::{Access, Exit, Killed, Limits, OnExcess, Outcome, Profile, Sandbox};

/// What a program says about itself, in the sandbox; without one it is not asked. It sees the system's own programs and
/// libraries, and `readable`.
pub(super) fn version(
    sandbox: Option<&Sandbox>,
    program: &Path,
    readable: &[HostPath],
) -> Result<String, String> {
    let Some(sandbox) = sandbox else {
        return Err("not asked for its version: it would run outside a sandbox".to_owned());
    };
    let profile = Profile::builder(program, VERSION_LIMITS, VERSION_WALL);
    let profile = readable
        .iter()
        .fold(profile, |profile, path| profile.grant(path.as_str(), path.as_str(), Access::Read));
    let profile = profile
        .argument("--version")
        .variable("PATH", "/usr/bin:/bin")
        .variable("HOME", "/tmp")
        .variable("TMPDIR", "/tmp")
        .variable("LANG", "C.UTF-8")
        .grace(Duration::ZERO)
        .output(VERSION_BYTES_MAX, OnExcess::Truncate)
        .floor(sandbox.enforcement().level())
        .build()
        .map_err(|error| format!("cannot be asked for its version: {error}"))?;
    let outcome = sandbox.spawn(&profile).and_then(|run| run.wait(&|| false));
    first_line(&outcome.map_err(|error| format!("does not start in the sandbox: {error}"))?)
}

fn first_line(outcome: &Outcome) -> Result<String, String> {
    if outcome.killed == Some(Killed::Deadline) {
        return Err(format!("did not tell its version within {} s", VERSION_WALL.as_secs()));
    }
    let line = outcome.output.bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line).trim().to_owned();
    match outcome.exit {
        Some(Exit::Code(0)) if !line.is_empty() => Ok(line),
        _ => Err("reports no version".to_owned()),
    }
}

/// Enough for Node.js, which reserves much and has many threads, to say its version.
const VERSION_LIMITS: Limits = Limits {
    cpu_seconds: 5,
    memory_bytes_per_process: 1 << 30,
    processes: 64,
    file_bytes: 0,
    open_files: 64,
    temporary_bytes: 1 << 20,
    temporary_files: 16,
};
const VERSION_WALL: Duration = Duration::from_secs(5);
const VERSION_BYTES_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use fumehood_sandbox::Captured;

    fn said(bytes: &[u8], exit: Exit, killed: Option<Killed>) -> Result<String, String> {
        let output = Captured { bytes: bytes.to_vec(), dropped: 0 };
        let elapsed = Duration::ZERO;
        first_line(&Outcome { exit: Some(exit), killed, output, errors: Captured::default(), elapsed })
    }

    #[test]
    fn a_version_is_the_first_line_of_a_success() {
        let good = Exit::Code(0);
        assert_eq!(said(b" v1\r\nmore\n", good, None).as_deref(), Ok("v1"));
        // Cut in the middle of a character, and no text at all: what cannot be read is marked.
        assert_eq!(said(b"v\xc3", good, None).as_deref(), Ok("v\u{fffd}"));
        let none = Err("reports no version".to_owned());
        for bytes in [&b""[..], b"\nv1\n", b" \t\n"] {
            assert_eq!(said(bytes, good, None), none);
        }
        for exit in [Exit::Code(2), Exit::Signal(9)] {
            assert_eq!(said(b"v1\n", exit, None), none);
        }
        let late = said(b"v1\n", Exit::Signal(9), Some(Killed::Deadline));
        assert_eq!(late.unwrap_err(), "did not tell its version within 5 s");
    }

    // XSF-50: no sandbox, no run.
    #[test]
    fn without_a_sandbox_nothing_is_asked() {
        let reason = version(None, Path::new("/bin/sh"), &[]).unwrap_err();
        assert_eq!(reason, "not asked for its version: it would run outside a sandbox");
    }
}
