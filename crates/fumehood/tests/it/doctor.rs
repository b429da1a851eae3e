//! `doctor` and `doctor --prove`: what they say about the machine that the tests run on, and about one without a sandbox.

use std::process::Command;

use fumehood_core::Sha256;
use fumehood_sandbox::prove::attacks;
use fumehood_testkit::{Answer, World};
use serde_json::Value;

use crate::schemas::{assert_notices, assert_valid};
use crate::{text, texts, world};

const AXES: [&str; 10] = [
    "files",
    "writes",
    "network",
    "processes",
    "signals",
    "syscalls",
    "memory",
    "pids",
    "cpu",
    "environment",
];

// XSF-53, X-11: facts from a probe, axis by axis, each with what enforces it.
#[test]
fn the_level_and_every_axis_are_told() {
    let world = world();
    let report = world.json(["doctor"]);
    let sandbox = &report["sandbox"];
    assert!(["full", "namespaces"].contains(&text(&sandbox["level"])), "{sandbox:#}");
    assert_eq!(sandbox["obstacle"].is_null(), sandbox["level"] == "full", "{sandbox:#}");
    assert_eq!(sandbox["code"], Value::Null);
    assert_eq!(texts(&sandbox["axes"], "name"), AXES);
    assert_eq!(report["unsafe_switches"], Value::Array(Vec::new()));
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));

    let answer = world.run(["doctor"]);
    assert_eq!((answer.code, answer.errors().as_str()), (Some(0), ""));
    let page = answer.text();
    assert!(page.starts_with(&format!("Sandbox  level {}: ", text(&sandbox["level"]))), "{page}");
    for axis in sandbox["axes"].as_array().unwrap() {
        let state = text(&axis["state"]);
        // Nothing is left out on a machine that has a level at all.
        assert!(["enforced", "partly"].contains(&state), "{axis}");
        let line = format!("  {:<11}  {state:<8}  {}\n", text(&axis["name"]), text(&axis["mechanism"]));
        assert!(page.contains(&line), "{line} in {page}");
    }
    assert!(page.contains("\nUnsafe switches  none\n"), "{page}");
    assert!(page.ends_with("fumehood doctor --prove\n"), "{page}");
    assert!(!world.has("home/.local") && !world.has("home/.config"), "a look makes nothing");
}

#[test]
fn interpreters_are_those_at_fixed_paths_with_file_version_and_digest() {
    let world = world();
    // What a person, or a project, puts first on the path is not looked at.
    let path = world.text("project");
    world.write("project/bash", "#!/bin/sh\necho mine\n");
    world.mode("project/bash", 0o755);
    let report = world.call().variable("PATH", path).json(["doctor"]);
    let found = report["interpreters"].as_array().unwrap();
    assert_eq!(texts(&report["interpreters"], "key"), ["sh", "bash", "python3", "node"]);
    let page = world.run(["doctor"]).text();
    for interpreter in found {
        let key = text(&interpreter["key"]);
        if interpreter["status"] == "missing" {
            assert!(page.contains(&format!("  {key:<11}  not at /usr/bin/{key}")), "{page}");
            continue;
        }
        assert_eq!(interpreter["status"], "found", "{interpreter}");
        let path = text(&interpreter["path"]);
        assert!(interpreter["candidates"].as_array().unwrap().contains(&path.into()), "{interpreter}");
        let file = std::fs::canonicalize(path).unwrap();
        assert_eq!(text(&interpreter["file"]), file.to_str().unwrap());
        let sha256 = Sha256::of(&std::fs::read(&file).unwrap()).to_string();
        assert_eq!(text(&interpreter["sha256"]), sha256);
        assert!(page.contains(&sha256) && page.contains(path), "{page}");
        // The same words as outside.
        let output = Command::new(path).arg("--version").env_clear().output().unwrap();
        let words = String::from_utf8_lossy(&output.stdout);
        match words.lines().next().filter(|_| output.status.success()) {
            Some(first) => assert_eq!(text(&interpreter["version"]), first.trim()),
            None => assert_eq!(text(&interpreter["reason"]), "reports no version"),
        }
    }
    assert_eq!(found[0]["status"], "found", "every system has a shell");
}

fn folder(world: &World, role: usize) -> Value {
    let answer = world.run(["doctor", "--format", "json"]);
    let report = assert_valid("doctor", &answer.stdout);
    let refused = report["folders"].as_array().unwrap().iter().any(|folder| folder["status"] == "refused");
    // A look at a folder that is refused is no failure of the look, but programs must see it.
    assert_eq!(answer.code, Some(if refused { 3 } else { 0 }));
    report["folders"][role].clone()
}

#[test]
fn own_folders_are_absent_private_visible_or_refused() {
    let world = world();
    let (config, state) = ("home/.config/fumehood", "home/.local/share/fumehood");
    assert_eq!(folder(&world, 0)["path"], world.text(config));
    for role in [0, 1] {
        let absent = folder(&world, role);
        assert_eq!((&absent["status"], &absent["mode"]), (&"absent".into(), &Value::Null));
    }
    assert!(world.run(["doctor"]).text().contains(&format!("  state        {state}  not made yet\n")));
    for (below, role, mode, status) in [
        (config, 0, 0o700, "private"),
        (state, 1, 0o700, "private"),
        (config, 0, 0o755, "visible"),
        (config, 0, 0o770, "refused"),
        (config, 0, 0o700, "private"),
        (state, 1, 0o755, "refused"),
    ] {
        world.folder(below);
        world.mode(below, mode);
        let seen = folder(&world, role);
        assert_eq!(
            (text(&seen["status"]), text(&seen["mode"])),
            (status, format!("{mode:04o}").as_str()),
            "{below}"
        );
        assert_eq!(seen["owner"], rustix::process::geteuid().as_raw());
    }
    let answer = world.run(["doctor"]);
    assert_eq!((answer.code, answer.errors().as_str()), (Some(3), ""));
    let line = "mode 0755, user ";
    let page = answer.text();
    assert!(page.contains(line), "{page}");
    assert!(page.contains("refused: is open to others; set its mode to 0700 [E_HOME_REFUSED]\n"), "{page}");
    // Nothing else is kept back because of it.
    assert!(page.starts_with("Sandbox  level "), "{page}");
}

#[test]
fn a_home_that_cannot_be_used_is_told_and_nothing_kept_back() {
    let world = world();
    world.folder("project/state");
    world.mode("project/state", 0o700);
    let inside = world.call().within("project").variable("FUMEHOOD_HOME", world.text("project/state"));
    for (call, reason) in [
        (inside, "lies inside the current project, where a skill could write it"),
        (world.call().without_home(), "neither HOME nor FUMEHOOD_HOME names an absolute folder"),
    ] {
        let answer = call.run(["doctor", "--format", "json"]);
        assert_eq!((answer.code, answer.errors().as_str()), (Some(3), ""));
        let report = assert_valid("doctor", &answer.stdout);
        assert_eq!(texts(&report["folders"], "status"), ["refused", "refused"]);
        assert_eq!(texts(&report["folders"], "reason"), [reason, reason]);
        assert_eq!(report["sandbox"]["axes"].as_array().unwrap().len(), 10);
    }
}

/// Runs the program as root of a user namespace that may hold no other one.
fn without_namespaces(world: &World, arguments: &[&str]) -> Answer {
    let script = "echo 0 >/proc/sys/user/max_user_namespaces; exec \"$0\" \"$@\"";
    let own = ["--user", "--map-root-user", "/bin/sh", "-c", script];
    world.call().run_behind(UNSHARE, own, arguments)
}

// XSF-50: a machine that cannot confine is told so with the remedy, and nothing is run there, not even for a version.
#[test]
fn without_namespaces_the_refusal_names_the_remedy() {
    let world = world();
    let answer = without_namespaces(&world, &["doctor"]);
    assert_eq!((answer.code, answer.errors().as_str()), (Some(4), ""));
    let page = answer.text();
    assert!(page.starts_with("Sandbox  none: this machine cannot confine a program"), "{page}");
    assert!(page.contains("[E_SANDBOX_UNAVAILABLE]\n  why          "), "{page}");
    let remedy = page.lines().find_map(|line| line.strip_prefix("  remedy       ")).unwrap();
    assert!(remedy.contains("raise the sysctl user.max_user_namespaces"), "{page}");
    assert!(!page.contains("--prove"), "{page}");

    let answer = without_namespaces(&world, &["doctor", "--format", "json"]);
    assert_eq!((answer.code, answer.errors().as_str()), (Some(4), ""));
    let report = assert_valid("doctor", &answer.stdout);
    assert_eq!(report["sandbox"]["level"], Value::Null);
    assert_eq!(report["sandbox"]["code"], "E_SANDBOX_UNAVAILABLE");
    assert_eq!(report["sandbox"]["axes"], Value::Array(Vec::new()));
    for interpreter in report["interpreters"].as_array().unwrap() {
        assert_eq!(interpreter["version"], Value::Null, "{interpreter}");
    }

    let answer = without_namespaces(&world, &["doctor", "--prove", "--format", "json"]);
    assert_eq!((answer.code, answer.text().as_str()), (Some(4), ""));
    let fault = assert_valid("error", &answer.stderr);
    assert_eq!((&fault["code"], &fault["class"]), (&"E_SANDBOX_UNAVAILABLE".into(), &"unavailable".into()));
    assert!(text(&fault["advice"]).contains("user.max_user_namespaces"), "{fault}");

    // The control: a user namespace that may hold others.
    let own = ["--user", "--map-user=1000", "--map-group=1000"];
    let control = world.call().run_behind(UNSHARE, own, ["doctor"]);
    if fumehood_testkit::is_root() {
        // Root of the machine is held to no number of processes there, which is another reason and another remedy.
        assert_eq!(control.code, Some(4));
        assert!(control.text().contains("start fumehood as another user"), "{}", control.text());
    } else {
        assert_eq!(control.code, Some(0));
    }
}

// Where root has no number, as in a container for one user, nobody can tell who else could have changed a file.
#[test]
fn an_interpreter_that_is_not_roots_is_refused_and_not_run() {
    let world = world();
    let own = ["--user", "--map-user=1000", "--map-group=1000"];
    let report =
        assert_valid("doctor", &world.call().run_behind(UNSHARE, own, ["doctor", "--format=json"]).stdout);
    let shell = &report["interpreters"][0];
    assert_eq!((&shell["status"], &shell["path"]), (&"refused".into(), &"/usr/bin/sh".into()));
    assert_eq!(text(&shell["reason"]), "/ does not belong to root");
    assert_eq!((&shell["version"], &shell["sha256"]), (&Value::Null, &Value::Null));
    assert_eq!(text(&shell["file"]), std::fs::canonicalize("/usr/bin/sh").unwrap().to_str().unwrap());
    let page = world.call().run_behind(UNSHARE, own, ["doctor"]).text();
    assert!(page.contains("  refused: / does not belong to root\n"), "{page}");
}

#[test]
fn a_proof_in_json_has_every_attack_and_nothing_is_broken() {
    let world = world();
    let answer = world.call().patiently().run(["doctor", "--prove", "--format", "json"]);
    assert_eq!(answer.errors(), "");
    let report = assert_valid("doctor-prove", &answer.stdout);
    assert_eq!((answer.code, &report["code"]), (Some(0), &Value::Null), "{report:#}");
    assert_notices("doctor-prove", &report);
    let names: Vec<_> = attacks().iter().map(|attack| attack.name).collect();
    assert_eq!(texts(&report["attacks"], "name"), names);
    let summary = &report["summary"];
    let count = |verdict: &str| {
        report["attacks"].as_array().unwrap().iter().filter(|attack| attack["verdict"] == verdict).count()
    };
    for verdict in ["held", "broken", "not_run"] {
        assert_eq!(summary[verdict], count(verdict), "{verdict}");
    }
    assert_eq!(summary["broken"], 0);
    // Where tests count, the machine has everything that is attacked.
    assert!(summary["not_run"] == 0 || std::env::var_os("REQUIRE_SANDBOX").is_none(), "{report:#}");
    assert_eq!(report["level"], world.json(["doctor"])["sandbox"]["level"]);
    for attack in report["attacks"].as_array().unwrap() {
        assert_eq!(attack["detail"].is_null(), attack["verdict"] == "held", "{attack}");
    }
}

#[test]
fn a_proof_is_one_line_for_each_attack_and_a_verdict() {
    let world = world();
    let answer = world.call().patiently().run(["doctor", "--prove"]);
    let page = answer.text();
    assert_eq!((answer.code, answer.errors().as_str()), (Some(0), ""), "{page}");
    let lines: Vec<_> = page.lines().collect();
    let [first, second, "", trials @ .., "", last] = lines.as_slice() else { panic!("{page}") };
    assert!(
        first.starts_with("Level ") && first.contains(&format!("{} attacks", attacks().len())),
        "{first}"
    );
    assert!(second.contains("Ctrl-C"), "{second}");
    assert_eq!(trials.len(), attacks().len());
    for (line, attack) in trials.iter().zip(attacks()) {
        let held = format!("held    {:<31}  {}", attack.name, attack.what);
        let not_run = format!("-       {:<31}  not enforced, not run: ", attack.name);
        assert!(*line == held || line.starts_with(&not_run), "{line}");
    }
    assert!(last.contains(" 0 broken, ") && last.contains("Every promise of level"), "{last}");
}

// What it laid out is put away, also when whoever asks does so twice, as `timeout` does.
#[test]
fn a_proof_that_is_interrupted_leaves_nothing() {
    let world = world();
    world.folder("temporary");
    let call = world.call().variable("TMPDIR", world.text("temporary"));
    for signal in ["INT", "TERM"] {
        let own = ["--preserve-status", "--signal", signal, "2"];
        let answer = call.run_behind("/usr/bin/timeout", own, ["doctor", "--prove", "--format", "json"]);
        assert_eq!((answer.code, answer.text().as_str()), (Some(130), ""), "{signal}");
        let fault = assert_valid("error", &answer.stderr);
        assert_eq!((&fault["code"], &fault["class"]), (&"E_CANCELLED".into(), &"cancelled".into()));
        let left = std::fs::read_dir(world.path("temporary")).unwrap().count();
        assert_eq!(left, 0, "{signal}");
    }
}

#[test]
fn progress_is_shown_on_a_terminal_only() {
    let stopped = World::new("/usr/bin/timeout");
    let program = crate::program().into_string().unwrap();
    let arguments = ["--preserve-status", "--signal=INT", "2", &program, "doctor", "--prove"];
    let (shown, code) = stopped.call().on_terminal(arguments);
    assert_eq!(code, Some(130), "{shown}");
    let progress = format!("\r1 of {}: read-a-host-file …", attacks().len());
    assert!(shown.contains(&progress) && shown.contains("held"), "{shown}");
    let piped = stopped.run(arguments);
    assert!(piped.text().contains("\nheld    read-a-host-file"), "{}", piped.text());
    assert!(piped.errors().starts_with("error: stopped after "), "{}", piped.errors());
}

#[test]
fn the_help_says_what_a_proof_costs() {
    let help = world().run(["doctor", "--help"]).text();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["about half a minute", "that this machine does not enforce is not run", "Exits with 70"] {
        assert!(help.contains(part), "{part} in {help}");
    }
}

const UNSHARE: &str = "/usr/bin/unshare";
