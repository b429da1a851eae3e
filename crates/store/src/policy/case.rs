//! Cases that the person wrote to try out the rules: facts, and what should come of them.

use std::collections::BTreeMap;
use std::time::Duration;

use fumehood_core::limits::JSON_DEPTH_MAX;
use fumehood_core::policy::{
    ArgumentFacts, Explanation, Fact, NetworkUse, Outcome, PathFact, PolicyFacts, PolicyTier, RevisionPin,
    SourceName, Supposed, WorkspaceFact,
};
use fumehood_core::shown::is_hidden;
use fumehood_core::tool::Effect;
use fumehood_core::{AgentLabel, HostPath, Json, Policy, Shown, SkillName, ToolName};
use serde::Deserialize;

use super::PolicyFile;
use super::tables::{
    NO_WORKSPACE, agent_label, effect, network_use, one, policy_tier, revision_pin, skill_name, tool_name,
};
use crate::config_file::json;

/// One case. Trust scopes count for nothing in it, since its revision is only written down.
#[derive(Clone, Debug)]
pub struct PolicyCase {
    name: String,
    expected: Outcome,
    rule: Option<String>,
    facts: CaseFacts,
}

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseResult {
    /// Whether it is what was expected: the outcome, and the rule if one was named.
    pub is_met: bool,
    /// What would be decided.
    pub decided: Supposed,
}

/// The facts; what the person left out is missing.
#[derive(Clone, Debug)]
struct CaseFacts {
    agent: Option<AgentLabel>,
    source: Option<String>,
    id: Option<SkillName>,
    revision: Option<RevisionPin>,
    tool: Option<ToolName>,
    tier: Option<PolicyTier>,
    effect: Option<Effect>,
    network: Option<NetworkUse>,
    workspace: Fact<HostPath>,
    /// Whether the tool is known to be no skill's.
    is_no_skill: bool,
    arguments: Option<Json>,
    paths: BTreeMap<String, HostPath>,
    timeout_seconds: Option<u64>,
    output_bytes: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CaseTable {
    name: String,
    expect: String,
    rule: Option<String>,
    facts: FactsTable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FactsTable {
    agent: Option<String>,
    source: Option<String>,
    id: Option<String>,
    revision: Option<String>,
    tool: Option<String>,
    tier: Option<String>,
    effect: Option<String>,
    network: Option<String>,
    workspace: Option<String>,
    skill: Option<bool>,
    arguments: Option<toml::Table>,
    #[serde(default)]
    paths: BTreeMap<String, String>,
    timeout_seconds: Option<u64>,
    output_bytes: Option<u64>,
}

impl PolicyCase {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is expected.
    pub fn expected(&self) -> Outcome {
        self.expected
    }

    /// The rule that is expected to decide, if one was named.
    pub fn rule(&self) -> Option<&str> {
        self.rule.as_deref()
    }

    /// What comes of it.
    pub fn run(&self, policy: &Policy) -> CaseResult {
        let decided = self.facts.look(|facts| policy.suppose(facts));
        let is_rule = self.rule.as_deref().is_none_or(|rule| decided.why.rule() == Some(rule));
        CaseResult { is_met: decided.outcome == self.expected && is_rule, decided }
    }

    /// What every rule says about it.
    pub fn explain<'a>(&self, policy: &'a Policy) -> Explanation<'a> {
        self.facts.look(|facts| policy.explain_supposed(facts))
    }
}

impl CaseTable {
    /// The case, or what is wrong with it.
    pub(super) fn read(self, policy: &Policy) -> Result<PolicyCase, String> {
        let Self { name, expect, rule, facts } = self;
        let shown = Shown::inline(&name).to_string();
        let refused = |reason: String| format!("case \"{shown}\": {reason}");
        let length = name.chars().count();
        if length == 0 || length > PolicyFile::CASE_NAME_CHARS_MAX || name.chars().any(is_hidden) {
            let most = PolicyFile::CASE_NAME_CHARS_MAX;
            return Err(refused(format!("a name must be 1 to {most} visible characters")));
        }
        let expected = one(&expect, &Outcome::ALL, Outcome::as_str)
            .map_err(|reason| refused(format!("expect: {reason}")))?;
        let is_there = |rule: &String| policy.rules().iter().any(|other| other.name() == rule);
        if let Some(rule) = rule.as_ref().filter(|rule| !is_there(rule)) {
            return Err(refused(format!("rule: there is none called \"{}\"", Shown::inline(rule))));
        }
        let facts = facts.read().map_err(|reason| refused(format!("facts.{reason}")))?;
        Ok(PolicyCase { name, expected, rule, facts })
    }
}

impl FactsTable {
    fn read(self) -> Result<CaseFacts, String> {
        let source = |word: &str| SourceName::parse(word).map_err(|error| error.to_string());
        let source = fact("source", self.source.as_deref(), source)?;
        let is_no_skill = self.skill == Some(false);
        let is_skill = self.id.is_some()
            || self.revision.is_some()
            || source.as_ref().is_some_and(|source| !source.is_server());
        if is_no_skill && is_skill {
            return Err("skill: false, and a source, id or revision of a skill".to_owned());
        }
        let mut paths = BTreeMap::new();
        for (parameter, path) in self.paths {
            let key = format!("paths.{}", Shown::inline(&parameter));
            paths.insert(parameter, host_path(&path).map_err(|reason| format!("{key}: {reason}"))?);
        }
        let arguments =
            self.arguments.map(|table| json(toml::Value::Table(table), JSON_DEPTH_MAX)).transpose();
        let arguments = arguments.map_err(|reason| format!("arguments: {reason}"))?;
        let given = arguments.as_ref().and_then(Json::as_object);
        if let Some(lost) = paths.keys().find(|name| given.is_none_or(|given| !given.contains_key(*name))) {
            return Err(format!("paths.{}: there is no such argument", Shown::inline(lost)));
        }
        Ok(CaseFacts {
            agent: fact("agent", self.agent.as_deref(), agent_label)?,
            source: source.map(|source| source.as_str().to_owned()),
            id: fact("id", self.id.as_deref(), skill_name)?,
            revision: fact("revision", self.revision.as_deref(), revision_pin)?,
            tool: fact("tool", self.tool.as_deref(), tool_name)?,
            tier: fact("tier", self.tier.as_deref(), policy_tier)?,
            effect: fact("effect", self.effect.as_deref(), effect)?,
            network: fact("network", self.network.as_deref(), network_use)?,
            workspace: match self.workspace.as_deref() {
                Some(NO_WORKSPACE) => Fact::None,
                workspace => fact("workspace", workspace, host_path)?.map_or(Fact::Missing, Fact::Is),
            },
            is_no_skill,
            arguments,
            paths,
            timeout_seconds: self.timeout_seconds,
            output_bytes: self.output_bytes,
        })
    }
}

fn fact<T>(
    key: &str,
    word: Option<&str>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, String> {
    word.map(parse).transpose().map_err(|reason| format!("{key}: {reason}"))
}

fn host_path(word: &str) -> Result<HostPath, String> {
    HostPath::parse(word).map_err(|error| format!("the path \"{}\" {}", Shown::inline(word), error.as_str()))
}

impl CaseFacts {
    /// Where there is no skill, it is known that there is nothing of one.
    fn of_skill<T>(&self, value: Option<T>) -> Fact<T> {
        match value {
            Some(value) => Fact::Is(value),
            None if self.is_no_skill => Fact::None,
            None => Fact::Missing,
        }
    }

    fn look<T>(&self, look: impl FnOnce(&PolicyFacts<'_, RevisionPin>) -> T) -> T {
        fn known<T>(value: Option<T>) -> Fact<T> {
            value.map_or(Fact::Missing, Fact::Is)
        }
        let paths: Vec<_> =
            self.paths.iter().map(|(parameter, path)| PathFact { parameter, resolved: Some(path) }).collect();
        let arguments = self.arguments.as_ref().map(|value| ArgumentFacts { value, paths: &paths });
        look(&PolicyFacts {
            agent: known(self.agent.as_ref()),
            source: self.of_skill(self.source.as_deref()),
            id: self.of_skill(self.id.as_ref()),
            revision: self.of_skill(self.revision),
            overlay: self.of_skill(None),
            tool: known(self.tool.as_ref()),
            tier: known(self.tier),
            effect: known(self.effect),
            network: known(self.network),
            workspace: match &self.workspace {
                Fact::Missing => Fact::Missing,
                Fact::None => Fact::None,
                // Only trust scopes look at who a folder is.
                Fact::Is(resolved) => Fact::Is(WorkspaceFact { resolved, identity: "" }),
            },
            arguments: known(arguments),
            timeout: known(self.timeout_seconds.map(Duration::from_secs)),
            output_bytes: known(self.output_bytes),
        })
    }
}
