//! Bytes that do not stay in memory longer than somebody has them.

use core::fmt;
use core::hint::black_box;
use core::ops::Deref;

/// Bytes of a fixed capacity that are overwritten when they are dropped (CHK-126).
///
/// They are moved, not copied, from whoever read them to whoever shows them, and are never moved to a larger place. That keeps
/// them out of memory that is used again. It promises nothing about copies that the system made, about what a `Vec` that was
/// turned into this had left behind where it grew, nor about what somebody copied out. `Debug` prints the size.
///
/// ```
/// use fumehood_core::wiped::Wiped;
/// let mut bytes = Wiped::with_capacity(4);
/// assert!(bytes.push(b"1234"));
/// assert!(!bytes.push(b"5"));
/// assert_eq!(bytes, b"1234");
/// ```
#[derive(Clone, Default, Eq)]
pub struct Wiped(Vec<u8>);

impl Wiped {
    /// Room for at least so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// Adds all of it, or nothing and says `false` if there is no room for all of it.
    #[must_use = "nothing is added where there is no room"]
    pub fn push(&mut self, piece: &[u8]) -> bool {
        let fits = piece.len() <= self.0.capacity() - self.0.len();
        if fits {
            self.0.extend_from_slice(piece);
        }
        fits
    }

    /// The same bytes, which are not overwritten any more.
    pub fn into_vec(mut self) -> Vec<u8> {
        core::mem::take(&mut self.0)
    }
}

/// Overwrites bytes that nobody reads any more.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    // Without somebody who looks at them, the compiler could leave the writing out.
    black_box(bytes);
}

impl Drop for Wiped {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl Deref for Wiped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Wiped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Wiped {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&str> for Wiped {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for Wiped {
    fn eq(&self, other: &T) -> bool {
        self.0 == other.as_ref()
    }
}

impl fmt::Debug for Wiped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wiped({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CHK-124, CHK-126: they stay where they are, and what is wiped is gone.
    #[test]
    fn the_place_is_fixed_and_wiped() {
        let mut bytes = Wiped::with_capacity(8);
        let at = bytes.0.as_ptr();
        let room = bytes.0.capacity();
        assert!(bytes.push(b"secret"));
        assert!(!bytes.push(&vec![b'x'; room - 5]));
        assert_eq!((bytes.0.as_ptr(), bytes.0.capacity()), (at, room));
        assert_eq!(bytes, b"secret");
        assert_eq!(format!("{bytes:?}"), "Wiped(6 bytes)");
        wipe(&mut bytes.0);
        assert_eq!(bytes, [0; 6]);
        assert_eq!(Wiped::from("kept").into_vec(), b"kept");
    }
}
