//! `run`, as a person at a terminal and as a program: what is asked, what runs, what it leaves.

mod authority;
mod calls;
mod codes;
mod desk;
mod examples;
mod failures;
mod flags;
mod mistakes;
mod own_files;
mod parallel;
mod passphrase;
mod policy;
mod prompt;
mod races;
mod readme;
mod scopes;
mod settings;
mod slow;
mod trusted_calls;

use std::path::Path;

use fumehood_testkit::{Answer, Call, Skill, World, skill};
use serde_json::{Value, json};

pub(crate) use passphrase::HASH;

use crate::{program, text};

/// The end of the question, behind which keys count.
const ASKED: &str = "[y/N]\u{1b}[0m ";

/// A world whose folders a script can be given. At `/tmp` it has a folder of its own.
pub(crate) fn world() -> World {
    World::below("/var/tmp", program())
}

/// What a person gets who answers the question: what the terminal showed, and the answer.
fn answering<'a>(
    call: &Call<'_>,
    arguments: impl IntoIterator<Item = &'a str>,
    keys: &str,
) -> (String, Answer) {
    call.at_terminal(arguments, ASKED, keys)
}

/// As [`answering`], with yes.
fn yes<'a>(world: &World, arguments: impl IntoIterator<Item = &'a str>) -> (String, Answer) {
    answering(&world.call(), arguments, "y\n")
}

/// A world in which one of the example skills is in `skills`.
fn world_with_example(name: &str) -> World {
    let world = world();
    copy(&example(name), &world.path("skills").join(name));
    world
}

pub(crate) fn example(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills").join(name)
}

pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::write(target, std::fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// The skill `tool` with one declared script `go`, run by `sh`.
pub(crate) fn scripted(params: &Value, script: &str) -> Skill {
    let manifest = json!({"schemaVersion": 1, "scripts": [
        {"name": "go", "path": "go.sh", "description": "Goes.", "interpreter": "sh", "params": params},
    ]});
    skill("tool").file("fumehood.json", manifest.to_string()).file("go.sh", script)
}

/// A world with that skill, in which a revision can be approved on the command line.
pub(crate) fn flagged(skill: &Skill) -> World {
    let world = world();
    world.add("skills", skill);
    configure(&world, "");
    world
}

/// Settings in which a revision can be approved on the command line, and these.
fn configure(world: &World, settings: &str) {
    let approve = "[approve]\nrevision_flag = true\n";
    world.write("home/.config/fumehood/fumehood.toml", format!("{approve}{settings}"));
}

pub(crate) fn revision(world: &World, skill: &str) -> String {
    text(&world.json(["show", skill])["revision"]).to_owned()
}

/// The arguments of `run skills/tool`, its revision approved.
fn approved(world: &World, arguments: &[&str]) -> Vec<String> {
    let split = arguments.iter().position(|argument| *argument == "--").unwrap_or(arguments.len());
    let (options, argv) = arguments.split_at(split);
    let revision = revision(world, "skills/tool");
    let approve = ["--approve", revision.as_str()];
    let all = ["run", "skills/tool"].iter().chain(options).chain(&approve).chain(argv);
    all.map(|&argument| argument.to_owned()).collect()
}

/// Runs a script of `skills/tool` that was approved on the command line.
pub(crate) fn ran(world: &World, arguments: &[&str]) -> Answer {
    world.run(approved(world, arguments))
}

/// As [`ran`], for JSON: the exit code and the answer, which must have its shape.
fn reported(world: &World, arguments: &[&str]) -> (Option<i32>, Value) {
    let arguments = approved(world, arguments);
    let answer = world.run(["--format", "json"].into_iter().chain(arguments.iter().map(String::as_str)));
    assert_eq!(answer.errors(), "", "{arguments:?}");
    (answer.code, crate::schemas::assert_valid("run", &answer.stdout))
}

/// What keeps a run from beginning, with its exit code.
fn refused(world: &World, arguments: &[&str], exit: i32) -> Value {
    world.fault(approved(world, arguments), exit)
}

/// The receipt of the last run.
fn receipt(world: &World) -> Value {
    let runs = world.json(["runs", "--limit", "1"]);
    world.json(["receipt", text(&runs["runs"][0]["receipt"])])["receipt"].clone()
}

/// The journal is whole, and nothing lies where runs have what is not for keeping.
pub(crate) fn assert_clean(world: &World) {
    let verified = world.json(["audit", "verify"]);
    assert!(verified["rows"].as_u64().unwrap() > 0, "{verified}");
    for folder in ["staging", "transactions/open", "transactions/gone", "artifacts/new", "artifacts/gone"] {
        let folder = world.path(crate::recorded::STATE).join(folder);
        let left = std::fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = left.filter(|name| name != "lock").collect();
        assert!(left.is_empty(), "{}: {left:?}", folder.display());
    }
}
