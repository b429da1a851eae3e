//! The shape of what `passphrase` says.

use serde::Serialize;

/// The answer of `passphrase set` and `passphrase remove`.
#[derive(Clone, Debug, Serialize)]
pub struct PassphraseReport {
    /// 1.
    pub schema_version: u32,
    /// Whether one is required from now on.
    pub required: bool,
    /// Whether that, or which one, is new.
    pub changed: bool,
}
