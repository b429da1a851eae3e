//! What the host hands in may panic. Here a panic becomes an outage, so that no call ends halfway.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use core::time::Duration;

use fumehood_core::code::{Class, Code};
use fumehood_core::{AgentLabel, Now, RunId, WallTime};

use crate::ports::{
    Clock, Durable, Entropy, Facts, Journal, Kept, Outage, PolicySource, Results, Ruling, Spool,
};

/// What `work` gives, or `None` if it panicked. What it panicked with is dropped unread (EXE-16).
pub fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(value) => Some(value),
        Err(payload) => {
            // Dropping it runs somebody else's code, too.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(move || drop(payload))) {
                core::mem::forget(payload);
            }
            None
        }
    }
}

/// Something of the host, and no panic of it.
pub(crate) struct Guarded<T: ?Sized>(pub(crate) Arc<T>);

/// A clock that is not believed any more once it failed: nothing can be said to expire then.
pub(crate) struct Watch {
    clock: Arc<dyn Clock>,
    is_broken: AtomicBool,
}

struct GuardedSpool(Option<Box<dyn Spool>>);

impl Watch {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, is_broken: AtomicBool::new(false) }
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Acquire)
    }

    fn read<T>(&self, read: impl FnOnce(&dyn Clock) -> T) -> Option<T> {
        let read = caught(|| read(&*self.clock));
        self.is_broken.fetch_or(read.is_none(), Ordering::AcqRel);
        read
    }
}

impl Clock for Watch {
    fn now(&self) -> Now {
        // No later than any other moment, so a ledger stays at the latest that it knows.
        self.read(|clock| clock.now()).unwrap_or(Now { monotonic: Duration::ZERO, boot: Duration::ZERO })
    }

    fn wall(&self) -> WallTime {
        self.read(|clock| clock.wall()).unwrap_or(WallTime::from_unix_ms(0))
    }
}

impl Entropy for Guarded<dyn Entropy> {
    fn bytes(&self) -> Result<[u8; 16], Outage> {
        guarded("the source of randomness", || self.0.bytes())
    }
}

impl PolicySource for Guarded<dyn PolicySource> {
    fn ruling(&self, facts: &Facts<'_>) -> Result<Ruling, Outage> {
        guarded("the policy", || self.0.ruling(facts))
    }
}

impl Journal for Guarded<dyn Journal> {
    fn append(&self, kind: &'static str, json: &[u8], when: Durable) -> Result<(), Outage> {
        guarded("the journal", || self.0.append(kind, json, when))
    }
}

impl Results for Guarded<dyn Results> {
    fn begin(&self, agent: &AgentLabel, run: RunId) -> Result<Box<dyn Spool>, Outage> {
        let spool = guarded(RESULTS, || self.0.begin(agent, run))?;
        Ok(Box::new(GuardedSpool(Some(spool))))
    }
}

impl Spool for GuardedSpool {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Outage> {
        guarded(RESULTS, || {
            self.0.as_mut().map_or_else(|| Err(panicked(RESULTS)), |spool| spool.write(bytes))
        })
    }

    fn finish(mut self: Box<Self>) -> Result<Kept, Outage> {
        guarded(RESULTS, || self.0.take().map_or_else(|| Err(panicked(RESULTS)), Spool::finish))
    }
}

impl Drop for GuardedSpool {
    fn drop(&mut self) {
        let spool = self.0.take();
        caught(move || drop(spool));
    }
}

/// Runs a step of the host's: a panic is an outage, and an outage is never told as a denial, whatever code it came with.
pub(crate) fn guarded<T>(what: &str, step: impl FnOnce() -> Result<T, Outage>) -> Result<T, Outage> {
    let outcome = caught(step).unwrap_or_else(|| Err(panicked(what)));
    outcome.map_err(|outage| match outage.code.class() {
        Class::Denied => Outage { code: Code::Internal, ..outage },
        _ => outage,
    })
}

pub(crate) fn panicked(what: &str) -> Outage {
    Outage::new(Code::Internal, format!("{what} met a state it does not expect"))
}

const RESULTS: &str = "the place for results";
