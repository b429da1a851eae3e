//! E: what other hosts do to a body before anybody reads it.

use fumehood_testkit::{Skill, World, skill};
use serde_json::json;

use crate::mcp::given;
use crate::run::{flagged, ran, scripted};
use crate::{finding, text, world_with};

/// Prints its arguments, each in brackets.
const PRINTS: &str = "for argument; do printf '[%s]' \"$argument\"; done\n";

/// The body as `cat` prints it, as its JSON has it, as its two halves, and as a model is given it.
fn assert_body_is_kept(world: &World, skill: &Skill) {
    let whole = skill.text();
    assert_eq!(world.run(["cat", "skills/x", "SKILL.md"]).text(), whole);
    let variables = ["ARGUMENTS", "CLAUDE_SKILL_DIR", "CLAUDE_SESSION_ID", "baseDir", "1"];
    let call = variables.iter().fold(world.call(), |call, name| call.variable(name, "EXPANDED"));
    let cat = call.json(["cat", "skills/x", "SKILL.md"]);
    assert_eq!((&cat["text"], &cat["size"]), (&whole.as_str().into(), &whole.len().into()));
    let half = (whole.len() / 2).to_string();
    let first = call.run(["cat", "skills/x", "SKILL.md", "--length", &half]);
    let second = call.run(["cat", "skills/x", "SKILL.md", "--offset", &half]);
    assert_eq!([first.stdout, second.stdout].concat(), whole.as_bytes());
    let shown = call.run(["show", "skills/x", "--format", "json"]).text();
    assert!(!shown.contains("EXPANDED"), "{shown}");
    let loaded = given(world, "load_skill", &json!({"name": "x"}));
    let body = whole.split_once("\n---\n").unwrap().1;
    assert!(text(&loaded["content"]).contains(body), "{loaded}");
}

// anthropics/claude-code#94709, melodic-software/claude-code-plugins#3540: `$1` in an awk program becomes a word of the
// arguments, and the wrong one.
#[test]
fn e2_dollar_words_are_the_authors_text() {
    let skill =
        skill("x").body("Run `awk '{print $1, $NF}' f`, or ```awk '{print $2}'```.\n\t$0 \\$1 $$ ${1} $10\n");
    assert_body_is_kept(&world_with(&skill), &skill);
}

// Jamie-BitFlight/claude_skills#2952: arguments are spliced into a quoted shell string, and end it.
#[test]
fn e3_a_value_is_one_argument_whatever_it_says() {
    let params = json!([{"name": "s", "type": "string", "flag": "--s"}]);
    let splices = "eval \"printf '[%s]' \\\"$1\\\"\"\n";
    let world = flagged(&scripted(&params, PRINTS).file("other.sh", PRINTS).file("splices.sh", splices));
    let ends_it = "\"; echo SPLICED; \"";
    for value in
        [ends_it, "'; echo SPLICED; '", "$(echo SPLICED)", "`echo SPLICED`", "a b\tc", "${HOME} ~ * ?"]
    {
        let declared = ran(&world, &["go", "--param", &format!("s={value}")]);
        assert_eq!(declared.text(), format!("[--s][{value}]"), "{}", declared.errors());
        let undeclared = ran(&world, &["other.sh", "--", value, ""]);
        assert_eq!(undeclared.text(), format!("[{value}][]"), "{}", undeclared.errors());
    }
    // The positive control: a script that splices runs what such a value says.
    assert_eq!(ran(&world, &["splices.sh", "--", ends_it]).text(), "[]SPLICED\n");
}

// anthropics/claude-code 2.1.233: a value that was put in is expanded once more.
#[test]
fn e4_templates_stay_templates() {
    let templates = "$ARGUMENTS $ARGUMENTS[0] ${CLAUDE_SKILL_DIR} {baseDir} {{x}} <%= x %>\n@notes/file.md\n!`echo EXPANDED`\n";
    let skill = skill("x").description("\"$ARGUMENTS of ${CLAUDE_SESSION_ID}\"").body(templates);
    let world = world_with(&skill);
    assert_body_is_kept(&world, &skill);
    let shown = world.json(["show", "skills/x"]);
    assert_eq!(shown["description"], "$ARGUMENTS of ${CLAUDE_SESSION_ID}");
    let note = text(&finding(&shown, "N_HOST_FEATURE")["message"]).to_owned();
    for feature in ["!`command`", "$ARGUMENTS", "${CLAUDE_…}", "{baseDir}", "@file"] {
        assert!(note.contains(feature), "{feature} in {note}");
    }
    // Nor is an argument one: it reaches the script as it was typed.
    let world = flagged(&scripted(&json!([]), "").file("other.sh", PRINTS));
    let value = "$ARGUMENTS $1 ${CLAUDE_SKILL_DIR} {baseDir} {{x}}";
    assert_eq!(ran(&world, &["other.sh", "--", value]).text(), format!("[{value}]"));
}
