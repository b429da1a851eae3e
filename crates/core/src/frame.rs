//! Bytes that can be read back in one way only, to take a digest of.
//!
//! Two values that are framed alike give the same bytes only if they are equal. Whoever frames something writes the order
//! down and gives it a first line of its own; nobody reads the bytes back.

use crate::digest::Sha256;

/// Parts one behind another.
#[derive(Clone, Debug)]
pub struct Frame(Vec<u8>);

impl Frame {
    /// Begins with a line that says what it is and in which version: `fumehood NOUN VERSION`.
    pub fn new(noun: &str, version: u32) -> Self {
        Self(format!("fumehood {noun} {version}\n").into_bytes())
    }

    /// The length in bytes, unsigned 64 bit, big-endian, and the bytes.
    pub fn part(&mut self, bytes: &[u8]) {
        self.0.extend((bytes.len() as u64).to_be_bytes());
        self.0.extend(bytes);
    }

    /// A part of eight bytes: the number, unsigned 64 bit, big-endian.
    pub fn number(&mut self, number: u64) {
        self.part(&number.to_be_bytes());
    }

    /// One byte, 1 or 0, that says whether the value is there, and what `write` writes of it.
    pub fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.0.push(u8::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    /// How many there are, unsigned 64 bit, big-endian, and what `write` writes of each, in order.
    pub fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        let items = items.into_iter();
        self.0.extend((items.len() as u64).to_be_bytes());
        items.for_each(|item| write(self, item));
    }

    /// The bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Their digest.
    pub fn sha256(&self) -> Sha256 {
        Sha256::of(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The three strings, each there or not, in two lists.
    fn framed(lists: [&[Option<&str>]; 2]) -> Vec<u8> {
        let mut frame = Frame::new("test", 1);
        for list in lists {
            frame.list(list, |frame, item| {
                frame.optional(item.as_ref(), |frame, text| frame.part(text.as_bytes()));
            });
        }
        frame.into_bytes()
    }

    #[test]
    fn a_frame_is_its_first_line_and_its_parts() {
        let mut frame = Frame::new("test", 2);
        frame.part(b"ab");
        frame.number(258);
        frame.optional(None::<()>, |_, ()| {});
        frame.optional(Some(()), |_, ()| {});
        let expected = b"fumehood test 2\n\0\0\0\0\0\0\0\x02ab\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\x01\x02\0\x01";
        assert_eq!(frame.sha256(), Sha256::of(expected));
        assert_eq!(frame.into_bytes(), expected);
    }

    #[test]
    fn nothing_can_move_between_parts() {
        let values: [[&[Option<&str>]; 2]; 8] = [
            [&[], &[]],
            [&[None], &[]],
            [&[], &[None]],
            [&[Some("")], &[]],
            [&[Some("ab")], &[]],
            [&[Some("a"), Some("b")], &[]],
            [&[Some("a")], &[Some("b")]],
            [&[Some("a"), None], &[Some("b")]],
        ];
        let seen: std::collections::BTreeSet<_> = values.into_iter().map(framed).collect();
        assert_eq!(seen.len(), values.len());
    }
}
