//! What a call would run as, what the policy says about that, and what an approval of it is bound to.

use fumehood_core::Binding;
use fumehood_core::binding::BindingParts;
use fumehood_core::event::Denial;
use fumehood_core::schema::VALIDATOR_VERSION;
use fumehood_core::tool::Failure;

use super::course::Course;
use super::{Gate, broken, undecided};
use crate::clearance::{Held, Planned};
use crate::error::GateError;
use crate::guard::caught;
use crate::plan::Plan;
use crate::ports::{Facts, Ruling};

impl Course<'_> {
    /// Plans the call, and asks the policy about the plan.
    pub(super) fn plan(&self) -> Result<Planned, GateError> {
        let planned = caught(|| self.offer.planner().plan(&self.call));
        let runner = planned.ok_or_else(|| broken(self.spec(), PLANNER))?;
        let mut runner = Held::new(runner.map_err(GateError::of_run)?);
        let plan = runner.step(|runner| runner.plan().clone());
        let plan = plan.ok_or_else(|| broken(self.spec(), PLANNER))?;
        if plan.wall(self.spec().timeout()) > self.spec().timeout() {
            return Err(self.error(Failure::Policy, "the plan takes more time than the tool may have"));
        }
        let binding = self.allowed(&plan)?;
        Ok(Planned { runner, plan, binding })
    }

    /// What an approval of the plan is bound to under the policy as it is now, which does not deny it.
    pub(super) fn allowed(&self, plan: &Plan) -> Result<Binding, GateError> {
        let Gate { agent, run, ports, .. } = self.gate;
        let facts = Facts { agent, run: *run, tool: self.spec(), call: &self.call, plan };
        let ruling = ports.policy.ruling(&facts).map_err(|outage| undecided(self.spec(), &outage))?;
        if ruling.is_denied {
            return Err(self.denial(Denial::Policy));
        }
        Ok(self.binding(plan, ruling))
    }

    fn binding(&self, plan: &Plan, ruling: Ruling) -> Binding {
        Binding::of(&BindingParts {
            agent: &self.gate.agent,
            run: self.gate.run,
            tool: self.spec().name(),
            workspace: plan.workspace.as_ref(),
            revision: plan.skill.as_ref().map(|skill| skill.revision),
            overlay: plan.skill.as_ref().and_then(|skill| skill.overlay),
            invocation: self.call.invocation().bytes(),
            validator_version: VALIDATOR_VERSION,
            interpreter: plan.interpreter.as_ref(),
            profile: &plan.profile,
            policy: ruling.policy,
        })
    }
}

const PLANNER: &str = "what plans the call";
