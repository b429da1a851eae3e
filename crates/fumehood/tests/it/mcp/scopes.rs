//! The first way: what a person decided beforehand.

use serde_json::json;

use super::{Asked, Client, Era, WORK, assert_clean, assert_ran, assert_refused, go, marked, runs, trust};
use crate::text;

// A scope of the agent's lets the call run unasked in every revision; one of another agent's does not.
#[test]
fn what_is_trusted_for_the_agent_runs_unasked() {
    let world = marked();
    trust(&world, "mcp", &WORK);
    for (count, era) in Era::ALL.into_iter().enumerate() {
        let mut client = Client::start(&world, era, Asked::Cannot, &WORK);
        let result = client.tool("run_skill_script", &go("a b"));
        assert_ran(&result);
        assert!(
            text(&result["structuredContent"]["stdout"]["content"]).contains("\nran --text a b\n"),
            "{result}"
        );
        assert_eq!(runs(&world), count + 1);
        assert_eq!(client.leave(), Some(0));
    }
    let arguments = [&WORK[..], &["--as", "other"]].concat();
    let mut client = Client::start(&world, Era::July2026, Asked::Cannot, &arguments);
    assert_refused(&client.tool("run_skill_script", &go("a b")), "E_CONSENT_PENDING");
    assert_eq!(runs(&world), 3);
    drop(client);
    assert_clean(&world);
}

// What the names of a script are elsewhere; and its arguments as they stand.
#[test]
fn a_script_is_found_by_what_agents_call_it() {
    let world = marked();
    trust(&world, "mcp", &WORK);
    let mut client = Client::start(&world, Era::November2025, Asked::Cannot, &WORK);
    for arguments in [
        json!({"name": "tool", "script": "go"}),
        json!({"skill": "tool", "path": "go.sh", "args": {}}),
        json!({"skill_name": "tool", "script_name": "scripts/go.sh", "args": []}),
    ] {
        assert_ran(&client.tool("run_skill_script", &arguments));
    }
    // Exact arguments are another tool's, which no scope covers.
    let exact = json!({"skill_name": "tool", "script_name": "go.sh", "args": ["--text", "a"]});
    assert_refused(&client.tool("run_skill_script", &exact), "E_CONSENT_PENDING");
    assert_eq!(runs(&world), 3);
}

// Results are read by their handle, by their agent alone, once there are any; and that there are is told.
#[test]
fn results_are_read_by_handle() {
    for era in Era::ALL {
        let world = marked();
        let script = "i=0\nwhile [ $i -lt 5000 ]; do echo \"line $i\"; i=$((i + 1)); done\n";
        world.write("skills/tool/go.sh", script);
        trust(&world, "mcp", &[]);
        let mut client = Client::start(&world, era, Asked::Cannot, &[]);
        assert_eq!(client.names().len(), 4);
        if era == Era::July2026 {
            client.send("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
            client.until(|message| message["method"] == "notifications/subscriptions/acknowledged");
        }
        let result = client.tool("run_skill_script", &json!({"skill_name": "tool", "script_name": "go"}));
        assert_ran(&result);
        let stdout = &result["structuredContent"]["stdout"];
        assert_eq!(stdout["clipped"], true);
        let id = text(&stdout["artifact"]);
        let link = &result["content"][1];
        assert_eq!(
            (link["type"].clone(), link["size"].clone()),
            (json!("resource_link"), stdout["bytes"].clone())
        );
        client.until(|message| message["method"] == "notifications/tools/list_changed");
        assert_eq!(client.names().len(), 12);
        let read = client.ask("resources/read", json!({"uri": link["uri"]}));
        let contents = &read["result"]["contents"][0];
        // As it is, and labelled as what it is.
        assert!(text(&contents["text"]).ends_with("line 4999\n"));
        assert_eq!(contents["_meta"], json!({"fumehood/untrusted": "output of a script"}), "{contents}");

        let said = |client: &mut Client, tool: &str, arguments: serde_json::Value| {
            client.tool(tool, &arguments)["structuredContent"].clone()
        };
        let tail = said(&mut client, "artifact_tail", json!({"artifact": id, "lines": 2}));
        assert!(text(&tail["content"]).contains("\nline 4998\nline 4999\n"), "{tail}");
        let head = said(&mut client, "artifact_head", json!({"artifact": id, "lines": 5000}));
        assert!(head["next_line"].is_number() && text(&head["content"]).len() < 34 << 10);
        let cat = said(&mut client, "artifact_cat", json!({"artifact": id, "first": 3, "last": 3}));
        assert!(text(&cat["content"]).contains("\nline 2\n"), "{cat}");
        let grep = said(&mut client, "artifact_grep", json!({"artifact": id, "pattern": "e 49.7$"}));
        assert_eq!(grep["hits"], 10, "{grep}");
        let slice = said(&mut client, "artifact_slice", json!({"artifact": id, "offset": 5, "length": 1}));
        assert!(text(&slice["content"]).contains("\n0\n"), "{slice}");
        assert_eq!(said(&mut client, "artifact_line_count", json!({"artifact": id}))["line_count"], 5000);
        assert_eq!(
            said(&mut client, "artifact_byte_length", json!({"artifact": id}))["byte_length"],
            stdout["bytes"]
        );
        assert!(
            said(&mut client, "artifact_estimate_tokens", json!({"artifact": id}))["estimated_tokens"]
                .is_number()
        );

        let mut other = Client::start(&world, era, Asked::Cannot, &["--as", "other"]);
        assert_refused(&other.tool("artifact_head", &json!({"artifact": id})), "E_ARTIFACT_NOT_FOUND");
        let read = other.ask("resources/read", json!({"uri": link["uri"]}));
        assert_eq!(read["error"]["code"], -32602, "{read}");
        assert_eq!(other.names().len(), 4);
        // The readers are there from the start for an agent that has results.
        assert_eq!(Client::start(&world, era, Asked::Cannot, &[]).names().len(), 12);
    }
}

// The checked tool of a skill: offered where there is one, its schema told when the skill is loaded, its answer checked and fenced.
#[test]
fn a_checked_tool_is_called() {
    let world = crate::run::world();
    let program = "let s = ''; for await (const c of process.stdin) s += c; const { n } = JSON.parse(s); console.log(JSON.stringify({ twice: n * 2 }));\n";
    let object = |name: &str| {
        let properties = json!({name: {"type": "integer"}});
        json!({"type": "object", "properties": properties, "required": [name], "additionalProperties": false})
    };
    let manifest = json!({
        "schemaVersion": 1, "entrypoint": "go.mjs", "files": ["go.mjs"], "timeoutMs": 5000, "maxOutputBytes": 1024,
        "inputSchema": object("n"), "outputSchema": object("twice"),
    });
    let skill = fumehood_testkit::skill("tool").file("execution.json", manifest.to_string());
    world.add("skills", &skill.file("go.mjs", program));
    world.write("home/.config/fumehood/policy.toml", "mode = \"trusted\"\n");
    let add = ["trust", "add", "tool", "--root", "skills", "--as", "mcp"];
    let (shown, answer) = world.call().at_terminal(add, "[y/N] ", "y\n");
    assert_eq!(answer.code, Some(0), "{shown}{}", answer.errors());
    for era in Era::ALL {
        let mut client = Client::start(&world, era, Asked::Cannot, &[]);
        assert!(client.names().contains(&"call_skill_tool".to_owned()));
        let loaded = client.tool("load_skill", &json!({"skill_name": "tool"}));
        let schema = text(&loaded["structuredContent"]["tool"]["input_schema"]);
        assert!(schema.contains("\"required\":[\"n\"]"), "{schema}");
        let called = client.tool("call_skill_tool", &json!({"skill_name": "tool", "arguments": {"n": 21}}));
        assert_eq!(called["isError"], false, "{called}");
        assert!(text(&called["structuredContent"]["output"]).contains("\n{\"twice\":42}\n"), "{called}");
        let wrong = client.tool("call_skill_tool", &json!({"skill_name": "tool", "arguments": {"n": "x"}}));
        assert_refused(&wrong, "E_SCHEMA_MISMATCH");
    }
    let mut client = Client::start(&world, Era::July2026, Asked::Cannot, &["--as", "other"]);
    let parked = client.tool("call_skill_tool", &json!({"skill_name": "tool", "arguments": {"n": 21}}));
    assert_refused(&parked, "E_CONSENT_PENDING");
    drop(client);
    assert_clean(&world);
}
