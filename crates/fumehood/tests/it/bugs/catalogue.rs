//! D: the catalogue, as far as it is a list. Nothing here hands it to a model yet.

use fumehood_testkit::skill;

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
    let text = world.run(["list", "skills"]).text();
    assert_eq!(text.lines().filter(|line| line.ends_with("… (+300 characters)")).count(), 150);
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
    let fault = world.fault(["cat", "skills/x", "elsewhere"], 2);
    assert!(text(&fault["advice"]).contains("names are exact, extension included"), "{fault}");
    // A skill's name gets the same help.
    let fault = world.fault(["show", "y", "--root", "skills"], 2);
    assert_eq!((&fault["code"], &fault["advice"]), (&"E_SKILL_NOT_FOUND".into(), &"did you mean x?".into()));
}
