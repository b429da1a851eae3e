//! Putting the hash of a passphrase into `fumehood.toml`, and taking it out.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::{EditError, Edited, appended, edit};
use crate::home::{Home, Surroundings};
use crate::passphrase::PassphraseHash;
use crate::settings::Settings;

impl Settings {
    /// Requires this passphrase from now on, or none. Returns whether that changed anything.
    ///
    /// `known` is the one that the person has proved to know; if another is there by now, nothing is changed. What else is said
    /// of [`Settings::put_overlay`] holds here. A comment in the line of a passphrase that is taken out goes with it, and
    /// so does the head of its table, if nothing else is in it.
    ///
    /// # Errors
    /// [`EditError`]; the file is then as it was.
    pub fn put_passphrase(
        home: &Home,
        surroundings: &Surroundings,
        new: Option<&PassphraseHash>,
        known: Option<&PassphraseHash>,
    ) -> Result<bool, EditError> {
        edit(home, surroundings, |text, before| {
            if before.passphrase.as_ref() != known {
                return Err(EditError::Changed);
            }
            if before.passphrase.as_ref() == new {
                return Ok(None);
            }
            let after = with(text, new.map(PassphraseHash::as_str)).ok_or(EditError::Uneditable(TANGLED))?;
            let wanted = Settings { passphrase: new.cloned(), ..before.clone() };
            Ok(Some(Edited { after, wanted, tangled: TANGLED }))
        })
    }
}

/// The text with this passphrase, or without one.
fn with(text: &str, new: Option<&str>) -> Option<String> {
    let parsed = DeTable::parse(text).ok()?;
    let table = parsed.get_ref().iter().find(|(key, _)| key.get_ref() == TABLE);
    let old = table.and_then(|(_, value)| match value.get_ref() {
        DeValue::Table(keys) => keys.iter().find(|(key, _)| key.get_ref() == KEY),
        _ => None,
    });
    let mut after = text.to_owned();
    match (old, table, new) {
        // The text of a hash needs no escape.
        (Some((_, value)), _, Some(new)) => after.replace_range(value.span(), &format!("\"{new}\"")),
        (Some((key, value)), table, None) => {
            let line = lines(text, key.span().start..value.span().end)?;
            let head = table.and_then(|(key, value)| alone(text, key.span(), value.get_ref(), line.start));
            after.replace_range(head.unwrap_or(line.start)..line.end, "");
        }
        (None, Some((key, _)), Some(new)) => {
            let end = lines(text, key.span())?.end;
            let gap = if text.get(..end)?.ends_with('\n') { "" } else { "\n" };
            after.insert_str(end, &format!("{gap}{KEY} = \"{new}\"\n"));
        }
        (None, None, Some(new)) => return Some(appended(text, &format!("[{TABLE}]\n{KEY} = \"{new}\"\n"))),
        (None, _, None) => {}
    }
    Some(after)
}

/// Where the head of a table begins, with the empty lines before it, if it holds nothing but one key, in the line below it.
fn alone(text: &str, name: Range<usize>, table: &DeValue<'_>, below: usize) -> Option<usize> {
    let DeValue::Table(keys) = table else { return None };
    let head = lines(text, name.clone())?;
    let is_bare = text.get(head.clone())?.trim_end() == format!("[{TABLE}]");
    let before = text.get(..head.start)?;
    (keys.len() == 1 && is_bare && head.end == below).then_some(match before.trim_end_matches('\n').len() {
        0 => 0,
        end => end + 1,
    })
}

/// The whole lines that a range is in.
fn lines(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let start = text.get(..range.start)?.rfind('\n').map_or(0, |at| at + 1);
    let end = text.get(range.end..)?.find('\n').map_or(text.len(), |at| range.end + at + 1);
    Some(start..end)
}

const TABLE: &str = "approver";
const KEY: &str = "passphrase";
const TANGLED: &str = "has its passphrase in a form that cannot be changed by itself";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_passphrase_changes() {
        for (before, after) in [
            ("", "[approver]\npassphrase = \"N\"\n"),
            ("[scripts]\n", "[scripts]\n\n[approver]\npassphrase = \"N\"\n"),
            ("[approver] # a\n[scripts]\n", "[approver] # a\npassphrase = \"N\"\n[scripts]\n"),
            ("[approver]", "[approver]\npassphrase = \"N\"\n"),
            ("[approver]\npassphrase = 'O' # a\n# b\n", "[approver]\npassphrase = \"N\" # a\n# b\n"),
            ("approver.passphrase = 'O'\n[scripts]\n", "approver.passphrase = \"N\"\n[scripts]\n"),
            ("approver = { passphrase = 'O' }\n", "approver = { passphrase = \"N\" }\n"),
        ] {
            assert_eq!(with(before, Some("N")).as_deref(), Some(after), "{before:?}");
        }
        for (before, after) in [
            ("", ""),
            ("# a\n[approver]\npassphrase = 'O' # b\n# c\n", "# a\n# c\n"),
            ("[approver]\npassphrase = 'O'\n", ""),
            ("[scripts]\n\n[approver]\npassphrase = 'O'\n", "[scripts]\n"),
            ("[approver]\npassphrase = 'O'\n\n[scripts]\n", "\n[scripts]\n"),
            ("[approver]\npassphrase = 'O'\n# mine\n", "# mine\n"),
            ("[approver] # mine\npassphrase = 'O'\n", "[approver] # mine\n"),
            ("approver.passphrase = 'O'\n[scripts]\n", "[scripts]\n"),
            ("approver = { passphrase = 'O' }", ""),
        ] {
            assert_eq!(with(before, None).as_deref(), Some(after), "{before:?}");
        }
    }
}
