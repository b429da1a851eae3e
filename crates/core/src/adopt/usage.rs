//! A usage line: the short form in which programs say what they take.
//!
//! `prog [-h] [--rows N] --out OUT {a,b} input [more ...]`, in the words of `argparse` and of people.

use super::argument::{Argument, Kind, Takes};

/// What a usage line says.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// The arguments, in its order.
    pub(super) arguments: Vec<Argument>,
    /// Whether some of them exclude each other.
    pub(super) has_exclusive: bool,
    /// Whether the rest depends on one of its words.
    pub(super) has_subcommands: bool,
    /// Whether there is something in it that is none of these.
    pub(super) is_partial: bool,
}

/// Reads what stands behind the program's name.
pub(super) fn read(text: &str) -> Usage {
    let mut usage = Usage::default();
    let items = items(text, &mut usage.is_partial);
    take(&mut usage, &items, true, 0);
    usage
}

/// One word, or what is in brackets.
#[derive(Debug)]
enum Item<'t> {
    Word(&'t str),
    Optional(Vec<Item<'t>>),
    Group(Vec<Item<'t>>),
    Choices(&'t str),
    Dots,
    Or,
}

fn items<'t>(text: &'t str, is_partial: &mut bool) -> Vec<Item<'t>> {
    let mut open: Vec<(char, Vec<Item<'t>>)> = Vec::new();
    let mut current: Vec<Item<'t>> = Vec::new();
    let mut rest = text.trim_start();
    let last_closing = text.rfind('}');
    while let Some(c) = rest.chars().next() {
        let mut taken = c.len_utf8();
        // Looked for only where there is one, so that each byte is passed once.
        let has_closing = last_closing.is_some_and(|at| at > text.len() - rest.len());
        match c {
            '[' | '(' if open.len() < DEPTH_MAX => open.push((c, core::mem::take(&mut current))),
            ']' | ')' => match open.pop() {
                Some((opening, outer)) => {
                    let inner = core::mem::replace(&mut current, outer);
                    current.push(if opening == '[' { Item::Optional(inner) } else { Item::Group(inner) });
                }
                None => *is_partial = true,
            },
            '{' => match has_closing.then(|| rest.find('}')).flatten() {
                Some(end) => {
                    current.push(Item::Choices(&rest[1..end]));
                    taken = end + 1;
                }
                None => *is_partial = true,
            },
            '|' => current.push(Item::Or),
            // One name in angle brackets can have blanks in it.
            '<' if end_of_name(rest).is_some() => {
                let end = end_of_name(rest).unwrap_or(0);
                current.push(Item::Word(&rest[..=end]));
                taken = end + 1;
            }
            _ if rest.starts_with("...") => {
                current.push(Item::Dots);
                taken = 3;
            }
            '…' => current.push(Item::Dots),
            _ => {
                let ends = |c: char| c.is_whitespace() || "[](){}|<…".contains(c);
                let end = rest.find(ends).unwrap_or(rest.len()).max(taken);
                let word = &rest[..end];
                match word.strip_suffix("...") {
                    Some(word) if !word.is_empty() => current.extend([Item::Word(word), Item::Dots]),
                    _ => current.push(Item::Word(word)),
                }
                taken = end;
            }
        }
        rest = rest[taken..].trim_start();
    }
    *is_partial |= !open.is_empty();
    current
}

/// Where a name in angle brackets ends.
fn end_of_name(text: &str) -> Option<usize> {
    text.bytes().take(NAME_BYTES_MAX).position(|b| b == b'>')
}

fn take(usage: &mut Usage, items: &[Item<'_>], required: bool, depth: usize) {
    let mut at = 0;
    while let Some(item) = items.get(at) {
        at += 1;
        if usage.arguments.len() > ARGUMENTS_MAX || depth > DEPTH_MAX {
            usage.is_partial = true;
            return;
        }
        match item {
            Item::Optional(inner) => match inner.as_slice() {
                // `x [x ...]`, `[x ...]`: several of one.
                [Item::Word(word), Item::Dots] if !word.starts_with('-') => several(usage, word),
                // People write `[input file]` for one thing.
                words if words.len() > 1 && words.iter().all(is_plain_word) => {
                    let name: Vec<_> = words.iter().filter_map(word_of).collect();
                    usage.arguments.push(positional(&name.join(" "), false));
                }
                _ => take(usage, inner, false, depth + 1),
            },
            Item::Group(inner) => {
                usage.has_exclusive |= inner.iter().any(|item| matches!(item, Item::Or));
                take(usage, inner, false, depth + 1);
            }
            Item::Or => usage.has_exclusive |= depth > 0,
            Item::Dots => match usage.arguments.last_mut() {
                Some(last) if last.is_positional() && matches!(last.kind, Kind::Choices(_)) => {
                    usage.has_subcommands = true;
                }
                Some(last) if last.takes == Takes::One => last.takes = Takes::Several { none: false },
                Some(last) if matches!(last.takes, Takes::Several { .. }) => {}
                _ => usage.arguments.push(rest_of()),
            },
            Item::Choices(list) => usage.arguments.push(Argument {
                name: "choice".to_owned(),
                kind: choices(list),
                required: Some(required),
                ..Argument::default()
            }),
            Item::Word(flag) if is_flag(flag) => {
                let (flag, glued) =
                    flag.split_once('=').map_or((*flag, None), |(flag, value)| (flag, Some(value)));
                let mut argument = of_flag(flag, required);
                if let Some(value) = glued.or_else(|| value_word(items.get(at))) {
                    argument.takes = Takes::One;
                    argument.metavar = Some(bare(value).to_owned());
                    at += usize::from(glued.is_none());
                    // Two words behind one flag are two values, or a value and a positional argument: nobody can tell.
                    if depth > 0 && value_word(items.get(at)).is_some() {
                        argument.takes = Takes::Other;
                        at = items.len();
                    }
                } else if let Some(Item::Choices(list)) = items.get(at) {
                    argument.takes = Takes::One;
                    argument.kind = choices(list);
                    at += 1;
                } else if let Some(Item::Optional(_)) = items.get(at).filter(|_| depth > 0) {
                    argument.takes = Takes::Optional;
                    at += 1;
                }
                usage.arguments.push(argument);
            }
            Item::Word("--" | "-") => {}
            Item::Word(word) => {
                let is_all_flags = ["OPTIONS", "options", "option", "flags", "OPTION"].contains(&bare(word));
                if !is_all_flags {
                    usage.arguments.push(positional(word, required));
                }
            }
        }
    }
}

fn word_of<'t>(item: &Item<'t>) -> Option<&'t str> {
    match item {
        Item::Word(word) => Some(word),
        _ => None,
    }
}

fn is_plain_word(item: &Item<'_>) -> bool {
    word_of(item).is_some_and(|word| !word.starts_with(['-', '<']))
}

fn several(usage: &mut Usage, word: &str) {
    let name = bare(word);
    match usage.arguments.last_mut() {
        Some(last) if last.is_positional() && last.name == name => {
            last.takes = Takes::Several { none: false }
        }
        _ => {
            let takes = Takes::Several { none: true };
            usage.arguments.push(Argument { takes, required: Some(false), ..positional(word, false) });
        }
    }
}

/// All that follows, whatever it is.
fn rest_of() -> Argument {
    Argument { name: "...".to_owned(), takes: Takes::Other, required: Some(false), ..Argument::default() }
}

fn positional(word: &str, required: bool) -> Argument {
    Argument { name: bare(word).to_owned(), required: Some(required), ..Argument::default() }
}

/// A flag by itself, so far without a value.
pub(super) fn of_flag(flag: &str, required: bool) -> Argument {
    Argument {
        name: flag.trim_start_matches('-').to_owned(),
        flags: vec![flag.to_owned()],
        takes: Takes::Switch,
        required: Some(required),
        ..Argument::default()
    }
}

/// The choices between braces.
pub(super) fn choices(list: &str) -> Kind {
    Kind::Choices(list.split(',').map(|value| value.trim().to_owned()).take(CHOICES_MAX).collect())
}

/// What stands for the value of a flag: a name in angle brackets or in capitals.
fn value_word<'t>(item: Option<&Item<'t>>) -> Option<&'t str> {
    match item {
        Some(Item::Word(word)) if word.starts_with('<') || is_metavar(word) => Some(word),
        _ => None,
    }
}

fn is_metavar(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase()) && !word.contains(|c: char| c.is_ascii_lowercase())
}

pub(super) fn is_flag(word: &str) -> bool {
    word.len() > 1
        && word.starts_with('-')
        && word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn bare(word: &str) -> &str {
    word.trim_start_matches('<').trim_end_matches('>')
}

const DEPTH_MAX: usize = 8;
const NAME_BYTES_MAX: usize = 80;
const ARGUMENTS_MAX: usize = 256;
/// One more than an enum may have, so that too many are still too many.
const CHOICES_MAX: usize = 65;
