//! Scripts as people publish them, through `fumehood run`: what they find, and what a person is told where one cannot run.
//! docs/compatibility.md says the same for authors.

mod found;
mod refused;

use std::ffi::OsStr;

use fumehood_testkit::{Answer, Skill, World};
use serde_json::Value;

use super::text;

/// A world that takes `--approve` for a person's word, with one skill in its folder `skills`.
fn approving(skill: &Skill) -> World {
    let world = super::world_with(skill);
    world.write("home/.config/fumehood/fumehood.toml", "[approve]\nrevision_flag = true\n");
    world
}

/// Runs a script of the skill as a person who approves it would.
fn run<A: AsRef<OsStr>>(world: &World, skill: &str, arguments: impl IntoIterator<Item = A>) -> Answer {
    let folder = format!("./skills/{skill}");
    let shown = world.json(["show", &folder]);
    let fixed = ["run", &folder, "--approve", text(&shown["revision"]), "--format", "json"];
    let fixed = fixed.iter().map(|argument| OsStr::new(*argument).to_owned());
    world.run(fixed.chain(arguments.into_iter().map(|argument| argument.as_ref().to_owned())))
}

/// The report of a run that was good.
fn good(world: &World, skill: &str, arguments: &[&str]) -> Value {
    let answer = run(world, skill, arguments);
    let report = answer.json();
    assert_eq!(answer.code, Some(0), "{report:#}\n{}", answer.errors());
    report
}

/// What a good run wrote to standard output.
fn output(world: &World, skill: &str, arguments: &[&str]) -> String {
    text(&good(world, skill, arguments)["output"]["text"]).to_owned()
}
