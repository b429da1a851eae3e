//! A process that holds requests for approval: a gate with one tool, whose calls do not wait, and a desk that is served.

use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fumehood::host::{Cancel, Desk, DeskSocket, OpenRequest, Requests};
use fumehood::report::{AxisAsked, History, InterpreterAsked, Question, SkillAsked};
use fumehood::{Fault, Host, HostOptions};
use fumehood_core::consent::State;
use fumehood_core::tool::{Approval, Effect, Origin, Tier, ToolDefinition};
use fumehood_core::{
    AgentLabel, ArtifactId, Call, Code, Json, Now, ProposalId, RawCall, RunId, Sha256, ToolSpec, WallTime,
};
use fumehood_gate::ports::{
    Answer, Clock, Durable, Entropy, Facts, Journal, Kept, Outage, PolicySource, Results, Ruling, Spool,
};
use fumehood_gate::{Attempt, Gate, Offer, Plan, Planner, RawOutput, Request, RunError, Runner};
use fumehood_testkit::World;

/// What the author of the skill and the caller write.
pub(super) const DESCRIPTION: &str = "Its author \u{1b}[2J says.";

/// The world of one gate.
#[derive(Default)]
struct Stage {
    passed: AtomicU64,
    random: AtomicUsize,
    entered: AtomicUsize,
    rows: Mutex<Vec<(&'static str, String)>>,
}

/// One process that holds requests. Dropped, it is as one that ended well.
pub(super) struct Stand {
    pub(super) gate: Gate,
    pub(super) requests: Arc<Requests>,
    stage: Arc<Stage>,
    _socket: DeskSocket,
}

pub(super) fn host(world: &World) -> Host {
    host_at(&world.path(""))
}

fn host_at(root: &Path) -> Host {
    Host::new(HostOptions { home: Some(root.join("home")), ..HostOptions::isolated(root.join("project")) })
}

impl Stand {
    pub(super) fn new(world: &World, agent: &str) -> Self {
        Self::at(&world.path(""), agent)
    }

    /// In the world that is at this place.
    pub(super) fn at(root: &Path, agent: &str) -> Self {
        let host = host_at(root);
        let requests = Arc::new(host.requests(|request| Some(question(request))).unwrap());
        let stage = Arc::new(Stage::default());
        let agent = AgentLabel::parse(agent).unwrap();
        let builder =
            Gate::builder(agent, stage.clone(), stage.clone(), stage.clone(), stage.clone(), stage.clone());
        let gate = builder.approver(requests.clone()).build().unwrap();
        gate.offer(vec![Offer::new(spec(), Plans(Arc::clone(&stage))).unwrap()]).unwrap();
        requests.answer_for(gate.decider());
        let socket = host.serve_desk(requests.clone()).unwrap();
        Self { gate, requests, stage, _socket: socket }
    }

    /// What becomes of a call: whether it ran, or the code and the request that it left.
    pub(super) fn call(&self, text: &str) -> Result<(), (Code, Option<ProposalId>)> {
        let arguments = format!(r#"{{"text":"{text}"}}"#).into_bytes();
        let raw = RawCall { tool: "work".to_owned(), arguments };
        let ended = self.gate.call_without_waiting(&raw, &Cancel::new());
        ended.map(|_| ()).map_err(|error| (error.code, error.pending))
    }

    /// The request that a call leaves open.
    pub(super) fn asks(&self, text: &str) -> String {
        let (code, pending) = self.call(text).unwrap_err();
        assert_eq!(code, Code::ConsentPending);
        pending.unwrap().to_string()
    }

    pub(super) fn state(&self, id: &str) -> Option<State> {
        self.requests.state(ProposalId::parse(id).unwrap())
    }

    /// Lets time go by.
    pub(super) fn pass(&self, time: Duration) {
        self.stage.passed.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::AcqRel);
    }

    /// How often the tool ran.
    pub(super) fn entered(&self) -> usize {
        self.stage.entered.load(Ordering::Acquire)
    }

    /// The rows of the journal about answers.
    pub(super) fn decisions(&self) -> Vec<serde_json::Value> {
        let rows = self.stage.rows.lock().unwrap();
        let decisions = rows.iter().filter(|(kind, _)| *kind == "decision");
        decisions.map(|(_, json)| serde_json::from_str(json).unwrap()).collect()
    }
}

/// The request of this id or beginning, which has to be open.
pub(super) fn open(world: &World, id: &str) -> OpenRequest {
    host(world).open_request(id).unwrap()
}

/// Why there is none.
pub(super) fn not_open(world: &World, id: &str) -> Fault {
    host(world).open_request(id).unwrap_err()
}

fn spec() -> ToolSpec {
    let input = br#"{"type":"object","properties":{"text":{"type":"string","maxLength":32}},"required":["text"],"additionalProperties":false}"#;
    ToolSpec::new(ToolDefinition {
        name: "work",
        description: DESCRIPTION,
        input: &Json::parse(input, 1 << 16).unwrap(),
        effect: Effect::Other,
        retries: 0,
        timeout: Duration::from_secs(30),
        tier: Tier::Module,
        origin: Origin::Host,
        approval: Some(Approval::Human),
    })
    .unwrap()
}

/// A question as one about a script would be.
fn question(request: &Request<'_>) -> Question {
    let arguments = String::from_utf8_lossy(request.call.invocation().bytes()).into_owned();
    let id = request.id.to_string();
    Question { arguments, ..question_of(&id, request.agent.as_str(), request.created.unix_ms()) }
}

pub(super) fn question_of(id: &str, agent: &str, created_unix_ms: u64) -> Question {
    let axis = AxisAsked { name: "reads".into(), enforced: "enforced".into(), mechanism: "m".into() };
    Question {
        schema_version: 1,
        id: id.to_owned(),
        agent: agent.to_owned(),
        run: RunId::from_random([7; 16]).to_string(),
        tool: "work".to_owned(),
        description: DESCRIPTION.to_owned(),
        skill: SkillAsked {
            source: "user".to_owned(),
            name: "worker".to_owned(),
            revision: "ab".repeat(32),
            overlay: None,
            history: History::Changed {
                revision: "cd".repeat(32),
                approved_unix_ms: 1,
                added: 1,
                changed: 2,
                removed: 3,
                files: Vec::new(),
            },
        },
        file: "scripts/\u{202e}go.sh".to_owned(),
        declared: true,
        arguments: r#"{"text":"a"}"#.to_owned(),
        argv: vec!["/bin/sh".to_owned(), "/skill/scripts/go.sh".to_owned()],
        argument_notes: Vec::new(),
        directory: "/skill".to_owned(),
        interpreter: InterpreterAsked { path: "/bin/sh".into(), version: None, sha256: "ef".repeat(32) },
        environment: Vec::new(),
        files: Vec::new(),
        limits: Vec::new(),
        level: "full".to_owned(),
        level_floor: "full".to_owned(),
        axes: vec![axis],
        why: "no rule matches".to_owned(),
        unsafe_controls: Vec::new(),
        state_folder: None,
        created_unix_ms,
        expires_unix_ms: created_unix_ms + 300_000,
    }
}

pub(super) fn now_unix_ms() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

impl Clock for Stage {
    fn now(&self) -> Now {
        let now = Duration::from_millis(1_000_000 + self.passed.load(Ordering::Acquire));
        Now { monotonic: now, boot: now }
    }

    fn wall(&self) -> WallTime {
        WallTime::from_unix_ms(now_unix_ms())
    }
}

impl Entropy for Stage {
    fn bytes(&self) -> Result<[u8; 16], Outage> {
        // Two processes make no id twice, and neither do two requests of one.
        let count = self.random.fetch_add(1, Ordering::AcqRel);
        let text = format!("{count} {:p} {} {}", self, std::process::id(), now_unix_ms());
        Ok(Sha256::of(text.as_bytes()).as_bytes()[..16].try_into().unwrap())
    }
}

impl PolicySource for Stage {
    fn ruling(&self, _: &Facts<'_>) -> Result<Ruling, Outage> {
        Ok(Ruling { policy: Sha256::of(b"policy"), answer: Answer::NoOpinion { why: "why".to_owned() } })
    }
}

impl Journal for Stage {
    fn append(&self, kind: &'static str, json: &[u8], _: Durable) -> Result<(), Outage> {
        self.rows.lock().unwrap().push((kind, String::from_utf8(json.to_vec()).unwrap()));
        Ok(())
    }
}

impl Results for Stage {
    fn begin(&self, _: &AgentLabel, _: RunId) -> Result<Box<dyn Spool>, Outage> {
        Ok(Box::new(Nowhere(0)))
    }
}

/// Counts what is kept.
struct Nowhere(u64);

impl Spool for Nowhere {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Outage> {
        self.0 += bytes.len() as u64;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Kept, Outage> {
        Ok(Kept { id: ArtifactId::from_random([1; 16]), bytes: self.0, lines: 1 })
    }
}

struct Plans(Arc<Stage>);

struct Runs(Arc<Stage>, Plan);

impl Planner for Plans {
    fn plan(&self, _: &Call) -> Result<Box<dyn Runner>, RunError> {
        Ok(Box::new(Runs(Arc::clone(&self.0), Plan::in_process())))
    }
}

impl Runner for Runs {
    fn plan(&self) -> &Plan {
        &self.1
    }

    fn run(&mut self, _: Attempt<'_>) -> RawOutput {
        self.0.entered.fetch_add(1, Ordering::AcqRel);
        RawOutput::answer(b"done".to_vec())
    }
}
