//! The record of an approval: an id and a time, both the host's.

use core::fmt;

use serde::ser::{Serialize, Serializer};

use crate::time::WallTime;

/// When and under which id a scope was approved (CHK-036).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeReceipt {
    /// Its id.
    pub id: ScopeReceiptId,
    /// When a person saved the scope in mode trusted, UTC. To be shown; nothing expires by it.
    pub approved: WallTime,
}

/// The id of a receipt: a random UUID (version 4). `Display` prints `xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx`, lower case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeReceiptId([u8; 16]);

impl ScopeReceiptId {
    /// The id of these random bytes. Six bits are given up for what makes it a version 4 UUID.
    pub fn from_random(mut bytes: [u8; 16]) -> Self {
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        Self(bytes)
    }

    /// Reads the one way to write it.
    pub fn parse(text: &str) -> Option<Self> {
        let digits: String = text.split('-').collect();
        if digits.len() != 32 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let id = Self::from_random(u128::from_str_radix(&digits, 16).ok()?.to_be_bytes());
        // Upper case, hyphens elsewhere and other versions are printed in another way than they were written.
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for ScopeReceiptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for ScopeReceiptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ScopeReceiptId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
