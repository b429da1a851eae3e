//! For random profiles, what a child can do is exactly what the profile says: each run is compared with a model, inside
//! and on the host.
//!
//! `FUMEHOOD_CASES=100000` runs more of them, and `FUMEHOOD_SEED=7 FUMEHOOD_CASES=1` the one that a failure names.

mod base;
mod case;
mod deeds;
mod model;
mod plan;
mod probes;
mod random;
mod refusals;
mod world;

use case::{Case, Ended, Place};
use fumehood_sandbox::Level;
use model::Mistake;
use plan::{How, Plan};
use probes::probe;
use world::{Entry, Kind, World};

/// Predicts, runs and compares.
#[test]
fn a_child_can_do_exactly_what_its_profile_says() {
    let place = Place::new();
    assert_eq!(place.sandbox.enforcement().level(), Level::Full, "the model is of the whole sandbox");
    let (mut refused, mut not_launched, mut ran, mut tried, mut all_worked) = (0, 0, 0, 0, 0);
    for seed in seeds(CASES) {
        let case = place.case(seed);
        match place.run(&case, None) {
            Ok(Ended::Refused) => refused += 1,
            Ok(Ended::NotLaunched) => not_launched += 1,
            Ok(Ended::Ran { probes, worked }) => {
                ran += 1;
                tried += probes;
                all_worked += worked;
            }
            Err(why) => fail(seed, &case, &why, |case| place.run(case, None).err()),
        }
    }
    println!(
        "{ran} runs with {tried} probes, {all_worked} of which worked; {not_launched} not launched, {refused} refused"
    );
    if std::env::var_os("FUMEHOOD_CASES").is_none() {
        assert!(ran > 100 && not_launched > 10 && refused > 0, "the cases are not what they should be");
        assert!(all_worked * 5 > tried && all_worked * 2 < tried, "{all_worked} of {tried}");
    }
}

#[test]
fn what_build_refuses_is_exactly_what_it_should() {
    let place = Place::new();
    let (mut built, mut refused) = (0, 0);
    for seed in seeds(BUILDS) {
        let case = Place::wild(seed);
        match place.build(&case, None) {
            Ok(true) => built += 1,
            Ok(false) => refused += 1,
            Err(why) => fail(seed, &case, &why, |case| place.build(case, None).err()),
        }
    }
    println!("{built} built, {refused} refused");
}

/// A model that is wrong in one point must not agree with the sandbox for long.
#[test]
fn a_mistake_is_found() {
    let place = Place::new();
    for mistake in [
        Mistake::ReadIsWrite,
        Mistake::OverlayWritesThrough,
        Mistake::WrittenRuns,
        Mistake::TheHostShows,
        Mistake::SocketsConnect,
        Mistake::HostHearsSignals,
    ] {
        let found = (0..MISTAKEN_CASES).find_map(|seed| place.run(&place.case(seed), Some(mistake)).err());
        println!("{mistake:?}: {}", found.expect("the comparison finds it"));
    }
    let found = (0..MISTAKEN_CASES)
        .find_map(|seed| place.build(&Place::wild(seed), Some(Mistake::NothingIsReserved)).err());
    println!("{}", found.expect("the comparison finds it"));
}

/// Things that work outside, and none of which a profile that grants nothing lets through.
#[test]
fn outside_the_same_things_work() {
    let place = Place::new();
    let mut world = World::from([(String::new(), Entry::new(Kind::Folder, 0o755))]);
    for name in ["read", "changed", "moved", "removed"] {
        world.insert(name.to_owned(), Entry::new(Kind::File(b"canary".into()), 0o644));
    }
    world.insert("tool".to_owned(), Entry::new(Kind::File(world::PROGRAM.into()), 0o755));
    world.insert("folder".to_owned(), Entry::new(Kind::Folder, 0o755));
    let probes = [
        "read @/read",
        "list @",
        "look @/read",
        "write @/changed more",
        "mode @/changed 600",
        "cut @/changed",
        "create @/new text",
        "link read @/link",
        "name @/read @/name",
        "move @/moved @/folder/moved",
        "remove @/removed",
        "folder @/made",
        "remove-folder @/made",
        "fifo @/fifo",
        "run @/tool",
        "socket tcp",
        "socket udp",
        "socket local",
        "signal host",
    ];
    let probes: Vec<_> = probes.iter().map(|words| probe(&words.split(' ').collect::<Vec<_>>())).collect();
    let case = Case { world, plan: Plan::new("/payload"), probes };
    let outside = place.outside(&case);
    assert_eq!(outside.len(), case.probes.len());
    for (probe, answer) in case.probes.iter().zip(&outside) {
        // A number that is nobody's, where the host's are as small as the sandbox's.
        let is_nobody = probe[0] == "signal" && answer == "refused no-process";
        assert!(answer.starts_with("ok") || is_nobody, "{probe:?}: {answer}");
    }
    let inside = place.run(&case, None).expect("as the model says");
    assert_eq!(inside, Ended::Ran { probes: case.probes.len(), worked: 0 });
}

#[test]
fn an_overlay_fits_into_the_smallest_temporary_folder() {
    let mut plan = Plan::new("/payload").with("@/folder", "/g", How::Overlay("@/upper".to_owned()));
    plan.limits.temporary_files = 1;
    let folder = || Entry::new(Kind::Folder, 0o755);
    let world = [String::new(), "folder".to_owned(), "upper".to_owned()].map(|name| (name, folder())).into();
    let probes = vec![probe(&["create", "/g/a", "text"]), probe(&["create", "/tmp/a", "text"])];
    let ended = Place::new().run(&Case { world, plan, probes }, None);
    assert_eq!(ended, Ok(Ended::Ran { probes: 2, worked: 2 }));
}

#[test]
fn an_open_file_is_not_one_that_can_be_written() {
    let world = World::from([
        (String::new(), Entry::new(Kind::Folder, 0o755)),
        ("folder".to_owned(), Entry::new(Kind::Folder, 0o755)),
        ("folder/tool".to_owned(), Entry::new(Kind::File(b"reviewed".into()), 0o755)),
    ]);
    let plan =
        Plan::new("/payload").with("@/folder/tool", "/tool", How::Open).with("@/folder", "/g", How::Write);
    let probes = [&["cut", "/g/tool"][..], &["write", "/g/tool", world::PROGRAM], &["run", "/tool"]];
    let probes = probes.map(probe).into();
    let ended = Place::new().run(&Case { world, plan, probes }, None);
    // By the model of files all three work: the child runs what it wrote.
    assert_ne!(ended, Ok(Ended::Ran { probes: 3, worked: 3 }));
}

fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let number = |name| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let first: u64 = number("FUMEHOOD_SEED").unwrap_or(0);
    (0..number("FUMEHOOD_CASES").unwrap_or(count)).map(move |more| first.wrapping_add(more))
}

/// Makes the case small, and shows it.
fn fail(seed: u64, case: &Case, why: &str, fails: impl Fn(&Case) -> Option<String>) -> ! {
    let (case, shrunk) = shrunk(case, fails);
    let Case { world, plan, probes } = &case;
    panic!(
        "{why}\nsmaller: {}\nFUMEHOOD_SEED={seed} FUMEHOOD_CASES=1 repeats it\n{world:#?}\n{plan:#?}\n{probes:?}",
        shrunk.as_deref().unwrap_or("it did not fail again"),
    );
}

/// Drops what the failure does not need.
fn shrunk(case: &Case, fails: impl Fn(&Case) -> Option<String>) -> (Case, Option<String>) {
    let mut best = case.clone();
    let mut why = None;
    let mut keep_if_it_fails = |best: &mut Case, smaller: Case| {
        if let Some(reason) = fails(&smaller) {
            (*best, why) = (smaller, Some(reason));
        }
    };
    for size in [16, 4, 1] {
        for start in (0..best.probes.len()).rev().step_by(size) {
            let mut smaller = best.clone();
            smaller.probes.drain(start..(start + size).min(best.probes.len()));
            keep_if_it_fails(&mut best, smaller);
        }
    }
    for index in (0..best.plan.grants.len()).rev() {
        let mut smaller = best.clone();
        smaller.plan.grants.remove(index);
        keep_if_it_fails(&mut best, smaller);
    }
    for index in (0..best.plan.protected.len()).rev() {
        let mut smaller = best.clone();
        smaller.plan.protected.remove(index);
        keep_if_it_fails(&mut best, smaller);
    }
    let mut smaller = best.clone();
    "/tmp".clone_into(&mut smaller.plan.directory);
    keep_if_it_fails(&mut best, smaller);
    for name in case.world.keys().rev() {
        let is_needed = best
            .world
            .range(format!("{name}/")..)
            .next()
            .is_some_and(|(other, _)| other.starts_with(&format!("{name}/")));
        let is_opened = best.plan.grants.iter().any(|grant| grant.source.contains(name.as_str()));
        if !is_needed && !is_opened && !name.is_empty() {
            let mut smaller = best.clone();
            smaller.world.remove(name);
            keep_if_it_fails(&mut best, smaller);
        }
    }
    (best, why)
}

const CASES: u64 = 400;
const BUILDS: u64 = 5000;
const MISTAKEN_CASES: u64 = 100;
