//! What a user of the program sees: its output, its JSON and its exit codes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test that meets what it does not expect has failed; it reads the repository's own pages"
)]

mod adopt;
mod artifact;
mod bugs;
mod cli;
mod compat;
mod control;
mod doctor;
mod envelope;
mod hostile;
mod hostile_folders;
mod hostile_runs;
mod interpreters;
mod killed;
mod loader_table;
mod mcp;
mod record;
mod recorded;
mod run;
mod schemas;
mod trust;

use std::ffi::OsString;
use std::path::Path;

use fumehood_testkit::{Skill, World};
use serde_json::Value;

/// A world for the program that cargo built, or for the one that `FUMEHOOD_BIN` names.
fn world() -> World {
    World::new(program())
}

fn program() -> OsString {
    std::env::var_os("FUMEHOOD_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_fumehood").into())
}

/// A world with one skill in its folder `skills`.
fn world_with(skill: &Skill) -> World {
    let world = world();
    world.add("skills", skill);
    world
}

/// A file of the repository.
fn repository_file(below: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(below);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What `check` says about the only skill below a folder, whatever its exit code.
fn checked(world: &World, below: &str) -> Value {
    let answer = world.run(["--format", "json", "check", below]);
    only(&answer.json()["skills"]).clone()
}

/// What `list` says about the only skill below a folder.
fn listed(world: &World, below: &str) -> Value {
    only(&world.json(["list", below])["skills"]).clone()
}

fn only(list: &Value) -> &Value {
    match list.as_array().unwrap().as_slice() {
        [one] => one,
        other => panic!("{} instead of one: {list:#}", other.len()),
    }
}

/// The codes of all findings, in their order.
fn codes(reported: &Value) -> Vec<&str> {
    reported["diagnostics"].as_array().unwrap().iter().map(|finding| text(&finding["code"])).collect()
}

/// The only finding of a code.
fn finding<'v>(reported: &'v Value, code: &str) -> &'v Value {
    let all = reported["diagnostics"].as_array().unwrap();
    match all.iter().filter(|finding| finding["code"] == code).collect::<Vec<_>>().as_slice() {
        [one] => one,
        other => panic!("{code} {} times in {all:#?}", other.len()),
    }
}

/// Loadable and conformant.
fn verdicts(reported: &Value) -> (bool, bool) {
    (reported["loadable"].as_bool().unwrap(), reported["conformant"].as_bool().unwrap())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

/// One text out of each item of a list.
fn texts<'v>(list: &'v Value, key: &str) -> Vec<&'v str> {
    list.as_array().unwrap().iter().map(|item| text(&item[key])).collect()
}
