//! What must hold for any input: the bodies of the fuzz targets.
//!
//! Each body takes any bytes and panics when a promise of `fumehood-core` is broken. `fuzz/` calls them with what
//! the fuzzer makes up, and an ordinary test with every file of `fuzz/corpus/`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a broken promise panics; that is what these functions are for"
)]

mod frontmatter;
mod json;
mod manifests;
mod relpath;
mod schema;

pub use frontmatter::frontmatter;
pub use json::json;
pub use manifests::manifests;
pub use relpath::relpath;
pub use schema::schema;

use fumehood_core::{Place, Shown};

/// A fuzz target: the name it has in `fuzz/`, and its body.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its file in `fuzz/fuzz_targets/` and of its folder in `fuzz/corpus/`.
    pub name: &'static str,
    /// Panics when a promise is broken.
    pub body: fn(&[u8]),
}

/// Every target.
pub const TARGETS: [Target; 5] = [
    Target { name: "frontmatter", body: frontmatter },
    Target { name: "json", body: json },
    Target { name: "manifests", body: manifests },
    Target { name: "relpath", body: relpath },
    Target { name: "schema", body: schema },
];

/// A message for people holds no hidden character, no line break, and no more of the author's text than `Shown` lets
/// through in one piece or two.
fn assert_showable(message: &str) {
    let shown = Shown::inline(message).at_most(usize::MAX).to_string();
    assert_eq!(shown, message, "a message holds characters that hide");
    assert!(message.chars().count() <= MESSAGE_CHARS_MAX, "a message of {} bytes", message.len());
}

/// Two inline texts of 256 characters, each written as `\u{10ffff}`, and words around them.
const MESSAGE_CHARS_MAX: usize = 2 * 256 * 10 + 512;

/// A place is a line that the text has. Columns are not held to account: a rescued block is read from a mended copy.
fn assert_place_within(place: Place, text: &[u8]) {
    let lines = text.split(|byte| *byte == b'\n').count();
    assert!(place.line >= 1 && place.column >= 1, "{place:?} counts from 0");
    assert!(place.line as usize <= lines, "{place:?} in a text of {lines} lines");
}

/// The input up to the first byte that is no text.
fn text_of(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

// The checks must bite.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_hides_something_is_caught() {
        let caught = |message: &'static str| std::panic::catch_unwind(|| assert_showable(message)).is_err();
        assert!(!caught("plain, \u{2764}\u{fe0f}, \\u{202e}"));
        for hiding in ["\u{202e}", "a\nb", "a\tb", "a\u{fe0f}"] {
            assert!(caught(hiding), "{hiding:?}");
        }
        assert!(caught("x".repeat(MESSAGE_CHARS_MAX + 1).leak()));
    }

    #[test]
    fn a_place_beyond_the_text_is_caught() {
        let caught = |line| {
            std::panic::catch_unwind(|| assert_place_within(Place { line, column: 1 }, b"a\nb")).is_err()
        };
        assert!(!caught(1) && !caught(2));
        assert!(caught(0) && caught(3));
    }

    #[test]
    fn text_is_taken_up_to_the_first_byte_that_is_none() {
        assert_eq!((text_of(b"ab\xffc"), text_of("é".as_bytes())), ("ab", "é"));
    }
}
