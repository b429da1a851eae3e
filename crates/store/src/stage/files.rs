//! Files of a snapshot, from memory to the disk and back.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use fumehood_core::{RelPath, VerifiedRevision};
use rustix::io::Errno;

use super::{StageError, Staged, failed};
use crate::dir::{Dir, Entry, Kind, OpenError};
use crate::own::OwnDir;

/// Writes files below an empty folder. They come in byte order of their paths, so each folder is gone through once.
pub(super) fn lay_out<'s>(
    top: &OwnDir,
    files: impl Iterator<Item = (&'s RelPath, &'s [u8])>,
) -> Result<(), Errno> {
    // The folders that lead to the file before, from the top down.
    let mut way: Vec<(&str, OwnDir)> = Vec::new();
    for (path, bytes) in files {
        let (folders, name) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
        let folders: Vec<&str> = folders.split('/').filter(|folder| !folder.is_empty()).collect();
        let same = way.iter().zip(&folders).take_while(|((at, _), folder)| at == *folder).count();
        way.truncate(same);
        for folder in &folders[same..] {
            let made = last(&way, top).make(folder)?;
            way.push((folder, made));
        }
        last(&way, top).write_read_only_file(name, bytes)?;
    }
    Ok(())
}

fn last<'d>(way: &'d [(&str, OwnDir)], top: &'d OwnDir) -> &'d OwnDir {
    way.last().map_or(top, |(_, dir)| dir)
}

/// Reads everything below a folder and takes the revision of the skill, which must be the snapshot's.
pub(super) fn read_back(top: &Dir, staged: &Staged) -> Result<VerifiedRevision, StageError> {
    let count = staged.files().count();
    let mut reader = Reader { staged, count, folders: folders_of(staged), found: BTreeMap::new() };
    reader.read(top, None)?;
    if reader.found.len() < count {
        return Err(StageError::Tampered("are not all there any more"));
    }
    let rest = staged.snapshot.files().filter(|(path, _)| !staged.is_listed(path));
    let all = rest.map(|(path, file)| (path.clone(), Cow::Borrowed(file.bytes())));
    let all: BTreeMap<_, _> =
        all.chain(reader.found.into_iter().map(|(path, bytes)| (path, bytes.into()))).collect();
    let verified = VerifiedRevision::of(&all);
    if verified.revision() == staged.snapshot.revision() { Ok(verified) } else { Err(CHANGED) }
}

struct Reader<'s> {
    staged: &'s Staged,
    count: usize,
    folders: BTreeSet<String>,
    found: BTreeMap<RelPath, Vec<u8>>,
}

impl Reader<'_> {
    /// As deep as the snapshot, since only its folders are entered.
    fn read(&mut self, dir: &Dir, below: Option<&RelPath>) -> Result<(), StageError> {
        let (entries, more) = dir.entries(self.count).map_err(failed("list the files for a run"))?;
        if more {
            return Err(EXTRA);
        }
        for Entry { name, kind } in entries {
            let text = str::from_utf8(&name).map_err(|_| EXTRA)?;
            let path = below.map_or_else(|| RelPath::parse(text), |below| below.join(text));
            let path = path.map_err(|_| EXTRA)?;
            match kind {
                Kind::Directory if self.folders.contains(path.as_str()) => {
                    self.read(&dir.open_dir(&name).map_err(changed)?, Some(&path))?;
                }
                Kind::File => {
                    let bytes = self.file(dir, &name, &path)?;
                    self.found.insert(path, bytes);
                }
                Kind::Link => return Err(LINKED),
                Kind::Directory | Kind::Special => return Err(EXTRA),
            }
        }
        Ok(())
    }

    fn file(&self, dir: &Dir, name: &[u8], path: &RelPath) -> Result<Vec<u8>, StageError> {
        let listed = Some(path).filter(|path| self.staged.is_listed(path));
        let expected = listed.and_then(|path| self.staged.snapshot.get(path)).ok_or(EXTRA)?;
        let file = dir.open_file(name).map_err(changed)?;
        // By another name, outside, it could be changed after this.
        if file.links().map_err(failed("look at the files for a run"))? != 1 {
            return Err(LINKED);
        }
        if file.stat.size != expected.size() {
            return Err(CHANGED);
        }
        let bytes_max = expected.bytes().len() + 1;
        file.read(0, bytes_max).map_err(failed("read the files for a run"))
    }
}

fn folders_of(staged: &Staged) -> BTreeSet<String> {
    let of_file = |path: &RelPath| {
        let path = path.as_str();
        path.match_indices('/').map(|(end, _)| path[..end].to_owned()).collect::<Vec<_>>()
    };
    staged.files().flat_map(|(path, _)| of_file(path)).collect()
}

fn changed(error: OpenError) -> StageError {
    match error {
        OpenError::Missing | OpenError::Kind(_) | OpenError::Escapes => CHANGED,
        OpenError::System(errno) => failed("open the files for a run")(errno),
    }
}

const EXTRA: StageError = StageError::Tampered("have something among them that was not laid out");
const LINKED: StageError = StageError::Tampered("have a link among them, or another name elsewhere");
const CHANGED: StageError = StageError::Tampered("are not what was laid out");
