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

// A client that only talks is not listened to for ever, and what it would be answered is not piled up without end.
#[test]
fn who_only_talks_is_not_listened_to() {
    let world = marked();
    let mut client = Client::start(&world, Era::July2026, Asked::Cannot, &WORK);
    let status = format!("/proc/{}/status", client.pid());
    let resident = || {
        let status = std::fs::read_to_string(&status).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok())
    };
    client.tool("list_skills", &json!({}));
    client.only_talk();
    // 40 MB of questions, each with an answer; the server ends, and what is written then goes nowhere.
    let mut most = 0;
    for n in 0..100_000 {
        client.send("nobody/knows", json!({}));
        if n % 1000 == 0 {
            most = most.max(resident().unwrap_or_default());
        }
    }
    assert!(most < 200_000, "{most} kB");
    assert_eq!(client.leave(), Some(0));
    assert_untouched(&world);
}

// A client has 16 subscriptions at most; a lot of them are refused, and it is served as before.
#[test]
fn there_are_16_subscriptions() {
    let world = marked();
    let mut client = Client::start(&world, Era::July2026, Asked::Cannot, &WORK);
    let ids: Vec<u64> = (0..40)
        .map(|_| client.send("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})))
        .collect();
    for id in &ids[16..] {
        assert!(client.wait(*id)["error"]["message"].is_string());
    }
    // One that is given up makes room.
    client.notify("notifications/cancelled", &json!({"requestId": ids[0]}));
    assert_eq!(client.tool("list_skills", &json!({}))["isError"], false);
    assert_eq!(client.leave(), Some(0));
}

// The same call made many times while it is asked about is asked about in one form.
#[test]
fn the_same_call_is_asked_about_once() {
    let world = marked();
    for era in [Era::June2025, Era::November2025] {
        let mut client = Client::start(&world, era, Asked::Silent, &WORK);
        let call = json!({"name": "run_skill_script", "arguments": go("a")});
        client.send("tools/call", call.clone());
        let form = client.until(|message| message["method"] == "elicitation/create");
        for _ in 0..20 {
            assert_refused(&client.ask("tools/call", call.clone())["result"], "E_CONSENT_PENDING");
        }
        assert!(client.heard.iter().all(|message| message["method"] != "elicitation/create"));
        client.reply(&form["id"], &json!({"action": "decline"}));
        client.again_until("run_skill_script", &go("a"), "E_SKILL_SCRIPT_DENIED");
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

// What is no message has an answer that names no request, since nobody can tell which one it was; and what is one is answered as ever.
#[test]
fn what_is_no_message_is_answered() {
    let world = marked();
    for era in Era::ALL {
        let mut client = Client::start(&world, era, Asked::Cannot, &WORK);
        let said: [(&[u8], i64); 5] = [
            (b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"meth\n", -32700),
            (b"hello\n", -32700),
            (b"\"\xff\"\n", -32700),
            (b"[1, 2]\n", -32600),
            (&[&vec![b' '; 2 << 20][..], b"\n"].concat(), -32600),
        ];
        for (line, code) in said {
            client.say(line);
            let answer = client.until(|message| message["error"].is_object());
            assert_eq!(answer["error"]["code"], code, "{answer}");
            assert!(answer["id"].is_null() && answer["error"]["message"].is_string(), "{answer}");
        }
        client.say(b"\n\r\n");
        // Of a flood not each has an answer, and nothing is piled up.
        client.say(&b"x\n".repeat(200_000));
        assert_eq!(client.tool("list_skills", &json!({}))["isError"], false);
        let errors = client.heard.iter().filter(|message| message["error"].is_object());
        assert!((1..200_000).contains(&errors.count()));
        assert_eq!(client.leave(), Some(0));
    }
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
