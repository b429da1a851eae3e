//! The shapes of what `policy` says.

use std::path::PathBuf;

use serde::Serialize;

use super::Reason;

/// The answer of `policy check`.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyCheckReport {
    /// 1.
    pub schema_version: u32,
    /// Where the file is, or would be.
    pub path: PathBuf,
    /// `absent` (every call is asked about), `read`, or `unreadable` (nothing runs).
    pub state: &'static str,
    /// The mode that is in force: `blocked` where the file is unreadable.
    pub mode: &'static str,
    /// Rules that are in force.
    pub rules: usize,
    /// Cases for `policy test`.
    pub cases: usize,
    /// The digest of the policy that is in force, to which each approval is bound: 64 hex digits.
    pub sha256: String,
    /// What is wrong with the file, if it is unreadable.
    pub error: Option<PolicyErrorOut>,
    /// What is worth a second look, rule by rule.
    pub findings: Vec<PolicyFinding>,
    /// What keeps programs of skills from running here, whatever their skill and whatever is decided about them; empty if nothing
    /// does. Those of [`Reason::is_about_scripts`] keep scripts from running too.
    pub unavailable: Vec<Reason>,
}

/// The answer of `policy mode` and `policy edit`.
#[derive(Clone, Debug, Serialize)]
pub struct PolicySavedReport {
    /// 1.
    pub schema_version: u32,
    /// Where the file is, or would be.
    pub path: PathBuf,
    /// Whether it was changed; `false` if there was nothing to change.
    pub changed: bool,
    /// The mode that is in force.
    pub mode: &'static str,
    /// Rules that are in force.
    pub rules: usize,
    /// Cases for `policy test`.
    pub cases: usize,
    /// The digest of the file before: 64 hex digits; null if there was none.
    pub file_sha256_before: Option<String>,
    /// The digest of the file: 64 hex digits; null if there is none.
    pub file_sha256: Option<String>,
}

/// What is wrong with `policy.toml`.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyErrorOut {
    /// The code.
    pub code: &'static str,
    /// The line, from 1; null if the text was not looked at.
    pub line: Option<usize>,
    /// The character in it, from 1.
    pub column: Option<usize>,
    /// What is wrong.
    pub message: String,
}

/// What the person may not have meant.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyFinding {
    /// The code.
    pub code: &'static str,
    /// A sentence.
    pub message: String,
}

/// The answer of `policy explain`. No value of an argument is in it.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyExplainReport {
    /// 1.
    pub schema_version: u32,
    /// The tool.
    pub tool: String,
    /// The skill's qualified name.
    pub skill: String,
    /// Its revision.
    pub revision: String,
    /// What contains it; null if that is not known.
    pub tier: Option<&'static str>,
    /// The mode.
    pub mode: &'static str,
    /// `deny`, `ask` or `allow`.
    pub outcome: &'static str,
    /// What decides.
    pub why: String,
    /// The rule that decides, if one does.
    pub rule: Option<String>,
    /// The receipt of the trust scope that decides, if one does.
    pub scope: Option<String>,
    /// Every rule, in the order of the file.
    pub rules: Vec<RuleExplained>,
    /// Every trust scope for the same skill and tool.
    pub scopes: Vec<ScopeExplained>,
}

/// What one rule says about the call.
#[derive(Clone, Debug, Serialize)]
pub struct RuleExplained {
    /// Its name.
    pub name: String,
    /// What it would say: `deny`, `ask` or `allow`.
    pub outcome: &'static str,
    /// Whether it matches.
    pub matches: bool,
    /// Whether it decides.
    pub decides: bool,
    /// What does not simply hold.
    pub reasons: Vec<String>,
}

/// What one trust scope says about the call.
#[derive(Clone, Debug, Serialize)]
pub struct ScopeExplained {
    /// Its id, as `trust list` shows it.
    pub id: String,
    /// Whether it covers the call.
    pub covers: bool,
    /// Why not, if it does not.
    pub reason: Option<String>,
}

/// The answer of `policy test`.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyTestReport {
    /// 1.
    pub schema_version: u32,
    /// Every case, in the order of the file.
    pub cases: Vec<CaseOut>,
    /// Cases that came out as expected.
    pub met: usize,
    /// Cases that did not.
    pub missed: usize,
}

/// What came of a case.
#[derive(Clone, Debug, Serialize)]
pub struct CaseOut {
    /// Its name.
    pub name: String,
    /// Whether it came out as expected.
    pub met: bool,
    /// The outcome that was expected.
    pub expected: &'static str,
    /// The rule that was expected to decide, if one was named.
    pub expected_rule: Option<String>,
    /// The outcome.
    pub outcome: &'static str,
    /// What decided.
    pub why: String,
    /// For a case that came out otherwise: what each rule says. Empty for all others.
    pub rules: Vec<RuleExplained>,
}
