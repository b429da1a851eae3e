//! What a child sees and may do, by the words of its profile: files in memory, mounted as granted.

use std::collections::BTreeMap;
use std::path::Path;

use fumehood_sandbox::Step;

use super::plan::{Grant, How, Plan};
use super::refusals::parts;
use super::world::{Entry, Kind, World, at, join};

/// Why something does not work: what the kind of refusal is called in the answers.
pub(super) type Refused = &'static str;

/// A mistake of the model that the comparison must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mistake {
    NothingIsReserved,
    ReadIsWrite,
    OverlayWritesThrough,
    WrittenRuns,
    TheHostShows,
    SocketsConnect,
    HostHearsSignals,
}

pub(super) struct Model {
    pub(super) nodes: Vec<Node>,
    pub(super) mounts: Vec<Mount>,
    /// Which mount covers a place.
    covers: BTreeMap<usize, usize>,
    /// The current folder.
    pub(super) here: At,
    /// How many more files there can be in the temporary folder.
    pub(super) temporary_left: u64,
    pub(super) mistake: Option<Mistake>,
    host: usize,
    overlays: Vec<(Grant, usize)>,
}

#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not exclude each other")]
pub(super) struct Node {
    pub(super) what: What,
    pub(super) mode: u32,
    pub(super) is_callers: bool,
    /// Of a folder.
    pub(super) parent: usize,
    pub(super) is_removed: bool,
    /// Made by the child.
    pub(super) is_made: bool,
    /// Changed by the child, so that an overlay has its own copy.
    pub(super) is_touched: bool,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Folder(BTreeMap<String, usize>),
    File(Vec<u8>),
    Link(String),
    Socket,
    Fifo,
    Device { is_writable: bool },
}

#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not exclude each other")]
pub(super) struct Mount {
    pub(super) root: usize,
    pub(super) on: At,
    pub(super) may_write: bool,
    pub(super) may_run: bool,
    pub(super) is_overlay: bool,
    pub(super) is_temporary: bool,
}

/// A node, as seen through a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    pub(super) mount: usize,
    pub(super) node: usize,
}

/// What may be done with a file.
pub(super) const READ: u32 = 4;
pub(super) const WRITE: u32 = 2;
pub(super) const EXECUTE: u32 = 1;

impl Model {
    /// The child's files, or the step at which the launch fails.
    pub(super) fn new(
        plan: &Plan,
        world: &World,
        root: &str,
        helper: &Path,
        mistake: Option<Mistake>,
    ) -> Result<Self, Step> {
        let mut model = Self {
            nodes: Vec::new(),
            mounts: Vec::new(),
            covers: BTreeMap::new(),
            here: ROOT,
            temporary_left: plan.limits.temporary_files,
            mistake,
            host: 0,
            overlays: Vec::new(),
        };
        // The root, which is its own parent.
        let top = model.add(What::Folder(BTreeMap::new()), 0o755, true);
        model.mounts.push(Mount { on: ROOT, ..READ_ONLY }.of(top));
        super::base::lay_out(&mut model);
        model.host = model.add_world(world, root);

        let program = model.add(
            What::File(super::base::start_of(helper)),
            super::base::mode_of(helper),
            super::base::is_ours(helper),
        );
        model.place(&plan.program, Mount { may_run: true, ..READ_ONLY }.of(program));
        let mut mounts = Vec::new();
        for grant in &plan.grants {
            let source = model.granted(grant).ok_or(Step::OpenGrant)?;
            mounts.push((grant, model.mount_of(grant, source)?));
        }
        for (grant, mount) in mounts {
            let is_folder = matches!(model.nodes[mount.root].what, What::Folder(_));
            if is_folder && parts(&at(root, &grant.target)).first() == Some(&"tmp") {
                return Err(Step::Grant);
            }
            model.place(&at(root, &grant.target), mount);
        }
        let directory = at(root, &plan.directory);
        let here = model.walk(ROOT, &directory, true, false).map_err(|_| Step::Directory)?;
        if model.names(here).is_err() || !model.may(here, EXECUTE) {
            return Err(Step::Directory);
        }
        model.here = here;
        if mistake == Some(Mistake::TheHostShows) {
            model.place(root, READ_ONLY.of(model.host));
        }
        Ok(model)
    }

    fn mount_of(&mut self, grant: &Grant, source: usize) -> Result<Mount, Step> {
        Ok(match &grant.how {
            How::Read | How::Open => {
                let may_write = self.mistake == Some(Mistake::ReadIsWrite);
                // What is granted open is data.
                Mount { may_run: grant.how == How::Read, may_write, ..READ_ONLY }.of(source)
            }
            How::Write => {
                let may_run = self.mistake == Some(Mistake::WrittenRuns);
                Mount { may_write: true, may_run, ..READ_ONLY }.of(source)
            }
            How::Overlay(upper) => {
                let upper = self.find(upper).ok_or(Step::OpenGrant)?;
                if !matches!(
                    (&self.nodes[source].what, &self.nodes[upper].what),
                    (What::Folder(_), What::Folder(_))
                ) {
                    return Err(Step::OpenGrant);
                }
                let copy = if self.mistake == Some(Mistake::OverlayWritesThrough) {
                    source
                } else {
                    self.copy(source)
                };
                // The folder that takes the changes is the caller's, whosever the one below is.
                self.nodes[copy].mode &= 0o777;
                self.nodes[copy].is_callers = true;
                self.overlays.push((grant.clone(), copy));
                Mount { may_write: true, is_overlay: true, ..READ_ONLY }.of(copy)
            }
        })
    }

    /// The file or folder that can be granted: no part of its path is a link.
    fn granted(&self, grant: &Grant) -> Option<usize> {
        let node = self.find(&grant.source)?;
        match self.nodes[node].what {
            What::File(_) => Some(node),
            What::Folder(_) => (grant.how != How::Open).then_some(node),
            _ => None,
        }
    }

    /// Something of the host's, by a path without links.
    fn find(&self, path: &str) -> Option<usize> {
        let mut node = self.host;
        let names = path.strip_prefix('@')?;
        for name in parts(names) {
            let What::Folder(inside) = &self.nodes[node].what else { return None };
            node = *inside.get(name)?;
        }
        // A slash at the end asks for a folder.
        (!names.ends_with('/') || matches!(self.nodes[node].what, What::Folder(_))).then_some(node)
    }

    pub(super) fn add(&mut self, what: What, mode: u32, is_callers: bool) -> usize {
        let node =
            Node { what, mode, is_callers, parent: 0, is_removed: false, is_made: false, is_touched: false };
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn add_world(&mut self, world: &World, root: &str) -> usize {
        let mut added: BTreeMap<&str, usize> = BTreeMap::new();
        for (path, Entry { kind, mode, is_callers }) in world {
            let what = match kind {
                Kind::Folder => What::Folder(BTreeMap::new()),
                Kind::File(content) => What::File(content.clone()),
                Kind::Link(target) => What::Link(at(root, target)),
                Kind::Socket => What::Socket,
                Kind::Fifo => What::Fifo,
                Kind::Gone | Kind::Device(_) => continue,
            };
            let node = self.add(what, *mode, *is_callers);
            added.insert(path, node);
            if !path.is_empty() {
                let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
                self.put(added[parent], name, node);
            }
        }
        added[""]
    }

    pub(super) fn put(&mut self, folder: usize, name: &str, node: usize) {
        if let What::Folder(names) = &mut self.nodes[folder].what {
            names.insert(name.to_owned(), node);
        }
        if let What::Folder(_) = self.nodes[node].what {
            self.nodes[node].parent = folder;
        }
    }

    fn copy(&mut self, node: usize) -> usize {
        let original = self.nodes[node].clone();
        let copy = self.add(original.what.clone(), original.mode, original.is_callers);
        if let What::Folder(names) = original.what {
            for (name, inner) in names {
                let inner = self.copy(inner);
                self.put(copy, &name, inner);
            }
        }
        copy
    }

    /// Mounts something at a place that is made for it; below the top there is a small tree for what leads there.
    pub(super) fn place(&mut self, target: &str, mount: Mount) {
        let names = parts(target);
        let mut on = ROOT;
        for (depth, name) in names.iter().enumerate() {
            let is_last = depth + 1 == names.len();
            let known = self.names(on).ok().and_then(|names| names.get(*name).copied());
            let node = known.unwrap_or_else(|| {
                let covers_a_folder = matches!(self.nodes[mount.root].what, What::Folder(_));
                let what = if is_last && !covers_a_folder {
                    What::File(Vec::new())
                } else {
                    What::Folder(BTreeMap::new())
                };
                let node = self.add(what, 0o755, true);
                self.put(on.node, name, node);
                node
            });
            let place = At { node, ..on };
            on = self.crossed(place);
            if on == place && (is_last || depth == 0) {
                let root =
                    if is_last { mount.root } else { self.add(What::Folder(BTreeMap::new()), 0o755, true) };
                self.mounts.push(Mount { root, on: place, ..if is_last { mount } else { READ_ONLY } });
                self.covers.insert(node, self.mounts.len() - 1);
                on = self.crossed(place);
            }
        }
    }

    fn crossed(&self, place: At) -> At {
        match self.covers.get(&place.node) {
            Some(mount) => At { mount: *mount, node: self.mounts[*mount].root },
            None => place,
        }
    }

    /// Whether something is mounted there.
    pub(super) fn is_covered(&self, node: usize) -> bool {
        self.covers.contains_key(&node)
    }

    pub(super) fn names(&self, folder: At) -> Result<&BTreeMap<String, usize>, Refused> {
        match &self.nodes[folder.node].what {
            What::Folder(names) => Ok(names),
            _ => Err("no-folder"),
        }
    }

    /// Whether the mode lets the child. Nobody writes a stranger's file.
    pub(super) fn may(&self, place: At, wanted: u32) -> bool {
        let Node { mode, is_callers, .. } = &self.nodes[place.node];
        let bits = if *is_callers { mode >> 6 } else { mode & if wanted & WRITE == 0 { 7 } else { 0 } };
        bits & wanted == wanted
    }

    /// Where a path leads.
    pub(super) fn walk(&self, from: At, path: &str, follows: bool, is_set_up: bool) -> Result<At, Refused> {
        let mut links = 0;
        self.walk_counting(from, path, follows, is_set_up, &mut links)
    }

    fn walk_counting(
        &self,
        from: At,
        path: &str,
        follows: bool,
        is_set_up: bool,
        links: &mut u32,
    ) -> Result<At, Refused> {
        if path.is_empty() {
            return Err("missing");
        }
        let mut place = if path.starts_with('/') { ROOT } else { from };
        // A slash at the end asks for a folder, wherever it is.
        let wants_folder = path.ends_with('/');
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        for (number, name) in names.iter().enumerate() {
            let folder = place;
            let inside = self.names(folder)?;
            if !(self.may(folder, EXECUTE) || is_set_up && self.nodes[folder.node].is_callers) {
                return Err("denied");
            }
            place = match *name {
                "." => folder,
                ".." => self.above(folder),
                name => self.crossed(At { node: *inside.get(name).ok_or("missing")?, ..folder }),
            };
            if let (What::Link(target), true) =
                (&self.nodes[place.node].what, follows || wants_folder || number + 1 < names.len())
            {
                *links += 1;
                if *links > LINKS_MAX {
                    return Err("loop");
                }
                place = self.walk_counting(folder, target, true, is_set_up, links)?;
            }
        }
        if wants_folder {
            self.names(place)?;
        }
        Ok(place)
    }

    fn above(&self, place: At) -> At {
        let Mount { root, on, .. } = self.mounts[place.mount];
        match () {
            () if place == ROOT => ROOT,
            () if place.node == root => At { node: self.nodes[on.node].parent, ..on },
            () => At { node: self.nodes[place.node].parent, ..place },
        }
    }

    /// What the host's files must be like now.
    pub(super) fn host_files(&self) -> World {
        self.files(self.host)
    }

    /// Each overlay, what it must show, and which of its files must have been copied for it.
    pub(super) fn overlays(&self) -> impl Iterator<Item = (&Grant, World, Vec<String>)> {
        self.overlays.iter().map(|(grant, root)| {
            let mut touched = Vec::new();
            self.each(*root, "", &mut |path, node| {
                if (node.is_made || node.is_touched) && !matches!(node.what, What::Folder(_)) {
                    touched.push(path.to_owned());
                }
            });
            touched.sort_unstable();
            (grant, self.files(*root), touched)
        })
    }

    fn files(&self, root: usize) -> World {
        let mut world = World::new();
        self.each(root, "", &mut |path, node| {
            let kind = match &node.what {
                What::Folder(_) => Kind::Folder,
                What::File(content) => Kind::File(content.clone()),
                What::Link(target) => Kind::Link(target.clone()),
                What::Socket => Kind::Socket,
                What::Fifo => Kind::Fifo,
                What::Device { .. } => Kind::Device(1),
            };
            world.insert(path.to_owned(), Entry { kind, mode: node.mode, is_callers: node.is_callers });
        });
        world
    }

    fn each(&self, node: usize, path: &str, tell: &mut dyn FnMut(&str, &Node)) {
        tell(path, &self.nodes[node]);
        if let What::Folder(names) = &self.nodes[node].what {
            for (name, inner) in names {
                self.each(*inner, &join(path, name), tell);
            }
        }
    }
}

impl Mount {
    fn of(self, root: usize) -> Self {
        Self { root, ..self }
    }
}

pub(super) const ROOT: At = At { mount: 0, node: 0 };
pub(super) const READ_ONLY: Mount =
    Mount { root: 0, on: ROOT, may_write: false, may_run: false, is_overlay: false, is_temporary: false };
const LINKS_MAX: u32 = 40;
