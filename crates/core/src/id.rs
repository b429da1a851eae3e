//! Ids that nobody can guess: 16 random bytes, a prefix that says of what.
//!
//! Where the bytes come from is the caller's matter; they must come from the operating system's generator for secrets.
//! An id is unique in the world, so records of two machines can be put together. Knowing one is still no right: asking
//! for another agent's id is answered as if there were none.

use core::fmt;

use serde::ser::{Serialize, Serializer};

use crate::code::{Code, Coded};

/// Random bytes in an id.
pub const ID_BYTES: usize = 16;

/// Why a text is not an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdError {
    /// The prefix that an id of the wanted kind has.
    pub prefix: &'static str,
}

macro_rules! ids {
    ($( $(#[$doc:meta])+ $name:ident $prefix:literal )*) => { $(
        $(#[$doc])+
        ///
        #[doc = concat!("`Display` prints `", $prefix, "` and 32 lower-case hexadecimal digits.")]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; ID_BYTES]);

        impl $name {
            /// What its text begins with.
            pub const PREFIX: &'static str = $prefix;

            /// The id of these random bytes.
            pub fn from_random(bytes: [u8; ID_BYTES]) -> Self {
                Self(bytes)
            }

            /// Reads the one way to write it: the prefix and 32 digits, nothing before, between or behind.
            ///
            /// # Errors
            /// [`IdError`] with code `E_ID_INVALID`.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                text.strip_prefix($prefix).and_then(bytes).map(Self).ok_or(IdError { prefix: $prefix })
            }

            /// The random bytes.
            pub fn as_bytes(&self) -> &[u8; ID_BYTES] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($prefix)?;
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )* };
}

ids! {
    /// One run of an agent: a CLI call, a stdio server process or a connection.
    RunId "run_"
    /// A request for approval.
    ProposalId "ask_"
    /// A kept result.
    ArtifactId "art_"
    /// A receipt.
    ReceiptId "rcpt_"
    /// One call of a tool, all its attempts included.
    CallId "call_"
}

/// The bytes of exactly 32 lower-case hexadecimal digits.
fn bytes(digits: &str) -> Option<[u8; ID_BYTES]> {
    let digits = digits.as_bytes();
    let mut bytes = [0; ID_BYTES];
    if digits.len() != 2 * ID_BYTES {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Some(bytes)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl Coded for IdError {
    fn code(&self) -> Code {
        Code::IdInvalid
    }
}

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = self.prefix;
        write!(f, "an id of this kind is {prefix} and {} digits of 0-9 and a-f", 2 * ID_BYTES)
    }
}

impl core::error::Error for IdError {}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGITS: &str = "000102030405060708090a0b0c0d0eff";

    #[test]
    fn an_id_is_a_prefix_and_its_bytes() {
        let mut bytes: [u8; ID_BYTES] = core::array::from_fn(|index| u8::try_from(index).unwrap());
        bytes[15] = 0xff;
        let id = ProposalId::from_random(bytes);
        assert_eq!(id.to_string(), format!("ask_{DIGITS}"));
        assert_eq!(format!("{id:?}"), id.to_string());
        assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"ask_{DIGITS}\""));
        assert_eq!(ProposalId::parse(&id.to_string()), Ok(id));
        assert_eq!(id.as_bytes(), &bytes);
    }

    #[test]
    fn there_is_one_way_to_write_an_id() {
        assert!(RunId::parse(&format!("run_{DIGITS}")).is_ok());
        let upper = DIGITS.to_uppercase();
        let short = &DIGITS[1..];
        for text in [
            String::new(),
            "run_".to_owned(),
            DIGITS.to_owned(),
            format!("ask_{DIGITS}"),
            format!("RUN_{DIGITS}"),
            format!("run_{upper}"),
            format!("run_{short}"),
            format!("run_{DIGITS}0"),
            format!(" run_{DIGITS}"),
            format!("run_{DIGITS}\n"),
            format!("run_{short}g"),
            format!("run_{}é", &DIGITS[2..]),
            format!("run_+{short}"),
        ] {
            let error = RunId::parse(&text).unwrap_err();
            assert_eq!((error, error.code()), (IdError { prefix: "run_" }, Code::IdInvalid), "{text}");
        }
    }

    #[test]
    fn no_prefix_begins_another() {
        let prefixes =
            [RunId::PREFIX, ProposalId::PREFIX, ArtifactId::PREFIX, ReceiptId::PREFIX, CallId::PREFIX];
        for (index, prefix) in prefixes.iter().enumerate() {
            assert!(prefixes.iter().skip(index + 1).all(|other| !other.starts_with(prefix)), "{prefix}");
        }
    }
}
