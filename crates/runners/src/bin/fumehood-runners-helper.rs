//! A launcher for this crate's tests, which cannot be one themselves.
#![forbid(unsafe_code)]

fn main() {
    fumehood_sandbox::helper::dispatch();
}
