//! `policy`: what `policy.toml` says, what it would say about a call, and whether it says what the person expects.

use std::collections::BTreeSet;

use fumehood_core::policy::{Explanation, Finding, PolicyTier, RuleVerdict, Why};
use fumehood_core::{Call, Code, Coded as _, RawCall, Scopes, Shown, ToolSpec};
use fumehood_gate::Planner;
use fumehood_store::{Home, PolicyError, PolicyFile, PolicyState, RESERVED_LABELS, Settings};

use super::policy::{measured, reason, scopes, tier};
use super::run::{Captured, GIVEN, agent};
use super::scopes::scope_id;
use super::{CallRequest, Host, RunRequest};
use crate::fault::Fault;
use crate::report::{
    CaseOut, PolicyCheckReport, PolicyErrorOut, PolicyExplainReport, PolicyFinding, PolicyTestReport,
    RuleExplained, SCHEMA_VERSION, ScopeExplained,
};

impl Host {
    /// Reads `policy.toml` and looks for what the person may not have meant. A file that cannot be read as written is part of
    /// the answer.
    ///
    /// # Errors
    /// `E_HOME_REFUSED`, `E_CONFIG_INVALID` of `fumehood.toml`.
    pub fn check_policy(&self) -> Result<PolicyCheckReport, Fault> {
        let home = self.home()?;
        let settings = self.settings(&home)?;
        Ok(self.checked_policy(&home, &settings, &PolicyFile::read(&home)))
    }

    /// What a policy says, and what may not have been meant.
    pub(super) fn checked_policy(
        &self,
        home: &Home,
        settings: &Settings,
        file: &PolicyFile,
    ) -> PolicyCheckReport {
        let configured = settings.sources.iter().map(|source| source.name.as_str());
        let own = self.sources.iter().map(|source| source.label.as_str());
        let known: BTreeSet<&str> = configured.chain(own).chain(RESERVED_LABELS).chain([GIVEN]).collect();
        let finding = |finding: &Finding<'_>| PolicyFinding {
            code: finding.code().as_str(),
            message: finding.to_string(),
        };
        PolicyCheckReport {
            schema_version: SCHEMA_VERSION,
            path: home.config.join(PolicyFile::NAME),
            state: match file.state {
                PolicyState::Absent => "absent",
                PolicyState::Read => "read",
                PolicyState::Unreadable(_) => "unreadable",
            },
            mode: file.policy.mode().as_str(),
            rules: file.policy.rules().len(),
            cases: file.cases.len(),
            sha256: file.policy.sha256().to_string(),
            error: file.error().map(error_out),
            findings: file.policy.lint(&known).iter().map(finding).collect(),
            unavailable: self.unavailable(),
        }
    }

    /// Plans a call as [`Host::run`] would, and says what would be decided about it and why. Nothing runs, and nobody is
    /// asked.
    ///
    /// # Errors
    /// Those of [`Host::run`] up to the question.
    ///
    /// # Authority
    /// Opens what the call names, and starts the sandbox, in which an interpreter that was never used is asked for its version.
    pub fn explain_policy(&self, request: &RunRequest) -> Result<PolicyExplainReport, Fault> {
        let home = self.home()?;
        let settings = self.settings(&home)?;
        let skill = self.captured(&request.skill, &request.roots)?;
        let chosen = skill.choose(request, &settings)?;
        let ready = self.ready(&skill, request, settings, chosen)?;
        let bench = self.bench(&home, &ready.settings)?;
        let script = ready.script(self, &bench, &home, &skill);
        self.explained(&skill, &ready.spec, &ready.raw, &script)
    }

    /// Plans a call as [`Host::call`] would, and says what would be decided about it and why. Nothing runs, and nobody is
    /// asked.
    ///
    /// # Errors
    /// Those of [`Host::call`] up to the question.
    ///
    /// # Authority
    /// As [`Host::explain_policy`].
    pub fn explain_policy_of_call(&self, request: &CallRequest) -> Result<PolicyExplainReport, Fault> {
        let skill = self.captured(&request.skill, &request.roots)?;
        let home = self.home()?;
        let settings = self.settings(&home)?;
        let ready = skill.ready_call(request, self.input(&request.input)?, settings)?;
        let bench = self.bench(&home, &ready.settings)?;
        let checked = ready.checked(self, &bench, &home, &skill);
        self.explained(&skill, &ready.spec, &ready.raw, &checked)
    }

    fn explained(
        &self,
        skill: &Captured,
        spec: &ToolSpec,
        raw: &RawCall,
        planner: &dyn Planner,
    ) -> Result<PolicyExplainReport, Fault> {
        let home = self.home()?;
        let call = Call::of_tool(spec, &raw.arguments);
        let call = call.map_err(|error| Fault::of(&error, "`fumehood show` lists what it takes"))?;
        let runner = planner.plan(&call).map_err(|error| {
            Fault::new(
                error.code,
                error.message,
                "the call could not be made as it stands, whatever the policy says",
            )
        })?;
        let plan = runner.plan();
        let file = PolicyFile::read(&home);
        let scopes = scopes(&home, &file.policy);
        Ok(measured(&agent()?, spec, &call, plan, |facts| {
            let Explanation { outcome, why, rules } = file.policy.explain(facts, &scopes);
            PolicyExplainReport {
                schema_version: SCHEMA_VERSION,
                tool: spec.name().as_str().to_owned(),
                skill: format!("{}:{}", skill.source, skill.name),
                revision: skill.snapshot.revision().to_string(),
                tier: tier(spec, plan).map(PolicyTier::as_str),
                mode: file.policy.mode().as_str(),
                outcome: outcome.as_str(),
                why: reason(&file, &why, facts, &Scopes::default()),
                rule: why.rule().map(str::to_owned),
                scope: if let Why::Scope(receipt) = &why { Some(receipt.to_string()) } else { None },
                rules: rules.iter().map(explained).collect(),
                scopes: scopes
                    .as_slice()
                    .iter()
                    .filter(|scope| {
                        let parts = scope.draft().parts();
                        parts.id == skill.name && parts.tool == *spec.name()
                    })
                    .map(|scope| {
                        let reason = scope.covers(facts).err().map(|mismatch| mismatch.to_string());
                        ScopeExplained { id: scope_id(scope.draft()), covers: reason.is_none(), reason }
                    })
                    .collect(),
            }
        }))
    }

    /// Plays the cases that the person wrote beside the rules.
    ///
    /// # Errors
    /// `E_POLICY_INVALID` for a file that cannot be read as written; `E_HOME_REFUSED`.
    pub fn test_policy(&self) -> Result<PolicyTestReport, Fault> {
        let file = PolicyFile::read(&self.home()?);
        if let Some(error) = file.error() {
            let advice = "mend policy.toml; until then nothing runs";
            return Err(Fault::new(Code::PolicyInvalid, error.to_string(), advice));
        }
        Ok(played(&file))
    }
}

/// What comes of the cases of a file.
pub(super) fn played(file: &PolicyFile) -> PolicyTestReport {
    let case = |case: &fumehood_store::PolicyCase| {
        let result = case.run(&file.policy);
        let rules = if result.is_met { Vec::new() } else { case.explain(&file.policy).rules };
        CaseOut {
            name: case.name().to_owned(),
            met: result.is_met,
            expected: case.expected().as_str(),
            expected_rule: case.rule().map(str::to_owned),
            outcome: result.decided.outcome.as_str(),
            why: result.decided.why.to_string(),
            rules: rules.iter().map(explained).collect(),
        }
    };
    let cases: Vec<_> = file.cases.iter().map(case).collect();
    let met = cases.iter().filter(|case| case.met).count();
    PolicyTestReport { schema_version: SCHEMA_VERSION, met, missed: cases.len() - met, cases }
}

pub(super) fn error_out(error: &PolicyError) -> PolicyErrorOut {
    PolicyErrorOut {
        code: error.code.as_str(),
        line: error.place.map(|(line, _)| line),
        column: error.place.map(|(_, column)| column),
        message: error.message.clone(),
    }
}

fn explained(rule: &RuleVerdict<'_>) -> RuleExplained {
    RuleExplained {
        name: rule.name.to_owned(),
        outcome: rule.outcome.as_str(),
        matches: rule.is_matched,
        decides: rule.is_decisive,
        reasons: rule.reasons.iter().map(|reason| Shown::inline(&reason.to_string()).to_string()).collect(),
    }
}
