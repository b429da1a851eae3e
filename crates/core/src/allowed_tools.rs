//! `allowed-tools` of a skill's frontmatter: which of the host's tools the skill says it wants.
//!
//! A request and nothing else. It can take tools away from what the host would offer anyway and can never add,
//! approve or waive anything (X-01).

use core::fmt;

use crate::code::{Code, Coded};

/// What a skill says about tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedTools {
    /// The frontmatter has no such field: the skill takes nothing away.
    Absent,
    /// These, as written and in that order, each kept as often as it stands there. None at all means no tool
    /// (GRT-06); that is also what a malformed value counts as.
    Declared(Vec<String>),
}

/// Entries, and how they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The entries, at most 256 of at most 512 characters: `Read`, `Bash(git:*)`, `vscode/edit files`.
    pub entries: Vec<String>,
    /// The form.
    pub form: Form,
}

/// How a value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One string with white space between entries, as the standard has it; also for no entry or one.
    Spaces,
    /// One string with commas between entries.
    Commas,
    /// A list.
    List,
}

/// Why a value was refused. It then counts as declaring no tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// A parenthesis without its partner.
    Unbalanced,
    /// A parenthesis with no tool before it, as in `Bash (git:*)`: read apart, the first half would ask for all of
    /// `Bash`.
    NoTool,
    /// More than 256 entries.
    TooMany,
    /// An entry of more than 512 characters.
    TooLong,
}

/// Entries of one value.
pub const ENTRIES_MAX: usize = 256;
/// Characters of one entry.
pub const ENTRY_CHARS_MAX: usize = 512;

/// Splits one string at white space and commas outside of parentheses. Blank text has no entries, which is not the
/// same as no field.
///
/// Quotes have no meaning: what stands in parentheses is a pattern of some other host, and how that host quotes is
/// not known. A pattern with a lone parenthesis in quotes is therefore malformed.
///
/// # Errors
/// [`Malformed`] with code `W_ALLOWED_TOOLS_MALFORMED`.
///
/// ```
/// use fumehood_core::allowed_tools::parse_text;
/// let parsed = parse_text(r#"Bash(git:*) Bash(say -v "Samantha":*)"#)?;
/// assert_eq!(parsed.entries, ["Bash(git:*)", r#"Bash(say -v "Samantha":*)"#]);
/// # Ok::<(), fumehood_core::allowed_tools::Malformed>(())
/// ```
pub fn parse_text(text: &str) -> Result<Parsed, Malformed> {
    let mut depth = Depth::default();
    let mut form = Form::Spaces;
    let mut entries = Vec::new();
    let mut start = 0;
    for (index, c) in text.char_indices() {
        depth.pass(c)?;
        if depth.0 == 0 && (c == ',' || c.is_whitespace()) {
            if c == ',' {
                form = Form::Commas;
            }
            take(&mut entries, &text[start..index])?;
            start = index + c.len_utf8();
        }
    }
    depth.end()?;
    take(&mut entries, &text[start..])?;
    Ok(Parsed { entries, form })
}

/// Takes the items of a list whole, but for white space around them: they may hold spaces, commas and slashes. Blank
/// items are passed over.
///
/// # Errors
/// As [`parse_text`].
pub fn parse_items(items: &[&str]) -> Result<Parsed, Malformed> {
    let mut entries = Vec::new();
    for item in items {
        let mut depth = Depth::default();
        item.chars().try_for_each(|c| depth.pass(c))?;
        depth.end()?;
        take(&mut entries, item.trim())?;
    }
    Ok(Parsed { entries, form: Form::List })
}

impl AllowedTools {
    /// A field that is there. A malformed one counts as empty (X-01).
    pub fn declared(value: Result<Parsed, Malformed>) -> Self {
        Self::Declared(value.map_or_else(|_| Vec::new(), |parsed| parsed.entries))
    }
}

/// How many parentheses are open.
#[derive(Default)]
struct Depth(usize);

impl Depth {
    fn pass(&mut self, c: char) -> Result<(), Malformed> {
        match c {
            '(' => self.0 += 1,
            ')' => self.0 = self.0.checked_sub(1).ok_or(Malformed::Unbalanced)?,
            _ => {}
        }
        Ok(())
    }

    fn end(self) -> Result<(), Malformed> {
        if self.0 == 0 { Ok(()) } else { Err(Malformed::Unbalanced) }
    }
}

fn take(entries: &mut Vec<String>, entry: &str) -> Result<(), Malformed> {
    if entry.is_empty() {
        return Ok(());
    }
    if entry.starts_with('(') {
        return Err(Malformed::NoTool);
    }
    if entry.chars().nth(ENTRY_CHARS_MAX).is_some() {
        return Err(Malformed::TooLong);
    }
    if entries.len() == ENTRIES_MAX {
        return Err(Malformed::TooMany);
    }
    entries.push(entry.to_owned());
    Ok(())
}

impl Coded for Malformed {
    fn code(&self) -> Code {
        Code::AllowedToolsMalformed
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unbalanced => f.write_str("allowed-tools has a parenthesis without its partner"),
            Self::NoTool => f.write_str("allowed-tools has a parenthesis with no tool directly before it"),
            Self::TooMany => write!(f, "allowed-tools has more than {ENTRIES_MAX} entries"),
            Self::TooLong => {
                write!(f, "allowed-tools has an entry of more than {ENTRY_CHARS_MAX} characters")
            }
        }
    }
}

impl core::error::Error for Malformed {}

#[cfg(test)]
mod tests;
