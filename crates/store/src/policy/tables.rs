//! The tables of the file, and how they become rules.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use fumehood_core::json::Number;
use fumehood_core::policy::{
    ArgumentCondition, ArgumentTest, Conditions, Kinds, Limits, Mode, NetworkUse, OneOf, Outcome, Policy,
    PolicyTier, RevisionCondition, RevisionPin, Rule, RuleError, RuleParts, Scalar, Selector, SourceName,
    Surfaces, WorkspaceCondition, YesKind,
};
use fumehood_core::tool::Effect;
use fumehood_core::{AgentLabel, HostPath, Json, Shown, SkillName, ToolName};
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use toml::Spanned;

use super::case::{CaseTable, PolicyCase};
use super::{Fault, PolicyFile};
use crate::config_file::{json, place};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    mode: Option<Spanned<String>>,
    surfaces: Option<Spanned<SurfacesTable>>,
    #[serde(default)]
    rule: Vec<Spanned<RuleTable>>,
    #[serde(default)]
    case: Vec<Spanned<CaseTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SurfacesTable {
    terminal: Option<Vec<String>>,
    page: Option<Vec<String>>,
    elicitation: Option<Vec<String>>,
    flag: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleTable {
    name: String,
    deny: Option<ConditionsTable>,
    ask: Option<ConditionsTable>,
    allow: Option<ConditionsTable>,
    limits: Option<LimitsTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsTable {
    timeout_seconds_max: Option<u64>,
    output_bytes_max: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConditionsTable {
    source: Option<Words>,
    id: Option<Words>,
    revision: Option<Words>,
    tool: Option<Words>,
    tier: Option<Words>,
    effect: Option<Words>,
    workspace: Option<Words>,
    agent: Option<Words>,
    network: Option<Words>,
    #[serde(default)]
    arguments: BTreeMap<String, toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TestTable {
    prefix: Option<Words>,
    below: Option<Words>,
    at_least: Option<toml::Value>,
    at_most: Option<toml::Value>,
}

/// One text, or a list of them.
struct Words(Vec<String>);

/// What is wrong, and with which key where the reader only says where.
fn message(text: &str, error: &toml::de::Error) -> String {
    let key = error.span().and_then(|span| text.get(span)).filter(|key| !key.is_empty());
    match (error.message().trim_end(), key) {
        ("duplicate key", Some(key)) => format!("the key {} is there twice", Shown::inline(key).at_most(128)),
        (message, _) => Shown::block(message).to_string(),
    }
}

/// Reads the text of a file.
pub(super) fn read(text: &str) -> Result<(Policy, Vec<PolicyCase>), Fault> {
    let file: File = toml::from_str(text)
        .map_err(|error| Fault { at: error.span().map(|span| span.start), message: message(text, &error) })?;
    let mode = file.mode.map_or(Ok(Mode::default()), |mode| {
        located(&mode, |mode| one(mode, &Mode::ALL, Mode::as_str).map_err(|reason| format!("mode: {reason}")))
    })?;
    let surfaces = file.surfaces.map_or(Ok(Surfaces::default()), |table| located(&table, surfaces))?;
    let mut rules: Vec<Rule> = Vec::new();
    let (mut names, places) = (BTreeSet::new(), Places::default());
    for table in &file.rule {
        let rule = located(table, |table| {
            let name = Shown::inline(&table.name);
            let rule = rule(table, &places).map_err(|reason| format!("rule \"{name}\": {reason}"))?;
            // Here, since here it is known where it stands.
            if !names.insert(&table.name) {
                return Err(format!("rule \"{name}\": {}", RuleError::NameTwice));
            }
            Ok(rule)
        })?;
        rules.push(rule);
    }
    let nowhere = |message: String| Fault { at: None, message };
    let policy = Policy::new(mode, surfaces, rules).map_err(|error| nowhere(error.to_string()))?;
    if file.case.len() > PolicyFile::CASES_MAX {
        return Err(nowhere(format!("there are more than {} cases", PolicyFile::CASES_MAX)));
    }
    let cases = file.case.into_iter().map(|table| {
        let at = Some(table.span().start);
        table.into_inner().read(&policy).map_err(|message| Fault { at, message })
    });
    let cases = cases.collect::<Result<_, _>>()?;
    Ok((policy, cases))
}

/// What is made of a part of the file, with the place of that part if it cannot be made.
fn located<'a, T, U>(
    part: &'a Spanned<T>,
    make: impl FnOnce(&'a T) -> Result<U, String>,
) -> Result<U, Fault> {
    make(part.get_ref()).map_err(|message| Fault { at: Some(part.span().start), message })
}

fn surfaces(table: &SurfacesTable) -> Result<Surfaces, String> {
    let kinds = |key: &str, words: &Option<Vec<String>>, default: Kinds| {
        let Some(words) = words else { return Ok(default) };
        let mut kinds = Kinds::NEITHER;
        for word in words {
            let kind = one(word, &YesKind::ALL, YesKind::as_str);
            let place = match kind.map_err(|reason| format!("surfaces.{key}: {reason}"))? {
                YesKind::Once => &mut kinds.once,
                YesKind::Revision => &mut kinds.revision,
            };
            if std::mem::replace(place, true) {
                return Err(format!("surfaces.{key}: \"{word}\" stands twice"));
            }
        }
        Ok(kinds)
    };
    let default = Surfaces::default();
    Ok(Surfaces {
        terminal: kinds("terminal", &table.terminal, default.terminal)?,
        page: kinds("page", &table.page, default.page)?,
        elicitation: kinds("elicitation", &table.elicitation, default.elicitation)?,
        flag: kinds("flag", &table.flag, default.flag)?,
    })
}

fn rule(table: &RuleTable, places: &Places) -> Result<Rule, String> {
    let (outcome, table_of_conditions) = match (&table.deny, &table.ask, &table.allow) {
        (Some(table), None, None) => (Outcome::Deny, table),
        (None, Some(table), None) => (Outcome::Ask, table),
        (None, None, Some(table)) => (Outcome::Allow, table),
        _ => return Err("it needs exactly one of deny, ask and allow".to_owned()),
    };
    let limits = match &table.limits {
        Some(LimitsTable { timeout_seconds_max: None, output_bytes_max: None }) => {
            return Err("limits names no limit".to_owned());
        }
        Some(_) if outcome != Outcome::Allow => return Err("only an allow rule can have limits".to_owned()),
        Some(table) => Limits {
            timeout_seconds_max: table.timeout_seconds_max,
            output_bytes_max: table.output_bytes_max,
        },
        None => Limits::default(),
    };
    let when = conditions(table_of_conditions, places);
    let when = when.map_err(|reason| format!("{}.{reason}", outcome.as_str()))?;
    let parts = RuleParts { name: table.name.clone(), outcome, when, limits };
    Rule::new(parts).map_err(|error| error.to_string())
}

fn conditions(table: &ConditionsTable, places: &Places) -> Result<Conditions, String> {
    let ConditionsTable { source, id, revision, tool, tier, effect, workspace, agent, network, arguments } =
        table;
    let any = |words: &Words| words.0.iter().any(|word| word == ANY_REVISION);
    let revision = match revision {
        Some(words) if any(words) && words.0.len() > 1 => {
            return Err(format!("revision: \"{ANY_REVISION}\" stands alone"));
        }
        Some(words) if any(words) => Some(RevisionCondition::Any),
        words => list("revision", words.as_ref(), revision_pin)?.map(RevisionCondition::OneOf),
    };
    Ok(Conditions {
        source: list("source", source.as_ref(), |word| {
            SourceName::parse(word).map_err(|error| error.to_string())
        })?,
        id: list("id", id.as_ref(), skill_name)?,
        revision,
        tool: list("tool", tool.as_ref(), tool_name)?,
        tier: list("tier", tier.as_ref(), policy_tier)?,
        effect: list("effect", effect.as_ref(), self::effect)?,
        workspace: list("workspace", workspace.as_ref(), |word| match word {
            NO_WORKSPACE => Ok(WorkspaceCondition::NoneGranted),
            word => places.named(word).map(WorkspaceCondition::Below),
        })?,
        agent: list("agent", agent.as_ref(), agent_label)?,
        network: list("network", network.as_ref(), network_use)?,
        arguments: arguments.iter().map(|one| argument(one, places)).collect::<Result<_, _>>()?,
    })
}

fn list<T: PartialEq>(
    key: &str,
    words: Option<&Words>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<OneOf<T>>, String> {
    let Some(Words(words)) = words else { return Ok(None) };
    let values = words.iter().map(|word| parse(word)).collect::<Result<_, _>>();
    let values = values.map_err(|reason| format!("{key}: {reason}"))?;
    OneOf::new(values).map(Some).map_err(|error| format!("{key}: {error}"))
}

/// Of a closed list, the one that is written like this.
pub(super) fn one<T: Copy>(word: &str, all: &[T], text: fn(T) -> &'static str) -> Result<T, String> {
    all.iter().copied().find(|value| text(*value) == word).ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|value| text(*value)).collect();
        format!("\"{}\" is none of {}", Shown::inline(word), known.join(", "))
    })
}

pub(super) fn revision_pin(word: &str) -> Result<RevisionPin, String> {
    RevisionPin::parse(word).ok_or_else(|| {
        format!("\"{}\" is no revision: sha256: and 64 lower-case hex digits", Shown::inline(word))
    })
}

pub(super) fn skill_name(word: &str) -> Result<SkillName, String> {
    SkillName::parse(word).map_err(|error| error.to_string())
}

pub(super) fn tool_name(word: &str) -> Result<ToolName, String> {
    ToolName::parse(word).map_err(|error| error.to_string())
}

pub(super) fn agent_label(word: &str) -> Result<AgentLabel, String> {
    AgentLabel::parse(word).map_err(|error| error.to_string())
}

pub(super) fn policy_tier(word: &str) -> Result<PolicyTier, String> {
    one(word, &PolicyTier::ALL, PolicyTier::as_str)
}

pub(super) fn effect(word: &str) -> Result<Effect, String> {
    one(word, &[Effect::ReadOnly, Effect::IdempotentWrite, Effect::Other], Effect::as_str)
}

pub(super) fn network_use(word: &str) -> Result<NetworkUse, String> {
    one(word, &NetworkUse::ALL, NetworkUse::as_str)
}

/// The places that a file names, each looked at once: rules name the same ones over and over.
#[derive(Default)]
struct Places(RefCell<BTreeMap<String, HostPath>>);

impl Places {
    fn named(&self, word: &str) -> Result<HostPath, String> {
        if let Some(known) = self.0.borrow().get(word) {
            return Ok(known.clone());
        }
        let refused = |reason: &str| format!("the path \"{}\" {reason}", Shown::inline(word));
        let place = place(word).map_err(|reason| refused(&reason))?;
        if place.looks_like_a_pattern() {
            return Err(refused("has *, ? or [, which would stand for themselves"));
        }
        self.0.borrow_mut().insert(word.to_owned(), place.clone());
        Ok(place)
    }
}

fn argument(
    (selector, value): (&String, &toml::Value),
    places: &Places,
) -> Result<ArgumentCondition, String> {
    let refused = |reason: &dyn fmt::Display| format!("arguments.{}: {reason}", Shown::inline(selector));
    let test = match value {
        toml::Value::Table(table) => test(table, places).map_err(|reason| refused(&reason))?,
        toml::Value::Array(values) => one_of(values).map_err(|reason| refused(&reason))?,
        value => one_of(std::slice::from_ref(value)).map_err(|reason| refused(&reason))?,
    };
    let selector = Selector::parse(selector).map_err(|error| refused(&error))?;
    Ok(ArgumentCondition { selector, test })
}

fn one_of(values: &[toml::Value]) -> Result<ArgumentTest, String> {
    let scalar = |value: &toml::Value| {
        let value = json(value.clone(), 2)?;
        Scalar::of(&value).ok_or("a list or table cannot be compared")
    };
    let values = values.iter().map(scalar).collect::<Result<_, _>>()?;
    OneOf::new(values).and_then(ArgumentTest::one_of).map_err(|error| error.to_string())
}

fn test(table: &toml::Table, places: &Places) -> Result<ArgumentTest, String> {
    let table: TestTable = table
        .clone()
        .try_into()
        .map_err(|error: toml::de::Error| Shown::block(error.message().trim_end()).to_string())?;
    let TestTable { prefix, below, at_least, at_most } = table;
    match (&prefix, &below, &at_least, &at_most) {
        (Some(_), None, None, None) => {
            let texts = list("prefix", prefix.as_ref(), |word| Ok(word.to_owned()))?;
            texts.map(ArgumentTest::Prefix)
        }
        (None, Some(_), None, None) => {
            list("below", below.as_ref(), |word| places.named(word))?.map(ArgumentTest::Below)
        }
        (None, None, at_least, at_most) => {
            let bound = |value: &Option<toml::Value>| value.clone().map(number).transpose();
            let range = ArgumentTest::range(bound(at_least)?, bound(at_most)?);
            return range.map_err(|error| error.to_string());
        }
        _ => None,
    }
    .ok_or_else(|| "it needs one of prefix, below, and a range of at_least and at_most".to_owned())
}

fn number(value: toml::Value) -> Result<Number, String> {
    match json(value, 1)? {
        Json::Number(number) => Ok(number),
        _ => Err("a bound of a range must be a number".to_owned()),
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordsVisitor;

        impl<'de> Visitor<'de> for WordsVisitor {
            type Value = Words;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Words, E> {
                Ok(Words(vec![word.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Words, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = access.next_element()? {
                    words.push(word);
                }
                Ok(Words(words))
            }
        }

        deserializer.deserialize_any(WordsVisitor)
    }
}

const ANY_REVISION: &str = "*";
pub(super) const NO_WORKSPACE: &str = "none";
