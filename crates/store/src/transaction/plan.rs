//! The list of moves that a transaction is: enough to make it, to undo it, and to tell how far it came.

use fumehood_core::receipt::{Applied, Change};
use fumehood_core::{ReceiptId, Sha256};

use super::names;
use super::stamp::Stamp;
use crate::dir::Identity;

/// A transaction that has everything at hand. It is written down before the first move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) receipt: ReceiptId,
    /// The name of our folder in each of the person's: unguessable, so nobody made it before us.
    pub(super) staging: String,
    pub(super) places: Vec<PlannedPlace>,
    /// In the order in which they are made.
    pub(super) moves: Vec<Move>,
}

/// A folder of the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlannedPlace {
    pub(super) path: String,
    pub(super) identity: Identity,
}

/// One move between a folder of the person and our folder in the same one. Each is a single system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Move {
    /// Index of the folder of the person.
    pub(super) place: usize,
    /// The name in our folder.
    pub(super) number: usize,
    /// The folder that the target is in.
    pub(super) parent: Identity,
    /// The target, below the folder of the person.
    pub(super) path: String,
    pub(super) action: Action,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// An empty folder of ours is put where nothing is.
    MakeFolder { new: Stamp },
    /// A file of ours is put where nothing is.
    Create { new: Stamp, sha256: Sha256 },
    /// A file of ours and the original change places.
    Replace { new: Stamp, sha256: Sha256, original: Stamp },
    /// The original is taken to our folder, with all that is in it.
    Remove { original: Stamp, inside: Vec<(String, Stamp)> },
}

impl Action {
    /// What is put in place.
    pub(super) fn placed(&self) -> Option<&Stamp> {
        match self {
            Self::MakeFolder { new } | Self::Create { new, .. } | Self::Replace { new, .. } => Some(new),
            Self::Remove { .. } => None,
        }
    }

    /// What is taken away.
    pub(super) fn original(&self) -> Option<&Stamp> {
        match self {
            Self::Replace { original, .. } | Self::Remove { original, .. } => Some(original),
            Self::MakeFolder { .. } | Self::Create { .. } => None,
        }
    }
}

impl Move {
    pub(super) fn name(&self) -> &str {
        names::split(&self.path).1
    }

    pub(super) fn folder(&self) -> &str {
        names::split(&self.path).0
    }
}

impl Plan {
    /// Puts down that the file system of a place has another number now.
    pub(super) fn set_device(&mut self, place: usize, device: u64) {
        let set = |stamp: &mut Stamp| stamp.identity = stamp.identity.on_device(device);
        for made in self.moves.iter_mut().filter(|made| made.place == place) {
            made.parent = made.parent.on_device(device);
            match &mut made.action {
                Action::MakeFolder { new } | Action::Create { new, .. } => set(new),
                Action::Replace { new, original, .. } => [new, original].into_iter().for_each(set),
                Action::Remove { original, inside } => {
                    set(original);
                    for (_, stamp) in inside {
                        set(stamp);
                    }
                }
            }
        }
    }

    pub(super) fn absolute(&self, place: usize, path: &str) -> String {
        let folder = self.places.get(place).map_or("", |place| place.path.trim_end_matches('/'));
        names::join(folder, path)
    }

    /// What a finished transaction has done, for its receipt. A folder ends in a slash and has no digest.
    pub(super) fn applied(&self) -> Vec<Applied> {
        let mut all = Vec::new();
        for Move { place, path, action, .. } in &self.moves {
            let path = self.absolute(*place, path);
            match action {
                Action::MakeFolder { .. } => all.push(folder(path, Change::Created)),
                Action::Create { new, sha256 } => all.push(file(path, Change::Created, new, sha256)),
                Action::Replace { new, sha256, .. } => all.push(file(path, Change::Replaced, new, sha256)),
                Action::Remove { original, inside } => {
                    let inside = inside.iter().map(|(path, stamp)| (self.absolute(*place, path), stamp));
                    all.extend([(path, original)].into_iter().chain(inside).map(removed));
                }
            }
        }
        all
    }
}

fn file(path: String, change: Change, new: &Stamp, sha256: &Sha256) -> Applied {
    Applied { path, change, bytes: new.size, sha256: Some(*sha256) }
}

fn folder(path: String, change: Change) -> Applied {
    Applied { path: path + "/", change, bytes: 0, sha256: None }
}

fn removed((path, stamp): (String, &Stamp)) -> Applied {
    match stamp.kind {
        crate::dir::Kind::Directory => folder(path, Change::Removed),
        _ => Applied { path, change: Change::Removed, bytes: 0, sha256: None },
    }
}
