//! Which Landlock rights there are, by the kernel's version.

use crate::sys::landlock::Handled;

/// The rights that one version of Landlock knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rights {
    abi: u32,
    files: u64,
}

impl Rights {
    pub(crate) fn of(abi: u32) -> Self {
        let bits = match abi {
            0 => 0,
            1 => 13,
            2 => 14,
            3 | 4 => 15,
            // From version 9 on there is one more, for connecting to sockets by path.
            5..=8 => 16,
            _ => 17,
        };
        Self { abi, files: (1 << bits) - 1 }
    }

    /// Everything this version can take charge of: files, TCP, signals and abstract sockets.
    pub(crate) fn handled(self) -> Handled {
        Handled {
            files: self.files,
            network: if self.abi >= 4 { 0b11 } else { 0 },
            scopes: if self.abi >= 6 { SIGNALS | ABSTRACT_SOCKETS } else { 0 },
        }
    }

    /// Nothing but that signals stay inside. From version 6 on.
    pub(crate) fn only_signals() -> Handled {
        Handled { scopes: SIGNALS, ..Handled::default() }
    }

    /// Bytes of the structure that this version knows.
    pub(crate) fn size(self) -> usize {
        match self.abi {
            0..=3 => 8,
            4 | 5 => 16,
            _ => 24,
        }
    }

    pub(crate) fn read(self) -> u64 {
        (EXECUTE | READ_FILE | READ_DIR | self.ioctl()) & self.files
    }

    pub(crate) fn write(self) -> u64 {
        self.files & !EXECUTE & !(MAKE_CHAR | MAKE_BLOCK)
    }

    pub(crate) fn write_file(self) -> u64 {
        (WRITE_FILE | READ_FILE | TRUNCATE | self.ioctl()) & self.files
    }

    pub(crate) fn read_file(self) -> u64 {
        self.read() & self.of_a_file()
    }

    /// Those that make sense for what is no folder; the kernel refuses others.
    pub(crate) fn of_a_file(self) -> u64 {
        (EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE) & self.files
    }

    fn ioctl(self) -> u64 {
        if self.abi >= 5 { IOCTL_DEVICE } else { 0 }
    }
}

const ABSTRACT_SOCKETS: u64 = 1;
const SIGNALS: u64 = 1 << 1;
const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_BLOCK: u64 = 1 << 11;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEVICE: u64 = 1 << 15;

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use rustix::io::Errno;
    use rustix::process::Pid;

    use super::*;
    use crate::sys::landlock::{SignalDomain, abi};

    /// Each in a thread of its own, which is all that enters the domain. Nobody is signalled.
    fn enter(scopes: u64, outsider: Pid) -> Option<Result<(), Errno>> {
        let size = Rights::of(abi().ok().filter(|abi| *abi >= 6)?).size();
        let entered = std::thread::spawn(move || {
            rustix::thread::set_no_new_privs(true)?;
            let handled = Handled { scopes, ..Handled::default() };
            SignalDomain::enter(handled, size, outsider).map(drop)
        });
        Some(entered.join().unwrap())
    }

    #[test]
    fn a_domain_is_proven_by_whom_it_takes_out_of_reach() {
        let mut outsider = Command::new("/bin/cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&outsider);
        let answers = [enter(SIGNALS, pid), enter(ABSTRACT_SOCKETS, pid)];
        outsider.kill().unwrap();
        outsider.wait().unwrap();
        let gone = enter(SIGNALS, pid);
        if abi().is_ok_and(|abi| abi >= 6) {
            // It keeps signals in; it does not; and nobody is there who could show it.
            assert_eq!(answers, [Some(Ok(())), Some(Err(Errno::NOTSUP))]);
            assert_eq!(gone, Some(Err(Errno::SRCH)));
        }
    }
}
