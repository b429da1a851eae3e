//! Text that somebody else wrote, made safe to put in front of a person.

use core::fmt::{self, Write as _};

/// Hostile text as a person should see it: control, bidirectional and invisible characters as `\u{…}`, and at
/// most a given number of characters.
///
/// The inline form (the default) puts everything on one line: line breaks become `\n`, tabs `\t`. The block form
/// keeps line feeds and tabs. What is cut is said in the text.
///
/// ```
/// use fumehood_core::Shown;
/// assert_eq!(Shown::inline("a\u{202e}b\n").to_string(), "a\\u{202e}b\\n");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    text: &'a str,
    chars_max: usize,
    block: bool,
    exact: bool,
}

impl<'a> Shown<'a> {
    /// One line, at most 256 characters.
    pub fn inline(text: &'a str) -> Self {
        Self { text, chars_max: INLINE_CHARS_MAX, block: false, exact: false }
    }

    /// Several lines, uncut.
    pub fn block(text: &'a str) -> Self {
        Self { text, chars_max: usize::MAX, block: true, exact: false }
    }

    /// The same text, cut after `chars_max` characters of the original.
    #[must_use]
    pub fn at_most(self, chars_max: usize) -> Self {
        Self { chars_max, ..self }
    }

    /// So that two texts that differ look different: spaces that look like another one, spaces at the end and marks that are
    /// drawn over a character become visible as well. For differences, not for reading: ordinary text in some languages has them.
    ///
    /// ```
    /// use fumehood_core::Shown;
    /// assert_eq!(Shown::inline("rm\u{a0}-r ").exact().to_string(), "rm\\u{a0}-r\\u{20}");
    /// ```
    #[must_use]
    pub fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    fn write_char(&self, f: &mut fmt::Formatter<'_>, previous: char, c: char) -> fmt::Result {
        match c {
            '\n' | '\t' if self.block => f.write_char(c),
            '\n' => f.write_str("\\n"),
            '\t' => f.write_str("\\t"),
            '\r' => f.write_str("\\r"),
            // One emoji presentation selector after a symbol is ordinary text, not a hiding place.
            '\u{fe0f}' if is_symbol(previous) => f.write_char(c),
            c if is_hidden(c) || self.exact && is_mistaken(c) => write!(f, "\\u{{{:x}}}", u32::from(c)),
            c => f.write_char(c),
        }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.exact { self.text.trim_end_matches(' ') } else { self.text };
        let spaces = self.text.len() - end.len();
        if self.text.len() <= self.chars_max && all_bytes(end, |byte| matches!(byte, b' '..=b'~')) {
            f.write_str(end)?;
            return (0..spaces).try_for_each(|_| f.write_str(SPACE));
        }
        let mut previous = ' ';
        let mut chars = end.chars();
        for c in chars.by_ref().take(self.chars_max) {
            self.write_char(f, previous, c)?;
            previous = c;
        }
        match chars.count() {
            0 if end.chars().count() + spaces <= self.chars_max => {
                (0..spaces).try_for_each(|_| f.write_str(SPACE))
            }
            0 if spaces == 0 => Ok(()),
            0 => write!(f, "… (+{spaces} spaces)"),
            cut => write!(f, "… (+{cut} characters)"),
        }
    }
}

/// Whether every byte is one of these. Nearly every text is, so this looks at all bytes of a piece before it decides,
/// which the compiler turns into many at a time.
pub(crate) fn all_bytes(text: &str, is_one: impl Fn(u8) -> bool) -> bool {
    text.as_bytes().chunks(256).all(|piece| piece.iter().fold(true, |all, byte| all & is_one(*byte)))
}

/// Whether a character is invisible, or changes how others are laid out, in most terminals.
///
/// Covers Unicode's control and format characters, line separators, variation selectors, tag characters, fillers
/// and noncharacters. Private use and unassigned characters are visible boxes and stay.
pub fn is_hidden(c: char) -> bool {
    matches!(u32::from(c),
        0x00..=0x1f | 0x7f..=0x9f | 0xad | 0x34f | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x890..=0x891
        | 0x8e2 | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f | 0x2028..=0x202e
        | 0x2060..=0x206f | 0x2800 | 0x3164 | 0xfdd0..=0xfdef | 0xfe00..=0xfe0f | 0xfeff | 0xffa0
        | 0x2d7f | 0x16fe4 | 0x1107f | 0x1d159 | 0xfff0..=0xfffb | 0x110bd | 0x110cd | 0x13430..=0x13440 | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a
        | 0xe0000..=0xe0fff)
        || u32::from(c) & 0xfffe == 0xfffe
}

/// Whether a character is visible, and easily taken for another one: a space of another width, or a mark that lies over the
/// character before it, as if that was struck out or framed.
fn is_mistaken(c: char) -> bool {
    matches!(u32::from(c), 0xa0 | 0x1680 | 0x2000..=0x200a | 0x202f | 0x205f | 0x3000 | 0x334..=0x338 | 0x488..=0x489 | 0x20d2..=0x20d3 | 0x20d8..=0x20da | 0x20dd..=0x20e0 | 0x20e2..=0x20eb)
}

/// Characters that an emoji presentation selector usually follows.
fn is_symbol(c: char) -> bool {
    matches!(u32::from(c),
        0xa9 | 0xae | 0x203c | 0x2049 | 0x2122 | 0x2139 | 0x2194..=0x21aa | 0x231a..=0x23ff | 0x24c2
        | 0x25aa..=0x27bf | 0x2934 | 0x2935 | 0x2b05..=0x2b55 | 0x3030 | 0x303d | 0x3297 | 0x3299
        | 0x1f000..=0x1faff)
}

const INLINE_CHARS_MAX: usize = 256;
const SPACE: &str = "\\u{20}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_become_visible() {
        let cases = [
            ("\u{1b}[2Jx", "\\u{1b}[2Jx"),
            ("a\u{202e}b\u{2066}", "a\\u{202e}b\\u{2066}"),
            ("z\u{200b}w\u{feff}", "z\\u{200b}w\\u{feff}"),
            ("tag\u{e0041}", "tag\\u{e0041}"),
            ("c1\u{9b}31m", "c1\\u{9b}31m"),
            ("one\r\ntwo\tthree", "one\\r\\ntwo\\tthree"),
            ("\u{2764}\u{fe0f}", "\u{2764}\u{fe0f}"),
            ("a\u{fe0f}", "a\\u{fe0f}"),
            // One invisible bit for each digit is a hiding place.
            ("8\u{fe0f}0", "8\\u{fe0f}0"),
            ("あ\u{fe0f}\u{1d159}", "あ\\u{fe0f}\\u{1d159}"),
            ("\u{2764}\u{fe0f}\u{fe0f}", "\u{2764}\u{fe0f}\\u{fe0f}"),
            ("ordinary – text, 漢字", "ordinary – text, 漢字"),
        ];
        for (text, shown) in cases {
            assert_eq!(Shown::inline(text).to_string(), shown);
        }
    }

    // CHK-039: no two lines of a difference look the same.
    #[test]
    fn what_differs_looks_different() {
        for (text, shown) in [
            ("rm -r", "rm -r"),
            ("rm\u{a0}-r", "rm\\u{a0}-r"),
            ("rm\u{3000}-r", "rm\\u{3000}-r"),
            ("r\u{336}m\u{336}", "r\\u{336}m\\u{336}"),
            ("rm ", "rm\\u{20}"),
            ("é  ", "é\\u{20}\\u{20}"),
            ("e\u{301}", "e\u{301}"),
            ("\n", "\\n"),
        ] {
            assert_eq!(Shown::inline(text).exact().to_string(), shown);
        }
        assert_eq!(Shown::inline("ab  ").exact().at_most(2).to_string(), "ab… (+2 spaces)");
        assert_eq!(Shown::inline("éb  ").exact().at_most(2).to_string(), "éb… (+2 spaces)");
        assert_eq!(Shown::inline("abc").exact().at_most(2).to_string(), "ab… (+1 characters)");
        // Where it is for reading, they stay.
        assert_eq!(Shown::inline("à\u{a0}! ").to_string(), "à\u{a0}! ");
    }

    #[test]
    fn block_keeps_lines_and_tabs_only() {
        assert_eq!(Shown::block("a\n\tb\r\u{7}").to_string(), "a\n\tb\\r\\u{7}");
    }

    #[test]
    fn cutting_is_said() {
        assert_eq!(Shown::inline("abcdef").at_most(4).to_string(), "abcd… (+2 characters)");
        assert_eq!(Shown::inline("abcd").at_most(4).to_string(), "abcd");
        let long = "x".repeat(INLINE_CHARS_MAX + 1);
        assert!(Shown::inline(&long).to_string().ends_with("… (+1 characters)"));
    }
}
