//! The shapes of answers. `docs/schemas/` has a JSON Schema for each; a released field keeps its name and meaning.

mod adopt;
mod artifact;
mod call;
mod claims;
mod content;
mod diff;
mod doctor;
mod execution;
mod interpreters;
mod passphrase;
mod pending;
mod policy;
mod question;
mod record;
mod run;
mod scopes;
mod survey;

use serde::Serialize;

use fumehood_core::skill::breaks_conformance;
use fumehood_core::{Code, Diagnostic, Severity};
use fumehood_store::{Catalog, CatalogEntry, CatalogSource, SourceStatus, WalkReport};

pub use adopt::{AcceptReport, AdoptReport, DraftedOut, HelpOut, LeftOutOut, NoteOut};
pub use artifact::{
    ArtifactGrepReport, ArtifactHit, ArtifactLine, ArtifactLinesReport, ArtifactListReport,
    ArtifactPruneReport, ArtifactSizeReport, ArtifactSliceReport, FoundArtifactLine, ListedArtifact,
};

pub use call::CallReport;

pub use content::Content;

pub use question::{
    Answer, ArgumentNote, AxisAsked, FileAsked, FileSince, History, InterpreterAsked, LimitAsked, Question,
    SkillAsked, Variable,
};

pub(crate) use question::{quoted, visible};

pub use passphrase::PassphraseReport;
pub use pending::{DecisionReport, PendingReport, PendingRequest};

pub use policy::{
    CaseOut, PolicyCheckReport, PolicyErrorOut, PolicyExplainReport, PolicyFinding, PolicySavedReport,
    PolicyTestReport, RuleExplained, ScopeExplained,
};

pub use scopes::{ScopeListReport, ScopeOut, ScopePath, ScopeReport};

pub use survey::{LoadReport, SurveyReport, SurveyedSkill};

pub use run::{AppliedFile, RunReport, Written};

pub use record::{AuditHeadReport, AuditVerifyReport, JournalPlace, ListedRun, ReceiptReport, RunsReport};

pub use diff::{ChangedFile, DiffFile, DiffReport, DiffSide, LineChange};

pub use doctor::{
    AttackReport, AxisReport, DoctorReport, FolderReport, InterpreterReport, ObstacleReport, ProofSummary,
    ProveReport, SandboxReport,
};

pub use execution::{ExecutionSupport, Reason};

pub use interpreters::{InterpretersReport, ListedInterpreter, PinReport, RepinReport};

pub use claims::{
    Claims, ExecutionClaim, Frontmatter, FumehoodClaim, IsolatedToolOut, OverlayOut, ParamOut, ScriptOut,
};

/// The version of every shape here.
pub const SCHEMA_VERSION: u32 = 1;

/// A finding.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The stable code.
    pub code: &'static str,
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    /// One sentence; text of the author in it is safe to show.
    pub message: String,
    /// The file or folder it is about, if one can be named.
    pub path: Option<String>,
    /// Line, from 1.
    pub line: Option<u32>,
    /// Column in characters, from 1.
    pub column: Option<u32>,
    /// Whether it is why the skill is not conformant, or worth a look otherwise; for people, who see these first.
    #[serde(skip)]
    pub(crate) changes_verdict: bool,
}

/// The answer of `list`.
#[derive(Clone, Debug, Serialize)]
pub struct ListReport {
    /// 1.
    pub schema_version: u32,
    /// Where was searched.
    pub sources: Vec<SourceReport>,
    /// What was found, shadowed and refused skills included.
    pub skills: Vec<ListedSkill>,
}

/// One source of `list` or root of `check`.
#[derive(Clone, Debug, Serialize)]
pub struct SourceReport {
    /// The label that qualified names use.
    pub label: String,
    /// `given`, `configured`, `user` or `project`; `memory` only in programs that embed fumehood.
    pub kind: &'static str,
    /// The folder.
    pub path: String,
    /// `active`, `inert`, `missing` or `unreadable`.
    pub status: &'static str,
    /// Skills found, counted even if the source is inert.
    pub found: usize,
    /// Folders searched that are no skill.
    pub searched: usize,
    /// Whether everything was searched that the rules allow.
    pub complete: bool,
    /// What was met on the way.
    pub diagnostics: Vec<Finding>,
}

/// One skill of `list`.
#[derive(Clone, Debug, Serialize)]
pub struct ListedSkill {
    /// The name it is looked up by.
    pub name: String,
    /// The name as its author wrote it.
    pub declared_name: Option<String>,
    /// What reaches it also when it is shadowed: `source:name`, or its folder if that stands for a namesake in its source.
    pub qualified_name: String,
    /// The description, at most 1,024 characters.
    pub description: String,
    /// The label of its source.
    pub source: String,
    /// Its folder.
    pub path: String,
    /// Whether it can be used.
    pub loadable: bool,
    /// Whether its SKILL.md follows the standard.
    pub conformant: bool,
    /// The folder of the skill that comes first under this name, if that is another one.
    pub shadowed_by: Option<String>,
    /// Findings about SKILL.md.
    pub diagnostics: Vec<Finding>,
}

/// The answer of `check`.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// 1.
    pub schema_version: u32,
    /// What was searched.
    pub sources: Vec<SourceReport>,
    /// Every skill found.
    pub skills: Vec<CheckedSkill>,
    /// The counts.
    pub summary: Summary,
}

/// One skill of `check`.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedSkill {
    /// The name it is looked up by.
    pub name: String,
    /// Its folder.
    pub path: String,
    /// Whether it can be used.
    pub loadable: bool,
    /// Whether the folder follows the standard.
    pub conformant: bool,
    /// Files in it.
    pub files: usize,
    /// Bytes in it.
    pub bytes: u64,
    /// `absent`, `accepted` or `refused`.
    pub execution_json: &'static str,
    /// `absent`, `accepted` or `refused`.
    pub fumehood_json: &'static str,
    /// All findings.
    pub diagnostics: Vec<Finding>,
}

/// Counts of a `check`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Skills found.
    pub found: usize,
    /// Of these, loadable.
    pub loadable: usize,
    /// Of these, conformant.
    pub conformant: usize,
    /// Of the found, not loadable.
    pub refused: usize,
}

/// The answer of `show`.
#[derive(Clone, Debug, Serialize)]
pub struct ShowReport {
    /// 1.
    pub schema_version: u32,
    /// The name it is looked up by.
    pub name: String,
    /// The name as its author wrote it.
    pub declared_name: Option<String>,
    /// The whole description.
    pub description: Option<String>,
    /// Its folder.
    pub path: String,
    /// The label of its source, if it was looked up by name.
    pub source: Option<String>,
    /// The folder of the skill that comes first under this name, if that is another one.
    pub shadowed_by: Option<String>,
    /// `sha256:` and 64 hex digits, or null if the skill can have none.
    pub revision: Option<String>,
    /// Whether it can be used.
    pub loadable: bool,
    /// Whether the folder follows the standard.
    pub conformant: bool,
    /// All findings.
    pub diagnostics: Vec<Finding>,
    /// The frontmatter, every field in the order written.
    pub frontmatter: Option<Frontmatter>,
    /// Fields that another host acts on and fumehood does not.
    pub unenforced_fields: Vec<String>,
    /// Whether and how the format is supported.
    pub format: FormatSupport,
    /// Whether the files are all there.
    pub resources: ResourceSupport,
    /// What of it can run.
    pub execution: ExecutionSupport,
    /// As `available` in `execution`.
    pub execution_available: bool,
    /// Every file.
    pub files: Vec<FileOut>,
    /// What the skill says about itself beyond name and description.
    pub claims: Claims,
    /// What `fumehood.toml` declares for it.
    pub overlay: Option<OverlayOut>,
    /// Files that look like scripts and that nothing declares.
    pub undeclared_scripts: Vec<UndeclaredScriptOut>,
}

/// How the format is supported.
#[derive(Clone, Debug, Serialize)]
pub struct FormatSupport {
    /// The instructions' file name.
    pub file: String,
    /// `none`, `quoted` or `lines`: how broken frontmatter was read.
    pub rescue: Option<&'static str>,
    /// Bytes of the body.
    pub body_bytes: Option<usize>,
}

/// Whether the files are all there.
#[derive(Clone, Debug, Serialize)]
pub struct ResourceSupport {
    /// Files listed.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Whether all were listed.
    pub complete: bool,
    /// Entries that were refused.
    pub refused: usize,
}

/// One file of a skill.
#[derive(Clone, Debug, Serialize)]
pub struct FileOut {
    /// Its path in the skill.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// 64 hex digits; null if the skill has no revision.
    pub sha256: Option<String>,
    /// Whether the path leads through a link.
    pub link: bool,
}

/// A file that looks like a script.
#[derive(Clone, Debug, Serialize)]
pub struct UndeclaredScriptOut {
    /// Its path in the skill.
    pub path: String,
    /// The key of the interpreter that its name and first line suggest.
    pub interpreter: Option<&'static str>,
    /// The language, if it is known.
    pub language: Option<&'static str>,
    /// `extension`, `shebang` or `both`.
    pub decided_by: &'static str,
    /// What a person who declares it should know.
    pub notes: Vec<String>,
}

/// The answer of `cat`.
#[derive(Clone, Debug, Serialize)]
pub struct CatReport {
    /// 1.
    pub schema_version: u32,
    /// The file's path in the skill.
    pub path: String,
    /// Bytes of the whole file.
    pub size: u64,
    /// The first byte given.
    pub offset: u64,
    /// Bytes given.
    pub length: usize,
    /// The bytes.
    #[serde(flatten)]
    pub content: Content,
}

/// The answer of `trust-project`.
#[derive(Clone, Debug, Serialize)]
pub struct TrustReport {
    /// 1.
    pub schema_version: u32,
    /// The project's folder.
    pub project: String,
    /// Whether it is trusted now.
    pub trusted: bool,
    /// Whether that is new.
    pub changed: bool,
}

impl From<&Diagnostic> for Finding {
    fn from(diagnostic: &Diagnostic) -> Self {
        Self {
            code: diagnostic.code.as_str(),
            severity: diagnostic.severity().as_str(),
            message: diagnostic.message.clone(),
            path: diagnostic.path.clone(),
            line: diagnostic.place.map(|place| place.line),
            column: diagnostic.place.map(|place| place.column),
            changes_verdict: diagnostic.severity() > Severity::Note || breaks_conformance(diagnostic.code),
        }
    }
}

pub(crate) fn findings(diagnostics: &[Diagnostic]) -> Vec<Finding> {
    diagnostics.iter().map(Finding::from).collect()
}

impl SourceReport {
    pub(crate) fn of(source: &CatalogSource) -> Self {
        let CatalogSource { source, status, report } = source;
        let WalkReport { searched, found, complete, diagnostics } = report;
        Self {
            label: source.label.clone(),
            kind: source.kind_name(),
            path: source.path.to_string_lossy().into_owned(),
            status: status.as_str(),
            found: *found,
            searched: *searched,
            complete: *complete,
            // Names in an untrusted project are its author's words; only the count is shown.
            diagnostics: if *status == SourceStatus::Inert {
                let message =
                    format!("{found} skills are counted and not shown until a person trusts the project");
                findings(&[Diagnostic::new(Code::ProjectInertNote, message)])
            } else {
                findings(diagnostics)
            },
        }
    }
}

impl ListedSkill {
    pub(crate) fn of(entry: &CatalogEntry, catalog: &Catalog) -> Self {
        let source = catalog.label(entry).to_owned();
        let winner = entry.shadowed_by.and_then(|position| catalog.entries.get(position));
        let mut diagnostics = findings(&entry.diagnostics);
        diagnostics.extend(winner.map(|winner| Finding::from(&fumehood_store::shadow_note(winner))));
        let path = entry.path.to_string_lossy().into_owned();
        Self {
            name: entry.name.clone(),
            declared_name: entry.declared_name.clone(),
            qualified_name: if entry.qualified { format!("{source}:{}", entry.name) } else { path.clone() },
            description: entry.description.clone(),
            source,
            path,
            loadable: entry.loadable,
            conformant: entry.conformant,
            shadowed_by: winner.map(|winner| winner.path.to_string_lossy().into_owned()),
            diagnostics,
        }
    }
}
