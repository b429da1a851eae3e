//! E: what other hosts do to a body before anybody reads it.

use fumehood_testkit::{Skill, World, skill};

use crate::{finding, text, world_with};

/// The body as `cat` prints it, as its JSON has it, and as its two halves.
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
}

// anthropics/claude-code#94709, melodic-software/claude-code-plugins#3540: `$1` in an awk program becomes a word of the
// arguments, and the wrong one.
#[test]
fn e2_dollar_words_are_the_authors_text() {
    let skill =
        skill("x").body("Run `awk '{print $1, $NF}' f`, or ```awk '{print $2}'```.\n\t$0 \\$1 $$ ${1} $10\n");
    assert_body_is_kept(&world_with(&skill), &skill);
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
}
