//! What the system says of a file or folder without opening it.

use fumehood_core::Frame;

/// Which file on which file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    device: u64,
    inode: u64,
}

/// What two looks at one file must agree on for it to be unchanged: which file it is, its size, and when it last changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub(crate) identity: Identity,
    pub(crate) size: u64,
    /// Change time in seconds and nanoseconds: a write moves it even if the writer sets the other times back.
    pub(crate) changed: (i64, u64),
}

/// Who may change a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rights {
    pub(crate) owner: u32,
    /// The permission bits.
    pub(crate) mode: u32,
}

impl Stat {
    pub(crate) fn of(stat: &rustix::fs::Stat) -> Self {
        Self {
            identity: Identity { device: stat.st_dev, inode: stat.st_ino },
            size: u64::try_from(stat.st_size).unwrap_or(0),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// Which file it is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Its bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Adds it to what an approval is bound to.
    pub fn write_to(&self, frame: &mut Frame) {
        let (seconds, nanoseconds) = self.changed;
        frame.number(self.identity.device());
        frame.number(self.identity.inode());
        frame.number(self.size);
        frame.part(&seconds.to_be_bytes());
        frame.number(nanoseconds);
    }
}

impl Identity {
    pub(crate) fn new(device: u64, inode: u64) -> Self {
        Self { device, inode }
    }

    /// The same file after its file system was mounted anew, and perhaps got another number.
    pub(crate) fn on_device(self, device: u64) -> Self {
        Self { device, ..self }
    }

    /// The file system, as the system numbers it until the next start.
    pub fn device(self) -> u64 {
        self.device
    }

    /// The file in it.
    pub fn inode(self) -> u64 {
        self.inode
    }
}

impl Rights {
    pub(super) fn of(stat: &rustix::fs::Stat) -> Self {
        Self { owner: stat.st_uid, mode: stat.st_mode & 0o7777 }
    }

    /// Whether nobody but root can change it.
    pub(crate) fn is_roots_alone(self) -> bool {
        self.owner == 0 && self.mode & 0o022 == 0
    }
}

/// Text by which two can be compared: identity, size and change time.
impl std::fmt::Display for Stat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { identity, size, changed: (seconds, nanoseconds) } = self;
        write!(f, "{identity} {size} {seconds}.{nanoseconds:09}")
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.device, self.inode)
    }
}
