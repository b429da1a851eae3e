//! Streams that are judged while they come.

use std::time::Duration;

use fumehood_core::Code;
use fumehood_core::receipt::{Exit, Killed};
use fumehood_core::tool::Failure;
use fumehood_gate::Ran;

use super::{Tool, processes_with, tool_at, unique};
use crate::world::{Ended, World, failed, output};

/// A program that writes these bytes to this stream, each by itself, and then does something else.
fn byte_by_byte(stream: u8, bytes: &[u8], then: &str) -> String {
    format!(
        "import {{ writeSync }} from 'node:fs';
for (const byte of {bytes:?}) {{ writeSync({stream}, Buffer.from([byte])); await new Promise(setImmediate); }}
{then}
"
    )
}

/// A tool that the host can find among its processes.
fn marked<'w>(world: &'w World, text: &str) -> (Tool<'w>, &'static str) {
    let entry = unique(".mjs");
    (tool_at(world, entry, text), entry)
}

/// What is on record of a run whose stream could not be taken.
fn broke_off(ended: Ended) -> Box<Ran> {
    assert_eq!(failed(&ended), Code::ToolBadResponse);
    let error = ended.unwrap_err();
    assert_eq!(error.failure, Failure::BadResponse);
    assert!(error.message.ends_with("it is not UTF-8"), "{}", error.message);
    let ran = error.ran.unwrap();
    assert_eq!(ran.killed, Some(Killed::Content));
    ran
}

// CHK-097, CHK-110, CHK-128: a value that comes byte by byte is the value.
#[test]
fn single_bytes_are_taken() {
    let world = World::new();
    let value = "{\"a\":\"ä€😀\"}\n";
    let (tool, marker) = marked(&world, &byte_by_byte(1, value.as_bytes(), "process.stderr.write('gut');"));
    let ended = tool.call("{}");
    assert_eq!(output(&ended), value);
    assert_eq!(ended.unwrap().errors.0, b"gut");
    assert_eq!(processes_with(marker), 0);
    world.assert_clean();
}

// CHK-110, CHK-123, CHK-126, CHK-127, CHK-142: what is no text ends the run when it comes, not when the program likes.
#[test]
fn broken_text_ends_the_run() {
    let world = World::new();
    for stream in [1, 2] {
        for broken in [b"ok\xff".as_slice(), b"ok\xe2\x82\x28", b"ok\xed\xa0"] {
            let program = byte_by_byte(stream, broken, "for (;;) {}");
            let (tool, marker) = marked(&world, &program);
            let ran = broke_off(tool.limits(120_000, 1024).call("{}"));
            assert!(ran.elapsed < Duration::from_mins(1), "{:?}", ran.elapsed);
            assert_eq!(processes_with(marker), 0);
            // What was there by then is on record.
            let (bytes, artifact) = match stream {
                1 => (&ran.output.0, ran.artifact),
                _ => (&ran.errors.0, ran.errors_artifact),
            };
            assert_eq!(*bytes, broken);
            assert!(artifact.is_some());
        }
    }
    world.assert_clean();
}

// CHK-108, CHK-142, CHK-158: who will not leave is killed with all that it started.
#[test]
fn broken_text_ends_all_of_it() {
    let world = World::new();
    let marker = unique("");
    let then = format!(
        "process.on('SIGTERM', () => {{}});
const {{ spawn }} = await import('node:child_process');
const other = spawn(process.execPath, ['-e', \"process.on('SIGTERM', () => {{}}); console.error('up'); setInterval(() => {{}}, 1000) // {marker}\"], {{ detached: true, stdio: ['ignore', 'ignore', 'pipe'] }});
other.stderr.once('data', () => writeSync(1, Buffer.from([0xff])));"
    );
    let ran = broke_off(tool_at(&world, "go.mjs", &byte_by_byte(1, b"", &then)).call("{}"));
    assert_eq!(ran.exit, None);
    assert!(ran.elapsed >= Duration::from_secs(1), "{:?}", ran.elapsed);
    assert_eq!(processes_with(marker), 0);
    world.assert_clean();
}

// CHK-111, CHK-126: whatever follows, the first error is the one that is told.
#[test]
fn the_first_error_is_final() {
    let world = World::new();
    let call = |program: &str| marked(&world, program).0.limits(60_000, 1024).call("{}");
    let head = "import { writeSync } from 'node:fs';\n";
    let write = |what: &str| {
        format!(
            "{head}const all = {what}; let at = 0; while (at < all.length) at += writeSync(1, all, at);\n"
        )
    };
    // Broken, and then far too much, or another exit code.
    let first = "Buffer.concat([Buffer.from([0xff]), Buffer.alloc(1 << 20, 'x')])";
    broke_off(call(&write(first)));
    broke_off(call(&(write("Buffer.from([0xff])") + "process.exit(3);")));
    // Too much, and what comes after is not looked at.
    let ended = call(&write("Buffer.concat([Buffer.alloc(1025, 'x'), Buffer.from([0xff])])"));
    assert_eq!(failed(&ended), Code::ScriptOutputLimit);
    assert_eq!(ended.unwrap_err().ran.unwrap().killed, Some(Killed::Output));
    // Broken in the time to leave.
    let last = format!(
        "{head}process.on('SIGTERM', () => writeSync(1, Buffer.from([0xff])));\nsetInterval(() => {{}}, 1000);"
    );
    let ended = marked(&world, &last).0.limits(1000, 1024).call("{}");
    assert_eq!(failed(&ended), Code::ScriptTimeout);
    assert_eq!(ended.unwrap_err().ran.unwrap().killed, Some(Killed::Deadline));
    world.assert_clean();
}

// CHK-125, CHK-128: the end in the middle of a character is an error of both streams, and of nobody's time.
#[test]
fn half_a_character_at_the_end_is_an_error() {
    let world = World::new();
    for (stream, bytes) in [(1, b"{}\xf0\x9f\x98".as_slice()), (2, b"said \xe2\x82")] {
        let then = if stream == 2 { "console.log('{}');" } else { "" };
        let ended = marked(&world, &byte_by_byte(stream, bytes, then)).0.call("{}");
        assert_eq!(failed(&ended), Code::ToolBadResponse);
        let error = ended.unwrap_err();
        assert!(error.message.ends_with("it is not UTF-8"), "{}", error.message);
        let ran = error.ran.unwrap();
        assert_eq!((ran.killed, ran.exit), (None, Some(Exit::Code(0))));
    }
    world.assert_clean();
}
