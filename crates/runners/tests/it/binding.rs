//! Whatever is another run is another approval: each part of a plan, changed alone.

use std::collections::BTreeMap;
use std::fs;

use fumehood_core::Sha256;
use fumehood_core::binding::BindingParts;
use fumehood_core::containment::Level;
use fumehood_core::policy::NetworkUse;
use fumehood_core::tool::Failure;
use fumehood_core::{AgentLabel, Binding, Call, RunId, ToolName};
use fumehood_gate::{Attempt, Plan, Planner, RawOutput, RunError, Runner};
use fumehood_runners::script::{Script, WorkspaceAccess};

use crate::world::{Job, World, argv, output, refused};

/// What an approval of the job would be bound to.
fn binding(job: &Job<'_>) -> Binding {
    let plan = job.plan().unwrap_or_else(|error| panic!("{} {}", error.code, error.message));
    Binding::of(&BindingParts {
        agent: &AgentLabel::parse("cli").unwrap(),
        run: RunId::from_random([1; 16]),
        tool: &ToolName::parse("run_attack_go").unwrap(),
        workspace: plan.workspace.as_ref(),
        revision: plan.skill.as_ref().map(|skill| skill.revision),
        overlay: plan.skill.as_ref().and_then(|skill| skill.overlay),
        // The arguments are a part of their own; here it is the same, so that the profile has to tell.
        invocation: b"{}",
        validator_version: 1,
        interpreter: plan.interpreter.as_ref(),
        profile: &plan.profile,
        policy: Sha256::of(b"policy"),
    })
}

// DESIGN 2: one change of each part that is bound, and none of them gives the same binding as another.
#[test]
fn every_part_is_bound() {
    let world = World::new();
    for name in ["work/a", "work/b", "other/a"] {
        world.write(name, "same\n");
    }
    for name in ["results", "results2"] {
        fs::create_dir(world.at(name)).unwrap();
    }
    let base = || {
        let job = world.shell("true").argv(&["x", "y"]).workspace("work", WorkspaceAccess::Read);
        job.reading("other/a").writing("results/w").out("results")
    };
    let with = |change: &dyn Fn(&mut Job<'_>)| {
        let mut job = base();
        change(&mut job);
        job
    };
    let mut seen = BTreeMap::new();
    seen.insert(binding(&base()).to_string(), "nothing changed");
    assert_eq!(seen.insert(binding(&base()).to_string(), "again"), Some("nothing changed"));
    let jobs: Vec<(&str, Job<'_>)> = vec![
        ("another script", with(&|job| job.files[1].1 = b"false".to_vec())),
        ("one file more", with(&|job| job.files.push(("more", Vec::new())))),
        ("another argument", with(&|job| job.arguments = argv(&["x", "z"]))),
        ("one argument more", with(&|job| job.arguments = argv(&["x", "y", ""]))),
        ("arguments in another order", with(&|job| job.arguments = argv(&["y", "x"]))),
        ("arguments cut elsewhere", with(&|job| job.arguments = argv(&["xy", ""]))),
        ("another interpreter", with(&|job| job.interpreter = "bash")),
        ("what an interpreter reads", with(&|job| job.interpreter_reads = vec!["/opt".into()])),
        ("another variable", with(&|job| job.environment.push(("A".into(), "1".into())))),
        ("another value", with(&|job| job.environment[0].1 = "/bin".into())),
        (
            "a value moved to the name",
            with(&|job| job.environment[0] = ("PATH/usr/bin".into(), ":/bin".into())),
        ),
        ("an overlay", with(&|job| job.overlay = Some(Sha256::of(b"1")))),
        ("another overlay", with(&|job| job.overlay = Some(Sha256::of(b"2")))),
        ("no workspace", with(&|job| job.granted.workspace = None)),
        (
            "another workspace",
            with(&|job| job.granted.workspace = Some((world.at("other"), WorkspaceAccess::Read))),
        ),
        (
            "a workspace to change",
            with(&|job| job.granted.workspace = Some((world.at("work"), WorkspaceAccess::Change))),
        ),
        ("nothing to read", with(&|job| job.granted.read.clear())),
        ("another file to read", with(&|job| job.granted.read = vec!["work/b".into()])),
        ("nothing to write", with(&|job| job.granted.write.clear())),
        ("another file to make", with(&|job| job.granted.write = vec!["results/w2".into()])),
        ("a file to replace", with(&|job| job.granted.write = vec!["other/a".into()])),
        ("the same, in another folder", with(&|job| job.granted.write = vec!["results2/w".into()])),
        ("no folder for outputs", with(&|job| job.granted.out = None)),
        ("another folder for outputs", with(&|job| job.granted.out = Some(world.at("results2")))),
        ("an unlocked name", with(&|job| job.unlocked = vec![".env".into()])),
        ("another one", with(&|job| job.unlocked = vec![".envrc".into()])),
        ("an exit code that passes", with(&|job| job.fail_on_nonzero_exit = false)),
        ("time", with(&|job| job.envelope.timeout_seconds_default = 59)),
        ("output", with(&|job| job.envelope.output_bytes_max += 1)),
        ("processor time", with(&|job| job.envelope.limits.cpu_seconds += 1)),
        ("memory", with(&|job| job.envelope.limits.memory_bytes_per_process += 1)),
        ("processes", with(&|job| job.envelope.limits.processes += 1)),
        ("a file's size", with(&|job| job.envelope.limits.file_bytes += 1)),
        ("open files", with(&|job| job.envelope.limits.open_files += 1)),
        ("temporary bytes", with(&|job| job.envelope.limits.temporary_bytes += 1)),
        ("temporary files", with(&|job| job.envelope.limits.temporary_files += 1)),
        ("memory in all", with(&|job| job.envelope.memory_bytes_total = Some(1 << 30))),
        ("the floor", with(&|job| job.envelope.level_floor = Level::Namespaces)),
    ];
    for (name, job) in &jobs {
        if let Some(other) = seen.insert(binding(job).to_string(), name) {
            panic!("{name} is bound as {other}");
        }
    }
    assert_eq!(seen.len(), jobs.len() + 1);
    // The same names, and other files behind them.
    for (name, swap) in [("work", "work/a"), ("read", "other/a")] {
        let before = binding(&base());
        let path = world.at(if name == "work" { "work" } else { swap });
        fs::rename(&path, world.at("aside")).unwrap();
        if name == "work" {
            fs::create_dir(&path).unwrap();
        } else {
            world.write(swap, "same\n");
        }
        assert_ne!(binding(&base()), before, "{name}");
        fs::remove_dir_all(world.at("aside")).or_else(|_| fs::remove_file(world.at("aside"))).unwrap();
    }
}

/// Shows one script, and has another one run.
struct Swapped {
    shown: Script,
    run: Script,
}

struct SwappedRun(Box<dyn Runner>, Box<dyn Runner>);

impl Planner for Swapped {
    fn plan(&self, call: &Call) -> Result<Box<dyn Runner>, RunError> {
        Ok(Box::new(SwappedRun(self.shown.plan(call)?, self.run.plan(call)?)))
    }
}

impl Runner for SwappedRun {
    fn plan(&self) -> &Plan {
        self.0.plan()
    }

    fn run(&mut self, attempt: Attempt<'_>) -> RawOutput {
        self.1.run(attempt)
    }
}

// CHK-024: the attempt that one approval gave is no good for another script, whoever passes it on.
#[test]
fn an_attempt_runs_what_was_approved_and_nothing_else() {
    let world = World::new();
    let (shown, other) = (world.shell("echo shown"), world.shell("echo other"));
    let swapped = shown.run_by(Swapped { shown: shown.script(), run: other.script() });
    let (_, failure) = refused(&swapped);
    assert_eq!(failure, Failure::Integrity);
    world.write("a", "of the person\n");
    let more = world.shell("echo shown").reading("a");
    let widened = shown.run_by(Swapped { shown: shown.script(), run: more.script() });
    assert_eq!(refused(&widened).1, Failure::Integrity);
    let same = shown.run_by(Swapped { shown: shown.script(), run: shown.script() });
    assert_eq!(output(&same), "shown\n");
    world.assert_clean();
}

// CHK-033, DESIGN 6: a plan says where each path leads, whether its parameter names it or the person did beside it, and what
// it gets of the network.
#[test]
fn a_plan_says_where_paths_lead() {
    let world = World::new();
    for name in ["work/a", "other/b"] {
        world.write(name, "same\n");
    }
    fs::create_dir(world.at("results")).unwrap();
    std::os::unix::fs::symlink(world.at("other/b"), world.at("link")).unwrap();
    let params = r#"[{"name":"file","type":"path","access":"read","description":"A file.","required":true}]"#;
    let job = world.shell("true").declared(params, &format!(r#"{{"file":"{}"}}"#, world.text("link")));
    let plan = job.reading("work/a").writing("results/w").out("results").plan().unwrap();
    let led: Vec<_> = plan
        .paths
        .iter()
        .map(|path| (path.parameter.as_str(), path.resolved.as_ref().unwrap().as_str().to_owned()))
        .collect();
    let place = |name: &str| fs::canonicalize(world.at(name)).unwrap().to_str().unwrap().to_owned();
    assert_eq!(
        led,
        [
            ("--read", place("work/a")),
            ("--write", format!("{}/w", place("results"))),
            ("--out", place("results")),
            ("file", place("other/b")),
        ]
    );
    assert_eq!((plan.network(), plan.workspace_words()), (NetworkUse::None, None));
    // For reading and for change are two, and so are two folders.
    let words = |below, access| {
        world.shell("true").argv(&[]).workspace(below, access).plan().unwrap().workspace_words()
    };
    let read = words("work", WorkspaceAccess::Read).unwrap();
    assert!(read.starts_with(&format!("read_folder {} (folder ", place("work"))), "{read}");
    assert_ne!(words("work", WorkspaceAccess::Change), Some(read.clone()));
    assert_ne!(words("other", WorkspaceAccess::Read), Some(read));
}
