//! A client that means no good: answers that nobody asked for, in pieces, for another form, for a call that is spelled otherwise.

use std::fs;

use serde_json::{Value, json};

use super::approval::{again, asked};
use super::{
    Asked, Client, Era, WORK, assert_clean, assert_ran, assert_refused, assert_untouched, go, marked, modern,
    runs, says, trust,
};
use crate::run::{scripted, world};
use crate::text;

/// The form about a call of the script with this text.
fn form(client: &mut Client, said: &str) -> (u64, Value) {
    let call = client.send("tools/call", json!({"name": "run_skill_script", "arguments": go(said)}));
    (call, client.until(|message| message["method"] == "elicitation/create")["id"].clone())
}

// An answer to a question that was not asked yet is none, a second one does not turn the first round, and what is no
// answer of a form is a no.
#[test]
fn answers_that_nobody_asked_for_are_none() {
    let world = marked();
    let yes = says("accept", "once");
    for era in [Era::June2025, Era::November2025] {
        let mut client = Client::start(&world, era, Asked::Silent, &WORK);
        for id in 0..64 {
            client.reply(&json!(id), &yes);
            client.reply(&json!(id.to_string()), &yes);
        }
        let (call, id) = form(&mut client, "a");
        client.reply(&id, &json!({"action": "decline"}));
        client.reply(&id, &yes);
        assert_refused(&client.wait(call)["result"], "E_SKILL_SCRIPT_DENIED");
        for (said, answer) in [
            ("b", json!({"roots": []})),
            ("c", json!({"role": "user", "content": {"type": "text", "text": "once"}, "model": "m"})),
            ("d", json!({"content": {"choice": "once"}})),
            ("e", json!([yes])),
        ] {
            let (call, id) = form(&mut client, said);
            client.reply(&id, &answer);
            // What cannot be read is dropped, so that there is a no behind it in any case.
            client.write(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": 0, "message": "once"}}));
            client.reply(&id, &yes);
            assert_refused(&client.wait(call)["result"], "E_SKILL_SCRIPT_DENIED");
        }
        assert_eq!(runs(&world), 0);
        assert_eq!(client.leave(), Some(0));
    }
    assert_untouched(&world);
}

// Of two forms that are open, a yes is for its own.
#[test]
fn a_yes_is_for_its_own_form() {
    let world = marked();
    let mut client = Client::start(&world, Era::November2025, Asked::Silent, &WORK);
    let (one, first) = form(&mut client, "a");
    let (two, second) = form(&mut client, "b");
    client.reply(&second, &says("accept", "once"));
    let ran = client.wait(two)["result"].clone();
    assert_ran(&ran);
    assert!(text(&ran["structuredContent"]["stdout"]["content"]).contains("ran --text b"), "{ran}");
    client.reply(&first, &says("accept", "deny"));
    assert_refused(&client.wait(one)["result"], "E_SKILL_SCRIPT_DENIED");
    assert_eq!(runs(&world), 1);
}

// A yes whose line was never ended is none, though all of it is there when the client goes.
#[test]
fn a_line_without_an_end_is_no_answer() {
    let world = marked();
    let mut client = Client::start(&world, Era::November2025, Asked::Silent, &WORK);
    let (_, id) = form(&mut client, "a");
    let yes = json!({"jsonrpc": "2.0", "id": id, "result": says("accept", "once")});
    client.say(yes.to_string().as_bytes());
    assert_eq!(client.leave(), Some(0));
    assert_untouched(&world);
}

// An answer without the question that it is to: the call is asked about.
#[test]
fn an_answer_without_a_question_is_none() {
    let world = marked();
    let mut client = modern(&world);
    let yes = says("accept", "once");
    for responses in [json!({"approve": yes}), json!({"approve": yes, "other": yes})] {
        let params = json!({"name": "run_skill_script", "arguments": go("a"), "inputResponses": responses});
        assert_eq!(client.ask("tools/call", params)["result"]["resultType"], "input_required");
    }
    for state in [json!(null), json!(1), json!({}), json!("ask_00112233445566778899aabbccddeeff")] {
        let params = json!({
            "name": "run_skill_script", "arguments": go("a"), "requestState": state, "inputResponses": {"approve": yes},
        });
        let answer = client.ask("tools/call", params);
        assert!(answer["result"]["isError"] != json!(false), "{answer}");
        assert_eq!(runs(&world), 0);
    }
    drop(client);
    assert_untouched(&world);
}

// The same number, text or object spelled in another way is the call that was shown, or another one: whatever runs is what was shown.
#[test]
fn what_runs_is_what_was_shown_however_it_is_spelled() {
    let world = world();
    world.folder("work");
    let params = json!([
        {"name": "n", "type": "number", "description": "A number.", "flag": "--n"},
        {"name": "text", "type": "string", "description": "A text.", "flag": "--text"},
    ]);
    world.add("skills", &scripted(&params, &format!("echo \"$*\" >> {}/log\n", world.text("work"))));
    let shown = r#"{"n":1,"text":"\u00e9"}"#;
    for args in [
        r#"{"n":1.0,"text":"\u00e9"}"#,
        r#"{"n":1e0,"text":"\u00e9"}"#,
        r#"{"n":1.0000000000000001,"text":"\u00e9"}"#,
        r#"{"text":"\u00e9","n":1}"#,
        r#"{"n":2,"n":1,"text":"\u00e9"}"#,
        r#"{"n":1,"n":2,"text":"\u00e9"}"#,
        r#"{"n":1,"text":"e\u0301"}"#,
        r#"{"n":1,"text":"\u00e9 "}"#,
        r#"{"n":true,"text":"\u00e9"}"#,
        r#"{"n":"1","text":"\u00e9"}"#,
    ] {
        let _ = fs::remove_file(world.path("work/log"));
        let mut client = modern(&world);
        let mut call = |id: u64, args: &str, more: &str| {
            let arguments = format!(r#"{{"skill_name":"tool","script_name":"go","args":{args}}}"#);
            let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}"#;
            let line = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"run_skill_script\",\"arguments\":{arguments},{meta}{more}}}}}\n"
            );
            client.say(line.as_bytes());
            client.wait(id)["result"].clone()
        };
        let first = call(1, shown, "");
        let message = text(&first["inputRequests"]["approve"]["params"]["message"]);
        assert!(message.contains("--n 1 --text '\u{e9}'"), "{message}");
        let yes = json!({"approve": says("accept", "once")});
        let more = format!(",\"requestState\":{},\"inputResponses\":{yes}", first["requestState"]);
        let second = call(2, args, &more);
        let log = fs::read_to_string(world.path("work/log")).unwrap_or_default();
        if second["isError"] == json!(false) {
            assert_eq!(log, "--n 1 --text \u{e9}\n", "{args}");
        } else {
            assert_eq!(log, "", "{args} {second}");
            // What was shown is still there for the call that it was about.
            assert_ran(&call(3, shown, &more));
        }
    }
}

// Other time to run in is another call, also where the answer is given at the terminal.
#[test]
fn a_yes_is_not_for_more_time() {
    let world = marked();
    let timed = |seconds: u64| {
        let mut call = go("a");
        call["timeout_seconds"] = json!(seconds);
        call
    };
    let mut client = Client::start(&world, Era::November2025, Asked::Cannot, &WORK);
    let parked = client.tool("run_skill_script", &timed(5));
    let id = text(&parked["structuredContent"]["approval_id"]).to_owned();
    let (shown, answer) = world.call().at_terminal(["approve", &id], "[y/N]\u{1b}[0m ", "y\n");
    assert_eq!(answer.code, Some(0), "{shown}{}", answer.errors());
    let other = client.tool("run_skill_script", &timed(50));
    assert_refused(&other, "E_CONSENT_PENDING");
    assert_ne!(other["structuredContent"]["approval_id"], id);
    assert_eq!(runs(&world), 0);
}

type Change = fn(&fumehood_testkit::World);

// A yes at the terminal is good for what it was said to: not once the skill, the settings, the policy or the folder are others.
#[test]
fn a_yes_ends_with_what_it_was_said_to() {
    let changes: [(&str, Change); 5] = [
        ("nothing", |_| {}),
        ("skill", |world| _ = world.write("skills/tool/more.txt", "x")),
        ("settings", |world| {
            world.write("home/.config/fumehood/fumehood.toml", "[execute]\nsafety = \"safe\"\n");
        }),
        ("policy", |world| _ = world.write("home/.config/fumehood/policy.toml", "mode = \"blocked\"\n")),
        ("folder", |world| {
            fs::rename(world.path("work"), world.path("was")).unwrap();
            fs::create_dir(world.path("work")).unwrap();
        }),
    ];
    for (what, change) in changes {
        let world = marked();
        let mut client = Client::start(&world, Era::July2026, Asked::Cannot, &WORK);
        let parked = client.tool("run_skill_script", &go("a"));
        let id = text(&parked["structuredContent"]["approval_id"]).to_owned();
        let (shown, answer) = world.call().at_terminal(["approve", &id], "[y/N]\u{1b}[0m ", "y\n");
        assert_eq!(answer.code, Some(0), "{shown}{}", answer.errors());
        change(&world);
        let result = client.tool("run_skill_script", &go("a"));
        assert_eq!(
            (runs(&world), result["isError"] == json!(false)),
            if what == "nothing" { (1, true) } else { (0, false) },
            "{what} {result}"
        );
    }
}

// A skill that is changed while the form is open is not what the yes was said to; the model is told what it can wait for.
#[test]
fn a_skill_changed_under_an_open_form_does_not_run() {
    for era in [Era::June2025, Era::November2025] {
        let world = marked();
        let mut client = Client::start(&world, era, Asked::Silent, &WORK);
        let (call, id) = form(&mut client, "a");
        world.write("skills/tool/more.txt", "x");
        client.reply(&id, &says("accept", "once"));
        let result = client.wait(call)["result"].clone();
        assert_refused(&result, "E_CONSENT_PENDING");
        let said = &result["structuredContent"];
        assert_eq!(said["status"], "approval_required");
        assert_eq!(world.json(["pending"])["requests"][0]["id"], said["approval_id"]);
        assert_eq!(runs(&world), 0);
        let (call, id) = form(&mut client, "a");
        client.reply(&id, &says("accept", "once"));
        assert_ran(&client.wait(call)["result"]);
    }
}

// What the person refused at the terminal is not allowed by the client, whichever way it asks.
#[test]
fn a_no_at_the_terminal_stands() {
    let world = marked();
    let deny = |id: &str| {
        let call = world.call();
        let (shown, answer) = call.sit_down(["deny", id], fumehood_testkit::Streams::Pipes).leave();
        assert_eq!(answer.code, Some(0), "{shown}{}", answer.errors());
    };
    let mut client = modern(&world);
    let (state, question) = asked(&mut client, &go("a"));
    let message = text(&question["message"]);
    let id = message.split("Request: ").nth(1).unwrap().split(',').next().unwrap();
    deny(id);
    assert_refused(&again(&mut client, &go("a"), &state, &says("accept", "once")), "E_CONSENT_DECIDED");
    assert_refused(&client.tool("run_skill_script", &go("a")), "E_SKILL_SCRIPT_DENIED");

    let mut client = Client::start(&world, Era::November2025, Asked::Silent, &WORK);
    let (call, form) = form(&mut client, "a");
    let id = world.json(["pending"])["requests"][0]["id"].clone();
    deny(text(&id));
    client.reply(&form, &says("accept", "once"));
    assert_refused(&client.wait(call)["result"], "E_SKILL_SCRIPT_DENIED");
    drop(client);
    assert_untouched(&world);
}

// A no stands for the call that it was said to, whatever is asked for in between: also the same with other time to run in.
#[test]
fn a_no_is_not_forgotten_by_asking_for_something_else() {
    let world = marked();
    let mut other = go("a");
    other["timeout_seconds"] = json!(7);
    for era in [Era::November2025, Era::July2026] {
        let mut client = Client::start(&world, era, Asked::Cannot, &WORK);
        let parked = client.tool("run_skill_script", &go("a"));
        let id = text(&parked["structuredContent"]["approval_id"]).to_owned();
        let (_, answer) = world.call().sit_down(["deny", &id], fumehood_testkit::Streams::Pipes).leave();
        assert_eq!(answer.code, Some(0), "{}", answer.errors());
        assert_refused(&client.tool("run_skill_script", &go("a")), "E_SKILL_SCRIPT_DENIED");
        assert_refused(&client.tool("run_skill_script", &other), "E_CONSENT_PENDING");
        assert_refused(&client.tool("run_skill_script", &go("a")), "E_SKILL_SCRIPT_DENIED");
        // The other call waits as before.
        assert_refused(&client.tool("run_skill_script", &other), "E_CONSENT_PENDING");
    }
    assert_untouched(&world);
}

// Two servers of one agent, at once: what is approved for the one is not for the other.
#[test]
fn a_yes_is_for_its_own_server() {
    let world = marked();
    let start = || Client::start(&world, Era::July2026, Asked::Cannot, &WORK);
    let (mut one, mut other) = (start(), start());
    let parked = [&mut one, &mut other].map(|client| client.tool("run_skill_script", &go("a")));
    let [first, second] = parked.map(|parked| text(&parked["structuredContent"]["approval_id"]).to_owned());
    assert_ne!(first, second);
    let (shown, answer) = world.call().at_terminal(["approve", &first], "[y/N]\u{1b}[0m ", "y\n");
    assert_eq!(answer.code, Some(0), "{shown}{}", answer.errors());
    assert_refused(&other.tool("run_skill_script", &go("a")), "E_CONSENT_PENDING");
    assert_eq!(runs(&world), 0);
    assert_ran(&one.tool("run_skill_script", &go("a")));
    assert_eq!(runs(&world), 1);
    assert_clean(&world);
}

// Nothing runs under a name that only looks like the one that a person trusted.
#[test]
fn a_name_that_looks_alike_is_another() {
    let world = marked();
    trust(&world, "mcp", &WORK);
    let mut client = Client::start(&world, Era::July2026, Asked::Cannot, &WORK);
    let call = |skill: &str, script: &str| json!({"skill_name": skill, "script_name": script, "args": {"text": "a"}});
    for skill in [
        "t\u{43e}ol",
        "TOOL",
        "tool ",
        " tool",
        "tool\u{200b}",
        "\u{ff54}ool",
        "tool\0",
        "",
        "root-1:t\u{43e}ol",
    ] {
        let refused = client.tool("run_skill_script", &call(skill, "go"));
        assert_eq!(refused["isError"], true, "{skill:?} {refused}");
    }
    for script in [
        "g\u{43e}",
        "GO",
        "go ",
        "go\u{200b}",
        "go\0",
        "",
        "/skill/go.sh",
        "../tool/go.sh",
        "scripts/../go.sh",
        "go.sh/",
    ] {
        let refused = client.tool("run_skill_script", &call("tool", script));
        assert_eq!(refused["isError"], true, "{script:?} {refused}");
    }
    for tool in
        ["run_skill_script ", "RUN_SKILL_SCRIPT", "run_skill_scr\u{131}pt", "run_script", "execute", ""]
    {
        let answer = client.ask("tools/call", json!({"name": tool, "arguments": call("tool", "go")}));
        assert!(answer["error"].is_object(), "{tool:?} {answer}");
    }
    assert_eq!(runs(&world), 0);
    assert_ran(&client.tool("run_skill_script", &call("tool", "go")));
    assert_eq!(runs(&world), 1);
}
