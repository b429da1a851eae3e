//! Which file on which file system.

/// Which file on which file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub(crate) fn new(device: u64, inode: u64) -> Self {
        Self { device, inode }
    }

    pub(crate) fn device(self) -> u64 {
        self.device
    }

    /// The same file after its file system was mounted anew, and perhaps got another number.
    pub(crate) fn on_device(self, device: u64) -> Self {
        Self { device, ..self }
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.device, self.inode)
    }
}
