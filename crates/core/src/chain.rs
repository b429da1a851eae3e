//! The journal's chain: each entry is bound to all entries before it.
//!
//! A chain shows that no entry was changed, moved or taken out of the middle. That none was cut off at the end it shows only
//! against a [`Head`] that was kept elsewhere. Who can write the journal can also write another one from its start.

use core::fmt;

use crate::code::{Code, Coded};
use crate::digest::Hasher;

/// What binds an entry to all before it. `Display` prints 64 lower-case hexadecimal digits.
///
/// Not a [`Sha256`](crate::Sha256), since it is read back from where it is stored: a digest of that type was computed here
/// and now.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link([u8; 32]);

/// How many entries there are, and the link of the last one.
///
/// `Display` prints the number, a colon and the link: what a person keeps elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Entries.
    pub entries: u64,
    /// The link of the last one; [`Link::genesis`] if there is none.
    pub link: Link,
}

/// The first entry that is not the one that was written, counted from 0. If an entry is missing at the end, the number of
/// those that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its index.
    pub at: u64,
}

/// Walks a chain entry by entry.
#[derive(Clone, Debug)]
pub struct Walk {
    head: Head,
    kept: Option<Head>,
}

impl Link {
    /// The text whose SHA-256 is the link before the first entry.
    pub const GENESIS_TEXT: &'static [u8] = b"fumehood journal 1\n";

    /// The link before the first entry.
    pub fn genesis() -> Self {
        let mut hasher = Hasher::default();
        hasher.update(Self::GENESIS_TEXT);
        Self(*hasher.finish().as_bytes())
    }

    /// A link as it was stored. Whether it is the right one is for [`verify`] to say.
    pub fn from_stored(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes to store.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The link of `entry`, which follows the one with the link `previous`: SHA-256 over the previous link and the entry's
/// bytes, with a first line that no other digest of ours has.
pub fn chain(previous: Link, entry: &[u8]) -> Link {
    let mut hasher = Hasher::default();
    hasher.update(ENTRY_V1);
    hasher.update(&previous.0);
    hasher.update(&(entry.len() as u64).to_be_bytes());
    hasher.update(entry);
    Link(*hasher.finish().as_bytes())
}

/// Checks a whole journal: each entry with the link that is stored beside it, in order.
///
/// # Errors
/// [`Broken`] with code `E_JOURNAL_BROKEN` at the first entry whose link is not the right one.
pub fn verify<B: AsRef<[u8]>>(entries: impl IntoIterator<Item = (B, Link)>) -> Result<Head, Broken> {
    walk(Walk::new(), entries)
}

/// The same for a journal of which a head was kept elsewhere: it must be on the way.
///
/// # Errors
/// [`Broken`] also where the entry of that head is another one, or where the journal ends before it.
pub fn verify_beyond<B: AsRef<[u8]>>(
    kept: Head,
    entries: impl IntoIterator<Item = (B, Link)>,
) -> Result<Head, Broken> {
    walk(Walk::beyond(kept), entries)
}

fn walk<B: AsRef<[u8]>>(
    mut walk: Walk,
    entries: impl IntoIterator<Item = (B, Link)>,
) -> Result<Head, Broken> {
    for (entry, link) in entries {
        walk.push(entry.as_ref(), link)?;
    }
    walk.finish()
}

impl Walk {
    /// At the start of a journal.
    pub fn new() -> Self {
        Self { head: Head { entries: 0, link: Link::genesis() }, kept: None }
    }

    /// At the start of a journal that must go through `kept`.
    pub fn beyond(kept: Head) -> Self {
        Self { kept: Some(kept), ..Self::new() }
    }

    /// Takes the next entry and the link that is stored beside it.
    ///
    /// # Errors
    /// [`Broken`] if it is not the right link, or not the one of the kept head.
    pub fn push(&mut self, entry: &[u8], link: Link) -> Result<(), Broken> {
        let at = self.head.entries;
        let head = Head { entries: at + 1, link: chain(self.head.link, entry) };
        let is_kept = self.kept.is_none_or(|kept| kept.entries != head.entries || kept == head);
        if head.link != link || !is_kept {
            return Err(Broken { at });
        }
        self.head = head;
        Ok(())
    }

    /// The head, when there are no more entries.
    ///
    /// # Errors
    /// [`Broken`] if the journal ends before the kept head.
    pub fn finish(self) -> Result<Head, Broken> {
        let Head { entries, link } = self.head;
        let reached = self.kept.is_none_or(|kept| kept.entries <= entries);
        // A kept head of no entries has one link that it can have.
        let is_genesis = self.kept.is_none_or(|kept| kept.entries > 0 || kept.link == Link::genesis());
        if reached && is_genesis { Ok(Head { entries, link }) } else { Err(Broken { at: entries }) }
    }
}

impl Default for Walk {
    fn default() -> Self {
        Self::new()
    }
}

impl Head {
    /// Reads the one way to write a head: the number without leading zeros, a colon, 64 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, digits) = text.split_once(':')?;
        let entries = number.parse::<u64>().ok().filter(|entries| entries.to_string() == number)?;
        let mut link = [0; 32];
        if digits.len() != 2 * link.len() || digits.bytes().any(|digit| !is_hex(digit)) {
            return None;
        }
        for (index, byte) in link.iter_mut().enumerate() {
            *byte = u8::from_str_radix(digits.get(2 * index..2 * index + 2)?, 16).ok()?;
        }
        Some(Self { entries, link: Link(link) })
    }
}

fn is_hex(digit: u8) -> bool {
    matches!(digit, b'0'..=b'9' | b'a'..=b'f')
}

/// Separates links from every other SHA-256 that anybody computes, and from later framings.
const ENTRY_V1: &[u8] = b"fumehood journal entry 1\n";

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.entries, self.link)
    }
}

impl Coded for Broken {
    fn code(&self) -> Code {
        Code::JournalBroken
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry {} of the journal is not the one that was written there", self.at)
    }
}

impl core::error::Error for Broken {}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(entries: &[&str]) -> Vec<(String, Link)> {
        let mut link = Link::genesis();
        let mut journal = Vec::new();
        for entry in entries {
            link = chain(link, entry.as_bytes());
            journal.push(((*entry).to_owned(), link));
        }
        journal
    }

    const FIVE: [&str; 5] = ["a", "", "c", "c", "e"];

    #[test]
    fn a_journal_as_it_was_written_verifies() {
        let whole = journal(&FIVE);
        let head = verify(whole.clone()).unwrap();
        assert_eq!((head.entries, head.link), (5, whole[4].1));
        let none = verify(journal(&[])).unwrap();
        assert_eq!((none.entries, none.link), (0, Link::genesis()));
    }

    // The framing is a promise: computed by an independent program.
    #[test]
    fn framing_is_version_1() {
        assert_eq!(
            verify(journal(&["a", ""])).unwrap().to_string(),
            "2:492b2e263aa0c3c984614bdf239a63d238afc4bf676e831542ece1c2a073435b"
        );
    }

    #[test]
    fn every_change_breaks_at_its_entry() {
        let whole = journal(&FIVE);
        for at in 0..FIVE.len() {
            let broken = Err(Broken { at: at as u64 });
            let mut changed = whole.clone();
            changed[at].0.push('x');
            assert_eq!(verify(changed), broken);

            let mut relinked = whole.clone();
            relinked[at].0.push('x');
            let before = at.checked_sub(1).map_or_else(Link::genesis, |before| whole[before].1);
            relinked[at].1 = chain(before, relinked[at].0.as_bytes());
            let next = (at + 1 < FIVE.len()).then_some(Broken { at: at as u64 + 1 });
            assert_eq!(verify(relinked).err(), next);

            let mut without = whole.clone();
            without.remove(at);
            let last = at == FIVE.len() - 1;
            assert_eq!(verify(without).map(drop), if last { Ok(()) } else { broken.map(drop) });

            let mut twice = whole.clone();
            twice.insert(at, whole[at].clone());
            assert_eq!(verify(twice), Err(Broken { at: at as u64 + 1 }));
        }
        let mut swapped = whole.clone();
        swapped.swap(2, 3);
        assert_eq!(verify(swapped), Err(Broken { at: 2 }));
    }

    #[test]
    fn a_kept_head_shows_what_was_cut_off_or_written_anew() {
        let whole = journal(&FIVE);
        for kept in 0..=FIVE.len() {
            let head = verify(whole[..kept].to_vec()).unwrap();
            assert_eq!(verify_beyond(head, whole.clone()), verify(whole.clone()));
            for length in 0..kept {
                let cut = verify_beyond(head, whole[..length].to_vec());
                assert_eq!(cut, Err(Broken { at: length as u64 }));
            }
            if kept > 0 {
                let anew = journal(&["A", "", "c", "c", "e"]);
                assert!(verify(anew.clone()).is_ok());
                assert_eq!(verify_beyond(head, anew), Err(Broken { at: kept as u64 - 1 }));
            }
        }
        let forged = Head { entries: 0, link: Link::from_stored([0; 32]) };
        assert_eq!(verify_beyond(forged, journal(&[])), Err(Broken { at: 0 }));
        assert_eq!(Broken { at: 0 }.code(), Code::JournalBroken);
    }

    #[test]
    fn there_is_one_way_to_write_a_head() {
        let head = verify(journal(&FIVE)).unwrap();
        let text = head.to_string();
        assert_eq!(Head::parse(&text), Some(head));
        assert_eq!(Link::from_stored(*head.link.as_bytes()), head.link);
        let digits = head.link.to_string();
        for other in [
            String::new(),
            digits.clone(),
            format!(":{digits}"),
            format!("05:{digits}"),
            format!("+5:{digits}"),
            format!("5:{}", digits.to_uppercase()),
            format!("5:{digits}0"),
            format!("5:+{}", &digits[1..]),
            format!("5: {digits}"),
            format!("18446744073709551616:{digits}"),
        ] {
            assert_eq!(Head::parse(&other), None, "{other}");
        }
    }
}
