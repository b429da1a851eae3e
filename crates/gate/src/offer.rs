//! A tool as the gate offers it: its specification, who plans its calls, and what the host adds.

use core::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fumehood_core::code::{Code, Coded};
use fumehood_core::tool::{Approval, Failure, Origin};
use fumehood_core::{Call, RunId, ToolSpec};

use crate::ports::Outage;
use crate::runner::Planner;

/// Says yes or no to calls of a tool whose approval is [`Approval::Policy`]: gets the validated arguments and the run, and
/// its no is final (XSF-30, XSF-31). An error or a panic is an outage and no answer.
pub type Callback = Box<dyn Fn(&Call, RunId) -> Result<bool, Outage> + Send + Sync>;

/// Gives an answer in place of one of the host's own tools that failed. It learns the kind of failure and nothing else,
/// so it cannot pass on what went wrong inside (XSF-45).
pub type Fallback = Box<dyn Fn(Failure) -> Vec<u8> + Send + Sync>;

/// A tool on offer.
pub struct Offer {
    spec: ToolSpec,
    planner: Box<dyn Planner>,
    callback: Option<Callback>,
    fallback: Option<Fallback>,
    live: Arc<AtomicUsize>,
}

/// One piece of work that is not over. As long as one lives, its tool is busy.
///
/// A runner that has to leave work behind moves it to where the work is, so that the count tells the truth.
#[derive(Debug)]
pub struct Liveness(Arc<AtomicUsize>);

/// Why a tool is not offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OfferError {
    /// Its calls are approved by a callback, and there is none; or the other way round.
    Callback,
    /// Only the host's own tools may answer with a fallback.
    Fallback,
}

impl Offer {
    /// A tool whose calls are planned by `planner`.
    ///
    /// # Errors
    /// [`OfferError::Callback`] (`E_TOOL_INVALID`) if the tool's approval is [`Approval::Policy`].
    pub fn new(spec: ToolSpec, planner: impl Planner + 'static) -> Result<Self, OfferError> {
        if spec.approval() == Approval::Policy {
            return Err(OfferError::Callback);
        }
        Ok(Self::bare(spec, planner))
    }

    /// A tool whose calls `callback` approves.
    ///
    /// # Errors
    /// [`OfferError::Callback`] (`E_TOOL_INVALID`) if the tool's approval is another one.
    pub fn with_callback(
        spec: ToolSpec,
        planner: impl Planner + 'static,
        callback: impl Fn(&Call, RunId) -> Result<bool, Outage> + Send + Sync + 'static,
    ) -> Result<Self, OfferError> {
        if spec.approval() != Approval::Policy {
            return Err(OfferError::Callback);
        }
        Ok(Self { callback: Some(Box::new(callback)), ..Self::bare(spec, planner) })
    }

    /// Adds a fallback.
    ///
    /// # Errors
    /// [`OfferError::Fallback`] (`E_TOOL_INVALID`) for a tool that is not the host's own.
    pub fn with_fallback(
        self,
        fallback: impl Fn(Failure) -> Vec<u8> + Send + Sync + 'static,
    ) -> Result<Self, OfferError> {
        if *self.spec.origin() != Origin::Host {
            return Err(OfferError::Fallback);
        }
        Ok(Self { fallback: Some(Box::new(fallback)), ..self })
    }

    fn bare(spec: ToolSpec, planner: impl Planner + 'static) -> Self {
        let live = Arc::default();
        Self { spec, planner: Box::new(planner), callback: None, fallback: None, live }
    }

    /// The tool.
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Pieces of its work that are not over.
    pub fn live(&self) -> usize {
        self.live.load(Ordering::Acquire)
    }

    pub(crate) fn planner(&self) -> &dyn Planner {
        &*self.planner
    }

    pub(crate) fn callback(&self) -> Option<&Callback> {
        self.callback.as_ref()
    }

    pub(crate) fn fallback(&self) -> Option<&Fallback> {
        self.fallback.as_ref()
    }

    pub(crate) fn begin(&self) -> Liveness {
        Liveness::of(&self.live)
    }
}

impl Liveness {
    fn of(live: &Arc<AtomicUsize>) -> Self {
        live.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(live))
    }

    /// One more piece of the same work.
    pub(crate) fn another(&self) -> Self {
        Self::of(&self.0)
    }
}

impl Drop for Liveness {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offer").field("spec", &self.spec).field("live", &self.live()).finish_non_exhaustive()
    }
}

impl Coded for OfferError {
    fn code(&self) -> Code {
        Code::ToolInvalid
    }
}

impl fmt::Display for OfferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Callback => "a callback and the approval that asks it go together",
            Self::Fallback => "only a tool of the host may have a fallback",
        })
    }
}

impl core::error::Error for OfferError {}
