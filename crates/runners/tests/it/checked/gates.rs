//! The gates that stand before checked tools are offered at all, where no other test has them; and the matrix.

use std::time::{Duration, Instant};

use fumehood_core::Code;
use fumehood_core::manifest::ExecutionManifest;
use fumehood_core::receipt::Killed;

use super::{ANYTHING, ECHO, Tool, processes_with, records, tool, tool_at, unique};
use crate::world::{World, failed, output};

/// A program that answers and leaves behind a process of another session, whose parent is gone, with this for a program and
/// both streams in its hands.
fn leaving(other: &str) -> String {
    format!(
        "import {{ spawnSync }} from 'node:child_process';
const other = {other:?};
const middle = `require('child_process').spawn(process.execPath, ['-e', ${{JSON.stringify(other)}}], {{ detached: true, stdio: 'inherit' }}).unref()`;
spawnSync(process.execPath, ['-e', middle], {{ stdio: 'inherit' }});
process.stdout.write('{{}}\\n', () => process.exit(0));
"
    )
}

// CHK-143, CHK-158: a grandchild of another session that holds the streams open keeps nobody waiting, and is gone.
#[test]
fn who_holds_the_streams_open_is_not_waited_for() {
    let world = World::new();
    let marker = unique("");
    let silent = format!("process.on('SIGTERM', () => {{}}); setInterval(() => {{}}, 1000) // {marker}");
    let began = Instant::now();
    let ended = tool(&world, &leaving(&silent)).limits(120_000, 1024).call("{}");
    assert_eq!(output(&ended), "{}\n");
    assert!(began.elapsed() < Duration::from_mins(1), "{:?}", began.elapsed());
    assert_eq!(processes_with(marker), 0);
    // One that goes on writing after the program's end: either it was ended before it did, or two wrote.
    let loud = format!(
        "process.on('SIGTERM', () => {{}}); setInterval(() => process.stdout.write('x'), 1) // {marker}"
    );
    let ended = tool(&world, &leaving(&loud)).limits(120_000, 1024).call("{}");
    match &ended {
        Ok(completed) => assert_eq!(completed.output.0, b"{}\n"),
        Err(error) => assert_eq!(error.code, Code::ToolBadResponse, "{}", error.message),
    }
    assert_eq!(processes_with(marker), 0);
    world.assert_clean();
}

// CHK-108, CHK-158: a deadline that passes while the processes are being ended changes neither their end nor its reason.
#[test]
fn a_deadline_during_cleanup_changes_nothing() {
    let world = World::new();
    let script = "import { writeSync } from 'node:fs';
process.on('SIGTERM', () => {});
writeSync(1, Buffer.from([0xff]));
setInterval(() => {}, 1000);
";
    // The grace is as long as the shortest time that a tool can have: the deadline passes in it, unless the machine was too
    // slow to start Node by then, in which case it was the deadline that came first.
    let is_first = || {
        let entry = unique(".mjs");
        let ended = tool_at(&world, entry, script).limits(1000, 1024).call("{}");
        let code = failed(&ended);
        let ran = ended.unwrap_err().ran.unwrap();
        assert_eq!(ran.exit, None);
        assert!(ran.elapsed >= Duration::from_secs(1), "{:?}", ran.elapsed);
        assert_eq!(processes_with(entry), 0);
        world.assert_clean();
        match ran.killed {
            Some(Killed::Content) => assert_eq!(code, Code::ToolBadResponse),
            other => assert_eq!((other, code), (Some(Killed::Deadline), Code::ScriptTimeout)),
        }
        ran.killed == Some(Killed::Content)
    };
    assert!((0..10).any(|_| is_first()));
}

// CHK-122, CHK-159: names are data wherever they stand: in the host's own place, the workspace, a file and an argument.
#[test]
fn names_are_data_everywhere() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let place = folder.path().join("a b; touch ran & $(touch ran) `touch ran` 'q' \\ %s *");
    std::fs::create_dir(&place).unwrap();
    let world = World::in_folder(place.to_str().unwrap());
    let named = world.write("work/$(touch ran); 'x' \"y\" | z", "hers");
    let script = "import { readFileSync } from 'node:fs';
const { path } = JSON.parse(readFileSync(0, 'utf8'));
console.log(JSON.stringify({ text: readFileSync(path, 'utf8') }));
";
    let mut tool = tool_at(&world, "--eval $(touch ran); x.cjs.mjs", script);
    tool.workspace = Some(world.at("work"));
    let arguments = format!("{{\"path\":{:?}}}", named.to_str().unwrap());
    assert_eq!(output(&tool.call(&arguments)), "{\"text\":\"hers\"}\n");
    let mut ran = world.manifest("").into_keys().filter(|path| path.ends_with(b"/ran"));
    assert_eq!(ran.next(), None);
    world.assert_clean();
}

// CHK-101, CHK-103, CHK-159: of a schema that is not in the subset, or a manifest that is too large, there is no tool.
#[test]
fn a_manifest_that_is_refused_makes_no_tool() {
    let text = |input: &str, fill: usize| {
        let all = format!(
            r#"{{"schemaVersion":1,"entrypoint":"a.mjs","files":["a.mjs"],"inputSchema":{input},"outputSchema":{ANYTHING}}}"#
        );
        all + &" ".repeat(fill)
    };
    let parse = |text: String| ExecutionManifest::parse(text.as_bytes());
    let length = text(ANYTHING, 0).len();
    assert!(parse(text(ANYTHING, (64 << 10) - length)).is_ok());
    assert!(parse(text(ANYTHING, (64 << 10) - length + 1)).is_err());
    for schema in [
        r#"{"type":"object","properties":{},"pattern":"^a"}"#,
        r#"{"type":"object","properties":{"a":{"$ref":"http://x"}}}"#,
        r#"{"type":"object","properties":{"__proto__":{"type":"string"}}}"#,
        r#"{"type":"array","items":{"type":"string"}}"#,
        "{}",
        "true",
    ] {
        assert!(parse(text(schema, 0)).is_err(), "{schema}");
    }
}

type Positive = fn(&World) -> bool;

/// What must succeed each time.
const POSITIVES: [(&str, Positive); 9] = [
    (".mjs, arguments in and out", |world| says(&tool(world, ECHO), "{\"n\":1}", "{\"got\":{\"n\":1}}")),
    (".cjs with a listed module", |world| {
        let script = "console.log(JSON.stringify({ n: require('./n.cjs') }));";
        let tool = tool_at(world, "go.cjs", script).file("n.cjs", "module.exports = 7;").listing("n.cjs");
        says(&tool, "{}", "{\"n\":7}\n")
    }),
    ("names with spaces and shell characters", |world| {
        says(&tool_at(world, "a b/$(x); 'y'.mjs", ECHO), "{\"$(x)\":\"`y`\"}", "{\"got\":{\"$(x)\":\"`y`\"}}")
    }),
    ("as much output as is allowed", |world| {
        let script = "process.stdout.write(JSON.stringify({ x: 'x'.repeat(1016) }));";
        output(&tool(world, script).limits(60_000, 1024).call("{}")).len() == 1024
    }),
    ("arguments that nobody reads", |world| {
        let large = format!("{{\"a\":\"{}\"}}", "x".repeat(60_000));
        says(&tool(world, "console.log('{}');"), &large, "{}\n")
    }),
    ("a workspace to read", |world| {
        world.write("work/a", "hers");
        let script = "import { readdirSync, readFileSync } from 'node:fs';
const { at } = JSON.parse(readFileSync(0, 'utf8'));
console.log(JSON.stringify(readdirSync(at).length === 1 ? {} : { bad: 1 }));";
        let mut tool = tool(world, script);
        tool.workspace = Some(world.at("work"));
        says(&tool, &format!("{{\"at\":{:?}}}", world.text("work")), "{}\n")
    }),
    ("a process that is left behind", |world| {
        let marker = unique("");
        let script = leaving(&format!("setInterval(() => {{}}, 1000) // {marker}"));
        says(&tool(world, &script), "{}", "{}\n") && processes_with(marker) == 0
    }),
    ("records, projected", |world| records::project(world, 20)),
    ("records, refused by the program", records::refuse),
];

fn says(tool: &Tool<'_>, input: &str, expected: &str) -> bool {
    output(&tool.call(input)) == expected
}

// CHK-160: each positive ten times, each time from nothing; and what that was tried on.
#[test]
fn ten_of_ten_succeed() {
    for (what, positive) in POSITIVES {
        let good = (0..10).filter(|_| {
            let world = World::new();
            let is_good = positive(&world);
            world.assert_clean();
            is_good
        });
        let good = good.count();
        println!("{good} of 10: {what}");
        assert_eq!(good, 10, "{what}");
    }
    let world = World::new();
    let tool = tool(
        &world,
        "console.log(JSON.stringify(`${process.version} ${process.platform} ${process.arch}`));",
    );
    let tool = Tool { output: r#"{"type":"string"}"#, ..tool };
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let system = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or("unnamed");
    println!(
        "matrix: node {}, system {system}, kernel {}, sandbox {:?}, uid {}, {} positives",
        output(&tool.call("{}")).trim().trim_matches('"'),
        kernel.trim(),
        tool.job.workshop().sandbox.enforcement().level(),
        rustix::process::getuid().as_raw(),
        POSITIVES.len(),
    );
}
