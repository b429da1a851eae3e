//! Whether anybody opened a file, however briefly.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "what is unexpected fails the test"
)]

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;

/// Notices that one file is opened, by anybody. Looking at it without opening (`stat`, `O_PATH`) does not count.
#[derive(Debug)]
pub struct Opens {
    queue: OwnedFd,
}

impl Opens {
    /// Starts watching. The file may be a FIFO, a socket or a device.
    pub fn of(path: &Path) -> Self {
        let queue = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        add_watch(&queue, path, WatchFlags::OPEN).unwrap();
        Self { queue }
    }

    /// 0 if nobody opened it since the last call. The system merges equal events, so 1 can stand for several.
    pub fn count(&self) -> usize {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.queue, &mut buffer);
        let mut count = 0;
        loop {
            match reader.next() {
                // That the file is gone is said too.
                Ok(event) => count += usize::from(event.events().contains(ReadFlags::OPEN)),
                Err(Errno::AGAIN) => return count,
                Err(error) => panic!("{error}"),
            }
        }
    }
}
