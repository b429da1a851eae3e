//! Everything of the host that a run needs, opened for one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use fumehood_core::{Json, Sha256, SkillName};
use fumehood_gate::{Completed, GateError, Plan, ports};
use fumehood_runners::script::Workshop;
use fumehood_sandbox::Sandbox;
use fumehood_store::{
    Artifacts, ChangeLimits, Flush, Forbidden, ForbiddenKind, Home, Journal, Outcome, Pins, Recovered,
    Settings, Snapshot, Source, SourceKind, Staging, Transactions,
};

use super::Captured;
use super::interpreters::HostInterpreters;
use crate::fault::Fault;
use crate::host::Host;
use crate::host::doctor::refusal;
use crate::host::ports::{StateJournal, StateResults};
use crate::host::question::Record;
use crate::report::History;

/// A host that is ready to run something: its state opened, its sandbox started.
pub(in crate::host) struct Bench {
    journal: Arc<Journal>,
    artifacts: Artifacts,
    staging: Staging,
    transactions: Transactions,
    sandbox: Arc<Sandbox>,
}

impl Host {
    /// Opens the state, sweeps what a crash left, and starts the sandbox.
    pub(in crate::host) fn bench(&self, home: &Home, settings: &Settings) -> Result<Bench, Fault> {
        let journal = Journal::open(home).map_err(|error| Fault::of(&error, MEND))?;
        let artifacts = Artifacts::open(home, settings.artifact_store_bytes_max);
        let artifacts = artifacts.map_err(|error| Fault::of(&error, MEND))?;
        let staging = Staging::open(home).map_err(|error| Fault::of(&error, MEND))?;
        let transactions = Transactions::open(home).map_err(|error| Fault::of(&error, MEND))?;
        let journal = Arc::new(journal);
        recover(&transactions, &journal)?;
        let sandbox = self.sandbox().map_err(|error| {
            let refusal = refusal(&error);
            let message = format!("nothing runs without a sandbox, and there is none: {}", refusal.message);
            Fault::new(fumehood_core::Code::SandboxUnavailable, message, refusal.remedy)
        })?;
        Ok(Bench { journal, artifacts, staging, transactions, sandbox: Arc::new(sandbox) })
    }

    /// What the scripts of a skill are run with, as the settings are now.
    pub(in crate::host) fn workshop(
        &self,
        bench: &Bench,
        home: &Home,
        settings: Settings,
        skill: &Captured,
    ) -> Arc<Workshop> {
        let sandbox = Arc::clone(&bench.sandbox);
        Arc::new(Workshop {
            staging: bench.staging.clone(),
            transactions: bench.transactions.clone(),
            envelope: settings.envelope.clone(),
            environment: {
                let variable = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
                settings.environment.iter().map(variable).collect()
            },
            forbidden: self.forbidden(home, &settings, skill),
            unlocked: settings.unlocked.iter().cloned().collect(),
            interpreters: Box::new(HostInterpreters::new(settings, Pins::open(home), Arc::clone(&sandbox))),
            sandbox,
            changes: ChangeLimits::default(),
        })
    }

    /// Places that no script is given: what would let it change who it is or what it may do.
    pub(in crate::host) fn forbidden(&self, home: &Home, settings: &Settings, skill: &Captured) -> Forbidden {
        let mut forbidden = Forbidden::of(home);
        if let Some(person) = &self.surroundings.home {
            forbidden = forbidden.with(ForbiddenKind::Home, person);
        }
        let sources = Source::conventional(settings, &self.surroundings, |_| true);
        // A source that nobody can make by way of a run keeps no project from being a workspace.
        let counts = |source: &&Source| {
            !matches!(source.kind, SourceKind::Memory(_)) && !source.is_out_of_reach(&settings.unlocked)
        };
        let sources = self.sources.iter().chain(&sources).filter(counts).map(|source| &source.path);
        for path in sources.chain(&skill.path) {
            forbidden = forbidden.with(ForbiddenKind::Source, path);
        }
        for interpreter in &settings.interpreters {
            let path: &Path = interpreter.path.as_str().as_ref();
            forbidden = forbidden.with(ForbiddenKind::Interpreter, prefix(path));
            // One of a virtual environment is a link to the one that has the libraries.
            if let Ok(real) = path.canonicalize() {
                forbidden = forbidden.with(ForbiddenKind::Interpreter, prefix(&real));
            }
        }
        // What interpreters read they execute, for other skills too.
        for path in settings.envelope.parts().interpreter_read_paths.listed().unwrap_or_default() {
            forbidden = forbidden.with(ForbiddenKind::Interpreter, path.as_str().as_ref());
        }
        if let Ok(program) = std::env::current_exe() {
            forbidden = forbidden.with(ForbiddenKind::Program, &program);
        }
        forbidden
    }
}

/// What an interpreter and its libraries are in: the folder above `bin`, or the one that it is in.
fn prefix(interpreter: &Path) -> &Path {
    let folder = interpreter.parent().unwrap_or(interpreter);
    if folder.ends_with("bin") { folder.parent().unwrap_or(folder) } else { folder }
}

/// What a host that was killed left half done is done or undone, and is on record.
fn recover(transactions: &Transactions, journal: &Journal) -> Result<(), Fault> {
    let recovered = transactions.recover().map_err(|error| Fault::of(&error, MEND))?;
    for transaction in recovered {
        let row = recovered_row(&transaction);
        let written = journal.append(ROW_RECOVERED, &row, SystemTime::now(), Flush::Now);
        written.map_err(|error| Fault::of(&error, MEND))?;
        // It is told of again at the next start, which does no harm.
        let _ = transaction.acknowledge();
    }
    Ok(())
}

/// What became of a transaction that a killed host left, under the id of its receipt.
fn recovered_row(transaction: &Recovered) -> String {
    let text = |text: &str| Json::String(text.to_owned());
    let list = |paths: &mut dyn Iterator<Item = &str>| Json::Array(paths.map(text).collect());
    let (outcome, paths) = match &transaction.outcome {
        Outcome::Applied(applied) => ("applied", list(&mut applied.iter().map(|one| one.path.as_str()))),
        Outcome::Undone(left) => ("undone", list(&mut left.iter().map(|one| one.path.as_str()))),
        Outcome::Unreachable { path } => ("unreachable", list(&mut [path.as_str()].into_iter())),
        Outcome::OtherVersion => ("other_version", Json::Array(Vec::new())),
        _ => ("failed", Json::Array(Vec::new())),
    };
    let id = transaction.receipt.map_or(Json::Null, |receipt| text(&receipt.to_string()));
    let row = [("id", id), ("outcome", text(outcome)), ("paths", paths)];
    let row = Json::Object(row.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
    String::from_utf8_lossy(&row.to_bytes()).into_owned()
}

impl Bench {
    pub(super) fn journal(&self) -> Arc<dyn ports::Journal> {
        Arc::new(StateJournal(Arc::clone(&self.journal)))
    }

    pub(super) fn results(&self) -> Arc<dyn ports::Results> {
        Arc::new(StateResults(self.artifacts.clone()))
    }

    /// What is on record of a skill, read when somebody is asked.
    pub(in crate::host) fn history(&self, skill: &Captured) -> Record {
        let (journal, source, name) = (Arc::clone(&self.journal), skill.source.clone(), skill.name.clone());
        let files = digests(&skill.snapshot);
        Arc::new(move |plan: &Plan| {
            let revision = plan.skill.as_ref().map(|skill| skill.revision.revision().to_string());
            let (Some(Past { revision: old, files: old_files, approved_unix_ms }), Some(revision)) =
                (past(&journal, &source, &name), revision)
            else {
                return History::First;
            };
            if old == revision {
                return History::Same { approved_unix_ms };
            }
            let added = files.keys().filter(|path| !old_files.contains_key(*path)).count();
            let removed = old_files.keys().filter(|path| !files.contains_key(*path)).count();
            let differs =
                |(path, sha256): (&String, &String)| old_files.get(path).is_some_and(|old| old != sha256);
            let changed = files.iter().filter(|entry| differs(*entry)).count();
            History::Changed { revision: old, approved_unix_ms, added, changed, removed }
        })
    }

    /// Keeps which revision was approved, if it is another than the last: only to tell the next time what changed.
    pub(in crate::host) fn remember(&self, skill: &Captured, ended: &Result<Completed, GateError>) {
        if matches!(ended, Err(error) if error.ran.is_none()) {
            return;
        }
        let (id, revision) = (row_id(&skill.source, &skill.name), skill.snapshot.revision().to_string());
        if past(&self.journal, &skill.source, &skill.name).is_some_and(|past| past.revision == revision) {
            return;
        }
        let files = digests(&skill.snapshot).into_iter().map(|(path, sha256)| (path, Json::String(sha256)));
        let row = [
            ("id", Json::String(id)),
            ("revision", Json::String(revision)),
            ("files", Json::Object(files.collect())),
        ];
        let row = Json::Object(row.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
        let text = String::from_utf8_lossy(&row.to_bytes()).into_owned();
        // Without it the next question says less; the run is on record all the same.
        let _ = self.journal.append(ROW_APPROVED, &text, SystemTime::now(), Flush::Soon);
    }
}

/// A revision as it was written down when a person said yes to it.
pub(in crate::host) struct Past {
    pub(in crate::host) revision: String,
    pub(in crate::host) approved_unix_ms: u64,
    /// The digest of each file.
    pub(in crate::host) files: BTreeMap<String, String>,
}

/// The revision of a skill that was approved last, if one is on record.
pub(in crate::host) fn past(journal: &Journal, source: &str, name: &SkillName) -> Option<Past> {
    let last = journal.by_id(&row_id(source, name), 1).ok()?.pop()?;
    let past = Past::read(&last.json)?;
    Some(Past { approved_unix_ms: u64::try_from(last.time_ms).unwrap_or(0), ..past })
}

/// One for each skill of each source: a hash, since a path may be the name of a skill.
fn row_id(source: &str, name: &SkillName) -> String {
    let mut frame = fumehood_core::Frame::new("approved", 1);
    frame.part(source.as_bytes());
    frame.part(name.as_str().as_bytes());
    format!("approved_{}", frame.sha256())
}

/// The digest of each file.
pub(in crate::host) fn digests(snapshot: &Snapshot) -> BTreeMap<String, String> {
    let digest = |sha256: Sha256| sha256.to_string();
    snapshot.files().map(|(path, file)| (path.as_str().to_owned(), digest(file.sha256()))).collect()
}

impl Past {
    /// The revision and the files of a row that names them.
    pub(in crate::host) fn read(json: &str) -> Option<Self> {
        let json = Json::parse(json.as_bytes(), Journal::JSON_BYTES_MAX).ok()?;
        let fields = json.as_object()?;
        let revision = fields.get("revision")?.as_str()?.to_owned();
        let files = fields.get("files")?.as_object()?;
        let text = |(path, sha256): (&String, &Json)| Some((path.clone(), sha256.as_str()?.to_owned()));
        let files = files.iter().map(text).collect::<Option<_>>()?;
        Some(Self { revision, approved_unix_ms: 0, files })
    }
}

const ROW_APPROVED: &str = "revision.approved";
const ROW_RECOVERED: &str = "transaction.recovered";
const MEND: &str = "mend that and try again; nothing ran";
