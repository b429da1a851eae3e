//! B: finding skills.

use fumehood_testkit::{World, skill};

use crate::{checked, codes, finding, listed, only, text, texts, verdicts, world, world_with};

fn names(world: &World, roots: &[&str]) -> Vec<String> {
    let list = world.json(["list"].iter().chain(roots));
    texts(&list["skills"], "name").into_iter().map(str::to_owned).collect()
}

// openai/codex#8943, #11314: a linked skill folder, or a root that is a link, is not searched.
#[test]
fn b2_linked_roots_and_linked_skills_are_found() {
    let world = world();
    world.add("elsewhere", &skill("a"));
    world.link("linked-root", "elsewhere");
    world.link("skills/a", "../elsewhere/a");
    world.link("skills/everything", "../elsewhere");
    assert_eq!(names(&world, &["linked-root"]), ["a"]);
    let list = world.json(["list", "skills"]);
    assert_eq!(texts(&list["skills"], "name"), ["a"]);
    // A link to a folder of skills could lead anywhere and is not searched, which is said.
    let unsearched = finding(&list["sources"][0], "N_WALK_LINK");
    assert!(text(&unsearched["path"]).ends_with("skills/everything"), "{unsearched}");
}

// microsoft/vscode#315979, #291746: a linked skill is in the menu, and the tool does not find it.
#[test]
fn b3_what_is_listed_is_found() {
    let world = world();
    world.add("elsewhere", &skill("a").file("notes.md", "Read me."));
    world.link("skills/linked", "../elsewhere/a");
    for skill in world.json(["list", "skills"])["skills"].as_array().unwrap() {
        for reference in ["name", "qualified_name", "path"] {
            let shown = world.json(["show", text(&skill[reference]), "--root", "skills"]);
            assert_eq!(shown["path"], skill["path"], "{reference}");
        }
    }
    assert_eq!(world.run(["cat", "a", "notes.md", "--root", "skills"]).text(), "Read me.");
}

// microsoft/vscode#317940: every skill is there twice because one root links to the other.
#[test]
fn b4_one_folder_is_one_skill_whatever_leads_to_it() {
    let world = world();
    world.add("one", &skill("a"));
    world.add("one", &skill("b"));
    world.link("two", "one");
    world.link("three/also-a", "../one/a");
    assert_eq!(names(&world, &["one", "two", "three", "one/../one"]), ["a", "b"]);
    let check = world.json(["check", "one", "two", "three", "one/a", "one/a/SKILL.md"]);
    assert_eq!((texts(&check["skills"], "name"), &check["summary"]["found"]), (vec!["a", "b"], &2.into()));
    // A copy is another skill, and comes second.
    world.add("copy", &skill("a"));
    let list = world.json(["list", "one", "copy"]);
    let copy = list["skills"].as_array().unwrap().iter().find(|skill| skill["source"] == "root-2").unwrap();
    assert_eq!(copy["shadowed_by"], world.text("one/a"));
}

// iOfficeAI/OfficeCLI#358: a link that was checked out as text gives "missing frontmatter" at each start.
#[test]
fn b6_a_link_checked_out_as_text_is_named_as_that() {
    let world = world_with(&skill("x").skill_md("../../SKILL.md"));
    let listed = listed(&world, "skills");
    assert_eq!((verdicts(&listed), codes(&listed)), ((false, false), vec!["E_SKILL_MD_LINK_TEXT"]));
    assert!(text(&listed["diagnostics"][0]["message"]).contains("with links enabled"));
}

// warpdotdev/warp#8776: no skills when the current folder is reached through a link.
#[test]
fn b8_a_current_folder_behind_a_link() {
    let world = world();
    world.add("project/.agents/skills", &skill("a"));
    world.folder("project/src/deep");
    world.link("link", "project/src/deep");
    let list = world.call().within("link").json(["list"]);
    let source = list["sources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|source| source["label"] == "project-agents")
        .unwrap();
    assert_eq!((&source["status"], &source["found"]), (&"inert".into(), &1.into()));
    assert_eq!(source["path"], world.text("project/.agents/skills"));
    assert_eq!(
        only(&world.call().within("link").json(["list", "../../.agents/skills"])["skills"])["name"],
        "a"
    );
}

// anthropics/claude-code#25816: a project's skills are missing in a git worktree, where `.git` is a file.
#[test]
fn b10_a_worktree_is_a_project() {
    let world = world();
    world.write("tree/.git", "gitdir: /somewhere/.git/worktrees/tree\n");
    world.add("tree/.claude/skills", &skill("a"));
    world.folder("tree/src/deep");
    let list = world.call().within("tree/src/deep").json(["list"]);
    let found: Vec<_> = list["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| (text(&s["label"]), s["found"].as_u64()))
        .collect();
    assert!(found.contains(&("project-claude", Some(1))), "{found:?}");
}

// addyosmani/agent-skills#28: a nested layout is reported as "no valid skills".
#[test]
fn b14_nested_layouts_are_found_and_the_depth_limit_is_said() {
    let world = world();
    world.add("skills/group/inner", &skill("a"));
    assert_eq!(names(&world, &["skills"]), ["a"]);
    let level = |n: usize| format!("deep/{}", vec!["f"; n].join("/"));
    world.add(&level(5), &skill("at-limit"));
    let list = world.json(["list", "deep"]);
    assert_eq!(
        (texts(&list["skills"], "name"), &list["sources"][0]["complete"]),
        (vec!["at-limit"], &true.into())
    );
    world.add(&level(6), &skill("too-deep"));
    let list = world.json(["list", "deep"]);
    assert_eq!(
        (texts(&list["skills"], "name"), &list["sources"][0]["complete"]),
        (vec!["at-limit"], &false.into())
    );
    finding(&list["sources"][0], "W_WALK_DEPTH");
    assert!(world.run(["list", "deep"]).text().contains("W_WALK_DEPTH"));
    let deeper = world.json(["list", "deep", "--max-depth", "7"]);
    assert_eq!(texts(&deeper["skills"], "name"), ["at-limit", "too-deep"]);
}

// stbenjam/skillsaw#265, anthropics/claude-code 2.1.69: dependencies are searched and bring their own skills.
#[test]
fn b16_dependencies_bring_no_skills() {
    for folder in ["node_modules", ".git", ".hg", ".svn", "__pycache__"] {
        let world = world_with(&skill("own"));
        world.add(&format!("skills/{folder}/dep"), &skill("foreign"));
        assert_eq!(names(&world, &["skills"]), ["own"], "{folder}");
        // What is pruned would otherwise be found.
        world.rename(&format!("skills/{folder}"), "skills/ordinary");
        assert_eq!(names(&world, &["skills"]), ["foreign", "own"], "{folder}");
    }
    let world = world_with(&skill("own"));
    world.add("skills/any-name/lib/python3/site-packages/dep", &skill("foreign"));
    assert_eq!(names(&world, &["skills"]), ["foreign", "own"]);
    world.write("skills/any-name/pyvenv.cfg", "home = /usr/bin\n");
    assert_eq!(names(&world, &["skills"]), ["own"]);
}

// anthropics/claude-code 2.1.73, 2.1.144: handles run out in a skill that holds a build. Nothing is watched here, so the
// half about file events has no counterpart.
#[test]
fn b18_reading_needs_few_handles() {
    let mut busy = skill("busy");
    for n in 0..100 {
        busy = busy.file(&format!("build/{n}/out.o"), "x");
        busy = busy.file(&format!("build/deep/{}/out.o", vec!["d"; n % 12 + 1].join("/")), "x");
    }
    let world = world_with(&busy);
    for n in 0..100 {
        world.add(&format!("skills/group-{n}"), &skill(&format!("s{n}")));
    }
    let limited = |arguments: &[&str]| {
        let script = "ulimit -n 40; exec \"$0\" \"$@\"";
        world.call().run_behind("/bin/sh", ["-c", script], arguments)
    };
    let check = limited(&["check", "skills", "--format", "json"]).json();
    assert_eq!((&check["summary"]["found"], &check["summary"]["conformant"]), (&101.into(), &101.into()));
    let show = limited(&["show", "skills/busy", "--format", "json"]).json();
    assert_eq!((&show["resources"]["complete"], show["revision"].is_string()), (&true.into(), true));
    // The limit bites: with five handles nothing can be read.
    let script = "ulimit -n 5; exec \"$0\" \"$@\"";
    let starved = world.call().run_behind("/bin/sh", ["-c", script], ["check", "skills/busy", "--strict"]);
    assert_ne!(starved.code, Some(0));
}

// vercel-labs/skills#1240: a sound repository is reported as empty.
#[test]
fn b19_nothing_found_says_where_it_looked() {
    let world = world();
    world.add("repository/skills", &skill("a"));
    assert_eq!(names(&world, &["repository"]), ["a"]);
    world.folder("empty/docs/pages");
    let fault = world.fault(["check", "empty"], 2);
    assert_eq!(fault["code"], "E_NO_SKILLS_FOUND");
    let searched = format!("no SKILL.md in the 3 folders searched at {}", world.path("empty").display());
    assert_eq!(fault["message"], searched.as_str());
    let list = world.run(["list", "empty"]);
    assert_eq!(list.code, Some(0));
    assert!(list.text().contains("No skills to show. Searched: empty"), "{}", list.text());
    world.folder("empty/1/2/3/4/5/6/7");
    let fault = world.fault(["check", "empty"], 2);
    assert!(text(&fault["advice"]).contains("--max-depth"), "{fault}");
}

// anthropics/claude-code 2.1.207: a malformed pattern in one skill breaks the reading of unrelated files.
#[test]
fn b20_a_bad_pattern_harms_nothing_else() {
    let world = world_with(&skill("x").field("paths: [\"[a-\"]").file("a.md", "text"));
    world.add("skills", &skill("y"));
    let check = world.json(["check", "skills"]);
    assert_eq!(check["summary"]["loadable"], 2);
    let shown = world.json(["show", "skills/x"]);
    assert_eq!(codes(&shown), ["N_HOST_FIELD_NOT_ENFORCED"]);
    assert_eq!(
        (&shown["unenforced_fields"], &shown["frontmatter"]["paths"]),
        (&serde_json::json!(["paths"]), &serde_json::json!(["[a-"]))
    );
    assert_eq!(world.run(["cat", "skills/x", "a.md"]).text(), "text");
    assert_eq!(verdicts(&checked(&world, "skills/y")), (true, true));
}
