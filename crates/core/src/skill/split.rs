//! Where the frontmatter ends and the body begins.

use core::ops::Range;

use super::{Report, narrow};
use crate::code::Code;
use crate::diagnostic::Place;
use crate::limits::FRONTMATTER_BYTES_MAX;

/// The two parts of a SKILL.md.
pub(super) struct Parts<'t> {
    /// The text between the fences.
    pub(super) yaml: &'t str,
    /// Lines of the file before `yaml`.
    pub(super) lines_before: u32,
    /// The body's bytes within the file.
    pub(super) body: Range<usize>,
    /// The line on which the body starts.
    pub(super) body_line: u32,
}

/// Splits at fences that are whole lines of three dashes; dashes inside a value never count.
pub(super) fn split<'t>(text: &'t str, report: &mut Report<'_>) -> Option<Parts<'t>> {
    let mut lines = Lines { text, offset: 0, number: 0 };
    if text.starts_with('\u{feff}') {
        lines.offset = '\u{feff}'.len_utf8();
        report.add(Code::Bom, "a byte order mark starts the file; it is not needed", None);
    }
    let mut opening = lines.next();
    if opening.as_ref().is_some_and(Line::is_blank) {
        report.add(Code::LeadingBlank, "the frontmatter should start on the first line", None);
        while opening.as_ref().is_some_and(Line::is_blank) {
            opening = lines.next();
        }
    }
    let Some(opening) = opening.filter(Line::is_fence) else {
        refuse_start(text, report);
        return None;
    };
    note_fence(&opening, report);
    if opening.text.ends_with('\r') {
        report.add(Code::Crlf, "the lines end in CRLF; names and descriptions are read as with LF", None);
    }
    let start = lines.offset;
    let Some(closing) = lines.by_ref().find(Line::is_fence) else {
        let place = Place { line: opening.number, column: 1 };
        report.add(Code::FrontmatterUnclosed, "no later line is exactly '---'", Some(place));
        return None;
    };
    note_fence(&closing, report);
    let yaml = &text[start..closing.start];
    if yaml.len() > FRONTMATTER_BYTES_MAX {
        let message = format!("the block between the fences is larger than {FRONTMATTER_BYTES_MAX} bytes");
        report.add(Code::FrontmatterTooLarge, message, None);
        return None;
    }
    let body = lines.offset..text.len();
    Some(Parts { yaml, lines_before: opening.number, body, body_line: narrow(lines.number as usize + 1) })
}

fn note_fence(fence: &Line<'_>, report: &mut Report<'_>) {
    if fence.text.trim_end_matches('\r') != "---" {
        let place = Place { line: fence.number, column: 4 };
        report.add(Code::FenceSpaces, "remove the spaces after '---'", Some(place));
    }
}

fn refuse_start(text: &str, report: &mut Report<'_>) {
    let trimmed = text.trim();
    let is_one_path = !trimmed.contains(char::is_whitespace) && trimmed.ends_with("SKILL.md");
    if is_one_path {
        let message = "the file holds only a path: a link that was checked out as text; \
                       fetch the repository with links enabled, or copy the target here";
        report.add(Code::SkillMdLinkText, message, None);
    } else {
        let message = "the first line must be '---', followed by name and description and a closing '---'";
        report.add(Code::FrontmatterMissing, message, Some(Place { line: 1, column: 1 }));
    }
}

struct Line<'t> {
    /// Without the line feed, with a carriage return if there is one.
    text: &'t str,
    /// Its offset in the file.
    start: usize,
    /// From 1.
    number: u32,
}

impl Line<'_> {
    fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    fn is_fence(&self) -> bool {
        self.text.trim_end_matches([' ', '\t', '\r']) == "---"
    }
}

struct Lines<'t> {
    text: &'t str,
    offset: usize,
    number: u32,
}

impl<'t> Iterator for Lines<'t> {
    type Item = Line<'t>;

    fn next(&mut self) -> Option<Line<'t>> {
        let start = self.offset;
        let rest = self.text.get(start..).filter(|rest| !rest.is_empty())?;
        let (text, length) = match rest.split_once('\n') {
            Some((line, _)) => (line, line.len() + 1),
            None => (rest, rest.len()),
        };
        self.offset += length;
        self.number = self.number.saturating_add(1);
        Some(Line { text, start, number: self.number })
    }
}
