//! What the gate needs of the world, as this host has it.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fumehood_core::{AgentLabel, Code, Coded as _, Now, RunId, WallTime};
use fumehood_gate::ports::{Clock, Durable, Entropy, Journal, Kept, Outage, Results, Spool};
use fumehood_store::{ArtifactError, Artifacts, Flush, Journal as Rows, JournalError};
use rustix::time::{ClockId, clock_gettime};

/// The clocks of the operating system.
pub(super) struct SystemClock;

/// Its generator for secrets.
pub(super) struct SystemEntropy;

/// The journal in the state folder.
pub(super) struct StateJournal(pub(super) Arc<Rows>);

/// The artifacts in the state folder.
pub(super) struct StateResults(pub(super) Artifacts);

impl Clock for SystemClock {
    fn now(&self) -> Now {
        let read = |clock| {
            let time = clock_gettime(clock);
            let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
            Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
        };
        Now { monotonic: read(ClockId::Monotonic), boot: read(ClockId::Boottime) }
    }

    fn wall(&self) -> WallTime {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        WallTime::from_unix_ms(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Entropy for SystemEntropy {
    fn bytes(&self) -> Result<[u8; 16], Outage> {
        let mut bytes = [0; 16];
        let filled = getrandom::fill(&mut bytes);
        filled.map_err(|error| {
            Outage::new(Code::StateUnavailable, format!("there is no randomness to be had: {error}"))
        })?;
        Ok(bytes)
    }
}

impl Journal for StateJournal {
    fn append(&self, kind: &'static str, json: &[u8], when: Durable) -> Result<(), Outage> {
        let flush = match when {
            Durable::Now => Flush::Now,
            Durable::Soon => Flush::Soon,
        };
        let outage = |error: JournalError| Outage::new(error.code(), format!("the journal: {error}"));
        let json = std::str::from_utf8(json);
        let json = json.map_err(|_| Outage::new(Code::Internal, "a row for the journal is no text"))?;
        self.0.append(kind, json, SystemTime::now(), flush).map(|_| ()).map_err(outage)
    }
}

impl Results for StateResults {
    fn begin(&self, agent: &AgentLabel, run: RunId) -> Result<Box<dyn Spool>, Outage> {
        let spool = self.0.create(agent.as_str(), &run.to_string(), SystemTime::now());
        Ok(Box::new(StateSpool(spool.map_err(|error| outage(&error))?)))
    }
}

struct StateSpool(fumehood_store::Spool);

impl Spool for StateSpool {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Outage> {
        self.0.write(bytes).map_err(|error| outage(&error))
    }

    fn finish(self: Box<Self>) -> Result<Kept, Outage> {
        let info = self.0.finish().map_err(|error| outage(&error))?;
        Ok(Kept { id: info.id, bytes: info.bytes, lines: info.lines })
    }
}

fn outage(error: &ArtifactError) -> Outage {
    Outage::new(error.code(), error.to_string())
}
