//! What a person is shown before a checked tool runs, what it gets of theirs, and where a run of it is told.

use std::collections::BTreeSet;

use fumehood_testkit::World;
use serde_json::{Value, json};

use super::calls::{approved, checked, flagged};
use super::{assert_clean, configure, receipt, revision, world, yes};
use crate::recorded::{STATE, journal};

// CHK-026, CHK-137: artifact, exact arguments, workspace, limits and the exact environment, each in a place of its own, and what it
// is shown is what it gets.
#[test]
fn the_question_of_a_call_says_all_of_it() {
    let world = world();
    let program = "import { readdirSync } from 'node:fs';\n\
                   console.log(JSON.stringify({ env: process.env, sees: readdirSync(process.env.PLACE) }));";
    world.add("skills", &checked(program));
    world.write("papers/a.txt", "a");
    let place = world.text("papers");
    configure(&world, &format!("[environment]\nPLACE = \"{place}\"\nNODE_NO_WARNINGS = \"1\"\n"));
    let arguments =
        ["call", "skills/tool", "--input", "{\"n\": 7}", "--workspace", &place, "--timeout", "2000"];
    let (shown, answer) = yes(&world, arguments);
    assert_eq!(answer.code, Some(0), "{shown}{}", answer.errors());
    let receipt = receipt(&world);
    let (revision, interpreter) = (revision(&world, "skills/tool"), &receipt["interpreter"]);
    for line in [
        "skill           tool, from the source path".to_owned(),
        format!("revision        {revision}"),
        format!("sha256 {}", crate::text(&interpreter["sha256"])),
        "arguments       {\"n\":7}".to_owned(),
        format!("may read all of {place}"),
        "limits          time 2 s (enforced)".to_owned(),
        format!("environment     HOME=/tmp LANG=C.UTF-8 PATH=/usr/bin:/bin PLACE={place} TMPDIR=/tmp"),
        "in the folder   /skill".to_owned(),
        "It can read and change nothing else of yours, and reaches no network.".to_owned(),
    ] {
        assert!(shown.contains(&format!("{line}\n")), "{line}\n{shown}");
    }
    let env = json!({
        "HOME": "/tmp", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "PLACE": place, "TMPDIR": "/tmp",
    });
    assert_eq!(answer.json(), json!({"env": env, "sees": ["a.txt"]}));
    assert_clean(&world);
}

// CHK-139, CHK-140: there is nothing that looks credentials up, and none that lies about reaches the program.
#[test]
fn no_credential_reaches_the_program() {
    let places = [".netrc", ".aws/credentials", ".config/gh/hosts.yml", ".ssh/id_ed25519"];
    let program = |home: &str| {
        format!(
            "import {{ readFileSync }} from 'node:fs';\nimport {{ homedir }} from 'node:os';\nconst got = [];\n\
             for (const home of ['{home}', homedir(), process.env.HOME]) for (const place of {})\n\
             try {{ got.push(readFileSync(home + '/' + place, 'utf8')); }} catch {{}}\n\
             console.log(JSON.stringify({{ got, env: Object.entries(process.env).filter(([, value]) => value.includes('secret')) }}));",
            json!(places)
        )
    };
    let world = flagged("");
    world.write("skills/tool/go.mjs", program(&world.text("home")));
    for place in places {
        world.write(&format!("home/{place}"), "secret");
    }
    let variables =
        ["ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "NODE_AUTH_TOKEN"];
    let call = variables.iter().fold(world.call(), |call, name| call.variable(name, "secret"));
    let answer = call.run(approved(&world, &["--input", "{}"]));
    assert_eq!((answer.code, answer.json()), (Some(0), json!({"got": [], "env": []})), "{}", answer.errors());
    // The same program finds what a person grants on purpose.
    let home = world.text("home/.aws");
    world.write("skills/tool/go.mjs", program(&home).replace(".aws/credentials", "credentials"));
    let answer = call.run(approved(&world, &["--input", "{}", "--workspace", &home]));
    assert_eq!(answer.json()["got"], json!(["secret"]), "{}", answer.errors());
}

/// The kinds of rows that something adds to the journal, and the names in the state folder afterwards.
fn told(world: &World, act: impl FnOnce()) -> (BTreeSet<String>, BTreeSet<String>) {
    let count = || journal(world).newest(None, None, 1000).unwrap().len();
    let before = count();
    act();
    let rows = journal(world).newest(None, None, 1000).unwrap();
    let kinds = rows.iter().take(count() - before).map(|row| row.kind.clone()).collect();
    let names = std::fs::read_dir(world.path(STATE)).unwrap();
    (kinds, names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect())
}

// CHK-146: a call is told, recorded and listed as a run of a script is, in the same places; there is no store of its own, and
// nothing that takes back what it did.
#[test]
fn a_call_is_on_record_where_every_run_is() {
    let world = flagged("console.log('{}');");
    world.write("skills/tool/go.sh", "echo ran\n");
    let revision = revision(&world, "skills/tool");
    let run = ["run", "skills/tool", "go.sh", "--approve", &revision, "--"];
    // The first run pins its interpreter, and so does the first call.
    assert_eq!(world.run(run).code, Some(0));
    assert_eq!(world.run(approved(&world, &["--input", "{}"])).code, Some(0));
    let of_run = told(&world, || assert_eq!(world.run(run).code, Some(0)));
    let of_call = told(&world, || assert_eq!(world.run(approved(&world, &["--input", "{}"])).code, Some(0)));
    assert!(!of_run.0.is_empty());
    assert_eq!(of_run, of_call);
    let runs = world.json(["runs"]);
    let tools: Vec<&Value> = runs["runs"].as_array().unwrap().iter().map(|run| &run["tool"]).collect();
    assert_eq!(tools.len(), 4);
    assert!(tools[0] != tools[1] && tools[0] == tools[2], "{tools:?}");
    let events: fn(&Value) -> BTreeSet<String> =
        |receipt| receipt["closing"].as_object().unwrap().keys().cloned().collect();
    assert!(
        events(&receipt(&world)).iter().all(|field| !field.contains("rollback") && !field.contains("undone"))
    );
}

// CHK-050: the help and the question say the same about where nothing holds, and the help where to look.
#[test]
fn the_help_says_what_full_trust_is() {
    let world = world();
    let help = world.run(["call", "--help"]).text().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("FULL TRUST: there the tool does whatever you yourself may do."), "{help}");
    assert!(help.contains("`fumehood show SKILL`"), "{help}");
    let help = world.run(["trust", "add", "--help"]).text().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("Trust is no sandbox"), "{help}");
}

// CHK-050, CHK-155: where nothing runs, every answer about what may run says so and why; and none does where all is ready.
#[test]
fn every_answer_says_what_is_unavailable() {
    let world = super::flagged(&super::scripted(&json!([]), "echo ran\n"));
    let policy = |content: &str| super::policy::policy(&world, content);
    policy("mode = \"trusted\"\n");
    let add = ["--format", "json", "trust", "add", "skills/tool", "go"];
    let (_, answer) = world.call().at_terminal(add, "[y/N] ", "y\n");
    let scope = crate::text(&answer.json()["scope"]["id"]).to_owned();
    let asked: [&[&str]; 3] = [&["policy", "check"], &["trust", "list"], &["trust", "show", &scope]];
    let codes = |arguments: &[&str]| {
        let answer = world.run(["--format", "json"].iter().chain(arguments)).json();
        crate::texts(&answer["unavailable"], "code").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(answer.json()["unavailable"], json!([]));
    for arguments in asked {
        assert_eq!(codes(arguments), [""; 0], "{arguments:?}");
        assert!(!world.run(arguments).text().contains("unavailable"), "{arguments:?}");
    }
    let execute = |text: &str| format!("[execute]\n{text}\n");
    for (settings, mode, code, what) in [
        (execute("safety = \"safe\""), "trusted", "E_SAFE_MODE", "nothing of a skill runs"),
        (execute("checked = false"), "trusted", "E_EXECUTE_DISABLED", "no checked tool runs"),
        (
            "[interpreters.node]\npath = \"/nowhere/node\"\n".to_owned(),
            "ask",
            "E_INTERPRETER_UNKNOWN",
            "no checked tool runs",
        ),
        (String::new(), "blocked", "E_POLICY_BLOCKED", "nothing of a skill runs"),
        (String::new(), "workflow", "E_POLICY_WORKFLOW", "nothing of a skill runs"),
        (String::new(), "neither", "E_POLICY_INVALID", "nothing of a skill runs"),
    ] {
        configure(&world, &settings);
        policy(&format!("mode = \"{mode}\"\n"));
        for arguments in asked {
            assert_eq!(codes(arguments), [code], "{arguments:?}");
            let page = world.run(arguments).text();
            assert!(page.contains(&format!("unavailable: {what} here: ")) && page.contains(code), "{page}");
        }
        // Where nothing of it runs, the skill says so too.
        let shown = world.json(["show", "skills/tool"]);
        let is_said = crate::texts(&shown["execution"]["reasons"], "code").contains(&code);
        assert_eq!(is_said, what.starts_with("nothing"), "{code}");
        assert_eq!(shown["execution"]["scripts_available"], !is_said, "{code}");
    }
    // Whoever takes one back is told as well.
    let removed = world.json(["trust", "remove", &scope]);
    assert_eq!(crate::texts(&removed["unavailable"], "code"), ["E_POLICY_INVALID"]);
    // And what is said to be unavailable is.
    assert_eq!(world.fault(["run", "skills/tool", "go"], 3)["code"], "E_POLICY_INVALID");
}

// CHK-001, CHK-027: a person's yes, the switch, and a machine that confines are demands apart, and none makes up for another.
#[test]
fn each_demand_is_by_itself() {
    let world = flagged("console.log('{}');");
    let arguments = approved(&world, &["--input", "{}"]);
    assert_eq!(world.run(&arguments).code, Some(0));
    let runs = || world.json(["runs"])["runs"].as_array().unwrap().len();
    let before = runs();
    // With the yes and the switch, on a machine that cannot confine.
    let script = "echo 0 >/proc/sys/user/max_user_namespaces; exec \"$0\" \"$@\"";
    let own = ["--user", "--map-root-user", "/bin/sh", "-c", script];
    let answer = world.call().run_behind("/usr/bin/unshare", own, &arguments);
    assert_eq!((answer.code, answer.text().as_str()), (Some(4), ""), "{}", answer.errors());
    assert!(answer.errors().contains("[E_SANDBOX_UNAVAILABLE]"), "{}", answer.errors());
    // With the yes and the machine, switched off.
    configure(&world, "[execute]\nchecked = false\n");
    assert_eq!(world.fault(&arguments, 3)["code"], "E_EXECUTE_DISABLED");
    // With the switch and the machine, and nobody's yes.
    configure(&world, "");
    assert_eq!(world.fault(["call", "skills/tool", "--input", "{}"], 3)["code"], "E_SKILL_SCRIPT_DENIED");
    assert_eq!(runs(), before);
}

// CHK-049: a policy that changes stops the next call, and not the one that runs.
#[test]
fn what_runs_already_goes_on() {
    let program = "import { existsSync, readFileSync } from 'node:fs';\nconst place = process.env.PLACE;\n\
                   while (!existsSync(place + '/go')) { readFileSync(place + '/look'); await new Promise(r => setTimeout(r, 10)); }\n\
                   console.log('{}');";
    let world = flagged(program);
    world.write("papers/look", "");
    let papers = world.text("papers");
    configure(&world, &format!("[environment]\nPLACE = \"{papers}\"\n"));
    let arguments = approved(&world, &["--input", "{}", "--workspace", &papers]);
    let looks = fumehood_testkit::Opens::of(&world.path("papers/look"));
    let answer = std::thread::scope(|scope| {
        let call = scope.spawn(|| world.run(&arguments));
        while looks.count() == 0 && !call.is_finished() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        super::policy::policy(&world, "mode = \"blocked\"\n");
        world.write("papers/go", "");
        call.join().unwrap()
    });
    assert_eq!((answer.code, answer.text().as_str()), (Some(0), "{}\n"), "{}", answer.errors());
    assert_eq!(world.fault(&arguments, 3)["code"], "E_POLICY_BLOCKED");
}

// CHK-145: an answer is untrusted text: as it is for whoever reads it as JSON, and nothing that acts on a terminal.
#[test]
fn an_answer_drives_no_terminal() {
    let program = "const text = '\\u001b[2J\\u202e\\u200b\\u0007'; console.error(text); console.log(JSON.stringify({ text }));";
    let world = flagged(program);
    let arguments = approved(&world, &["--input", "{}"]);
    let (shown, code) = world.call().variable("NO_COLOR", "1").on_terminal(&arguments);
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(fumehood_testkit::hidden::hidden_in(shown.replace('\r', "").as_bytes()), [""; 0], "{shown}");
    assert_eq!(world.run(&arguments).json(), json!({"text": "\u{1b}[2J\u{202e}\u{200b}\u{7}"}));
}
