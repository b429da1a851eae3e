//! What the gate adds to a call of a function of the host's own process that does nothing.
//!
//! Calls by several ways take turns, so that whatever else the machine does falls on all of them. The fullest has a schema,
//! one listener, a policy, a callback that approves, a thread that can be given up, and a receipt in a journal that only
//! queues. The plain call takes the same text, reads it as JSON and calls the same function. Nothing here passes or fails.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot make its gate has nothing to say")]

use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use fumehood_core::binding::BindingParts;
use fumehood_core::schema::VALIDATOR_VERSION;
use fumehood_core::tool::{Approval, Effect, Origin, Tier, ToolDefinition};
use fumehood_core::{
    AgentLabel, ArtifactId, Binding, Call, Event, Json, Now, RawCall, RunId, Sha256, ToolSpec, WallTime,
};
use fumehood_gate::ports::{
    Answer, Clock, Durable, Entropy, Facts, Journal, Kept, Outage, PolicySource, Results, Ruling, Spool,
};
use fumehood_gate::{Attempt, Cancel, Gate, Listeners, Offer, Plan, Planner, RawOutput, RunError, Runner};
use fumehood_runners::module::{Context, Module, ToolFailed};

fn main() {
    let rounds = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(100_000);
    let raw = RawCall { tool: "nothing".to_owned(), arguments: ARGUMENTS.to_vec() };
    let cancel = Cancel::new();
    let full = gate(Approval::Policy, true, Module::new(nothing));
    let quiet = gate(Approval::Policy, false, Module::new(nothing));
    let inline = gate(Approval::Policy, true, Inline);
    let bare = gate(Approval::Auto, false, Inline);
    let gated = |gate: &Gate| {
        let _ = black_box(gate.call(&raw, &cancel).unwrap());
    };
    let call = Call::of_tool(&spec(Approval::Auto), ARGUMENTS).unwrap();
    let mut ways: [(&str, Way<'_>); 5] = [
        ("a plain call, its text read as JSON", Box::new(|| plain(&raw))),
        ("through the gate", Box::new(|| gated(&full))),
        ("the same, and nobody listens", Box::new(|| gated(&quiet))),
        ("the same, on the caller's thread", Box::new(|| gated(&inline))),
        ("the same, nobody listens, nobody is asked", Box::new(|| gated(&bare))),
    ];
    let mut times: [Vec<Duration>; 5] = Default::default();
    for round in 0..rounds + rounds / 10 {
        for ((_, way), times) in ways.iter_mut().zip(&mut times) {
            let time = timed(way);
            // The first tenth warms up.
            if round >= rounds / 10 {
                times.push(time);
            }
        }
    }
    println!("{rounds} calls each, in turns; microseconds: median, 99th percentile");
    for ((name, _), times) in ways.iter().zip(times) {
        println!("{name}: {}", summary(times));
    }
    println!("steps by themselves:");
    let spec = spec(Approval::Auto);
    let module = Module::new(nothing);
    step(rounds, "reading and checking the arguments", || drop(black_box(Call::of_tool(&spec, ARGUMENTS))));
    step(rounds, "planning, which is done twice", || drop(black_box(module.plan(&call))));
    step(rounds, "the binding, which is made twice", || {
        black_box(binding(&call));
    });
}

type Way<'a> = Box<dyn FnMut() + 'a>;

fn step(rounds: usize, name: &str, mut work: impl FnMut()) {
    let times = (0..rounds).map(|_| timed(&mut work)).collect();
    println!("{name}: {}", summary(times));
}

fn timed(work: &mut dyn FnMut()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn summary(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let micros = |at: usize| times[at].as_secs_f64() * 1e6;
    format!("{:.2}, {:.2}", micros(times.len() / 2), micros(times.len() * 99 / 100))
}

#[expect(clippy::unnecessary_wraps, reason = "it is a tool")]
fn nothing(_: &Context, arguments: &Json) -> Result<Vec<u8>, ToolFailed> {
    Ok(answer(arguments))
}

fn answer(arguments: &Json) -> Vec<u8> {
    vec![u8::from(arguments.as_object().is_some())]
}

fn plain(raw: &RawCall) {
    let arguments = Json::parse(black_box(&raw.arguments), 1 << 16).unwrap();
    black_box(answer(&arguments));
}

fn spec(approval: Approval) -> ToolSpec {
    ToolSpec::new(ToolDefinition {
        name: "nothing",
        description: "Does nothing.",
        input: &Json::parse(SCHEMA, 1 << 16).unwrap(),
        effect: Effect::ReadOnly,
        retries: 0,
        timeout: Duration::from_mins(1),
        tier: Tier::Module,
        origin: Origin::Host,
        approval: Some(approval),
    })
    .unwrap()
}

fn binding(call: &Call) -> Binding {
    let plan = Plan::in_process();
    Binding::of(&BindingParts {
        agent: &AgentLabel::parse("bench").unwrap(),
        run: RunId::from_random([1; 16]),
        tool: call.tool(),
        workspace: None,
        revision: None,
        overlay: None,
        invocation: call.invocation().bytes(),
        validator_version: VALIDATOR_VERSION,
        interpreter: None,
        profile: &plan.profile,
        policy: Sha256::of(b"policy"),
    })
}

fn gate(approval: Approval, has_listener: bool, planner: impl Planner + 'static) -> Gate {
    let rows = Arc::<Mutex<Vec<Vec<u8>>>>::default();
    let policy = Sha256::of(b"policy");
    let ports = Arc::new(Ports { started: Instant::now(), rows: Arc::clone(&rows), policy });
    // Nobody waits for this thread, and no row wakes it.
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_millis(5));
            drop(std::mem::take(&mut *rows.lock().unwrap()));
        }
    });
    let mut listeners = Listeners::new();
    if has_listener {
        assert!(listeners.add(|event: &Event| {
            black_box(event.kind());
        }));
    }
    let agent = AgentLabel::parse("bench").unwrap();
    let builder = Gate::builder(agent, ports.clone(), ports.clone(), ports.clone(), ports.clone(), ports);
    let gate = builder.listeners(Arc::new(listeners)).build().unwrap();
    let offer = match approval {
        Approval::Policy => {
            Offer::with_callback(spec(approval), planner, |call, _| Ok(call.tool().as_str() == "nothing"))
        }
        _ => Offer::new(spec(approval), planner),
    };
    gate.offer(vec![offer.unwrap()]).unwrap();
    gate
}

/// Runs the function on the caller's thread, which no tool of tier 1 does: nobody could stop waiting for it.
struct Inline;

struct InlineRun(Plan);

impl Planner for Inline {
    fn plan(&self, _: &Call) -> Result<Box<dyn Runner>, RunError> {
        Ok(Box::new(InlineRun(Plan::in_process())))
    }
}

impl Runner for InlineRun {
    fn plan(&self) -> &Plan {
        &self.0
    }

    fn run(&mut self, attempt: Attempt<'_>) -> RawOutput {
        RawOutput::answer(answer(attempt.call().invocation().value()))
    }
}

struct Ports {
    started: Instant,
    rows: Arc<Mutex<Vec<Vec<u8>>>>,
    policy: Sha256,
}

impl Clock for Ports {
    fn now(&self) -> Now {
        // Two readings, as of two clocks.
        Now { monotonic: self.started.elapsed(), boot: self.started.elapsed() }
    }

    fn wall(&self) -> WallTime {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        WallTime::from_unix_ms(0).after(since.unwrap_or_default())
    }
}

impl Entropy for Ports {
    fn bytes(&self) -> Result<[u8; 16], Outage> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).unwrap();
        Ok(bytes)
    }
}

impl PolicySource for Ports {
    fn ruling(&self, _: &Facts<'_>) -> Result<Ruling, Outage> {
        Ok(Ruling { policy: self.policy, answer: Answer::NoOpinion { why: String::new() } })
    }
}

impl Journal for Ports {
    fn append(&self, _: &'static str, json: &[u8], _: Durable) -> Result<(), Outage> {
        self.rows.lock().unwrap().push(json.to_vec());
        Ok(())
    }
}

struct Kepts(Vec<u8>);

impl Results for Ports {
    fn begin(&self, _: &AgentLabel, _: RunId) -> Result<Box<dyn Spool>, Outage> {
        Ok(Box::new(Kepts(Vec::new())))
    }
}

impl Spool for Kepts {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Outage> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Kept, Outage> {
        let mut id = [0; 16];
        getrandom::fill(&mut id).unwrap();
        Ok(Kept { id: ArtifactId::from_random(id), bytes: self.0.len() as u64, lines: 1 })
    }
}

const ARGUMENTS: &[u8] = br#"{"text":"one two three","count":3,"deep":{"flag":true}}"#;

const SCHEMA: &[u8] =
    br#"{"type":"object","additionalProperties":false,"required":["text","count"],"properties":{
"text":{"type":"string","minLength":1,"maxLength":64},"count":{"type":"integer","minimum":0,"maximum":10},
"deep":{"type":"object","additionalProperties":false,"properties":{"flag":{"type":"boolean"}}}}}"#;
