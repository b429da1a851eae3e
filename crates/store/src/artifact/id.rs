//! Names of artifacts that nobody can guess.

use std::fmt;

/// The name of an artifact: 128 random bits, as `art_` and 26 characters of `a-z2-7`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArtifactId([u8; 16]);

impl ArtifactId {
    /// The id of these bits.
    pub(crate) fn of(bits: [u8; 16]) -> Self {
        Self(bits)
    }

    /// Reads the form that `Display` prints. Nothing else is an id, so each has one spelling.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?.as_bytes();
        if digits.len() != DIGITS {
            return None;
        }
        let mut number = 0_u128;
        for (index, digit) in digits.iter().enumerate() {
            let value = ALPHABET.iter().position(|letter| letter == digit)?;
            // 26 digits hold 130 bits: the first has room for three only.
            if index == 0 && value > 7 {
                return None;
            }
            number = number << 5 | value as u128;
        }
        Some(Self(number.to_be_bytes()))
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = u128::from_be_bytes(self.0);
        let mut text = [0; DIGITS];
        for (index, place) in text.iter_mut().rev().enumerate() {
            *place = ALPHABET[(number >> (5 * index) & 31) as usize];
        }
        f.write_str(PREFIX)?;
        text.iter().try_for_each(|letter| fmt::Write::write_char(f, char::from(*letter)))
    }
}

impl fmt::Debug for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

const PREFIX: &str = "art_";
const DIGITS: usize = 26;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_as_they_print() {
        for bits in [[0; 16], [255; 16], *b"0123456789abcdef"] {
            let text = ArtifactId::of(bits).to_string();
            assert_eq!(text.len(), PREFIX.len() + DIGITS);
            assert_eq!(ArtifactId::parse(&text), Some(ArtifactId::of(bits)));
        }
        assert_eq!(ArtifactId::of([0; 16]).to_string(), "art_aaaaaaaaaaaaaaaaaaaaaaaaaa");
        assert_eq!(ArtifactId::of([255; 16]).to_string(), "art_h7777777777777777777777777");
    }

    #[test]
    fn nothing_else_is_an_id() {
        for text in [
            "",
            "art_",
            "art_aaaaaaaaaaaaaaaaaaaaaaaaa",
            "art_aaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "art_AAAAAAAAAAAAAAAAAAAAAAAAAA",
            "art_aaaaaaaaaaaaaaaaaaaaaaaaa1",
            // 129 bits.
            "art_iaaaaaaaaaaaaaaaaaaaaaaaaa",
            "art_../../../../../etc/passwdd",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ] {
            assert_eq!(ArtifactId::parse(text), None, "{text}");
        }
    }
}
