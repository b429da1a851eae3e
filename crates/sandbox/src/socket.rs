//! Descriptors over a socket.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use crate::profile::GRANTS_MAX;
use crate::wire::{RECORD_BYTES, Record};

/// A few bytes, and descriptors.
#[derive(Debug, Default)]
pub(crate) struct Message {
    pub(crate) bytes: Vec<u8>,
    pub(crate) fds: Vec<OwnedFd>,
}

/// Sends descriptors with at most 100 bytes, one for each grant.
pub(crate) fn send(socket: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    // An empty message would look like the end.
    send_bytes(socket, &[&[REQUEST], bytes].concat(), fds)
}

/// Receives what [`send`] sent; `None` if the other end is gone.
pub(crate) fn receive(socket: impl AsFd) -> Result<Option<Message>, Errno> {
    let mut bytes = [0; 1 + GRANTS_MAX];
    let (length, fds) = receive_bytes(socket, &mut bytes)?;
    Ok((length > 0).then(|| Message { bytes: bytes[1..length].to_vec(), fds }))
}

/// Sends a record, with a descriptor if there is one.
pub(crate) fn send_record(socket: impl AsFd, record: Record, fd: Option<&OwnedFd>) -> Result<(), Errno> {
    let fds: Vec<_> = fd.iter().map(|fd| fd.as_fd()).collect();
    send_bytes(socket, &record.to_bytes(), &fds)
}

fn send_bytes(socket: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(Errno::TOOBIG);
    }
    sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL).map(drop)
}

/// Sends bytes and nothing else.
pub(crate) fn send_plain(socket: impl AsFd, bytes: &[u8]) -> Result<(), Errno> {
    send_bytes(socket, bytes, &[])
}

/// Receives bytes, dropping any descriptor that comes with them; their number is 0 if the other end is gone.
pub(crate) fn receive_plain(socket: impl AsFd, bytes: &mut [u8]) -> Result<usize, Errno> {
    receive_bytes(socket, bytes).map(|(length, _)| length)
}

/// Receives a record and the descriptor that may come with it; `None` if the other end is gone.
pub(crate) fn receive_record(socket: impl AsFd) -> Result<Option<(Record, Option<OwnedFd>)>, Errno> {
    let mut bytes = [0; RECORD_BYTES];
    let (length, fds) = receive_bytes(socket, &mut bytes)?;
    if length == 0 {
        return Ok(None);
    }
    let record = Record::from_bytes(&bytes[..length]).ok_or(Errno::PROTO)?;
    Ok(Some((record, fds.into_iter().next())))
}

fn receive_bytes(socket: impl AsFd, bytes: &mut [u8]) -> Result<(usize, Vec<OwnedFd>), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let message = loop {
        match recvmsg(&socket, &mut [IoSliceMut::new(bytes)], &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            message => break message?,
        }
    };
    let mut fds = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = part {
            fds.extend(received);
        }
    }
    Ok((message.bytes, fds))
}

const REQUEST: u8 = 1;
/// The five of every request, at most two mounts for each grant, and a control group.
const FDS_MAX: usize = 5 + 2 * GRANTS_MAX + 1;
