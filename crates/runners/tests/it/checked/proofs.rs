//! What must hold right before the launch, and what is refused when it does not.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fumehood_core::Code;
use fumehood_core::containment::Enforcement;
use fumehood_core::tool::Failure;
use fumehood_gate::Planner as _;
use fumehood_runners::checked::NODE_FLAGS;
use fumehood_store::{DiskFolder, Folder as _};

use super::{ECHO, Say, tool};
use crate::world::{World, output, refused};

// CHK-091 to CHK-095, CHK-139: what is planned is what runs: Node at its place with our flags, the entry, our environment.
#[test]
fn a_plan_says_all_of_it() {
    let world = World::new();
    let script =
        "console.log(JSON.stringify({ env: process.env, execArgv: process.execArgv, argv: process.argv }));";
    let mut tool = tool(&world, script);
    tool.job.environment = vec![
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ("NODE_OPTIONS".to_owned(), "--require=/evil.js".to_owned()),
        ("NODE_PATH".to_owned(), "/evil".to_owned()),
    ];
    let call = fumehood_core::Call::of_tool(&tool.spec(), b"{}").unwrap();
    let runner = tool.checked().plan(&call).unwrap();
    let plan = runner.plan();
    let command = plan.command.as_ref().unwrap();
    let expected = ["/usr/bin/node", NODE_FLAGS[0], NODE_FLAGS[1], "/skill/scripts/go.mjs"];
    assert_eq!(command.argv, expected);
    assert_eq!((command.directory.as_str(), command.files.len(), &plan.workspace), ("/skill", 0, &None));
    assert_eq!(command.environment, [("LANG".to_owned(), "C.UTF-8".to_owned())]);
    assert_eq!(
        (plan.limits.wall, plan.limits.output_bytes),
        (Some(tool.manifest().timeout()), Some(64 << 10))
    );
    assert!(plan.containment.axes.iter().all(|axis| axis.asked && axis.enforced != Enforcement::NotEnforced));
    let said = output(&tool.call("{}"));
    assert_eq!(
        said,
        format!(
            "{{\"env\":{{\"LANG\":\"C.UTF-8\"}},\"execArgv\":{NODE_FLAGS:?},\"argv\":[\"/usr/bin/node\",\"/skill/scripts/go.mjs\"]}}\n"
        )
        .replace(", ", ",")
    );
}

// CHK-007: another time is another consent, as is another output, another file and another Node.
#[test]
fn what_differs_is_bound_apart() {
    let world = World::new();
    let plan = |tool: &super::Tool<'_>| {
        let call = fumehood_core::Call::of_tool(&tool.spec(), b"{}").unwrap();
        tool.checked().plan(&call).unwrap().plan().clone()
    };
    let tool = tool(&world, ECHO);
    let same = plan(&tool);
    assert_eq!(plan(&tool), same);
    let mut timed = tool.clone();
    timed.timeout = Some(std::time::Duration::from_secs(2));
    assert_ne!(plan(&timed).profile, same.profile);
    assert_ne!(plan(&tool.clone().limits(60_000, 1024)).profile, same.profile);
    let other = tool.clone().file("notes.md", "");
    assert_ne!(plan(&other).skill, same.skill);
    let mut other = tool;
    other.job.environment.push(("TZ".to_owned(), "UTC".to_owned()));
    assert_ne!(plan(&other).profile, same.profile);
}

// CHK-092, CHK-131: of the skill, the program sees the listed files and no others.
#[test]
fn only_listed_files_are_there() {
    let world = World::new();
    let script = r#"import { readdirSync } from "node:fs";
console.log(JSON.stringify({ all: readdirSync("/skill", { recursive: true }).sort() }));
"#;
    let tool = tool(&world, script)
        .file("scripts/part.mjs", "")
        .file("data/table.json", "[]")
        .file("node_modules/x/index.js", "throw 1")
        .file("scripts/unlisted.mjs", "")
        .listing("data/table.json");
    let said = output(&tool.call("{}"));
    assert_eq!(said, "{\"all\":[\"data\",\"data/table.json\",\"scripts\",\"scripts/go.mjs\"]}\n");
    // And what it does not see it cannot load, and what it sees it cannot change.
    let script = r#"import { writeFileSync } from "node:fs";
const tries = [() => import("./unlisted.mjs"), () => import("x"), async () => writeFileSync("/skill/new", ""), async () => writeFileSync("/skill/scripts/go.mjs", "")];
const codes = [];
for (const act of tries) await act().then(() => codes.push("did"), error => codes.push(error.code));
console.log(JSON.stringify({ codes }));
"#;
    let tool =
        super::tool(&world, script).file("scripts/unlisted.mjs", "").file("node_modules/x/index.js", "");
    let said = output(&tool.call("{}"));
    assert_eq!(said, "{\"codes\":[\"ERR_MODULE_NOT_FOUND\",\"ERR_MODULE_NOT_FOUND\",\"EROFS\",\"EROFS\"]}\n");
    // What is listed and was not captured keeps it from being planned.
    let tool = super::tool(&world, ECHO).listing("missing.mjs");
    assert_eq!(refused(&tool.call("{}")), (Code::DeclaredFile, Failure::Path));
    world.assert_clean();
}

// CHK-046, CHK-048, CHK-135: each switch has its code, and is looked at before anybody is asked, after, and at the launch.
#[test]
fn both_switches_are_looked_at_each_time() {
    for (position, code) in [(0, Code::ExecuteDisabled), (1, Code::SafeMode)] {
        // One look for each switch in each of three rounds.
        for on_for in [0, 2, 4] {
            let world = World::new();
            let looks = AtomicUsize::new(0);
            let mut tool = tool(&world, ECHO);
            tool.switches = Arc::new(Say(move || {
                let mut said = [true, true];
                said[position] = looks.fetch_add(1, Ordering::SeqCst) < on_for;
                said
            }));
            assert_eq!(refused(&tool.call("{}")), (code, Failure::Policy), "{code} {on_for}");
            world.assert_clean();
        }
    }
    // With both off, the capability is what is missing.
    let world = World::new();
    let mut tool = tool(&world, ECHO);
    tool.switches = Arc::new(Say(|| [false, false]));
    assert_eq!(refused(&tool.call("{}")).0, Code::ExecuteDisabled);
}

// CHK-093, CHK-159: a Node that is another file than the one that was planned with is not run.
#[test]
fn a_node_that_was_swapped_is_refused() {
    for (looks, code) in [(1, Code::ConsentStale), (2, Code::InterpreterChanged)] {
        let world = World::new();
        let mut tool = tool(&world, ECHO);
        tool.job.swaps_interpreter_after = looks;
        assert_eq!(refused(&tool.call("{}")).0, code);
        world.assert_clean();
    }
}

// CHK-122, CHK-131, CHK-132, CHK-134, CHK-159: what was captured runs, whatever becomes of the folder it came from.
#[test]
fn the_source_is_not_read_again() {
    let world = World::new();
    let script = "import { word } from './word.mjs'; console.log(JSON.stringify({ word }));";
    world.write("work/attack/SKILL.md", "---\nname: attack\ndescription: Attacks.\n---\n");
    world.write("work/attack/scripts/go.mjs", script);
    world.write("work/attack/scripts/word.mjs", "export const word = 'reviewed';");
    let snapshot = DiskFolder::open(&world.at("work/attack")).unwrap().capture().unwrap();
    let mut tool = tool(&world, "").listing("scripts/word.mjs");
    tool.job.snapshot = Some(snapshot);
    let place = world.at("work/attack/scripts");
    tool.job = tool.job.when_asked(move || {
        fs::write(place.join("go.mjs"), "console.log('{\"word\":\"evil\"}')").unwrap();
        fs::remove_file(place.join("word.mjs")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", place.join("word.mjs")).unwrap();
    });
    assert_eq!(output(&tool.call("{}")), "{\"word\":\"reviewed\"}\n");
    world.assert_clean();
}

// X-28, CHK-134: what lies on the disk for the run is looked at last, and anything else there ends it.
#[test]
fn what_is_laid_out_is_what_runs() {
    type Tamper = fn(&std::path::Path);
    let tampers: [(&str, Tamper); 3] = [
        ("another program", |at| {
            fs::remove_file(at.join("scripts/go.mjs")).unwrap();
            fs::write(at.join("scripts/go.mjs"), "console.log('{}')").unwrap();
        }),
        ("a package", |at| fs::create_dir(at.join("node_modules")).unwrap()),
        ("a link", |at| {
            fs::remove_file(at.join("scripts/go.mjs")).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", at.join("scripts/go.mjs")).unwrap();
        }),
    ];
    for (what, tamper) in tampers {
        let world = World::new();
        let mut tool = tool(&world, ECHO);
        let staging = world.at("state/staging");
        // The third look at Node is after the files were laid out, and before they are read back.
        tool.job.on_look = Arc::new(move |look| {
            if look == 3 {
                let laid = find(&staging, "go.mjs").expect("it is laid out");
                tamper(laid.parent().unwrap().parent().unwrap());
            }
        });
        assert_eq!(refused(&tool.call("{}")), (Code::SnapshotChanged, Failure::Integrity), "{what}");
        world.assert_clean();
    }
}

fn find(folder: &std::path::Path, name: &str) -> Option<std::path::PathBuf> {
    fs::read_dir(folder).ok()?.find_map(|entry| {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|found| found == name) {
            return Some(path);
        }
        path.is_dir().then(|| find(&path, name)).flatten()
    })
}

// CHK-105, CHK-106, EXE-51: the deployer's envelope holds for checked tools too.
#[test]
fn the_envelope_is_not_widened() {
    let world = World::new();
    let narrow = |timeout_ms, bytes| {
        let mut tool = tool(&world, ECHO).limits(timeout_ms, bytes);
        tool.job = tool.job.enveloped(|parts| {
            (parts.timeout_seconds_default, parts.timeout_seconds_max, parts.output_bytes_max) =
                (1, 30, 2048);
        });
        tool.call("{}")
    };
    assert_eq!(output(&narrow(30_000, 2048)), "{\"got\":{}}");
    assert_eq!(refused(&narrow(30_001, 2048)), (Code::ScriptPolicyWidened, Failure::Policy));
    assert_eq!(refused(&narrow(30_000, 2049)), (Code::ScriptPolicyWidened, Failure::Policy));
}

// CHK-024, CHK-133: a workspace is there only if it was asked for, to read, and is the folder that the person was shown.
#[test]
fn a_workspace_is_read_only_and_asked_for() {
    let world = World::new();
    world.write("work/a.txt", "hers");
    let place = world.text("work");
    let script = format!(
        r#"import {{ readFileSync, writeFileSync }} from "node:fs";
const codes = [];
for (const act of [() => readFileSync("{place}/a.txt"), () => writeFileSync("{place}/b.txt", "")]) {{
  try {{ act(); codes.push("did"); }} catch (error) {{ codes.push(error.code); }}
}}
console.log(JSON.stringify({{ codes }}));
"#
    );
    let mut tool = tool(&world, &script);
    assert_eq!(output(&tool.call("{}")), "{\"codes\":[\"ENOENT\",\"ENOENT\"]}\n");
    tool.workspace = Some(world.at("work"));
    let before = world.manifest("work");
    assert_eq!(output(&tool.call("{}")), "{\"codes\":[\"did\",\"EROFS\"]}\n");
    assert_eq!(world.manifest("work"), before);
    // Never the state folder, nor what is not there.
    for (folder, code) in [("state", Code::PlaceForbidden), ("none", Code::FolderNotFound)] {
        tool.workspace = Some(world.at(folder));
        assert_eq!(refused(&tool.call("{}")).0, code);
    }
    // Swapped while the person reads, and in the last moment.
    for (look, code) in [(2, Code::ConsentStale), (3, Code::FileChanged)] {
        let world = World::new();
        let mut tool = super::tool(&world, ECHO);
        tool.workspace = Some(world.at("work"));
        let (from, to) = (world.at("work"), world.at("moved"));
        tool.job.on_look = Arc::new(move |at| {
            if at == look {
                fs::rename(&from, &to).unwrap();
                fs::create_dir(&from).unwrap();
            }
        });
        assert_eq!(refused(&tool.call("{}")).0, code, "{look}");
        world.assert_clean();
    }
}
