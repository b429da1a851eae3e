//! Inspection: what a folder claims to be, from facts that somebody else read. Inert: it runs and approves nothing.

use crate::code::{Code, Severity};
use crate::diagnostic::Diagnostic;
use crate::limits::{
    BUNDLE_BYTES_MAX, BUNDLE_FILE_BYTES_MAX, MANIFEST_BYTES_MAX, SKILL_BYTES_MAX, SKILL_FILES_MAX,
};
use crate::manifest::{
    ExecutionManifest, FumehoodManifest, ManifestError, checked_tool_name, long_tool_name,
};
use crate::path::RelPath;
use crate::script::{self, ScriptHint};
use crate::skill::{Reading, SkillText, breaks_conformance};

/// One file of a skill, as it was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFact {
    /// Where it is in the skill.
    pub path: RelPath,
    /// Its size in bytes.
    pub size: u64,
    /// Whether the path leads through a link. Such a file counts as its target's bytes but may not be declared.
    pub link: bool,
}

/// The files of a skill, as they were listed.
#[derive(Clone, Debug, Default)]
pub struct FolderFacts {
    /// Files in byte order of their paths.
    pub files: Vec<FileFact>,
    /// Entries that were refused: unportable names, links that leave, special files. Each has a diagnostic.
    pub refused: usize,
    /// Whether every folder and file was listed.
    pub complete: bool,
    /// What was met on the way. An inspection moves them to its own list.
    pub diagnostics: Vec<Diagnostic>,
}

/// Why a skill has no revision, and so can never run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRevision {
    /// More than 512 files or 16 MiB, or not all of it was listed.
    TooLarge,
    /// An entry was refused, so a revision would not cover the folder.
    Refused,
}

impl FolderFacts {
    /// Bytes of all listed files. Sparse files can claim more than a `u64` counts; the sum then stays at its end.
    pub fn bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.size))
    }

    /// Why the folder cannot have a revision, if it cannot.
    pub fn no_revision(&self) -> Option<NoRevision> {
        let too_large = self.files.len() > SKILL_FILES_MAX || self.bytes() > SKILL_BYTES_MAX;
        match () {
            () if too_large || !self.complete => Some(NoRevision::TooLarge),
            () if self.refused > 0 => Some(NoRevision::Refused),
            () => None,
        }
    }

    fn find(&self, path: &RelPath) -> Option<&FileFact> {
        self.files.binary_search_by(|file| file.path.cmp(path)).ok().map(|index| &self.files[index])
    }
}

/// The bytes of a skill's files, for whoever inspects it.
pub trait FileBytes {
    /// The first `bytes_max` bytes of a listed file.
    ///
    /// # Errors
    /// A diagnostic that says why there are none.
    fn head(&self, path: &RelPath, bytes_max: usize) -> Result<Vec<u8>, Diagnostic>;
}

/// What became of a manifest file.
#[derive(Clone, Debug)]
pub enum ManifestState<T> {
    /// The skill has none.
    Absent,
    /// It was read as written.
    Accepted(T),
    /// It was refused; a diagnostic says why. The skill stays readable.
    Refused,
}

impl<T> ManifestState<T> {
    /// The manifest, if there is one and it was accepted.
    pub fn accepted(&self) -> Option<&T> {
        if let Self::Accepted(manifest) = self { Some(manifest) } else { None }
    }

    /// The name used in JSON output.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Accepted(_) => "accepted",
            Self::Refused => "refused",
        }
    }
}

/// A script that nothing declares, with the interpreter that its name and first line suggest.
#[derive(Clone, Debug)]
pub struct UndeclaredScript {
    /// Where it is in the skill.
    pub path: RelPath,
    /// What would run it. A suggestion; the file's mode plays no part.
    pub hint: ScriptHint,
}

/// Everything that reading a skill's folder can tell, without running anything. It authorises nothing.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// What SKILL.md says, if it is loadable.
    pub skill: Option<SkillText>,
    /// The files.
    pub facts: FolderFacts,
    /// `execution.json`.
    pub execution: ManifestState<ExecutionManifest>,
    /// `fumehood.json`.
    pub fumehood: ManifestState<FumehoodManifest>,
    /// All findings: SKILL.md, then the folder, then the manifests.
    pub diagnostics: Vec<Diagnostic>,
}

impl Inspection {
    /// Whether a person or a model can use the skill.
    pub fn is_loadable(&self) -> bool {
        self.skill.is_some()
    }

    /// Whether the folder follows the Agent Skills standard.
    pub fn is_conformant(&self) -> bool {
        self.is_loadable() && !self.diagnostics.iter().any(|finding| breaks_conformance(finding.code))
    }

    /// Scripts that neither manifest declares.
    ///
    /// Reads the first bytes of files that could be scripts, through `bytes`.
    pub fn undeclared_scripts(&self, bytes: &dyn FileBytes) -> Vec<UndeclaredScript> {
        let declared = self.declared_paths();
        let candidates = self.facts.files.iter().filter(|file| !declared.contains(&&file.path));
        candidates
            .filter_map(|file| {
                let head = bytes.head(&file.path, script::SHEBANG_BYTES_MAX).unwrap_or_default();
                let hint = script::suggest(&file.path, &head)?;
                Some(UndeclaredScript { path: file.path.clone(), hint })
            })
            .collect()
    }

    /// Why the checked tool of this skill cannot run, one code and sentence each, as far as its own files tell (CHK-002,
    /// CHK-054). Empty when nothing about the skill is in the way; the host may have reasons of its own.
    /// `E_EXECUTION_UNAVAILABLE`, `E_EXECUTION_MANIFEST` and `E_SKILL_NOT_CONFORMANT` are about that tool alone: scripts run all
    /// the same.
    pub fn execution_bars(&self) -> Vec<(Code, &'static str)> {
        let mut bars = match self.execution {
            ManifestState::Accepted(_) => Vec::new(),
            ManifestState::Absent => {
                vec![(
                    Code::ExecutionUnavailable,
                    "the skill carries no execution.json, so it has no checked tool",
                )]
            }
            ManifestState::Refused => vec![(Code::ExecutionManifest, "execution.json was refused")],
        };
        if !self.is_loadable() {
            bars.push((Code::NotLoadable, "the skill is not loadable"));
        } else if !self.is_conformant() {
            bars.push((Code::NotConformant, "a checked tool must be of a conformant skill"));
        }
        let name = self.skill.as_ref().and_then(SkillText::conformant_name);
        if name.is_some_and(|name| checked_tool_name(&name).is_err()) && self.execution.accepted().is_some() {
            bars.push((Code::ToolNameTooLong, "the name of the skill is too long for the name of a tool"));
        }
        match self.facts.no_revision() {
            Some(NoRevision::TooLarge) => {
                bars.push((Code::NoRevision, "the skill is too large for a revision"));
            }
            Some(NoRevision::Refused) => {
                bars.push((Code::NoRevision, "a refused entry keeps the skill from a revision"));
            }
            None => {}
        }
        bars
    }

    fn declared_paths(&self) -> std::collections::BTreeSet<&RelPath> {
        let execution = self.execution.accepted().into_iter().flat_map(ExecutionManifest::declared_paths);
        let fumehood = self.fumehood.accepted().into_iter().flat_map(FumehoodManifest::declared_paths);
        execution.chain(fumehood).collect()
    }
}

/// Puts together what was read. `bytes` is asked for the two manifests, if they are listed.
pub fn inspect(reading: Reading, facts: FolderFacts, bytes: &dyn FileBytes) -> Inspection {
    let mut inspection = Inspection {
        skill: reading.skill,
        diagnostics: reading.diagnostics,
        facts,
        execution: ManifestState::Absent,
        fumehood: ManifestState::Absent,
    };
    // A SKILL.md that is a FIFO was met by whoever read it and by whoever listed the folder; once is enough.
    let mut of_folder = core::mem::take(&mut inspection.facts.diagnostics);
    let said = &inspection.diagnostics;
    of_folder.retain(|new| !said.iter().any(|old| (old.code, &old.path) == (new.code, &new.path)));
    inspection.diagnostics.append(&mut of_folder);
    note_size(&mut inspection);
    inspection.execution = read_execution(&mut inspection, bytes);
    inspection.fumehood = read_fumehood(&mut inspection, bytes);
    inspection
}

fn note_size(inspection: &mut Inspection) {
    let facts = &inspection.facts;
    if facts.no_revision() == Some(NoRevision::TooLarge) && facts.complete {
        let message = format!(
            "{} files, {} bytes; no revision, so it can be read but not run",
            facts.files.len(),
            facts.bytes()
        );
        inspection.diagnostics.push(Diagnostic::new(Code::SkillTooLarge, message));
    }
}

/// `execution.json` at the root of the skill, whatever lies beside the skill (CHK-053).
fn read_execution(inspection: &mut Inspection, bytes: &dyn FileBytes) -> ManifestState<ExecutionManifest> {
    read_manifest(inspection, bytes, EXECUTION_JSON, Code::ExecutionManifest, |text, facts| {
        let manifest = ExecutionManifest::parse(text)?;
        let mut problems = missing_or_linked(manifest.declared_paths(), facts);
        problems.extend(bundle_size(&manifest, facts));
        Ok((manifest, problems))
    })
}

fn read_fumehood(inspection: &mut Inspection, bytes: &dyn FileBytes) -> ManifestState<FumehoodManifest> {
    let name = inspection.skill.as_ref().and_then(SkillText::conformant_name);
    let state = read_manifest(inspection, bytes, FUMEHOOD_JSON, Code::FumehoodManifest, |text, facts| {
        let manifest = FumehoodManifest::parse(text)?;
        // Without a conformant name there are no tool names, and nothing of the skill can run.
        if let Some(name) = &name {
            manifest.tool_names(name)?;
        }
        let problems = missing_or_linked(manifest.declared_paths(), facts);
        Ok((manifest, problems))
    });
    let long_names = match (state.accepted(), &name) {
        (Some(manifest), Some(name)) => manifest.tool_names(name).unwrap_or_default(),
        _ => Vec::new(),
    };
    let warnings = long_names.iter().filter_map(long_tool_name).map(|warning| warning.in_file(FUMEHOOD_JSON));
    inspection.diagnostics.extend(warnings);
    state
}

type Judged<T> = Result<(T, Vec<Diagnostic>), ManifestError>;

/// Reads one manifest and reports what is wrong with it. A refusal never reaches the rest of the inspection (CHK-075).
fn read_manifest<T>(
    inspection: &mut Inspection,
    bytes: &dyn FileBytes,
    file: &str,
    code: Code,
    judge: impl FnOnce(&[u8], &FolderFacts) -> Judged<T>,
) -> ManifestState<T> {
    let Some(path) = RelPath::parse(file).ok().filter(|path| inspection.facts.find(path).is_some()) else {
        // A FIFO or a link that leads out is not listed, and its finding says that something is there.
        let met = |finding: &Diagnostic| {
            finding.path.as_deref() == Some(file) && finding.severity() == Severity::Error
        };
        let refused = inspection.diagnostics.iter().any(met);
        return if refused { ManifestState::Refused } else { ManifestState::Absent };
    };
    let linked = missing_or_linked(core::iter::once(&path), &inspection.facts);
    let text = match linked.into_iter().next().map_or_else(|| bytes.head(&path, MANIFEST_BYTES_MAX + 1), Err)
    {
        Ok(text) => text,
        Err(finding) => {
            inspection.diagnostics.push(finding);
            return ManifestState::Refused;
        }
    };
    match judge(&text, &inspection.facts) {
        Ok((manifest, problems)) if problems.is_empty() => ManifestState::Accepted(manifest),
        Ok((_, problems)) => {
            inspection.diagnostics.extend(problems);
            inspection
                .diagnostics
                .push(Diagnostic::new(code, "a declared file cannot be used").in_file(file));
            ManifestState::Refused
        }
        Err(error) => {
            let mut finding = Diagnostic::new(code, error.to_string()).in_file(file);
            finding.place = error.place();
            inspection.diagnostics.push(finding);
            ManifestState::Refused
        }
    }
}

fn missing_or_linked<'p>(
    declared: impl Iterator<Item = &'p RelPath>,
    facts: &FolderFacts,
) -> Vec<Diagnostic> {
    declared
        .filter_map(|path| {
            let (code, message) = match facts.find(path) {
                None => (Code::DeclaredFile, "the file is declared and not in the skill"),
                Some(fact) if fact.link => {
                    (Code::LinkRefused, "a declared file must be a plain file, not a link")
                }
                Some(_) => return None,
            };
            Some(Diagnostic::new(code, message).in_file(path.as_str()))
        })
        .collect()
}

/// One file may have 1 MiB; all of them with manifest, instructions, names and framing 4 MiB (CHK-057, 103, 149).
fn bundle_size(manifest: &ExecutionManifest, facts: &FolderFacts) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let mut total: u64 = 0;
    let always = [EXECUTION_JSON, SKILL_MD].map(RelPath::parse);
    for path in always.iter().flatten().chain(manifest.files()) {
        let size = facts.find(path).map_or(0, |fact| fact.size);
        total = total.saturating_add(size).saturating_add(path.as_str().len() as u64 + FRAME_BYTES);
        if size > BUNDLE_FILE_BYTES_MAX {
            let message = format!("{size} bytes; a declared file may have {BUNDLE_FILE_BYTES_MAX}");
            problems.push(Diagnostic::new(Code::DeclaredFile, message).in_file(path.as_str()));
        }
    }
    if total > BUNDLE_BYTES_MAX {
        let message =
            format!("the declared files have {total} bytes; all together may have {BUNDLE_BYTES_MAX}");
        problems.push(Diagnostic::new(Code::DeclaredFile, message).in_file(EXECUTION_JSON));
    }
    problems
}

/// The skill's instructions.
pub const SKILL_MD: &str = "SKILL.md";
/// The manifest of a checked tool.
pub const EXECUTION_JSON: &str = "execution.json";
/// The manifest of scripts and isolated tools.
pub const FUMEHOOD_JSON: &str = "fumehood.json";
/// What the revision's framing adds to each file: two lengths and a digest.
const FRAME_BYTES: u64 = 8 + 8 + 32;

#[cfg(test)]
mod tests;
