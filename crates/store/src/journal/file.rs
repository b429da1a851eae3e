//! The file of the journal.

use crate::database::Database;

/// `journal.sqlite`; its application id is "fume".
pub(super) const FILE: Database = Database {
    stem: "journal",
    application: 0x6675_6d65,
    version: 1,
    schema: &[TABLE, INDEX, KINDS, NO_UPDATE, NO_DELETE],
};

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
