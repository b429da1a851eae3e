//! Profiles, described; made at random, most of them consistent, or wild.

use std::path::Path;
use std::time::Duration;

use fumehood_sandbox::{Access, Limits, OnExcess, Profile, ProfileBuilder};

use super::random::Random;
use super::refusals::{parts, refusals};
use super::world::{Kind, NAMES, UPPERS, World, at, path_of};

/// What a profile is made from. In paths `@` at the start stands for the case's folder.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Where the child sees the program that tries things. It is a grant to read.
    pub(super) program: String,
    pub(super) grants: Vec<Grant>,
    pub(super) directory: String,
    pub(super) protected: Vec<String>,
    pub(super) limits: Limits,
    pub(super) wall: Duration,
    pub(super) grace: Duration,
    pub(super) output_bytes_max: usize,
    pub(super) variable: Option<(String, String)>,
}

#[derive(Clone, Debug)]
pub(super) struct Grant {
    pub(super) source: String,
    pub(super) target: String,
    pub(super) how: How,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum How {
    Read,
    Write,
    /// With the folder that takes the changes.
    Overlay(String),
    /// Opened by the host.
    Open,
}

impl Plan {
    pub(super) fn new(program: &str) -> Self {
        Self {
            program: program.to_owned(),
            grants: Vec::new(),
            directory: "/tmp".to_owned(),
            protected: Vec::new(),
            limits: LIMITS,
            wall: Duration::from_mins(1),
            grace: Duration::from_millis(200),
            output_bytes_max: 1 << 20,
            variable: None,
        }
    }

    pub(super) fn with(mut self, source: &str, target: &str, how: How) -> Self {
        self.grants.push(Grant { source: source.to_owned(), target: target.to_owned(), how });
        self
    }

    /// A plan for this world that is run. Now and then one that is refused.
    pub(super) fn random(random: &mut Random, world: &World, root: &str, helper: &Path) -> Self {
        let program = random.pick(&["/payload", "/payload", "/payload", "/g/p/payload", "/opt/payload"]);
        let mut plan = Self::new(program);
        plan.limits.temporary_files = *random.pick_of(&[64, 64, 8, 4, 3]);
        if random.chance(20) {
            plan.protected.push(source(random, world));
        }
        for _ in 0..random.below(24) {
            let mut one = grant(random, world);
            // Not more often, or nothing would be launched.
            if random.chance(98) && !can_be_granted(world, &one) {
                "@/a".clone_into(&mut one.source);
            }
            plan.grants.push(one);
            let is_refused = !refusals(&plan, root, helper, None).is_empty();
            if plan.grants.len() > GRANTS_MAX || is_refused && random.chance(99) {
                plan.grants.pop();
            }
        }
        plan.directory = directory(random, world, &plan.grants);
        plan
    }

    /// Any plan at all: places that are nowhere, numbers out of range.
    pub(super) fn wild(random: &mut Random, world: &World) -> Self {
        let program =
            random.pick(&["/payload", "/payload", "/g/a/payload", "/usr/bin/true", "payload", "/g/../p"]);
        let mut plan = Self::new(program);
        for _ in 0..random.below(4) {
            let mut one = grant(random, world);
            if random.chance(30) {
                random.pick(WILD_SOURCES).clone_into(&mut one.source);
            }
            if random.chance(15) {
                random.pick(WILD_TARGETS).clone_into(&mut one.target);
            }
            if let (How::Overlay(upper), true) = (&mut one.how, random.chance(30)) {
                random.pick(WILD_SOURCES).clone_into(upper);
            }
            plan.grants.push(one);
        }
        if random.chance(5) {
            let first = Grant { source: "@/a".to_owned(), target: "/many/0".to_owned(), how: How::Read };
            let many = (0..95 + random.below(10))
                .map(|number| Grant { target: format!("/many/{number}"), ..first.clone() });
            plan.grants.extend(many);
        }
        for _ in 0..random.below(3) {
            plan.protected.push(if random.chance(50) {
                source(random, world)
            } else {
                random.pick(WILD_SOURCES).to_owned()
            });
        }
        if random.chance(10) {
            plan.directory = random.pick(&["/", "tmp", "/tmp/..", "/g/./a", "", "/no\0where"]).to_owned();
        }
        if random.chance(10) {
            let name = random.pick(&["", "A=B", "A", "A\0B", "="]);
            plan.variable = Some((name.to_owned(), random.pick(&["", "x", "\0", "x=y"]).to_owned()));
        }
        if random.chance(25) {
            wild_number(random, &mut plan);
        }
        plan
    }

    /// For the case's folder, and with a program that tries things.
    pub(super) fn builder(&self, root: &str, helper: &Path) -> ProfileBuilder {
        let mut profile = Profile::builder(&self.program, self.limits, self.wall)
            .grant(helper, &self.program, Access::Read)
            .grace(self.grace)
            .output(self.output_bytes_max, OnExcess::Truncate)
            .directory(at(root, &self.directory));
        for Grant { source, target, how } in &self.grants {
            let (source, target) = (at(root, source), at(root, target));
            profile = match how {
                How::Read => profile.grant(source, target, Access::Read),
                How::Write => profile.grant(source, target, Access::Write),
                How::Overlay(upper) => profile.overlay(source, at(root, upper), target),
                // What cannot be opened is not granted; such a plan is not made.
                How::Open => match std::fs::File::open(&source) {
                    Ok(file) => profile.grant_open(file, target),
                    Err(error) => panic!("{source}: {error}"),
                },
            };
        }
        for place in &self.protected {
            profile = profile.protect(at(root, place));
        }
        if let Some((name, value)) = &self.variable {
            profile = profile.variable(name, value);
        }
        profile
    }
}

fn grant(random: &mut Random, world: &World) -> Grant {
    let target = match random.below(12) {
        0 => random.pick(&["/top", "/payload/x", "/dev/shm/x", "/g//x/../y", "/tmpish", "/etc2"]).to_owned(),
        1 => source(random, world),
        2..5 => format!("/{}", random.pick(NAMES)),
        5 | 6 => random.pick(PLACES).to_owned(),
        _ => format!("{}/{}", random.pick(PLACES), random.pick(NAMES)),
    };
    let how = match random.below(10) {
        0..4 => How::Read,
        4..7 => How::Write,
        7 | 8 => How::Overlay(if random.chance(90) {
            format!("@/up{}", random.below(UPPERS))
        } else {
            source(random, world)
        }),
        _ => How::Open,
    };
    let source = if how == How::Open { open_source(random, world) } else { source(random, world) };
    Grant { source, target, how }
}

/// Whether launching such a grant can succeed.
fn can_be_granted(world: &World, grant: &Grant) -> bool {
    let kind =
        |path: &str| world.get(&parts(path.trim_start_matches('@')).join("/")).map(|entry| &entry.kind);
    match (&grant.how, kind(&grant.source)) {
        (How::Overlay(upper), Some(Kind::Folder)) => kind(upper) == Some(&Kind::Folder),
        (How::Read | How::Write, Some(Kind::Folder | Kind::File(_))) | (How::Open, Some(_)) => true,
        _ => false,
    }
}

/// A place of the world, most often a folder; now and then written another way, or nowhere.
fn source(random: &mut Random, world: &World) -> String {
    let all: Vec<&String> = world.keys().filter(|name| !name.starts_with("beside")).collect();
    // Those that take an overlay's changes have nothing in them.
    let folders: Vec<&String> = all
        .iter()
        .copied()
        .filter(|name| world[*name].kind == Kind::Folder && !name.is_empty() && !name.starts_with("up"))
        .collect();
    let use_folder = random.chance(65);
    let path = path_of(random.pick_of(if use_folder { &folders } else { &all }).as_str());
    match random.below(40) {
        0 => format!("{path}/{}", random.pick(NAMES)),
        1 => path.replacen('/', "//", 1),
        2 => path.replacen('/', "/./", 1),
        3 => format!("{path}/"),
        _ => path,
    }
}

/// A file that its owner can open.
fn open_source(random: &mut Random, world: &World) -> String {
    let is_open = |name: &str, bit: u32| world[name].is_callers && world[name].mode & bit != 0;
    let can_open = |name: &String| {
        let parents = name.match_indices('/').map(|(end, _)| &name[..end]);
        matches!(world[name].kind, Kind::File(_))
            && is_open(name, 0o400)
            && parents.into_iter().all(|parent| is_open(parent, 0o100))
    };
    let all: Vec<&String> = world.keys().filter(|name| can_open(name)).collect();
    path_of(random.pick_of(&all).as_str())
}

fn directory(random: &mut Random, world: &World, grants: &[Grant]) -> String {
    if grants.is_empty() || random.chance(30) {
        return random
            .pick(&["/tmp", "/tmp", "/tmp", "/tmp", "/tmp", "/", "/", "/dev", "/g", "/nowhere"])
            .to_owned();
    }
    let Grant { source, target, .. } = random.pick_of(grants);
    match random.below(20) {
        _ if world
            .get(source.trim_start_matches(['@', '/']))
            .is_none_or(|entry| entry.kind != Kind::Folder) =>
        {
            parent(target).to_owned()
        }
        0..14 => target.clone(),
        14..18 => parent(target).to_owned(),
        18 => format!("{target}/{}", random.pick(NAMES)),
        _ => {
            let below = super::probes::below(world, source);
            if below.is_empty() { target.clone() } else { format!("{target}/{}", random.pick_of(&below)) }
        }
    }
}

pub(super) fn parent(path: &str) -> &str {
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(end) => &path[..end],
    }
}

fn wild_number(random: &mut Random, plan: &mut Plan) {
    let value = *random.pick_of(&[
        0,
        1,
        2,
        3,
        7,
        8,
        4095,
        4096,
        86_400,
        86_401,
        65_536,
        65_537,
        1 << 20,
        (1 << 20) - 1,
        1 << 40,
        (1 << 40) + 1,
        1 << 36,
        (1 << 36) + 1,
        1 << 24,
        (1 << 24) + 1,
        u64::MAX,
    ]);
    let limits = &mut plan.limits;
    match random.below(10) {
        0 => limits.cpu_seconds = value,
        1 => limits.memory_bytes_per_process = value,
        2 => limits.processes = value,
        3 => limits.file_bytes = value,
        4 => limits.open_files = value,
        5 => limits.temporary_bytes = value,
        6 => limits.temporary_files = value,
        7 => {
            plan.wall = *random.pick_of(&[
                Duration::ZERO,
                Duration::from_nanos(1),
                Duration::from_hours(24),
                DAY_AND_MORE,
            ]);
        }
        8 => plan.grace = *random.pick_of(&[Duration::ZERO, Duration::from_mins(1), MINUTE_AND_MORE]),
        _ => plan.output_bytes_max = *random.pick_of(&[0, 1, 64 << 20, (64 << 20) + 1]),
    }
}

/// Where granted places begin: some inside others, and some that differ in how a name goes on.
pub(super) const PLACES: &[&str] = &["/g", "/g/x", "/g/x/y", "/gx", "/home/u", "/home/v", "/srv/deep/er"];
const GRANTS_MAX: usize = 8;
const WILD_SOURCES: &[&str] = &[
    "/",
    "/usr",
    "/usr/share",
    "/usrx",
    "/etc/passwd",
    "/bin/true",
    "/library",
    "/nowhere",
    "/nowhere/a",
    "nowhere",
    "",
    "/a/../b",
    "/./usr",
    "//usr",
    "..",
    "@/..",
    "@/a/../b",
    "/lib64/x",
    "/no\0where",
];
const WILD_TARGETS: &[&str] = &[
    "/", "//", "/usr", "/usr/a", "/bin", "/sbin/x", "/lib/a/b", "/lib64", "/lib32", "/etc/x", "/dev",
    "/proc/1", "/tmp", "/tmp/x", "/sys", "/sys/fs", "g", "", "/g/../h", "/./tmp", "//tmp", "/usrx", "/temp",
    "/g/..", "/.", "/root",
];
const DAY_AND_MORE: Duration = Duration::from_nanos(86_400 * 1_000_000_000 + 1);
const MINUTE_AND_MORE: Duration = Duration::from_nanos(60 * 1_000_000_000 + 1);
const LIMITS: Limits = Limits {
    cpu_seconds: 20,
    memory_bytes_per_process: 64 << 20,
    processes: 16,
    file_bytes: 1 << 20,
    open_files: 32,
    temporary_bytes: 1 << 20,
    temporary_files: 64,
};
