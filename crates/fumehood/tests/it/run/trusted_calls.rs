//! Trust scopes of checked tools: what `call` calls without a question, and what takes that back.

use fumehood_testkit::{Streams, World};
use serde_json::{Value, json};

use super::policy::policy;
use super::scopes::{TRUST, list, plain, remove, rows, told};
use super::{configure, flagged, receipt, scripted, yes};
use crate::schemas::assert_valid;
use crate::text;

const ECHO: &str = "import { readFileSync } from 'node:fs'; process.stdout.write(readFileSync(0));";
const ONE: &str = "{\"n\":1}";

/// A skill with a checked tool that says what it is told, a script, and a file that nobody lists, in a world of this mode.
fn tool(mode: &str) -> World {
    let manifest = json!({
        "schemaVersion": 1, "entrypoint": "go.mjs", "files": ["go.mjs"], "timeoutMs": 30000, "maxOutputBytes": 2048,
        "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": false},
        "outputSchema": {"type": "object", "properties": {}},
    });
    let skill = scripted(&json!([]), "echo ran\n").file("execution.json", manifest.to_string());
    let world = flagged(&skill.file("go.mjs", ECHO).file("notes.txt", "first\n"));
    policy(&world, &format!("mode = \"{mode}\"\n"));
    world
}

/// What is shown, and the scope, of a person who trusts the checked tool.
fn add(world: &World, more: &[&str]) -> (String, Value) {
    let words: Vec<_> = ["add", "skills/tool"].iter().chain(more).copied().collect();
    let (shown, answer) = told(world, &words, "y\n");
    assert_eq!(answer.code, Some(0), "{shown}{}", answer.errors());
    (plain(&shown), assert_valid("trust-scope", &answer.stdout)["scope"].clone())
}

/// Whether a call is answered without a question, where nobody could be asked.
fn is_unasked(world: &World, more: &[&str]) -> bool {
    is_unasked_with(world, ONE, more)
}

fn is_unasked_with(world: &World, input: &str, more: &[&str]) -> bool {
    let answer = world.run(["call", "skills/tool", "--input", input].iter().chain(more));
    let is_denied = answer.code == Some(3) && answer.errors().contains("[E_SKILL_SCRIPT_DENIED]");
    assert!(answer.code == Some(0) || is_denied, "{input} {more:?}: {}", answer.errors());
    let said = || serde_json::from_str::<Value>(input).unwrap();
    assert!(is_denied || answer.json() == said(), "{}", answer.text());
    answer.code == Some(0)
}

/// What the policy would say of a call.
fn explained(world: &World, more: &[&str]) -> Value {
    let words = ["--format", "json", "policy", "explain", "skills/tool", "--input", ONE];
    let answer = world.run(words.iter().chain(more));
    assert_eq!(answer.code, Some(0), "{more:?}: {}", answer.errors());
    assert_valid("policy-explain", &answer.stdout)
}

// CHK-033, CHK-035, CHK-036, CHK-154: whoever trusts a checked tool sees all of it, and is not asked again by any process,
// whatever valid input it hands in; the receipt says by which scope.
#[test]
fn a_trusted_tool_is_called_without_a_question() {
    let world = tool("trusted");
    assert!(!is_unasked(&world, &[]));
    assert_eq!(explained(&world, &[])["outcome"], "ask");
    let (shown, scope) = add(&world, &[]);
    let revision = text(&world.json(["show", "skills/tool"])["revision"]).to_owned();
    for part in [
        "path:tool",
        &format!("revision      {revision}"),
        "tool          call_tool",
        "workspace     none",
        "at most       30 s, 2.0 KiB of each stream",
        "runs          the checked tool go.mjs",
        "its files     go.mjs",
        "interpreter   /usr/bin/node, sha256 ",
        "approved      never before",
        "Trust it? [y/N]",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!((&scope["counts"], &scope["tool"]), (&json!(true), &json!("call_tool")));
    for input in [ONE, "{}", "{\"n\":-7}"] {
        assert!(is_unasked_with(&world, input, &[]), "{input}");
        let receipt = receipt(&world);
        assert_eq!((&receipt["tier"], &receipt["authority"]["kind"]), (&json!("checked"), &json!("scope")));
        assert_eq!(receipt["authority"]["scope"], scope["receipt"]);
    }
    let explained = explained(&world, &[]);
    assert_eq!((&explained["outcome"], &explained["tier"]), (&json!("allow"), &json!("checked")));
    assert_eq!((&explained["scope"], &explained["scopes"][0]["covers"]), (&scope["receipt"], &json!(true)));
    assert!(rows(&world, "trust.saved") > 0);
    // Also at a terminal: there is no question on it.
    let call = world.call();
    let (shown, answer) = call.sit_down(["call", "skills/tool", "--input", ONE], Streams::Pipes).leave();
    assert_eq!((answer.code, answer.json()), (Some(0), json!({"n": 1})), "{shown}");
    assert!(!shown.contains("[y/N]"), "{shown}");
    // What does not fit the schema is refused as ever.
    let fault = world.fault(["call", "skills/tool", "--input", "{\"m\":1}"], 2);
    assert_eq!(fault["code"], "E_SCHEMA_MISMATCH");
}

// CHK-033: nothing is trusted but what the words mean: alone the checked tool, with a script that script.
#[test]
fn a_tool_and_a_script_of_one_skill_are_two() {
    let world = tool("trusted");
    let (shown, script) = add(&world, &["go"]);
    assert!(shown.contains("runs          the script go.sh") && !shown.contains("its files"), "{shown}");
    assert_eq!(script["tool"], "run_tool_go");
    assert!(!is_unasked(&world, &[]));
    let (_, checked) = add(&world, &[]);
    assert_ne!(checked["id"], script["id"]);
    // The tool's own name means it, too: the same scope, with the receipt that it has.
    let (_, again) = add(&world, &["call_tool"]);
    assert_eq!((&again["id"], &again["receipt"]), (&checked["id"], &checked["receipt"]));
    remove(&world, text(&script["id"]));
    assert!(is_unasked(&world, &[]));
    assert_eq!(world.run(["run", "skills/tool", "go"]).code, Some(3));
    for (words, code, advice) in [
        (&["go.mjs"][..], "E_TRUST_SCOPE_INVALID", "leave it out"),
        (&["--path", "n=skills"], "E_ARGUMENT_INVALID", "lists what it takes"),
        (&["--timeout", "31"], "E_TRUST_SCOPE_INVALID", "ask for less"),
        (&["--workspace", "skills:rw"], "E_ARGUMENT_INVALID", "without \":rw\""),
    ] {
        let fault = world.fault(["trust", "add", "skills/tool"].iter().chain(words), 2);
        assert_eq!(fault["code"], code, "{words:?}");
        assert!(text(&fault["advice"]).contains(advice), "{fault}");
    }
    // A script that is called like the tool: the name means neither, until more is said.
    let of_script = String::from_utf8(world.read("skills/tool/fumehood.json")).unwrap();
    world.write("skills/tool/fumehood.json", of_script.replace("\"go\"", "\"call_tool\""));
    let fault = world.fault(["trust", "add", "skills/tool", "call_tool"], 2);
    assert_eq!(fault["code"], "E_ARGUMENT_INVALID");
    assert_eq!(add(&world, &["go.sh"]).1["tool"], "run_tool_call_tool");
    assert_eq!(add(&world, &[]).1["tool"], "call_tool");
    // A skill without a checked tool.
    std::fs::remove_file(world.path("skills/tool/execution.json")).unwrap();
    let fault = world.fault(["trust", "add", "skills/tool"], 4);
    assert_eq!(fault["code"], "E_EXECUTION_UNAVAILABLE");
    assert!(text(&fault["advice"]).contains("name one of its scripts"), "{fault}");
}

// CHK-033, CHK-034, CHK-039, CHK-041: another byte in any file, another workspace or more time, and it is asked about.
#[test]
fn a_call_that_is_not_the_trusted_one_is_asked_about() {
    let world = tool("trusted");
    for folder in ["ws", "ws2"] {
        world.folder(folder);
    }
    let (_, scope) = add(&world, &["--timeout", "20", "--workspace", "ws"]);
    assert!(text(&scope["workspace"]).starts_with("read_folder "), "{scope}");
    let covered = ["--workspace", "ws", "--timeout", "20000"];
    assert!(is_unasked(&world, &covered));
    for more in [
        &["--workspace", "ws"][..],
        &["--workspace", "ws", "--timeout", "20001"],
        &["--timeout", "20000"],
        &["--workspace", "ws2", "--timeout", "20000"],
    ] {
        assert!(!is_unasked(&world, more), "{more:?}");
        let why = explained(&world, more);
        assert_eq!(
            (&why["outcome"], &why["scopes"][0]["covers"]),
            (&json!("ask"), &json!(false)),
            "{more:?}"
        );
    }
    assert_eq!(explained(&world, &covered)["outcome"], "allow");
    world.rename("ws", "kept");
    world.folder("ws");
    assert!(!is_unasked(&world, &covered));
    add(&world, &["--workspace", "ws", "--timeout", "20"]);
    for (file, other) in [
        ("notes.txt", "second\n".to_owned()),
        ("go.mjs", format!("{ECHO}\n")),
        ("new.txt", String::new()),
        ("go.sh", "echo other\n".to_owned()),
    ] {
        assert!(is_unasked(&world, &covered), "before {file}");
        world.write(&format!("skills/tool/{file}"), other);
        assert!(!is_unasked(&world, &covered), "{file}");
        let (shown, _) = add(&world, &["--workspace", "ws", "--timeout", "20"]);
        assert!(shown.contains(file) && shown.contains("since then 1 file changed"), "{file}: {shown}");
    }
    let words = ["call", "skills/tool", "--input", ONE].iter().chain(&covered).copied();
    world.write("skills/tool/notes.txt", "third\n");
    let (shown, answer) = yes(&world, words);
    assert_eq!(answer.code, Some(0), "{shown}");
    assert!(
        shown.contains("the trust scope for the tool does not count: the skill's bytes changed"),
        "{shown}"
    );
}

// CHK-029, CHK-037, CHK-040, CHK-042, CHK-048: a draft is none, a deny or ask rule comes before every scope, and removed it is
// revoked at once.
#[test]
fn a_trusted_tool_is_under_the_policy() {
    let world = tool("ask");
    let (shown, draft) = add(&world, &[]);
    assert!(shown.contains("counts for nothing"), "{shown}");
    assert_eq!((&draft["receipt"], &draft["counts"]), (&Value::Null, &json!(false)));
    assert!(!is_unasked(&world, &[]));
    policy(&world, "mode = \"trusted\"\n");
    assert!(!is_unasked(&world, &[]));
    let (_, scope) = add(&world, &[]);
    assert!(is_unasked(&world, &[]));
    for (outcome, code) in [("deny", "E_POLICY_DENIED"), ("ask", "E_SKILL_SCRIPT_DENIED")] {
        let rule =
            format!("mode = \"trusted\"\n[[rule]]\nname = \"r\"\n{outcome} = {{ tool = \"call_tool\" }}\n");
        policy(&world, &rule);
        assert_eq!(world.fault(["call", "skills/tool", "--input", ONE], 3)["code"], code);
        let explained = explained(&world, &[]);
        assert_eq!((&explained["outcome"], &explained["rule"]), (&json!(outcome), &json!("r")));
    }
    policy(&world, "mode = \"ask\"\n");
    assert!(!is_unasked(&world, &[]));
    policy(&world, "mode = \"trusted\"\n");
    assert!(is_unasked(&world, &[]));
    remove(&world, text(&scope["id"]));
    assert!(!is_unasked(&world, &[]));
    let (_, again) = add(&world, &[]);
    assert_eq!(again["id"], scope["id"]);
    assert_ne!(again["receipt"], scope["receipt"]);
}

// CHK-046, CHK-047, CHK-135: trust is not the capability and not the safety mode; each refuses with its own code.
#[test]
fn trust_outweighs_no_switch() {
    let world = tool("trusted");
    add(&world, &[]);
    for (execute, code) in [("checked = false", "E_EXECUTE_DISABLED"), ("safety = \"safe\"", "E_SAFE_MODE")] {
        assert!(is_unasked(&world, &[]));
        configure(&world, &format!("[execute]\n{execute}\n"));
        assert_eq!(world.fault(["call", "skills/tool", "--input", ONE], 3)["code"], code);
        let fault = world.fault(["policy", "explain", "skills/tool", "--input", ONE], 3);
        assert_eq!(fault["code"], code);
        let listed = world.json(["trust", "list"]);
        assert!(crate::texts(&listed["unavailable"], "code").contains(&code), "{listed}");
        configure(&world, "");
    }
    for safety in ["mostly_safe", "bypass"] {
        configure(&world, &format!("[execute]\nsafety = \"{safety}\"\n"));
        assert!(is_unasked(&world, &[]), "{safety}");
    }
}

// CHK-007, CHK-038, CHK-044: only a person at a terminal trusts a tool, and only as it was shown.
#[test]
fn a_tool_is_trusted_at_a_terminal_as_it_is_shown() {
    let world = tool("trusted");
    assert_eq!(world.fault(["trust", "add", "skills/tool"], 3)["code"], "E_TERMINAL_REQUIRED");
    assert_eq!(told(&world, &["add", "skills/tool"], "n\n").1.code, Some(3));
    let call = world.call();
    let mut session = call.sit_down(["--format", "json", "trust", "add", "skills/tool"], Streams::Pipes);
    session.see(TRUST);
    world.write("skills/tool/notes.txt", "other");
    session.keys("y\n");
    let (_, answer) = session.leave();
    assert_eq!(serde_json::from_slice::<Value>(&answer.stderr).unwrap()["code"], "E_CONSENT_STALE");
    assert!(list(&world)["scopes"].as_array().unwrap().is_empty());
}

// CHK-043: a trusted tool whose skill has other bytes by now is stale in the list, with how many files differ.
#[test]
fn the_list_says_which_tool_is_stale() {
    let world = tool("trusted");
    world.folder("home/.agents");
    world.rename("skills", "home/.agents/skills");
    let (_, answer) = told(&world, &["add", "tool"], "y\n");
    assert_eq!(answer.code, Some(0), "{}", answer.errors());
    assert_eq!(list(&world)["scopes"][0]["stale"], false);
    world.write("home/.agents/skills/tool/notes.txt", "second\n");
    let stale = list(&world)["scopes"][0].clone();
    assert_eq!((&stale["stale"], &stale["files_changed"]), (&json!(true), &json!(1)));
    let shown = world.run(["trust", "list"]).text();
    assert!(shown.contains("call_tool  stale: the skill has another revision, 1 file changed"), "{shown}");
}

// `explain` takes a script or the input of the checked tool, and not half of either.
#[test]
fn explain_takes_a_call_or_a_run() {
    let world = tool("ask");
    for wrong in [
        &["explain", "skills/tool"][..],
        &["explain", "skills/tool", "go", "--input", ONE],
        &["explain", "skills/tool", "--input", ONE, "--read", "x"],
    ] {
        assert_eq!(world.run(["policy"].iter().chain(wrong)).code, Some(2), "{wrong:?}");
    }
    for (input, more, code) in [
        ("{\"n\":\"x\"}", &[][..], "E_SCHEMA_MISMATCH"),
        (ONE, &["--workspace", "skills:rw"], "E_ARGUMENT_INVALID"),
        (ONE, &["--timeout", "5000000000"], "E_ARGUMENT_INVALID"),
        (ONE, &["--timeout", "1"], "E_ARGUMENT_INVALID"),
    ] {
        let words = ["policy", "explain", "skills/tool", "--input", input];
        assert_eq!(world.fault(words.iter().chain(more), 2)["code"], code, "{more:?}");
    }
    let page = world.run(["policy", "explain", "skills/tool", "--input", "{\"n\":77123}"]).text();
    assert!(page.starts_with("ask: ") && page.contains("call_tool") && !page.contains("77123"), "{page}");
    assert!(world.json(["runs"])["runs"].as_array().unwrap().is_empty());
}
