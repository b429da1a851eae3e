//! G: scripts: how they are found, shown, and named when they are run.

use fumehood_testkit::skill;
use serde_json::json;

use crate::run::{flagged, ran, revision};
use crate::{only, text, texts, world, world_with};

// CHK-069: aaif-goose/goose#9558, anomalyco/opencode#6900, anthropics/claude-code#11011, earendil-works/pi#1136: `scripts/x` is
// looked for in the workspace.
#[test]
fn g1_paths_count_from_the_skill() {
    let world = world_with(&skill("x").file("scripts/run.py", "print('the skill')\n"));
    world.write("project/scripts/run.py", "print('the workspace')\n");
    world.write("scripts/run.py", "print('the folder above')\n");
    let path = world.text("skills/x");
    for folder in ["project", "", "skills", "skills/x", "skills/x/scripts"] {
        let call = world.call().within(folder);
        assert_eq!(call.run(["cat", &path, "scripts/run.py"]).text(), "print('the skill')\n", "{folder}");
        let shown = call.json(["show", &path]);
        assert_eq!(texts(&shown["undeclared_scripts"], "path"), ["scripts/run.py"], "{folder}");
    }
    // What is run is the skill's script too, and it finds its neighbours where it starts.
    let world = flagged(
        &skill("x")
            .file("scripts/run.sh", "cat scripts/run.sh data.txt\n")
            .file("data.txt", "of the skill\n"),
    );
    world.write("project/scripts/run.sh", "echo of the workspace\n");
    let (path, revision) = (world.text("skills/x"), revision(&world, "skills/x"));
    for folder in ["project", "", "skills/x/scripts"] {
        let answer =
            world.call().within(folder).run(["run", &path, "scripts/run.sh", "--approve", &revision]);
        assert_eq!(
            answer.text(),
            "cat scripts/run.sh data.txt\nof the skill\n",
            "{folder}: {}",
            answer.errors()
        );
    }
}

// jin-bo/agentao#83: what is loaded names neither the folder nor the scripts.
#[test]
fn g2_show_names_the_folder_and_every_script() {
    let manifest = json!({
        "schemaVersion": 1,
        "scripts": [{"name": "fill", "path": "scripts/fill.py", "description": "Fills.", "interpreter": "python3"}],
    });
    let scripts = skill("x")
        .file("fumehood.json", manifest.to_string())
        .file("scripts/fill.py", "")
        .file("scripts/extra.sh", "echo\n")
        .file("tools/bare", "#!/usr/bin/env node\n");
    let world = world_with(&scripts);
    let shown = world.json(["show", "skills/x"]);
    assert_eq!(shown["path"], world.text("skills/x"));
    assert_eq!(texts(&shown["claims"]["fumehood"]["scripts"], "path"), ["scripts/fill.py"]);
    assert_eq!(texts(&shown["undeclared_scripts"], "path"), ["scripts/extra.sh", "tools/bare"]);
    assert_eq!(texts(&shown["undeclared_scripts"], "interpreter"), ["sh", "node"]);
    let page = world.run(["show", "skills/x"]).text();
    for part in [
        "skills/x\n",
        "script fill  python3 scripts/fill.py\n    Fills.\n",
        "scripts/extra.sh  sh",
        "tools/bare  node",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
}

// google/adk-python#4684: a relative folder of skills means another one where the program is deployed.
#[test]
fn g4_a_relative_source_counts_from_the_settings() {
    let world = world();
    world.write(
        "home/.config/fumehood/fumehood.toml",
        "[[sources]]\nname = \"team\"\npath = \"team/skills\"\n",
    );
    world.add("home/.config/fumehood/team/skills", &skill("right"));
    for folder in [".", "project"] {
        world.add(&format!("{folder}/team/skills"), &skill("wrong"));
        let list = world.call().within(folder).json(["list"]);
        let right = only(&list["skills"]);
        assert_eq!((&right["name"], &right["source"]), (&"right".into(), &"team".into()), "{folder}");
        assert_eq!(list["sources"][0]["path"], world.text("home/.config/fumehood/team/skills"), "{folder}");
    }
    // A folder that is not there is said with the path that was looked at.
    world.rename("home/.config/fumehood/team", "home/.config/fumehood/moved");
    let list = world.run(["list"]);
    assert!(
        list.text().contains("home/.config/fumehood/team/skills: error: there is no such folder"),
        "{}",
        list.text()
    );
}

/// What `show` says about a skill with scripts of this mode.
fn shown_with_mode(mode: u32) -> serde_json::Value {
    let scripts = skill("x")
        .file("scripts/env.py", "#!/usr/bin/env python3\n")
        .file("scripts/split", "#!/usr/bin/env -S uv run --script\n")
        .file("scripts/dos.sh", "#!/bin/bash\r\necho\r\n")
        .file("scripts/none.sh", "echo\n");
    let world = world_with(&scripts);
    for script in ["env.py", "split", "dos.sh", "none.sh"] {
        world.mode(&format!("skills/x/scripts/{script}"), mode);
    }
    let mut shown = world.json(["show", "skills/x"]);
    shown["path"] = "".into();
    shown
}

// vercel-labs/skills#1140, cli/cli#14086, christiananagnostou/skillbox#99: installing drops the executable bit, and then
// nothing runs.
#[test]
fn g5_the_interpreter_comes_from_name_and_first_line() {
    let shown = shown_with_mode(0o644);
    let scripts: Vec<_> = shown["undeclared_scripts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|script| (text(&script["path"]), &script["interpreter"]))
        .collect();
    let expected = [
        ("scripts/dos.sh", json!("bash")),
        ("scripts/env.py", json!("python3")),
        ("scripts/none.sh", json!("sh")),
        ("scripts/split", json!("python3")),
    ];
    assert_eq!(scripts, expected.iter().map(|(path, key)| (*path, key)).collect::<Vec<_>>());
}

// microsoft/GitHub-Copilot-for-Azure#2958: scripts are committed without the bit that the instructions count on.
#[test]
fn g6_the_mode_changes_nothing() {
    let plain = shown_with_mode(0o644);
    assert!(plain["revision"].is_string());
    assert_eq!(plain, shown_with_mode(0o755));
    let world = flagged(&skill("tool").file("scripts/go", "#!/bin/sh\necho went\n"));
    for mode in [0o644, 0o755, 0o444] {
        world.mode("skills/tool/scripts/go", mode);
        let answer = ran(&world, &["scripts/go"]);
        assert_eq!(
            (answer.code, answer.text().as_str()),
            (Some(0), "went\n"),
            "{mode:o}: {}",
            answer.errors()
        );
    }
}
