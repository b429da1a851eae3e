//! What the gate promises, written a second time: what comes of a scenario, worked out from it alone.
//!
//! It shares no code with the gate and none of its shape: it goes through what happens and keeps a few variables.

use fumehood_core::tool::Approval;

use crate::world::{Answer, Fault, Happening, Opinion, Outcome, SpoolStage, Step};

/// All that happens to one call.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) approval: Approval,
    /// What the policy says at first.
    pub(crate) opinion: Opinion,
    pub(crate) retries: u32,
    pub(crate) has_fallback: bool,
    /// While somebody is asked.
    pub(crate) meanwhile: Vec<Happening>,
    pub(crate) answer: Answer,
    pub(crate) steps: Vec<Step>,
    pub(crate) journal_fails_at: Option<(usize, Fault)>,
    pub(crate) spool_fails_at: Option<(usize, SpoolStage, Fault)>,
}

/// What must come of it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcomes {
    /// The code, or `fallback` or `done`.
    pub(crate) result: String,
    pub(crate) events: Vec<String>,
    pub(crate) rows: Vec<&'static str>,
    pub(crate) entries: usize,
    /// The state of the request, if a person was asked.
    pub(crate) ledger: Option<&'static str>,
}

/// What the world is like now.
#[derive(Clone, Copy)]
struct Facts {
    is_offered: bool,
    is_ended: bool,
    is_cancelled: bool,
    policy: Policy,
    opinion: Opinion,
    source: Source,
}

#[derive(Clone, Copy, PartialEq)]
enum Policy {
    Shown,
    Other,
    Denies,
    Out,
}

#[derive(Clone, Copy, PartialEq)]
enum Source {
    Shown,
    Other,
    Fails,
}

struct Model<'a> {
    scenario: &'a Scenario,
    facts: Facts,
    appended: usize,
    begun: usize,
    out: Outcomes,
}

pub(crate) fn expected(scenario: &Scenario) -> Outcomes {
    let facts = Facts {
        is_offered: true,
        is_ended: false,
        is_cancelled: false,
        policy: Policy::Shown,
        opinion: scenario.opinion,
        source: Source::Shown,
    };
    let mut model = Model { scenario, facts, appended: 0, begun: 0, out: Outcomes::default() };
    let result = model.ask().and_then(|()| model.perform());
    model.out.result = match result {
        Ok(result) | Err(result) => result.to_owned(),
    };
    model.out
}

const UNAVAILABLE: &str = "E_TOOL_GATE_UNAVAILABLE";

impl Scenario {
    /// Whether a person is asked, if it comes to that.
    pub(crate) fn is_human(&self) -> bool {
        match self.opinion {
            Opinion::None => self.approval == Approval::Human,
            Opinion::Asks => true,
            Opinion::Allows => false,
        }
    }
}

impl Model<'_> {
    /// Whether what the call rests on is enough for what the policy says now.
    fn is_enough(&self) -> bool {
        match self.scenario.opinion {
            _ if self.scenario.is_human() => true,
            Opinion::Allows => self.facts.opinion == Opinion::Allows,
            _ => self.facts.opinion != Opinion::Asks,
        }
    }

    fn happen(&mut self, happening: Happening) {
        let facts = &mut self.facts;
        match happening {
            Happening::Withdraw => facts.is_offered = false,
            Happening::Revoke => facts.policy = Policy::Denies,
            Happening::Says(opinion) => (facts.policy, facts.opinion) = (Policy::Shown, opinion),
            Happening::PolicyChange => facts.policy = Policy::Other,
            Happening::PolicyOutage => facts.policy = Policy::Out,
            Happening::SourceChange => facts.source = Source::Other,
            Happening::PlanFails => facts.source = Source::Fails,
            Happening::Cancel => facts.is_cancelled = true,
            Happening::End => facts.is_ended = true,
            Happening::Expire => {}
        }
    }

    fn event(&mut self, event: impl Into<String>) {
        self.out.events.push(event.into());
    }

    /// Whether the row could be written.
    fn row(&mut self, kind: &'static str) -> bool {
        let number = self.appended;
        self.appended += 1;
        let fails = self.scenario.journal_fails_at.is_some_and(|(at, _)| at == number);
        if !fails {
            self.out.rows.push(kind);
        }
        !fails
    }

    /// The stage at which the next result fails, if it does, and the code.
    fn spool(&mut self) -> Option<(SpoolStage, &'static str)> {
        let number = self.begun;
        self.begun += 1;
        let fails = self.scenario.spool_fails_at.filter(|(at, ..)| *at == number);
        fails.map(|(_, stage, fault)| match fault {
            Fault::Outage => (stage, "E_STATE_UNAVAILABLE"),
            Fault::Panic => (stage, "E_INTERNAL"),
        })
    }

    fn denied(&mut self, denial: &str) {
        self.row("decision");
        self.event(format!("approval.denied {denial}"));
    }

    fn ask(&mut self) -> Result<(), &'static str> {
        let Scenario { approval, meanwhile, answer, .. } = self.scenario;
        let (is_called, is_human) = (*approval == Approval::Policy, self.scenario.is_human());
        let is_asked = is_called || is_human;
        if is_asked {
            self.event("approval.required");
        }
        let mut request = "pending";
        for happening in meanwhile {
            self.happen(*happening);
            request = match happening {
                _ if is_called => request,
                Happening::End if request == "pending" => "cancelled",
                Happening::Expire if request == "pending" => "expired",
                _ => request,
            };
        }
        if is_called {
            match answer {
                Answer::Yes => {}
                Answer::No | Answer::Gone => {
                    self.denied("policy");
                    return Err("E_TOOL_DENIED");
                }
                Answer::Outage | Answer::Panic => return Err(UNAVAILABLE),
            }
        }
        if is_called && is_human {
            self.event("approval.granted");
            if self.facts.is_ended {
                return Err("E_RUN_ENDED");
            }
            self.event("approval.required");
        }
        if is_human {
            request = match (request, answer) {
                ("pending", Answer::Yes) => "approved",
                ("pending", Answer::No) => "denied",
                _ => request,
            };
            let is_out = matches!(answer, Answer::Outage | Answer::Panic);
            self.out.ledger = Some(if request == "pending" { "denied" } else { request });
            match request {
                _ if is_out => return Err(UNAVAILABLE),
                "pending" if self.facts.is_cancelled => {
                    self.denied("abandoned");
                    return Err("E_CANCELLED");
                }
                "pending" => {
                    self.denied("abandoned");
                    return Err("E_TOOL_DENIED");
                }
                "denied" => {
                    self.denied("person");
                    return Err("E_TOOL_DENIED");
                }
                "expired" => {
                    self.denied("no_answer");
                    return Err("E_TOOL_DENIED");
                }
                "cancelled" => {
                    self.denied("abandoned");
                    return Err("E_RUN_ENDED");
                }
                _ => {}
            }
        }
        self.recheck(is_asked)?;
        if is_human {
            self.out.ledger = Some("consumed");
            if !self.row("decision") {
                return Err(UNAVAILABLE);
            }
        }
        if is_asked {
            self.event("approval.granted");
        }
        Ok(())
    }

    /// Somebody said yes, or nobody needs to: what is there now must be what was there then.
    fn recheck(&mut self, is_asked: bool) -> Result<(), &'static str> {
        let Facts { is_offered, is_ended, is_cancelled, policy, source, .. } = self.facts;
        let (code, denial, ledger) = match () {
            () if !is_offered => ("E_TOOL_DENIED", Some("policy"), "denied"),
            () if is_ended => ("E_RUN_ENDED", is_asked.then_some("abandoned"), "denied"),
            () if is_cancelled => ("E_CANCELLED", is_asked.then_some("abandoned"), "denied"),
            () if source == Source::Fails => {
                ("E_SKILL_SOURCE_PATH_REJECTED", is_asked.then_some("abandoned"), "denied")
            }
            () if policy == Policy::Out => (UNAVAILABLE, None, "denied"),
            () if policy == Policy::Denies => ("E_POLICY_DENIED", Some("policy"), "denied"),
            () if !self.is_enough() => ("E_TOOL_DENIED", Some("policy"), "denied"),
            () if policy == Policy::Other || source == Source::Other => {
                ("E_CONSENT_STALE", is_asked.then_some("abandoned"), "stale")
            }
            () => return Ok(()),
        };
        if self.out.ledger.is_some() {
            self.out.ledger = Some(ledger);
        }
        if let Some(denial) = denial {
            self.denied(denial);
        }
        Err(code)
    }

    fn perform(&mut self) -> Result<&'static str, &'static str> {
        let mut spool = self.spool();
        if let Some((SpoolStage::Begin, code)) = spool {
            return Err(code);
        }
        if !self.row("receipt.open") {
            return Err(UNAVAILABLE);
        }
        let mut attempt = 0;
        loop {
            if attempt > 0 {
                spool = self.spool();
                if let Err(code) = self.again(spool) {
                    self.row("receipt.closed");
                    return Err(code);
                }
            }
            attempt += 1;
            self.out.entries += 1;
            self.event(format!("tool.called {attempt}"));
            let step = self.scenario.steps.get(attempt as usize - 1);
            if let Some(happening) = step.and_then(|step| step.then) {
                self.happen(happening);
            }
            let code = match step.map_or(&Outcome::Answers, |step| &step.outcome) {
                Outcome::Answers if spool.is_none() => {
                    if self.row("receipt.closed") {
                        self.event(format!("tool.completed {attempt}"));
                        return Ok("done");
                    }
                    self.event(format!("tool.failed {attempt} E_STATE_UNAVAILABLE receipt"));
                    return Err("E_STATE_UNAVAILABLE");
                }
                Outcome::Answers => spool.map_or("", |(_, code)| code),
                Outcome::Fails | Outcome::Panics => "E_SKILL_TOOL_FAILED",
                Outcome::TimesOut => "E_TOOL_TIMEOUT",
                Outcome::BadResponse => "E_SKILL_TOOL_BAD_RESPONSE",
                Outcome::Cancelled => "E_CANCELLED",
                other => panic!("{other:?} is not modelled"),
            };
            if code == "E_SKILL_TOOL_FAILED" && attempt <= self.scenario.retries {
                self.event(format!("tool.failed {attempt} {code}"));
                continue;
            }
            return self.last(attempt, code);
        }
    }

    /// Whether there may be another attempt after one that failed.
    fn again(&mut self, spool: Option<(SpoolStage, &'static str)>) -> Result<(), &'static str> {
        let Facts { is_offered, is_ended, is_cancelled, policy, .. } = self.facts;
        if let Some((SpoolStage::Begin, code)) = spool {
            return Err(code);
        }
        match () {
            () if is_ended => Err("E_RUN_ENDED"),
            () if is_cancelled => Err("E_CANCELLED"),
            () if is_offered && policy == Policy::Out => Err(UNAVAILABLE),
            () if is_offered && policy == Policy::Denies => {
                self.denied("policy");
                Err("E_POLICY_DENIED")
            }
            () if !is_offered || !self.is_enough() => {
                self.denied("policy");
                Err("E_TOOL_DENIED")
            }
            () if policy == Policy::Other => Err("E_CONSENT_STALE"),
            () => Ok(()),
        }
    }

    /// The last attempt failed.
    fn last(&mut self, attempt: u32, code: &'static str) -> Result<&'static str, &'static str> {
        let can_fall_back =
            matches!(code, "E_SKILL_TOOL_FAILED" | "E_TOOL_TIMEOUT" | "E_SKILL_TOOL_BAD_RESPONSE");
        let has_fallback = self.scenario.has_fallback && can_fall_back && self.spool().is_none();
        let is_written = self.row("receipt.closed");
        self.event(format!("tool.failed {attempt} {code} receipt"));
        match (has_fallback, is_written) {
            (true, true) => {
                self.event(format!("tool.completed {attempt} fallback"));
                Ok("fallback")
            }
            (true, false) => Err("E_STATE_UNAVAILABLE"),
            (false, _) => Err(code),
        }
    }
}
