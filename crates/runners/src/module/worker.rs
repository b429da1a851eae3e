//! Threads that run one tool, used again and again as long as it comes back.

use core::time::Duration;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use fumehood_core::Json;
use fumehood_gate::{Liveness, caught};

use super::{CALLS_MAX, Context, HostTool, ToolFailed};

/// What became of a call; `None` if it panicked.
pub(super) type Ended = Option<Result<Vec<u8>, ToolFailed>>;

/// One call, with all that the tool needs for it. It belongs to the worker: nobody may be left who waits.
pub(super) struct Job {
    pub(super) context: Context,
    pub(super) arguments: Json,
    /// The tool is busy until it comes back, whether or not anybody waits.
    pub(super) live: Liveness,
}

/// The threads of one tool.
pub(super) struct Workers {
    tool: Arc<dyn HostTool>,
    idle: Mutex<Vec<Worker>>,
    /// Threads that there are.
    count: Arc<AtomicUsize>,
}

/// One thread, seen from the side that waits for it. When this is gone, the thread ends as soon as the tool comes back.
pub(super) struct Worker {
    jobs: SyncSender<Job>,
    ends: Receiver<Ended>,
}

/// Counts a thread for as long as it is there.
struct Counted(Arc<AtomicUsize>);

impl Workers {
    pub(super) fn new(tool: Box<dyn HostTool>) -> Self {
        Self { tool: tool.into(), idle: Mutex::default(), count: Arc::default() }
    }

    /// A thread that has nothing to do; `None` if there are too many that have.
    pub(super) fn take(&self) -> Option<Worker> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.or_else(|| self.start())
    }

    /// The worker is done and can do the next.
    pub(super) fn give_back(&self, worker: Worker) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(worker);
        }
    }

    fn start(&self) -> Option<Worker> {
        let counted = Counted::one_more(&self.count)?;
        let (jobs, to_do) = sync_channel(1);
        let (done, ends) = sync_channel(1);
        let tool = Arc::clone(&self.tool);
        let work = move || {
            let _counted = counted;
            work(&*tool, &to_do, &done);
        };
        thread::Builder::new().name("fumehood-module".to_owned()).spawn(work).ok()?;
        Some(Worker { jobs, ends })
    }
}

impl Worker {
    pub(super) fn begin(&self, job: Job) {
        // Whoever waits learns of a thread that is gone.
        let _ = self.jobs.send(job);
    }

    /// What became of the call, if it is over before `patience` is. A thread that is gone counts as one that panicked.
    pub(super) fn wait(&self, patience: Duration) -> Option<Ended> {
        // A tool that is quick is done before this thread would have gone to sleep and been woken again.
        for _ in 0..YIELDS {
            if let Ok(ended) = self.ends.try_recv() {
                return Some(ended);
            }
            thread::yield_now();
        }
        match self.ends.recv_timeout(patience) {
            Ok(ended) => Some(ended),
            Err(RecvTimeoutError::Disconnected) => Some(None),
            Err(RecvTimeoutError::Timeout) => None,
        }
    }
}

fn work(tool: &dyn HostTool, jobs: &Receiver<Job>, done: &SyncSender<Ended>) {
    for Job { context, arguments, live } in jobs {
        let ended = caught(|| tool.execute(&context, &arguments));
        drop(live);
        if done.send(ended).is_err() {
            return;
        }
    }
}

impl Counted {
    fn one_more(count: &Arc<AtomicUsize>) -> Option<Self> {
        let counted = Self(Arc::clone(count));
        (count.fetch_add(1, Ordering::AcqRel) < CALLS_MAX).then_some(counted)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// How often whoever waits looks before it sleeps; each takes about half a microsecond where nobody else wants to run.
const YIELDS: u32 = 40;
/// Threads of one tool that are kept for the next calls.
const IDLE_MAX: usize = 8;
