//! The first real fixture: records in, exact fields out, by two scripts that need nothing else.
//!
//! A manifest has one entry point, so the other script is the module that it loads. `project.mjs` gives of each record `id`, `name`
//! and `expires`, which is null where there is none; if `check.mjs` finds a field wrong, the answer has the other shape.

use std::fmt::Write as _;

use fumehood_core::{Code, Json};
use fumehood_store::{DiskFolder, Folder as _};

use super::{Tool, tool};
use crate::world::{World, output, refused};

const INPUT: &str = r#"{"type":"object","additionalProperties":false,"required":["records"],"properties":{
"records":{"type":"array","maxItems":600,"items":{"type":"object","additionalProperties":false,"required":["id","name"],
"properties":{"id":{"type":"integer","minimum":0},"name":{"type":"string","maxLength":40},"expires":{"type":"string","maxLength":10},
"note":{"type":"string"}}}}}}"#;

const OUTPUT: &str = r#"{"anyOf":[
{"type":"object","additionalProperties":false,"required":["ok","records"],"properties":{"ok":{"type":"boolean","enum":[true]},
"records":{"type":"array","maxItems":600,"items":{"type":"object","additionalProperties":false,"required":["id","name","expires"],
"properties":{"id":{"type":"integer"},"name":{"type":"string"},"expires":{"anyOf":[{"type":"string"},{"type":"null"}]}}}}}},
{"type":"object","additionalProperties":false,"required":["ok","errors"],"properties":{"ok":{"type":"boolean","enum":[false]},
"errors":{"type":"array","minItems":1,"maxItems":600,"items":{"type":"object","additionalProperties":false,"required":["record","field","problem"],
"properties":{"record":{"type":"integer"},"field":{"type":"string","enum":["name","expires"]},"problem":{"type":"string"}}}}}}]}"#;

const CHECK: &str = r#"export const day = /^\d{4}-\d{2}-\d{2}$/;
export function check(records) {
  return records.flatMap(({ name, expires }, record) => [
    ...(name.trim() ? [] : [{ record, field: "name", problem: "empty" }]),
    ...(expires === undefined || day.test(expires) ? [] : [{ record, field: "expires", problem: "no day" }]),
  ]);
}
"#;
const PROJECT: &str = r#"import { readFileSync } from "node:fs";
import { check } from "./check.mjs";
const { records } = JSON.parse(readFileSync(0, "utf8"));
const errors = check(records);
const project = ({ id, name, expires = null }) => ({ id, name, expires });
process.stdout.write(JSON.stringify(errors.length ? { ok: false, errors } : { ok: true, records: records.map(project) }));
"#;

/// The skill on the disk, captured, and its tool in an environment without a `PATH`.
fn fixture(world: &World) -> Tool<'_> {
    let mut tool = tool(world, "").limits(5000, 64 << 10);
    (tool.entry, tool.input, tool.output) = ("scripts/project.mjs", INPUT, OUTPUT);
    tool.listed = vec!["scripts/project.mjs", "scripts/check.mjs"];
    tool.job.environment.clear();
    world.write("skills/attack/SKILL.md", "---\nname: attack\ndescription: Projects records.\n---\n");
    world.write("skills/attack/execution.json", tool.manifest_text());
    world.write("skills/attack/scripts/project.mjs", PROJECT);
    world.write("skills/attack/scripts/check.mjs", CHECK);
    tool.job.snapshot = Some(DiskFolder::open(&world.at("skills/attack")).unwrap().capture().unwrap());
    tool
}

/// So many records, and what is to come of them.
fn sample(count: usize) -> (String, String) {
    let (mut given, mut projected) = (String::new(), String::new());
    for id in 0..count {
        let comma = if id == 0 { "" } else { "," };
        let (expires, seen) = match id % 2 {
            0 => (String::new(), "null".to_owned()),
            _ => (",\"expires\":\"2027-01-31\"".to_owned(), "\"2027-01-31\"".to_owned()),
        };
        write!(given, "{comma}{{\"id\":{id},\"name\":\"n $({id})\",\"note\":\"x\"{expires}}}").unwrap();
        write!(projected, "{comma}{{\"id\":{id},\"name\":\"n $({id})\",\"expires\":{seen}}}").unwrap();
    }
    (format!("{{\"records\":[{given}]}}"), format!("{{\"ok\":true,\"records\":[{projected}]}}"))
}

/// Whether so many records come out as they are to.
pub(super) fn project(world: &World, count: usize) -> bool {
    let (given, projected) = sample(count);
    output(&fixture(world).call(&given)) == projected
}

/// Whether what is wrong with records comes out as an answer of the other shape.
pub(super) fn refuse(world: &World) -> bool {
    let given = r#"{"records":[{"id":1,"name":" "},{"id":2,"name":"b","expires":"soon"}]}"#;
    let errors = r#"{"ok":false,"errors":[{"record":0,"field":"name","problem":"empty"},{"record":1,"field":"expires","problem":"no day"}]}"#;
    output(&fixture(world).call(given)) == errors
}

// CHK-121, CHK-122: exact fields, an expiry that may be null, both kinds of answers, and as many records as may be.
#[test]
fn records_are_projected() {
    let world = World::new();
    assert!(refuse(&world));
    for count in [0, 1, 600] {
        assert!(project(&world, count), "{count}");
    }
    assert_eq!(refused(&fixture(&world).call(&sample(601).0)).0, Code::SchemaMismatch);
    world.assert_clean();
}

// CHK-122, CHK-131: what was captured runs, whatever becomes of the files.
#[test]
fn later_changes_of_the_source_do_not_matter() {
    let world = World::new();
    let tool = fixture(&world);
    for file in ["execution.json", "scripts/project.mjs", "scripts/check.mjs"] {
        world.write(&format!("skills/attack/{file}"), "throw new Error('changed');");
    }
    let (given, projected) = sample(3);
    assert_eq!(output(&tool.call(&given)), projected);
    std::fs::remove_dir_all(world.at("skills")).unwrap();
    let said = output(&tool.call(&given));
    assert_eq!(said, projected);
    assert!(Json::parse(said.as_bytes(), 64 << 10).is_ok());
    world.assert_clean();
}
