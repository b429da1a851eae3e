//! Long lines of a question, folded by us: where a terminal would fold them, a text could be written so that its rest looks
//! like a line of our own.

use std::borrow::Cow;
use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;

/// Columns and rows of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Size {
    /// What a terminal says of itself; one that says nothing counts as a usual one.
    pub(super) fn of(columns: u16, rows: u16) -> Self {
        let usual = |said: u16, usual| if said == 0 { usual } else { usize::from(said) };
        Self { columns: usual(columns, 80), rows: usual(rows, 24) }
    }
}

/// The size of the terminal behind a handle, if that is one.
pub(super) fn size_of(handle: &impl AsFd) -> Option<Size> {
    tcgetwinsize(handle).ok().map(|size| Size::of(size.ws_col, size.ws_row))
}

/// A question with no line wider than the columns: what does not fit goes on in the next line, below the values, with the whole
/// word if a line holds it. No character is left out or put in the place of another.
pub(super) fn folded(text: &str, columns: usize) -> String {
    let indent = if columns >= NARROW { INDENT } else { INDENT_OF_OTHERS };
    fold(text, columns, &" ".repeat(indent))
}

/// Any other text of ours with texts of others in it, for a terminal of that size; for what is none, as it is.
pub(super) fn for_terminal(text: &str, size: Option<Size>) -> Cow<'_, str> {
    match size {
        Some(size) => Cow::Owned(fold(text, size.columns, &" ".repeat(INDENT_OF_OTHERS))),
        None => Cow::Borrowed(text),
    }
}

/// What somebody else wrote, whole lines of it: each behind a rule that nothing of ours has.
pub(super) fn ruled(text: &str, size: Size) -> String {
    let rule = |line: &str| fold(&format!("{RULE}{line}\n"), size.columns, RULE);
    text.lines().map(rule).collect()
}

fn fold(text: &str, columns: usize, before: &str) -> String {
    let indent = before.chars().count();
    // A terminal too narrow for that folds again, and there is no help for it.
    let columns = columns.max(indent + 8);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    // Where the word begins that is under way, if something stands before it in its line.
    let mut word: Option<Word> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\n' => (at, word) = (0, None),
            // Ours: nobody else's gets here. It takes no room.
            '\u{1b}' => {
                out.push(c);
                out.extend(chars.by_ref().take_while(|c| *c != 'm'));
                out.push('m');
                continue;
            }
            c => {
                if at + width(c) > columns {
                    let room = columns - indent;
                    // What fits into no line is folded where this one ends: it stays in as few as it takes.
                    let begun = word.take().filter(|word| {
                        let so_far = at - word.at;
                        let more = if c == ' ' { 0 } else { width(c) + rest_of_word(chars.as_str(), room) };
                        so_far > 0 && so_far + more <= room
                    });
                    let (place, carried) = begun.map_or((out.len(), 0), |word| (word.place, at - word.at));
                    out.insert_str(place, before);
                    out.insert(place, '\n');
                    at = indent + carried;
                }
                at += width(c);
            }
        }
        out.push(c);
        if c == ' ' {
            word = Some(Word { place: out.len(), at });
        }
    }
    out
}

/// Where a word begins: in the text that is folded already, and in its line.
struct Word {
    place: usize,
    at: usize,
}

/// Columns of what is left of a word, or more than the room.
fn rest_of_word(text: &str, room: usize) -> usize {
    let mut columns = 0;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\n' => break,
            '\u{1b}' => chars.by_ref().take_while(|c| *c != 'm').for_each(drop),
            c => columns += width(c),
        }
        if columns > room {
            break;
        }
    }
    columns
}

/// What to say in front of the answer, if the beginning of the question cannot be seen any more.
pub(super) fn hint(lines: usize, rows: usize) -> String {
    if lines < rows {
        return String::new();
    }
    format!("These are {lines} lines: scroll up to the first before you answer.\n")
}

/// Columns at most: terminals do not agree about all others, and what is folded too early does no harm.
fn width(c: char) -> usize {
    match c {
        '\t' => 8,
        '│' => 1,
        c if c.is_ascii() => 1,
        _ => 2,
    }
}

/// Where the values of a question begin.
const INDENT: usize = 18;
const INDENT_OF_OTHERS: usize = 4;
const RULE: &str = "│ ";
const NARROW: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_wide_goes_on_far_from_the_edge() {
        let gap = " ".repeat(INDENT);
        let line = "x".repeat(80);
        assert_eq!(folded(&line, 80), line);
        assert_eq!(folded(&format!("{line}y\nz"), 80), format!("{line}\n{gap}y\nz"));
        let rest = "y".repeat(80 - INDENT);
        assert_eq!(folded(&format!("{line}{rest}z"), 80), format!("{line}\n{gap}{rest}\n{gap}z"));
        // As many blanks as there is room: the rest is no line of ours.
        let forged = format!("{}  MAY REPLACE     nothing", " ".repeat(80));
        assert_eq!(folded(&forged, 80), format!("{}\n{gap}  MAY REPLACE     nothing", " ".repeat(80)));
    }

    #[test]
    fn words_stay_whole_where_a_line_holds_them() {
        let gap = " ".repeat(INDENT);
        let before = format!("{} ", "x".repeat(75));
        assert_eq!(folded(&format!("{before}word"), 80), format!("{before}word"));
        assert_eq!(folded(&format!("{before}words b"), 80), format!("{before}\n{gap}words b"));
        // A blank that has no room is not the first of the next line, unless nothing else can be.
        assert_eq!(folded(&format!("{before}word b"), 80), format!("{before}\n{gap}word b"));
        // Colours take no room, wherever they stand.
        let coloured = format!("{before}\u{1b}[1mwo\u{1b}[0mrds\u{1b}[0m b");
        let shown = format!("{before}\n{gap}\u{1b}[1mwo\u{1b}[0mrds\u{1b}[0m b");
        assert_eq!(folded(&coloured, 80), shown);
        // A digest that no line holds begins where it would have begun, and so does what follows it.
        let long = "0".repeat(80);
        let (first, rest) = long.split_at(4);
        let (second, third) = rest.split_at(80 - INDENT);
        assert_eq!(
            folded(&format!("{before}{long}"), 80),
            format!("{before}{first}\n{gap}{second}\n{gap}{third}")
        );
        // Nothing is lost, whatever it is.
        let text = "a  b \u{202e} 漢字 {\"a\":  \"b\"}   ".repeat(40);
        let unfolded = folded(&text, 60).replace(&format!("\n{gap}"), "");
        assert_eq!(unfolded, text);
        assert!(folded(&text, 60).lines().all(|line| line.chars().map(width).sum::<usize>() <= 60));
    }

    #[test]
    fn wide_characters_and_our_own_colours_are_counted() {
        assert_eq!(folded(&"漢".repeat(41), 80), format!("{}\n{}漢", "漢".repeat(40), " ".repeat(INDENT)));
        let coloured = format!("\u{1b}[1;33m{}\u{1b}[0m", "x".repeat(80));
        assert_eq!(folded(&coloured, 80), coloured);
        assert_eq!(folded("abcdefghijklmnop", 1), "abcdefghijkl\n    mnop");
    }

    #[test]
    fn what_a_script_wrote_stands_behind_a_rule_however_long_it_is() {
        let size = Size { columns: 20, rows: 24 };
        let text = format!("a\n\n{}replaced\n", " ".repeat(18));
        assert_eq!(ruled(&text, size), format!("│ a\n│ \n│ {}\n│ replaced\n", " ".repeat(18)));
        assert_eq!(ruled("", size), "");
        assert_eq!(for_terminal("ab", None), "ab");
        assert_eq!(for_terminal(&"x".repeat(21), Some(size)), format!("{}\n    x", "x".repeat(20)));
    }

    #[test]
    fn a_terminal_without_a_size_is_a_usual_one() {
        assert_eq!(Size::of(0, 0), Size { columns: 80, rows: 24 });
        assert_eq!(Size::of(132, 50), Size { columns: 132, rows: 50 });
        assert_eq!(hint(23, 24), "");
        assert!(hint(24, 24).starts_with("These are 24 lines"));
    }
}
