//! `SQLite` files of fumehood: made whole under another name first, and opened only if they are exactly ours.
//!
//! So a file of no bytes is never one that is just being made: it is a damaged one, and not begun anew.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::io::Errno;

use crate::home::{Home, HomeError};
use crate::own::OwnDir;

/// What a file of one kind is.
#[derive(Debug)]
pub(crate) struct Database {
    /// Its name in the state folder, without `.sqlite`.
    pub(crate) stem: &'static str,
    /// What the file's header says whose it is.
    pub(crate) application: i64,
    /// The version of its tables.
    pub(crate) version: i64,
    /// Every table, index and trigger, as the file keeps its text.
    pub(crate) schema: &'static [&'static str],
}

/// Why a file could not be opened or used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseError {
    /// The state folder is not private.
    Home(HomeError),
    /// It is no file of this kind and version; this is what is wrong, to stand after its name.
    Foreign(&'static str),
    /// It is damaged; this is what was noticed.
    Damaged(&'static str),
    /// Others held it for longer than five seconds.
    Busy,
    /// The disk is full.
    DiskFull,
    /// The operating system or the database said no to this.
    System(&'static str),
}

/// For `map_err`: the database said no while this was being done.
pub(crate) fn failed(doing: &'static str) -> impl Fn(rusqlite::Error) -> DatabaseError {
    use rusqlite::ErrorCode as Sqlite;
    move |error| match error.sqlite_error_code() {
        Some(Sqlite::DatabaseBusy | Sqlite::DatabaseLocked) => DatabaseError::Busy,
        Some(Sqlite::DiskFull) => DatabaseError::DiskFull,
        Some(Sqlite::NotADatabase) => DatabaseError::Damaged("is no SQLite file"),
        Some(Sqlite::DatabaseCorrupt) => DatabaseError::Damaged("has damaged pages"),
        // A value of another type than the table has.
        None if !matches!(error, rusqlite::Error::QueryReturnedNoRows) => {
            DatabaseError::Damaged("has a value of the wrong type")
        }
        _ => DatabaseError::System(doing),
    }
}

/// For `map_err`: the operating system said no while this was being done.
fn refused(doing: &'static str) -> impl Fn(Errno) -> DatabaseError {
    move |errno| match errno {
        Errno::NOSPC | Errno::DQUOT => DatabaseError::DiskFull,
        _ => DatabaseError::System(doing),
    }
}

impl Database {
    /// Opens the file, and makes it if there is none.
    pub(crate) fn open(&self, home: &Home) -> Result<Connection, DatabaseError> {
        home.make_state().map_err(DatabaseError::Home)?;
        let state = OwnDir::open(&home.state).map_err(refused("open the folder of"))?;
        match state.open_file(&self.name()) {
            Err(Errno::NOENT) => self.make(home, &state)?,
            found => check_place(found)?,
        }
        self.connect_checked(home)
    }

    /// Opens the file if there is one. Makes neither it nor the state folder.
    pub(crate) fn open_if_any(&self, home: &Home) -> Result<Option<Connection>, DatabaseError> {
        if !home.has_state().map_err(DatabaseError::Home)? {
            return Ok(None);
        }
        let state = OwnDir::open(&home.state).map_err(refused("open the folder of"))?;
        match state.open_file(&self.name()) {
            Err(Errno::NOENT) => return Ok(None),
            found => check_place(found)?,
        }
        self.connect_checked(home).map(Some)
    }

    /// The name of the file.
    pub(crate) fn name(&self) -> String {
        format!("{}.sqlite", self.stem)
    }

    fn connect_checked(&self, home: &Home) -> Result<Connection, DatabaseError> {
        let connection = connect(&home.state.join(self.name()))?;
        self.check(&connection)?;
        Ok(connection)
    }

    /// Under a lock: of several processes that begin at once, one makes it.
    fn make(&self, home: &Home, state: &OwnDir) -> Result<(), DatabaseError> {
        let Self { stem, application, version, schema } = self;
        let _lock = state.lock(&format!("{stem}.lock")).map_err(refused("lock"))?;
        match state.open_file(&self.name()) {
            Err(Errno::NOENT) => {}
            found => return check_place(found),
        }
        let new = format!("{stem}.new");
        for leftover in ["", "-journal", "-wal", "-shm"] {
            state.remove_file(&format!("{new}{leftover}")).map_err(refused("make"))?;
        }
        // SQLite would choose the mode by the umask. Files beside this one get its mode.
        drop(state.make_file(&new).map_err(refused("make"))?);
        let connection = connect(&home.state.join(&new))?;
        let schema = schema.join("; ");
        let begin = format!(
            "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; BEGIN IMMEDIATE;
             PRAGMA application_id = {application}; PRAGMA user_version = {version}; {schema}; COMMIT;"
        );
        connection.execute_batch(&begin).map_err(failed("make"))?;
        // The last connection that closes moves everything into the one file.
        connection.close().map_err(|(_, error)| failed("make")(error))?;
        state.rename(&new, state, &self.name()).map_err(refused("make"))?;
        rustix::fs::fsync(state).map_err(refused("make"))
    }

    /// Whether the file is of this kind and version, with nothing added.
    fn check(&self, connection: &Connection) -> Result<(), DatabaseError> {
        let number = |pragma: &str| {
            connection.query_row(pragma, [], |row| row.get::<_, i64>(0)).map_err(failed("read"))
        };
        if number("PRAGMA application_id")? != self.application {
            return Err(DatabaseError::Foreign("is a database of another program"));
        }
        if number("PRAGMA user_version")? != self.version {
            return Err(DatabaseError::Foreign("was written by another version of fumehood"));
        }
        let read = || {
            let mut query = connection.prepare("SELECT sql FROM sqlite_schema ORDER BY rowid")?;
            let rows = query.query_map([], |row| row.get::<_, Option<String>>(0))?;
            rows.collect::<Result<Vec<_>, _>>()
        };
        let found = read().map_err(failed("read"))?;
        if found.iter().map(Option::as_deref).eq(self.schema.iter().copied().map(Some)) {
            Ok(())
        } else {
            Err(DatabaseError::Foreign("has other tables than fumehood gives it"))
        }
    }
}

/// Whatever lies in the place of such a file must be a plain file of the caller's that nobody else may read.
fn check_place(found: Result<crate::dir::File, Errno>) -> Result<(), DatabaseError> {
    match found {
        Err(Errno::NOTDIR | Errno::PERM) => Err(DatabaseError::Foreign("is no plain file of the caller's")),
        Err(errno) => Err(refused("open")(errno)),
        Ok(file) => {
            let open_to_others = file.rights().is_ok_and(|rights| rights.mode & 0o077 != 0);
            match () {
                () if open_to_others => {
                    Err(DatabaseError::Foreign("is open to others; set its mode to 0600"))
                }
                () if file.stat.size == 0 => Err(DatabaseError::Damaged("is empty")),
                () => Ok(()),
            }
        }
    }
}

fn connect(path: &Path) -> Result<Connection, DatabaseError> {
    // Without CREATE: one that vanished meanwhile is not begun anew, empty.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    // The state folder was chosen by the person and may lie behind a link; what may not be one is the file.
    let folder = path.parent().and_then(|folder| std::fs::canonicalize(folder).ok());
    let path = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name));
    let path = path.ok_or(DatabaseError::System("find"))?;
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

const BUSY: Duration = Duration::from_secs(5);
