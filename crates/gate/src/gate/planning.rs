//! What a call would run as, what the policy says about that, and what an approval of it is bound to.

use fumehood_core::binding::BindingParts;
use fumehood_core::code::{Class, Code};
use fumehood_core::event::Denial;
use fumehood_core::schema::VALIDATOR_VERSION;
use fumehood_core::tool::Failure;
use fumehood_core::{Binding, Sha256};

use super::course::Course;
use super::{Gate, broken, undecided};
use crate::clearance::{Held, Leave, Planned};
use crate::error::GateError;
use crate::guard::caught;
use crate::plan::Plan;
use crate::ports::{Answer, Facts};

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
        let (binding, leave) = self.allowed(&plan)?;
        Ok(Planned { runner, plan, binding, leave })
    }

    /// What an approval of the plan is bound to under the policy as it is now, which does not deny it, and what that leaves
    /// to others.
    pub(super) fn allowed(&self, plan: &Plan) -> Result<(Binding, Leave), GateError> {
        let Gate { agent, run, ports, .. } = self.gate;
        let facts = Facts { agent, run: *run, tool: self.spec(), call: &self.call, plan };
        let ruling = ports.policy.ruling(&facts).map_err(|outage| undecided(self.spec(), &outage))?;
        let leave = match ruling.answer {
            Answer::Deny { code, why } => return Err(self.denied_by(code, &why)),
            Answer::Ask { why } => Leave::Person(why),
            Answer::NoOpinion { why } => Leave::Own(why),
            Answer::Allow(authority) => Leave::Given(authority),
        };
        Ok((self.binding(plan, ruling.policy), leave))
    }

    fn denied_by(&self, code: Code, why: &str) -> GateError {
        let denial = self.denial(Denial::Policy);
        let code = if code.class() == Class::Denied { code } else { denial.code };
        GateError { code, message: format!("{}: {why}", denial.message), ..denial }
    }

    fn binding(&self, plan: &Plan, policy: Sha256) -> Binding {
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
            policy,
        })
    }
}

const PLANNER: &str = "what plans the call";
