//! SKILL.md: from bytes to what the skill says about itself, with two verdicts.
//!
//! *Loadable* is the lenient verdict: a person or a model can use it. *Conformant* is the strict one: every host
//! that follows the standard reads it the same way. Both come from one reading, so a validator and a loader cannot
//! disagree. Nothing in the file is obeyed, expanded or run; the body is a range of the raw bytes.

mod body;
mod fields;
mod rescue;
mod split;

use core::ops::Range;

pub use fields::{Enforcement, FIELDS, FieldRule, fields_page};
pub use rescue::Rescue;

use crate::allowed_tools::AllowedTools;
use crate::code::{Code, Severity};
use crate::diagnostic::{Diagnostic, Place};
use crate::limits::SKILL_MD_BYTES_MAX;
use crate::name::SkillName;
use crate::yaml::Entry;

/// What was read from one SKILL.md.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The skill, if it is loadable.
    pub skill: Option<SkillText>,
    /// Everything worth saying, in the order it was found.
    pub diagnostics: Vec<Diagnostic>,
}

/// A loadable SKILL.md. Every field is the author's claim; none grants anything.
#[derive(Clone, Debug)]
pub struct SkillText {
    /// The name it is listed and looked up by: the declared name if it is a [`SkillName`], else its slug.
    pub name: String,
    /// The name as written, if there is one.
    pub declared_name: Option<String>,
    /// The description, whole, trimmed. Not blank.
    pub description: String,
    /// `license`, if it is text.
    pub license: Option<String>,
    /// `compatibility`, if it is text.
    pub compatibility: Option<String>,
    /// Tools the skill asks its host for. `Declared` and empty when the block was rescued or the value malformed.
    pub allowed_tools: AllowedTools,
    /// Every field in the order written, unknown ones too. Places count from the start of the file.
    pub fields: Vec<Entry>,
    /// How broken YAML was read, if it was.
    pub rescue: Rescue,
    /// The body's bytes within the file, exactly as they are.
    pub body: Range<usize>,
}

/// The file and folder a SKILL.md was found as.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The folder's name, the parent directory of the file.
    pub directory: &'a str,
    /// The file's name: `SKILL.md`, or another spelling of it.
    pub file: &'a str,
}

impl SkillText {
    /// The description as a catalogue shows it: its first 1,024 characters.
    pub fn catalogue_description(&self) -> &str {
        match self.description.char_indices().nth(fields::DESCRIPTION_CHARS_MAX) {
            Some((end, _)) => &self.description[..end],
            None => &self.description,
        }
    }

    /// The name, if it follows the standard's rule.
    pub fn conformant_name(&self) -> Option<SkillName> {
        SkillName::parse(self.declared_name.as_deref()?).ok()
    }
}

impl Reading {
    /// Whether nothing was found that the standard forbids. Implies loadable.
    pub fn is_conformant(&self) -> bool {
        self.skill.is_some() && !self.diagnostics.iter().any(|d| breaks_conformance(d.code))
    }
}

/// Whether a finding means that the folder does not follow the Agent Skills standard.
pub fn breaks_conformance(code: Code) -> bool {
    match code {
        // The standard knows neither the manifests, nor any limit on files, nor what a reader can see.
        Code::ExecutionManifest
        | Code::FumehoodManifest
        | Code::DeclaredFile
        | Code::ToolNameLong
        | Code::ToolNameTooLong
        | Code::HiddenText
        | Code::SkillTooLarge
        | Code::FilesNotListed
        | Code::SnapshotChanged => false,
        // Noted rather than warned about, since they are harmless; the standard still has no place for them.
        Code::FieldUnknown | Code::HostField | Code::AllowedToolsForm | Code::LeadingBlank => true,
        code => code.severity() >= Severity::Warning,
    }
}

/// Reads SKILL.md.
///
/// Limits: 1 MiB of file, 64 KiB of frontmatter, 16 levels and 4,096 nodes of YAML. Passing one refuses the file.
pub fn read(bytes: &[u8], found: Found<'_>) -> Reading {
    let mut report = Report { file: found.file, found: Vec::new() };
    let skill = read_into(bytes, found, &mut report);
    Reading { skill, diagnostics: report.found }
}

fn read_into(bytes: &[u8], found: Found<'_>, report: &mut Report<'_>) -> Option<SkillText> {
    if found.file != "SKILL.md" {
        report.add(Code::SkillMdName, "rename the file to SKILL.md; other hosts look for exactly that", None);
    }
    let text = decode(bytes, report)?;
    let parts = split::split(text, report)?;
    let block = rescue::parse_block(&parts, report)?;
    let read = fields::read(&block, found.directory, report)?;
    body::warn_of_hidden_text(text, report);
    body::note_host_features(&text[parts.body.clone()], parts.body_line, &block.entries, report);
    body::note_host_tools(&text[parts.body.clone()], parts.body_line, report);
    Some(SkillText {
        name: read.name,
        declared_name: read.declared_name,
        description: read.description,
        license: read.license,
        compatibility: read.compatibility,
        allowed_tools: read.allowed_tools,
        fields: block.entries,
        rescue: block.rescue,
        body: parts.body,
    })
}

fn decode<'t>(bytes: &'t [u8], report: &mut Report<'_>) -> Option<&'t str> {
    if bytes.len() > SKILL_MD_BYTES_MAX {
        report.add(
            Code::SkillMdTooLarge,
            format!("the file is larger than {SKILL_MD_BYTES_MAX} bytes"),
            None,
        );
        return None;
    }
    // `contains` looks at many bytes at a time, and nearly every file is without.
    if bytes.contains(&0) {
        let offset = bytes.iter().position(|byte| *byte == 0).unwrap_or_default();
        let place = place_of_offset(bytes, offset);
        report.add(Code::SkillMdNul, "the file holds a NUL byte; is it really text?", Some(place));
        return None;
    }
    match core::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let place = place_of_offset(bytes, error.valid_up_to());
            report.add(
                Code::SkillMdEncoding,
                "the bytes here are not UTF-8; save the file as UTF-8",
                Some(place),
            );
            None
        }
    }
}

/// The line and column of a byte, in characters, both from 1; what is not UTF-8 counts as U+FFFD.
fn place_of_offset(bytes: &[u8], offset: usize) -> Place {
    let before = &bytes[..offset];
    let line = before.split(|byte| *byte == b'\n').count();
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let column = String::from_utf8_lossy(&before[line_start..]).chars().count() + 1;
    Place { line: narrow(line), column: narrow(column) }
}

fn narrow(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Findings about one file, as they are made.
struct Report<'f> {
    file: &'f str,
    found: Vec<Diagnostic>,
}

impl Report<'_> {
    fn add(&mut self, code: Code, message: impl Into<String>, place: Option<Place>) {
        let mut finding = Diagnostic::new(code, message).in_file(self.file);
        finding.place = place;
        self.found.push(finding);
    }
}

#[cfg(test)]
mod tests;
