//! What a skill says about itself, as it is shown. Claims grant nothing.

use fumehood_core::Json;
use fumehood_core::allowed_tools::AllowedTools;
use fumehood_core::inspect::Inspection;
use fumehood_core::manifest::{
    ExecutionManifest, FumehoodManifest, INTEGER_MAX, ParamClaim, ParamKind, ScriptClaim,
};
use fumehood_core::yaml::Entry;
use serde::ser::{Serialize, SerializeMap as _, Serializer};

/// Frontmatter as a JSON object, every field in the order written.
#[derive(Clone, Debug)]
pub struct Frontmatter(pub(crate) Vec<Entry>);

impl Serialize for Frontmatter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for entry in &self.0 {
            map.serialize_entry(&entry.key, &entry.value.value)?;
        }
        map.end()
    }
}

/// Everything a skill claims beyond its name and description.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Claims {
    /// Tools it asks its host for: null if it says nothing, an empty list if it asks for none or could not be read.
    pub allowed_tools: Option<Vec<String>>,
    /// Its licence.
    pub license: Option<String>,
    /// What it says it needs.
    pub compatibility: Option<String>,
    /// `execution.json`, if it was accepted.
    pub execution: Option<ExecutionClaim>,
    /// `fumehood.json`, if it was accepted.
    pub fumehood: Option<FumehoodClaim>,
}

/// A checked tool, as declared.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ExecutionClaim {
    /// The module that would run.
    pub entrypoint: String,
    /// The files it would see.
    pub files: Vec<String>,
    /// Milliseconds it asks for.
    pub timeout_ms: u128,
    /// Bytes of output it asks for.
    pub output_bytes_max: u32,
    /// What it takes.
    pub input_schema: Json,
    /// What it gives.
    pub output_schema: Json,
}

/// Scripts and isolated tools, as declared.
#[derive(Clone, Debug, serde::Serialize)]
pub struct FumehoodClaim {
    /// Scripts.
    pub scripts: Vec<ScriptOut>,
    /// Isolated tools.
    pub isolated_tools: Vec<IsolatedToolOut>,
    /// The shape each tool says it answers in.
    pub tool_outputs: std::collections::BTreeMap<String, &'static str>,
    /// The artifact kind it suggests.
    pub artifact_kind: Option<String>,
    /// How its body would like to reach a model.
    pub channel: Option<&'static str>,
}

/// Scripts that the deployer declares for a skill of somebody else.
#[derive(Clone, Debug, serde::Serialize)]
pub struct OverlayOut {
    /// Whether it was confirmed for this revision. If not, it counts for nothing.
    pub confirmed: bool,
    /// Its scripts.
    pub scripts: Vec<ScriptOut>,
}

/// A script, as declared.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ScriptOut {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: String,
    /// What it does.
    pub description: String,
    /// The key of its interpreter.
    pub interpreter: String,
    /// Its parameters.
    pub params: Vec<ParamOut>,
}

/// A parameter, as declared.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ParamOut {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// What it is for.
    pub description: Option<String>,
    /// The flag before it; null if it is positional.
    pub flag: Option<String>,
    /// Whether a call must give it.
    pub required: bool,
    /// What becomes of the file that a path names: `read`, `write` or `create`; null for another type.
    pub access: Option<&'static str>,
    /// The texts of which an enum is one; null for another type.
    pub values: Option<Vec<String>>,
    /// The least that a number may be; null if nothing is said.
    pub minimum: Option<Json>,
    /// The most that a number may be; null if nothing is said.
    pub maximum: Option<Json>,
}

/// An isolated tool, as declared.
#[derive(Clone, Debug, serde::Serialize)]
pub struct IsolatedToolOut {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its source file.
    pub source: String,
    /// What it takes.
    pub input_schema: Json,
}

impl Claims {
    pub(crate) fn of(inspection: &Inspection) -> Self {
        let skill = inspection.skill.as_ref();
        let allowed_tools = skill.and_then(|skill| match &skill.allowed_tools {
            AllowedTools::Absent => None,
            AllowedTools::Declared(tools) => Some(tools.clone()),
        });
        Self {
            allowed_tools,
            license: skill.and_then(|skill| skill.license.clone()),
            compatibility: skill.and_then(|skill| skill.compatibility.clone()),
            execution: inspection.execution.accepted().map(ExecutionClaim::of),
            fumehood: inspection.fumehood.accepted().map(FumehoodClaim::of),
        }
    }
}

impl ExecutionClaim {
    fn of(manifest: &ExecutionManifest) -> Self {
        Self {
            entrypoint: manifest.entrypoint().to_string(),
            files: manifest.files().iter().map(ToString::to_string).collect(),
            timeout_ms: manifest.timeout().as_millis(),
            output_bytes_max: manifest.output_bytes_max(),
            input_schema: manifest.input_schema().to_json().clone(),
            output_schema: manifest.output_schema().to_json().clone(),
        }
    }
}

impl FumehoodClaim {
    fn of(manifest: &FumehoodManifest) -> Self {
        let isolated_tools = manifest.isolated_tools().iter().map(|tool| IsolatedToolOut {
            name: tool.name().to_string(),
            description: tool.description().to_owned(),
            source: tool.source().to_string(),
            input_schema: tool.input_schema().to_json().clone(),
        });
        Self {
            scripts: manifest.scripts().iter().map(ScriptOut::of).collect(),
            isolated_tools: isolated_tools.collect(),
            tool_outputs: manifest
                .tool_outputs()
                .map(|(tool, shape)| (tool.to_owned(), shape.as_str()))
                .collect(),
            artifact_kind: manifest.artifact_kind().map(|kind| kind.as_str().to_owned()),
            channel: manifest.channel().map(fumehood_core::manifest::ChannelClaim::as_str),
        }
    }
}

impl ScriptOut {
    pub(crate) fn of(script: &ScriptClaim) -> Self {
        Self {
            name: script.name().as_str().to_owned(),
            path: script.path().to_string(),
            description: script.description().to_owned(),
            interpreter: script.interpreter().as_str().to_owned(),
            params: script.params().iter().map(ParamOut::of).collect(),
        }
    }
}

impl ParamOut {
    fn of(param: &ParamClaim) -> Self {
        // A bound that every integer has says nothing.
        let bound = |bound: i64| (bound.abs() < INTEGER_MAX).then(|| Json::Number(bound.into()));
        let (minimum, maximum) = match param.kind() {
            ParamKind::Integer { minimum, maximum } => (bound(*minimum), bound(*maximum)),
            ParamKind::Number { minimum, maximum } => (minimum.map(Json::Number), maximum.map(Json::Number)),
            _ => (None, None),
        };
        Self {
            name: param.name().as_str().to_owned(),
            kind: param.kind().type_name(),
            description: param.description().map(str::to_owned),
            flag: param.flag().map(|flag| flag.as_str().to_owned()),
            required: param.is_required(),
            access: match param.kind() {
                ParamKind::Path { access } => Some(access.as_str()),
                _ => None,
            },
            values: match param.kind() {
                ParamKind::Enum { values } => Some(values.clone()),
                _ => None,
            },
            minimum,
            maximum,
        }
    }
}
