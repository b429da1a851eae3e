//! A run of one call, made where a person can be asked.

use std::sync::{Arc, OnceLock};

use fumehood_gate::Cancel;
use fumehood_store::{Home, Settings};

use super::gated::Gated;
use super::{Captured, agent, approver, denied};
use crate::fault::Fault;
use crate::host::person::{Asking, LastLook};
use crate::host::policy::SurfaceRule;
use crate::host::question::Wordings;
use crate::host::{Host, Person};

/// Who is asked, and whether a yes from there counts.
pub(super) struct Attended {
    person: Option<Arc<dyn Person>>,
    rule: SurfaceRule,
    is_open: bool,
    last_look: LastLook,
    /// Why a yes did not count, if that is why.
    refused: Arc<OnceLock<Fault>>,
}

impl Attended {
    pub(super) fn of(
        approve: Option<&str>,
        skill: &Captured,
        settings: &Settings,
        (home, person): (&Home, Option<Arc<dyn Person>>),
    ) -> Result<Self, Fault> {
        let (person, surface) = approver::of(approve, skill, settings, person)?;
        let is_flag_configured = settings.approve_by_revision_flag;
        let rule = SurfaceRule { home: home.clone(), surface, is_flag_configured };
        let is_open = rule.is_open();
        let last_look = skill.last_look();
        Ok(Self { person, rule, is_open, last_look, refused: Arc::default() })
    }

    /// The gate of the run. Who may not say yes there is not asked.
    pub(super) fn open(
        &self,
        host: &Host,
        home: &Home,
        settings: &Settings,
        cancel: &Cancel,
    ) -> Result<Gated, Fault> {
        let wordings = Arc::new(Wordings::default());
        let asking = self.person.as_ref().filter(|_| self.is_open).map(|person| {
            Arc::new(Asking {
                person: Arc::clone(person),
                rule: self.rule.clone(),
                wordings: Arc::clone(&wordings),
                cancel: cancel.clone(),
                host: host.clone(),
                last_look: Arc::clone(&self.last_look),
                refused: Arc::clone(&self.refused),
                decider: OnceLock::new(),
            })
        });
        let bench = host.bench(home, settings)?;
        let approver = asking.clone().map(|asking| asking as _);
        let gated = Gated::open(host, agent()?, (home.clone(), bench), wordings, approver)?;
        if let Some(asking) = asking {
            // It was made just now, so nobody has set it.
            let _ = asking.decider.set(gated.decider());
        }
        Ok(gated)
    }

    /// The fault, with what it comes from where that is not the gate's own.
    pub(super) fn fault(&self, fault: Fault) -> Fault {
        denied(fault, self.is_open, self.refused.get())
    }
}
