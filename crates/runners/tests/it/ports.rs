//! A gate in memory, with nobody to ask.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use fumehood_core::{AgentLabel, ArtifactId, Now, RunId, Sha256, WallTime};
use fumehood_gate::Gate;
use fumehood_gate::ports::{
    Answer, Clock, Durable, Entropy, Facts, Journal, Kept, Outage, PolicySource, Results, Ruling, Spool,
};

/// What the gate needs, and what it wrote down.
pub(crate) struct Ports {
    started: Instant,
    random: AtomicU64,
    pub(crate) rows: Mutex<Vec<Vec<u8>>>,
}

pub(crate) fn gate() -> (Gate, Arc<Ports>) {
    let ports =
        Arc::new(Ports { started: Instant::now(), random: AtomicU64::new(0), rows: Mutex::default() });
    let agent = AgentLabel::parse("cli").unwrap();
    let builder =
        Gate::builder(agent, ports.clone(), ports.clone(), ports.clone(), ports.clone(), ports.clone());
    (builder.build().unwrap(), ports)
}

impl Clock for Ports {
    fn now(&self) -> Now {
        let now = self.started.elapsed();
        Now { monotonic: now, boot: now }
    }

    fn wall(&self) -> WallTime {
        WallTime::from_unix_ms(0).after(self.started.elapsed())
    }
}

impl Entropy for Ports {
    fn bytes(&self) -> Result<[u8; 16], Outage> {
        Ok(u128::from(self.random.fetch_add(1, Ordering::Relaxed)).to_be_bytes())
    }
}

impl PolicySource for Ports {
    fn ruling(&self, _: &Facts<'_>) -> Result<Ruling, Outage> {
        Ok(Ruling { policy: Sha256::of(b""), answer: Answer::NoOpinion { why: String::new() } })
    }
}

impl Journal for Ports {
    fn append(&self, _: &'static str, json: &[u8], _: Durable) -> Result<(), Outage> {
        self.rows.lock().unwrap().push(json.to_vec());
        Ok(())
    }
}

struct Counts(u64);

impl Results for Ports {
    fn begin(&self, _: &AgentLabel, _: RunId) -> Result<Box<dyn Spool>, Outage> {
        Ok(Box::new(Counts(0)))
    }
}

impl Spool for Counts {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Outage> {
        self.0 += bytes.len() as u64;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Kept, Outage> {
        Ok(Kept { id: ArtifactId::from_random([1; 16]), bytes: self.0, lines: 1 })
    }
}
