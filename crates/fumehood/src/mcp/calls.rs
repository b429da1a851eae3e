//! The calls that are under way: how many there may be, and how they are given up.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fumehood_core::Code;
use tokio::sync::{Notify, watch};

use crate::fault::Fault;
use crate::host::Cancel;

/// Calls that are worked on at once. One more is refused, not queued: whoever calls knows better what it can wait for.
pub(super) const CALLS_MAX: usize = 32;

/// The calls of one client.
pub(super) struct Calls {
    under_way: Mutex<Vec<(u64, Cancel)>>,
    next: AtomicU64,
    is_gone: watch::Sender<bool>,
    ended: Notify,
}

/// A call is worked on until this is dropped.
pub(super) struct UnderWay {
    calls: Arc<Calls>,
    id: u64,
}

impl Calls {
    /// None yet.
    pub(super) fn new() -> Arc<Self> {
        let (is_gone, _) = watch::channel(false);
        Arc::new(Self { under_way: Mutex::default(), next: AtomicU64::new(0), is_gone, ended: Notify::new() })
    }

    /// One more.
    pub(super) fn begin(self: &Arc<Self>, cancel: Cancel) -> Result<UnderWay, Fault> {
        let mut under_way = self.lock();
        if *self.is_gone.borrow() {
            return Err(Fault::new(Code::RunEnded, "the client is gone", "nothing ran"));
        }
        if under_way.len() >= CALLS_MAX {
            let message = format!("{CALLS_MAX} calls are under way already");
            return Err(Fault::new(Code::ToolBusy, message, "wait for one of them, then call again"));
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        under_way.push((id, cancel));
        Ok(UnderWay { calls: Arc::clone(self), id })
    }

    /// Gives all of them up, and takes no more.
    pub(super) fn give_up(&self) {
        self.is_gone.send_replace(true);
        for (_, cancel) in &*self.lock() {
            cancel.cancel();
        }
    }

    /// Waits until the client is gone: nothing reaches it any more.
    pub(super) async fn gone(&self) {
        // It is there as long as this is.
        let _ = self.is_gone.subscribe().wait_for(|is_gone| *is_gone).await;
    }

    /// Waits for what goes to the client, or until that is gone.
    pub(super) async fn unless_gone<T>(&self, sent: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            sent = sent => Some(sent),
            () = self.gone() => None,
        }
    }

    /// Waits until none is under way, but not longer than `patience`.
    pub(super) async fn settled(&self, patience: Duration) {
        let none_left = async {
            loop {
                let ended = self.ended.notified();
                if self.lock().is_empty() {
                    return;
                }
                ended.await;
            }
        };
        let _ = tokio::time::timeout(patience, none_left).await;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Cancel)>> {
        // Each step leaves it whole.
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.calls.lock().retain(|(id, _)| *id != self.id);
        self.calls.ended.notify_one();
    }
}
