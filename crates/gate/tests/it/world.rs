//! A world for one gate: everything it needs, scripted, and a record of all that it did.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use fumehood_core::code::Code;
use fumehood_core::consent::{Decision, State, Surface};
use fumehood_core::receipt::{Applied, Authority, Change};
use fumehood_core::tool::{Approval, Effect, Failure, Origin, Tier, ToolDefinition};
use fumehood_core::{
    AgentLabel, ArtifactId, Call, Event, Json, Now, ProposalId, RawCall, RunId, Sha256, SkillName, ToolName,
    ToolSpec, WallTime,
};
use fumehood_gate::ports::{
    Answer as PolicyAnswer, Clock, Durable, Entropy, Facts, Journal, Kept, Outage, PolicySource, Results,
    Ruling, Spool,
};
use fumehood_gate::{
    Accepted, Approver, Attempt, Cancel, Completed, Decider, Gate, GateError, Listeners, Offer, Plan,
    Planner, RawOutput, Request, RunError, Runner,
};

/// Stands in every argument, output and panic, and may stand nowhere else.
pub(crate) const SECRET: &str = "swordfish";

pub(crate) const TOOL: &str = "work";

/// Something that happens beside the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// The tool is taken off the offer.
    Withdraw,
    /// The policy denies from now on.
    Revoke,
    /// The policy, otherwise the same, says this from now on, as when a scope is saved or removed.
    Says(Opinion),
    /// The policy is another one, and says the same.
    PolicyChange,
    /// The policy cannot be read.
    PolicyOutage,
    /// What would run is something else.
    SourceChange,
    /// What would run cannot be planned any more.
    PlanFails,
    /// The caller gives up.
    Cancel,
    /// The run ends.
    End,
    /// Five minutes go by.
    Expire,
}

/// What the policy says of a call that it does not deny.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opinion {
    None,
    Asks,
    Allows,
}

/// How somebody who is asked answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    Outage,
    Panic,
    /// The last decider goes, without an answer.
    Gone,
}

/// What one attempt does.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) outcome: Outcome,
    pub(crate) then: Option<Happening>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Answers,
    Fails,
    Panics,
    TimesOut,
    BadResponse,
    Cancelled,
    Gives(Box<RawOutput>),
    /// It panics with something that panics when it is dropped.
    Explodes,
    /// So much time goes by, and then it answers.
    Takes(Duration),
}

/// How a port fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Outage,
    Panic,
}

/// Where a result fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpoolStage {
    Begin,
    Write,
    Finish,
}

/// The world. All that can be set is set before or during the call.
pub(crate) struct Stage {
    pub(crate) now: Mutex<Duration>,
    /// Seconds by which the monotonic clock, the boot time clock and the wall clock are ahead of that.
    pub(crate) jumps: Mutex<[i64; 3]>,
    pub(crate) clock_panics: AtomicBool,
    random: AtomicUsize,
    pub(crate) entropy_fails_at: Mutex<Option<usize>>,
    pub(crate) policy: Mutex<Result<Ruling, Fault>>,
    pub(crate) opinion: Mutex<Opinion>,
    pub(crate) plans: Mutex<Result<Plan, RunError>>,
    pub(crate) planner_panics: AtomicBool,
    /// Rows and entries of the runner, in the order in which they came.
    pub(crate) log: Mutex<Vec<String>>,
    pub(crate) rows: Mutex<Vec<(&'static str, Vec<u8>, Durable)>>,
    appended: AtomicUsize,
    pub(crate) journal_fails_at: Mutex<Option<(usize, Fault)>>,
    begun: AtomicUsize,
    pub(crate) kept: Arc<Mutex<Vec<Vec<u8>>>>,
    pub(crate) spool_fails_at: Mutex<Option<(usize, SpoolStage, Fault)>>,
    pub(crate) steps: Mutex<VecDeque<Step>>,
    pub(crate) walls: Mutex<Vec<Duration>>,
    pub(crate) apply_fails: Mutex<Option<Fault>>,
    pub(crate) fallback_panics: AtomicBool,
    pub(crate) meanwhile: Mutex<Vec<Happening>>,
    pub(crate) answer: Mutex<Answer>,
    /// What is done in place of all that, if somebody is asked.
    #[expect(clippy::type_complexity, reason = "it is written down once")]
    pub(crate) on_show: Mutex<Option<Box<dyn Fn(&Stage, &Request<'_>) + Send>>>,
    pub(crate) asked: Mutex<Vec<ProposalId>>,
    pub(crate) closed: Mutex<Vec<State>>,
    pub(crate) decider: Mutex<Option<Decider>>,
    pub(crate) cancel: Cancel,
    gate: OnceLock<Weak<Gate>>,
}

pub(crate) struct World {
    pub(crate) gate: Arc<Gate>,
    pub(crate) stage: Arc<Stage>,
    pub(crate) ears: Ears,
}

/// Hears all events of all worlds that share it.
#[derive(Clone)]
pub(crate) struct Ears {
    pub(crate) listeners: Arc<Listeners>,
    pub(crate) heard: Arc<Mutex<Vec<Event>>>,
}

/// A tool, as far as tests differ in it.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) approval: Approval,
    pub(crate) retries: u32,
    pub(crate) has_fallback: bool,
    pub(crate) tier: Tier,
}

impl Tool {
    pub(crate) fn new(approval: Approval) -> Self {
        Self { approval, retries: 0, has_fallback: false, tier: Tier::Module }
    }

    pub(crate) fn spec(&self) -> ToolSpec {
        let input = br#"{"type":"object","properties":{"text":{"type":"string","maxLength":32}},"required":["text"],"additionalProperties":false}"#;
        let input = Json::parse(input, 1 << 16).unwrap();
        let skill = SkillName::parse("work-skill").unwrap();
        let is_host = self.tier == Tier::Module;
        ToolSpec::new(ToolDefinition {
            name: TOOL,
            description: "Works.",
            input: &input,
            effect: Effect::IdempotentWrite,
            retries: self.retries,
            timeout: Duration::from_secs(30),
            tier: self.tier,
            origin: if is_host { Origin::Host } else { Origin::Skill { source: "user".to_owned(), skill } },
            approval: Some(self.approval),
        })
        .unwrap()
    }

    fn offer(&self, stage: &Arc<Stage>) -> Offer {
        let planner = Plans(Arc::clone(stage));
        let offer = if self.approval == Approval::Policy {
            let stage = Arc::clone(stage);
            let callback = move |call: &Call, _: RunId| {
                assert!(
                    call.invocation().value().to_bytes().windows(9).any(|part| part == SECRET.as_bytes())
                );
                stage.happen_meanwhile();
                let answer = *stage.answer.lock().unwrap();
                match answer {
                    Answer::Yes => Ok(true),
                    Answer::No | Answer::Gone => Ok(false),
                    Answer::Outage => Err(outage()),
                    Answer::Panic => resume_unwind(Box::new(SECRET)),
                }
            };
            Offer::with_callback(self.spec(), planner, callback).unwrap()
        } else {
            Offer::new(self.spec(), planner).unwrap()
        };
        let stage = Arc::clone(stage);
        let fallback = move |_| {
            if stage.fallback_panics.load(Ordering::Acquire) {
                resume_unwind(Box::new(SECRET));
            }
            b"stand-in".to_vec()
        };
        if self.has_fallback { offer.with_fallback(fallback).unwrap() } else { offer }
    }
}

impl World {
    pub(crate) fn new(tool: &Tool) -> Self {
        Self::heard_by(tool, &Ears::new())
    }

    pub(crate) fn heard_by(tool: &Tool, ears: &Ears) -> Self {
        let stage = Arc::new(Stage {
            now: Mutex::new(Duration::from_secs(1_000)),
            jumps: Mutex::default(),
            clock_panics: AtomicBool::new(false),
            random: AtomicUsize::new(0),
            entropy_fails_at: Mutex::default(),
            policy: Mutex::new(Ok(ruling(1))),
            opinion: Mutex::new(Opinion::None),
            plans: Mutex::new(Ok(plan())),
            planner_panics: AtomicBool::new(false),
            log: Mutex::default(),
            rows: Mutex::default(),
            appended: AtomicUsize::new(0),
            journal_fails_at: Mutex::default(),
            begun: AtomicUsize::new(0),
            kept: Arc::default(),
            spool_fails_at: Mutex::default(),
            steps: Mutex::default(),
            walls: Mutex::default(),
            apply_fails: Mutex::default(),
            fallback_panics: AtomicBool::new(false),
            meanwhile: Mutex::default(),
            answer: Mutex::new(Answer::Yes),
            on_show: Mutex::default(),
            asked: Mutex::default(),
            closed: Mutex::default(),
            decider: Mutex::default(),
            cancel: Cancel::new(),
            gate: OnceLock::new(),
        });
        let builder = Gate::builder(
            AgentLabel::parse("cli").unwrap(),
            stage.clone(),
            stage.clone(),
            stage.clone(),
            stage.clone(),
            stage.clone(),
        );
        let builder = builder.approver(stage.clone()).listeners(Arc::clone(&ears.listeners));
        let gate = Arc::new(builder.build().unwrap());
        gate.offer(vec![tool.offer(&stage)]).unwrap();
        let _ = stage.gate.set(Arc::downgrade(&gate));
        *stage.decider.lock().unwrap() = Some(gate.decider());
        Self { gate, stage, ears: ears.clone() }
    }

    pub(crate) fn with_steps(self, steps: &[Step]) -> Self {
        self.stage.steps.lock().unwrap().extend(steps.iter().cloned());
        self
    }

    pub(crate) fn call(&self) -> Result<Completed, GateError> {
        self.gate.call(&raw_call(), &self.stage.cancel)
    }

    /// The events, in order.
    pub(crate) fn events(&self) -> Vec<Event> {
        self.ears.take()
    }

    /// Names of the events, with what tells them apart.
    pub(crate) fn told(&self) -> Vec<String> {
        self.events().iter().map(brief).collect()
    }

    pub(crate) fn entries(&self) -> usize {
        self.stage.log.lock().unwrap().iter().filter(|line| *line == ENTERED).count()
    }

    pub(crate) fn ledger(&self) -> Vec<State> {
        let decider = self.gate.decider();
        let asked = self.stage.asked.lock().unwrap().clone();
        asked.into_iter().filter_map(|id| decider.state(id)).collect()
    }
}

impl Ears {
    pub(crate) fn new() -> Self {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let mut listeners = Listeners::new();
        let sink = Arc::clone(&heard);
        assert!(listeners.add(move |event: &Event| sink.lock().unwrap().push(event.clone())));
        Self { listeners: Arc::new(listeners), heard }
    }

    pub(crate) fn take(&self) -> Vec<Event> {
        assert!(self.listeners.settle(Duration::from_mins(1)));
        assert_eq!(self.listeners.missed(), 0);
        std::mem::take(&mut *self.heard.lock().unwrap())
    }
}

/// `tool.failed 1 E_SKILL_TOOL_FAILED receipt`, for instance.
pub(crate) fn brief(event: &Event) -> String {
    use fumehood_core::EventKind as Kind;
    let name = event.kind().name();
    match event.kind() {
        Kind::ToolCompleted { attempt, fallback: true, .. } => format!("{name} {attempt} fallback"),
        Kind::ToolCalled { attempt } | Kind::ToolCompleted { attempt, .. } => format!("{name} {attempt}"),
        Kind::ToolFailed { attempt, code, receipt, .. } => {
            let receipt = if receipt.is_some() { " receipt" } else { "" };
            format!("{name} {attempt} {}{receipt}", code.as_str())
        }
        Kind::ApprovalDenied { denial, .. } => format!("{name} {}", denial.as_str()),
        _ => name.to_owned(),
    }
}

impl Stage {
    pub(crate) fn pass(&self, time: Duration) {
        *self.now.lock().unwrap() += time;
    }

    fn ahead(&self, seconds: i64) -> Duration {
        let (now, by) = (*self.now.lock().unwrap(), Duration::from_secs(seconds.unsigned_abs()));
        if seconds < 0 { now.saturating_sub(by) } else { now + by }
    }

    pub(crate) fn gate(&self) -> Arc<Gate> {
        self.gate.get().unwrap().upgrade().unwrap()
    }

    pub(crate) fn happen(&self, happening: Happening) {
        match happening {
            Happening::Withdraw => drop(self.gate().withdraw(&ToolName::parse(TOOL).unwrap())),
            Happening::Revoke => *self.policy.lock().unwrap() = Ok(Ruling { answer: denies(), ..ruling(2) }),
            Happening::Says(opinion) => self.say_of_calls(opinion),
            Happening::PolicyChange => {
                let answer = answer(*self.opinion.lock().unwrap());
                *self.policy.lock().unwrap() = Ok(Ruling { answer, ..ruling(3) });
            }
            Happening::PolicyOutage => *self.policy.lock().unwrap() = Err(Fault::Outage),
            Happening::SourceChange => {
                *self.plans.lock().unwrap() = Ok(Plan { profile: b"other".to_vec(), ..plan() });
            }
            Happening::PlanFails => {
                let error = RunError::of(Failure::Path, Tier::Module, "the path is gone");
                *self.plans.lock().unwrap() = Err(error);
            }
            Happening::Cancel => self.cancel.cancel(),
            Happening::End => self.gate().end(),
            Happening::Expire => self.pass(Duration::from_mins(5)),
        }
    }

    pub(crate) fn say_of_calls(&self, opinion: Opinion) {
        *self.opinion.lock().unwrap() = opinion;
        *self.policy.lock().unwrap() = Ok(Ruling { answer: answer(opinion), ..ruling(1) });
    }

    fn happen_meanwhile(&self) {
        let meanwhile = std::mem::take(&mut *self.meanwhile.lock().unwrap());
        for happening in meanwhile {
            self.happen(happening);
        }
    }

    pub(crate) fn decide(&self, id: ProposalId, decision: Decision) {
        if let Some(decider) = &*self.decider.lock().unwrap() {
            let _ = decider.decide(id, decision);
        }
    }
}

pub(crate) const YES: Decision = Decision::Approve(Surface::Terminal);

pub(crate) fn raw_call() -> RawCall {
    RawCall { tool: TOOL.to_owned(), arguments: format!(r#"{{"text":"{SECRET}"}}"#).into_bytes() }
}

pub(crate) fn ruling(version: u8) -> Ruling {
    Ruling { policy: Sha256::of(&[version]), answer: answer(Opinion::None) }
}

pub(crate) fn answer(opinion: Opinion) -> PolicyAnswer {
    let why = "the host says why".to_owned();
    match opinion {
        Opinion::None => PolicyAnswer::NoOpinion { why },
        Opinion::Asks => PolicyAnswer::Ask { why },
        Opinion::Allows => PolicyAnswer::Allow(Authority::rule("a rule")),
    }
}

pub(crate) fn denies() -> PolicyAnswer {
    PolicyAnswer::Deny { code: Code::PolicyDenied, why: "the host says why".to_owned() }
}

pub(crate) fn plan() -> Plan {
    Plan::in_process()
}

pub(crate) fn outage() -> Outage {
    // The worst code that it could come with: an outage is no denial all the same.
    Outage::new(Code::ToolDenied, "it does not work")
}

fn fail<T>(fault: Fault) -> Result<T, Outage> {
    match fault {
        Fault::Outage => Err(Outage::new(Code::StateUnavailable, "it does not work")),
        Fault::Panic => resume_unwind(Box::new(SECRET)),
    }
}

impl Clock for Stage {
    fn now(&self) -> Now {
        assert!(!self.clock_panics.load(Ordering::Acquire), "{SECRET}");
        let [monotonic, boot, _] = *self.jumps.lock().unwrap();
        Now { monotonic: self.ahead(monotonic), boot: self.ahead(boot) }
    }

    fn wall(&self) -> WallTime {
        let [_, _, wall] = *self.jumps.lock().unwrap();
        WallTime::from_unix_ms(0).after(self.ahead(wall))
    }
}

impl Entropy for Stage {
    fn bytes(&self) -> Result<[u8; 16], Outage> {
        let count = self.random.fetch_add(1, Ordering::AcqRel);
        if *self.entropy_fails_at.lock().unwrap() == Some(count) {
            return Err(outage());
        }
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&(count as u64).to_be_bytes());
        Ok(bytes)
    }
}

impl PolicySource for Stage {
    fn ruling(&self, facts: &Facts<'_>) -> Result<Ruling, Outage> {
        let ruling = self.policy.lock().unwrap().clone();
        let opinion = *self.opinion.lock().unwrap();
        let is_asked = match facts.tool.approval() {
            Approval::Auto => opinion == Opinion::Asks,
            Approval::Policy => true,
            Approval::Human => opinion != Opinion::Allows,
        };
        if !is_asked {
            // Nobody is asked, so this is the moment between the first look and the second.
            self.happen_meanwhile();
        }
        ruling.or_else(fail)
    }
}

impl Journal for Stage {
    fn append(&self, kind: &'static str, json: &[u8], when: Durable) -> Result<(), Outage> {
        let number = self.appended.fetch_add(1, Ordering::AcqRel);
        let fails = *self.journal_fails_at.lock().unwrap();
        if let Some((_, fault)) = fails.filter(|(at, _)| *at == number) {
            return fail(fault);
        }
        self.log.lock().unwrap().push(kind.to_owned());
        self.rows.lock().unwrap().push((kind, json.to_vec(), when));
        Ok(())
    }
}

struct Writes {
    bytes: Vec<u8>,
    fails: Option<(SpoolStage, Fault)>,
    kept: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Results for Stage {
    fn begin(&self, _: &AgentLabel, _: RunId) -> Result<Box<dyn Spool>, Outage> {
        let number = self.begun.fetch_add(1, Ordering::AcqRel);
        let fails = *self.spool_fails_at.lock().unwrap();
        let fails = fails.filter(|(at, ..)| *at == number).map(|(_, stage, fault)| (stage, fault));
        if let Some((SpoolStage::Begin, fault)) = fails {
            return fail(fault);
        }
        Ok(Box::new(Writes { bytes: Vec::new(), fails, kept: Arc::clone(&self.kept) }))
    }
}

impl Spool for Writes {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Outage> {
        if let Some((SpoolStage::Write, fault)) = self.fails {
            return fail(fault);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Kept, Outage> {
        if let Some((SpoolStage::Finish, fault)) = self.fails {
            return fail(fault);
        }
        let (bytes, mut kept) = (self.bytes.len() as u64, self.kept.lock().unwrap());
        kept.push(self.bytes);
        let number = (kept.len() as u128).to_be_bytes();
        Ok(Kept { id: ArtifactId::from_random(number), bytes, lines: 1 })
    }
}

impl Approver for Stage {
    fn show(&self, request: &Request<'_>) -> Result<(), Outage> {
        self.asked.lock().unwrap().push(request.id);
        let on_show = self.on_show.lock().unwrap();
        if let Some(on_show) = &*on_show {
            on_show(self, request);
            return Ok(());
        }
        drop(on_show);
        self.happen_meanwhile();
        let answer = *self.answer.lock().unwrap();
        match answer {
            Answer::Yes => self.decide(request.id, YES),
            Answer::No => self.decide(request.id, Decision::Deny),
            Answer::Outage => return Err(outage()),
            Answer::Panic => resume_unwind(Box::new(SECRET)),
            Answer::Gone => drop(self.decider.lock().unwrap().take()),
        }
        Ok(())
    }

    fn close(&self, _: ProposalId, state: State) {
        self.closed.lock().unwrap().push(state);
        // It is only told, so this is no matter of the call's.
        resume_unwind(Box::new(SECRET));
    }
}

pub(crate) struct Plans(pub(crate) Arc<Stage>);

struct Runs {
    stage: Arc<Stage>,
    plan: Plan,
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        resume_unwind(Box::new(SECRET));
    }
}

impl Planner for Plans {
    fn plan(&self, _: &Call) -> Result<Box<dyn Runner>, RunError> {
        if self.0.planner_panics.load(Ordering::Acquire) {
            std::panic::panic_any(Bomb);
        }
        let plan = self.0.plans.lock().unwrap().clone()?;
        Ok(Box::new(Runs { stage: Arc::clone(&self.0), plan }))
    }
}

impl Runner for Runs {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run(&mut self, attempt: Attempt<'_>) -> RawOutput {
        self.stage.log.lock().unwrap().push(ENTERED.to_owned());
        self.stage.walls.lock().unwrap().push(attempt.wall());
        let step = self.stage.steps.lock().unwrap().pop_front();
        let step = step.unwrap_or(Step { outcome: Outcome::Answers, then: None });
        if let Some(happening) = step.then {
            self.stage.happen(happening);
        }
        let failed = |failure| RawOutput::failed(RunError::of(failure, Tier::Module, "it went wrong"));
        match step.outcome {
            Outcome::Answers => RawOutput::answer(SECRET.into()),
            Outcome::Fails => failed(Failure::Execution),
            Outcome::Panics => resume_unwind(Box::new(SECRET)),
            Outcome::TimesOut => failed(Failure::Timeout),
            Outcome::BadResponse => failed(Failure::BadResponse),
            Outcome::Cancelled => failed(Failure::Cancelled),
            Outcome::Gives(raw) => *raw,
            Outcome::Explodes => resume_unwind(Box::new(Bomb)),
            Outcome::Takes(time) => {
                self.stage.pass(time);
                RawOutput::answer(SECRET.into())
            }
        }
    }

    fn apply(&mut self, _: Accepted<'_>) -> Result<Vec<Applied>, RunError> {
        self.stage.log.lock().unwrap().push("applied".to_owned());
        let fails = *self.stage.apply_fails.lock().unwrap();
        match fails {
            None => Ok(vec![Applied {
                path: "/home/a/file".to_owned(),
                change: Change::Created,
                bytes: 0,
                sha256: None,
            }]),
            Some(Fault::Outage) => {
                Err(RunError::new(Failure::Host, Code::WorkspaceFailed, "it changed meanwhile"))
            }
            Some(Fault::Panic) => resume_unwind(Box::new(SECRET)),
        }
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        // Whatever a runner does on its way out, a call that ended has ended.
        if !std::thread::panicking() {
            resume_unwind(Box::new(SECRET));
        }
    }
}

pub(crate) const ENTERED: &str = "entered";
