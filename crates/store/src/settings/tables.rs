//! The tables of the file, and how they become settings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fumehood_core::containment::Level;
use fumehood_core::envelope::{EnvelopeError, EnvelopeParts, ResourceLimits, Roots};
use fumehood_core::shown::is_hidden;
use fumehood_core::{Envelope, Shown};
use serde::Deserialize;

use super::interpreters::INTERPRETERS_MAX;
use super::overlay::{OVERLAYS_MAX, Overlay, OverlayTable};
use super::{
    Environment, InterpreterSetting, Places, RESERVED_LABELS, Safety, Settings, SourceSetting, check_label,
};
use crate::artifact::Artifacts;
use crate::config_file::place;
use crate::passphrase::PassphraseHash;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    sources: Vec<SourceTable>,
    envelope: Option<EnvelopeTable>,
    #[serde(default)]
    interpreters: BTreeMap<String, InterpreterTable>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    #[serde(default)]
    approve: ApproveTable,
    #[serde(default)]
    approver: ApproverTable,
    #[serde(default)]
    scripts: ScriptsTable,
    #[serde(default)]
    execute: ExecuteTable,
    #[serde(default)]
    artifacts: ArtifactsTable,
    #[serde(default)]
    workspace: WorkspaceTable,
    #[serde(default)]
    overlay: Vec<OverlayTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceTable {
    name: String,
    path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvelopeTable {
    // Required, also where they are empty, so that somebody has thought about each (EXE-40).
    read_roots: Vec<String>,
    write_roots: Vec<String>,
    interpreter_read_paths: Vec<String>,
    timeout_seconds_default: Option<u64>,
    timeout_seconds_max: Option<u64>,
    output_bytes_max: Option<u64>,
    memory_bytes_per_process: Option<u64>,
    processes: Option<u64>,
    cpu_seconds: Option<u64>,
    file_bytes: Option<u64>,
    open_files: Option<u64>,
    temporary_bytes: Option<u64>,
    temporary_files: Option<u64>,
    memory_bytes_total: Option<u64>,
    level_floor: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InterpreterTable {
    path: String,
    arguments: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApproveTable {
    #[serde(default)]
    revision_flag: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApproverTable {
    passphrase: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptsTable {
    fail_on_nonzero_exit: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExecuteTable {
    checked: Option<bool>,
    safety: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArtifactsTable {
    artifact_store_bytes_max: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkspaceTable {
    #[serde(default)]
    unlocked: Vec<String>,
}

/// Reads the text of a file. The message of an error names the key.
pub(super) fn read(text: &str, places: Places<'_>) -> Result<Settings, String> {
    let file: File =
        toml::from_str(text).map_err(|error| Shown::block(error.to_string().trim_end()).to_string())?;
    let defaults = Settings::default();
    Ok(Settings {
        sources: sources(file.sources, places)?,
        envelope: match file.envelope {
            Some(table) => envelope(&table, places)?,
            None => defaults.envelope,
        },
        interpreters: interpreters(file.interpreters)?,
        environment: Environment::over_defaults(file.environment)?,
        approve_by_revision_flag: file.approve.revision_flag,
        passphrase: passphrase(file.approver.passphrase.as_deref())?,
        fail_on_nonzero_exit: file.scripts.fail_on_nonzero_exit.unwrap_or(defaults.fail_on_nonzero_exit),
        execute_checked: file.execute.checked.unwrap_or(defaults.execute_checked),
        safety: safety(file.execute.safety.as_deref())?,
        artifact_store_bytes_max: artifact_store(file.artifacts.artifact_store_bytes_max)?,
        unlocked: unlocked(file.workspace.unlocked)?,
        overlays: overlays(file.overlay)?,
    })
}

/// The text is not repeated in the message: it is what a guess can be compared with.
fn passphrase(text: Option<&str>) -> Result<Option<PassphraseHash>, String> {
    let read = text.map(PassphraseHash::parse).transpose();
    read.map_err(|reason| format!("approver.passphrase {reason}; `fumehood passphrase set` makes one"))
}

fn safety(name: Option<&str>) -> Result<Safety, String> {
    let Some(name) = name else { return Ok(Safety::default()) };
    let found = Safety::ALL.into_iter().find(|(known, _)| *known == name);
    found
        .map(|(_, safety)| safety)
        .ok_or_else(|| "execute.safety must be safe, mostly_safe or bypass".to_owned())
}

fn sources(tables: Vec<SourceTable>, places: Places<'_>) -> Result<Vec<SourceSetting>, String> {
    if tables.len() > SOURCES_MAX {
        return Err(format!("more than {SOURCES_MAX} sources"));
    }
    let mut sources: Vec<SourceSetting> = Vec::new();
    for SourceTable { name, path } in tables {
        check_label(&name)?;
        if RESERVED_LABELS.contains(&name.as_str()) {
            return Err(format!("the source name {name} is fumehood's own"));
        }
        if sources.iter().any(|source| source.name == name) {
            return Err(format!("two sources are called {name}"));
        }
        if path.is_empty() {
            return Err("a source has an empty path".to_owned());
        }
        let path = places.below_home(&path)?.unwrap_or_else(|| places.config.join(&path));
        sources.push(SourceSetting { name, path });
    }
    Ok(sources)
}

fn envelope(table: &EnvelopeTable, places: Places<'_>) -> Result<Envelope, String> {
    let defaults = Envelope::of_a_person();
    let defaults = defaults.parts();
    let limits = defaults.limits;
    let timeout_seconds_max = table.timeout_seconds_max.unwrap_or(defaults.timeout_seconds_max);
    let parts = EnvelopeParts {
        read_roots: roots("read_roots", &table.read_roots, places)?,
        write_roots: roots("write_roots", &table.write_roots, places)?,
        interpreter_read_paths: roots("interpreter_read_paths", &table.interpreter_read_paths, places)?,
        // Where only the maximum is given, a default of ours is not above it.
        timeout_seconds_default: table
            .timeout_seconds_default
            .unwrap_or(defaults.timeout_seconds_default.min(timeout_seconds_max)),
        timeout_seconds_max,
        output_bytes_max: table.output_bytes_max.unwrap_or(defaults.output_bytes_max),
        limits: ResourceLimits {
            memory_bytes_per_process: table
                .memory_bytes_per_process
                .unwrap_or(limits.memory_bytes_per_process),
            processes: table.processes.unwrap_or(limits.processes),
            cpu_seconds: table.cpu_seconds.unwrap_or(limits.cpu_seconds),
            file_bytes: table.file_bytes.unwrap_or(limits.file_bytes),
            open_files: table.open_files.unwrap_or(limits.open_files),
            temporary_bytes: table.temporary_bytes.unwrap_or(limits.temporary_bytes),
            temporary_files: table.temporary_files.unwrap_or(limits.temporary_files),
        },
        memory_bytes_total: table.memory_bytes_total,
        level_floor: table.level_floor.as_deref().map_or(Ok(defaults.level_floor), level)?,
    };
    let ours_is_zero = table.timeout_seconds_default.is_none() && timeout_seconds_max == 0;
    Envelope::new(parts).map_err(|error| match error {
        // The key that the deployer wrote, not the one that follows from it.
        EnvelopeError::Range(bound) if ours_is_zero && bound.key == "timeout_seconds_default" => {
            let bound = fumehood_core::envelope::Bound { key: "timeout_seconds_max", ..bound };
            EnvelopeError::Range(bound).to_string()
        }
        error => error.to_string(),
    })
}

fn level(text: &str) -> Result<Level, String> {
    let levels = [Level::None, Level::Kernel, Level::Namespaces, Level::Full];
    let level = levels.into_iter().find(|level| level.as_str() == text);
    level.ok_or_else(|| "envelope.level_floor must be full, namespaces or kernel".to_owned())
}

fn roots(key: &str, texts: &[String], places: Places<'_>) -> Result<Roots, String> {
    let roots = texts.iter().map(|text| {
        let shown = Shown::inline(text);
        let refused = |reason: &str| format!("envelope.{key}: \"{shown}\" {reason}");
        let below = places.below_home(text)?;
        let written = below.as_deref().map_or(Some(text.as_str()), Path::to_str);
        let written = written.ok_or_else(|| refused("is no text"))?;
        place(written).map_err(|reason| refused(&reason))
    });
    Ok(Roots::Within(roots.collect::<Result<_, _>>()?))
}

fn interpreters(tables: BTreeMap<String, InterpreterTable>) -> Result<Vec<InterpreterSetting>, String> {
    if tables.len() > INTERPRETERS_MAX {
        return Err(format!("more than {INTERPRETERS_MAX} interpreters"));
    }
    let settings = tables.into_iter();
    settings.map(|(key, table)| InterpreterSetting::new(&key, &table.path, table.arguments)).collect()
}

fn artifact_store(bytes_max: Option<u64>) -> Result<u64, String> {
    let bytes_max = bytes_max.unwrap_or(Artifacts::BYTES_MAX_DEFAULT);
    if (ARTIFACT_STORE_BYTES_MIN..=ARTIFACT_STORE_BYTES_MAX).contains(&bytes_max) {
        return Ok(bytes_max);
    }
    Err(format!(
        "artifacts.artifact_store_bytes_max must be a whole number from {ARTIFACT_STORE_BYTES_MIN} to {ARTIFACT_STORE_BYTES_MAX}"
    ))
}

/// Names of files and folders that begin with a dot. What else they are is for whoever applies a run's changes.
fn unlocked(names: Vec<String>) -> Result<BTreeSet<String>, String> {
    if names.len() > UNLOCKED_MAX {
        return Err(format!("workspace.unlocked has more than {UNLOCKED_MAX} names"));
    }
    let mut unlocked = BTreeSet::new();
    for name in names {
        let refused =
            |reason: &str| Err(format!("workspace.unlocked: \"{}\" {reason}", Shown::inline(&name)));
        match name.as_str() {
            "." | ".." => return refused("is no name of a file"),
            name if !name.starts_with('.') => {
                return refused("begins with no dot; such names are not protected");
            }
            name if name.len() > NAME_BYTES_MAX => return refused("is longer than 255 bytes"),
            name if name.contains('/') || name.chars().any(is_hidden) => {
                return refused("is not one name of visible characters");
            }
            // Git runs programs that stand in there; folders are case-blind on some systems.
            name if name.eq_ignore_ascii_case(".git") => return refused("cannot be unlocked"),
            _ => {}
        }
        if unlocked.contains(&name) {
            return refused("is listed twice");
        }
        unlocked.insert(name);
    }
    Ok(unlocked)
}

fn overlays(tables: Vec<OverlayTable>) -> Result<Vec<Overlay>, String> {
    if tables.len() > OVERLAYS_MAX {
        return Err(format!("more than {OVERLAYS_MAX} overlays"));
    }
    let mut overlays: Vec<Overlay> = Vec::new();
    let mut seen = BTreeSet::new();
    for table in tables {
        let overlay = table.read()?;
        if !seen.insert((overlay.source().to_owned(), overlay.skill().clone())) {
            return Err(format!("two overlays are for {}:{}", overlay.source(), overlay.skill()));
        }
        overlays.push(overlay);
    }
    Ok(overlays)
}

pub(super) const SOURCES_MAX: usize = 64;
pub(super) const UNLOCKED_MAX: usize = 64;
const NAME_BYTES_MAX: usize = 255;
/// Room for one result of both streams at their ceiling.
pub(super) const ARTIFACT_STORE_BYTES_MIN: u64 = 128 << 20;
pub(super) const ARTIFACT_STORE_BYTES_MAX: u64 = 1 << 50;
