//! A moment for people, in UTC: the machine that shows it is not always the one that wrote it down.

/// `2031-05-09 13:07:45Z` of milliseconds since 1970.
pub(super) fn when(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

/// `made 1 min 5 s ago, open for 3 min 55 s` of something that expires.
pub(super) fn since(made_unix_ms: u64, expires_unix_ms: u64, now_unix_ms: u64) -> String {
    let ago = span(now_unix_ms.saturating_sub(made_unix_ms));
    format!("made {ago} ago, open for {}", span(expires_unix_ms.saturating_sub(now_unix_ms)))
}

fn span(ms: u64) -> String {
    let seconds = ms / 1000;
    if seconds < 60 { format!("{seconds} s") } else { format!("{} min {} s", seconds / 60, seconds % 60) }
}

/// Year, month and day of a number of days since 1970, by the calendar's own cycle of 400 years. Years begin in March, so
/// that the day that comes and goes is the last one.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (400 * cycle + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_is_right() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00Z"),
            (951_782_399, "2000-02-28 23:59:59Z"),
            (951_782_400, "2000-02-29 00:00:00Z"),
            (1_700_000_000, "2023-11-14 22:13:20Z"),
            (4_107_542_400, "2100-03-01 00:00:00Z"),
        ] {
            assert_eq!(when(seconds * 1000 + 999), text);
        }
        assert!(when(u64::MAX).ends_with('Z'));
    }

    #[test]
    fn what_expires_says_how_long_it_is_there() {
        assert_eq!(since(1000, 301_000, 66_500), "made 1 min 5 s ago, open for 3 min 54 s");
        // The clock was set meanwhile.
        assert_eq!(since(1000, 301_000, 0), "made 0 s ago, open for 5 min 1 s");
        assert_eq!(since(1000, 301_000, 900_000), "made 14 min 59 s ago, open for 0 s");
    }
}
