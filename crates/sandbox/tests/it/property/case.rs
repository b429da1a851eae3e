//! One case: laid out, run, and compared with what the model says, inside and on the host.

use std::collections::BTreeSet;
use std::process::Command;

use fumehood_sandbox::prove::TRY_ARGUMENT;
use fumehood_sandbox::{Exit, Outcome, Sandbox, SandboxError};
use tempfile::TempDir;

use super::model::{Mistake, Model};
use super::plan::{How, Plan};
use super::probes::{self, Probe};
use super::random::Random;
use super::refusals::{parts, refusals};
use super::world::{self, Entry, Kind, World, at, join, path_of};

#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) world: World,
    pub(super) plan: Plan,
    pub(super) probes: Vec<Probe>,
}

/// How a case went that is as predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Refused,
    NotLaunched,
    /// After so many probes, of which so many worked.
    Ran {
        probes: usize,
        worked: usize,
    },
}

/// Where cases run.
pub(super) struct Place {
    pub(super) sandbox: Sandbox,
    _folder: TempDir,
    /// The cases' folder, one after the other.
    root: String,
    is_root: bool,
}

impl Place {
    pub(super) fn new() -> Self {
        let temporary = std::fs::canonicalize(std::env::temp_dir()).expect("there is a temporary folder");
        let folder = tempfile::tempdir_in(temporary).expect("a folder can be made");
        let root = folder.path().join("case").display().to_string();
        let sandbox = Sandbox::start_with(&crate::program()).expect("this machine has a sandbox");
        Self { sandbox, _folder: folder, root, is_root: world::is_root() }
    }

    pub(super) fn case(&self, seed: u64) -> Case {
        let mut random = Random::new(seed);
        // An overlay needs to own what it copies.
        let has_strangers = self.is_root && random.chance(30);
        let world = world::random(&mut random, has_strangers);
        let mut plan = Plan::random(&mut random, &world, &self.root, &crate::program());
        if has_strangers {
            plan.grants.retain(|grant| !matches!(grant.how, How::Overlay(_)));
        }
        let count = 20 + random.below(50);
        let probes = probes::random(&mut random, &world, &plan, count);
        Case { world, plan, probes }
    }

    pub(super) fn wild(seed: u64) -> Case {
        let mut random = Random::new(seed);
        let world = world::random(&mut random, false);
        let plan = Plan::wild(&mut random, &world);
        Case { world, plan, probes: Vec::new() }
    }

    /// Whether `build` answers as predicted. Nothing is laid out or run.
    pub(super) fn build(&self, Case { plan, .. }: &Case, mistake: Option<Mistake>) -> Result<bool, String> {
        let plan = Plan {
            grants: plan.grants.iter().filter(|grant| grant.how != How::Open).cloned().collect(),
            ..plan.clone()
        };
        let helper = crate::program();
        let expected = refusals(&plan, &self.root, &helper, mistake);
        match plan.builder(&self.root, &helper).build() {
            Ok(_) if expected.is_empty() => Ok(true),
            Err(error) if expected.contains(&error) => Ok(false),
            built => Err(format!("build: {:?}, and not {expected:?}", built.err())),
        }
    }

    /// Whether everything is as the model says; else what is not.
    pub(super) fn run(&self, case: &Case, mistake: Option<Mistake>) -> Result<Ended, String> {
        for _ in 0..PATIENCE {
            world::lay_out(&self.root, &case.world).map_err(|error| format!("the world: {error}"))?;
            let result = self.run_once(case, mistake);
            world::take_down(&self.root).map_err(|error| format!("the world's end: {error}"))?;
            // A machine that is too busy; nothing ran.
            if !result.as_ref().is_err_and(|why| why.starts_with(NO_ANSWER)) {
                return result;
            }
        }
        Err(NO_ANSWER.to_owned())
    }

    fn run_once(
        &self,
        Case { world, plan, probes }: &Case,
        mistake: Option<Mistake>,
    ) -> Result<Ended, String> {
        let (root, helper) = (self.root.as_str(), crate::program());
        let expected = refusals(plan, root, &helper, mistake);
        let mut builder = plan.builder(root, &helper).argument(TRY_ARGUMENT);
        let probes: Vec<Probe> = probes.iter().map(|probe| self.resolved(probe)).collect();
        for probe in &probes {
            builder = builder.argument(probe.join("\t"));
        }
        let profile = match builder.build() {
            Ok(profile) if expected.is_empty() => profile,
            Err(error) if expected.contains(&error) => return Ok(Ended::Refused),
            built => return Err(format!("build: {:?}, and not {expected:?}", built.err())),
        };
        let predicted = Model::new(plan, world, root, &helper, mistake);
        let launched = self.sandbox.spawn(&profile).and_then(|run| run.wait(&|| false));
        let (mut model, outcome) = match (predicted, launched) {
            (_, Err(SandboxError::NoAnswer)) => return Err(NO_ANSWER.to_owned()),
            (Ok(model), Ok(outcome)) => (model, outcome),
            (Err(step), Err(SandboxError::SetUp { step: seen, .. })) if step == seen => {
                compare_host(root, world, plan, &look_at(root)?)?;
                return Ok(Ended::NotLaunched);
            }
            (predicted, launched) => {
                return Err(format!("launch: {launched:?}, and not {:?}", predicted.err()));
            }
        };
        let worked = compare_answers(&mut model, &probes, &outcome)?;
        // Looking opens what is closed, so it is done once.
        let seen = look_at(root)?;
        compare_host(root, &model.host_files(), plan, &seen)?;
        compare_overlays(root, &model, &seen)?;
        Ok(Ended::Ran { probes: probes.len(), worked })
    }

    /// A probe with real paths and numbers.
    fn resolved(&self, probe: &Probe) -> Probe {
        let own = std::process::id();
        probe
            .iter()
            .map(|word| match word.as_str() {
                // Where the host's processes have small numbers, the sandbox's have the same.
                "host" if own > PIDS_INSIDE_MAX => own.to_string(),
                "host" => "4000001".to_owned(),
                word => at(&self.root, word),
            })
            .collect()
    }

    /// What the same probes get outside of any sandbox.
    pub(super) fn outside(&self, case: &Case) -> Vec<String> {
        world::lay_out(&self.root, &case.world).expect("laid out");
        let probes = case.probes.iter().map(|probe| self.resolved(probe).join("\t"));
        let output = Command::new(crate::program()).arg(TRY_ARGUMENT).args(probes).output().expect("it runs");
        world::take_down(&self.root).expect("taken down");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }
}

fn compare_answers(model: &mut Model, probes: &[Probe], outcome: &Outcome) -> Result<usize, String> {
    let text = String::from_utf8_lossy(&outcome.output.bytes);
    let answers: Vec<&str> = text.lines().collect();
    if (outcome.exit, outcome.killed, answers.len()) != (Some(Exit::Code(0)), None, probes.len()) {
        return Err(format!("the child did not end well: {outcome:?}"));
    }
    for (number, (probe, answer)) in probes.iter().zip(&answers).enumerate() {
        let expected = model.answer(probe);
        // An overlay says so where both are names of one file. Then nothing is done, which is what should be done.
        let is_same_file = probe[0] == "move" && expected == "ok" && *answer == "refused stale";
        if expected != **answer && !is_same_file {
            return Err(format!("probe {number}, {probe:?}: {answer:?}, and not {expected:?}"));
        }
    }
    Ok(answers.iter().filter(|answer| answer.starts_with("ok")).count())
}

fn look_at(root: &str) -> Result<World, String> {
    world::look_at(root).map_err(|error| format!("the host's files: {error}"))
}

/// Every file of the host, but what overlays keep.
fn compare_host(root: &str, expected: &World, plan: &Plan, seen: &World) -> Result<(), String> {
    let mut seen = seen.clone();
    for grant in &plan.grants {
        if let How::Overlay(upper) = &grant.how {
            let upper = parts(upper.trim_start_matches('@')).join("/");
            for name in ["changes", "work"] {
                remove_tree(&mut seen, &join(&upper, name));
            }
        }
    }
    let expected = expected.iter().map(|(name, entry)| (name.clone(), with_real_link(entry, root))).collect();
    first_difference(&expected, &seen).map_or(Ok(()), |difference| Err(format!("the host's {difference}")))
}

/// What an overlay's changes make of the folder below, and that nothing is in them that was not changed.
fn compare_overlays(root: &str, model: &Model, seen: &World) -> Result<(), String> {
    for (grant, mut expected, touched) in model.overlays() {
        let How::Overlay(upper) = &grant.how else { continue };
        let lower = parts(grant.source.trim_start_matches('@')).join("/");
        let upper = join(&parts(upper.trim_start_matches('@')).join("/"), "changes");
        let mut merged = inside(seen, &lower);
        let changes = inside(seen, &upper);
        for (name, entry) in &changes {
            let path = at(root, &path_of(&join(&upper, name)));
            if !matches!(entry.kind, Kind::Folder) || world::is_opaque(&path) {
                remove_tree(&mut merged, name);
            }
            if entry.kind != Kind::Gone {
                merged.insert(name.clone(), entry.clone());
            }
        }
        expected.remove("");
        merged.remove("");
        let where_it_is = format!("the overlay of {lower:?}: ");
        if let Some(difference) = first_difference(&expected, &merged) {
            return Err(format!("{where_it_is}{difference}"));
        }
        let is_file = |entry: &Entry| !matches!(entry.kind, Kind::Folder | Kind::Gone);
        let copied: BTreeSet<&String> =
            changes.iter().filter(|(_, entry)| is_file(entry)).map(|(name, _)| name).collect();
        let touched: BTreeSet<&String> = touched.iter().collect();
        if copied != touched {
            return Err(format!("{where_it_is}changes has {copied:?}, and not {touched:?}"));
        }
    }
    Ok(())
}

fn with_real_link(entry: &Entry, root: &str) -> Entry {
    match &entry.kind {
        Kind::Link(target) => Entry { kind: Kind::Link(at(root, target)), ..entry.clone() },
        _ => entry.clone(),
    }
}

fn remove_tree(world: &mut World, name: &str) {
    let below = format!("{name}/");
    world.retain(|other, _| other != name && !other.starts_with(&below));
}

fn inside(world: &World, folder: &str) -> World {
    let inside = |name: &str| {
        let rest = if folder.is_empty() { name } else { name.strip_prefix(folder)? };
        let is_below = rest.is_empty() || folder.is_empty() || rest.starts_with('/');
        is_below.then(|| rest.trim_start_matches('/').to_owned())
    };
    world.iter().filter_map(|(name, entry)| Some((inside(name)?, entry.clone()))).collect()
}

fn first_difference(expected: &World, seen: &World) -> Option<String> {
    let names: BTreeSet<&String> = expected.keys().chain(seen.keys()).collect();
    names.into_iter().find_map(|name| {
        let (expected, seen) = (expected.get(name), seen.get(name));
        (expected != seen).then(|| format!("{name:?} is {seen:?}, and not {expected:?}"))
    })
}

const NO_ANSWER: &str = "no answer in time";
const PATIENCE: usize = 5;
const PIDS_INSIDE_MAX: u32 = 64;
