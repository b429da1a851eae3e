//! How it ends: a client that is killed, that says nothing more, that reads nothing more, that takes a call back.

use std::thread;

use serde_json::json;

use super::{
    Asked, Client, Era, WORK, assert_clean, assert_gone, assert_ran, assert_refused, assert_untouched, go,
    is_alive, marked, runs, trust,
};

/// A world whose script runs until it is killed, and is trusted to.
fn endless() -> (fumehood_testkit::World, String) {
    let world = marked();
    world.write("skills/tool/go.sh", "while :; do sleep 0.05; done\n");
    trust(&world, "mcp", &[]);
    let marker = world.path("").file_name().unwrap().to_str().unwrap().to_owned();
    (world, format!("{marker}-script"))
}

/// Starts the script, and comes back when it runs.
fn begin(client: &mut Client, marker: &str) -> u64 {
    let params =
        json!({"name": "run_skill_script", "arguments": go(marker), "_meta": {"progressToken": marker}});
    let id = client.send("tools/call", params);
    client.until(|message| message["params"]["message"] == "running");
    assert!(is_alive(marker));
    id
}

// EXE-66: taken back by the client, the script and all that it started are gone, and the server serves on.
#[test]
fn a_call_that_is_taken_back_is_killed() {
    for era in Era::ALL {
        let (world, marker) = endless();
        let mut client = Client::start(&world, era, Asked::Cannot, &[]);
        let id = begin(&mut client, &marker);
        client.notify("notifications/cancelled", &json!({"requestId": id, "reason": "enough"}));
        assert_gone(&marker);
        assert_eq!(client.tool("list_skills", &json!({}))["isError"], false);
        assert_eq!(client.leave(), Some(0));
        assert_clean(&world);
    }
}

// A client that goes away, of itself or killed, leaves nothing running: all it has of the server is the pipe.
#[test]
fn a_client_that_goes_leaves_nothing_running() {
    for era in Era::ALL {
        let (world, marker) = endless();
        let mut client = Client::start(&world, era, Asked::Cannot, &[]);
        begin(&mut client, &marker);
        assert_eq!(client.leave(), Some(0));
        // It is over when the server says so by ending, and not some time later.
        assert!(!is_alive(&marker));
        assert_clean(&world);
    }
}

// The server itself is killed.
#[test]
fn a_server_that_is_killed_leaves_nothing_running() {
    let (world, marker) = endless();
    let mut client = Client::start(&world, Era::November2025, Asked::Cannot, &[]);
    begin(&mut client, &marker);
    client.kill();
    assert_gone(&marker);
    assert_eq!(world.run(["audit", "verify"]).code, Some(0));
}

// Asked to end by whoever looks after it.
#[test]
fn a_server_that_is_told_to_end_does() {
    let (world, marker) = endless();
    let mut client = Client::start(&world, Era::July2026, Asked::Cannot, &[]);
    begin(&mut client, &marker);
    let pid = rustix::process::Pid::from_raw(i32::try_from(client.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_gone(&marker);
    assert_eq!(client.leave(), Some(0));
    assert_clean(&world);
}

// A question that is never answered approves nothing, and ends with the client.
#[test]
fn a_client_that_never_answers_approves_nothing() {
    let world = marked();
    let mut client = Client::start(&world, Era::November2025, Asked::Silent, &WORK);
    client.send("tools/call", json!({"name": "run_skill_script", "arguments": go("a")}));
    client.until(|message| message["method"] == "elicitation/create");
    // Other calls are answered meanwhile.
    assert_eq!(client.tool("list_skills", &json!({}))["isError"], false);
    assert_eq!(client.leave(), Some(0));
    let mut client = Client::start(&world, Era::July2026, Asked::Silent, &WORK);
    assert_eq!(client.tool("run_skill_script", &go("a"))["resultType"], "input_required");
    assert_eq!(client.leave(), Some(0));
    assert_untouched(&world);
}

// One half of the pipe is closed: nobody reads what is answered. Nothing is taken for a yes, and the server ends with the rest.
#[test]
fn a_client_that_reads_nothing_approves_nothing() {
    let world = marked();
    for asked in [Asked::Silent, Asked::Cannot] {
        let mut client = Client::start(&world, Era::November2025, asked, &WORK);
        client.stop_reading();
        for _ in 0..20 {
            client.send("tools/call", json!({"name": "run_skill_script", "arguments": go("a")}));
            thread::yield_now();
        }
        assert_eq!(client.leave(), Some(0));
    }
    assert_untouched(&world);
}

// A client that only stops writing is done: what it asked for last is answered or given up, and nothing goes on.
#[test]
fn a_client_that_says_no_more_is_done() {
    let world = marked();
    trust(&world, "mcp", &WORK);
    let mut client = Client::start(&world, Era::July2026, Asked::Cannot, &WORK);
    assert_ran(&client.tool("run_skill_script", &go("a")));
    client.send("tools/call", json!({"name": "run_skill_script", "arguments": go("b")}));
    client.stop_writing();
    assert_eq!(client.leave(), Some(0));
    assert!(runs(&world) <= 2);
    assert_clean(&world);
}

// What is trusted for whoever uses the command line is not trusted for an agent by calling it so; and what is no folder is said at once.
#[test]
fn a_server_that_could_not_be_told_apart_does_not_start() {
    let world = marked();
    assert_eq!(world.fault(["serve", "--as", "cli"], 2)["code"], "E_NAME_INVALID");
    assert_eq!(world.fault(["serve", "--workspace", "nowhere"], 2)["code"], "E_FOLDER_NOT_FOUND");
    assert_eq!(world.fault(["serve", "--root", "nowhere"], 2)["code"], "E_SOURCE_MISSING");
    // With another name it starts, and ends with its client, who here never comes.
    assert_eq!(world.run(["serve", "--as", "cli2"]).code, Some(0));
}

// Of two requests under one id only the first counts, so that it can be taken back.
#[test]
fn an_id_is_that_of_one_request_at_a_time() {
    let (world, marker) = endless();
    for era in Era::ALL {
        let mut client = Client::start(&world, era, Asked::Cannot, &[]);
        let id = begin(&mut client, &marker);
        client.send_as(id, "tools/call", json!({"name": "list_skills", "arguments": {}}));
        let refused = client.until(|message| message["error"].is_object());
        assert!(refused["error"]["code"] == -32600 && refused["id"].is_null(), "{refused}");
        assert!(is_alive(&marker), "the first one runs on");
        client.notify("notifications/cancelled", &json!({"requestId": id}));
        assert_gone(&marker);
        // An id that is free again is one as any other.
        let answered = client.ask("tools/list", json!({}));
        let again = answered["id"].as_u64().unwrap();
        client.send_as(again, "tools/list", json!({}));
        assert!(client.wait(again)["result"]["tools"].is_array());
        assert_eq!(client.leave(), Some(0));
    }
    assert_clean(&world);
}

// A workspace that no script could ever have is refused to who sets it up, on standard error; what could be one is served.
#[test]
fn a_workspace_that_can_never_be_one_is_refused_at_the_start() {
    let world = marked();
    // So that there are a state and a config folder.
    trust(&world, "mcp", &[]);
    world.write("file", "x");
    let config = world.text("home/.config/fumehood");
    for (workspace, exit, code, reason) in [
        ("/nowhere", 2, "E_FOLDER_NOT_FOUND", "/nowhere: there is no such folder"),
        ("file", 2, "E_FOLDER_NOT_FOUND", "there is no such folder"),
        ("/", 3, "E_PLACE_FORBIDDEN", "root of all files"),
        ("/usr/share", 3, "E_PLACE_FORBIDDEN", "sandbox's own"),
        ("/tmp", 3, "E_PLACE_FORBIDDEN", "sandbox's own"),
        (&config, 3, "E_PLACE_FORBIDDEN", "config folder"),
        ("home/.local/share/fumehood", 3, "E_PLACE_FORBIDDEN", "state folder"),
        // It holds the state folder, and that is said first.
        ("home", 3, "E_PLACE_FORBIDDEN", "state folder"),
        (".", 3, "E_PLACE_FORBIDDEN", "state folder"),
    ] {
        for access in ["", ":rw"] {
            let given = format!("{workspace}{access}");
            let arguments = ["serve", "--root", "skills", "--workspace", &given];
            let fault = world.fault(arguments, exit);
            assert_eq!(fault["code"], code, "{given} {fault}");
            let message = crate::text(&fault["message"]);
            assert!(message.contains("no script could be given this workspace"), "{message}");
            assert!(message.contains(reason), "{given} {message}");
            let answer = world.run(arguments);
            assert!(answer.stdout.is_empty() && answer.errors().contains(code), "{}", answer.errors());
        }
    }
    assert_eq!(world.run(["serve", "--root", "skills", "--workspace", "work"]).code, Some(0));
    assert_eq!(world.run(["serve", "--root", "skills", "--workspace", "work:rw"]).code, Some(0));

    // One that goes later is refused to the call.
    let mut client = Client::start(&world, Era::July2026, Asked::Cannot, &WORK);
    assert!(client.names().contains(&"run_skill_script".to_owned()));
    std::fs::remove_dir(world.path("work")).unwrap();
    assert_refused(&client.tool("run_skill_script", &go("a")), "E_FOLDER_NOT_FOUND");
}

// Two clients at once share the state and nothing else: no request of the one is known to the other.
#[test]
fn two_clients_at_once() {
    let world = marked();
    trust(&world, "mcp", &[]);
    world.write("skills/tool/go.sh", "echo ran\n");
    trust(&world, "mcp", &[]);
    thread::scope(|scope| {
        for era in [Era::November2025, Era::July2026] {
            let world = &world;
            scope.spawn(move || {
                let mut client = Client::start(world, era, Asked::Cannot, &[]);
                for _ in 0..5 {
                    assert_ran(&client.tool("run_skill_script", &go("a")));
                }
                let mut other = Client::start(world, era, Asked::Cannot, &["--as", "other"]);
                assert_refused(&other.tool("run_skill_script", &go("a")), "E_CONSENT_PENDING");
                assert_eq!((client.leave(), other.leave()), (Some(0), Some(0)));
            });
        }
    });
    assert_eq!(world.json(["runs"])["runs"].as_array().unwrap().len(), 10);
    assert_clean(&world);
}
