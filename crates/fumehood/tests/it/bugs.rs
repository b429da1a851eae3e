//! Public bug reports about other hosts, each as a test of what this one does instead; `docs/skill-bugs.md` is the list.
//!
//! A test is called after its row: `a1_…` shows row A1.

mod body;
mod catalogue;
mod discovery;
mod names;
mod page;
mod reading;
mod scripts;
