//! Scopes as rows. Every value is read again by the rules for new ones: a row that breaks one was not written here.

use std::collections::BTreeMap;

use fumehood_core::digest::Revision;
use fumehood_core::trust_scope::{
    SCOPE_PATHS_MAX, SCOPES_MAX, ScopeDraft, ScopeParts, ScopeReceipt, ScopeReceiptId,
};
use fumehood_core::{AgentLabel, HostPath, Scopes, Sha256, SkillName, ToolName, TrustScope, WallTime};
use rusqlite::{Connection, Row};

use super::TrustScopesError;
use crate::database::failed;

/// One row a scope, in the order of saving.
pub(super) const SCOPES: &str = "CREATE TABLE scope (place INTEGER PRIMARY KEY, agent TEXT NOT NULL, source TEXT NOT NULL, \
                                 id TEXT NOT NULL, revision TEXT NOT NULL, tool TEXT NOT NULL, overlay TEXT, workspace TEXT, \
                                 timeout_seconds_max INTEGER NOT NULL, output_bytes_max INTEGER NOT NULL, receipt TEXT, \
                                 approved INTEGER) STRICT";
/// One row a path parameter.
pub(super) const PATHS: &str = "CREATE TABLE path (scope INTEGER NOT NULL, parameter TEXT NOT NULL, place TEXT NOT NULL, \
                                PRIMARY KEY (scope, parameter)) STRICT, WITHOUT ROWID";

/// A scope without its paths.
struct Stored {
    place: i64,
    texts: [String; 5],
    overlay: Option<String>,
    workspace: Option<String>,
    numbers: [i64; 2],
    receipt: Option<String>,
    approved: Option<i64>,
}

/// All scopes.
pub(super) fn load(connection: &Connection) -> Result<Scopes, TrustScopesError> {
    // Both at one moment, unless the caller has one already. A row more than may be there is enough to know.
    let at_most = |rows: usize| u32::try_from(rows + 1).unwrap_or(u32::MAX);
    let read = || {
        let _moment = connection.is_autocommit().then(|| connection.unchecked_transaction()).transpose()?;
        let mut query = connection.prepare("SELECT * FROM scope ORDER BY place LIMIT ?")?;
        let stored = query.query_map((at_most(SCOPES_MAX),), Stored::of)?;
        let stored = stored.collect::<Result<Vec<_>, _>>()?;
        let mut query = connection.prepare("SELECT scope, parameter, place FROM path LIMIT ?")?;
        let paths = query.query_map((at_most(SCOPES_MAX * SCOPE_PATHS_MAX),), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
        let paths = paths.collect::<Result<Vec<(i64, String, String)>, _>>()?;
        Ok((stored, paths))
    };
    let (stored, rows) = read().map_err(failed("read"))?;
    let mut paths: BTreeMap<i64, BTreeMap<String, HostPath>> = BTreeMap::new();
    for (scope, parameter, place) in rows {
        let place =
            HostPath::parse(&place).map_err(|_| TrustScopesError::Damaged("has a path that is none"))?;
        paths.entry(scope).or_default().insert(parameter, place);
    }
    let scopes = stored.into_iter().map(|row| {
        let paths = paths.remove(&row.place).unwrap_or_default();
        row.scope(paths).ok_or(TrustScopesError::Damaged("has a scope that fumehood would not save"))
    });
    let scopes = scopes.collect::<Result<_, _>>()?;
    if !paths.is_empty() {
        return Err(TrustScopesError::Damaged("has paths of no scope"));
    }
    Scopes::of_record(scopes)
        .map_err(|_| TrustScopesError::Damaged("has scopes that cannot stand side by side"))
}

impl Stored {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            place: row.get("place")?,
            texts: [
                row.get("agent")?,
                row.get("source")?,
                row.get("id")?,
                row.get("revision")?,
                row.get("tool")?,
            ],
            overlay: row.get("overlay")?,
            workspace: row.get("workspace")?,
            numbers: [row.get("timeout_seconds_max")?, row.get("output_bytes_max")?],
            receipt: row.get("receipt")?,
            approved: row.get("approved")?,
        })
    }

    /// The scope; `None` if a value breaks its rule.
    fn scope(self, paths: BTreeMap<String, HostPath>) -> Option<TrustScope> {
        let [agent, source, id, revision, tool] = self.texts;
        let [timeout_seconds_max, output_bytes_max] = self.numbers;
        let overlay = match self.overlay {
            Some(overlay) => Some(Sha256::of_record(&overlay)?),
            None => None,
        };
        let draft = ScopeDraft::new(ScopeParts {
            agent: AgentLabel::parse(&agent).ok()?,
            source,
            id: SkillName::parse(&id).ok()?,
            revision: Revision::of_record(&revision)?,
            tool: ToolName::parse(&tool).ok()?,
            overlay,
            workspace: self.workspace,
            paths,
            timeout_seconds_max: u64::try_from(timeout_seconds_max).ok()?,
            output_bytes_max: u64::try_from(output_bytes_max).ok()?,
        });
        let receipt = match (self.receipt, self.approved) {
            (None, None) => None,
            (Some(id), Some(approved)) => Some(ScopeReceipt {
                id: ScopeReceiptId::parse(&id)?,
                approved: WallTime::from_unix_ms(u64::try_from(approved).ok()?),
            }),
            _ => return None,
        };
        Some(TrustScope::of_record(draft.ok()?, receipt))
    }
}

/// Puts these in place of all that is there. The caller has the transaction.
pub(super) fn replace(connection: &Connection, scopes: &Scopes) -> rusqlite::Result<()> {
    connection.execute_batch("DELETE FROM path; DELETE FROM scope")?;
    let mut add = connection.prepare("INSERT INTO scope VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    let mut add_path = connection.prepare("INSERT INTO path VALUES (?, ?, ?)")?;
    for (place, scope) in (1_i64..).zip(scopes.as_slice()) {
        let parts = scope.draft().parts();
        let receipt = scope.receipt();
        add.execute((
            place,
            parts.agent.as_str(),
            &parts.source,
            parts.id.as_str(),
            parts.revision.to_string(),
            parts.tool.as_str(),
            parts.overlay.map(|overlay| overlay.to_string()),
            &parts.workspace,
            // Both are far below what SQLite's integers hold.
            parts.timeout_seconds_max.cast_signed(),
            parts.output_bytes_max.cast_signed(),
            receipt.map(|receipt| receipt.id.to_string()),
            receipt.map(|receipt| receipt.approved.unix_ms().cast_signed()),
        ))?;
        for (parameter, root) in &parts.paths {
            add_path.execute((place, parameter, root.as_str()))?;
        }
    }
    Ok(())
}
