//! Standard input and output as the protocol's transport, with a limit on what one message may be, and an end that is noticed.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, JsonRpcError, JsonRpcMessage, JsonRpcResponse, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::{StdioReader, StdioWriter, stdio_pipes};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::incoming::{Incoming, NoMessage};

/// Bytes of one message, its line feed included. A longer one is dropped; arguments of a call are at most 64 KiB.
pub(super) const LINE_BYTES_MAX: usize = 1 << 20;

/// Messages that a client was sent and has not read. As long as there are so many, nothing more is read from it.
const UNREAD_MAX: usize = 256;
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
    Listened { transport, no_messages, under_way: HashSet::new(), unread: Unread::new(), gone }
}

/// A transport that reads only from who reads too: answers that nobody takes are not piled up without end. What is no message is
/// answered here, since the transport below drops it.
pub(super) struct Listened<T> {
    transport: T,
    no_messages: mpsc::Receiver<NoMessage>,
    /// The ids of requests that have no answer yet. What the SDK keeps by id is lost where two requests have one: the first could
    /// not be taken back any more.
    under_way: HashSet<RequestId>,
    unread: Arc<Unread>,
    gone: Arc<dyn Fn() + Send + Sync>,
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

impl<T> Listened<T> {
    /// Whether it is anything but a request under an id that is in use.
    fn is_new(&mut self, message: &RxJsonRpcMessage<RoleServer>) -> bool {
        match message {
            JsonRpcMessage::Request(request) => self.under_way.insert(request.id.clone()),
            JsonRpcMessage::Notification(notification) => {
                // One that is taken back gets no answer.
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.under_way.remove(id);
                }
                true
            }
            _ => true,
        }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Listened<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Response(JsonRpcResponse { id, .. })
        | JsonRpcMessage::Error(JsonRpcError { id: Some(id), .. }) = &message
        {
            self.under_way.remove(id);
        }
        let (sending, sent) = (self.unread.begin(), self.transport.send(message));
        async move {
            let sent = sent.await;
            drop(sending);
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        while self.unread.few_enough().await {
            let what = tokio::select! {
                biased;
                Some(what) = self.no_messages.recv() => what,
                message = self.transport.receive() => match message {
                    Some(message) if !self.is_new(&message) => NoMessage::IdInUse,
                    message => return message,
                },
            };
            // Whoever waits for a message gives up and asks again; what is on its way is not given up with it.
            tokio::spawn(self.send(TxJsonRpcMessage::<RoleServer>::error(what.error(), None)));
        }
        (self.gone)();
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}
