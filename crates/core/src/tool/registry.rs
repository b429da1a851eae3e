//! The tools on offer, each under a name of its own.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use super::ToolSpec;
use crate::code::{Code, Coded};
use crate::name::ToolName;

/// What the names of the readers of artifacts begin with. Kept for them whether or not there is an artifact, and in any
/// case of letters (RES-28, RES-29).
pub const RESERVED_PREFIX: &str = "artifact_";

/// Tools by name.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    tools: BTreeMap<ToolName, ToolSpec>,
}

/// Why tools were not taken. The name is one that keeps the rule for names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegistryError {
    /// A tool of that name is there.
    Collision(ToolName),
    /// The name is kept for readers of artifacts.
    Reserved(ToolName),
    /// Two of the tools have that name.
    Duplicate(ToolName),
}

impl Registry {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes all of these tools, or none. Nothing is ever replaced (EXE-25).
    ///
    /// # Errors
    /// [`RegistryError`]: `E_SKILL_TOOL_DUPLICATE` for a name that two of them have, `E_SKILL_TOOL_COLLISION` for one that
    /// is taken or reserved.
    pub fn register(&mut self, tools: Vec<ToolSpec>) -> Result<(), RegistryError> {
        let mut seen = BTreeSet::new();
        for name in tools.iter().map(ToolSpec::name) {
            match () {
                () if !seen.insert(name) => return Err(RegistryError::Duplicate(name.clone())),
                () if is_reserved(name) => return Err(RegistryError::Reserved(name.clone())),
                () if self.tools.contains_key(name) => return Err(RegistryError::Collision(name.clone())),
                () => {}
            }
        }
        self.tools.extend(tools.into_iter().map(|tool| (tool.name().clone(), tool)));
        Ok(())
    }

    /// Takes a tool off the offer. Whether it was on it.
    pub fn remove(&mut self, name: &ToolName) -> bool {
        self.tools.remove(name).is_some()
    }

    /// The tool of exactly that name.
    pub fn get(&self, name: &str) -> Option<&ToolSpec> {
        ToolName::parse(name).ok().and_then(|name| self.tools.get(&name))
    }

    /// All tools, by name.
    pub fn tools(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values()
    }
}

fn is_reserved(name: &ToolName) -> bool {
    let start = name.as_str().get(..RESERVED_PREFIX.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(RESERVED_PREFIX))
}

impl Coded for RegistryError {
    fn code(&self) -> Code {
        match self {
            Self::Collision(_) | Self::Reserved(_) => Code::ToolCollision,
            Self::Duplicate(_) => Code::ToolDuplicate,
        }
    }
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Collision(name) => write!(f, "there is a tool called {name} already"),
            Self::Reserved(name) => {
                write!(f, "the name {name} is not to be had: {RESERVED_PREFIX} is for readers of artifacts")
            }
            Self::Duplicate(name) => write!(f, "two tools are called {name}"),
        }
    }
}

impl core::error::Error for RegistryError {}
