//! Identity: SHA-256 of files, and the revision of a whole skill.

use core::fmt;

use serde::ser::{Serialize, Serializer};
use sha2::Digest as _;

use crate::path::RelPath;

/// A SHA-256 digest. `Display` prints 64 lower-case hex digits.
///
/// Every value was computed here, now or, for [`Sha256::of_record`], when fumehood wrote it down. None is taken from anybody
/// else's text; one that is compared with such is compared as text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256([u8; 32]);

/// The identity of a skill's bytes: one digest over the sorted (path, size, SHA-256) of every file.
///
/// `Display` prints `sha256:` and 64 hex digits. Two revisions are equal exactly when every path and every byte is
/// (short of a SHA-256 collision). Modes, times and owners are not part of it. The framing is version 1, written
/// down in `docs/decisions/0001-revision-framing.md`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(Sha256);

/// A revision that was computed from the bytes themselves, just now or when they were captured.
///
/// A digest that somebody supplies proves nothing about bytes (CHK-023), so there is no way to make this from a digest,
/// a text or a [`Revision`]; whoever has one had every byte in memory.
///
/// ```compile_fail
/// use fumehood_core::digest::{Revision, VerifiedRevision};
/// fn trust(revision: Revision) -> VerifiedRevision {
///     VerifiedRevision(revision)
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifiedRevision(Revision);

/// SHA-256 of bytes that arrive in pieces.
#[derive(Clone, Default)]
pub struct Hasher(sha2::Sha256);

impl Hasher {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes added.
    pub fn finish(self) -> Sha256 {
        Sha256(self.0.finalize().into())
    }
}

impl Sha256 {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The digest that fumehood computed earlier and wrote down in its own private state: 64 lower-case hex digits.
    ///
    /// It proves nothing about any bytes. So a rule over all sources lets only the store call this, which reads such a
    /// record and can say why what was hashed then has not changed since.
    pub fn of_record(text: &str) -> Option<Self> {
        digest_bytes(text).map(Self)
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl Revision {
    /// The digest that it is.
    pub fn sha256(&self) -> &Sha256 {
        &self.0
    }

    /// The revision that fumehood computed earlier and wrote down in its own private state, as `Display` prints it. It proves
    /// nothing about any bytes, as [`Sha256::of_record`].
    pub fn of_record(text: &str) -> Option<Self> {
        text.strip_prefix("sha256:").and_then(digest_bytes).map(|bytes| Self(Sha256(bytes)))
    }

    /// The revision of `files`, which must come sorted by path (byte order), each path once.
    ///
    /// The order is the caller's by construction: [`BTreeMap`](std::collections::BTreeMap) keys are sorted and unique.
    pub fn of(files: &std::collections::BTreeMap<RelPath, (u64, Sha256)>) -> Self {
        let mut hasher = Hasher::default();
        hasher.update(FRAME_V1);
        hasher.update(&(files.len() as u64).to_be_bytes());
        for (path, (size, sha256)) in files {
            hasher.update(&(path.as_str().len() as u64).to_be_bytes());
            hasher.update(path.as_str().as_bytes());
            hasher.update(&size.to_be_bytes());
            hasher.update(sha256.as_bytes());
        }
        Self(hasher.finish())
    }
}

impl VerifiedRevision {
    /// Hashes every file. One pass over all bytes, of which a skill that can run has at most 16 MiB.
    pub fn of<B: AsRef<[u8]>>(files: &std::collections::BTreeMap<RelPath, B>) -> Self {
        let facts = files.iter().map(|(path, bytes)| {
            let bytes = bytes.as_ref();
            (path.clone(), (bytes.len() as u64, Sha256::of(bytes)))
        });
        Self(Revision::of(&facts.collect()))
    }

    /// The revision, to show and to compare.
    pub fn revision(self) -> Revision {
        self.0
    }
}

/// The bytes of exactly 64 lower-case hex digits.
pub(crate) fn digest_bytes(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let digits = text.as_bytes();
    if digits.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = hex(pair[0])? << 4 | hex(pair[1])?;
    }
    Some(bytes)
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// Separates revisions from every other SHA-256 that anybody computes, and from later framings.
const FRAME_V1: &[u8] = b"fumehood revision 1\n";

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Sha256 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Revision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

impl fmt::Debug for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn revision(files: &[(&str, &[u8])]) -> Revision {
        let map: BTreeMap<_, _> = files
            .iter()
            .map(|(path, bytes)| (RelPath::parse(path).unwrap(), (bytes.len() as u64, Sha256::of(bytes))))
            .collect();
        Revision::of(&map)
    }

    #[test]
    fn sha256_is_sha256() {
        assert_eq!(
            Sha256::of(b"abc").to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        let mut pieces = Hasher::default();
        pieces.update(b"a");
        pieces.update(b"bc");
        assert_eq!(pieces.finish(), Sha256::of(b"abc"));
    }

    #[test]
    fn a_record_is_the_digest_that_was_written_down() {
        let digest = Sha256::of(b"abc");
        let text = digest.to_string();
        assert_eq!(Sha256::of_record(&text), Some(digest));
        for other in ["", &text[1..], &text.to_uppercase(), &format!("{text}0"), &text.replace('a', "g")] {
            assert_eq!(Sha256::of_record(other), None, "{other}");
        }
    }

    // CHK-130: the framing is a promise: this value was computed by an independent program (docs/decisions/0001).
    #[test]
    fn framing_is_version_1() {
        assert_eq!(
            revision(&[("SKILL.md", b"x"), ("scripts/a.py", b"")]).to_string(),
            "sha256:7d338cd1aad7743422923d7ed4404e299f959a59d6af6f504fa2c1e6cff8fcf2"
        );
    }

    // CHK-023
    #[test]
    fn a_verified_revision_is_that_of_its_bytes() {
        let files: [(&str, &[u8]); 2] = [("SKILL.md", b"x"), ("scripts/a.py", b"")];
        let bytes: BTreeMap<_, _> =
            files.iter().map(|(path, bytes)| (RelPath::parse(path).unwrap(), *bytes)).collect();
        assert_eq!(VerifiedRevision::of(&bytes).revision(), revision(&files));
    }

    // CHK-130: each path, size and byte, in whatever order they come.
    #[test]
    fn every_part_counts() {
        let base = revision(&[("a", b"1"), ("b", b"2")]);
        assert_eq!(base, revision(&[("b", b"2"), ("a", b"1")]));
        for other in [
            revision(&[("a", b"1")]),
            revision(&[("a", b"2"), ("b", b"1")]),
            revision(&[("a", b"1"), ("c", b"2")]),
            revision(&[("a", b"1"), ("b", b"22")]),
            revision(&[]),
        ] {
            assert_ne!(base, other);
        }
    }
}
