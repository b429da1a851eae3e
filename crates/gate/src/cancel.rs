//! The caller's way to give up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once, by whoever called, and looked at by whoever works. All clones are one token.
///
/// It says that the caller gave up and nothing else: a passed deadline is another matter with another code (EXE-65).
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A token that nobody has set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives up. There is no way back.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether this is a clone of that one, so that who gives up on the one gives up on the other.
    pub fn is_clone_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether the caller gave up.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
