//! The loader table: for each situation whether the skill loads, whether it conforms, and the code that says so.
//!
//! One test for each row of the table that the loader was built from, in its order.

use std::os::unix::net::UnixListener;

use fumehood_testkit::{Skill, World, skill};
use serde_json::{Value, json};

use crate::{checked, codes, finding, listed, text, texts, verdicts, world, world_with};

const CONFORMANT: (bool, bool) = (true, true);
const LOADABLE: (bool, bool) = (true, false);
const REFUSED: (bool, bool) = (false, false);

/// The skill has these verdicts and a finding of this code, whose first letter is its severity.
fn assert_judged(case: &Skill, verdict: (bool, bool), code: &str) -> World {
    let world = world_with(case);
    assert_judged_in(&world, verdict, code);
    world
}

fn assert_judged_in(world: &World, verdict: (bool, bool), code: &str) {
    let checked = checked(world, "skills");
    assert_eq!(verdicts(&checked), verdict, "{checked:#}");
    let severity = match code.split('_').next() {
        Some("N") => "note",
        Some("W") => "warning",
        _ => "error",
    };
    assert_eq!(finding(&checked, code)["severity"], severity);
    let exit = i32::from(!verdict.0) * 2;
    assert_eq!(world.run(["check", "skills"]).code, Some(exit), "{code}");
    let strict = i32::from(!verdict.1) * 2;
    assert_eq!(world.run(["check", "--strict", "skills"]).code, Some(strict), "{code}");
}

fn claimed_tools(world: &World) -> Value {
    world.json(["show", "skills/x"])["claims"]["allowed_tools"].clone()
}

#[test]
fn row_01_harmless_differences_of_the_file_are_notes() {
    let good = skill("x").text();
    assert_judged(&skill("x").skill_md(format!("\u{feff}{good}")), CONFORMANT, "N_BOM");
    assert_judged(&skill("x").skill_md(good.replace('\n', "\r\n")), CONFORMANT, "N_CRLF");
    assert_judged(&skill("x").skill_md(good.replacen("---\n", "--- \t\n", 1)), CONFORMANT, "N_FENCE_SPACES");
    assert_judged(&skill("\" x \"").in_folder("x"), CONFORMANT, "N_NAME_TRIMMED");
}

#[test]
fn row_02_another_spelling_of_the_file_loads_if_it_is_the_only_one() {
    for name in ["skill.md", "Skill.md", "SKILL.MD"] {
        assert_judged(&skill("x").skill_md_called(name, skill("x").text()), LOADABLE, "W_SKILL_MD_NAME");
        let both = skill("x").file(name, skill("x").text());
        assert_judged(&both, REFUSED, "E_SKILL_MD_AMBIGUOUS");
    }
}

// CHK-065
#[test]
fn row_03_a_name_that_breaks_the_rule_is_listed_under_a_slug() {
    let cases = [
        (skill("x").frontmatter("description: d"), "W_NAME_MISSING", "x"),
        (skill("My_Skill").in_folder("x"), "W_NAME_CHARACTERS", "my-skill"),
        (skill("y").in_folder("x"), "W_NAME_DIRECTORY", "y"),
        (skill(&"a".repeat(65)).in_folder("x"), "W_NAME_TOO_LONG", &"a".repeat(64)),
    ];
    for (case, code, name) in cases {
        let world = assert_judged(&case, LOADABLE, code);
        assert_eq!(listed(&world, "skills")["name"], name);
    }
}

#[test]
fn row_04_numbers_and_booleans_are_read_as_written() {
    let world = assert_judged(&skill("8004"), CONFORMANT, "N_SCALAR_AS_TEXT");
    assert_eq!(listed(&world, "skills")["name"], "8004");
    for written in ["true", "1.0", "0x10", "1e3"] {
        let world = assert_judged(&skill("x").description(written), CONFORMANT, "N_SCALAR_AS_TEXT");
        assert_eq!(listed(&world, "skills")["description"], written);
    }
}

// CHK-067: the limit of the standard, and no shorter preview.
#[test]
fn row_05_a_long_description_is_cut_in_the_catalogue_only() {
    let at_limit = world_with(&skill("x").description(&"😀".repeat(1024)));
    assert_eq!(
        (verdicts(&checked(&at_limit, "skills")), codes(&checked(&at_limit, "skills"))),
        (CONFORMANT, vec![])
    );
    let long = "😀".repeat(1025);
    let world = assert_judged(&skill("x").description(&long), LOADABLE, "W_DESCRIPTION_TOO_LONG");
    assert_eq!(listed(&world, "skills")["description"], "😀".repeat(1024));
    assert_eq!(world.json(["show", "skills/x"])["description"], long);
}

// CHK-067, CHK-079
#[test]
fn row_06_broken_yaml_is_rescued_and_grants_nothing() {
    let tools = "allowed-tools: Bash Read\nlicense: MIT";
    let sound = world_with(&skill("x").field(tools));
    assert_eq!(claimed_tools(&sound), json!(["Bash", "Read"]));

    let quoted = skill("x").description("Use when: asked").field(tools);
    let world = assert_judged(&quoted, LOADABLE, "W_FRONTMATTER_QUOTED");
    let place = finding(&checked(&world, "skills"), "W_FRONTMATTER_QUOTED").clone();
    assert_eq!((&place["line"], &place["column"]), (&3.into(), &22.into()));
    assert_eq!(
        (claimed_tools(&world), &world.json(["show", "skills/x"])["format"]["rescue"]),
        (json!([]), &"quoted".into())
    );

    let lines = skill("x").field(&format!("{tools}\nhooks: {{a: b}}\n? ["));
    let world = assert_judged(&lines, LOADABLE, "W_FRONTMATTER_RESCUED");
    assert!(finding(&checked(&world, "skills"), "W_FRONTMATTER_RESCUED")["line"].is_u64());
    let shown = world.json(["show", "skills/x"]);
    assert_eq!((&shown["claims"]["allowed_tools"], &shown["claims"]["license"]), (&json!([]), &Value::Null));
    assert_eq!(shown["frontmatter"], json!({"name": "x", "description": "Does a thing."}));
    assert_eq!((&shown["unenforced_fields"], &shown["format"]["rescue"]), (&json!([]), &"lines".into()));
}

// CHK-067
#[test]
fn row_07_a_key_twice_is_refused() {
    for twice in ["description: b", "version: 1\nversion: 2", "metadata: {a: b, a: c}"] {
        assert_judged(&skill("x").field(twice), REFUSED, "E_FRONTMATTER_DUPLICATE_KEY");
    }
}

#[test]
fn row_08_no_frontmatter_or_a_blank_description_is_refused() {
    assert_judged(&skill("x").skill_md("# Title\n"), REFUSED, "E_FRONTMATTER_MISSING");
    assert_judged(&skill("x").skill_md(""), REFUSED, "E_FRONTMATTER_MISSING");
    assert_judged(&skill("x").skill_md("---\nname: x\ndescription: d\n"), REFUSED, "E_FRONTMATTER_UNCLOSED");
    for blank in ["", "''", "\"  \"", "~", "|\n  \n"] {
        assert_judged(&skill("x").description(blank), REFUSED, "E_DESCRIPTION_MISSING");
    }
    assert_judged(&skill("x").frontmatter("name: x"), REFUSED, "E_DESCRIPTION_MISSING");
}

// CHK-066, CHK-083
#[test]
fn row_09_unknown_fields_are_kept_word_for_word() {
    let world = assert_judged(&skill("x").field("zeta: {b: [1, ~], a: No}"), LOADABLE, "N_FIELD_UNKNOWN");
    let answer = world.run(["show", "skills/x", "--format", "json"]);
    assert_eq!(answer.json()["frontmatter"]["zeta"], json!({"b": [1, null], "a": "No"}));
    let order: Vec<usize> = ["\"name\": \"x\"", "\"zeta\"", "\"b\"", "\"a\""]
        .map(|key| answer.text().split_once("\"frontmatter\"").unwrap().1.find(key).unwrap())
        .to_vec();
    assert!(order.is_sorted(), "{order:?}");
}

// CHK-066
#[test]
fn row_10_tools_are_taken_in_three_forms_and_one_conforms() {
    let spaces = world_with(&skill("x").field("allowed-tools: Bash(git add:*) Read"));
    assert_eq!(verdicts(&checked(&spaces, "skills")), CONFORMANT);
    finding(&checked(&spaces, "skills"), "N_HOST_TOOLS");
    let expected = json!(["Bash(git add:*)", "Read"]);
    assert_eq!(claimed_tools(&spaces), expected);
    for other in ["allowed-tools: Bash(git add:*), Read", "allowed-tools: [\"Bash(git add:*)\", Read]"] {
        let world = assert_judged(&skill("x").field(other), LOADABLE, "N_ALLOWED_TOOLS_FORM");
        assert_eq!(claimed_tools(&world), expected);
    }
}

#[test]
fn row_11_a_skill_within_a_skill_is_a_file_of_it() {
    let nested = skill("x").file("inner/SKILL.md", skill("inner").text());
    let world = assert_judged(&nested, CONFORMANT, "N_NESTED_SKILL");
    assert_eq!(texts(&world.json(["show", "skills/x"])["files"], "path"), ["SKILL.md", "inner/SKILL.md"]);
    assert_eq!(texts(&world.json(["list", "skills", "--nested"])["skills"], "name"), ["inner", "x"]);
    assert_eq!(texts(&world.json(["check", "skills", "--nested"])["skills"], "name"), ["x", "inner"]);
}

#[test]
fn row_12_a_link_within_the_skill_is_followed() {
    let world = world_with(&skill("x").file("docs/a.md", "text"));
    world.link("skills/x/linked.md", "docs/a.md");
    world.link("skills/x/linked-docs", "docs");
    let shown = world.json(["show", "skills/x"]);
    assert_eq!((verdicts(&shown), codes(&shown)), (CONFORMANT, vec!["N_LINK_FOLLOWED"; 2]));
    let files: Vec<_> = shown["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| (text(&file["path"]), &file["link"], &file["size"]))
        .collect();
    let expected = [
        ("SKILL.md", false, 50),
        ("docs/a.md", false, 4),
        ("linked-docs/a.md", true, 4),
        ("linked.md", true, 4),
    ];
    let expected = expected.map(|(path, link, size)| (path, Value::from(link), Value::from(size)));
    assert_eq!(files, expected.iter().map(|(path, link, size)| (*path, link, size)).collect::<Vec<_>>());
    assert_eq!(world.run(["cat", "skills/x", "linked.md"]).text(), "text");
    // SKILL.md itself may be such a link.
    world.rename("skills/x/SKILL.md", "skills/x/docs/instructions.md");
    world.link("skills/x/SKILL.md", "docs/instructions.md");
    assert_eq!(verdicts(&checked(&world, "skills")), CONFORMANT);
}

#[test]
fn row_13_what_leaves_the_skill_or_is_no_file_is_never_read() {
    type Make = fn(&World);
    let socket: Make = |world| _ = UnixListener::bind(world.path("skills/x/odd")).unwrap();
    let make: [(&str, Make); 6] = [
        ("E_LINK_ESCAPES", |world| _ = world.link("skills/x/odd", "../../secret.txt")),
        ("E_LINK_ESCAPES", |world| _ = world.link("skills/x/odd", world.path("secret.txt"))),
        ("E_LINK_ESCAPES", |world| _ = world.link("skills/x/odd", "nowhere")),
        ("E_LINK_ESCAPES", |world| _ = world.link("skills/x/odd", ".")),
        ("E_SPECIAL_FILE", |world| _ = world.fifo("skills/x/odd")),
        ("E_SPECIAL_FILE", socket),
    ];
    for (code, make) in make {
        let world = world_with(&skill("x"));
        world.write("secret.txt", "secret");
        make(&world);
        assert_judged_in(&world, LOADABLE, code);
        let shown = world.json(["show", "skills/x"]);
        assert_eq!((&shown["revision"], texts(&shown["files"], "path")), (&Value::Null, vec!["SKILL.md"]));
        let cat = world.run(["cat", "skills/x", "odd"]);
        assert_eq!((cat.text().as_str(), cat.code != Some(0)), ("", true), "{code}");
    }
    // A device cannot be made without privilege; a link to one is refused like any that leaves.
    let world = world_with(&skill("x"));
    world.link("skills/x/odd", "/dev/zero");
    assert_judged_in(&world, LOADABLE, "E_LINK_ESCAPES");
}

#[test]
fn row_13_nor_is_such_a_skill_md() {
    let world = world();
    world.add("elsewhere", &skill("x").description("Secret."));
    world.link("skills/x/SKILL.md", "../../elsewhere/x/SKILL.md");
    assert_judged_in(&world, REFUSED, "E_LINK_ESCAPES");
    assert!(!world.run(["show", "skills/x"]).text().contains("Secret."));
    let world = crate::world();
    world.fifo("skills/x/SKILL.md");
    assert_judged_in(&world, REFUSED, "E_SPECIAL_FILE");
}

#[test]
fn row_14_what_is_no_text_or_too_much_of_it_is_refused() {
    let with = |bytes: &[u8]| skill("x").skill_md([skill("x").text().as_bytes(), bytes].concat());
    assert_judged(&with(b"caf\xe9"), REFUSED, "E_SKILL_MD_ENCODING"); // typos: ignore
    assert_judged(&with(b"a\0b"), REFUSED, "E_SKILL_MD_NUL");
    let size = skill("x").text().len();
    let padded = |total: usize| with(&vec![b'a'; total - size]);
    assert_judged(&padded((1 << 20) + 1), REFUSED, "E_SKILL_MD_TOO_LARGE");
    assert_eq!(verdicts(&checked(&world_with(&padded(1 << 20)), "skills")), CONFORMANT);
}

// CHK-078, CHK-083
#[test]
fn row_15_what_other_hosts_run_stays_text() {
    let body = "!`touch ran`\n\n@notes.md\n\n$ARGUMENTS and $ARGUMENTS again\n";
    let world = assert_judged(&skill("x").body(body), CONFORMANT, "N_HOST_FEATURE");
    assert!(world.run(["cat", "skills/x", "SKILL.md"]).text().ends_with(body));
    assert!(!world.has("ran"));
    // As fields they are another host's, which the standard does not have.
    for field in ["hooks: {start: touch ran}", "context: fork"] {
        let world = assert_judged(&skill("x").field(field), LOADABLE, "N_HOST_FEATURE");
        finding(&checked(&world, "skills"), "N_HOST_FIELD_NOT_ENFORCED");
        assert!(!world.has("ran"));
    }
}
