//! Which profiles are refused, and why: the model of `build`.

use std::path::Path;
use std::time::Duration;

use fumehood_sandbox::ProfileError;

use super::model::Mistake;
use super::plan::{Grant, How, Plan};
use super::world::at;

/// Every reason there is; `build` names one of them. None means that the profile is made.
pub(super) fn refusals(
    plan: &Plan,
    root: &str,
    helper: &Path,
    mistake: Option<Mistake>,
) -> Vec<ProfileError> {
    let mut all = numbers(plan);
    let helper = Grant { source: helper.display().to_string(), target: plan.program.clone(), how: How::Read };
    let grants: Vec<Grant> =
        std::iter::once(&helper).chain(&plan.grants).map(|grant| resolved(grant, root)).collect();
    let protected: Vec<String> = plan.protected.iter().map(|place| at(root, place)).collect();
    let directory = at(root, &plan.directory);

    let places = grants
        .iter()
        .flat_map(|grant| source_of(grant).into_iter().chain([grant.target.as_str()]).chain(upper_of(grant)));
    for path in places.chain(protected.iter().map(String::as_str)).chain([plan.program.as_str(), &directory])
    {
        if !is_plain(path) {
            all.push(ProfileError::Path(path.into()));
        }
    }
    let granted = grants
        .iter()
        .flat_map(|grant| source_of(grant).into_iter().chain([grant.target.as_str()]).chain(upper_of(grant)));
    if granted.into_iter().any(|path| path.contains('\0')) {
        all.push(ProfileError::Nul("a granted path"));
    }
    if grants.len() > 100 {
        all.push(ProfileError::Limit("grants"));
    }
    for (number, grant) in grants.iter().enumerate() {
        let target = grant.target.as_str();
        let names = parts(target);
        let is_reserved = names.first().is_none_or(|top| RESERVED.contains(top));
        // What is the child's own may hold files that it is granted.
        let may_hold = names[..].starts_with(&["tmp"]) && names.len() > 1;
        let is_reserved = is_reserved && (!may_hold || matches!(grant.how, How::Overlay(_)));
        if is_reserved && mistake != Some(Mistake::NothingIsReserved) {
            all.push(ProfileError::Reserved(target.into()));
        }
        let others =
            || grants.iter().enumerate().filter(move |(other, _)| *other != number).map(|(_, other)| other);
        if others().any(|other| meet(&other.target, target)) {
            all.push(ProfileError::Overlap(target.into()));
        }
        let written = match &grant.how {
            How::Read | How::Open => continue,
            How::Write => &grant.source,
            How::Overlay(upper) => upper,
        };
        if protected.iter().any(|place| meet(place, written)) {
            all.push(ProfileError::Protected(written.into()));
        }
        let is_system = parts(written).first().is_none_or(|top| SYSTEM.contains(top));
        let holds_program = is_in(&plan.program, target);
        // What others read, or keep their changes in; that two write one place is no harm.
        let meets_other = others().any(|other| match &other.how {
            How::Read => meet(&other.source, written),
            How::Overlay(upper) => meet(&other.source, written) || meet(upper, written),
            How::Write => matches!(grant.how, How::Overlay(_)) && meet(&other.source, written),
            How::Open => false,
        });
        let meets_itself = matches!(grant.how, How::Overlay(_)) && meet(&grant.source, written);
        if is_system || holds_program || meets_other || meets_itself {
            all.push(ProfileError::WritableProgram(written.into()));
        }
    }
    all
}

fn numbers(plan: &Plan) -> Vec<ProfileError> {
    let limits = &plan.limits;
    let in_range = [
        ("cpu_seconds", (1..=86_400).contains(&limits.cpu_seconds)),
        ("memory_bytes_per_process", (1 << 20..=1 << 40).contains(&limits.memory_bytes_per_process)),
        ("processes", (1..=65_536).contains(&limits.processes)),
        ("file_bytes", (0..=1 << 40).contains(&limits.file_bytes)),
        ("open_files", (8..=65_536).contains(&limits.open_files)),
        ("temporary_bytes", (4096..=1 << 36).contains(&limits.temporary_bytes)),
        ("temporary_files", (1..=1 << 24).contains(&limits.temporary_files)),
        ("wall", plan.wall > Duration::ZERO && plan.wall <= Duration::from_hours(24)),
        ("grace", plan.grace <= Duration::from_mins(1)),
        ("output_bytes_max", (1..=64 << 20).contains(&plan.output_bytes_max)),
    ];
    let mut all: Vec<ProfileError> = in_range
        .into_iter()
        .filter(|(_, is_in_range)| !is_in_range)
        .map(|(name, _)| ProfileError::Limit(name))
        .collect();
    if let Some((name, value)) = &plan.variable {
        if name.is_empty() || name.contains('=') {
            all.push(ProfileError::Variable);
        }
        if name.contains('\0') || value.contains('\0') {
            all.push(ProfileError::Nul("a variable"));
        }
    }
    if plan.directory.contains('\0') {
        all.push(ProfileError::Nul("the directory"));
    }
    all
}

fn resolved(grant: &Grant, root: &str) -> Grant {
    Grant {
        source: at(root, &grant.source),
        target: at(root, &grant.target),
        how: match &grant.how {
            How::Overlay(upper) => How::Overlay(at(root, upper)),
            how => how.clone(),
        },
    }
}

/// Nobody knows where a file that is open already lies.
fn source_of(grant: &Grant) -> Option<&str> {
    (grant.how != How::Open).then_some(grant.source.as_str())
}

fn upper_of(grant: &Grant) -> Option<&str> {
    match &grant.how {
        How::Overlay(upper) => Some(upper),
        _ => None,
    }
}

/// The names on the way from the root.
pub(super) fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !matches!(*part, "" | ".")).collect()
}

fn is_plain(path: &str) -> bool {
    path.starts_with('/') && !path.split('/').any(|part| part == "..")
}

fn is_in(inner: &str, outer: &str) -> bool {
    parts(inner).starts_with(&parts(outer))
}

fn meet(a: &str, b: &str) -> bool {
    is_in(a, b) || is_in(b, a)
}

const RESERVED: &[&str] =
    &["usr", "bin", "sbin", "lib", "lib64", "lib32", "etc", "dev", "proc", "tmp", "sys"];
const SYSTEM: &[&str] = &["usr", "bin", "sbin", "lib", "lib64", "lib32", "etc"];
