//! Searching a root for skills: bounded, in a fixed order, with a finding for what was not searched.
//!
//! A folder that holds a SKILL.md is a skill and is not searched further, unless nested skills are asked for. A
//! linked folder counts if it holds a SKILL.md itself; it is not searched deeper, so links cannot widen a search.
//!
//! Below the root, folders of dependencies and virtual environments are never entered; one finding counts them and
//! names the first. Version control's own folders are not entered either, and not mentioned: they are everywhere.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use fumehood_core::limits::{WALK_DEPTH_MAX, WALK_DIRECTORIES_MAX, WALK_SKILLS_MAX};
use fumehood_core::{Code, Diagnostic};

use crate::dir::{Dir, ENTRIES_MAX, Entry, Identity, Kind, OpenError, Resolved};
use crate::disk::{DiskFolder, about};

/// How far a search goes.
#[derive(Clone, Copy, Debug)]
pub struct WalkLimits {
    /// Folder levels below the root.
    pub depth: usize,
    /// Searched folders that are no skill, folders that could not be searched, and links, whatever they lead to.
    pub directories: usize,
    /// Skills.
    pub skills: usize,
    /// Whether a SKILL.md below another skill is a skill of its own.
    pub nested: bool,
}

impl Default for WalkLimits {
    fn default() -> Self {
        Self {
            depth: WALK_DEPTH_MAX,
            directories: WALK_DIRECTORIES_MAX,
            skills: WALK_SKILLS_MAX,
            nested: false,
        }
    }
}

/// A folder to search.
#[derive(Debug)]
pub struct Root {
    dir: Dir,
    path: PathBuf,
    fence: Option<Fence>,
}

/// A project's folder, which no link in one of its roots may leave.
#[derive(Debug)]
struct Fence {
    dir: Dir,
    /// The root's path within the project.
    below: PathBuf,
}

/// What a search did.
#[derive(Clone, Debug, Default)]
pub struct WalkReport {
    /// Folders that are no skill, listed or not to be entered, and links. Never more than the limit.
    pub searched: usize,
    /// Skills that were found.
    pub found: usize,
    /// Whether every folder was searched that the rules allow.
    pub complete: bool,
    /// What was met on the way.
    pub diagnostics: Vec<Diagnostic>,
}

impl Root {
    /// A root that the person or the deployer chose. It may itself be a link, and links in it may lead anywhere.
    ///
    /// # Errors
    /// [`OpenRootError`].
    pub fn open(path: &Path) -> Result<Self, OpenRootError> {
        let path = std::fs::canonicalize(path).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => OpenRootError::Unreadable,
            _ => OpenRootError::Missing,
        })?;
        Ok(Self { dir: Dir::open(&path)?, path, fence: None })
    }

    /// A root inside a project; no link may lead out of the project.
    ///
    /// # Errors
    /// [`OpenRootError`].
    pub fn open_in_project(project: &Path, below: &Path) -> Result<Self, OpenRootError> {
        let dir = Dir::open(project)?;
        match dir.resolve(below.as_os_str().as_bytes())? {
            Resolved::Dir(root) => {
                let fence = Some(Fence { dir, below: below.to_path_buf() });
                Ok(Self { dir: root, path: project.join(below), fence })
            }
            Resolved::File(_) => Err(OpenRootError::Missing),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Searches the root and hands every skill to `visit`, in byte order of their paths, until it says stop.
    pub fn walk(self, limits: WalkLimits, visit: &mut dyn FnMut(DiskFolder) -> Continue) -> WalkReport {
        let Self { dir, path, fence } = self;
        let mut walker = Walker {
            limits,
            fence,
            root: path.clone(),
            visit,
            report: WalkReport { complete: true, ..WalkReport::default() },
            seen: BTreeSet::new(),
            refused: BTreeSet::new(),
            entries_held: 0,
            too_deep: 0,
            pruned: 0,
            first_pruned: None,
            links_stopped: false,
            stopped: false,
        };
        walker.directory(dir, &path, 0);
        walker.report_pruned();
        walker.report
    }
}

/// Whether a search goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continue {
    /// Go on.
    Yes,
    /// Stop; the report will say that it is incomplete.
    No,
}

/// Why a root could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenRootError {
    /// It does not exist or is no folder.
    Missing,
    /// A link on the way leaves the project or goes in a circle.
    Escapes,
    /// The operating system said no.
    Unreadable,
}

impl From<OpenError> for OpenRootError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::System(_) => Self::Unreadable,
            OpenError::Escapes => Self::Escapes,
            OpenError::Missing | OpenError::Kind(_) => Self::Missing,
        }
    }
}

struct Walker<'v> {
    limits: WalkLimits,
    fence: Option<Fence>,
    root: PathBuf,
    visit: &'v mut dyn FnMut(DiskFolder) -> Continue,
    report: WalkReport,
    /// Skills found, since links can lead to one twice.
    seen: BTreeSet<Identity>,
    /// Folders that links led to and that are no skill: another link to one is refused without listing it again.
    refused: BTreeSet<Identity>,
    /// Names of the folders that we are inside of.
    entries_held: usize,
    too_deep: usize,
    /// Folders of dependencies and virtual environments, which the rules do not allow to enter.
    pruned: usize,
    first_pruned: Option<PathBuf>,
    /// A link was one too many; no other is followed.
    links_stopped: bool,
    stopped: bool,
}

impl Walker<'_> {
    fn directory(&mut self, dir: Dir, path: &Path, depth: usize) {
        let entries_max = ENTRIES_MAX - self.entries_held;
        let Ok((mut entries, more)) = dir.entries(entries_max) else { return self.unreadable(path) };
        if more {
            let message = format!("more than {ENTRIES_MAX} names down to here; the rest was not looked at");
            self.give_up(path, Code::WalkDirectories, message);
        }
        if has_skill(&entries) {
            let again = if self.limits.nested { dir.open_dir(b".").ok() } else { None };
            let again = again.map(|dir| (dir, entries.clone()));
            self.skill(dir, path.to_path_buf(), entries, more);
            let Some((inner, entries)) = again else { return };
            return self.children(&inner, path, &entries, depth);
        }
        // Whatever it turns out to be, it was listed.
        if !self.count(path) {
            return;
        }
        // A virtual environment is somebody's dependencies, wherever it lies and whatever it is called. The root is
        // searched all the same: the person chose it.
        if depth > 0 && entries.iter().any(|entry| entry.name == b"pyvenv.cfg") {
            return self.prune(path);
        }
        entries.retain(|entry| matches!(entry.kind, Kind::Directory | Kind::Link));
        self.children(&dir, path, &entries, depth);
    }

    /// Counts a folder that is no skill; says no if there were too many.
    fn count(&mut self, path: &Path) -> bool {
        if self.report.searched == self.limits.directories {
            let message = format!("searching stops at {} folders without a skill", self.limits.directories);
            self.give_up(path, Code::WalkDirectories, message);
            self.stopped = true;
            return false;
        }
        self.report.searched += 1;
        true
    }

    fn children(&mut self, dir: &Dir, path: &Path, entries: &[Entry], depth: usize) {
        self.entries_held += entries.len();
        for entry in entries {
            if self.stopped {
                break;
            }
            let name = entry.name.as_slice();
            if VERSION_CONTROL.contains(&name) {
                continue;
            }
            let child = path.join(OsStr::from_bytes(name));
            match entry.kind {
                Kind::Directory | Kind::Link if DEPENDENCIES.contains(&name) => self.prune(&child),
                Kind::Directory if depth == self.limits.depth => self.too_deep(&child),
                Kind::Directory => match dir.open_dir(&entry.name) {
                    Ok(inner) => self.directory(inner, &child, depth + 1),
                    Err(_) => self.unreadable(&child),
                },
                Kind::Link => self.link(&child),
                Kind::File | Kind::Special => {}
            }
        }
        self.entries_held -= entries.len();
    }

    /// A link is followed only to a skill. It is counted before it is resolved: to walk a chain of links can cost
    /// tens of thousands of steps, and nothing tells in advance where it ends.
    fn link(&mut self, path: &Path) {
        // One link too many ends the following of links, not the search: links must not hide the skills after them.
        if self.links_stopped || !self.count(path) {
            self.links_stopped = true;
            self.stopped = false;
            return;
        }
        let dir = match self.follow(path) {
            Ok(Some(dir)) => dir,
            Ok(None) => return,
            Err(message) => return self.refuse_link(path, message),
        };
        let Ok(identity) = dir.identity() else { return self.unreadable_counted(path) };
        // Many links to one folder cost no more than one.
        if self.seen.contains(&identity) {
            return;
        }
        if self.refused.contains(&identity) {
            return self.refuse_link(path, NO_SKILL);
        }
        let entries_max = ENTRIES_MAX - self.entries_held;
        match dir.entries(entries_max) {
            Ok((entries, more)) if has_skill(&entries) => match std::fs::canonicalize(path) {
                Ok(real) => self.skill(dir, real, entries, more),
                Err(_) => self.refuse_link(path, LEADS_NOWHERE),
            },
            Ok(_) => {
                self.refused.insert(identity);
                self.refuse_link(path, NO_SKILL);
            }
            Err(_) => self.unreadable_counted(path),
        }
    }

    /// The folder that a link leads to; nothing if it leads to a file.
    fn follow(&self, path: &Path) -> Result<Option<Dir>, &'static str> {
        let Some(fence) = &self.fence else {
            return match Dir::open(path) {
                Ok(dir) => Ok(Some(dir)),
                Err(OpenError::Missing | OpenError::Escapes | OpenError::Kind(Kind::Link)) => {
                    Err(LEADS_NOWHERE)
                }
                Err(OpenError::Kind(_)) => Ok(None),
                Err(OpenError::System(_)) => Err(NOT_FOLLOWED),
            };
        };
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        match fence.dir.resolve(fence.below.join(below).as_os_str().as_bytes()) {
            Ok(Resolved::Dir(dir)) => Ok(Some(dir)),
            Ok(Resolved::File(_)) | Err(OpenError::Kind(_)) => Ok(None),
            Err(OpenError::Escapes) => Err("the link leads out of the project, or in a circle"),
            Err(OpenError::Missing) => Err(LEADS_NOWHERE),
            Err(OpenError::System(_)) => Err(NOT_FOLLOWED),
        }
    }

    fn refuse_link(&mut self, path: &Path, message: &str) {
        self.report.diagnostics.push(about(path, Code::WalkLink, message));
    }

    fn skill(&mut self, dir: Dir, path: PathBuf, entries: Vec<Entry>, more: bool) {
        if self.report.found == self.limits.skills {
            let message = format!("searching stops at {} skills", self.limits.skills);
            self.give_up(&path, Code::WalkSkills, message);
            self.stopped = true;
            return;
        }
        if dir.identity().is_ok_and(|identity| !self.seen.insert(identity)) {
            return;
        }
        if let Some(folder) = DiskFolder::from_entries(dir, path, entries, more) {
            self.report.found += 1;
            if (self.visit)(folder) == Continue::No {
                self.stopped = true;
                self.report.complete = false;
            }
        }
    }

    fn too_deep(&mut self, path: &Path) {
        self.too_deep += 1;
        if self.too_deep == 1 {
            let message =
                format!("folders deeper than {} levels below the root are not searched", self.limits.depth);
            self.give_up(path, Code::WalkDepth, message);
        }
    }

    fn prune(&mut self, path: &Path) {
        self.pruned += 1;
        self.first_pruned.get_or_insert_with(|| path.to_path_buf());
    }

    fn report_pruned(&mut self) {
        if let Some(first) = self.first_pruned.take() {
            let message = match self.pruned {
                1 => "this folder of dependencies was not entered".to_owned(),
                count => format!("{count} folders of dependencies were not entered; this is the first"),
            };
            self.report.diagnostics.push(about(&first, Code::WalkPruned, message));
        }
    }

    fn unreadable(&mut self, path: &Path) {
        if self.count(path) {
            self.unreadable_counted(path);
        }
    }

    fn unreadable_counted(&mut self, path: &Path) {
        let message = "the operating system refused to list this folder".to_owned();
        self.give_up(path, Code::WalkUnreadable, message);
    }

    fn give_up(&mut self, path: &Path, code: Code, message: String) {
        self.report.complete = false;
        self.report.diagnostics.push(about(path, code, message));
    }
}

fn has_skill(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| entry.kind != Kind::Directory && crate::folder::is_skill_md(&entry.name))
}

const NO_SKILL: &str = "a linked folder is searched only if it is a skill itself";
const LEADS_NOWHERE: &str = "the link leads to nothing";
const NOT_FOLLOWED: &str = "the operating system refused to follow the link";

/// Folders that hold a tool's own files.
const VERSION_CONTROL: [&[u8]; 3] = [b".git", b".hg", b".svn"];
/// Folders that hold other people's dependencies, or what a tool makes of files beside them.
const DEPENDENCIES: [&[u8]; 2] = [b"node_modules", b"__pycache__"];

#[cfg(test)]
mod tests;
