//! Overlays: scripts with typed parameters that the deployer declares for a skill of somebody else.
//!
//! Nothing is written into the skill. An overlay names the source and the skill, and was confirmed for one revision: for any
//! other it says nothing.

mod error;

use std::collections::BTreeSet;

use fumehood_core::digest::Revision;
use fumehood_core::limits::JSON_DEPTH_MAX;
use fumehood_core::manifest::{SCRIPTS_MAX, ScriptClaim, tool_name};
use fumehood_core::tool::RESERVED_PREFIX;
use fumehood_core::{Frame, Json, Sha256, Shown, SkillName, ToolName};
use serde::{Deserialize, Serialize};

use super::check_label;
use crate::config_file::json;

pub use error::OverlayError;

/// What the deployer says about one skill: `[[overlay]]`. A value that exists keeps every rule.
///
/// A script stands in place of one of that name that the skill declares itself; the skill's others stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay {
    parts: OverlayParts,
    tools: Vec<ToolName>,
}

/// What an [`Overlay`] is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverlayParts {
    /// The label of the source that the skill is found in: 1 to 32 characters of `a-z0-9-`.
    pub source: String,
    /// The skill's name.
    pub skill: SkillName,
    /// What it was confirmed for: 64 lower-case hex digits. Text, since it proves nothing about bytes.
    pub revision: String,
    /// Whether another exit code than zero is a failure, for all scripts of the skill (EXE-56).
    pub fail_on_nonzero_exit: Option<bool>,
    /// The scripts, each name once; at most 64.
    pub scripts: Vec<OverlayScript>,
}

/// One script of an overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverlayScript {
    /// The script, by the rules of `fumehood.json`.
    pub script: ScriptClaim,
    /// What its tool is called; `run_<skill>_<script>` where this is not given.
    pub tool_name: Option<ToolName>,
}

/// An overlay as the file has it.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OverlayTable {
    source: String,
    skill: String,
    revision: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fail_on_nonzero_exit: Option<bool>,
    #[serde(default)]
    scripts: Vec<toml::Table>,
}

/// A file with nothing but overlays.
#[derive(Serialize)]
struct OverlaysFile {
    overlay: Vec<OverlayTable>,
}

impl Overlay {
    /// An overlay of these parts.
    ///
    /// # Errors
    /// [`OverlayError`]: a label, a revision or a tool name that breaks its rule, a name twice, or a number that TOML cannot
    /// hold. Tool names above 64 characters are refused and never rewritten (EXE-47).
    pub fn new(parts: OverlayParts) -> Result<Self, OverlayError> {
        check_label(&parts.source).map_err(OverlayError::Source)?;
        let is_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if parts.revision.len() != REVISION_DIGITS || !parts.revision.bytes().all(is_hex) {
            return Err(OverlayError::Revision);
        }
        if parts.scripts.len() > SCRIPTS_MAX {
            return Err(OverlayError::TooManyScripts);
        }
        let mut names = BTreeSet::new();
        let mut tools: Vec<ToolName> = Vec::new();
        for OverlayScript { script, tool_name: given } in &parts.scripts {
            if !names.insert(script.name()) {
                return Err(OverlayError::Twice(script.name().to_string()));
            }
            let tool = match given {
                Some(tool) => tool.clone(),
                None => tool_name(&parts.skill, script.name()).map_err(OverlayError::ToolNameTooLong)?,
            };
            if tool.as_str().to_ascii_lowercase().starts_with(RESERVED_PREFIX) {
                return Err(OverlayError::Reserved(tool));
            }
            if tools.contains(&tool) {
                return Err(OverlayError::Twice(tool.to_string()));
            }
            toml::Value::try_from(script.to_json()).map_err(|_| OverlayError::Number)?;
            tools.push(tool);
        }
        Ok(Self { parts, tools })
    }

    /// Everything that it says.
    pub fn parts(&self) -> &OverlayParts {
        &self.parts
    }

    /// The label of the source.
    pub fn source(&self) -> &str {
        &self.parts.source
    }

    /// The skill.
    pub fn skill(&self) -> &SkillName {
        &self.parts.skill
    }

    /// Whether it was confirmed for this revision. For another one it says nothing until somebody confirms it again.
    pub fn is_confirmed_for(&self, revision: Revision) -> bool {
        revision.sha256().to_string() == self.parts.revision
    }

    /// The scripts, each with the name of its tool.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = (&ToolName, &ScriptClaim)> {
        self.tools.iter().zip(self.parts.scripts.iter().map(|script| &script.script))
    }

    /// The digest of everything that it says, for a binding: another one if any field differs.
    ///
    /// A [`Frame`] `overlay`, version 1: source, skill, revision, the switch if it is there, and of each script its JSON with
    /// every default written out and the tool name if one is given.
    pub fn sha256(&self) -> Sha256 {
        let OverlayParts { source, skill, revision, fail_on_nonzero_exit, scripts } = &self.parts;
        let mut frame = Frame::new("overlay", 1);
        frame.part(source.as_bytes());
        frame.part(skill.as_str().as_bytes());
        frame.part(revision.as_bytes());
        frame.optional(*fail_on_nonzero_exit, |frame, fails| frame.number(u64::from(fails)));
        frame.list(scripts, |frame, OverlayScript { script, tool_name }| {
            frame.part(&script.to_json().to_bytes());
            frame.optional(tool_name.as_ref(), |frame, name| frame.part(name.as_str().as_bytes()));
        });
        frame.sha256()
    }
}

/// The overlays as text for `fumehood.toml`, which reads back equal.
///
/// # Errors
/// [`OverlayError::Number`] if TOML cannot hold it, which no [`Overlay`] that exists causes.
pub fn overlays_to_toml(overlays: &[Overlay]) -> Result<String, OverlayError> {
    let tables = overlays.iter().map(OverlayTable::of).collect::<Result<_, _>>()?;
    toml::to_string(&OverlaysFile { overlay: tables }).map_err(|_| OverlayError::Number)
}

impl OverlayTable {
    fn of(overlay: &Overlay) -> Result<Self, OverlayError> {
        let OverlayParts { source, skill, revision, fail_on_nonzero_exit, scripts } = overlay.parts();
        let table = |OverlayScript { script, tool_name }: &OverlayScript| {
            let mut table = toml::Table::try_from(script.to_json()).map_err(|_| OverlayError::Number)?;
            if let Some(name) = tool_name {
                table.insert(TOOL_NAME.to_owned(), toml::Value::String(name.to_string()));
            }
            Ok(table)
        };
        Ok(Self {
            source: source.clone(),
            skill: skill.to_string(),
            revision: revision.clone(),
            fail_on_nonzero_exit: *fail_on_nonzero_exit,
            scripts: scripts.iter().map(table).collect::<Result<_, _>>()?,
        })
    }

    /// The overlay, or what is wrong with it.
    pub(super) fn read(self) -> Result<Overlay, String> {
        let Self { source, skill, revision, fail_on_nonzero_exit, scripts } = self;
        let whose = format!("overlay for {}:{}", Shown::inline(&source), Shown::inline(&skill));
        let refused = |error: &dyn std::fmt::Display| format!("{whose}: {error}");
        let skill = SkillName::parse(&skill).map_err(|error| refused(&error))?;
        let mut names = Vec::new();
        let mut tables = Vec::new();
        for mut table in scripts {
            let name = match table.remove(TOOL_NAME) {
                None => None,
                Some(toml::Value::String(name)) => {
                    Some(ToolName::parse(&name).map_err(|error| refused(&format!("{TOOL_NAME}: {error}")))?)
                }
                Some(_) => return Err(refused(&format!("{TOOL_NAME} must be a text"))),
            };
            names.push(name);
            tables.push(json(toml::Value::Table(table), JSON_DEPTH_MAX).map_err(|error| refused(&error))?);
        }
        let scripts = ScriptClaim::read_list(&Json::Array(tables))
            .map_err(|error| refused(&format!("scripts {error}")))?;
        let scripts = scripts.into_iter().zip(names);
        let scripts = scripts.map(|(script, tool_name)| OverlayScript { script, tool_name }).collect();
        let parts = OverlayParts { source, skill, revision, fail_on_nonzero_exit, scripts };
        Overlay::new(parts).map_err(|error| refused(&error))
    }
}

/// Overlays in one file.
pub const OVERLAYS_MAX: usize = 256;
const TOOL_NAME: &str = "tool_name";
const REVISION_DIGITS: usize = 64;

#[cfg(test)]
mod tests;
