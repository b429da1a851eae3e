//! `serve`, as clients of three revisions of the protocol meet it, each test line by line on the wire.

mod approval;
mod author;
mod beside;
mod bounds;
mod client;
mod ends;
mod forged;
mod mistaken;
mod once;
mod reading;
mod scopes;
mod words;

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use fumehood_testkit::World;
use serde_json::{Value, json};

use crate::run::{assert_clean, scripted, world};
use client::{Asked, Client, Era};

/// A world with a skill whose script leaves a line in `work/log` each time it runs, and says so.
fn marked() -> World {
    let world = world();
    world.folder("work");
    let script = format!("echo ran >> {}/log\necho \"ran $*\"\n", world.text("work"));
    let params = json!([{"name": "text", "type": "string", "description": "A text.", "flag": "--text"}]);
    world.add("skills", &scripted(&params, &script));
    world
}

/// With a workspace that scripts may change.
const WORK: [&str; 2] = ["--workspace", "work:rw"];

/// How often the script ran.
fn runs(world: &World) -> usize {
    fs::read_to_string(world.path("work/log")).unwrap_or_default().lines().count()
}

/// The call of the script with this text.
fn go(text: &str) -> Value {
    json!({"skill_name": "tool", "script_name": "go", "args": {"text": text}})
}

/// A result that says no, with this code.
fn assert_refused(result: &Value, code: &str) {
    assert_eq!(result["isError"], true, "{result}");
    let said = &result["structuredContent"];
    assert_eq!(said["code"], code, "{result}");
    for field in ["class", "message", "advice"] {
        assert!(said[field].is_string(), "{field} {result}");
    }
}

/// The script ran, and its run is on record.
fn assert_ran(result: &Value) {
    assert_eq!(result["isError"], false, "{result}");
    let said = &result["structuredContent"];
    assert_eq!(said["exit_code"], 0, "{result}");
    assert!(crate::text(&said["receipt"]).starts_with("rcpt_"), "{result}");
}

/// Saves a trust scope for the script and an agent, at a terminal.
fn trust(world: &World, agent: &str, more: &[&str]) {
    world.write("home/.config/fumehood/policy.toml", "mode = \"trusted\"\n");
    let arguments = ["trust", "add", "tool", "go", "--root", "skills", "--as", agent];
    let arguments = arguments.iter().chain(more).copied();
    let (shown, answer) = world.call().at_terminal(arguments, "[y/N] ", "y\n");
    assert_eq!(answer.code, Some(0), "{shown}{}", answer.errors());
}

/// No process has this text in its command line, however long it takes to see that, within a minute.
fn assert_gone(marker: &str) {
    let until = Instant::now() + Duration::from_mins(1);
    while is_alive(marker) {
        assert!(Instant::now() < until, "something of {marker} is alive");
        thread::sleep(Duration::from_millis(5));
    }
}

fn is_alive(marker: &str) -> bool {
    let lines = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = lines.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).into_owned()).any(|line| line.contains(marker))
}

/// The answer of a person in a client.
fn says(action: &str, choice: &str) -> Value {
    json!({"action": action, "content": {"choice": choice}})
}

fn modern(world: &World) -> Client {
    Client::start(world, Era::July2026, Asked::Silent, &WORK)
}

/// Nothing ran and nothing was approved, and the record is whole.
fn assert_untouched(world: &World) {
    assert_eq!(runs(world), 0);
    assert!(world.json(["runs"])["runs"].as_array().unwrap().is_empty());
    world.json(["audit", "verify"]);
}

/// What a model gets for one call of a tool.
pub(crate) fn given(world: &World, tool: &str, arguments: &Value) -> Value {
    let mut client = Client::start(world, Era::July2026, Asked::Cannot, &[]);
    client.tool(tool, arguments)["structuredContent"].clone()
}
