//! Where the records of transactions lie: a folder each, locked by who is at work on it.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use fumehood_core::ReceiptId;
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::disk::Disk;
use super::error::{TransactionError, failed};
use crate::home::Home;
use crate::own::{OwnDir, write_at};

/// The folders of all records.
#[derive(Debug)]
pub(super) struct Records {
    store: OwnDir,
    /// A folder for each transaction that is not acknowledged.
    open: OwnDir,
    /// Being removed.
    gone: OwnDir,
}

/// One record, which this process is at work on.
#[derive(Debug)]
pub(super) struct Record {
    records: Arc<Records>,
    name: String,
    folder: OwnDir,
    _lock: OwnedFd,
}

impl Records {
    pub(super) fn open(home: &Home) -> Result<Self, TransactionError> {
        home.make_state().map_err(TransactionError::Home)?;
        let open = || {
            let store = OwnDir::open(&home.state)?.open_or_make("transactions")?;
            Ok(Self { open: store.open_or_make("open")?, gone: store.open_or_make("gone")?, store })
        };
        open().map_err(failed("open the records of transactions"))
    }

    /// Held while a record is made or looked for, so that one without a lock of its own is nobody's.
    pub(super) fn lock(&self) -> Result<OwnedFd, Errno> {
        self.store.lock("lock")
    }

    /// Makes the record of a new transaction.
    pub(super) fn make(self: &Arc<Self>, disk: Disk<'_>, receipt: ReceiptId) -> Result<Record, Errno> {
        let _all = self.lock()?;
        (disk.before)("make a record")?;
        let name = receipt.to_string();
        let folder = self.open.make(&name)?;
        let lock = folder.open_or_make_file("lock")?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        disk.sync(&self.open)?;
        Ok(Record { records: self.clone(), name, folder, _lock: lock })
    }

    /// The records that nobody is at work on, at most [`TAKEN_MAX`], and removes what is left of removed ones. The caller
    /// holds the lock of all.
    pub(super) fn take_all(self: &Arc<Self>) -> Result<Vec<Record>, Errno> {
        for name in self.gone.names()? {
            self.gone.remove_dir(&name)?;
        }
        let mut taken = Vec::new();
        for name in self.open.names()? {
            if taken.len() == TAKEN_MAX {
                break;
            }
            let folder = self.open.open_dir(&name)?;
            let lock = folder.open_or_make_file("lock")?;
            match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => taken.push(Record { records: self.clone(), name, folder, _lock: lock }),
                Err(Errno::WOULDBLOCK) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(taken)
    }
}

impl Record {
    /// The id of the receipt, if the folder's name is one.
    pub(super) fn receipt(&self) -> Option<ReceiptId> {
        ReceiptId::parse(&self.name).ok()
    }

    /// Writes a file of the record: whole or not at all, and on the disk when this returns.
    pub(super) fn write(&self, disk: Disk<'_>, name: &str, bytes: &[u8]) -> Result<(), Errno> {
        let unfinished = format!("{name}.new");
        self.folder.remove_file(&unfinished)?;
        (disk.before)("make a file of the record")?;
        let file = self.folder.make_file(&unfinished)?;
        (disk.before)("write the record")?;
        write_at(file.as_fd(), bytes, 0)?;
        disk.sync(&file)?;
        (disk.before)("publish the record")?;
        self.folder.replace(&unfinished, name)?;
        disk.sync(&self.folder)
    }

    /// Reads a file of the record; `None` if there is none.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Errno> {
        match self.folder.open_file(name) {
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
            Ok(file) => file.read(0, RECORD_BYTES_MAX).map(Some),
        }
    }

    pub(super) fn remove_file(&self, name: &str) -> Result<(), Errno> {
        self.folder.remove_file(name)?;
        rustix::fs::fsync(&self.folder)
    }

    /// Ends the record: nobody asks for it any more.
    pub(super) fn close(self, disk: Disk<'_>) -> Result<(), Errno> {
        let Records { open, gone, .. } = &*self.records;
        (disk.before)("close the record")?;
        // As a whole first, so that no part of it is ever read without the others.
        open.rename(&self.name, gone, &self.name)?;
        (disk.before)("remove the record")?;
        gone.remove_dir(&self.name)
    }
}

/// Each is an open folder and a lock.
const TAKEN_MAX: usize = 256;
/// More than a plan of the most changes with the longest paths takes.
const RECORD_BYTES_MAX: usize = 256 << 20;
