//! Descriptors over a socket.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use crate::wire::{RECORD_BYTES, Record};

/// Sends descriptors with one byte of data.
pub(crate) fn send(socket: impl AsFd, fds: &[std::os::fd::BorrowedFd<'_>]) -> Result<(), Errno> {
    send_bytes(socket, &[0], fds)
}

/// Sends a record, with a descriptor if there is one.
pub(crate) fn send_record(socket: impl AsFd, record: Record, fd: Option<&OwnedFd>) -> Result<(), Errno> {
    let fds: Vec<_> = fd.iter().map(|fd| fd.as_fd()).collect();
    send_bytes(socket, &record.to_bytes(), &fds)
}

fn send_bytes(socket: impl AsFd, bytes: &[u8], fds: &[std::os::fd::BorrowedFd<'_>]) -> Result<(), Errno> {
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

/// Receives at most `fds_max` descriptors; `None` if the other end is gone.
pub(crate) fn receive(socket: impl AsFd, fds_max: usize) -> Result<Option<Vec<OwnedFd>>, Errno> {
    let mut byte = [0; 1];
    let (length, fds) = receive_bytes(socket, &mut byte)?;
    Ok((length > 0 && fds.len() <= fds_max).then_some(fds))
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

const FDS_MAX: usize = 8;
