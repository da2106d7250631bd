//! The read side: threads that each own a read-only connection and run one query after the other.
//! Reads see every commit that was answered before they began, never wait for the writer, and never
//! change anything.

use super::connection;
use super::queue::{self, Intake, Queue};
use super::{OpenError, fault, rows};
use crate::{SessionHead, StoreError, StoredRecord};
use longboat_core::id::{EventKey, Seq, SessionId};
use rusqlite::{Connection, OptionalExtension, params};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// Threads, and so queries at once: one long read does not hold up a short one.
const READERS: usize = 2;
/// Queries that wait.
const WAITING_READS: usize = 256;

/// One query, with the way back for its answer inside.
type Query = Box<dyn FnOnce(&mut Connection) + Send>;

/// Where queries go.
#[derive(Debug)]
pub(super) struct Readers {
    queries: Queue<Query>,
}

/// Opens the connections and starts the threads.
pub(super) fn start(path: &Path) -> Result<(Readers, Vec<JoinHandle<()>>), OpenError> {
    let (queries, intake) = queue::bounded(WAITING_READS);
    let intake = Arc::new(Mutex::new(intake));
    let mut threads = Vec::new();
    for number in 0..READERS {
        let connection = connection::open_reading(path)?;
        let intake = Arc::clone(&intake);
        let name = format!("store-reader-{number}");
        threads.push(super::spawn(path, name, move || run(&intake, connection))?);
    }
    Ok((Readers { queries }, threads))
}

fn run(intake: &Mutex<Intake<Query>>, mut connection: Connection) {
    loop {
        // One thread waits inside; the others wait for the lock, which is as good.
        let query = intake.lock().unwrap_or_else(PoisonError::into_inner).wait();
        match query {
            Some(query) => query(&mut connection),
            None => return,
        }
    }
}

impl Readers {
    /// Runs a query on one of the threads.
    pub(super) async fn run<T, F>(&self, query: F) -> Result<T, StoreError>
    where
        T: fmt::Debug + Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job: Query = Box::new(move |connection| {
            // The asker may have gone away; a read owes it nothing.
            drop(answer.send(query(connection)));
        });
        self.queries.put(job).await?;
        answered.await.unwrap_or_else(|_| {
            Err(StoreError::Io {
                doing: "reading",
                cause: "the reader ended before it answered: open the store again".to_owned(),
                retryable: false,
            })
        })
    }

    /// Takes no more queries; those that wait are still answered.
    pub(super) async fn close(&self) {
        self.queries.close().await;
    }

    /// The same without waiting.
    pub(super) fn hang_up(&mut self) {
        self.queries.hang_up();
    }
}

/// See [`crate::Store::read`].
pub(super) fn read(
    connection: &mut Connection,
    session: &SessionId,
    from: Seq,
    limit: usize,
) -> Result<Vec<StoredRecord>, StoreError> {
    let mut expected = from;
    read_checked(connection, session, &mut expected, limit).map_err(|failed| match failed {
        Failed::Damaged(what) => {
            StoreError::Damaged { session: session.clone(), seq: expected, what }
        }
        Failed::Sqlite(error) if fault::is_damage(&error) => StoreError::Damaged {
            session: session.clone(),
            seq: expected,
            what: fault::cause(&error),
        },
        Failed::Sqlite(error) => fault::io("reading a log", &error),
    })
}

enum Failed {
    Damaged(String),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// `expected` is always the seq that comes next, so that a failure can say where it is.
fn read_checked(
    connection: &mut Connection,
    session: &SessionId,
    expected: &mut Seq,
    limit: usize,
) -> Result<Vec<StoredRecord>, Failed> {
    // One snapshot for the head and the records: a commit in between is seen whole or not at all.
    let snapshot = connection.transaction()?;
    let Some((number, head)) = rows::session(&snapshot, session)? else {
        return Ok(Vec::new());
    };
    let end = Seq(expected.0.saturating_add(limit as u64)).min(head);
    let mut records = Vec::new();
    {
        let mut select = snapshot.prepare_cached(rows::SELECT_FROM)?;
        let mut found = select.query(params![
            number,
            rows::column(expected.0),
            i64::try_from(limit).unwrap_or(i64::MAX)
        ])?;
        while let Some(row) = found.next()? {
            let seq = rows::seq(row)?;
            if seq != *expected {
                return Err(Failed::Damaged(format!("it is missing; the next one is {seq}")));
            }
            if seq >= head {
                return Err(Failed::Damaged(format!("it lies past the log's head, {head}")));
            }
            records.push(rows::decode(row, session).map_err(Failed::Damaged)?);
            *expected = expected.next();
        }
    }
    if *expected < end {
        return Err(Failed::Damaged(format!("it is missing; the log has {head} records")));
    }
    Ok(records)
}

/// See [`crate::Store::find`].
pub(super) fn find(
    connection: &mut Connection,
    session: &SessionId,
    key: &EventKey,
) -> Result<Option<StoredRecord>, StoreError> {
    let failed = |error: rusqlite::Error| fault::io("finding a record by its key", &error);
    let mut select = connection.prepare_cached(rows::SELECT_BY_KEY).map_err(failed)?;
    let mut found = select.query([session.as_str(), key.as_str()]).map_err(failed)?;
    let Some(row) = found.next().map_err(failed)? else {
        return Ok(None);
    };
    let seq = rows::seq(row).map_err(failed)?;
    let damaged = |what| StoreError::Damaged { session: session.clone(), seq, what };
    rows::decode(row, session).map(Some).map_err(damaged)
}

/// See [`crate::Store::head`].
pub(super) fn head(
    connection: &mut Connection,
    session: &SessionId,
) -> Result<Option<SessionHead>, StoreError> {
    connection
        .prepare_cached(rows::SELECT_HEAD)
        .and_then(|mut select| select.query_row([session.as_str()], rows::session_head).optional())
        .map_err(|error| fault::io("reading a session's head", &error))
}

/// See [`crate::Store::sessions`].
pub(super) fn sessions(connection: &mut Connection) -> Result<Vec<SessionHead>, StoreError> {
    connection
        .prepare_cached(rows::SELECT_HEADS)
        .and_then(|mut select| select.query_map([], rows::session_head)?.collect())
        .map_err(|error| fault::io("listing sessions", &error))
}

/// Findings that are enough to know.
const FINDINGS: usize = 100;

/// See [`super::SqliteStore::check`].
pub(super) fn check(connection: &mut Connection) -> Result<Vec<String>, StoreError> {
    let found: Vec<String> = connection
        .prepare(&format!("PRAGMA integrity_check({FINDINGS})"))
        .and_then(|mut select| select.query_map([], |row| row.get(0))?.collect())
        .map_err(|error| fault::io("checking the database", &error))?;
    Ok(found.into_iter().filter(|finding| finding != "ok").collect())
}
