//! How a run ends, and what is left of it: nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fumehood_core::Code;
use fumehood_core::receipt::{Exit, Killed};
use fumehood_core::tool::Failure;

use super::tool;
use crate::world::{World, failed, refused};

// CHK-111, X-04: an answer beside another exit code is none, whatever the deployer says of scripts.
#[test]
fn only_exit_code_zero_succeeds() {
    let world = World::new();
    for (script, exit) in [
        ("console.log('{}'); process.exitCode = 3;", Exit::Code(3)),
        ("console.log('{}'); throw new Error('secret');", Exit::Code(1)),
        (
            "console.log('{}'); process.kill(process.pid, 'SIGKILL'); await new Promise(r => setTimeout(r, 9e6));",
            Exit::Signal(9),
        ),
        ("syntax error here", Exit::Code(1)),
        ("import 'no-such-package';", Exit::Code(1)),
    ] {
        let mut tool = tool(&world, script);
        tool.job.fail_on_nonzero_exit = false;
        let ended = tool.call("{}");
        assert_eq!(failed(&ended), Code::ScriptFailed, "{script}");
        let error = ended.unwrap_err();
        assert_eq!(error.ran.unwrap().exit, Some(exit), "{script}");
        assert!(!error.message.contains("secret"), "{}", error.message);
    }
    world.assert_clean();
}

// CHK-143, CHK-158, CHK-108: who is left after the program's end is ended, says no more that counts, and keeps nobody waiting.
#[test]
fn descendants_do_not_outlive_the_program() {
    let world = World::new();
    let began = Instant::now();
    let script = r#"import { spawn } from "node:child_process";
const more = "process.on('SIGTERM', () => {}); setInterval(() => process.stdout.write('x'), 5);";
const child = spawn(process.execPath, ["-e", more], { detached: true, stdio: ["ignore", "inherit", "inherit"] });
child.unref();
process.stdout.write("{}\n", () => process.exit(0));
"#;
    let ended = tool(&world, script).call("{}");
    match &ended {
        // It was ended before it said anything.
        Ok(completed) => assert_eq!(completed.output.0, b"{}\n"),
        // It was quicker, and two writers make no answer.
        Err(error) => assert_eq!(error.code, Code::ToolBadResponse, "{}", error.message),
    }
    assert!(began.elapsed() < Duration::from_secs(20));
    world.assert_clean();
}

// CHK-096, CHK-143: whoever is left with the input, of which nobody read anything, keeps nobody waiting.
#[test]
fn a_descendant_that_holds_the_input_holds_up_nobody() {
    let world = World::new();
    let began = Instant::now();
    let script = r#"import { spawn } from "node:child_process";
const wait = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)";
spawn(process.execPath, ["-e", wait], { detached: true, stdio: ["inherit", "ignore", "ignore"] }).unref();
process.stdout.write("{}\n", () => process.exit(0));
"#;
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(65_000));
    let completed = tool(&world, script).call(&large).unwrap();
    assert_eq!(completed.output.0, b"{}\n");
    assert!(began.elapsed() < Duration::from_secs(20));
    world.assert_clean();
}

// CHK-111, CHK-126: what is said at the polite signal comes too late, with exit code zero too, and what was wrong stays wrong.
#[test]
fn an_answer_after_the_first_reason_to_end_is_none() {
    let world = World::new();
    let answer = "process.stdout.write('{}', () => process.exit(0))";
    for (before, code, killed) in [
        ("", Code::ScriptTimeout, Killed::Deadline),
        ("process.stdout.write(Buffer.from([0xff]));", Code::ToolBadResponse, Killed::Content),
        ("process.stderr.write('x'.repeat(16385));", Code::ScriptOutputLimit, Killed::Output),
    ] {
        let script =
            format!("process.on('SIGTERM', () => {answer});\n{before}\nsetInterval(() => {{}}, 1000);");
        let ended = tool(&world, script.leak()).limits(1000, 1024).call("{}");
        assert_eq!(failed(&ended), code, "{before}");
        let ran = ended.unwrap_err().ran.unwrap();
        assert_eq!(ran.killed, Some(killed), "{before}");
    }
    // One that stops itself cannot be asked to leave, and ends all the same.
    let ended = tool(&world, "console.log('{}'); process.kill(process.pid, 'SIGSTOP');")
        .limits(1000, 1024)
        .call("{}");
    assert_eq!(failed(&ended), Code::ScriptTimeout);
    world.assert_clean();
}

// CHK-108, CHK-142, CHK-158: a polite signal, a second, the other one; and no success comes of what was written before.
#[test]
fn a_deadline_is_kept_against_who_will_not_leave() {
    let world = World::new();
    let began = Instant::now();
    let script = r#"import { spawn } from "node:child_process";
process.on("SIGTERM", () => {});
spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"], { detached: true });
console.log("{}");
setInterval(() => {}, 1000);
"#;
    let ended = tool(&world, script).limits(1000, 1024).call("{}");
    assert_eq!(failed(&ended), Code::ScriptTimeout);
    let ran = ended.unwrap_err().ran.unwrap();
    assert_eq!((ran.killed, ran.exit), (Some(Killed::Deadline), None));
    assert!(ran.elapsed >= Duration::from_secs(2), "{:?}", ran.elapsed);
    assert!(began.elapsed() < Duration::from_secs(20));
    world.assert_clean();

    // Less time than the manifest gives is the caller's to choose, more is not, and nothing is moved to the edge.
    let mut short = tool(&world, "setInterval(() => {}, 1000);").limits(2000, 1024);
    short.timeout = Some(Duration::from_secs(1));
    assert_eq!(failed(&short.call("{}")), Code::ScriptTimeout);
    for milliseconds in [999, 2001] {
        short.timeout = Some(Duration::from_millis(milliseconds));
        assert_eq!(refused(&short.call("{}")), (Code::ArgumentInvalid, Failure::Validation));
    }
}

// CHK-109, XSF-27: a failure is final.
#[test]
fn there_is_one_attempt() {
    let world = World::new();
    let error = tool(&world, "process.exit(1);").call("{}").unwrap_err();
    assert_eq!(error.failure, Failure::Execution);
    let rows = world.journal.newest(None, None, 100).unwrap();
    let closed: Vec<_> = rows.iter().filter(|row| row.json.contains("\"attempts\"")).collect();
    assert!(!closed.is_empty() && closed.iter().all(|row| row.json.contains("\"attempts\":1")), "{closed:?}");
}

// CHK-141, CHK-158: given up before anything is started, in every moment before, and while it runs.
#[test]
fn a_call_can_be_given_up_at_any_time() {
    let canary = "import { writeSync } from 'node:fs'; writeSync(2, 'ran'); console.log('{}');";
    for look in 1..=3 {
        let world = World::new();
        let mut tool = tool(&world, canary);
        let cancel = tool.job.cancel.clone();
        tool.job.on_look = Arc::new(move |at| {
            if at == look {
                cancel.cancel();
            }
        });
        assert_eq!(refused(&tool.call("{}")), (Code::Cancelled, Failure::Cancelled), "{look}");
        world.assert_clean();
    }
    let world = World::new();
    let tool = tool(&world, "console.log('{}'); setInterval(() => {}, 1000);");
    let cancel = tool.job.cancel.clone();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        cancel.cancel();
    });
    let error = tool.call("{}").unwrap_err();
    canceller.join().unwrap();
    assert_eq!(error.code, Code::Cancelled);
    world.assert_clean();
}
