//! Calls beside each other: what runs keeps nobody waiting who has nothing to do with it.

use serde_json::{Value, json};

use super::{Asked, Client, Era, assert_clean, assert_ran, assert_refused, marked, says};
use crate::text;

// all scripts that nobody declared have one tool name; one that runs is no reason for another one to wait.
#[test]
fn scripts_that_nobody_declared_run_beside_each_other() {
    let world = marked();
    world.write("work/.keep", "");
    let gate = world.text("work/go");
    let slow = format!("while [ ! -e {gate} ]; do sleep 0.02; done\necho slow\n");
    world.write("skills/tool/slow.sh", format!("#!/bin/sh\n{slow}"));
    world.write("skills/tool/quick.sh", "#!/bin/sh\necho quick\n");
    let asked = Asked::Says(says("accept", "once"));
    let mut client = Client::start(&world, Era::November2025, asked, &["--workspace", "work"]);
    let run = |script: &str| json!({"skill_name": "tool", "script_name": script, "args": []});
    let params = |script: &str, token: &str| json!({"name": "run_skill_script", "arguments": run(script), "_meta": {"progressToken": token}});
    let first = client.send("tools/call", params("slow.sh", "a"));
    let runs = |token: &'static str| {
        move |message: &Value| {
            message["params"]["progressToken"] == token && message["params"]["message"] == "running"
        }
    };
    client.until(runs("a"));
    // The other one comes and goes while the first one runs.
    let quick = client.tool("run_skill_script", &run("quick.sh"));
    assert_ran(&quick);
    assert!(text(&quick["structuredContent"]["stdout"]["content"]).contains("\nquick\n"), "{quick}");
    // The same one as well.
    let second = client.send("tools/call", params("slow.sh", "b"));
    client.until(runs("b"));
    let is_answer = |message: &Value| message["id"] == json!(first) && message["method"].is_null();
    assert!(!client.heard.iter().any(is_answer), "the first one runs");
    world.write("work/go", "");
    for id in [first, second] {
        let slow = client.wait(id)["result"].clone();
        assert_ran(&slow);
        assert!(text(&slow["structuredContent"]["stdout"]["content"]).contains("\nslow\n"), "{slow}");
    }
    assert_refused(
        &client.tool("run_skill_script", &json!({"skill_name": "tool", "script_name": "no.sh"})),
        "E_FILE_NOT_FOUND",
    );
    assert_eq!(client.leave(), Some(0));
    assert_eq!(world.json(["runs"])["runs"].as_array().unwrap().len(), 3);
    assert_clean(&world);
}
