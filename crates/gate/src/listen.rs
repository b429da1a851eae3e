//! Listeners: told what happened, on threads of their own, so that none can hold up or break a call.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fumehood_core::Event;

use crate::guard::caught;

/// Is told what happened.
///
/// Each listener gets all events in order, within about a millisecond, on one thread of its own. One that panics misses the event it panicked on; one
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
    queues: Vec<Arc<Queue>>,
}

/// What one listener has yet to hear, shared with its thread.
///
/// Waking a thread costs more than all the rest of a call. So the thread naps for a while before it sleeps, and is woken
/// only where it sleeps.
#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    missed: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Event>,
    /// An event is being heard.
    is_hearing: bool,
    is_asleep: bool,
    /// No more will come.
    is_closed: bool,
}

impl Listeners {
    /// Nobody.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more. Whether there is a thread for it.
    pub fn add(&mut self, listener: impl Listener + 'static) -> bool {
        let queue = Arc::new(Queue::default());
        let own = Arc::clone(&queue);
        let started =
            thread::Builder::new().name("fumehood-listener".to_owned()).spawn(move || tell(listener, &own));
        // The thread ends by itself when nothing more will come; nobody waits for one that hangs.
        let is_there = started.is_ok();
        if is_there {
            self.queues.push(queue);
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
        while !self.queues.iter().all(|queue| queue.is_settled()) {
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

impl Drop for Listeners {
    fn drop(&mut self) {
        for queue in &self.queues {
            queue.lock().is_closed = true;
            queue.changed.notify_one();
        }
    }
}

impl Queue {
    fn say(&self, event: &Event) {
        let mut waiting = self.lock();
        if waiting.events.len() >= QUEUED_MAX {
            self.missed.fetch_add(1, Ordering::Relaxed);
            return;
        }
        waiting.events.push_back(event.clone());
        let is_asleep = std::mem::take(&mut waiting.is_asleep);
        drop(waiting);
        if is_asleep {
            self.changed.notify_one();
        }
    }

    /// The next event, once there is one; `None` when no more will come.
    fn next(&self) -> Option<Event> {
        let mut naps = 0;
        let mut waiting = self.lock();
        loop {
            waiting.is_hearing = !waiting.events.is_empty();
            if waiting.is_hearing {
                return waiting.events.pop_front();
            }
            if waiting.is_closed {
                return None;
            }
            if naps < NAPS {
                drop(waiting);
                naps += 1;
                thread::sleep(NAP);
                waiting = self.lock();
            } else {
                waiting.is_asleep = true;
                waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                waiting.is_asleep = false;
            }
        }
    }

    fn is_settled(&self) -> bool {
        let waiting = self.lock();
        waiting.events.is_empty() && !waiting.is_hearing
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tell(mut listener: impl Listener, queue: &Queue) {
    while let Some(event) = queue.next() {
        // A listener that is broken in the middle hears the next event all the same: it is its own state.
        caught(|| listener.hear(&event));
    }
}

const QUEUED_MAX: usize = 1024;
/// How long after an event the next one is heard without waking anybody: so many naps, each so long.
const NAPS: u32 = 40;
const NAP: Duration = Duration::from_micros(250);
