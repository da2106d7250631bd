//! Opening the database file: its creation, its settings, its format. [`super::SqliteStore`] and
//! its threads come here for every connection; nothing here reads or writes a record.

use super::{OpenError, fault};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Marks a database file as ours: "LBTS".
const APPLICATION_ID: i32 = 0x4C42_5453;
/// One per format, in order. Format `n` is what the first `n` make.
const MIGRATIONS: &[&str] = &[include_str!("0001_logs.sql")];
/// The smallest page a database can have, and so the smallest database.
const LEAST_BYTES: u64 = 512;
/// How long a connection waits for one of another program, such as the `sqlite3` shell.
const BUSY: Duration = Duration::from_secs(5);
/// The write-ahead log is cut to this many bytes when it starts over.
const WAL_BYTES: i64 = 64 * 1_048_576;

/// The path with everything resolved but the last part, which need not exist. Two spellings of one
/// file must come to one lock. Creates the directories above it.
pub(super) fn place(path: &Path) -> Result<PathBuf, OpenError> {
    let failed = |doing, error: std::io::Error| OpenError::Io {
        path: path.to_owned(),
        doing,
        cause: error.to_string(),
    };
    if let Ok(known) = fs::canonicalize(path) {
        return Ok(known);
    }
    let absolute = std::path::absolute(path).map_err(|error| failed("finding it", error))?;
    let (Some(directory), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(not_a_file(path));
    };
    create_directories(directory).map_err(|error| failed("creating its directory", error))?;
    let directory = fs::canonicalize(directory).map_err(|error| failed("finding it", error))?;
    Ok(directory.join(name))
}

/// Creates what is missing of a directory, for its owner only, and durably: each new entry is
/// synced into the directory above it.
fn create_directories(directory: &Path) -> std::io::Result<()> {
    let missing: Vec<&Path> = directory.ancestors().take_while(|one| !one.exists()).collect();
    for one in missing.into_iter().rev() {
        match DirBuilder::new().mode(0o700).create(one) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        if let Some(above) = one.parent() {
            File::open(above)?.sync_all()?;
        }
    }
    Ok(())
}

/// Opens the file to write, creates it if it is not there, and brings it to the present format.
/// The caller holds the lock.
pub(super) fn open_writing(path: &Path) -> Result<Connection, OpenError> {
    create_file(path)?;
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let failed = |error: rusqlite::Error| refused(path, "setting up the database", &error);
    if format(&connection).map_err(failed)? == Format::Foreign {
        return Err(foreign(path));
    }
    let mode: String =
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(failed)?;
    if mode != "wal" {
        return Err(OpenError::Io {
            path: path.to_owned(),
            doing: "setting up the write-ahead log",
            cause: format!("the file system allows only the journal mode {mode}: use a local disk"),
        });
    }
    // FULL: a commit is on disk when it returns. The two below it do the same where a sync is
    // otherwise only a wish.
    for (name, value) in [
        ("synchronous", "FULL"),
        ("fullfsync", "ON"),
        ("checkpoint_fullfsync", "ON"),
        ("journal_size_limit", &WAL_BYTES.to_string()),
    ] {
        connection.pragma_update(None, name, value).map_err(failed)?;
    }
    migrate(path, &mut connection, MIGRATIONS)?;
    Ok(connection)
}

/// Opens the file to read only. It must be there and of the present format.
pub(super) fn open_reading(path: &Path) -> Result<Connection, OpenError> {
    match fs::metadata(path) {
        Ok(found) => {
            if look(path, &found)? == 0 {
                return Err(OpenError::Missing { path: path.to_owned() });
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(OpenError::Missing { path: path.to_owned() });
        }
        // SQLite will meet it again and say more.
        Err(_) => {}
    }
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let known = MIGRATIONS.len();
    match format(&connection).map_err(|error| refused(path, "reading its format", &error))? {
        Format::Ours(found) if found == known => Ok(connection),
        Format::Ours(found) if found < known => {
            Err(OpenError::OlderFormat { path: path.to_owned(), found, known })
        }
        Format::Ours(found) => Err(OpenError::NewerFormat { path: path.to_owned(), found, known }),
        Format::Empty => Err(OpenError::Missing { path: path.to_owned() }),
        Format::Foreign => Err(foreign(path)),
    }
}

/// Creates an empty file for its owner only. SQLite gives its side files the same permissions.
fn create_file(path: &Path) -> Result<(), OpenError> {
    let failed = |doing, error: std::io::Error| OpenError::Io {
        path: path.to_owned(),
        doing,
        cause: error.to_string(),
    };
    // An existing file must not be opened here: closing it would drop the locks that a connection
    // of this process has on it.
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(failed("creating it", error));
        }
        _ => {}
    }
    let found = fs::metadata(path).map_err(|error| failed("looking at it", error))?;
    let bytes = look(path, &found)?;
    let wal = fs::metadata(beside(path, "-wal")).map_or(0, |wal| wal.len());
    if bytes == 0 && wal > 0 {
        // SQLite would take the database for a new one and delete the write-ahead log.
        let what = "it is empty, but its write-ahead log is not: it was cut off".to_owned();
        return Err(OpenError::Damaged { path: path.to_owned(), what });
    }
    Ok(())
}

/// The size of a file, if a database can have it.
fn look(path: &Path, found: &fs::Metadata) -> Result<u64, OpenError> {
    if !found.is_file() {
        return Err(not_a_file(path));
    }
    match found.len() {
        // SQLite would take it for a new one.
        bytes @ 1..LEAST_BYTES => Err(OpenError::NotAStore {
            path: path.to_owned(),
            what: format!("is not a database: it has only {bytes} bytes"),
        }),
        bytes => Ok(bytes),
    }
}

/// A file beside the database, named after it.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, OpenError> {
    // Without the URI flag a path is a path, whatever it begins with.
    Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .and_then(|connection| {
            connection.busy_timeout(BUSY)?;
            connection.pragma_update(None, "cell_size_check", "ON")?;
            Ok(connection)
        })
        .map_err(|error| refused(path, "opening the database", &error))
}

#[derive(Debug, PartialEq, Eq)]
enum Format {
    Empty,
    Ours(usize),
    Foreign,
}

fn format(connection: &Connection) -> rusqlite::Result<Format> {
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let objects: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(match (application, version, objects) {
        (APPLICATION_ID, _, _) => Format::Ours(usize::try_from(version).unwrap_or(usize::MAX)),
        (0, 0, 0) => Format::Empty,
        _ => Format::Foreign,
    })
}

/// Brings a database to the last of `migrations`, all or nothing.
fn migrate(path: &Path, connection: &mut Connection, migrations: &[&str]) -> Result<(), OpenError> {
    let known = migrations.len();
    let failed = |error: rusqlite::Error| refused(path, "bringing it to this format", &error);
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let found = match format(&transaction).map_err(failed)? {
        Format::Empty => 0,
        Format::Ours(found) => found,
        Format::Foreign => return Err(foreign(path)),
    };
    if found > known {
        return Err(OpenError::NewerFormat { path: path.to_owned(), found, known });
    }
    if found == known {
        return Ok(());
    }
    for migration in migrations.iter().skip(found) {
        transaction.execute_batch(migration).map_err(failed)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    transaction.pragma_update(None, "user_version", known as i64).map_err(failed)?;
    transaction.commit().map_err(failed)
}

fn not_a_file(path: &Path) -> OpenError {
    OpenError::NotAStore { path: path.to_owned(), what: "is not a file".to_owned() }
}

fn foreign(path: &Path) -> OpenError {
    let what = "is the database of another program".to_owned();
    OpenError::NotAStore { path: path.to_owned(), what }
}

fn refused(path: &Path, doing: &'static str, error: &rusqlite::Error) -> OpenError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => {
            OpenError::NotAStore { path, what: "is not a database, or its start is damaged".into() }
        }
        _ if fault::is_damage(error) => OpenError::Damaged { path, what: fault::cause(error) },
        _ => OpenError::Io { path, doing, cause: fault::cause(error) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_format_is_brought_to_the_present_one_and_keeps_what_it_has() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.db");
        create_file(&path).unwrap();
        let mut connection = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
        let first = ["CREATE TABLE t (a); INSERT INTO t VALUES (7)"];
        let both = [first[0], "ALTER TABLE t ADD COLUMN b DEFAULT 8"];

        migrate(&path, &mut connection, &first).unwrap();
        assert_eq!(format(&connection).unwrap(), Format::Ours(1));
        migrate(&path, &mut connection, &both).unwrap();
        assert_eq!(format(&connection).unwrap(), Format::Ours(2));

        let row: (i64, i64) = connection
            .query_row("SELECT a, b FROM t", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(row, (7, 8));
    }

    #[test]
    fn the_owner_syncs_every_commit() {
        let dir = tempfile::tempdir().unwrap();
        let connection = open_writing(&dir.path().join("store.db")).unwrap();
        let pragma =
            |name| -> i64 { connection.pragma_query_value(None, name, |row| row.get(0)).unwrap() };
        let full = 2;
        assert_eq!(pragma("synchronous"), full);
        assert_eq!((pragma("fullfsync"), pragma("checkpoint_fullfsync")), (1, 1));
    }

    #[test]
    fn a_migration_that_fails_leaves_the_older_format() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.db");
        create_file(&path).unwrap();
        let mut connection = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
        migrate(&path, &mut connection, &["CREATE TABLE t (a)"]).unwrap();

        let broken = ["CREATE TABLE t (a)", "DROP TABLE t; NOT SQL"];
        assert!(migrate(&path, &mut connection, &broken).is_err());

        assert_eq!(format(&connection).unwrap(), Format::Ours(1));
        connection.execute_batch("SELECT a FROM t").unwrap();
    }
}
