//! Rust source as words: enough of the grammar to see which paths a file names, without comments and literals.

/// An identifier, `::`, or any other single character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// A path as written, groups taken apart: `use std::{fs, io::Read}` names `std::fs` and `std::io::Read`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) line: usize,
    pub(crate) segments: Vec<String>,
}

impl Named {
    pub(crate) fn is(&self, index: usize, text: &str) -> bool {
        self.segments.get(index).is_some_and(|segment| segment == text)
    }
}

/// The words of `source`. Comments, strings, characters and lifetimes are left out.
pub(crate) fn words(source: &str) -> Vec<Word> {
    let mut rest = source;
    let mut line = 1;
    let mut words = Vec::new();
    while let Some(first) = rest.chars().next() {
        let length = if let Some(length) = ignored(rest) {
            length
        } else {
            let length = word(rest, first);
            if !first.is_whitespace() {
                let text = rest[..length].trim_start_matches("r#").to_owned();
                words.push(Word { line, text });
            }
            length
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    words
}

/// What stands between the quotes of each string of `source`, escapes as written, and the line where it begins.
pub(crate) fn literals(source: &str) -> Vec<(usize, String)> {
    let mut rest = source;
    let mut line = 1;
    let mut literals = Vec::new();
    while let Some(first) = rest.chars().next() {
        let length = match ignored(rest) {
            Some(length) => {
                let text = &rest[..length];
                let inside = text.split_once('"').and_then(|(_, inside)| inside.rsplit_once('"'));
                if let (false, Some((inside, _))) = (text.starts_with('/'), inside) {
                    literals.push((line, inside.to_owned()));
                }
                length
            }
            None => word(rest, first),
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    literals
}

/// Every path that `words` name, one-segment paths included.
pub(crate) fn paths(words: &[Word]) -> Vec<Named> {
    let mut named = Vec::new();
    let mut at = 0;
    while at < words.len() {
        at = if is_identifier(&words[at].text) { path(words, at, &[], &mut named) } else { at + 1 };
    }
    named
}

/// Reads the path that starts at `at` below `prefix`, adds it to `named`, and returns where it ends.
fn path(words: &[Word], mut at: usize, prefix: &[String], named: &mut Vec<Named>) -> usize {
    let text = |index: usize| words.get(index).map_or("", |word| word.text.as_str());
    let line = words[at].line;
    let mut segments = prefix.to_vec();
    loop {
        if text(at) == "{" {
            at += 1;
            while !matches!(text(at), "}" | "") {
                let starts = is_identifier(text(at)) || matches!(text(at), "*" | "{");
                at = if starts { path(words, at, &segments, named) } else { at + 1 };
            }
            return at + 1;
        }
        segments.push(text(at).to_owned());
        at += 1;
        let goes_on = is_identifier(text(at + 1)) || matches!(text(at + 1), "*" | "{");
        if text(at) != "::" || !goes_on {
            named.push(Named { line, segments });
            // In a group the new name of `x as y` would be taken for another member.
            return if !prefix.is_empty() && text(at) == "as" { at + 2 } else { at };
        }
        at += 1;
    }
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Bytes of the comment, literal or lifetime that `rest` starts with.
fn ignored(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    if let Some(after) = rest.strip_prefix('\'') {
        return Some(quoted(rest, '\'').filter(|_| is_character(rest)).unwrap_or(1 + word_length(after)));
    }
    for prefix in ["", "b", "c"] {
        let Some(after) = rest.strip_prefix(prefix) else { continue };
        if after.starts_with('"') {
            return Some(prefix.len() + quoted(after, '"').unwrap_or(after.len()));
        }
        if prefix == "b" && after.starts_with('\'') {
            return Some(1 + quoted(after, '\'').unwrap_or(after.len()));
        }
        if let Some(raw) = after.strip_prefix('r') {
            let hashes = raw.len() - raw.trim_start_matches('#').len();
            if let Some(body) = raw[hashes..].strip_prefix('"') {
                let end = format!("\"{}", "#".repeat(hashes));
                let length = body.find(&end).map_or(body.len(), |found| found + end.len());
                return Some(prefix.len() + 1 + hashes + 1 + length);
            }
        }
    }
    None
}

/// Bytes of a block comment, with the ones inside it.
fn block_comment(rest: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < rest.len() {
        let tail = &rest.as_bytes()[at..];
        if tail.starts_with(b"/*") {
            (at, depth) = (at + 2, depth + 1);
        } else if tail.starts_with(b"*/") {
            (at, depth) = (at + 2, depth - 1);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// Bytes up to and with the closing quote.
fn quoted(rest: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    rest.char_indices().skip(1).find_map(|(at, c)| {
        let closes = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        closes.then(|| at + c.len_utf8())
    })
}

/// Whether a quote starts a character rather than a lifetime.
fn is_character(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

/// Bytes of the word that `rest` starts with.
fn word(rest: &str, first: char) -> usize {
    if rest.starts_with("::") {
        return 2;
    }
    let raw = if rest.starts_with("r#") { 2 } else { 0 };
    match word_length(&rest[raw..]) {
        0 => first.len_utf8(),
        length => raw + length,
    }
}

fn word_length(rest: &str) -> usize {
    rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        words(source).into_iter().map(|word| word.text).collect()
    }

    fn named(source: &str) -> Vec<String> {
        paths(&words(source)).into_iter().map(|path| path.segments.join("::")).collect()
    }

    #[test]
    fn comments_and_literals_are_no_words() {
        let source = r##"
            /* a /* b */ c */ let /* d */ x = "e \" f"; // g
            let y = r#"h " i"#; let z = b"j"; let w = 'k'; let v = '\''; let u: &'l str = c"m"; b'n'; r#unsafe
        "##;
        let found = texts(source);
        for gone in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"] {
            assert!(!found.iter().any(|word| word == gone), "{gone} in {found:?}");
        }
        for kept in ["let", "x", "y", "z", "w", "v", "u", "str", "unsafe"] {
            assert!(found.iter().any(|word| word == kept), "{kept} not in {found:?}");
        }
    }

    #[test]
    fn literals_are_what_stands_in_quotes() {
        let source = "// \"a\"\nlet x = [\"b\", b\"c\\n\", c\"\", r#\"d\"e\"#]; '\"'; /* \"f\" */ \"g";
        let found: Vec<_> =
            literals(source).into_iter().map(|(line, text)| format!("{line} {text}")).collect();
        assert_eq!(found, ["2 b", "2 c\\n", "2 ", "2 d\"e"]);
    }

    #[test]
    fn lines_are_counted_through_comments_and_strings() {
        let found = words("/*\n*/ \"\n\" // x\nhere");
        assert_eq!(found, [Word { line: 4, text: "here".into() }]);
    }

    #[test]
    fn groups_are_taken_apart() {
        assert_eq!(
            named("use std::{fs, io::{self, Read as _}, path::*};"),
            ["use", "std::fs", "std::io::self", "std::io::Read", "std::path::*"]
        );
        assert_eq!(named("::std::fs::read(x)"), ["std::fs::read", "x"]);
        assert_eq!(named("Vec::<std::fs::File>::new()"), ["Vec", "std::fs::File", "new"]);
    }
}
