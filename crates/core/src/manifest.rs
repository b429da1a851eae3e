//! What the two manifests of a skill claim: `execution.json` and `fumehood.json`, read strictly.
//!
//! A manifest that parses is well-formed and nothing more. Whether the files it names exist, are plain files and are no
//! links is for the inspection to find (see `declared_paths` of each); whether anything may run is for a policy.

mod execution;
mod fields;
mod fumehood;
mod param;
mod words;

use core::fmt;

pub use execution::{
    ENTRYPOINT_EXTENSIONS, EXECUTION_OUTPUT_BYTES_DEFAULT, EXECUTION_OUTPUT_BYTES_MAX,
    EXECUTION_OUTPUT_BYTES_MIN, EXECUTION_TIMEOUT_MS_DEFAULT, EXECUTION_TIMEOUT_MS_MAX,
    EXECUTION_TIMEOUT_MS_MIN, ExecutionManifest,
};
pub use fumehood::{
    FumehoodManifest, ISOLATED_TOOLS_MAX, IsolatedToolClaim, SCRIPTS_MAX, ScriptClaim, TOOL_NAME_CHARS_WARN,
    ToolNameTooLong, checked_tool_name, long_tool_name, tool_name,
};
pub use param::{
    ENUM_VALUE_BYTES_MAX, ENUM_VALUES_MAX, INTEGER_MAX, PARAMS_MAX, ParamClaim, ParamKind, PathAccess,
    RESERVED_PARAM_NAMES, STRING_CHARS_DEFAULT, STRING_CHARS_MAX,
};
pub use words::{
    ArtifactKindClaim, ChannelClaim, DESCRIPTION_CHARS_MAX, FLAG_CHARS_MAX, FLAG_PATTERN, Flag,
    INTERPRETER_KEY_CHARS_MAX, INTERPRETER_KEY_PATTERN, InterpreterKey, PARAM_NAME_CHARS_MAX,
    PARAM_NAME_PATTERN, PROVIDER_NAME_PATTERN, ParamName, SCHEMA_VERSION, ScriptName, ToolOutputClaim,
};

use crate::code::{Code, Coded};
use crate::diagnostic::Place;
use crate::json::JsonErrorKind;
use crate::name::NameError;
use crate::path::PathReason;
use crate::shown::Shown;

/// Why a manifest was refused: what, where, and what to do about it.
///
/// The whole manifest is refused for its first fault; the skill stays readable. Text of the author appears in the
/// message only through [`Shown`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestError {
    kind: ManifestErrorKind,
    pointer: String,
    place: Option<Place>,
    message: String,
}

/// What is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ManifestErrorKind {
    /// The text is not JSON within the bounds.
    Json(JsonErrorKind),
    /// `schemaVersion` is not 1.
    Version,
    /// A field that this object does not have.
    UnknownField {
        /// The fields that it has. For a parameter this depends on its type.
        known: Vec<&'static str>,
    },
    /// A field that must be there is not.
    MissingField,
    /// A value of another JSON type.
    Type,
    /// A value outside its range, its list or its rule.
    Value,
    /// A path that is not portable.
    Path(PathReason),
    /// Two paths that are one file on some systems.
    Collision,
    /// A name that breaks its rule.
    Name(NameError),
    /// A tool name above 64 characters.
    ToolNameTooLong,
    /// A name, flag or value twice where each may stand once.
    Duplicate,
    /// Two tools of one skill with one name.
    DuplicateTool,
    /// A schema that was refused, with the code of its error.
    Schema(Code),
}

impl ManifestError {
    fn new(kind: ManifestErrorKind, pointer: &str, message: impl Into<String>) -> Self {
        Self { kind, pointer: pointer.to_owned(), place: None, message: message.into() }
    }

    /// What is wrong.
    pub fn kind(&self) -> &ManifestErrorKind {
        &self.kind
    }

    /// The JSON pointer of the value that is wrong, or of the object that has or lacks the field. Empty for the whole.
    /// It may hold text of the author.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// Where in the text, when the text is not JSON. Columns count bytes.
    pub fn place(&self) -> Option<Place> {
        self.place
    }
}

impl Coded for ManifestError {
    fn code(&self) -> Code {
        match self.kind {
            ManifestErrorKind::Json(kind) => kind.code(),
            ManifestErrorKind::Path(_) => Code::PathRejected,
            ManifestErrorKind::Collision => Code::PathCollision,
            ManifestErrorKind::Name(_) => Code::NameInvalid,
            ManifestErrorKind::ToolNameTooLong => Code::ToolNameTooLong,
            ManifestErrorKind::DuplicateTool => Code::ToolDuplicate,
            ManifestErrorKind::Schema(code) => code,
            ManifestErrorKind::Version
            | ManifestErrorKind::UnknownField { .. }
            | ManifestErrorKind::MissingField
            | ManifestErrorKind::Type
            | ManifestErrorKind::Value
            | ManifestErrorKind::Duplicate => Code::ManifestField,
        }
    }
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.pointer.is_empty() {
            write!(f, "{}: ", Shown::inline(&self.pointer))?;
        }
        f.write_str(&self.message)
    }
}

impl core::error::Error for ManifestError {}

#[cfg(test)]
mod tests;
