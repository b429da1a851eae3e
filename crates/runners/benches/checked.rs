//! What a checked tool costs before its program starts, and the whole of it beside a plain start of Node.
//!
//! The bundle has as many files and bytes as a manifest may list. Everything is the real thing, with its state on a disk: gate,
//! journal, artifacts, staging, sandbox; an approver says yes at once. The call up to the start is the real call, given up in
//! the moment in which the program would be started. Rows take turns; printed are minimum and median. Nothing here passes or
//! fails.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to say")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    reason = "the world of the tests makes the files that it needs, and gives up without them"
)]

#[path = "../tests/it/manifest.rs"]
#[expect(dead_code, reason = "of the tests, one part is used here")]
mod manifest;
#[path = "../tests/it/world.rs"]
#[expect(dead_code, reason = "of the tests, one part is used here")]
mod world;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fumehood_core::manifest::ExecutionManifest;
use fumehood_core::tool::{Effect, Origin, Tier, ToolDefinition};
use fumehood_core::{Code, RelPath, SkillName, ToolSpec, VerifiedRevision};
use fumehood_gate::{Cancel, Offer, RunError};
use fumehood_runners::checked::{Checked, NODE_FLAGS, Switches};
use fumehood_store::{Folder as _, MemoryFolder, Staging};

use world::{Job, World};

fn main() {
    let world = World::new();
    let place = world.write("work/go.mjs", PROGRAM);
    let large = Tool::new(&world, FILES, FILE_BYTES);
    let small = Tool::new(&world, 1, 0);
    let bundle = MemoryFolder::new("attack", large.job.files.iter().map(file)).capture().unwrap();
    let listed: Vec<RelPath> = large.manifest.files().to_vec();
    let bytes: BTreeMap<_, _> = large.job.files.iter().map(file).collect();
    let staging = Staging::open(&world.home).unwrap();
    let mut staged = None;
    let node = |flags: &[&str]| {
        let mut command = Command::new("/usr/bin/node");
        command.args(flags).arg(&place).env_clear().stdin(Stdio::null());
        assert!(command.output().unwrap().status.success());
    };

    let mut rows: Vec<(&str, Vec<Duration>)> = ROWS.iter().map(|name| (*name, Vec::new())).collect();
    for round in 0..ROUNDS + WARM {
        let mut row = 0;
        let mut time = |work: &mut dyn FnMut()| {
            let began = Instant::now();
            work();
            if round >= WARM {
                rows[row].1.push(began.elapsed());
            }
            row += 1;
        };
        time(&mut || large.up_to_the_start());
        time(&mut || small.up_to_the_start());
        time(&mut || staged = Some(staging.lay_out_listed(&bundle, &listed).unwrap()));
        time(&mut || _ = black_box(staged.as_ref().unwrap().verify().unwrap()));
        time(&mut || staged.take().unwrap().remove().unwrap());
        time(&mut || _ = black_box(VerifiedRevision::of(&bytes)));
        time(&mut || node(&[]));
        time(&mut || node(&NODE_FLAGS));
        time(&mut || small.whole());
        time(&mut || large.whole());
    }
    println!("| what | min ms | median ms |\n|---|---|---|");
    let mut medians = Vec::new();
    for (name, mut times) in rows {
        times.sort_unstable();
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        println!("| {name} | {:.2} | {:.2} |", ms(times[0]), ms(times[times.len() / 2]));
        medians.push((times[0].as_secs_f64(), times[times.len() / 2].as_secs_f64()));
    }
    let [node, call] = [medians[6], medians[8]];
    println!(
        "a checked run is {:.2} plain starts by minimums, {:.2} by medians",
        call.0 / node.0,
        call.1 / node.1
    );
}

const ROWS: [&str; 10] = [
    "call up to the start, 64 files, 4 MiB: gate, staging, verify, removal",
    "the same, one small file",
    "lay out 64 files, 4 MiB",
    "verify them: read back and hash",
    "remove them",
    "hash the same bytes in memory",
    "plain `node` with the program",
    "the same with our flags",
    "whole checked run of the program",
    "the same, with 64 files and 4 MiB",
];

/// A checked tool and what it is called with.
struct Tool<'w> {
    job: Job<'w>,
    manifest: ExecutionManifest,
    /// One that runs, and one that is given up right before.
    runs: Checked,
    stops: Checked,
    cancel: Arc<std::sync::Mutex<(usize, Cancel)>>,
}

struct On;

impl Switches for On {
    fn may_execute(&self) -> Result<(), RunError> {
        Ok(())
    }

    fn is_not_safe_mode(&self) -> Result<(), RunError> {
        Ok(())
    }
}

impl<'w> Tool<'w> {
    fn new(world: &'w World, files: usize, bytes: usize) -> Self {
        let mut job = Job { interpreter: "node", ..world.shell("") };
        job.files = vec![
            ("SKILL.md", b"---\nname: attack\ndescription: Attacks.\n---\n".to_vec()),
            ("go.mjs", PROGRAM.into()),
        ];
        for number in 1..files {
            job.files.push((format!("data/{number}").leak(), vec![u8::try_from(number).unwrap(); bytes]));
        }
        let listed: Vec<_> =
            job.files.iter().map(|(path, _)| *path).filter(|path| *path != "SKILL.md").collect();
        let schema = r#"{"type":"object","properties":{}}"#;
        let text = format!(
            r#"{{"schemaVersion":1,"entrypoint":"go.mjs","files":{listed:?},"inputSchema":{schema},"outputSchema":{schema}}}"#
        );
        let manifest = ExecutionManifest::parse(text.as_bytes()).unwrap();
        job.files.push(("execution.json", text.into_bytes()));
        let checked =
            |job: &Job<'_>| Checked::new(job.workshop(), job.skill(), manifest.clone(), Arc::new(On));
        let runs = checked(&job);
        let cancel = Arc::new(std::sync::Mutex::new((0, Cancel::new())));
        let looked = Arc::clone(&cancel);
        job.on_look = Arc::new(move |_| {
            let mut looked = looked.lock().unwrap();
            looked.0 += 1;
            // The third look at Node is after the files were laid out.
            if looked.0 == 3 {
                looked.1.cancel();
            }
        });
        let stops = checked(&job);
        Self { job, manifest, runs, stops, cancel }
    }

    fn offer(&self, checked: &Checked) -> Offer {
        let definition = ToolDefinition {
            name: "run_attack_go",
            description: "Goes.",
            input: self.manifest.input_schema().to_json(),
            effect: Effect::Other,
            retries: 0,
            timeout: self.manifest.timeout(),
            tier: Tier::Checked,
            origin: Origin::Skill { source: "user".to_owned(), skill: SkillName::parse("attack").unwrap() },
            approval: None,
        };
        Offer::new(ToolSpec::new(definition).unwrap(), checked.clone()).unwrap()
    }

    fn whole(&self) {
        let completed = self.job.call(self.offer(&self.runs), b"{}".to_vec()).unwrap();
        assert_eq!(completed.output.0, b"{}\n");
    }

    fn up_to_the_start(&self) {
        let cancel = Cancel::new();
        *self.cancel.lock().unwrap() = (0, cancel.clone());
        let job = Job { cancel, ..self.job.clone() };
        let error = job.call(self.offer(&self.stops), b"{}".to_vec()).unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (Code::Cancelled, "the call was cancelled before the program started")
        );
    }
}

fn file((path, bytes): &(&'static str, Vec<u8>)) -> (RelPath, Vec<u8>) {
    (RelPath::parse(path).unwrap(), bytes.clone())
}

const PROGRAM: &str = "console.log('{}');\n";
const FILES: usize = 64;
/// With the manifest and the instructions, as much as 4 MiB.
const FILE_BYTES: usize = 66_000;
const ROUNDS: usize = 60;
const WARM: usize = 5;
