//! How much all artifacts together take, counted where every process sees it.
//!
//! A writer takes room before it writes and gives back what it did not use, under the lock of the store. What it took
//! is the size of its file, which is longer than its content until it is finished; so the sum over all files is always
//! at least what is on the disk, and it can be taken anew after a crash.

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::io::Errno;

use super::layout::Layout;
use crate::own::{read_at, write_at};

/// The sum, held with the lock of the store.
#[derive(Debug)]
pub(super) struct Ledger {
    file: OwnedFd,
    pub(super) used: Used,
    _lock: OwnedFd,
}

/// What the artifacts take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Used {
    pub(super) bytes: u64,
    pub(super) artifacts: u64,
}

impl Ledger {
    /// Waits for the lock and reads the sum; takes it anew if it is not there, or from before the machine started.
    pub(super) fn open(layout: &Layout) -> Result<Self, Errno> {
        let lock = layout.store.lock("lock")?;
        let file = layout.store.open_or_make_file("used")?;
        let mut text = [0; TEXT_BYTES_MAX];
        let read = read_at(file.as_fd(), &mut text, 0)?;
        let used = std::str::from_utf8(&text[..read]).ok().and_then(|text| parse(text, &boot()));
        let mut ledger = Self { file, used: used.unwrap_or_default(), _lock: lock };
        if used.is_none() {
            ledger.count(layout)?;
        }
        Ok(ledger)
    }

    /// Takes the sum anew from the files.
    pub(super) fn count(&mut self, layout: &Layout) -> Result<(), Errno> {
        let mut used = Used::default();
        for folder in [&layout.new, &layout.kept, &layout.gone] {
            for name in folder.names()? {
                // One without content takes the room of an empty one until it is removed.
                let size = folder.size_and_time(&format!("{name}/content")).map_or(0, |(size, _)| size);
                used.bytes = used.bytes.saturating_add(cost(size));
                used.artifacts += 1;
            }
        }
        self.set(used)
    }

    /// Writes another sum. The text has one length, so a crash leaves the old or the new one.
    pub(super) fn set(&mut self, used: Used) -> Result<(), Errno> {
        let text = format!("{:020} {:010} {}\n", used.bytes, used.artifacts, boot());
        write_at(self.file.as_fd(), text.as_bytes(), 0)?;
        self.used = used;
        Ok(())
    }
}

/// The bytes that an artifact of this much content takes: content, index, description and folder, rounded up.
pub(super) fn cost(content: u64) -> u64 {
    content.saturating_add(content / INDEX_SHARE).saturating_add(ARTIFACT_BYTES)
}

/// How much content fits into this much room, when an artifact of this much content is paid for.
pub(super) fn fits(room: u64, content: u64) -> u64 {
    // Each 4096 bytes cost one more; the bytes behind the last 4096 cost themselves.
    let budget = content.saturating_add(content / INDEX_SHARE).saturating_add(room);
    let (whole, rest) = (budget / (INDEX_SHARE + 1), budget % (INDEX_SHARE + 1));
    whole * INDEX_SHARE + rest.min(INDEX_SHARE - 1)
}

fn parse(text: &str, boot: &str) -> Option<Used> {
    let mut words = text.strip_suffix('\n')?.split(' ');
    let used = Used { bytes: words.next()?.parse().ok()?, artifacts: words.next()?.parse().ok()? };
    (!boot.is_empty() && words.next() == Some(boot) && words.next().is_none()).then_some(used)
}

/// Which start of the machine this is; after a crash of the machine the sum on the disk may be an old one.
fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().chars().take(BOOT_CHARS_MAX).collect()
}

/// Folder, description, and the ends of the last blocks.
const ARTIFACT_BYTES: u64 = 8192;
/// 16 bytes of index for each 64 KiB.
const INDEX_SHARE: u64 = 4096;
const BOOT_CHARS_MAX: usize = 64;
const TEXT_BYTES_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_does_fit() {
        for content in [0, 1, 4095, 4096, 65_536] {
            for room in [0, 1, 2, 4096, 4097, 4098, 8194, 100_000] {
                let more = fits(room, content);
                assert!(cost(more) - cost(content) <= room, "{content} {room}");
                assert!(cost(more + 1) - cost(content) > room, "{content} {room}");
            }
        }
    }

    #[test]
    fn only_a_whole_sum_of_this_start_counts() {
        let used = Used { bytes: 7, artifacts: 1 };
        assert_eq!(parse("00000000000000000007 0000000001 boot\n", "boot"), Some(used));
        for text in ["", "7 1 boot", "7 1 other\n", "7 boot\n", "-7 1 boot\n", "7 1 boot more\n", "7 1 \n"] {
            assert_eq!(parse(text, "boot"), None, "{text}");
        }
        assert_eq!(parse("7 1 \n", ""), None);
    }
}
