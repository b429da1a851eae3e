//! Where skills come from: the roots of one person at one place, in the order that decides who comes first.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use fumehood_core::{Code, Diagnostic};

use crate::disk::about;
use crate::folder::{AnyFolder, MemoryFolder};
use crate::home::Surroundings;
use crate::settings::Settings;
use crate::walk::{Continue, OpenRootError, Root, WalkLimits, WalkReport};

/// A folder of skills and who chose it.
#[derive(Clone, Debug)]
pub struct Source {
    /// The label that qualified names use.
    pub label: String,
    /// Who chose it.
    pub kind: SourceKind,
    /// The folder.
    pub path: PathBuf,
}

/// Who chose a source.
#[derive(Clone, Debug)]
pub enum SourceKind {
    /// The person, by typing its path.
    Given,
    /// The deployer, in `fumehood.toml`.
    Configured,
    /// The program that embeds fumehood: files it holds in memory.
    Memory(Vec<MemoryFolder>),
    /// A conventional folder in the home folder.
    User,
    /// A conventional folder in the current project: inert until the project is trusted.
    Project {
        /// The project's folder.
        project: PathBuf,
        /// The source's folder within it.
        below: PathBuf,
        /// Whether the person trusts the project.
        trusted: bool,
    },
}

/// What became of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceStatus {
    /// Searched.
    Active,
    /// Counted only: its project is not trusted.
    Inert,
    /// There is no such folder.
    Missing,
    /// The operating system refused to open it.
    Unreadable,
}

impl Source {
    /// A folder that the person typed.
    pub fn given(path: &Path) -> Self {
        Self { label: path.to_string_lossy().into_owned(), kind: SourceKind::Given, path: path.to_path_buf() }
    }

    /// Skills that a program holds in memory. Their limits are those of skills on disk.
    pub fn memory(label: impl Into<String>, skills: Vec<MemoryFolder>) -> Self {
        let label = label.into();
        Self { path: PathBuf::from(format!("memory:{label}")), kind: SourceKind::Memory(skills), label }
    }

    /// All sources for these surroundings: configured ones in their order, then the person's, then the project's.
    ///
    /// `is_trusted` says whether a project's folder is trusted. Without a [project](Surroundings::project) there are none of a project.
    pub fn conventional(
        settings: &Settings,
        surroundings: &Surroundings,
        is_trusted: impl Fn(&Path) -> bool,
    ) -> Vec<Self> {
        let mut sources: Vec<Self> = settings
            .sources
            .iter()
            .map(|source| Self {
                label: source.name.clone(),
                kind: SourceKind::Configured,
                path: source.path.clone(),
            })
            .collect();
        if let Some(home) = surroundings.absolute_home() {
            sources.extend(CONVENTIONS.iter().map(|(name, below)| Self {
                label: format!("user-{name}"),
                kind: SourceKind::User,
                path: home.join(below),
            }));
        }
        if let Some(project) = surroundings.project() {
            let trusted = is_trusted(project);
            sources.extend(CONVENTIONS.iter().map(|(name, below)| Self {
                label: format!("project-{name}"),
                path: project.join(below),
                kind: SourceKind::Project {
                    project: project.to_path_buf(),
                    below: PathBuf::from(below),
                    trusted,
                },
            }));
        }
        sources
    }

    /// Whether its skills are only counted.
    pub fn is_inert(&self) -> bool {
        matches!(self.kind, SourceKind::Project { trusted: false, .. })
    }

    /// Whether there is no such folder and no run can make one in a workspace: a name on the way to it has a leading dot, and is
    /// none of those that are `unlocked`. Nothing on the way to what is missing may be a link, which might lead elsewhere.
    pub fn is_out_of_reach(&self, unlocked: &BTreeSet<String>) -> bool {
        let SourceKind::Project { project, below, .. } = &self.kind else { return false };
        let is_locked = |name: &OsStr| {
            name.to_str().is_some_and(|name| name.starts_with('.') && !unlocked.contains(name))
        };
        if !below.iter().any(is_locked) {
            return false;
        }
        let mut way = project.clone();
        for name in below {
            way.push(name);
            match std::fs::symlink_metadata(&way) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => return false,
                Err(error) => return error.kind() == io::ErrorKind::NotFound,
            }
        }
        false
    }

    /// The name of the kind in JSON output.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            SourceKind::Given => "given",
            SourceKind::Configured => "configured",
            SourceKind::Memory(_) => "memory",
            SourceKind::User => "user",
            SourceKind::Project { .. } => "project",
        }
    }

    /// Searches the source. An inert one is searched too, so that its skills can be counted; `visit` must not show them.
    pub fn walk(
        &self,
        limits: WalkLimits,
        visit: &mut dyn FnMut(AnyFolder) -> Continue,
    ) -> (SourceStatus, WalkReport) {
        let root = match &self.kind {
            SourceKind::Memory(skills) => return (SourceStatus::Active, visit_memory(skills, limits, visit)),
            SourceKind::Project { project, below, .. } => Root::open_in_project(project, below),
            SourceKind::Given | SourceKind::Configured | SourceKind::User => Root::open(&self.path),
        };
        match root {
            Ok(root) => {
                let status = if self.is_inert() { SourceStatus::Inert } else { SourceStatus::Active };
                (status, root.walk(limits, &mut |folder| visit(AnyFolder::Disk(folder))))
            }
            Err(OpenRootError::Missing) => {
                (SourceStatus::Missing, self.failed(Code::SourceMissing, "there is no such folder"))
            }
            Err(OpenRootError::Escapes) => {
                let message = "a link on the way to this folder leads out of the project";
                (SourceStatus::Missing, self.failed(Code::LinkEscapes, message))
            }
            Err(OpenRootError::Unreadable) => {
                (SourceStatus::Unreadable, self.failed(Code::SourceUnreadable, "the folder cannot be opened"))
            }
        }
    }

    fn failed(&self, code: Code, message: &str) -> WalkReport {
        // That a conventional folder does not exist is the normal case, not a finding.
        let expected = matches!(self.kind, SourceKind::User | SourceKind::Project { .. });
        let silent = expected && code == Code::SourceMissing;
        let diagnostics: Vec<Diagnostic> =
            if silent { Vec::new() } else { vec![about(&self.path, code, message)] };
        WalkReport { complete: silent, diagnostics, ..WalkReport::default() }
    }
}

fn visit_memory(
    skills: &[MemoryFolder],
    limits: WalkLimits,
    visit: &mut dyn FnMut(AnyFolder) -> Continue,
) -> WalkReport {
    let mut report = WalkReport { complete: skills.len() <= limits.skills, ..WalkReport::default() };
    for skill in skills.iter().take(limits.skills) {
        report.found += 1;
        if visit(AnyFolder::Memory(skill.clone())) == Continue::No {
            report.complete = false;
            break;
        }
    }
    if skills.len() > limits.skills {
        let message = format!("only the first {} skills of the source are taken", limits.skills);
        report.diagnostics.push(Diagnostic::new(Code::WalkSkills, message));
    }
    report
}

impl SourceStatus {
    /// The name in JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Inert => "inert",
            Self::Missing => "missing",
            Self::Unreadable => "unreadable",
        }
    }
}

const CONVENTIONS: [(&str, &str); 2] = [("agents", ".agents/skills"), ("claude", ".claude/skills")];

#[cfg(test)]
mod tests {
    use super::*;
    use fumehood_testkit::Scratch;

    fn source(project: &Path) -> Source {
        let below = PathBuf::from(".claude/skills");
        let path = project.join(&below);
        let kind = SourceKind::Project { project: project.to_path_buf(), below, trusted: false };
        Source { label: "project-claude".to_owned(), kind, path }
    }

    // DESIGN 5: what is no source and cannot become one by a run keeps nobody from granting the project.
    #[test]
    fn only_what_is_missing_behind_a_protected_name_is_out_of_reach() {
        let none = BTreeSet::new();
        let unlocked = BTreeSet::from([".claude".to_owned()]);
        let scratch = Scratch::new();
        let missing = scratch.folder("missing");
        assert!(source(&missing).is_out_of_reach(&none));
        assert!(!source(&missing).is_out_of_reach(&unlocked));
        scratch.folder("half/.claude");
        assert!(source(&scratch.at("half")).is_out_of_reach(&none));
        scratch.folder("whole/.claude/skills");
        assert!(!source(&scratch.at("whole")).is_out_of_reach(&none));
        // A link whose target a run could make.
        scratch.folder("linked");
        scratch.link("linked/.claude", "plain");
        assert!(!source(&scratch.at("linked")).is_out_of_reach(&none));
        scratch.folder("inner/.claude");
        scratch.link("inner/.claude/skills", "../plain");
        assert!(!source(&scratch.at("inner")).is_out_of_reach(&none));
        let user = Source { kind: SourceKind::User, ..source(&missing) };
        assert!(!user.is_out_of_reach(&none));
    }
}
