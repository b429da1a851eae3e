//! One line on a terminal while something takes long.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Shows how far it is on standard error, if that is a terminal; a search only if it takes longer than a moment.
pub(super) struct Progress {
    last: Option<Instant>,
    shown: bool,
}

impl Progress {
    pub(super) fn start() -> Self {
        Self { last: io::stderr().is_terminal().then(Instant::now), shown: false }
    }

    pub(super) fn skills(&mut self, count: usize) {
        // A look at the clock costs more than a count; one in 64 is enough.
        if !count.is_multiple_of(64) || self.last.is_none_or(|last| last.elapsed() < EVERY) {
            return;
        }
        self.last = Some(Instant::now());
        self.shown = true;
        let _ = write!(io::stderr(), "\r{count} skills …\u{1b}[K");
    }

    pub(super) fn attack(&mut self, number: usize, total: usize, name: &str) {
        if self.last.is_some() {
            self.shown = true;
            let _ = write!(io::stderr(), "\r{number} of {total}: {name} …\u{1b}[K");
        }
    }

    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

const EVERY: Duration = Duration::from_millis(250);
