//! A call, from the bytes that a model wrote to arguments that fit the tool.

mod argv;
mod published;

use core::fmt;

pub use argv::{
    ARGUMENTS_MAX, Argument, ArgumentError, ArgumentFault, PATH_BYTES_MAX, ScriptArguments, exact_arguments,
    script_arguments,
};
pub use published::{exact_schema, script_schema};

use crate::code::{Code, Coded};
use crate::digest::Sha256;
use crate::json::{Json, JsonError, JsonErrorKind};
use crate::limits::INVOCATION_BYTES_MAX;
use crate::name::ToolName;
use crate::schema::Issues;
use crate::tool::{Registry, ToolSpec};

/// A call as it arrives: nothing of it is checked.
///
/// `Debug` prints the sizes only, so that it can stand in a log.
#[derive(Clone)]
pub struct RawCall {
    /// The name that was asked for.
    pub tool: String,
    /// The arguments: JSON text, if all is well.
    pub arguments: Vec<u8>,
}

/// A call of a tool that is on offer, with arguments that fit its schema.
#[derive(Clone, Debug)]
pub struct Call {
    tool: ToolName,
    invocation: Invocation,
}

/// Arguments: the value, the bytes that stand for it, and their digest. What is validated, shown, hashed and sent is this
/// one thing (CHK-112).
///
/// The bytes are the value as JSON text without white space and with sorted keys, at most 64 KiB. `Debug` prints the
/// digest only.
#[derive(Clone)]
pub struct Invocation {
    value: Json,
    bytes: Vec<u8>,
    sha256: Sha256,
}

/// Why a call was refused before anybody was asked about it. Holds no value of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// No such tool is on offer. The same for a name that nothing has and one that may not be used here (GRT-10).
    UnknownTool,
    /// The arguments are not JSON within the bounds.
    Json(JsonError),
    /// The arguments do not match the schema.
    Schema(Issues),
}

impl Invocation {
    /// Reads arguments: one JSON value of at most 64 KiB (CHK-104).
    ///
    /// # Errors
    /// [`JsonError`], also when the canonical bytes would be more than 64 KiB: a short way to write a number can have a
    /// longer canonical one.
    pub fn parse(text: &[u8]) -> Result<Self, JsonError> {
        let value = Json::parse(text, INVOCATION_BYTES_MAX)?;
        let bytes = value.to_bytes();
        if bytes.len() > INVOCATION_BYTES_MAX {
            let kind = JsonErrorKind::TooLarge { bytes_max: INVOCATION_BYTES_MAX };
            return Err(JsonError { kind, place: None });
        }
        let sha256 = Sha256::of(&bytes);
        Ok(Self { value, bytes, sha256 })
    }

    /// The value.
    pub fn value(&self) -> &Json {
        &self.value
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Their digest: all that a record keeps of the arguments.
    pub fn sha256(&self) -> Sha256 {
        self.sha256
    }
}

impl Call {
    /// Finds the tool, then reads and checks the arguments: steps one and two of the gate. Nothing is coerced, filled in or
    /// taken out.
    ///
    /// # Errors
    /// [`CallError`]: `E_TOOL_UNKNOWN`, a code of JSON, or `E_SCHEMA_MISMATCH`.
    pub fn validate(raw: &RawCall, registry: &Registry) -> Result<Self, CallError> {
        let tool = registry.get(&raw.tool).ok_or(CallError::UnknownTool)?;
        Self::of_tool(tool, &raw.arguments)
    }

    /// The same for a tool that was found already.
    ///
    /// # Errors
    /// As [`Call::validate`].
    pub fn of_tool(tool: &ToolSpec, arguments: &[u8]) -> Result<Self, CallError> {
        let invocation = Invocation::parse(arguments).map_err(CallError::Json)?;
        tool.input().validate(&invocation.value).map_err(CallError::Schema)?;
        Ok(Self { tool: tool.name().clone(), invocation })
    }

    /// The tool.
    pub fn tool(&self) -> &ToolName {
        &self.tool
    }

    /// The arguments.
    pub fn invocation(&self) -> &Invocation {
        &self.invocation
    }
}

impl Coded for CallError {
    fn code(&self) -> Code {
        match self {
            Self::UnknownTool => Code::ToolUnknown,
            Self::Json(error) => error.code(),
            Self::Schema(issues) => issues.code(),
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTool => f.write_str("no tool of this name can be called here"),
            Self::Json(error) => write!(f, "the arguments cannot be read: {error}"),
            Self::Schema(issues) => write!(f, "the arguments do not fit: {issues}"),
        }
    }
}

impl core::error::Error for CallError {}

impl fmt::Debug for RawCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tool, arguments) = (self.tool.len(), self.arguments.len());
        write!(f, "RawCall({tool} bytes of name, {arguments} bytes of arguments)")
    }
}

impl fmt::Debug for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invocation({} bytes, sha256 {})", self.bytes.len(), self.sha256)
    }
}

#[cfg(test)]
mod tests;
