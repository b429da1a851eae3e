//! How much of anything there may be.

use serde_json::{Value, json};

use super::{Asked, Client, Era, WORK, assert_refused, assert_untouched, go, marked, runs};

// A flood of calls is answered, each of them, and none is queued without end; nothing runs that nobody approved.
#[test]
fn a_flood_is_answered() {
    let world = marked();
    for era in Era::ALL {
        let mut client = Client::start(&world, era, Asked::Cannot, &WORK);
        let calls: Vec<u64> = (0..200)
            .map(|n| {
                let arguments = if n % 2 == 0 { json!({}) } else { go(&n.to_string()) };
                let name = if n % 2 == 0 { "list_skills" } else { "run_skill_script" };
                client.send("tools/call", json!({"name": name, "arguments": arguments}))
            })
            .collect();
        let answers: Vec<Value> = calls.into_iter().map(|id| client.wait(id)["result"].clone()).collect();
        let codes: Vec<_> = answers.iter().map(|answer| &answer["structuredContent"]["code"]).collect();
        let count = |code: &Value| codes.iter().filter(|one| **one == code).count();
        let (fine, busy) = (count(&Value::Null), count(&json!("E_TOOL_BUSY")));
        let asked = count(&json!("E_CONSENT_PENDING")) + count(&json!("E_CONSENT_FULL"));
        assert_eq!(fine + busy + asked, 200, "{codes:?}");
        assert!(fine > 0 && asked > 0, "{codes:?}");
        // When it is over, it serves as before.
        assert_eq!(client.tool("list_skills", &json!({}))["isError"], false);
        assert_eq!(client.leave(), Some(0));
    }
    assert_untouched(&world);
}

// CHK-010: 64 requests are open at most; the next call is refused with the code for that.
#[test]
fn there_are_64_open_requests() {
    let world = marked();
    let mut client = Client::start(&world, Era::July2026, Asked::Cannot, &WORK);
    for n in 0..64 {
        assert_refused(&client.tool("run_skill_script", &go(&n.to_string())), "E_CONSENT_PENDING");
    }
    assert_refused(&client.tool("run_skill_script", &go("64")), "E_CONSENT_FULL");
    // The old ones are still there.
    assert_refused(&client.tool("run_skill_script", &go("0")), "E_CONSENT_PENDING");
    assert_eq!(client.leave(), Some(0));
    assert_untouched(&world);
}

// When all 64 have come to their end, the agent goes on in a new run.
#[test]
fn a_used_up_ledger_is_replaced() {
    let world = marked();
    let mut client = Client::start(&world, Era::July2026, Asked::Silent, &WORK);
    for n in 0..66 {
        let arguments = go(&n.to_string());
        let asked = client.tool("run_skill_script", &arguments);
        assert_eq!(asked["resultType"], "input_required", "{n} {asked}");
        let answer = json!({
            "name": "run_skill_script", "arguments": arguments, "requestState": asked["requestState"],
            "inputResponses": {"approve": {"action": "decline"}},
        });
        assert_refused(&client.ask("tools/call", answer)["result"], "E_SKILL_SCRIPT_DENIED");
    }
    drop(client);
    assert_untouched(&world);
}

// Arguments of up to 64 KiB are taken; a message that is larger than any of ours is dropped, and the next one answered.
#[test]
fn what_is_too_large_is_refused() {
    let world = marked();
    let mut client = Client::start(&world, Era::November2025, Asked::Cannot, &WORK);
    let large =
        |size: usize| json!({"skill_name": "tool", "script_name": "go.sh", "args": ["x".repeat(size)]});
    assert_refused(&client.tool("run_skill_script", &large(64 << 10)), "E_JSON_TOO_LARGE");
    client.send("tools/call", json!({"name": "run_skill_script", "arguments": large(2 << 20)}));
    assert_eq!(client.tool("list_skills", &json!({}))["isError"], false);
    // What fits and is more than a form can show is asked elsewhere, whole.
    let mut client = Client::start(&world, Era::July2026, Asked::Silent, &WORK);
    assert_refused(&client.tool("run_skill_script", &large(20 << 10)), "E_CONSENT_PENDING");
    assert_eq!(client.tool("run_skill_script", &large(100))["resultType"], "input_required");
    assert_eq!(runs(&world), 0);
}
