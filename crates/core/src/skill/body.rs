//! What a body asks of other hosts. Named once, never done.

use std::collections::BTreeSet;

use super::{Report, narrow};
use crate::code::Code;
use crate::diagnostic::Place;
use crate::shown::{Shown, all_bytes, is_hidden};
use crate::yaml::Entry;

/// Notes features of other hosts that the body or the frontmatter uses: text here, instructions there.
///
/// The place is the first field or line that uses one. Those hosts look into code fences too, so they count.
pub(super) fn note_host_features(body: &str, body_line: u32, fields: &[Entry], report: &mut Report<'_>) {
    let in_body = FEATURES.iter().filter_map(|feature| {
        let line = body_line.saturating_add(feature.first_line(body)?);
        Some((feature.name, Place { line, column: 1 }))
    });
    let in_fields = fields.iter().filter_map(|entry| match entry.key.as_str() {
        "context" if entry.value.value.as_text() == Some("fork") => Some(("context: fork", entry.place)),
        "hooks" => Some(("hooks", entry.place)),
        _ => None,
    });
    let (names, places): (Vec<_>, Vec<_>) = in_body.chain(in_fields).unzip();
    if let Some(first) = places.into_iter().min_by_key(|place| place.line) {
        let message = format!("host feature not supported: {}; the text is kept as it is", names.join(", "));
        report.add(Code::HostFeature, message, Some(first));
    }
}

/// Notes tools of other hosts that the body names (CHK-081): whoever follows it here has none of them.
///
/// Found are names of MCP tools (`mcp__server__tool`), and tools that well-known hosts bring along, where the text calls them
/// tools ("the Bash tool") or their names can mean nothing else (`WebFetch`). A tool that is only paraphrased is not found.
pub(super) fn note_host_tools(body: &str, body_line: u32, report: &mut Report<'_>) {
    let signs = ["mcp__", " tool"].iter().chain(DISTINCT_TOOLS);
    if !signs.into_iter().any(|sign| body.contains(sign)) {
        return;
    }
    let mut first = None;
    let mut names: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, line) in body.lines().enumerate() {
        for name in tools_named(line).filter(|name| seen.insert(*name)) {
            first.get_or_insert(index);
            names.push(name);
        }
    }
    let Some(first) = first else { return };
    let listed: Vec<_> = names.iter().take(TOOLS_LISTED_MAX).map(|name| shown_name(name)).collect();
    let rest = match names.len().saturating_sub(TOOLS_LISTED_MAX) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    let message = format!(
        "the body names tools of its host: {}{rest}; fumehood offers none of them",
        listed.join(", ")
    );
    let place = Place { line: body_line.saturating_add(narrow(first)), column: 1 };
    report.add(Code::BodyTools, message, Some(place));
}

fn shown_name(name: &str) -> String {
    Shown::inline(name).at_most(TOOL_CHARS_SHOWN).to_string()
}

/// The tools that a line names, in its order.
fn tools_named(line: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let words = line.split(move |c| !is_word(c)).filter(|word| !word.is_empty());
    words.filter(move |word| {
        // Both are slices of one line, so this is where the word begins.
        let at = word.as_ptr() as usize - line.as_ptr() as usize;
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let marks = ['`', '*', '"'];
        let is_called_tool = after
            .trim_start_matches(marks)
            .strip_prefix(" tool")
            .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
        let is_marked = before.ends_with('`');
        let is_code = is_marked && (after.starts_with('`') || after.starts_with('('));
        let is_meant = || is_marked || before.trim_end_matches(marks).to_ascii_lowercase().ends_with("the ");
        match *word {
            word if is_mcp_tool(word) => true,
            word if DISTINCT_TOOLS.contains(&word) => is_code || is_called_tool,
            word if COMMON_TOOLS.contains(&word) => is_called_tool && is_meant(),
            _ => false,
        }
    })
}

fn is_mcp_tool(word: &str) -> bool {
    let parts = word.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    parts.is_some_and(|(server, tool)| !server.is_empty() && !tool.is_empty())
}

/// Warns about characters that a person does not see and a model does.
///
/// Joiners and presentation selectors are left out: emoji and several scripts are written with them.
pub(super) fn warn_of_hidden_text(text: &str, report: &mut Report<'_>) {
    let is_ordinary =
        |c| matches!(c, '\n' | '\r' | '\t' | '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
    // Most files are plain text, which one pass over the bytes tells.
    if all_bytes(text, |byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')) {
        return;
    }
    let text = text.trim_start_matches('\u{feff}');
    let mut count = 0;
    let mut first = None;
    for (index, line) in text.lines().enumerate() {
        for (column, c) in line.chars().enumerate().filter(|(_, c)| is_hidden(*c) && !is_ordinary(*c)) {
            count += 1;
            first.get_or_insert((c, Place { line: narrow(index + 1), column: narrow(column + 1) }));
        }
    }
    if let Some((c, place)) = first {
        let noun = if count == 1 { "character" } else { "characters" };
        let first = Shown::inline(c.encode_utf8(&mut [0; 4])).to_string();
        let message =
            format!("{count} hidden {noun}, the first is {first}; `fumehood cat --format json` shows them");
        report.add(Code::HiddenText, message, Some(place));
    }
}

struct Feature {
    name: &'static str,
    /// Every use has one of these. Looking for them in a whole body costs next to nothing, and few bodies have one.
    signs: &'static [&'static str],
    is_used: fn(&str) -> bool,
}

impl Feature {
    /// The first line that uses it, counted from 0.
    fn first_line(&self, body: &str) -> Option<u32> {
        let is_possible = self.signs.iter().any(|sign| body.contains(sign));
        is_possible.then(|| body.lines().position(self.is_used))?.map(narrow)
    }
}

const FEATURES: &[Feature] = &[
    Feature { name: "!`command`", signs: &["!`", "```!"], is_used: runs_command },
    Feature { name: "$ARGUMENTS", signs: &["$ARGUMENTS"], is_used: |line| line.contains("$ARGUMENTS") },
    Feature { name: "${CLAUDE_…}", signs: &["${CLAUDE_"], is_used: |line| line.contains("${CLAUDE_") },
    Feature { name: "{baseDir}", signs: &["{baseDir}"], is_used: |line| line.contains("{baseDir}") },
    Feature { name: "@file", signs: &["@"], is_used: includes_file },
];

/// A command between backticks behind a `!` that begins a word, or the fence of a block of commands. A `!` that is all
/// of a code span or ends one is text.
fn runs_command(line: &str) -> bool {
    let inline = line.match_indices("!`").any(|(at, sign)| {
        let begins_word = line[..at].chars().next_back().is_none_or(char::is_whitespace);
        begins_word && line[at + sign.len()..].find('`').is_some_and(|length| length > 0)
    });
    inline || line.trim_start().starts_with("```!")
}

/// A line that is nothing but `@` and a path with a `/`, or `@` and the name of a Markdown file. Decorators
/// (`@app.get("/")`, `@pytest.fixture`) are neither.
fn includes_file(line: &str) -> bool {
    let is_path = |c: char| c.is_alphanumeric() || "./_-~".contains(c);
    let names_file =
        |path: &str| path.contains('/') || path.rsplit_once('.').is_some_and(|(_, last)| last == "md");
    line.trim_end().strip_prefix('@').is_some_and(|path| path.chars().all(is_path) && names_file(path))
}

/// Tools of well-known hosts whose names are no words.
const DISTINCT_TOOLS: &[&str] = &[
    "AskUserQuestion",
    "BashOutput",
    "ExitPlanMode",
    "KillShell",
    "MultiEdit",
    "NotebookEdit",
    "SlashCommand",
    "TodoRead",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "apply_patch",
    "run_in_terminal",
    "run_shell_command",
];
/// Tools of well-known hosts whose names are words, or names of much else.
const COMMON_TOOLS: &[&str] = &[
    "Agent",
    "Bash",
    "Edit",
    "Glob",
    "Grep",
    "LS",
    "Read",
    "Skill",
    "Task",
    "Write",
    "read_file",
    "write_file",
];
const TOOLS_LISTED_MAX: usize = 8;
const TOOL_CHARS_SHOWN: usize = 128;
