//! Listeners: told what happened, on threads of their own, so that none can hold up or break a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use fumehood_core::Event;

use crate::guard::caught;

/// Is told what happened.
///
/// Each listener gets all events in order, on one thread of its own. One that panics misses the event it panicked on; one
/// that is slower than the calls for longer than 1,024 events misses the newest, and they are counted.
pub trait Listener: Send {
    /// Something happened.
    fn hear(&mut self, event: &Event);
}

impl<F: FnMut(&Event) + Send> Listener for F {
    fn hear(&mut self, event: &Event) {
        self(event);
    }
}

/// All listeners of a host. Events go to them and nowhere else.
#[derive(Debug, Default)]
pub struct Listeners {
    queues: Vec<Queue>,
}

#[derive(Debug)]
struct Queue {
    sender: SyncSender<Event>,
    sent: AtomicU64,
    heard: Arc<AtomicU64>,
    missed: AtomicU64,
}

impl Listeners {
    /// Nobody.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more. Whether there is a thread for it.
    pub fn add(&mut self, listener: impl Listener + 'static) -> bool {
        let (sender, receiver) = sync_channel(QUEUED_MAX);
        let heard = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&heard);
        let started = thread::Builder::new()
            .name("fumehood-listener".to_owned())
            .spawn(move || tell(listener, &receiver, &count));
        // The thread ends by itself when the sender is gone; nobody waits for one that hangs.
        let is_there = started.is_ok();
        if is_there {
            self.queues.push(Queue { sender, sent: AtomicU64::new(0), heard, missed: AtomicU64::new(0) });
        }
        is_there
    }

    /// Whether anybody listens.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Events that some listener was too slow for.
    pub fn missed(&self) -> u64 {
        self.queues.iter().map(|queue| queue.missed.load(Ordering::Relaxed)).sum()
    }

    /// Waits until all that was said is heard, but not longer than `patience`. Whether it is.
    pub fn settle(&self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        while !self.queues.iter().all(Queue::is_settled) {
            if Instant::now() >= end {
                return false;
            }
            thread::sleep(Duration::from_micros(200));
        }
        true
    }

    pub(crate) fn say(&self, event: &Event) {
        for queue in &self.queues {
            queue.say(event);
        }
    }
}

impl Queue {
    fn say(&self, event: &Event) {
        // Counted before it can be heard, so that nobody sees a queue as settled that is not.
        self.sent.fetch_add(1, Ordering::AcqRel);
        if self.sender.try_send(event.clone()).is_err() {
            self.sent.fetch_sub(1, Ordering::AcqRel);
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn is_settled(&self) -> bool {
        self.heard.load(Ordering::Acquire) >= self.sent.load(Ordering::Acquire)
    }
}

fn tell(mut listener: impl Listener, events: &Receiver<Event>, heard: &AtomicU64) {
    for event in events {
        // A listener that is broken in the middle hears the next event all the same: it is its own state.
        caught(|| listener.hear(&event));
        heard.fetch_add(1, Ordering::Release);
    }
}

const QUEUED_MAX: usize = 1024;
