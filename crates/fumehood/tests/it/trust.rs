//! A project's skills: inert until a person at a terminal trusts the project, and what makes that lapse.

use std::os::unix::fs::MetadataExt as _;

use fumehood_testkit::{Answer, Call, World, skill};
use serde_json::Value;

use crate::{text, texts, world};

const QUESTION: &str = "[y/N] ";

/// Lets a person trust a project.
pub(crate) fn trust(world: &World, project: &str) {
    let (_, answer) = world.call().at_terminal(["trust-project", &world.text(project)], QUESTION, "y\n");
    assert_eq!(answer.code, Some(0), "{}", answer.errors());
}

/// A project that brings two skills, and a word that their texts have and nothing else does.
fn project() -> World {
    let world = world();
    for (root, name) in [(".agents/skills", "xylophone-one"), (".claude/skills/group", "xylophone-two")] {
        let skill = skill(name)
            .description("Xylophone music.")
            .body("Xylophone body.")
            .file("xylophone.md", "xylophone");
        world.add(&format!("project/{root}"), &skill);
    }
    // Something that the search has to say, with a name in it.
    world.link("project/.agents/skills/xylophone-link", "/usr");
    world
}

/// Every command that could show something of the project, in both forms.
fn all_answers(call: &Call<'_>) -> Vec<Answer> {
    let commands: [&[&str]; 7] = [
        &["list"],
        &["show", "one"],
        &["show", "project-agents:one"],
        &["cat", "one", "notes.md"],
        &["diff", "one", "two"],
        &["trust-project", ".", "--remove"],
        &["show", "music"],
    ];
    let forms =
        commands.iter().flat_map(|command| [command.to_vec(), [&["--format", "json"], *command].concat()]);
    forms.map(|arguments| call.run(arguments)).collect()
}

fn says(answers: &[Answer], word: &str) -> bool {
    answers.iter().any(|answer| {
        let both = format!("{}{}", answer.text(), answer.errors());
        both.to_lowercase().contains(word)
    })
}

fn project_sources(list: &Value) -> Vec<(&str, &str, u64)> {
    let sources = list["sources"].as_array().unwrap().iter().filter(|source| source["kind"] == "project");
    sources.map(|s| (text(&s["label"]), text(&s["status"]), s["found"].as_u64().unwrap())).collect()
}

#[test]
fn an_untrusted_project_is_counted_and_nothing_of_it_is_shown() {
    let world = project();
    let call = world.call().within("project");
    let inert = all_answers(&call);
    assert!(!says(&inert, "xylophone"));
    let list = call.json(["list"]);
    assert_eq!(project_sources(&list), [("project-agents", "inert", 1), ("project-claude", "inert", 1)]);
    assert_eq!(list["skills"].as_array().unwrap().len(), 0);
    assert!(call.run(["list"]).text().contains("1 skill, not shown: nobody trusted this project yet"));
    // Asked for by its very name it is not there, and the advice has the number only.
    let fault = call.fault(["show", "xylophone-one"], 2);
    assert_eq!(fault["code"], "E_SKILL_NOT_FOUND");
    assert!(text(&fault["advice"]).starts_with("2 skills of this project are not shown"), "{fault}");
    assert_eq!(call.fault(["show", "project-agents:xylophone-one"], 3)["code"], "E_PROJECT_INERT");
    // A name that only begins like the source's is an ordinary one.
    assert_eq!(call.fault(["show", "project-agents-tool"], 2)["code"], "E_SKILL_NOT_FOUND");
    // The positive control: the same search finds the word as soon as the project is trusted.
    trust(&world, "project");
    assert!(says(&all_answers(&call), "xylophone"));
}

#[test]
fn a_path_that_the_person_types_needs_no_trust() {
    let world = project();
    let call = world.call().within("project");
    assert_eq!(texts(&call.json(["list", ".agents/skills"])["skills"], "name"), ["xylophone-one"]);
    assert_eq!(call.json(["show", ".agents/skills/xylophone-one"])["description"], "Xylophone music.");
}

#[test]
fn a_yes_at_the_terminal_trusts_and_remove_forgets() {
    let world = project();
    let call = world.call().within("project");
    let arguments = ["trust-project", ".", "--format", "json"];
    let (shown, answer) = call.at_terminal(arguments, QUESTION, "y\n");
    assert_eq!((answer.code, answer.errors().as_str()), (Some(0), ""));
    let report = answer.json();
    assert_eq!((&report["trusted"], &report["changed"]), (&true.into(), &true.into()));
    assert_eq!(report["project"], world.text("project"));
    // The question names the folder and everything that the project would bring.
    for part in [
        world.text("project").as_str(),
        "brings 2 skills:",
        "xylophone-one",
        "xylophone-two",
        "Xylophone music.",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(!answer.text().contains("xylophone"));

    let list = call.json(["list"]);
    assert_eq!(project_sources(&list), [("project-agents", "active", 1), ("project-claude", "active", 1)]);
    assert_eq!(texts(&list["skills"], "name"), ["xylophone-one", "xylophone-two"]);
    assert_eq!(call.json(["show", "xylophone-two"])["source"], "project-claude");

    let (_, again) = call.at_terminal(["trust-project", "."], QUESTION, "yes\n");
    assert_eq!(again.text(), "Already trusted: .\n");
    // Forgetting takes nothing but the command, and works from below.
    world.folder("project/src");
    let removed = world.call().within("project/src").json(["trust-project", ".", "--remove"]);
    assert_eq!((&removed["trusted"], &removed["changed"]), (&false.into(), &true.into()));
    assert_eq!(removed["project"], world.text("project"));
    assert!(!says(&all_answers(&call), "xylophone"));
    assert_eq!(call.json(["trust-project", ".", "--remove"])["changed"], false);
}

#[test]
fn any_other_answer_changes_nothing() {
    let world = project();
    let call = world.call().within("project");
    for keys in ["n\n", "\n", "yy\n", "ja\n", "y y\n", "\u{4}"] {
        let (_, answer) = call.at_terminal(["trust-project", ".", "--format", "json"], QUESTION, keys);
        let fault: Value = serde_json::from_slice(&answer.stderr).unwrap();
        assert_eq!((answer.code, &fault["code"]), (Some(3), &"E_NOT_CONFIRMED".into()), "{keys:?}");
        assert_eq!(answer.text(), "");
    }
    assert!(!world.has("home/.local"), "nothing was written");
    assert_eq!(project_sources(&call.json(["list"]))[0].1, "inert");
}

#[test]
fn keys_typed_before_the_question_are_no_answer() {
    let world = project();
    // The person sees the prompt of a shell and types ahead; the question comes later.
    let call = world.call().within("project");
    let typed_ahead = call.at_terminal_typing_ahead(["trust-project", "."], "y\n", QUESTION, "n\n");
    assert_eq!(typed_ahead.1.code, Some(3), "{}", typed_ahead.0);
    assert_eq!(project_sources(&call.json(["list"]))[0].1, "inert");
}

#[test]
fn without_a_terminal_nobody_can_trust() {
    let world = project();
    let call = world.call().within("project");
    let fault = call.fault(["trust-project", "."], 3);
    assert_eq!((&fault["code"], &fault["class"]), (&"E_TERMINAL_REQUIRED".into(), &"denied".into()));
    // An answer on standard input is none either.
    let script = "echo y | \"$0\" \"$@\"";
    let piped =
        call.run_behind("/usr/bin/setsid", ["--wait", "/bin/sh", "-c", script], ["trust-project", "."]);
    assert_eq!(piped.code, Some(3));
    assert!(piped.errors().contains("E_TERMINAL_REQUIRED"), "{}", piped.errors());
    assert!(!world.has("home/.local"), "nothing was written");
}

#[test]
fn another_folder_at_the_same_path_is_not_trusted() {
    let world = project();
    trust(&world, "project");
    let call = world.call().within("project");
    assert_eq!(project_sources(&call.json(["list"]))[0].1, "active");
    // The first folder stays, so that the second cannot get its number on the disk.
    world.rename("project", "moved");
    world.folder("project/.git");
    world.add("project/.agents/skills", &skill("xylophone-three"));
    let call = world.call().within("project");
    assert_eq!(project_sources(&call.json(["list"]))[0], ("project-agents", "inert", 1));
    assert!(!says(&[call.run(["list"]), call.run(["show", "three"])], "xylophone"));
    // The trusted folder is not trusted at another path either, and is again where it was.
    let moved = world.call().within("moved");
    assert_eq!(project_sources(&moved.json(["list"]))[0].1, "inert");
    world.rename("project", "second");
    world.rename("moved", "project");
    assert_eq!(project_sources(&world.call().within("project").json(["list"]))[0].1, "active");
}

#[test]
fn a_folder_made_anew_is_not_trusted_even_with_the_old_number() {
    let world = project();
    trust(&world, "project");
    // Many file systems give the number of a folder that is gone to a later one; those that do not pass this anyway.
    let number = |world: &World| world.path("project").metadata().unwrap().ino();
    let old = number(&world);
    world.remove("project");
    for attempt in 0..500 {
        world.folder("project");
        if number(&world) == old {
            break;
        }
        world.rename("project", &format!("other-{attempt}"));
    }
    world.folder("project/.git");
    world.add("project/.agents/skills", &skill("xylophone-three"));
    let call = world.call().within("project");
    assert_eq!(project_sources(&call.json(["list"]))[0], ("project-agents", "inert", 1));
    // A yes counts for the new one.
    trust(&world, "project");
    assert_eq!(project_sources(&call.json(["list"]))[0].1, "active");
}

#[test]
fn a_link_does_not_lead_out_of_a_project() {
    let world = project();
    world.add("elsewhere", &skill("outside"));
    world.link("project/.agents/skills/outside", "../../../elsewhere/outside");
    world.link("project/.agents/skills/inside", "../../tools/inside");
    world.add("project/tools", &skill("inside"));
    trust(&world, "project");
    let list = world.call().within("project").json(["list"]);
    let names = texts(&list["skills"], "name");
    assert!(names.contains(&"inside") && !names.contains(&"outside"), "{names:?}");
}

#[test]
fn the_home_folder_is_no_project() {
    let world = world();
    world.add("home/.agents/skills", &skill("mine"));
    let list = world.call().within("home").json(["list"]);
    assert_eq!(texts(&list["skills"], "source"), ["user-agents"]);
    assert_eq!(project_sources(&list), []);
}

#[test]
fn a_record_that_others_can_write_is_not_believed() {
    let world = project();
    trust(&world, "project");
    let call = world.call().within("project");
    let record = "home/.local/share/fumehood/trusted-projects.toml";
    let good = world.read(record);
    world.mode("home/.local/share/fumehood", 0o755);
    assert_eq!(call.fault(["list"], 3)["code"], "E_HOME_REFUSED");
    world.mode("home/.local/share/fumehood", 0o700);
    assert_eq!(project_sources(&call.json(["list"]))[0].1, "active");
    for bad in [&b"projects = 3"[..], b"\xff", b"schema_version = 2\n", b"schema_version = 1\nmore = 1\n"] {
        world.write(record, bad);
        assert_eq!(call.fault(["list"], 4)["code"], "E_STATE_UNAVAILABLE");
    }
    world.write(record, good);
    assert_eq!(project_sources(&call.json(["list"]))[0].1, "active");
}
