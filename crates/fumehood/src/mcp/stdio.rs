//! Standard input and output as the protocol's transport, with a limit on what one message may be, and an end that is noticed.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::{StdioReader, StdioWriter, stdio_pipes};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::Notify;
use tokio::time::Instant;

/// Bytes of one message. A longer one is dropped unread; arguments of a call are at most 64 KiB.
pub(super) const LINE_BYTES_MAX: usize = 1 << 20;

/// Messages that a client was sent and has not read. As long as there are so many, nothing more is read from it.
const UNREAD_MAX: usize = 256;
/// How long a client with so many may read none of them before it counts as gone.
const STALL: Duration = Duration::from_secs(10);

/// The transport. `gone` is called when there is nothing more to be read: the client has closed its end or is no more, or it only
/// talks.
pub(super) fn transport(
    gone: impl Fn() + Send + Sync + Unpin + 'static,
) -> Listened<AsyncRwTransport<RoleServer, Ending<StdioReader>, StdioWriter>> {
    let (reader, writer) = stdio_pipes();
    let gone: Arc<dyn Fn() + Send + Sync + Unpin> = Arc::new(gone);
    let reader = Ending {
        reader,
        gone: Box::new({
            let gone = Arc::clone(&gone);
            move || gone()
        }),
    };
    let transport = AsyncRwTransport::new_server(reader, writer).with_max_line_length(LINE_BYTES_MAX);
    Listened { transport, unread: Unread::new(), gone }
}

/// A transport that reads only from who reads too: answers that nobody takes are not piled up without end.
pub(super) struct Listened<T> {
    transport: T,
    unread: Arc<Unread>,
    gone: Arc<dyn Fn() + Send + Sync + Unpin>,
}

/// What is on its way to the client.
struct Unread {
    /// How many messages, and when one was taken the last time.
    now: Mutex<(usize, Instant)>,
    taken: Notify,
}

/// One message is on its way until this is dropped.
struct Sending(Arc<Unread>);

impl Unread {
    fn new() -> Arc<Self> {
        Arc::new(Self { now: Mutex::new((0, Instant::now())), taken: Notify::new() })
    }

    fn begin(self: &Arc<Self>) -> Sending {
        let mut now = self.lock();
        if now.0 == 0 {
            now.1 = Instant::now();
        }
        now.0 += 1;
        Sending(Arc::clone(self))
    }

    /// Waits until there are few enough. Whether the client reads at all.
    async fn few_enough(&self) -> bool {
        loop {
            let taken = self.taken.notified();
            let (count, last) = *self.lock();
            if count < UNREAD_MAX {
                return true;
            }
            let end = last + STALL;
            if Instant::now() >= end {
                return false;
            }
            let _ = tokio::time::timeout_at(end, taken).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, (usize, Instant)> {
        // Each step leaves it whole.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let mut now = self.0.lock();
        *now = (now.0 - 1, Instant::now());
        drop(now);
        self.0.taken.notify_waiters();
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Listened<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (sending, sent) = (self.unread.begin(), self.transport.send(message));
        async move {
            let sent = sent.await;
            drop(sending);
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if self.unread.few_enough().await {
            return self.transport.receive().await;
        }
        (self.gone)();
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
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
