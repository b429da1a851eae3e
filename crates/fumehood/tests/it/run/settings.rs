//! What `fumehood.toml` says about runs.

use fumehood_testkit::{World, skill};
use serde_json::json;

use super::{configure, flagged, ran, receipt, refused, revision, scripted, world, yes};
use crate::interpreters::pinned_before;
use crate::text;

/// A world with the source `team`, whose skill `tool` declares nothing, and an overlay for this revision of it.
fn with_overlay(revision: &str, more: &str) -> World {
    let world = world();
    world.add("team", &skill("tool").file("go.sh", "echo \"[$1]\"; exit 3\n"));
    // The same name from another source is another skill.
    world.add("skills", &skill("tool").file("go.sh", "echo other\n"));
    overlay(&world, revision, more);
    world
}

fn overlay(world: &World, revision: &str, more: &str) {
    let team = world.text("team");
    let digits = revision.strip_prefix("sha256:").unwrap_or(revision);
    configure(
        world,
        &format!(
            "[[sources]]\nname = \"team\"\npath = \"{team}\"\n[[overlay]]\nsource = \"team\"\nskill = \"tool\"\n\
             revision = \"{digits}\"\nfail_on_nonzero_exit = false\n[[overlay.scripts]]\nname = \"count\"\npath = \"go.sh\"\n\
             description = \"Counts.\"\ninterpreter = \"sh\"\nparams = [{{ name = \"who\", type = \"string\" }}]\n{more}"
        ),
    );
}

fn run(world: &World, words: &[&str]) -> fumehood_testkit::Answer {
    let revision = revision(world, "team:tool");
    world.run(["run", "team:tool"].iter().chain(words).chain(&["--approve", &revision]))
}

const OTHER: &str = "0000000000000000000000000000000000000000000000000000000000000000";

fn confirmed(more: &str) -> World {
    let world = with_overlay(OTHER, "");
    let revision = revision(&world, "team:tool");
    overlay(&world, &revision, more);
    world
}

#[test]
fn an_overlay_declares_scripts_for_the_revision_it_was_confirmed_for() {
    let world = confirmed("");
    let answer = run(&world, &["count", "--param", "who=x"]);
    assert_eq!((answer.code, answer.text().as_str()), (Some(0), "[x]\n"), "{}", answer.errors());
    let receipt = receipt(&world);
    assert_eq!(receipt["tool"], "run_tool_count");
    let overlay = text(&receipt["skill"]["overlay_sha256"]);
    let (shown, _) = yes(&world, ["run", "team:tool", "count", "--param", "who=x"]);
    assert!(shown.contains(&format!("overlay         yours, sha256 {overlay}\n")), "{shown}");
    // Its parameters are checked like a skill's own.
    assert_eq!(run(&world, &["count", "--param", "who=-x"]).code, Some(2));
    assert_eq!(run(&world, &["count"]).code, Some(2));
    // The file itself, and the same name from elsewhere, are as they were.
    assert_eq!(
        run(&world, &["go.sh"]).code,
        Some(2),
        "the path names the declared script, which needs `who`"
    );
    assert_eq!(ran(&world, &["count"]).code, Some(2), "the source is another one");
    assert_eq!(ran(&world, &["go.sh"]).text(), "other\n");
}

// EXE-51, CHK-044, CHK-051: what a script could write there would say what all scripts may have, or run in all of them.
#[test]
fn no_workspace_holds_the_settings_or_what_interpreters_read() {
    let world = flagged(&scripted(&json!([]), "echo ran\n"));
    for folder in ["dotfiles", "libraries", "runtime", "other"] {
        world.folder(folder);
    }
    let config = world.path("home/.config/fumehood/fumehood.toml");
    world.folder("runtime/bin");
    std::fs::copy("/bin/sh", world.path("runtime/bin/shell")).unwrap();
    world.folder("environment/bin");
    std::os::unix::fs::symlink(world.path("runtime/bin/shell"), world.path("environment/bin/shell")).unwrap();
    let (root, libraries, shell) =
        (world.text("."), world.text("libraries"), world.text("environment/bin/shell"));
    configure(
        &world,
        &format!(
            "[interpreters.shell]\npath = \"{shell}\"\n[envelope]\nread_roots = [\"{root}\"]\nwrite_roots = [\"{root}\"]\n\
             interpreter_read_paths = [\"{libraries}\"]\n"
        ),
    );
    std::fs::rename(&config, world.path("dotfiles/fumehood.toml")).unwrap();
    std::os::unix::fs::symlink(world.path("dotfiles/fumehood.toml"), &config).unwrap();
    world.write("dotfiles/policy.toml", "mode = \"ask\"\n");
    let policy = world.path("home/.config/fumehood/policy.toml");
    std::os::unix::fs::symlink(world.path("dotfiles/policy.toml"), policy).unwrap();
    for folder in ["dotfiles", "libraries", "runtime", "environment"] {
        for access in ["", ":rw"] {
            let fault = refused(&world, &["go", "--workspace", &format!("{folder}{access}")], 3);
            assert_eq!(fault["code"], "E_PLACE_FORBIDDEN", "{folder}{access}: {fault}");
        }
        let fault = refused(&world, &["go", "--out", folder], 3);
        assert_eq!(fault["code"], "E_PLACE_FORBIDDEN", "{folder}: {fault}");
    }
    for file in ["dotfiles/fumehood.toml", "dotfiles/policy.toml"] {
        let fault = refused(&world, &["go", "--write", file], 3);
        assert_eq!(fault["code"], "E_PLACE_FORBIDDEN", "{file}: {fault}");
    }
    assert_eq!(ran(&world, &["go", "--workspace", "other:rw"]).text(), "ran\n");
}

#[test]
fn an_overlay_for_another_revision_is_refused_with_advice() {
    let world = with_overlay(OTHER, "");
    let answer = run(&world, &["count", "--param", "who=x"]);
    assert_eq!((answer.code, answer.text().as_str()), (Some(2), ""));
    assert!(answer.errors().contains("confirmed for another revision"), "{}", answer.errors());
    let confirmed = confirmed("");
    confirmed.write("team/tool/more.txt", "");
    let answer = run(&confirmed, &["count", "--param", "who=x"]);
    assert!(answer.errors().contains("confirmed for another revision"), "{}", answer.errors());
}

// EXE-47
#[test]
fn an_overlay_may_name_the_tool() {
    let world = confirmed("tool_name = \"count_it\"\n");
    assert_eq!(run(&world, &["count", "--param", "who=x"]).code, Some(0));
    assert_eq!(receipt(&world)["tool"], "count_it");
}

// EXE-47: never shortened. An overlay gives it a name of its own.
#[test]
fn a_tool_name_that_is_too_long_is_the_deployers_to_mend() {
    let manifest = json!({"schemaVersion": 1, "scripts": [
        {"name": "go", "path": "go.sh", "description": "Goes.", "interpreter": "sh", "params": []},
    ]});
    let (world, name) = (world(), "n".repeat(64));
    world.add("team", &skill(&name).file("fumehood.json", manifest.to_string()).file("go.sh", "echo ran\n"));
    let folder = format!("team/{name}");
    let approved = revision(&world, &folder);
    let sources = format!("[[sources]]\nname = \"team\"\npath = \"{}\"\n", world.text("team"));
    configure(&world, &sources);
    let run = || world.run(["run", &format!("team:{name}"), "go", "--approve", &approved]);
    let answer = run();
    assert_eq!(answer.code, Some(2), "{}", answer.errors());
    assert!(answer.errors().contains("fumehood.json was refused"), "{}", answer.errors());
    let digits = approved.strip_prefix("sha256:").unwrap();
    configure(
        &world,
        &format!(
            "{sources}[[overlay]]\nsource = \"team\"\nskill = \"{name}\"\nrevision = \"{digits}\"\n[[overlay.scripts]]\n\
             name = \"go\"\npath = \"go.sh\"\ndescription = \"Goes.\"\ninterpreter = \"sh\"\ntool_name = \"go_n\"\n"
        ),
    );
    let answer = run();
    assert_eq!((answer.code, answer.text().as_str()), (Some(0), "ran\n"), "{}", answer.errors());
}

// EXE-51, EXE-64: the rule is named.
#[test]
fn what_the_envelope_does_not_allow_is_refused_by_name() {
    let params = json!([
        {"name": "in", "type": "path", "access": "read", "flag": "--in"},
        {"name": "to", "type": "path", "access": "create", "flag": "--to"},
    ]);
    let world = flagged(&scripted(&params, "echo ran\n"));
    world.write("project/a.txt", "");
    world.folder("out");
    let project = world.text("project");
    let roots = |read: &str, write: &str| {
        configure(
            &world,
            &format!(
                "[envelope]\nread_roots = [{read}]\nwrite_roots = [{write}]\ninterpreter_read_paths = []\n"
            ),
        );
    };
    let quoted = format!("\"{project}\"");
    let read = ["go", "--param", "in=project/a.txt"];
    let write = ["go", "--param", "to=project/b.txt"];
    for (words, rule) in
        [(&read[..], "read_roots"), (&write[..], "write_roots"), (&["go", "--out", "out"][..], "write_roots")]
    {
        roots("", "");
        let fault = refused(&world, words, 3);
        assert_eq!(fault["code"], "E_SKILL_SCRIPT_POLICY_WIDENED");
        assert!(text(&fault["message"]).contains(rule), "{rule}: {fault}");
    }
    roots(&quoted, "");
    assert_eq!(ran(&world, &read).text(), "ran\n");
    assert_eq!(refused(&world, &write, 3)["code"], "E_SKILL_SCRIPT_POLICY_WIDENED");
    roots("", &quoted);
    assert_eq!(ran(&world, &write).text(), "ran\n");
    // A folder whose name begins the same is another one.
    roots(&format!("\"{project}-more\""), "");
    assert_eq!(refused(&world, &read, 3)["code"], "E_SKILL_SCRIPT_POLICY_WIDENED");
}

// EXE-61: pinned when it is first used, refused when it is another, and taken again by a person.
#[test]
fn an_interpreter_that_changed_runs_nothing_until_a_person_takes_it() {
    let script = scripted(&json!([]), "echo ran\n");
    let fresh = flagged(&script);
    let status = |world: &World| world.json(["interpreters"])["interpreters"][0]["status"].clone();
    assert_eq!(status(&fresh), "unpinned");
    assert_eq!(ran(&fresh, &["go"]).text(), "ran\n");
    assert_eq!(status(&fresh), "pinned");

    let world = flagged(&script);
    pinned_before(&world);
    let fault = refused(&world, &["go"], 2);
    assert_eq!(fault["code"], "E_INTERPRETER_CHANGED");
    assert!(text(&fault["advice"]).contains("fumehood interpreters repin"), "{fault}");
    let (_, answer) = world.call().at_terminal(["interpreters", "repin", "sh"], "[y/N] ", "y\n");
    assert_eq!(answer.code, Some(0), "{}", answer.errors());
    assert_eq!(ran(&world, &["go"]).text(), "ran\n");
}

// exactly what the deployer says, and nothing of the caller's.
#[test]
fn the_environment_is_the_deployers() {
    let world = flagged(&scripted(&json!([]), "env | sort\n"));
    configure(&world, "[environment]\nTZ = \"Europe/Vienna\"\nLANG = \"de_AT.UTF-8\"\n");
    let call = world.call().variable("SECRET", "token").variable("PATH", "/usr/bin:/bin");
    let answer = call.run(super::approved(&world, &["go"]));
    let expected =
        "HOME=/tmp\nLANG=de_AT.UTF-8\nPATH=/usr/bin:/bin\nPWD=/skill\nTMPDIR=/tmp\nTZ=Europe/Vienna\n";
    assert_eq!((answer.code, answer.text().as_str()), (Some(0), expected), "{}", answer.errors());
}
