//! The chain: each row's hash covers the row and the hash of the one before.

use std::fmt;

use fumehood_core::digest::Hasher;

/// A link of the chain. `Display` prints 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainHash([u8; 32]);

impl ChainHash {
    /// What the first row follows.
    pub const START: Self = Self([0; 32]);

    /// The hash of a row. Every part has a fixed length or its length before it, so no two rows look alike.
    pub fn of(seq: u64, time_ms: i64, kind: &str, json: &str, previous: Self) -> Self {
        let mut hasher = Hasher::default();
        hasher.update(FRAME_V1);
        hasher.update(&seq.to_be_bytes());
        hasher.update(&time_ms.to_be_bytes());
        for text in [kind, json] {
            hasher.update(&(text.len() as u64).to_be_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.update(&previous.0);
        Self(*hasher.finish().as_bytes())
    }

    /// Reads what `Display` prints.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 64 || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        for (byte, two) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    pub(super) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub(super) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Separates links from every other SHA-256 that anybody computes, and from later framings.
const FRAME_V1: &[u8] = b"fumehood journal 1\n";

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The framing is a promise: this value was computed by an independent program.
    #[test]
    fn framing_is_version_1() {
        let first = ChainHash::of(1, 1_700_000_000_000, "call.started", "{\"id\":\"x\"}", ChainHash::START);
        assert_eq!(first.to_string(), "a1663024989aec4ff9e2d9038b01c9fe2beffef77705e0396189ff52ea213609");
        assert_eq!(ChainHash::parse(&first.to_string()), Some(first));
        assert_eq!(ChainHash::parse(&first.to_string().to_uppercase()), None);
    }

    #[test]
    fn every_part_counts() {
        let base = ChainHash::of(1, 2, "ab", "c", ChainHash::START);
        for other in [
            ChainHash::of(2, 2, "ab", "c", ChainHash::START),
            ChainHash::of(1, 3, "ab", "c", ChainHash::START),
            ChainHash::of(1, 2, "a", "bc", ChainHash::START),
            ChainHash::of(1, 2, "ab", "d", ChainHash::START),
            ChainHash::of(1, 2, "ab", "c", base),
        ] {
            assert_ne!(base, other);
        }
    }
}
