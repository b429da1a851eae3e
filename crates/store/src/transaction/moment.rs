//! When a file was looked at, as coarsely as file systems tell time.

use std::time::{Duration, SystemTime};

use super::stamp::Stamp;

/// When a look began.
///
/// Clocks of file systems are coarse: a file that changes twice within a tick has one change time. So a look at a file
/// that was changed in the tick of the look tells nothing, and is taken again when the tick is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment(Duration);

impl Moment {
    pub(super) fn now() -> Self {
        Self(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
    }

    /// Waits until the clock of the file system has moved on.
    pub(super) fn after_this_one() -> Self {
        std::thread::sleep(TICK);
        Self::now()
    }

    /// Whether a file was changed in the tick of a look that began then, or later.
    pub(super) fn is_before(self, stamp: &Stamp) -> bool {
        let (seconds, nanoseconds) = stamp.changed;
        let nanoseconds = u32::try_from(nanoseconds).unwrap_or(0).min(999_999_999);
        let changed = Duration::new(u64::try_from(seconds).unwrap_or(0), nanoseconds);
        // A change in the future is of a clock that was set back, and no later change has that time by chance.
        let horizon = Self::now().0 + TICK;
        changed + TICK > self.0 && changed <= horizon
    }
}

/// A file that is still being written after so many looks is known as it was at the last one.
pub(super) const LOOKS_MAX: usize = 5;

/// Longer than a tick of any kernel's clock.
const TICK: Duration = Duration::from_millis(20);
