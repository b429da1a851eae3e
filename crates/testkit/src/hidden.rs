//! Characters that must not reach a terminal as they are, and a search for them.

/// Text that attacks whoever looks at it: erases the screen, sets the window's title, turns the writing round, hides
/// letters, and pretends that a new line has started. All of it may stand in a file's name.
pub const HOSTILE: &str =
    "A\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}31mB\u{202e}C\u{2066}D\u{200b}E\u{feff}F\u{e0041}G\u{7f}H\u{2028}I";

/// The part of [`HOSTILE`] that no control character is in: what a portable file name lets through.
pub const HOSTILE_NAME: &str = "B\u{202e}C\u{2066}D\u{200b}E\u{feff}F\u{e0041}G\u{2028}I";

/// The hidden characters in some output, each with what stands around it. Line feeds and tabs are not hidden.
///
/// Written apart from the product's own list on purpose, so that a gap in that one is seen.
pub fn hidden_in(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let chars: Vec<char> = text.chars().collect();
    let around =
        |at: usize| chars[at.saturating_sub(20)..(at + 5).min(chars.len())].iter().collect::<String>();
    let hidden = chars.iter().enumerate().filter(|(_, c)| is_hidden(**c));
    hidden.map(|(at, c)| format!("U+{:04X} in {:?}", u32::from(*c), around(at))).collect()
}

fn is_hidden(c: char) -> bool {
    let by_list = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    by_list || (c.is_control() && c != '\n' && c != '\t')
}
