use super::*;

fn entries(text: &str) -> Result<Vec<String>, Malformed> {
    parse_text(text).map(|parsed| parsed.entries)
}

// X-01: the forms found in public skills, bug F1 (a quoted pattern with a space) among them.
#[test]
fn text_is_split_outside_of_parentheses() {
    let cases: &[(&str, &[&str], Form)] = &[
        ("Read", &["Read"], Form::Spaces),
        ("Bash(git:*) Bash(jq:*) Read", &["Bash(git:*)", "Bash(jq:*)", "Read"], Form::Spaces),
        (
            r#"Bash(git:*) Bash(say -v "Samantha":*)"#,
            &["Bash(git:*)", r#"Bash(say -v "Samantha":*)"#],
            Form::Spaces,
        ),
        ("Read, Write,Grep", &["Read", "Write", "Grep"], Form::Commas),
        ("Bash(git add, git commit) Read", &["Bash(git add, git commit)", "Read"], Form::Spaces),
        ("Task(a(b c), d) , mcp__x__*", &["Task(a(b c), d)", "mcp__x__*"], Form::Commas),
        ("  Read\n  Write\t*  ", &["Read", "Write", "*"], Form::Spaces),
        (",,Read,,", &["Read"], Form::Commas),
        ("Bash()", &["Bash()"], Form::Spaces),
        ("Read Read", &["Read", "Read"], Form::Spaces),
    ];
    for (text, expected, form) in cases {
        let parsed = parse_text(text).unwrap();
        assert_eq!(
            (parsed.entries.as_slice(), parsed.form),
            (to_owned(expected).as_slice(), *form),
            "{text}"
        );
    }
}

fn to_owned(entries: &[&str]) -> Vec<String> {
    entries.iter().map(|entry| (*entry).to_owned()).collect()
}

// GRT-06, X-01: declared empty is not absent, and neither is what could not be read.
#[test]
fn nothing_declared_is_still_declared() {
    for blank in ["", "  \n", ",", " , "] {
        assert_eq!(AllowedTools::declared(parse_text(blank)), AllowedTools::Declared(vec![]));
    }
    assert_eq!(AllowedTools::declared(parse_items(&[])), AllowedTools::Declared(vec![]));
    assert_eq!(AllowedTools::declared(parse_text("Read Bash(")), AllowedTools::Declared(vec![]));
    assert_eq!(AllowedTools::declared(parse_text("Read")), AllowedTools::Declared(to_owned(&["Read"])));
    assert_ne!(AllowedTools::Absent, AllowedTools::Declared(vec![]));
}

// X-01
#[test]
fn parentheses_without_partner_or_tool_are_malformed() {
    for text in ["Bash(git:*", "Bash git:*)", ")(", "Bash(a))", "Bash((a)", "Bash(echo \")\":*)"] {
        assert_eq!(entries(text), Err(Malformed::Unbalanced), "{text}");
        assert_eq!(parse_items(&[text]), Err(Malformed::Unbalanced), "{text}");
    }
    for text in ["Bash (git:*)", "(x)", "Read,(x)"] {
        assert_eq!(entries(text), Err(Malformed::NoTool), "{text}");
    }
    assert_eq!(parse_items(&["Read", "(x)"]), Err(Malformed::NoTool));
    assert_eq!(parse_items(&["Bash(", ")"]), Err(Malformed::Unbalanced));
    assert!(entries("Bash(git:*)").is_ok());
}

#[test]
fn list_items_are_taken_whole() {
    let parsed = parse_items(&["vscode/edit files", " Read ", "", "Bash(a, b)", "x, y"]).unwrap();
    assert_eq!(parsed.entries, ["vscode/edit files", "Read", "Bash(a, b)", "x, y"]);
    assert_eq!(parsed.form, Form::List);
}

#[test]
fn limits() {
    let many = |n: usize| vec!["a"; n].join(" ");
    assert_eq!(entries(&many(ENTRIES_MAX)).map(|e| e.len()), Ok(ENTRIES_MAX));
    assert_eq!(entries(&many(ENTRIES_MAX + 1)), Err(Malformed::TooMany));
    let long = |n: usize| "é".repeat(n);
    assert!(entries(&long(ENTRY_CHARS_MAX)).is_ok());
    assert_eq!(entries(&long(ENTRY_CHARS_MAX + 1)), Err(Malformed::TooLong));
    assert_eq!(parse_items(&vec!["a"; ENTRIES_MAX + 1]), Err(Malformed::TooMany));
    assert_eq!(parse_items(&[&long(ENTRY_CHARS_MAX + 1)]), Err(Malformed::TooLong));
    assert!(parse_items(&vec!["a"; ENTRIES_MAX]).is_ok());
}

proptest::proptest! {
    // Splitting loses nothing but separators, and an entry never holds one outside of its parentheses.
    #[test]
    fn entries_are_whole_and_stable(text in r"[a(), *:é\n]{0,40}") {
        if let Ok(parsed) = parse_text(&text) {
            let again = parse_text(&parsed.entries.join(" ")).unwrap();
            assert_eq!(again.entries, parsed.entries);
            let strip = |s: &str| s.replace(|c: char| c == ',' || c.is_whitespace(), "");
            assert_eq!(strip(&parsed.entries.concat()), strip(&text));
        }
    }
}
