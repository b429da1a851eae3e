//! Listing artifacts, and removing those that are not wanted any more.

use std::time::{Duration, SystemTime};

use rustix::io::Errno;

use super::Artifacts;
use super::about::{ArtifactInfo, Asker, moment};
use super::error::{ArtifactError, failed};
use super::quota::{Ledger, cost};
use fumehood_core::id::ArtifactId;

/// An artifact in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub id: ArtifactId,
    /// What is known of it; nothing, if its description is damaged.
    pub info: Option<ArtifactInfo>,
    /// What it takes of the store's room.
    pub bytes: u64,
    /// When it was started; when its content was last changed, if its description is damaged.
    pub created: SystemTime,
}

/// Which artifacts to remove: all that one of these says. With none, nothing is removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneRule {
    /// Those that are older.
    pub older_than: Option<Duration>,
    /// The oldest, until the rest takes at most this much room.
    pub keep_bytes: Option<u64>,
    /// These.
    pub ids: Vec<ArtifactId>,
}

/// What was removed, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The artifacts, oldest first.
    pub removed: Vec<Listed>,
    /// The room they took.
    pub bytes: u64,
    /// The room that the rest takes.
    pub kept_bytes: u64,
    /// Ids of the rule that are no artifacts.
    pub missing: Vec<ArtifactId>,
}

impl Artifacts {
    /// All artifacts that the asker may see, oldest first. Damaged ones are the person's only.
    ///
    /// # Errors
    /// `E_STATE_UNAVAILABLE`.
    pub fn list(&self, asker: Asker<'_>) -> Result<Vec<Listed>, ArtifactError> {
        let names = self.layout.kept.names().map_err(failed("list the artifacts"))?;
        let mut listed = Vec::new();
        for id in names.iter().filter_map(|name| ArtifactId::parse(name).ok()) {
            let one = self.look_at(id)?;
            listed.extend(one.filter(|one| match &one.info {
                Some(info) => asker.sees(&info.agent),
                None => asker == Asker::Person,
            }));
        }
        listed.sort_by_key(|one| (one.created, one.id));
        Ok(listed)
    }

    /// One that was removed since it was listed is none.
    fn look_at(&self, id: ArtifactId) -> Result<Option<Listed>, ArtifactError> {
        let folder = match self.folder(id) {
            Err(ArtifactError::Missing) => return Ok(None),
            Err(_) => None,
            Ok(folder) => Some(folder),
        };
        let info = folder.and_then(|folder| ArtifactInfo::read(&folder, id).ok());
        let (size, changed) = match self.layout.kept.size_and_time(&format!("{id}/content")) {
            Err(Errno::NOENT | Errno::NOTDIR) => (0, 0),
            found => found.map_err(failed("look at an artifact"))?,
        };
        let created = info.as_ref().map_or(moment(changed), |info| info.created);
        Ok(Some(Listed { id, info, bytes: cost(size), created }))
    }

    /// Removes what the rule says. A dry run changes nothing and answers the same.
    ///
    /// Readers that are open read on. What is being written is not touched.
    ///
    /// # Errors
    /// `E_STATE_UNAVAILABLE`; some may be removed by then.
    pub fn prune(&self, rule: &PruneRule, now: SystemTime, dry_run: bool) -> Result<Pruned, ArtifactError> {
        let mut ledger = Ledger::open(&self.layout).map_err(failed("lock the store of artifacts"))?;
        let listed = self.list(Asker::Person)?;
        let is_listed = |id: &ArtifactId| listed.iter().any(|one| one.id == *id);
        let missing = rule.ids.iter().copied().filter(|id| !is_listed(id)).collect();
        let mut pruned = Pruned { missing, ..Pruned::default() };
        pruned.kept_bytes = listed.iter().map(|one| one.bytes).sum();
        for one in listed {
            if !rule.takes(&one, now, pruned.kept_bytes) {
                continue;
            }
            pruned.kept_bytes -= one.bytes;
            pruned.bytes += one.bytes;
            if !dry_run {
                self.remove(one.id).map_err(failed("remove an artifact"))?;
            }
            pruned.removed.push(one);
        }
        if !dry_run {
            ledger.count(&self.layout).map_err(failed("count the artifacts"))?;
        }
        Ok(pruned)
    }

    /// By one rename, so that nobody ever sees half of it.
    fn remove(&self, id: ArtifactId) -> Result<(), Errno> {
        let name = id.to_string();
        self.layout.kept.rename(&name, &self.layout.gone, &name)?;
        match self.layout.gone.remove_dir(&name) {
            // A reader just put an index beside the content. It is gone from view, and swept at the next start.
            Err(Errno::NOTEMPTY) => Ok(()),
            removed => removed,
        }
    }
}

impl PruneRule {
    fn takes(&self, one: &Listed, now: SystemTime, kept_bytes: u64) -> bool {
        let age = now.duration_since(one.created).unwrap_or_default();
        self.older_than.is_some_and(|most| age > most)
            || self.keep_bytes.is_some_and(|most| kept_bytes > most)
            || self.ids.contains(&one.id)
    }
}
