//! The text of what a person said yes to last, kept to show what changed since: `approved` in the state folder.
//!
//! Nothing runs from here, and nothing is laid out from here: the only way out is the text of one file, by its digest, checked
//! against it. What a crash left half written is therefore no text, and is swept when something is kept next. See
//! `docs/decisions/0006-approved-bytes.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use fumehood_core::{Code, Coded, Frame, Revision, Sha256, SkillName};
use rustix::io::Errno;

use crate::capture::Snapshot;
use crate::home::{Home, HomeError};
use crate::own::OwnDir;

/// For each skill of each source the text files of the revision that was approved last.
///
/// # Authority
/// Reads and writes `approved` in the state folder: 0700, its files 0600.
#[derive(Clone, Debug)]
pub struct ApprovedText {
    home: Home,
    bytes_max: u64,
}

/// Why nothing was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApprovedError {
    /// The state folder is not private.
    Home(HomeError),
    /// The operating system said no.
    System {
        /// What it said.
        errno: i32,
    },
}

/// Which files of one skill are kept, as it stands in `DIGEST.list`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct List {
    /// A higher one was approved later. No clock: it may be turned back.
    number: u64,
    revision: Revision,
    /// Bytes of each.
    files: BTreeMap<Sha256, u64>,
}

impl ApprovedText {
    /// Bytes of a file above which it is not kept.
    pub const FILE_BYTES_MAX: usize = 1 << 20;
    /// Bytes of all files together, each counted in whole blocks of 4 KiB.
    pub const BYTES_MAX: u64 = 64 << 20;
    /// Skills of which something is kept.
    pub const SKILLS_MAX: usize = 1024;

    /// What is kept in this state folder. Makes nothing.
    pub fn of(home: &Home) -> Self {
        Self { home: home.clone(), bytes_max: Self::BYTES_MAX }
    }

    /// Keeps the text files of a revision in place of what was kept of the skill before. Other files, and larger ones, are left
    /// out. Where there is no room for all, the skills go first that were approved first, then what comes last by its path.
    ///
    /// # Errors
    /// `E_HOME_REFUSED`, `E_STATE_UNAVAILABLE`; less may be kept by then than before, and never anything else.
    pub fn keep(&self, source: &str, skill: &SkillName, snapshot: &Snapshot) -> Result<(), ApprovedError> {
        self.home.make_state().map_err(ApprovedError::Home)?;
        self.replace(&list_name(source, skill), snapshot)
            .map_err(|errno| ApprovedError::System { errno: errno.raw_os_error() })
    }

    fn replace(&self, own: &str, snapshot: &Snapshot) -> Result<(), Errno> {
        let dir = OwnDir::open(&self.home.state)?.open_or_make(FOLDER)?;
        let _lock = dir.lock(LOCK)?;
        let names = dir.names()?;
        let mut lists: BTreeMap<_, _> = names
            .iter()
            .filter(|name| name.ends_with(LIST))
            .filter_map(|name| List::read(&dir, name).map(|list| (name.as_str(), list)))
            .collect();
        if lists.get(own).is_some_and(|list| list.revision == snapshot.revision()) {
            return Ok(());
        }
        let number = lists.values().map(|list| list.number).max().unwrap_or(0).saturating_add(1);
        lists.remove(own);
        let mut room = Room { left: self.bytes_max, taken: BTreeSet::new() };
        let texts = snapshot.files().filter(|(_, file)| text_of(file.bytes()).is_some());
        let new: BTreeMap<_, _> = texts
            .filter(|(_, file)| room.take(file.sha256(), file.size()))
            .map(|(_, file)| (file.sha256(), file))
            .collect();
        let mut others: Vec<_> = lists.iter().collect();
        others.sort_by_key(|(_, list)| std::cmp::Reverse(list.number));
        others.truncate(Self::SKILLS_MAX - 1);
        // The first for which there is no room, and all that were approved before it, go.
        let fits = others.iter().take_while(|(_, list)| room.take_all(&list.files));
        let mut stay: BTreeSet<String> = fits.map(|(name, _)| (**name).to_owned()).collect();
        stay.extend([LOCK.to_owned(), own.to_owned()]);
        stay.extend(room.taken.iter().map(Sha256::to_string));
        for name in names.iter().filter(|name| !stay.contains(*name)) {
            dir.remove_file(name)?;
        }
        for (sha256, file) in &new {
            put(&dir, &sha256.to_string(), file.bytes())?;
        }
        let files = new.iter().map(|(sha256, file)| (*sha256, file.size())).collect();
        dir.replace_file(own, List { number, revision: snapshot.revision(), files }.to_text().as_bytes())
    }

    /// The text of this digest (64 hex digits, as it is on record), if it is kept and is what it was.
    pub fn read(&self, sha256: &str) -> Option<String> {
        let sha256 = Sha256::of_record(sha256)?;
        if !self.home.has_state().ok()? {
            return None;
        }
        let dir = OwnDir::open(&self.home.state).and_then(|state| state.open_dir(FOLDER)).ok()?;
        let bytes = dir.open_file(&sha256.to_string()).ok()?.read(0, Self::FILE_BYTES_MAX + 1).ok()?;
        if Sha256::of(&bytes) != sha256 {
            return None;
        }
        text_of(&bytes).map(str::to_owned)
    }
}

/// Bytes as the text that is kept of them: at most 1 MiB of UTF-8 without NUL.
pub fn text_of(bytes: &[u8]) -> Option<&str> {
    let is_short = bytes.len() <= ApprovedText::FILE_BYTES_MAX;
    std::str::from_utf8(bytes).ok().filter(|_| is_short && !bytes.contains(&0))
}

/// Writes a file unless it is there as it should be. It is not waited for until it is on the disk: a file that is not what its
/// name says is none.
fn put(dir: &OwnDir, name: &str, bytes: &[u8]) -> Result<(), Errno> {
    if dir.open_file(name).and_then(|file| file.holds(bytes)).unwrap_or(false) {
        return Ok(());
    }
    let new = format!("{name}.new");
    dir.remove_file(&new)?;
    dir.write_file(&new, bytes)?;
    dir.replace(&new, name)
}

/// What may still be kept.
struct Room {
    left: u64,
    taken: BTreeSet<Sha256>,
}

impl Room {
    fn take(&mut self, sha256: Sha256, bytes: u64) -> bool {
        self.take_all(&[(sha256, bytes)].into())
    }

    /// All of these or none; what is taken already takes no room.
    fn take_all(&mut self, files: &BTreeMap<Sha256, u64>) -> bool {
        let new: BTreeMap<_, _> = files.iter().filter(|(sha256, _)| !self.taken.contains(sha256)).collect();
        let cost = new.values().fold(0_u64, |sum, bytes| sum.saturating_add(cost(**bytes)));
        let Some(left) = self.left.checked_sub(cost) else { return false };
        self.left = left;
        self.taken.extend(new.into_keys().copied());
        true
    }
}

/// In blocks, so that the number of files has a limit too.
fn cost(bytes: u64) -> u64 {
    bytes.max(1).checked_next_multiple_of(BLOCK_BYTES).unwrap_or(u64::MAX)
}

impl List {
    fn to_text(&self) -> String {
        let mut text = format!("{HEAD}\n{}\n{}\n", self.number, self.revision);
        for (sha256, bytes) in &self.files {
            let _ = writeln!(text, "{sha256} {bytes}");
        }
        text
    }

    /// `None` for what is not exactly what is written.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        lines.next().filter(|head| *head == HEAD)?;
        let number = lines.next()?.parse().ok()?;
        let revision = Revision::of_record(lines.next()?)?;
        let file = |line: &str| {
            let (sha256, bytes) = line.split_once(' ')?;
            Some((Sha256::of_record(sha256)?, bytes.parse().ok()?))
        };
        let list = Self { number, revision, files: lines.map(file).collect::<Option<_>>()? };
        (list.to_text() == text).then_some(list)
    }

    fn read(dir: &OwnDir, name: &str) -> Option<Self> {
        let bytes = dir.open_file(name).ok()?.read(0, LIST_BYTES_MAX).ok()?;
        Self::parse(std::str::from_utf8(&bytes).ok()?)
    }
}

/// One name for each source and skill: a digest, since a name is somebody else's text.
fn list_name(source: &str, skill: &SkillName) -> String {
    let mut frame = Frame::new("approved-text", 1);
    frame.part(source.as_bytes());
    frame.part(skill.as_str().as_bytes());
    format!("{}{LIST}", frame.sha256())
}

impl Coded for ApprovedError {
    fn code(&self) -> Code {
        match self {
            Self::Home(error) => error.code(),
            Self::System { .. } => Code::StateUnavailable,
        }
    }
}

impl fmt::Display for ApprovedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(error) => error.fmt(f),
            Self::System { errno } => {
                write!(f, "cannot keep what was approved: {}", Errno::from_raw_os_error(*errno))
            }
        }
    }
}

impl std::error::Error for ApprovedError {}

const FOLDER: &str = "approved";
const LOCK: &str = "lock";
const LIST: &str = ".list";
const HEAD: &str = "fumehood approved 1";
const BLOCK_BYTES: u64 = 4096;
/// 16,384 files at most are kept, each a line of less than 80 bytes.
const LIST_BYTES_MAX: usize = 2 << 20;

#[cfg(test)]
mod tests;
