//! The one object that every face talks to.

mod adopt;
mod artifact;
mod check;
mod control;
mod desk;
mod diff;
mod doctor;
mod interpreters;
mod past;
mod pending;
mod person;
mod policy;
mod policy_desk;
mod policy_file;
mod ports;
mod prove;
mod question;
mod record;
mod run;
mod scopes;
mod session;
mod show;
mod survey;
mod trust;
mod version;
mod vouch;

use std::path::{Path, PathBuf};

use fumehood_core::id::ID_BYTES;
use fumehood_core::{ArtifactId, CallId, Code, ProposalId, ReceiptId, RunId, Shown};
use fumehood_sandbox::{Sandbox, SandboxError};
use fumehood_store::{
    AnyFolder, Catalog, CatalogEntry, DiskFolder, FileError, Home, LookupError, Settings, Source,
    SourceStatus, Surroundings, TrustedProjects,
};

use crate::fault::Fault;
use crate::report::{ListReport, ListedSkill, SCHEMA_VERSION, SourceReport};

pub use adopt::{AdoptProgress, AdoptRequest, DraftPreview};
pub use artifact::{ArtifactPrune, ArtifactSearch, Asker, Case, LineRange, Part};
pub use check::Strictness;
pub use control::DeskSocket;
pub use desk::{Desk, Requests};
pub use interpreters::{Repin, RepinPreview};
pub use pending::{OpenRequest, REQUEST_DIGITS_MIN};
pub use prove::ProveStep;
pub use record::{JournalHead, RUNS_LISTED_MAX};
pub use session::{Session, SessionOptions};
pub use show::ByteRange;
pub use trust::ProjectPreview;
pub use vouch::Vouched;

pub use fumehood_gate::Cancel;
pub use fumehood_store::{Passphrase, WalkLimits};
pub use person::{Over, Person};
pub use policy_desk::{PolicyChange, PolicyEdit, PolicyPreview};
pub use run::{CallInput, CallRequest, Refusal, RunRequest, RunStep};
pub use scopes::{PastFiles, ScopePreview, TrustRequest, TrustedProgram};

/// What a host works with. Read once; nothing later looks at the environment.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// `HOME`, if it is set.
    pub home: Option<PathBuf>,
    /// `FUMEHOOD_HOME`, if it is set: replaces the folders for settings and state.
    pub state_home: Option<PathBuf>,
    /// The current folder.
    pub current: PathBuf,
    /// Sources of the embedding program. They come before all others.
    pub sources: Vec<Source>,
    /// How far a search for skills goes.
    pub limits: WalkLimits,
    /// A program that calls [`helper::dispatch`](crate::helper::dispatch) as its first line and confines in place of this one,
    /// which then need not.
    pub helper: Option<PathBuf>,
}

/// Reads skills and answers questions about them.
///
/// # Authority
/// Reads what the process may read, below the folders it is asked about and the conventional ones. Writes only its own
/// state folder: what a person trusts, pins and prunes, and what drafts and runs leave; in [`Host::accept_draft`], one overlay
/// in `fumehood.toml`, and in [`Host::set_passphrase`] the hash of a passphrase; in [`Host::save_policy`], `policy.toml`; and, in [`Host::run`], the files that the person said may be changed. Starts processes only in
/// [`Host::doctor`], [`Host::preview_repin`], [`Host::run`], [`Host::call`] and [`Host::adopt`], each confined, and in
/// [`Host::prove`]; [`Host::show`] may start the sandbox, with nothing in it.
#[derive(Clone, Debug)]
pub struct Host {
    surroundings: Surroundings,
    sources: Vec<Source>,
    limits: WalkLimits,
    helper: Option<PathBuf>,
}

impl HostOptions {
    /// No home folder, so no settings, no state and no conventional sources of a person.
    pub fn isolated(current: PathBuf) -> Self {
        let limits = WalkLimits::default();
        Self { home: None, state_home: None, current, sources: Vec::new(), limits, helper: None }
    }
}

/// Told now and then how many skills a search has found.
pub type Progress<'p> = &'p mut dyn FnMut(usize);

impl Host {
    /// A host for these surroundings.
    pub fn new(options: HostOptions) -> Self {
        let HostOptions { home, state_home, current, sources, limits, helper } = options;
        let surroundings = Surroundings { home, fumehood_home: state_home, current };
        Self { surroundings, sources, limits, helper }
    }

    /// Lists the skills below `roots`, or of all conventional sources if there is none.
    ///
    /// # Errors
    /// `E_SOURCE_MISSING` for a root that does not exist, `E_CONFIG_INVALID`, `E_HOME_REFUSED`.
    pub fn list(&self, roots: &[PathBuf], progress: Progress<'_>) -> Result<ListReport, Fault> {
        let catalog = self.catalog(roots, progress)?;
        Ok(ListReport {
            schema_version: SCHEMA_VERSION,
            sources: catalog.sources.iter().map(SourceReport::of).collect(),
            skills: catalog.entries.iter().map(|entry| ListedSkill::of(entry, &catalog)).collect(),
        })
    }

    fn catalog(&self, roots: &[PathBuf], progress: Progress<'_>) -> Result<Catalog, Fault> {
        let sources = if roots.is_empty() {
            self.conventional_sources()?
        } else {
            roots
                .iter()
                .enumerate()
                .map(|(position, root)| self.given(position, root))
                .collect::<Result<_, _>>()?
        };
        Ok(Catalog::build(sources, self.limits, progress))
    }

    fn conventional_sources(&self) -> Result<Vec<Source>, Fault> {
        let (settings, trusted) = match self.home() {
            Ok(home) => (self.settings(&home)?, trusted(&home)?),
            // Nobody's home: no settings, and nobody can have trusted anything.
            Err(_) if self.surroundings.home.is_none() && self.surroundings.fumehood_home.is_none() => {
                (Settings::default(), TrustedProjects::default())
            }
            Err(fault) => return Err(fault),
        };
        let conventional =
            Source::conventional(&settings, &self.surroundings, |project| trusted.contains(project));
        Ok(self.sources.iter().cloned().chain(conventional).collect())
    }

    fn sandbox(&self) -> Result<Sandbox, SandboxError> {
        self.helper.as_deref().map_or_else(Sandbox::start, Sandbox::start_with)
    }

    fn home(&self) -> Result<Home, Fault> {
        Home::find(&self.surroundings).map_err(|error| {
            Fault::of(&error, "set HOME, or FUMEHOOD_HOME to a folder of yours with mode 0700")
        })
    }

    fn settings(&self, home: &Home) -> Result<Settings, Fault> {
        Settings::read(home, &self.surroundings).map_err(|error| {
            let advice = match error.code {
                Code::StateUnavailable => "make it readable for you, or set HOME to your own home folder",
                _ => "mend the file; until then nothing of it is used",
            };
            Fault::of(&error, advice)
        })
    }

    /// Opens a skill by a path, which counts from the current folder that the host was given.
    fn open_folder(&self, path: &Path) -> Result<DiskFolder, Fault> {
        DiskFolder::open(&self.surroundings.current.join(path)).map_err(|error| open_fault(&error, path))
    }

    /// A folder that the person typed: a mistake in it is said at once, before anything is searched.
    ///
    /// It is labelled by its position: with its path in it, a qualified name would be taken for a path.
    fn given(&self, position: usize, path: &Path) -> Result<Source, Fault> {
        let absolute = self.surroundings.current.join(path);
        if absolute.is_dir() {
            return Ok(Source { label: format!("root-{}", position + 1), ..Source::given(&absolute) });
        }
        let message = format!("{} is no folder", Shown::inline(&path.to_string_lossy()));
        Err(Fault::new(Code::SourceMissing, message, "check the path"))
    }

    /// Opens a skill that a person named: by path if there is a `/` in it or it is `.` or `..`, else by name.
    fn open(&self, skill: &str, roots: &[PathBuf]) -> Result<Opened, Fault> {
        if skill.contains('/') || skill == "." || skill == ".." {
            let folder = AnyFolder::Disk(self.open_folder(Path::new(skill))?);
            return Ok(Opened { folder, source: None, shadowed_by: None });
        }
        let catalog = self.catalog(roots, &mut |_| {})?;
        let entry = catalog.find(skill).map_err(|error| lookup_fault(&error, skill, &catalog))?;
        let winner = entry.shadowed_by.and_then(|position| catalog.entries.get(position));
        Ok(Opened {
            folder: entry.open().map_err(|error| open_fault(&error, &entry.path))?,
            source: Some(catalog.label(entry).to_owned()),
            shadowed_by: winner.map(|winner: &CatalogEntry| winner.path.to_string_lossy().into_owned()),
        })
    }
}

/// Advice about a text that is no id of the wanted kind: what it is, if it looks like an id of another one.
fn of_other_kind(text: &str, else_advice: &str) -> String {
    let kinds = [
        (ArtifactId::PREFIX, "an artifact; `fumehood artifact` reads those"),
        (ReceiptId::PREFIX, "a receipt; `fumehood receipt` shows those"),
        (RunId::PREFIX, "a run; `fumehood runs` shows what belongs to it"),
        (CallId::PREFIX, "a call; `fumehood runs` shows what belongs to it"),
        (ProposalId::PREFIX, "a request for approval"),
    ];
    let kind = kinds
        .iter()
        .find(|(prefix, _)| text.starts_with(prefix) && text.len() == prefix.len() + 2 * ID_BYTES);
    kind.map_or_else(
        || else_advice.to_owned(),
        |(_, kind)| format!("that is the id of {kind}; {else_advice}"),
    )
}

fn trusted(home: &Home) -> Result<TrustedProjects, Fault> {
    TrustedProjects::read(home).map_err(|error| {
        Fault::of(&error, "remove trusted-projects.toml from the state folder and trust again")
    })
}

/// A skill and how it was found.
struct Opened {
    folder: AnyFolder,
    source: Option<String>,
    shadowed_by: Option<String>,
}

fn open_fault(error: &FileError, path: &Path) -> Fault {
    let message = format!("{}: {error}", Shown::inline(&path.to_string_lossy()));
    let advice = match error.code {
        Code::SkillMdMissing => {
            "name the folder that holds SKILL.md; `fumehood check` searches below a folder"
        }
        Code::SourceUnreadable => "change its permissions, or run as somebody who may read it",
        _ if !path.as_os_str().as_encoded_bytes().contains(&b'/') => {
            "name a folder or a SKILL.md; a skill's name goes with `fumehood show`"
        }
        _ => "check the path",
    };
    Fault::new(error.code, message, advice)
}

fn lookup_fault(error: &LookupError, name: &str, catalog: &Catalog) -> Fault {
    let shown = Shown::inline(name);
    match error {
        LookupError::Missing { near } => {
            let inert = catalog.sources.iter().filter(|source| source.status == SourceStatus::Inert);
            let waiting: usize = inert.map(|source| source.report.found).sum();
            let advice = match (near.as_slice(), waiting) {
                ([], 0) => "see `fumehood list` for the names; those of `fumehood list DIR` go with --root DIR, and a path needs a '/' in it, such as ./NAME".to_owned(),
                ([], 1) => "one skill of this project is not shown until a person trusts it with `fumehood trust-project`".to_owned(),
                ([], n) => format!(
                    "{n} skills of this project are not shown until a person trusts it with `fumehood trust-project`"
                ),
                (near, _) => format!("did you mean {}?", Shown::inline(&near.join(", "))),
            };
            Fault::new(Code::SkillNotFound, format!("no skill is called \"{shown}\""), advice)
        }
        LookupError::Ambiguous => Fault::new(
            Code::SkillAmbiguous,
            format!("several skills declare the name \"{shown}\""),
            "use one of the names that `fumehood list` shows",
        ),
        LookupError::Inert => Fault::new(
            Code::ProjectInert,
            format!("\"{shown}\" is in a project that nobody trusted yet"),
            "a person can trust the project with `fumehood trust-project`",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fumehood_core::RelPath;
    use fumehood_store::MemoryFolder;

    fn in_memory(directory: &str, description: &str) -> MemoryFolder {
        let text = format!("---\nname: {directory}\ndescription: {description}\n---\nbody\n");
        MemoryFolder::new(directory, [(RelPath::parse("SKILL.md").unwrap(), text.into_bytes())])
    }

    #[test]
    fn skills_in_memory_are_listed_shown_read_and_compared() {
        let source =
            Source::memory("built-in", vec![in_memory("one", "First."), in_memory("two", "Second.")]);
        let mut options = HostOptions::isolated(PathBuf::from("/"));
        options.sources.push(source);
        let host = Host::new(options);
        let list = host.list(&[], &mut |_| {}).unwrap();
        let names: Vec<_> = list.skills.iter().map(|skill| skill.qualified_name.as_str()).collect();
        assert_eq!(names, ["built-in:one", "built-in:two"]);
        let shown = host.show("one", &[]).unwrap();
        assert_eq!(
            (shown.description.as_deref(), shown.source.as_deref()),
            (Some("First."), Some("built-in"))
        );
        assert!(shown.revision.is_some());
        let cat = host.cat("two", &[], "SKILL.md", ByteRange { offset: 4, length: Some(9) }).unwrap();
        assert_eq!(cat.content.text(), Some("name: two"));
        let diff = host.diff("one", "two", &[]).unwrap();
        assert_eq!((diff.identical, diff.changed.len()), (false, 1));
        assert_eq!(host.show("three", &[]).unwrap_err().code, Code::SkillNotFound);
    }
}
