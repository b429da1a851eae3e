//! What an agent is told about skills.

use serde::Serialize;

use super::ShowReport;

/// The skills that a name stands for.
#[derive(Clone, Debug, Serialize)]
pub struct SurveyReport {
    /// 1.
    pub schema_version: u32,
    /// The skills, by name.
    pub skills: Vec<SurveyedSkill>,
    /// How many more there are in projects that nobody trusted.
    pub inert: usize,
    /// How many cannot be loaded, and are left out of the skills for that.
    pub refused: usize,
    /// Whether everything was searched that the rules allow.
    pub complete: bool,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SurveyedSkill {
    /// The name it is looked up by.
    pub name: String,
    /// The description, at most 1,024 characters.
    pub description: String,
    /// The label of its source.
    pub source: String,
    /// Whether it carries scripts.
    pub has_scripts: bool,
    /// Whether they could run, on a person's word: nothing of the skill and of the settings is in the way.
    pub scripts_available: bool,
    /// Whether it has a checked tool that could run.
    pub tool_available: bool,
}

/// A skill with its instructions.
#[derive(Clone, Debug, Serialize)]
pub struct LoadReport {
    /// 1.
    pub schema_version: u32,
    /// What follows the frontmatter of SKILL.md, byte for byte. Its author's words, never obeyed by the host.
    pub body: String,
    /// The skill.
    pub skill: ShowReport,
}

impl SurveyReport {
    /// No skills.
    pub fn empty() -> Self {
        Self {
            schema_version: super::SCHEMA_VERSION,
            skills: Vec::new(),
            inert: 0,
            refused: 0,
            complete: false,
        }
    }
}
