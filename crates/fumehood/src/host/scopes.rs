//! `trust`: exact revisions for which a person waives the question, saved, listed and revoked.

mod preview;
mod program;

use std::collections::BTreeMap;
use std::time::SystemTime;

use fumehood_core::policy::Mode;
use fumehood_core::trust_scope::ScopeDraft;
use fumehood_core::{Code, Coded as _, Json, Revision, Scopes, Shown, TrustScope};
use fumehood_store::{
    ApprovedText, Catalog, Flush, Home, Journal, PolicyFile, TrustScopes, TrustScopesError,
};

use super::Host;
use super::past::{Past, SkillId, digests, remember};
use super::vouch::Vouched;
use crate::fault::Fault;
use crate::report::{SCHEMA_VERSION, ScopeListReport, ScopeOut, ScopeReport};

pub use preview::{PastFiles, ScopePreview, TrustRequest};
pub use program::TrustedProgram;

impl Host {
    /// Saves what the person saw and said yes to, if it is still the same. In mode trusted it gets a receipt.
    ///
    /// # Errors
    /// Those of [`Host::preview_scope`]; `E_CONSENT_STALE` if something changed since; `E_TRUST_SCOPES_FULL`,
    /// `E_TRUST_SCOPES_*`, `E_JOURNAL_*`. Then nothing is saved.
    ///
    /// # Authority
    /// For whoever asked the person, at a terminal: this is what waives the question from now on (CHK-038, CHK-044).
    pub fn save_scope(&self, preview: &ScopePreview, _: Vouched) -> Result<ScopeReport, Fault> {
        let now = self.preview_scope(&preview.request)?;
        let shown = |it: &ScopePreview| (it.draft.clone(), it.mode, it.drafts.clone(), it.program.clone());
        if shown(&now) != shown(preview) {
            let message = "what would be trusted is not what was shown any more";
            return Err(Fault::new(Code::ConsentStale, message, "look at it again"));
        }
        let home = self.home()?;
        let skill = self.captured(&preview.request.skill, &preview.request.roots)?;
        if skill.snapshot.revision() != preview.draft.parts().revision {
            let message = "the skill changed just now";
            return Err(Fault::new(Code::ConsentStale, message, "look at it again"));
        }
        let mode = PolicyFile::read(&home).policy.mode();
        let files = digests(&skill.snapshot).into_iter().map(|(path, sha256)| (path, Json::String(sha256)));
        record(&home, ROW_SAVED, &preview.draft, mode, Some(Json::Object(files.collect())))?;
        if let Ok(Some(journal)) = Journal::open_if_any(&home) {
            remember(&journal, &ApprovedText::of(&home), &SkillId::of(&skill), &skill.snapshot);
        }
        let draft = preview.draft.clone();
        let scopes = TrustScopes::open(&home).map_err(|error| fault(&error))?;
        let saved = scopes.save(mode, SystemTime::now(), |mut drafts| {
            // What was a draft keeps its place, and gets its receipt now.
            if !drafts.contains(&draft) {
                drafts.push(draft);
            }
            drafts
        });
        let saved = saved.map_err(|error| fault(&error))?;
        let scope = saved.as_slice().iter().find(|scope| *scope.draft() == preview.draft);
        let scope = scope
            .ok_or_else(|| Fault::new(Code::Internal, "the scope was not saved", "please report this"))?;
        Ok(self.reported(scope, mode, true))
    }

    /// Every scope, in the order of saving, and which of them are stale: their skill has another revision by now.
    ///
    /// # Errors
    /// `E_TRUST_SCOPES_*`, and those of [`Host::list`].
    pub fn scopes(&self) -> Result<ScopeListReport, Fault> {
        let home = self.home()?;
        let scopes = TrustScopes::read(&home).map_err(|error| fault(&error))?;
        let mode = PolicyFile::read(&home).policy.mode();
        let mut listed = self.looked_at(&home, &scopes, |_| true)?;
        for scope in &mut listed {
            scope.counts = scope.receipt.is_some() && mode == Mode::Trusted;
        }
        let unavailable = self.unavailable();
        Ok(ScopeListReport {
            schema_version: SCHEMA_VERSION,
            mode: mode.as_str(),
            scopes: listed,
            unavailable,
        })
    }

    /// One scope, by the id that the list shows, its beginning, or the id of its receipt.
    ///
    /// # Errors
    /// `E_ID_INVALID` if no scope or more than one is called so; those of [`Host::scopes`].
    pub fn scope(&self, id: &str) -> Result<ScopeReport, Fault> {
        let home = self.home()?;
        let scopes = TrustScopes::read(&home).map_err(|error| fault(&error))?;
        let mode = PolicyFile::read(&home).policy.mode();
        let scope = find(&scopes, id)?;
        let listed = self.looked_at(&home, &scopes, |other| other.draft() == scope.draft())?;
        let mut one = self.reported(scope, mode, false);
        if let Some(looked_at) = listed.into_iter().next() {
            one.scope = ScopeOut { counts: one.scope.counts, ..looked_at };
        }
        Ok(one)
    }

    /// Revokes a scope, for every process from now on. What runs already is not stopped by it (CHK-049).
    ///
    /// # Errors
    /// As [`Host::scope`].
    pub fn remove_scope(&self, id: &str) -> Result<ScopeReport, Fault> {
        let home = self.home()?;
        let mode = PolicyFile::read(&home).policy.mode();
        let scopes = TrustScopes::read(&home).map_err(|error| fault(&error))?;
        let gone = find(&scopes, id)?;
        record(&home, ROW_REMOVED, gone.draft(), mode, None)?;
        let store = TrustScopes::open(&home).map_err(|error| fault(&error))?;
        // Whoever takes one away approves none of the drafts: in this mode no receipt is made, and those that are there stay.
        let saved = store.save(Mode::Ask, SystemTime::now(), |mut drafts| {
            drafts.retain(|draft| draft != gone.draft());
            drafts
        });
        saved.map_err(|error| fault(&error))?;
        let mut answer = self.reported(gone, mode, true);
        answer.scope.counts = false;
        Ok(answer)
    }

    fn reported(&self, scope: &TrustScope, mode: Mode, changed: bool) -> ScopeReport {
        let mut out = ScopeOut::of(scope, scope_id(scope.draft()));
        out.counts = scope.receipt().is_some() && mode == Mode::Trusted;
        ScopeReport {
            schema_version: SCHEMA_VERSION,
            mode: mode.as_str(),
            changed,
            scope: out,
            unavailable: self.unavailable(),
        }
    }

    fn looked_at(
        &self,
        home: &Home,
        scopes: &Scopes,
        wanted: impl Fn(&TrustScope) -> bool,
    ) -> Result<Vec<ScopeOut>, Fault> {
        let wanted: Vec<_> = scopes.as_slice().iter().filter(|scope| wanted(scope)).collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let catalog = self.catalog(&[], &mut |_| {})?;
        let journal = Journal::open_if_any(home).map_err(|error| Fault::of(&error, MEND))?;
        let look = |scope: &TrustScope| {
            let mut out = ScopeOut::of(scope, scope_id(scope.draft()));
            let Some((revision, files)) = current(&catalog, scope) else { return out };
            let is_stale = revision != scope.draft().parts().revision;
            out.stale = Some(is_stale);
            out.current_revision = Some(revision.to_string());
            let then = journal.as_ref().filter(|_| is_stale).and_then(|journal| saved_files(journal, scope));
            out.files_changed = then.map(|then| differing(&then, &files));
            out
        };
        Ok(wanted.into_iter().map(look).collect())
    }
}

/// Revokes all scopes: what they were trusted with is not what runs them from now on. A scope does not say which interpreter
/// its script has, so none is left out.
pub(super) fn revoke_all(home: &Home) -> Result<(), Fault> {
    let scopes = TrustScopes::read(home).map_err(|error| fault(&error))?;
    if scopes.as_slice().is_empty() {
        return Ok(());
    }
    let mode = PolicyFile::read(home).policy.mode();
    for scope in scopes.as_slice() {
        record(home, ROW_REMOVED, scope.draft(), mode, None)?;
    }
    let store = TrustScopes::open(home).map_err(|error| fault(&error))?;
    let saved = store.save(Mode::Ask, SystemTime::now(), |_| Vec::new());
    saved.map(|_| ()).map_err(|error| fault(&error))
}

/// The id of a scope for people: another one if anything of it differs.
pub(super) fn scope_id(draft: &ScopeDraft) -> String {
    let digest = draft.sha256().to_string();
    format!("{PREFIX}{}", &digest[..ID_DIGITS])
}

fn find<'s>(scopes: &'s Scopes, id: &str) -> Result<&'s TrustScope, Fault> {
    let is_meant = |scope: &&TrustScope| {
        let of_receipt = scope.receipt().is_some_and(|receipt| receipt.id.to_string() == id);
        of_receipt || (id.len() > PREFIX.len() && scope_id(scope.draft()).starts_with(id))
    };
    let mut found = scopes.as_slice().iter().filter(is_meant);
    match (found.next(), found.next()) {
        (Some(scope), None) => Ok(scope),
        (first, _) => {
            let how_many = if first.is_some() { "more than one" } else { "no" };
            let message = format!("{how_many} trust scope is called {}", Shown::inline(id));
            Err(Fault::new(Code::IdInvalid, message, "`fumehood trust list` lists them"))
        }
    }
}

/// What the skill of a scope is now, where one of its source and name can be found.
fn current(catalog: &Catalog, scope: &TrustScope) -> Option<(Revision, BTreeMap<String, String>)> {
    let parts = scope.draft().parts();
    let entry = catalog.find(&format!("{}:{}", parts.source, parts.id)).ok()?;
    let snapshot = entry.open().ok()?.capture().ok()?;
    Some((snapshot.revision(), digests(&snapshot)))
}

/// The files of the revision that was trusted, as they were written down when it was.
fn saved_files(journal: &Journal, scope: &TrustScope) -> Option<BTreeMap<String, String>> {
    let rows = journal.by_id(&scope_id(scope.draft()), ROWS_MAX).ok()?;
    rows.iter()
        .filter(|row| row.kind == ROW_SAVED)
        .find_map(|row| Past::read(&row.json))
        .map(|past| past.files)
}

fn differing(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> usize {
    let changed = new.iter().filter(|(path, sha256)| old.get(*path) != Some(*sha256)).count();
    changed + old.keys().filter(|path| !new.contains_key(*path)).count()
}

/// Written before the scopes change: a change that is on record and did not happen is told from one that happened unrecorded.
fn record(
    home: &Home,
    kind: &'static str,
    draft: &ScopeDraft,
    mode: Mode,
    files: Option<Json>,
) -> Result<(), Fault> {
    let text = |text: &dyn std::fmt::Display| Json::String(text.to_string());
    let parts = draft.parts();
    let mut row = BTreeMap::from([
        ("id".to_owned(), Json::String(scope_id(draft))),
        ("scope".to_owned(), text(&draft.sha256())),
        ("mode".to_owned(), text(&mode.as_str())),
        ("agent".to_owned(), text(&parts.agent.as_str())),
        ("source".to_owned(), text(&parts.source)),
        ("skill".to_owned(), text(&parts.id.as_str())),
        ("revision".to_owned(), text(&parts.revision)),
        ("tool".to_owned(), text(&parts.tool.as_str())),
    ]);
    row.extend(files.map(|files| ("files".to_owned(), files)));
    let json = String::from_utf8_lossy(&Json::Object(row).to_bytes()).into_owned();
    let journal = Journal::open(home).map_err(|error| Fault::of(&error, MEND))?;
    let written = journal.append(kind, &json, SystemTime::now(), Flush::Now);
    written.map(|_| ()).map_err(|error| Fault::of(&error, MEND))
}

fn fault(error: &TrustScopesError) -> Fault {
    let advice = match error.code() {
        Code::TrustScopesFull => "remove one with `fumehood trust remove`",
        _ => "mend that and try again; nothing was changed",
    };
    Fault::of(error, advice)
}

const PREFIX: &str = "scope_";
const ID_DIGITS: usize = 16;
/// Rows of one scope that are looked through for the last one that was saved.
const ROWS_MAX: usize = 16;
const ROW_SAVED: &str = "trust.saved";
const ROW_REMOVED: &str = "trust.removed";
const MEND: &str = "mend that and try again; nothing was changed";
