//! What to search for: a text or a regular expression, within one line, in linear time.

use fumehood_core::Shown;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use super::error::ArtifactError;

/// A pattern, compiled.
///
/// A regular expression is in the syntax of Rust's `regex` crate: no look-around, no back references, hence time linear
/// in what is searched. `^` and `$` are the ends of a line, with `\n` or `\r\n`. It works on Unicode, so a byte that is
/// no UTF-8 is matched by nothing unless it is switched off for a part: `(?-u:\xff)`.
#[derive(Clone, Debug)]
pub struct Pattern {
    pub(super) matcher: RegexMatcher,
}

/// Whether letters match their other case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// As written.
    Exact,
    /// Either, by Unicode's simple case folding.
    Either,
}

impl Pattern {
    /// Bytes of a pattern's text.
    pub const TEXT_BYTES_MAX: usize = 4096;

    /// A text to be found as it is.
    ///
    /// # Errors
    /// `E_ARTIFACT_PATTERN` if it is empty, longer than 4096 bytes, or holds a newline.
    pub fn literal(text: &str, case: Case) -> Result<Self, ArtifactError> {
        Self::build(text, case, true)
    }

    /// A regular expression.
    ///
    /// # Errors
    /// `E_ARTIFACT_PATTERN` if it is empty, longer than 4096 bytes, no regular expression, would match a newline, or is
    /// larger than 512 KiB when compiled.
    pub fn regex(text: &str, case: Case) -> Result<Self, ArtifactError> {
        Self::build(text, case, false)
    }

    fn build(text: &str, case: Case, literal: bool) -> Result<Self, ArtifactError> {
        let refused = |reason: &str| Err(ArtifactError::Pattern(reason.to_owned()));
        if text.is_empty() || text.len() > Self::TEXT_BYTES_MAX {
            return refused("must have 1 to 4096 bytes");
        }
        if text.contains('\n') {
            return refused("holds a newline, and is searched for within one line");
        }
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(case == Case::Either)
            .fixed_strings(literal)
            .multi_line(true)
            // Before the line end, which it would set to something that no `\r` can match.
            .crlf(true)
            .line_terminator(Some(b'\n'))
            .size_limit(COMPILED_BYTES_MAX)
            .dfa_size_limit(CACHE_BYTES_MAX)
            .build(text);
        // The message quotes the pattern, which a model may have written.
        let matcher = matcher.map_err(|error| {
            let message = Shown::block(&error.to_string()).at_most(MESSAGE_CHARS_MAX).to_string();
            ArtifactError::Pattern(format!("cannot be used: {message}"))
        })?;
        Ok(Self { matcher })
    }
}

const COMPILED_BYTES_MAX: usize = 512 << 10;
const CACHE_BYTES_MAX: usize = 8 << 20;
const MESSAGE_CHARS_MAX: usize = 1000;
