//! Everything of the host that a run needs, opened for one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use fumehood_core::Json;
use fumehood_gate::{Completed, GateError, Plan, ports};
use fumehood_runners::script::Workshop;
use fumehood_sandbox::Sandbox;
use fumehood_store::{
    ApprovedText, Artifacts, ChangeLimits, Flush, Forbidden, ForbiddenKind, Home, Journal, Outcome, Pins,
    Recovered, Settings, Source, SourceKind, Staging, Transactions,
};

use super::Captured;
use super::interpreters::HostInterpreters;
use crate::fault::Fault;
use crate::host::Host;
use crate::host::doctor::refusal;
use crate::host::past::{ADDED, CHANGED, REMOVED, SkillId, past, remember};
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
    approved: ApprovedText,
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
        let (sandbox, approved) = (Arc::new(sandbox), ApprovedText::of(home));
        Ok(Bench { journal, artifacts, staging, transactions, sandbox, approved })
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
            forbidden: self.forbidden(home, &settings, skill.path.as_deref()),
            unlocked: settings.unlocked.iter().cloned().collect(),
            interpreters: Box::new(HostInterpreters::new(settings, Pins::open(home), Arc::clone(&sandbox))),
            sandbox,
            changes: ChangeLimits::default(),
        })
    }

    /// Places that no script is given, whatever skill it is of, and none of the skill in this folder: what would let it change
    /// who it is or what it may do.
    pub(in crate::host) fn forbidden(
        &self,
        home: &Home,
        settings: &Settings,
        skill: Option<&Path>,
    ) -> Forbidden {
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
        for path in sources.map(PathBuf::as_path).chain(skill) {
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
        let journal = Arc::clone(&self.journal);
        let (id, snapshot) = (SkillId::of(skill), skill.snapshot.clone());
        let kept = self.approved.clone();
        Arc::new(move |plan: &Plan| {
            let revision = plan.skill.as_ref().map(|skill| skill.revision.revision().to_string());
            let (Some(past), Some(revision)) = (past(&journal, &id), revision) else {
                return History::First;
            };
            let approved_unix_ms = past.approved_unix_ms;
            if past.revision == revision {
                return History::Same { approved_unix_ms };
            }
            let files = past.since(&kept, &snapshot);
            let count = |what| files.iter().filter(|file| file.change == what).count();
            let (added, changed, removed) = (count(ADDED), count(CHANGED), count(REMOVED));
            History::Changed { revision: past.revision, approved_unix_ms, added, changed, removed, files }
        })
    }

    /// Keeps which revision was approved, and its text: only to tell the next time what changed.
    pub(in crate::host) fn remember(&self, skill: &Captured, ended: &Result<Completed, GateError>) {
        if !matches!(ended, Err(error) if error.ran.is_none()) {
            remember(&self.journal, &self.approved, &SkillId::of(skill), &skill.snapshot);
        }
    }
}

const ROW_RECOVERED: &str = "transaction.recovered";
const MEND: &str = "mend that and try again; nothing ran";
