//! What a person is asked before something runs, as any face can show it.

use std::borrow::Cow;

use fumehood_core::Shown;
use fumehood_core::shown::is_hidden;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::LineChange;

/// A request for approval of one call.
///
/// Everything a skill's author or a caller wrote in it is as they wrote it: whoever shows it makes it visible first.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// 1.
    pub schema_version: u32,
    /// The request's id: `ask_` and 32 hex digits, the same wherever it is shown.
    pub id: String,
    /// Who asks, as the host calls it.
    pub agent: String,
    /// The run in which it asks.
    pub run: String,
    /// The tool.
    pub tool: String,
    /// What the tool's author says about it.
    pub description: String,
    /// The skill.
    pub skill: SkillAsked,
    /// The file of the skill that runs.
    pub file: String,
    /// Whether somebody declared its parameters.
    pub declared: bool,
    /// The arguments as JSON text.
    pub arguments: String,
    /// The argument vector, program first.
    pub argv: Vec<String>,
    /// What the host noticed about single arguments.
    pub argument_notes: Vec<ArgumentNote>,
    /// The current folder, as the program sees it.
    pub directory: String,
    /// The interpreter.
    pub interpreter: InterpreterAsked,
    /// The environment: all of it.
    pub environment: Vec<Variable>,
    /// The person's files that it may touch.
    pub files: Vec<FileAsked>,
    /// The limits, each with whether it is enforced.
    pub limits: Vec<LimitAsked>,
    /// `full`, `namespaces` or `kernel`.
    pub level: String,
    /// The level below which it does not run.
    pub level_floor: String,
    /// Every axis of the sandbox.
    pub axes: Vec<AxisAsked>,
    /// Why anybody is asked.
    pub why: String,
    /// Names of unsafe switches that are on.
    pub unsafe_controls: Vec<String>,
    /// The state folder, if it is not the usual one.
    pub state_folder: Option<String>,
    /// When it was made: milliseconds since 1970.
    pub created_unix_ms: u64,
    /// When it expires.
    pub expires_unix_ms: u64,
}

/// The skill that something runs from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillAsked {
    /// The label of its source.
    pub source: String,
    /// Its name.
    pub name: String,
    /// Its revision: 64 hex digits.
    pub revision: String,
    /// The digest of the deployer's overlay, if there is one.
    pub overlay: Option<String>,
    /// What is on record of it.
    pub history: History,
}

/// What is on record of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state", deny_unknown_fields)]
pub enum History {
    /// Nothing of it was ever approved here.
    First,
    /// This revision was approved before, at this time the last.
    Same {
        /// Milliseconds since 1970.
        approved_unix_ms: u64,
    },
    /// Another revision was approved last.
    Changed {
        /// Its revision.
        revision: String,
        /// When: milliseconds since 1970.
        approved_unix_ms: u64,
        /// Files that are new.
        added: usize,
        /// Files that are other than they were.
        changed: usize,
        /// Files that are gone.
        removed: usize,
        /// All of these, by their paths.
        files: Vec<FileSince>,
    },
}

/// How a file of a skill differs from the one of the revision that was approved last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSince {
    /// Its path in the skill.
    pub path: String,
    /// `added`, `changed` or `removed`.
    pub change: Cow<'static, str>,
    /// The lines that differ, and those around them: at most 200 for all files together. None for a file that is gone.
    pub lines: Vec<LineChange>,
    /// Lines beyond those.
    pub lines_left_out: usize,
    /// Why no lines are shown, if they should be.
    pub not_shown: Option<Cow<'static, str>>,
}

impl FileSince {
    /// [`FileSince::not_shown`] where there was no room left. For every other reason nobody else can show the lines either.
    pub const TOO_MUCH: &'static str = "too much to show here";
}

/// The interpreter of a script.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterpreterAsked {
    /// The file that runs.
    pub path: String,
    /// What it says about itself.
    pub version: Option<String>,
    /// Its digest.
    pub sha256: String,
}

/// An argument of a script that nobody declared, which is passed as it stands, and which the script takes otherwise than it is
/// meant, most likely: a relative path counts from the skill's folder, where there is no such file, and there is one of this
/// name where the person is; or an absolute one names a file that the script may not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgumentNote {
    /// The argument.
    pub argument: String,
    /// The file that may be meant: its absolute path.
    pub file: String,
    /// Whether the script may read that file.
    pub granted: bool,
    /// Whether the argument counts from a folder; if not, it names the file, and the script may not read that.
    pub relative: bool,
}

/// A variable of the environment.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A file of the person's that a program may touch.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileAsked {
    /// `read`, `read_folder`, `replace`, `create`, `change_folder` or `collect`.
    pub usage: String,
    /// Whether something of the person's may be other than before afterwards.
    pub changes: bool,
    /// Its real place.
    pub host: String,
    /// Where the program sees it.
    pub inside: String,
}

/// A limit.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitAsked {
    /// Its name.
    pub name: String,
    /// Its value with its unit, to read.
    pub value: String,
    /// `enforced`, `partly` or `not_enforced`.
    pub enforced: String,
}

/// One axis of the sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AxisAsked {
    /// Its name.
    pub name: String,
    /// `enforced`, `partly` or `not_enforced`.
    pub enforced: String,
    /// By what, and where that ends.
    pub mechanism: String,
}

/// What a person answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Run it, once.
    Once,
    /// Do not.
    No,
}

/// An argument so that its ends can be seen, and no two look the same: one with something in it that is shown as `\n` or `\u{…}` is
/// quoted otherwise than one that has a backslash there.
pub(crate) fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+:,./@%".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_owned();
    }
    let shown = |text: &str| Shown::inline(text).at_most(usize::MAX).to_string();
    if argument.contains(is_hidden) {
        return format!("$'{}'", shown(&argument.replace('\\', "\\\\").replace('\'', "\\'")));
    }
    format!("'{}'", shown(argument).replace('\'', "'\\''"))
}

/// A value that somebody else wrote, in which nothing is invisible, names included. What is not to be seen in it could be read by a
/// model all the same, or drive a terminal.
pub(crate) fn visible(value: Value) -> Value {
    let shown = |text: String| {
        if text.contains(is_hidden) { Shown::inline(&text).at_most(usize::MAX).to_string() } else { text }
    };
    match value {
        Value::String(text) => Value::String(shown(text)),
        Value::Array(values) => values.into_iter().map(visible).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (shown(name), visible(value))).collect()
        }
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_invisible_in_names_and_schemas() {
        let value = serde_json::json!({"a\u{202e}": ["b\u{e0041}", {"c": 1, "d": "\\d+"}, null], "e": "\n"});
        let seen =
            serde_json::json!({"a\\u{202e}": ["b\\u{e0041}", {"c": 1, "d": "\\d+"}, null], "e": "\\n"});
        assert_eq!(visible(value), seen);
    }

    #[test]
    fn no_two_arguments_look_the_same() {
        let arguments = [
            "a",
            "a b",
            "a' 'b",
            "a'b",
            "a\nb",
            "a\\nb",
            "a\\\nb",
            "\u{202e}",
            "\\u{202e}",
            "$'a'",
            "$'a\\nb'",
            "\t'",
            "\\t'",
            "",
        ];
        let mut shown: Vec<_> = arguments.iter().map(|argument| quoted(argument)).collect();
        assert_eq!(shown[3..8], ["'a'\\''b'", "$'a\\nb'", "'a\\nb'", "$'a\\\\\\nb'", "$'\\u{202e}'"]);
        shown.sort();
        shown.dedup();
        assert_eq!(shown.len(), arguments.len());
    }
}
