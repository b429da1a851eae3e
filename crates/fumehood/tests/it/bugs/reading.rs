//! A: reading SKILL.md.

use fumehood_testkit::skill;
use serde_json::json;

use crate::mcp::given;
use crate::{checked, codes, finding, listed, repository_file, text, verdicts, world, world_with};

// anthropics/claude-code#78270: gone from list and menu, while a direct call still works.
#[test]
fn a1_colon_space_in_description() {
    let world = world_with(&skill("x").description("Does a thing. Use when: asked"));
    let checked = checked(&world, "skills");
    assert_eq!(verdicts(&checked), (true, false));
    let quoted = finding(&checked, "W_FRONTMATTER_QUOTED");
    assert_eq!(
        (&quoted["path"], &quoted["line"], &quoted["column"]),
        (&"SKILL.md".into(), &3.into(), &36.into())
    );
    let listed = listed(&world, "skills");
    assert_eq!(verdicts(&listed), (true, false));
    assert_eq!(listed["description"], "Does a thing. Use when: asked");
    let shown = world.json(["show", "x", "--root", "skills"]);
    assert_eq!(shown["description"], "Does a thing. Use when: asked");
    assert!(world.run(["list", "skills"]).text().contains("Does a thing. Use when: asked"));
    let given = given(&world, "list_skills", &json!({}));
    assert_eq!(given["skills"][0]["description"], "Does a thing. Use when: asked");
}

// openai/codex#8609: the generator writes such a description itself. There is no generator here, but a remedy.
#[test]
fn a2_the_check_says_how_to_mend_it() {
    let world = world_with(&skill("x").description("Use when: asked"));
    let answer = world.run(["check", "skills"]);
    assert!(answer.text().contains("SKILL.md:3:22: warning: "), "{}", answer.text());
    assert!(answer.text().contains("put the value in quotes"), "{}", answer.text());
    world.add("skills", &skill("x").description("\"Use when: asked\""));
    assert_eq!(world.json(["check", "--strict", "skills"])["summary"]["conformant"], 1);
}

// anomalyco/opencode#5991: one invalid skill breaks the start for all.
#[test]
fn a4_one_bad_skill_takes_no_other_with_it() {
    let world = world_with(&skill("good"));
    world.add("skills", &skill("bad").frontmatter("name: bad\nname: worse"));
    let list = world.json(["list", "skills"]);
    let loadable: Vec<_> =
        list["skills"].as_array().unwrap().iter().map(|s| (text(&s["name"]), &s["loadable"])).collect();
    assert_eq!(loadable, [("bad", &false.into()), ("good", &true.into())]);
    assert_eq!(world.json(["show", "good", "--root", "skills"])["loadable"], true);
    // `check` is asked for a verdict and gives it as its exit code.
    let answer = world.run(["check", "skills"]);
    assert_eq!(answer.code, Some(2));
    assert!(answer.text().ends_with("2 skills: 1 loadable, 1 conformant, 1 refused\n"), "{}", answer.text());
}

// 1jehuang/jcode#952: `if let Ok` drops the parse error.
#[test]
fn a5_the_parse_error_is_in_every_report() {
    let world = world_with(&skill("x").frontmatter("name: x\n? ["));
    for reported in [checked(&world, "skills"), listed(&world, "skills"), world.json(["show", "skills/x"])] {
        let error = finding(&reported, "E_FRONTMATTER_INVALID");
        assert_eq!((&error["severity"], reported["loadable"].as_bool()), (&"error".into(), Some(false)));
        assert!(error["line"].as_u64().is_some_and(|line| line >= 3), "{error}");
        assert!(text(&error["message"]).len() > 10, "{error}");
    }
}

// MoonshotAI/kimi-code#3673: missing frontmatter is only a line in a log.
#[test]
fn a6_missing_frontmatter_is_seen_in_the_list() {
    let world = world_with(&skill("x").skill_md("# A heading\n\nText.\n"));
    assert_eq!(codes(&listed(&world, "skills")), ["E_FRONTMATTER_MISSING"]);
    let list = world.run(["list", "skills"]);
    let line = list.text().lines().find(|line| line.trim_start().starts_with("x ")).unwrap().to_owned();
    assert!(line.contains("refused: the first line must be '---'"), "{line}");
    // A model is told that there is one which it cannot have, and why if it asks for it.
    let given_list = given(&world, "list_skills", &json!({}));
    assert_eq!((&given_list["skills"], &given_list["not_loadable"]), (&json!([]), &1.into()));
    assert!(text(&given_list["note"]).starts_with("some skills cannot be loaded"), "{given_list}");
    let refused = given(&world, "load_skill", &json!({"name": "x"}));
    assert_eq!(refused["code"], "E_SKILL_NOT_LOADABLE");
    assert!(text(&refused["message"]).contains("does not start with a frontmatter block"), "{refused}");
    assert!(text(&refused["advice"]).contains("has to mend it"), "{refused}");
    // The twin that can be loaded is not counted.
    world.add("skills", &skill("x"));
    let given_list = given(&world, "list_skills", &json!({}));
    assert_eq!((&given_list["skills"][0]["name"], &given_list["not_loadable"]), (&"x".into(), &0.into()));
    assert_eq!(given_list["note"], "");
}

// anthropics/claude-code 2.1.239: a file with a byte order mark is ignored without a word.
#[test]
fn a8_byte_order_mark() {
    let world = world_with(&skill("x").skill_md(format!("\u{feff}{}", skill("x").text())));
    let checked = checked(&world, "skills");
    assert_eq!((verdicts(&checked), codes(&checked)), ((true, true), vec!["N_BOM"]));
    assert_eq!(listed(&world, "skills")["description"], "Does a thing.");
}

// QwenLM/qwen-code#1528: CRLF files have "no frontmatter". Where the report wants the body with LF, ours keeps each byte.
#[test]
fn a9_crlf_is_read_and_the_bytes_stay() {
    let bytes = skill("x").body("one\ntwo\n").text().replace('\n', "\r\n");
    let world = world_with(&skill("x").skill_md(&bytes));
    let checked = checked(&world, "skills");
    assert_eq!((verdicts(&checked), codes(&checked)), ((true, true), vec!["N_CRLF"]));
    assert_eq!(world.run(["cat", "skills/x", "SKILL.md"]).stdout, bytes.as_bytes());
    assert_eq!(world.json(["show", "skills/x"])["format"]["body_bytes"], "one\r\ntwo\r\n".len());
}

// Gentleman-Programming/gentle-ai#678: a CRLF file is listed by its folder and without a description.
#[test]
fn a10_crlf_and_lf_twins_say_the_same() {
    let twin = skill("x")
        .description("|\n  Two\n  lines")
        .field("license: MIT\nmetadata:\n  a: b\nallowed-tools: Read Grep");
    let world = world();
    world.add("lf", &twin);
    world.add("crlf", &twin.clone().skill_md(twin.text().replace('\n', "\r\n")));
    let [lf, crlf] = ["lf/x", "crlf/x"].map(|path| world.json(["show", path]));
    for field in ["name", "declared_name", "description", "frontmatter", "claims", "conformant"] {
        assert_eq!(lf[field], crlf[field], "{field}");
    }
    assert_eq!(lf["description"], "Two\nlines");
    assert_ne!(lf["revision"], crlf["revision"]);
}

// op7418/Humanizer-zh#21: rules of three dashes in the body are read as further YAML documents.
#[test]
fn a12_rules_in_the_body_stay_in_the_body() {
    let body = "one\n---\nname: other\n---\ntwo: [\n---\n";
    let world = world_with(&skill("x").body(body));
    let shown = world.json(["show", "skills/x"]);
    assert_eq!((verdicts(&shown), codes(&shown)), ((true, true), vec![]));
    assert_eq!((&shown["name"], &shown["format"]["body_bytes"]), (&"x".into(), &body.len().into()));
}

// The reference validator splits on dashes anywhere, cuts the description there and still says "valid".
#[test]
fn a13_dashes_within_a_value_do_not_cut_it() {
    let world = world_with(&skill("x").description("a --- b"));
    let shown = world.json(["show", "skills/x"]);
    assert_eq!((verdicts(&shown), &shown["description"]), ((true, true), &"a --- b".into()));
}

// anthropics/claude-code#25837: a name that is a number crashes the host.
#[test]
fn a14_a_number_as_name_is_text() {
    let world = world_with(&skill("3000"));
    let checked = checked(&world, "skills");
    assert_eq!((verdicts(&checked), codes(&checked)), ((true, true), vec!["N_SCALAR_AS_TEXT"]));
    let shown = world.json(["show", "3000", "--root", "skills"]);
    assert_eq!((&shown["name"], &shown["declared_name"]), (&"3000".into(), &"3000".into()));
}

// gronxb/codex-relay#11: the description is shown as ">-".
#[test]
fn a16_folded_description_is_joined() {
    let world = world_with(&skill("x").description(">-\n  Does a thing.\n  Use it often."));
    assert_eq!(listed(&world, "skills")["description"], "Does a thing. Use it often.");
    assert!(world.run(["list", "skills"]).text().contains("Does a thing. Use it often."));
}

// github/copilot-cli#894: a skill without a licence is refused.
#[test]
fn a17_optional_fields_are_optional() {
    let world = world_with(&skill("x"));
    let shown = world.json(["show", "skills/x"]);
    assert_eq!((verdicts(&shown), codes(&shown)), ((true, true), vec![]));
    let claims = &shown["claims"];
    assert!(
        claims["license"].is_null() && claims["compatibility"].is_null() && claims["allowed_tools"].is_null()
    );
}

// microsoft/vscode#294747: a file without a name works in one host and not in another.
#[test]
fn a18_the_folder_names_a_skill_without_a_name() {
    let world = world_with(&skill("x").frontmatter("description: Does a thing."));
    let listed = listed(&world, "skills");
    assert_eq!((verdicts(&listed), codes(&listed)), ((true, false), vec!["W_NAME_MISSING"]));
    assert_eq!((&listed["name"], &listed["declared_name"]), (&"x".into(), &serde_json::Value::Null));
    assert_eq!(world.json(["show", "x", "--root", "skills"])["name"], "x");
}

// anthropics/claude-code#30611, microsoft/vscode-copilot-release#14131: the validator flags documented fields.
#[test]
fn a20_the_check_knows_every_documented_field() {
    let page = repository_file("docs/frontmatter.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let mut rows_seen = 0;
    for (field, rest) in rows {
        let value = match field {
            "name" | "description" => continue,
            "metadata" => "{a: b}",
            _ => "Read",
        };
        let world = world_with(&skill("x").field(&format!("{field}: {value}")));
        let checked = checked(&world, "skills");
        let standard = rest.starts_with("standard");
        assert_eq!(verdicts(&checked), (true, standard), "{field}");
        assert_eq!(codes(&checked).contains(&"N_HOST_FIELD_NOT_ENFORCED"), !standard, "{field}");
        assert!(!codes(&checked).contains(&"N_FIELD_UNKNOWN"), "{field}");
        rows_seen += 1;
    }
    assert!(rows_seen > 15, "only {rows_seen} fields were seen");
    let misspelt = world_with(&skill("x").field("allowed-tolls: Read")); // typos: ignore
    assert_eq!(codes(&checked(&misspelt, "skills")), ["N_FIELD_UNKNOWN"]);
}

// agent-ecosystem/skill-validator#1, stbenjam/skillsaw#24: a list as allowed-tools ends all further checks.
#[test]
fn a21_a_list_of_tools_is_taken_and_the_check_goes_on() {
    let world = world_with(
        &skill("x").field("allowed-tools: [Read, \"Bash(git *)\"]\ncompatibility: \"\"\nversion: 2"),
    );
    let checked = checked(&world, "skills");
    assert_eq!(verdicts(&checked), (true, false));
    for code in ["N_ALLOWED_TOOLS_FORM", "W_COMPATIBILITY_LENGTH", "N_FIELD_UNKNOWN"] {
        finding(&checked, code);
    }
    let shown = world.json(["show", "skills/x"]);
    assert_eq!(shown["claims"]["allowed_tools"], serde_json::json!(["Read", "Bash(git *)"]));
}

// agentskills/agentskills#366: lists under metadata break strict consumers.
#[test]
fn a24_lists_under_metadata_are_kept_and_named() {
    let world = world_with(
        &skill("x").field("metadata:\n  tags: [a, b]\n  nested: {deep: [1, true, null]}\n  plain: text"),
    );
    let shown = world.json(["show", "skills/x"]);
    assert_eq!(verdicts(&shown), (true, false));
    assert!(text(&finding(&shown, "W_METADATA_VALUE")["message"]).contains("tags, nested"));
    assert_eq!(
        shown["frontmatter"]["metadata"],
        serde_json::json!({"tags": ["a", "b"], "nested": {"deep": [1, true, null]}, "plain": "text"})
    );
}

// Automattic/jetpack#50849: a file with one import line shows that line as its description.
#[test]
fn a25_an_import_line_is_no_skill() {
    let world = world_with(&skill("x").skill_md("@../shared/SKILL.md"));
    world.add("shared", &skill("shared").description("Imported."));
    let listed = listed(&world, "skills");
    assert_eq!((verdicts(&listed), &listed["description"]), ((false, false), &"".into()));
    for arguments in [&["list", "skills"][..], &["show", "skills/x"], &["check", "skills"]] {
        let answer = world.run(arguments).text();
        assert!(!answer.contains("Imported.") && !answer.contains("@.."), "{answer}");
    }
    // The positive control: where it stands, the imported text is seen.
    assert!(world.run(["list", "shared"]).text().contains("Imported."));
}

// anthropics/claude-code 2.1.186 and 2.1.77: malformed frontmatter fails in silence, and the validator is another program.
#[test]
fn a26_check_and_list_give_one_verdict() {
    let cases = [
        skill("x"),
        skill("x").description("Use when: asked"),
        skill("x").description("*starred"),
        skill("x").frontmatter("name: x\n? ["),
        skill("x").frontmatter("name: x\nname: x\ndescription: d"),
        skill("x").frontmatter("- a\n- b"),
        skill("x").frontmatter("name: x\ndescription: ''"),
        skill("x").frontmatter("name: X Y\ndescription: d\nversion: 1"),
        skill("x").skill_md(b"---\nname: x\ndescription: \xff\n---\n"),
        skill("x").skill_md("---\nname: x\n"),
        skill("x").skill_md(""),
    ];
    let mut verdicts_seen = std::collections::BTreeSet::new();
    for case in &cases {
        let world = world_with(case);
        let (checked, listed, shown) =
            (checked(&world, "skills"), listed(&world, "skills"), world.json(["show", "skills/x"]));
        assert_eq!(verdicts(&checked), verdicts(&listed), "{case:?}");
        assert_eq!(verdicts(&checked), verdicts(&shown), "{case:?}");
        assert_eq!(checked["diagnostics"], listed["diagnostics"], "{case:?}");
        assert_eq!(checked["diagnostics"], shown["diagnostics"], "{case:?}");
        verdicts_seen.insert(verdicts(&checked));
    }
    assert_eq!(verdicts_seen.len(), 3);
}
