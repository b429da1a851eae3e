//! A yes is good for what was shown and for nothing else: each part that changes in between makes it stale.

use std::time::Duration;

use fumehood_core::code::{Code, Coded as _};
use fumehood_core::consent::State;
use fumehood_core::containment::Level;
use fumehood_core::event::Denial;
use fumehood_core::tool::{Approval, Tier};
use fumehood_core::{
    HostPath, InterpreterIdentity, RelPath, Sha256, SkillName, VerifiedRevision, WorkspaceIdentity,
};
use fumehood_gate::ports::{Answer, Ruling};
use fumehood_gate::{Command, FileGrant, FileUse, GateError, Plan, PlannedPath, PlannedSkill};

use crate::world::{Happening, Opinion, Tool, World, denies, plan, ruling};

fn revision(text: &str) -> VerifiedRevision {
    VerifiedRevision::of(&[(RelPath::parse("SKILL.md").unwrap(), text)].into())
}

fn skill() -> PlannedSkill {
    PlannedSkill {
        source: "user".to_owned(),
        name: SkillName::parse("work-skill").unwrap(),
        revision: revision("one"),
        overlay: Some(Sha256::of(b"overlay")),
    }
}

fn command() -> Command {
    Command {
        file: RelPath::parse("run.sh").unwrap(),
        is_declared: true,
        argv: vec!["/bin/sh".to_owned(), "run.sh".to_owned()],
        directory: "/skill".to_owned(),
        environment: vec![("HOME".to_owned(), "/tmp".to_owned())],
        files: vec![FileGrant {
            usage: FileUse::Read,
            host: "/home/a/file".to_owned(),
            inside: "/home/a/file".to_owned(),
        }],
    }
}

/// A plan in which every part is there.
fn whole() -> Plan {
    Plan {
        skill: Some(skill()),
        interpreter: Some(InterpreterIdentity::of_hashed_file("/bin/sh", Some("1"), Sha256::of(b"sh"))),
        workspace: Some(WorkspaceIdentity::of_open_directory(1, 2, "/home/a")),
        command: Some(command()),
        ..plan()
    }
}

/// Shows one plan to whoever approves, and has the other when it comes to running. Gives the states of the requests.
fn swapped(approval: Approval, shown: Plan, then: Plan) -> (Option<Code>, usize, Vec<State>) {
    let world = World::new(&Tool { tier: Tier::Script, ..Tool::new(approval) });
    *world.stage.plans.lock().unwrap() = Ok(shown);
    *world.stage.on_show.lock().unwrap() = Some(Box::new(move |stage, request| {
        *stage.plans.lock().unwrap() = Ok(then.clone());
        stage.decide(request.id, crate::world::YES);
    }));
    let result = world.call();
    assert_eq!(world.events().iter().any(|event| event.kind().name() == "tool.called"), result.is_ok());
    (result.err().map(|error| error.code()), world.entries(), world.ledger())
}

/// What changed makes the yes stale, and nothing runs. The twin, in which nothing changed, runs.
fn stale(what: &str, change: impl FnOnce(&mut Plan)) {
    let mut then = whole();
    change(&mut then);
    let (code, entries, ledger) = swapped(Approval::Human, whole(), then);
    assert_eq!((code, entries), (Some(Code::ConsentStale), 0), "{what}");
    // Whichever way it was noticed, the request is closed for good (CHK-014).
    assert!(matches!(ledger[..], [State::Stale | State::Denied]), "{what}: {ledger:?}");
}

// CHK-007: one test for each bound part.
#[test]
fn an_unchanged_plan_runs() {
    let (code, entries, ledger) = swapped(Approval::Human, whole(), whole());
    assert_eq!((code, entries), (None, 1));
    assert!(matches!(ledger[..], [State::Consumed(_)]));
}

// CHK-007, CHK-023
#[test]
fn another_skill_is_stale() {
    let with = |change: fn(&mut PlannedSkill)| move |plan: &mut Plan| change(plan.skill.as_mut().unwrap());
    stale("source", with(|skill| skill.source = "project".to_owned()));
    stale("name", with(|skill| skill.name = SkillName::parse("other-skill").unwrap()));
    stale("revision", with(|skill| skill.revision = revision("two")));
    stale("overlay", with(|skill| skill.overlay = Some(Sha256::of(b"other"))));
    stale("no overlay", with(|skill| skill.overlay = None));
    stale("no skill", |plan| plan.skill = None);
}

// CHK-007
#[test]
fn another_interpreter_is_stale() {
    let with = |path: &'static str, version: Option<&'static str>, bytes: &'static [u8]| {
        move |plan: &mut Plan| {
            let identity = InterpreterIdentity::of_hashed_file(path, version, Sha256::of(bytes));
            plan.interpreter = Some(identity);
        }
    };
    stale("path", with("/bin/dash", Some("1"), b"sh"));
    stale("version", with("/bin/sh", Some("2"), b"sh"));
    stale("no version", with("/bin/sh", None, b"sh"));
    stale("bytes", with("/bin/sh", Some("1"), b"other"));
    stale("none", |plan| plan.interpreter = None);
}

// CHK-007, CHK-023: the same path is not the same folder.
#[test]
fn another_workspace_is_stale() {
    let with = |device, inode, path: &'static str| {
        move |plan: &mut Plan| {
            plan.workspace = Some(WorkspaceIdentity::of_open_directory(device, inode, path));
        }
    };
    stale("device", with(9, 2, "/home/a"));
    stale("inode", with(1, 9, "/home/a"));
    stale("path", with(1, 2, "/home/b"));
    stale("none", |plan| plan.workspace = None);
}

// CHK-006, CHK-007: also where whoever wrote the profile down forgot the part.
#[test]
fn whatever_else_was_shown_is_stale_when_it_changes() {
    stale("profile", |plan| plan.profile = b"other".to_vec());
    stale("level", |plan| plan.containment.level = Level::Full);
    stale("level floor", |plan| plan.containment.level_floor = Level::Kernel);
    stale("axis", |plan| plan.containment.axes[0].asked = true);
    stale("mechanism", |plan| plan.containment.axes[0].mechanism.push('x'));
    stale("wall", |plan| plan.limits.wall = Some(Duration::from_secs(29)));
    stale("output", |plan| plan.limits.output_bytes = Some(1));
    stale("memory", |plan| plan.limits.memory_bytes_total = Some(1));
    stale("processes", |plan| plan.limits.processes = Some(1));
    stale("path", |plan| {
        let resolved = HostPath::parse("/home/a/file").ok();
        plan.paths.push(PlannedPath { parameter: "file".to_owned(), resolved });
    });
    stale("no command", |plan| plan.command = None);
    stale("unsafe", |plan| plan.unsafe_controls.push("sandbox".to_owned()));
    let with = |change: fn(&mut Command)| move |plan: &mut Plan| change(plan.command.as_mut().unwrap());
    stale("file", with(|command| command.file = RelPath::parse("other.sh").unwrap()));
    stale("declared", with(|command| command.is_declared = false));
    stale("argument", with(|command| command.argv[1].push('x')));
    stale("directory", with(|command| command.directory.push('x')));
    stale("environment", with(|command| command.environment.clear()));
    stale("grant", with(|command| command.files[0].usage = FileUse::Replace));
    stale("real place", with(|command| command.files[0].host.push('x')));
    stale("place inside", with(|command| command.files[0].inside.push('x')));
}

// CHK-007: the policy that was in force is bound as well, and so are the arguments, the agent and the run by being the
// gate's own.
#[test]
fn another_policy_is_stale() {
    let world = World::new(&Tool::new(Approval::Human));
    *world.stage.on_show.lock().unwrap() = Some(Box::new(|stage, request| {
        *stage.policy.lock().unwrap() = Ok(ruling(9));
        stage.decide(request.id, crate::world::YES);
    }));
    assert_eq!(world.call().unwrap_err().code(), Code::ConsentStale);
    assert_eq!((world.entries(), world.ledger()), (0, vec![State::Stale]));
    assert_eq!(world.told(), ["approval.required", "approval.denied abandoned"]);
}

/// Asks under one policy, answers yes under the other, which has the same digest.
fn said(before: Opinion, after: Opinion) -> (World, Result<(), GateError>) {
    let world = World::new(&Tool::new(Approval::Human));
    world.stage.say_of_calls(before);
    *world.stage.on_show.lock().unwrap() = Some(Box::new(move |stage, request| {
        assert_eq!(request.why, "the host says why");
        stage.say_of_calls(after);
        stage.decide(request.id, crate::world::YES);
    }));
    let result = world.call().map(drop);
    (world, result)
}

// CHK-027, CHK-048, X-08: a person's yes is no less good because a scope was saved or removed meanwhile, but a no is a no.
#[test]
fn a_persons_yes_outlives_scopes_and_no_denial() {
    let opinions = [Opinion::None, Opinion::Asks, Opinion::Allows];
    for (before, after) in opinions[..2].iter().flat_map(|a| opinions.iter().map(move |b| (*a, *b))) {
        let (world, result) = said(before, after);
        result.unwrap();
        assert_eq!(
            (world.entries(), world.stage.asked.lock().unwrap().len()),
            (1, 1),
            "{before:?} {after:?}"
        );
    }
    let world = World::new(&Tool::new(Approval::Human));
    *world.stage.on_show.lock().unwrap() = Some(Box::new(|stage, request| {
        *stage.policy.lock().unwrap() = Ok(Ruling { answer: denies(), ..ruling(1) });
        stage.decide(request.id, crate::world::YES);
    }));
    let error = world.call().unwrap_err();
    assert_eq!((error.code(), error.denial), (Code::PolicyDenied, Some(Denial::Policy)));
    assert_eq!((world.entries(), world.ledger()), (0, vec![State::Denied]));
}

// CHK-048: a rule or scope that is gone when it comes to running allows nothing, whatever is named in its place.
#[test]
fn what_allowed_a_call_must_still_allow_it() {
    for (then, runs) in [
        (None, true),
        (Some(Happening::Says(Opinion::None)), false),
        (Some(Happening::Says(Opinion::Asks)), false),
        (Some(Happening::Revoke), false),
        (Some(Happening::PolicyChange), false),
    ] {
        let world = World::new(&Tool::new(Approval::Human));
        world.stage.say_of_calls(Opinion::Allows);
        world.stage.meanwhile.lock().unwrap().extend(then);
        assert_eq!(world.call().is_ok(), runs, "{then:?}");
        assert_eq!((world.entries(), world.ledger().len()), (usize::from(runs), 0), "{then:?}");
        let rows = world.stage.rows.lock().unwrap();
        let names_the_rule =
            |(_, json, _): &(_, Vec<u8>, _)| json.windows(8).any(|part| part == b"\"a rule\"");
        assert_eq!(rows.iter().any(names_the_rule), runs, "{then:?}");
    }
}

// a denial has the code that the policy gave, if it is one of a denial.
#[test]
fn a_denial_has_its_code() {
    for (code, seen) in [
        (Code::PolicyBlocked, Code::PolicyBlocked),
        (Code::PolicyInvalid, Code::PolicyInvalid),
        (Code::StateUnavailable, Code::ToolDenied),
    ] {
        let world = World::new(&Tool::new(Approval::Auto));
        let answer = Answer::Deny { code, why: "the mode is blocked".to_owned() };
        *world.stage.policy.lock().unwrap() = Ok(Ruling { answer, ..ruling(1) });
        let error = world.call().unwrap_err();
        assert_eq!((error.code(), error.denial, world.entries()), (seen, Some(Denial::Policy), 0));
        assert_eq!(error.to_string(), "the policy says no to the call: the mode is blocked");
        assert_eq!(world.told(), ["approval.denied policy"]);
    }
}

// CHK-005, CHK-007: a yes to one request is none to another of the same call, nor to the same call in another run.
#[test]
fn a_yes_is_for_one_request() {
    let (one, other) = (World::new(&Tool::new(Approval::Human)), World::new(&Tool::new(Approval::Human)));
    let theirs = other.gate.decider();
    *one.stage.on_show.lock().unwrap() = Some(Box::new(move |stage, request| {
        assert!(theirs.decide(request.id, crate::world::YES).is_err());
        stage.decide(request.id, crate::world::YES);
        // CHK-015
        assert!(stage.gate().decider().decide(request.id, crate::world::YES).is_err());
    }));
    let _ = one.call().unwrap();
    let first = one.stage.asked.lock().unwrap()[0];
    *one.stage.on_show.lock().unwrap() = Some(Box::new(move |stage, request| {
        assert_ne!(request.id, first);
        assert!(stage.gate().decider().decide(first, crate::world::YES).is_err());
        stage.decide(request.id, fumehood_core::consent::Decision::Deny);
    }));
    assert_eq!(one.call().unwrap_err().code(), Code::ToolDenied);
    assert_eq!(one.entries(), 1);
    assert!(matches!(one.ledger()[..], [State::Consumed(_), State::Denied]));
}

// X-03, XSF-20: a plan may shorten the time of an attempt and not lengthen it.
#[test]
fn a_plan_has_no_more_time_than_its_tool() {
    for (wall, runs) in [(30_000, true), (30_001, false), (1, true)] {
        let world = World::new(&Tool::new(Approval::Auto));
        let limits =
            fumehood_core::receipt::Limits { wall: Some(Duration::from_millis(wall)), ..plan().limits };
        *world.stage.plans.lock().unwrap() = Ok(Plan { limits, ..plan() });
        let result = world.call();
        assert_eq!(result.is_ok(), runs, "{wall}");
        assert_eq!(world.entries(), usize::from(runs));
        let walls = world.stage.walls.lock().unwrap().clone();
        assert_eq!(walls, if runs { vec![Duration::from_millis(wall)] } else { Vec::new() });
    }
}
