//! What the person decided before anybody asks: denied, asked, and read again after the yes.

use fumehood_testkit::{Streams, World};
use serde_json::{Value, json};

use super::{ASKED, answering, assert_clean, flagged, ran, receipt, refused, scripted, yes};
use crate::text;

/// Writes `policy.toml`.
pub(super) fn policy(world: &World, content: &str) {
    world.write("home/.config/fumehood/policy.toml", content);
}

fn plain() -> World {
    flagged(&scripted(&json!([]), "echo ran\n"))
}

fn denied(world: &World, code: &str) -> Value {
    let fault = refused(world, &["go"], 3);
    assert_eq!(fault["code"], code, "{fault}");
    assert!(world.json(["runs"])["runs"].as_array().unwrap().is_empty());
    fault
}

// X-08, CHK-048: a rule that denies the call, and the twin that bears on another.
#[test]
fn a_rule_denies() {
    let world = plain();
    policy(&world, "[[rule]]\nname = \"not this\"\ndeny = { id = \"tool\", tier = \"script\" }\n");
    let fault = denied(&world, "E_POLICY_DENIED");
    assert_eq!(fault["message"], "the policy says no to the call: the rule \"not this\"");
    // Also where a person would say yes: nobody is asked.
    let answer = world.call().run(["run", "skills/tool", "go"]);
    assert_eq!(answer.code, Some(3));
    policy(&world, "[[rule]]\nname = \"not this\"\ndeny = { id = \"other\" }\n");
    assert_eq!(ran(&world, &["go"]).code, Some(0));
    assert_clean(&world);
}

// CHK-029, X-22: nothing runs under a policy that cannot be read as written, and the message says where it is wrong.
#[test]
fn a_malformed_policy_blocks_and_says_where() {
    let world = plain();
    policy(&world, "mode = \"ask\"\n[[rule]]\nname = \"a\"\nallows = {}\n");
    let fault = denied(&world, "E_POLICY_INVALID");
    assert!(text(&fault["message"]).contains("line 4, column 1"), "{fault}");
    // A rule's name is the person's, and still nothing that acts on a terminal.
    policy(&world, "[[rule]]\nname = \"\\u001b[2J\"\ndeny = { id = \"tool\" }\n");
    let fault = refused(&world, &["go"], 3);
    assert!(!text(&fault["message"]).contains('\u{1b}'), "{fault}");
}

// CHK-030, CHK-031, CHK-032
#[test]
fn modes_in_which_nothing_runs() {
    let world = plain();
    for (mode, code) in [("blocked", "E_POLICY_BLOCKED"), ("workflow", "E_POLICY_WORKFLOW")] {
        policy(&world, &format!("mode = \"{mode}\"\n"));
        denied(&world, code);
    }
    policy(&world, "mode = \"ask\"\n");
    assert_eq!(ran(&world, &["go"]).code, Some(0));
}

// CHK-048: read again after the yes. What changed in between does not run, whatever the change is.
#[test]
fn a_policy_that_is_edited_while_the_question_is_open_refuses() {
    for (edit, code) in [
        ("mode = \"blocked\"\n", "E_POLICY_BLOCKED"),
        ("[[rule]]\nname = \"no\"\ndeny = { tool = \"run_tool_go\" }\n", "E_POLICY_DENIED"),
        ("mode = [\n", "E_POLICY_INVALID"),
        ("[surfaces]\npage = []\n", "E_CONSENT_STALE"),
    ] {
        let world = plain();
        let call = world.call();
        let arguments = ["--format", "json", "run", "skills/tool", "go"];
        let mut session = call.sit_down(arguments, Streams::Pipes);
        session.see(ASKED);
        policy(&world, edit);
        session.keys("y\n");
        let (_, answer) = session.leave();
        let fault: Value = serde_json::from_slice(&answer.stderr).unwrap();
        assert_eq!(fault["code"], code, "{edit}");
        assert!(world.json(["runs"])["runs"].as_array().unwrap().is_empty(), "{edit}");
    }
    // Nothing changed, so the yes is good.
    let world = plain();
    policy(&world, "mode = \"ask\"\n");
    assert_eq!(yes(&world, ["run", "skills/tool", "go"]).1.code, Some(0));
}

// an allow rule does not waive the question for a script, and the question says so.
#[test]
fn an_allow_rule_waives_no_question_for_a_script() {
    let world = plain();
    let revision = super::revision(&world, "skills/tool");
    policy(
        &world,
        &format!("[[rule]]\nname = \"all\"\nallow = {{ source = \"path\", revision = \"{revision}\" }}\n"),
    );
    let (shown, answer) = yes(&world, ["run", "skills/tool", "go"]);
    assert!(
        shown.contains("the rule \"all\" allows it, but for scripts only a trust scope waives"),
        "{shown}"
    );
    assert_eq!(answer.code, Some(0));
    assert_eq!(receipt(&world)["authority"]["kind"], "consent");
    policy(&world, "[[rule]]\nname = \"mine\"\nask = { id = \"tool\" }\n");
    let (shown, answer) = answering(&world.call(), ["run", "skills/tool", "go"], "n\n");
    assert!(shown.contains("the rule \"mine\""), "{shown}");
    assert_eq!(answer.code, Some(3));
}

// a yes from a surface that the policy does not take one from is none.
#[test]
fn a_yes_counts_only_from_a_surface_that_may_give_it() {
    let world = plain();
    policy(&world, "[surfaces]\nflag = []\n");
    let fault = denied(&world, "E_SKILL_SCRIPT_DENIED");
    assert!(text(&fault["advice"]).contains("[surfaces]"), "{fault}");
    assert_eq!(yes(&world, ["run", "skills/tool", "go"]).1.code, Some(0));
    policy(&world, "[surfaces]\nterminal = [\"revision\"]\n");
    assert_eq!(ran(&world, &["go"]).code, Some(0));
    // Nobody is asked there, so there is nothing to answer.
    let call = world.call();
    let (shown, answer) = call.sit_down(["run", "skills/tool", "go"], Streams::Pipes).leave();
    assert_eq!(answer.code, Some(3), "{shown}");
    assert!(!shown.contains("[y/N]"), "{shown}");
}
