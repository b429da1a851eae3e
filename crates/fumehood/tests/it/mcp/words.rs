//! What a model may see never tells it how to say yes.

use serde_json::{Value, json};

use super::{Asked, Client, Era, WORK, go, marked, says};

/// What approves, trusts or widens when it is typed or written somewhere.
const COMMANDS: [&str; 12] = [
    "fumehood approve",
    "fumehood deny",
    "fumehood pending",
    "fumehood run ",
    "fumehood call",
    "fumehood trust",
    "fumehood adopt",
    "fumehood interpreters",
    "fumehood policy",
    "--approve",
    "revision_flag",
    ".toml",
];

// DESIGN 6: the id of a request, and never the command that would approve it, in whatever a client gets.
#[test]
fn no_answer_holds_a_command_that_would_approve() {
    let mut all: Vec<Value> = Vec::new();
    for era in Era::ALL {
        for asked in [Asked::Cannot, Asked::Says(says("decline", "once"))] {
            let world = marked();
            let mut client = Client::start(&world, era, asked, &WORK);
            all.push(client.ask("tools/list", json!({})));
            let mut tool = |name: &str, arguments: Value| {
                all.push(client.ask("tools/call", json!({"name": name, "arguments": arguments})));
            };
            tool("list_skills", json!({}));
            tool("load_skill", json!({"skill_name": "tool"}));
            tool("load_skill", json!({"skill_name": "tol"}));
            tool("read_skill_resource", json!({"skill_name": "tool", "resource_name": "x"}));
            tool("run_skill_script", go("a"));
            tool("run_skill_script", go("a"));
            for arguments in [
                json!({"skill_name": "tool", "script_name": "nothing"}),
                json!({"skill_name": "tool", "script_name": "SKILL.md"}),
                json!({"skill_name": "tool", "script_name": "go", "args": ["a"]}),
                json!({"skill_name": "tool", "script_name": "go.sh", "args": {"text": "a"}}),
                json!({"skill_name": "tool", "script_name": "go", "args": {"text": 1}}),
                json!({"skill_name": "tool", "script_name": "go", "timeout_seconds": 0}),
                json!({"skill_name": "tool", "script_name": "go", "timeout_seconds": 1_000_000}),
            ] {
                tool("run_skill_script", arguments);
            }
            tool("call_skill_tool", json!({"skill_name": "tool"}));
            tool("artifact_head", json!({"artifact": "art_1"}));
            tool("artifact_head", json!({"artifact": format!("art_{}", "0".repeat(32))}));
            for policy in ["mode = \"blocked\"\n", "mode = \"nonsense\"\n", "[surfaces]\nelicitation = []\n"]
            {
                world.write("home/.config/fumehood/policy.toml", policy);
                tool("run_skill_script", go("b"));
            }
            world.write("home/.config/fumehood/fumehood.toml", "[execute]\nsafety = \"safe\"\n");
            tool("run_skill_script", go("c"));
            world.write("home/.config/fumehood/fumehood.toml", "nonsense = 1\n");
            tool("run_skill_script", go("d"));
            tool("list_skills", json!({}));
            all.extend(client.heard.drain(..));
        }
    }
    assert!(all.len() > 100);
    for message in all {
        let text = message.to_string();
        for command in COMMANDS {
            assert!(!text.contains(command), "{command} in {text}");
        }
    }
}
