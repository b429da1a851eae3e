//! The walk over a value. The module above argues what it can cost.

use core::ops::ControlFlow::{self, Break, Continue};
use std::collections::BTreeMap;

use super::issue::{Expected, Issue, Issues};
use super::keyword::JsonType;
use super::node::{ArrayRule, Choices, Node, NumberRule, ObjectRule, StringRule};
use super::pointer::Path;
use crate::json::{Json, Number};
use crate::limits::SCHEMA_ISSUES_MAX;

pub(super) fn run(root: &Node, value: &Json) -> Result<(), Issues> {
    let mut walk = Walk::with_room(SCHEMA_ISSUES_MAX);
    let cut = walk.node(root, value, &Path::Root).is_break();
    match Issues::new(walk.found, cut) {
        None => Ok(()),
        Some(issues) => Err(issues),
    }
}

/// One pass over a value. It breaks off at the first issue for which there is no room.
pub(super) struct Walk {
    found: Vec<Issue>,
    room: usize,
    /// Pairs visited, names looked up and keys checked: what a test holds against the bound.
    pub(super) steps: usize,
}

impl Walk {
    pub(super) fn with_room(room: usize) -> Self {
        Self { found: Vec::new(), room, steps: 0 }
    }

    pub(super) fn node(&mut self, node: &Node, value: &Json, at: &Path<'_>) -> ControlFlow<()> {
        self.steps += 1;
        match (node, value) {
            (Node::AnyOf(branches), _) => self.any_of(branches, value, at),
            (Node::Listed(choices), _)
            | (Node::Null(Some(choices)), Json::Null)
            | (Node::Boolean(Some(choices)), Json::Bool(_)) => self.listed(choices, value, at),
            (Node::Null(None), Json::Null) | (Node::Boolean(None), Json::Bool(_)) => Continue(()),
            (Node::Integer(rule), Json::Number(number)) if number.is_integer() => {
                self.number(rule, *number, value, at)
            }
            (Node::Number(rule), Json::Number(number)) => self.number(rule, *number, value, at),
            (Node::String(rule), Json::String(text)) => self.string(rule, text, value, at),
            (Node::Array(rule), Json::Array(items)) => self.array(rule, items, at),
            (Node::Object(rule), Json::Object(entries)) => self.object(rule, entries, at),
            (Node::Null(_), _) => self.report(at, Expected::Type(JsonType::Null)),
            (Node::Boolean(_), _) => self.report(at, Expected::Type(JsonType::Boolean)),
            (Node::Integer(_), _) => self.report(at, Expected::Type(JsonType::Integer)),
            (Node::Number(_), _) => self.report(at, Expected::Type(JsonType::Number)),
            (Node::String(_), _) => self.report(at, Expected::Type(JsonType::String)),
            (Node::Array(_), _) => self.report(at, Expected::Type(JsonType::Array)),
            (Node::Object(_), _) => self.report(at, Expected::Type(JsonType::Object)),
        }
    }

    fn any_of(&mut self, branches: &[Node], value: &Json, at: &Path<'_>) -> ControlFlow<()> {
        if branches.iter().any(|branch| self.passes(branch, value)) {
            return Continue(());
        }
        self.report(at, Expected::AnyOf(branches.len()))
    }

    /// A walk without room ends at the first mismatch and makes no text.
    fn passes(&mut self, node: &Node, value: &Json) -> bool {
        let mut probe = Self::with_room(0);
        let passed = probe.node(node, value, &Path::Root).is_continue();
        self.steps += probe.steps;
        passed
    }

    fn number(&mut self, rule: &NumberRule, number: Number, value: &Json, at: &Path<'_>) -> ControlFlow<()> {
        if let Some(choices) = &rule.choices {
            self.listed(choices, value, at)?;
        }
        self.report_if(at, rule.value.min_missed_by(number).map(Expected::Minimum))?;
        self.report_if(at, rule.value.max_passed_by(number).map(Expected::Maximum))
    }

    fn string(&mut self, rule: &StringRule, text: &str, value: &Json, at: &Path<'_>) -> ControlFlow<()> {
        if let Some(choices) = &rule.choices {
            self.listed(choices, value, at)?;
        }
        let length = as_count(text.chars().count());
        self.report_if(at, rule.length.min_missed_by(length).map(Expected::MinLength))?;
        self.report_if(at, rule.length.max_passed_by(length).map(Expected::MaxLength))
    }

    fn array(&mut self, rule: &ArrayRule, items: &[Json], at: &Path<'_>) -> ControlFlow<()> {
        let count = as_count(items.len());
        self.report_if(at, rule.count.min_missed_by(count).map(Expected::MinItems))?;
        self.report_if(at, rule.count.max_passed_by(count).map(Expected::MaxItems))?;
        for (index, item) in items.iter().enumerate() {
            self.node(&rule.item, item, &Path::Index(at, index))?;
        }
        Continue(())
    }

    fn object(
        &mut self,
        rule: &ObjectRule,
        entries: &BTreeMap<String, Json>,
        at: &Path<'_>,
    ) -> ControlFlow<()> {
        for (name, property) in &rule.properties {
            self.steps += 1;
            let here = Path::Key(at, name);
            match entries.get(name) {
                Some(value) => self.node(&property.node, value, &here)?,
                None if property.required => self.report(&here, Expected::Present)?,
                None => {}
            }
        }
        if rule.closed {
            for name in entries.keys() {
                self.steps += 1;
                if !rule.properties.contains_key(name) {
                    self.report(&Path::Key(at, name), Expected::Absent)?;
                }
            }
        }
        Continue(())
    }

    fn listed(&mut self, choices: &Choices, value: &Json, at: &Path<'_>) -> ControlFlow<()> {
        if choices.contain(value) {
            return Continue(());
        }
        self.report(at, Expected::Listed(choices.count()))
    }

    fn report_if(&mut self, at: &Path<'_>, expected: Option<Expected>) -> ControlFlow<()> {
        match expected {
            Some(expected) => self.report(at, expected),
            None => Continue(()),
        }
    }

    fn report(&mut self, at: &Path<'_>, expected: Expected) -> ControlFlow<()> {
        if self.found.len() == self.room {
            return Break(());
        }
        self.found.push(Issue { pointer: at.to_pointer(), expected });
        Continue(())
    }
}

/// Lengths in memory always fit.
fn as_count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
