//! The ways to a person: through a client that calls again, through one that answers while the call is open, and past the client.

use serde_json::{Value, json};

use super::{
    Asked, Client, Era, WORK, assert_clean, assert_ran, assert_refused, assert_untouched, go, marked, modern,
    runs, says,
};
use crate::text;

/// A call that ends with a question: the state, and the question.
pub(super) fn asked(client: &mut Client, arguments: &Value) -> (String, Value) {
    let result = client.tool("run_skill_script", arguments);
    assert_eq!(result["resultType"], "input_required", "{result}");
    (text(&result["requestState"]).to_owned(), result["inputRequests"]["approve"]["params"].clone())
}

/// The same call made again with an answer.
pub(super) fn again(client: &mut Client, arguments: &Value, state: &str, answer: &Value) -> Value {
    let params = json!({
        "name": "run_skill_script", "arguments": arguments, "requestState": state, "inputResponses": {"approve": answer},
    });
    client.ask("tools/call", params)["result"].clone()
}

// A client that cannot ask gets an answer at once, in every revision, and the same one when it calls again; nothing runs.
#[test]
fn who_cannot_ask_gets_the_id_of_the_request() {
    let world = marked();
    for era in Era::ALL {
        let mut client = Client::start(&world, era, Asked::Cannot, &WORK);
        let first = client.tool("run_skill_script", &go("a"));
        assert_refused(&first, "E_CONSENT_PENDING");
        let said = &first["structuredContent"];
        assert_eq!(said["status"], "approval_required");
        assert!(text(&said["approval_id"]).starts_with("ask_") && said["expires_unix_ms"].is_number());
        let second = client.tool("run_skill_script", &go("a"));
        assert_eq!(second["structuredContent"]["approval_id"], said["approval_id"]);
        let other = client.tool("run_skill_script", &go("b"));
        assert_ne!(other["structuredContent"]["approval_id"], said["approval_id"]);
        assert_eq!(client.leave(), Some(0));
    }
    assert_untouched(&world);
}

// The question says what the terminal's says, its default is no, and a yes is good for exactly one run.
#[test]
fn a_client_that_calls_again_brings_a_yes() {
    let world = marked();
    let mut client = modern(&world);
    let (state, question) = asked(&mut client, &go("a\u{202e}b"));
    let message = text(&question["message"]);
    let revision =
        client.tool("load_skill", &json!({"skill_name": "tool"}))["structuredContent"]["revision"].clone();
    for said in [
        "Run go.sh from tool?",
        text(&revision),
        "--text $'a\\u{202e}b'",
        &format!("MAY CHANGE: {}", world.text("work")),
        "Asked by: mcp",
        "Asked because: no rule",
        "Request: ask_",
    ] {
        assert!(message.contains(said), "{said}\n{message}");
    }
    assert!(!message.contains('\u{202e}'));
    // What is at stake comes before what is told it, and that before what only a comparison needs.
    let at = |said: &str| message.find(said).unwrap_or_else(|| panic!("{said}\n{message}"));
    let places =
        ["Run ", "MAY CHANGE: ", "Network: none", "Command: ", "Skill: ", "Arguments: ", "Revision: "]
            .map(at);
    assert!(places.is_sorted(), "{message}");
    let choice = &question["requestedSchema"]["properties"]["choice"];
    assert_eq!((choice["default"].clone(), choice["enum"].clone()), (json!("deny"), json!(["deny", "once"])));
    assert_eq!(runs(&world), 0);

    assert_ran(&again(&mut client, &go("a\u{202e}b"), &state, &says("accept", "once")));
    assert_eq!(runs(&world), 1);
    // Brought back once more, it is worth nothing.
    let replayed = again(&mut client, &go("a\u{202e}b"), &state, &says("accept", "once"));
    assert_refused(&replayed, "E_CONSENT_DECIDED");
    assert_eq!(runs(&world), 1);
    // The next call is asked about anew.
    let (next, _) = asked(&mut client, &go("a\u{202e}b"));
    assert_ne!(next, state);
    drop(client);
    let receipt = world.json(["runs"])["runs"][0]["receipt"].clone();
    let receipt = world.json(["receipt", text(&receipt)])["receipt"].clone();
    assert!(receipt.to_string().contains("elicitation"), "{receipt}");
    assert_clean(&world);
}

// Whatever is not plainly a yes is a no, and a no stands.
#[test]
fn everything_else_is_a_no() {
    let world = marked();
    for answer in [
        says("accept", "deny"),
        says("accept", "always"),
        says("decline", "once"),
        says("cancel", "once"),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {"choice": true}}),
        json!("once"),
        Value::Null,
    ] {
        let mut client = modern(&world);
        let (state, _) = asked(&mut client, &go("a"));
        assert_refused(&again(&mut client, &go("a"), &state, &answer), "E_SKILL_SCRIPT_DENIED");
        assert_refused(&again(&mut client, &go("a"), &state, &says("accept", "once")), "E_CONSENT_DECIDED");
        assert_refused(&client.tool("run_skill_script", &go("a")), "E_SKILL_SCRIPT_DENIED");
    }
    // Also one that brings the question back without an answer.
    let mut client = modern(&world);
    let (state, _) = asked(&mut client, &go("a"));
    let params = json!({"name": "run_skill_script", "arguments": go("a"), "requestState": state});
    assert_refused(&client.ask("tools/call", params)["result"], "E_SKILL_SCRIPT_DENIED");
    drop(client);
    assert_untouched(&world);
}

// What comes back is bound to the call: other arguments, another tool, another server, forged or cut, it opens nothing.
#[test]
fn a_yes_is_good_for_its_own_call_only() {
    let world = marked();
    let mut client = modern(&world);
    let yes = says("accept", "once");
    let (state, _) = asked(&mut client, &go("a"));
    let (other, _) = asked(&mut client, &go("b"));
    let mut forged = state.clone().into_bytes();
    forged[20] ^= 1;
    let forged = String::from_utf8(forged).unwrap();
    for (arguments, state) in [
        (go("c"), &state),
        (go("a"), &other),
        (go("a"), &forged),
        (go("a"), &state[..state.len() - 1].to_owned()),
        (go("a"), &String::new()),
    ] {
        assert_refused(&again(&mut client, &arguments, state, &yes), "E_CONSENT_STALE");
    }
    let mut elsewhere = modern(&world);
    assert_refused(&again(&mut elsewhere, &go("a"), &state, &yes), "E_CONSENT_STALE");
    assert_eq!(runs(&world), 0);
    // All that did no harm to the request itself.
    assert_ran(&again(&mut client, &go("a"), &state, &yes));
    assert_eq!(runs(&world), 1);
}

// A skill that is changed between the question and the yes is another call.
#[test]
fn a_changed_skill_is_asked_about_anew() {
    let world = marked();
    let mut client = modern(&world);
    let (state, _) = asked(&mut client, &go("a"));
    let script = String::from_utf8(world.read("skills/tool/go.sh")).unwrap();
    world.write("skills/tool/go.sh", format!("{script}echo worse\n"));
    assert_refused(&again(&mut client, &go("a"), &state, &says("accept", "once")), "E_CONSENT_STALE");
    assert_eq!(runs(&world), 0);
    let (state, _) = asked(&mut client, &go("a"));
    let ran = again(&mut client, &go("a"), &state, &says("accept", "once"));
    assert_ran(&ran);
    assert!(text(&ran["structuredContent"]["stdout"]["content"]).contains("worse"));
    assert_eq!(runs(&world), 1);
}

// Where the policy takes no yes from a client, no client is asked.
#[test]
fn a_surface_that_is_shut_is_not_asked() {
    let world = marked();
    world.write("home/.config/fumehood/policy.toml", "[surfaces]\nelicitation = []\n");
    for era in Era::ALL {
        let mut client = Client::start(&world, era, Asked::Says(says("accept", "once")), &WORK);
        let result = client.tool("run_skill_script", &go("a"));
        assert_refused(&result, "E_CONSENT_PENDING");
        assert!(client.heard.iter().all(|message| message["method"] != "elicitation/create"));
    }
    // Shut between the question and the yes, the yes counts for nothing.
    std::fs::remove_file(world.path("home/.config/fumehood/policy.toml")).unwrap();
    let mut client = modern(&world);
    let (state, _) = asked(&mut client, &go("a"));
    world.write("home/.config/fumehood/policy.toml", "[surfaces]\nelicitation = []\n");
    assert_refused(&again(&mut client, &go("a"), &state, &says("accept", "once")), "E_POLICY_DENIED");
    drop(client);
    assert_untouched(&world);
}

// Clients of the older revisions answer while the call is open, and are told what is going on.
#[test]
fn a_client_answers_while_the_call_is_open() {
    for era in [Era::June2025, Era::November2025] {
        let world = marked();
        let mut client = Client::start(&world, era, Asked::Says(says("accept", "once")), &WORK);
        let params =
            json!({"name": "run_skill_script", "arguments": go("a"), "_meta": {"progressToken": "t"}});
        assert_ran(&client.ask("tools/call", params)["result"]);
        assert_eq!(runs(&world), 1);
        let stages: Vec<_> = client
            .heard
            .iter()
            .filter(|message| message["method"] == "notifications/progress")
            .map(|message| text(&message["params"]["message"]).to_owned())
            .collect();
        assert_eq!(stages, ["waiting for approval", "staging", "running", "cleaning up"], "{era:?}");
        let asked = client.heard.iter().filter(|message| message["method"] == "elicitation/create").count();
        assert_eq!(asked, 1);
    }
    for answer in
        [says("accept", "deny"), says("decline", "once"), says("cancel", "once"), json!({"action": "accept"})]
    {
        let world = marked();
        let mut client = Client::start(&world, Era::November2025, Asked::Says(answer), &WORK);
        assert_refused(&client.tool("run_skill_script", &go("a")), "E_SKILL_SCRIPT_DENIED");
        drop(client);
        assert_untouched(&world);
    }
}

// A client that gives up while it is asked has said no.
#[test]
fn a_call_given_up_while_it_is_asked_about_is_a_no() {
    let world = marked();
    let mut client = Client::start(&world, Era::November2025, Asked::Silent, &WORK);
    let id = client.send("tools/call", json!({"name": "run_skill_script", "arguments": go("a")}));
    let question = client.until(|message| message["method"] == "elicitation/create");
    client.notify("notifications/cancelled", &json!({"requestId": id}));
    // What is answered too late counts for nothing.
    client.reply(&question["id"], &says("accept", "once"));
    // The no is there as soon as the call is seen to be given up.
    let denied = client.again_until("run_skill_script", &go("a"), "E_SKILL_SCRIPT_DENIED");
    assert_refused(&denied, "E_SKILL_SCRIPT_DENIED");
    drop(client);
    assert_untouched(&world);
}

// The fourth way from end to end: the request lies at this machine, a person approves it at a terminal, and the same call finds the
// yes; nobody else's call does, and it is good once.
#[test]
fn a_parked_call_is_approved_at_the_terminal() {
    let world = marked();
    for era in Era::ALL {
        let mut client = Client::start(&world, era, Asked::Cannot, &WORK);
        let before = runs(&world);
        let parked = client.tool("run_skill_script", &go("a"));
        assert_refused(&parked, "E_CONSENT_PENDING");
        let id = text(&parked["structuredContent"]["approval_id"]).to_owned();
        let listed = world.json(["pending"]);
        assert!(listed.to_string().contains(&id), "{listed}");
        let (shown, answer) = world.call().at_terminal(["approve", &id], "[y/N]\u{1b}[0m ", "y\n");
        assert_eq!(answer.code, Some(0), "{shown}{}", answer.errors());
        assert_refused(&client.tool("run_skill_script", &go("b")), "E_CONSENT_PENDING");
        assert_ran(&client.tool("run_skill_script", &go("a")));
        assert_refused(&client.tool("run_skill_script", &go("a")), "E_CONSENT_PENDING");
        assert_eq!(runs(&world), before + 1);
        assert_eq!(client.leave(), Some(0));
        assert!(!world.json(["pending"]).to_string().contains("ask_"));
    }
    assert_clean(&world);
}

// Where a passphrase is required, no client can give a yes, since none asks for it: the request waits for the terminal.
#[test]
fn a_passphrase_is_for_the_terminal() {
    let world = marked();
    for era in Era::ALL {
        let _ = std::fs::remove_file(world.path("home/.config/fumehood/fumehood.toml"));
        let mut before = modern(&world);
        let (state, _) = asked(&mut before, &go("a"));
        let settings = format!("[approver]\npassphrase = \"{}\"\n", crate::run::HASH);
        world.write("home/.config/fumehood/fumehood.toml", settings);
        let mut client = Client::start(&world, era, Asked::Says(says("accept", "once")), &WORK);
        assert_refused(&client.tool("run_skill_script", &go("a")), "E_CONSENT_PENDING");
        assert!(client.heard.iter().all(|message| message["method"] != "elicitation/create"));
        let late = again(&mut before, &go("a"), &state, &says("accept", "once"));
        assert_refused(&late, "E_PASSPHRASE_REQUIRED");
    }
    assert_untouched(&world);
}
