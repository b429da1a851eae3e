//! What a checked tool gave.

use fumehood_core::checked::CheckedResult;
use fumehood_core::{Json, Wiped};
use serde::{Serialize, Serializer};

use crate::fault::Fault;

/// The answer of `call`: the program ran, and this is what became of it. As JSON it is the result alone.
#[derive(Clone, Debug)]
pub struct CallReport {
    /// The result.
    pub result: CheckedResult,
    /// Why it failed, if it did.
    pub failure: Option<Fault>,
    /// Its whole answer as it was kept, if it was: `art_` and 32 hex digits.
    pub artifact: Option<String>,
    /// What the program wrote to standard error: at most 16 KiB. Overwritten when this is dropped.
    pub errors: Wiped,
}

impl CallReport {
    /// What it answered, if it succeeded.
    pub fn output(&self) -> Option<&Json> {
        self.result.outcome().ok().map(fumehood_core::checked::Answer::value)
    }
}

impl Serialize for CallReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.result.to_json().serialize(serializer)
    }
}
