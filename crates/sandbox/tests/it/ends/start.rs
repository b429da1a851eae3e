//! Runs that never begin, and that the error says at which step and why.

use fumehood_sandbox::{Access, SandboxError, Step};

use super::LONG;
use crate::inside::{Granted, LIMITS, SH, count_with, marker, profile, run, shared, with_limits};
use fumehood_sandbox::{Exit, Limits, ProfileBuilder};

const NO_ENTRY: i32 = 2;
const TOO_LONG: i32 = 7;
const NO_PROGRAM: i32 = 8;
const NO_ACCESS: i32 = 13;

#[track_caller]
fn fails(profile: ProfileBuilder, step: Step, errno: i32) {
    let spawned = shared().spawn(&profile.build().expect("a profile"));
    match spawned {
        Err(SandboxError::SetUp { step: found, errno: code }) => assert_eq!((found, code), (step, errno)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_that_cannot_be_executed_is_no_exit_code() {
    let granted = Granted::new();
    granted.put("read/plain", "echo not here\n", 0o644);
    granted.put("read/text", "echo not here\n", 0o755);
    granted.put("read/empty", "", 0o755);
    granted.put("read/cut", b"\x7fELF\x02\x01\x01", 0o755);
    granted.put("read/orphan", "#!/no/such/interpreter\n", 0o755);
    granted.put("read/fine", "#!/bin/sh\nexit 126\n", 0o755);
    for (program, errno) in [
        ("/usr/bin/no-such-program", NO_ENTRY),
        ("/read/no-such-program", NO_ENTRY),
        ("/read", NO_ACCESS),
        ("/read/plain", NO_ACCESS),
        ("/read/text", NO_PROGRAM),
        ("/read/empty", NO_PROGRAM),
        ("/read/cut", NO_PROGRAM),
        ("/read/orphan", NO_ENTRY),
        ("/etc/passwd", NO_ACCESS),
        ("/dev/null", NO_ACCESS),
    ] {
        println!("{program}");
        let marker = marker();
        fails(granted.to(profile(program, &[&marker])), Step::Execute, errno);
        assert_eq!(count_with(&marker), 0);
    }
    // The same way, with a program.
    assert_eq!(run(granted.to(profile("/read/fine", &[""; 0]))).exit, Some(Exit::Code(126)));
}

#[test]
fn a_program_in_a_writable_folder_is_refused() {
    let granted = Granted::new();
    granted.put("work/tool", "#!/bin/sh\n", 0o755);
    // Named as the program it is refused when the profile is built; otherwise when it is executed.
    granted.to(profile("/work/tool", &[""; 0])).build().expect_err("it is writable");
    let outcome = run(granted.to(profile(SH, &["-c", "/work/tool"])));
    assert_eq!((outcome.exit, outcome.killed), (Some(Exit::Code(126)), None));
}

#[test]
fn a_missing_folder_is_named() {
    fails(profile(SH, &["-c", ":"]).directory("/no/such/folder"), Step::Directory, NO_ENTRY);
    fails(profile(SH, &["-c", ":"]).directory("/etc/passwd"), Step::Directory, 20);
    let granted = Granted::new();
    let gone = granted.folder.path().join("gone");
    fails(profile(SH, &["-c", ":"]).grant(gone, "/gone", Access::Read), Step::OpenGrant, NO_ENTRY);
}

#[test]
fn arguments_beyond_what_the_kernel_takes_are_an_error() {
    // 128 KiB for each, with the byte that ends it; the low byte of the length is the code.
    let longest = "x".repeat((128 << 10) - 1);
    assert_eq!(run(profile(SH, &["-c", "exit ${#1}", "sh", &longest])).exit, Some(Exit::Code(255)));
    fails(profile(SH, &["-c", ":", &format!("{longest}x")]), Step::Execute, TOO_LONG);
    let many = vec![longest.as_str(); 9];
    let spawned = shared().spawn(&profile(SH, &many).build().expect("a profile"));
    assert!(matches!(spawned, Err(SandboxError::RequestTooLarge)), "{spawned:?}");
}

/// What is left over after something failed must not be counted against what comes later.
#[test]
fn failures_leave_room_for_others() {
    let none = [""; 0];
    for _ in 0..100 {
        fails(with_limits("/usr/bin/no-such-program", &none, LIMITS, LONG), Step::Execute, NO_ENTRY);
    }
    assert_eq!(run(profile(SH, &["-c", "exit 3"])).exit, Some(Exit::Code(3)));
}

/// The least open files with which everything here starts.
#[test]
fn few_open_files_are_enough() {
    let limits = Limits { open_files: 16, ..LIMITS };
    let outcome =
        run(with_limits(SH, &["-c", "ls / | cat > /dev/null; ulimit -n"], limits, LONG)
            .variable("PATH", "/bin"));
    assert_eq!((outcome.exit, outcome.output.bytes.as_slice()), (Some(Exit::Code(0)), b"16\n".as_slice()));
}
