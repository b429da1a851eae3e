//! What is on offer under each name, and which calls are on their way with it.
//!
//! A name can stand for many things one after the other: all scripts that nobody declared have one. What a call was offered must
//! stay on offer until the gate has decided about it; what runs needs its offer no more.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fumehood_core::{Code, ToolName};
use fumehood_gate::Cancel;
use fumehood_store::Settings;

use super::Captured;
use crate::fault::Fault;

/// What is on offer under a name: two calls with the same can share one offer.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::host) struct Identity {
    skill: String,
    file: String,
    revision: String,
    /// What is granted beside the arguments.
    what: String,
    settings: Settings,
}

impl Identity {
    pub(in crate::host) fn of(skill: &Captured, file: &str, what: String, settings: Settings) -> Self {
        Self {
            skill: format!("{}:{}", skill.source, skill.name),
            file: file.to_owned(),
            revision: skill.snapshot.revision().to_string(),
            what,
            settings,
        }
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The same file, in other bytes or with other rights.
    fn is_other_version_of(&self, other: &Self) -> bool {
        (&self.skill, &self.file) == (&other.skill, &other.file) && self != other
    }
}

/// What is on offer under each name.
#[derive(Default)]
pub(super) struct Offers {
    slots: Mutex<BTreeMap<ToolName, Slot>>,
    freed: Condvar,
}

#[derive(Default)]
struct Slot {
    on_offer: Option<Arc<Identity>>,
    /// Calls of it that have yet to be decided about.
    undecided: usize,
    /// What runs, of this offer and of those before it.
    running: Vec<Arc<Identity>>,
}

/// A call is on its way until this is dropped. Until it begins, what it was offered stays on offer.
pub(super) struct Held {
    offers: Arc<Offers>,
    name: ToolName,
    identity: Arc<Identity>,
    has_begun: AtomicBool,
}

impl Slot {
    /// The offer that stands, if it is for this and in use.
    fn shared(&self, wanted: &Identity) -> Option<Arc<Identity>> {
        let on_offer = self.on_offer.as_ref().filter(|on_offer| ***on_offer == *wanted)?;
        let is_in_use =
            self.undecided > 0 || self.running.iter().any(|running| Arc::ptr_eq(running, on_offer));
        is_in_use.then(|| Arc::clone(on_offer))
    }

    /// Whether what is on its way has to end before this can be on offer.
    fn bars(&self, wanted: &Identity) -> bool {
        self.undecided > 0 || self.running.iter().any(|running| running.is_other_version_of(wanted))
    }
}

impl Offers {
    /// Shares the offer that stands, or makes one with `offer`, as soon as nothing else needs the name.
    ///
    /// # Errors
    /// `E_TOOL_BUSY` after 30 seconds, `E_CANCELLED`; those of `offer`.
    pub(super) fn hold(
        self: &Arc<Self>,
        name: &ToolName,
        wanted: Identity,
        cancel: &Cancel,
        offer: impl FnOnce() -> Result<(), Fault>,
    ) -> Result<Held, Fault> {
        let until = Instant::now() + BUSY_MAX;
        let mut slots = self.lock();
        let identity = loop {
            let slot = slots.entry(name.clone()).or_default();
            if let Some(shared) = slot.shared(&wanted) {
                break shared;
            }
            if !slot.bars(&wanted) {
                slot.on_offer = None;
                offer()?;
                break Arc::clone(slot.on_offer.insert(Arc::new(wanted)));
            }
            if cancel.is_cancelled() {
                let message = "the call was cancelled while it waited for another one";
                return Err(Fault::new(Code::Cancelled, message, "nothing ran"));
            }
            if Instant::now() >= until {
                let message = format!("another call of {name} is still under way");
                return Err(Fault::new(Code::ToolBusy, message, "try again when it has ended"));
            }
            let looked = self.freed.wait_timeout(slots, LOOK_UP);
            slots = looked.unwrap_or_else(PoisonError::into_inner).0;
        };
        slots.entry(name.clone()).or_default().undecided += 1;
        let has_begun = AtomicBool::new(false);
        Ok(Held { offers: Arc::clone(self), name: name.clone(), identity, has_begun })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ToolName, Slot>> {
        // Each step leaves it whole.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// The call was decided about, and runs.
    pub(super) fn begin(&self) {
        if self.has_begun.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(slot) = self.offers.lock().get_mut(&self.name) {
            slot.undecided -= 1;
            slot.running.push(Arc::clone(&self.identity));
        }
        self.offers.freed.notify_all();
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(slot) = self.offers.lock().get_mut(&self.name) {
            let own = slot.running.iter().position(|running| Arc::ptr_eq(running, &self.identity));
            match own.filter(|_| self.has_begun.load(Ordering::Relaxed)) {
                Some(own) => _ = slot.running.swap_remove(own),
                None => slot.undecided -= 1,
            }
        }
        self.offers.freed.notify_all();
    }
}

/// How long a call waits for one of the same name that is something else.
const BUSY_MAX: Duration = Duration::from_secs(30);
const LOOK_UP: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(file: &str, revision: &str) -> Identity {
        Identity {
            skill: "user:tool".to_owned(),
            file: file.to_owned(),
            revision: revision.to_owned(),
            what: String::new(),
            settings: Settings::default(),
        }
    }

    /// A call that does not wait: whether a new offer was made for it, or the code that keeps it.
    fn hold(offers: &Arc<Offers>, identity: Identity) -> Result<(Held, bool), Code> {
        let (name, cancel) = (ToolName::parse("run").unwrap(), Cancel::new());
        cancel.cancel();
        let mut is_new = false;
        let held = offers.hold(&name, identity, &cancel, || {
            is_new = true;
            Ok(())
        });
        held.map(|held| (held, is_new)).map_err(|fault| fault.code)
    }

    // what is offered stays until it is decided about, and no other version of a file begins beside it.
    #[test]
    fn what_runs_keeps_nobody_waiting_but_another_version_of_itself() {
        let offers = Arc::new(Offers::default());
        let (first, is_new) = hold(&offers, identity("a.sh", "1")).unwrap();
        assert!(is_new);
        for other in [identity("b.sh", "1"), identity("a.sh", "2")] {
            assert_eq!(hold(&offers, other).err(), Some(Code::Cancelled));
        }
        let (same, is_new) = hold(&offers, identity("a.sh", "1")).unwrap();
        assert!(!is_new);
        first.begin();
        assert_eq!(hold(&offers, identity("b.sh", "1")).err(), Some(Code::Cancelled), "one is undecided");
        drop(same);
        let (other, is_new) = hold(&offers, identity("b.sh", "1")).unwrap();
        assert!(is_new);
        other.begin();
        other.begin();
        for version in ["2", "3"] {
            assert_eq!(hold(&offers, identity("a.sh", version)).err(), Some(Code::Cancelled));
            assert_eq!(hold(&offers, identity("b.sh", version)).err(), Some(Code::Cancelled));
        }
        // The one that runs is no longer on offer, so it is offered again.
        let (again, is_new) = hold(&offers, identity("a.sh", "1")).unwrap();
        assert!(is_new);
        drop(again);
        drop(first);
        drop(hold(&offers, identity("a.sh", "2")).unwrap());
        drop(other);
        drop(hold(&offers, identity("b.sh", "2")).unwrap());
    }

    #[test]
    fn an_offer_that_cannot_be_made_is_made_for_the_next() {
        let offers = Arc::new(Offers::default());
        let name = ToolName::parse("run").unwrap();
        let fault = || Err(Fault::new(Code::ToolDuplicate, "m", "a"));
        assert!(offers.hold(&name, identity("a.sh", "1"), &Cancel::new(), fault).is_err());
        assert!(hold(&offers, identity("a.sh", "1")).unwrap().1);
    }
}
