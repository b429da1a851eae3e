//! Saving scopes: who keeps a receipt, who gets one, and who gets none.

use core::fmt;
use std::collections::BTreeSet;

use super::{SCOPES_MAX, ScopeDraft, ScopeReceipt, ScopeReceiptId, Scopes, TrustScope};
use crate::code::{Code, Coded};
use crate::policy::Mode;
use crate::time::WallTime;

/// Why scopes were not saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScopesError {
    /// More than 64.
    Full,
    /// Two are alike.
    Twice,
    /// There are no random bytes for a receipt.
    NoRandomness,
    /// A receipt's id is there already: the random bytes are none.
    IdTaken,
}

/// What the scopes are after the local person saved these drafts. The old ones that are not among them are gone, and with them
/// their receipts (CHK-042).
///
/// - A draft that is equal to an old scope, ceilings included, keeps that one's receipt, in whatever mode it is saved
///   (CHK-037).
/// - Any other draft, and one whose old scope had no receipt, gets a fresh one in mode trusted (CHK-036, CHK-039) and none in
///   any other (CHK-040).
///
/// `random` gives 16 bytes of the operating system's generator for secrets, anew each time; `now` is the wall clock. Callers
/// have nothing to say about ids and times: a [`ScopeDraft`] has no place for them (CHK-038).
///
/// # Errors
/// [`ScopesError`]; then nothing is saved.
pub fn save(
    old: &Scopes,
    new: Vec<ScopeDraft>,
    mode: Mode,
    random: &mut dyn FnMut() -> Option<[u8; 16]>,
    now: WallTime,
) -> Result<Scopes, ScopesError> {
    // Before any receipt is minted.
    if new.len() > SCOPES_MAX {
        return Err(ScopesError::Full);
    }
    let mut gone: BTreeSet<_> = ids(&old.0).collect();
    let mut scopes = Vec::new();
    for draft in new {
        let kept = old.0.iter().find(|scope| scope.draft == draft).and_then(|scope| scope.receipt);
        let receipt = match kept {
            None if mode == Mode::Trusted => {
                let id = ScopeReceiptId::from_random(random().ok_or(ScopesError::NoRandomness)?);
                // Also none of those that end here: a receipt is never made twice.
                if !gone.insert(id) {
                    return Err(ScopesError::IdTaken);
                }
                Some(ScopeReceipt { id, approved: now })
            }
            kept => kept,
        };
        scopes.push(TrustScope { draft, receipt });
    }
    check(&scopes)?;
    Ok(Scopes(scopes))
}

/// Whether these can stand side by side.
pub(super) fn check(scopes: &[TrustScope]) -> Result<(), ScopesError> {
    if scopes.len() > SCOPES_MAX {
        return Err(ScopesError::Full);
    }
    let has_twin = |(index, scope): (usize, &TrustScope)| {
        scopes.iter().skip(index + 1).any(|other| other.draft == scope.draft)
    };
    if scopes.iter().enumerate().any(has_twin) {
        return Err(ScopesError::Twice);
    }
    let mut seen = BTreeSet::new();
    if ids(scopes).all(|id| seen.insert(id)) { Ok(()) } else { Err(ScopesError::IdTaken) }
}

fn ids(scopes: &[TrustScope]) -> impl Iterator<Item = ScopeReceiptId> {
    scopes.iter().filter_map(|scope| scope.receipt.map(|receipt| receipt.id))
}

impl Coded for ScopesError {
    fn code(&self) -> Code {
        match self {
            Self::Full => Code::TrustScopesFull,
            Self::Twice => Code::TrustScopeInvalid,
            Self::NoRandomness => Code::StateUnavailable,
            Self::IdTaken => Code::Internal,
        }
    }
}

impl fmt::Display for ScopesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(f, "there can be at most {SCOPES_MAX} trust scopes; remove one first"),
            Self::Twice => f.write_str("two trust scopes are alike"),
            Self::NoRandomness => f.write_str("the operating system gives no random bytes for a receipt"),
            Self::IdTaken => f.write_str("the id of a receipt was used twice"),
        }
    }
}

impl core::error::Error for ScopesError {}
