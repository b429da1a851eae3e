//! What changes between the question and the launch, or between trust and the next call: nothing of it runs, the code says
//! why, and the same without the change runs.

use fumehood_testkit::{Answer, Streams, World, skill};
use serde_json::{Value, json};

use super::policy::policy;
use super::{ASKED, assert_clean, configure, flagged, revision, scripted, yes};
use crate::text;

/// What the script makes, so that it can be seen whether it ran.
const CANARY: &str = "out/canary";
const GO: [&str; 5] = ["run", "skills/tool", "go", "--param", "file=out/canary"];
/// The same, where the folder is the workspace, in which the path is then looked for.
const IN_WORKSPACE: [&str; 7] = ["run", "skills/tool", "go", "--param", "file=canary", "--workspace", "out"];

/// A skill whose script makes a file.
fn maker() -> World {
    let params = json!([{"name": "file", "type": "path", "access": "create"}]);
    let world = flagged(&scripted(&params, "echo ran >\"$1\"\n"));
    world.folder("out");
    world
}

/// The answer to a yes before which this happened.
fn meanwhile(world: &World, words: &[&str], act: impl FnOnce(&World)) -> Answer {
    let arguments = ["--format", "json"].iter().chain(words);
    let mut session = world.call().sit_down(arguments, Streams::Pipes);
    session.see(ASKED);
    act(world);
    session.keys("y\n");
    session.leave().1
}

fn code(answer: &Answer) -> String {
    let fault: Value = serde_json::from_slice(&answer.stderr).unwrap_or_else(|_| panic!("{}", answer.text()));
    text(&fault["code"]).to_owned()
}

fn runs(world: &World) -> usize {
    world.json(["runs"])["runs"].as_array().unwrap().len()
}

fn assert_nothing_ran(world: &World, what: &str) {
    assert!(!world.has(CANARY), "{what}");
    assert_eq!(runs(world), 0, "{what}");
    assert_clean(world);
}

/// A yes to a call runs nothing if this happened meanwhile, and is refused with this code.
fn refused(world: &World, words: &[&str], wanted: &str, what: &str, act: impl FnOnce(&World)) {
    let answer = meanwhile(world, words, act);
    assert_eq!(code(&answer), wanted, "{what}");
    assert_nothing_ran(world, what);
}

/// The twin: it runs.
fn runs_undisturbed(world: &World, words: &[&str], what: &str) {
    let answer = meanwhile(world, words, |_| {});
    assert_eq!(answer.code, Some(0), "{what}: {}", answer.errors());
    assert_eq!(world.read(CANARY), b"ran\n", "{what}");
    assert_eq!(runs(world), 1, "{what}");
}

fn remove_policy(world: &World) {
    std::fs::remove_file(world.path("home/.config/fumehood/policy.toml")).unwrap();
}

// CHK-048, CHK-007: a policy that is taken away while the question is open is another policy, in whatever mode; one that said
// nothing but what holds without a file is the same.
#[test]
fn a_policy_that_is_removed_while_the_question_is_open_refuses() {
    for content in [
        "mode = \"trusted\"\n",
        "[[rule]]\nname = \"mine\"\nask = { id = \"tool\" }\n",
        "[[rule]]\nname = \"other\"\ndeny = { id = \"other\" }\n",
        "[surfaces]\npage = []\n",
    ] {
        let world = maker();
        policy(&world, content);
        refused(&world, &GO, "E_CONSENT_STALE", content, remove_policy);
        policy(&world, content);
        runs_undisturbed(&world, &GO, content);
    }
    let world = maker();
    policy(&world, "mode = \"ask\"\n");
    let answer = meanwhile(&world, &GO, remove_policy);
    assert_eq!((answer.code, world.has(CANARY)), (Some(0), true), "{}", answer.errors());
    // Under a mode in which nothing runs there is no question, so nothing can be taken away under it.
    for (mode, wanted) in [("blocked", "E_POLICY_BLOCKED"), ("workflow", "E_POLICY_WORKFLOW")] {
        let world = maker();
        policy(&world, &format!("mode = \"{mode}\"\n"));
        let (shown, answer) =
            world.call().sit_down(["--format", "json"].iter().chain(&GO), Streams::Pipes).leave();
        assert_eq!(code(&answer), wanted);
        assert!(!shown.contains("[y/N]"), "{shown}");
        assert_nothing_ran(&world, mode);
    }
}

// CHK-023, EXE-51: the folder that is shown is the one that is granted, whatever stands in its place by then.
#[test]
fn a_workspace_that_is_replaced_while_the_question_is_open_refuses() {
    let link = |world: &World| {
        world.rename("out", "kept");
        world.folder("other");
        world.link("out", world.path("other"));
    };
    let same_place = |world: &World| {
        world.rename("out", "kept");
        world.link("out", world.path("kept"));
    };
    let folder = |world: &World| {
        world.rename("out", "kept");
        world.folder("out");
    };
    for (what, act) in
        [("a link", &link as &dyn Fn(&World)), ("to itself", &same_place), ("a folder", &folder)]
    {
        let world = maker();
        refused(&world, &IN_WORKSPACE, "E_CONSENT_STALE", what, act);
        for place in ["kept/canary", "other/canary"] {
            assert!(!world.has(place), "{what}: {place}");
        }
    }
    let world = maker();
    runs_undisturbed(&world, &IN_WORKSPACE, "undisturbed");
}

// CHK-007, CHK-046: what the deployer takes back while the question is open is not in force any more: an overlay, an
// envelope, or everything.
#[test]
fn settings_that_are_edited_while_the_question_is_open_refuse() {
    for (settings, wanted) in [
        ("[envelope]\nread_roots = []\nwrite_roots = []\ninterpreter_read_paths = []\n", "E_CONSENT_STALE"),
        ("[interpreters.other]\npath = \"/usr/bin/python3\"\n", "E_CONSENT_STALE"),
        ("[execute]\nsafety = \"safe\"\n", "E_SAFE_MODE"),
        // Whether a passphrase is required cannot be told, so the yes is none.
        ("[envelope\n", "E_CONFIG_INVALID"),
    ] {
        let world = maker();
        let answer = meanwhile(&world, &GO, |world| configure(world, settings));
        assert_eq!(code(&answer), wanted, "{settings}");
        assert!(!world.has(CANARY), "{settings}");
        configure(&world, "");
        assert_nothing_ran(&world, settings);
        // The same in other words is no change.
        let answer = meanwhile(&world, &GO, |world| configure(world, "# as before\n"));
        assert_eq!((answer.code, world.has(CANARY)), (Some(0), true), "{}", answer.errors());
    }
}

/// The world's source `team` has the skill `tool`, for which an overlay declares the script `make`.
fn adopted() -> World {
    let world = maker();
    world.add("team", &skill("tool").file("go.sh", "echo ran >\"$1\"\n"));
    overlay(&world, "0", "");
    let revision = revision(&world, "team:tool");
    overlay(&world, &revision, "");
    world
}

fn overlay(world: &World, revision: &str, description: &str) {
    let digits = revision.trim_start_matches("sha256:");
    let team = world.text("team");
    configure(
        world,
        &format!(
            "[[sources]]\nname = \"team\"\npath = \"{team}\"\n[[overlay]]\nsource = \"team\"\nskill = \"tool\"\n\
             revision = \"{digits:0<64}\"\n[[overlay.scripts]]\nname = \"make\"\npath = \"go.sh\"\n\
             description = \"Makes.{description}\"\ninterpreter = \"sh\"\n\
             params = [{{ name = \"file\", type = \"path\", access = \"create\" }}]\n"
        ),
    );
}

const MAKE: [&str; 5] = ["run", "team:tool", "make", "--param", "file=out/canary"];

// CHK-007: the overlay is the deployer's word about what the script takes; one that was edited is another one.
#[test]
fn an_overlay_that_is_edited_while_the_question_is_open_refuses() {
    let world = adopted();
    let same = revision(&world, "team:tool");
    refused(&world, &MAKE, "E_CONSENT_STALE", "edited", |world| overlay(world, &same, " Well."));
    refused(&world, &MAKE, "E_CONSENT_STALE", "removed", |world| {
        let team = world.text("team");
        configure(world, &format!("[[sources]]\nname = \"team\"\npath = \"{team}\"\n"));
    });
    overlay(&world, &same, "");
    runs_undisturbed(&world, &MAKE, "undisturbed");
}

/// Trusts what the words say.
fn trusted(world: &World, words: &[&str]) {
    let arguments = ["trust", "add"].iter().chain(words);
    let (shown, answer) = world.call().at_terminal(arguments, "[y/N] ", "y\n");
    assert_eq!(answer.code, Some(0), "{shown}{}", answer.errors());
}

/// Where nobody could be asked: whether it ran, which its file must say too.
fn runs_unasked(world: &World, words: &[&str], place: &str) -> bool {
    let before = runs(world);
    let answer = world.run(["--format", "json"].iter().chain(words));
    let ran = answer.code == Some(0);
    if !ran {
        assert_eq!(code(&answer), "E_SKILL_SCRIPT_DENIED");
    }
    assert_eq!((world.has(place), runs(world)), (ran, before + usize::from(ran)), "{words:?}");
    if ran {
        std::fs::remove_file(world.path(place)).unwrap();
    }
    ran
}

// CHK-033, CHK-034: trust is for the overlay as it was.
#[test]
fn an_overlay_that_is_edited_after_trust_is_asked_about() {
    let world = adopted();
    policy(&world, "mode = \"trusted\"\n");
    trusted(&world, &["team:tool", "make", "--path", "file=out"]);
    assert!(runs_unasked(&world, &MAKE, CANARY));
    let same = revision(&world, "team:tool");
    overlay(&world, &same, " Well.");
    assert!(!runs_unasked(&world, &MAKE, CANARY));
    let (shown, answer) = super::answering(&world.call(), MAKE, "n\n");
    assert!(shown.contains("does not count: the overlay is another"), "{shown}");
    assert_eq!((answer.code, world.has(CANARY)), (Some(3), false));
    overlay(&world, &same, "");
    assert!(runs_unasked(&world, &MAKE, CANARY));
}

// CHK-048: nothing that was trusted outlives the policy's word for it, and that word is read for each call.
#[test]
fn a_policy_that_is_removed_after_trust_takes_it_back() {
    let world = maker();
    policy(&world, "mode = \"trusted\"\n");
    trusted(&world, &["skills/tool", "go", "--path", "file=out"]);
    for _ in 0..2 {
        assert!(runs_unasked(&world, &GO, CANARY));
        remove_policy(&world);
        assert!(!runs_unasked(&world, &GO, CANARY));
        policy(&world, "mode = \"trusted\"\n");
    }
    // Also while somebody asks for what no scope covers.
    let other = ["run", "skills/tool", "go", "--param", "file=canary"];
    let before = runs(&world);
    assert_eq!(code(&meanwhile(&world, &other, remove_policy)), "E_CONSENT_STALE");
    assert_eq!((world.has("canary"), runs(&world)), (false, before));
}

// CHK-023, CHK-033: the workspace that was trusted is the folder and not its name.
#[test]
fn a_workspace_that_becomes_a_link_after_trust_is_asked_about() {
    let world = maker();
    policy(&world, "mode = \"trusted\"\n");
    trusted(&world, &["skills/tool", "go", "--path", "file=out", "--workspace", "out"]);
    assert!(runs_unasked(&world, &IN_WORKSPACE, CANARY));
    world.rename("out", "kept");
    for target in ["kept", "other"] {
        world.folder("other");
        world.link("out", world.path(target));
        assert!(!runs_unasked(&world, &IN_WORKSPACE, CANARY), "{target}");
        std::fs::remove_file(world.path("out")).unwrap();
    }
    world.rename("kept", "out");
    assert!(runs_unasked(&world, &IN_WORKSPACE, CANARY));
}

// CHK-004, CHK-012, CHK-017: a yes is good once, in its own process, and its id is no password.
#[test]
fn an_approval_is_not_replayed() {
    let world = maker();
    runs_undisturbed(&world, &GO, "the one it was given for");
    let consent = text(&super::receipt(&world)["authority"]["consent"]).to_owned();
    std::fs::remove_file(world.path(CANARY)).unwrap();
    for (more, wanted) in
        [(&[][..], "E_SKILL_SCRIPT_DENIED"), (&["--approve", &consent], "E_APPROVE_MISMATCH")]
    {
        let answer = world.run(["--format", "json"].iter().chain(&GO).chain(more));
        assert_eq!(code(&answer), wanted);
        assert_eq!((world.has(CANARY), runs(&world)), (false, 1), "{more:?}");
    }
}

// CHK-004, CHK-005: each process has its own ledger: a yes in one says nothing in the other, which was asked the same.
#[test]
fn a_yes_in_one_process_is_none_in_another() {
    let world = maker();
    let mut one = world.call().sit_down(["--format", "json"].iter().chain(&GO), Streams::Pipes);
    let mut other = world.call().sit_down(["--format", "json"].iter().chain(&GO), Streams::Pipes);
    one.see(ASKED);
    other.see(ASKED);
    // Both at once.
    one.keys("y\n");
    other.keys("n\n");
    let ((_, one), (_, other)) = (one.leave(), other.leave());
    assert_eq!((one.code, code(&other).as_str()), (Some(0), "E_SKILL_SCRIPT_DENIED"), "{}", one.errors());
    assert_eq!((world.read(CANARY).as_slice(), runs(&world)), (&b"ran\n"[..], 1));
    // Two that both say yes to the making of one file: the second finds that it is not what it was shown.
    std::fs::remove_file(world.path(CANARY)).unwrap();
    let mut one = world.call().sit_down(["--format", "json"].iter().chain(&GO), Streams::Pipes);
    let mut other = world.call().sit_down(["--format", "json"].iter().chain(&GO), Streams::Pipes);
    one.see(ASKED);
    other.see(ASKED).keys("y\n");
    assert_eq!(other.leave().1.code, Some(0));
    one.keys("y\n");
    let (_, one) = one.leave();
    assert_eq!(code(&one), "E_FILE_EXISTS");
    assert_eq!((world.read(CANARY).as_slice(), runs(&world)), (&b"ran\n"[..], 2));
    assert_clean(&world);
}

// CHK-007, CHK-131, CHK-132, CHK-159: a yes to a folder that changed under whoever looked at it is none, and nothing of either runs.
#[test]
fn a_skill_that_is_replaced_while_the_question_is_open_does_not_run() {
    let world = maker();
    let before = revision(&world, "skills/tool");
    let copy = |world: &World, program: &str| {
        world.rename("skills/tool", &format!("kept/{}", std::process::id()));
        let kept = format!("kept/{}/fumehood.json", std::process::id());
        let manifest = String::from_utf8(world.read(&kept)).unwrap();
        world.add("skills", &skill("tool").file("fumehood.json", manifest).file("go.sh", program));
    };
    world.folder("kept");
    refused(&world, &GO, "E_CONSENT_STALE", "replaced", |world| copy(world, "echo evil >\"$1\"\n"));
    let answer = world.run(["--format", "json"].iter().chain(&GO[..4]).chain(&[
        "file=out/other",
        "--approve",
        &before,
    ]));
    assert_eq!((code(&answer).as_str(), world.has("out/other")), ("E_APPROVE_MISMATCH", false));
    let (_, answer) = yes(&world, ["run", "skills/tool", "go", "--param", "file=out/other"]);
    assert_eq!((answer.code, world.read("out/other").as_slice()), (Some(0), &b"evil\n"[..]));

    for (what, act) in [
        (
            "edited",
            &(|world: &World| drop(world.write("skills/tool/go.sh", "echo other\n"))) as &dyn Fn(&World),
        ),
        ("a file more", &|world| drop(world.write("skills/tool/lib.sh", ""))),
        ("a file less", &|world| std::fs::remove_file(world.path("skills/tool/go.sh")).unwrap()),
        ("gone", &|world| world.rename("skills/tool", "gone")),
    ] {
        refused(&maker(), &GO, "E_CONSENT_STALE", what, act);
    }
    // Another folder with the same bytes is no change.
    let world = maker();
    let text = String::from_utf8(world.read("skills/tool/go.sh")).unwrap();
    world.folder("kept");
    let answer = meanwhile(&world, &GO, |world| copy(world, &text));
    assert_eq!((answer.code, world.has(CANARY)), (Some(0), true), "{}", answer.errors());
}

// CHK-007: trust that is given while the policy is taken away is given to nothing.
#[test]
fn trust_that_is_given_while_the_policy_is_removed_is_not_saved() {
    let world = maker();
    policy(&world, "mode = \"trusted\"\n");
    let words = ["--format", "json", "trust", "add", "skills/tool", "go", "--path", "file=out"];
    let mut session = world.call().sit_down(words, Streams::Pipes);
    session.see("[y/N] ");
    remove_policy(&world);
    session.keys("y\n");
    assert_eq!(code(&session.leave().1), "E_CONSENT_STALE");
    assert!(world.json(["trust", "list"])["scopes"].as_array().unwrap().is_empty());
    assert!(!runs_unasked(&world, &GO, CANARY));
}
