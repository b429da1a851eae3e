//! The policy of the person, read anew whenever it is asked about, and the facts that it decides about.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use fumehood_core::consent::Surface;
use fumehood_core::policy::{
    ArgumentFacts, Decision, Fact, Mode, Outcome, PathFact, PolicyFacts, PolicyTier, Why, WorkspaceFact,
    YesKind,
};
use fumehood_core::receipt::Authority;
use fumehood_core::tool::{Origin, Tier};
use fumehood_core::{AgentLabel, Call, Code, Frame, HostPath, Policy, Scopes, Sha256, ToolName, ToolSpec};
use fumehood_gate::Plan;
use fumehood_gate::ports::{Answer, Facts, Outage, PolicySource, Ruling};
use fumehood_store::{Home, PolicyFile, Settings, Surroundings, TrustScopes};

use super::run::safety_bar;

/// `policy.toml` and the trust scopes, as they are at the moment of asking (CHK-048), and whether `fumehood.toml` still says
/// what it said when the call was worked out.
pub(super) struct HostPolicy {
    pub(super) home: Home,
    pub(super) surroundings: Surroundings,
    /// What `fumehood.toml` said, for each tool.
    pub(super) settings: Arc<WorkedOutUnder>,
}

/// The settings under which the tools on offer were worked out.
#[derive(Default)]
pub(super) struct WorkedOutUnder(Mutex<BTreeMap<ToolName, Settings>>);

impl WorkedOutUnder {
    /// The tool is on offer under these.
    pub(super) fn set(&self, tool: &ToolName, settings: Settings) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(tool.clone(), settings);
    }

    fn is(&self, tool: &ToolName, settings: Option<&Settings>) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        settings.is_some_and(|settings| all.get(tool) == Some(settings))
    }
}

/// Where a yes would come from, and whether the policy takes one from there.
#[derive(Clone)]
pub(super) struct SurfaceRule {
    pub(super) home: Home,
    pub(super) surface: Surface,
    /// What `fumehood.toml` says of the flag.
    pub(super) is_flag_configured: bool,
}

impl PolicySource for HostPolicy {
    fn ruling(&self, facts: &Facts<'_>) -> Result<Ruling, Outage> {
        let file = PolicyFile::read(&self.home);
        let scopes = scopes(&self.home, &file.policy);
        let settings = Settings::read(&self.home, &self.surroundings).ok();
        let Facts { agent, tool, call, plan, .. } = *facts;
        Ok(measured(agent, tool, call, plan, |facts| {
            let decision = file.policy.decide(facts, &scopes);
            let why = reason(&file, &decision.why, facts, &scopes);
            let answer = match settings.as_ref().and_then(safety_bar) {
                Some((code, why)) if decision.outcome != Outcome::Deny => {
                    Answer::Deny { code, why: why.to_owned() }
                }
                _ => answer(&decision, why),
            };
            Ruling { policy: self.under(tool.name(), settings.as_ref(), decision.policy), answer }
        }))
    }
}

impl HostPolicy {
    /// The digest of the policy. Under other settings it is that of another one: what was shown or allowed was another call,
    /// whose overlay, envelope or interpreter the deployer has taken back meanwhile.
    fn under(&self, tool: &ToolName, settings: Option<&Settings>, policy: Sha256) -> Sha256 {
        if self.settings.is(tool, settings) {
            return policy;
        }
        let mut frame = Frame::new("policy-under-other-settings", 1);
        frame.part(policy.to_string().as_bytes());
        frame.sha256()
    }
}

impl SurfaceRule {
    /// Whether a yes to one call counts now.
    pub(super) fn is_open(&self) -> bool {
        self.takes(YesKind::Once)
    }

    /// Whether a yes of this kind counts now.
    pub(super) fn takes(&self, kind: YesKind) -> bool {
        PolicyFile::read(&self.home).policy.surfaces().allow(self.surface, kind, self.is_flag_configured)
    }
}

/// The scopes that count under a policy. Where they cannot be read there are none, and whatever they covered is asked about.
pub(super) fn scopes(home: &Home, policy: &Policy) -> Scopes {
    if policy.mode() != Mode::Trusted {
        return Scopes::default();
    }
    TrustScopes::read(home).unwrap_or_default()
}

fn answer(decision: &Decision, why: String) -> Answer {
    match (decision.outcome, &decision.why) {
        (Outcome::Deny, _) => Answer::Deny { code: decision.code().unwrap_or(Code::PolicyDenied), why },
        (Outcome::Ask, Why::Default | Why::NotWaived(_)) => Answer::NoOpinion { why },
        (Outcome::Allow, Why::Rule(name)) => Answer::Allow(Authority::rule(name)),
        (Outcome::Allow, Why::Scope(receipt)) => Answer::Allow(Authority::scope(&receipt.to_string())),
        // Nothing else allows a call, so whatever else says that it does is not believed.
        (Outcome::Ask | Outcome::Allow, _) => Answer::Ask { why },
    }
}

/// What decides, and where that could be told: what is wrong with the file, or why a scope that was made for the tool does not
/// cover the call.
pub(super) fn reason(file: &PolicyFile, why: &Why, facts: &PolicyFacts<'_>, scopes: &Scopes) -> String {
    match (why, file.error()) {
        (Why::Unreadable, Some(error)) => error.to_string(),
        (Why::Default | Why::NotWaived(_), _) => {
            let is_meant = |scope: &&fumehood_core::TrustScope| {
                let parts = scope.draft().parts();
                facts.id.known() == Some(&parts.id) && facts.tool.known() == Some(&parts.tool)
            };
            let last = scopes.as_slice().iter().rev().find(is_meant);
            match last.and_then(|scope| scope.covers(facts).err()) {
                Some(mismatch) => format!("{why}; the trust scope for the tool does not count: {mismatch}"),
                None => why.to_string(),
            }
        }
        _ => why.to_string(),
    }
}

/// What the host knows of a call.
pub(super) fn measured<T>(
    agent: &AgentLabel,
    tool: &ToolSpec,
    call: &Call,
    plan: &Plan,
    look: impl FnOnce(&PolicyFacts<'_>) -> T,
) -> T {
    let skill = plan.skill.as_ref();
    // A plan that names no skill, of a tool that is one's, has told less than it should.
    let nothing = || match tool.origin() {
        Origin::Skill { .. } => Nothing::Missing,
        _ => Nothing::Known,
    };
    let workspace = plan.workspace.as_ref().map(|workspace| HostPath::parse(workspace.resolved()).ok());
    let words = plan.workspace_words().unwrap_or_default();
    let paths: Vec<_> = plan
        .paths
        .iter()
        .map(|path| PathFact { parameter: &path.parameter, resolved: path.resolved.as_ref() })
        .collect();
    look(&PolicyFacts {
        agent: Fact::Is(agent),
        source: skill.map_or_else(|| nothing().fact(), |skill| Fact::Is(skill.source.as_str())),
        id: skill.map_or_else(|| nothing().fact(), |skill| Fact::Is(&skill.name)),
        revision: skill.map_or_else(|| nothing().fact(), |skill| Fact::Is(skill.revision)),
        overlay: skill.map_or_else(|| nothing().fact(), |skill| Fact::of_option(skill.overlay)),
        tool: Fact::Is(tool.name()),
        tier: tier(tool, plan).map_or(Fact::Missing, Fact::Is),
        effect: Fact::Is(tool.effect()),
        network: Fact::Is(plan.network()),
        workspace: match &workspace {
            None => Fact::None,
            Some(None) => Fact::Missing,
            Some(Some(resolved)) => Fact::Is(WorkspaceFact { resolved, identity: &words }),
        },
        arguments: Fact::Is(ArgumentFacts { value: call.invocation().value(), paths: &paths }),
        timeout: Fact::Is(plan.wall(tool.timeout())),
        output_bytes: plan.limits.output_bytes.map_or(Fact::Missing, Fact::Is),
    })
}

/// The tier; `None` for a script of which nobody knows whether it is declared.
pub(super) fn tier(tool: &ToolSpec, plan: &Plan) -> Option<PolicyTier> {
    match (tool.tier(), &plan.command) {
        (Tier::Script, None) => None,
        (Tier::Script, Some(command)) => Some(PolicyTier::of(Tier::Script, command.is_declared)),
        (tier, _) => Some(PolicyTier::of(tier, true)),
    }
}

/// Why there is nothing.
enum Nothing {
    Known,
    Missing,
}

impl Nothing {
    fn fact<T>(self) -> Fact<T> {
        match self {
            Self::Known => Fact::None,
            Self::Missing => Fact::Missing,
        }
    }
}
