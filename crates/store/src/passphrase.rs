//! The passphrase that a yes can need: what it is compared with, and how often somebody may be wrong.

mod hash;
mod tries;

use std::fmt::{self, Write as _};

use fumehood_core::{Code, Coded};
use zeroize::Zeroizing;

use crate::home::HomeError;

pub use hash::PassphraseHash;
pub use tries::{check_passphrase, passphrase_wait};

/// What somebody typed: 1 to 1,024 bytes, as the terminal gave them. Wiped when it is dropped, and never printed.
pub struct Passphrase(Zeroizing<Vec<u8>>);

impl Passphrase {
    /// The least bytes of a new one.
    pub const BYTES_MIN: usize = 8;
    /// The most bytes.
    pub const BYTES_MAX: usize = 1024;

    /// One line that `fill` reads into a buffer of ours; it says how many bytes that were. `None` for what is no whole line, an empty
    /// one, or one that is longer than 1,024 bytes. Nothing of it is left in the buffer.
    ///
    /// # Errors
    /// Those of `fill`.
    pub fn read<E>(fill: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> Result<Option<Self>, E> {
        let mut buffer = Zeroizing::new(vec![0; Self::BYTES_MAX + 1]);
        let length = fill(&mut buffer)?;
        let line = buffer.get(..length).and_then(|line| line.strip_suffix(b"\n"));
        Ok(line.filter(|line| !line.is_empty()).map(|line| Self(Zeroizing::new(line.to_vec()))))
    }

    /// As hexadecimal digits, for a line of text to another process.
    pub fn to_hex(&self) -> Zeroizing<String> {
        // Made at once, so that nothing of it is left where it grew.
        let mut text = Zeroizing::new(String::with_capacity(2 * self.0.len()));
        for byte in self.0.iter() {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// What [`Passphrase::to_hex`] gave; `None` for anything else.
    pub fn of_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let is_digits = digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        if digits.is_empty()
            || digits.len() > 2 * Self::BYTES_MAX
            || !digits.len().is_multiple_of(2)
            || !is_digits
        {
            return None;
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(digits.len() / 2));
        for pair in (0..text.len()).step_by(2) {
            bytes.push(u8::from_str_radix(text.get(pair..pair + 2)?, 16).ok()?);
        }
        Some(Self(bytes))
    }

    /// Whether both are the same, long enough to be a new one.
    pub fn is_new(&self, again: &Self) -> bool {
        self.0.len() >= Self::BYTES_MIN && same(&self.0, &again.0)
    }
}

/// Takes as long whatever the bytes are.
fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other)) == 0
}

/// Why a passphrase did not count. None of these is a yes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PassphraseError {
    /// It is another one.
    Wrong,
    /// It was not looked at; it will be after this many seconds, at least 1.
    Wait(u64),
    /// The state folder is not private.
    Home(HomeError),
    /// Tries cannot be counted, or there is no memory to compare in; why, to stand alone.
    Unusable(&'static str),
}

impl Coded for PassphraseError {
    fn code(&self) -> Code {
        match self {
            Self::Wrong => Code::PassphraseWrong,
            Self::Wait(_) => Code::PassphraseWait,
            Self::Home(error) => error.code(),
            Self::Unusable(_) => Code::StateUnavailable,
        }
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

impl fmt::Display for PassphraseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong => f.write_str("the passphrase is wrong"),
            Self::Wait(seconds) => {
                write!(f, "the passphrase was wrong too often; none is looked at for {seconds} s")
            }
            Self::Home(error) => error.fmt(f),
            Self::Unusable(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for PassphraseError {}

#[cfg(test)]
mod tests;
