//! D: the catalogue, for people and as a model is given it.

use fumehood_testkit::skill;
use serde_json::json;

use crate::mcp::given;
use crate::{codes, text, texts, world, world_with};

// openai/codex#24299, #19679, #46480: a fixed budget cuts 103 of 119 descriptions, then drops skills.
#[test]
fn d1_a_long_catalogue_loses_nothing() {
    let world = world();
    let description = |n: usize| format!("{n:03} {}", "d".repeat(396));
    for n in 0..150 {
        world.add("skills", &skill(&format!("s{n:03}")).description(&description(n)));
    }
    let list = world.json(["list", "skills"]);
    let expected: Vec<String> = (0..150).map(description).collect();
    assert_eq!(texts(&list["skills"], "description"), expected);
    // In the text form each is one line that says how much is cut.
    let page = world.run(["list", "skills"]).text();
    assert_eq!(page.lines().filter(|line| line.ends_with("… (+300 characters)")).count(), 150);
    // A model gets all of them in the same order, each cut alike, and is told that.
    let given = given(&world, "list_skills", &json!({}));
    let names: Vec<String> = (0..150).map(|n| format!("s{n:03}")).collect();
    assert_eq!(texts(&given["skills"], "name"), names);
    let cut = |n: usize| format!("{}…", &description(n)[..8_000 / 150]);
    assert_eq!(texts(&given["skills"], "description"), (0..150).map(cut).collect::<Vec<_>>());
    assert_eq!(given["shortened"], true);
    assert!(text(&given["note"]).contains("150 descriptions"), "{given}");
}

// RyderFreeman4Logos/cli-sub-agent#1160: a few giant descriptions eat the budget of all.
#[test]
fn d2_a_giant_description_is_cut_for_itself() {
    let giant = "é".repeat(4500);
    let world = world_with(&skill("giant").description(&giant));
    world.add("skills", &skill("small"));
    let list = world.json(["list", "skills"]);
    let [cut, small] = texts(&list["skills"], "description")[..] else { panic!("{list}") };
    assert_eq!((cut, small), ("é".repeat(1024).as_str(), "Does a thing."));
    assert_eq!(codes(&list["skills"][0]), ["W_DESCRIPTION_TOO_LONG"]);
    assert_eq!(world.json(["show", "skills/giant"])["description"], giant);
    // However many giants there are, for a model the small one stays whole.
    for n in 0..30 {
        world.add("skills", &skill(&format!("giant-{n}")).description(&giant));
    }
    let given = given(&world, "list_skills", &json!({}));
    let descriptions = texts(&given["skills"], "description");
    assert_eq!((descriptions.len(), descriptions[31]), (32, "Does a thing."));
    assert!(text(&given["note"]).contains("31 descriptions"), "{given}");
    assert!(descriptions[..31].iter().all(|cut| *cut == format!("{}…", "é".repeat(8_000 / 32))), "{given}");
}

// microsoft/agent-framework#7008: a hint teaches the model to drop ".md", and then nothing is found.
#[test]
fn d6_a_missing_file_gets_the_names_near_it() {
    let files = skill("x").file("references/a.md", "text").file("references/deep/b.md", "text");
    let world = world_with(&files);
    let near = [
        ("references/a", "references/a.md"),
        ("a.md", "references/a.md"),
        ("deep/b.md", "references/deep/b.md"),
    ];
    for (asked, near) in near {
        let fault = world.fault(["cat", "skills/x", asked], 2);
        assert_eq!(fault["code"], "E_FILE_NOT_FOUND", "{asked}");
        assert_eq!(fault["advice"], format!("names are exact; did you mean {near}?"));
        assert_eq!(world.run(["cat", "skills/x", near]).text(), "text");
    }
    // What only ends in the same letters is not near.
    for asked in ["elsewhere", "d", "L.md"] {
        let fault = world.fault(["cat", "skills/x", asked], 2);
        assert!(!text(&fault["advice"]).contains("did you mean"), "{asked}: {fault}");
    }
    let fault = world.fault(["cat", "skills/x", "elsewhere"], 2);
    assert!(text(&fault["advice"]).contains("names are exact, extension included"), "{fault}");
    // A skill's name gets the same help.
    let fault = world.fault(["show", "y", "--root", "skills"], 2);
    assert_eq!((&fault["code"], &fault["advice"]), (&"E_SKILL_NOT_FOUND".into(), &"did you mean x?".into()));
    // What `list DIR` showed is a name only with that folder, which is said.
    let fault = world.fault(["show", "x"], 2);
    assert!(text(&fault["advice"]).contains("--root DIR"), "{fault}");
}
