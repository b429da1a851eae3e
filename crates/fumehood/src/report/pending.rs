//! The answers of `pending`, `approve` and `deny`.

use serde::{Deserialize, Serialize};

use super::{Question, SCHEMA_VERSION};

/// The answer of `pending`.
#[derive(Clone, Debug, Serialize)]
pub struct PendingReport {
    /// 1.
    pub schema_version: u32,
    /// The requests that nobody has answered, of all processes, oldest first.
    pub requests: Vec<PendingRequest>,
    /// Processes that hold requests and did not say which.
    pub silent_processes: usize,
}

/// A request for approval that nobody has answered, in short.
///
/// Everything a skill's author or a caller wrote in it is as they wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingRequest {
    /// Its id: `ask_` and 32 hex digits.
    pub id: String,
    /// Who asks, as the host calls it.
    pub agent: String,
    /// The run in which it asks.
    pub run: String,
    /// The tool.
    pub tool: String,
    /// The skill it comes from, as `source:name`.
    pub skill: String,
    /// The file of the skill that would run.
    pub file: String,
    /// The first 1,000 characters of its arguments as JSON text: enough to tell one request from another. The question has all.
    pub arguments: String,
    /// How many characters of them are left out.
    pub arguments_cut: usize,
    /// When it was made, in milliseconds since 1970 by the wall clock.
    pub created_unix_ms: u64,
    /// When it expires, by the same clock.
    pub expires_unix_ms: u64,
}

/// The answer of `approve` and `deny`.
#[derive(Clone, Debug, Serialize)]
pub struct DecisionReport {
    /// 1.
    pub schema_version: u32,
    /// `approved` or `denied`.
    pub decision: &'static str,
    /// What was answered.
    pub request: PendingRequest,
}

impl PendingRequest {
    pub(crate) fn of(question: &Question) -> Self {
        // Bounded, so that a full desk fits into one answer.
        let cut = question.arguments.char_indices().nth(ARGUMENTS_CHARS_MAX);
        let (shown, rest) = question.arguments.split_at(cut.map_or(question.arguments.len(), |(at, _)| at));
        Self {
            id: question.id.clone(),
            agent: question.agent.clone(),
            run: question.run.clone(),
            tool: question.tool.clone(),
            skill: format!("{}:{}", question.skill.source, question.skill.name),
            file: question.file.clone(),
            arguments: shown.to_owned(),
            arguments_cut: rest.chars().count(),
            created_unix_ms: question.created_unix_ms,
            expires_unix_ms: question.expires_unix_ms,
        }
    }
}

impl DecisionReport {
    pub(crate) fn of(question: &Question, decision: &'static str) -> Self {
        Self { schema_version: SCHEMA_VERSION, decision, request: PendingRequest::of(question) }
    }
}

const ARGUMENTS_CHARS_MAX: usize = 1_000;
