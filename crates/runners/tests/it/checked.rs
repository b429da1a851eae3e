//! Checked tools, with a real Node in real sandboxes.

mod answers;
mod ends;
mod gates;
mod pieces;
mod proofs;
mod records;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fumehood_core::manifest::ExecutionManifest;
use fumehood_core::tool::{Effect, Failure, Origin, Tier, ToolDefinition};
use fumehood_core::{Code, SkillName, ToolSpec};
use fumehood_gate::{Offer, RunError};
use fumehood_runners::checked::{Checked, Switches};

use crate::world::{Ended, Job, World};

/// A skill with a checked tool, about to be called.
#[derive(Clone)]
struct Tool<'w> {
    job: Job<'w>,
    entry: &'static str,
    listed: Vec<&'static str>,
    input: &'static str,
    output: &'static str,
    limits: String,
    timeout: Option<Duration>,
    workspace: Option<PathBuf>,
    switches: Arc<dyn Switches>,
}

/// Says yes to both, or what a test wants, each time it is asked.
struct Say<F>(F);

impl<F: Fn() -> [bool; 2] + Send + Sync> Switches for Say<F> {
    fn may_execute(&self) -> Result<(), RunError> {
        let off = RunError::new(Failure::Policy, Code::ExecuteDisabled, "off");
        if self.0()[0] { Ok(()) } else { Err(off) }
    }

    fn is_not_safe_mode(&self) -> Result<(), RunError> {
        let safe = RunError::new(Failure::Policy, Code::SafeMode, "safe");
        if self.0()[1] { Ok(()) } else { Err(safe) }
    }
}

/// What the program below `scripts` gets, and what it gives.
const ANYTHING: &str = r#"{"type":"object","properties":{}}"#;
const ECHO: &str = r#"import { readFileSync } from "node:fs";
process.stdout.write(JSON.stringify({ got: JSON.parse(readFileSync(0, "utf8")) }));
"#;

/// A tool whose entry `scripts/go.mjs` has this text.
fn tool<'w>(world: &'w World, text: &str) -> Tool<'w> {
    tool_at(world, "scripts/go.mjs", text)
}

fn tool_at<'w>(world: &'w World, entry: &'static str, text: &str) -> Tool<'w> {
    let mut job = Job { interpreter: "node", ..world.shell("") };
    job.files.retain(|(path, _)| *path == "SKILL.md");
    job.files.push((entry, text.as_bytes().to_vec()));
    Tool {
        job,
        entry,
        listed: vec![entry],
        input: ANYTHING,
        output: ANYTHING,
        limits: String::new(),
        timeout: None,
        workspace: None,
        switches: Arc::new(Say(|| [true, true])),
    }
}

/// A name that nothing else on the machine has in its command line.
fn unique(end: &str) -> &'static str {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::SeqCst);
    format!("marked-{}-{number}{end}", std::process::id()).leak()
}

/// How many processes of this machine have it in their command line.
fn processes_with(marker: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(marker)).count()
}

impl Tool<'_> {
    fn file(mut self, path: &'static str, text: &str) -> Self {
        self.job.files.push((path, text.as_bytes().to_vec()));
        self
    }

    fn listing(mut self, path: &'static str) -> Self {
        self.listed.push(path);
        self
    }

    fn limits(self, timeout_ms: u32, output_bytes_max: u32) -> Self {
        Self { limits: format!(r#","timeoutMs":{timeout_ms},"maxOutputBytes":{output_bytes_max}"#), ..self }
    }

    fn manifest(&self) -> ExecutionManifest {
        ExecutionManifest::parse(self.manifest_text().as_bytes()).unwrap()
    }

    fn manifest_text(&self) -> String {
        let Self { entry, listed, input, output, limits, .. } = self;
        format!(
            r#"{{"schemaVersion":1,"entrypoint":"{entry}","files":{listed:?},"inputSchema":{input},"outputSchema":{output}{limits}}}"#
        )
    }

    fn checked(&self) -> Checked {
        let checked =
            Checked::new(self.job.workshop(), self.job.skill(), self.manifest(), Arc::clone(&self.switches));
        let checked = match &self.workspace {
            Some(workspace) => checked.workspace(workspace.clone()),
            None => checked,
        };
        match self.timeout {
            Some(timeout) => checked.timeout(timeout),
            None => checked,
        }
    }

    fn spec(&self) -> ToolSpec {
        let manifest = self.manifest();
        ToolSpec::new(ToolDefinition {
            name: "run_attack_go",
            description: "Goes.",
            input: manifest.input_schema().to_json(),
            effect: Effect::Other,
            retries: 0,
            timeout: manifest.timeout(),
            tier: Tier::Checked,
            origin: Origin::Skill { source: "user".to_owned(), skill: SkillName::parse("attack").unwrap() },
            approval: None,
        })
        .unwrap()
    }

    fn call(&self, input: &str) -> Ended {
        self.call_bytes(input.as_bytes())
    }

    fn call_bytes(&self, input: &[u8]) -> Ended {
        self.job.call(Offer::new(self.spec(), self.checked()).unwrap(), input.to_vec())
    }
}
