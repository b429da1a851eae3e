//! The file of the journal: made whole under another name first, and opened only if it is exactly ours.
//!
//! So a file of no bytes is never one that is just being made: it is a damaged one, and not begun anew.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::io::Errno;

use super::error::{JournalError, failed, refused};
use crate::home::Home;
use crate::own::OwnDir;

/// Opens the journal, and makes it if there is none.
pub(super) fn open(home: &Home) -> Result<Connection, JournalError> {
    home.make_state().map_err(JournalError::Home)?;
    let state = OwnDir::open(&home.state).map_err(refused("open the folder of"))?;
    match state.open_file(FILE_NAME) {
        Err(Errno::NOENT) => make(home, &state)?,
        found => check_place(found)?,
    }
    let connection = connect(&home.state.join(FILE_NAME))?;
    check(&connection)?;
    Ok(connection)
}

/// Opens the journal if there is one. Makes neither it nor the state folder.
pub(super) fn open_if_any(home: &Home) -> Result<Option<Connection>, JournalError> {
    if !home.has_state().map_err(JournalError::Home)? {
        return Ok(None);
    }
    let state = OwnDir::open(&home.state).map_err(refused("open the folder of"))?;
    match state.open_file(FILE_NAME) {
        Err(Errno::NOENT) => return Ok(None),
        found => check_place(found)?,
    }
    let connection = connect(&home.state.join(FILE_NAME))?;
    check(&connection)?;
    Ok(Some(connection))
}

/// Whatever lies in the journal's place must be a plain file of the caller's that nobody else may read.
fn check_place(found: Result<crate::dir::File, Errno>) -> Result<(), JournalError> {
    match found {
        Err(Errno::NOTDIR | Errno::PERM) => Err(JournalError::Foreign("is no plain file of the caller's")),
        Err(errno) => Err(refused("open")(errno)),
        Ok(file) => {
            let open_to_others = file.rights().is_ok_and(|rights| rights.mode & 0o077 != 0);
            match () {
                () if open_to_others => Err(JournalError::Foreign("is open to others; set its mode to 0600")),
                () if file.stat.size == 0 => Err(JournalError::Damaged("is empty")),
                () => Ok(()),
            }
        }
    }
}

/// Under a lock: of several processes that begin at once, one makes it.
fn make(home: &Home, state: &OwnDir) -> Result<(), JournalError> {
    let _lock = state.lock(LOCK_NAME).map_err(refused("lock"))?;
    match state.open_file(FILE_NAME) {
        Err(Errno::NOENT) => {}
        found => return check_place(found),
    }
    for leftover in [NEW_NAME, "journal.new-journal", "journal.new-wal", "journal.new-shm"] {
        state.remove_file(leftover).map_err(refused("make"))?;
    }
    // SQLite would choose the mode by the umask. Files beside this one get its mode.
    drop(state.make_file(NEW_NAME).map_err(refused("make"))?);
    let connection = connect(&home.state.join(NEW_NAME))?;
    let begin = format!(
        "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; BEGIN IMMEDIATE;
         PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; {TABLE}; {INDEX}; {KINDS}; {NO_UPDATE}; {NO_DELETE}; COMMIT;"
    );
    connection.execute_batch(&begin).map_err(failed("make"))?;
    // The last connection that closes moves everything into the one file.
    connection.close().map_err(|(_, error)| failed("make")(error))?;
    state.rename(NEW_NAME, state, FILE_NAME).map_err(refused("make"))?;
    rustix::fs::fsync(state).map_err(refused("make"))
}

fn connect(path: &Path) -> Result<Connection, JournalError> {
    // Without CREATE: one that vanished meanwhile is not begun anew, empty.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    // The state folder was chosen by the person and may lie behind a link; what may not be one is the file.
    let folder = path.parent().and_then(|folder| std::fs::canonicalize(folder).ok());
    let path = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name));
    let path = path.ok_or(JournalError::System("find"))?;
    let open = || {
        let connection = Connection::open_with_flags(&path, flags)?;
        connection.busy_timeout(BUSY)?;
        // Nothing that somebody wrote into the file is run, and nothing can switch that off by SQL.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        Ok(connection)
    };
    open().map_err(failed("open"))
}

/// Whether the file is a journal of this version, with nothing added.
fn check(connection: &Connection) -> Result<(), JournalError> {
    let number =
        |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i64>(0)).map_err(failed("read"));
    if number("PRAGMA application_id")? != APPLICATION {
        return Err(JournalError::Foreign("is a database of another program"));
    }
    if number("PRAGMA user_version")? != VERSION {
        return Err(JournalError::Foreign("was written by another version of fumehood"));
    }
    let read = || {
        let mut query = connection.prepare("SELECT sql FROM sqlite_schema ORDER BY rowid")?;
        let rows = query.query_map([], |row| row.get::<_, Option<String>>(0))?;
        rows.collect::<Result<Vec<_>, _>>()
    };
    let found = read().map_err(failed("read"))?;
    let expected = [TABLE, INDEX, KINDS, NO_UPDATE, NO_DELETE];
    if found.iter().map(Option::as_deref).eq(expected.map(Some)) {
        Ok(())
    } else {
        Err(JournalError::Foreign("has other tables than fumehood gives it"))
    }
}

const FILE_NAME: &str = "journal.sqlite";
const NEW_NAME: &str = "journal.new";
const LOCK_NAME: &str = "journal.lock";
/// "fume".
const APPLICATION: i64 = 0x6675_6d65;
const VERSION: i64 = 1;
const BUSY: Duration = Duration::from_secs(5);
/// `seq` is the row's place in the file, so there are no two of one number.
const TABLE: &str = "CREATE TABLE entry (seq INTEGER PRIMARY KEY, time INTEGER NOT NULL, kind TEXT NOT NULL, \
                     json TEXT NOT NULL, previous BLOB NOT NULL, hash BLOB NOT NULL) STRICT";
/// By what the JSON says its id is, so that an id is covered by the chain and not kept beside it.
const INDEX: &str = "CREATE INDEX entry_id ON entry (json ->> '$.id')";
/// So that the newest rows of a kind are found whatever lies between them.
const KINDS: &str = "CREATE INDEX entry_kind ON entry (kind)";
/// Against mistakes of ours; whoever can write the file can do without them, and the chain shows it.
const NO_UPDATE: &str =
    "CREATE TRIGGER entry_no_update BEFORE UPDATE ON entry BEGIN SELECT raise(ABORT, 'append only'); END";
const NO_DELETE: &str =
    "CREATE TRIGGER entry_no_delete BEFORE DELETE ON entry BEGIN SELECT raise(ABORT, 'append only'); END";
