//! Time as core takes it: handed in, never read.

use core::time::Duration;

use serde::ser::{Serialize, Serializer};

/// One moment on the two clocks that nobody sets: since the same start of the machine.
///
/// On Linux the monotonic clock stands still while the machine sleeps and the boot-time clock does not. What must not
/// last longer than it should is over when either says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// `CLOCK_MONOTONIC`.
    pub monotonic: Duration,
    /// `CLOCK_BOOTTIME`.
    pub boot: Duration,
}

/// Milliseconds since 1970-01-01 UTC by the wall clock. Only to be shown: anybody may set that clock (CHK-009).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(u64);

impl Now {
    /// The later of two moments, clock by clock.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { monotonic: self.monotonic.max(other.monotonic), boot: self.boot.max(other.boot) }
    }

    /// How long ago `earlier` was, by the clock that says longer. Nothing if it was not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        let monotonic = self.monotonic.saturating_sub(earlier.monotonic);
        monotonic.max(self.boot.saturating_sub(earlier.boot))
    }
}

impl WallTime {
    /// So many milliseconds since 1970-01-01 UTC.
    pub const fn from_unix_ms(unix_ms: u64) -> Self {
        Self(unix_ms)
    }

    /// Milliseconds since 1970-01-01 UTC.
    pub fn unix_ms(self) -> u64 {
        self.0
    }

    /// This much later; the end of the clock if that is beyond it.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl Serialize for WallTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(monotonic: u64, boot: u64) -> Now {
        Now { monotonic: Duration::from_secs(monotonic), boot: Duration::from_secs(boot) }
    }

    // CHK-008
    #[test]
    fn the_clock_that_says_longer_counts() {
        assert_eq!(now(5, 5).since(now(1, 2)), Duration::from_secs(4));
        assert_eq!(now(5, 50).since(now(1, 2)), Duration::from_secs(48));
        assert_eq!(now(1, 2).since(now(5, 5)), Duration::ZERO);
        assert_eq!(now(1, 9).max(now(5, 5)), now(5, 9));
    }

    #[test]
    fn wall_time_ends_and_does_not_wrap() {
        assert_eq!(WallTime::from_unix_ms(1).after(Duration::from_mins(5)).unix_ms(), 300_001);
        assert_eq!(WallTime::from_unix_ms(u64::MAX).after(Duration::MAX).unix_ms(), u64::MAX);
    }
}
