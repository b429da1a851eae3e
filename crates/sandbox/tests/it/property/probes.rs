//! What a child tries, at random: mostly around what it was granted, and where the host keeps it.

use super::plan::{Grant, How, PLACES, Plan, parent};
use super::random::Random;
use super::refusals::parts;
use super::world::{self, Kind, NAMES, World, join, path_of};

/// One thing to try, in words. In paths `@` at the start stands for the case's folder.
pub(super) type Probe = Vec<String>;

/// The names below a place of the world.
pub(super) fn below(world: &World, source: &str) -> Vec<String> {
    let above = parts(source.trim_start_matches('@')).join("/");
    let inside = |name: &String| {
        let rest =
            if above.is_empty() { Some(name.as_str()) } else { name.strip_prefix(&above)?.strip_prefix('/') };
        rest.filter(|rest| !rest.is_empty()).map(str::to_owned)
    };
    world.keys().filter_map(inside).collect()
}

pub(super) fn random(random: &mut Random, world: &World, plan: &Plan, count: usize) -> Vec<Probe> {
    let mut probes = vec![probe(&["list", "/"]), probe(&["read", "@/secret"])];
    let mut runs = 0;
    while probes.len() < count {
        let kind = random.below(103);
        let wanted: Wanted = match kind {
            0..18 | 35..50 => is_file,
            18..27 => is_folder,
            54..60 => is_program,
            _ => |_| true,
        };
        let place = place(random, world, plan, wanted);
        let words = match kind {
            0..18 => vec!["read", &place],
            18..27 => vec!["list", &place],
            27..35 => vec!["look", &place],
            35..46 => vec!["write", &place, random.pick(&["-more", "x"])],
            46..50 => vec!["cut", &place],
            50..54 => vec!["mode", &place, random.pick(&["600", "755", "0", "444", "777"])],
            54..60 if runs < RUNS_MAX => {
                runs += 1;
                vec!["run", &place]
            }
            54..61 => vec!["connect", &place],
            61..63 => vec!["socket", random.pick(&["tcp", "udp", "netlink", "local"])],
            63..66 => vec!["signal", random.pick(&["itself", "group", "child", "1", "host", "4000001"])],
            _ => {
                probes.push(change(random, world, plan, &place));
                continue;
            }
        };
        probes.push(probe(&words));
    }
    probes
}

/// What a probe does best with.
type Wanted = fn(&Kind) -> bool;

fn is_file(kind: &Kind) -> bool {
    matches!(kind, Kind::File(_))
}

fn is_folder(kind: &Kind) -> bool {
    *kind == Kind::Folder
}

fn is_program(kind: &Kind) -> bool {
    matches!(kind, Kind::File(content) if content == world::PROGRAM.as_bytes())
}

pub(super) fn probe(words: &[&str]) -> Probe {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Something that makes, names or removes.
fn change(random: &mut Random, world: &World, plan: &Plan, place: &str) -> Probe {
    let kind = random.below(36);
    let wanted = if (31..34).contains(&kind) { is_folder } else { is_file };
    let (old, new) = (named(random, world, plan, wanted), named(random, world, plan, |_| true));
    // Most often within what is mounted together.
    let near = format!("{}/{}", parent(&old), random.pick(NAMES));
    let new = if random.chance(60) { near } else { new };
    match kind {
        0..9 => probe(&["create", &new, "made"]),
        9..14 => probe(&["folder", &new]),
        14..17 => probe(&["link", place, &new]),
        17..21 => probe(&["name", &old, &new]),
        21..27 => probe(&["move", &old, &new]),
        27..31 => probe(&["remove", &old]),
        31..34 => probe(&["remove-folder", &old]),
        34 => probe(&["fifo", &new]),
        _ => probe(&["device", &new]),
    }
}

/// Any place, written in some way.
fn place(random: &mut Random, world: &World, plan: &Plan, wanted: Wanted) -> String {
    let path = anywhere(random, world, plan, wanted);
    written(random, plan, &path)
}

/// A place whose last name is written plainly.
fn named(random: &mut Random, world: &World, plan: &Plan, wanted: Wanted) -> String {
    let path = anywhere(random, world, plan, wanted);
    let Some(name) = parts(&path).last().map(|name| (*name).to_owned()) else {
        return format!("/{}", random.pick(NAMES));
    };
    let name = if name.starts_with(['.', '@']) { NAMES[0].to_owned() } else { name };
    let above = written(random, plan, parent(&path));
    if above == "." { name } else { format!("{}/{name}", above.trim_end_matches('/')) }
}

fn anywhere(random: &mut Random, world: &World, plan: &Plan, wanted: Wanted) -> String {
    let kind = random.below(100);
    if kind < 82 && !plan.grants.is_empty() {
        return granted(random, world, plan, wanted);
    }
    match kind {
        82..86 => {
            let all: Vec<&String> = world.keys().collect();
            path_of(random.pick_of(&all).as_str())
        }
        86..92 => random.pick(&["/tmp/a", "/tmp/b", "/tmp/a/a", "/tmp/c/b", "/dev/shm/a", "/tmp"]).to_owned(),
        92..97 => random.pick(SYSTEM).to_owned(),
        _ => format!("{}/{}", random.pick(PLACES), random.pick(NAMES)),
    }
}

/// A place in a grant, or near one.
fn granted(random: &mut Random, world: &World, plan: &Plan, wanted: Wanted) -> String {
    // Where something can change more often than where nothing can.
    let writable: Vec<&Grant> =
        plan.grants.iter().filter(|grant| matches!(grant.how, How::Write | How::Overlay(_))).collect();
    let is_change = random.chance(50) && !writable.is_empty();
    let (mut target, mut inside) = ("", Vec::new());
    for _ in 0..4 {
        let grant = if is_change { random.pick(&writable) } else { random.pick_of(&plan.grants) };
        (target, inside) = (&grant.target, below(world, &grant.source));
        let above = parts(grant.source.trim_start_matches('@')).join("/");
        inside.retain(|name| world.get(&join(&above, name)).is_some_and(|entry| wanted(&entry.kind)));
        if !inside.is_empty() {
            break;
        }
    }
    match random.below(20) {
        0 | 1 => target.to_owned(),
        2 => format!("{target}/{}", random.pick(NAMES)),
        3 if !inside.is_empty() => format!("{target}/{}/{}", random.pick_of(&inside), random.pick(NAMES)),
        4 => parent(target).to_owned(),
        5 => join(parent(target), random.pick(NAMES)),
        _ if inside.is_empty() => target.to_owned(),
        _ => format!("{target}/{}", random.pick_of(&inside)),
    }
}

/// The same place another way, or one near it.
fn written(random: &mut Random, plan: &Plan, path: &str) -> String {
    let inside = path.strip_prefix(plan.directory.as_str()).filter(|_| plan.directory != "/");
    match (random.below(12), inside) {
        (0..5, Some("")) => ".".to_owned(),
        (0..5, Some(inside)) if inside.starts_with('/') => inside.trim_start_matches('/').to_owned(),
        (5, _) => {
            let depth = parts(&plan.directory).len() + random.below(3);
            if path.starts_with('@') {
                path.to_owned()
            } else {
                format!("{}{}", "../".repeat(depth), path.trim_start_matches('/'))
            }
        }
        (6, _) => {
            let mut names: Vec<&str> = path.split('/').collect();
            let place = 1 + random.below(names.len());
            let more: &[&str] = match random.below(3) {
                0 => &["."],
                1 => &[""],
                _ if place > 1 && !names[place - 1].is_empty() => &["..", names[place - 1]],
                _ => &["."],
            };
            names.splice(place..place, more.iter().copied());
            names.join("/")
        }
        (7, _) if path.len() > 1 => format!("{path}/.."),
        _ => path.to_owned(),
    }
}

const SYSTEM: &[&str] = &[
    "/",
    "/etc/passwd",
    "/etc/hostname",
    "/etc/new",
    "/dev",
    "/dev/null",
    "/dev/shm",
    "/usr/new",
    "/new",
    "/root",
    "/home",
    "/dev/new",
];
const RUNS_MAX: usize = 4;
