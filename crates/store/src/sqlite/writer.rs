//! The write side: one thread that owns the only writing connection. It takes all commits that
//! wait, writes them in one transaction, each behind a savepoint of its own, and syncs once. It
//! answers nobody before the sync, and never reads history: heads and keys are looked up by index.

use super::presence::Presence;
use super::queue::{self, Intake, Queue};
use super::{OpenError, fault, rows};
use crate::limits;
use crate::{Append, Appended, NewRecord, Placed, StoreError};
use longboat_core::id::{Seq, SessionId};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// Commits that wait for the writer. More, and those who commit wait for room.
const WAITING_COMMITS: usize = 1024;
/// Commits in one transaction: how many can fail together.
const GROUP_COMMITS: usize = 256;
/// Payload bytes after which a group takes no further commit: how long its first one waits.
const GROUP_BYTES: usize = 16 * 1_048_576;

/// What one commit came to.
type Answer = Result<Vec<Appended>, StoreError>;

struct Request {
    appends: Vec<Append>,
    answer: oneshot::Sender<Answer>,
}

/// Where commits go.
#[derive(Debug)]
pub(super) struct Writer {
    requests: Queue<Request>,
    counts: Arc<Counts>,
}

/// How the writer fared since it was started.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) commits: AtomicU64,
    pub(super) transactions: AtomicU64,
}

/// Starts the thread.
pub(super) fn start(
    path: &Path,
    connection: Connection,
    presence: Presence,
) -> Result<(Writer, JoinHandle<()>), OpenError> {
    let (requests, intake) = queue::bounded(WAITING_COMMITS);
    let counts = Arc::new(Counts::default());
    let thread = Thread { connection, presence, intake, counts: Arc::clone(&counts) };
    let join = super::spawn(path, "store-writer".to_owned(), move || thread.run())?;
    Ok((Writer { requests, counts }, join))
}

impl Writer {
    /// See [`crate::Store::commit`]. What can be checked without the logs was checked.
    pub(super) async fn commit(&self, appends: Vec<Append>) -> Answer {
        let (answer, answered) = oneshot::channel();
        self.requests.put(Request { appends, answer }).await?;
        answered.await.unwrap_or_else(|_| {
            Err(StoreError::Io {
                doing: DOING,
                cause: "the writer ended before it answered: open the store again".to_owned(),
                retryable: false,
            })
        })
    }

    /// How the writer fared.
    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Takes no more commits; those that wait are still written and answered.
    pub(super) async fn close(&self) {
        self.requests.close().await;
    }

    /// The same without waiting.
    pub(super) fn hang_up(&mut self) {
        self.requests.hang_up();
    }
}

const DOING: &str = "committing";

struct Thread {
    connection: Connection,
    presence: Presence,
    intake: Intake<Request>,
    counts: Arc<Counts>,
}

impl Thread {
    fn run(mut self) {
        while let Some(first) = self.intake.wait() {
            let group = self.gather(first);
            let written = write(&mut self.connection, &group);
            // After the sync: what is promised now is in the file that the next owner opens.
            let written = written.and_then(|answers| self.presence.check().map(|()| answers));
            if let Err(error) = &written {
                tracing::warn!(commits = group.len(), %error, "a transaction was not kept");
            }
            self.answer(group, written);
        }
        self.checkpoint();
    }

    /// The first commit and those that came while the last group was synced.
    fn gather(&mut self, first: Request) -> Vec<Request> {
        let mut bytes = limits::payload_bytes(&first.appends);
        let mut group = vec![first];
        while group.len() < GROUP_COMMITS && bytes < GROUP_BYTES {
            let Some(request) = self.intake.ready() else { break };
            bytes += limits::payload_bytes(&request.appends);
            group.push(request);
        }
        group
    }

    fn answer(&self, group: Vec<Request>, written: Result<Vec<Answer>, StoreError>) {
        let answers = match written {
            Ok(answers) => {
                let done = answers.iter().filter(|answer| answer.is_ok()).count();
                self.counts.commits.fetch_add(done as u64, Ordering::Relaxed);
                self.counts.transactions.fetch_add(1, Ordering::Relaxed);
                answers
            }
            // Also those that were refused: what they were refused for was not kept.
            Err(error) => group.iter().map(|_| Err(error.clone())).collect(),
        };
        for (request, answer) in group.into_iter().zip(answers) {
            // The asker may have gone away; its commit stands.
            drop(request.answer.send(answer));
        }
    }

    /// Moves what was committed out of the write-ahead log, as far as readers elsewhere allow.
    fn checkpoint(self) {
        let moved = self
            .connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
            .and_then(|()| self.connection.close().map_err(|(_, error)| error));
        if let Err(error) = moved {
            // Nothing is lost: the next owner finds the write-ahead log.
            tracing::warn!(cause = fault::cause(&error), "the store was closed uncheckpointed");
        }
    }
}

/// Writes a group in one transaction. `Err` when none of it was kept.
fn write(connection: &mut Connection, group: &[Request]) -> Result<Vec<Answer>, StoreError> {
    let failed = |error: rusqlite::Error| fault::io(DOING, &error);
    // Dropping the transaction or a savepoint rolls it back.
    let mut transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let mut answers = Vec::with_capacity(group.len());
    for request in group {
        answers.push(write_one(&mut transaction, &request.appends)?);
    }
    transaction.commit().map_err(failed)?;
    Ok(answers)
}

/// Writes one commit of a group, or nothing of it. `Err` when the whole group is lost.
fn write_one(transaction: &mut Transaction<'_>, appends: &[Append]) -> Result<Answer, StoreError> {
    let failed = |error: rusqlite::Error| fault::io(DOING, &error);
    let savepoint = transaction.savepoint().map_err(failed)?;
    let appended: Answer = appends.iter().map(|one| append(&savepoint, one)).collect();
    match appended {
        Ok(appended) => {
            savepoint.commit().map_err(failed)?;
            Ok(Ok(appended))
        }
        Err(refused) => {
            let lost = savepoint.is_autocommit();
            savepoint.finish().or_else(|error| if lost { Ok(()) } else { Err(failed(error)) })?;
            // After some failures SQLite has rolled back the whole transaction by itself.
            if lost { Err(refused) } else { Ok(Err(refused)) }
        }
    }
}

fn append(connection: &Connection, append: &Append) -> Result<Appended, StoreError> {
    let session = &append.session;
    let failed = |error: rusqlite::Error| fault::io(DOING, &error);
    let known = rows::session(connection, session).map_err(failed)?;
    let actual = known.map_or(Seq(0), |(_, head)| head);
    if let Some(expected) = append.expected_head.filter(|expected| *expected != actual) {
        return Err(StoreError::HeadMoved { session: session.clone(), expected, actual });
    }
    let number = match known {
        Some((number, head)) => {
            check_tail(connection, session, number, head)?;
            number
        }
        None => insert_session(connection, append).map_err(failed)?,
    };
    let mut head = actual;
    let mut updated = None;
    let mut seqs = Vec::with_capacity(append.records.len());
    for record in &append.records {
        if let Some(seq) = existing(connection, number, record).map_err(failed)? {
            seqs.push(Placed::Existing(seq));
            continue;
        }
        insert_record(connection, session, number, head, record).map_err(|error| {
            if fault::is_taken(&error) {
                let what = "it lies past the log's head, where the next record belongs".to_owned();
                StoreError::Damaged { session: session.clone(), seq: head, what }
            } else {
                failed(error)
            }
        })?;
        seqs.push(Placed::New(head));
        head = head.next();
        updated = Some(record.at);
    }
    if let Some(updated) = updated {
        connection
            .prepare_cached(rows::UPDATE_SESSION)
            .and_then(|mut update| {
                update.execute(params![number, rows::column(head.0), rows::column(updated.0)])
            })
            .map_err(failed)?;
    }
    Ok(Appended { seqs, head })
}

/// Nothing is appended behind a gap: the last record, by the kept head, must be there.
fn check_tail(
    connection: &Connection,
    session: &SessionId,
    number: i64,
    head: Seq,
) -> Result<(), StoreError> {
    let Some(last) = head.0.checked_sub(1) else { return Ok(()) };
    let found: i64 = connection
        .prepare_cached(rows::SELECT_IS_THERE)
        .and_then(|mut select| {
            select.query_row(params![number, rows::column(last)], |row| row.get(0))
        })
        .map_err(|error| fault::io(DOING, &error))?;
    if found == 1 {
        return Ok(());
    }
    let what = format!("it is missing; the log has {head} records");
    Err(StoreError::Damaged { session: session.clone(), seq: Seq(last), what })
}

/// A new session's number. Its first record cannot be one that exists, so the session will have
/// one.
fn insert_session(connection: &Connection, append: &Append) -> rusqlite::Result<i64> {
    let created = append.records.first().map_or(0, |record| record.at.0);
    connection
        .prepare_cached(rows::INSERT_SESSION)?
        .insert(params![append.session.as_str(), rows::column(created)])
}

fn existing(
    connection: &Connection,
    number: i64,
    record: &NewRecord,
) -> rusqlite::Result<Option<Seq>> {
    let Some(key) = &record.key else { return Ok(None) };
    connection
        .prepare_cached(rows::SELECT_SEQ_BY_KEY)?
        .query_row(params![number, key.as_str()], rows::seq)
        .optional()
}

fn insert_record(
    connection: &Connection,
    session: &SessionId,
    number: i64,
    seq: Seq,
    record: &NewRecord,
) -> rusqlite::Result<usize> {
    let NewRecord { at, kind, key, data } = record;
    let key = key.as_ref().map(|key| key.as_str());
    let sum =
        rows::checksum(session, seq, *at, kind.as_bytes(), key.map(str::as_bytes), data.as_bytes());
    connection.prepare_cached(rows::INSERT_RECORD)?.execute(params![
        number,
        rows::column(seq.0),
        rows::column(at.0),
        kind,
        key,
        data,
        sum
    ])
}

#[cfg(test)]
mod tests {
    use super::super::connection;
    use super::*;
    use crate::contract::{append, append_at, record};
    use std::path::PathBuf;

    fn database(dir: &tempfile::TempDir) -> (Connection, PathBuf) {
        let path = dir.path().join("store.db");
        (connection::open_writing(&path).unwrap(), path)
    }

    fn group(commits: Vec<Vec<Append>>) -> Vec<Request> {
        let request = |appends| Request { appends, answer: oneshot::channel().0 };
        commits.into_iter().map(request).collect()
    }

    fn heads(connection: &Connection) -> Vec<(String, i64)> {
        let mut select = connection.prepare("SELECT id, head FROM sessions ORDER BY id").unwrap();
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    }

    #[test]
    fn a_refused_commit_leaves_the_others_of_its_group() {
        let dir = tempfile::tempdir().unwrap();
        let (mut connection, _) = database(&dir);
        let answers = write(
            &mut connection,
            &group(vec![
                vec![append("a", vec![record(1, "x")])],
                vec![append("b", vec![record(1, "x")]), append_at("a", 0, vec![record(1, "y")])],
                vec![append_at("a", 1, vec![record(1, "z")])],
            ]),
        )
        .unwrap();
        assert!(matches!(
            answers.as_slice(),
            [Ok(_), Err(StoreError::HeadMoved { actual: Seq(1), .. }), Ok(_)]
        ));
        assert_eq!(heads(&connection), [("a".to_owned(), 2)]);
    }

    #[test]
    fn a_database_that_may_not_grow_refuses_keeps_what_it_has_and_works_again_when_it_may() {
        let dir = tempfile::tempdir().unwrap();
        let (mut connection, _) = database(&dir);
        let commit = |connection: &mut Connection, session, bytes| {
            let appends = vec![append(session, vec![record(1, &"x".repeat(bytes))])];
            let mut answers = write(connection, &group(vec![appends]))?;
            answers.remove(0)
        };
        commit(&mut connection, "a", 10).unwrap();
        connection.pragma_update(None, "max_page_count", 20).unwrap();

        let full = commit(&mut connection, "b", 200_000);
        let Err(StoreError::Io { cause, retryable, .. }) = full else { panic!("{full:?}") };
        assert!(cause.contains("the disk is full"), "{cause}");
        assert!(!retryable);
        assert_eq!(heads(&connection), [("a".to_owned(), 1)]);
        commit(&mut connection, "a", 10).unwrap();

        connection.pragma_update(None, "max_page_count", 1_000_000).unwrap();
        commit(&mut connection, "b", 200_000).unwrap();
        assert_eq!(heads(&connection), [("a".to_owned(), 2), ("b".to_owned(), 1)]);
    }

    #[test]
    fn no_place_is_given_behind_a_gap() {
        let dir = tempfile::tempdir().unwrap();
        let (mut connection, _) = database(&dir);
        let commit = |connection: &mut Connection| {
            let appends = vec![append("a", vec![record(1, "x")])];
            write(connection, &group(vec![appends])).unwrap().remove(0)
        };
        commit(&mut connection).unwrap();
        for (wrong, at) in [(7, 6), (0, 0)] {
            connection.execute("UPDATE sessions SET head = ?1", [wrong]).unwrap();
            let refused = commit(&mut connection);
            let Err(StoreError::Damaged { seq, .. }) = refused else { panic!("{refused:?}") };
            assert_eq!(seq, Seq(at));
        }
    }
}
