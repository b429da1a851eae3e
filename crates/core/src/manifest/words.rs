//! The small words of the manifests: names, keys, flags and closed lists.

use core::fmt;

use super::fields::{Fields, Value};
use super::{ManifestError, ManifestErrorKind};
use crate::name::{NameError, ToolName};

/// The one version of both manifests.
pub const SCHEMA_VERSION: i64 = 1;
/// Characters of any description in a manifest.
pub const DESCRIPTION_CHARS_MAX: usize = 1024;
/// Characters of a parameter's name.
pub const PARAM_NAME_CHARS_MAX: usize = 64;
/// Characters of a flag, dashes included.
pub const FLAG_CHARS_MAX: usize = 64;
/// Characters of an interpreter key.
pub const INTERPRETER_KEY_CHARS_MAX: usize = 32;
/// The rule for names of scripts, isolated tools and artifact kinds, as the published schema writes it.
pub const PROVIDER_NAME_PATTERN: &str = "^[A-Za-z_][A-Za-z0-9_-]{0,63}$";
/// The rule for names of parameters (at most 64 characters), as the published schema writes it.
pub const PARAM_NAME_PATTERN: &str = "^[a-z][a-z0-9]*(_[a-z0-9]+)*$";
/// The rule for flags (at most 64 characters), as the published schema writes it.
pub const FLAG_PATTERN: &str = "^--?[A-Za-z0-9][A-Za-z0-9_-]*$";
/// The rule for interpreter keys, as the published schema writes it.
pub const INTERPRETER_KEY_PATTERN: &str = "^[a-z][a-z0-9_.+-]{0,31}$";

macro_rules! words {
    ($( $(#[$doc:meta])+ $name:ident )*) => { $(
        $(#[$doc])+
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )* };
}

words! {
    /// What a skill calls a script of its own: `[A-Za-z_][A-Za-z0-9_-]{0,63}`. No tool's name yet; see
    /// [`tool_name`](super::tool_name).
    ScriptName
    /// The kind of artifact that a skill would like its results to be. Only advice: the host's own binding comes first
    /// (RES-24).
    ArtifactKindClaim
    /// Snake case, at most 64 characters: `[a-z][a-z0-9]*(_[a-z0-9]+)*`.
    ParamName
    /// `-x` or `--name`, at most 64 characters: `--?[A-Za-z0-9][A-Za-z0-9_-]*`.
    Flag
    /// The name of an interpreter in the deployer's list, never a path: `[a-z][a-z0-9_.+-]{0,31}`.
    InterpreterKey
}

/// The shape that a tool's result is said to have (RES-15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolOutputClaim {
    /// Text.
    Text,
    /// Bytes without a type.
    Binary,
    /// Bytes with a media type.
    Media,
    /// Something kept beyond the run.
    Retrievable,
}

/// How the skill would like its results handed over. A wish; the host decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelClaim {
    /// By handle, read in pages.
    Handle,
    /// In the answer itself.
    Inline,
}

pub(super) const TOOL_OUTPUTS: [(&str, ToolOutputClaim); 4] = [
    ("text", ToolOutputClaim::Text),
    ("binary", ToolOutputClaim::Binary),
    ("media", ToolOutputClaim::Media),
    ("retrievable", ToolOutputClaim::Retrievable),
];
pub(super) const CHANNELS: [(&str, ChannelClaim); 2] =
    [("handle", ChannelClaim::Handle), ("inline", ChannelClaim::Inline)];

impl ToolOutputClaim {
    /// The word that the manifest uses.
    pub fn as_str(self) -> &'static str {
        word(&TOOL_OUTPUTS, self)
    }
}

impl ChannelClaim {
    /// The word that the manifest uses.
    pub fn as_str(self) -> &'static str {
        word(&CHANNELS, self)
    }
}

/// The word for a meaning of a list that has one for each.
pub(super) fn word<T: Copy + PartialEq>(words: &[(&'static str, T)], meaning: T) -> &'static str {
    words.iter().find(|(_, each)| *each == meaning).map_or("", |(word, _)| word)
}

/// Takes `schemaVersion`, first of all fields: a later version may have other ones, and this is the error to give.
pub(super) fn version(fields: &mut Fields<'_>) -> Result<(), ManifestError> {
    let value = fields.required("schemaVersion")?;
    if value.number()?.as_i64() == Some(SCHEMA_VERSION) {
        return Ok(());
    }
    let message = format!("it must be {SCHEMA_VERSION}, the only version that this fumehood reads");
    Err(value.refuse(ManifestErrorKind::Version, message))
}

impl ScriptName {
    pub(super) fn of(value: &Value<'_>) -> Result<Self, ManifestError> {
        provider_name(value).map(|name| Self(name.as_str().to_owned()))
    }
}

impl ArtifactKindClaim {
    pub(super) fn of(value: &Value<'_>) -> Result<Self, ManifestError> {
        provider_name(value).map(|name| Self(name.as_str().to_owned()))
    }
}

impl ParamName {
    pub(super) fn of(value: &Value<'_>) -> Result<Self, ManifestError> {
        let text = value.text()?;
        let word = |word: &str| !word.is_empty() && word.bytes().all(is_lower_or_digit);
        let fits = text.len() <= PARAM_NAME_CHARS_MAX
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.split('_').all(word);
        let rule = format!("be snake_case of at most {PARAM_NAME_CHARS_MAX} characters, such as input_file");
        if fits { Ok(Self(text.to_owned())) } else { Err(value.out_of_rule(rule)) }
    }
}

impl Flag {
    pub(super) fn of(value: &Value<'_>) -> Result<Self, ManifestError> {
        let text = value.text()?;
        let name = text.strip_prefix("--").or_else(|| text.strip_prefix('-')).unwrap_or_default();
        let inner = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        let fits = text.len() <= FLAG_CHARS_MAX
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.bytes().all(inner);
        let rule = format!("be a flag such as -o or --output of at most {FLAG_CHARS_MAX} characters");
        if fits { Ok(Self(text.to_owned())) } else { Err(value.out_of_rule(rule)) }
    }
}

impl InterpreterKey {
    /// Reads a key; `None` if it breaks the rule.
    pub fn parse(text: &str) -> Option<Self> {
        let inner = |b: u8| is_lower_or_digit(b) || matches!(b, b'_' | b'.' | b'+' | b'-');
        let fits = text.len() <= INTERPRETER_KEY_CHARS_MAX
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.bytes().all(inner);
        fits.then(|| Self(text.to_owned()))
    }

    pub(super) fn of(value: &Value<'_>) -> Result<Self, ManifestError> {
        let rule = "be the key of an interpreter such as python3, lower case, never a path or a command";
        Self::parse(value.text()?).ok_or_else(|| value.out_of_rule(rule))
    }
}

/// A name by the rule of tool names.
pub(super) fn provider_name(value: &Value<'_>) -> Result<ToolName, ManifestError> {
    ToolName::parse(value.text()?).map_err(|error| name_refused(value, error))
}

pub(super) fn name_refused(value: &Value<'_>, error: NameError) -> ManifestError {
    let message = format!("{error}; begin with a letter or '_' and go on with letters, digits, '_' and '-'");
    value.refuse(ManifestErrorKind::Name(error), message)
}

fn is_lower_or_digit(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}
