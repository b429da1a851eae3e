//! How long to wait for a process that may hang, on a machine that may be busy.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use crate::confined::timespec;
use crate::launch::SandboxError;

/// Waiting that ends.
#[derive(Debug)]
pub(crate) struct Patience {
    /// Time in which whoever is waited for could have run.
    left: Duration,
    /// However busy the machine is.
    until: Instant,
    /// Whether time passes for a busy machine too.
    is_plain: bool,
}

impl Patience {
    /// This long and no longer.
    pub(crate) fn of(time: Duration) -> Self {
        Self { left: time, until: Instant::now() + time, is_plain: true }
    }

    /// Half a second of a machine that has a processor to spare. A probe takes a few milliseconds of its own, but on a
    /// machine with thirty times more work than processors those may be a second away.
    pub(crate) fn for_a_probe() -> Self {
        Self { left: PROBE_TIME_MAX, until: Instant::now() + BUSY_TIME_MAX, is_plain: false }
    }

    /// Waits until something can be read.
    pub(crate) fn wait_for(&mut self, fd: &OwnedFd) -> Result<(), SandboxError> {
        loop {
            let slice = self.left.min(SLICE).min(self.until.saturating_duration_since(Instant::now()));
            if slice.is_zero() {
                return Err(SandboxError::NoAnswer);
            }
            let mut waiting = [PollFd::new(fd, PollFlags::IN)];
            match rustix::io::retry_on_intr(|| poll(&mut waiting, Some(&timespec(slice)))) {
                Ok(0) if self.is_plain || has_idle_processor() => self.left -= slice,
                Ok(0) => {}
                Ok(_) => return Ok(()),
                Err(errno) => return Err(SandboxError::Host(errno)),
            }
        }
    }
}

/// Whether no more tasks want to run than there are processors.
fn has_idle_processor() -> bool {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    running_tasks().is_none_or(|running| running <= processors)
}

/// The fourth field of the kernel's load figures, before the slash.
fn running_tasks() -> Option<usize> {
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
    let file = rustix::fs::open("/proc/loadavg", flags, rustix::fs::Mode::empty()).ok()?;
    let mut bytes = [0; 128];
    let length = rustix::io::read(&file, &mut bytes).ok()?;
    let text = std::str::from_utf8(&bytes[..length]).ok()?;
    text.split_whitespace().nth(3)?.split('/').next()?.parse().ok()
}

const PROBE_TIME_MAX: Duration = Duration::from_millis(500);
const BUSY_TIME_MAX: Duration = Duration::from_secs(10);
const SLICE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_how_much_runs() {
        assert!(running_tasks().is_some_and(|running| running >= 1));
    }

    #[test]
    fn waiting_ends_with_and_without_an_answer() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let mut patience = Patience::of(Duration::from_millis(20));
        assert!(matches!(patience.wait_for(&read), Err(SandboxError::NoAnswer)));
        rustix::io::write(&write, b"x").unwrap();
        assert!(Patience::for_a_probe().wait_for(&read).is_ok());
    }
}
