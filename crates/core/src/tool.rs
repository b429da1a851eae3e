//! A tool as the host offers it: name, description, arguments, and the host's own judgement of what a call may do.
//!
//! Everything here but name, description and schema is the host's word. A skill cannot say that its tool is read-only, may be
//! tried twice or needs nobody's yes.

mod failure;
mod registry;

use core::fmt;
use core::time::Duration;

pub use failure::{Failure, Retry};
pub use registry::{RESERVED_PREFIX, Registry, RegistryError};

use crate::code::{Code, Coded};
use crate::json::Json;
use crate::name::{NameError, SkillName, ToolName};
use crate::schema::{Schema, SchemaError};

/// Further attempts of one call, at most.
pub const RETRIES_MAX: u32 = 5;
/// How long one attempt may take, at most.
pub const TIMEOUT_MAX: Duration = Duration::from_hours(1);
/// Characters of a tool's description.
pub const TOOL_DESCRIPTION_CHARS_MAX: usize = 4096;
/// The dialect that published schemas name (XSF-10). The strict subset means the same in it and in later ones.
pub const DRAFT_07: &str = "http://json-schema.org/draft-07/schema#";

/// What contains a tool, weakest first: nothing of ours, the wrapper only, a guest worker, the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// It runs on a server somewhere.
    Remote,
    /// Tier 1: code that the deployer compiled in. Bounded, not confined.
    Module,
    /// Tier 2: JavaScript text of a skill in a guest worker.
    Isolated,
    /// Tier 3: a file of a skill, run by an interpreter in the sandbox.
    Script,
    /// Tier 3 with arguments and result as JSON, both checked.
    Checked,
}

/// What a call may change. What is not known counts as [`Effect::Other`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Nothing.
    ReadOnly,
    /// Something, but twice is as once.
    IdempotentWrite,
    /// Anything.
    #[default]
    Other,
}

/// Who says yes to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Approval {
    /// Nobody needs to. Only for what is harmless under the containment in force.
    Auto,
    /// A callback of the host.
    Policy,
    /// A person.
    Human,
}

/// Where a tool comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The host defines it.
    Host,
    /// A skill that is compiled in.
    CompiledSkill {
        /// Its name.
        skill: SkillName,
    },
    /// A skill that is files.
    Skill {
        /// The label of the source it was found in.
        source: String,
        /// Its name.
        skill: SkillName,
    },
    /// An MCP server.
    Server {
        /// The deployer's label for it.
        server: String,
        /// The deployer's judgement of server and transport (XSF-39).
        trust: Trust,
    },
}

/// Whether the deployer trusts a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// No; the default (XSF-37).
    #[default]
    Untrusted,
    /// Yes.
    Trusted,
}

/// What a [`ToolSpec`] is made from.
#[derive(Clone, Debug)]
pub struct ToolDefinition<'a> {
    /// Snake case for a tool of the host, else what model providers take.
    pub name: &'a str,
    /// For the model; not blank.
    pub description: &'a str,
    /// A schema of the strict subset, an object at its root. Closed at every level for a tool of the host.
    pub input: &'a Json,
    /// What a call may change.
    pub effect: Effect,
    /// Attempts after the first: 0 to 5, and 0 where a second attempt could do harm.
    pub retries: u32,
    /// For each attempt: more than zero, at most an hour. Waiting for a person is not part of it.
    pub timeout: Duration,
    /// What contains it.
    pub tier: Tier,
    /// Where it comes from.
    pub origin: Origin,
    /// Who says yes; `None` for [`Approval::default_for`] its origin.
    pub approval: Option<Approval>,
}

/// A tool that keeps every rule.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    name: ToolName,
    description: String,
    input: Schema,
    published: Vec<u8>,
    effect: Effect,
    retries: u32,
    timeout: Duration,
    tier: Tier,
    origin: Origin,
    approval: Approval,
}

/// Why a tool is not offered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolError {
    /// The name breaks its rule.
    Name(NameError),
    /// The description is blank.
    DescriptionBlank,
    /// The description is too long.
    DescriptionTooLong,
    /// The schema does not compile.
    Schema(SchemaError),
    /// An object in the schema of a host's tool takes properties that it does not declare.
    OpenSchema,
    /// More retries than there may be.
    RetriesTooMany,
    /// A second attempt of such a tool could do harm.
    RetriesUnsafe,
    /// No time at all, or more than there may be.
    Timeout,
    /// What comes from there cannot be contained in that way: a file is never tier 1.
    Tier,
}

impl ToolSpec {
    /// Takes a definition that keeps every rule.
    ///
    /// # Errors
    /// [`ToolError`]: `E_NAME_INVALID`, a code of schemas, or `E_TOOL_INVALID`.
    pub fn new(definition: ToolDefinition<'_>) -> Result<Self, ToolError> {
        let ToolDefinition { name, description, input, effect, retries, timeout, tier, origin, approval } =
            definition;
        let is_host = origin == Origin::Host;
        let name = if is_host { ToolName::parse_snake_case(name) } else { ToolName::parse(name) };
        let name = name.map_err(ToolError::Name)?;
        let schema = Schema::compile_object(input).map_err(ToolError::Schema)?;
        match () {
            () if description.trim().is_empty() => return Err(ToolError::DescriptionBlank),
            () if description.chars().count() > TOOL_DESCRIPTION_CHARS_MAX => {
                return Err(ToolError::DescriptionTooLong);
            }
            () if is_host && !is_closed(input) => return Err(ToolError::OpenSchema),
            () if retries > RETRIES_MAX => return Err(ToolError::RetriesTooMany),
            () if retries > 0 && !may_repeat(effect, tier) => return Err(ToolError::RetriesUnsafe),
            () if timeout.is_zero() || timeout > TIMEOUT_MAX => return Err(ToolError::Timeout),
            () if !fits(&origin, tier) => return Err(ToolError::Tier),
            () => {}
        }
        let approval = approval.unwrap_or(Approval::default_for(&origin));
        let (description, published) = (description.to_owned(), published(input));
        Ok(Self {
            name,
            description,
            input: schema,
            published,
            effect,
            retries,
            timeout,
            tier,
            origin,
            approval,
        })
    }

    /// Its name.
    pub fn name(&self) -> &ToolName {
        &self.name
    }

    /// What a model reads about it. Hostile, if a skill or a server wrote it.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// What arguments must look like.
    pub fn input(&self) -> &Schema {
        &self.input
    }

    /// The same schema as JSON text, as models and clients see it: made once from the definition that was compiled, so that
    /// the two cannot differ (XSF-06, XSF-08).
    pub fn published(&self) -> &[u8] {
        &self.published
    }

    /// What a call may change.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// How long one attempt may take.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// What contains it.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// Where it comes from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Who says yes.
    pub fn approval(&self) -> Approval {
        self.approval
    }

    /// Attempts of one call, at most: `retries` and one (XSF-27).
    pub fn attempts_max(&self) -> u32 {
        self.retries + 1
    }

    /// Whether there is another attempt after `attempts` that were made, the last of which ended in `failure`.
    pub fn retry(&self, failure: Failure, attempts: u32) -> Retry {
        if attempts < self.attempts_max() { failure.retry() } else { Retry::Never }
    }

    /// Whether a fallback of the host may stand in for a result: only for the host's own tools, and never for a
    /// failure that says no.
    pub fn may_fall_back(&self, failure: Failure) -> bool {
        self.origin == Origin::Host && failure.may_fall_back()
    }
}

impl Approval {
    /// Who says yes when the definition does not say: a person for whatever the deployer neither wrote nor trusts (XSF-29,
    /// XSF-38).
    pub fn default_for(origin: &Origin) -> Self {
        match origin {
            Origin::Host | Origin::Server { trust: Trust::Trusted, .. } => Self::Auto,
            Origin::CompiledSkill { .. } | Origin::Skill { .. } | Origin::Server { .. } => Self::Human,
        }
    }

    /// The name in settings and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Policy => "policy",
            Self::Human => "human",
        }
    }
}

impl Tier {
    /// All of them, weakest containment first.
    pub const ALL: [Self; 5] = [Self::Remote, Self::Module, Self::Isolated, Self::Script, Self::Checked];

    /// The name in settings, answers and receipts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Remote => "remote",
            Self::Module => "module",
            Self::Isolated => "isolated",
            Self::Script => "script",
            Self::Checked => "checked",
        }
    }
}

impl Effect {
    /// The name in settings and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::IdempotentWrite => "idempotent_write",
            Self::Other => "other",
        }
    }
}

/// Whether a second attempt can do no more than the first.
fn may_repeat(effect: Effect, tier: Tier) -> bool {
    effect != Effect::Other && !matches!(tier, Tier::Script | Tier::Checked)
}

/// Bytes never become code of the host (EXE-05), and only a server's tool runs elsewhere.
fn fits(origin: &Origin, tier: Tier) -> bool {
    match origin {
        Origin::Host | Origin::CompiledSkill { .. } => tier != Tier::Remote,
        Origin::Skill { .. } => !matches!(tier, Tier::Remote | Tier::Module),
        Origin::Server { .. } => tier == Tier::Remote,
    }
}

/// Whether every object in a schema that compiles refuses what it does not declare (XSF-12, X-25).
fn is_closed(schema: &Json) -> bool {
    let Some(node) = schema.as_object() else { return true };
    let properties = node.get("properties").and_then(Json::as_object);
    let branches = node.get("anyOf").and_then(Json::as_array).unwrap_or_default();
    let is_open = properties.is_some() && node.get("additionalProperties") != Some(&Json::Bool(false));
    let children = properties.into_iter().flat_map(|entries| entries.values());
    !is_open && children.chain(branches).chain(node.get("items")).all(is_closed)
}

fn published(definition: &Json) -> Vec<u8> {
    let mut entries = definition.as_object().cloned().unwrap_or_default();
    entries.insert("$schema".to_owned(), Json::String(DRAFT_07.to_owned()));
    Json::Object(entries).to_bytes()
}

impl Coded for ToolError {
    fn code(&self) -> Code {
        match self {
            Self::Name(error) => error.code(),
            Self::Schema(error) => error.code(),
            _ => Code::ToolInvalid,
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) => error.fmt(f),
            Self::DescriptionBlank => f.write_str("the description is blank"),
            Self::DescriptionTooLong => {
                write!(f, "the description is longer than {TOOL_DESCRIPTION_CHARS_MAX} characters")
            }
            Self::Schema(error) => error.fmt(f),
            Self::OpenSchema => {
                f.write_str("every object in the schema of a host's tool needs additionalProperties: false")
            }
            Self::RetriesTooMany => write!(f, "there are more than {RETRIES_MAX} retries"),
            Self::RetriesUnsafe => f.write_str(
                "only a tool that is read-only or idempotent, and no script, can be tried a second time",
            ),
            Self::Timeout => {
                write!(f, "the timeout must be above zero and at most {} seconds", TIMEOUT_MAX.as_secs())
            }
            Self::Tier => f.write_str("a tool from there cannot be of that tier"),
        }
    }
}

impl core::error::Error for ToolError {}

#[cfg(test)]
mod tests;
