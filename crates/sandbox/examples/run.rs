//! Runs a program in a sandbox: `cargo run --example run -- /bin/sh -c 'id; ls /'`.
use std::time::Duration;

use fumehood_sandbox::{Limits, OnExcess, Profile, Sandbox, helper};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    helper::dispatch();
    let mut arguments = std::env::args_os().skip(1);
    let program = arguments.next().ok_or("name a program")?;
    let limits = Limits {
        cpu_seconds: 10,
        memory_bytes_per_process: 1 << 30,
        processes: 64,
        file_bytes: 1 << 20,
        open_files: 64,
        temporary_bytes: 16 << 20,
        temporary_files: 1000,
    };
    let mut profile =
        Profile::builder(program, limits, Duration::from_secs(5)).output(1 << 20, OnExcess::Truncate);
    for argument in arguments {
        profile = profile.argument(argument);
    }
    let profile = profile.variable("PATH", "/usr/bin:/bin").build()?;
    let started = std::time::Instant::now();
    let sandbox = Sandbox::start()?;
    eprintln!("launcher after {:?}", started.elapsed());
    for _ in 0..3 {
        let started = std::time::Instant::now();
        let outcome = sandbox.spawn(&profile)?.wait(&|| false)?;
        eprintln!("{:?} {:?} in {:?}", outcome.exit, outcome.killed, started.elapsed());
        print!("{}", String::from_utf8_lossy(&outcome.output.bytes));
        eprint!("{}", String::from_utf8_lossy(&outcome.errors.bytes));
    }
    Ok(())
}
