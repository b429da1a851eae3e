//! `policy mode` and `policy edit`: changes to `policy.toml` that a person sees whole before they count.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use fumehood_core::policy::Mode;
use fumehood_core::{Code, Coded as _, Json, Sha256};
use fumehood_store::{
    Flush, Home, Journal, PolicyDraft, PolicyFile, PolicyWriteError, PolicyWriter, TrustScopes,
};

use super::Host;
use super::diff::line_changes;
use super::policy_file::{error_out, played};
use super::vouch::Vouched;
use crate::fault::Fault;
use crate::report::{
    LineChange, PolicyCheckReport, PolicyErrorOut, PolicySavedReport, PolicyTestReport, SCHEMA_VERSION,
};

/// What would become of `policy.toml`, or why nothing would.
#[derive(Clone, Debug)]
pub enum PolicyChange {
    /// Nothing: it says that already.
    Nothing(PolicySavedReport),
    /// The draft is no policy; this is where and why. The file is as it was.
    Malformed(PolicyErrorOut),
    /// Something, if the person says yes.
    Ask(Box<PolicyPreview>),
}

/// A change to `policy.toml` as a person sees it before it counts.
#[derive(Clone, Debug)]
pub struct PolicyPreview {
    /// The mode that is in force now.
    pub mode_before: &'static str,
    /// What would be in force, and what may not have been meant.
    pub check: PolicyCheckReport,
    /// What would come of the cases.
    pub test: PolicyTestReport,
    /// The lines that differ; `None` if that is too much to compare.
    pub lines: Option<Vec<LineChange>>,
    /// Trust scopes with a receipt: they count in mode trusted, and only there.
    pub trusted_scopes: usize,
    old: Option<String>,
    new: String,
}

/// An edit that is under way: a draft, and the text that it was copied from.
#[derive(Debug)]
pub struct PolicyEdit {
    draft: PolicyDraft,
    old: Option<String>,
    /// What the draft was at first.
    first: String,
}

impl PolicyEdit {
    /// The file that an editor opens.
    pub fn path(&self) -> &Path {
        self.draft.path()
    }

    /// A fault that ends the edit. A draft that the person changed stays, and the advice says where; any other is removed.
    pub fn given_up(self, fault: Fault) -> Fault {
        if self.draft.read().is_ok_and(|text| text == self.first) {
            self.draft.remove();
            return fault;
        }
        let kept = format!("{}; your draft is kept at {}", fault.advice, self.path().display());
        Fault { advice: kept, ..fault }
    }

    /// Ends an edit whose text is saved, or never was another one.
    pub fn remove(self) {
        self.draft.remove();
    }
}

impl Host {
    /// What a change of the mode alone would make of `policy.toml`. Changes nothing.
    ///
    /// # Errors
    /// `E_POLICY_INVALID` for a file that cannot be read as written, `E_POLICY_UNEDITABLE`, `E_POLICY_WRITABLE`,
    /// `E_HOME_REFUSED`, `E_CONFIG_INVALID`.
    pub fn preview_policy_mode(&self, mode: Mode) -> Result<PolicyChange, Fault> {
        let (home, path) = self.policy_place()?;
        let old = PolicyFile::text(&home).map_err(|error| Fault::of(&error, MEND))?;
        let new = PolicyFile::with_mode(old.as_deref().unwrap_or_default(), mode, &path);
        let new = new.map_err(|error| {
            let advice = match error.code() {
                Code::PolicyInvalid => "mend it with `fumehood policy edit`; until then nothing runs",
                _ => "change it with `fumehood policy edit`",
            };
            Fault::of(&error, advice)
        })?;
        self.policy_change(&home, old, new)
    }

    /// Begins an edit of `policy.toml`, malformed or not: copies it to a draft, or a few words about it where there is none.
    ///
    /// # Errors
    /// Those of [`Host::preview_policy_mode`] but for what is malformed; `E_STATE_UNAVAILABLE`.
    pub fn begin_policy_edit(&self) -> Result<PolicyEdit, Fault> {
        let (home, _) = self.policy_place()?;
        let old = PolicyFile::text(&home).map_err(|error| Fault::of(&error, MEND))?;
        let first = old.clone().unwrap_or_else(|| NEW.to_owned());
        let draft = PolicyDraft::make(&home, &first, SystemTime::now()).map_err(|error| fault(&error))?;
        Ok(PolicyEdit { draft, old, first })
    }

    /// What the editor left, and what it would make of `policy.toml`.
    ///
    /// # Errors
    /// Those of [`Host::preview_policy_mode`].
    pub fn preview_policy_edit(&self, edit: &PolicyEdit) -> Result<PolicyChange, Fault> {
        let (home, _) = self.policy_place()?;
        let new = match edit.draft.read() {
            Ok(new) => new,
            Err(error) => return Ok(PolicyChange::Malformed(error_out(&error))),
        };
        if new == edit.first {
            return Ok(PolicyChange::Nothing(self.unchanged(&home)));
        }
        let read = PolicyFile::of_text(&new, edit.path());
        if let Some(error) = read.error() {
            return Ok(PolicyChange::Malformed(error_out(error)));
        }
        self.policy_change(&home, edit.old.clone(), new)
    }

    /// Writes what the person saw and said yes to, if the file is still what it was.
    ///
    /// # Errors
    /// `E_POLICY_CHANGED`, `E_POLICY_WRITABLE`, `E_POLICY_UNEDITABLE`, `E_HOME_REFUSED`, `E_STATE_UNAVAILABLE`, `E_JOURNAL_*`.
    /// The file is then as it was.
    ///
    /// # Authority
    /// For whoever asked the person, at a terminal: this says what runs from now on (CHK-044).
    pub fn save_policy(&self, preview: &PolicyPreview, _: Vouched) -> Result<PolicySavedReport, Fault> {
        let home = self.home()?;
        let settings = self.settings(&home)?;
        let roots = &settings.envelope.parts().write_roots;
        let PolicyPreview { old, new, check, .. } = preview;
        let writer = PolicyWriter::begin(&home, roots, old.as_deref()).map_err(|error| fault(&error))?;
        record(&home, old.as_deref(), new, check)?;
        writer.write(new).map_err(|error| fault(&error))?;
        Ok(saved(check, true, old.as_deref(), Some(new)))
    }

    /// Where the file is, if it may be written there.
    fn policy_place(&self) -> Result<(Home, PathBuf), Fault> {
        let home = self.home()?;
        let settings = self.settings(&home)?;
        let usable = PolicyWriter::refuse_writable(&home, &settings.envelope.parts().write_roots);
        usable.map_err(|error| fault(&error))?;
        let path = home.config.join(PolicyFile::NAME);
        Ok((home, path))
    }

    fn policy_change(&self, home: &Home, old: Option<String>, new: String) -> Result<PolicyChange, Fault> {
        if old.as_deref().unwrap_or_default() == new {
            return Ok(PolicyChange::Nothing(self.unchanged(home)));
        }
        let file = PolicyFile::of_text(&new, &home.config.join(PolicyFile::NAME));
        let check = self.checked_policy(home, &self.settings(home)?, &file);
        let deadline = Instant::now() + COMPARE_TIME_MAX;
        let before = old.as_deref().unwrap_or_default();
        let scopes = TrustScopes::read(home).unwrap_or_default();
        Ok(PolicyChange::Ask(Box::new(PolicyPreview {
            mode_before: PolicyFile::read(home).policy.mode().as_str(),
            check,
            test: played(&file),
            lines: line_changes(before.as_bytes(), new.as_bytes(), deadline, LINES_MAX),
            trusted_scopes: scopes.as_slice().iter().filter(|scope| scope.receipt().is_some()).count(),
            old,
            new,
        })))
    }

    fn unchanged(&self, home: &Home) -> PolicySavedReport {
        let text = PolicyFile::text(home).ok().flatten();
        let file = PolicyFile::read(home);
        let check = self.checked_policy(home, &fumehood_store::Settings::default(), &file);
        saved(&check, false, text.as_deref(), text.as_deref())
    }
}

fn saved(
    check: &PolicyCheckReport,
    changed: bool,
    old: Option<&str>,
    new: Option<&str>,
) -> PolicySavedReport {
    PolicySavedReport {
        schema_version: SCHEMA_VERSION,
        path: check.path.clone(),
        changed,
        mode: check.mode,
        rules: check.rules,
        cases: check.cases,
        file_sha256_before: old.map(digest),
        file_sha256: new.map(digest),
    }
}

fn digest(text: &str) -> String {
    Sha256::of(text.as_bytes()).to_string()
}

/// Written before the file changes: a change that is on record and did not happen is told from one that happened unrecorded.
fn record(home: &Home, old: Option<&str>, new: &str, check: &PolicyCheckReport) -> Result<(), Fault> {
    let row = BTreeMap::from([
        ("old".to_owned(), old.map_or(Json::Null, |old| Json::String(digest(old)))),
        ("new".to_owned(), Json::String(digest(new))),
        ("policy".to_owned(), Json::String(check.sha256.clone())),
        ("mode".to_owned(), Json::String(check.mode.to_owned())),
    ]);
    let json = String::from_utf8_lossy(&Json::Object(row).to_bytes()).into_owned();
    let journal = Journal::open(home).map_err(|error| Fault::of(&error, MEND))?;
    let written = journal.append(ROW_SAVED, &json, SystemTime::now(), Flush::Now);
    written.map(|_| ()).map_err(|error| Fault::of(&error, MEND))
}

fn fault(error: &PolicyWriteError) -> Fault {
    let advice = match error.code() {
        Code::PolicyChanged => "nothing was written; look at what is there now and change it again",
        Code::PolicyWritable => "narrow write_roots under [envelope] in fumehood.toml; nothing was written",
        _ => MEND,
    };
    Fault::of(error, advice)
}

const ROW_SAVED: &str = "policy.saved";
const MEND: &str = "mend that and try again; nothing was changed";
const COMPARE_TIME_MAX: Duration = Duration::from_secs(3);
const LINES_MAX: usize = 20_000;
/// What somebody sees who has no policy yet.
const NEW: &str = "# What is decided before anybody asks; `fumehood policy check` says what is in force.\n\
                   # mode = \"ask\"\n";
