//! A plan as text: written once, synced, and believed only when all of it is there.
//!
//! The first line names the version and the last one the digest of all before it. Fields are parted by tabs, which no path
//! of a plan can hold.

use std::fmt::Write as _;

use fumehood_core::{ReceiptId, Sha256};

use super::names;
use super::plan::{Action, Move, Plan, PlannedPlace};
use super::stamp::Stamp;
use crate::dir::{Identity, Kind};

/// Why a text is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordError {
    /// Another version of this program wrote it.
    OtherVersion,
    /// It is not what was written.
    Damaged,
}

pub(super) fn write(plan: &Plan) -> Vec<u8> {
    let mut text = format!("{FIRST_LINE}\nreceipt\t{}\nstaging\t{}\n", plan.receipt, plan.staging);
    for PlannedPlace { path, identity } in &plan.places {
        line(&mut text, &["place", &identity.to_string(), path]);
    }
    for Move { place, number, parent, path, action } in &plan.moves {
        let start = [place.to_string(), number.to_string(), parent.to_string(), path.clone()].join("\t");
        match action {
            Action::MakeFolder { new } => line(&mut text, &["folder", &start, &stamp_text(new)]),
            Action::Create { new, sha256 } => {
                line(&mut text, &["create", &start, &stamp_text(new), &sha256.to_string()]);
            }
            Action::Replace { new, sha256, original } => {
                let [new, original] = [new, original].map(stamp_text);
                line(&mut text, &["replace", &start, &new, &sha256.to_string(), &original]);
            }
            Action::Remove { original, inside } => {
                line(&mut text, &["remove", &start, &stamp_text(original)]);
                for (path, stamp) in inside {
                    line(&mut text, &["inside", path, &stamp_text(stamp)]);
                }
            }
        }
    }
    let digest = Sha256::of(text.as_bytes());
    let _ = writeln!(text, "end\t{digest}");
    text.into_bytes()
}

fn line(text: &mut String, fields: &[&str]) {
    text.push_str(&fields.join("\t"));
    text.push('\n');
}

pub(super) fn read(bytes: &[u8]) -> Result<Plan, RecordError> {
    let text = std::str::from_utf8(bytes).map_err(|_| RecordError::Damaged)?;
    let first = text.lines().next().unwrap_or_default();
    if first != FIRST_LINE {
        let is_ours = first.starts_with(FIRST_WORDS) && text.ends_with('\n');
        return Err(if is_ours { RecordError::OtherVersion } else { RecordError::Damaged });
    }
    parse(text).ok_or(RecordError::Damaged)
}

fn parse(text: &str) -> Option<Plan> {
    let (body, digest) = text.strip_suffix('\n')?.rsplit_once("end\t")?;
    if !body.ends_with('\n') || Sha256::parse(digest)? != Sha256::of(body.as_bytes()) {
        return None;
    }
    let mut lines = body.lines().skip(1);
    let receipt = ReceiptId::parse(lines.next()?.strip_prefix("receipt\t")?).ok()?;
    let staging = lines.next()?.strip_prefix("staging\t")?.to_owned();
    let is_ours =
        staging.starts_with(names::OURS) && names::is_plain_path(&staging) && !staging.contains('/');
    let mut plan = Plan { receipt, staging, places: Vec::new(), moves: Vec::new() };
    for line in lines {
        read_line(&mut plan, &line.split('\t').collect::<Vec<_>>())?;
    }
    is_ours.then_some(plan)
}

fn read_line(plan: &mut Plan, fields: &[&str]) -> Option<()> {
    match fields {
        ["place", identity, path] if path.starts_with('/') => {
            let identity = read_identity(identity)?;
            plan.places.push(PlannedPlace { path: (*path).to_owned(), identity });
        }
        ["inside", path, stamp] if names::is_plain_path(path) => {
            let Action::Remove { inside, .. } = &mut plan.moves.last_mut()?.action else { return None };
            inside.push(((*path).to_owned(), read_stamp(stamp)?));
        }
        [what, place, number, parent, path, facts @ ..] if names::is_plain_path(path) => {
            let action = read_action(what, facts)?;
            let place = place.parse().ok().filter(|place| *place < plan.places.len())?;
            let (number, parent) = (number.parse().ok()?, read_identity(parent)?);
            plan.moves.push(Move { place, number, parent, path: (*path).to_owned(), action });
        }
        _ => return None,
    }
    Some(())
}

fn read_action(what: &str, facts: &[&str]) -> Option<Action> {
    Some(match (what, facts) {
        ("folder", [new]) => Action::MakeFolder { new: read_stamp(new)? },
        ("create", [new, sha256]) => Action::Create { new: read_stamp(new)?, sha256: Sha256::parse(sha256)? },
        ("replace", [new, sha256, original]) => {
            let (new, original) = (read_stamp(new)?, read_stamp(original)?);
            Action::Replace { new, sha256: Sha256::parse(sha256)?, original }
        }
        ("remove", [original]) => Action::Remove { original: read_stamp(original)?, inside: Vec::new() },
        _ => return None,
    })
}

fn read_identity(text: &str) -> Option<Identity> {
    let (device, inode) = text.split_once(':')?;
    Some(Identity::new(device.parse().ok()?, inode.parse().ok()?))
}

fn stamp_text(stamp: &Stamp) -> String {
    let kind = if stamp.kind == Kind::Directory { 'd' } else { 'f' };
    let Stamp { identity, size, modified, changed, mode, owner, group, links, .. } = stamp;
    let times = format!("{} {} {} {}", modified.0, modified.1, changed.0, changed.1);
    format!("{kind} {identity} {size} {times} {mode} {owner} {group} {links}")
}

fn read_stamp(text: &str) -> Option<Stamp> {
    let fields: Vec<_> = text.split(' ').collect();
    let [kind, identity, size, m, m_nano, c, c_nano, mode, owner, group, links] = fields.as_slice() else {
        return None;
    };
    let kind = match *kind {
        "d" => Kind::Directory,
        "f" => Kind::File,
        _ => return None,
    };
    Some(Stamp {
        kind,
        identity: read_identity(identity)?,
        size: size.parse().ok()?,
        modified: (m.parse().ok()?, m_nano.parse().ok()?),
        changed: (c.parse().ok()?, c_nano.parse().ok()?),
        mode: mode.parse().ok()?,
        owner: owner.parse().ok()?,
        group: group.parse().ok()?,
        links: links.parse().ok()?,
        is_whiteout: false,
    })
}

const FIRST_WORDS: &str = "fumehood transaction ";
const FIRST_LINE: &str = "fumehood transaction 1";
