//! `fumehood.json`: the claims of a skill about its scripts, its isolated tools and its results.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use super::fields::{Fields, Value, parse};
use super::param::{ParamClaim, params};
use super::words::{
    ArtifactKindClaim, CHANNELS, ChannelClaim, InterpreterKey, ScriptName, TOOL_OUTPUTS, ToolOutputClaim,
    name_refused, provider_name, version,
};
use super::{DESCRIPTION_CHARS_MAX, ManifestError, ManifestErrorKind};
use crate::code::{Code, Coded};
use crate::diagnostic::Diagnostic;
use crate::json::Json;
use crate::name::{SkillName, TOOL_NAME_CHARS_MAX, ToolName};
use crate::path::RelPath;
use crate::schema::Schema;
use crate::shown::Shown;

/// A well-formed `fumehood.json`, schema version 1.
///
/// Only `schemaVersion` is required. An unknown field or version and a key that stands twice are refused.
///
/// | field | what |
/// |---|---|
/// | `schemaVersion` | 1 |
/// | `scripts` | at most 64 [`ScriptClaim`]s, each name once |
/// | `isolatedTools` | at most 64 [`IsolatedToolClaim`]s, each name once |
/// | `toolOutputs` | by name of a script or isolated tool declared here: `text`, `binary`, `media` or `retrievable` |
/// | `artifactKind` | the name of an artifact kind, as advice |
/// | `channel` | `handle` or `inline`, as advice |
///
/// A name in `toolOutputs` must be declared here, as script or as isolated tool and not as both: the claim about a
/// name that nothing has, or that two things have, would be checked against nothing or against the wrong one.
#[derive(Clone, Debug)]
pub struct FumehoodManifest {
    scripts: Vec<ScriptClaim>,
    isolated_tools: Vec<IsolatedToolClaim>,
    tool_outputs: BTreeMap<String, ToolOutputClaim>,
    artifact_kind: Option<ArtifactKindClaim>,
    channel: Option<ChannelClaim>,
}

/// A script as the skill claims it: fields `name`, `path`, `description`, `interpreter` and, if it takes arguments,
/// `params` (at most 32). Two scripts may have one path, for instance one for each subcommand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptClaim {
    name: ScriptName,
    path: RelPath,
    description: String,
    interpreter: InterpreterKey,
    params: Vec<ParamClaim>,
}

/// A tool in JavaScript as the skill claims it: fields `name`, `description`, `source` (a path ending in `.js`) and
/// `inputSchema` (the strict subset, an explicit object at the root). All are required.
#[derive(Clone, Debug)]
pub struct IsolatedToolClaim {
    name: ToolName,
    description: String,
    source: RelPath,
    input_schema: Schema,
}

/// A script's tool name that would be above 64 characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolNameTooLong {
    /// Characters that it would have.
    pub chars: usize,
}

/// Scripts of one manifest.
pub const SCRIPTS_MAX: usize = 64;
/// Isolated tools of one manifest.
pub const ISOLATED_TOOLS_MAX: usize = 64;
/// Characters of a tool name above which [`long_tool_name`] warns.
pub const TOOL_NAME_CHARS_WARN: usize = 48;

/// The name of a script's tool, `run_<skill>_<script>`. Two different pairs never give one name, since the name of a
/// skill holds no underscore.
///
/// # Errors
/// [`ToolNameTooLong`] above 64 characters; a name is never shortened (EXE-47).
pub fn tool_name(skill: &SkillName, script: &ScriptName) -> Result<ToolName, ToolNameTooLong> {
    let text = format!("run_{skill}_{script}");
    // Both parts are of the tool name's alphabet, so length is all that can be wrong.
    ToolName::parse(&text).map_err(|_| ToolNameTooLong { chars: text.len() })
}

/// The name of a skill's checked tool, `call_<skill>`. No script has it, since theirs begin with `run_`.
///
/// # Errors
/// [`ToolNameTooLong`] above 64 characters; a name is never shortened.
pub fn checked_tool_name(skill: &SkillName) -> Result<ToolName, ToolNameTooLong> {
    let text = format!("call_{skill}");
    ToolName::parse(&text).map_err(|_| ToolNameTooLong { chars: text.len() })
}

/// The warning about a name that some clients will cut, since they put a prefix before it.
pub fn long_tool_name(name: &ToolName) -> Option<Diagnostic> {
    let chars = name.as_str().len();
    let message = format!(
        "the tool name {name} has {chars} characters; above {TOOL_NAME_CHARS_WARN} some clients cut it"
    );
    (chars > TOOL_NAME_CHARS_WARN).then(|| Diagnostic::new(Code::ToolNameLong, message))
}

impl FumehoodManifest {
    /// Reads a manifest of at most 64 KiB.
    ///
    /// # Errors
    /// [`ManifestError`] for the first fault: a code of JSON, names, paths or schemas, `E_SKILL_TOOL_DUPLICATE`, or
    /// `E_MANIFEST_FIELD`.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let json = parse(bytes)?;
        let mut fields = Fields::of(&json, "")?;
        version(&mut fields)?;
        let scripts = fields.optional("scripts").map_or_else(|| Ok(Vec::new()), |v| scripts(&v))?;
        let isolated_tools =
            fields.optional("isolatedTools").map_or_else(|| Ok(Vec::new()), |v| isolated_tools(&v))?;
        let tool_outputs = fields
            .optional("toolOutputs")
            .map_or_else(|| Ok(BTreeMap::new()), |v| tool_outputs(&v, &scripts, &isolated_tools))?;
        let artifact_kind = fields.optional("artifactKind").map(|v| ArtifactKindClaim::of(&v)).transpose()?;
        let channel = fields.optional("channel").map(|v| v.one_of(&CHANNELS)).transpose()?;
        fields.finish()?;
        Ok(Self { scripts, isolated_tools, tool_outputs, artifact_kind, channel })
    }

    /// The scripts, in the manifest's order.
    pub fn scripts(&self) -> &[ScriptClaim] {
        &self.scripts
    }

    /// The isolated tools, in the manifest's order.
    pub fn isolated_tools(&self) -> &[IsolatedToolClaim] {
        &self.isolated_tools
    }

    /// The result shapes, by the name that the script or isolated tool has in this manifest.
    pub fn tool_outputs(&self) -> impl Iterator<Item = (&str, ToolOutputClaim)> {
        self.tool_outputs.iter().map(|(name, output)| (name.as_str(), *output))
    }

    /// The kind of artifact that the skill would like.
    pub fn artifact_kind(&self) -> Option<&ArtifactKindClaim> {
        self.artifact_kind.as_ref()
    }

    /// How the skill would like results handed over.
    pub fn channel(&self) -> Option<ChannelClaim> {
        self.channel
    }

    /// The paths that must be plain files of the skill: of scripts, then of isolated tools. One may come twice.
    pub fn declared_paths(&self) -> impl Iterator<Item = &RelPath> {
        self.scripts
            .iter()
            .map(|script| &script.path)
            .chain(self.isolated_tools.iter().map(|tool| &tool.source))
    }

    /// The names of all tools that this manifest would give a skill of that name: of scripts, then of isolated tools.
    ///
    /// # Errors
    /// `E_TOOL_NAME_TOO_LONG`, or `E_SKILL_TOOL_DUPLICATE` when an isolated tool is called as a script's tool is.
    pub fn tool_names(&self, skill: &SkillName) -> Result<Vec<ToolName>, ManifestError> {
        let mut names = Vec::new();
        for (index, script) in self.scripts.iter().enumerate() {
            names.push(tool_name(skill, &script.name).map_err(|error| {
                let pointer = format!("/scripts/{index}/name");
                ManifestError::new(ManifestErrorKind::ToolNameTooLong, &pointer, error.to_string())
            })?);
        }
        let scripts: BTreeSet<ToolName> = names.iter().cloned().collect();
        for (index, tool) in self.isolated_tools.iter().enumerate() {
            if scripts.contains(&tool.name) {
                let message = format!("a script's tool is called '{}'; rename one", tool.name);
                let pointer = format!("/isolatedTools/{index}/name");
                return Err(ManifestError::new(ManifestErrorKind::DuplicateTool, &pointer, message));
            }
            names.push(tool.name.clone());
        }
        Ok(names)
    }
}

impl ScriptClaim {
    /// Reads an array of scripts by the rules of `scripts` in `fumehood.json`: at most 64, each name once. For a deployer who
    /// declares scripts that a skill does not.
    ///
    /// # Errors
    /// [`ManifestError`] as [`FumehoodManifest::parse`], its pointer counted from the array.
    pub fn read_list(json: &Json) -> Result<Vec<Self>, ManifestError> {
        scripts(&Value::root(json))
    }

    /// The script as [`read_list`](Self::read_list) reads one, with every default written out. Two scripts that are equal
    /// give equal values.
    pub fn to_json(&self) -> Json {
        // Taken apart so that a field that is added and not written does not compile.
        let Self { name, path, description, interpreter, params } = self;
        let text = |text: &str| Json::String(text.to_owned());
        Json::Object(BTreeMap::from([
            ("name".to_owned(), text(name.as_str())),
            ("path".to_owned(), text(path.as_str())),
            ("description".to_owned(), text(description)),
            ("interpreter".to_owned(), text(interpreter.as_str())),
            ("params".to_owned(), Json::Array(params.iter().map(ParamClaim::to_json).collect())),
        ]))
    }

    /// Its name in this manifest.
    pub fn name(&self) -> &ScriptName {
        &self.name
    }

    /// The file.
    pub fn path(&self) -> &RelPath {
        &self.path
    }

    /// What the skill says about it.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The key of the interpreter that it asks for. Whether the host has one by that key is the host's to say (EXE-61).
    pub fn interpreter(&self) -> &InterpreterKey {
        &self.interpreter
    }

    /// Its parameters, in the order of the argument vector.
    pub fn params(&self) -> &[ParamClaim] {
        &self.params
    }
}

impl IsolatedToolClaim {
    /// Its name.
    pub fn name(&self) -> &ToolName {
        &self.name
    }

    /// What the skill says about it.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The file with its source text.
    pub fn source(&self) -> &RelPath {
        &self.source
    }

    /// What arguments must look like.
    pub fn input_schema(&self) -> &Schema {
        &self.input_schema
    }
}

fn scripts(value: &Value<'_>) -> Result<Vec<ScriptClaim>, ManifestError> {
    let mut seen = BTreeSet::new();
    let mut scripts = Vec::new();
    for item in value.items(0..=SCRIPTS_MAX)? {
        let script = script(&item)?;
        if !seen.insert(script.name.clone()) {
            return Err(twice(&item, script.name.as_str()));
        }
        scripts.push(script);
    }
    Ok(scripts)
}

fn script(value: &Value<'_>) -> Result<ScriptClaim, ManifestError> {
    let mut fields = value.fields()?;
    let script = ScriptClaim {
        name: ScriptName::of(&fields.required("name")?)?,
        path: fields.required("path")?.path()?,
        description: fields.required("description")?.prose(DESCRIPTION_CHARS_MAX)?,
        interpreter: InterpreterKey::of(&fields.required("interpreter")?)?,
        params: fields.optional("params").map_or_else(|| Ok(Vec::new()), |v| params(&v))?,
    };
    fields.finish()?;
    Ok(script)
}

fn isolated_tools(value: &Value<'_>) -> Result<Vec<IsolatedToolClaim>, ManifestError> {
    let mut seen = BTreeSet::new();
    let mut tools = Vec::new();
    for item in value.items(0..=ISOLATED_TOOLS_MAX)? {
        let tool = isolated_tool(&item)?;
        if !seen.insert(tool.name.clone()) {
            return Err(twice(&item, tool.name.as_str()));
        }
        tools.push(tool);
    }
    Ok(tools)
}

fn isolated_tool(value: &Value<'_>) -> Result<IsolatedToolClaim, ManifestError> {
    let mut fields = value.fields()?;
    let tool = IsolatedToolClaim {
        name: provider_name(&fields.required("name")?)?,
        description: fields.required("description")?.prose(DESCRIPTION_CHARS_MAX)?,
        source: source(&fields.required("source")?)?,
        input_schema: fields.required("inputSchema")?.schema(Schema::compile_object)?,
    };
    fields.finish()?;
    Ok(tool)
}

fn source(value: &Value<'_>) -> Result<RelPath, ManifestError> {
    let path = value.path()?;
    if path.extension() == Some("js") { Ok(path) } else { Err(value.out_of_rule("end in .js")) }
}

fn tool_outputs(
    value: &Value<'_>,
    scripts: &[ScriptClaim],
    tools: &[IsolatedToolClaim],
) -> Result<BTreeMap<String, ToolOutputClaim>, ManifestError> {
    let mut outputs = BTreeMap::new();
    for (key, output) in value.entries()? {
        let name = ToolName::parse(key).map_err(|error| name_refused(value, error))?;
        let is_script = scripts.iter().any(|script| script.name.as_str() == key);
        let is_tool = tools.iter().any(|tool| tool.name.as_str() == key);
        let fault = match (is_script, is_tool) {
            (true, false) | (false, true) => None,
            (false, false) => Some("declare a script or isolated tool of this name, or remove the entry"),
            (true, true) => Some("a script and an isolated tool have this name; rename one of them"),
        };
        if let Some(fault) = fault {
            return Err(output.refuse(ManifestErrorKind::Value, fault));
        }
        outputs.insert(name.as_str().to_owned(), output.one_of(&TOOL_OUTPUTS)?);
    }
    Ok(outputs)
}

fn twice(value: &Value<'_>, name: &str) -> ManifestError {
    let message = format!("another one is called '{}'; rename one", Shown::inline(name));
    value.refuse(ManifestErrorKind::DuplicateTool, message)
}

impl Coded for ToolNameTooLong {
    fn code(&self) -> Code {
        Code::ToolNameTooLong
    }
}

impl fmt::Display for ToolNameTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chars = self.chars;
        write!(
            f,
            "the tool name would have {chars} characters, more than {TOOL_NAME_CHARS_MAX}; shorten the script's name"
        )
    }
}

impl core::error::Error for ToolNameTooLong {}
