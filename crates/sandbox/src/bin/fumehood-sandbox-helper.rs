//! A launcher and an attacker for the tests, which cannot be either themselves. Started by hand, it tries the attacks
//! that are named, or all; or it plays a machine that lacks something, for itself or another program; or it tries single
//! things and says what came of them.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use fumehood_sandbox::prove::{Proof, TRY_ARGUMENT, Verdict, attacks, become_machine, prove_one, try_each};
use fumehood_sandbox::{Access, Exit, Level, Limits, Profile, Sandbox, SandboxError, helper};

fn main() -> ExitCode {
    helper::dispatch();
    let mut arguments = std::env::args_os().skip(1).peekable();
    match arguments.peek() {
        Some(argument) if argument == helper::MACHINE_ARGUMENT => {
            eprintln!("{}", become_machine(arguments.skip(1)));
            ExitCode::from(CANNOT_PLAY)
        }
        Some(argument) if argument == TRY_ARGUMENT => try_each(arguments.skip(1)),
        Some(argument) if argument == REPORT_ARGUMENT => report(arguments.skip(1)),
        _ => prove(&arguments.filter_map(|name| name.into_string().ok()).collect::<Vec<_>>()),
    }
}

fn prove(named: &[String]) -> ExitCode {
    let (Ok(program), Ok(sandbox)) = (std::env::current_exe(), Sandbox::start()) else {
        eprintln!("no sandbox here");
        return ExitCode::FAILURE;
    };
    let mut broken = 0;
    for attack in
        attacks().iter().filter(|attack| named.is_empty() || named.iter().any(|name| name == attack.name))
    {
        let proof = prove_one(&sandbox, &program, attack);
        broken += u32::from(matches!(proof.verdict, Verdict::Broken(_)));
        print(&proof);
    }
    println!("{} attacks, {broken} broken", attacks().len());
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print(Proof { attack, verdict, outside, inside }: &Proof) {
    let verdict = match verdict {
        Verdict::Held => "held".to_owned(),
        Verdict::Broken(why) => format!("BROKEN {why}"),
        Verdict::NotRun(why) => format!("not enforced, not run: {why}"),
    };
    println!("{}: {verdict}\n  outside: {outside}\n  inside: {inside}", attack.name);
}

/// Says what this machine enforces, and runs a program that leaves a file in the folder of the first argument, with
/// the floor of the second.
fn report(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    let [folder, floor] = arguments.as_slice() else { return ExitCode::from(CANNOT_PLAY) };
    let floors = [Level::Kernel, Level::Namespaces, Level::Full];
    let Some(floor) = floors.into_iter().find(|level| floor == level.as_str()) else {
        return ExitCode::from(CANNOT_PLAY);
    };
    let sandbox = match Sandbox::start() {
        Ok(sandbox) => sandbox,
        Err(error) => return refused(&error, REFUSED_BY_MACHINE),
    };
    let enforcement = sandbox.enforcement();
    println!("level: {}", enforcement.level());
    if let Some(obstacle) = enforcement.obstacle() {
        println!("obstacle: {:?} {}", obstacle.step, obstacle.errno);
        println!("remedy: {}", obstacle.remedy());
    }
    for axis in enforcement.axes() {
        println!("axis: {}: {}: {}", axis.name, axis.state.as_str(), axis.mechanism);
    }
    match run(&sandbox, Path::new(folder), floor) {
        Ok(Some(Exit::Code(code))) => {
            println!("program: exit {code}");
            ExitCode::SUCCESS
        }
        Ok(exit) => {
            println!("program: {exit:?}");
            ExitCode::FAILURE
        }
        Err(error) => refused(&error, REFUSED_BY_FLOOR),
    }
}

fn run(sandbox: &Sandbox, folder: &Path, floor: Level) -> Result<Option<Exit>, SandboxError> {
    let is_kernel = sandbox.enforcement().level() == Level::Kernel;
    // Without mounts a folder is shown where it is; and there the child of a root host writes nothing.
    let target = if is_kernel { folder } else { Path::new("/work") };
    let is_writable = !(is_kernel && rustix::process::geteuid().is_root());
    let profile = Profile::builder("/bin/sh", LIMITS, Duration::from_secs(20))
        .argument("-c")
        .argument(if is_writable { "echo ran >\"$1\"/ran && exit 7" } else { "exit 7" })
        // Its own name, by which the host knows it if it is left running.
        .argument(folder)
        .argument(target)
        .grant(folder, target, if is_writable { Access::Write } else { Access::Read })
        .floor(floor)
        .build();
    let Ok(profile) = profile else { return Ok(None) };
    sandbox.spawn(&profile)?.wait(&|| false).map(|outcome| outcome.exit)
}

fn refused(error: &SandboxError, code: u8) -> ExitCode {
    let kind = match error {
        SandboxError::Unavailable(obstacle) => format!("{:?} {}", obstacle.step, obstacle.errno),
        SandboxError::SetUp { step, errno } => format!("{step:?} {errno} for this run"),
        SandboxError::BelowFloor { .. } => "below the floor".to_owned(),
        SandboxError::Launcher(_) => "no launcher".to_owned(),
        SandboxError::NoAnswer => "no answer".to_owned(),
        SandboxError::LauncherGone => "the launcher is gone".to_owned(),
        _ => "otherwise".to_owned(),
    };
    println!("refused: {kind}\nerror: {error}");
    ExitCode::from(code)
}

const REPORT_ARGUMENT: &str = "--fumehood-report";
const REFUSED_BY_MACHINE: u8 = 3;
const REFUSED_BY_FLOOR: u8 = 4;
const CANNOT_PLAY: u8 = 5;
const LIMITS: Limits = Limits {
    cpu_seconds: 5,
    memory_bytes_per_process: 64 << 20,
    processes: 16,
    file_bytes: 1 << 20,
    open_files: 32,
    temporary_bytes: 1 << 20,
    temporary_files: 64,
};
