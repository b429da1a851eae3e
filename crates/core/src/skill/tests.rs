use super::*;
use crate::yaml::Value;

fn read_as(text: &str, directory: &str) -> Reading {
    read(text.as_bytes(), Found { directory, file: "SKILL.md" })
}

fn codes(reading: &Reading) -> Vec<&'static str> {
    reading.diagnostics.iter().map(|d| d.code.as_str()).collect()
}

/// Loadable, conformant, codes.
fn verdict(text: &str) -> (bool, bool, Vec<&'static str>) {
    let reading = read_as(text, "x");
    (reading.skill.is_some(), reading.is_conformant(), codes(&reading))
}

fn loaded(text: &str) -> SkillText {
    let reading = read_as(text, "x");
    reading.skill.unwrap_or_else(|| panic!("{:?}", reading.diagnostics))
}

const GOOD: &str = "---\nname: x\ndescription: Does a thing.\n---\n# Body\n";

// CHK-062: SKILL.md is all that is required.
#[test]
fn the_minimal_skill_says_nothing() {
    assert_eq!(verdict(GOOD), (true, true, vec![]));
    let skill = loaded(GOOD);
    assert_eq!((skill.name.as_str(), skill.description.as_str()), ("x", "Does a thing."));
    assert_eq!(&GOOD[skill.body.clone()], "# Body\n");
    assert_eq!(skill.allowed_tools, AllowedTools::Absent);
}

// CHK-066
#[test]
fn body_is_the_rest_byte_for_byte() {
    for (text, body) in [
        ("---\nname: x\ndescription: d\n---", ""),
        ("---\nname: x\ndescription: d\n---\n", ""),
        ("---\nname: x\ndescription: d\n---  \n\n a\t\n---\nb", "\n a\t\n---\nb"),
        ("---\r\nname: x\r\ndescription: d\r\n---\r\na\r\nb", "a\r\nb"),
        (
            "\u{feff}---\nname: x\ndescription: d\n---\nawk '{print $1}' $ARGUMENTS",
            "awk '{print $1}' $ARGUMENTS",
        ),
    ] {
        assert_eq!(&text[loaded(text).body], body, "{text:?}");
    }
}

#[test]
fn places_count_from_the_start_of_the_file() {
    let reading = read_as("---\nname: x\ndescription: Use when: asked\n---\n", "x");
    let finding = &reading.diagnostics[0];
    assert_eq!(finding.code.as_str(), "W_FRONTMATTER_QUOTED");
    assert_eq!(finding.place.map(|place| place.line), Some(3));
    let reading = read_as("\n\n---\nname: x\nname: y\n---\n", "x");
    let duplicate = reading.diagnostics.last().unwrap();
    assert_eq!(
        (duplicate.code, duplicate.place),
        (Code::FrontmatterDuplicate, Some(Place { line: 5, column: 1 }))
    );
    let unknown = read_as("---\nname: x\ndescription: d\nversion: 1\n---\n", "x");
    assert_eq!(unknown.diagnostics[0].place, Some(Place { line: 4, column: 1 }));
}

// Found by the fuzzer: YAML ends a line at a lone carriage return, so places lay beyond the file's last line.
#[test]
fn a_lone_carriage_return_ends_no_line() {
    let text = "---\nname: x\rallowed-tools: Bash\ndescription: d\r\r\nversion: 1\n---\n";
    let reading = read_as(text, "x");
    let finding = &reading.diagnostics[0];
    assert_eq!((finding.code, finding.place), (Code::FrontmatterQuoted, Some(Place { line: 2, column: 8 })));
    let skill = reading.skill.unwrap();
    assert_eq!(skill.declared_name.as_deref(), Some("x\rallowed-tools: Bash"));
    assert_eq!((skill.description.as_str(), skill.allowed_tools), ("d", AllowedTools::Declared(vec![])));
    let keys: Vec<_> = skill.fields.iter().map(|entry| (entry.key.as_str(), entry.place.line)).collect();
    assert_eq!(keys, [("name", 2), ("description", 3), ("version", 4)]);
}

// CHK-067
#[test]
fn limits_of_the_file() {
    let padded = |n: usize| {
        let mut text = GOOD.to_owned();
        text.push_str(&"x".repeat(n - GOOD.len()));
        text
    };
    assert!(read_as(&padded(SKILL_MD_BYTES_MAX), "x").skill.is_some());
    assert_eq!(verdict(&padded(SKILL_MD_BYTES_MAX + 1)), (false, false, vec!["E_SKILL_MD_TOO_LARGE"]));
    let block = |n: usize| {
        let head = "name: x\ndescription: d\n#";
        format!("---\n{head}{}\n---\n", "x".repeat(n - head.len() - 1))
    };
    assert!(read_as(&block(crate::limits::FRONTMATTER_BYTES_MAX), "x").skill.is_some());
    assert_eq!(
        verdict(&block(crate::limits::FRONTMATTER_BYTES_MAX + 1)),
        (false, false, vec!["E_FRONTMATTER_TOO_LARGE"])
    );
    let deep =
        |n: usize| format!("---\nname: x\ndescription: d\nm: {}{}\n---\n", "[".repeat(n), "]".repeat(n));
    assert!(read_as(&deep(15), "x").skill.is_some());
    assert_eq!(verdict(&deep(16)), (false, false, vec!["E_FRONTMATTER_TOO_LARGE"]));
}

// CHK-065: 1,024 characters of description and 500 of compatibility, at the limit and one over.
#[test]
fn lengths_of_fields() {
    let with = |description: &str, extra: &str| {
        verdict(&format!("---\nname: x\ndescription: \"{description}\"\n{extra}---\n"))
    };
    assert_eq!(with(&"😀".repeat(1024), ""), (true, true, vec![]));
    assert_eq!(with(&"😀".repeat(1025), ""), (true, false, vec!["W_DESCRIPTION_TOO_LONG"]));
    let cut = loaded(&format!("---\nname: x\ndescription: {}\n---\n", "é".repeat(2000)));
    assert_eq!(cut.catalogue_description(), "é".repeat(1024));
    assert_eq!(cut.description.chars().count(), 2000);
    assert_eq!(with("d", &format!("compatibility: {}\n", "c".repeat(500))), (true, true, vec![]));
    let long = format!("compatibility: {}\n", "c".repeat(501));
    assert_eq!(with("d", &long), (true, false, vec!["W_COMPATIBILITY_LENGTH"]));
    assert_eq!(with("d", "compatibility: \"\"\n"), (true, false, vec!["W_COMPATIBILITY_LENGTH"]));
}

// GRT-06, X-01
#[test]
fn declared_empty_is_not_absent() {
    let tools = |line: &str| loaded(&format!("---\nname: x\ndescription: d\n{line}---\n")).allowed_tools;
    let some = |names: &[&str]| AllowedTools::Declared(names.iter().map(|n| (*n).to_owned()).collect());
    assert_eq!(tools(""), AllowedTools::Absent);
    assert_eq!(tools("allowed-tools:\n"), some(&[]));
    assert_eq!(tools("allowed-tools: ~\n"), some(&[]));
    assert_eq!(tools("allowed-tools: \"\"\n"), some(&[]));
    assert_eq!(tools("allowed-tools: []\n"), some(&[]));
    assert_eq!(tools("allowed-tools: {a: b}\n"), some(&[]));
    assert_eq!(tools("allowed-tools: [[a]]\n"), some(&[]));
    assert_eq!(tools("allowed-tools: Read Grep\n"), some(&["Read", "Grep"]));
    assert_eq!(tools("allowed-tools: [Read, \"a b/c\"]\n"), some(&["Read", "a b/c"]));
    // A rescued block declares nothing, whatever it says.
    assert_eq!(tools("allowed-tools: Read\nlicense: a: b\n"), some(&[]));
}

#[test]
fn rescue_quotes_single_lines_and_keeps_the_rest() {
    let text = "---\nname: x\ndescription: Use when: \"asked\" \\ or\n  not: ever\nversion: 2\n---\n";
    let skill = loaded(text);
    assert_eq!(skill.rescue, Rescue::Quoted);
    assert_eq!(skill.description, "Use when: \"asked\" \\ or not: ever");
    let version = skill.fields.iter().find(|entry| entry.key == "version").unwrap();
    assert_eq!(version.place, Place { line: 5, column: 1 });
    for value in
        ["*starts like an alias", "&anchor", "!important: x", "@at", "`tick`", "%x", "a: b: c", "[half"]
    {
        let skill = loaded(&format!("---\nname: x\ndescription: {value}\n---\n"));
        assert_eq!((skill.rescue, skill.description.as_str()), (Rescue::Quoted, value));
    }
}

// What one reader takes for a comment and another for a line of its own is no frontmatter for both.
#[test]
fn line_ends_that_readers_dispute_are_not_conformant() {
    for end in ["\u{85}", "\u{2028}", "\u{2029}", "\r"] {
        let reading = read_as(&format!("---\nname: x\ndescription: d #{end}allowed-tools: Bash\n---\n"), "x");
        assert!(!reading.is_conformant(), "{end:?}");
        assert_eq!(reading.skill.unwrap().allowed_tools, AllowedTools::Declared(Vec::new()), "{end:?}");
    }
}

#[test]
fn many_unknown_fields_are_one_finding() {
    let fields: String = (0..2000).map(|n| format!("k{n}: 1\n")).collect::<Vec<_>>().concat();
    let reading = read_as(&format!("---\nname: x\ndescription: d\n{fields}---\n"), "x");
    assert_eq!(codes(&reading), ["N_FIELD_UNKNOWN"]);
    assert!(reading.diagnostics[0].message.len() < 400, "{}", reading.diagnostics[0].message);
}

#[test]
fn rescue_by_lines_takes_name_and_description_only() {
    let text = "---\nname: x\ndescription: >-\n  Two\n  lines\nmeta: {\nlicense: MIT\n---\nbody";
    let skill = loaded(text);
    assert_eq!((skill.rescue, skill.description.as_str()), (Rescue::Quoted, "Two lines"));
    let text = "---\nname: 'x'\ndescription: >-\n  Two\n  lines\nlicense: MIT\n? [\n---\nbody";
    let skill = loaded(text);
    assert_eq!(
        (skill.rescue, skill.description.as_str(), skill.name.as_str()),
        (Rescue::Lines, "Two lines", "x")
    );
    assert_eq!((skill.license, skill.fields.len()), (None, 2));
    assert_eq!(
        verdict("---\ndescription: a\ndescription: b\n? [\n---\n"),
        (false, false, vec!["E_FRONTMATTER_DUPLICATE_KEY"])
    );
    assert_eq!(verdict("---\nname: x\n? [\n---\n"), (false, false, vec!["E_FRONTMATTER_INVALID"]));
    assert_eq!(verdict("---\njust text\n---\n"), (false, false, vec!["E_FRONTMATTER_INVALID"]));
    assert_eq!(verdict("---\n- a\n---\n"), (false, false, vec!["E_FRONTMATTER_INVALID"]));
}

#[test]
fn hidden_text_is_pointed_at_and_ordinary_joiners_are_not() {
    let with = |text: &str| verdict(&format!("---\nname: x\ndescription: d\n---\n{text}\n"));
    for hidden in ["a\u{202e}b", "a\u{200b}b", "\u{e0041}", "\u{1b}[2J", "\u{2066}"] {
        assert_eq!(with(hidden), (true, true, vec!["W_HIDDEN_TEXT"]), "{hidden:?}");
    }
    for ordinary in
        ["é 漢字", "\u{1f468}\u{200d}\u{1f469}", "\u{2764}\u{fe0f}", "می\u{200c}خواهم", "tab\tcr\r"]
    {
        assert_eq!(with(ordinary), (true, true, vec![]), "{ordinary:?}");
    }
    let reading = read_as("---\nname: x\ndescription: \"a\u{200b}\u{200b}\"\n---\n", "x");
    assert_eq!(reading.diagnostics[0].place, Some(Place { line: 3, column: 16 }));
    assert!(reading.diagnostics[0].message.starts_with("2 hidden characters, the first is \\u{200b}"));
}

// CHK-066
#[test]
fn unknown_fields_stay_in_order() {
    let skill = loaded("---\nzeta: 1\nname: x\nalpha: [a, {b: c}]\ndescription: d\n---\n");
    let keys: Vec<_> = skill.fields.iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(keys, ["zeta", "name", "alpha", "description"]);
    assert!(matches!(skill.fields[2].value.value, Value::Sequence(_)));
}

// CHK-078; found in public skills: an exclamation mark at the end of a code span, and decorators, were taken for features.
#[test]
fn host_features_are_noted_where_they_are_used() {
    let place = |text: &str| {
        let reading = read_as(text, "x");
        let found = reading.diagnostics.iter().find(|found| found.code == Code::HostFeature)?;
        let names = found.message.split(": ").nth(1).unwrap().split(';').next().unwrap().to_owned();
        Some((names, found.place.unwrap().line))
    };
    let body = |line: &str| place(&format!("---\nname: x\ndescription: d\n---\n\n{line}\n"));
    let on_line_6 = |name: &str| Some((name.to_owned(), 6));
    for line in ["!`date`", "Now: !`git log -1`", "```!", "  ```!bash"] {
        assert_eq!(body(line), on_line_6("!`command`"), "{line}");
    }
    for line in [
        "Add `!` before `:`",
        "`info!`, `warn!`",
        "`Hello, ${name}!`; then `x`",
        "- **`!`command`` syntax**",
        "a!`b`",
        "ends !`",
        "empty !``",
    ] {
        assert_eq!(body(line), None, "{line}");
    }
    for line in ["@src/utils.js", "@README.md", "@~/notes/a.txt\r"] {
        assert_eq!(body(line), on_line_6("@file"), "{line}");
    }
    for line in [
        "@app.get(\"/users/{id}\")",
        "@pytest.fixture",
        "@Component({...})",
        "@a/b c",
        "me@x.org/y",
        " @a/b",
        "@",
    ] {
        assert_eq!(body(line), None, "{line}");
    }
    assert_eq!(body("{baseDir}/x $ARGUMENTS"), on_line_6("$ARGUMENTS, {baseDir}"));
    assert_eq!(body("${CLAUDE_PLUGIN_ROOT}"), on_line_6("${CLAUDE_…}"));
    let both = "---\nname: x\ndescription: d\ncontext: fork\nhooks: {}\n---\n$ARGUMENTS\n";
    assert_eq!(place(both), Some(("$ARGUMENTS, context".to_owned(), 4)));
    assert_eq!(place("---\nname: x\ndescription: d\ncontext: main\n---\n"), None);
}

// CHK-081: a body that needs tools of its host is marked; one that only talks about tools is not.
#[test]
fn tools_of_a_host_are_noted_where_the_body_names_them() {
    let named = |body: &str| {
        let reading = read_as(&format!("---\nname: x\ndescription: d\n---\n\n{body}\n"), "x");
        assert!(reading.is_conformant());
        let found = reading.diagnostics.iter().find(|found| found.code == Code::BodyTools)?;
        let names = found.message.strip_prefix("the body names tools of its host: ").unwrap();
        let names = names.strip_suffix("; fumehood offers none of them").unwrap();
        Some((names.to_owned(), found.place.unwrap().line))
    };
    for (line, name) in [
        ("Use the Bash tool to list files.", "Bash"),
        ("Use the `Read` tool.", "Read"),
        ("`Grep` tool first", "Grep"),
        ("The **Task** tool starts one.", "Task"),
        ("Call `WebFetch`, then `WebFetch(url)`.", "WebFetch"),
        ("with the TodoWrite tool", "TodoWrite"),
        ("Call mcp__github__create_issue now", "mcp__github__create_issue"),
        ("`mcp__my-server__do_it(x)`", "mcp__my-server__do_it"),
        ("`apply_patch`", "apply_patch"),
    ] {
        assert_eq!(named(line), Some((name.to_owned(), 6)), "{line}");
    }
    for line in [
        "Write tool descriptions with care.",
        "Read the toolbox first, then use the tool.",
        "The Bash toolkit, and bash, and `Bash`.",
        "a command line tool",
        "WebFetching is fun; TodoWriter too.",
        "mcp__ and mcp__server and mcp____x",
        "the readme tool",
    ] {
        assert_eq!(named(line), None, "{line}");
    }
    let both = "Text.\n\nThe Read tool, `WebSearch`.\nThe Read tool again, mcp__a__b.";
    assert_eq!(named(both), Some(("Read, WebSearch, mcp__a__b".to_owned(), 8)));
    let many: Vec<_> = (0..10).map(|n| format!("mcp__s__t{n}")).collect();
    let (all, _) = named(&many.join(" ")).unwrap();
    assert!(all.ends_with("mcp__s__t7 and 2 more"), "{all}");
    let long = format!("mcp__s__{}", "t".repeat(100_000));
    assert!(named(&long).unwrap().0.len() < 300);
}

#[test]
fn what_was_refused_names_its_line() {
    let reading =
        read(b"---\nname: x\ndescription: a\xff\n---\n", Found { directory: "x", file: "SKILL.md" });
    assert_eq!(codes(&reading), ["E_SKILL_MD_ENCODING"]);
    assert_eq!(reading.diagnostics[0].place, Some(Place { line: 3, column: 15 }));
    let reading = read(b"---\nna\0me: x\n---\n", Found { directory: "x", file: "SKILL.md" });
    assert_eq!((codes(&reading), reading.diagnostics[0].place.unwrap().line), (vec!["E_SKILL_MD_NUL"], 2));
}

proptest::proptest! {
    #[test]
    fn any_text_gives_a_verdict(text in "(---\n)?[a-z:\\[\\]{}&*!|>\"'#%@`?, \r\n\t-]{0,80}(\n---\n)?.{0,20}") {
        let reading = read_as(&text, "x");
        assert!(reading.skill.is_some() || !reading.diagnostics.is_empty());
        if let Some(skill) = reading.skill {
            assert!(text.ends_with(&text[skill.body]));
        }
    }
}
