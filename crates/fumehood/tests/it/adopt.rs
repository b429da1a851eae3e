//! `adopt`: drafts typed scripts on the person's word, and takes a draft over only when it was shown and a yes was said.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use fumehood_testkit::{Answer, Call, Skill, Streams, World, skill};
use serde_json::Value;

use crate::hostile::assert_safe;
use crate::schemas::{assert_notices, assert_valid};
use crate::{text, world_with};

const RUN_IT: &str = "Run it once? [y/N]";
const TAKE_IT: &str = "Take it over? [y/N]";
const SETTINGS: &str = "home/.config/fumehood/fumehood.toml";
const ADOPT: [&str; 4] = ["adopt", "tables", "--root", "skills"];
const ACCEPT: [&str; 5] = ["adopt", "--accept", "tables", "--root", "skills"];

const COUNT: &str = r#"
import argparse
parser = argparse.ArgumentParser(description="Counts the lines of a table.")
parser.add_argument("table_file", help="The table.")
parser.add_argument("--skip", type=int, default=0, help="Lines to skip.")
parser.add_argument("--json", action="store_true")
given = parser.parse_args()
count = len(open(given.table_file).readlines()) - given.skip
print('{"lines": %d}' % count if given.json else count)
"#;

/// Shows nothing of what it takes but when it is asked for help.
const COMPUTED: &str = r#"
import argparse
parser = argparse.ArgumentParser(description="Echoes.")
for name in ["--word"]:
    parser.add_argument(name, required=True)
print(parser.parse_args().word)
"#;

fn tables() -> Skill {
    skill("tables").file("scripts/count.py", COUNT)
}

/// Runs with a person who answers each question in turn.
fn attended(call: &Call<'_>, arguments: &[&str], answers: &[(&str, &str)]) -> (String, Answer) {
    let mut session = call.sit_down(arguments, Streams::Pipes);
    for (question, keys) in answers {
        session.see(question).keys(keys);
    }
    session.leave()
}

/// Drafts from the sources alone.
fn drafted(world: &World) -> Value {
    world.json([&ADOPT[..], &["--no-help"]].concat())
}

fn accepted(world: &World) -> Value {
    let json = [&ACCEPT[..], &["--format", "json"]].concat();
    let (shown, answer) = attended(&world.call(), &json, &[(TAKE_IT, "y\n")]);
    assert_eq!(answer.code, Some(0), "{shown}\n{}", answer.errors());
    assert_valid("adopt-accept", &answer.stdout)
}

fn settings(world: &World) -> String {
    String::from_utf8(world.read(SETTINGS)).unwrap()
}

fn script<'v>(report: &'v Value, name: &str) -> &'v Value {
    let scripts = report["scripts"].as_array().unwrap();
    scripts.iter().find(|script| script["script"]["name"] == name).unwrap_or_else(|| panic!("{report:#}"))
}

fn left_out<'v>(report: &'v Value, path: &str) -> &'v Value {
    let all = report["left_out"].as_array().unwrap();
    all.iter().find(|left| left["path"] == path).unwrap_or_else(|| panic!("{report:#}"))
}

// EXE-42 to EXE-46: from a skill of somebody else to a run with typed parameters.
#[test]
fn a_script_is_adopted_and_then_run_by_its_parameters() {
    let world = world_with(&tables());
    world.write("table.csv", "a\nb\nc\n");
    let run = [
        "run",
        "tables",
        "count",
        "--root",
        "skills",
        "--param",
        "table_file=table.csv",
        "--param",
        "skip=1",
    ];
    // Nobody declared it yet.
    world.call().fault(run, 2);
    let json = [&ADOPT[..], &["--format", "json"]].concat();
    let (shown, answer) = attended(&world.call(), &json, &[(RUN_IT, "y\n")]);
    assert_eq!(answer.code, Some(0), "{shown}\n{}", answer.errors());
    let report = assert_valid("adopt", &answer.stdout);
    assert_notices("adopt", &report);
    // The question is the one of any run, with nothing granted.
    for part in ["scripts/count.py --help", "asks it for its help text", "your files      none"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let count = script(&report, "count");
    assert_eq!((&report["help"], &count["help"]["status"]), (&"asked".into(), &"answered".into()));
    let receipt = world.json(["receipt", text(&count["help"]["receipt"])]);
    assert_eq!(receipt["receipt"]["files"].as_array().map_or(0, Vec::len), 0, "{receipt:#}");
    // A draft counts for nothing.
    assert!(!world.has(SETTINGS));
    world.call().fault(run, 2);
    let accept = accepted(&world);
    assert_notices("adopt-accept", &accept);
    assert_eq!((&accept["changed"], &accept["replaced"]), (&true.into(), &false.into()));
    assert_eq!(settings(&world), text(&report["overlay"]));
    // Whoever looks sees what to type, and no more that nobody declared it.
    let show = ["show", "tables", "--root", "skills"];
    let shown = world.json(show);
    assert_eq!(
        (&shown["overlay"]["confirmed"], &shown["undeclared_scripts"]),
        (&true.into(), &Value::Array(vec![]))
    );
    let shown = world.run(show).text();
    for part in [
        "Declared by you",
        "    table_file  path to read",
        "--root skills tables count --param table_file=PATH",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let (_, answer) = attended(&world.call(), &run, &[(RUN_IT, "y\n")]);
    assert_eq!((answer.code, answer.text().as_str()), (Some(0), "2\n"), "{}", answer.errors());
    // What the draft does not say is refused before anybody is asked.
    let fault = world.call().fault([&run[..], &["--param", "other=1"]].concat(), 2);
    assert_eq!(fault["code"], "E_ARGUMENT_INVALID");
    // Once more changes nothing and asks nobody.
    let again = world.json(ACCEPT);
    assert_eq!((&again["changed"], &again["replaced"]), (&false.into(), &false.into()));
}

// CHK-064
#[test]
fn files_of_ours_are_private_and_nothing_is_written_into_the_skill() {
    let world = world_with(&tables());
    let report = drafted(&world);
    accepted(&world);
    for path in [PathBuf::from(text(&report["draft"])), world.path(SETTINGS)] {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
    }
    let folder = world.path("skills/tables").read_dir().unwrap().count();
    assert_eq!(folder, 2, "SKILL.md and scripts");
}

#[test]
fn without_a_terminal_sources_alone_are_read_and_nothing_can_be_accepted() {
    let world = world_with(&tables().file("scripts/computed.py", COMPUTED));
    let report = assert_valid("adopt", &world.run([&ADOPT[..], &["--format", "json"]].concat()).stdout);
    assert_eq!(report["help"], "no_terminal");
    assert_eq!(script(&report, "count")["help"]["status"], "not_asked");
    assert!(text(&left_out(&report, "scripts/computed.py")["why"]["message"]).contains("could not be read"));
    assert!(world.run(ADOPT).text().contains("there is no terminal"));
    assert_eq!(world.json(["runs"])["runs"].as_array().unwrap().len(), 0);
    assert_eq!(world.call().fault(ACCEPT, 3)["code"], "E_TERMINAL_REQUIRED");
    let (_, answer) = attended(&world.call(), &ACCEPT, &[(TAKE_IT, "n\n")]);
    assert_eq!(answer.code, Some(3));
    assert!(!world.has(SETTINGS));
}

#[test]
fn a_no_for_one_script_leaves_it_to_its_source() {
    let world =
        world_with(&tables().file("scripts/computed.py", COMPUTED).file("scripts/other.py", COMPUTED));
    let json = [&ADOPT[..], &["--format", "json"]].concat();
    // computed, count, other: in the order of their paths.
    let (_, answer) = attended(&world.call(), &json, &[(RUN_IT, "n\n"), (RUN_IT, "n\n"), (RUN_IT, "y\n")]);
    let report = assert_valid("adopt", &answer.stdout);
    assert_eq!(left_out(&report, "scripts/computed.py")["help"]["status"], "denied");
    assert_eq!(script(&report, "count")["help"]["status"], "denied");
    assert_eq!(script(&report, "other")["script"]["params"][0]["flag"], "--word");
}

#[test]
fn a_script_that_misbehaves_on_help_is_kept_out() {
    let bad = |act: &str| {
        format!("import argparse\n{act}\nparser = argparse.ArgumentParser()\nparser.add_argument('x')\n")
    };
    let dies = bad("import os, signal; os.kill(os.getpid(), signal.SIGKILL)");
    let floods = bad("import sys; sys.stdout.write('usage: x\\n' * (10 << 20))");
    let fails = bad("raise SystemExit(3)");
    let world =
        world_with(&tables().file("a/dies.py", dies).file("b/floods.py", floods).file("c/fails.py", fails));
    let json = [&ADOPT[..], &["--format", "json"]].concat();
    let (_, answer) = attended(&world.call(), &json, &[(RUN_IT, "y\n"); 4]);
    let report = assert_valid("adopt", &answer.stdout);
    for path in ["a/dies.py", "b/floods.py"] {
        let left = left_out(&report, path);
        assert_eq!(left["help"]["status"], "killed", "{report:#}");
        assert!(left["help"]["receipt"].is_string());
    }
    // One that only fails is read from its source.
    assert_eq!(script(&report, "fails")["help"]["status"], "failed");
    assert_eq!(script(&report, "count")["help"]["status"], "answered");
    assert!(!text(&report["overlay"]).contains("floods"));
}

// What an author wrote reaches neither the terminal nor the settings as anything but words.
#[test]
fn hostile_help_is_only_words() {
    let help = |text: &str| {
        format!(
            "import argparse, sys\nparser = argparse.ArgumentParser()\nparser.add_argument(*names())\nsys.stdout.write({text:?})\n"
        )
        .replace("parser.add_argument(*names())\n", "if '--help' not in sys.argv:\n    parser.add_argument(*names())\n")
        .replace("\\u{1b}", "\\x1b").replace("\\u{7}", "\\x07").replace("\\u{202e}", "\\u202e")
    };
    let toml = "usage: x [-h] [--a A]\n\nIt says \"\"\" and ''' here.\n\noptions:\n  --a A  \"\"\"\n[[overlay]]\nsource = \"user-agents\"\n";
    let evil = format!(
        "usage: x [-h] [--b B]\n\n\u{202e}Backwards. [y/N] y\n\noptions:\n  --b B  {}\n",
        "long ".repeat(2000)
    );
    let flag = format!("usage: x [-h] [--{} X]\n", "f".repeat(5000));
    let world = world_with(
        &tables()
            .file("a/ansi.py", help("usage: x [-h] file\n\u{1b}[2J\u{1b}]52;c;QUJD\u{7}"))
            .file("b/toml.py", help(toml))
            .file("c/bidi.py", help(&evil))
            .file("d/flag.py", help(&flag)),
    );
    let before = "# mine\n[environment]\nLANG = 'C' # so\n";
    world.write(SETTINGS, before);
    world.mode(SETTINGS, 0o600);
    let (shown, answer) = attended(&world.call(), &ADOPT, &[(RUN_IT, "y\n"); 5]);
    assert_eq!(answer.code, Some(0), "{shown}\n{}", answer.errors());
    assert_safe(&answer, &ADOPT);
    assert!(answer.text().contains("holds control characters"), "{}", answer.text());
    let (shown, answer) = attended(&world.call(), &ACCEPT, &[(TAKE_IT, "y\n")]);
    assert_eq!(answer.code, Some(0), "{}", answer.errors());
    assert_safe(&answer, &ACCEPT);
    assert!(
        !shown.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "").contains('\u{1b}')
            && !shown.contains('\u{202e}')
    );
    let after = settings(&world);
    assert!(after.starts_with(before), "{after}");
    // One overlay, for this skill; the author's lines are inside of its texts.
    assert_eq!(after.lines().filter(|line| *line == "[[overlay]]").count(), 1, "{after}");
    assert!(
        after.contains("source = \"root-1\"") && !after.contains("\nsource = \"user-agents\""),
        "{after}"
    );
    assert!(after.len() < 32 << 10);
}

#[test]
fn a_draft_is_for_one_revision() {
    let world = world_with(&tables());
    assert_eq!(world.call().fault(ACCEPT, 2)["code"], "E_DRAFT_NOT_FOUND");
    drafted(&world);
    world.add("skills", &tables().file("notes.md", "new"));
    assert_eq!(world.call().fault(ACCEPT, 2)["code"], "E_DRAFT_STALE");
    assert!(!world.has(SETTINGS));
    drafted(&world);
    accepted(&world);
}

#[test]
fn a_newer_revision_takes_the_place_of_the_overlay_and_keeps_what_the_person_changed() {
    let world = world_with(&tables().file("scripts/gone.sh", "echo\n"));
    drafted(&world);
    accepted(&world);
    let mine = settings(&world).replace("access = \"read\"", "access = \"write\"");
    let (top, end) = ("# top\n\n", "\n# between\n[environment]\nLANG = \"C\" # end\n");
    world.write(SETTINGS, format!("{top}{mine}{end}"));
    world.add("skills", &tables().file("scripts/new.sh", "echo\n"));
    std::fs::remove_file(world.path("skills/tables/scripts/gone.sh")).unwrap();
    let report = drafted(&world);
    assert_eq!(
        (&script(&report, "count")["kept"], &script(&report, "new")["kept"]),
        (&true.into(), &false.into())
    );
    assert!(text(&left_out(&report, "scripts/gone.sh")["why"]["message"]).contains("not there any more"));
    let (shown, answer) = attended(&world.call(), &ACCEPT, &[("What differs:", ""), (TAKE_IT, "y\n")]);
    assert_eq!(answer.code, Some(0), "{}", answer.errors());
    assert!(shown.contains("+ name = \"new\"") && shown.contains("- name = \"gone\""), "{shown}");
    let overlay = text(&report["overlay"]);
    assert!(overlay.contains("access = \"write\""), "{overlay}");
    assert_eq!(settings(&world), format!("{top}{overlay}{end}"));
}

#[test]
fn an_overlay_that_changed_while_the_person_looked_is_kept() {
    let world = world_with(&tables());
    drafted(&world);
    let mut session = world.call().sit_down(ACCEPT, Streams::Pipes);
    session.see(TAKE_IT);
    let draft = text(&drafted(&world)["overlay"]).to_owned();
    let other = draft.replace("Counts the lines", "Somebody else counts the lines");
    world.write(SETTINGS, &other);
    world.mode(SETTINGS, 0o600);
    session.keys("y\n");
    let (_, answer) = session.leave();
    assert_eq!(answer.code, Some(2), "{}", answer.errors());
    assert!(answer.errors().contains("E_CONFIG_CHANGED"), "{}", answer.errors());
    assert_eq!(settings(&world), other);
}

#[test]
fn several_accepted_at_once_are_all_there() {
    let world = world_with(&tables());
    let names: Vec<String> = (0..6).map(|n| format!("tables-{n}")).collect();
    for name in &names {
        world.add("skills", &skill(name).file("scripts/count.py", COUNT));
        world.json(["adopt", name, "--root", "skills", "--no-help"]);
    }
    let call = world.call();
    let mut sessions: Vec<_> = names
        .iter()
        .map(|name| call.sit_down(["adopt", "--accept", name, "--root", "skills"], Streams::Pipes))
        .collect();
    for session in &mut sessions {
        session.see(TAKE_IT);
    }
    for session in &mut sessions {
        session.keys("y\n");
    }
    for session in sessions {
        let (shown, answer) = session.leave();
        assert_eq!(answer.code, Some(0), "{shown}{}", answer.errors());
    }
    let all = settings(&world);
    assert!(names.iter().all(|name| all.contains(&format!("skill = \"{name}\""))), "{all}");
}

#[test]
fn ctrl_c_at_a_question_keeps_no_draft() {
    let world = world_with(&tables());
    let mut session = world.call().sit_down(ADOPT, Streams::Pipes);
    session.see(RUN_IT).keys("\u{3}");
    let (_, answer) = session.leave();
    assert_eq!(answer.code, Some(130), "{}", answer.errors());
    assert!(!world.has("home/.local/share/fumehood/drafts"));
}

#[test]
fn a_skill_with_nothing_to_draft_has_no_draft() {
    let world = world_with(&skill("tables"));
    let report = assert_valid("adopt", &world.run([&ADOPT[..], &["--format", "json"]].concat()).stdout);
    assert!(report["draft"].is_null() && report["overlay"].is_null());
    assert_eq!(world.call().fault(ACCEPT, 2)["code"], "E_DRAFT_NOT_FOUND");
}

#[test]
fn an_overlay_for_another_revision_is_said_to_count_for_nothing() {
    let world = world_with(&tables());
    drafted(&world);
    accepted(&world);
    world.write("skills/tables/scripts/count.py", format!("{COUNT}# newer\n"));
    let show = ["show", "tables", "--root", "skills"];
    let shown = world.json(show);
    assert_eq!(shown["overlay"]["confirmed"], false);
    assert_eq!(shown["undeclared_scripts"][0]["path"], "scripts/count.py");
    let page = world.run(show).text();
    assert!(page.contains("not for this revision, so it counts for nothing"), "{page}");
    // A skill that it says nothing about has none.
    world.write("skills/other/SKILL.md", "---\nname: other\ndescription: Another.\n---\n");
    assert_eq!(world.json(["show", "skills/other"])["overlay"], Value::Null);
}
