//! A client that is broken: it mixes revisions, uses an id twice, and sends more than anybody could want.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::approval::asked;
use super::{
    Asked, Client, Era, WORK, assert_gone, assert_ran, assert_untouched, go, is_alive, marked, modern, runs,
    says, trust,
};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

// A revision that is not spoken is refused, also in a session of another one, and a second handshake changes nothing of that.
#[test]
fn revisions_are_not_mixed_into_a_yes() {
    let world = marked();
    let mut client = Client::start(&world, Era::November2025, Asked::Silent, &WORK);
    for version in ["1999-01-01", "2026-07-29", "9999-99-99", ""] {
        let meta = json!({VERSION: version, CAPABILITIES: {"elicitation": {"form": {}}}});
        let params = json!({"name": "list_skills", "arguments": {}, "_meta": meta});
        let answer = client.ask("tools/call", params);
        assert!(answer["error"].is_object(), "{version} {answer}");
    }
    // Asked in the way of 2026, a client answers in that way, and nothing runs before.
    let meta = json!({VERSION: "2026-07-28", CAPABILITIES: {"elicitation": {"form": {}}}});
    let call = |more: &Value| {
        let mut params = json!({"name": "run_skill_script", "arguments": go("a"), "_meta": meta});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let id = client.send("tools/call", call(&json!({})));
    let first =
        client.until(|message| message["id"] == json!(id) || message["method"] == "elicitation/create");
    assert!(first["result"]["isError"] != json!(false), "{first}");
    let again = json!({
        "protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "t", "version": "2"},
    });
    client.send("initialize", again);
    assert_eq!(client.tool("list_skills", &json!({}))["isError"], false);
    assert_eq!(runs(&world), 0);
    assert_eq!(client.leave(), Some(0));
    assert_untouched(&world);
}

// An id that is in use is no id of another call: what runs under it can still be taken back.
#[test]
fn an_id_that_is_used_twice_leaves_nothing_running() {
    for era in Era::ALL {
        let world = marked();
        world.write("skills/tool/go.sh", "while :; do sleep 0.05; done\n");
        trust(&world, "mcp", &[]);
        let marker = format!("{}-script", world.path("").file_name().unwrap().to_str().unwrap());
        let mut client = Client::start(&world, era, Asked::Cannot, &[]);
        let params =
            json!({"name": "run_skill_script", "arguments": go(&marker), "_meta": {"progressToken": 1}});
        let id = client.send("tools/call", params);
        client.until(|message| message["params"]["message"] == "running");
        client.send_as(id, "tools/call", json!({"name": "list_skills", "arguments": {}}));
        client.until(|message| message["error"].is_object() || message["id"] == json!(id));
        assert!(is_alive(&marker));
        let began = Instant::now();
        client.notify("notifications/cancelled", &json!({"requestId": id}));
        assert_gone(&marker);
        // Long before its own time is over.
        assert!(began.elapsed() < Duration::from_secs(30));
        assert_eq!(client.tool("list_skills", &json!({}))["isError"], false);
        // Nor does what was taken back answer for another call.
        client.send_as(id, "tools/call", json!({"name": "list_skills", "arguments": {}}));
        client.until(|message| message["error"].is_object());
        assert!(client.heard.iter().all(|message| message["id"] != json!(id)));
        assert_eq!(client.leave(), Some(0));
    }
}

// Lists of tools that are asked for without end do not pile up, however much each of them carries.
#[test]
fn lists_of_tools_do_not_pile_up() {
    let world = marked();
    for n in 0..100 {
        world.add("skills", &fumehood_testkit::skill(&format!("s{n}")));
    }
    let mut client = Client::start(&world, Era::July2026, Asked::Cannot, &WORK);
    client.tool("list_skills", &json!({}));
    let mut most = 0;
    let ids: Vec<u64> = (0..400)
        .map(|_| {
            most = most.max(client.resident());
            client.send("tools/list", json!({"_meta": {"x": "y".repeat(900 << 10)}}))
        })
        .collect();
    let answers: Vec<Value> = ids.into_iter().map(|id| client.wait(id)).collect();
    most = most.max(client.resident());
    let listed = answers.iter().filter(|answer| answer["result"]["tools"].is_array()).count();
    assert!(
        listed > 0
            && answers.iter().all(|answer| answer["result"].is_object() || answer["error"].is_object())
    );
    assert!(most < 150_000, "{most} kB");
    assert!(client.names().len() > 3);
}

// What a client is to be told in its own words, or asked for, is not piled up either when it reads nothing.
#[test]
fn what_nobody_reads_is_not_piled_up() {
    let world = marked();
    trust(&world, "mcp", &WORK);
    world.write("skills/tool/go.sh", "i=0; while [ $i -lt 11000 ]; do echo 0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890; i=$((i+1)); done\n");
    trust(&world, "mcp", &[]);
    let long = "x".repeat(900 << 10);
    let flood = |kind: &'static str| {
        let mut client = Client::start(&world, Era::July2026, Asked::Cannot, &[]);
        let ran = client.tool("run_skill_script", &json!({"skill_name": "tool", "script_name": "go"}));
        assert_ran(&ran);
        let uri = ran["content"][1]["uri"].clone();
        client.only_talk();
        let mut most = 0;
        for n in 0..250 {
            most = most.max(client.resident());
            let (method, params) = match kind {
                "id" => {
                    let id = format!("{n}{long}");
                    client.write(&json!({"jsonrpc": "2.0", "id": id, "method": "nobody/knows"}));
                    continue;
                }
                "uri" => ("resources/read", json!({"uri": long})),
                "token" => {
                    let meta = json!({"progressToken": long});
                    let arguments = go(&n.to_string());
                    ("tools/call", json!({"name": "run_skill_script", "arguments": arguments, "_meta": meta}))
                }
                _ => ("resources/read", json!({"uri": uri})),
            };
            client.send(method, params);
        }
        assert_eq!(client.leave(), Some(0));
        (kind, most)
    };
    let kinds = ["id", "uri", "token", "result"];
    let most: Vec<_> = thread::scope(|scope| {
        let floods: Vec<_> = kinds.map(|kind| scope.spawn(|| flood(kind))).into_iter().collect();
        floods.into_iter().map(|flood| flood.join().unwrap()).collect()
    });
    // KiB. Without a bound there would be 225 MB of each.
    assert!(most.iter().all(|(_, most)| *most < 150_000), "{most:?}");
    println!("{most:?}");
}

// Notifications without end are taken and forgotten, also those of requests that never were.
#[test]
fn notifications_do_not_pile_up() {
    let world = marked();
    for era in [Era::November2025, Era::July2026] {
        let mut client = Client::start(&world, era, Asked::Cannot, &WORK);
        client.tool("list_skills", &json!({}));
        let mut most = 0;
        for n in 0..10_000 {
            most = most.max(if n % 500 == 0 { client.resident() } else { 0 });
            client.notify("notifications/cancelled", &json!({"requestId": n + 100_000}));
            client.notify("notifications/progress", &json!({"progressToken": n, "progress": 1}));
            client.notify("notifications/initialized", &json!({}));
            client.notify("notifications/roots/list_changed", &json!({}));
            client.notify("notifications/nobody/knows", &json!({"x": "y"}));
        }
        assert_eq!(client.tool("list_skills", &json!({}))["isError"], false);
        most = most.max(client.resident());
        assert!(most < 150_000, "{most} kB");
        assert_eq!(client.leave(), Some(0));
    }
    assert_untouched(&world);
}

// What a request carries beside its arguments makes nothing of a call that it is not: no task, no other tool, no yes.
#[test]
fn what_comes_beside_the_arguments_approves_nothing() {
    let world = marked();
    let yes = says("accept", "once");
    for era in Era::ALL {
        let mut client = Client::start(&world, era, Asked::Cannot, &WORK);
        for more in [
            json!({"task": {"ttl": 60_000}}),
            json!({"approve": yes, "approved": true, "consent": "once"}),
            json!({"_meta": {"progressToken": {"a": 1}, "approve": yes}}),
            json!({"_meta": {"progressToken": null}}),
            json!({"_meta": {"io.modelcontextprotocol/related-task": {"taskId": "1"}}}),
            json!({"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}),
        ] {
            let mut params = json!({"name": "run_skill_script", "arguments": go("a")});
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let answer = client.ask("tools/call", params);
            let is_refused = answer["error"].is_object() || answer["result"]["isError"] == json!(true);
            assert!(is_refused, "{more} {answer}");
        }
        for depth in [90, 120, 130, 10_000] {
            let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            let line = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":90000,\"method\":\"tools/call\",\"params\":{{\"name\":\"run_skill_script\",\"arguments\":{{\"skill_name\":\"tool\",\"script_name\":\"go\",\"args\":{{\"text\":{deep}}}}}}}}}\n"
            );
            client.say(line.as_bytes());
        }
        assert_eq!(client.tool("list_skills", &json!({}))["isError"], false);
        assert_eq!(client.leave(), Some(0));
    }
    assert_untouched(&world);
}

// A call that is taken back in the same breath as it brings a yes does not run; nor do two that bring the same yes at once run twice.
#[test]
fn a_yes_that_is_taken_back_at_once_runs_nothing() {
    let world = marked();
    let mut client = modern(&world);
    for n in 0..5 {
        let said = format!("a{n}");
        let (state, _) = asked(&mut client, &go(&said));
        let call = json!({
            "name": "run_skill_script", "arguments": go(&said), "requestState": state,
            "inputResponses": {"approve": says("accept", "once")},
        });
        let id = client.send("tools/call", call);
        client.notify("notifications/cancelled", &json!({"requestId": id}));
        // Behind it, whatever there was of it is over.
        assert_eq!(client.tool("list_skills", &json!({}))["isError"], false);
    }
    assert_eq!(client.leave(), Some(0));
    assert_eq!(runs(&world), 0);

    let mut client = modern(&world);
    let (state, _) = asked(&mut client, &go("b"));
    let call = json!({
        "name": "run_skill_script", "arguments": go("b"), "requestState": state,
        "inputResponses": {"approve": says("accept", "once")},
    });
    let ids: Vec<u64> = (0..8).map(|_| client.send("tools/call", call.clone())).collect();
    let answers: Vec<Value> = ids.into_iter().map(|id| client.wait(id)["result"].clone()).collect();
    assert_eq!(answers.iter().filter(|answer| answer["isError"] == json!(false)).count(), 1, "{answers:?}");
    assert_eq!(runs(&world), 1);
}

// Numbers and texts at the edge of what there is are answered or refused, and none of them meets a state that nobody expected.
#[test]
fn arguments_at_the_edge_are_answers() {
    let world = marked();
    let quick = json!({"skill_name": "tool", "script_name": "go", "args": {"text": "a"}});
    trust(&world, "mcp", &WORK);
    let mut client = Client::start(&world, Era::July2026, Asked::Cannot, &WORK);
    let ran = client.tool("run_skill_script", &quick);
    assert_ran(&ran);
    let id = ran["structuredContent"]["stdout"]["artifact"].clone();
    let numbers = [
        json!(u64::MAX),
        json!(u64::MAX - 1),
        json!(i64::MIN),
        json!(1.0),
        json!(1e300),
        json!(0),
        json!("1"),
        json!(null),
    ];
    let fields = [
        ("artifact_head", json!({"artifact": id}), &["lines"][..]),
        ("artifact_tail", json!({"artifact": id}), &["lines"]),
        ("artifact_cat", json!({"artifact": id}), &["first", "last"]),
        ("artifact_slice", json!({"artifact": id}), &["offset", "length"]),
        ("artifact_grep", json!({"artifact": id, "pattern": "a"}), &["context", "hits", "offset"]),
        ("read_skill_resource", json!({"skill_name": "tool", "path": "go.sh"}), &["offset", "length"]),
        ("run_skill_script", json!({"skill_name": "tool", "script_name": "nothing"}), &["timeout_seconds"]),
        ("run_skill_script", quick.clone(), &["timeout_seconds"]),
    ];
    for (tool, arguments, names) in fields {
        for (name, number) in names.iter().flat_map(|name| numbers.iter().map(move |number| (name, number))) {
            let mut arguments = arguments.clone();
            arguments[name] = number.clone();
            let said = client.tool(tool, &arguments);
            assert_ne!(said["structuredContent"]["code"], "E_INTERNAL", "{tool} {arguments} {said}");
        }
        for text in ["\0", "\u{feff}", &"x".repeat(60_000), "art_", "(a*)*$(", "\u{1b}[2J\u{202e}"] {
            for name in arguments.as_object().unwrap().keys().filter(|name| arguments[*name].is_string()) {
                let mut arguments = arguments.clone();
                arguments[name] = json!(text);
                let said = client.tool(tool, &arguments);
                assert_ne!(said["structuredContent"]["code"], "E_INTERNAL", "{tool} {arguments} {said}");
                let message = &said["structuredContent"]["message"];
                assert!(!message.to_string().contains(['\u{202e}', '\u{feff}']), "{message}");
            }
        }
    }
    for uri in [
        "file:///etc/passwd",
        "fumehood://artifact/",
        "fumehood://artifact/../x",
        "FUMEHOOD://ARTIFACT/",
        "skill://tool/SKILL.md",
        "",
    ] {
        assert!(client.ask("resources/read", json!({"uri": uri}))["error"].is_object(), "{uri}");
    }
    assert_eq!(client.leave(), Some(0));
}
