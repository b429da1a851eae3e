//! `show` and `cat`: one skill in full, one file of it.

use std::path::PathBuf;

use fumehood_core::inspect::{FileBytes, Inspection, inspect};
use fumehood_core::script::HintSource;
use fumehood_core::skill::{Enforcement, FIELDS, Rescue, SkillText};
use fumehood_core::{Code, Diagnostic, RelPath, Shown, SkillName};
use fumehood_store::{BytesOf, CaptureError, FileError, Folder, Home, Settings, SkillMd, Snapshot};

use super::check::name_of;
use super::run::GIVEN;
use super::{Host, Opened};
use crate::fault::Fault;
use crate::report::{
    CatReport, Claims, Content, ExecutionSupport, FileOut, FormatSupport, Frontmatter, OverlayOut, Reason,
    ResourceSupport, SCHEMA_VERSION, ScriptOut, ShowReport, UndeclaredScriptOut, findings,
};

/// Which bytes of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteRange {
    /// The first byte, from 0.
    pub offset: u64,
    /// How many; all to the end if not given.
    pub length: Option<u64>,
}

impl Host {
    /// Shows one skill: what it is, what it claims, every file, and the revision.
    ///
    /// # Authority
    /// Where the skill has an `execution.json`, reads Node's file and starts the sandbox to see whether it is there. Nothing of the
    /// skill is run. A program that neither calls [`helper::dispatch`](crate::helper::dispatch) nor names a helper starts nothing.
    ///
    /// # Errors
    /// `E_SKILL_NOT_FOUND`, `E_SKILL_AMBIGUOUS`, `E_SKILL_MD_MISSING`, `E_PROJECT_INERT`, and those of [`Host::list`].
    pub fn show(&self, skill: &str, roots: &[PathBuf]) -> Result<ShowReport, Fault> {
        let (report, inspection, _) = self.shown(skill, roots)?;
        let bars = self.execution_bars(inspection.execution.accepted().is_some());
        let execution = execution(&inspection, bars);
        Ok(ShowReport { execution_available: execution.available, execution, ..report })
    }

    /// Everything but what of the host keeps the skill from running, with what it was read from.
    pub(super) fn shown(
        &self,
        skill: &str,
        roots: &[PathBuf],
    ) -> Result<(ShowReport, Inspection, SkillMd), Fault> {
        let Opened { folder, source, shadowed_by } = self.open(skill, roots)?;
        let (captured, facts) = (folder.capture(), folder.facts());
        let captured = match captured {
            Ok(snapshot) if !snapshot.is_of(&facts) => Err(CaptureError::Changed),
            captured => captured,
        };
        // What is said beside a revision was read from its own bytes: somebody approves the one by the other.
        let snapshot = captured.as_ref().ok();
        let disk = BytesOf(&*folder);
        let bytes: &dyn FileBytes = snapshot.map_or(&disk, |snapshot| snapshot);
        let md = snapshot.map_or_else(|| folder.skill_md(), Snapshot::skill_md);
        let inspection = inspect(md.reading(folder.directory_name()), facts, bytes);
        let mut report = shown(&*folder, &md.file, &inspection, snapshot, bytes);
        report.overlay = self.overlaid(source.as_deref(), &report.name, snapshot);
        if let Some(overlay) = report.overlay.as_ref().filter(|overlay| overlay.confirmed) {
            let is_declared = |path: &str| overlay.scripts.iter().any(|script| script.path == path);
            report.undeclared_scripts.retain(|script| !is_declared(&script.path));
        }
        // A skill that cannot have a revision has a finding already; that it changed just now is new.
        if let Err(error @ (CaptureError::Changed | CaptureError::Unreadable)) = captured {
            let finding = Diagnostic::new(fumehood_core::Coded::code(&error), error.to_string());
            report.diagnostics.extend(findings(&[finding]));
        }
        Ok((ShowReport { source, shadowed_by, ..report }, inspection, md))
    }

    /// What the settings declare for a skill. Settings that cannot be read declare nothing: `run` says what is wrong with them,
    /// and looking at a folder needs none.
    fn overlaid(&self, source: Option<&str>, name: &str, snapshot: Option<&Snapshot>) -> Option<OverlayOut> {
        let home = Home::find(&self.surroundings).ok()?;
        let settings = Settings::read(&home, &self.surroundings).ok()?;
        let overlay = settings.overlay(source.unwrap_or(GIVEN), &SkillName::parse(name).ok()?)?;
        Some(OverlayOut {
            confirmed: snapshot.is_some_and(|snapshot| overlay.is_confirmed_for(snapshot.revision())),
            scripts: overlay.tools().map(|(_, script)| ScriptOut::of(script)).collect(),
        })
    }

    /// Gives a file of a skill, or a range of it, to `write` in pieces; returns its size.
    ///
    /// # Errors
    /// Those of [`Host::show`]; `E_SKILL_SOURCE_PATH_REJECTED`, `E_FILE_NOT_FOUND`, `E_LINK_ESCAPES`,
    /// `E_SPECIAL_FILE`, `E_RANGE_INVALID`; whatever `write` returns.
    pub fn read_file(
        &self,
        skill: &str,
        roots: &[PathBuf],
        file: &str,
        range: ByteRange,
        write: &mut dyn FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<u64, Fault> {
        self.read_range(skill, roots, file, |_| range, write)
    }

    /// The same, of a range that is chosen once the size is known.
    fn read_range(
        &self,
        skill: &str,
        roots: &[PathBuf],
        file: &str,
        range: impl FnOnce(u64) -> ByteRange,
        write: &mut dyn FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<u64, Fault> {
        let Opened { folder, .. } = self.open(skill, roots)?;
        let path = RelPath::parse(file).map_err(|error| {
            Fault::of(&error, "paths count from the skill's folder, with '/' between names")
        })?;
        let fault = |error: FileError| file_fault(&error, &path, &*folder);
        let held = folder.hold(&path).map_err(fault)?;
        let size = held.size();
        let range = range(size);
        let end = match range.length {
            None => size,
            Some(length) => range.offset.saturating_add(length),
        };
        if range.offset > size || end > size {
            let message = format!("the file has {size} bytes; {} to {end} lies outside", range.offset);
            return Err(Fault::new(Code::RangeInvalid, message, "ask for a range within the file"));
        }
        let mut at = range.offset;
        while at < end {
            let piece_max = usize::try_from(end - at).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            let piece = held.read_at(at, piece_max).map_err(fault)?;
            // Before it is passed on: the old bytes, or none of the new ones.
            if piece.is_empty() || !held.is_unchanged() {
                return Err(Fault::new(
                    Code::SnapshotChanged,
                    "the file changed while it was read",
                    "try again",
                ));
            }
            write(&piece)?;
            at += piece.len() as u64;
        }
        Ok(size)
    }

    /// A file of a skill, or a range of it, as one answer of at most 16 MiB.
    ///
    /// # Errors
    /// Those of [`Host::read_file`], and `E_FILE_TOO_LARGE`.
    pub fn cat(
        &self,
        skill: &str,
        roots: &[PathBuf],
        file: &str,
        range: ByteRange,
    ) -> Result<CatReport, Fault> {
        self.answered(skill, roots, file, range.offset, |_| range)
    }

    /// As [`Host::cat`], of no more than there is of the range: for who does not know the size.
    ///
    /// # Errors
    /// As there; `E_RANGE_INVALID` for a range that begins behind the end.
    pub(super) fn cat_what_there_is(
        &self,
        skill: &str,
        roots: &[PathBuf],
        file: &str,
        ByteRange { offset, length }: ByteRange,
    ) -> Result<CatReport, Fault> {
        let left = |size: u64| size.saturating_sub(offset);
        let within = |size| ByteRange { offset, length: length.map(|length| length.min(left(size))) };
        self.answered(skill, roots, file, offset, within)
    }

    fn answered(
        &self,
        skill: &str,
        roots: &[PathBuf],
        file: &str,
        offset: u64,
        range: impl FnOnce(u64) -> ByteRange,
    ) -> Result<CatReport, Fault> {
        let mut bytes = Vec::new();
        let size = self.read_range(skill, roots, file, range, &mut |piece| {
            if bytes.len() + piece.len() > ANSWER_BYTES_MAX {
                let message = format!("more than {ANSWER_BYTES_MAX} bytes do not fit into one answer");
                return Err(Fault::new(
                    Code::FileTooLarge,
                    message,
                    "ask for a part with --offset and --length",
                ));
            }
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(CatReport {
            schema_version: SCHEMA_VERSION,
            path: file.to_owned(),
            size,
            offset,
            length: bytes.len(),
            content: Content::new(bytes),
        })
    }
}

fn shown(
    folder: &dyn Folder,
    file: &str,
    inspection: &Inspection,
    snapshot: Option<&Snapshot>,
    bytes: &dyn FileBytes,
) -> ShowReport {
    let skill = inspection.skill.as_ref();
    ShowReport {
        schema_version: SCHEMA_VERSION,
        name: name_of(inspection, folder),
        declared_name: skill.and_then(|skill| skill.declared_name.clone()),
        description: skill.map(|skill| skill.description.clone()),
        path: folder.location(),
        source: None,
        shadowed_by: None,
        revision: snapshot.map(|snapshot| snapshot.revision().to_string()),
        loadable: inspection.is_loadable(),
        conformant: inspection.is_conformant(),
        diagnostics: findings(&inspection.diagnostics),
        frontmatter: skill.map(|skill| Frontmatter(skill.fields.clone())),
        unenforced_fields: skill.map(unenforced).unwrap_or_default(),
        format: format(file, skill),
        resources: ResourceSupport {
            files: inspection.facts.files.len(),
            bytes: inspection.facts.bytes(),
            complete: inspection.facts.complete,
            refused: inspection.facts.refused,
        },
        execution: execution(inspection, Vec::new()),
        execution_available: false,
        files: files(inspection, snapshot),
        claims: Claims::of(inspection),
        overlay: None,
        undeclared_scripts: undeclared(inspection, bytes),
    }
}

fn unenforced(skill: &SkillText) -> Vec<String> {
    let host_fields = FIELDS.iter().filter(|rule| rule.enforcement == Enforcement::KeptNotEnforced);
    let keys: Vec<_> = host_fields.map(|rule| rule.key).collect();
    let present = skill.fields.iter().filter(|entry| keys.contains(&entry.key.as_str()));
    present.map(|entry| entry.key.clone()).collect()
}

fn format(file: &str, skill: Option<&SkillText>) -> FormatSupport {
    let rescue = skill.map(|skill| match skill.rescue {
        Rescue::None => "none",
        Rescue::Quoted => "quoted",
        Rescue::Lines => "lines",
    });
    FormatSupport { file: file.to_owned(), rescue, body_bytes: skill.map(|skill| skill.body.len()) }
}

/// What keeps the skill from running: reasons of its own, then `bars` of the host's.
pub(super) fn execution(inspection: &Inspection, bars: Vec<(Code, String)>) -> ExecutionSupport {
    let own = inspection.execution_bars().into_iter().map(|(code, message)| (code, message.to_owned()));
    let reasons: Vec<_> = own.chain(bars).map(Reason::of).collect();
    ExecutionSupport {
        available: reasons.is_empty(),
        scripts_available: !reasons.iter().any(Reason::is_about_scripts),
        reasons,
        execution_json: inspection.execution.as_str(),
        fumehood_json: inspection.fumehood.as_str(),
    }
}

fn files(inspection: &Inspection, snapshot: Option<&Snapshot>) -> Vec<FileOut> {
    let captured = |path: &RelPath| snapshot.and_then(|snapshot| snapshot.get(path));
    let out = |file: &fumehood_core::inspect::FileFact| FileOut {
        path: file.path.to_string(),
        size: file.size,
        sha256: captured(&file.path).map(|file| file.sha256().to_string()),
        link: file.link,
    };
    inspection.facts.files.iter().map(out).collect()
}

fn undeclared(inspection: &Inspection, bytes: &dyn FileBytes) -> Vec<UndeclaredScriptOut> {
    let scripts = inspection.undeclared_scripts(bytes).into_iter();
    let out = scripts.map(|script| UndeclaredScriptOut {
        path: script.path.to_string(),
        interpreter: script.hint.interpreter,
        language: script.hint.language.map(fumehood_core::script::Language::as_str),
        decided_by: match script.hint.from {
            HintSource::Extension => "extension",
            HintSource::Shebang => "shebang",
            HintSource::Both => "both",
        },
        notes: script.hint.notes.iter().map(ToString::to_string).collect(),
    });
    out.collect()
}

/// A file that is not there gets the names that are near it (D6).
fn file_fault(error: &FileError, path: &RelPath, folder: &dyn Folder) -> Fault {
    let message = format!("{}: {error}", Shown::inline(path.as_str()));
    if error.code != Code::FileNotFound {
        let advice = match error.code {
            Code::FileUnreadable => "change its permissions, or run as somebody who may read it",
            _ => "choose another file; `fumehood show` lists them",
        };
        return Fault::new(error.code, message, advice);
    }
    let wanted = path.file_name();
    let facts = folder.facts();
    let near = facts.files.iter().map(|file| file.path.as_str()).filter(|other| {
        other.starts_with(path.as_str())
            || other.ends_with(path.as_str())
            || other.rsplit('/').next().is_some_and(|name| name.eq_ignore_ascii_case(wanted))
    });
    let near: Vec<_> = near.take(NEAR_MAX).collect();
    let advice = match near.as_slice() {
        [] => "`fumehood show` lists the files; names are exact, extension included".to_owned(),
        near => format!("names are exact; did you mean {}?", Shown::inline(&near.join(", "))),
    };
    Fault::new(error.code, message, advice)
}

const PIECE_BYTES: usize = 1 << 20;
const ANSWER_BYTES_MAX: usize = 16 << 20;
const NEAR_MAX: usize = 5;
