//! What the person decided before anybody asks: denied, asked, and read again after the yes.

use fumehood_testkit::{Streams, World};
use serde_json::{Value, json};

use super::{ASKED, answering, assert_clean, flagged, ran, receipt, refused, scripted, yes};
use crate::schemas::{assert_notices, assert_valid};
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

/// What `policy` and these words answer in JSON, which must have its shape, and the exit code.
fn said(world: &World, words: &[&str]) -> (Option<i32>, Value) {
    let answer = world.run(["--format", "json", "policy"].iter().chain(words));
    assert_eq!(answer.errors(), "", "{words:?}");
    let shape = format!("policy-{}", words[0]);
    let value = assert_valid(&shape, &answer.stdout);
    assert_notices(&shape, &value);
    (answer.code, value)
}

// CHK-029: what is in force, what is wrong and where, and what may not have been meant.
#[test]
fn check_says_what_is_in_force() {
    let world = plain();
    let (code, absent) = said(&world, &["check"]);
    assert_eq!((code, &absent["state"], &absent["mode"]), (Some(0), &json!("absent"), &json!("ask")));
    policy(
        &world,
        "[[rule]]\nname = \"any\"\nallow = { source = \"nowhere\", id = \"tool\", revision = \"*\" }\n\
         [[rule]]\nname = \"scripts\"\nallow = { source = \"path\", tier = \"script\", revision = \"*\" }\n",
    );
    let (code, read) = said(&world, &["check"]);
    let codes = crate::texts(&read["findings"], "code");
    assert_eq!((code, &read["state"], read["rules"].as_u64()), (Some(0), &json!("read"), Some(2)));
    assert_eq!(codes, ["W_POLICY_ANY_REVISION", "W_POLICY_UNKNOWN_SOURCE", "W_POLICY_NEVER_WAIVES"]);
    assert_ne!(read["sha256"], absent["sha256"]);
    policy(&world, "mode = \"ask\"\n[[rule]]\nname = \"a\"\nallows = {}\n");
    let (code, wrong) = said(&world, &["check"]);
    assert_eq!((code, &wrong["state"], &wrong["mode"]), (Some(2), &json!("unreadable"), &json!("blocked")));
    assert_eq!((&wrong["error"]["line"], &wrong["error"]["column"]), (&json!(4), &json!(1)));
    let text = world.run(["policy", "check"]);
    assert_eq!(text.code, Some(2));
    assert!(text.text().contains("line 4, column 1: "), "{}", text.text());
}

// What would be decided, and for each rule why; no value of an argument, and nothing ran.
#[test]
fn explain_names_no_argument() {
    let params = json!([
        {"name": "text", "type": "string", "description": "A text.", "flag": "--text"},
        {"name": "count", "type": "integer", "description": "A number.", "flag": "--count"},
    ]);
    let world = flagged(&scripted(&params, "echo ran\n"));
    policy(
        &world,
        "[[rule]]\nname = \"long\"\ndeny = { arguments = { text = \"swordfish\" } }\n\
         [[rule]]\nname = \"other\"\ndeny = { id = \"other\" }\n\
         [[rule]]\nname = \"counted\"\nask = { tool = \"run_tool_go\", arguments = { count = { at_least = 3 } } }\n",
    );
    let explain = |value: &str| {
        let value = format!("text={value}");
        said(&world, &["explain", "skills/tool", "go", "--param", &value]).1
    };
    let denied = explain("swordfish");
    assert!(!denied.to_string().contains("swordfish"), "{denied}");
    assert_eq!((&denied["outcome"], &denied["rule"]), (&json!("deny"), &json!("long")));
    assert_eq!(denied["tier"], "script");
    let asked = explain("tuna");
    assert!(!asked.to_string().contains("tuna"), "{asked}");
    // The count was not given, so it is missing and counts against the call.
    assert_eq!((&asked["outcome"], &asked["rule"]), (&json!("ask"), &json!("counted")));
    let rules = asked["rules"].as_array().unwrap();
    assert_eq!(rules[0]["reasons"], json!(["arguments.text differs"]));
    assert_eq!(rules[1]["reasons"], json!(["id differs"]));
    assert_eq!(rules[2]["decides"], true);
    let text = world.run(["policy", "explain", "skills/tool", "go", "--param", "text=tuna"]);
    assert!(text.text().starts_with("ask: the rule \"counted\"\n"), "{}", text.text());
    assert!(!text.text().contains("tuna"));
    // What could not be called is not explained.
    assert_eq!(
        world.fault(["policy", "explain", "skills/tool", "go", "--param", "count=x"], 2)["code"],
        "E_ARGUMENT_INVALID"
    );
    assert!(world.json(["runs"])["runs"].as_array().unwrap().is_empty());
}

#[test]
fn test_plays_the_cases_of_the_file() {
    let world = plain();
    let case = |expect: &str| {
        policy(
            &world,
            &format!(
                "[[rule]]\nname = \"guests\"\ndeny = {{ agent = \"guest\" }}\n\
                 [[case]]\nname = \"a guest\"\nexpect = \"{expect}\"\nfacts = {{ agent = \"guest\" }}\n"
            ),
        );
        said(&world, &["test"])
    };
    let (code, met) = case("deny");
    assert_eq!((code, &met["met"], &met["missed"]), (Some(0), &json!(1), &json!(0)));
    let (code, missed) = case("ask");
    assert_eq!((code, &missed["missed"]), (Some(2), &json!(1)));
    assert_eq!(missed["cases"][0]["rules"][0]["decides"], true);
    policy(&world, "mode = [\n");
    assert_eq!(world.fault(["policy", "test"], 3)["code"], "E_POLICY_INVALID");
}
