//! What one call names: its argument vector, and the files that it grants by naming them.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use fumehood_core::call::{Argument, exact_arguments, script_arguments};
use fumehood_core::code::Coded as _;
use fumehood_core::manifest::{ParamName, PathAccess};
use fumehood_core::tool::Failure;
use fumehood_core::{Call, Code, HostPath, Shown};
use fumehood_gate::{FileGrant, FileUse, PlannedPath, RunError};
use fumehood_store::{Forbidden, GrantError, PathRules, ReadGrant, Workspace, WriteGrant};

use super::{OUT_PLACE, SKILL_PLACE, Script, Source, WorkspaceAccess};

/// Everything that a call names, looked at and held open.
pub(super) struct Named {
    /// What follows the script in its argument vector.
    pub(super) arguments: Vec<String>,
    pub(super) wall: Duration,
    pub(super) workspace: Option<(Workspace, WorkspaceAccess)>,
    /// Each file once.
    pub(super) reads: Vec<ReadGrant>,
    pub(super) writes: Vec<WriteGrant>,
    /// Where all other files go that are made.
    pub(super) out: Option<Workspace>,
    /// Where each path leads, by its parameter.
    pub(super) paths: Vec<PlannedPath>,
}

impl Named {
    pub(super) fn of(script: &Script, call: &Call) -> Result<Self, RunError> {
        let (workshop, granted) = (&script.workshop, &script.grants);
        let timeout_max = workshop.envelope.timeout_max();
        let arguments = match &script.source {
            Source::Declared(claim) => {
                script_arguments(claim.params(), call.invocation().value(), timeout_max)
            }
            Source::Undeclared { .. } => exact_arguments(call.invocation().value(), timeout_max),
        };
        let arguments =
            arguments.map_err(|error| RunError::new(Failure::Validation, error.code(), error.to_string()))?;
        let workspace = granted.workspace.as_ref();
        let workspace = workspace
            .map(|(path, access)| Ok((open_workspace(path, &workshop.forbidden)?, *access)))
            .transpose()?;
        let out = granted.out.as_ref().map(|path| open(path, &workshop.forbidden)).transpose()?;
        let rules = PathRules {
            base: workspace.as_ref().map_or(&granted.base, |(workspace, _)| workspace.path()),
            beneath: workspace.as_ref().map(|(workspace, _)| workspace),
            forbidden: &workshop.forbidden,
            unlocked: &workshop.unlocked,
        };
        // What the person types beside the call is the person's own word, wherever it leads.
        let typed = PathRules { base: &granted.base, beneath: None, ..rules };
        let mut found = Found::default();
        for path in &granted.read {
            let grant = typed.read(path).map_err(|error| refused(&error, path))?;
            found.leads("--read", grant.path());
            found.read(grant);
        }
        for path in &granted.write {
            let grant = match typed.write(path) {
                Err(GrantError::FileMissing) => typed.create(path),
                other => other,
            };
            let grant = grant.map_err(|error| refused(&error, path))?;
            found.leads("--write", grant.path());
            found.writes.push(grant);
        }
        if let Some(out) = &out {
            found.leads("--out", out.identity().resolved());
        }
        if let Some((workspace, _)) = workspace.as_ref().filter(|_| granted.in_workspace) {
            // Where it starts, it may take what lies there for a part of itself.
            found.leads("--in-workspace", workspace.identity().resolved());
        }
        let vector = arguments.argv.into_iter().map(|argument| found.argument(argument, &rules));
        let vector = vector.collect::<Result<_, _>>()?;
        let wall = arguments.timeout.unwrap_or(workshop.envelope.timeout_default());
        found.check()?;
        let Found { reads, writes, paths, .. } = found;
        Ok(Self { arguments: vector, wall, workspace, reads, writes, out, paths })
    }

    /// Whether the script gets a folder to leave files in.
    pub(super) fn has_out(&self) -> bool {
        self.out.is_some() || !self.writes.is_empty()
    }

    /// The same as a person is shown it, what changes last.
    pub(super) fn shown(&self) -> Vec<FileGrant> {
        let grant = |usage, host: &str, inside: &str| FileGrant {
            usage,
            host: host.to_owned(),
            inside: inside.to_owned(),
        };
        let reads = self.reads.iter().map(|file| grant(FileUse::Read, file.path(), file.path()));
        let writes = self.writes.iter().map(|file| {
            let usage = match file.access() {
                PathAccess::Create => FileUse::Create,
                PathAccess::Read | PathAccess::Write => FileUse::Replace,
            };
            grant(usage, file.path(), &inside(file))
        });
        let folder = self.workspace.iter().map(|(workspace, access)| {
            let usage = match access {
                WorkspaceAccess::Read => FileUse::ReadFolder,
                WorkspaceAccess::Change => FileUse::ChangeFolder,
            };
            let path = workspace.identity().resolved();
            grant(usage, path, path)
        });
        let out = self.out.iter().map(|out| grant(FileUse::Collect, out.identity().resolved(), OUT_PLACE));
        let mut all: Vec<_> = reads.chain(writes).chain(folder).chain(out).collect();
        all.sort_by_key(|file| file.usage.changes());
        all
    }
}

/// The files that were named so far.
#[derive(Default)]
struct Found {
    reads: Vec<ReadGrant>,
    seen: BTreeSet<String>,
    writes: Vec<WriteGrant>,
    paths: Vec<PlannedPath>,
}

impl Found {
    fn leads(&mut self, parameter: &str, resolved: &str) {
        let resolved = HostPath::parse(resolved).ok();
        self.paths.push(PlannedPath { parameter: parameter.to_owned(), resolved });
    }

    /// A file that is named twice is granted once.
    fn read(&mut self, grant: ReadGrant) {
        if self.seen.insert(grant.path().to_owned()) {
            self.reads.push(grant);
        }
    }

    /// An argument as the script gets it: for a path the place where it sees the file.
    fn argument(&mut self, argument: Argument, rules: &PathRules<'_>) -> Result<String, RunError> {
        let (param, access, value) = match argument {
            Argument::Text(text) => return Ok(text),
            Argument::Path { param, access, value } => (param, access, value),
        };
        let wrong = |error: GrantError| refused_argument(&error, &param);
        match access {
            PathAccess::Read => {
                let grant = rules.read(&value).map_err(wrong)?;
                self.leads(param.as_str(), grant.path());
                let place = grant.path().to_owned();
                self.read(grant);
                Ok(place)
            }
            PathAccess::Write => Ok(self.write(&param, rules.write(&value).map_err(wrong)?)),
            PathAccess::Create => Ok(self.write(&param, rules.create(&value).map_err(wrong)?)),
        }
    }

    /// What could not be laid out for the run together, said before anybody is asked.
    fn check(&self) -> Result<(), RunError> {
        let mut names = BTreeSet::new();
        if !self.writes.iter().all(|file| names.insert(file.name())) {
            let clash = GrantError::Clash;
            return Err(RunError::new(Failure::Path, clash.code(), clash.to_string()));
        }
        self.reads.iter().try_for_each(|file| showable(Path::new(file.path())))
    }

    fn write(&mut self, param: &ParamName, grant: WriteGrant) -> String {
        self.leads(param.as_str(), grant.path());
        let place = inside(&grant);
        self.writes.push(grant);
        place
    }
}

/// Where the script sees a file that it may replace or make.
fn inside(file: &WriteGrant) -> String {
    format!("{OUT_PLACE}/{}", file.name())
}

/// Says now what a call with this workspace would be refused with, for whoever is told of it once and not at each call.
///
/// The folder is looked at and let go: a call opens it again, and finds it as it is then.
///
/// # Errors
/// Those of [`Workspace::open`]; `E_PLACE_FORBIDDEN` for a folder that cannot be shown at its own path.
pub fn check_workspace(path: &Path, forbidden: &Forbidden) -> Result<(), RunError> {
    open_workspace(path, forbidden).map(drop)
}

/// A folder that a program is shown at its own path.
pub(crate) fn open_workspace(path: &Path, forbidden: &Forbidden) -> Result<Workspace, RunError> {
    let workspace = open(path, forbidden)?;
    showable_folder(workspace.path())?;
    Ok(workspace)
}

fn open(path: &Path, forbidden: &Forbidden) -> Result<Workspace, RunError> {
    Workspace::open(path, forbidden).map_err(|error| refused(&error, &path.to_string_lossy()))
}

/// A folder is shown at its own path, which must be free for it in the sandbox.
fn showable_folder(folder: &Path) -> Result<(), RunError> {
    if folder.starts_with(TEMPORARY) {
        let message = format!(
            "{} cannot be a workspace: at /tmp every script has an empty folder of its own; use a folder elsewhere, or name single files",
            Shown::inline(&folder.to_string_lossy())
        );
        return Err(RunError::new(Failure::Path, Code::PlaceForbidden, message));
    }
    showable(folder)
}

/// Whether nothing of the run's own is where this is.
fn showable(path: &Path) -> Result<(), RunError> {
    if [SKILL_PLACE, OUT_PLACE].into_iter().any(|own| path.starts_with(own)) {
        let message =
            "nothing in /skill or /out can be shown to a script, which has the skill and its own files there";
        return Err(RunError::new(Failure::Path, Code::PlaceForbidden, message));
    }
    Ok(())
}

/// A path that the person typed: the message may show it to them.
fn refused(error: &GrantError, path: &str) -> RunError {
    // A typed `.` is no part of the way to anything.
    let path = path.strip_suffix("/.").filter(|folder| !folder.is_empty()).unwrap_or(path);
    RunError::new(Failure::Path, error.code(), format!("{}: {error}", Shown::inline(path)))
}

/// A path in an argument: the message holds no value of an argument.
fn refused_argument(error: &GrantError, param: &ParamName) -> RunError {
    RunError::new(Failure::Path, error.code(), format!("the file of the argument {param}: {error}"))
}

/// The script's own, in the sandbox; single files may be shown in it.
const TEMPORARY: &str = "/tmp";
