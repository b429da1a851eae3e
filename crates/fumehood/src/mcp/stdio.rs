//! Standard input and output as the protocol's transport, with a limit on what one message may be, and an end that is noticed.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::{StdioReader, StdioWriter, stdio_pipes};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::incoming::{Incoming, NoMessage};
use super::open::Open;

/// Bytes of one message, its line feed included. A longer one is dropped; arguments of a call are at most 64 KiB.
pub(super) const LINE_BYTES_MAX: usize = 1 << 20;

/// Messages that a client was sent and has not read. As long as there are so many, nothing more is read from it.
const UNREAD_MAX: usize = 256;
/// Bytes of all of them: some answers hold a result, of up to 1 MiB.
const UNREAD_BYTES_MAX: usize = 16 << 20;
/// How long a client with so many may read none of them before it counts as gone.
const STALL: Duration = Duration::from_secs(10);

/// The transport. `gone` is called when there is nothing more to be read: the client has closed its end or is no more, or it only
/// talks.
pub(super) fn transport(
    gone: impl Fn() + Send + Sync + 'static,
) -> Listened<AsyncRwTransport<RoleServer, Incoming<StdioReader>, StdioWriter>> {
    let (reader, writer) = stdio_pipes();
    let gone: Arc<dyn Fn() + Send + Sync> = Arc::new(gone);
    let (reader, no_messages) = Incoming::new(reader, Arc::clone(&gone));
    let transport = AsyncRwTransport::new_server(reader, writer).with_max_line_length(LINE_BYTES_MAX);
    Listened { transport, no_messages, open: Open::default(), unread: Unread::new(), gone }
}

/// A transport that reads only from who reads too: answers that nobody takes are not piled up without end. What is no message is
/// answered here, since the transport below drops it.
pub(super) struct Listened<T> {
    transport: T,
    no_messages: mpsc::Receiver<NoMessage>,
    open: Open,
    unread: Arc<Unread>,
    gone: Arc<dyn Fn() + Send + Sync>,
}

/// What is on its way to the client.
struct Unread {
    now: Mutex<Underway>,
    taken: Notify,
}

#[derive(Clone, Copy)]
struct Underway {
    messages: usize,
    bytes: usize,
    /// When one was taken the last time.
    last: Instant,
}

/// One message of so many bytes is on its way until this is dropped.
struct Sending(Arc<Unread>, usize);

impl Unread {
    fn new() -> Arc<Self> {
        let now = Underway { messages: 0, bytes: 0, last: Instant::now() };
        Arc::new(Self { now: Mutex::new(now), taken: Notify::new() })
    }

    fn begin(self: &Arc<Self>, bytes: usize) -> Sending {
        let mut now = self.lock();
        if now.messages == 0 {
            now.last = Instant::now();
        }
        now.messages += 1;
        now.bytes += bytes;
        Sending(Arc::clone(self), bytes)
    }

    /// Waits until there are few enough. Whether the client reads at all.
    async fn few_enough(&self) -> bool {
        loop {
            let taken = self.taken.notified();
            let now = *self.lock();
            if now.messages < UNREAD_MAX && now.bytes < UNREAD_BYTES_MAX {
                return true;
            }
            let end = now.last + STALL;
            if Instant::now() >= end {
                return false;
            }
            let _ = tokio::time::timeout_at(end, taken).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Underway> {
        // Each step leaves it whole.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let mut now = self.0.lock();
        *now = Underway { messages: now.messages - 1, bytes: now.bytes - self.1, last: Instant::now() };
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
        self.open.sent(&message);
        let (sending, sent) = (self.unread.begin(size(&message)), self.transport.send(message));
        async move {
            let sent = sent.await;
            drop(sending);
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        while self.unread.few_enough().await {
            let refusal = tokio::select! {
                biased;
                Some(what) = self.no_messages.recv() => TxJsonRpcMessage::<RoleServer>::error(what.error(), None),
                message = self.transport.receive() => {
                    let message = message?;
                    let Some(refusal) = self.open.refusal(&message) else { return Some(message) };
                    refusal
                }
            };
            // Whoever waits for a message gives up and asks again; what is on its way is not given up with it.
            tokio::spawn(self.send(refusal));
        }
        (self.gone)();
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}

/// Bytes that a message has on its way, or one that has no JSON form.
fn size(message: &TxJsonRpcMessage<RoleServer>) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    let _ = serde_json::to_writer(&mut count, message);
    count.0
}
