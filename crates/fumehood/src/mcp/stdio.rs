//! Standard input and output as the protocol's transport, with a limit on what one message may be, and an end that is noticed.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use rmcp::RoleServer;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::{StdioReader, StdioWriter, stdio_pipes};
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes of one message. A longer one is dropped unread; arguments of a call are at most 64 KiB.
pub(super) const LINE_BYTES_MAX: usize = 1 << 20;

/// The transport. `gone` is called when there is nothing more to be read: the client has closed its end or is no more.
pub(super) fn transport(
    gone: impl Fn() + Send + Unpin + 'static,
) -> AsyncRwTransport<RoleServer, Ending<StdioReader>, StdioWriter> {
    let (reader, writer) = stdio_pipes();
    let reader = Ending { reader, gone: Box::new(gone) };
    AsyncRwTransport::new_server(reader, writer).with_max_line_length(LINE_BYTES_MAX)
}

/// A reader whose end is told before anybody waits for what is under way: a client that is gone wants none of it.
pub(super) struct Ending<R> {
    reader: R,
    gone: Box<dyn Fn() + Send + Unpin>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Ending<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.reader).poll_read(context, buffer);
        let is_over = match &read {
            Poll::Ready(Ok(())) => buffer.filled().len() == before,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if is_over {
            (self.gone)();
        }
        read
    }
}
